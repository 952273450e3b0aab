#include "catch.hpp"
#include "driver/built_graph.hpp"
#include <gsub/models/bert.hpp>
#include <gsub/models/network_builder.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace attention_planning_test {

using namespace gsub;
using built_graph::built;
using built_graph::error_of;
using built_graph::kinds;

struct network {
    graph g;
    models::network_builder net{g, models::weight_source{1}};
    value_id q = net.input(dtype::f32, {2, 19, 3, 8}, "q"), k = net.input(dtype::f32, {2, 21, 3, 8}, "k"),
             v = net.input(dtype::f32, {2, 21, 3, 5}, "v"), mask = net.input(dtype::f32, {2, 1, 1, 21}, "mask");

    value_id turned(value_id x, std::initializer_list<std::int64_t> perm) {
        return net.add<ops::transpose>({.perm = ints{perm}}, {x});
    }
    value_id scores() {
        auto const products = net.add<ops::mat_mul>(turned(q, {0, 2, 1, 3}), turned(k, {0, 2, 3, 1}));
        return net.add<ops::add>(products, mask);
    }
};

TEST_CASE("two products with a softmax between them are one kernel, transposes and the mask included") {
    network n;
    auto const weights = n.net.add<ops::softmax>({.axis = 3}, {n.scores()});
    auto const y = n.net.add<ops::mat_mul>(weights, n.turned(n.v, {0, 2, 1, 3}));
    n.net.output(n.turned(y, {0, 2, 1, 3}), "y");
    auto const e = built(n.g);
    CHECK(kinds(e) == std::vector<std::string>{"attention"});
    CHECK(error_of(n.g, e) <= 1e-5);
}

TEST_CASE("values near the greatest number do not overflow before their shares are known") {
    network n;
    auto const none = n.net.constant(tensor::scalar(0.0f), "none"),
               great = n.net.constant(tensor::scalar(3e38f), "great");
    auto const values = n.net.add<ops::add>(n.net.add<ops::mul>(n.v, none), great);
    auto const weights = n.net.add<ops::softmax>({.axis = 3}, {n.scores()});
    n.net.output(n.net.add<ops::mat_mul>(weights, n.turned(values, {0, 2, 1, 3})), "y");
    auto const e = built(n.g);
    auto const found = kinds(e);
    CHECK(std::find(found.begin(), found.end(), "attention") != found.end());
    CHECK(error_of(n.g, e) <= 1e-5);
}

template <class Softmax, class Exp, class Tanh, class Erf>
graph with_functions() {
    network n;
    auto const weights = n.net.add<Softmax>({.axis = 3}, {n.scores()});
    auto const y = n.net.add<ops::mat_mul>(weights, n.turned(n.v, {0, 2, 1, 3}));
    n.net.output(n.net.add<Erf>(n.net.add<Tanh>(n.net.add<Exp>(n.net.add<ops::neg>(y)))), "y");
    n.net.output(n.net.add<Softmax>({.axis = 3}, {n.net.add<ops::neg>(n.q)}), "p");
    return std::move(n.g);
}
TEST_CASE("approximations get the kernels of the functions that they stand for") {
    auto const exact = with_functions<ops::softmax, ops::exp, ops::tanh, ops::erf>();
    auto const fast = with_functions<ops::fast_softmax, ops::fast_exp, ops::fast_tanh, ops::fast_erf>();
    auto const e = built(fast);
    CHECK(kinds(e) == kinds(built(exact)));
    CHECK(error_of(exact, e) <= 1e-5);
}

TEST_CASE("scores that something else reads and a softmax of columns are not attention") {
    {
        network n;
        auto const weights = n.net.add<ops::softmax>({.axis = -1}, {n.scores()});
        n.net.output(n.net.add<ops::mat_mul>(weights, n.turned(n.v, {0, 2, 1, 3})), "y");
        n.net.output(weights, "weights");
        auto const e = built(n.g);
        CHECK(error_of(n.g, e) <= 1e-5);
        for (auto const& kind : kinds(e)) CHECK(kind != "attention");
    }
    {
        network n;
        auto const weights = n.net.add<ops::softmax>({.axis = 2}, {n.scores()});
        n.net.output(n.net.add<ops::mat_mul>(weights, n.turned(n.v, {0, 2, 1, 3})), "y");
        auto const e = built(n.g);
        CHECK(error_of(n.g, e) <= 1e-5);
        for (auto const& kind : kinds(e)) CHECK(kind != "attention");
    }
}

TEST_CASE("values that stand behind the scores are there by the time of attention") {
    network n;
    auto const weights = n.net.add<ops::softmax>({.axis = -1}, {n.scores()});
    auto const late = n.net.add<ops::tanh>(n.turned(n.v, {0, 2, 1, 3}));
    n.net.output(n.net.add<ops::mat_mul>(weights, late), "y");
    auto const e = built(n.g);
    CHECK(error_of(n.g, e) <= 1e-5);
    CHECK(kinds(e) == std::vector<std::string>{"elementwise", "attention"});
}

TEST_CASE("a bias of scores is not lost") {
    graph g;
    models::network_builder net{g, models::weight_source{1}};
    auto const q = net.input(dtype::f32, {7, 6}, "q"), k = net.input(dtype::f32, {9, 6}, "k"),
               v = net.input(dtype::f32, {9, 5}, "v");
    auto const bias = net.constant(net.weights().uniform("bias", {9}, -3, 3), "bias");
    auto const scores = net.add<ops::gemm>({.transpose_b = true}, {q, k, bias});
    net.output(net.add<ops::mat_mul>(net.add<ops::softmax>({.axis = -1}, {scores}), v), "y");
    CHECK(error_of(g, built(g)) <= 1e-5);
}

TEST_CASE("each layer of an encoder has one attention kernel") {
    models::bert_options o;
    o.layers = 2, o.hidden = 24, o.heads = 3, o.sequence = 18, o.intermediate = 40, o.vocabulary = 50;
    auto const g = models::bert_base(o);
    auto const e = built(g);
    auto const all = kinds(e);
    CHECK(std::count(all.begin(), all.end(), "attention") == 2);
    CHECK(error_of(g, e) <= 1e-4);
}

} // namespace attention_planning_test
