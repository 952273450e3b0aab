#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/rules/conv.hpp>
#include <gsub/rewrite/rules/merge.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace rules_merge_test {

using namespace gsub;
using small_graphs::operators_after;
namespace merging = rules::merging;

struct layer {
    std::int64_t outputs = 4, kernel = 3, pad = 1, stride = 1, group = 1;
    activation act = activation::none;
    bool bias = false;
};
value_id image(graph_builder& to, shape dims) {
    return to.input(dtype::f32, std::move(dims), "i");
}
value_id weight(graph_builder& to, ints const& dims) {
    static std::uint64_t seed = 0;
    return to.constant(small_graphs::random_tensor(dims, ++seed));
}
attributes_of<ops::conv> attributes(layer const& o) {
    attributes_of<ops::conv> a;
    a.strides = {o.stride, o.stride}, a.dilations = {1, 1}, a.pads = {o.pad, o.pad, o.pad, o.pad};
    a.group = o.group, a.act = o.act;
    return a;
}
value_id conv(graph_builder& to, value_id v, layer const& o) {
    auto const w = weight(to, {o.outputs, to.type_of(v)->dims[1].size() / o.group, o.kernel, o.kernel});
    return o.bias ? to.add<ops::conv>(attributes(o), {v, w, weight(to, {o.outputs})})
                  : to.add<ops::conv>(attributes(o), {v, w});
}

// The operators, whatever their order.
std::string sorted(std::string const& operators) {
    std::vector<std::string> words;
    std::istringstream in{operators};
    for (std::string word; in >> word;) words.push_back(word);
    std::sort(words.begin(), words.end());
    std::string out;
    for (auto const& w : words) out += (out.empty() ? "" : " ") + w;
    return out;
}

TEST_CASE("law 6: images that meet one weight are one batch, where the weight is the larger part") {
    auto const two = [](shape p, shape q, std::int64_t second_pad, bool second_bias) {
        return [=](graph_builder& to) {
            auto const w = weight(to, {16, 8, 3, 3}), b = weight(to, {16});
            auto const x = image(to, p), y = image(to, q);
            auto const first = to.add<ops::conv>(attributes({}), {x, w, b});
            auto const a = attributes({.pad = second_pad});
            to.outputs({first, second_bias ? to.add<ops::conv>(a, {y, w, b}) : to.add<ops::conv>(a, {y, w})});
        };
    };
    auto const& rule = merging::merge_conv_batch;
    CHECK(operators_after(rule, two({1, 8, 3, 3}, {2, 8, 3, 3}, 1, true)) == "Concat Conv Split");
    CHECK(operators_after(rule, two({1, 8, 3, 3}, {1, 8, 3, 4}, 1, true)) == "no match");
    CHECK(operators_after(rule, two({1, 8, 3, 3}, {1, 8, 3, 3}, 0, true)) == "no match");
    CHECK(operators_after(rule, two({1, 8, 3, 3}, {1, 8, 3, 3}, 1, false)) == "no match");
    CHECK(operators_after(rule, two({1, 8, 9, 9}, {1, 8, 9, 9}, 1, true)) == "no match"); // copying costs more
}

TEST_CASE("law 6: the parts of a batch that meet one weight are the batch") {
    auto const parts = [](std::int64_t axis, bool one_weight) {
        return [=](graph_builder& to) {
            auto const x = image(to, {4, 4, 4, 4});
            auto const cut = to.add<ops::split>({.axis = axis, .sizes = {1, 3}}, {x}, 2);
            auto const w = weight(to, {2, 4, 1, 1}), v = one_weight ? w : weight(to, {2, 4, 1, 1});
            auto const a = attributes({.pad = 0});
            to.outputs({to.add<ops::conv>(a, {cut, w}), to.add<ops::conv>(a, {value_id{cut.node, 1}, v})});
        };
    };
    CHECK(operators_after(merging::conv_before_split, parts(0, true)) == "Conv Split");
    CHECK(operators_after(merging::conv_before_split, parts(-4, true)) == "Conv Split");
    CHECK(operators_after(merging::conv_before_split, parts(2, true)) == "no match");
    CHECK(operators_after(merging::conv_before_split, parts(0, false)) == "no match");
}

// The sum of two convolutions, of one input or of two.
template <class Rule>
std::string sum(Rule const& rule, layer const& p, layer const& q, bool one_input = false, shape second = {1, 6, 8, 8}) {
    return operators_after(rule, [&](graph_builder& to) {
        auto const x = image(to, {1, 4, 8, 8}), y = one_input ? x : image(to, second);
        to.outputs({to.add<ops::add>(conv(to, x, p), conv(to, y, q))});
    });
}

TEST_CASE("law 7: a sum of convolutions reads its inputs side by side") {
    auto const& rule = merging::merge_conv_sum;
    CHECK(sum(rule, {}, {}) == "Concat Conv");
    CHECK(sum(rule, {.stride = 2, .bias = true}, {.stride = 2}) == "Concat Conv");
    CHECK(sum(rule, {}, {.bias = true}) == "Concat Conv");
    CHECK(sum(rule, {.act = activation::relu}, {}) == "no match");
    CHECK(sum(rule, {.group = 2}, {.group = 2}) == "no match");
    CHECK(sum(rule, {}, {.kernel = 1, .pad = 0}) == "no match");
    CHECK(sum(rule, {}, {.outputs = 1}) == "no match"); // is broadcast
    CHECK(sum(rule, {}, {}, false, {1, 6, 8, 1}) == "no match");
}

TEST_CASE("law 7 backwards: a convolution of parts side by side is a sum") {
    auto const wide = [](layer const& o, std::int64_t axis) {
        return [=](graph_builder& to) {
            auto const both = to.add<ops::concat>(
                {.axis = axis}, {image(to, {1, 2, 4, 4}), image(to, {1, 2, 4, 4}), image(to, {1, 2, 4, 4})});
            to.outputs({conv(to, both, o)});
        };
    };
    CHECK(operators_after(merging::split_conv_inputs, wide({.bias = true}, 1)) == "Conv Conv Add Conv Add");
    CHECK(operators_after(merging::split_conv_inputs, wide({}, 2)) == "no match");
    CHECK(operators_after(merging::split_conv_inputs, wide({.act = activation::relu}, 1)) == "no match");
}

TEST_CASE("law 8: convolutions of one input add up in their weight, in groups too") {
    auto const& rule = merging::add_conv_weights;
    CHECK(sum(rule, {}, {}, true) == "Conv");
    CHECK(sum(rule, {.group = 2, .bias = true}, {.group = 2, .bias = true}, true) == "Conv");
    CHECK(sum(rule, {}, {}, false, {1, 4, 8, 8}) == "no match"); // two inputs
    CHECK(sum(rule, {.group = 2}, {}, true) == "no match");
    CHECK(sum(rule, {.act = activation::relu}, {}, true) == "no match");
    CHECK(sum(rule, {.kernel = 1, .pad = 0}, {}, true) == "no match");
}

TEST_CASE("laws 7 and 8: convolutions that merge may stand anywhere in a sum") {
    auto const three = [](layer const& p, layer const& q, bool one_input, std::string_view other) {
        return [=](graph_builder& to) {
            auto const x = image(to, {1, 4, 8, 8}), y = one_input ? x : image(to, {1, 6, 8, 8});
            auto const between = other == "broadcast" ? image(to, {1, 4, 1, 1}) : image(to, {1, 4, 8, 8});
            auto const inner = to.add<ops::add>(conv(to, x, p), between);
            auto const sum = to.add<ops::add>(inner, conv(to, y, q));
            if (other == "read elsewhere")
                to.outputs({sum, to.add<ops::relu>(inner)});
            else
                to.outputs({sum});
        };
    };
    for (auto const* other : {"whole", "broadcast"}) {
        CHECK(operators_after(merging::merge_conv_sum, three({.bias = true}, {}, false, other)) == "Concat Conv Add");
        CHECK(operators_after(merging::add_conv_weights, three({}, {.bias = true}, true, other)) == "Conv Add");
        CHECK(operators_after(merging::merge_conv_sum,
                              three({.stride = 1, .act = activation::relu}, {}, false, other)) == "no match");
        CHECK(operators_after(merging::add_conv_weights, three({}, {.kernel = 1, .pad = 0}, true, other)) ==
              "no match");
    }
    CHECK(operators_after(merging::merge_conv_sum, three({}, {}, false, "read elsewhere")) == "no match");
    CHECK(operators_after(merging::add_conv_weights, three({}, {}, true, "read elsewhere")) == "no match");
}

TEST_CASE("sums of any number of convolutions in any order become one convolution for each input") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        graph g;
        graph_builder to{g};
        random_stream r{seed};
        auto const x = image(to, {1, 4, 6, 6}), y = image(to, {1, 4, 6, 6});
        std::vector<value_id> terms;
        for (auto const v : {x, y, x, y, y}) {
            terms.push_back(conv(to, v, {.bias = r.below(2) == 0}));
            terms.push_back(image(to, {1, 4, 6, 6}));
        }
        while (terms.size() > 1) {
            auto const i = r.below(terms.size());
            auto const p = terms[i];
            terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
            auto& q = terms[r.below(terms.size())];
            q = r.below(2) ? to.add<ops::add>(p, q) : to.add<ops::add>(q, p);
        }
        to.outputs({terms[0]});
        CAPTURE(seed);
        std::size_t merged = 0;
        while (auto next = small_graphs::applied(g, merging::add_conv_weights)) g = *next, ++merged;
        CHECK(merged == 3);
        while (auto next = small_graphs::applied(g, merging::merge_conv_sum)) g = *next, ++merged;
        CHECK(merged == 4);
        CHECK(sorted(small_graphs::operators_of(g)) == "Add Add Add Add Add Concat Conv");
    }
}

TEST_CASE("law 7 backwards beside a sibling: the part that has one, and the rest") {
    struct sibling {
        layer of_part{};
        std::size_t part = 0;
        bool constant = true;
    };
    auto const wide = [](layer const& o, std::size_t parts, std::int64_t axis, sibling const& s) {
        return [=](graph_builder& to) {
            std::vector<value_id> images;
            for (std::size_t i = 0; i < parts; ++i) images.push_back(image(to, {1, 4, 4, 4}));
            auto const both = to.add<ops::concat>({.axis = axis}, images);
            auto const y = s.part < parts ? images[s.part] : image(to, {1, 4, 4, 4});
            auto const small =
                s.constant ? conv(to, y, s.of_part)
                           : to.add<ops::conv>(attributes(s.of_part), {y, to.input(dtype::f32, {4, 4, 3, 3}, "w")});
            to.outputs({conv(to, both, o), small});
        };
    };
    auto const& rule = merging::part_conv_inputs;
    for (std::size_t part = 0; part < 3; ++part) {
        CHECK(sorted(operators_after(rule, wide({.bias = true}, 3, 1, {{.outputs = 3}, part}))) ==
              "Add Concat Conv Conv Conv");
        CHECK(sorted(operators_after(rule, wide({}, 2, -3, {{.bias = true}, part % 2}))) == "Add Conv Conv Conv");
    }
    CHECK(sorted(operators_after(rule, wide({.stride = 2}, 2, 1, {{.stride = 2}}))) == "Add Conv Conv Conv");
    // One condition at a time.
    CHECK(operators_after(rule, wide({}, 3, 1, {{}, 3})) == "no match"); // reads no part
    CHECK(operators_after(rule, wide({}, 2, 1, {{.stride = 2}})) == "no match");
    CHECK(operators_after(rule, wide({}, 2, 1, {{.pad = 0}})) == "no match");
    CHECK(operators_after(rule, wide({}, 2, 1, {{.kernel = 1}})) == "no match");
    CHECK(operators_after(rule, wide({}, 2, 1, {{.group = 2}})) == "no match");
    CHECK(operators_after(rule, wide({}, 2, 1, {{.act = activation::relu}})) == "no match");
    CHECK(operators_after(rule, wide({}, 2, 1, {{}, 0, false})) == "no match");
    CHECK(operators_after(rule, wide({.group = 2}, 2, 1, {})) == "no match");
    CHECK(operators_after(rule, wide({.act = activation::relu}, 2, 1, {})) == "no match");
    CHECK(operators_after(rule, wide({}, 2, 2, {})) == "no match");
}

TEST_CASE("law 7 backwards beside a sibling: then laws 5 and 8 go on") {
    auto const beside = [](bool in_sum) {
        graph g;
        graph_builder to{g};
        auto const x = image(to, {1, 4, 4, 4}), y = image(to, {1, 2, 4, 4});
        auto const large = conv(to, to.add<ops::concat>({.axis = 1}, {x, y}), {}), small = conv(to, x, {.bias = true});
        if (in_sum)
            to.outputs({to.add<ops::add>(large, small)});
        else
            to.outputs({large, small});
        return small_graphs::applied(g, merging::part_conv_inputs);
    };
    auto const apart = beside(true);
    REQUIRE(apart);
    CHECK(sorted(small_graphs::operators_of(*apart)) == "Add Add Conv Conv Conv");
    auto const added = small_graphs::applied(*apart, merging::add_conv_weights);
    REQUIRE(added);
    CHECK(sorted(small_graphs::operators_of(*added)) == "Add Conv Conv");
    auto const siblings = beside(false);
    REQUIRE(siblings);
    auto const merged = small_graphs::applied(*siblings, rules::convolution::merge_conv_siblings);
    REQUIRE(merged);
    CHECK(sorted(small_graphs::operators_of(*merged)) == "Add Conv Conv Split");
}

TEST_CASE("law 5 in groups: siblings interleave, group by group, and are taken apart") {
    auto const two = [](layer const& p, layer const& q) {
        return [=](graph_builder& to) {
            auto const x = image(to, {2, 4, 4, 4});
            to.outputs({conv(to, x, p), conv(to, x, q)});
        };
    };
    auto const& rule = merging::merge_grouped_siblings;
    CHECK(operators_after(rule, two({.outputs = 6, .group = 2, .bias = true}, {.group = 2})) ==
          "Conv Reshape Split Reshape Reshape");
    CHECK(operators_after(rule, two({.group = 2}, {.group = 4})) == "no match");
    CHECK(operators_after(rule, two({}, {})) == "no match"); // law 5 as it is
}

TEST_CASE("law 13: two groups become one, until there is one") {
    auto const in_groups = [](std::int64_t group, std::int64_t channels) {
        graph g;
        graph_builder to{g};
        to.outputs({conv(to, image(to, {1, channels, 3, 3}), {.outputs = 12, .group = group, .bias = true})});
        return g;
    };
    for (auto const group : {2, 4, 6}) {
        auto const wider = small_graphs::applied(in_groups(group, 24), merging::widen_groups);
        REQUIRE(wider);
        auto const n = wider->output(0).node;
        CHECK(wider->attributes<ops::conv>(n).group == group / 2);
        CHECK(wider->type(wider->operand(n, 1)).dims[1].size() == 48 / group);
    }
    CHECK_FALSE(small_graphs::applied(in_groups(1, 24), merging::widen_groups));
    CHECK_FALSE(small_graphs::applied(in_groups(3, 24), merging::widen_groups));
    CHECK_FALSE(small_graphs::applied(in_groups(12, 12), merging::widen_groups)); // depthwise
    CHECK_FALSE(small_graphs::applied(in_groups(2, 256), merging::widen_groups)); // wide enough
}

} // namespace rules_merge_test
