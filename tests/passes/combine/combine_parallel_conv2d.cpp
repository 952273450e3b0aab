#include "passes/pass_bench.hpp"
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/combine/combine_parallel_conv2d.hpp>

namespace parallel_conv_test {

using namespace pass_bench;
constexpr passes::combine_parallel_conv2d three{}, two{.min_branches = 2};

TEST_CASE("CombineParallelConv2D P1: convolutions of one kernel size are joined, others and pools are left") {
    bench n;
    auto const x = n.image();
    attributes_of<ops::max_pool> pool;
    pool.kernel_shape = {3, 3}, pool.strides = {1, 1}, pool.dilations = {1, 1}, pool.pads = {1, 1, 1, 1};
    auto const a = n.op<ops::max_pool>(pool, {x});
    auto const c1 = n.conv(x, 4, 1), c2 = n.conv(x, 8, 1), c3 = n.conv(x, 4, 3), c4 = n.conv(x, 7, 1);
    auto const r = run(n, {c1, c2, c3, c4, a}, two);
    CHECK(r.outcome.matches == 1);
    CHECK(count_of(r.g, "Conv") == 2);
    CHECK(count_of(r.g, "MaxPool") == 1);
    auto const cut = r.g.output(0).node;
    CHECK(r.g.attributes<ops::split>(cut).sizes == ints{4, 8, 7});
    CHECK(r.g.output(3) == value_id{cut, 2});
}

TEST_CASE("CombineParallelConv2D P2: shifts and rectifiers that follow all branches go along") {
    bench n;
    auto const x = n.image();
    std::vector<value_id> ends;
    for (std::int64_t channels : {4, 5}) {
        auto const c = n.conv(x, channels, 3, 1, channels == 4 ? n.weight({4}) : value_id{});
        auto const shift = n.weight({channels, 1, 1});
        auto const s = n.op<ops::add>(shift, c);
        ends.push_back(n.op<ops::clip>({.min = 0, .max = 6}, {s}));
    }
    CHECK(run(n, ends, two).text == "Conv Add Clip Split");
}

TEST_CASE("CombineParallelConv2D P3: where the branches go on differently they are parted") {
    auto const text = [](value_id (*second)(bench&, value_id)) {
        bench n;
        auto const x = n.image();
        auto const a = n.conv(x), b = n.conv(x);
        auto const y = n.op<ops::mul>(a, n.weight({4, 1, 1}));
        return run(n, {y, second(n, b)}, two).text;
    };
    CHECK(text([](bench& n, value_id b) { return n.op<ops::mul>(b, n.weight({4, 1, 1})); }) == "Conv Mul Split");
    CHECK(text([](bench& n, value_id b) { return n.op<ops::mul>(b, n.weight({1})); }) == "Conv Split Mul Mul");
    CHECK(text([](bench& n, value_id b) { return n.op<ops::mul>(b, n.weight({1, 4, 1, 1})); }) == "Conv Split Mul Mul");
    CHECK(text([](bench& n, value_id b) { return n.op<ops::mul>(n.weight({4, 1, 1}), b); }) == "Conv Split Mul Mul");
    CHECK(text([](bench& n, value_id b) { return n.op<ops::mul>(b, n.input({4, 1, 1})); }) == "Conv Split Mul Mul");
    CHECK(text([](bench& n, value_id b) { return n.op<ops::mul>(b, b); }) == "Conv Split Mul Mul");
}

TEST_CASE("CombineParallelConv2D P4: blocks one upon the other are each joined once") {
    bench n;
    auto x = n.image();
    for (int i = 0; i < 4; ++i) {
        auto const a = n.op<ops::relu>(n.conv(x, 4)), b = n.op<ops::relu>(n.conv(x, 4));
        x = n.op<ops::add>(a, b);
    }
    auto const r = run(n, {x}, two);
    CHECK(r.outcome.matches == 4);
    CHECK(r.text == "Conv Relu Split Add Conv Relu Split Add Conv Relu Split Add Conv Relu Split Add");
}

TEST_CASE("CombineParallelConv2D N1-N4: too few branches, groups, other windows, other inputs") {
    bench n;
    auto const x = n.image();
    auto const a = n.conv(x), b = n.conv(x);
    auto const r = run(n, {a, b}, three);
    CHECK_FALSE(r.outcome.changed);
    CHECK(r.outcome.skips("fewer branches than asked for") == 1);
    bench groups;
    auto const z = groups.image();
    CHECK_FALSE(
        run(groups, {groups.conv(z, 4, 3, 4), groups.conv(z, 4, 3, 4), groups.conv(z, 4, 3, 2)}, two).outcome.changed);
    bench windows;
    auto const v = windows.image();
    auto strided = bench::window(1), padded = bench::window(1, 1);
    strided.strides = {2, 2};
    auto const w = windows.weight({4, 4, 1, 1});
    auto const p = windows.b.add<ops::conv>(strided, {v, w}), q = windows.b.add<ops::conv>(padded, {v, w});
    CHECK_FALSE(run(windows, {p, q, windows.conv(v, 4, 1)}, two).outcome.changed);
    bench inputs;
    auto const shared = inputs.weight({4, 4, 1, 1});
    auto const s = inputs.b.add<ops::conv>(bench::window(1), {inputs.image(), shared});
    auto const t = inputs.b.add<ops::conv>(bench::window(1), {inputs.image(), shared});
    CHECK_FALSE(run(inputs, {s, t}, two).outcome.changed);
}

TEST_CASE("CombineParallelConv2D N5: weights that are not constant are not put together") {
    bench n;
    auto const x = n.image();
    std::vector<value_id> ends;
    for (int i = 0; i < 3; ++i) ends.push_back(n.b.add<ops::conv>(bench::window(1), {x, n.input({2, 4, 1, 1})}));
    CHECK(run(n, ends, three).outcome.skips("weights that are not constant") == 3);
}

TEST_CASE("CombineParallelConv2D N6: a branch that is an output, or read twice, keeps its value") {
    bench n;
    auto const x = n.image();
    auto const a = n.conv(x), b = n.conv(x), r = n.op<ops::relu>(a), s = n.op<ops::relu>(b);
    CHECK(run(n, {a, r, s}, two).text == "Conv Split Relu Relu");
    bench twice;
    auto const y = twice.image();
    auto const c = twice.conv(y), d = twice.conv(y);
    CHECK(run(twice, {twice.op<ops::relu>(c), twice.op<ops::relu>(d), twice.op<ops::add>(c, d)}, two).outcome.matches ==
          1);
    bench same;
    auto const z = same.image();
    auto const e = same.conv(z);
    CHECK(run(same, {same.op<ops::add>(e, same.conv(z))}, two).text == "Conv Split Add");
}

TEST_CASE("CombineParallelConv2D: the number of branches is the pass's argument in lists") {
    CHECK(passes::combine_parallel_conv2d::from_text("2").value().min_branches == 2);
    for (auto const wrong : {"", "1", "many", "2x"}) CHECK_FALSE(passes::combine_parallel_conv2d::from_text(wrong));
}

TEST_CASE("CombineParallelConv2D: what is joined in networks") {
    struct expectation {
        std::string_view model;
        std::size_t with_two, with_three;
    };
    // SSD: six pairs of locations and scores; and where a stage does not stride, its first block and the way around it.
    for (auto const& [name, pairs, triples] :
         {expectation{"resnet50", 1, 0}, {"mobilenet_v2", 0, 0}, {"ssd_resnet50", 8, 0}}) {
        CAPTURE(name);
        for (auto const& p : {two, three}) {
            any_graph g = models::find_model(name)->build(1);
            pass_context cx;
            CHECK(p(g, cx).value().matches == (p.min_branches == 2 ? pairs : triples));
            CHECK(check(g, stage::imported).empty());
        }
    }
}

TEST_CASE("CombineParallelConv2D: random graphs keep their numbers and settle at once") {
    CHECK(run_on_random_graphs(two) > 5);
}

} // namespace parallel_conv_test
