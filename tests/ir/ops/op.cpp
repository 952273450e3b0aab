#include "catch.hpp"
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <set>
#include <string>
#include <vector>

namespace op_test {
namespace ops {
struct swish {};
struct scale {};
struct pair_of {};
} // namespace ops
struct no_operator {};
struct half_an_operator {};
} // namespace op_test

// An operator of the user's own, as in the first lines of the guide.
template <>
struct gsub::op_traits<op_test::ops::swish> {
    static constexpr std::string_view name = "Swish";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = gsub::op_category::elementwise;
};
template <>
struct gsub::infer_shape<op_test::ops::swish> : gsub::same_as_input<0> {};

template <>
struct gsub::op_traits<op_test::ops::scale> {
    static constexpr std::string_view name = "Scale", domain = "app";
    static constexpr int min_inputs = 1, max_inputs = gsub::variadic, results = gsub::variadic;
    static constexpr auto category = gsub::op_category::injective;
    static constexpr bool commutative = true, composite = true, aliasing_view = true;
    static constexpr auto needs = gsub::scalar_needs::field;
    struct attributes {
        double factor = 1;
        static constexpr gsub::field<attributes> fields[] = {{"factor", &attributes::factor}};
    };
};
template <>
struct gsub::op_traits<op_test::ops::pair_of> {
    static constexpr std::string_view name = "Swish", domain = "app"; // the name of another operator, elsewhere
    static constexpr int min_inputs = 2, max_inputs = 2;
    static constexpr auto category = gsub::op_category::elementwise;
};
template <>
struct gsub::op_traits<op_test::half_an_operator> {
    static constexpr std::string_view name = "Half";
};

namespace op_test {

using namespace gsub;

static_assert(operation<gsub::ops::conv>);
static_assert(operation<ops::swish>);
static_assert(operation<gsub::ops::results>);
static_assert(!operation<no_operator>, "no traits");
static_assert(!operation<half_an_operator>, "a name is not enough");
static_assert(!operation<int>);
static_assert(std::is_same_v<attributes_of<ops::swish>, no_attributes>);
static_assert(std::is_same_v<attributes_of<ops::scale>, op_traits<ops::scale>::attributes>);
static_assert(domain_of<ops::swish>().empty() && domain_of<ops::scale>() == "app");
static_assert(id_of<ops::swish> != id_of<ops::pair_of>, "the domain is part of the identity");
static_assert(id_of<gsub::ops::conv> == make_op_id("", "Conv"));
static_assert(standard_ops::contains<gsub::ops::conv> && !standard_ops::contains<ops::swish>);

using my_ops = standard_ops::with<ops::swish, ops::scale>;
static_assert(my_ops::contains<ops::swish> && my_ops::contains<gsub::ops::conv> &&
              my_ops::size == standard_ops::size + 2);
using my_graph = basic_graph<my_ops>;

template <class OpSet, class Set>
void check_rows(Set set) {
    auto const table = table_of<op_info, OpSet>();
    REQUIRE(table.size() == OpSet::size);
    std::set<std::uint16_t> rows;
    for_each_type(typename OpSet::list{}, [&]<class Op> {
        auto const row = row_of<Op>(set);
        CAPTURE(op_traits<Op>::name, row);
        REQUIRE(row < table.size());
        CHECK(table[row].id == id_of<Op>);
        CHECK(table[row].name == op_traits<Op>::name);
        CHECK(find_row(table, id_of<Op>) == row);
        CHECK(find_row(table, domain_of<Op>(), op_traits<Op>::name) == row);
        CHECK(rows.insert(row).second);
    });
    CHECK(rows.size() == OpSet::size);
}

TEST_CASE("the row number that is computed while compiling is that of the table, for every operator") {
    check_rows<standard_ops>(standard_ops{});
    check_rows<my_ops>(my_ops{});
    check_rows<op_set<>>(op_set<>{});
    check_rows<op_set<ops::swish, ops::pair_of>>(op_set<ops::swish, ops::pair_of>{});
}

TEST_CASE("the graph's own nodes have the first rows of every set, in a fixed order") {
    for (auto table : {table_of<op_info, standard_ops>(), table_of<op_info, my_ops>(), table_of<op_info, op_set<>>()}) {
        CHECK(table[0].id == id_of<gsub::ops::input>);
        CHECK(table[1].id == id_of<gsub::ops::constant>);
        CHECK(table[2].id == id_of<gsub::ops::results>);
        CHECK(table[3].id == id_of<gsub::ops::opaque>);
        CHECK(table[4].id == id_of<gsub::ops::call>);
        CHECK(std::is_sorted(table.begin() + structural_rows, table.end(),
                             [](op_info const& a, op_info const& b) { return a.id < b.id; }));
    }
}

TEST_CASE("tables of different traits over one set have the same order, whatever the order of the set") {
    auto const ops_table = table_of<op_info, my_ops>();
    auto const inference = table_of<infer_row, my_ops>();
    REQUIRE(ops_table.size() == inference.size());
    CHECK(inference[row_of<ops::swish>(my_ops{})].infer == &infer_shape<ops::swish>::infer);
    CHECK(inference[row_of<gsub::ops::conv>(my_ops{})].infer == &infer_shape<gsub::ops::conv>::infer);
    CHECK(inference[row_of<ops::scale>(my_ops{})].infer == nullptr);
    using other_order = op_set<ops::pair_of, ops::scale, ops::swish>;
    using this_order = op_set<ops::swish, ops::pair_of, ops::scale>;
    auto const a = table_of<op_info, other_order>(), b = table_of<op_info, this_order>();
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].id == b[i].id);
}

TEST_CASE("facts that a trait leaves out have their documented defaults") {
    constexpr auto swish = op_info::of<ops::swish>();
    STATIC_REQUIRE(swish.results == 1);
    STATIC_REQUIRE(swish.domain.empty());
    STATIC_REQUIRE(swish.needs == scalar_needs::transcendental);
    STATIC_REQUIRE_FALSE(swish.commutative);
    STATIC_REQUIRE_FALSE(swish.composite);
    STATIC_REQUIRE_FALSE(swish.aliasing_view);
    CHECK(swish.attributes().empty());
    constexpr auto scale = op_info::of<ops::scale>();
    STATIC_REQUIRE(scale.results == variadic);
    STATIC_REQUIRE(scale.needs == scalar_needs::field);
    STATIC_REQUIRE(scale.commutative);
    STATIC_REQUIRE(scale.composite);
    STATIC_REQUIRE(scale.aliasing_view);
    CHECK(scale.attributes().size() == 1);
    STATIC_REQUIRE(op_info::of<gsub::ops::concat>().needs == scalar_needs::nothing); // moving elements needs nothing
}

TEST_CASE("an operator accepts as many operands as it says") {
    constexpr auto conv = op_info::of<gsub::ops::conv>(), sum = op_info::of<gsub::ops::sum>();
    for (std::size_t n = 0; n < 10; ++n) {
        CHECK(conv.accepts(n) == (n == 2 || n == 3));
        CHECK(sum.accepts(n) == (n >= 1));
    }
}

TEST_CASE("names are looked up with their domain, and unknown ones are not found") {
    auto const table = table_of<op_info, my_ops>();
    CHECK(find_row(table, "", "Conv") == find_row(table, "ai.onnx", "Conv"));
    CHECK(find_row(table, "app", "Scale").has_value());
    CHECK_FALSE(find_row(table, "", "Scale"));
    CHECK_FALSE(find_row(table, "app", "Conv"));
    CHECK_FALSE(find_row(table, "", "conv"));
    CHECK_FALSE(find_row(table, "", ""));
    CHECK_FALSE(find_row(table, op_id{12345}));
}

TEST_CASE("an operator of the user's own is built, typed and recognised like the library's") {
    my_graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 3}, "x");
    auto const y = b.add<ops::swish>(b.add<gsub::ops::relu>(x));
    b.outputs({y});
    CHECK(g.is<ops::swish>(y.node));
    CHECK(to_string(g.type(y)) == "f32[2,3]");
    CHECK(g.op(y.node).name == "Swish");
    CHECK_FALSE(g.is<ops::pair_of>(y.node));
    // One whose traits are there and whose inference is not.
    CHECK_THROWS_WITH(
        b.add<ops::scale>({.factor = 2}, {x}),
        "invalid input: Scale: has no type inference: specialise gsub::infer_shape or gsub::decompose for it");
}

} // namespace op_test
