// Network classes, each with its pipeline of passes: those of the architecture-aware selection paper, and the rest.
//
// Each has the passes that every import needs (constants folded, shapes made static, equal values merged). None has
// passes that change what is computed, or its precision, or that do nothing without arguments; see decision 0014.
#pragma once

#include <gsub/lower/fusion.hpp>
#include <gsub/lower/kernel_layouts.hpp>
#include <gsub/passes/canonicalize/canonicalize_cast.hpp>
#include <gsub/passes/combine/combine_parallel_conv2d.hpp>
#include <gsub/passes/combine/combine_parallel_dense.hpp>
#include <gsub/passes/eliminate/dead_code_elimination.hpp>
#include <gsub/passes/eliminate/eliminate_common_subexpr.hpp>
#include <gsub/passes/eliminate/remove_unused_functions.hpp>
#include <gsub/passes/fold/backward_fold_scale_axis.hpp>
#include <gsub/passes/fold/fold_constant.hpp>
#include <gsub/passes/fold/fold_explicit_padding.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>
#include <gsub/passes/layout/alter_op_layout.hpp>
#include <gsub/passes/layout/convert_layout.hpp>
#include <gsub/passes/normal_form/to_graph_normal_form.hpp>
#include <gsub/passes/select/network_class.hpp>
#include <gsub/passes/simplify/dynamic_to_static.hpp>
#include <gsub/passes/simplify/simplify_expr.hpp>
#include <gsub/passes/simplify/simplify_fc_transpose.hpp>
#include <gsub/passes/simplify/simplify_inference.hpp>

#include <string_view>
#include <utility>

namespace gsub {

namespace networks {

namespace detail {
// A pipeline whose type is known once it is asked for: its types are many, and who runs no passes does not wait for
// them.
template <class Lazily, class... Passes>
[[nodiscard]] auto lazy_pipeline(Passes... passes) {
    return pipeline{std::move(passes)...};
}
} // namespace detail

/// FuseOps that groups what one of gsub's own kernels computes, see `kernel_groups_for`.
template <class Graph = any_graph>
[[nodiscard]] passes::fuse_ops fuse_by_kernels() {
    return {.groups = [](Graph const& g, target const& on) { return kernel_groups_for(g, on); }};
}
/// Passes for imported graphs: they make known settings static, simplify normalisations, fold constants, merge equal
/// values and simplify expressions.
template <class Lazily = void>
[[nodiscard]] auto for_imports() {
    return detail::lazy_pipeline<Lazily>(passes::dynamic_to_static{}, passes::simplify_inference{},
                                         passes::fold_constant{}, passes::eliminate_common_subexpr{},
                                         passes::simplify_expr{});
}
/// Passes for convolutions: they convert layouts, fold explicit padding into windows, and scales into weights.
template <class Lazily = void>
[[nodiscard]] auto for_convolutions() {
    return detail::lazy_pipeline<Lazily>(passes::convert_layout{}, passes::fold_explicit_padding{},
                                         passes::backward_fold_scale_axis{});
}
/// The last passes of each class: they erase unused code, lay values out as kernels read them, and make a function of
/// what one kernel computes.
template <class Lazily = void>
[[nodiscard]] auto for_kernels() {
    return detail::lazy_pipeline<Lazily>(passes::dead_code_elimination{}, passes::remove_unused_functions{},
                                         passes::alter_op_layout{kernel_layouts{}}, fuse_by_kernels());
}

/// Residual networks. Score: three times residual blocks over convolutions, at most 1.
struct resnet {
    static constexpr std::string_view name = "RN";
    GSUB_LAZY class_score score(architecture_features const& f) const;
    template <class Lazily = void>
    [[nodiscard]] auto passes() const {
        using namespace gsub::passes;
        return detail::lazy_pipeline<Lazily>(to_graph_normal_form{}, for_imports<Lazily>(), for_convolutions<Lazily>(),
                                             combine_parallel_conv2d{}, combine_parallel_dense{}, fold_constant{},
                                             canonicalize_cast{}, for_kernels<Lazily>());
    }
};

/// Depthwise-separable networks. Score: three times separable blocks over convolutions, at most 1.
struct mobilenet {
    static constexpr std::string_view name = "MN";
    GSUB_LAZY class_score score(architecture_features const& f) const;
    template <class Lazily = void>
    [[nodiscard]] auto passes() const {
        using namespace gsub::passes;
        return detail::lazy_pipeline<Lazily>(to_graph_normal_form{}, for_imports<Lazily>(), simplify_fc_transpose{},
                                             for_convolutions<Lazily>(), fold_constant{}, for_kernels<Lazily>());
    }
};

/// Single-shot detectors: heads of convolutions on feature maps of several sizes. Score: a quarter for each size from
/// three on, at most 1.
struct ssd {
    static constexpr std::string_view name = "SSD";
    GSUB_LAZY class_score score(architecture_features const& f) const;
    template <class Lazily = void>
    [[nodiscard]] auto passes() const {
        using namespace gsub::passes;
        return detail::lazy_pipeline<Lazily>(for_imports<Lazily>(), for_convolutions<Lazily>(),
                                             combine_parallel_conv2d{}, fold_constant{}, for_kernels<Lazily>());
    }
};

/// Attention networks. Score: the share of products of matrices in all contractions. Only small constants are folded.
struct bert {
    static constexpr std::string_view name = "BR";
    GSUB_LAZY class_score score(architecture_features const& f) const;
    template <class Lazily = void>
    [[nodiscard]] auto passes() const {
        using namespace gsub::passes;
        fold_constant const small{.max_elements = 65536};
        return detail::lazy_pipeline<Lazily>(dynamic_to_static{}, small, eliminate_common_subexpr{}, simplify_expr{},
                                             small, for_kernels<Lazily>());
    }
};

/// All other networks. Score: 0.5 for each.
struct other {
    static constexpr std::string_view name = "other";
    GSUB_LAZY class_score score(architecture_features const& f) const;
    template <class Lazily = void>
    [[nodiscard]] auto passes() const {
        using namespace gsub::passes;
        return detail::lazy_pipeline<Lazily>(to_graph_normal_form{}, for_imports<Lazily>(), simplify_fc_transpose{},
                                             for_convolutions<Lazily>(), fold_constant{}, canonicalize_cast{},
                                             for_kernels<Lazily>());
    }
};

} // namespace networks

/// The standard network classes, the most special first: a detector has a residual backbone, and MobileNetV2 has
/// residual blocks.
using standard_classes =
    network_classes<networks::bert, networks::ssd, networks::mobilenet, networks::resnet, networks::other>;

/// Classifies a graph, and selects the passes of a module's class, by `standard_classes`.
GSUB_LAZY [[nodiscard]] classification classify(any_graph const& g);
GSUB_LAZY [[nodiscard]] pass_selection select_passes(module const& m);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/network_classes.ipp>
#endif
