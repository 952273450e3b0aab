// `gsub_codegen`: the external code generator that builds regions with gsub itself.
#pragma once

#include <gsub/driver/build.hpp>
#include <gsub/driver/external_codegen.hpp>

#include <string>

namespace gsub {

/// A code generator that builds each region as an executable of its own, e.g. for another instruction set.
GSUB_LAZY [[nodiscard]] external_codegen gsub_codegen(std::string compiler, target const& machine = host(),
                                                      build_options options = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/gsub_codegen.ipp>
#endif
