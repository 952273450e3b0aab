#include <gsub/driver.hpp>
#include <gsub/driver/impl/build.ipp>
#include <gsub/driver/impl/optimize.ipp>
#include <gsub/driver/impl/substitution.ipp>
