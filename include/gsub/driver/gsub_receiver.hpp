// Regions as executables of gsub's own.
#pragma once

#include <gsub/driver/build.hpp>
#include <gsub/driver/receiver.hpp>

#include <string>

namespace gsub {

/// A receiver that builds each region as an executable of its own, e.g. for another instruction set.
GSUB_LAZY [[nodiscard]] receiver built_by_gsub(std::string compiler, target const& machine = host(),
                                               build_options options = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/gsub_receiver.ipp>
#endif
