// Assembly text of kernels, as a compiler writes it for the machine that it compiles for, which need not be this one.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/runtime/compiler/jit.hpp>
#include <gsub/target/isa.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace gsub::runtime {

/// Finds a compiler for an instruction set: `wanted`, else the one of `find_compiler()` where it compiles for that
/// architecture, else the GNU cross compiler, e.g. `aarch64-linux-gnu-g++`. *Errors* `environment` naming what was
/// tried and what it compiles for.
GSUB_LAZY [[nodiscard]] result<compiler> find_compiler_for(isa const& isa, std::string_view wanted = {});

/// Bounds on what one run of the compiler is given and may write.
struct assembly_options {
    unsigned timeout_s = 120;
    std::size_t source_bytes = std::size_t{8} << 20, text_bytes = std::size_t{16} << 20;
};

/// Compiles kernels of one set of options together, with `kernel_flags` and blocks of code in the order of the text,
/// and gives the assembly: a function for each, of the name of its symbol. The compiler is started as `load_kernels`
/// starts it; nothing is kept. *Errors* `usage` for symbols or flags that are not allowed, flags that differ, or two
/// equal symbols; `unsupported` for texts beyond the bounds; `environment` naming the compiler, with its exit status
/// and the first lines that it wrote.
GSUB_LAZY [[nodiscard]] result<std::string>
assembly_text_of(std::span<kernel_source const> sources, compiler const& with, assembly_options const& options = {});

} // namespace gsub::runtime

#ifndef GSUB_COMPILED
#include <gsub/runtime/compiler/impl/assembly_text.ipp>
#endif
