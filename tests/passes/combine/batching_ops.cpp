#include "passes/pass_bench.hpp"
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/combine/batching_ops.hpp>

namespace batching_test {

using namespace pass_bench;
constexpr passes::batching_ops all{};

std::vector<value_id> mixed(bench& n, int branches) {
    auto const x = n.image(), y = n.input({3, 4}), z = n.input({2, 3, 4});
    std::vector<value_id> out;
    for (int i = 0; i < branches; ++i) {
        out.push_back(n.conv(x));
        out.push_back(n.op<ops::mat_mul>(y, n.weight({4, 5})));
        out.push_back(n.op<ops::mat_mul>(z, n.weight({2, 4, 5})));
    }
    return out;
}

TEST_CASE("BatchingOps P1, P2: all kinds are joined, as by the three passes one after the other") {
    bench n;
    auto const r = run(n, mixed(n, 3), all);
    CHECK(r.outcome.matches == 3);
    CHECK(count_of(r.g, "Split") == 3);
    auto by_hand = any_graph{n.g};
    pass_context cx;
    CHECK(passes::combine_parallel_conv2d{}(by_hand, cx).value().changed);
    CHECK(passes::combine_parallel_dense{}(by_hand, cx).value().changed);
    CHECK(passes::combine_parallel_batch_matmul{}(by_hand, cx).value().changed);
    CHECK(r.g == by_hand);
}

// N2, nothing at level 3, does not hold: lists of gsub run what they name.
TEST_CASE("BatchingOps N1: two branches are too few") {
    bench n;
    CHECK_FALSE(run(n, mixed(n, 2), all).outcome.changed);
}

TEST_CASE("BatchingOps: twelve groups in BERT, nothing in ResNet") {
    for (auto const& [name, groups] : {std::pair{"bert_base", 12u}, {"resnet50", 0u}}) {
        any_graph g = models::find_model(name)->build(1);
        pass_context cx;
        CHECK(all(g, cx).value().matches == groups);
    }
}

} // namespace batching_test
