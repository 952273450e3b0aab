// AOT export: a program as a folder of sources that builds and runs without gsub.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/runtime/program.hpp>
#include <gsub/target/isa.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::aot {

/// Options of `export_program`.
struct export_options {
    /// Name of the model in the API, in names of files and of the CMake target. *Requires* nothing: a name that
    /// `exported_name` would change is an error.
    std::string name = "model";
    bool threads = true; ///< with a pool of threads of its own; false: one thread, or the embedder's executor
};

/// Report of `export_program`: what it wrote.
struct export_report {
    std::vector<std::string> files{}; ///< below the folder, in the order of writing
    std::size_t kernels = 0;          ///< distinct ones
    std::size_t steps = 0;            ///< of a run
    std::size_t weight_bytes = 0;     ///< size of the file of weights
    std::size_t arena_bytes = 0;      ///< memory of a run
};

/// Exported name: turns a text into a name that is safe in C, CMake and as that of a header: `[a-z][a-z0-9_]*`, at most
/// 64 long, not the name of a C or POSIX header, a system library or a target that CMake reserves.
GSUB_LAZY [[nodiscard]] std::string exported_name(std::string_view text);

/// AOT export: writes a program into a folder: `CMakeLists.txt` (a library), `<name>.h` (its C API), `<name>.cpp`
/// (steps and what runs them), a file for each kernel, `weights.bin`, `main.c` (a program that runs the model) and
/// `README.txt`. They need a C++17 compiler with GNU vectors (GCC, Clang) and nothing of gsub. Memory plan and results
/// are those of `runtime::executable`, bit for bit with the same compiler.
///
/// Each file is replaced as a whole. A folder that exists must be empty or written by this function; its sources of
/// kernels are replaced.
///
/// Steps that move or convert elements are small functions there, as are TopK and MaxPool with indices; an index that
/// is out of range ends a run with the status `BAD_INPUT`.
///
/// Texts from the model (names of inputs and outputs) occur as escaped literals alone. *Errors* `unsupported` naming
/// every step that has no text of its own, and an instruction set option that generated code cannot ask the processor
/// for; `usage` for a bad name, or a folder with other things in it; `environment` where a file cannot be written.
/// *Example* `examples/exported`
GSUB_LAZY [[nodiscard]] result<export_report> export_program(runtime::program const& p, std::string const& folder,
                                                             export_options const& options = {});

/// Variant: a model's program for an instruction set. Both are referred to.
struct export_variant {
    isa const* set = nullptr;
    runtime::program const* what = nullptr;
};

/// AOT export for several instruction sets of one architecture: a folder as `export_program` writes it, with one C API
/// and one file of weights, and a library for each variant in a folder of its own. A context is of the widest set that
/// the processor has. `export_report` counts the kernels and weights of all, and the memory and steps of one. *Errors*
/// as `export_program`; `usage` where there is no variant, one set is there twice, sets are of two architectures, or
/// inputs and outputs differ.
GSUB_LAZY [[nodiscard]] result<export_report> export_variants(std::span<export_variant const> variants,
                                                              std::string const& folder,
                                                              export_options const& options = {});

/// Checks the name and the folder of an export before a program is made for it; writes nothing. *Errors* those of
/// `export_program` for them.
GSUB_LAZY [[nodiscard]] result<void> check_export(std::string const& folder, export_options const& options = {});

} // namespace gsub::aot

#ifndef GSUB_COMPILED
#include <gsub/aot/impl/export.ipp>
#include <gsub/aot/impl/kernels.ipp>
#include <gsub/aot/impl/literal.ipp>
#include <gsub/aot/impl/name.ipp>
#include <gsub/aot/impl/source.ipp>
#include <gsub/aot/impl/text_api.ipp>
#include <gsub/aot/impl/text_extern.ipp>
#include <gsub/aot/impl/text_project.ipp>
#include <gsub/aot/impl/text_prologue.ipp>
#include <gsub/aot/impl/text_reference.ipp>
#include <gsub/aot/impl/text_runner.ipp>
#include <gsub/aot/impl/text_variants.ipp>
#include <gsub/aot/impl/text_weights.ipp>
#include <gsub/aot/impl/variants.ipp>
#include <gsub/aot/impl/weights.ipp>
#endif
