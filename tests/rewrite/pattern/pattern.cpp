#include "catch.hpp"
#include <gsub/rewrite/pattern/pattern.hpp>
#include <gsub/rewrite/pattern/rule.hpp>

#include <type_traits>

namespace pattern_test {

using namespace gsub;
using namespace gsub::pattern;
constexpr auto x = var<"x">;
constexpr auto y = var<"y">;
constexpr auto b = maybe<"b">;
constexpr auto c = label<"c">;

template <class T>
concept usable = pattern_term<T>;

// A pattern is its type and takes no room.
using sum = decltype(pattern::add[c](x, pattern::relu(y)));
static_assert(std::is_empty_v<sum> && pattern_term<sum>);
static_assert(std::is_same_v<sum, term<ops::add, "c", no_attribute_function, var_t<"x">,
                                       term<ops::relu, "", no_attribute_function, var_t<"y">>>>);

// What is a term, and what is not.
static_assert(usable<decltype(x)> && usable<decltype(b)> && usable<decltype(part)>);
static_assert(usable<decltype(each(x))> && usable<decltype(all_parts(pattern::split(x)))>);
static_assert(usable<decltype(every_part(pattern::split(x), pattern::relu(part)))> && usable<decltype(context(x))>);
static_assert(usable<decltype(computed([](rewrite&) { return value_id{}; }))>);
static_assert(usable<decltype(some(x))>);
static_assert(!usable<decltype(sum_of(x, y))>); // a whole pattern
static_assert(!usable<int> && !usable<decltype(c)> && !usable<decltype(pattern::relu)> && !usable<rule_condition>);

// Patterns compose where terms are expected, and nowhere else.
template <class Word, class... Operands>
concept applicable = requires(Word w, Operands... operands) {
    w(operands...);
};
static_assert(applicable<decltype(pattern::relu), sum>);
static_assert(!applicable<decltype(pattern::relu), double>);
static_assert(!applicable<decltype(pattern::relu), decltype(c)>);

// Functions in rules have no state: a rule is data that lives as long as the program.
template <class F>
concept builds = requires(F f) {
    build(f);
};
struct with_state {
    int n = 0;
    void operator()(rewrite&) const {}
};
struct without_state {
    void operator()(rewrite&) const {}
};
static_assert(builds<without_state> && !builds<with_state>);

template <class Match>
consteval pattern::node root_of(Match m) {
    auto const r = rule<"test">(m, build([](rewrite&) {}), provenance{"test"});
    return r.match_nodes[r.roots[0]];
}

TEST_CASE("each word of the language is the operator of its name") {
    CHECK(root_of(conv(x, y)).op == id_of<ops::conv>);
    CHECK(root_of(batch_norm(x, x, x, x, x)).op == id_of<ops::batch_norm>);
    CHECK(root_of(max_pool(x)).op == id_of<ops::max_pool>);
    CHECK(root_of(average_pool(x)).op == id_of<ops::average_pool>);
    CHECK(root_of(pattern::relu(x)).op == id_of<ops::relu>);
    CHECK(root_of(pattern::clip(x)).op == id_of<ops::clip>);
    CHECK(root_of(pattern::sigmoid(x)).op == id_of<ops::sigmoid>);
    CHECK(root_of(pattern::tanh(x)).op == id_of<ops::tanh>);
    CHECK(root_of(pattern::add(x, y)).op == id_of<ops::add>);
    CHECK(root_of(pattern::sub(x, y)).op == id_of<ops::sub>);
    CHECK(root_of(pattern::mul(x, y)).op == id_of<ops::mul>);
    CHECK(root_of(pattern::div(x, y)).op == id_of<ops::div>);
    CHECK(root_of(mat_mul(x, y)).op == id_of<ops::mat_mul>);
    CHECK(root_of(gemm(x, y, b)).op == id_of<ops::gemm>);
    CHECK(root_of(concat(x, y)).op == id_of<ops::concat>);
    CHECK(root_of(pattern::split(x)).op == id_of<ops::split>);
    CHECK(root_of(pattern::reshape(x)).op == id_of<ops::reshape>);
    CHECK(root_of(pattern::transpose(x)).op == id_of<ops::transpose>);
    CHECK(root_of(op<ops::softmax>(x)).op == id_of<ops::softmax>); // any other, and users' own
}

TEST_CASE("whether operands may change places is the operator's own fact") {
    CHECK(root_of(pattern::add(x, y)).commutative);
    CHECK(root_of(pattern::mul(x, y)).commutative);
    CHECK_FALSE(root_of(pattern::sub(x, y)).commutative);
    CHECK_FALSE(root_of(mat_mul(x, y)).commutative);
}

TEST_CASE("any elementwise operator is a node of a category, with the number of its operands") {
    auto const one = root_of(unary[c](x)), two = root_of(binary[c](x, y));
    CHECK(one.kind == node_kind::category);
    CHECK(one.category == op_category::elementwise);
    CHECK(one.links == 1);
    CHECK(two.links == 2);
    CHECK(two.name == hash_name("c"));
}

TEST_CASE("terms of a sum are an addition whose operands may stand apart") {
    auto const apart = root_of(sum_of(pattern::relu(x), y)), together = root_of(pattern::add(x, y));
    CHECK(apart.op == id_of<ops::add>);
    CHECK(apart.commutative);
    CHECK(apart.apart);
    CHECK_FALSE(together.apart);
}

TEST_CASE("the spreading terms keep what they spread over as their children") {
    CHECK(root_of(every_part(pattern::split[c](x), pattern::relu(part))).kind == node_kind::every_part);
    constexpr auto r = rule<"test">(roots(concat(each(x)), context(concat(all_parts(pattern::split(y))))),
                                    build([](rewrite&) {}), provenance{"test"});
    CHECK(r.roots.size() == 2);
    CHECK(r.match_nodes[r.match_links[r.match_nodes[r.roots[0]].first_link]].kind == node_kind::each);
    CHECK(r.match_nodes[r.match_links[r.match_nodes[r.roots[1]].first_link]].kind == node_kind::all_parts);
    CHECK_FALSE(r.match_nodes[r.roots[0]].context);
    CHECK(r.match_nodes[r.roots[1]].context);
}

} // namespace pattern_test
