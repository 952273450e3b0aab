// integer_builder: builds regions of a graph anew on integers, as `integer_analysis` allows.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/precision/impl/integer_analysis.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace gsub::passes::detail {

/// An integer value and what it stands for.
struct integer_form {
    value_id v;
    std::vector<float> scales; ///< one, or one a channel
    std::int64_t zero = 0;
    dtype element = dtype::undefined;
};

template <class = void>
class integer_builder {
public:
    integer_builder(any_graph& g, integer_analysis<> const& facts) : g_(g), facts_(facts) {}

    /// The value that takes the place of a `quantize`.
    value_id quantized_result(node_id q, unit const& target) {
        auto const x = g_.operand(q, 0);
        return g_.is<ops::conv>(x.node) && keeps_activation(x.node, target) ? one_convolution(x.node, q, target)
                                                                            : finished(build(x, target), q, target);
    }

private:
    using form = integer_form;

    // ---- parts of forms

    value_id numbers(dtype element, double v) { return g_.add_constant(tensor::scalar(v).converted_to(element)); }
    value_id scales(std::vector<float> const& s) {
        return s.size() == 1 ? g_.add_constant(tensor::scalar(s[0]))
                             : g_.add_constant(tensor::from<float>(ints{static_cast<std::int64_t>(s.size())}, s));
    }
    value_id zero_point(form const& f) { return numbers(f.element, static_cast<double>(f.zero)); }
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
        auto const real = f.zero == 0 && f.element == dtype::i32
                              ? g_.template add<ops::dequantize>({.axis = 1}, {f.v, s})
                              : g_.template add<ops::dequantize>({}, {f.v, s, zero_point(f)});
        return q.valid() ? g_.emit(g_.row(q), g_.attributes(q), std::vector{real, g_.operand(q, 1), g_.operand(q, 2)})
                         : g_.template add<ops::quantize>(
                               {}, {real, scales({to.scale}), numbers(to.element, static_cast<double>(to.zero))});
    }

    // ---- regions

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
    [[nodiscard]] bool depends_on_target(node_id n) const { return facts_.of(n).carries == carried::joined; }

    form again(node_id n, form f, attributes_id attributes) {
        f.v = g_.emit(g_.row(n), attributes, std::vector{f.v}, g_.result_count(n));
        return f;
    }

    form make(node_id n, unit const& target) {
        if (g_.is<ops::dequantize>(n)) {
            auto const& u = facts_.of(n).u;
            return {g_.operand(n, 0), {u.scale}, u.zero, u.element};
        }
        if (g_.is<ops::concat>(n)) return joined(n, target);
        if (g_.is<ops::conv>(n)) return convolved(n, target);
        auto const a = build(g_.operand(n, 0), target);
        if (g_.is<ops::relu>(n) || g_.is<ops::clip>(n)) return clipped(n, a);
        if (g_.is<ops::pad>(n)) {
            auto p = g_.attributes<ops::pad>(n);
            p.value = static_cast<double>(quantized(p.value, single(a)));
            return again(n, a, intern<ops::pad>(p));
        }
        if (g_.is<ops::global_average_pool>(n)) return image_mean(n, a);
        if (g_.is<ops::average_pool>(n)) return window_mean(n, a);
        if (facts_.moves(n) || g_.is<ops::slice>(n) || g_.is<ops::max_pool>(n) || g_.is<ops::split>(n))
            return again(n, a, g_.attributes(n));
        auto const b = build(g_.operand(n, 1), target);
        if (g_.is<ops::mul>(n))
            return {g_.template add<ops::mul>(centred(a), centred(b)), {a.scales[0] * b.scales[0]}, 0, dtype::i32};
        return g_.is<ops::add>(n) || g_.is<ops::sub>(n) ? summed(n, a, b) : matrix_product(n, a, b);
    }

    form joined(node_id n, unit const& target) {
        std::vector<value_id> parts;
        auto const rescaled = depends_on_target(n);
        form f;
        for (auto v : g_.operands(n)) {
            f = build(v, target);
            parts.push_back(rescaled ? finished(f, {}, target) : f.v);
        }
        if (rescaled) f = {{}, {target.scale}, target.zero, target.element};
        f.v = g_.emit(g_.row(n), g_.attributes(n), parts);
        return f;
    }

    // A sum of so many elements of a form, which stands for their mean.
    static form mean(value_id total, form const& of, double count) {
        return {total, {static_cast<float>(static_cast<double>(of.scales[0]) / count)}, 0, dtype::i32};
    }
    form image_mean(node_id n, form const& a) {
        auto const& t = g_.type(g_.operand(n, 0));
        reduce_attributes over;
        double area = 1;
        for (std::size_t d = 2; d < t.rank(); ++d) {
            over.axes.push_back(static_cast<std::int64_t>(d));
            area *= static_cast<double>(t.dims[d].size());
        }
        return mean(g_.template add<ops::reduce_sum>(over, {centred(a)}), a, area);
    }
    form window_mean(node_id n, form const& a) { // a convolution of each channel by ones
        auto const& windows = g_.attributes<ops::average_pool>(n);
        auto const channels = g_.type(g_.operand(n, 0)).dims[1].size();
        ints sizes{channels, 1};
        for (auto size : windows.kernel_shape) sizes.push_back(size);
        auto ones = tensor::zeros(dtype::u8, sizes);
        for (auto& one : ones.template mutable_data<std::uint8_t>()) one = 1;
        auto const total = g_.template add<ops::conv_integer>(
            integer_windows(windows, channels),
            {a.v, g_.add_constant(std::move(ones)), zero_point(a), numbers(dtype::u8, 0)});
        return mean(total, a, facts_.area_of(windows.kernel_shape));
    }

    form summed(node_id n, form const& a, form const& b) {
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

    form matrix_product(node_id n, form const& a, form const& b) {
        auto x = a.v, y = b.v;
        if (g_.is<ops::gemm>(n)) {
            auto const& s = g_.attributes<ops::gemm>(n);
            auto const turned = [&](value_id v) { return g_.template add<ops::transpose>({.perm = {1, 0}}, {v}); };
            if (s.transpose_a) x = turned(x);
            if (s.transpose_b) y = turned(y);
        }
        auto total = g_.template add<ops::mat_mul_integer>(x, y, zero_point(a), zero_point(b));
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

    // ---- convolutions

    // The windows of a convolution or a pool.
    template <class Windows>
    static integer_window integer_windows(Windows const& a, std::int64_t group) {
        integer_window w;
        w.strides = a.strides, w.pads = a.pads, w.dilations = a.dilations, w.group = group;
        return w;
    }
    [[nodiscard]] integer_window window_of(node_id n) const {
        auto const& a = g_.attributes<ops::conv>(n);
        return integer_windows(a, a.group);
    }
    // The zero points of a weight, in the shape of its scales.
    value_id zeros_of_weight(node_id w) {
        if (auto const z = g_.operand(w, 2); z.valid()) return z;
        return g_.add_constant(tensor::zeros(g_.type(g_.operand(w, 0)).element, g_.type(g_.operand(w, 1)).sizes()));
    }

    form convolved(node_id n, unit const& target) {
        auto const a = build(g_.operand(n, 0), target);
        auto const w = g_.operand(n, 1).node;
        auto total = g_.template add<ops::conv_integer>(window_of(n),
                                                        {a.v, g_.operand(w, 0), zero_point(a), zeros_of_weight(w)});
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
                                       zero_point(a),
                                       g_.operand(w, 0),
                                       g_.operand(w, 1),
                                       zeros_of_weight(w),
                                       g_.operand(q, 1),
                                       zero};
        if (auto const bias = g_.operand(n, 2); bias.valid()) operands.push_back(g_.operand(bias.node, 0));
        return g_.template add<ops::qlinear_conv>(window_of(n), operands);
    }

    any_graph& g_;
    integer_analysis<> const& facts_;
    std::map<value_id, form> built_;
};

} // namespace gsub::passes::detail
