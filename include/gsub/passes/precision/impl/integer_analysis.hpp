// integer_analysis: which values of a graph integers can carry, and in which unit.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/precision/impl/quantized_values.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gsub::passes::detail {

/// How integers carry a value.
enum class carried : std::uint8_t {
    nothing, ///< no integers
    bytes,   ///< u8 or i8 in a unit that is known
    joined,  ///< parts that are brought to the unit of the result
    sums,    ///< i32
};

/// What the analysis tells of a node.
struct integer_fact {
    carried carries = carried::nothing;
    std::string_view reason = "float operand"; ///< why there are no integers
    unit u{};                                  ///< of bytes
    std::uint32_t depth = 0;                   ///< operators since the last `dequantize`
    bool per_channel = false;                  ///< sums with a scale for each channel
};

/// Forward analysis: each node is judged by what is known of its operands.
template <class = void>
class integer_analysis {
public:
    explicit integer_analysis(any_graph const& g) : g_(g), facts_(g.capacity()) {
        for (auto n : g.order())
            if (n != g.return_node() && (g.result_count(n) == 1 || g.is<ops::split>(n))) facts_[n.index] = judge(n);
    }

    [[nodiscard]] integer_fact const& of(node_id n) const { return facts_[n.index]; }
    /// Whether a node only moves the elements of its one operand.
    [[nodiscard]] bool moves(node_id n) const {
        return g_.operand_count(n) == 1 &&
               (g_.is<ops::reshape>(n) || g_.is<ops::flatten>(n) || g_.is<ops::transpose>(n) ||
                g_.is<ops::squeeze>(n) || g_.is<ops::unsqueeze>(n) || g_.is<ops::identity>(n));
    }
    /// Elements of a window, of any numbers that a file may hold.
    [[nodiscard]] static double area_of(ints const& sizes) {
        double area = 1;
        for (auto s : sizes) area *= static_cast<double>(s);
        return area;
    }

private:
    using fact = integer_fact;
    static constexpr std::uint32_t most_operators = 500; // of a region

    [[nodiscard]] fact const& of(node_id n, std::size_t i) const { return facts_[g_.operand(n, i).node.index]; }
    [[nodiscard]] bool carries(node_id n, std::size_t i, carried c) const {
        return g_.operand(n, i).valid() && of(n, i).carries == c;
    }

    fact judge(node_id n) const {
        fact f;
        if (g_.is<ops::input>(n) || g_.is<ops::constant>(n)) return f;
        if (g_.is<ops::dequantize>(n)) {
            auto const u = unit_of(g_, n, g_.type(g_.operand(n, 0)).element);
            if (u && g_.type({n, 0}).element == dtype::f32) return {carried::bytes, {}, *u};
            f.reason = "scales that are no constant, or several";
            return f;
        }
        if (g_.operand_count(n) == 0) return f;
        // What is wrong above is what is wrong here.
        for (std::size_t i = 0; i < g_.operand_count(n); ++i)
            if (g_.operand(n, i).valid() && of(n, i).carries == carried::nothing && of(n, i).reason == no_rule) {
                f.reason = no_rule;
                return f;
            }
        auto const known = rule(n);
        if (!known.reason.empty()) return known;
        f = known;
        for (std::size_t i = 0; i < g_.operand_count(n); ++i)
            if (g_.operand(n, i).valid()) f.depth = std::max(f.depth, of(n, i).depth + 1);
        if (f.depth > most_operators) return {carried::nothing, "too many operators in a region"};
        return f;
    }
    static constexpr std::string_view no_rule = "no integer rule";
    fact refused(std::string_view reason) const { return {carried::nothing, reason}; }

    fact rule(node_id n) const {
        auto const x = carries(n, 0, carried::bytes), joined = carries(n, 0, carried::joined),
                   sums = carries(n, 0, carried::sums);
        auto const sum = [&](bool per_channel = false) { return fact{carried::sums, {}, {}, 0, per_channel}; };
        auto const passed = [&]() -> fact {
            auto const& above = of(n, 0);
            return {above.carries, {}, above.u, 0, above.per_channel};
        };
        auto const operand = [&](bool fits) { return fits ? passed() : refused(above(n)); };
        if (moves(n)) return operand(x || joined || (sums && (!of(n, 0).per_channel || g_.is<ops::identity>(n))));
        if (g_.is<ops::relu>(n)) return operand(x || joined || sums);
        if ((g_.is<ops::slice>(n) || g_.is<ops::clip>(n) || g_.is<ops::pad>(n) || g_.is<ops::max_pool>(n)) &&
            g_.operand_count(n) == 1)
            return operand(x || joined);
        // Its results are built one by one, so parts that each would bring to its own unit are left.
        if (g_.is<ops::split>(n) && g_.operand_count(n) == 1) return operand(x);
        if (g_.is<ops::concat>(n)) {
            bool same = true;
            for (std::size_t i = 0; i < g_.operand_count(n); ++i) {
                if (!carries(n, i, carried::bytes)) return refused(above(n));
                same = same && of(n, i).u == of(n, 0).u;
            }
            auto f = passed();
            if (!same) f.carries = carried::joined;
            return f;
        }
        if (g_.is<ops::add>(n) || g_.is<ops::sub>(n) || g_.is<ops::mul>(n))
            return x && carries(n, 1, carried::bytes) ? sum() : refused(above(n));
        if (g_.is<ops::global_average_pool>(n)) {
            if (!x) return refused(above(n));
            auto const& t = g_.type(g_.operand(n, 0));
            std::int64_t area = 1;
            if (!t.is_static()) return refused("unknown dimensions");
            for (std::size_t d = 2; d < t.rank(); ++d) area *= t.dims[d].size();
            return area > 0 && area < (1 << 22) && t.rank() > 2 ? sum() : refused("sums beyond 32 bits");
        }
        if (g_.is<ops::average_pool>(n)) return x ? windows(n) : refused(above(n));
        if (g_.is<ops::conv>(n)) return x ? convolution(n) : refused(above(n));
        if (g_.is<ops::mat_mul>(n)) return x && carries(n, 1, carried::bytes) ? sum() : refused(above(n));
        if (g_.is<ops::gemm>(n)) {
            auto const& a = g_.attributes<ops::gemm>(n);
            if (!x || !carries(n, 1, carried::bytes)) return refused(above(n));
            if (a.alpha != 1 || a.beta != 1) return refused("a factor of a product");
            double const unit_of_sum = static_cast<double>(of(n, 0).u.scale) * static_cast<double>(of(n, 1).u.scale);
            return !g_.operand(n, 2).valid() || bias_fits(g_.operand(n, 2), {unit_of_sum})
                       ? sum()
                       : refused("a bias in another unit");
        }
        return refused(no_rule);
    }
    // The reason why an operand does not fit.
    [[nodiscard]] std::string_view above(node_id n) const {
        for (std::size_t i = 0; i < g_.operand_count(n); ++i)
            if (g_.operand(n, i).valid() && of(n, i).carries == carried::nothing) return of(n, i).reason;
        return "sums that are not quantized again";
    }

    // Means over windows that all have as many elements.
    fact windows(node_id n) const {
        auto const& a = g_.attributes<ops::average_pool>(n);
        auto const& t = g_.type(g_.operand(n, 0));
        if (t.rank() < 3 || !t.dims[1].fixed()) return refused("unknown dimensions");
        auto const padded = std::any_of(a.pads.begin(), a.pads.end(), [](auto p) { return p != 0; });
        if ((padded && !a.count_include_pad) || a.ceil_mode) return refused("windows of several sizes");
        if (!(area_of(a.kernel_shape) < 1 << 22)) return refused("sums beyond 32 bits");
        // The ones are as many for each channel.
        if (area_of(a.kernel_shape) * static_cast<double>(t.dims[1].size()) > 1 << 24)
            return refused("windows too large");
        return {carried::sums, {}, {}, 0, false};
    }

    fact convolution(node_id n) const {
        auto const w = g_.operand(n, 1).node;
        auto const act = g_.attributes<ops::conv>(n).act;
        if (act != activation::none && act != activation::relu) return refused("a fused activation");
        auto const& type = g_.type({w, 0});
        if (!g_.is<ops::dequantize>(w) || !is_byte(g_.type(g_.operand(w, 0)).element) || !type.is_static())
            return refused("a weight that is not quantized");
        scales_of const s{g_, w};
        auto const& a = g_.attributes<ops::dequantize>(w);
        auto const channels = static_cast<std::size_t>(type.dims[0].size());
        if (!s.known || a.block_size != 0 || (s.scales.size() != 1 && (a.axis != 0 || s.scales.size() != channels)))
            return refused("scales that are no constant, or several");
        std::vector<double> units;
        for (auto v : s.scales) units.push_back(v * static_cast<double>(of(n, 0).u.scale));
        if (g_.operand(n, 2).valid() && !bias_fits(g_.operand(n, 2), units)) return refused("a bias in another unit");
        return {carried::sums, {}, {}, 0, units.size() > 1};
    }

    [[nodiscard]] bool bias_fits(value_id b, std::vector<double> const& units) const {
        auto const n = b.node;
        if (!g_.is<ops::dequantize>(n) || g_.type(g_.operand(n, 0)).element != dtype::i32) return false;
        scales_of const s{g_, n};
        if (!s.known || g_.attributes<ops::dequantize>(n).block_size != 0) return false;
        for (auto z : s.zeros)
            if (z != 0) return false;
        if (s.scales.size() != 1 && (s.scales.size() != units.size() || g_.type(b).rank() != 1)) return false;
        for (std::size_t i = 0; i < units.size(); ++i) {
            auto const v = s.scales[s.scales.size() == 1 ? 0 : i];
            if (!(std::abs(v - units[i]) <= 1e-5 * units[i])) return false;
        }
        return true;
    }

    any_graph const& g_;
    std::vector<fact> facts_;
};

} // namespace gsub::passes::detail
