#include "catch.hpp"
#include <gsub/core/result.hpp>
#include <gsub/loop/fused_nest.hpp>

#include <string>
#include <utility>

namespace fused_nest_test {

using namespace gsub;
using loop::expression_builder;
using loop::fused_nest;
using loop::loop_nest;
using loop::schedule;

// sum[i] of row i of x, in scratch memory; `rows` of them, the loop over them parallel.
std::pair<loop_nest, std::vector<loop::buffer>> row_sums(std::int64_t rows, bool parallel = true) {
    expression_builder e{"sums"};
    auto const i = e.spatial("i", rows), j = e.reduction("j", 8);
    auto const x = e.input("x", {rows, 8}), sum = e.workspace("sum", {1});
    auto known = e.buffers();
    schedule plan{e.store(sum, {loop::affine{0}}, e.sum(e.constant(0), e.at(x, {i, j})))};
    if (parallel) plan.parallel(plan.loop_of("i"));
    plan.vectorize(plan.loop_of("j"));
    return {plan.finish(), std::move(known)};
}

// y[i, j] = x[i, j] / sum
loop_nest quotients(std::int64_t rows, std::vector<loop::buffer> known, bool parallel = true) {
    expression_builder e{"quotients", std::move(known)};
    auto const i = e.spatial("i", rows), j = e.spatial("j", 8);
    auto const y = e.output("y", {rows, 8});
    schedule plan{e.store(y, {i, j}, e.at(0, {i, j}) / e.at(1, {loop::affine{0}}))};
    if (parallel) plan.parallel(plan.loop_of("i"));
    plan.vectorize(plan.loop_of("j"));
    return plan.finish();
}

bool refuses(loop_nest first, loop_nest next, std::size_t shared) {
    fused_nest both{std::move(first)};
    try {
        both.then(std::move(next), shared);
    } catch (error const& e) { return e.code() == error_code::usage && both.stages().size() == 1; }
    return false;
}

TEST_CASE("stages stand within the loops that they share") {
    auto [sums, known] = row_sums(5);
    fused_nest both{sums};
    both.then(quotients(5, known), 1);
    CHECK(both.stages().size() == 2);
    CHECK(both.shared(0) == 0);
    CHECK(both.shared(1) == 1);
    CHECK(both.buffers().size() == 3);
    CHECK(to_string(both).find("then, within 1 of these loops:") != std::string::npos);
}

TEST_CASE("what cannot be shared is refused") {
    auto const [sums, known] = row_sums(5);
    CHECK(refuses(sums, quotients(4, known), 1));        // other extents; and other buffers
    CHECK(refuses(sums, quotients(5, known, false), 1)); // another kind
    CHECK(refuses(sums, quotients(5, known), 0));        // the parallel loop is one
    CHECK(refuses(sums, quotients(5, known), 2));        // a reduction
    CHECK(refuses(sums, quotients(5, known), 3));        // more loops than there are
    CHECK(refuses(sums, row_sums(6).first, 1));          // buffers that differ
    auto const [serial, same] = row_sums(5, false);
    CHECK_FALSE(refuses(serial, quotients(5, same, false), 0));
    CHECK_FALSE(refuses(serial, quotients(5, same, false), 1));
}

TEST_CASE("a fallback follows a guard, over the same buffers, and has loops of its own, none parallel") {
    auto const made = [](bool checked, bool parallel, std::int64_t rows) {
        loop::expression_builder e{"copy"};
        auto const i = e.spatial("i", rows), j = e.spatial("j", 8);
        auto const x = e.input("x", {rows, 8}), y = e.output("y", {rows, 8});
        if (checked) e.guard(e.at(x, {i, j}), {i});
        schedule plan{e.store(y, {i, j}, e.at(x, {i, j}))};
        if (parallel) plan.parallel(plan.loop_of("i"));
        plan.vectorize(plan.loop_of("j"));
        return plan.finish();
    };
    auto const refused = [](loop_nest first, loop_nest instead) {
        fused_nest nest{std::move(first)};
        try {
            nest.fallback([&] { return instead; });
            static_cast<void>(nest.fallback());
        } catch (error const& e) { return e.code() == error_code::usage; }
        return false;
    };
    CHECK_FALSE(refused(made(true, true, 5), made(false, false, 5)));
    CHECK(refused(made(false, true, 5), made(false, false, 5)));
    CHECK(refused(made(true, true, 5), made(false, true, 5)));
    CHECK(refused(made(true, true, 5), made(false, false, 4)));
}

} // namespace fused_nest_test
