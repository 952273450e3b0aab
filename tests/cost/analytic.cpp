#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/ir/traversal.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace analytic_test {

using namespace gsub;
using cost::flop_count;

struct one_node {
    graph g;
    node_id n;
};

template <class Op>
one_node apply(attributes_of<Op> const& a, std::vector<ints> const& operands, std::size_t results = 1) {
    one_node out;
    graph_builder b{out.g};
    std::vector<value_id> values;
    for (auto const& dims : operands) {
        shape s;
        for (auto d : dims) s.push_back(dim{d});
        values.push_back(b.input(dtype::f32, s, {}));
    }
    auto const y = b.add<Op>(a, values, results);
    out.n = y.node;
    b.outputs({y});
    return out;
}
template <class Op>
double flop(attributes_of<Op> const& a, std::vector<ints> const& operands, std::size_t results = 1) {
    auto const made = apply<Op>(a, operands, results);
    return flop_count(made.g, made.n);
}

// Equal but for the order of additions.
bool close(double a, double b) {
    return std::abs(a - b) <= 1e-12 * std::abs(b);
}

// Multiplications of a convolution, counted one by one; those with pads count too.
double taps_one_by_one(ints const& x, ints const& w, attributes_of<ops::conv> const& a) {
    double count = 0;
    for (std::int64_t n = 0; n < x[0]; ++n)
        for (std::int64_t o = 0; o < w[0]; ++o)
            for (std::int64_t i = -a.pads[0]; i + (w[2] - 1) * a.dilations[0] < x[2] + a.pads[2]; i += a.strides[0])
                for (std::int64_t j = -a.pads[1]; j + (w[3] - 1) * a.dilations[1] < x[3] + a.pads[3]; j += a.strides[1])
                    for (std::int64_t c = 0; c < x[1] / a.group; ++c) count += static_cast<double>(w[2] * w[3]);
    return count;
}

TEST_CASE("a convolution takes two operations a tap, and one an output for its activation") {
    random_stream r{1};
    auto const pick = [&](std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(high - low + 1)));
    };
    for (int i = 0; i < 100; ++i) {
        auto const group = pick(1, 3);
        ints const x{pick(1, 2), group * pick(1, 3), pick(5, 9), pick(5, 9)};
        ints const w{group * pick(1, 3), x[1] / group, pick(1, 3), pick(1, 3)};
        attributes_of<ops::conv> a;
        a.group = group;
        a.strides = {pick(1, 2), pick(1, 2)}, a.dilations = {pick(1, 2), pick(1, 2)};
        a.pads = {pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)};
        auto const made = apply<ops::conv>(a, {x, w});
        auto const counted = 2 * taps_one_by_one(x, w, a);
        CHECK(flop_count(made.g, made.n) == counted);
        a.act = activation::relu;
        CHECK(flop<ops::conv>(a, {x, w}) == counted + double(*made.g.type({made.n, 0}).elements()));
    }
}

TEST_CASE("products take two operations a term, whatever is transposed or batched") {
    CHECK(flop<ops::mat_mul>({}, {{3, 5}, {5, 7}}) == 2 * 3 * 5 * 7);
    CHECK(flop<ops::mat_mul>({}, {{5}, {5, 7}}) == 2 * 5 * 7);
    CHECK(flop<ops::mat_mul>({}, {{3, 5}, {5}}) == 2 * 3 * 5);
    CHECK(flop<ops::mat_mul>({}, {{4, 1, 3, 5}, {2, 5, 7}}) == 2 * 8 * 3 * 5 * 7);
    CHECK(flop<ops::einsum>({.equation = "bij,bjk->bik"}, {{8, 3, 5}, {1, 5, 7}}) == 2 * 8 * 3 * 5 * 7);
    for (bool ta : {false, true})
        for (bool tb : {false, true})
            CHECK(flop<ops::gemm>({.transpose_a = ta, .transpose_b = tb},
                                  {ta ? ints{5, 3} : ints{3, 5}, tb ? ints{7, 5} : ints{5, 7}}) == 2 * 3 * 5 * 7);
}

TEST_CASE("other operators take one operation an element and operand, movers of elements none") {
    CHECK(flop<ops::relu>({}, {{2, 3}}) == 6);
    CHECK(flop<ops::add>({}, {{2, 3}, {3}}) == 6);
    CHECK(flop<ops::sum>({}, {{2, 3}, {2, 3}, {2, 3}}) == 12);
    CHECK(flop<ops::softmax>({}, {{2, 3}}) == 6);
    CHECK(flop<ops::batch_norm>({}, {{2, 3, 4}, {3}, {3}, {3}, {3}}) == 2 * 24);
    attributes_of<ops::max_pool> a;
    a.kernel_shape = {2, 3}, a.strides = {2, 1}, a.dilations = {1, 1}, a.pads = {0, 0, 0, 0};
    CHECK(flop<ops::max_pool>(a, {{1, 5, 4, 4}}) == 5 * 2 * 2 * 6);
    CHECK(flop<ops::global_average_pool>({}, {{1, 5, 4, 4}}) == 5 * 16);
    CHECK(flop<ops::transpose>({.perm = {1, 0}}, {{2, 3}}) == 0);
    CHECK(flop<ops::concat>({.axis = 0}, {{2, 3}, {4, 3}}) == 0);
    CHECK(flop<ops::split>({.axis = 0, .sizes = {1, 3}}, {{4}}, 2) == 0);
    CHECK(flop<ops::reshape>({.shape = {6}}, {{2, 3}}) == 0);
}

TEST_CASE("bytes moved are those of each operand once and of each result") {
    auto const product = apply<ops::mat_mul>({}, {{3, 5}, {5, 7}});
    CHECK(cost::bytes_moved(product.g, product.n) == 4 * (15 + 35 + 21));
    auto const parts = apply<ops::split>({.axis = 0, .sizes = {1, 3}}, {{4}}, 2);
    CHECK(cost::bytes_moved(parts.g, parts.n) == 4 * (4 + 4));
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f16, {8}, "x");
    auto const square = b.add<ops::mul>(x, x);
    auto const wide = b.add<ops::cast>({.to = dtype::f64}, {square});
    auto const clipped = b.add<ops::clip>({}, {wide, {}, b.constant(tensor::scalar(1.0))});
    b.outputs({clipped});
    CHECK(cost::bytes_moved(g, square.node) == 2 * (8 + 8));
    CHECK(cost::bytes_moved(g, wide.node) == 2 * 8 + 8 * 8);
    CHECK(cost::bytes_moved(g, clipped.node) == 8 * (8 + 1 + 8));
}

TEST_CASE("what an operator of many operands reads counts once for each value") {
    for (std::size_t const count : {15u, 16u, 17u, 40'000u}) {
        CAPTURE(count);
        graph g;
        graph_builder b{g};
        auto const x = b.input(dtype::f32, {2}, "x");
        std::vector<value_id> operands;
        for (std::size_t i = 0; i < count; ++i)
            operands.push_back(i % 3 == 0 ? x : b.input(dtype::f32, {2}, std::to_string(i)));
        auto const y = b.add<ops::sum>({}, operands);
        b.outputs({y});
        auto const different = count - (count + 2) / 3 + 1;
        CHECK(cost::bytes_moved(g, y.node) == 8 * static_cast<double>(different + 1));
    }
}

TEST_CASE("sizes that are not known count nothing") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {dim{symbol{"batch"}}, 4}, "x");
    auto const y = b.add<ops::relu>(x);
    b.outputs({b.add<ops::mat_mul>(y, b.constant(tensor::zeros(dtype::f32, ints{4, 4})))});
    CHECK(flop_count(g, y.node) == 0);
    CHECK(cost::bytes_moved(g, y.node) == 0);
    CHECK(cost::flop_cost{}(g).amount == 0);
    CHECK(cost::byte_cost{}(g).amount == 4 * 16); // the weight
}

TEST_CASE("inputs, constants, weight arithmetic and views cost nothing, a split as the machine wants") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 6}, "x");
    auto const w = b.add<ops::relu>(b.constant(tensor::zeros(dtype::f32, ints{2, 6})));
    auto const sum = b.add<ops::add>(x, w);
    auto const flat = b.add<ops::reshape>({.shape = {12}}, {sum});
    auto const parts = b.add<ops::split>({.axis = 0, .sizes = {4, 8}}, {flat}, 2);
    b.outputs({parts, {parts.node, 1}});
    for (auto splits : {cost::split_lowering::view, cost::split_lowering::copy})
        for (auto n : g.order())
            CHECK(cost::is_executed(g, n, splits) ==
                  (n == sum.node || (n == parts.node && splits == cost::split_lowering::copy)));
    CHECK(cost::flop_cost{}(g).amount == 12);
    CHECK(cost::byte_cost{}(g).amount == 4 * 36);
    CHECK(cost::byte_cost{.splits = cost::split_lowering::copy}(g).amount == 4 * (36 + 24));
    cost::roofline const m{.launch = 1, .flop_per_second = 1, .bytes_per_second = 1e9};
    CHECK(m(g).amount == 1 + 12);
    cost::roofline const n{1, 1, 1, cost::split_lowering::copy};
    CHECK(n(g).amount == (1 + 4 * 36) + (1 + 4 * 24));
}

TEST_CASE("additive models are the sum over nodes, and a roofline is launch plus the slower of its two roofs") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 30);
        random_stream r{seed};
        cost::roofline const m{r.uniform(0, 2), r.uniform(0.5, 2), r.uniform(1, 20),
                               r.below(2) ? cost::split_lowering::view : cost::split_lowering::copy};
        double flops = 0, moved = 0, time = 0;
        for (auto n : g.order()) {
            if (cost::is_executed(g, n)) flops += flop_count(g, n), moved += cost::bytes_moved(g, n);
            if (!cost::is_executed(g, n, m.splits)) {
                CHECK(m(g, n).amount == 0);
                continue;
            }
            auto const roof =
                std::max(flop_count(g, n) / m.flop_per_second, cost::bytes_moved(g, n) / m.bytes_per_second);
            CHECK(close(m(g, n).amount, m.launch + roof));
            time += m(g, n).amount;
        }
        CHECK(close(cost::flop_cost{}(g).amount, flops));
        CHECK(close(cost::byte_cost{}(g).amount, moved));
        CHECK(close(m(g).amount, time));
    }
}

// The definition: a value lives from where it is made to its last reader, outputs to the end, inputs from the start,
// and views prolong the life of what they show.
double peak_by_definition(any_graph const& g) {
    auto const order = g.order();
    std::map<node_id, node_id> shown; // a view and the node whose memory it is
    struct life {
        std::size_t first, last;
        double bytes;
    };
    std::map<value_id, life> lives;
    for (std::size_t at = 0; at < order.size(); ++at) {
        auto const n = order[at];
        auto const view = (g.op(n).aliasing_view || g.is<ops::split>(n)) && g.operand_count(n) > 0;
        for (auto v : g.operands(n)) {
            if (!v.valid() || g.constant(v)) continue;
            while (shown.contains(v.node)) v = g.operand(v.node, 0);
            if (lives.contains(v)) lives[v].last = at;
        }
        if (g.constant(n) || n == g.return_node()) continue;
        if (view) {
            shown[n] = g.operand(n, 0).node;
            continue;
        }
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            auto const type = g.type({n, port});
            lives[{n, port}] = {g.is<ops::input>(n) ? 0 : at, at,
                                double(*type.elements()) * double(byte_size(type.element))};
        }
    }
    double peak = 0;
    for (std::size_t at = 0; at < order.size(); ++at) {
        double alive = 0;
        for (auto const& entry : lives)
            if (entry.second.first <= at && at <= entry.second.last) alive += entry.second.bytes;
        peak = std::max(peak, alive);
    }
    return peak;
}

TEST_CASE("peak memory is that of the definition, for graphs in any order") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        auto g = random_graph::make(seed, 25);
        CHECK(cost::peak_memory{}(g).amount == peak_by_definition(g));
        g.order_canonically();
        CHECK(cost::peak_memory{}(g).amount == peak_by_definition(g));
    }
}

TEST_CASE("peak memory depends on the order of independent branches") {
    auto const peak = [](bool in_turn) {
        graph g;
        graph_builder b{g};
        auto const x = b.input(dtype::f32, {1}, "x");
        auto const wide = [&] { return b.add<ops::pad>({.pads = {0, 999}}, {x}); };
        auto const narrow = [&](value_id v) {
            return b.add<ops::slice>({.starts = {0}, .ends = {1}, .axes = {0}, .steps = {1}}, {v});
        };
        value_id first = wide(), second;
        if (in_turn)
            first = narrow(first), second = narrow(wide());
        else
            second = wide(), first = narrow(first), second = narrow(second);
        b.outputs({b.add<ops::add>(first, second)});
        return cost::peak_memory{}(g).amount;
    };
    CHECK(peak(true) == 4 * (1 + 1 + 1000));
    CHECK(peak(false) == 4 * (1 + 2000));
}

TEST_CASE("energy is arithmetic and traffic, each at its cost") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const g = random_graph::make(seed, 20);
        auto const flops = cost::flop_cost{}(g).amount, bytes = cost::byte_cost{}(g).amount;
        CHECK(close(cost::energy{2, 0}(g).amount, 2 * flops));
        CHECK(close(cost::energy{0, 3}(g).amount, 3 * bytes));
        CHECK(close(cost::energy{2, 3}(g).amount, 2 * flops + 3 * bytes));
    }
}

} // namespace analytic_test

TEST_CASE("windows of a file that are not checked yet have a number of operations") {
    using namespace analytic_test;
    attributes_of<ops::max_pool> a;
    a.kernel_shape = {2, std::numeric_limits<std::int64_t>::max()}, a.strides = a.dilations = {1, 1};
    a.pads = {0, 0, 0, 0};
    graph g;
    graph_builder b{g};
    tensor_type unranked;
    unranked.element = dtype::f32, unranked.ranked = false;
    auto const y = b.add<ops::max_pool>(a, {g.add_input(unranked, "x")});
    b.outputs({y});
    CHECK(flop_count(g, y.node) >= 0);
}
