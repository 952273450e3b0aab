#include "catch.hpp"
#include "loop/random_schedule.hpp"
#include "oracles/interpret.hpp"
#include <gsub/core/result.hpp>
#include <gsub/loop/schedule.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace schedule_test {

using namespace gsub;
using loop::loop_kind;
using loop::schedule;
using loop::variable;

loop::tensor_expression small_product() {
    loop::expression_builder e{"matmul"};
    auto const i = e.spatial("i", 6), j = e.spatial("j", 8), k = e.reduction("k", 5);
    auto const a = e.input("a", {6, 5}), b = e.input("b", {5, 8}), c = e.output("c", {6, 8});
    return e.store(c, {i, j}, max(e.sum(e.constant(0), e.at(a, {i, k}) * e.at(b, {k, j})), e.constant(0)));
}

// All that can be seen of a schedule.
std::string state(schedule const& plan) {
    std::string out;
    for (auto const& l : plan.loops())
        out += std::to_string(l.var) + ":" + std::to_string(l.extent) + std::string{to_string(l.kind)} + " ";
    auto const nest = capture([&] { return plan.finish(); });
    return out + (nest ? to_string(*nest) : nest.error().message());
}
// The call is refused as a wrong request, and the schedule is as before.
template <class F>
bool refuses(schedule& plan, F&& call) {
    auto const before = state(plan);
    try {
        call();
    } catch (error const& e) { return e.code() == error_code::usage && state(plan) == before; }
    return false;
}

TEST_CASE("any sequence of legal steps leaves the computation the same") {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        auto const lanes = std::int64_t{1} << r.below(4);
        auto const what = random_schedule::computation(r, lanes);
        auto const nest =
            random_schedule::nest(what, r, {.lanes = lanes, .split_reductions_anyhow = true, .nested_splits = true});
        auto const data = interpret::random_data(what, seed);
        auto expected = data, actual = data;
        interpret::run(what, expected);
        std::map<std::size_t, int> stored, steps;
        interpret::run(nest, actual, stored, steps);
        CAPTURE(to_string(nest));
        CHECK(actual == expected);
        // Each position that exists is visited once, those that do not exist never.
        std::int64_t per_element = 1;
        for (auto const& a : what.axes)
            if (a.kind == loop::axis_kind::reduction) per_element *= a.extent;
        auto once = true;
        for (auto const& [where, times] : stored) once = once && times == 1 && steps[where] == per_element;
        CHECK(once);
        CHECK(stored.size() == steps.size());
    }
}

TEST_CASE("ranges, names and extents of a nest agree") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        auto const nest = random_schedule::nest(random_schedule::computation(r, 4), r, {.lanes = 4});
        REQUIRE(nest.names.size() == nest.ranges.size());
        for (auto const& l : nest.loops)
            CHECK(nest.ranges[static_cast<std::size_t>(l.var)] == loop::interval{0, l.extent - 1});
        // A part stands after what it is of.
        std::vector<variable> known;
        for (auto const& l : nest.loops) known.push_back(l.var);
        for (auto const& p : nest.fused_indices) {
            CHECK(std::find(known.begin(), known.end(), p.of) != known.end());
            CHECK(nest.ranges[static_cast<std::size_t>(p.var)] == loop::interval{0, p.extent - 1});
            known.push_back(p.var);
        }
        std::int64_t together = 1;
        for (std::size_t i = 0; i < nest.parallel_loops(); ++i) together *= nest.loops[i].extent;
        CHECK(nest.parallel_extent() == together);
    }
}

TEST_CASE("split makes two loops of one, fuse one of two") {
    schedule plan{small_product()};
    REQUIRE(plan.loops().size() == 3);
    auto const [outer, inner] = plan.split(plan.loop_of("i"), 4);
    REQUIRE(plan.loops().size() == 4);
    CHECK(plan.loops()[0].var == outer);
    CHECK(plan.loops()[0].extent == 2);
    CHECK(plan.loops()[1].var == inner);
    CHECK(plan.loops()[1].extent == 4);
    CHECK(plan.loop_of("i_o") == outer);
    auto const both = plan.fuse(inner, plan.loop_of("j"));
    CHECK(plan.loops()[1].var == both);
    CHECK(plan.loops()[1].extent == 32);
    auto const nest = plan.finish();
    CHECK(nest.tails.size() == 1); // 4 does not divide 6
    CHECK(nest.fused_indices.size() == 2);
    CHECK(nest.parallel_loops() == 0);
    CHECK(nest.parallel_extent() == 1);
}

TEST_CASE("a split by more than there is leaves one outer position") {
    schedule plan{small_product()};
    auto const [outer, inner] = plan.split(plan.loop_of("k"), 7);
    CHECK(plan.loops()[2].var == outer);
    CHECK(plan.loops()[2].extent == 1);
    CHECK(plan.loops()[3].var == inner);
    CHECK(plan.loops()[3].extent == 7);
    CHECK(plan.loops()[3].reduction);
    CHECK(plan.finish().tails.size() == 1);
    plan.split(plan.loop_of("i"), std::numeric_limits<std::int64_t>::max());
    CHECK(plan.loops()[0].extent == 1);
}

TEST_CASE("a step that does not apply is refused and changes nothing") {
    schedule plan{small_product()};
    auto const i = plan.loop_of("i"), j = plan.loop_of("j"), k = plan.loop_of("k");
    CHECK(refuses(plan, [&] { static_cast<void>(plan.loop_of("l")); }));
    CHECK(refuses(plan, [&] { plan.split(i, 0); }));
    CHECK(refuses(plan, [&] { plan.split(i, -2); }));
    CHECK(refuses(plan, [&] { plan.split(99, 2); }));
    CHECK(refuses(plan, [&] { plan.split(-1, 2); }));
    CHECK(refuses(plan, [&] { plan.fuse(i, k); }));
    CHECK(refuses(plan, [&] { plan.fuse(j, i); }));
    CHECK(refuses(plan, [&] { plan.fuse(j, k); })); // a spatial loop and a reduction
    CHECK(refuses(plan, [&] { plan.fuse(i, i); }));
    CHECK(refuses(plan, [&] { plan.reorder({i, j}); }));
    CHECK(refuses(plan, [&] { plan.reorder({i, j, j}); }));
    CHECK(refuses(plan, [&] { plan.reorder({i, j, k, i}); }));
    CHECK(refuses(plan, [&] { plan.reorder({i, j, 99}); }));
    CHECK(refuses(plan, [&] { plan.parallel(k); }));
    CHECK(refuses(plan, [&] { plan.unroll(99); }));

    auto const parts = plan.split(i, 2);
    auto const outer = parts.first, inner = parts.second; // clang 14 captures no structured bindings
    CHECK(refuses(plan, [&] { plan.split(i, 2); }));      // no loop any more
    plan.unroll(inner);
    CHECK(refuses(plan, [&] { plan.unroll(inner); }));
    CHECK(refuses(plan, [&] { plan.vectorize(inner); }));
    CHECK(refuses(plan, [&] { plan.split(inner, 2); }));
    CHECK(refuses(plan, [&] { plan.fuse(outer, inner); }));
    CHECK(refuses(plan, [&] { plan.fuse(inner, j); }));
}

TEST_CASE("a fused loop stays whole") {
    schedule plan{small_product()};
    auto const both = plan.fuse(plan.loop_of("i"), plan.loop_of("j"));
    CHECK(refuses(plan, [&] { plan.split(both, 4); }));
    CHECK(refuses(plan, [&] { plan.unroll(both); }));
    CHECK(refuses(plan, [&] { plan.vectorize(both); }));
    plan.parallel(both);
    CHECK(plan.finish().parallel_extent() == 48);
}

TEST_CASE("a nest is finished only where partial results have a place") {
    auto const finishes = [](auto&& steps) {
        schedule plan{small_product()};
        steps(plan, plan.loop_of("i"), plan.loop_of("j"), plan.loop_of("k"));
        return !refuses(plan, [&] { static_cast<void>(plan.finish()); });
    };
    CHECK(finishes([](auto&, auto, auto, auto) {}));
    CHECK_FALSE(finishes([](auto& p, auto i, auto j, auto k) { p.reorder({i, k, j}); }));
    CHECK(finishes([](auto& p, auto i, auto j, auto k) { p.reorder({i, k, j}), p.unroll(j); }));
    CHECK(finishes([](auto& p, auto i, auto j, auto k) { p.reorder({i, k, j}), p.vectorize(j); }));
    CHECK_FALSE(finishes([](auto& p, auto, auto j, auto) { p.vectorize(j); }));
    CHECK_FALSE(finishes([](auto& p, auto, auto j, auto) { p.parallel(j); }));
    CHECK_FALSE(finishes([](auto& p, auto i, auto j, auto k) { p.reorder({i, k, j}), p.parallel(j); }));
    CHECK(finishes([](auto& p, auto i, auto j, auto) { p.parallel(i), p.parallel(j); }));
}

TEST_CASE("a nest is printed as loops") {
    schedule plan{small_product()};
    auto const [outer, inner] = plan.split(plan.loop_of("i"), 4);
    auto const [blocks, lane] = plan.split(plan.loop_of("j"), 4);
    auto const k = plan.loop_of("k");
    plan.reorder({outer, blocks, k, inner, lane});
    plan.parallel(plan.fuse(outer, blocks));
    plan.unroll(inner);
    plan.vectorize(lane);
    CHECK(to_string(plan.finish()) == "parallel i_o_j_o in 4:\n"
                                      "  i_o = i_o_j_o / 2 % 2\n"
                                      "  j_o = i_o_j_o / 1 % 2\n"
                                      "  for k in 5:  # reduction\n"
                                      "    unrolled i_i in 4:\n"
                                      "      vectorized j_i in 4:\n"
                                      "        where 0 <= 4*i_o + i_i < 6\n"
                                      "        sum += (a[4*i_o + i_i, k] * b[k, 4*j_o + j_i])  # from 0\n"
                                      "        c[4*i_o + i_i, 4*j_o + j_i] = max(sum, 0)\n");
}

TEST_CASE("all parts of a loop that was fused twice are printed, each after what it is of") {
    loop::expression_builder e{"copy"};
    auto const a = e.spatial("a", 2), b = e.spatial("b", 3), c = e.spatial("c", 4);
    auto const x = e.input("x", {2, 3, 4}), y = e.output("y", {2, 3, 4});
    schedule plan{e.store(y, {a, b, c}, e.at(x, {a, b, c}))};
    plan.fuse(plan.fuse(plan.loop_of("a"), plan.loop_of("b")), plan.loop_of("c"));
    CHECK(to_string(plan.finish()) == "for a_b_c in 24:\n"
                                      "  a_b = a_b_c / 4 % 6\n"
                                      "  c = a_b_c / 1 % 4\n"
                                      "  a = a_b / 3 % 2\n"
                                      "  b = a_b / 1 % 3\n"
                                      "  y[a, b, c] = x[a, b, c]\n");
}

// Rows of y, each chosen by an integer, get the elements of a.
loop::tensor_expression scattered_rows(std::int64_t window = 0) {
    loop::expression_builder e{"scatter"};
    auto const p = e.spatial("p", 5), i = e.spatial("i", 7), x = e.spatial("x", 12);
    auto const at = e.input("at", {7}, dtype::i64), a = e.input("a", {5, 7, 12});
    auto const y = e.output("y", {20 * 12}), status = e.output("status", {1}, dtype::i32);
    auto const row = e.choose(at, {i}, 20, status);
    if (window > 0) e.restrict_domain({row - p * window, window});
    return e.store(y, {row * 12 + x}, e.at(a, {p, i, x}));
}

TEST_CASE("positions that may store to one chosen place run serially, in the order of the axes") {
    auto const finishes = [](loop::tensor_expression what, auto&& plan_it) {
        schedule plan{std::move(what)};
        plan_it(plan);
        try {
            static_cast<void>(plan.finish());
            return true;
        } catch (error const& e) {
            CHECK(e.id() == errors::kernel_schedule);
            return false;
        }
    };
    auto const nothing = [](schedule&) {};
    CHECK(finishes(scattered_rows(), nothing));
    // Elements of a row never meet, however they are split.
    CHECK(finishes(scattered_rows(), [](schedule& s) { s.vectorize(s.split(s.loop_of("x"), 8).second); }));
    CHECK(finishes(scattered_rows(), [](schedule& s) {
        auto const [outer, inner] = s.split(s.loop_of("x"), 8);
        s.reorder({outer, s.loop_of("p"), s.loop_of("i"), inner});
        s.parallel(outer), s.vectorize(inner);
    }));
    // Integers may be equal, and nothing tells p apart.
    CHECK_FALSE(finishes(scattered_rows(), [](schedule& s) { s.parallel(s.loop_of("p")); }));
    CHECK_FALSE(finishes(scattered_rows(), [](schedule& s) { s.unroll(s.loop_of("i")); }));
    CHECK_FALSE(finishes(scattered_rows(), [](schedule& s) { static_cast<void>(s.split(s.loop_of("i"), 2)); }));
    CHECK_FALSE(finishes(scattered_rows(), [](schedule& s) {
        s.reorder({s.loop_of("i"), s.loop_of("p"), s.loop_of("x")});
    }));
    CHECK_FALSE(
        finishes(scattered_rows(), [](schedule& s) { static_cast<void>(s.fuse(s.loop_of("p"), s.loop_of("i"))); }));
    // Each position on p stores rows of its own where a bound says so.
    CHECK(finishes(scattered_rows(4), [](schedule& s) { s.parallel(s.loop_of("p")); }));
    CHECK(finishes(scattered_rows(4), [](schedule& s) {
        s.reorder({s.loop_of("p"), s.loop_of("x"), s.loop_of("i")});
        s.parallel(s.fuse(s.loop_of("p"), s.loop_of("x")));
    }));
    CHECK_FALSE(finishes(scattered_rows(4), [](schedule& s) {
        s.reorder({s.loop_of("i"), s.loop_of("p"), s.loop_of("x")});
        s.parallel(s.loop_of("i"));
    }));
    // Rows that overlap, of which elements may meet.
    auto overlapping = scattered_rows(4);
    overlapping.target.index[0] = loop::affine::of(3) + loop::affine::of(2);
    CHECK_FALSE(finishes(overlapping, [](schedule& s) { s.vectorize(s.loop_of("x")); }));
    CHECK(to_string(schedule{scattered_rows()}.finish()).find("at_at = at[i] below 20") != std::string::npos);
}

TEST_CASE("schedules of a scatter compute it") {
    auto const what = scattered_rows(4);
    schedule plan{what};
    auto const [outer, inner] = plan.split(plan.loop_of("x"), 8);
    plan.reorder({plan.loop_of("p"), outer, plan.loop_of("i"), inner});
    plan.vectorize(inner);
    auto expected = interpret::random_data(what, 3), actual = expected;
    interpret::run(what, expected);
    std::map<std::size_t, int> stored, steps;
    interpret::run(plan.finish(), actual, stored, steps);
    CHECK(actual == expected);
}

} // namespace schedule_test
