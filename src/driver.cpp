#include <gsub/driver.hpp>
#include <gsub/driver/impl/bisect.ipp>
#include <gsub/driver/impl/build.ipp>
#include <gsub/driver/impl/calibrate.ipp>
#include <gsub/driver/impl/measured_kernels.ipp>
#include <gsub/driver/impl/passes.ipp>
