#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/rules/matmul.hpp>

#include <functional>
#include <optional>
#include <string>

namespace rules_matmul_test {

using namespace gsub;
using small_graphs::operators_after;

value_id in(graph_builder& to, shape dims) {
    return to.input(dtype::f32, std::move(dims), "i");
}
value_id weight(graph_builder& to, ints const& dims) {
    return to.constant(small_graphs::random_tensor(dims, static_cast<std::uint64_t>(dims[0])));
}

TEST_CASE("law 17: products of one left operand are one product, and a split") {
    auto const two = [](shape x, shape a, shape b) {
        return [=](graph_builder& to) {
            auto const v = in(to, x);
            to.outputs({to.add<ops::mat_mul>(v, in(to, a)), to.add<ops::mat_mul>(v, in(to, b))});
        };
    };
    auto const& rule = rules::matrix::merge_matmul_siblings;
    CHECK(operators_after(rule, two({2, 3}, {3, 4}, {3, 5})) == "Concat MatMul Split");
    CHECK(operators_after(rule, two({7, 2, 3}, {3, 4}, {3, 5})) == "Concat MatMul Split");
    CHECK(operators_after(rule, two({2, 3}, {7, 3, 4}, {7, 3, 5})) == "Concat MatMul Split");
    CHECK(operators_after(rule, two({2, 3}, {7, 3, 4}, {3, 5})) == "no match"); // another stack
    CHECK(operators_after(rule, two({2, 3}, {3}, {3})) == "no match");          // vectors have no columns
}

TEST_CASE("law 17: query, key and value in one step, weights being constant") {
    CHECK(operators_after(rules::matrix::merge_three_matmuls, [](graph_builder& to) {
              auto const v = in(to, {2, 3});
              to.outputs({to.add<ops::mat_mul>(v, weight(to, {3, 4})), to.add<ops::mat_mul>(v, weight(to, {3, 5})),
                          to.add<ops::mat_mul>(v, weight(to, {3, 6}))});
          }) == "MatMul Split");
}

TEST_CASE("law 17: with factors, flags and biases that fit") {
    auto const two = [](attributes_of<ops::gemm> const& p, attributes_of<ops::gemm> const& q, ints const& bias) {
        return [=](graph_builder& to) {
            auto const v = in(to, {2, 3});
            auto const w = [&](bool transposed, std::int64_t n) {
                return weight(to, transposed ? ints{n, 3} : ints{3, n});
            };
            to.outputs({to.add<ops::gemm>(p, {v, w(p.transpose_b, 4), weight(to, bias)}),
                        to.add<ops::gemm>(q, {v, w(q.transpose_b, 5)})});
        };
    };
    auto const& rule = rules::matrix::merge_gemm_siblings;
    CHECK(operators_after(rule, two({}, {}, {4})) == "Gemm Split");
    CHECK(operators_after(rule, two({.alpha = 0.5, .beta = 2, .transpose_b = true},
                                    {.alpha = 0.5, .beta = 2, .transpose_b = true}, {4})) == "Gemm Split");
    CHECK(operators_after(rule, two({}, {.alpha = 0.5}, {4})) == "no match");
    CHECK(operators_after(rule, two({}, {.transpose_b = true}, {4})) == "no match");
    CHECK(operators_after(rule, two({}, {}, {2, 4})) == "no match"); // a bias a row
    CHECK(operators_after(rule, two({}, {}, {1})) == "no match");
}

TEST_CASE("law 19: a sum of products is a product of what lies side by side") {
    auto const sum = [](shape x, ints a, shape y, ints b) {
        return [=](graph_builder& to) {
            to.outputs({to.add<ops::add>(to.add<ops::mat_mul>(in(to, x), weight(to, a)),
                                         to.add<ops::mat_mul>(in(to, y), weight(to, b)))});
        };
    };
    auto const& rule = rules::matrix::merge_matmul_sum;
    CHECK(operators_after(rule, sum({2, 3}, {3, 4}, {2, 5}, {5, 4})) == "Concat MatMul");
    CHECK(operators_after(rule, sum({7, 2, 3}, {3, 4}, {7, 2, 5}, {5, 4})) == "Concat MatMul");
    CHECK(operators_after(rule, sum({2, 3}, {3, 4}, {1, 5}, {5, 4})) == "no match"); // a row that is broadcast
    CHECK(operators_after(rule, sum({2, 3}, {3, 4}, {2, 5}, {5, 1})) == "no match"); // a column that is
}

TEST_CASE("law 21: products associate, to the right where that folds weights, to the left anywhere") {
    CHECK(operators_after(rules::matrix::associate_right, [](graph_builder& to) {
              auto const inner = to.add<ops::mat_mul>(in(to, {2, 3}), weight(to, {3, 4}));
              to.outputs({to.add<ops::mat_mul>(inner, weight(to, {4, 5}))});
          }) == "MatMul");
    auto const right = [](graph_builder& to) {
        to.outputs({to.add<ops::mat_mul>(in(to, {2, 3}), to.add<ops::mat_mul>(in(to, {3, 4}), in(to, {4, 5})))});
    };
    CHECK(operators_after(rules::matrix::associate_left, right) == "MatMul MatMul");
    CHECK(operators_after(rules::matrix::associate_right, right) == "no match");
    // A vector on the left is a row, and on the right a column: neither passes.
    CHECK(operators_after(rules::matrix::associate_left, [](graph_builder& to) {
              to.outputs({to.add<ops::mat_mul>(in(to, {2, 3}), to.add<ops::mat_mul>(in(to, {3, 4}), in(to, {4})))});
          }) == "no match");
}

TEST_CASE("law 22: two transpositions are one, or none") {
    auto const twice = [](ints p, ints q) {
        return [=](graph_builder& to) {
            to.outputs({to.add<ops::relu>(
                to.add<ops::transpose>({.perm = q}, {to.add<ops::transpose>({.perm = p}, {in(to, {2, 3, 4})})}))});
        };
    };
    auto const& rule = rules::matrix::compose_transposes;
    CHECK(operators_after(rule, twice({0, 2, 1}, {0, 2, 1})) == "Relu");
    CHECK(operators_after(rule, twice({1, 2, 0}, {2, 0, 1})) == "Relu");
    CHECK(operators_after(rule, twice({1, 2, 0}, {1, 2, 0})) == "Transpose Relu");
}

TEST_CASE("law 22: the transpose of a product is the product of the transposes, the other way round") {
    auto const& out = rules::matrix::transpose_of_product;
    auto const& back = rules::matrix::product_of_transposes;
    auto const turned = [](ints perm, shape a, shape b) {
        return [=](graph_builder& to) {
            to.outputs({to.add<ops::transpose>({.perm = perm}, {to.add<ops::mat_mul>(in(to, a), in(to, b))})});
        };
    };
    CHECK(operators_after(out, turned({1, 0}, {2, 3}, {3, 4})) == "Transpose Transpose MatMul");
    CHECK(operators_after(out, turned({0, 2, 1}, {7, 2, 3}, {7, 3, 4})) == "Transpose Transpose MatMul");
    CHECK(operators_after(out, turned({1, 0, 2}, {7, 2, 3}, {7, 3, 4})) == "no match");
    CHECK(operators_after(back, [](graph_builder& to) {
              auto const flip = [&](shape s) {
                  return to.add<ops::transpose>({.perm = {1, 0}}, {in(to, std::move(s))});
              };
              to.outputs({to.add<ops::mat_mul>(flip({3, 2}), flip({4, 3}))});
          }) == "MatMul Transpose");
}

TEST_CASE("law 22: a transposed operand becomes a flag, and a flag twice becomes none") {
    auto const flip = [](graph_builder& to, shape s) {
        return to.add<ops::transpose>({.perm = {1, 0}}, {in(to, std::move(s))});
    };
    CHECK(operators_after(rules::matrix::transposed_left_of_matmul, [&](graph_builder& to) {
              to.outputs({to.add<ops::mat_mul>(flip(to, {3, 2}), in(to, {3, 4}))});
          }) == "Gemm");
    CHECK(operators_after(rules::matrix::transposed_right_of_matmul, [&](graph_builder& to) {
              to.outputs({to.add<ops::mat_mul>(in(to, {2, 3}), flip(to, {4, 3}))});
          }) == "Gemm");
    for (bool flag : {false, true}) {
        CHECK(operators_after(rules::matrix::transposed_left_of_gemm, [&](graph_builder& to) {
                  to.outputs({to.add<ops::gemm>({.transpose_a = flag}, {flip(to, {3, 3}), in(to, {3, 4})})});
              }) == "Gemm");
        CHECK(
            operators_after(rules::matrix::transposed_right_of_gemm, [&](graph_builder& to) {
                to.outputs({to.add<ops::gemm>({.transpose_b = flag}, {in(to, {2, 3}), flip(to, {3, 3}), in(to, {3})})});
            }) == "Gemm");
    }
    CHECK(operators_after(rules::matrix::transposed_left_of_matmul, [](graph_builder& to) {
              auto const stack = to.add<ops::transpose>({.perm = {0, 2, 1}}, {in(to, {7, 3, 2})});
              to.outputs({to.add<ops::mat_mul>(stack, in(to, {3, 4}))});
          }) == "no match");
}

TEST_CASE("law 18: products of one right operand stack their rows, where the weight is the larger part") {
    auto const two = [](shape x, shape y, ints const& a) {
        return [=](graph_builder& to) {
            auto const w = weight(to, a);
            to.outputs({to.add<ops::mat_mul>(in(to, x), w), to.add<ops::mat_mul>(in(to, y), w)});
        };
    };
    auto const& rule = rules::matrix::merge_matmul_rows;
    CHECK(operators_after(rule, two({1, 8}, {2, 8}, {8, 8})) == "Concat MatMul Split");
    CHECK(operators_after(rule, two({1, 8}, {2, 8}, {3, 8, 8})) == "Concat MatMul Split");
    CHECK(operators_after(rule, two({3, 1, 8}, {2, 1, 8}, {8, 8})) == "no match"); // other stacks
    CHECK(operators_after(rule, two({4, 8}, {8, 8}, {8, 8})) == "no match");       // copying costs more
}

TEST_CASE("law 18: the parts of a stack that meet one weight are the stack") {
    auto const parts = [](shape x, std::int64_t axis, bool one_weight) {
        return [=](graph_builder& to) {
            auto const p = to.add<ops::split>({.axis = axis, .sizes = {1, 3}}, {in(to, x)}, 2);
            auto const a = weight(to, {4, 5}), b = one_weight ? a : in(to, {4, 5});
            to.outputs({to.add<ops::mat_mul>(p, a), to.add<ops::mat_mul>(value_id{p.node, 1}, b)});
        };
    };
    auto const& rule = rules::matrix::matmul_before_split;
    CHECK(operators_after(rule, parts({4, 4}, 0, true)) == "MatMul Split");
    CHECK(operators_after(rule, parts({4, 2, 4}, -3, true)) == "MatMul Split");
    CHECK(operators_after(rule, parts({4, 4}, 0, false)) == "no match");
}

TEST_CASE("laws 19 and 25: a sum of products with biases in between is one product and one bias") {
    auto const cell = [](shape y, bool constant_bias) {
        return [=](graph_builder& to) {
            auto const biased = [&](value_id v, value_id b) {
                return to.add<ops::add>(to.add<ops::mat_mul>(v, weight(to, {to.type_of(v)->dims[1].size(), 5})), b);
            };
            to.outputs({to.add<ops::add>(biased(in(to, {2, 3}), weight(to, {5})),
                                         biased(in(to, y), constant_bias ? weight(to, {1, 5}) : in(to, {2, 5})))});
        };
    };
    auto const& rule = rules::matrix::merge_biased_sum;
    CHECK(operators_after(rule, cell({2, 4}, true)) == "Concat MatMul Add");
    CHECK(operators_after(rule, cell({1, 4}, true)) == "no match");
    CHECK(operators_after(rule, cell({2, 4}, false)) == "no match");
}

TEST_CASE("laws 19 and 20: products that merge may stand anywhere in a sum") {
    auto const three = [](bool one_left, bool one_right, bool read_elsewhere) {
        return [=](graph_builder& to) {
            auto const x = in(to, {2, 3}), y = one_left ? x : in(to, {2, 3});
            auto const a = weight(to, {3, 5}), b = one_right ? a : weight(to, {3, 5});
            auto const inner = to.add<ops::add>(to.add<ops::mat_mul>(x, a), in(to, {5}));
            auto const sum = to.add<ops::add>(inner, to.add<ops::mat_mul>(y, b));
            if (read_elsewhere)
                to.outputs({sum, inner});
            else
                to.outputs({sum});
        };
    };
    CHECK(operators_after(rules::matrix::merge_matmul_sum, three(false, false, false)) == "Concat MatMul Add");
    CHECK(operators_after(rules::matrix::merge_matmul_sum, three(false, false, true)) == "no match");
    CHECK(operators_after(rules::matrix::factor_left_operand, three(true, false, false)) == "MatMul Add");
    CHECK(operators_after(rules::matrix::factor_left_operand, three(false, false, false)) == "no match");
    CHECK(operators_after(rules::matrix::factor_right_operand, three(false, true, false)) == "Add MatMul Add");
    CHECK(operators_after(rules::matrix::factor_right_operand, three(false, true, true)) == "no match");
    CHECK(operators_after(rules::matrix::merge_gemm_sum, [](graph_builder& to) {
              auto const product = [&](std::int64_t inner) {
                  return to.add<ops::gemm>({}, {in(to, {2, inner}), weight(to, {inner, 5}), weight(to, {5})});
              };
              to.outputs({to.add<ops::add>(to.add<ops::add>(product(3), in(to, {2, 5})), product(4))});
          }) == "Concat Gemm Add");
}

TEST_CASE("law 19: sums of products with factors, flags and biases") {
    auto const two = [](attributes_of<ops::gemm> const& p, attributes_of<ops::gemm> const& q, std::int64_t rows) {
        return [=](graph_builder& to) {
            auto const product = [&](attributes_of<ops::gemm> const& o, std::int64_t m, std::int64_t inner) {
                auto const left = in(to, o.transpose_a ? shape{dim{inner}, dim{m}} : shape{dim{m}, dim{inner}});
                return to.add<ops::gemm>(
                    o, {left, weight(to, o.transpose_b ? ints{5, inner} : ints{inner, 5}), weight(to, {5})});
            };
            to.outputs({to.add<ops::add>(product(p, 2, 3), product(q, rows, 4))});
        };
    };
    auto const& rule = rules::matrix::merge_gemm_sum;
    for (auto const& o : {attributes_of<ops::gemm>{}, attributes_of<ops::gemm>{.alpha = 0.5, .beta = 2},
                          attributes_of<ops::gemm>{.transpose_a = true}, attributes_of<ops::gemm>{.transpose_b = true}})
        CHECK(operators_after(rule, two(o, o, 2)) == "Concat Gemm");
    CHECK(operators_after(rule, two({}, {.alpha = 0.5}, 2)) == "no match");
    CHECK(operators_after(rule, two({}, {}, 1)) == "no match");
}

TEST_CASE("law 20: the operand that both products have is taken out of the sum") {
    auto const sum = [](shape x, shape y, ints const& a, ints const& b, bool one_left) {
        return [=](graph_builder& to) {
            auto const left = in(to, x);
            auto const first = weight(to, a);
            auto const p = to.add<ops::mat_mul>(left, first);
            auto const q = one_left ? to.add<ops::mat_mul>(left, to.constant(small_graphs::random_tensor(b, 77)))
                                    : to.add<ops::mat_mul>(in(to, y), first);
            to.outputs({to.add<ops::add>(p, q)});
        };
    };
    CHECK(operators_after(rules::matrix::factor_left_operand, sum({2, 3}, {}, {3, 4}, {3, 4}, true)) == "MatMul");
    CHECK(operators_after(rules::matrix::factor_left_operand, sum({4, 3}, {}, {3, 4}, {3}, true)) == "no match");
    CHECK(operators_after(rules::matrix::factor_right_operand, sum({2, 3}, {2, 3}, {3, 4}, {}, false)) == "Add MatMul");
    CHECK(operators_after(rules::matrix::factor_right_operand, sum({2, 3}, {7, 2, 3}, {3, 4}, {}, false)) ==
          "Add MatMul");
    CHECK(operators_after(rules::matrix::factor_right_operand, sum({2, 3}, {3}, {3, 4}, {}, false)) == "no match");
}

TEST_CASE("law 23: a factor passes into the constant operand") {
    auto const scaled = [](bool constant_right, ints const& k) {
        return [=](graph_builder& to) {
            auto const y = constant_right ? to.add<ops::mat_mul>(in(to, {2, 3}), weight(to, {3, 4}))
                                          : to.add<ops::mat_mul>(weight(to, {2, 3}), in(to, {3, 4}));
            to.outputs({to.add<ops::mul>(to.constant(small_graphs::random_tensor(k, 9)), y)});
        };
    };
    for (auto const& k : {ints{}, ints{1}, ints{1, 1}, ints{4}, ints{1, 4}})
        CHECK(operators_after(rules::matrix::scale_into_columns, scaled(true, k)) == "MatMul");
    for (auto const& k : {ints{}, ints{1, 1}, ints{2, 1}})
        CHECK(operators_after(rules::matrix::scale_into_rows, scaled(false, k)) == "MatMul");
    CHECK(operators_after(rules::matrix::scale_into_columns, scaled(true, {2, 1})) == "no match");
    CHECK(operators_after(rules::matrix::scale_into_columns, scaled(true, {1, 1, 4})) == "no match"); // another rank
    CHECK(operators_after(rules::matrix::scale_into_rows, scaled(false, {4})) == "no match");
    CHECK(operators_after(rules::matrix::scale_into_columns, scaled(false, {1})) == "no match"); // not constant
}

TEST_CASE("law 23: the factor of an attention's scores passes into the query") {
    auto const scores = [](bool divided, ints const& k) {
        return [=](graph_builder& to) {
            auto const q = to.add<ops::add>(to.add<ops::mat_mul>(in(to, {6, 8}), weight(to, {8, 8})), weight(to, {8}));
            auto const heads =
                to.add<ops::transpose>({.perm = {1, 0, 2}}, {to.add<ops::reshape>({.shape = {6, 2, 4}}, {q})});
            auto const y = to.add<ops::mat_mul>(heads, in(to, {2, 4, 6}));
            auto const factor = to.constant(small_graphs::random_tensor(k, 9));
            to.outputs({divided ? to.add<ops::div>(y, factor) : to.add<ops::mul>(y, factor)});
        };
    };
    CHECK(operators_after(rules::matrix::scale_into_query, scores(false, {})) == "MatMul Add Reshape Transpose MatMul");
    CHECK(operators_after(rules::matrix::divide_into_query, scores(true, {1})) ==
          "MatMul Add Reshape Transpose MatMul");
    CHECK(operators_after(rules::matrix::divide_into_query, scores(true, {6})) == "no match");
    CHECK(operators_after(rules::matrix::scale_into_query, scores(true, {})) == "no match");
}

} // namespace rules_matmul_test
