#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/rewrite/pattern/conditions.hpp>

#include <map>
#include <string>

namespace conditions_test {

using namespace gsub;
using namespace gsub::pattern;
constexpr auto x = var<"x">;
constexpr auto w = var<"w">;
constexpr auto v = var<"v">;
constexpr auto b = maybe<"b">;
constexpr auto c = label<"c">;
constexpr auto d = label<"d">;
constexpr auto u = label<"u">;

// A match put together by hand: names stand for values of a graph.
struct by_hand {
    graph g;
    graph_builder to{g};
    rule_program rule{};
    match m{g, rule};

    by_hand& bind(std::string_view name, value_id value, std::uint32_t index = 0) {
        m.bind(hash_name(name), value, index);
        return *this;
    }
    value_id input(shape dims, dtype element = dtype::f32) { return to.input(element, std::move(dims), "i"); }
    value_id weight(ints const& dims) { return to.constant(small_graphs::random_tensor(dims, 1)); }
};

struct geometry {
    std::int64_t kernel = 3, stride = 1, pad = 1, dilation = 1, group = 1;
    activation act = activation::none;
};

// A convolution [1,4,8,8] -> 4 channels under the label, its weight under a variable.
value_id convolve(by_hand& h, std::string_view label, std::string_view weight, geometry const& q,
                  std::optional<ints> pads = {}) {
    attributes_of<ops::conv> a;
    a.strides = {q.stride, q.stride}, a.dilations = {q.dilation, q.dilation};
    a.pads = pads ? *pads : ints{q.pad, q.pad, q.pad, q.pad};
    a.group = q.group, a.act = q.act;
    if (q.act == activation::clip) a.act_max = 6;
    auto const kernel = h.weight({4, 4 / q.group, q.kernel, q.kernel});
    auto const image = h.m[x].valid() ? h.m[x] : h.input({1, 4, 8, 8});
    auto const y = h.to.add<ops::conv>(a, {image, kernel});
    if (!h.m[x].valid()) h.bind("x", image);
    h.bind(label, y).bind(weight, kernel);
    return y;
}
bool holds_for(rule_condition const& condition, geometry const& q, std::optional<ints> pads = {}) {
    by_hand h;
    convolve(h, "c", "w", q, std::move(pads));
    return condition.holds(h.m);
}
bool holds_for_both(rule_condition const& condition, geometry const& p, geometry const& q) {
    by_hand h;
    convolve(h, "c", "w", p);
    convolve(h, "d", "v", q);
    return condition.holds(h.m);
}

TEST_CASE("weights are constant where all of them are, whatever they are computed from") {
    by_hand h;
    auto const p = h.input({2}), q = h.weight({2}), computed = h.to.add<ops::mul>(q, q);
    h.bind("x", q).bind("w", computed).bind("v", p);
    CHECK(constant(x).holds(h.m));
    CHECK(constant(x, w).holds(h.m));
    CHECK_FALSE(constant(x, v).holds(h.m));
    // Inside of each, all of them.
    by_hand many;
    auto const r = many.weight({2});
    many.bind("w", r, 0).bind("w", r, 1);
    CHECK(constant(w).holds(many.m));
    many.bind("w", many.input({2}), 2);
    CHECK_FALSE(constant(w).holds(many.m));
    // Left out is as good as constant.
    CHECK(constant_if_given(b).holds(h.m));
    CHECK(constant_if_given(b).holds(by_hand{}.bind("b", value_id{}).m));
    by_hand with_bias;
    with_bias.bind("b", with_bias.input({2}));
    CHECK_FALSE(constant_if_given(b).holds(with_bias.m));
}

TEST_CASE("of two nodes in either role, one order is preferred") {
    by_hand h;
    auto const p = h.input({2});
    auto const first = h.to.add<ops::relu>(p), second = h.to.add<ops::relu>(p);
    auto const empty = h.m.position();
    h.bind("c", first).bind("d", second);
    CHECK(in_order(c, d).holds(h.m));
    h.m.rewind(empty);
    h.bind("d", first).bind("c", second);
    CHECK_FALSE(in_order(c, d).holds(h.m));
}

TEST_CASE("conditions on one convolution speak of its attributes and kernel") {
    CHECK(holds_for(linear(c), {}));
    for (auto act : {activation::relu, activation::clip, activation::sigmoid, activation::tanh})
        CHECK_FALSE(holds_for(linear(c), {.act = act}));
    CHECK(holds_for(ungrouped(c), {}));
    CHECK_FALSE(holds_for(ungrouped(c), {.group = 2}));
    CHECK(holds_for(unit_stride(c), {}));
    CHECK_FALSE(holds_for(unit_stride(c), {.stride = 2}));
    CHECK(holds_for(unpadded(c), {.pad = 0}));
    CHECK_FALSE(holds_for(unpadded(c), {}));
    CHECK_FALSE(holds_for(unpadded(c), {}, ints{0, 0, 0, 1}));
    CHECK(holds_for(pointwise(w), {.kernel = 1, .pad = 0}));
    CHECK_FALSE(holds_for(pointwise(w), {.kernel = 2, .pad = 0}));
}

TEST_CASE("conditions on two convolutions compare what must be equal and nothing else") {
    CHECK(holds_for_both(same_window(c, d), {}, {}));
    CHECK(holds_for_both(same_window(c, d), {.act = activation::relu}, {.group = 2}));
    CHECK_FALSE(holds_for_both(same_window(c, d), {}, {.stride = 2}));
    CHECK_FALSE(holds_for_both(same_window(c, d), {}, {.pad = 2}));
    CHECK_FALSE(holds_for_both(same_window(c, d), {}, {.dilation = 2}));
    CHECK(holds_for_both(same_activation(c, d), {}, {.stride = 2}));
    CHECK(holds_for_both(same_activation(c, d), {.act = activation::clip}, {.act = activation::clip}));
    CHECK_FALSE(holds_for_both(same_activation(c, d), {}, {.act = activation::relu}));
    CHECK(holds_for_both(same_kernel_size(w, v), {}, {.group = 2}));
    CHECK_FALSE(holds_for_both(same_kernel_size(w, v), {}, {.kernel = 1}));
}

TEST_CASE("the bounds of a clip are a part of the activation") {
    by_hand h;
    auto const p = h.input({1, 4, 8, 8}), kernel = h.weight({4, 4, 1, 1});
    for (auto [name, bound] : {std::pair{"c", 6.0}, std::pair{"d", 1.0}}) {
        attributes_of<ops::conv> a;
        a.strides = {1, 1}, a.dilations = {1, 1}, a.pads = {0, 0, 0, 0};
        a.act = activation::clip, a.act_max = bound;
        h.bind(name, h.to.add<ops::conv>(a, {p, kernel}));
    }
    CHECK_FALSE(same_activation(c, d).holds(h.m));
}

TEST_CASE("a kernel has a centre tap where the pads in front are whole taps of it") {
    // Tap t reads place output - pad + dilation * t: one of them reads the output's own place.
    for (std::int64_t kernel : {1, 2, 3})
        for (std::int64_t dilation : {1, 2})
            for (std::int64_t pad : {0, 1, 2, 3, 4}) {
                CAPTURE(kernel, dilation, pad);
                bool expected = false;
                for (std::int64_t t = 0; t < kernel; ++t) expected |= dilation * t == pad;
                CHECK(holds_for(has_centre_tap(c, w), {.kernel = kernel, .pad = pad, .dilation = dilation}) ==
                      expected);
            }
}

TEST_CASE("equal types are known and the same in all, unknown sizes are equal to nothing") {
    auto const type = [](dtype e, shape s) { return tensor_type{e, std::move(s)}; };
    auto const fixed = type(dtype::f32, {2, 3});
    CHECK(equal_static_types(fixed, fixed));
    CHECK_FALSE(equal_static_types(fixed, type(dtype::f64, {2, 3})));
    CHECK_FALSE(equal_static_types(fixed, type(dtype::f32, {2, 1})));
    CHECK_FALSE(equal_static_types(fixed, type(dtype::f32, {1, 2, 3})));
    CHECK_FALSE(equal_static_types(type(dtype::f32, {2, dim{}}), type(dtype::f32, {2, dim{}})));
    CHECK_FALSE(equal_static_types(tensor_type{}, tensor_type{}));
}

TEST_CASE("an addend has the type of the sum only where nothing is broadcast") {
    for (auto const& [dims, expected] : {std::pair{ints{1, 4, 8, 8}, true}, std::pair{ints{1, 4, 1, 1}, false},
                                         std::pair{ints{4, 8, 8}, false}, std::pair{ints{2, 4, 8, 8}, false}}) {
        by_hand h;
        convolve(h, "c", "w", {});
        auto const addend = h.weight(dims);
        h.bind("v", addend);
        CHECK(has_type_of(v, c).holds(h.m) == expected);
    }
}

TEST_CASE("one number a channel: the channel's dimension counts from the front of the result") {
    std::map<std::string, bool> const expected{
        {"[]", true},         {"[1]", true},        {"[4,1,1]", true},     {"[1,4,1,1]", true}, {"[1,1,1,1]", true},
        {"[4]", false},       {"[1,4]", false},     {"[8]", false},        {"[4,8,8]", false},  {"[2,4,1,1]", false},
        {"[1,2,1,1]", false}, {"[1,1,8,1]", false}, {"[1,1,4,1,1]", false}};
    for (auto const& [text, fits] : expected) {
        CAPTURE(text);
        ints dims;
        for (auto ch : text)
            if (ch >= '0' && ch <= '9') dims.push_back(ch - '0');
        by_hand h;
        convolve(h, "c", "w", {});
        h.bind("v", h.weight(dims));
        CHECK(per_channel(v, c).holds(h.m) == fits);
    }
}

TEST_CASE("types that differ in one dimension alone, counted from the last") {
    auto const t = [](shape s) { return tensor_type{dtype::f32, std::move(s)}; };
    CHECK(differ_only_at(t({2, 3}), t({2, 5}), 0));
    CHECK(differ_only_at(t({2, 3}), t({2, 3}), 0)); // or in none
    CHECK_FALSE(differ_only_at(t({2, 3}), t({2, 5}), 1));
    CHECK(differ_only_at(t({7, 3}), t({2, 3}), 1));
    CHECK_FALSE(differ_only_at(t({2, 3}), t({1, 2, 3}), 0));
    CHECK_FALSE(differ_only_at(t({2, 3}), t({2, dim{}}), 0));
    CHECK_FALSE(differ_only_at(t({3}), t({3}), 1));
    CHECK_FALSE(differ_only_at(t({dim{}, 3}), t({dim{}, 3}), 0)); // unknown sizes may differ
    CHECK_FALSE(differ_only_at(t({2, 3}), tensor_type{dtype::f64, {2, 3}}, 0));
    CHECK_FALSE(differ_only_at(tensor_type{}, tensor_type{}, 0));
    dim const batch{symbol{"batch"}};
    CHECK(differ_only_at(t({batch, 3}), t({batch, 5}), 0));
}

TEST_CASE("matrices have two dimensions or more") {
    by_hand h;
    h.bind("x", h.input({2, 3})).bind("w", h.input({5, 2, 3})).bind("v", h.input({3}));
    CHECK(matrices(x, w).holds(h.m));
    CHECK_FALSE(matrices(x, v).holds(h.m));
}

TEST_CASE("operators of one kind have one name and one set of attributes") {
    by_hand h;
    auto const p = h.input({2});
    auto const clip = [&](double top) { return h.to.add<ops::clip>({.min = 0, .max = top}, {p}); };
    h.bind("u", clip(6), 0);
    CHECK(same_operator(u).holds(h.m));
    h.bind("u", clip(6), 1);
    CHECK(same_operator(u).holds(h.m));
    auto const mark = h.m.position();
    h.bind("u", clip(1), 2);
    CHECK_FALSE(same_operator(u).holds(h.m));
    h.m.rewind(mark);
    h.bind("u", h.to.add<ops::relu>(p), 2);
    CHECK_FALSE(same_operator(u).holds(h.m));
}

} // namespace conditions_test
