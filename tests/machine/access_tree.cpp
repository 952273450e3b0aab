#include "catch.hpp"
#include "loop/random_schedule.hpp"
#include "machine/tree_run.hpp"
#include <gsub/loop/schedule.hpp>
#include <gsub/machine/access_tree.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace access_tree_test {

using namespace gsub;
using namespace gsub::machine;

TEST_CASE("the tree of a matrix product reads in its loops and stores behind them, in the loops of the register tile") {
    loop::expression_builder e{"matmul"};
    auto const i = e.spatial("i", 6), j = e.spatial("j", 8), k = e.reduction("k", 5);
    auto const a = e.input("a", {6, 5}), b = e.input("b", {5, 8}), d = e.input("bias", {8}), c = e.output("c", {6, 8});
    auto const sum = e.sum(e.constant(0), e.at(a, {i, k}) * e.at(b, {k, j}));
    loop::schedule plan{e.store(c, {i, j}, sum + e.at(d, {j}))};
    auto const [rows, row] = plan.split(plan.loop_of("i"), 3);
    auto const columns = plan.loop_of("j"), depth = plan.loop_of("k");
    plan.reorder({rows, depth, row, columns});
    plan.unroll(row);
    plan.vectorize(columns);
    auto const tree = access_tree_of(plan.finish());

    std::map<std::pair<std::string, access_kind>, std::size_t> times;
    tree_run::each(tree, [&](std::size_t access, std::int64_t) {
        auto const& what = tree.accesses()[access];
        ++times[{tree.tensors()[static_cast<std::size_t>(what.of)].name, what.kind}];
    });
    CHECK(times.size() == 4);
    CHECK(times[{"a", access_kind::read}] == 6 * 8 * 5);
    CHECK(times[{"b", access_kind::read}] == 6 * 8 * 5);
    CHECK(times[{"bias", access_kind::read}] == 6 * 8);
    CHECK(times[{"c", access_kind::write}] == 6 * 8);
}

TEST_CASE("trees of random schedules touch what their expressions do, whatever was split, fused and reordered") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        auto const lanes = std::int64_t{1} << r.below(3);
        auto const what = random_schedule::computation(r, lanes);
        auto const touched = [&](loop::loop_nest const& nest) {
            std::set<std::pair<std::string, std::int64_t>> out;
            auto const tree = access_tree_of(nest);
            tree_run::each(tree, [&](std::size_t access, std::int64_t element) {
                auto const& a = tree.accesses()[access];
                out.insert({tree.tensors()[static_cast<std::size_t>(a.of)].name, element});
            });
            return out;
        };
        auto const all = touched(loop::schedule{what}.finish());
        auto const nest = random_schedule::nest(what, r, {.lanes = lanes, .split_reductions_anyhow = true});
        auto const found = touched(nest);
        CHECK(std::includes(found.begin(), found.end(), all.begin(), all.end()));
        if (nest.tails.empty()) CHECK(found == all); // trips of tails that do not exist are kept
    }
}

TEST_CASE("a fused loop is the loops of its indices, the one that changes least often around the others") {
    loop::expression_builder e{"copy"};
    auto const i = e.spatial("i", 3), j = e.spatial("j", 4), k = e.spatial("k", 5);
    auto const a = e.input("a", {3, 4, 5}), c = e.output("c", {3, 4, 5});
    loop::schedule plan{e.store(c, {i, j, k}, e.at(a, {i, j, k}))};
    plan.fuse(plan.fuse(plan.loop_of("i"), plan.loop_of("j")), plan.loop_of("k"));
    auto const tree = access_tree_of(plan.finish());
    std::vector<std::int64_t> extents, elements;
    for (auto const& n : tree.nodes())
        if (n.var >= 0) extents.push_back(n.extent);
    CHECK(extents == std::vector<std::int64_t>{3, 4, 5});
    tree_run::each(tree, [&](std::size_t access, std::int64_t element) {
        if (tree.accesses()[access].writes()) elements.push_back(element);
    });
    REQUIRE(elements.size() == 60);
    CHECK(std::is_sorted(elements.begin(), elements.end()));
}

// Row sums of x into a workspace, then y = x / sum, in one loop over rows that is fused from two.
loop::fused_nest row_quotients(bool other_parts) {
    std::int64_t const outer = 3, inner = 4, columns = 8;
    loop::expression_builder e{"sums"};
    auto const o = e.spatial("o", outer), i = e.spatial("i", inner), j = e.reduction("j", columns);
    auto const x = e.input("x", {outer, inner, columns}), sum = e.workspace("sum", {1});
    auto known = e.buffers();
    loop::schedule first{e.store(sum, {loop::affine{0}}, e.sum(e.constant(0), e.at(x, {o, i, j})))};
    first.parallel(first.fuse(first.loop_of("o"), first.loop_of("i")));

    loop::expression_builder next{"quotients", std::move(known)};
    if (other_parts) { // the same twelve rows as one axis
        auto const row = next.spatial("row", outer * inner), k = next.spatial("k", columns);
        auto const y = next.output("y", {outer * inner, columns});
        loop::schedule second{next.store(y, {row, k}, next.at(sum, {loop::affine{0}}))};
        second.parallel(second.loop_of("row"));
        return std::move(loop::fused_nest{first.finish()}.then(second.finish(), 1));
    }
    auto const p = next.spatial("p", outer), q = next.spatial("q", inner), k = next.spatial("k", columns);
    auto const y = next.output("y", {outer, inner, columns});
    auto const value = next.at(x, {p, q, k}); // first
    loop::schedule second{next.store(y, {p, q, k}, value / next.at(sum, {loop::affine{0}}))};
    second.parallel(second.fuse(second.loop_of("p"), second.loop_of("q")));
    return std::move(loop::fused_nest{first.finish()}.then(second.finish(), 1));
}

TEST_CASE("stages of a fused nest stand one after another in the loops that they share") {
    auto const tree = access_tree_of(row_quotients(false));
    std::vector<std::int64_t> read, order;
    tree_run::each(tree, [&](std::size_t access, std::int64_t element) {
        if (tree.accesses()[access].of == 0) read.push_back(element);
        order.push_back(tree.accesses()[access].of);
    });
    // Each row of x is read twice in a row: by its sum, then by its quotients.
    REQUIRE(read.size() == 2 * 96);
    for (std::size_t n = 0; n < read.size(); ++n) CHECK(read[n] == static_cast<std::int64_t>(n / 16 * 8 + n % 8));
    std::vector<std::int64_t> const row{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 2};
    CHECK(std::equal(row.begin(), row.end(), order.begin()));
}

TEST_CASE("a stage that takes a shared loop apart otherwise has its own loops, and touches the same") {
    auto const tree = access_tree_of(row_quotients(true));
    std::set<std::int64_t> written;
    tree_run::each(tree, [&](std::size_t access, std::int64_t element) {
        if (tree.accesses()[access].of == 2) written.insert(element);
    });
    CHECK(written.size() == 96);
    CHECK(tree.nodes()[0].children.size() == 2);
}

} // namespace access_tree_test
