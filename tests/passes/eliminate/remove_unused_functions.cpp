#include "catch.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/ir/text.hpp>
#include <gsub/passes/eliminate/remove_unused_functions.hpp>

namespace unused_functions_test {

using namespace gsub;
using passes::remove_unused_functions;

// A function of one input that calls others; nobody checks that they are there.
any_graph calling(std::vector<std::string> const& callees) {
    graph g;
    graph_builder b{g};
    auto v = b.add<ops::relu>(b.input(dtype::f32, {2}, "x"));
    type_id const type = g.type_of(v);
    for (auto const& callee : callees)
        v = {g.append_node(structural::call, intern<ops::call>({.callee = callee}), 0, {&v, 1}, {&type, 1}), 0};
    b.outputs({v});
    return g;
}
gsub::module of(std::vector<std::pair<std::string, std::vector<std::string>>> const& functions) {
    gsub::module m;
    for (auto const& [name, callees] : functions) m.add(name, calling(callees));
    return m;
}
std::string names(gsub::module const& m) {
    std::string all;
    for (auto const& f : m.functions()) all += (all.empty() ? "" : " ") + f.name;
    return all;
}

TEST_CASE("RemoveUnusedFunctions P1: what main calls by way of others stays, in its order") {
    auto m = of({{"c", {}}, {"main", {"a"}}, {"b", {}}, {"a", {"b"}}});
    auto const outcome = pass_trial::run(remove_unused_functions{}, m);
    CHECK(outcome.matches == 1);
    CHECK(names(m) == "main b a");
}

TEST_CASE("RemoveUnusedFunctions P2: calls may begin in several functions") {
    auto const m = of({{"main1", {"a"}}, {"main2", {"b"}}, {"a", {}}, {"b", {}}, {"c", {}}, {"main", {}}});
    auto isa = m, given = m;
    isa.set_entry_points({"main1", "main2"});
    CHECK(run_pass(remove_unused_functions{}, isa).value().matches == 2);
    CHECK(names(isa) == "main1 main2 a b");
    auto const p = remove_unused_functions::from_text(" main2 , main1").value();
    CHECK(run_pass(p, given).value().matches == 2);
    CHECK(names(given) == names(isa));
    CHECK(given.entry_points() == std::vector<std::string>{"main2", "main1"});
    CHECK_FALSE(run_pass(p, given).value().changed);
}

// P3 has no form here: functions are no values, only calls and conditions name them.

TEST_CASE("RemoveUnusedFunctions P4: both branches of a condition stay, also of one that is known") {
    for (bool const known : {false, true}) {
        auto m = of({{"yes", {"deep"}}, {"no", {}}, {"deep", {}}, {"other", {}}});
        graph g;
        graph_builder b{g};
        auto const x = b.input(dtype::f32, {2}, "x");
        auto const p = known ? b.constant(tensor::scalar(true)) : b.input(dtype::boolean, {}, "p");
        b.outputs({{add_if(g, m, p, "yes", "no", {{x}}), 0}});
        m.add("main", g);
        auto const before = m;
        CHECK(pass_trial::run(remove_unused_functions{}, m, false).matches == 1);
        CHECK(names(m) == "yes no deep main");
        CHECK(m.hash().value() == before.hash().value());
    }
}

TEST_CASE("RemoveUnusedFunctions P5: functions that call only each other go") {
    auto m = of({{"main", {}}, {"a", {"b"}}, {"b", {"a"}}, {"self", {"self"}}});
    CHECK(run_pass(remove_unused_functions{}, m).value().matches == 3);
    CHECK(names(m) == "main");
    auto alive = of({{"main", {"a"}}, {"a", {"b"}}, {"b", {"a"}}});
    CHECK_FALSE(run_pass(remove_unused_functions{}, alive).value().changed);
}

TEST_CASE("RemoveUnusedFunctions N1: a module of one function stays, and the pass says so beforehand") {
    auto m = of({{"main", {}}});
    CHECK_FALSE(remove_unused_functions::may_apply(histogram_of(m)));
    CHECK_FALSE(pass_trial::run(remove_unused_functions{}, m).changed);
}

TEST_CASE("RemoveUnusedFunctions N2: an entry that is no function is an error") {
    auto m = of({{"main", {}}, {"a", {}}});
    auto const r = run_pass(remove_unused_functions{{"a", "nobody"}}, m);
    REQUIRE_FALSE(r);
    CHECK(r.error().code() == error_code::usage);
    CHECK(r.error().message().find("nobody") != std::string::npos);
    CHECK(names(m) == "main a");
}

TEST_CASE("RemoveUnusedFunctions N3: a copy of the module keeps its functions") {
    auto m = of({{"main", {}}, {"a", {}}});
    auto const copy = m;
    CHECK(run_pass(remove_unused_functions{}, m).value().changed);
    CHECK(names(copy) == "main a");
}

} // namespace unused_functions_test
