#include "catch.hpp"
#include <gsub/ir/ops/ops.hpp>

#include <set>
#include <string>

namespace ops_test {

using namespace gsub;

static_assert(std::is_base_of_v<any_graph, graph>);
static_assert(std::is_same_v<graph::operator_set, standard_ops>);
static_assert(std::is_copy_constructible_v<graph> && std::is_move_constructible_v<graph>);
static_assert(!std::is_convertible_v<any_graph, graph>, "taking over a graph is asked for");

TEST_CASE("every standard operator has an identity, a name and consistent facts of its own") {
    std::set<op_id> ids;
    std::set<std::string> names;
    for (auto const& op : table_of<op_info, standard_ops>()) {
        CAPTURE(op.name);
        CHECK(ids.insert(op.id).second);
        CHECK(names.insert(std::string{op.domain} + "." + std::string{op.name}).second);
        CHECK(op.min_inputs >= 0);
        CHECK((op.max_inputs == variadic || op.max_inputs >= op.min_inputs));
        CHECK((op.results >= 0 || op.results == variadic));
        CHECK(op.layout.make != nullptr);
        CHECK(op.attributes().size() == op.layout.defaults().size());
        CHECK(op.layout.decode(op.layout.defaults()) != nullptr);
        // What moves or makes elements computes nothing.
        if (op.category == op_category::injective || op.category == op_category::source)
            CHECK(op.needs == scalar_needs::nothing);
        if (op.commutative) CHECK((op.max_inputs == variadic || op.max_inputs == 2));
    }
}

TEST_CASE("every standard operator can be typed, and exactly the composite ones are given by others") {
    auto const table = table_of<op_info, standard_ops>();
    auto const inference = table_of<infer_row, standard_ops>();
    for (std::size_t row = structural_rows; row < table.size(); ++row) {
        CAPTURE(table[row].name);
        CHECK((inference[row].infer || inference[row].build));
        CHECK((inference[row].build != nullptr) == table[row].composite);
    }
}

TEST_CASE("attributes of every standard operator survive interning with their defaults") {
    for (auto const& op : table_of<op_info, standard_ops>()) {
        CAPTURE(op.name);
        auto const a = op.intern(op.layout.defaults()).value(), b = op.intern(op.layout.defaults()).value();
        CHECK(a == b);
        CHECK(a.values().size() == op.attributes().size());
        std::set<std::string_view> names;
        for (auto const& info : op.attributes()) CHECK(names.insert(info.name).second);
    }
}

TEST_CASE("the empty graph is legal and equal to itself") {
    graph const a, b;
    CHECK(a == b);
    CHECK(a.size() == 1); // the results node
    CHECK(a.output_count() == 0);
    CHECK(a.inputs().empty());
    CHECK(a.order().front() == a.return_node());
    graph const c{any_graph{dialect::of<standard_ops>()}};
    CHECK(a == c);
}

} // namespace ops_test
