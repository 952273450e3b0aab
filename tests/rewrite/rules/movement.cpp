#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/rules/movement.hpp>

#include <functional>
#include <numeric>
#include <optional>
#include <string>

namespace rules_tensor_test {

using namespace gsub;
using small_graphs::operators_after;
namespace movement = rules::movement;

value_id in(graph_builder& to, shape dims) {
    return to.input(dtype::f32, std::move(dims), "i");
}
value_id fixed(graph_builder& to, ints const& dims) {
    return to.constant(small_graphs::random_tensor(dims, 5));
}
value_id joined(graph_builder& to, std::initializer_list<value_id> parts, std::int64_t axis = 1) {
    return to.add<ops::concat>({.axis = axis}, parts);
}
value_id cut(graph_builder& to, value_id v, ints sizes, std::int64_t axis = 1) {
    return to.add<ops::split>({.axis = axis, .sizes = sizes}, {v}, sizes.size());
}
value_id part(value_id v, std::uint32_t i) {
    return {v.node, i};
}

TEST_CASE("law 15: an operator of one operand passes through whatever moves elements, both ways") {
    auto const tops = [](graph_builder& to, value_id v) { return to.add<ops::clip>({.min = 0, .max = 6}, {v}); };
    CHECK(operators_after(movement::unary_into_concat, [&](graph_builder& to) {
              to.outputs({tops(to, joined(to, {in(to, {2, 3}), in(to, {2, 4}), in(to, {2, 5})}))});
          }) == "Clip Clip Clip Concat");
    CHECK(operators_after(movement::unary_out_of_concat, [&](graph_builder& to) {
              to.outputs({joined(to, {tops(to, in(to, {2, 3})), tops(to, in(to, {2, 4}))}, -1)});
          }) == "Concat Clip");
    CHECK(operators_after(movement::unary_before_split, [&](graph_builder& to) {
              auto const p = cut(to, in(to, {2, 6}), {1, 2, 3});
              to.outputs({tops(to, p), tops(to, part(p, 1)), tops(to, part(p, 2))});
          }) == "Clip Split");
    CHECK(operators_after(movement::unary_after_split, [&](graph_builder& to) {
              auto const p = cut(to, tops(to, in(to, {2, 6})), {2, 4});
              to.outputs({p, part(p, 1)});
          }) == "Split Clip Clip");
    CHECK(operators_after(movement::unary_into_reshape, [&](graph_builder& to) {
              to.outputs({tops(to, to.add<ops::reshape>({.shape = {3, 2}}, {in(to, {2, 3})}))});
          }) == "Clip Reshape");
    CHECK(operators_after(movement::unary_out_of_reshape, [&](graph_builder& to) {
              to.outputs({to.add<ops::reshape>({.shape = {-1}}, {tops(to, in(to, {2, 3}))})});
          }) == "Reshape Clip");
    CHECK(operators_after(movement::unary_into_transpose, [&](graph_builder& to) {
              to.outputs({tops(to, to.add<ops::transpose>({.perm = {1, 0}}, {in(to, {2, 3})}))});
          }) == "Clip Transpose");
    CHECK(operators_after(movement::unary_out_of_transpose, [&](graph_builder& to) {
              to.outputs({to.add<ops::transpose>({.perm = {1, 0}}, {tops(to, in(to, {2, 3}))})});
          }) == "Transpose Clip");
}

TEST_CASE("law 15: only one and the same operator passes out, and only where every part has one") {
    CHECK(operators_after(movement::unary_out_of_concat, [](graph_builder& to) {
              to.outputs({joined(to, {to.add<ops::relu>(in(to, {2, 3})), to.add<ops::tanh>(in(to, {2, 4}))})});
          }) == "no match");
    CHECK(operators_after(movement::unary_out_of_concat, [](graph_builder& to) {
              auto const clip = [&](double top) { return to.add<ops::clip>({.min = 0, .max = top}, {in(to, {2, 3})}); };
              to.outputs({joined(to, {clip(1), clip(6)})});
          }) == "no match");
    CHECK(operators_after(movement::unary_before_split, [](graph_builder& to) {
              auto const p = cut(to, in(to, {2, 6}), {2, 4});
              to.outputs({to.add<ops::relu>(p), part(p, 1)});
          }) == "no match");
    CHECK(operators_after(movement::unary_before_split, [](graph_builder& to) {
              auto const p = cut(to, in(to, {2, 6}), {2, 4});
              to.outputs({to.add<ops::relu>(p), to.add<ops::relu>(part(p, 1)), to.add<ops::tanh>(part(p, 1))});
          }) == "no match");
}

TEST_CASE("law 15: operators of two operands, where both sides are cut alike") {
    auto const both = [](shape p, shape q, std::int64_t axis, std::int64_t other_axis) {
        return [=](graph_builder& to) {
            to.outputs({to.add<ops::sub>(joined(to, {in(to, p), in(to, q)}, axis),
                                         joined(to, {in(to, p), in(to, q)}, other_axis))});
        };
    };
    CHECK(operators_after(movement::binary_into_concat, both({2, 3}, {2, 4}, 1, -1)) == "Sub Sub Concat");
    CHECK(operators_after(movement::binary_into_concat, [](graph_builder& to) {
              to.outputs({to.add<ops::mul>(joined(to, {in(to, {2, 3}), in(to, {2, 4})}),
                                           joined(to, {in(to, {2, 4}), in(to, {2, 3})}))});
          }) == "no match");
    CHECK(operators_after(movement::binary_out_of_concat, [](graph_builder& to) {
              auto const some = [&](shape s) { return to.add<ops::div>(in(to, s), in(to, s)); };
              to.outputs({joined(to, {some({2, 3}), some({2, 4})})});
          }) == "Concat Concat Div");
    // A column that is broadcast is not as wide as the part.
    CHECK(operators_after(movement::binary_out_of_concat, [](graph_builder& to) {
              to.outputs({joined(to, {to.add<ops::div>(in(to, {2, 3}), in(to, {2, 1})),
                                      to.add<ops::div>(in(to, {2, 4}), in(to, {2, 1}))})});
          }) == "no match");
}

TEST_CASE("law 15: a constant is cut like the parts, unless it is the same for all") {
    auto const with = [](auto op, ints dims) {
        return [=](graph_builder& to) {
            to.outputs({to.add<decltype(op)>(fixed(to, dims), joined(to, {in(to, {2, 3}), in(to, {2, 4})}))});
        };
    };
    for (auto const& dims : {ints{2, 7}, ints{7}, ints{1, 7}, ints{2, 1}, ints{1}, ints{}}) {
        CHECK(operators_after(movement::add_into_concat, with(ops::add{}, dims)) == "Add Add Concat");
        CHECK(operators_after(movement::mul_into_concat, with(ops::mul{}, dims)) == "Mul Mul Concat");
    }
    CHECK(operators_after(movement::add_into_concat, with(ops::add{}, {3, 2, 7})) == "no match"); // the sum is larger
}

TEST_CASE("law 15: sums and products on all parts of a split become one, in whatever order they are written") {
    auto const summed = [](graph_builder& to) {
        auto const p = cut(to, in(to, {2, 6}), {2, 4});
        to.outputs({to.add<ops::add>(p, fixed(to, {2, 2})), to.add<ops::add>(fixed(to, {2, 4}), part(p, 1))});
    };
    CHECK(operators_after(movement::add_before_split, summed) == "Add Split");
    CHECK(operators_after(movement::mul_before_split, [](graph_builder& to) {
              auto const p = cut(to, in(to, {2, 6}), {2, 4}), q = cut(to, in(to, {2, 6}), {2, 4});
              to.outputs({to.add<ops::mul>(p, q), to.add<ops::mul>(part(p, 1), part(q, 1))});
          }) == "Mul Split");
    // Factors from elsewhere would have to be copied together; broadcast ones do not fit.
    CHECK(operators_after(movement::mul_before_split, [](graph_builder& to) {
              auto const p = cut(to, in(to, {2, 6}), {2, 4});
              to.outputs({to.add<ops::mul>(p, in(to, {2, 2})), to.add<ops::mul>(part(p, 1), in(to, {2, 4}))});
          }) == "no match");
    CHECK(operators_after(movement::add_before_split, [](graph_builder& to) {
              auto const p = cut(to, in(to, {2, 6}), {2, 4});
              to.outputs({to.add<ops::add>(p, fixed(to, {1})), to.add<ops::add>(part(p, 1), fixed(to, {1}))});
          }) == "no match");
}

TEST_CASE("law 15: a normalisation over channels side by side is one for each") {
    auto const over = [](std::int64_t axis) {
        return [=](graph_builder& to) {
            auto const v = joined(to, {in(to, {2, 2, 3}), in(to, {2, 2, 3})}, axis);
            auto const c = to.type_of(v)->dims[1].size();
            to.outputs(
                {to.add<ops::batch_norm>({}, {v, fixed(to, {c}), fixed(to, {c}), fixed(to, {c}), fixed(to, {c})})});
        };
    };
    CHECK(operators_after(movement::bn_into_concat, over(1)) == "BatchNormalization BatchNormalization Concat");
    CHECK(operators_after(movement::bn_into_concat, over(-2)) == "BatchNormalization BatchNormalization Concat");
    CHECK(operators_after(movement::bn_into_concat, over(0)) == "no match");
}

// All orders of three parts.
template <class F>
void for_orders(F&& f) {
    std::vector<std::uint32_t> order{0, 1, 2};
    do f(order);
    while (std::next_permutation(order.begin(), order.end()));
}
value_id shuffled(graph_builder& to, value_id v, ints const& sizes, std::vector<std::uint32_t> const& order,
                  std::int64_t axis) {
    auto const p = cut(to, v, sizes, axis);
    return joined(to, {part(p, order[0]), part(p, order[1]), part(p, order[2])}, axis);
}

TEST_CASE("law 14: another order of parts is another order in the weight, whichever order it is") {
    attributes_of<ops::conv> a;
    a.strides = {1}, a.dilations = {1}, a.pads = {0, 0};
    ints const sizes{1, 2, 3};
    for_orders([&](std::vector<std::uint32_t> const& order) {
        // In order they are the whole: the canonical form's business.
        bool const same = std::is_sorted(order.begin(), order.end());
        CHECK(operators_after(movement::reorder_conv_outputs, [&](graph_builder& to) {
                  auto const y = to.add<ops::conv>(a, {in(to, {2, 4, 3}), fixed(to, {6, 4, 1}), fixed(to, {6})});
                  to.outputs({shuffled(to, y, sizes, order, 1)});
              }) == (same ? "no match" : "Conv"));
        CHECK(operators_after(movement::reorder_conv_inputs, [&](graph_builder& to) {
                  to.outputs(
                      {to.add<ops::conv>(a, {shuffled(to, in(to, {2, 6, 3}), sizes, order, 1), fixed(to, {2, 6, 1})})});
              }) == (same ? "no match" : "Conv"));
        CHECK(operators_after(movement::reorder_matmul_columns, [&](graph_builder& to) {
                  to.outputs({shuffled(to, to.add<ops::mat_mul>(in(to, {2, 4}), fixed(to, {4, 6})), sizes, order, 1)});
              }) == (same ? "no match" : "MatMul"));
        CHECK(operators_after(movement::reorder_matmul_rows, [&](graph_builder& to) {
                  to.outputs({to.add<ops::mat_mul>(shuffled(to, in(to, {2, 6}), sizes, order, -1), fixed(to, {6, 3}))});
              }) == (same ? "no match" : "MatMul"));
    });
}

TEST_CASE("law 14: rows of a result are no outputs of the weight") {
    CHECK(operators_after(movement::reorder_matmul_columns, [](graph_builder& to) {
              to.outputs(
                  {shuffled(to, to.add<ops::mat_mul>(in(to, {6, 4}), fixed(to, {4, 6})), {1, 2, 3}, {2, 1, 0}, 0)});
          }) == "no match");
}

TEST_CASE("an axis counts from either end, and is nowhere where the rank is not known") {
    graph g;
    graph_builder to{g};
    auto const front = joined(to, {in(to, {2, 3}), in(to, {2, 3})}, 1),
               back = joined(to, {in(to, {2, 3}), in(to, {2, 3})}, -1);
    rule_program const rule{};
    match const m{g, rule};
    CHECK(movement::detail::axis_of(m, front.node) == std::size_t{1});
    CHECK(movement::detail::axis_of(m, back.node) == std::size_t{1});
}

TEST_CASE("law 15: gates of one operator are computed together, in the order of their first ones") {
    auto const gates = [](std::vector<bool> const& sigmoids, std::int64_t axis) -> std::string {
        graph g;
        graph_builder to{g};
        auto const n = static_cast<std::int64_t>(sigmoids.size()), total = n * (n + 1) / 2;
        ints sizes;
        for (std::int64_t i = 1; i <= n; ++i) sizes.push_back(i);
        auto const p = cut(to, in(to, axis == 1 ? shape{2, dim{total}} : shape{dim{total}, 2}), sizes, axis);
        std::vector<value_id> out;
        for (std::uint32_t i = 0; i < sigmoids.size(); ++i)
            out.push_back(sigmoids[i] ? to.add<ops::sigmoid>(part(p, i)) : to.add<ops::tanh>(part(p, i)));
        g.set_outputs(out);
        auto const done = small_graphs::applied(g, movement::group_activations);
        return done ? small_graphs::operators_of(*done) : "no match";
    };
    for (std::int64_t const axis : {0, 1}) {
        CHECK(gates({true, false, true}, axis) == "Split Concat Split Sigmoid Split Tanh");
        CHECK(gates({false, true, true, false}, axis) == "Split Concat Split Tanh Split Sigmoid Split");
    }
    // In order already: nothing has to be put together.
    CHECK(gates({true, true, false}, 1) == "Split Sigmoid Split Tanh");
    CHECK(gates({true, false}, 1) == "no match");
    CHECK(gates({true, true}, 1) == "no match"); // see unary_before_split
}

TEST_CASE("law 15: an operator of two operands passes through equal transpositions") {
    auto const two = [](ints const& p, ints const& q, shape y) {
        return [=](graph_builder& to) {
            to.outputs({to.add<ops::sub>(to.add<ops::transpose>({.perm = p}, {in(to, {2, 2, 2})}),
                                         to.add<ops::transpose>({.perm = q}, {in(to, y)}))});
        };
    };
    auto const& rule = movement::binary_into_transpose;
    CHECK(operators_after(rule, two({1, 2, 0}, {1, 2, 0}, {2, 2, 2})) == "Sub Transpose");
    CHECK(operators_after(rule, two({1, 2, 0}, {2, 0, 1}, {2, 2, 2})) == "no match");
    CHECK(operators_after(rule, two({1, 2, 0}, {1, 2, 0}, {2, 1, 2})) == "Sub Transpose"); // broadcast
}

TEST_CASE("law 24: a common factor is taken out of a sum or difference, whatever is broadcast") {
    auto const gated = [](bool difference, bool common, shape x) {
        return [=](graph_builder& to) {
            auto const f = in(to, {2, 3}), g = common ? f : in(to, {2, 3});
            auto const p = to.add<ops::mul>(in(to, x), f), q = to.add<ops::mul>(g, in(to, {2, 3}));
            to.outputs({difference ? to.add<ops::sub>(p, q) : to.add<ops::add>(p, q)});
        };
    };
    for (auto const& x : {shape{2, 3}, shape{3}, shape{1, 1}, shape{5, 2, 3}}) {
        CHECK(operators_after(movement::factor_sum, gated(false, true, x)) == "Add Mul");
        CHECK(operators_after(movement::factor_difference, gated(true, true, x)) == "Sub Mul");
    }
    CHECK(operators_after(movement::factor_sum, gated(false, false, {2, 3})) == "no match");
    CHECK(operators_after(movement::factor_difference, gated(false, true, {2, 3})) == "no match");
}

TEST_CASE("law 24: the common factor may be in any two terms of a sum") {
    auto const gated = [](bool common) {
        return [=](graph_builder& to) {
            auto const f = in(to, {2, 3}), g = common ? f : in(to, {2, 3});
            auto const p = to.add<ops::mul>(in(to, {2, 3}), f), q = to.add<ops::mul>(g, in(to, {2, 3}));
            to.outputs({to.add<ops::add>(to.add<ops::add>(p, in(to, {2, 3})), q)});
        };
    };
    CHECK(operators_after(movement::factor_sum, gated(true)) == "Add Mul Add");
    CHECK(operators_after(movement::factor_sum, gated(false)) == "no match");
}

} // namespace rules_tensor_test
