#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/rewrite/matcher.hpp>
#include <gsub/rewrite/normal_form.hpp>
#include <gsub/rewrite/rewrite.hpp>
#include <gsub/rewrite/rules_pool.hpp>

namespace rules_pool_test {

using namespace gsub;
using small_graphs::operators_after;
namespace pooling = rules::pooling;

value_id image(graph_builder& to, shape dims) {
    return to.input(dtype::f32, std::move(dims), "i");
}
template <class Op>
attributes_of<Op> window(std::int64_t kernel, std::int64_t pad, std::int64_t stride = 1) {
    attributes_of<Op> a;
    a.strides = {stride, stride}, a.dilations = {1, 1}, a.pads = {pad, pad, pad, pad};
    if constexpr (requires { a.kernel_shape; }) a.kernel_shape = {kernel, kernel};
    return a;
}
value_id conv(graph_builder& to, value_id v, std::int64_t kernel, std::int64_t pad, std::int64_t stride = 1,
              std::int64_t group = 1) {
    auto a = window<ops::conv>(kernel, pad, stride);
    a.group = group;
    ints const dims{4, to.type_of(v)->dims[1].size() / group, kernel, kernel};
    return to.add<ops::conv>(a, {v, to.constant(small_graphs::random_tensor(dims, 3))});
}
attributes_of<ops::average_pool> mean(std::int64_t kernel, std::int64_t pad, bool counts = true,
                                      std::int64_t stride = 1) {
    auto a = window<ops::average_pool>(kernel, pad, stride);
    a.count_include_pad = counts;
    return a;
}

TEST_CASE("law 16: pooling passes through concat along batch or channels, both ways") {
    auto const of_concat = [](std::int64_t axis, std::size_t results) {
        return [=](graph_builder& to) {
            auto const both = to.add<ops::concat>({.axis = axis}, {image(to, {1, 2, 4, 4}), image(to, {1, 2, 4, 4})});
            auto const p = to.add<ops::max_pool>(window<ops::max_pool>(2, 0), {both}, results);
            if (results == 2)
                to.outputs({p, value_id{p.node, 1}});
            else
                to.outputs({p});
        };
    };
    for (auto const axis : {0, 1, -3})
        CHECK(operators_after(pooling::max_pool_into_concat, of_concat(axis, 1)) == "MaxPool MaxPool Concat");
    CHECK(operators_after(pooling::max_pool_into_concat, of_concat(2, 1)) == "no match");
    CHECK(operators_after(pooling::max_pool_into_concat, of_concat(1, 2)) == "no match");

    auto const concat_of = [](shape second, std::int64_t axis, auto const& p, auto const& q) {
        using op = std::conditional_t<std::is_same_v<std::decay_t<decltype(p)>, attributes_of<ops::max_pool>>,
                                      ops::max_pool, ops::average_pool>;
        return [=](graph_builder& to) {
            auto const first = to.template add<op>(p, {image(to, {1, 2, 4, 4})});
            to.outputs(
                {to.template add<ops::concat>({.axis = axis}, {first, to.template add<op>(q, {image(to, second)})})});
        };
    };
    auto const most = window<ops::max_pool>(2, 0);
    CHECK(operators_after(pooling::max_pool_out_of_concat, concat_of({1, 3, 4, 4}, 1, most, most)) == "Concat MaxPool");
    CHECK(operators_after(pooling::average_pool_out_of_concat,
                          concat_of({1, 3, 4, 4}, 1, mean(3, 1, false), mean(3, 1, false))) == "Concat AveragePool");
    // Other windows; images of other sizes with results of one size.
    CHECK(operators_after(pooling::max_pool_out_of_concat,
                          concat_of({1, 3, 5, 5}, 1, most, window<ops::max_pool>(3, 0))) == "no match");
    CHECK(operators_after(pooling::average_pool_out_of_concat,
                          concat_of({1, 3, 5, 5}, 1, mean(2, 0, true, 2), mean(2, 0, true, 2))) == "no match");
    CHECK(operators_after(pooling::average_pool_into_concat, [](graph_builder& to) {
              auto const both = to.add<ops::concat>({.axis = 1}, {image(to, {1, 2, 4, 4}), image(to, {1, 3, 4, 4})});
              to.outputs({to.add<ops::average_pool>(mean(3, 1, false), {both})});
          }) == "AveragePool AveragePool Concat");
}

TEST_CASE("law 12: a mean becomes a convolution beside one that it can merge with") {
    auto const beside = [](attributes_of<ops::average_pool> const& a, std::int64_t kernel, std::int64_t pad,
                           std::int64_t stride = 1, std::int64_t group = 1) {
        return [=](graph_builder& to) {
            auto const x = image(to, {1, 4, 6, 6});
            to.outputs({to.add<ops::average_pool>(a, {x}), conv(to, x, kernel, pad, stride, group)});
        };
    };
    auto const& rule = pooling::average_pool_as_conv;
    CHECK(operators_after(rule, beside(mean(3, 1), 3, 1)) == "Conv Conv");
    CHECK(operators_after(rule, beside(mean(3, 1), 5, 2)) == "Conv Conv");
    CHECK(operators_after(rule, beside(mean(3, 0, false), 3, 0)) == "Conv Conv");
    CHECK(operators_after(rule, beside(mean(3, 1, false), 3, 1)) == "no match"); // pads do not count
    CHECK(operators_after(rule, beside(mean(3, 1), 1, 0)) == "no match");        // a smaller window
    CHECK(operators_after(rule, beside(mean(3, 1), 3, 1, 2)) == "no match");
    CHECK(operators_after(rule, beside(mean(3, 1), 3, 1, 1, 2)) == "no match");
    CHECK(operators_after(rule, beside(mean(1, 0, true, 2), 1, 0, 2)) == "no match"); // pixels that a sibling keeps
    auto beyond = mean(3, 0, true, 2);
    beyond.ceil_mode = true;
    CHECK(operators_after(rule, beside(beyond, 3, 0, 2)) == "no match");
}

TEST_CASE("law 12: a mean as a convolution of one channel a group") {
    auto const alone = [](attributes_of<ops::average_pool> const& a) {
        return [=](graph_builder& to) { to.outputs({to.add<ops::average_pool>(a, {image(to, {1, 4, 6, 6})})}); };
    };
    CHECK(operators_after(pooling::average_pool_as_depthwise, alone(mean(3, 1, true, 2))) == "Conv");
    CHECK(operators_after(pooling::average_pool_as_depthwise, alone(mean(3, 1, false))) == "no match");
    CHECK(operators_after(pooling::average_pool_as_depthwise, alone(mean(1, 0, true, 2))) == "no match");
}

TEST_CASE("laws 12 and 11: a mean before a pointwise convolution passes into its weight") {
    auto const chain = [](attributes_of<ops::average_pool> const& a, std::int64_t kernel, std::int64_t stride,
                          std::int64_t group) {
        return [=](graph_builder& to) {
            to.outputs({conv(to, to.add<ops::average_pool>(a, {image(to, {1, 4, 7, 7})}), kernel, 0, stride, group)});
        };
    };
    auto const& rule = pooling::compose_pool_pointwise;
    for (auto const group : {1, 2})
        for (auto const stride : {1, 2})
            CHECK(operators_after(rule, chain(mean(3, 1, true, 2), 1, stride, group)) == "Conv");
    CHECK(operators_after(rule, chain(mean(3, 1, true), 3, 1, 1)) == "no match");
    CHECK(operators_after(rule, chain(mean(3, 1, false), 1, 1, 1)) == "no match");
    CHECK(operators_after(rule, [](graph_builder& to) { // 9 taps of 64 channels, 64 outputs at 24 x 24
              auto const w = to.constant(small_graphs::random_tensor({64, 64, 1, 1}, 1));
              auto const y = to.add<ops::average_pool>(mean(3, 1), {image(to, {1, 64, 24, 24})});
              to.outputs({to.add<ops::conv>(window<ops::conv>(1, 0), {y, w})});
          }) == "no match");
    CHECK(operators_after(rule, chain(mean(1, 0, true, 2), 1, 1, 1)) == "no match"); // one tap composes to strides
}

TEST_CASE("law 12: a strided pointwise convolution sees some pixels alone") {
    auto const one = [](std::int64_t kernel, std::int64_t pad, std::int64_t stride, std::int64_t group = 1) {
        return [=](graph_builder& to) { to.outputs({conv(to, image(to, {1, 4, 7, 7}), kernel, pad, stride, group)}); };
    };
    auto const& rule = pooling::subsample_before_pointwise;
    for (auto const stride : {2, 3})
        for (auto const group : {1, 2, 4}) CHECK(operators_after(rule, one(1, 0, stride, group)) == "AveragePool Conv");
    CHECK(operators_after(rule, one(1, 0, 1)) == "no match");
    CHECK(operators_after(rule, one(1, 1, 2)) == "no match");
    CHECK(operators_after(rule, one(3, 0, 2)) == "no match");
    CHECK(operators_after(rule, [](graph_builder& to) { // an activation stays behind, a dilation of one tap is none
              auto c = window<ops::conv>(1, 0, 2);
              c.act = activation::relu, c.dilations = {3, 3};
              auto const w = to.constant(small_graphs::random_tensor({6, 4, 1, 1}, 3)),
                         k = to.constant(small_graphs::random_tensor({6}, 4));
              to.outputs({to.add<ops::conv>(c, {image(to, {1, 4, 8, 8}), w, k})});
          }) == "AveragePool Conv");
}

TEST_CASE("law 12: a mean and a pointwise convolution change places") {
    // i -> first -> second, the convolution with a bias or without.
    auto const both = [](bool pool_first, attributes_of<ops::average_pool> const& a, bool bias, std::int64_t kernel = 1,
                         std::int64_t stride = 1, activation act = activation::none, std::int64_t pad = 0) {
        return [=](graph_builder& to) {
            auto c = window<ops::conv>(kernel, pad, stride);
            c.act = act;
            auto const w = to.constant(small_graphs::random_tensor({6, 4, kernel, kernel}, 3));
            auto const k = bias ? to.constant(small_graphs::random_tensor({6}, 4)) : value_id{};
            auto const i = image(to, {1, 4, 7, 7});
            if (pool_first)
                to.outputs({to.add<ops::conv>(c, {to.add<ops::average_pool>(a, {i}), w, k})});
            else
                to.outputs({to.add<ops::average_pool>(a, {to.add<ops::conv>(c, {i, w, k})})});
        };
    };
    auto const& forward = pooling::pointwise_before_pool;
    CHECK(operators_after(forward, both(true, mean(3, 1), false)) == "Conv AveragePool");
    CHECK(operators_after(forward, both(true, mean(3, 1, false, 2), true)) == "Conv AveragePool");
    CHECK(operators_after(forward, both(true, mean(3, 1), true)) == "Conv AveragePool Add"); // pads are no bias
    CHECK(operators_after(forward, both(true, mean(3, 1), false, 3)) == "no match");
    CHECK(operators_after(forward, both(true, mean(3, 1), false, 1, 2)) == "no match");
    CHECK(operators_after(forward, both(true, mean(3, 1), false, 1, 1, activation::relu)) == "no match");
    CHECK(operators_after(forward, both(true, mean(3, 1), false, 1, 1, activation::none, 1)) == "no match");

    auto const& back = pooling::pool_before_pointwise;
    CHECK(operators_after(back, both(false, mean(2, 0, true, 2), true)) == "AveragePool Conv");
    CHECK(operators_after(back, both(false, mean(3, 1, true), false)) == "AveragePool Conv");
    CHECK(operators_after(back, both(false, mean(3, 1, false), true)) == "AveragePool Conv");
    CHECK(operators_after(back, both(false, mean(3, 1, true), true)) == "no match");
    auto beyond = mean(2, 0, true, 2); // the last window reaches beyond the image
    beyond.ceil_mode = true;
    CHECK(operators_after(back, both(false, beyond, false)) == "AveragePool Conv");
    CHECK(operators_after(back, both(false, beyond, true)) == "no match");
    CHECK(operators_after(back, both(false, mean(2, 0), false, 3)) == "no match");
    CHECK(operators_after(back, both(false, mean(2, 0), false, 1, 2)) == "no match");
    CHECK(operators_after(back, both(false, mean(2, 0), false, 1, 1, activation::tanh)) == "no match");
    CHECK(operators_after(back, both(false, mean(2, 0), false, 1, 1, activation::none, 1)) == "no match");
}

} // namespace rules_pool_test
