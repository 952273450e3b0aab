#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "kernel_graphs.hpp"
#include <gsub/core/random.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/lower/fusion.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fusion_test {

using namespace kernel_graphs;

fusion_rules rules_of(any_graph const& g) {
    return fusion_rules_of(g, isa::avx512);
}
// Operators of each group, joined by `+`, in the order of the groups.
std::string names_of(any_graph const& g, std::vector<kernel_group> const& groups) {
    std::string out;
    for (auto const& group : groups) {
        if (!out.empty()) out += ", ";
        for (auto n : group) out += std::string{n == group.front() ? "" : "+"} + std::string{g.op(n).name};
    }
    return out;
}
std::string groups_of(std::string_view body) {
    auto const g = graph_of(body);
    return names_of(g, kernel_groups(g, rules_of(g)));
}
// By node id, the number of its group from 1 on.
std::vector<std::uint32_t> numbered(any_graph const& g, std::vector<kernel_group> const& groups) {
    std::vector<std::uint32_t> out(g.capacity(), 0);
    for (std::uint32_t i = 0; i < groups.size(); ++i)
        for (auto n : groups[i]) out[n.index] = i + 1;
    return out;
}

// Every operator that an output needs is in one group; each group comes after all groups that it reads.
void check_groups(any_graph const& g, std::vector<kernel_group> const& groups) {
    std::map<node_id, std::size_t> group_of;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        CHECK(!groups[i].empty());
        for (auto n : groups[i]) CHECK(group_of.emplace(n, i).second);
        CHECK(std::is_sorted(groups[i].begin(), groups[i].end(),
                             [&](node_id a, node_id b) { return g.place(a) < g.place(b); }));
        for (auto n : groups[i])
            for (auto v : g.operands(n))
                if (auto const from = group_of.find(v.node); from != group_of.end()) CHECK(from->second <= i);
    }
    auto const results = g.return_node();
    auto const needed = upstream(g, {&results, 1});
    for (auto n : g.order()) {
        auto const is_operator = !g.constant(n) && (g.op(n).category != op_category::structural || g.is<ops::call>(n));
        CHECK(group_of.contains(n) == (needed[n.index] && is_operator));
        if (!group_of.contains(n)) continue;
        for (auto v : g.operands(n))
            if (auto const from = group_of.find(v.node); from != group_of.end())
                CHECK(from->second <= group_of.at(n)); // none waits for a later one
    }
}

// A graph of convolutions, whose weights are random.
struct net {
    graph g;
    network_builder b{g, weight_source{4}};
    value_id x = b.input(dtype::f32, {1, 16, 6, 6}, "x");
    value_id conv(value_id v, std::int64_t kernel = 3) {
        return b.conv("c" + std::to_string(g.size()), v, {16, {kernel, kernel}, {1, 1}, {kernel / 2, kernel / 2}});
    }
    std::string groups(std::vector<value_id> outputs) {
        g.set_outputs(outputs);
        any_graph const any{g};
        auto const made = kernel_groups(any, rules_of(any));
        check_groups(any, made);
        return names_of(any, made);
    }
};

TEST_CASE("a convolution takes its normalisation, a sum with another value, bounds and arithmetic behind them") {
    net n;
    auto const c = n.b.batch_norm("bn", n.conv(n.x));
    auto const r = n.b.relu("r", n.b.sum("s", c, n.x));
    CHECK(n.groups({n.b.add<ops::tanh>(r)}) == "Conv+BatchNormalization+Add+Relu+Tanh");
}

TEST_CASE("a sum of two convolutions is in the kernel of the first, wherever the second stands") {
    net n;
    auto const a = n.conv(n.x), b = n.conv(n.x, 1);
    CHECK(n.groups({n.b.relu("r", n.b.sum("s", a, b))}) == "Conv, Conv+Add+Relu");
    net late;
    auto const c = late.conv(late.x), pooled = late.b.max_pool("p", late.x, {{3, 3}, {1, 1}, {1, 1}});
    CHECK(late.groups({late.b.sum("s", c, pooled)}) == "MaxPool, Conv+Add");
}

TEST_CASE("values that meet again stay in the kernel, and one that is read elsewhere ends it") {
    net swish, read;
    auto const c = swish.conv(swish.x);
    CHECK(swish.groups({swish.b.add<ops::mul>(c, swish.b.add<ops::sigmoid>(c))}) == "Conv+Sigmoid+Mul");
    auto const d = read.b.relu("r", read.conv(read.x));
    CHECK(read.groups({read.conv(d), read.b.add<ops::tanh>(d)}) == "Conv+Relu, Conv, Tanh");
}

TEST_CASE("a depthwise convolution takes the pointwise one behind it") {
    net n;
    auto const wide = n.b.input(dtype::f32, {1, 32, 28, 28}, "wide");
    auto const d = n.b.relu6("r", n.b.conv("d", wide, {32, {3, 3}, {1, 1}, {1, 1}, 32}));
    auto const p = n.b.relu("s", n.b.conv("p", d, {32, {1, 1}}));
    CHECK(n.groups({p}) == "Conv+Clip+Conv+Relu");
}

TEST_CASE("a product takes arithmetic, and a softmax and a product behind it as attention") {
    CHECK(groups_of(R"(
        %0 "q": f32[4,8] = input
        %1 "k": f32[8,6] = input
        %2 "v": f32[6,5] = input
        %3 "s": f32[4,6] = MatMul(%0, %1)
        %4 "t": f32[4,6] = Tanh(%3)
        %5 "p": f32[4,6] = Softmax(%4) {axis = -1}
        %6 "o": f32[4,5] = MatMul(%5, %2)
        return %6
    )") == "MatMul+Tanh+Softmax+MatMul");
}

TEST_CASE("expressions with reductions along the last dimensions are one kernel, of several results") {
    auto const begin = std::string{R"(
        %0 "x": f32[4,8] = input
        %1 "e": f32[4,8] = Exp(%0)
        %2 "m": f32[4,1] = ReduceSum(%1) {axes = [1]}
        %3 "d": f32[4,8] = Div(%1, %2)
    )"};
    CHECK(groups_of(begin + "return %3") == "Exp+ReduceSum+Div");
    CHECK(groups_of(begin + "return %3, %1") == "Exp+ReduceSum+Div");
}

TEST_CASE("an expression takes in what computes an operand for it alone") {
    // A cell of an LSTM: the gates are slices of one value, and both states are read elsewhere.
    auto const gates = std::string{R"(
        %0 "z": f32[2,32] = input
        %1 "c": f32[2,8] = input
        %2 "i": f32[2,8] = Slice(%0) {starts = [0], ends = [8], axes = [1], steps = [1]}
        %3 "in": f32[2,8] = Sigmoid(%2)
        %4 "f": f32[2,8] = Slice(%0) {starts = [8], ends = [16], axes = [1], steps = [1]}
        %5 "forget": f32[2,8] = Sigmoid(%4)
        %6 "g": f32[2,8] = Slice(%0) {starts = [16], ends = [24], axes = [1], steps = [1]}
        %7 "fresh": f32[2,8] = Tanh(%6)
        %8 "kept": f32[2,8] = Mul(%5, %1)
        %9 "taken": f32[2,8] = Mul(%3, %7)
        %10 "cell": f32[2,8] = Add(%8, %9)
        %11 "o": f32[2,8] = Slice(%0) {starts = [24], ends = [32], axes = [1], steps = [1]}
        %12 "out": f32[2,8] = Sigmoid(%11)
        %13 "bounded": f32[2,8] = Tanh(%10)
        %14 "h": f32[2,8] = Mul(%12, %13)
    )"};
    auto const cell = std::string{"Sigmoid+Sigmoid+Tanh+Mul+Mul+Add+Sigmoid+Tanh+Mul"};
    CHECK(groups_of(gates + "return %14, %10") == "Slice, Slice, Slice, Slice, " + cell);
    CHECK(groups_of(gates + "return %14") == "Slice, Slice, Slice, Slice, " + cell);
    // What is read elsewhere, or broadcast, is not repeated.
    CHECK(groups_of(gates + "return %14, %7") ==
          "Slice, Slice, Slice, Tanh, Slice, Sigmoid+Sigmoid+Mul+Mul+Add+Sigmoid+Tanh+Mul");
    CHECK(groups_of(R"(
        %0 "x": f32[8,8] = input
        %1 "r": f32[1,8] = input
        %2 "e": f32[8,8] = Exp(%0)
        %3 "t": f32[1,8] = Tanh(%1)
        %4 "s": f32[8,8] = Add(%2, %3)
        return %4
    )") == "Tanh, Exp+Add");
    // A convolution takes what follows it, not what a sum with it reads.
    net n;
    auto const bounded = n.b.add<ops::tanh>(n.x);
    CHECK(n.groups({n.b.sum("s", n.conv(n.x), bounded)}) == "Tanh, Conv+Add");
}

TEST_CASE("a kernel reads nothing that stands behind its first value that is read elsewhere") {
    // The product depends on the exponential, which is read elsewhere: their sum is no part of its kernel.
    CHECK(groups_of(R"(
        %0 "x": f32[8,8] = input
        %1 "e": f32[8,8] = Exp(%0)
        %2 "p": f32[8,8] = MatMul(%1, %0)
        %3 "t": f32[8,8] = Transpose(%2) {perm = [1, 0]}
        %4 "s": f32[8,8] = Add(%1, %3)
        return %4
    )") == "Exp, MatMul, Transpose, Add");
}

TEST_CASE("groups of any graph cover it, stand in an order in which they run, and are found again within themselves") {
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        CAPTURE(seed);
        any_graph const g = random_graph::make(seed, 10 + seed % 60);
        auto rules = rules_of(g);
        auto const groups = kernel_groups(g, rules);
        check_groups(g, groups);
        auto const numbers = numbered(g, groups);
        rules.within = as_span(numbers);
        CHECK(kernel_groups(g, rules) == groups);
        rules.within = {};
        rules.group = false;
        for (auto const& group : kernel_groups(g, rules)) CHECK(group.size() == 1);
    }
}

TEST_CASE("operators with as many operands as there are nodes are grouped in time in proportion") {
    auto const seconds_of = [](std::size_t count) {
        graph g;
        graph_builder b{g};
        std::vector<value_id> branches;
        for (std::size_t i = 0; i < count; ++i)
            branches.push_back(b.add<ops::tanh>(b.input(dtype::f32, {4}, "x" + std::to_string(i))));
        value_id const y[] = {b.add<ops::sum>({}, branches), b.add<ops::concat>({.axis = 0}, branches)};
        g.set_outputs(y);
        auto least = std::chrono::duration<double>::max();
        for (int i = 0; i < 3; ++i) {
            auto const begin = std::chrono::steady_clock::now();
            auto const groups = kernel_groups(g, rules_of(g));
            least = std::min<std::chrono::duration<double>>(least, std::chrono::steady_clock::now() - begin);
            CHECK(groups.size() == count + 2);
        }
        return least.count();
    };
    auto const small = seconds_of(3'000), large = seconds_of(24'000);
    INFO(small << " s and " << large << " s");
    CHECK(large < 0.05 + 24 * small); // 8 where linear, 64 where quadratic
}

TEST_CASE("kernels do not cross groups that passes have made, and operators without one are alone") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        any_graph const g = random_graph::make(seed, 40);
        auto numbers = numbered(g, passes::fuse_groups(g));
        for (std::size_t i = 0; i < numbers.size(); i += 7) numbers[i] = 0;
        auto rules = rules_of(g);
        rules.within = as_span(numbers);
        auto const groups = kernel_groups(g, rules);
        check_groups(g, groups);
        for (auto const& group : groups)
            for (auto n : group) {
                CHECK(numbers[n.index] == numbers[group.front().index]);
                CHECK((group.size() == 1 || numbers[n.index] != 0));
            }
    }
}

// Nothing is asked of the groups.
constexpr auto ignore = [](kernel_group const&, fusion_scope const&) {};
// The groups that a graph has anew where nodes have changed since `before`, in order.
std::vector<kernel_group> changed_groups(any_graph const& g, kernel_grouping const& before,
                                         changed_nodes const& changes) {
    std::vector<kernel_group> out;
    each_changed_group(g, rules_of(g), before, changes,
                       [&](kernel_group const& nodes, fusion_scope const&) { out.push_back(nodes); });
    return out;
}

TEST_CASE("the groups around a change are those of the whole graph") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        any_graph const g = random_graph::make(seed, 40);
        auto const groups = kernel_groups(g, rules_of(g));
        auto const known = grouping_of(g, rules_of(g), ignore);
        CHECK(changed_groups(g, known, {}).empty());
        for (auto n : g.order()) {
            auto const near = changed_groups(g, known, {{&n, 1}, {&n, 1}});
            for (auto const& group : near) CHECK(std::find(groups.begin(), groups.end(), group) != groups.end());
            for (auto const& group : groups) // its own is among them
                if (std::find(group.begin(), group.end(), n) != group.end())
                    CHECK(std::find(near.begin(), near.end(), group) != near.end());
        }
    }
}

TEST_CASE("what a change leaves alone has the groups of the graph before, and the rest those of the graph behind") {
    for (auto const* name : {"resnet18", "nasrnn", "bert_small", "nasnet_a", "densenet121"}) {
        CAPTURE(name);
        any_graph const before = models::find_model(name)->build(1);
        auto known = grouping_of(before, rules_of(before), ignore);
        auto const first = kernel_groups(before, rules_of(before));
        std::set<kernel_group> groups{first.begin(), first.end()};
        any_graph g = before;
        random_stream r{5};
        // One operator after another reads something else that has its type, or is read by one more.
        for (int step = 0; step < 25; ++step) {
            std::vector<node_id> operators;
            for (auto n : g.order())
                if (!g.constant(n) && g.operand_count(n) > 0 && n != g.return_node()) operators.push_back(n);
            auto const n = operators[r.below(operators.size())];
            if (g.use_count(g.operand(n, 0)) < 2) continue; // or its operators would be needed no more
            value_id other;
            for (auto m : g.order())
                if (g.place(m) < g.place(n) && !g.constant(m) && m != g.operand(n, 0).node && g.result_count(m) == 1 &&
                    g.type({m, 0}) == g.type(g.operand(n, 0)) && r.below(2) == 0)
                    other = {m, 0};
            if (!other.valid()) continue;
            std::array const values{n};
            std::array const readers{other.node, g.operand(n, 0).node};
            g.set_operand(n, 0, other);
            auto const expected = kernel_groups(g, rules_of(g));
            std::set<kernel_group> const whole{expected.begin(), expected.end()};
            auto const anew = changed_groups(g, known, {values, readers});
            for (auto const& group : anew) {
                CHECK(whole.contains(group));
                std::erase_if(groups, [&](kernel_group const& old) {
                    return std::any_of(old.begin(), old.end(), [&](node_id m) {
                        return std::find(group.begin(), group.end(), m) != group.end();
                    });
                });
            }
            groups.insert(anew.begin(), anew.end());
            for (auto const& group : whole) CHECK(groups.contains(group));
            known = grouping_of(g, rules_of(g), known, {values, readers}, ignore);
        }
    }
}

TEST_CASE("groups around a change end where a value goes on past a product") {
    // Each layer reads the sum of the one before it twice: by products, and beside them.
    auto const layers = [](int count) {
        graph g;
        graph_builder to{g};
        auto x = to.input(dtype::f32, {16, 32}, "x");
        for (int i = 0; i < count; ++i) {
            auto const product = to.add<ops::mat_mul>(x, to.constant(tensor::zeros(dtype::f32, ints{32, 32})));
            x = to.add<ops::relu>(to.add<ops::add>(product, x));
        }
        to.outputs({x});
        return g;
    };
    auto const around_first = [&](any_graph const& g) {
        auto const n = g.order()[2]; // the first product
        CHECK(g.is<ops::mat_mul>(n));
        return names_of(g, changed_groups(g, grouping_of(g, rules_of(g), ignore), {{&n, 1}, {&n, 1}}));
    };
    CHECK(around_first(layers(2)) == around_first(layers(12)));
}

// Which operators each kernel covers; what is none covers nothing.
std::multiset<std::vector<std::string>> covered(kernel_graph const& k) {
    std::multiset<std::vector<std::string>> out;
    for (auto const& op : k.ops) {
        std::vector<std::string> names;
        for (auto const& n : op.covers) names.push_back(n.name);
        std::sort(names.begin(), names.end());
        if (names.size() > 1) out.insert(names);
    }
    return out;
}

TEST_CASE("lowering makes one kernel of each group of the networks") {
    for (auto const* name : {"resnet18", "mobilenet_v2", "squeezenet1_1", "inception_v3", "densenet121", "nasnet_a",
                             "nasrnn", "bert_small", "ssd_resnet50", "resnext50_32x4d"}) {
        CAPTURE(name);
        any_graph const g = models::find_model(name)->build(1);
        std::multiset<std::vector<std::string>> expected;
        for (auto const& group : kernel_groups(g, rules_of(g))) {
            std::vector<std::string> names;
            for (auto n : group) names.push_back(g.display_name(n));
            std::sort(names.begin(), names.end());
            if (names.size() > 1) expected.insert(names);
        }
        CHECK(covered(fused(g)) == expected);
    }
}

TEST_CASE("FuseOps with the groups of kernels makes a module whose kernels are those of its graph") {
    for (auto const* name : {"squeezenet1_1", "bert_small", "nasrnn"}) {
        CAPTURE(name);
        any_graph const g = models::find_model(name)->build(1);
        module m;
        m.add("main", g);
        pass_context cx;
        cx.machine = host();
        static_cast<void>(run_pass(passes::fuse_ops{.groups = &kernel_groups_for}, m, cx).value());
        std::size_t primitive = 0;
        for (auto const& f : m.functions()) primitive += f.attributes.primitive;
        CHECK(primitive == kernel_groups_for(g, host()).size());
        CHECK(m.inlined().value() == g);
    }
}

} // namespace fusion_test
