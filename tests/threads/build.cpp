// build() alone of what src/driver.cpp has: searches and what they need stay out.
#include <gsub/driver/build.hpp>
#include <gsub/driver/impl/build.ipp>
