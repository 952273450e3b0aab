// build() alone of what src/driver.cpp has: searches and what they need stay out.
#include <gsub/driver/build.hpp>
#include <gsub/driver/impl/build.ipp>
#include <gsub/driver/impl/chain_writer.ipp>
#include <gsub/driver/impl/program_planner.ipp>
#include <gsub/driver/impl/storage_planner.ipp>
