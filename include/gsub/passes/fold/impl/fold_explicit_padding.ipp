#pragma once

#include <gsub/passes/fold/fold_explicit_padding.hpp>
#include <gsub/passes/impl/pass_steps.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gsub::passes {

namespace detail {

// Gives windows the borders of what they read.
template <class = void>
class border_folder {
public:
    border_folder(any_graph& g, pass_context& cx) : g_(g), cx_(cx) {}

    pass_outcome run() {
        auto const order = std::vector<node_id>(g_.order().begin(), g_.order().end());
        for (auto n : order) {
            if (!g_.used(n)) continue;
            if (g_.is<ops::conv>(n))
                fold<ops::conv>(n);
            else if (g_.is<ops::average_pool>(n))
                fold<ops::average_pool>(n);
            else if (g_.is<ops::max_pool>(n))
                fold<ops::max_pool>(n);
        }
        erase_and_finish(g_, outcome_, "a window may read what its border was put around");
        return std::move(outcome_);
    }

private:
    template <class Op>
    void fold(node_id n) {
        cx_.check_stop();
        auto attributes = g_.template attributes<Op>(n);
        auto x = g_.operand(n, 0);
        std::vector<node_id> folded{n};
        while (g_.is<ops::pad>(x.node)) {
            auto const reason = incompatibility(attributes, n, x.node);
            if (!reason.empty()) {
                outcome_.skip(reason);
                break;
            }
            auto const& border = g_.attributes<ops::pad>(x.node).pads;
            auto const rank = border.size() / 2, spatial = rank - 2;
            for (std::size_t i = 0; i < spatial; ++i) {
                attributes.pads[i] += border[i + 2];
                attributes.pads[i + spatial] += border[i + 2 + rank];
            }
            if constexpr (std::is_same_v<Op, ops::average_pool>) attributes.count_include_pad = true;
            folded.push_back(x.node);
            x = g_.operand(x.node, 0);
        }
        if (folded.size() == 1) return;
        auto operands = g_.operands(n);
        operands[0] = x;
        small_vector<type_id, 2> types;
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) types.push_back(g_.type_of({n, port}));
        auto const made = g_.append_node(g_.row(n), intern<Op>(attributes), 0, operands, types);
        g_.inherit_sources(made, folded);
        for (std::uint32_t port = 0; port < types.size(); ++port)
            if (g_.used(value_id{n, port})) g_.replace_uses({n, port}, {made, port});
        outcome_.matches += folded.size() - 1;
    }

    // Why a border stays in front of a window, or nothing.
    template <class Attributes>
    std::string_view incompatibility(Attributes const& window, node_id n, node_id pad) const {
        auto const& border = g_.attributes<ops::pad>(pad);
        auto const spatial = window.strides.size(), rank = spatial + 2;
        if (g_.operand_count(pad) != 1) return "a border that is computed";
        if (border.mode != "constant") return "a border of other elements";
        if (border.pads.size() != 2 * rank) return "a border of another rank";
        if (std::any_of(border.pads.begin(), border.pads.end(), [](auto p) { return p < 0; }))
            return "a border that crops";
        for (std::size_t i : {std::size_t{0}, std::size_t{1}})
            if (border.pads[i] != 0 || border.pads[i + rank] != 0) return "a border around images or channels";
        constexpr auto most = std::int64_t{1} << 31; // of a window's pads
        for (std::size_t i = 0; i < spatial; ++i)
            if (border.pads[i + 2] > most - window.pads[i] ||
                border.pads[i + 2 + rank] > most - window.pads[i + spatial])
                return "a border that is wider than windows have";
        return suits(window, n, pad);
    }

    std::string_view suits(attributes_of<ops::conv> const&, node_id n, node_id pad) const {
        if (g_.attributes<ops::pad>(pad).value != 0) return "a border that is not zero";
        return may_skip_zeros(g_.operand(n, 1)) ? "" : "weights that are not finite";
    }
    // Whether weights times zero are zero, as windows take them: constants say so, others are trusted.
    [[nodiscard]] bool may_skip_zeros(value_id weights) const {
        if (!g_.constant(weights.node)) return true;
        auto const& data = g_.constant_data(weights.node);
        if (!is_floating(data.element())) return true;
        auto const all = data.converted_to(dtype::f64);
        return std::ranges::all_of(all.data<double>(), [](double w) { return std::isfinite(w); });
    }
    std::string_view suits(attributes_of<ops::average_pool> const& window, node_id, node_id pad) const {
        if (g_.attributes<ops::pad>(pad).value != 0) return "a border that is not zero";
        auto const none = std::all_of(window.pads.begin(), window.pads.end(), [](auto p) { return p == 0; });
        if (!none && !window.count_include_pad) return "a mean that does not count its own border";
        return window.ceil_mode ? "a window that rounds up" : "";
    }
    std::string_view suits(attributes_of<ops::max_pool> const& window, node_id n, node_id pad) const {
        auto const& border = g_.attributes<ops::pad>(pad);
        auto const element = g_.type({n, 0}).element;
        auto const lowest = element == dtype::f32   ? static_cast<double>(std::numeric_limits<float>::lowest())
                            : element == dtype::f64 ? std::numeric_limits<double>::lowest()
                                                    : -std::numeric_limits<double>::infinity();
        if (!is_floating(element)) return "elements that are not real numbers";
        if (border.value > lowest && !(border.value == 0 && never_negative(g_.operand(pad, 0))))
            return "a border that may be the maximum";
        if (window.ceil_mode) return "a window that rounds up";
        if (g_.result_count(n) > 1 && g_.used(value_id{n, 1})) return "places of maxima";
        auto const spatial = window.strides.size();
        for (std::size_t i = 0; i < spatial; ++i) {
            auto const most =
                std::max(window.pads[i] + border.pads[i + 2], window.pads[i + spatial] + border.pads[i + 4 + spatial]);
            if (window.dilations[i] != 1 || most >= window.kernel_shape[i]) return "a window that may see no element";
        }
        return {};
    }

    // Whether what computes a value gives no negative numbers.
    [[nodiscard]] bool never_negative(value_id v) const {
        for (int steps = 0; steps < 64; ++steps) {
            auto const n = v.node;
            if (g_.is<ops::relu>(n) || g_.is<ops::sigmoid>(n) || g_.is<ops::abs>(n) || g_.is<ops::exp>(n) ||
                (g_.is<ops::softmax>(n)))
                return true;
            if (g_.is<ops::clip>(n))
                return g_.operand_count(n) == 1 && g_.attributes<ops::clip>(n).min >= 0 &&
                       g_.attributes<ops::clip>(n).max >= 0;
            if (g_.is<ops::conv>(n)) {
                auto const& a = g_.attributes<ops::conv>(n);
                return a.act == activation::relu || a.act == activation::sigmoid ||
                       (a.act == activation::clip && a.act_min >= 0 && a.act_max >= 0);
            }
            auto const moves =
                g_.is<ops::identity>(n) || g_.is<ops::max_pool>(n) || g_.is<ops::average_pool>(n) ||
                (g_.is<ops::pad>(n) && g_.operand_count(n) == 1 && g_.attributes<ops::pad>(n).value >= 0);
            if (!moves || v.port != 0) return false;
            v = g_.operand(n, 0);
        }
        return false;
    }

    any_graph& g_;
    pass_context& cx_;
    pass_outcome outcome_;
};

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> fold_explicit_padding::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] { return detail::border_folder<>{g, cx}.run(); });
}

} // namespace gsub::passes
