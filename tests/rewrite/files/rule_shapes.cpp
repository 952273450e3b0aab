#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/rewrite/files/rule_shapes.hpp>
#include <gsub/rewrite/files/rule_text.hpp>

#include <set>
#include <string>

namespace rule_shapes_test {

using namespace gsub;

TEST_CASE("pads that keep the size keep it") {
    described_operator op;
    for (std::int64_t kernel : {1, 3, 5, 7})
        for (std::int64_t stride = 1; stride < 4; ++stride)
            for (std::int64_t size = 1; size < 20; ++size) {
                CAPTURE(kernel, stride, size);
                CHECK(window_positions(op, size, kernel, stride) == (size + stride - 1) / stride);
            }
    op.same_pads = false;
    CHECK(window_positions(op, 5, 3, 2) == 2);
    CHECK(window_positions(op, 2, 3, 1) == 0);
}

rule_description rule_of(std::string const& body) {
    return parse_rules("rule r\n" + body).value()[0];
}
std::string written(ints const& sizes) {
    std::string out;
    for (auto s : sizes) out += fmt::format("{}{}", out.empty() ? "" : ",", s);
    return out;
}

TEST_CASE("the box has every legal combination of small shapes, each that the source allows") {
    auto const sum = rule_of("a = add(x, y)\n b = concat(a, z, axis=0, rank=1)\n=>\n c = concat(x, z, axis=0)\n"
                             " replace b by c");
    std::set<std::string> seen;
    chooser box;
    do {
        auto const s = draw_shapes(sum, box);
        if (!s) continue;
        REQUIRE(s->inputs.size() == 3);
        CHECK(s->inputs[0] == s->inputs[1]);
        CHECK(s->results[0][0] == s->inputs[0]);
        CHECK(s->results[1][0][0] == s->inputs[0][0] + s->inputs[2][0]);
        CHECK(broken_requirements(sum, *s).empty());
        seen.insert(written(s->inputs[0]) + " " + written(s->inputs[2]));
    } while (box.next());
    CHECK(seen == std::set<std::string>{"1 1", "1 2", "2 1", "2 2"});
}

TEST_CASE("groups and sizes of convolutions are drawn together") {
    auto const conv = rule_of("a = conv(x, w, kernel=3x5, strides=1x2)\n=>\n replace a by x");
    std::set<std::int64_t> groups;
    for (std::uint64_t i = 0; i < 300; ++i) {
        chooser draw{random_stream{i}};
        auto const s = draw_shapes(conv, draw);
        if (!s) continue;
        auto const &x = s->inputs[0], &w = s->inputs[1], &y = s->results[0][0];
        REQUIRE(x[1] % w[1] == 0);
        auto const g = x[1] / w[1];
        groups.insert(g);
        CHECK(w[0] % g == 0);
        CHECK(w[2] == 3);
        CHECK(w[3] == 5);
        CHECK(y == ints{x[0], w[0], x[2], (x[3] + 1) / 2});
        // The rule is typed where the result has the shape of x.
        CHECK(broken_requirements(conv, *s).empty() == (y == x));
    }
    CHECK(groups == std::set<std::int64_t>{1, 2, 3});
}

TEST_CASE("what the target needs is told in the words of the inputs") {
    auto const merge = rule_of("a = conv(x, w, kernel=3x3)\n b = conv(x, v, kernel=3x3)\n=>\n"
                               " u = concat(w, v, axis=0)\n c = conv(x, u, kernel=3x3)\n d, e = split(c, axis=1)\n"
                               " replace a by d\n replace b by e");
    auto const broken = [&](std::vector<ints> inputs, ints a, ints b) {
        std::string out;
        for (auto const& s : broken_requirements(merge, {std::move(inputs), {{std::move(a)}, {std::move(b)}}}))
            out += fmt::format("{}{}", out.empty() ? "" : "; ", s);
        return out;
    };
    CHECK(broken({{1, 4, 5, 5}, {2, 4, 3, 3}, {3, 4, 3, 3}}, {1, 2, 5, 5}, {1, 3, 5, 5}).empty());
    CHECK(broken({{1, 4, 5, 5}, {2, 4, 3, 3}, {2, 2, 3, 3}}, {1, 2, 5, 5}, {1, 2, 5, 5}) == "w[1] = v[1]");
    auto const swapped = rule_of("a = concat(x, y, axis=1, rank=2)\n b = concat(z, t, axis=1, rank=2)\n c = add(a, b)\n"
                                 "=>\n d = concat(x, t, axis=1, rank=2)\n e = concat(z, y, axis=1, rank=2)\n"
                                 " f = add(d, e)\n replace c by f");
    described_shapes const s{{{1, 1}, {1, 2}, {1, 2}, {1, 1}}, {{{1, 3}}, {{1, 3}}, {{1, 3}}}};
    CHECK(broken_requirements(swapped, s) == std::vector<std::string>{"x[1] + t[1] = z[1] + y[1]"});
}

TEST_CASE("drawn shapes are the same for the same seed, and some have well-typed targets where few do") {
    auto const rare = rule_of("a = relu(x)\n b = relu(y)\n=>\n c = concat(x, y, axis=3, rank=4)\n d = relu(c)\n"
                              " e, f = split(d, axis=3)\n replace a by e\n replace b by f");
    std::size_t typed = 0, untyped = 0;
    for (std::uint64_t i = 0; i < 100; ++i) {
        chooser one{random_stream{i}}, other{random_stream{i}};
        auto const s = draw_shapes(rare, one);
        REQUIRE(s);
        CHECK(s->inputs == draw_shapes(rare, other)->inputs);
        ++(broken_requirements(rare, *s).empty() ? typed : untyped);
    }
    CHECK(typed > 20);
    CHECK(untyped > 20);
}

} // namespace rule_shapes_test
