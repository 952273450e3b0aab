#include "catch.hpp"
#include "oracles/interpret.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/loop/schedule.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace config_space_test {

using namespace gsub;
using loop::config_space;
using loop::configuration;
using loop::split_options;
using loop::split_policy;

using factors = std::vector<std::int64_t>;

factors listed(std::span<std::int64_t const> f) {
    return {f.begin(), f.end()};
}

// AutoTVM's direct convolution on GPUs: filters, rows, columns, input channels, kernel rows and columns.
config_space cuda_conv2d(std::array<std::int64_t, 6> extents) {
    config_space s;
    auto const* extent = extents.data();
    for (auto const* name : {"tile_f", "tile_y", "tile_x"}) s.split(name, *extent++, {.parts = 4});
    for (auto const* name : {"tile_rc", "tile_ry", "tile_rx"}) s.split(name, *extent++);
    s.choice("auto_unroll_max_step", {0, 512, 1500});
    s.choice("unroll_explicit", {0, 1});
    return s;
}
config_space x86_conv2d(std::int64_t in, std::int64_t out, std::int64_t width, split_policy policy, bool rows = false) {
    config_space s;
    s.split("tile_ic", in);
    s.split("tile_oc", out);
    s.split("tile_ow", width, {.policy = policy, .max_last = 64});
    if (rows)
        s.choice("tile_oh", {1, 2});
    else
        s.choice("unroll_kw", {true, false});
    return s;
}
config_space product(std::int64_t y, std::int64_t x, std::int64_t k) {
    config_space s;
    s.split("tile_y", y);
    s.split("tile_x", x);
    s.split("tile_k", k);
    return s;
}
config_space packed_dense(std::int64_t y, std::int64_t x, std::int64_t k) {
    config_space s;
    s.split("tile_y", y, {.parts = 3});
    s.split("tile_x", x, {.parts = 3});
    s.split("tile_k", k);
    s.split("tile_inner", y, {.max_last = 16});
    return s;
}

config_space random_space(random_stream& r) {
    config_space s;
    split_policy const policies[] = {split_policy::factors, split_policy::power2, split_policy::verbose};
    for (std::uint64_t i = 0, knobs = 1 + r.below(4); i < knobs; ++i) {
        auto const name = fmt::format("k{}", i);
        if (r.below(3) == 0) {
            s.choice(name, {true, "on", std::int64_t{7}, 1});
            continue;
        }
        split_options o;
        o.parts = 1 + r.below(3);
        o.policy = policies[r.below(3)];
        if (r.below(2)) o.max_last = 1 + static_cast<std::int64_t>(r.below(6));
        s.split(name, 1 + static_cast<std::int64_t>(r.below(48)), o);
    }
    return s;
}

// Whether it is refused as a usage error whose text has the words.
template <class F>
bool refused(F&& f, std::string_view words) {
    auto const r = capture([&] { f(); });
    return !r && r.error().code() == error_code::usage && r.error().message().find(words) != std::string::npos;
}

std::size_t differences(configuration const& a, configuration const& b) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.digits().size(); ++i) count += a.digits()[i] != b.digits()[i];
    return count;
}

TEST_CASE("a record of AutoTVM has the number that TVM gave it") {
    auto const space = cuda_conv2d({512, 7, 7, 256, 1, 1});
    REQUIRE(space.size() == 190'080);
    std::vector<std::size_t> sizes;
    for (auto const& k : space.knobs()) sizes.push_back(k.size());
    CHECK(sizes == std::vector<std::size_t>{220, 4, 4, 9, 1, 1, 3, 2});

    auto const c = space.at(11312);
    auto const digits = c.digits();
    CHECK(std::vector<std::uint32_t>(digits.begin(), digits.end()) ==
          std::vector<std::uint32_t>{92, 3, 0, 3, 0, 0, 0, 0});
    CHECK(to_string(c) == "tile_f=[-1,4,32,2] tile_y=[-1,1,1,7] tile_x=[-1,1,1,1] tile_rc=[-1,8] tile_ry=[-1,1] "
                          "tile_rx=[-1,1] auto_unroll_max_step=0 unroll_explicit=0");
    CHECK(c.outer("tile_f") == 2);

    auto read = space.at(0);
    read.set("tile_f", {-1, 4, 32, 2});
    read.set("tile_y", {1, 1, 1, 7});
    read.set("tile_rc", {-1, 8});
    CHECK(read.index() == 11312);
}

TEST_CASE("spaces have the sizes of TVM's") {
    using enum split_policy;
    CHECK(x86_conv2d(64, 64, 56, verbose).size() == 980);
    CHECK(x86_conv2d(128, 128, 28, verbose).size() == 1024);
    CHECK(x86_conv2d(256, 256, 14, verbose).size() == 972);
    CHECK(x86_conv2d(512, 512, 7, verbose).size() == 800);
    CHECK(x86_conv2d(64, 256, 56, verbose, true).size() == 1260);
    CHECK(x86_conv2d(256, 1024, 14, verbose, true).size() == 1188);
    CHECK(x86_conv2d(512, 2048, 7, verbose, true).size() == 960);
    CHECK(x86_conv2d(144, 144, 56, split_policy::factors).size() == 3600);
    CHECK(x86_conv2d(384, 384, 14, split_policy::factors).size() == 2048);
    CHECK(x86_conv2d(960, 960, 7, split_policy::factors).size() == 3136);
    CHECK(product(128, 768, 768).size() == 2592);
    CHECK(product(128, 3072, 768).size() == 3168);
    CHECK(product(128, 128, 64).size() == 448);
    CHECK(packed_dense(128, 768, 768).size() == 437'400);
    CHECK(packed_dense(128, 3072, 768).size() == 641'520);
    CHECK(packed_dense(128, 768, 3072).size() == 534'600);
    CHECK(cuda_conv2d({64, 56, 56, 64, 3, 3}).size() == 90'316'800);
    CHECK(cuda_conv2d({512, 7, 7, 512, 3, 3}).size() == 844'800);
}

TEST_CASE("numbers, digits, values and texts name the same point") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        auto const space = random_space(r);
        for (int i = 0; i < 40; ++i) {
            auto const index = r.below(space.size());
            auto const c = space.at(index);
            CHECK(c.index() == index);
            CHECK(space.parse(to_string(c)) == c);
            auto copy = space.at(0);
            std::uint64_t place = 1, sum = 0;
            for (std::size_t k = 0; k < space.knobs().size(); ++k) {
                auto const& knob = space.knobs()[k];
                if (knob.is_split()) {
                    auto value = listed(c.factors(knob.name));
                    CHECK(value[0] == -1);
                    if (r.below(2)) value[0] = c.outer(knob.name);
                    copy.set(knob.name, value);
                } else {
                    copy.set(knob.name, c.choice(knob.name));
                }
                sum += place * c.digits()[k];
                place *= knob.size();
            }
            CHECK(copy == c);
            CHECK(sum == index);
        }
    }
}

TEST_CASE("a split lists all that its policy allows once, the innermost factor slowest") {
    for (std::int64_t extent = 1; extent <= 40; ++extent)
        for (std::int64_t limit : {3, 100})
            for (auto const policy : {split_policy::factors, split_policy::power2, split_policy::verbose}) {
                CAPTURE(extent, limit, static_cast<int>(policy));
                auto const allowed = [&](std::int64_t f) {
                    auto const power = (f & (f - 1)) == 0, divides = extent % f == 0;
                    return policy == split_policy::factors ? divides
                                                           : power || (policy == split_policy::verbose && divides);
                };
                std::vector<factors> want;
                for (std::int64_t last = 1; last <= std::min(extent, limit); ++last)
                    for (std::int64_t middle = 1; last * middle <= extent; ++middle)
                        if (allowed(last) && allowed(middle) &&
                            (policy != split_policy::factors || extent % (last * middle) == 0))
                            want.push_back({-1, middle, last});
                config_space s;
                s.split("t", extent, {.parts = 3, .policy = policy, .max_last = limit});
                std::vector<factors> got;
                for (std::uint64_t i = 0; i < s.size(); ++i) {
                    auto const c = s.at(i);
                    got.push_back(listed(c.factors("t")));
                    auto const covered = c.outer("t") * got.back()[1] * c.last("t");
                    CHECK(covered >= extent);
                    if (policy == split_policy::factors) CHECK(covered == extent);
                }
                CHECK(got == want);
            }
}

TEST_CASE("candidates stand as they are listed, within the limits") {
    config_space s;
    s.split("t", 10, {.policy = split_policy::candidate, .max_last = 8, .candidates = {{-1, 4}, {2, 5}, {-1, 9}}});
    REQUIRE(s.size() == 2);
    CHECK(s.at(0).outer("t") == 3);
    CHECK(listed(s.at(1).factors("t")) == factors{2, 5});
    CHECK(s.parse("t=[3,4]").index() == 0);
    CHECK(s.parse("t=[-1,5]").index() == 1);
    s.split("one", 36, {.parts = 4, .max_factor = 1});
    CHECK(listed(s.at(0).factors("one")) == factors{-1, 1, 1, 1});
    CHECK(s.size() == 2);
}

TEST_CASE("restrictions keep numbers, and draws and neighbours within them") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        auto space = random_space(r);
        auto const free = space;
        auto const modulus = 1 + r.below(5);
        space.constrain([&](configuration const& c) { return c.index() % modulus == 0; });
        CHECK(space.size() == free.size());
        auto const index = r.below(space.size());
        CHECK(to_string(space.at(index)) == to_string(free.at(index)));

        auto const near = space.neighbours(index);
        for (auto n : near) {
            CHECK(space.allows(space.at(n)));
            CHECK(differences(space.at(n), space.at(index)) == 1);
            auto const back = free.neighbours(n);
            CHECK(std::count(back.begin(), back.end(), index) == 1);
        }
        std::size_t count = 0;
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(space.size(), 3000); ++i)
            count += i % modulus == 0 && differences(space.at(i), space.at(index)) == 1;
        if (space.size() <= 3000) CHECK(near.size() == count);
        for (int i = 0; i < 30; ++i) {
            CHECK(space.draw(r).value() % modulus == 0);
            auto const n = space.neighbour(index, r);
            REQUIRE(n.has_value() != near.empty());
            if (n) CHECK(std::count(near.begin(), near.end(), *n) == 1);
        }
    }
}

TEST_CASE("draws and neighbours reach every point, and are the same for a seed") {
    auto const space = product(12, 6, 4);
    random_stream r{1}, same{1};
    std::set<std::uint64_t> drawn, near;
    for (int i = 0; i < 3000; ++i) {
        auto const a = space.draw(r), b = space.neighbour(17, r);
        CHECK(a == space.draw(same));
        CHECK(b == space.neighbour(17, same));
        drawn.insert(*a);
        near.insert(*b);
    }
    CHECK(drawn.size() == space.size());
    CHECK(near.size() == space.neighbours(17).size());
}

TEST_CASE("a single allowed point is found, and its absence too") {
    auto space = packed_dense(128, 768, 768);
    auto const wanted = space.size() - 1;
    random_stream r{3};
    auto one = space;
    one.constrain([&](configuration const& c) { return c.index() == wanted; });
    CHECK(one.draw(r) == wanted);
    CHECK(one.neighbours(wanted).empty());
    CHECK_FALSE(one.neighbour(wanted, r));
    CHECK(config_space{}.draw(r) == 0u);
    CHECK_FALSE(config_space{}.neighbour(0, r));
    auto none = product(12, 6, 4);
    none.constrain([](configuration const&) { return false; });
    CHECK_FALSE(none.draw(r));
}

TEST_CASE("what a space does not have is refused, and the knob is named") {
    auto const s = x86_conv2d(64, 64, 56, split_policy::verbose);
    auto c = s.at(0);
    CHECK(refused([&] { c.set("tile_oh", 1); }, "\"tile_oh\": is unknown; there are: tile_ic, tile_oc"));
    CHECK(refused([&] { (void)c.factors("unroll_kw"); }, "\"unroll_kw\": is a choice"));
    CHECK(refused([&] { (void)c.choice("tile_ic"); }, "\"tile_ic\": is a split"));
    CHECK(refused([&] { c.set("unroll_kw", 1); }, "\"unroll_kw\": \"1\" is none of its 2 values"));
    CHECK(refused([&] { c.set("tile_ic", true); }, "\"tile_ic\""));
    CHECK(refused([&] { c.set("unroll_kw", {-1, 1}); }, "\"unroll_kw\""));
    for (auto const& bad : {factors{}, factors{-1}, factors{-1, 3}, factors{63, 1}, factors{0, 0}, factors{-1, 0},
                            factors{-1, -1}, factors{-2, 1}, factors{1, 1, 64}})
        CHECK(refused([&] { c.set("tile_ic", bad); }, "\"tile_ic\""));
    CHECK(c == s.at(0));
    CHECK(refused([&] { (void)s.at(980); }, "configuration 980: the space of knobs tile_ic, tile_oc, tile_ow"));
    CHECK(refused([&] { (void)s.neighbours(~std::uint64_t{0}); }, "tile_ow"));
}

TEST_CASE("texts that are no point of the space are refused, and nothing else happens") {
    auto const s = x86_conv2d(64, 64, 56, split_policy::verbose);
    auto const good = to_string(s.at(500));
    CHECK(refused([&] { (void)s.parse(""); }, "\"tile_ic\": has no value"));
    CHECK(refused([&] { (void)s.parse(good + " tile_ow=[-1,1]"); }, "\"tile_ow\": is given twice"));
    CHECK(refused([&] { (void)s.parse("tile_\x1b"); }, "\"tile_\\x1b\""));
    CHECK(refused([&] { (void)s.parse("tile_ic=[-1,99999999999999999999]"); }, "\"tile_ic\""));
    random_stream r{7};
    std::string_view const letters = "[]-,=0123456789 tile_ocwunrkfals\xff";
    std::size_t points = 0;
    for (int i = 0; i < 5000; ++i) {
        auto text = good;
        for (auto edits = 1 + r.below(3); edits-- > 0 && !text.empty();) {
            auto const at = r.below(text.size());
            if (r.below(2))
                text[at] = letters[r.below(letters.size())];
            else
                text.erase(at, r.below(4));
        }
        auto const read = capture([&] { return s.parse(text); });
        if (!read) CHECK(read.error().code() == error_code::usage);
        if (read) points += read->index() < s.size();
        if (read) CHECK(s.parse(to_string(*read)) == *read);
    }
    CHECK(points > 0);
}

TEST_CASE("knobs that make no sense are refused, and leave the space as it was") {
    config_space s;
    s.choice("a", {1, 2});
    CHECK(refused([&] { s.choice("a", {1}); }, "\"a\": is defined twice"));
    CHECK(refused([&] { s.choice("b", {}); }, "\"b\": has no values"));
    CHECK(refused([&] { s.choice("b", {1, "1"}); }, "\"b\": has two values 1"));
    CHECK(refused([&] { s.choice("b", {"x y"}); }, "\"b\""));
    CHECK(refused([&] { s.choice("b c", {1}); }, "\"b c\""));
    CHECK(refused([&] { s.split("b", 0); }, "\"b\""));
    CHECK(refused([&] { s.split("b", 4, {.parts = 0}); }, "\"b\""));
    CHECK(refused([&] { s.split("b", 4, {.max_last = 0}); }, "\"b\": has no values"));
    for (auto const& bad : {factors{-1}, factors{-1, 0}, factors{0, 1}, factors{-1, -1}})
        CHECK(refused([&] { s.split("b", 4, {.policy = split_policy::candidate, .candidates = {bad}}); }, "\"b\""));
    CHECK(refused(
        [&] {
            s.split("b", 4, {.policy = split_policy::candidate, .candidates = {{-1, 2}, {2, 2}}});
        },
        "listed twice"));
    CHECK(refused([&] { s.split("b", std::int64_t{1} << 40, {.parts = 9}); }, "\"b\": has more than"));
    CHECK(s.size() == 2);
    for (auto const* name : {"c", "d", "e"})
        s.split(name, std::int64_t{1} << 40, {.parts = 5, .policy = split_policy::power2});
    CHECK(refused([&] { s.split("f", std::int64_t{1} << 40, {.parts = 5}); }, "\"f\": makes the space too large"));
    CHECK(s.knobs().size() == 4);
    CHECK(s.at(s.size() - 1).index() == s.size() - 1);
}

// The space of a small product, and the schedule of a point of it.
config_space product_knobs() {
    config_space knobs;
    knobs.split("tile_i", 6, {.policy = split_policy::verbose});
    knobs.split("tile_j", 8, {.max_last = 4});
    knobs.choice("order", {"row", "column"});
    return knobs;
}
loop::schedule scheduled(loop::tensor_expression what, configuration const& c) {
    loop::schedule plan{std::move(what)};
    auto const [i, rows] = plan.split(plan.loop_of("i"), c.last("tile_i"));
    auto const [j, lane] = plan.split(plan.loop_of("j"), c.last("tile_j"));
    auto const k = plan.loop_of("k");
    if (c.choice("order") == "row")
        plan.reorder({i, j, k, rows, lane});
    else
        plan.reorder({j, i, k, rows, lane});
    plan.unroll(rows);
    plan.vectorize(lane);
    return plan;
}

TEST_CASE("each point of a template's space schedules the same computation") {
    loop::expression_builder e{"matmul"};
    auto const i = e.spatial("i", 6), j = e.spatial("j", 8), k = e.reduction("k", 5);
    auto const a = e.input("a", {6, 5}), b = e.input("b", {5, 8}), y = e.output("y", {6, 8});
    auto const what = e.store(y, {i, j}, e.sum(e.constant(0), e.at(a, {i, k}) * e.at(b, {k, j})));
    auto const knobs = product_knobs();
    auto const data = interpret::random_data(what, 1);
    auto expected = data;
    interpret::run(what, expected);
    for (std::uint64_t n = 0; n < knobs.size(); ++n) {
        auto actual = data;
        std::map<std::size_t, int> stored, steps;
        interpret::run(scheduled(what, knobs.at(n)).finish(), actual, stored, steps);
        CAPTURE(to_string(knobs.at(n)));
        CHECK(actual == expected);
    }
}

TEST_CASE("a space is told a line a knob") {
    CHECK(to_string(x86_conv2d(64, 64, 56, split_policy::verbose)) == "tile_ic: 7 splits of 64 into 2\n"
                                                                      "tile_oc: 7 splits of 64 into 2\n"
                                                                      "tile_ow: 10 splits of 56 into 2\n"
                                                                      "unroll_kw: true, false\n");
}

} // namespace config_space_test
