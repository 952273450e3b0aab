#include "passes/pass_bench.hpp"
#include <gsub/passes/combine/combine_parallel_batch_matmul.hpp>

namespace parallel_batch_test {

using namespace pass_bench;
constexpr passes::combine_parallel_batch_matmul three{}, two{.min_branches = 2};

TEST_CASE("CombineParallelBatchMatmul P: three branches with biases, of different widths, constant or not") {
    bench n;
    auto const x = n.input({2, 3, 4});
    std::vector<value_id> ends;
    for (std::int64_t const columns : {5, 6, 7}) {
        auto const right = columns == 6 ? n.weight({2, 4, columns}) : n.input({2, 4, columns});
        ends.push_back(n.op<ops::relu>(n.op<ops::add>(n.op<ops::mat_mul>(x, right), n.weight({columns}))));
    }
    CHECK(run(n, ends, three).text == "Concat MatMul Add Relu Split");
}

// N of other transpositions cannot be written: a product of stacks has none in gsub.
TEST_CASE("CombineParallelBatchMatmul N: matrices, other numbers of layers, too few branches") {
    bench n;
    auto const x = n.input({2, 3, 4});
    CHECK_FALSE(run(n, {n.op<ops::mat_mul>(x, n.weight({4, 5})), n.op<ops::mat_mul>(x, n.weight({4, 5}))}, two)
                    .outcome.changed);
    bench layers;
    auto const y = layers.input({3, 4});
    auto const a = layers.op<ops::mat_mul>(y, layers.weight({2, 4, 5})),
               b = layers.op<ops::mat_mul>(y, layers.weight({3, 4, 5}));
    CHECK_FALSE(run(layers, {a, b}, two).outcome.changed);
    bench few;
    auto const z = few.input({2, 3, 4});
    auto const r = run(
        few, {few.op<ops::mat_mul>(z, few.weight({2, 4, 5})), few.op<ops::mat_mul>(z, few.weight({2, 4, 5}))}, three);
    CHECK(r.outcome.skips("fewer branches than asked for") == 1);
}

TEST_CASE("CombineParallelBatchMatmul: products of which one needs another are not joined") {
    bench n;
    auto const x = n.input({2, 4, 4});
    auto const first = n.op<ops::mat_mul>(x, n.input({2, 4, 4}));
    auto const second = n.op<ops::mat_mul>(x, n.op<ops::relu>(first));
    CHECK(run(n, {second}, two).outcome.skips("branches that may depend on each other") == 1);
    bench crossed; // each pair may be joined, both cannot
    auto const u = crossed.input({2, 4, 4}), v = crossed.input({2, 4, 4}), w = crossed.input({2, 4, 4});
    auto const a = crossed.op<ops::mat_mul>(u, w), b = crossed.op<ops::mat_mul>(v, w);
    auto const c = crossed.op<ops::mat_mul>(u, crossed.op<ops::relu>(b)),
               d = crossed.op<ops::mat_mul>(v, crossed.op<ops::relu>(a));
    CHECK_FALSE(run(crossed, {c, d}, two).outcome.changed);
}

TEST_CASE("CombineParallelBatchMatmul: random graphs keep their numbers and settle at once") {
    (void)run_on_random_graphs(two);
}

} // namespace parallel_batch_test
