// Random well-typed graphs over all standard operators, small enough to be computed. Shared by tests of ir and eval.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/builder.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace random_graph {

using namespace gsub;

/// Appends random operators to a graph. Every floating value is f32 with at least one element.
class generator {
public:
    generator(any_graph& g, std::uint64_t seed) : g_(g), b_(g), r_(seed) {
        auto const size = [&] { return static_cast<std::int64_t>(2 + r_.below(4)); };
        auto const sizes = std::array{size(), size(), size(), size(), size()};
        values_ = {b_.input(dtype::f32, {2, sizes[0], sizes[1], sizes[2]}, "image"),
                   b_.input(dtype::f32, {sizes[3], sizes[4]}, "matrix")};
    }

    void grow(std::size_t nodes) {
        for (std::size_t i = 0; i < nodes; ++i) step();
    }

    /// Declares every value that nothing reads as an output.
    void finish() {
        std::vector<value_id> outputs;
        std::vector<std::string> names;
        for (auto n : g_.order())
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                if (value_id const v{n, port}; !g_.used(v)) {
                    outputs.push_back(v);
                    names.push_back(fmt::format("out{}", outputs.size()));
                }
        g_.set_outputs(outputs, names);
    }

private:
    ints dims(value_id v) const { return g_.type(v).sizes(); }
    std::size_t rank(value_id v) const { return g_.type(v).rank(); }
    std::int64_t pick(std::int64_t low, std::int64_t high) { // both included
        return low + static_cast<std::int64_t>(r_.below(static_cast<std::uint64_t>(high - low + 1)));
    }
    value_id any() { return values_[r_.below(values_.size())]; }
    // A value of some rank, reshaped from another where chance finds none.
    value_id of_rank(std::size_t wanted) {
        for (int i = 0; i < 4; ++i)
            if (auto const v = any(); rank(v) == wanted) return v;
        auto const v = any();
        std::int64_t count = 1;
        for (auto d : dims(v)) count *= d;
        ints to(wanted, 1);
        if (wanted > 0) {
            for (std::size_t i = 0; i + 1 < wanted; ++i)
                for (std::int64_t f : {3, 2})
                    if (count % f == 0) {
                        to[i] = f, count /= f;
                        break;
                    }
            to.back() = count;
        } else if (count != 1) {
            return b_.constant(tensor::scalar(static_cast<float>(r_.normal())));
        }
        return b_.add<ops::reshape>({.shape = to}, {v});
    }
    value_id weight(ints const& d) {
        auto t = tensor::uninitialized(dtype::f32, d);
        fill_random(t, r_.split(r_()));
        return b_.constant(std::move(t));
    }
    value_id vector(std::int64_t n) { return weight({n}); }
    value_id numbers(ints const& v) { return b_.constant(tensor::from<std::int64_t>(ints{std::int64_t(v.size())}, v)); }
    void keep(value_id v) {
        auto const count = g_.type(v).elements();
        if (count && *count > 0 && *count < 3000 && g_.type(v).element == dtype::f32) values_.push_back(v);
    }
    window_attributes window(std::size_t spatial) {
        window_attributes w;
        for (std::size_t i = 0; i < spatial; ++i) {
            w.strides.push_back(pick(1, 2)), w.dilations.push_back(pick(1, 2));
            w.pads.push_back(0);
        }
        for (std::size_t i = 0; i < 2 * spatial; ++i) {
            if (i >= spatial) w.pads.push_back(0);
            w.pads[i] = pick(0, 1);
        }
        return w;
    }
    // A kernel that fits with the window's pads and dilations.
    ints kernel_for(std::span<std::int64_t const> spatial, window_attributes& w) {
        ints k;
        for (std::size_t i = 0; i < spatial.size(); ++i) {
            auto size = pick(1, 3);
            auto const room = spatial[i] + w.pads[i] + w.pads[i + spatial.size()];
            while (window_extent(size, w.dilations[i]) > room) --size;
            k.push_back(size);
        }
        // No window may lie in the pads alone: the mean over nothing is no number.
        for (std::size_t i = 0; i < spatial.size(); ++i)
            for (auto at : {i, i + spatial.size()}) w.pads[at] = std::min(w.pads[at], k[i] > 1 ? w.pads[at] : 0);
        return k;
    }

    void step() {
        switch (r_.below(34)) {
        case 0:
            return convolve();
        case 1: {
            auto const x = of_rank(4);
            auto const c = dims(x)[1];
            if (auto const results = 2 * r_.below(3) + 1; results < 5)
                return keep(b_.add<ops::batch_norm_training>({.epsilon = 0.5},
                                                             {x, vector(c), vector(c), vector(c), vector(c)}, results));
            auto const variance = b_.add<ops::mul>(vector(c), vector(c));
            return keep(b_.add<ops::batch_norm>(
                {.epsilon = 0.5}, {x, vector(c), vector(c), vector(c), b_.add<ops::clip>({.min = 0.25}, {variance})}));
        }
        case 2:
            return pool();
        case 3:
            return keep(b_.add<ops::global_average_pool>(of_rank(4)));
        case 4:
            return keep(b_.add<ops::lrn>({.size = pick(1, 3), .alpha = 0.25, .beta = 0.5, .bias = 2}, {of_rank(3)}));
        case 5: {
            auto const x = of_rank(1 + r_.below(3));
            auto const flatten = r_.below(2) != 0;
            return keep(b_.add<ops::softmax>({.axis = flatten ? 0 : -1, .flatten = flatten}, {x}));
        }
        case 6: {
            auto const two = 1 + r_.below(2);
            return keep(b_.add<ops::dropout>({}, {any()}, two));
        }
        case 7:
            return keep(b_.add<ops::relu>(any()));
        case 8:
            return r_.below(2) ? keep(b_.add<ops::clip>({.min = -0.5, .max = r_.uniform(0, 2)}, {any()}))
                               : keep(b_.add<ops::clip>({}, {any(), {}, b_.constant(tensor::scalar(0.75f))}));
        case 9:
            return keep(b_.add<ops::sigmoid>(any()));
        case 10:
            return keep(b_.add<ops::tanh>(any()));
        case 11:
            return keep(
                b_.add<ops::sqrt>(b_.add<ops::add>(b_.add<ops::sigmoid>(any()), b_.constant(tensor::scalar(0.5f)))));
        case 12: {
            auto const [x, y] = broadcast_pair();
            return keep(b_.add<ops::add>(x, y));
        }
        case 13: {
            auto const [x, y] = broadcast_pair();
            return keep(b_.add<ops::sub>(y, x));
        }
        case 14: {
            auto const [x, y] = broadcast_pair();
            return keep(b_.add<ops::mul>(x, y));
        }
        case 15: {
            auto const below = b_.add<ops::add>(b_.add<ops::sigmoid>(any()), b_.constant(tensor::scalar(1.0f)));
            return keep(b_.add<ops::div>(b_.constant(tensor::scalar(2.0f)), below));
        }
        case 16: {
            std::vector<value_id> operands{bounded(any())};
            for (auto n = r_.below(3); n-- > 0;) operands.push_back(b_.add<ops::tanh>(operands[0]));
            return keep(b_.add<ops::sum>({}, operands));
        }
        case 17:
            return keep(r_.below(2) ? b_.add<ops::hard_sigmoid>({.alpha = 0.3}, {any()})
                                    : b_.add<ops::hard_swish>(bounded(any())));
        case 18: {
            auto const wide = b_.add<ops::cast>({.to = dtype::f64}, {any()});
            return keep(b_.add<ops::cast>({}, {wide}));
        }
        case 19:
            return multiply();
        case 20:
            return keep(b_.add<ops::identity>(any()));
        case 21: {
            auto const x = any();
            return keep(rank(x) ? b_.add<ops::concat>({.axis = -1}, {x, b_.add<ops::relu>(x), x}) : x);
        }
        case 22:
            return split();
        case 23:
            return slice();
        case 24: {
            auto const x = any();
            ints pads;
            for (std::size_t i = 0; i < 2 * rank(x); ++i) pads.push_back(pick(0, 1));
            if (r_.below(2)) return keep(b_.add<ops::pad>({.pads = pads, .value = 0.5}, {x}));
            return keep(b_.add<ops::pad>({.mode = "edge"}, {x, numbers(pads)}));
        }
        case 25: {
            auto const x = of_rank(2);
            auto const axis = pick(0, 1), size = dims(x)[static_cast<std::size_t>(axis)];
            return keep(b_.add<ops::gather>({.axis = axis}, {x, numbers({pick(0, size - 1), pick(-size, -1)})}));
        }
        case 26: {
            auto const x = of_rank(3);
            keep(b_.add<ops::flatten>({.axis = pick(-3, 3)}, {x}));
            ints perm{0, 1, 2};
            std::swap(perm[0], perm[r_.below(3)]);
            return keep(b_.add<ops::transpose>({.perm = perm}, {x}));
        }
        case 27: {
            auto const x = of_rank(2);
            auto const y = b_.add<ops::unsqueeze>({.axes = {0, -1}}, {x});
            keep(y);
            keep(b_.add<ops::squeeze>({}, {y, numbers({0})}));
            return keep(b_.add<ops::reshape>({}, {x, b_.add<ops::shape>({.start = 1}, {y})}));
        }
        case 31:
            return choose();
        case 32:
            return repeat();
        case 28:
            return unary();
        case 29:
            return reduce();
        case 30: {
            auto const x = any();
            if (rank(x) == 0) return keep(b_.add<ops::gelu>(x));
            auto const n = dims(x).back();
            return keep(r_.below(2) ? b_.add<ops::layer_norm>({.epsilon = 0.5}, {x, vector(n)})
                                    : b_.add<ops::layer_norm>({.epsilon = 0.5}, {x, vector(n), vector(n)}));
        }
        default:
            return make();
        }
    }

    void unary() {
        auto const x = any();
        auto const positive = [&] {
            return b_.add<ops::add>(b_.add<ops::sigmoid>(x), b_.constant(tensor::scalar(0.5f)));
        };
        switch (r_.below(8)) {
        case 0:
            return keep(b_.add<ops::exp>(bounded(x)));
        case 1:
            return keep(b_.add<ops::log>(positive()));
        case 2:
            return keep(b_.add<ops::erf>(x));
        case 3:
            return keep(b_.add<ops::neg>(x));
        case 4:
            return keep(b_.add<ops::abs>(x));
        case 5:
            return keep(b_.add<ops::gelu>({.approximate = r_.below(2) ? "tanh" : "none"}, {bounded(x)}));
        case 6:
            return keep(r_.below(2) ? b_.add<ops::leaky_relu>({.alpha = 0.25}, {x})
                                    : b_.add<ops::elu>({.alpha = 0.5}, {x}));
        default:
            return keep(b_.add<ops::pow>(positive(), b_.constant(tensor::scalar(static_cast<float>(pick(-1, 2))))));
        }
    }

    void reduce() {
        auto const x = any();
        reduce_attributes a;
        for (std::size_t i = 0; i < rank(x); ++i)
            if (r_.below(2)) a.axes.push_back(static_cast<std::int64_t>(i));
        a.keepdims = r_.below(2) != 0;
        switch (r_.below(3)) {
        case 0:
            return keep(b_.add<ops::reduce_sum>(a, {bounded(x)}));
        case 1:
            return keep(b_.add<ops::reduce_mean>(a, {x}));
        default:
            return keep(b_.add<ops::reduce_max>(a, {x}));
        }
    }

    void convolve() {
        auto const spatial = 1 + r_.below(2);
        auto const x = of_rank(2 + spatial);
        auto const d = dims(x);
        attributes_of<ops::conv> a;
        static_cast<window_attributes&>(a) = window(spatial);
        auto const kernel = kernel_for(std::span<std::int64_t const>(d).subspan(2), a);
        a.group = d[1] % 2 == 0 && r_.below(2) ? 2 : 1;
        a.act = static_cast<activation>(r_.below(5));
        if (a.act == activation::clip) a.act_min = -1, a.act_max = 1;
        ints w{a.group * pick(1, 2), d[1] / a.group};
        w.append(kernel);
        auto const weights = weight(w);
        keep(bounded(r_.below(2) ? b_.add<ops::conv>(a, {x, weights})
                                 : b_.add<ops::conv>(a, {x, weights, vector(w[0])})));
        if (spatial == 2 && a.group == 1) { // the identity as a convolution
            attributes_of<ops::conv> plain;
            plain.strides = {1, 1}, plain.dilations = {1, 1}, plain.pads = {1, 1, 1, 1};
            auto const kernel_of_one =
                b_.add<ops::dirac>({.shape = {d[1], d[1], 3, 3}, .position = {1, 1}}, std::span<value_id const>{});
            keep(b_.add<ops::conv>(plain, {x, kernel_of_one}));
        }
    }

    void pool() {
        auto const x = of_rank(4);
        auto const d = dims(x);
        auto w = window(2);
        auto const kernel = kernel_for(std::span<std::int64_t const>(d).subspan(2), w);
        if (r_.below(2)) {
            attributes_of<ops::max_pool> a;
            static_cast<window_attributes&>(a) = w;
            a.kernel_shape = kernel, a.column_major_indices = r_.below(2) != 0;
            return keep(b_.add<ops::max_pool>(a, {x}, 1 + r_.below(2)));
        }
        attributes_of<ops::average_pool> a;
        static_cast<window_attributes&>(a) = w;
        a.kernel_shape = kernel, a.count_include_pad = r_.below(2) != 0;
        keep(b_.add<ops::average_pool>(a, {x}));
    }

    void multiply() {
        auto const x = bounded(of_rank(2));
        auto const d = dims(x);
        auto const n = pick(1, 4);
        if (r_.below(2)) return keep(bounded(b_.add<ops::mat_mul>(x, weight({d[1], n}))));
        bool const ta = r_.below(2) != 0, tb = r_.below(2) != 0;
        auto const m = ta ? d[1] : d[0], k = ta ? d[0] : d[1];
        attributes_of<ops::gemm> const a{.alpha = 0.5, .beta = 2, .transpose_a = ta, .transpose_b = tb};
        auto const w = weight(tb ? ints{n, k} : ints{k, n});
        keep(bounded(r_.below(2) ? b_.add<ops::gemm>(a, {x, w}) : b_.add<ops::gemm>(a, {x, w, weight({m, 1})})));
    }

    void split() {
        auto const x = of_rank(2);
        auto const size = dims(x)[1];
        if (size < 2) return;
        auto const first = pick(1, size - 1);
        auto const parts = r_.below(2) ? b_.add<ops::split>({.axis = 1, .sizes = {first, size - first}}, {x}, 2)
                                       : b_.add<ops::split>({.axis = -1}, {x, numbers({first, size - first})}, 2);
        keep(parts);
        keep({parts.node, 1});
    }

    void slice() {
        auto const x = of_rank(3);
        auto const d = dims(x);
        ints const starts{0, -1}, ends{d[0], -100}, axes{0, 2}, steps{2, -1};
        keep(r_.below(2) ? b_.add<ops::slice>({.starts = starts, .ends = ends, .axes = axes, .steps = steps}, {x})
                         : b_.add<ops::slice>({}, {x, numbers(starts), numbers(ends), numbers(axes), numbers(steps)}));
    }

    void make() {
        auto const x = any();
        keep(b_.add<ops::add>(x, b_.add<ops::fill>({.shape = dims(x), .value = 0.25}, std::span<value_id const>{})));
        keep(b_.add<ops::fill>({.value = 0.5}, {b_.add<ops::shape>({}, {x})}));
    }

    // Truth values that rounding does not change.
    value_id condition(ints const& d) {
        switch (r_.below(8)) {
        case 0:
            return b_.add<ops::less>(weight(d), weight(d));
        case 1:
            return b_.add<ops::less_or_equal>(weight(d), b_.constant(tensor::scalar(0.0f)));
        case 2:
            return b_.add<ops::greater>(weight(d), weight(d));
        case 3:
            return b_.add<ops::greater_or_equal>(b_.constant(tensor::scalar(0.5f)), weight(d));
        case 4:
            return b_.add<ops::equal>(b_.add<ops::relu>(weight(d)), b_.constant(tensor::scalar(0.0f)));
        case 5:
            return b_.add<ops::is_nan>(b_.add<ops::log>(weight(d)));
        case 6:
            return b_.add<ops::is_inf>({.positive = false}, {b_.add<ops::log>(b_.add<ops::relu>(weight(d)))});
        default:
            return b_.add<ops::logical_not>(condition(d));
        }
    }
    void choose() {
        auto const [x, y] = broadcast_pair();
        auto const d = dims(y);
        auto const a = condition(d), b = condition(d);
        auto const which = r_.below(3);
        auto const both = which == 0   ? b_.add<ops::logical_and>(a, b)
                          : which == 1 ? b_.add<ops::logical_or>(a, b)
                                       : b_.add<ops::logical_xor>(a, b);
        keep(b_.add<ops::where>(both, x, y));
        keep(b_.add<ops::cast>({}, {both}));
    }
    void repeat() {
        auto const x = any();
        ints to{2};
        to.append(dims(x));
        keep(r_.below(2) ? b_.add<ops::expand>({.shape = to}, {x}) : b_.add<ops::expand>({}, {x, numbers(to)}));
        auto const at = [&](std::int64_t v) { return b_.constant(tensor::scalar(v)); };
        keep(b_.add<ops::cast>({}, {b_.add<ops::range>(at(pick(-3, 3)), at(pick(4, 9)), at(pick(1, 3)))}));
    }

    // Keeps the numbers of a long chain of products small.
    value_id bounded(value_id v) { return b_.add<ops::tanh>(v); }
    // A value and something that broadcasts against it.
    std::pair<value_id, value_id> broadcast_pair() {
        auto const x = any();
        auto d = dims(x);
        for (auto& size : d)
            if (r_.below(3) == 0) size = 1;
        auto const y = r_.below(4) == 0 ? b_.add<ops::sigmoid>(x) : weight(d);
        return {bounded(x), y};
    }

    any_graph& g_;
    graph_builder b_;
    random_stream r_;
    std::vector<value_id> values_;
};

/// A graph of about `nodes` operators, the same for the same seed.
template <class OpSet = standard_ops>
basic_graph<OpSet> make(std::uint64_t seed, std::size_t nodes) {
    basic_graph<OpSet> g;
    generator maker{g, seed};
    maker.grow(nodes);
    maker.finish();
    return g;
}

} // namespace random_graph
