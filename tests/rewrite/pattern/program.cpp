#include "catch.hpp"
#include <gsub/rewrite/pattern/program.hpp>
#include <gsub/rewrite/pattern/rule.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>

#include <set>
#include <string_view>

namespace program_test {

using namespace gsub;
using namespace gsub::pattern;
constexpr auto x = var<"x">;
constexpr auto y = var<"y">;
constexpr auto c = label<"c">;

// ---- what the compiler makes of a rule
// ---------------------------------------------------------------------------------------

constexpr auto swapped =
    rule<"swapped">(pattern::sub[c](pattern::relu(x), y), pattern::sub[c](y, x), provenance{"a test"});
constexpr auto data = swapped.program();

// Operands stand before operators: x, relu, y, sub.
static_assert(data.name == "swapped" && data.source == "a test" && data.kind == rule_kind::atomic);
static_assert(data.match_nodes.size() == 4 && data.match_links.size() == 3 && data.roots.size() == 1);
static_assert(data.match_nodes[0].kind == node_kind::variable && data.match_nodes[0].text == "x");
static_assert(data.match_nodes[1].kind == node_kind::operation && data.match_nodes[1].op == id_of<ops::relu>);
static_assert(data.match_nodes[1].name == 0 && data.match_nodes[1].links == 1);
static_assert(data.match_nodes[3].op == id_of<ops::sub> && data.match_nodes[3].text == "c" && data.roots[0] == 3);
static_assert(data.match_nodes[3].name == hash_name("c") && !data.match_nodes[3].commutative);
static_assert(data.build_nodes.size() == 3 && data.outputs.size() == 1 && data.build == nullptr);
static_assert(data.where.empty() && data.prefer.empty());

// ---- what holds of every program
// ----------------------------------------------------------------------------------------------

bool is_leaf(node_kind k) {
    return k == node_kind::variable || k == node_kind::optional || k == node_kind::part || k == node_kind::computed;
}

void check_terms(std::span<pattern::node const> nodes, std::span<std::uint16_t const> links, bool replacement) {
    std::vector<int> parents(nodes.size(), 0);
    std::size_t linked = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        auto const& n = nodes[i];
        CAPTURE(i, n.text);
        CHECK(static_cast<std::size_t>(n.first_link + n.links) <= links.size());
        for (std::size_t k = 0; k < n.links; ++k) {
            auto const child = links[n.first_link + k];
            CHECK(child < i); // a term stands behind its operands
            ++parents[child];
        }
        linked += n.links;
        CHECK(n.name == (n.text.empty() ? 0 : hash_name(n.text)));
        if (is_leaf(n.kind)) CHECK(n.links == 0);
        if (n.kind == node_kind::variable || n.kind == node_kind::optional) CHECK(n.name != 0);
        if (n.kind == node_kind::each || n.kind == node_kind::all_parts) CHECK(n.links == 1);
        if (n.kind == node_kind::every_part) CHECK(n.links == 2);
        CHECK((n.kind == node_kind::computed) == (n.compute != nullptr));
        if (n.kind == node_kind::computed || n.attributes) CHECK(replacement);
        if (n.kind != node_kind::operation) CHECK(n.op == op_id{});
    }
    CHECK(linked == links.size()); // each link is used once
    for (auto p : parents) CHECK(p <= 1);
}

TEST_CASE("the program of every rule is a forest in order, with names that are hashed") {
    for (auto const& rule : standard_rules()) {
        CAPTURE(rule.name);
        check_terms(rule.match_nodes, rule.match_links, false);
        check_terms(rule.build_nodes, rule.build_links, true);
        REQUIRE_FALSE(rule.roots.empty());
        std::set<std::uint16_t> distinct(rule.roots.begin(), rule.roots.end());
        CHECK(distinct.size() == rule.roots.size());
        std::size_t replaced = 0;
        for (auto r : rule.roots) replaced += !rule.match_nodes[r].context;
        CHECK(replaced > 0);
        CHECK_FALSE(rule.match_nodes[rule.roots[0]].context); // the anchor is replaced
        if (rule.build) {
            CHECK(rule.outputs.empty());
            CHECK(rule.build_nodes.empty());
        } else {
            CHECK(rule.outputs.size() == replaced);
        }
    }
}

TEST_CASE("every rule has a name of its own, says where its law is from, and its conditions are sentences") {
    std::set<std::string_view> names;
    for (auto const& rule : standard_rules()) {
        CAPTURE(rule.name);
        CHECK(names.insert(rule.name).second);
        CHECK(rule.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
        CHECK(rule.source.starts_with("law"));
        std::set<std::string_view> sentences;
        for (auto const* list : {&rule.where, &rule.prefer})
            for (auto const& condition : *list) {
                CHECK(condition.holds != nullptr);
                CHECK(condition.sentence.size() > 10);
            }
    }
}

} // namespace program_test
