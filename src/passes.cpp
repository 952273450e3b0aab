#include <gsub/passes.hpp>
#include <gsub/passes/impl/fuse.ipp>
#include <gsub/passes/impl/layout.ipp>
#include <gsub/passes/impl/pass.ipp>
