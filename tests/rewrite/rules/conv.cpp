#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/rules/conv.hpp>

#include <cmath>
#include <functional>
#include <optional>
#include <string>

namespace rules_conv_test {

using namespace gsub;
using small_graphs::applied;
using small_graphs::operators_of;
using small_graphs::random_tensor;
using small_graphs::same_meaning;

struct conv_options {
    std::int64_t kernel = 3, stride = 1, pad = 1, dilation = 1, group = 1;
    activation act = activation::none;
    bool bias = false;
    std::int64_t outputs = 4;
    std::optional<ints> pads{};
};

// Builds graphs over an image x [1,4,6,6]; weights are constants.
struct canvas {
    graph g;
    graph_builder to{g};
    value_id x = to.input(dtype::f32, {1, 4, 6, 6}, "x");
    std::uint64_t seed = 1;

    value_id weight(ints const& dims) { return to.constant(random_tensor(dims, ++seed)); }
    value_id conv(value_id v, conv_options const& o) {
        attributes_of<ops::conv> a;
        a.strides = {o.stride, o.stride}, a.dilations = {o.dilation, o.dilation};
        a.pads = o.pads ? *o.pads : ints{o.pad, o.pad, o.pad, o.pad};
        a.group = o.group, a.act = o.act;
        auto const w = weight({o.outputs, g.type(v).dims[1].size() / o.group, o.kernel, o.kernel});
        return o.bias ? to.add<ops::conv>(a, {v, w, weight({o.outputs})}) : to.add<ops::conv>(a, {v, w});
    }
    value_id norm(value_id v) {
        auto const c = g.type(v).dims[1].size();
        std::vector<float> const half(static_cast<std::size_t>(c), 0.5f);
        auto const variance = tensor::from<float>(ints{c}, half);
        return to.add<ops::batch_norm>({.epsilon = 0.125},
                                       {v, weight({c}), weight({c}), weight({c}), to.constant(variance)});
    }
};

template <class Rule>
std::string after(Rule const& rule, std::function<void(canvas&)> const& draw) {
    canvas c;
    draw(c);
    auto const done = applied(c.g, rule);
    return done ? operators_of(*done) : "no match";
}

TEST_CASE("law 1: a normalisation passes into the convolution before it, whatever the geometry") {
    for (conv_options const& o : {conv_options{},
                                  {.stride = 2, .bias = true},
                                  {.pad = 3, .dilation = 2},
                                  {.group = 2},
                                  {.kernel = 1, .pads = ints{0, 1, 2, 3}}}) {
        CHECK(after(rules::convolution::fuse_conv_bn, [&](canvas& c) { c.to.outputs({c.norm(c.conv(c.x, o))}); }) ==
              "Conv");
    }
    CHECK(after(rules::convolution::fuse_conv_bn,
                [](canvas& c) { c.to.outputs({c.norm(c.conv(c.x, {.act = activation::relu}))}); }) == "no match");
    // What is read elsewhere is not computed twice.
    CHECK(after(rules::convolution::fuse_conv_bn, [](canvas& c) {
              auto const y = c.conv(c.x, {});
              c.to.outputs({c.norm(y), y});
          }) == "no match");
}

TEST_CASE("law 1: a normalisation passes into the convolution behind it, unless there are pads") {
    for (std::int64_t group : {1, 2, 4})
        CHECK(after(rules::convolution::fuse_bn_conv, [&](canvas& c) {
                  c.to.outputs({c.conv(c.norm(c.x), {.pad = 0, .group = group, .bias = group == 2})});
              }) == "Conv");
    CHECK(after(rules::convolution::fuse_bn_conv, [](canvas& c) {
              c.to.outputs({c.conv(c.norm(c.x), {.pads = ints{0, 0, 0, 1}})});
          }) == "no match");
}

TEST_CASE("law 1: the folded weight is W * scale / sqrt(variance + epsilon)") {
    canvas c;
    c.to.outputs({c.norm(c.conv(c.x, {.kernel = 1, .pad = 0}))});
    auto const n = c.g.output(0).node;
    auto const w = c.g.constant_data(c.g.operand(c.g.operand(n, 0).node, 1).node);
    auto const scale = c.g.constant_data(c.g.operand(n, 1).node);
    auto const done = applied(c.g, rules::convolution::fuse_conv_bn);
    REQUIRE(done);
    auto shown = *done;
    shown.set_outputs(std::vector{shown.operand(shown.output(0).node, 1)});
    auto const folded = evaluate_graph(shown, random_inputs(shown, 1), {.compute = precision::f64}).value()[0];
    for (std::size_t o = 0; o < 4; ++o)
        for (std::size_t i = 0; i < 4; ++i)
            CHECK(folded.data<double>()[4 * o + i] ==
                  Approx(double(w.data<float>()[4 * o + i]) * double(scale.data<float>()[o]) / std::sqrt(0.5 + 0.125)));
}

TEST_CASE("law 2: one number a channel passes into weight and bias, anything wider does not") {
    auto const with = [](auto op, ints dims, bool bias, activation act = activation::none) {
        return [=](canvas& c) {
            c.to.outputs({c.to.add<decltype(op)>(c.weight(dims), c.conv(c.x, {.act = act, .bias = bias}))});
        };
    };
    for (auto const& dims : {ints{1, 4, 1, 1}, ints{4, 1, 1}, ints{1}, ints{}})
        for (bool bias : {false, true}) {
            CHECK(after(rules::convolution::fuse_conv_scale, with(ops::mul{}, dims, bias)) == "Conv");
            CHECK(after(rules::convolution::fuse_conv_shift, with(ops::add{}, dims, bias)) == "Conv");
        }
    for (auto const& dims : {ints{1, 1, 6, 6}, ints{6}, ints{1, 4, 6, 6}, ints{2, 4, 1, 1}}) {
        CHECK(after(rules::convolution::fuse_conv_scale, with(ops::mul{}, dims, false)) == "no match");
        CHECK(after(rules::convolution::fuse_conv_shift, with(ops::add{}, dims, false)) == "no match");
    }
    CHECK(after(rules::convolution::fuse_conv_scale, with(ops::mul{}, {1}, false, activation::relu)) == "no match");
}

TEST_CASE("law 3: an activation behind a linear convolution becomes its attribute, and comes out again") {
    canvas c;
    c.to.outputs({c.to.add<ops::clip>({.min = -1, .max = 3}, {c.conv(c.x, {.bias = true})})});
    auto const fused = applied(c.g, rules::convolution::fuse_conv_clip);
    REQUIRE(fused);
    auto const& a = fused->attributes<ops::conv>(fused->output(0).node);
    CHECK(a.act == activation::clip);
    CHECK(a.act_min == -1);
    CHECK(a.act_max == 3);
    auto const apart = applied(*fused, rules::convolution::unfuse_conv_activation);
    REQUIRE(apart);
    CHECK(apart->hash() == c.g.hash());
    CHECK(after(rules::convolution::fuse_conv_relu,
                [](canvas& d) { d.to.outputs({d.to.add<ops::relu>(d.conv(d.x, {}))}); }) == "Conv");
    CHECK(after(rules::convolution::fuse_conv_sigmoid,
                [](canvas& d) { d.to.outputs({d.to.add<ops::sigmoid>(d.conv(d.x, {}))}); }) == "Conv");
    CHECK(after(rules::convolution::fuse_conv_tanh,
                [](canvas& d) { d.to.outputs({d.to.add<ops::tanh>(d.conv(d.x, {}))}); }) == "Conv");
    CHECK(after(rules::convolution::fuse_conv_relu, [](canvas& d) {
              d.to.outputs({d.to.add<ops::relu>(d.conv(d.x, {.act = activation::relu}))});
          }) == "no match");
}

// A small and a large convolution of one input.
std::function<void(canvas&)> two(conv_options const& small, conv_options const& large) {
    return [=](canvas& c) { c.to.outputs({c.conv(c.x, small), c.conv(c.x, large)}); };
}

TEST_CASE("law 4: a kernel is enlarged to its sibling's, with zeros around and as many pads more") {
    canvas c;
    two({.kernel = 1, .pad = 0}, {.kernel = 3, .pad = 1})(c);
    auto const done = applied(c.g, rules::convolution::enlarge_conv);
    REQUIRE(done);
    auto const n = done->output(0).node;
    CHECK(to_string(done->type(done->operand(n, 1))) == "f32[4,4,3,3]");
    CHECK(done->attributes<ops::conv>(n).pads == ints{1, 1, 1, 1});
    // Equation 3.3 with explicit pads: any stride and dilation, sides of their own.
    auto const& rule = rules::convolution::enlarge_conv;
    auto const fires = [&](conv_options const& p, conv_options const& q) {
        return after(rule, two(p, q)) == "Conv Conv";
    };
    CHECK(fires({.kernel = 1, .stride = 2, .pad = 0}, {.kernel = 3, .stride = 2, .pad = 1}));
    CHECK(fires({.kernel = 1, .pad = 0, .dilation = 2}, {.kernel = 3, .pad = 2, .dilation = 2}));
    CHECK(fires({.kernel = 2, .pads = ints{0, 0, 1, 1}}, {.kernel = 3, .pads = ints{1, 1, 1, 1}}));
    CHECK(fires({.kernel = 1, .pads = ints{0, 0, 0, 0}}, {.kernel = 3, .pads = ints{2, 1, 0, 1}}));
    // Not where the pads do not fit the added taps, nor beyond what the sibling has, nor in groups.
    CHECK_FALSE(fires({.kernel = 1, .pad = 0}, {.kernel = 3, .pad = 0}));
    CHECK_FALSE(fires({.kernel = 1, .pad = 0}, {.kernel = 3, .pad = 2}));
    CHECK_FALSE(fires({.kernel = 3, .pad = 1}, {.kernel = 3, .pad = 1}));
    CHECK_FALSE(fires({.kernel = 1, .stride = 2, .pad = 0}, {.kernel = 3, .pad = 1}));
    CHECK_FALSE(fires({.kernel = 1, .pad = 0, .group = 2}, {.kernel = 3, .pad = 1, .group = 2}));
}

TEST_CASE("law 5: convolutions of one input and one window become one, and a split") {
    auto const& rule = rules::convolution::merge_conv_siblings;
    for (bool first : {false, true})
        for (bool second : {false, true})
            CHECK(after(rule, two({.bias = first, .outputs = 3}, {.bias = second, .outputs = 5})) == "Conv Split");
    CHECK(after(rule, two({.act = activation::relu}, {.act = activation::relu})) == "Conv Split");
    CHECK(after(rule, two({}, {.act = activation::relu})) == "no match");
    CHECK(after(rule, two({}, {.stride = 2})) == "no match");
    CHECK(after(rule, two({.group = 2}, {.group = 2})) == "no match");
    CHECK(after(rule, two({.kernel = 1, .pad = 0}, {})) == "no match");
}

TEST_CASE("laws 4 and 5 in one step come to the same as one after the other") {
    canvas c;
    two({.kernel = 1, .pad = 0, .bias = true, .outputs = 2}, {.kernel = 3, .pad = 1})(c);
    auto const at_once = applied(c.g, rules::convolution::enlarge_and_merge_convs);
    REQUIRE(at_once);
    CHECK(operators_of(*at_once) == "Conv Split");
    auto const enlarged = applied(c.g, rules::convolution::enlarge_conv);
    REQUIRE(enlarged);
    auto const merged = applied(*enlarged, rules::convolution::merge_conv_siblings);
    REQUIRE(merged);
    CHECK(merged->hash() == at_once->hash());
}

// Two convolutions of one input, of kernels that need not be square.
struct window {
    std::int64_t rows, columns;
    ints pads; // above, left, below, right
    std::int64_t stride = 1, dilation = 1, group = 1;
    activation act = activation::none;
};
std::function<void(canvas&)> two_windows(window const& p, window const& q, bool constant = true) {
    return [=](canvas& c) {
        auto const conv = [&](window const& o) {
            attributes_of<ops::conv> a;
            a.strides = {o.stride, o.stride}, a.dilations = {o.dilation, o.dilation}, a.pads = o.pads;
            a.group = o.group, a.act = o.act;
            ints const dims{4, 4 / o.group, o.rows, o.columns};
            return c.to.add<ops::conv>(
                a, {c.x, constant ? c.weight(dims) : c.to.input(dtype::f32, {4, 4, o.rows, o.columns}, "w")});
        };
        c.to.outputs({conv(p), conv(q)});
    };
}
window const wide{1, 3, {0, 1, 0, 1}}, tall{3, 1, {1, 0, 1, 0}}; // 1x3 and 3x1
window changed(window w, std::int64_t window::*what, std::int64_t to) {
    w.*what = to;
    return w;
}

TEST_CASE("laws 4 and 5: a 1x3 kernel beside a 3x1 kernel becomes 3x3, and so does the other") {
    canvas c;
    two_windows(wide, tall)(c);
    auto const one = applied(c.g, rules::convolution::enlarge_to_hull);
    REQUIRE(one);
    auto const n = one->output(0).node;
    CHECK(to_string(one->type(one->operand(n, 1))) == "f32[4,4,3,3]");
    CHECK(one->attributes<ops::conv>(n).pads == ints{1, 1, 1, 1});
    CHECK(one->attributes<ops::conv>(one->output(1).node).pads == tall.pads);
    // Now the other's kernel is this one with taps cut off.
    CHECK_FALSE(applied(*one, rules::convolution::enlarge_to_hull));
    auto const both = applied(*one, rules::convolution::enlarge_conv);
    REQUIRE(both);
    auto const merged = applied(*both, rules::convolution::merge_conv_siblings);
    REQUIRE(merged);
    auto const at_once = applied(c.g, rules::convolution::merge_convs_in_hull);
    REQUIRE(at_once);
    CHECK(operators_of(*at_once) == "Conv Split");
    CHECK(merged->hash() == at_once->hash());
}

TEST_CASE("laws 4 and 5: windows have a hull wherever whole taps lead to it, and the rule is for those that need one") {
    auto const enlarges = [](window const& p, window const& q, bool constant = true) {
        return after(rules::convolution::enlarge_to_hull, two_windows(p, q, constant)) == "Conv Conv";
    };
    auto const merges = [](window const& p, window const& q) {
        return after(rules::convolution::merge_convs_in_hull, two_windows(p, q)) == "Conv Split";
    };
    auto const both = [&](window const& p, window const& q) { return enlarges(p, q) && merges(p, q); };
    auto const neither = [&](window const& p, window const& q) { return !enlarges(p, q) && !merges(p, q); };
    CHECK(both(wide, tall));
    CHECK(both(tall, wide));
    CHECK(both({1, 5, {0, 2, 0, 2}}, {3, 3, {1, 1, 1, 1}}));
    CHECK(both({1, 3, {0, 1, 0, 1}, 2}, {3, 1, {1, 0, 1, 0}, 2}));
    CHECK(both({1, 3, {0, 2, 0, 2}, 1, 2}, {3, 1, {2, 0, 2, 0}, 1, 2}));
    CHECK(both({1, 2, {0, 1, 0, 0}}, {1, 2, {0, 0, 0, 1}})); // to the left, and to the right
    // Kernels of which one is the other with taps cut off, and equal ones, are the business of other rules.
    CHECK(neither({1, 1, {0, 0, 0, 0}}, {3, 3, {1, 1, 1, 1}}));
    CHECK(neither({3, 3, {1, 1, 1, 1}}, {1, 3, {0, 1, 0, 1}}));
    CHECK(neither(wide, wide));
    // Differences that are no whole taps; other places of the output.
    CHECK(neither({1, 3, {0, 2, 0, 2}, 1, 2}, {3, 1, {1, 0, 3, 0}, 1, 2}));
    CHECK(neither({1, 3, {0, 2, 0, 2}, 2}, {3, 1, {1, 0, 1, 0}, 2}));
    CHECK(neither(wide, {3, 1, {1, 0, 0, 0}}));
    // One condition at a time.
    CHECK(neither(wide, changed(tall, &window::stride, 2)));
    CHECK(neither(wide, {3, 1, {2, 0, 2, 0}, 1, 2}));
    CHECK(neither(changed(wide, &window::group, 2), tall));
    CHECK(neither(wide, changed(tall, &window::group, 2)));
    CHECK_FALSE(enlarges(wide, tall, false));
    auto curved = tall;
    curved.act = activation::relu;
    CHECK(enlarges(wide, curved)); // a step on the way for a graph in which the other loses its activation
    CHECK_FALSE(merges(wide, curved));
}

TEST_CASE("law 2: the addend of a channel may stand anywhere in the sum") {
    auto const sum = [](ints const& dims, bool read_elsewhere) {
        return [=](canvas& c) {
            auto const inner = c.to.add<ops::add>(c.conv(c.x, {}), c.x);
            auto const outer = c.to.add<ops::add>(inner, c.weight(dims));
            if (read_elsewhere)
                c.to.outputs({outer, inner});
            else
                c.to.outputs({outer});
        };
    };
    auto const& rule = rules::convolution::fuse_conv_shift;
    CHECK(after(rule, sum({1, 4, 1, 1}, false)) == "Conv Add");
    CHECK(after(rule, sum({1, 4, 6, 1}, false)) == "no match");
    CHECK(after(rule, sum({1, 4, 1, 1}, true)) == "no match");
}

TEST_CASE("laws 9 and 10: the identity may stand anywhere in the sum") {
    auto const sum = [](bool first, conv_options const& o) {
        return [=](canvas& c) {
            auto const other = c.to.input(dtype::f32, {1, 4, 6, 6}, "z");
            auto const y = c.conv(c.x, o), p = first ? y : c.x, q = first ? c.x : y;
            c.to.outputs({c.to.add<ops::add>(c.to.add<ops::add>(p, other), q)});
        };
    };
    for (bool first : {false, true}) {
        CHECK(after(rules::convolution::add_identity, sum(first, {})) == "Conv Add");
        CHECK(after(rules::convolution::add_identity, sum(first, {.act = activation::relu})) == "no match");
    }
    CHECK(after(rules::convolution::add_fuse, [](canvas& c) {
              auto const parts = c.to.add<ops::split>({.axis = 1, .sizes = {4, 4}}, {c.conv(c.x, {.outputs = 8})}, 2);
              auto const inner = c.to.add<ops::add>(c.conv(parts, {}), c.x);
              c.to.outputs({c.to.add<ops::add>(inner, value_id{parts.node, 1})});
          }) == "Conv Conv Add");
}

TEST_CASE("law 9: an addend that is the input becomes a one in the centre tap") {
    auto const residual = [](conv_options const& o) {
        return [=](canvas& c) { c.to.outputs({c.to.add<ops::add>(c.x, c.conv(c.x, o))}); };
    };
    auto const& rule = rules::convolution::add_identity;
    CHECK(after(rule, residual({})) == "Conv");
    CHECK(after(rule, residual({.group = 2, .bias = true})) == "Conv");
    CHECK(after(rule, residual({.pad = 2, .dilation = 2})) == "Conv");
    CHECK(after(rule, residual({.kernel = 2, .pads = ints{1, 0, 0, 1}})) == "Conv");
    CHECK(after(rule, residual({.act = activation::relu})) == "no match");
}

TEST_CASE("law 10: a sum passes into the convolution through identity kernels where both inputs lie side by side") {
    // Figure 3.1 of the report on relaxed substitution in ONNX: what one split gives is put together for free.
    auto const side_by_side = [](activation act) {
        return [=](canvas& c) {
            auto const y = c.conv(c.x, {.outputs = 8});
            auto const parts = c.to.add<ops::split>({.axis = 1, .sizes = {4, 4}}, {y}, 2);
            c.to.outputs({c.to.add<ops::add>(c.conv(parts, {.act = act}), value_id{parts.node, 1})});
        };
    };
    CHECK(after(rules::convolution::add_fuse, side_by_side(activation::none)) == "Conv Conv");
    CHECK(after(rules::convolution::add_fuse, side_by_side(activation::relu)) == "no match");
    CHECK(after(rules::convolution::add_fuse, [](canvas& c) {
              c.to.outputs({c.to.add<ops::add>(c.conv(c.x, {}), c.to.input(dtype::f32, {1, 4, 6, 6}, "y"))});
          }) == "no match"); // sound, but it would have to copy
}

TEST_CASE("law 11: a pointwise convolution and another one compose") {
    auto const chain = [](conv_options const& inner, conv_options const& outer) {
        return [=](canvas& c) { c.to.outputs({c.conv(c.conv(c.x, inner), outer)}); };
    };
    conv_options const point{.kernel = 1, .pad = 0};
    auto const& outer = rules::convolution::compose_pointwise_outer;
    auto const& inner = rules::convolution::compose_pointwise_inner;
    CHECK(after(outer, chain({.bias = true, .outputs = 3}, {.kernel = 1, .pad = 0, .bias = true})) == "Conv");
    CHECK(after(outer, chain({.stride = 2}, {.kernel = 1, .stride = 2, .pad = 0})) == "Conv"); // strides multiply
    CHECK(after(outer, chain({.act = activation::relu}, point)) == "no match");
    CHECK(after(outer, chain({}, {.kernel = 1, .pad = 0, .act = activation::relu})) == "Conv");
    CHECK(after(inner, chain(point, {.stride = 2, .bias = true})) == "Conv");
    CHECK(after(inner, chain({.kernel = 1, .pad = 0, .bias = true}, {.pad = 0})) == "Conv");
    // The inner bias is not there in the outer pads.
    CHECK(after(inner, chain({.kernel = 1, .pad = 0, .bias = true}, {.pad = 1})) == "no match");
    CHECK(after(inner, chain({.kernel = 1, .stride = 2, .pad = 0}, {})) == "no match");
}

} // namespace rules_conv_test
