#include "catch.hpp"
#include "loop/random_schedule.hpp"
#include "oracles/interpreted_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace lower_test {

using namespace gsub;
using codegen::lower;
using loop::affine;
using loop::schedule;

TEST_CASE("any legal schedule becomes a kernel that computes the expression") {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        random_stream r{seed};
        auto const lanes = std::int64_t{4} << r.below(3);
        auto const what = random_schedule::computation(r, lanes);
        auto const nest = random_schedule::nest(what, r, {.lanes = lanes});
        CAPTURE(seed, to_string(nest));
        auto const k = lower(nest, "k", {.max_ranges = static_cast<std::int32_t>(1 + r.below(8))}).value();
        CHECK(k.lanes == lanes);
        CHECK(k.parallel_extent == nest.parallel_extent());
        CHECK((k.parallel < 0) == (nest.parallel_loops() == 0));
        CHECK(interpreted_kernel::difference(k, what, seed) == "");
    }
}

TEST_CASE("what is not supported is refused, never computed wrong") {
    std::size_t refused = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        random_stream r{seed};
        auto const what = random_schedule::computation(r, 4);
        auto const nest =
            random_schedule::nest(what, r, {.lanes = 4, .split_reductions_anyhow = true, .nested_splits = true});
        CAPTURE(seed, to_string(nest));
        auto const k = lower(nest, "k");
        if (k) {
            CHECK(interpreted_kernel::difference(*k, what, seed) == "");
        } else {
            ++refused;
            CHECK(k.error().id() == errors::kernel_form);
        }
    }
    CHECK(refused < 500);
}

// y[i, x] = a[i, x], with `stride` between the elements that are read.
loop::tensor_expression strided_copy(std::int64_t stride) {
    loop::expression_builder e{"copy"};
    auto const i = e.spatial("i", 3), x = e.spatial("x", 8);
    auto const a = e.input("a", {3, 8 * stride}), y = e.output("y", {3, 8});
    return e.store(y, {i, x}, e.at(a, {i, x * stride}));
}

TEST_CASE("an integer chooses the entry that a load reads, for a vector or for each lane") {
    for (auto const each : {false, true})
        for (auto const integers : {dtype::i32, dtype::i64})
            for (std::int64_t const entries : {2, 9}) { // with 2, some are out of range
                loop::expression_builder e{"gather"};
                auto const i = e.spatial("i", 5), x = e.spatial("x", 11);
                auto const from = e.input("from", {entries * 13}), chosen = e.input("chosen", {11}, integers);
                auto const y = e.output("y", {5, 11}), status = e.output("status", {1}, dtype::i32);
                auto const by = e.at(chosen, {each ? x : i});
                auto const what = e.store(y, {i, x}, e.at(from, {x}, by, entries, 13, status));
                schedule plan{what};
                plan.vectorize(plan.split(plan.loop_of("x"), 4).second);
                auto const nest = plan.finish();
                CHECK(to_string(nest).find("of entry chosen[") != std::string::npos);
                auto const k = lower(nest, "k").value();
                CHECK((to_string(k).find("gather") != std::string::npos) == each);
                auto expected = interpret::random_data(what, 3), actual = expected;
                interpret::run(what, expected);
                interpreted_kernel::machine m{k, actual};
                m.run(0, 1);
                CHECK(actual[2] == expected[2]);
                CHECK((actual[3] != expected[3]) == (entries == 2));
            }
}

TEST_CASE("an integer chooses where a row is stored, or added, one after another") {
    for (auto const integers : {dtype::i32, dtype::i64})
        for (std::int64_t const entries : {2, 9}) // with 2, some are out of range
            for (auto const adds : {false, true})
                for (std::int64_t const window : {0, 3}) {
                    loop::expression_builder e{"scatter"};
                    auto const o = e.spatial("o", 4), p = e.spatial("p", 3), i = e.spatial("i", 25);
                    auto const x = e.spatial("x", 11);
                    auto const from = e.input("from", {4, 25, 11}), at = e.input("at", {25}, integers);
                    auto const y = e.output("y", {4, entries, 11}), status = e.output("status", {1}, dtype::i32);
                    e.restrict_domain({o, 3});
                    auto const row = e.choose(at, {i}, entries, status);
                    if (window > 0) e.restrict_domain({row - p * window, window});
                    auto const update = e.at(from, {o, i, x});
                    auto const what = e.store(y, {o, row, x}, adds ? e.at(y, {o, row, x}) + update : update);
                    schedule plan{what};
                    auto const lane = plan.split(plan.loop_of("x"), 4).second;
                    if (window > 0) plan.parallel(plan.fuse(plan.loop_of("o"), plan.loop_of("p")));
                    plan.vectorize(lane);
                    auto const k = lower(plan.finish(), "k").value();
                    CHECK(to_string(k).find("at_at = at[i] below") != std::string::npos);
                    auto expected = interpret::random_data(what, 3);
                    std::fill(expected[2].begin(), expected[2].end(), 1);
                    auto actual = expected;
                    interpret::run(what, expected);
                    interpreted_kernel::machine m{k, actual};
                    m.run(0, k.parallel_extent);
                    CHECK(actual[2] == expected[2]);
                    CHECK(actual[3] == expected[3]);
                    CHECK((actual[3][0] == 1) == (entries == 2));
                }
}

TEST_CASE("a load has zeros in the last lanes where its bound ends within a vector") {
    loop::expression_builder e{"filled up"};
    auto const i = e.spatial("i", 3), x = e.spatial("x", 8);
    auto const a = e.input("a", {13}), y = e.output("y", {3, 8});
    auto const what = e.store(y, {i, x}, e.at(a, {i * 8 + x}, {{i * 8 + x, 13}}));
    schedule plan{what};
    plan.vectorize(plan.loop_of("x"));
    CHECK(interpreted_kernel::difference(lower(plan.finish(), "k").value(), what, 1) == "");
}

TEST_CASE("a nest needs one vectorised loop and at most one parallel loop") {
    schedule plain{strided_copy(1)};
    CHECK(lower(plain.finish(), "k").error().id() == errors::kernel_schedule);

    schedule two{strided_copy(1)};
    auto const [blocks, lane] = two.split(two.loop_of("x"), 4);
    two.parallel(two.loop_of("i"));
    two.parallel(blocks);
    two.vectorize(lane);
    CHECK(lower(two.finish(), "k").error().id() == errors::kernel_schedule);
}

TEST_CASE("vectors are read with any step, and stored where elements follow each other") {
    auto const lowered = [](loop::tensor_expression what, std::string_view vectorised) {
        schedule plan{std::move(what)};
        auto const v = plan.loop_of(vectorised);
        auto const other = plan.loop_of(vectorised == "x" ? "i" : "x");
        plan.reorder({other, v});
        plan.vectorize(v);
        return lower(plan.finish(), "k");
    };
    CHECK(lowered(strided_copy(1), "x").has_value());
    CHECK(interpreted_kernel::difference(lowered(strided_copy(2), "x").value(), strided_copy(2), 1) == "");
    CHECK(lowered(strided_copy(1), "i").error().code() == error_code::unsupported);
}

TEST_CASE("a bound that depends on the vectorised loop is not supported") {
    loop::expression_builder e{"shifted"};
    auto const x = e.spatial("x", 8), k = e.reduction("k", 3);
    auto const a = e.input("a", {8}), y = e.output("y", {8});
    schedule plan{e.store(y, {x}, e.sum(e.constant(0), e.at(a, {x + k - affine{1}}), {{x + k - affine{1}, 8}}))};
    plan.reorder({plan.loop_of("k"), plan.loop_of("x")});
    plan.vectorize(plan.loop_of("x"));
    CHECK(lower(plan.finish(), "k").error().id() == errors::kernel_form);
}

loop::tensor_expression row_sums(std::int64_t n) {
    loop::expression_builder e{"sums"};
    auto const x = e.spatial("x", 4), k = e.reduction("k", n);
    auto const a = e.input("a", {n, 4}), y = e.output("y", {4});
    return e.store(y, {x}, e.sum(e.constant(0), e.at(a, {k, x})));
}

TEST_CASE("a reduction may be split by a factor that does not divide") {
    for (std::int64_t const factor : {2, 3, 4, 5, 7})
        for (auto const unrolled : {false, true}) {
            CAPTURE(factor, unrolled);
            auto const what = row_sums(5);
            schedule plan{what};
            auto const x = plan.loop_of("x");
            auto const [outer, inner] = plan.split(plan.loop_of("k"), factor);
            plan.reorder({outer, inner, x});
            if (unrolled) plan.unroll(outer), plan.unroll(inner);
            plan.vectorize(x);
            CHECK(interpreted_kernel::difference(lower(plan.finish(), "k").value(), what, 1) == "");
        }
}

// A row of windows of three taps, with one element of padding on both sides, read forwards or backwards.
loop::tensor_expression row_windows(std::int64_t n, bool backwards = false) {
    loop::expression_builder e{"windows"};
    auto const x = e.spatial("x", n), lane = e.spatial("lane", 4), k = e.reduction("k", 3);
    auto const a = e.input("a", {n, 4}), y = e.output("y", {n, 4});
    auto const at = (backwards ? affine{n - 1} - x : x) + k - affine{1};
    return e.store(y, {x, lane}, e.sum(e.constant(0), e.at(a, {at, lane}), {{at, n}}));
}

TEST_CASE("conditions are decided while lowering, where ranges allow it") {
    for (auto const backwards : {false, true}) {
        CAPTURE(backwards);
        auto const what = row_windows(24, backwards);
        schedule plan{what};
        auto const [outer, inner] = plan.split(plan.loop_of("x"), 6);
        auto const taps = plan.loop_of("k"), lane = plan.loop_of("lane");
        plan.reorder({outer, taps, inner, lane});
        plan.unroll(taps);
        plan.unroll(inner);
        plan.vectorize(lane);
        auto const nest = plan.finish();
        // The first tile, those between, the last one.
        auto const cut = lower(nest, "k").value();
        CHECK(to_string(cut).find("if") == std::string::npos);
        CHECK(to_string(cut).find("for x_o in 1 .. 3:") != std::string::npos);
        CHECK(cut.live == 6);
        // One range: tested while it runs.
        auto const tested = lower(nest, "k", {.max_ranges = 1}).value();
        CHECK(to_string(tested).find("for x_o in 0 .. 4:") != std::string::npos);
        auto const test = backwards ? "if 0 <= -6*x_o + 24 < 24:" : "if 0 <= 6*x_o - 1 < 24:";
        CHECK(to_string(tested).find(test) != std::string::npos);
        for (auto const* k : {&cut, &tested}) CHECK(interpreted_kernel::difference(*k, what, 1) == "");
    }
}

TEST_CASE("limits of a reduction loop take over the bounds that it decides") {
    auto const what = row_windows(9);
    schedule plan{what};
    auto const x = plan.loop_of("x"), taps = plan.loop_of("k"), lane = plan.loop_of("lane");
    plan.reorder({x, taps, lane});
    plan.vectorize(lane);
    auto const k = lower(plan.finish(), "k", {.max_ranges = 1}).value();
    CHECK(to_string(k).find("for k in max(0, -x + 1) .. min(3, -x + 10):") != std::string::npos);
    CHECK(to_string(k).find("if") == std::string::npos);
    CHECK(interpreted_kernel::difference(k, what, 1) == "");
}

TEST_CASE("a parallel loop knows its own tail") {
    for (std::int64_t n = 1; n < 80; ++n) {
        CAPTURE(n);
        loop::expression_builder e{"copy"};
        auto const x = e.spatial("x", n);
        auto const a = e.input("a", {n}), y = e.output("y", {n});
        auto const what = e.store(y, {x}, e.at(a, {x}));
        schedule plan{what};
        auto const [vectors, lane] = plan.split(plan.loop_of("x"), 4);
        auto const pieces = plan.split(vectors, 3).first;
        plan.parallel(pieces);
        plan.vectorize(lane);
        CHECK(interpreted_kernel::difference(lower(plan.finish(), "k").value(), what, 1) == "");
    }
}

// y[4 i + k] = x[4 i + k - 1] + x[4 i + k + 1] as four elements a position, zero outside; four lanes each.
loop::tensor_expression four_elements(std::int64_t n) {
    loop::expression_builder e{"four"};
    auto const i = e.spatial("i", (n + 3) / 4), lane = e.spatial("lane", 4);
    auto const x = e.input("x", {n, 4}), y = e.output("y", {n, 4});
    auto const read = [&](loop::affine const& at) { return e.at(x, {at, lane}, {{at, n}}); };
    auto const sum = [&](loop::affine const& at) { return read(at - 1) + read(at + 1); };
    for (std::int64_t k = 1; k < 4; ++k) e.also_store(y, {i * 4 + k, lane}, sum(i * 4 + k), {{i * 4 + k, n}});
    return e.store(y, {i * 4, lane}, sum(i * 4), {{i * 4, n}});
}

TEST_CASE("several elements a position are stored within their bounds, in one branch where none is outside") {
    for (std::int64_t n = 1; n < 60; ++n)
        for (std::int32_t const ranges : {1, 8})
            for (std::int64_t const factor : {1, 2, 3}) {
                CAPTURE(n, ranges, factor);
                auto const what = four_elements(n);
                schedule plan{what};
                plan.parallel(plan.split(plan.loop_of("i"), factor).first);
                plan.vectorize(plan.loop_of("lane"));
                auto const k = lower(plan.finish(), "k", {.max_ranges = ranges}).value();
                CHECK(interpreted_kernel::difference(k, what, 1) == "");
                if (n > 24 && n % 4 != 0 && ranges == 1) CHECK(to_string(k).find("else:") != std::string::npos);
            }
}

TEST_CASE("where a check is not finite the fallback replaces what was stored, within its own bounds") {
    std::int64_t const n = 9;
    loop::expression_builder e{"copy"};
    auto const i = e.spatial("i", n), lane = e.spatial("lane", 4);
    auto const x = e.input("x", {n, 4}), y = e.output("y", {n, 4});
    auto const read = e.at(x, {i, lane});
    e.guard(read, {n - 1 - i});
    schedule plan{e.store(y, {i, lane}, read)};
    plan.parallel(plan.split(plan.loop_of("i"), 2).first);
    plan.vectorize(plan.loop_of("lane"));
    auto const first = plan.finish();
    loop::expression_builder instead{"sevens", first.what.buffers};
    auto const back = instead.spatial("back", n), at = instead.spatial("lane", 4);
    schedule sevens{instead.store(y, {n - 1 - back, at}, instead.constant(7), {{n - 1 - back, n - 1}})};
    sevens.vectorize(sevens.loop_of("lane"));
    loop::fused_nest nest{first};
    nest.fallback([of = sevens.finish()] { return of; });
    auto const k = lower(nest, "k").value();
    CHECK(to_string(k).find("fallback") != std::string::npos);
    constexpr auto infinity = std::numeric_limits<double>::infinity();
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        random_stream r{seed};
        interpret::arrays data{std::vector<double>(36), std::vector<double>(36)};
        for (auto& v : data[0]) v = r.below(6) == 0 ? infinity : static_cast<double>(r.below(9));
        interpreted_kernel::machine{k, data}.run(0, k.parallel_extent);
        for (std::size_t row = 0; row < 9; ++row) {
            auto const* const from = data[0].data() + 4 * row;
            auto const rescued = row < 8 && std::any_of(from, from + 4, [](double v) { return v == infinity; });
            for (std::size_t l = 0; l < 4; ++l) CHECK(data[1][4 * row + l] == (rescued ? 7 : from[l]));
        }
    }
}

TEST_CASE("lanes read where a table says, from as many vectors as that takes") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        random_stream r{seed};
        std::int64_t const rows = 3, copies = 2, width = r.below(2) ? 16 : 18; // whole vectors, or not
        std::vector<std::int64_t> table;
        for (int i = 0; i < copies * 4; ++i) table.push_back(static_cast<std::int64_t>(r.below(16)));
        loop::expression_builder e{"picked"};
        auto const row = e.spatial("row", rows), copy = e.spatial("copy", copies), lane = e.spatial("lane", 4);
        auto const x = e.input("x", {rows, width}), y = e.output("y", {rows, copies, 4});
        auto const v = e.at(x, {row, 0}, {copy * 4 + lane, table});
        schedule plan{e.store(y, {row, copy, lane}, v)};
        auto const text = to_string(plan.finish());
        CHECK(text.find("table[") != std::string::npos);
        plan.vectorize(plan.loop_of("lane"));
        auto const looped = lower(plan.finish(), "k"); // the place of a lane is no constant
        REQUIRE(!looped);
        CHECK(looped.error().code() == error_code::unsupported);
        plan.unroll(plan.loop_of("copy"));
        auto const nest = plan.finish();
        CHECK(interpreted_kernel::difference(lower(nest, "k").value(), nest.what, seed) == "");
    }
}

} // namespace lower_test
