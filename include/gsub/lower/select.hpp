// select: the second pass of lowering: an algorithm for each kernel that has several.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/lower/kernel_graph.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace gsub {

/// Algorithm choice: `choose` gives the number of one of several descriptors that compute the same, of which the first
/// is the direct one. Everything else that it goes by it has as members.
template <class A>
concept algorithm_choice = requires(A const& a, std::span<kernels::descriptor const> alternatives, isa const& isa) {
    { a.choose(alternatives, isa) } -> std::same_as<std::size_t>;
};

/// Algorithm choice by counted cycles of convolutions (`kernels::choose_winograd`). Measures nothing.
struct counted_algorithm {
    kernels::winograd_options winograd{};
    GSUB_LAZY [[nodiscard]] std::size_t choose(std::span<kernels::descriptor const> alternatives, isa const& isa) const;
};

/// Any algorithm choice, as a function.
using algorithm_function = function_ref<std::size_t(std::span<kernels::descriptor const>, isa const&)>;

/// Alternative descriptors of a kernel, the direct one first: of a convolution also Winograd with tiles that `accuracy`
/// allows.
GSUB_LAZY [[nodiscard]] std::vector<kernels::descriptor>
algorithms_of(kernels::descriptor const& d, kernels::winograd_accuracy accuracy = kernels::winograd_accuracy::f4);

/// Alternative descriptors of a kernel of a graph that its weights allow, the direct one first. The kernel may have
/// been selected already. One descriptor where there is nothing to choose. *Requires* a kernel that has a descriptor.
/// *Complexity* a look at the weights of those that may be transformed.
GSUB_LAZY [[nodiscard]] std::vector<kernels::descriptor>
algorithms_of(kernel_graph const& g, kernel_op const& op,
              kernels::winograd_accuracy accuracy = kernels::winograd_accuracy::f4);

/// Selects algorithms: asks the choice for each kernel that has several, and takes Winograd only where the weights
/// allow it. *Requires* stage `fused`. *Errors* `usage` naming the kernel where the choice is none of them; what the
/// choice throws. *Complexity* O(kernels), and a look at the weights of those that may be transformed.
GSUB_LAZY [[nodiscard]] result<kernel_graph> select(kernel_graph g, isa const& isa, algorithm_function choose,
                                                    kernels::winograd_accuracy accuracy);
template <algorithm_choice A>
[[nodiscard]] result<kernel_graph> select(kernel_graph g, isa const& isa, A const& choice,
                                          kernels::winograd_accuracy accuracy = kernels::winograd_accuracy::f4) {
    return select(std::move(g), isa,
                  algorithm_function{[&](std::span<kernels::descriptor const> all, gsub::isa const& on) {
                      return choice.choose(all, on);
                  }},
                  accuracy);
}
/// Selects algorithms by counted cycles.
GSUB_LAZY [[nodiscard]] kernel_graph select(kernel_graph g, isa const& isa,
                                            kernels::winograd_options const& options = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/select.ipp>
#endif
