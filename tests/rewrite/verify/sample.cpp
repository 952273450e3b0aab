#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/ir/legality.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>
#include <gsub/rewrite/verify/sample.hpp>

#include <set>
#include <string>
#include <vector>

namespace sample_test {

struct negate {}; // has no way of its own to be drawn
struct masked {}; // has one

} // namespace sample_test

template <>
struct gsub::op_traits<sample_test::negate> {
    static constexpr std::string_view name = "Negate", domain = "test";
    static constexpr int min_inputs = 2, max_inputs = 2;
    static constexpr auto category = gsub::op_category::elementwise;
};
template <>
struct gsub::infer_shape<sample_test::negate> : gsub::broadcast_inputs {};
template <>
struct gsub::op_traits<sample_test::masked> : gsub::op_traits<sample_test::negate> {
    static constexpr std::string_view name = "Masked";
    struct attributes {
        std::int64_t bits = 0;
        static constexpr field<attributes> fields[] = {{"bits", &attributes::bits}};
    };
};
template <>
struct gsub::infer_shape<sample_test::masked> : gsub::broadcast_inputs {};
template <>
struct gsub::sample<sample_test::masked> {
    static attributes_of<sample_test::masked> draw(sample_context& cx) {
        cx.set_type(0, {dtype::f32, {cx.size(), 5}});
        cx.set_type(1, {dtype::f32, {5}});
        return {.bits = cx.choose().pick<std::int64_t>({1, 2, 4})};
    }
};

namespace sample_test {

using namespace gsub;
using namespace gsub::pattern;
constexpr auto x = var<"x">;
constexpr auto y = var<"y">;
constexpr auto c = label<"c">;

TEST_CASE("an enumeration makes every sequence of decisions once, in order") {
    // The second number depends on the first, a third is asked for sometimes only.
    std::vector<std::vector<std::size_t>> seen;
    chooser choose;
    CHECK(choose.exhaustive());
    do {
        std::vector<std::size_t> run{choose.below(3)};
        run.push_back(choose.below(run[0] + 1));
        if (run[1] == 1) run.push_back(choose.below(2));
        seen.push_back(run);
    } while (choose.next());
    std::vector<std::vector<std::size_t>> const expected{{0, 0}, {1, 0},    {1, 1, 0}, {1, 1, 1},
                                                         {2, 0}, {2, 1, 0}, {2, 1, 1}, {2, 2}};
    CHECK(seen == expected);
    CHECK(choose.sequences() == seen.size());
}

TEST_CASE("a run that breaks off leaves the questions behind it void") {
    std::vector<std::size_t> first;
    chooser choose;
    do {
        first.push_back(choose.below(4));
        if (first.back() == 2) continue; // gives up at once
        static_cast<void>(choose.below(3));
    } while (choose.next());
    CHECK(first == std::vector<std::size_t>{0, 0, 0, 1, 1, 1, 2, 3, 3, 3});
}

TEST_CASE("without a question there is one sequence, and one choice is no choice") {
    chooser nothing;
    CHECK_FALSE(nothing.next());
    chooser one;
    CHECK(one.below(1) == 0);
    CHECK(one.pick({7}) == 7);
    CHECK_FALSE(one.next());
}

TEST_CASE("random decisions follow from the seed and reach every answer") {
    std::vector<std::size_t> counts(5, 0);
    chooser a{random_stream{3}}, b{random_stream{3}};
    CHECK_FALSE(a.exhaustive());
    for (int i = 0; i < 500; ++i) {
        auto const answer = a.below(5);
        CHECK(answer == b.below(5));
        REQUIRE(answer < 5);
        ++counts[answer];
    }
    for (auto n : counts) CHECK(n > 50);
}

// What holds of every instance that is drawn.
void check_instance(pattern_instance const& instance, rule_program const& rule) {
    auto const& g = instance.graph;
    for (auto const& p : check(g, stage::canonical)) CHECK(p.reason.starts_with("breaks the rule that")); // sound
    // The roots are the outputs, those that stay among them.
    auto const roots = instance.bindings.roots();
    CHECK(roots.size() <= g.output_count());
    std::set<value_id> outputs;
    for (std::size_t i = 0; i < g.output_count(); ++i) outputs.insert(g.output(i));
    for (auto v : roots) CHECK(outputs.contains(v));
    // Variables are inputs or parts of the pattern; everything has a fixed type.
    auto const names_a_node = [&](pattern::name_hash name) {
        return std::any_of(rule.match_nodes.begin(), rule.match_nodes.end(), [&](pattern::node const& n) {
            return n.name == name && (n.kind == node_kind::operation || n.kind == node_kind::category);
        });
    };
    for (auto const& n : rule.match_nodes) {
        if (n.kind == node_kind::variable)
            for (auto v : instance.bindings.values(n.name)) CHECK((names_a_node(n.name) || g.is<ops::input>(v.node)));
        if (n.kind == node_kind::variable && rule.roots.size() == 1)
            CHECK_FALSE(instance.bindings.values(n.name).empty());
        if (n.kind == node_kind::operation && n.name != 0)
            for (auto v : instance.bindings.values(n.name)) CHECK(g.op(v.node).id == n.op);
    }
    for (auto n : g.order())
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) CHECK(g.type({n, port}).is_static());
}

TEST_CASE("what is drawn for any rule is a legal graph, and a match of the rule in it") {
    auto const& d = dialect::of<standard_ops>();
    auto const table = table_of<sample_row, standard_ops>();
    for (auto const& rule : standard_rules()) {
        CAPTURE(rule.name);
        std::size_t drawn = 0;
        chooser box;
        for (int i = 0; i < 200; ++i) {
            if (auto const instance = draw_instance(d, table, rule, box)) check_instance(*instance, rule), ++drawn;
            if (!box.next()) break;
        }
        for (std::uint64_t i = 0; i < 100; ++i) {
            chooser draw{random_stream{i}};
            if (auto const instance = draw_instance(d, table, rule, draw)) check_instance(*instance, rule), ++drawn;
        }
        CHECK(drawn > 20);
    }
}

TEST_CASE("the same decisions draw the same instance") {
    auto const& d = dialect::of<standard_ops>();
    auto const table = table_of<sample_row, standard_ops>();
    for (auto const& rule : standard_rules())
        for (std::uint64_t i = 0; i < 10; ++i) {
            CAPTURE(rule.name, i);
            chooser first{random_stream{i}}, second{random_stream{i}};
            auto const a = draw_instance(d, table, rule, first), b = draw_instance(d, table, rule, second);
            REQUIRE(bool(a) == bool(b));
            if (a) CHECK(to_text(a->graph) == to_text(b->graph));
        }
}

constexpr auto of_own = rule<"of_own">(
    op<masked>[c](x, op<negate>(y, y)), x, provenance { "test" });
constexpr auto unknown_to_the_set = rule<"unknown_to_the_set">(op<negate>(x, y), x, provenance{"test"});

TEST_CASE("operators of one's own are drawn by their own specialisation, or with operands of one type") {
    using own_ops = standard_ops::with<negate, masked>;
    auto const& d = dialect::of<own_ops>();
    auto const table = table_of<sample_row, own_ops>();
    auto const apart = unknown_to_the_set.program();
    std::set<std::int64_t> rows;
    for (std::uint64_t i = 0; i < 50; ++i) {
        chooser draw{random_stream{i}};
        auto const instance = draw_instance(d, table, apart, draw);
        REQUIRE(instance);
        CHECK(instance->bindings.type(x) == instance->bindings.type(y));
    }
    // An operand that a pattern computes has its type already: this one does not fit most of the time.
    auto const program = of_own.program();
    chooser box;
    std::size_t tried = 0;
    do {
        if (auto const instance = draw_instance(d, table, program, box))
            rows.insert(instance->bindings.attributes<masked>(c).bits);
        ++tried;
    } while (box.next());
    CHECK(tried > 3);
    chooser draw{random_stream{1}};
    CHECK_FALSE(draw_instance(dialect::of<standard_ops>(), table_of<sample_row, standard_ops>(), apart, draw));
}

} // namespace sample_test
