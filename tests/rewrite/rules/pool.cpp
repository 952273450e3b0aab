#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/rules/pool.hpp>

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

// A mean of one pixel every so many.
attributes_of<ops::average_pool> pixels(std::int64_t stride = 2) {
    return mean(1, 0, false, stride);
}
// The same: no window of one pixel begins beyond the image.
attributes_of<ops::average_pool> pixels_and_beyond() {
    auto a = pixels();
    a.ceil_mode = true;
    return a;
}
attributes_of<ops::average_pool> pixels_in_3d() {
    attributes_of<ops::average_pool> a;
    a.kernel_shape = a.dilations = {1, 1, 1}, a.strides = {1, 2, 3}, a.pads = ints(6, 0);
    return a;
}
// The pooling of what `before` makes.
template <class F>
auto pooled(attributes_of<ops::average_pool> const& a, F before) {
    return [=](graph_builder& to) { to.outputs({to.add<ops::average_pool>(a, {before(to)})}); };
}

TEST_CASE("law 12: pixels are left out before an elementwise operator of one operand") {
    auto const of = [](auto op, shape dims = {1, 4, 7, 6}) {
        return [=](graph_builder& to) { return to.add<decltype(op)>(image(to, dims)); };
    };
    auto const& rule = pooling::subsample_before_unary;
    CHECK(operators_after(rule, pooled(pixels(), of(ops::relu{}))) == "AveragePool Relu");
    CHECK(operators_after(rule, pooled(pixels(3), of(ops::tanh{}))) == "AveragePool Tanh");
    CHECK(operators_after(rule, pooled(pixels_in_3d(), of(ops::sigmoid{}, {2, 3, 4, 5, 6}))) == "AveragePool Sigmoid");
    CHECK(operators_after(rule, pooled(pixels(), [](graph_builder& to) {
                              return to.add<ops::clip>({.min = 0, .max = 6}, {image(to, {1, 4, 5, 5})});
                          })) == "AveragePool Clip");
    CHECK(operators_after(rule, pooled(mean(2, 0, true, 2), of(ops::relu{}))) == "no match"); // a mean of several
    CHECK(operators_after(rule, pooled(pixels_and_beyond(), of(ops::relu{}))) == "AveragePool Relu");
    CHECK(operators_after(rule, pooled(pixels(), [](graph_builder& to) { // integers have no mean
                              return to.add<ops::cast>({.to = dtype::f32}, {to.input(dtype::i32, {1, 4, 7, 7}, "i")});
                          })) == "no match");
    CHECK(operators_after(rule, [](graph_builder& to) { // all pixels are needed elsewhere
              auto const all = to.add<ops::relu>(image(to, {1, 4, 7, 7}));
              to.outputs({to.add<ops::average_pool>(pixels(), {all}), to.add<ops::tanh>(all)});
          }) == "no match");
}

TEST_CASE("law 12: pixels are left out before an elementwise operator of two operands") {
    auto const of = [](auto op, shape first, shape second) {
        return [=](graph_builder& to) {
            return to.add<decltype(op)>(image(to, first), to.input(dtype::f32, second, "k"));
        };
    };
    auto const& rule = pooling::subsample_before_binary;
    shape const whole{2, 4, 7, 6};
    CHECK(operators_after(rule, pooled(pixels(), of(ops::add{}, whole, whole))) == "AveragePool AveragePool Add");
    CHECK(operators_after(rule, pooled(pixels(3), of(ops::sub{}, whole, whole))) == "AveragePool AveragePool Sub");
    CHECK(operators_after(rule, pooled(pixels(), of(ops::mul{}, whole, {1, 1, 7, 6}))) ==
          "AveragePool AveragePool Mul");
    // One number for all pixels.
    CHECK(operators_after(rule, pooled(pixels(), of(ops::add{}, whole, {1, 4, 1, 1}))) == "AveragePool Add");
    CHECK(operators_after(rule, pooled(pixels(), of(ops::mul{}, {4, 1, 1}, whole))) == "AveragePool Mul");
    CHECK(operators_after(rule, pooled(pixels(), of(ops::mul{}, whole, {}))) == "AveragePool Mul");
    // One number for each row.
    CHECK(operators_after(rule, pooled(pixels(), of(ops::add{}, whole, {1, 1, 7, 1}))) ==
          "AveragePool AveragePool Add");
    CHECK(operators_after(rule, pooled(pixels(), of(ops::add{}, whole, {4, 7, 6}))) == "no match");
    CHECK(operators_after(rule, pooled(pixels(), of(ops::add{}, whole, {6}))) == "no match");
    CHECK(operators_after(rule, pooled(mean(2, 0, true, 2), of(ops::add{}, whole, whole))) == "no match");
    CHECK(operators_after(rule, pooled(pixels_and_beyond(), of(ops::add{}, whole, whole))) ==
          "AveragePool AveragePool Add");
    CHECK(operators_after(rule, pooled(pixels(), [](graph_builder& to) { // a term twice, pooled once
                              auto const i = image(to, {1, 4, 7, 7});
                              return to.add<ops::mul>(i, i);
                          })) == "AveragePool Mul");
}

TEST_CASE("law 12: pixels are left out before a normalisation") {
    auto const of = [](shape dims) {
        return [=](graph_builder& to) {
            auto const k = [&](std::uint64_t seed) { return to.constant(small_graphs::random_tensor({4}, seed)); };
            return to.add<ops::batch_norm>({.epsilon = 0.5}, {image(to, dims), k(1), k(2), k(3), k(7)});
        };
    };
    auto const& rule = pooling::subsample_before_bn;
    CHECK(operators_after(rule, pooled(pixels(), of({1, 4, 7, 6}))) == "AveragePool BatchNormalization");
    CHECK(operators_after(rule, pooled(pixels_in_3d(), of({1, 4, 3, 7, 6}))) == "AveragePool BatchNormalization");
    CHECK(operators_after(rule, pooled(mean(2, 0, true, 2), of({1, 4, 7, 6}))) == "no match");
    CHECK(operators_after(rule, pooled(pixels_and_beyond(), of({1, 4, 7, 6}))) == "AveragePool BatchNormalization");
}

// The only convolution of the graph after the rule was applied.
template <class Rule, class Make>
attributes_of<ops::conv> only_conv(Rule const& rule, Make&& make) {
    graph g;
    graph_builder to{g};
    make(to);
    auto const done = small_graphs::applied(g, rule);
    REQUIRE(done);
    REQUIRE(small_graphs::operators_of(*done) == "Conv");
    any_graph const& after = *done;
    for (auto n : after.order())
        if (after.is<ops::conv>(n)) return after.attributes<ops::conv>(n);
    return {};
}

TEST_CASE("law 12: a convolution leaves out the pixels that nobody reads") {
    auto const of = [](attributes_of<ops::conv> const& c, ints weight, shape dims = {1, 4, 9, 8}) {
        return [=](graph_builder& to) {
            auto const outputs = weight[0];
            return to.add<ops::conv>(c, {image(to, dims), to.constant(small_graphs::random_tensor(weight, 3)),
                                         to.constant(small_graphs::random_tensor({outputs}, 4))});
        };
    };
    auto const& rule = pooling::subsample_into_conv;
    for (std::int64_t const kernel : {1, 2, 3})
        for (std::int64_t const stride : {1, 2})
            for (std::int64_t const pad : {0, 1})
                for (std::int64_t const size : {5, 6, 7, 8, 9})
                    for (std::int64_t const every : {2, 3}) {
                        CAPTURE(kernel, stride, pad, size, every);
                        auto const c = window<ops::conv>(kernel, pad, stride);
                        auto const sparse =
                            only_conv(rule, pooled(pixels(every), of(c, {4, 4, kernel, kernel}, {1, 4, size, 6})));
                        CHECK(sparse.strides == ints{stride * every, stride * every});
                        CHECK(sparse.pads == c.pads);
                    }
    auto rich = window<ops::conv>(3, 0);
    rich.act = activation::relu, rich.group = 2, rich.dilations = {2, 1}, rich.pads = {2, 0, 1, 2};
    auto expected = rich;
    expected.strides = {2, 2};
    CHECK(intern<ops::conv>(only_conv(rule, pooled(pixels(), of(rich, {6, 2, 3, 3})))) == intern<ops::conv>(expected));
    attributes_of<ops::conv> deep, line;
    deep.strides = {2, 1, 1}, deep.dilations = {1, 1, 1}, deep.pads = {1, 1, 1, 0, 1, 1};
    CHECK(only_conv(rule, pooled(pixels_in_3d(), of(deep, {2, 4, 3, 3, 3}, {1, 4, 5, 6, 7}))).strides == ints{2, 2, 3});
    line.strides = line.dilations = {2}, line.pads = {1, 0};
    auto third = pixels();
    third.kernel_shape = third.dilations = {1}, third.strides = {3}, third.pads = {0, 0};
    CHECK(only_conv(rule, pooled(third, of(line, {2, 4, 2}, {1, 4, 17}))).strides == ints{6});

    auto const plain = window<ops::conv>(3, 1);
    CHECK(operators_after(rule, pooled(mean(2, 0, true, 2), of(plain, {4, 4, 3, 3}))) == "no match");
    CHECK(operators_after(rule, pooled(pixels_and_beyond(), of(plain, {4, 4, 3, 3}))) == "Conv");
    CHECK(operators_after(rule, [&](graph_builder& to) { // all pixels are needed elsewhere
              auto const all = of(plain, {4, 4, 3, 3})(to);
              to.outputs({to.add<ops::average_pool>(pixels(), {all}), all});
          }) == "no match");
}

TEST_CASE("law 12: a pooling leaves out the windows that nobody reads") {
    auto const of = [](auto op, auto const& a, std::size_t results = 1) {
        return [=](graph_builder& to) { return to.add<decltype(op)>(a, {image(to, {1, 4, 9, 8})}, results); };
    };
    auto const beyond = [](auto a) {
        a.ceil_mode = true;
        return a;
    };
    auto const most = window<ops::max_pool>(3, 1, 2);
    auto const& max = pooling::subsample_into_max_pool;
    CHECK(operators_after(max, pooled(pixels(), of(ops::max_pool{}, most))) == "MaxPool");
    CHECK(operators_after(max, pooled(pixels(), of(ops::max_pool{}, window<ops::max_pool>(2, 0)))) == "MaxPool");
    CHECK(operators_after(max, pooled(mean(2, 0, true, 2), of(ops::max_pool{}, most))) == "no match");
    CHECK(operators_after(max, pooled(pixels_and_beyond(), of(ops::max_pool{}, most))) == "MaxPool");
    CHECK(operators_after(max, pooled(pixels(), of(ops::max_pool{}, beyond(most)))) == "no match");
    CHECK(operators_after(max, [&](graph_builder& to) { // the places of maxima are needed elsewhere
              auto const all = of(ops::max_pool{}, most, 2)(to);
              to.outputs({to.add<ops::average_pool>(pixels(), {all}), value_id{all.node, 1}});
          }) == "no match");

    auto const& average = pooling::subsample_into_average_pool;
    for (bool const counts : {false, true})
        CHECK(operators_after(average, pooled(pixels(), of(ops::average_pool{}, mean(3, 1, counts, 2)))) ==
              "AveragePool");
    CHECK(operators_after(average, pooled(pixels(), of(ops::average_pool{}, pixels(3)))) == "AveragePool");
    CHECK(operators_after(average, pooled(mean(2, 0), of(ops::average_pool{}, mean(3, 1)))) == "no match");
    CHECK(operators_after(average, pooled(pixels_and_beyond(), of(ops::average_pool{}, mean(3, 1)))) == "AveragePool");
    CHECK(operators_after(average, pooled(pixels(), of(ops::average_pool{}, beyond(mean(3, 1))))) == "no match");
}

// What stands between a convolution and those that read it, strided and pointwise unless said otherwise.
struct between {
    bool normalized = false, sum = false, unary = true, second = true;
    std::int64_t kernel = 1, pad = 0, stride = 2, second_stride = 2;
    shape addend{1, 4, 9, 8};
    bool read_elsewhere = false;
};
auto block(between const& is) {
    return [=](graph_builder& to) {
        auto v = conv(to, image(to, {1, 4, 9, 8}), 3, 1);
        auto const k = [&](std::uint64_t seed) { return to.constant(small_graphs::random_tensor({4}, seed)); };
        if (is.normalized) v = to.add<ops::batch_norm>({.epsilon = 0.5}, {v, k(1), k(2), k(3), k(7)});
        if (is.sum) v = to.add<ops::add>(to.input(dtype::f32, is.addend, "y"), v);
        if (is.unary) v = to.add<ops::relu>(v);
        auto const first = conv(to, v, is.kernel, is.pad, is.stride);
        auto const second = is.sum && is.second ? conv(to, v, 1, 0, is.second_stride, 2) : first;
        to.outputs({first, second, is.read_elsewhere ? v : first});
    };
}

TEST_CASE("law 12 with one tap: strides of pointwise convolutions go to the convolution in front of them") {
    auto const check = [](auto const& rule, between const& works, std::string_view result) {
        CHECK(operators_after(rule, block(works)) == result);
        auto const fails = [&](auto change) {
            auto other = works;
            change(other);
            return operators_after(rule, block(other)) == "no match";
        };
        CHECK(fails([](between& o) { o.stride = o.second_stride = 1; }));
        CHECK(fails([](between& o) { o.kernel = 3; }));
        CHECK(fails([](between& o) { o.pad = 1; }));
        CHECK(fails([](between& o) { o.normalized = !o.normalized; }));
        CHECK(fails([](between& o) { o.unary = !o.unary; }));
        CHECK(fails([](between& o) { o.sum = !o.sum; }));
        CHECK(fails([](between& o) { o.read_elsewhere = true; }));
        if (!works.sum) return;
        CHECK(fails([](between& o) { o.second = false; }));
        CHECK(fails([](between& o) { o.second_stride = 3; }));
        CHECK(fails([](between& o) { o.addend = {1, 4, 1, 1}; }));
        CHECK(fails([](between& o) { o.addend = {2, 4, 9, 8}; }));
    };
    check(pooling::strides_into_conv, {.unary = false}, "Conv Conv");
    check(pooling::strides_through_unary, {}, "Conv Relu Conv");
    check(pooling::strides_through_normalized_unary, {.normalized = true}, "Conv BatchNormalization Relu Conv");
    check(pooling::strides_through_sum, {.sum = true}, "Conv AveragePool Add Relu Conv Conv");
    check(pooling::strides_through_normalized_sum, {.normalized = true, .sum = true},
          "Conv BatchNormalization AveragePool Add Relu Conv Conv");
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
    CHECK(operators_after(forward, both(true, mean(1, 0, true, 2), false)) == "no match");   // pixels go up alone
    CHECK(operators_after(forward, both(true, mean(3, 1), false, 3)) == "no match");
    CHECK(operators_after(forward, both(true, mean(3, 1), false, 1, 2)) == "no match");
    CHECK(operators_after(forward, both(true, mean(3, 1), false, 1, 1, activation::relu)) == "no match");
    CHECK(operators_after(forward, both(true, mean(3, 1), false, 1, 1, activation::none, 1)) == "no match");

    auto const& back = pooling::pool_before_pointwise;
    CHECK(operators_after(back, both(false, mean(2, 0, true, 2), true)) == "AveragePool Conv");
    CHECK(operators_after(back, both(false, mean(3, 1, true), false)) == "AveragePool Conv");
    CHECK(operators_after(back, both(false, mean(1, 0, true, 2), true)) == "AveragePool Conv");
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
