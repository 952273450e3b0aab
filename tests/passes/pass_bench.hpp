// A graph under construction for the tests of passes, and what each of them must hold: the numbers stay within the
// bound of the pass, the graph is legal, a second run changes nothing.
#pragma once

#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/passes/pass.hpp>

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace pass_bench {

using namespace gsub;

struct bench {
    graph g;
    graph_builder b{g};
    std::uint64_t seed = 0;

    value_id input(ints const& sizes, dtype element = dtype::f32) {
        return b.input(element, tensor_type{element, sizes}.dims, fmt::format("x{}", g.inputs().size()));
    }
    value_id image(std::int64_t channels = 4) { return input({1, channels, 6, 6}); }
    value_id weight(ints const& sizes, dtype element = dtype::f32) {
        auto t = tensor::uninitialized(element, sizes);
        fill_random(t, random_stream{++seed});
        return b.constant(std::move(t));
    }
    value_id numbers(ints const& sizes, std::initializer_list<float> values) {
        return b.constant(tensor::from(sizes, std::span{values.begin(), values.size()}));
    }
    value_id number(float x) { return b.constant(tensor::scalar(x)); }
    static attributes_of<ops::conv> window(std::int64_t kernel, std::int64_t pad = 0) {
        attributes_of<ops::conv> a;
        a.strides = {1, 1}, a.dilations = {1, 1};
        a.pads = ints(4, kernel > 1 && pad == 0 ? kernel / 2 : pad);
        return a;
    }
    value_id conv(value_id x, std::int64_t outputs = 4, std::int64_t kernel = 3, std::int64_t group = 1,
                  value_id bias = {}) {
        auto a = window(kernel);
        a.group = group;
        return b.add<ops::conv>(a, {x, weight({outputs, g.type(x).dims[1].size() / group, kernel, kernel}), bias});
    }
    template <class Op>
    value_id op(std::same_as<value_id> auto... x) {
        return b.add<Op>(x...);
    }
    template <class Op>
    value_id op(attributes_of<Op> const& a, std::initializer_list<value_id> x) {
        return b.add<Op>(a, x);
    }
};

// What a pass left behind: its outcome, the graph, its operators that are no weight arithmetic.
struct result_of {
    pass_outcome outcome;
    any_graph g;
    std::string text;
};

inline std::string text_of(any_graph const& g) {
    std::string text;
    for (auto n : g.order())
        if (g.op(n).category != op_category::structural && !g.constant(n))
            text += fmt::format("{}{}", text.empty() ? "" : " ", g.op(n).name);
    return text;
}

inline std::size_t count_of(any_graph const& g, std::string_view op) {
    return static_cast<std::size_t>(
        std::count_if(g.order().begin(), g.order().end(), [&](node_id n) { return g.op(n).name == op; }));
}

template <class Pass>
result_of run(bench& n, std::vector<value_id> const& outputs, Pass const& p) {
    n.g.set_outputs(outputs);
    gsub::module m;
    m.add("main", n.g);
    auto const outcome = run_pass(p, m).value();
    auto const& g = m.find("main")->body;
    auto const had = check(n.g, stage::imported);
    for (auto const& found : check(g, stage::imported))
        if (std::none_of(had.begin(), had.end(), [&](problem const& h) { return h.reason == found.reason; }))
            FAIL_CHECK(to_string(found));
    for (std::size_t i = 0; i < outputs.size(); ++i) CHECK(g.type(g.output(i)) == n.g.type(outputs[i]));
    if (!outcome.changed)
        CHECK(fingerprint(m) == [&] {
            gsub::module before;
            before.add("main", n.g);
            return fingerprint(before);
        }());
    auto const inputs = random_inputs(n.g, 1);
    auto const before = evaluate_graph(n.g, inputs).value();
    auto const after = evaluate_graph(g, table_of<eval_row, standard_ops>(), inputs).value();
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (pass_info::of<Pass>().exact == exactness::bit_exact) {
            CHECK(after[i].hash() == before[i].hash());
        } else {
            auto const d = compare(after[i], before[i]).value();
            CHECK(d.max_relative <= 1e-4);
            CHECK(d.same_specials);
        }
    }
    auto again = m;
    CHECK_FALSE(run_pass(p, again).value().changed);
    CHECK(fingerprint(again) == fingerprint(m));
    return {outcome, g, text_of(g)};
}

/// Layers of four channels, chosen by a seed, with scales, sums and rectifiers between convolutions.
inline graph random_layers(std::uint64_t seed) {
    bench n;
    n.seed = 1000 * seed;
    random_stream r{seed};
    std::vector<value_id> values{n.image()};
    auto const any = [&] { return values[values.size() - 1 - r.below(std::min<std::size_t>(values.size(), 3))]; };
    auto const factor = [&] {
        auto const sign = r.below(3) == 0 ? -1.0f : 1.0f, zero = r.below(5) == 0 ? 0.0f : 2.0f;
        return r.below(4) == 0 ? n.number(sign * 0.5f) : n.numbers({4, 1, 1}, {0.5f, sign, zero, 1.5f});
    };
    for (int i = 0; i < 16; ++i) {
        auto const x = any();
        switch (r.below(7)) {
        case 0:
        case 1:
            values.push_back(n.op<ops::mul>(x, factor()));
            break;
        case 2:
            values.push_back(n.op<ops::add>(x, r.below(2) == 0 ? any() : factor()));
            break;
        case 3:
            values.push_back(n.op<ops::relu>(x));
            break;
        case 4:
            values.push_back(n.op<ops::sub>(factor(), x));
            break;
        default:
            values.push_back(n.conv(x, 4, 1 + 2 * static_cast<std::int64_t>(r.below(2)), r.below(4) == 0 ? 4 : 1,
                                    r.below(2) == 0 ? n.weight({4}) : value_id{}));
        }
    }
    std::vector<value_id> unread;
    for (auto v : values)
        if (!n.g.used(v)) unread.push_back(v);
    n.g.set_outputs(unread);
    return std::move(n.g);
}

/// Random graphs compute the same after a pass, are legal, and are not changed by a second run. How many are changed.
template <class Pass>
int run_on_random_graphs(Pass const& p) {
    int changed = 0;
    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
        CAPTURE(seed);
        auto const g = seed % 3 == 0 ? random_graph::make(seed, 40) : random_layers(seed);
        gsub::module m;
        m.add("main", g);
        changed += run_pass(p, m).value().changed ? 1 : 0;
        auto const& after = m.find("main")->body;
        auto const had = check(g, stage::imported);
        for (auto const& found : check(after, stage::imported))
            if (std::none_of(had.begin(), had.end(), [&](problem const& h) { return h.reason == found.reason; }))
                FAIL_CHECK(to_string(found));
        auto again = m;
        CHECK_FALSE(run_pass(p, again).value().changed);
        auto const inputs = random_inputs(g, seed);
        auto const table = table_of<eval_row, standard_ops>();
        auto const x = evaluate_graph(g, table, inputs, {.compute = precision::f64}).value();
        auto const y = evaluate_graph(after, table, inputs, {.compute = precision::f64}).value();
        for (std::size_t i = 0; i < x.size(); ++i) {
            auto const d = compare(y[i], x[i]).value();
            CHECK((d.max_relative <= 1e-9 || d.max_absolute <= 1e-12));
            CHECK(d.same_specials);
        }
    }
    return changed;
}

/// Each batch normalisation as a multiplication and an addition, as TVM's SimplifyInference leaves it.
inline void unpack_norms(any_graph& g) {
    auto const order = std::vector<node_id>(g.order().begin(), g.order().end());
    for (auto n : order) {
        if (!g.is<ops::batch_norm>(n)) continue;
        auto const element = g.type({n, 0}).element;
        auto const epsilon =
            g.add<ops::fill>({.shape = {1}, .element = element, .value = g.attributes<ops::batch_norm>(n).epsilon}, {});
        auto const factor =
            g.add<ops::div>(g.operand(n, 1), g.add<ops::sqrt>(g.add<ops::add>(g.operand(n, 4), epsilon)));
        auto const offset = g.add<ops::sub>(g.operand(n, 2), g.add<ops::mul>(g.operand(n, 3), factor));
        auto const channels = g.type(factor).dims[0].size();
        auto const per_channel = [&](value_id v) { return g.add<ops::reshape>({.shape = {channels, 1, 1}}, {v}); };
        auto const y = g.add<ops::add>(g.add<ops::mul>(g.operand(n, 0), per_channel(factor)), per_channel(offset));
        g.replace_uses({n, 0}, y);
    }
    g.erase_dead();
    if (!g.sort()) FAIL("a cycle");
}

} // namespace pass_bench
