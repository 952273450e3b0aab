// Small graphs in which rules find much to do, and what tests of rewriting share.
#pragma once

#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/pattern/rule.hpp>
#include <gsub/rewrite/verify/sample.hpp>
#include <gsub/rewrite/verify/verifier.hpp>

#include <optional>
#include <string>
#include <vector>

namespace small_graphs {

using namespace gsub;

inline eval_table evaluators() {
    return table_of<eval_row, standard_ops>();
}
/// Equal at a random point of the prime field, and equal in the types of their results.
inline bool same_meaning(any_graph const& a, any_graph const& b, std::uint64_t seed = 1) {
    for (std::size_t i = 0; i < a.output_count() && i < b.output_count(); ++i)
        if (!(a.type(a.output(i)) == b.type(b.output(i)))) return false;
    auto const compared = compare_in_field(a, b, evaluators(), seed);
    return compared && compared->equal;
}

/// Names of the operators in order, inputs and constants and the results node left out.
inline std::string operators_of(any_graph const& g) {
    std::string out;
    for (auto n : g.order())
        if (!g.constant(n) && !g.is<ops::input>(n) && n != g.return_node())
            out += fmt::format("{}{}", out.empty() ? "" : " ", g.op(n).name);
    return out;
}

inline tensor random_tensor(ints const& dims, std::uint64_t seed) {
    auto t = tensor::uninitialized(dtype::f32, dims);
    fill_random(t, random_stream{seed});
    return t;
}

/// A random graph over few shapes, most of them [1,2,2,2], so that patterns meet all the time: convolutions,
/// normalisations, pooling, products, elementwise operators, concats and splits, views. The same for the same seed.
class dense {
public:
    explicit dense(std::uint64_t seed) : r_(seed) {}

    graph make(std::size_t nodes) {
        values_ = {b_.input(dtype::f32, {1, 2, 2, 2}, "x"), b_.input(dtype::f32, {1, 2, 2, 2}, "y")};
        for (std::size_t i = 0; i < nodes; ++i) step();
        std::vector<value_id> outputs;
        for (auto n : g_.order())
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                if (value_id const v{n, port}; !g_.used(v) && !g_.constant(n)) outputs.push_back(v);
        g_.set_outputs(outputs);
        return std::move(g_);
    }

private:
    // Recent values are taken more often, so that chains form.
    value_id any() {
        auto const from_end = std::min(r_.below(values_.size()), r_.below(values_.size()));
        return values_[values_.size() - 1 - from_end];
    }
    // Constant or not; of a few, so that two operators often share one.
    value_id weight(ints const& dims) {
        auto const variant = r_.below(4);
        auto const name = fmt::format("w{}{}", variant, to_string(tensor_type{dtype::f32, shape_of(dims)}));
        auto const [at, fresh] = weights_.try_emplace(name);
        if (fresh)
            at->second = variant == 0 ? b_.input(dtype::f32, shape_of(dims), name)
                                      : b_.constant(random_tensor(dims, 100 + weights_.size()), name);
        return at->second;
    }
    static shape shape_of(ints const& dims) {
        shape s;
        for (auto d : dims) s.push_back(dim{d});
        return s;
    }
    value_id unary(value_id v) {
        switch (r_.below(4)) {
        case 0:
            return b_.add<ops::relu>(v);
        case 1:
            return b_.add<ops::sigmoid>(v);
        case 2:
            return b_.add<ops::clip>({.min = 0, .max = 6}, {v});
        default:
            return b_.add<ops::tanh>(v);
        }
    }
    value_id binary(value_id v, value_id w) {
        if (r_.below(2)) std::swap(v, w);
        switch (r_.below(3)) {
        case 0:
            return b_.add<ops::mul>(v, w);
        case 1:
            return b_.add<ops::sub>(v, w);
        default:
            return b_.add<ops::add>(v, w);
        }
    }
    void keep(value_id v) { values_.push_back(v); }

    void step() {
        switch (r_.below(19)) {
        case 0:
        case 1:
        case 2:
            return convolve();
        case 3:
            return keep(b_.add<ops::batch_norm>(
                {.epsilon = 0.5}, {any(), weight({2}), weight({2}), weight({2}), b_.constant(random_tensor({2}, 7))}));
        case 4:
        case 5:
            return keep(unary(any()));
        case 6:
            return keep(binary(any(), any()));
        case 7:
            return keep(binary(any(), weight({1, 2, 1, 1})));
        case 8:
            return keep(b_.add<ops::mat_mul>(any(), weight({2, 2})));
        case 9:
            return keep(b_.add<ops::mat_mul>(any(), any()));
        case 10:
            return keep(b_.add<ops::transpose>({.perm = {0, 1, 3, 2}}, {any()}));
        case 11:
            return cut();
        case 12:
            return join();
        case 13: {
            auto const flat = b_.add<ops::reshape>({.shape = {4, 2}}, {any()});
            return keep(b_.add<ops::reshape>({.shape = {1, 2, 2, 2}}, {r_.below(3) ? multiply(flat) : unary(flat)}));
        }
        case 14: {
            auto const v = any();
            return keep(r_.below(2) ? b_.add<ops::identity>(v) : b_.add<ops::sum>({}, {v, any()}));
        }
        case 15: {
            attributes_of<ops::average_pool> a;
            static_cast<window_attributes&>(a) = window({1, 1}, 1);
            a.kernel_shape = {3, 3}, a.count_include_pad = r_.below(4) != 0;
            attributes_of<ops::max_pool> most;
            static_cast<window_attributes&>(most) = a;
            most.kernel_shape = {3, 3};
            auto const v = any();
            auto const mean =
                b_.add<ops::average_pool>(a, {a.count_include_pad ? v : b_.add<ops::max_pool>(most, {v})});
            return keep(r_.below(2) ? mean : b_.add<ops::conv>({window({1, 1}, 0)}, {mean, weight({2, 2, 1, 1})}));
        }
        case 16: {
            auto const factor = any();
            auto const p = b_.add<ops::mul>(factor, any()), q = b_.add<ops::mul>(factor, any());
            return keep(r_.below(2) ? b_.add<ops::add>(p, q) : b_.add<ops::sub>(p, q));
        }
        case 17: {
            auto const p = biased(any()), q = r_.below(2) ? biased(any()) : any();
            return keep(b_.add<ops::add>(p, q));
        }
        default: {
            auto const wide = b_.add<ops::concat>({.axis = 1}, {any(), any()});
            auto const out = weight({2, 4, 1, 1});
            return keep(b_.add<ops::conv>({window({1, 1}, 0)}, {r_.below(2) ? unary(wide) : wide, out}));
        }
        }
    }
    // A product with a bias, or what an attention makes of one.
    value_id biased(value_id v) {
        auto const y = b_.add<ops::add>(b_.add<ops::mat_mul>(v, weight({2, 2})), weight({2}));
        if (r_.below(2)) return y;
        auto const heads = b_.add<ops::reshape>({.shape = {2, 2, 1, 2}}, {y});
        auto const scores = b_.add<ops::mat_mul>(b_.add<ops::transpose>({.perm = {2, 0, 1, 3}}, {heads}), any());
        return r_.below(2) ? b_.add<ops::mul>(scores, weight({1})) : b_.add<ops::div>(scores, weight({1}));
    }
    static window_attributes window(ints strides, std::int64_t pad) {
        window_attributes w;
        w.strides = std::move(strides), w.dilations = {1, 1}, w.pads = {pad, pad, pad, pad};
        return w;
    }
    void convolve() {
        attributes_of<ops::conv> a;
        auto const three = r_.below(2) == 0;
        static_cast<window_attributes&>(a) = window({1, 1}, three ? 1 : 0);
        a.act = r_.below(4) ? activation::none : activation::relu;
        a.group = r_.below(6) ? 1 : 2;
        std::int64_t const k = three ? 3 : 1;
        auto const w = weight({2, 2 / a.group, k, k});
        auto const v = any();
        auto const y = r_.below(2) ? b_.add<ops::conv>(a, {v, w}) : b_.add<ops::conv>(a, {v, w, weight({2})});
        keep(r_.below(4) ? y : b_.add<ops::add>(y, v));
    }
    // Products of [4,2] with something around them.
    value_id multiply(value_id flat) {
        switch (r_.below(4)) {
        case 0:
            return b_.add<ops::gemm>({.transpose_a = true},
                                     {b_.add<ops::reshape>({.shape = {2, 4}}, {flat}),
                                      b_.add<ops::transpose>({.perm = {1, 0}}, {weight({2, 2})})});
        case 1: {
            auto const left =
                b_.add<ops::transpose>({.perm = {1, 0}}, {b_.add<ops::reshape>({.shape = {2, 4}}, {flat})});
            return b_.add<ops::add>(b_.add<ops::gemm>({}, {left, weight({2, 2})}),
                                    b_.add<ops::gemm>({}, {left, weight({2, 2}), weight({2})}));
        }
        case 2:
            return b_.add<ops::batch_norm>(
                {.epsilon = 0.5}, {b_.add<ops::gemm>({.transpose_b = r_.below(2) != 0}, {flat, weight({2, 2})}),
                                   weight({2}), weight({2}), weight({2}), b_.constant(random_tensor({2}, 7))});
        default:
            return b_.add<ops::mat_mul>(flat, b_.add<ops::transpose>({.perm = {1, 0}}, {weight({2, 2})}));
        }
    }
    // Two halves, something on each or not, put together again in some order.
    void cut() {
        auto const parts = b_.add<ops::split>({.axis = r_.below(2) ? 1 : -3, .sizes = {1, 1}}, {any()}, 2);
        value_id first = parts, second{parts.node, 1};
        if (auto const what = r_.below(4); what == 0)
            first = b_.add<ops::relu>(first), second = b_.add<ops::relu>(second);
        else if (what == 1)
            first = unary(first);
        else if (what == 2)
            first = b_.add<ops::add>(first, weight({1, 1, 2, 2})), second = b_.add<ops::add>(second, first);
        if (r_.below(2)) std::swap(first, second);
        keep(b_.add<ops::concat>({.axis = 1}, {first, second}));
    }
    void join() {
        auto const whole = b_.add<ops::concat>({.axis = 1}, {any(), r_.below(2) ? unary(any()) : any()});
        auto const parts = b_.add<ops::split>({.axis = 1, .sizes = {2, 2}}, {r_.below(2) ? whole : unary(whole)}, 2);
        keep(parts);
        keep({parts.node, 1});
    }

    graph g_;
    graph_builder b_{g_};
    random_stream r_;
    std::vector<value_id> values_;
    std::map<std::string, value_id> weights_;
};

inline graph dense_graph(std::uint64_t seed, std::size_t nodes) {
    return dense{seed}.make(nodes);
}

/// A random graph of sums of [1,2,2,2], trees of any form over convolutions, products and constants, with other readers
/// of some sums. The same for the same seed.
inline graph sums_graph(std::uint64_t seed, std::size_t terms) {
    graph g;
    graph_builder b{g};
    random_stream r{seed};
    auto const x = b.input(dtype::f32, {1, 2, 2, 2}, "x"), y = b.input(dtype::f32, {1, 2, 2, 2}, "y");
    std::vector<value_id> parts, outputs, factors{x, y};
    auto const weight = [&](ints const& dims) { return b.constant(random_tensor(dims, r.below(1000))); };
    auto const any = [&] { return factors[r.below(factors.size())]; };
    auto const one = [&]() -> value_id {
        attributes_of<ops::conv> a;
        a.strides = {1, 1}, a.dilations = {1, 1}, a.pads = {0, 0, 0, 0};
        switch (r.below(8)) {
        case 0:
            return weight({1, 2, 1, 1});
        case 1:
            return weight({1, 2, 2, 2});
        case 2:
            return any();
        case 3:
            return b.add<ops::relu>(any());
        case 4:
            return b.add<ops::mul>(any(), y);
        case 5:
            return b.add<ops::mat_mul>(any(), weight({2, 2}));
        default:
            return b.add<ops::conv>(a, {any(), weight({2, 2, 1, 1})});
        }
    };
    for (std::size_t i = 0; i < terms; ++i) parts.push_back(one());
    parts.push_back(any());
    while (parts.size() > 1) {
        auto const at = r.below(parts.size() - 1);
        parts[at] = b.add<ops::add>(parts[at], parts[at + 1]);
        if (r.below(8) == 0) outputs.push_back(b.add<ops::sigmoid>(parts[at]));
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    outputs.push_back(parts[0]);
    g.set_outputs(outputs);
    return g;
}

/// Residual blocks one after the other, with normalisations or without, whose sums two pointwise convolutions read, and
/// others at times. The same for the same seed.
inline graph blocks_graph(std::uint64_t seed, std::size_t blocks) {
    graph g;
    graph_builder b{g};
    random_stream r{seed};
    std::vector<value_id> outputs;
    auto const weight = [&](ints const& dims) { return b.constant(random_tensor(dims, r.below(1000))); };
    auto const conv = [&](value_id v, std::int64_t kernel) {
        attributes_of<ops::conv> a;
        a.strides = a.dilations = {1, 1}, a.pads = ints(4, kernel / 2);
        return b.add<ops::conv>(a, {v, weight({2, 2, kernel, kernel})});
    };
    auto x = b.input(dtype::f32, {1, 2, 2, 2}, "x"), y = x;
    for (std::size_t i = 0; i < blocks; ++i) {
        auto branch = conv(x, r.below(2) ? 3 : 1);
        if (r.below(2))
            branch =
                b.add<ops::batch_norm>({.epsilon = 0.5}, {branch, weight({2}), weight({2}), weight({2}), weight({2})});
        auto const sum = r.below(2) ? b.add<ops::add>(branch, y) : b.add<ops::add>(y, branch);
        auto const end = b.add<ops::relu>(sum);
        if (r.below(4) == 0) outputs.push_back(b.add<ops::tanh>(r.below(2) ? end : sum));
        x = conv(end, 1), y = conv(end, 1);
    }
    outputs.push_back(b.add<ops::mul>(x, y));
    g.set_outputs(outputs);
    return g;
}

/// Random legal instances of a rule's pattern that meet its `where` conditions, until `f` was called `count` times.
template <class F>
std::size_t for_samples(rule_program const& rule, std::size_t count, F&& f, std::uint64_t seed = 1) {
    std::size_t found = 0;
    for (std::uint64_t i = 0; found < count && i < count * 200; ++i) {
        chooser draw{random_stream{seed}.split(i)};
        auto const instance =
            draw_instance(dialect::of<standard_ops>(), table_of<sample_row, standard_ops>(), rule, draw);
        if (!instance) continue;
        auto const& where = rule.where;
        if (!std::all_of(where.begin(), where.end(), [&](auto const& c) { return c.holds(instance->bindings); }))
            continue;
        ++found;
        f(*instance);
    }
    return found;
}

/// The rule applied where it first fires, in canonical form; what the graph computes is checked in the field and on
/// numbers.
template <class Rule>
std::optional<graph> applied(graph const& g, Rule const& rule) {
    std::optional<graph> out;
    auto const program = rule.program();
    for (auto n : g.order()) {
        if (n == g.return_node() || out) continue;
        find_matches_at(g, program, n, [&](match const& m) {
            if (out) return;
            auto copy = g;
            if (!prepare(m).apply_to(copy, shared_interior::refuse)) return;
            canonicalize(copy);
            CHECK(same_meaning(g, copy));
            auto const inputs = random_inputs(g, 3);
            auto const before = evaluate_graph(g, inputs, {.compute = precision::f64}).value();
            auto const after = evaluate_graph(copy, inputs, {.compute = precision::f64}).value();
            for (std::size_t i = 0; i < before.size(); ++i)
                CHECK(compare(after[i], before[i]).value().max_relative < 1e-9);
            out = copy;
        });
    }
    return out;
}
/// Operators of a graph after the rule was applied where it first fires, or "no match".
template <class Rule, class Make>
std::string operators_after(Rule const& rule, Make&& make) {
    graph g;
    graph_builder to{g};
    make(to);
    auto const done = applied(g, rule);
    return done ? operators_of(*done) : "no match";
}

} // namespace small_graphs
