#include "built_graph.hpp"
#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace einsum_test {

using namespace gsub;
using built_graph::built;
using built_graph::error_of;
using built_graph::kinds;

// An einsum of inputs, the second one a constant where it is said.
graph sums(char const* equation, ints const& a, ints const& b, bool constant = false) {
    graph g;
    graph_builder to{g};
    auto const input = [&](ints const& dims) { return to.input(dtype::f32, shape(dims.begin(), dims.end()), {}); };
    auto const x = input(a);
    auto weights = tensor::uninitialized(dtype::f32, b);
    random_stream r{1};
    for (auto& w : weights.mutable_data<float>()) w = static_cast<float>(r.uniform(-1, 1));
    auto const y = constant ? to.constant(weights) : input(b);
    to.outputs({to.add<ops::einsum>({.equation = equation}, {x, y})});
    return g;
}
bool on_reference(std::string const& kind) {
    return kind.find("reference") != std::string::npos;
}

TEST_CASE("an einsum of two operands is a product of matrices, wherever its letters stand") {
    struct form {
        char const* equation;
        ints a, b;
        std::size_t steps; // at most, with copies of what has several letters where a matrix has one
    };
    form const forms[] = {
        {"ij,jk->ik", {18, 7}, {7, 19}, 1},
        {"ji,kj->ik", {7, 18}, {19, 7}, 1},
        {"ij,jk->ki", {18, 7}, {7, 19}, 1},
        {"bij,bjk->bik", {3, 5, 7}, {3, 7, 9}, 1},
        {"bij,bkj->ibk", {3, 5, 7}, {3, 9, 7}, 1},
        {"bqhd,bkhd->bhqk", {2, 18, 3, 8}, {2, 19, 3, 8}, 1},
        {"bhqk,bkhd->bqhd", {2, 3, 18, 19}, {2, 19, 3, 8}, 1},
        {"bsd,dhe->bshe", {2, 17, 12}, {12, 3, 8}, 1},
        {"bshe,hed->bsd", {2, 17, 3, 8}, {3, 8, 12}, 1},
        {"...ij,jk->...ik", {2, 3, 5, 7}, {7, 9}, 1},
        {"...ij,...jk", {2, 1, 5, 7}, {3, 7, 9}, 3}, // rows and columns of two letters, apart
        {"i,j->ij", {18}, {19}, 1},
        {"i,i", {37}, {37}, 1},
        {"ij,j->i", {18, 37}, {37}, 1},
        {"bi,bi->b", {5, 37}, {5, 37}, 1},
        {"bij,bij->bij", {2, 3, 5}, {2, 3, 5}, 1},
        {"ij,ij->ij", {18, 1}, {1, 19}, 1},
        {"bij,kj->bik", {1, 18, 7}, {19, 7}, 1},
        {"bij,bjk->bik", {3, 1, 7}, {3, 7, 9}, 1},
        {"bhsd,hde->bse", {2, 3, 17, 8}, {3, 8, 12}, 2},
        {"abcd,cbe->aed", {2, 3, 4, 5}, {4, 3, 6}, 4},
        {"ab,cd->acbd", {3, 4}, {5, 6}, 2},
    };
    for (auto const& f : forms)
        for (auto const constant : {false, true}) {
            auto const g = sums(f.equation, f.a, f.b, constant);
            auto const e = built(g);
            auto const all = kinds(e);
            CAPTURE(f.equation, constant, all);
            CHECK(std::none_of(all.begin(), all.end(), on_reference));
            CHECK(all.size() <= f.steps);
            CHECK(error_of(g, e) <= 1e-4);
        }
}

TEST_CASE("what follows an einsum is part of its kernel, and scores of one are attention") {
    graph g;
    graph_builder b{g};
    auto const q = b.input(dtype::f32, {2, 18, 3, 8}, "q"), k = b.input(dtype::f32, {2, 19, 3, 8}, "k"),
               v = b.input(dtype::f32, {2, 3, 19, 8}, "v"), mask = b.input(dtype::f32, {2, 1, 1, 19}, "mask");
    auto const scores = b.add<ops::add>(b.add<ops::einsum>({.equation = "bqhd,bkhd->bhqk"}, {q, k}), mask);
    auto const shares = b.add<ops::softmax>({.axis = -1}, {scores});
    b.outputs({b.add<ops::mat_mul>(shares, v),
               b.add<ops::relu>(b.add<ops::einsum>({.equation = "bqhd,bkhd->bhqk"}, {k, q}))});
    auto const e = built(g);
    CHECK(kinds(e) == std::vector<std::string>{"attention", "matmul"});
    CHECK(error_of(g, e) <= 1e-4);
}

TEST_CASE("diagonals, sums of one operand and other numbers of operands have kernels") {
    for (auto const* equation : {"ii,ij->j", "ij,ik->k"}) {
        auto const g = sums(equation, {5, 5}, {5, 7});
        auto const e = built(g);
        CAPTURE(equation);
        auto const all = kinds(e);
        CHECK(std::none_of(all.begin(), all.end(), on_reference));
        CHECK(error_of(g, e) <= 1e-4);
    }
    CHECK(error_of(sums("ij,jk->ik", {3, 0}, {0, 2}), built(sums("ij,jk->ik", {3, 0}, {0, 2}))) == 0);
}

} // namespace einsum_test
