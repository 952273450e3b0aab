#include <gsub/target.hpp>
#include <gsub/target/impl/target.ipp>
