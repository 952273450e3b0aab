#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/precision/fake_quantization_to_integer.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace gsub::passes {

namespace detail {

/// What a quantized value stands for: (q - zero) * scale.
struct unit {
    float scale = 1;
    std::int64_t zero = 0;
    dtype element = dtype::undefined;
    friend bool operator==(unit const&, unit const&) = default;
};

GSUB_LAZY std::optional<std::vector<double>> numbers_of(any_graph const& g, value_id v) {
    if (!v.valid() || !g.is<ops::constant>(v.node)) return std::nullopt;
    auto const wide = g.constant_data(v.node).converted_to(dtype::f64);
    return std::vector<double>(wide.data<double>().begin(), wide.data<double>().end());
}

/// Scales and zero points of a `quantize` or `dequantize`, where they are constants.
struct scales_of {
    std::vector<double> scales, zeros; ///< zeros: as many, or none
    bool known = false;
    scales_of(any_graph const& g, node_id n) {
        if (g.type(g.operand(n, 1)).element != dtype::f32) return;
        auto const s = numbers_of(g, g.operand(n, 1));
        if (!s) return;
        scales = *s;
        if (auto const z = g.operand(n, 2); z.valid()) {
            auto const found = numbers_of(g, z);
            if (!found) return;
            zeros = *found;
        }
        known = true;
        for (auto v : scales) known = known && v > 0 && v < std::numeric_limits<float>::infinity();
    }
    [[nodiscard]] double zero(std::size_t i) const { return zeros.empty() ? 0 : zeros[zeros.size() == 1 ? 0 : i]; }
};

GSUB_LAZY bool is_byte(dtype t) {
    return is_integer(t) && byte_size(t) == 1;
}

GSUB_LAZY std::optional<unit> unit_of(any_graph const& g, node_id n, dtype element) {
    scales_of const s{g, n};
    if (!s.known || s.scales.size() != 1 || s.zeros.size() > 1 || !is_byte(element)) return std::nullopt;
    return unit{static_cast<float>(s.scales[0]), static_cast<std::int64_t>(s.zero(0)), element};
}

GSUB_LAZY double lowest_of(dtype t) {
    return info(t).is_signed ? -128 : 0;
}
GSUB_LAZY std::int64_t quantized(double v, unit const& u) {
    auto const low = lowest_of(u.element);
    auto const q = static_cast<double>(std::nearbyint(static_cast<float>(v) / u.scale)) + static_cast<double>(u.zero);
    return static_cast<std::int64_t>(!(q > low) ? low : q > low + 255 ? low + 255 : q);
}

template <class = void>
class integer_rewriter {
public:
    explicit integer_rewriter(any_graph& g) : g_(g), facts_(g.capacity()) {
        for (auto n : g.order())
            if (n != g.return_node() && (g.result_count(n) == 1 || g.is<ops::split>(n))) facts_[n.index] = judge(n);
    }

    /// Rewrites the region of a `quantize` and gives true, or says why not; no reason where there is nothing to do.
    bool rewrite(node_id q, pass_context& cx, std::string_view& reason) {
        auto const x = g_.operand(q, 0);
        auto const f = facts_[x.node.index];
        auto const target = unit_of(g_, q, g_.type({q, 0}).element);
        if (f.carries == carried::nothing || !target) {
            reason = !f.reason.empty() ? f.reason : "scales that are no constant, or several";
            return false;
        }
        if (f.depth == 0 && !(f.u == *target)) return false; // a change of unit alone
        if (!cx.should_rewrite()) return false;
        auto const first_new = static_cast<std::uint32_t>(g_.capacity());
        auto const made = g_.is<ops::conv>(x.node) && keeps_activation(x.node, *target)
                              ? one_convolution(x.node, q, *target)
                              : finished(build(x, *target), q, *target);
        for (auto i = first_new; i < g_.capacity(); ++i) g_.inherit_sources({i}, {&q, 1});
        g_.replace_uses({q, 0}, made, first_new);
        return true;
    }

private:
    enum class carried : std::uint8_t {
        nothing, ///< no integers
        bytes,   ///< u8 or i8 in a unit that is known
        joined,  ///< parts that are brought to the unit of the result
        sums,    ///< i32
    };
    struct fact {
        carried carries = carried::nothing;
        std::string_view reason = "float operand"; ///< why there are no integers
        unit u{};                                  ///< of bytes
        std::uint32_t depth = 0;                   ///< operators since the last `dequantize`
        bool per_channel = false;                  ///< sums with a scale for each channel
    };
    struct form {
        value_id v;
        std::vector<float> scales; ///< one, or one a channel
        std::int64_t zero = 0;
        dtype element = dtype::undefined;
    };
    static constexpr std::uint32_t most_operators = 500; // of a region

    [[nodiscard]] fact const& of(node_id n, std::size_t i) const { return facts_[g_.operand(n, i).node.index]; }
    [[nodiscard]] bool carries(node_id n, std::size_t i, carried c) const {
        return g_.operand(n, i).valid() && of(n, i).carries == c;
    }
    [[nodiscard]] bool moves(node_id n) const {
        return g_.operand_count(n) == 1 &&
               (g_.is<ops::reshape>(n) || g_.is<ops::flatten>(n) || g_.is<ops::transpose>(n) ||
                g_.is<ops::squeeze>(n) || g_.is<ops::unsqueeze>(n) || g_.is<ops::identity>(n));
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
    static double area_of(ints const& sizes) { // of any numbers that a file may hold
        double area = 1;
        for (auto s : sizes) area *= static_cast<double>(s);
        return area;
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

    // ---- building

    value_id numbers(dtype element, double v) { return g_.add_constant(tensor::scalar(v).converted_to(element)); }
    value_id scales(std::vector<float> const& s) {
        return s.size() == 1 ? g_.add_constant(tensor::scalar(s[0]))
                             : g_.add_constant(tensor::from<float>(ints{static_cast<std::int64_t>(s.size())}, s));
    }
    value_id wide(value_id v) { return g_.template add<ops::cast>({.to = dtype::i32}, {v}); }
    value_id centred(form const& f) {
        auto const w = wide(f.v);
        return f.zero == 0 ? w : g_.template add<ops::sub>(w, numbers(dtype::i32, static_cast<double>(f.zero)));
    }
    static unit single(form const& f) { return {f.scales[0], f.zero, f.element}; }

    // A form as what a `quantize` gives.
    value_id finished(form const& f, node_id q, unit const& to) {
        if (f.scales.size() == 1 && single(f) == to) return f.v;
        auto const s = scales(f.scales);
        auto const real =
            f.zero == 0 && f.element == dtype::i32
                ? g_.template add<ops::dequantize>({.axis = 1}, {f.v, s})
                : g_.template add<ops::dequantize>({}, {f.v, s, numbers(f.element, static_cast<double>(f.zero))});
        return q.valid() ? g_.emit(g_.row(q), g_.attributes(q), std::vector{real, g_.operand(q, 1), g_.operand(q, 2)})
                         : g_.template add<ops::quantize>(
                               {}, {real, scales({to.scale}), numbers(to.element, static_cast<double>(to.zero))});
    }

    form build(value_id v, unit const& target) {
        auto const n = v.node;
        // Parts that are brought to the unit of the result are not shared with other results.
        auto const shared = !depends_on_target(n);
        if (auto const found = built_.find(v); shared && found != built_.end()) return found->second;
        auto made = make(n, target);
        if (!g_.is<ops::split>(n)) {
            if (shared) built_.emplace(v, made);
            return made;
        }
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
            made.v.port = port, built_.emplace(value_id{n, port}, made);
        return built_.at(v);
    }
    [[nodiscard]] bool depends_on_target(node_id n) const { return facts_[n.index].carries == carried::joined; }

    form again(node_id n, form f, attributes_id attributes) {
        f.v = g_.emit(g_.row(n), attributes, std::vector{f.v}, g_.result_count(n));
        return f;
    }

    form make(node_id n, unit const& target) {
        if (g_.is<ops::dequantize>(n)) {
            auto const& u = facts_[n.index].u;
            return {g_.operand(n, 0), {u.scale}, u.zero, u.element};
        }
        if (g_.is<ops::concat>(n)) {
            std::vector<value_id> parts;
            auto const joined = depends_on_target(n);
            form f;
            for (auto v : g_.operands(n)) {
                f = build(v, target);
                parts.push_back(joined ? finished(f, {}, target) : f.v);
            }
            if (joined) f = {{}, {target.scale}, target.zero, target.element};
            f.v = g_.emit(g_.row(n), g_.attributes(n), parts);
            return f;
        }
        if (g_.is<ops::conv>(n)) return convolved(n, target);
        auto const a = build(g_.operand(n, 0), target);
        if (g_.is<ops::relu>(n) || g_.is<ops::clip>(n)) return clipped(n, a);
        if (g_.is<ops::pad>(n)) {
            auto p = g_.attributes<ops::pad>(n);
            p.value = static_cast<double>(quantized(p.value, single(a)));
            return again(n, a, intern<ops::pad>(p));
        }
        if (g_.is<ops::global_average_pool>(n)) {
            auto const& t = g_.type(g_.operand(n, 0));
            reduce_attributes over;
            double area = 1;
            for (std::size_t d = 2; d < t.rank(); ++d) {
                over.axes.push_back(static_cast<std::int64_t>(d));
                area *= static_cast<double>(t.dims[d].size());
            }
            auto const total = g_.template add<ops::reduce_sum>(over, {centred(a)});
            return {total, {static_cast<float>(static_cast<double>(a.scales[0]) / area)}, 0, dtype::i32};
        }
        if (g_.is<ops::average_pool>(n)) { // a convolution of each channel by ones
            auto const& windows = g_.attributes<ops::average_pool>(n);
            auto const channels = g_.type(g_.operand(n, 0)).dims[1].size();
            integer_window w;
            w.strides = windows.strides, w.pads = windows.pads, w.dilations = windows.dilations, w.group = channels;
            ints sizes{channels, 1};
            for (auto size : windows.kernel_shape) sizes.push_back(size);
            auto ones = tensor::zeros(dtype::u8, sizes);
            for (auto& one : ones.template mutable_data<std::uint8_t>()) one = 1;
            auto const total = g_.template add<ops::conv_integer>(w, {a.v, g_.add_constant(std::move(ones)),
                                                                      numbers(a.element, static_cast<double>(a.zero)),
                                                                      numbers(dtype::u8, 0)});
            auto const area = area_of(windows.kernel_shape);
            return {total, {static_cast<float>(static_cast<double>(a.scales[0]) / area)}, 0, dtype::i32};
        }
        if (moves(n) || g_.is<ops::slice>(n) || g_.is<ops::max_pool>(n) || g_.is<ops::split>(n))
            return again(n, a, g_.attributes(n));
        auto const b = build(g_.operand(n, 1), target);
        if (g_.is<ops::mul>(n))
            return {g_.template add<ops::mul>(centred(a), centred(b)), {a.scales[0] * b.scales[0]}, 0, dtype::i32};
        if (g_.is<ops::add>(n) || g_.is<ops::sub>(n)) {
            // 255 * 2^20 twice is below 2^31.
            auto const step = std::ldexp(std::max(a.scales[0], b.scales[0]), -20);
            auto const scaled = [&](form const& f) {
                auto const factor = std::nearbyint(static_cast<double>(f.scales[0]) / static_cast<double>(step));
                return g_.template add<ops::mul>(centred(f), numbers(dtype::i32, factor));
            };
            auto const x = scaled(a), y = scaled(b);
            auto const both = g_.is<ops::add>(n) ? g_.template add<ops::add>(x, y) : g_.template add<ops::sub>(x, y);
            return {both, {step}, 0, dtype::i32};
        }
        // Products.
        auto x = a.v, y = b.v;
        if (g_.is<ops::gemm>(n)) {
            auto const& s = g_.attributes<ops::gemm>(n);
            auto const turned = [&](value_id v) { return g_.template add<ops::transpose>({.perm = {1, 0}}, {v}); };
            if (s.transpose_a) x = turned(x);
            if (s.transpose_b) y = turned(y);
        }
        auto total = g_.template add<ops::mat_mul_integer>(x, y, numbers(a.element, static_cast<double>(a.zero)),
                                                           numbers(b.element, static_cast<double>(b.zero)));
        if (g_.is<ops::gemm>(n) && g_.operand(n, 2).valid())
            total = g_.template add<ops::add>(total, g_.operand(g_.operand(n, 2).node, 0));
        return {total, {a.scales[0] * b.scales[0]}, 0, dtype::i32};
    }

    form clipped(node_id n, form f) {
        attributes_of<ops::clip> c;
        if (f.element == dtype::i32) { // behind sums: nothing but a relu, and zero is zero
            c.min = 0;
        } else if (g_.is<ops::relu>(n)) {
            c.min = static_cast<double>(f.zero);
        } else {
            auto const& a = g_.attributes<ops::clip>(n);
            c.min = static_cast<double>(quantized(a.min, single(f)));
            c.max = static_cast<double>(quantized(a.max, single(f)));
        }
        f.v = g_.template add<ops::clip>(c, {f.v});
        return f;
    }

    integer_window window_of(node_id n) const {
        auto const& a = g_.attributes<ops::conv>(n);
        integer_window w;
        w.strides = a.strides, w.pads = a.pads, w.dilations = a.dilations, w.group = a.group;
        return w;
    }
    // The zero points of a weight, in the shape of its scales.
    value_id zeros_of_weight(node_id w) {
        if (auto const z = g_.operand(w, 2); z.valid()) return z;
        return g_.add_constant(tensor::zeros(g_.type(g_.operand(w, 0)).element, g_.type(g_.operand(w, 1)).sizes()));
    }

    form convolved(node_id n, unit const& target) {
        auto const a = build(g_.operand(n, 0), target);
        auto const w = g_.operand(n, 1).node;
        auto total = g_.template add<ops::conv_integer>(
            window_of(n), {a.v, g_.operand(w, 0), numbers(a.element, static_cast<double>(a.zero)), zeros_of_weight(w)});
        if (auto const bias = g_.operand(n, 2); bias.valid()) {
            ints axes; // behind the channels
            for (std::size_t i = 2; i < g_.type({n, 0}).rank(); ++i) axes.push_back(static_cast<std::int64_t>(i) - 1);
            total = g_.template add<ops::add>(
                total, g_.template add<ops::unsqueeze>({.axes = axes}, {g_.operand(bias.node, 0)}));
        }
        form f{total, {}, 0, dtype::i32};
        for (auto s : scales_of{g_, w}.scales) f.scales.push_back(a.scales[0] * static_cast<float>(s));
        if (g_.attributes<ops::conv>(n).act == activation::relu) f.v = g_.template add<ops::clip>({.min = 0}, {f.v});
        return f;
    }

    // Whether saturation does what the activation would do.
    [[nodiscard]] bool keeps_activation(node_id n, unit const& to) const {
        return g_.attributes<ops::conv>(n).act == activation::none ||
               static_cast<double>(to.zero) == lowest_of(to.element);
    }
    value_id one_convolution(node_id n, node_id q, unit const& to) {
        auto const a = build(g_.operand(n, 0), to);
        auto const w = g_.operand(n, 1).node;
        auto const zero = g_.operand(q, 2).valid() ? g_.operand(q, 2) : numbers(to.element, 0);
        std::vector<value_id> operands{a.v,
                                       scales(a.scales),
                                       numbers(a.element, static_cast<double>(a.zero)),
                                       g_.operand(w, 0),
                                       g_.operand(w, 1),
                                       zeros_of_weight(w),
                                       g_.operand(q, 1),
                                       zero};
        if (auto const bias = g_.operand(n, 2); bias.valid()) operands.push_back(g_.operand(bias.node, 0));
        return g_.template add<ops::qlinear_conv>(window_of(n), operands);
    }

    any_graph& g_;
    std::vector<fact> facts_;
    std::map<value_id, form> built_;
};

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> fake_quantization_to_integer::operator()(any_graph& g, pass_context& cx) const {
    pass_outcome outcome;
    detail::integer_rewriter<> rewriter{g};
    auto const order = std::vector<node_id>(g.order().begin(), g.order().end());
    for (auto n : order) {
        if (!g.is<ops::quantize>(n) || !g.used(value_id{n, 0})) continue;
        cx.check_stop();
        std::string_view reason;
        if (rewriter.rewrite(n, cx, reason))
            ++outcome.matches;
        else if (!reason.empty())
            outcome.skip(reason);
    }
    outcome.changed = outcome.matches > 0;
    if (outcome.changed) {
        GSUB_ASSERT(g.sort(), "integers in place of what they stand for cannot close a cycle");
        g.erase_dead();
    }
    return outcome;
}

} // namespace gsub::passes
