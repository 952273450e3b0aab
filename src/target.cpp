#include <gsub/target.hpp>
#include <gsub/target/impl/feature.ipp>
#include <gsub/target/impl/measured_ports.ipp>
#include <gsub/target/impl/microarchitecture.ipp>
#include <gsub/target/impl/target.ipp>
