// Regions that passes have marked for a compiler, and who computes them: bring your own code generator.
//
//     annotate_target, merge_compiler_regions, partition_graph      merge_composite
//                       |                                                 |
//     functions with a `compiler`                        functions with a `composite_name`
//                       └──────────────► bind_regions ◄───────────────────┘
//                                             |  asks the receiver of that name, once a function
//                                             v
//     calls become opaque nodes, computed by the receiver's kernels ──► build(module) as any user kernel
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

/// A function that a receiver is asked to compute.
struct marked_region {
    function const& marked; ///< with its attributes
    any_graph const& body;  ///< with all that it calls written out; operands and results are its inputs and outputs
};
/// How a region is computed.
struct region_kernel {
    gsub_kernel function = nullptr;      ///< a C function: operands and results in the region's order, row-major
    void* user = nullptr;                ///< handed to it
    std::string symbol{};                ///< see `runtime::user_kernel::symbol`
    std::shared_ptr<void const> owner{}; ///< of what `user` points to
};
/// Who computes regions: those of a compiler, or the functions of a pattern by its name.
struct receiver {
    std::string compiler{};  ///< as `function_attributes::compiler`
    std::string composite{}; ///< or as `function_attributes::composite_name`; one of the two is empty
    /// Makes the kernel of a region. *Errors* what it cannot compute, which is told with the region's name.
    std::function<result<region_kernel>(marked_region const&)> receive{};
};

/// A module whose regions are kernels of their receivers.
struct bound_regions {
    module what;                                 ///< calls of regions are opaque nodes
    std::vector<runtime::user_kernel> kernels{}; ///< of these nodes, for `build_options::kernels`
};
/// Asks receivers for the functions that an entry point calls. A function that is marked for the compiler `default`,
/// and a composite that nobody claims, stays a function. *Errors* `unsupported` naming the compiler of a region that
/// has no receiver, the region, and the compilers that have one; `usage` for two receivers of one name, or for one of
/// none; what receivers say. *Complexity* O(n + e), and what receivers do.
GSUB_LAZY [[nodiscard]] result<bound_regions> bind_regions(module const& m, std::span<receiver const> receivers,
                                                           std::string_view entry = "main");

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/receiver.ipp>
#endif
