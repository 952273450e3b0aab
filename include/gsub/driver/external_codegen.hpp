// External code generation (BYOC): regions that passes have marked for a compiler, and the generators of their kernels.
//
//     annotate_target, merge_compiler_regions, partition_graph      merge_composite
//                       |                                                 |
//     functions with a `compiler`                        functions with a `composite_name`
//                       └──────────────► bind_regions ◄───────────────────┘
//                                             |  asks the code generator of that name, once a function
//                                             v
//     calls become opaque nodes, computed by the code generator's kernels ──► build(module) as any user kernel
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/ir/module.hpp>
#include <gsub/runtime/extern_kernel.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// A marked region: a function that a code generator is asked to compute.
struct marked_region {
    function const& marked; ///< with its attributes
    any_graph const& body;  ///< with all calls inlined; operands and results are its inputs and outputs
};
/// The kernel of a region.
struct region_kernel {
    gsub_kernel function = nullptr;      ///< a C function: operands and results in the region's order, row-major
    void* user = nullptr;                ///< handed to it
    std::string symbol{};                ///< see `runtime::user_kernel::symbol`
    std::shared_ptr<void const> owner{}; ///< of what `user` points to
};
/// An external code generator: computes the regions of a compiler, or the functions of a pattern by its name.
struct external_codegen {
    std::string compiler{};  ///< as `function_attributes::compiler`
    std::string composite{}; ///< or as `function_attributes::composite_name`; one of the two is empty
    /// Makes the kernel of a region. *Errors* what it cannot compute, which is told with the region's name.
    std::function<result<region_kernel>(marked_region const&)> compile{};
};

/// A module whose regions are kernels of their code generators.
struct bound_regions {
    module what;                                 ///< calls of regions are opaque nodes
    std::vector<runtime::user_kernel> kernels{}; ///< of these nodes, for `build_options::kernels`
};
/// Binds regions: asks code generators for the functions that an entry point calls. A function that is marked for the
/// compiler `default`, and a composite that no generator claims, stays a function. *Errors* `unsupported` naming the
/// compiler of a region that has no code generator, the region, and the compilers that have one; `usage` for two code
/// generators of one name, or for one without a name; those of the code generators. *Complexity* O(n + e), and what
/// code generators do.
GSUB_LAZY [[nodiscard]] result<bound_regions> bind_regions(module const& m, std::span<external_codegen const> codegens,
                                                           std::string_view entry = "main");

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/external_codegen.ipp>
#endif
