#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/models/bert.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/passes/canonicalize/canonicalize_cast.hpp>
#include <gsub/passes/eliminate/eliminate_common_subexpr.hpp>

namespace canonicalize_cast_test {

using namespace gsub;
using namespace pass_trial;
using passes::canonicalize_cast;

value_id wide(net& n, dtype from = dtype::i8, dtype to = dtype::i32) {
    return n.b.add<ops::cast>({.to = to}, {n.input({4, 4}, "x", from)});
}
value_id plus(net& n, value_id v, std::uint64_t seed) {
    return n.op<ops::add>(v, n.weight({4, 4}, seed, n.g.type(v).element));
}

TEST_CASE("CanonicalizeCast P1, P2: each further elementwise reader gets a conversion of its own") {
    for (std::uint64_t readers = 2; readers <= 3; ++readers) {
        net n;
        auto const c = wide(n);
        std::vector<value_id> outputs;
        for (std::uint64_t i = 0; i < readers; ++i) outputs.push_back(plus(n, c, i + 1));
        auto const g = n.after(canonicalize_cast{}, outputs);
        CHECK(n.outcome.matches == 1);
        CHECK(count<ops::cast>(g) == readers);
        for (auto node : g.order())
            if (g.is<ops::cast>(node)) CHECK(g.use_count({node, 0}) == 1);
    }
}

TEST_CASE("CanonicalizeCast P3: an operator that reads it twice counts twice") {
    net n;
    auto const c = wide(n);
    auto const g = n.after(canonicalize_cast{}, {n.op<ops::add>(c, c)});
    CHECK(count<ops::cast>(g) == 2);
}

TEST_CASE("CanonicalizeCast N1: conversions to a type that is no wider stay") {
    for (auto [from, to] : {std::pair{dtype::i32, dtype::f32}, {dtype::f32, dtype::f16}, {dtype::i8, dtype::u8}}) {
        net n;
        auto const c = wide(n, from, to);
        CHECK(n.untouched(canonicalize_cast{}, {plus(n, c, 1), plus(n, c, 2)}));
    }
}

TEST_CASE("CanonicalizeCast N2, N3: one elementwise reader, or others alone, leave it as it is") {
    net n;
    auto const c = wide(n, dtype::f16, dtype::f32);
    auto const product = n.op<ops::mat_mul>(c, n.weight({4, 4}));
    auto const mean = n.b.add<ops::reduce_mean>({}, {c});
    CHECK(n.untouched(canonicalize_cast{}, {plus(n, c, 1)}));
    CHECK(n.untouched(canonicalize_cast{}, {product, mean, n.op<ops::mat_mul>(c, c)}));
    CHECK(n.untouched(canonicalize_cast{}, {product, mean, plus(n, c, 1)}));
}

TEST_CASE("CanonicalizeCast: with other readers too, these keep the conversion and the elementwise ones get theirs") {
    net n;
    auto const c = wide(n, dtype::f16, dtype::f32);
    auto const g = n.after(canonicalize_cast{}, {n.op<ops::mat_mul>(c, c), plus(n, c, 1), plus(n, c, 2), c});
    CHECK(count<ops::cast>(g) == 3);
    CHECK(g.operand(g.output(0).node, 0) == g.output(3));
}

TEST_CASE("CanonicalizeCast: conversions of weights are left to folding") {
    net n;
    auto const c = n.b.add<ops::cast>({.to = dtype::f32}, {n.weight({4, 4}, 1, dtype::f16)});
    auto const x = n.input({4, 4});
    CHECK(n.untouched(canonicalize_cast{}, {n.op<ops::add>(x, c), n.op<ops::mul>(x, c)}));
}

TEST_CASE("CanonicalizeCast: sharing equal nodes undoes it") {
    net n;
    auto const c = wide(n);
    n.g.set_outputs(std::vector{plus(n, c, 1), plus(n, c, 2), n.op<ops::mul>(c, c)});
    auto m = module_of(n.g);
    CHECK(run(canonicalize_cast{}, m).changed);
    run(passes::eliminate_common_subexpr{}, m);
    CHECK(m.find("main")->body == n.g);
}

TEST_CASE("CanonicalizeCast: no bit of a random graph changes") {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        CAPTURE(seed);
        auto m = module_of(random_graph::make(seed, 60));
        run(canonicalize_cast{}, m, true, seed + 1);
    }
}

TEST_CASE("CanonicalizeCast: thousands of readers take one sweep") {
    net n;
    auto const c = wide(n);
    std::vector<value_id> outputs;
    for (int i = 0; i < 20000; ++i) outputs.push_back(n.op<ops::neg>(c));
    n.g.set_outputs(outputs);
    auto m = module_of(n.g);
    CHECK(run_pass(canonicalize_cast{}, m).value().matches == 1);
    CHECK(count<ops::cast>(m.find("main")->body) == 20000);
}

TEST_CASE("CanonicalizeCast finds nothing in networks of one element type") {
    auto const changed = [](any_graph g) {
        auto m = module_of(std::move(g));
        return run(canonicalize_cast{}, m, false).changed;
    };
    CHECK_FALSE(changed(models::resnet50({.image = 32})));
    CHECK_FALSE(changed(models::bert_base({.sequence = 8, .layers = 2, .hidden = 16, .heads = 2, .vocabulary = 50})));
}

} // namespace canonicalize_cast_test
