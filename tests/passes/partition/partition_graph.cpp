#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/ir/text.hpp>
#include <gsub/passes/fuse/merge_composite.hpp>
#include <gsub/passes/partition/annotate_target.hpp>
#include <gsub/passes/partition/merge_compiler_regions.hpp>
#include <gsub/passes/partition/partition_graph.hpp>

#include <set>
#include <string>

namespace partition_test {

using namespace gsub;
using pass_trial::count;
using pass_trial::module_of;
using pass_trial::net;
using passes::annotate_target;
using passes::merge_compiler_regions;
using passes::partition_graph;

// Inlining gives the graph as it was; constants that several functions read may have copies.
void check_back(gsub::module const& m, any_graph const& g) {
    auto const whole = m.inlined().value();
    CHECK(whole.hash(whole.return_node()) == g.hash(g.return_node()));
}
struct partitioned {
    gsub::module m;
    pass_outcome outcome;
    std::vector<function const*> made() const {
        std::vector<function const*> all;
        for (auto const& f : m.functions())
            if (!f.attributes.compiler.empty()) all.push_back(&f);
        return all;
    }
    any_graph const& main() const { return m.find("main")->body; }
};
partitioned partition(net& n, std::string_view compilers, std::vector<value_id> const& outputs) {
    n.g.set_outputs(outputs);
    partitioned r{module_of(n.g), {}};
    pass_trial::run(annotate_target::from_text(compilers).value(), r.m);
    pass_trial::run(merge_compiler_regions{}, r.m);
    r.outcome = pass_trial::run(partition_graph{}, r.m);
    check_back(r.m, n.g);
    for (auto const* f : r.made()) {
        CHECK(f->attributes.primitive);
        CHECK(f->attributes.symbol == f->name);
    }
    return r;
}

TEST_CASE("PartitionGraph P1, P2: parts of one operator and of two compilers") {
    net n;
    auto const r = partition(n, "a: Relu; b.c: Tanh", {n.op<ops::tanh>(n.op<ops::neg>(n.op<ops::relu>(n.input({2}))))});
    REQUIRE(r.made().size() == 2);
    CHECK(r.made()[0]->name == "a_main_0");
    CHECK(r.made()[1]->name == "b_c_main_0");
    CHECK(r.made()[1]->attributes.compiler == "b.c");
    CHECK(count<ops::call>(r.main()) == 2);
    CHECK(count<ops::compiler_annotation>(r.main()) == 0);
    CHECK(r.outcome.matches == 2);
    CHECK(to_text(parse_module(to_text(r.m), n.g.operators()).value()) == to_text(r.m));
}

TEST_CASE("PartitionGraph P3: a part of several results gives each of them once, however often it is read") {
    net n;
    auto const a = n.op<ops::relu>(n.input({2})), b = n.op<ops::tanh>(a);
    auto const s = n.op<ops::mul>(n.op<ops::mul>(a, a), a);
    auto const r = partition(n, "c: Relu Tanh", {n.op<ops::mul>(s, b), a});
    REQUIRE(r.made().size() == 1);
    CHECK(r.made()[0]->body.output_count() == 2);
    CHECK(r.made()[0]->body.inputs().size() == 1);
}

TEST_CASE("PartitionGraph P4: of an operator of several results those that are read become results") {
    net n;
    auto const s = n.b.add<ops::split>({.axis = 0, .sizes = {1, 1, 2}}, {n.input({4})}, 3).node;
    auto const r = partition(n, "c: Split", {n.op<ops::relu>(value_id{s, 0}), {s, 2}});
    REQUIRE(r.made().size() == 1);
    CHECK(r.made()[0]->body.output_count() == 2);
}

TEST_CASE("PartitionGraph P5: constants go into every function that reads them, sharing their elements") {
    net n;
    auto const w = n.weight({2}), x = n.input({2});
    auto const u = n.op<ops::neg>(n.op<ops::add>(x, w));
    auto const r = partition(n, "c: Add", {n.op<ops::add>(u, w)});
    REQUIRE(r.made().size() == 2);
    CHECK(count<ops::constant>(r.main()) == 0);
    for (auto const* f : r.made()) {
        CHECK(f->body.inputs().size() == 1);
        for (auto i : f->body.order())
            if (f->body.is<ops::constant>(i))
                CHECK(f->body.constant_data(i).raw().data() == n.g.constant_data(w.node).raw().data());
    }
}

TEST_CASE("PartitionGraph P6: marks for default go, and make no function") {
    net n;
    auto const r =
        partition(n, "default: Relu Tanh; c: Abs", {n.op<ops::abs>(n.op<ops::tanh>(n.op<ops::relu>(n.input({2}))))});
    CHECK(r.made().size() == 1);
    CHECK(count<ops::compiler_annotation>(r.main()) == 0);
    CHECK(count<ops::tanh>(r.main()) == 1);
}

TEST_CASE("PartitionGraph P7: a composite in a part is called from its function") {
    net n;
    attributes_of<ops::conv> a;
    a.strides = {1, 1}, a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
    auto const c = n.op<ops::relu>(n.b.add<ops::conv>(a, {n.input({1, 4, 6, 6}), n.weight({4, 4, 3, 3})}));
    n.g.set_outputs({{n.op<ops::neg>(n.op<ops::tanh>(c))}});
    auto m = module_of(n.g);
    pass_trial::run(passes::merge_composite{}, m);
    pass_trial::run(annotate_target::from_text("c: conv_relu Tanh").value(), m);
    pass_trial::run(merge_compiler_regions{}, m);
    CHECK(pass_trial::run(partition_graph{}, m).matches == 1);
    auto const* f = m.find("c_main_0");
    REQUIRE(f);
    CHECK(count<ops::call>(f->body) == 1);
    CHECK(count<ops::tanh>(f->body) == 1);
    CHECK(m.find("conv_relu_0"));
    check_back(m, n.g);
}

TEST_CASE("PartitionGraph N1: without marks nothing happens, and the pass says so beforehand") {
    net n;
    CHECK(n.untouched(partition_graph{}, {n.op<ops::relu>(n.input({2}))}));
    CHECK_FALSE(partition_graph::may_apply(histogram_of(n.g)));
}

TEST_CASE("PartitionGraph N2: parts that need their own results stay, marks and all") {
    net n;
    auto const mark = [&](value_id v) {
        return n.b.add<ops::compiler_annotation>({.compiler = "c", .region = 3}, {v});
    };
    auto const r = mark(n.op<ops::relu>(n.input({2})));
    auto const g = n.after(partition_graph{}, {mark(n.op<ops::add>(r, n.op<ops::tanh>(r)))});
    CHECK_FALSE(n.outcome.changed);
    CHECK(n.outcome.skips("a part would need its own results") == 1);
    CHECK(count<ops::compiler_annotation>(g) == 2);
}

// N3, definitions of types: a module has none. What else it has stays.
TEST_CASE("PartitionGraph N3: other functions, entry points and what a file says of the graph stay") {
    net n;
    n.g.set_outputs({{n.op<ops::relu>(n.input({2}))}});
    graph_info info;
    info.name = "net", info.metadata = {{"a", "b"}}, info.output_names = {"y"};
    n.g.set_info(info);
    auto m = module_of(n.g);
    m.add("other", n.g, {.primitive = true});
    m.set_entry_points({"main", "other"});
    pass_trial::run(annotate_target::from_text("c: Relu").value(), m);
    pass_trial::run(partition_graph{}, m);
    CHECK(m.entry_points().size() == 2);
    CHECK(m.find("other")->body == n.g);
    auto const& kept = m.find("main")->body.info();
    CHECK(kept.name == "net");
    CHECK(kept.metadata == info.metadata);
    CHECK(kept.output_names == info.output_names);
}

TEST_CASE("PartitionGraph N4: names that are taken get another number") {
    net n;
    n.g.set_outputs({{n.op<ops::relu>(n.input({2}))}});
    gsub::module m;
    m.add("c_main_0", n.g, {.compiler = "somebody"});
    m.add("main", n.g);
    pass_trial::run(annotate_target::from_text("c: Relu").value(), m);
    pass_trial::run(partition_graph{}, m);
    CHECK(m.find("c_main_1"));
    CHECK(m.find("c_main_0")->attributes.compiler == "somebody");
}

TEST_CASE("marks, parts and functions of any graph compute the same, and inlining gives the graph") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 10 + seed % 40);
        auto m = module_of(g);
        std::set<std::string> names;
        for (auto n : g.order()) names.emplace(g.op(n).name);
        annotate_target p;
        random_stream r{seed};
        for (auto const* compiler : {"a", "b"}) {
            p.compilers.push_back({compiler, {}});
            for (auto const& name : names)
                if (r.below(2)) p.compilers.back().operators.push_back(name);
        }
        pass_trial::run(p, m, true, seed);
        pass_trial::run(merge_compiler_regions{}, m, true, seed);
        auto const outcome = pass_trial::run(partition_graph{}, m, true, seed);
        CHECK(outcome.skips("a part would need its own results") == 0);
        CHECK(count<ops::compiler_annotation>(m.find("main")->body) == 0);
        check_back(m, g);
    }
}

} // namespace partition_test
