#pragma once

#include <gsub/core/format.hpp>
#include <gsub/passes/manager/order.hpp>

#include <algorithm>

namespace gsub {

namespace detail {

inline constexpr std::string_view combining_passes =
    "combine-parallel-conv2d combine-parallel-dense combine-parallel-batch-matmul batching-ops";
inline constexpr std::string_view rewriting_passes =
    "alter-op-layout batching-ops canonicalize-cast canonicalize-ops combine-parallel-conv2d combine-parallel-dense "
    "combine-parallel-batch-matmul convert-layout dynamic-to-static eliminate-common-subexpr "
    "fake-quantization-to-integer fast-math fold-constant fold-explicit-padding forward-fold-scale-axis "
    "backward-fold-scale-axis merge-composite simplify-expr simplify-fc-transpose simplify-inference "
    "to-mixed-precision";

inline constexpr order_rule order_table[] = {
    {order_kind::hard, "canonicalize-ops", "convert-layout", "biases need a form that any layout has"},
    {order_kind::hard, "annotate-target", "merge-compiler-regions partition-graph", "there is nothing to merge yet"},
    {order_kind::hard, "merge-compiler-regions", "partition-graph", "every operator would be a part of its own"},
    {order_kind::hard, "simplify-inference", "first-order-gradient", "normalisations and dropout have no gradient"},
    {order_kind::hard, "to-graph-normal-form", "first-order-gradient", "let has no gradient"},
    {order_kind::hard, "fuse-ops", "defuse-ops", "there is nothing to undo yet"},
    {order_kind::hard, "fake-quantization-to-integer", "qnn-legalize", "it makes what the second replaces"},
    {order_kind::soft, rewriting_passes, "fuse-ops", "passes do not look into kernels"},
    {order_kind::soft, "simplify-inference", "backward-fold-scale-axis forward-fold-scale-axis",
     "normalisations become scales first"},
    {order_kind::soft, "backward-fold-scale-axis", "forward-fold-scale-axis", "what is before a scale folds into more"},
    {order_kind::soft, "backward-fold-scale-axis forward-fold-scale-axis", "fold-constant",
     "scales that were folded are arithmetic on weights"},
    {order_kind::soft, "fold-constant", "forward-fold-scale-axis",
     "whether a scale is positive shows when it is known"},
    {order_kind::soft, "fold-constant dynamic-to-static", "simplify-expr", "reshapes and conditions must be known"},
    {order_kind::soft, "fold-constant dynamic-to-static", combining_passes, "branches are compared by their shapes"},
    {order_kind::soft, "eliminate-common-subexpr", "combine-parallel-dense combine-parallel-batch-matmul batching-ops",
     "equal inputs must be one value"},
    {order_kind::soft, "merge-composite", "canonicalize-ops partition-graph fuse-ops",
     "patterns must find operators as they were"},
    {order_kind::soft, combining_passes, "fold-constant", "weights that were joined are folded"},
    {order_kind::soft, "convert-layout to-mixed-precision simplify-fc-transpose", "fold-constant",
     "weights that were changed are folded"},
    {order_kind::soft, "canonicalize-ops", "alter-op-layout", "biases need a form that any layout has"},
    {order_kind::soft, "eliminate-common-subexpr", "canonicalize-cast", "it merges the copies again"},
    {order_kind::soft, "fold-explicit-padding", "alter-op-layout", "pads are read in the plain layout"},
    {order_kind::soft, "convert-layout", "fold-explicit-padding", "pads stand in front of a transposition"},
    {order_kind::soft, "fake-quantization-to-integer", "fold-explicit-padding",
     "the value padded with is a zero point"},
    {order_kind::soft, "simplify-inference to-mixed-precision", "fast-math",
     "operators become the fast ones last of all"},
    {order_kind::soft,
     "fold-constant simplify-expr simplify-inference eliminate-common-subexpr merge-composite dynamic-to-static",
     "dead-code-elimination", "what they leave is erased"},
    {order_kind::soft, "partition-graph", "remove-unused-functions", "what was taken apart is not called any more"},
    {order_kind::soft, "convert-layout", "alter-op-layout", "dimensions have their order before values are stored"},
    {order_kind::exclusive, "simplify-inference", "merge-composite",
     "a normalisation is either taken apart or matched as a whole"},
};

// Calls `f` for each of the names between blanks.
template <class F>
void for_each_name(std::string_view names, F&& f) {
    while (!names.empty()) {
        auto const end = std::min(names.find(' '), names.size());
        f(names.substr(0, end));
        names.remove_prefix(std::min(end + 1, names.size()));
    }
}

} // namespace detail

GSUB_INLINE std::span<order_rule const> order_rules() noexcept {
    return detail::order_table;
}

GSUB_INLINE std::string order_breach::text() const {
    if (rule->kind == order_kind::exclusive)
        return format_text("{} and {} exclude each other: {}", quoted{before}, quoted{after}, rule->reason);
    return format_text("{}{} come before {}: {}", quoted{before}, rule->kind == order_kind::hard ? " must" : " should",
                       quoted{after}, rule->reason);
}

GSUB_INLINE std::vector<order_breach> check_order(std::span<std::string_view const> names,
                                                  std::span<order_rule const> rules) {
    std::vector<order_breach> found;
    auto const first = [&](std::string_view name) { return std::find(names.begin(), names.end(), name); };
    for (auto const& rule : rules)
        detail::for_each_name(rule.before, [&](std::string_view before) {
            auto const b = first(before);
            if (b == names.end()) return;
            detail::for_each_name(rule.after, [&](std::string_view after) {
                auto const a = first(after);
                if (a == names.end() || a == b) return;
                auto const last = std::find(names.rbegin(), names.rend(), after).base(); // behind it
                if (rule.kind == order_kind::exclusive || (rule.kind == order_kind::hard ? a < b : last <= b))
                    found.push_back({&rule, before, after});
            });
        });
    return found;
}

} // namespace gsub
