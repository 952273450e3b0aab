#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/ir/types/blocked_layout.hpp>

#include <set>
#include <string>

namespace blocked_layout_test {

using namespace gsub;

TEST_CASE("the name of a layout says rank, dimension and block") {
    CHECK(parse_layout("NCHW16c") == blocked_layout{4, 1, 16});
    CHECK(parse_layout("NCW8c") == blocked_layout{3, 1, 8});
    CHECK(parse_layout("OIHW32o") == blocked_layout{4, 0, 32});
    CHECK(parse_layout("AB4096b") == blocked_layout{2, 1, 4096});
    for (std::string_view const name :
         {"", "NCHW", "16c", "NCHW16", "NCHWc", "NCHW16C", "NCHW16x", "NCHW1c", "NCHW0c", "NCHW016c", "NCHW4097c",
          "NCHW99999999999999999999c", "NCCW4c", "NCHW16c4c", "nchw16c", "NCHW16c ", "NCHW-4c"})
        CHECK_FALSE(parse_layout(name));
}

TEST_CASE("every element has a place of its own within the storage, and blocks lie together") {
    random_stream r{1};
    for (std::string_view const name : {"NCHW4c", "NCHW3n", "NCHW2w", "NCHW16c", "NCHW5h"}) {
        auto const l = parse_layout(name).value();
        for (int i = 0; i < 10; ++i) {
            ints sizes;
            for (std::size_t d = 0; d < l.rank; ++d) sizes.push_back(static_cast<std::int64_t>(1 + r.below(6)));
            auto const stored = l.stored_elements(sizes).value();
            std::set<std::int64_t> places;
            ints at(l.rank, 0);
            for (std::int64_t e = 0; e < product(sizes); ++e) {
                auto const place = l.offset(sizes, at);
                CHECK((place >= 0 && place < stored && place % l.block == at[l.axis] % l.block));
                CHECK(places.insert(place).second);
                for (auto d = l.rank; d-- > 0;) {
                    if (++at[d] < sizes[d]) break;
                    at[d] = 0;
                }
            }
            CHECK(stored % l.block == 0);
            CHECK(stored < product(sizes) / sizes[l.axis] * (sizes[l.axis] + l.block));
        }
    }
    auto const l = parse_layout("NCHW4c").value();
    ints const sizes{2, 6, 3, 5};
    CHECK(l.stored_elements(sizes) == 2 * 8 * 3 * 5);
    CHECK(l.offset(sizes, ints{1, 5, 2, 3}) == (((1 * 2 + 1) * 3 + 2) * 5 + 3) * 4 + 1);
    CHECK(l.stored_elements(ints{0, 6, 3, 5}) == 0);
    CHECK_FALSE(l.stored_elements(ints{std::int64_t{1} << 40, 1, std::int64_t{1} << 40, 1}));
}

// An operand as text gives the result as text, or the reason of the failure.
struct typing {
    graph g;
    graph_builder b{g};
    value_id input(ints const& sizes, std::string_view stored = {}) {
        tensor_type t{dtype::f32, sizes};
        t.layout = layout{stored};
        return g.add_input(t, {});
    }
    template <class F>
    std::string of(F&& f) {
        auto const v = capture([&] { return f(); });
        return v ? to_string(g.type(*v)) : v.error().problems().front().reason;
    }
};

TEST_CASE("a change of layout keeps the dimensions and is refused for a name that does not fit") {
    typing t;
    auto const x = t.input({1, 6, 4, 4});
    auto const to = [&](value_id v, std::string name) {
        return t.of([&] { return t.b.add<ops::layout_transform>({.to = name}, {v}); });
    };
    CHECK(to(x, "NCHW4c") == "f32[1,6,4,4]:NCHW4c");
    CHECK(to(t.input({1, 6, 4, 4}, "NCHW4c"), "") == "f32[1,6,4,4]");
    CHECK(to(x, "NC4c") == "the layout has another number of dimensions");
    CHECK(to(x, "fast") == "the name of a layout is like NCHW16c");
}

TEST_CASE("layouts flow as the operators' rules say, and operands that disagree are refused") {
    typing t;
    auto const plain = t.input({1, 8, 4, 4}), four = t.input({1, 8, 4, 4}, "NCHW4c"),
               eight = t.input({1, 8, 4, 4}, "NCHW8c");
    auto const channel = t.input({8, 1, 1}), one = t.input({1, 8, 1, 1}, "NCHW4c"), deep = t.input({2, 1, 1, 1, 1});
    auto const add = [&](value_id a, value_id b) { return t.of([&] { return t.b.add<ops::add>(a, b); }); };
    CHECK(add(four, four) == "f32[1,8,4,4]:NCHW4c");
    CHECK(add(channel, four) == "f32[1,8,4,4]:NCHW4c");
    CHECK(add(four, one) == "f32[1,8,4,4]:NCHW4c");
    CHECK(add(plain, four).find("they have to agree") != std::string::npos);
    CHECK(add(four, eight).find("they have to agree") != std::string::npos);
    CHECK(add(deep, four).find("another number of dimensions") != std::string::npos);
    CHECK(t.of([&] { return t.b.add<ops::hard_swish>(four); }) == "f32[1,8,4,4]:NCHW4c");
    CHECK(t.of([&] { return t.b.add<ops::global_average_pool>(four); }) == "f32[1,8,1,1]:NCHW4c");
    CHECK(t.of([&] {
        return t.b.add<ops::transpose>({.perm = {0, 1, 3, 2}}, {four});
    }) == "operand 0 is f32[1,8,4,4]:NCHW4c; it has to be row-major");
    CHECK(t.of([&] { return t.b.add<ops::shape>({}, {four}); }) == "i64[4]");
    auto const conv = [&](value_id w) {
        attributes_of<ops::conv> a;
        a.strides = {1, 1}, a.pads = {0, 0, 0, 0}, a.dilations = {1, 1};
        return t.of([&] { return t.b.add<ops::conv>(a, {four, w}); });
    };
    CHECK(conv(t.input({6, 8, 1, 1})) == "f32[1,6,4,4]:NCHW4c");
    CHECK(conv(t.input({6, 8, 1, 1}, "NCHW4c")).find("row-major") != std::string::npos);
    auto const concat = [&](std::int64_t axis, value_id a, value_id b) {
        return t.of([&] { return t.b.add<ops::concat>({.axis = axis}, {a, b}); });
    };
    CHECK(concat(1, four, four) == "f32[1,16,4,4]:NCHW4c");
    CHECK(concat(1, four, plain).find("it has to be NCHW4c") != std::string::npos);
    auto const odd = t.input({1, 6, 4, 4}, "NCHW4c");
    CHECK(concat(1, four, odd).find("only where they are full") != std::string::npos);
    CHECK(concat(2, odd, odd) == "f32[1,6,8,4]:NCHW4c");
}

TEST_CASE("a blocked graph survives its textual form") {
    typing t;
    auto const y = t.b.add<ops::relu>(t.b.add<ops::layout_transform>({.to = "NCHW4c"}, {t.input({1, 8, 4, 4})}));
    t.b.outputs({t.b.add<ops::layout_transform>({}, {y})});
    auto const text = to_text(t.g);
    auto const back = parse_graph<standard_ops>(text).value();
    CHECK(back == t.g);
    CHECK(to_text(back) == text);
    CHECK(text.find(":NCHW4c = Relu(") != std::string::npos);
}

} // namespace blocked_layout_test
