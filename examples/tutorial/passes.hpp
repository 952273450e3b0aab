// Tutorial, step 5: passes of the product's own, and the class of networks that they are for.
#pragma once

#include <gsub/gsub.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace app {

/// Where a 1x1 and a 3x3 convolution of one value are concatenated, gives the first the window of the second, with
/// zeros around its tap. Then `combine-parallel-conv2d` makes one convolution of both.
struct widen_pointwise {
    static constexpr gsub::pass_facts facts{"widen-pointwise", gsub::exactness::reassociating};

    gsub::result<gsub::pass_outcome> operator()(gsub::any_graph& g, gsub::pass_context& cx) const {
        gsub::pass_outcome outcome;
        gsub::any_graph const before{g}; // nodes that the pass adds are none to look at
        for (auto n : before.order()) {
            if (!before.is<gsub::ops::concat>(n) || before.operand_count(n) != 2) continue;
            auto small = conv_behind(before, before.operand(n, 0)), large = conv_behind(before, before.operand(n, 1));
            if (window(before, small) > window(before, large)) std::swap(small, large);
            if (window(before, small) != 1 || window(before, large) != 3) {
                outcome.skip("no 1x1 convolution beside a 3x3 one");
            } else if (before.operand(small, 0) != before.operand(large, 0)) {
                outcome.skip("the convolutions read different values");
            } else if (g.live(small) && cx.should_rewrite()) {
                if (auto done = widen(g, small); !done) return done.error();
                ++outcome.matches;
            }
        }
        outcome.changed = outcome.matches > 0;
        g.erase_dead();
        return outcome;
    }

private:
    // The node that computes a value, behind elementwise operators.
    static gsub::node_id conv_behind(gsub::any_graph const& g, gsub::value_id v) {
        while (g.op(v.node).category == gsub::op_category::elementwise) v = g.operand(v.node, 0);
        return v.node;
    }
    // 1 or 3 of a plain convolution of images with that window, pads around it and stride 1; 0 of all else.
    static std::int64_t window(gsub::any_graph const& g, gsub::node_id n) {
        if (!g.is<gsub::ops::conv>(n) || g.constant(n)) return 0;
        gsub::attributes_of<gsub::ops::conv> plain;
        auto const& w = g.type(g.operand(n, 1));
        if (!w.is_static() || w.rank() != 4 || w.dims[2] != w.dims[3]) return 0;
        auto const size = w.dims[2].size(), pad = (size - 1) / 2;
        plain.strides = plain.dilations = {1, 1}, plain.pads = {pad, pad, pad, pad};
        return (size == 1 || size == 3) && g.attributes(n) == gsub::intern<gsub::ops::conv>(plain) ? size : 0;
    }
    static gsub::result<void> widen(gsub::any_graph& g, gsub::node_id n) {
        auto attributes = g.attributes<gsub::ops::conv>(n);
        attributes.pads = {1, 1, 1, 1};
        gsub::graph_patch patch{g, facts.name, n};
        auto const weight = patch.add<gsub::ops::pad>({.pads = {0, 0, 1, 1, 0, 0, 1, 1}}, {g.operand(n, 1)});
        auto const wide = patch.add<gsub::ops::conv>(attributes, {g.operand(n, 0), weight, g.operand(n, 2)});
        patch.replace({n, 0}, wide);
        patch.covers(n);
        return patch.apply_to(g);
    }
};

/// The concatenation of all parts of a split, in their order, is what was split.
struct rejoin_split {
    static constexpr gsub::pass_facts facts{"rejoin-split", gsub::exactness::bit_exact};

    gsub::result<gsub::pass_outcome> operator()(gsub::any_graph& g, gsub::pass_context& cx) const {
        gsub::pass_outcome outcome;
        for (auto n : g.order()) {
            auto const split = g.operand_count(n) > 0 ? g.operand(n, 0).node : n;
            if (!g.is<gsub::ops::concat>(n) || !g.is<gsub::ops::split>(split)) continue;
            auto const whole = g.operand(split, 0);
            bool same = g.operand_count(n) == g.result_count(split) && g.type({n, 0}) == g.type(whole);
            for (std::uint32_t i = 0; i < g.result_count(split) && same; ++i)
                same = g.operand(n, i) == gsub::value_id{split, i};
            if (!same) {
                outcome.skip("parts are missing, or in another order");
            } else if (cx.should_rewrite()) {
                g.replace_uses({n, 0}, whole);
                ++outcome.matches;
            }
        }
        outcome.changed = outcome.matches > 0;
        g.erase_dead();
        return outcome;
    }
};

/// Small residual networks, with these passes in the middle of those for ResNets.
struct small_resnet {
    static constexpr std::string_view name = "small-resnet";
    gsub::class_score score(gsub::architecture_features const& f) const {
        return {f.residual_blocks > 0 && f.convolutions <= 16 ? 1.0 : 0.0,
                std::to_string(f.residual_blocks) + " residual blocks in " + std::to_string(f.convolutions) +
                    " convolutions"};
    }
    auto passes() const {
        using namespace gsub;
        constexpr pipeline one_window{widen_pointwise{}, passes::fold_constant{},
                                      passes::combine_parallel_conv2d{.min_branches = 2}, rejoin_split{}};
        return pipeline{networks::for_imports(), networks::for_convolutions(), one_window, passes::fold_constant{},
                        networks::for_kernels()};
    }
};

} // namespace app
