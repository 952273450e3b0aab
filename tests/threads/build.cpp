// build() alone of what src/driver.cpp has: searches and what they need stay out.
#include <gsub/driver/build.hpp>
#include <gsub/driver/default_pipeline.hpp>
#include <gsub/driver/external_codegen.hpp>
#include <gsub/driver/impl/build.ipp>
#include <gsub/driver/impl/default_pipeline.ipp>
#include <gsub/driver/impl/external_codegen.ipp>
