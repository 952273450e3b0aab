#include "catch.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/ir/legality.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace rules_test {

using namespace gsub;
using small_graphs::for_samples;
using small_graphs::same_meaning;

TEST_CASE("the matcher finds every instance that a rule is verified on, and the rewrite computes the same") {
    for (auto const& rule : standard_rules()) {
        CAPTURE(rule.name);
        std::size_t rewritten = 0;
        auto const drawn = for_samples(rule, 30, [&](pattern_instance const& instance) {
            auto const& g = instance.graph;
            auto const roots = instance.bindings.roots();
            // The anchor: of readers of a split's parts, the split.
            auto anchor = roots[0].node;
            auto const& first = rule.match_nodes[rule.roots[0]];
            if (first.kind == pattern::node_kind::every_part)
                for (auto n : g.order())
                    if (g.is<ops::split>(n)) anchor = n;
            bool found = false;
            find_pattern_at(g, rule, anchor, [&](match const& m) {
                if (found || !std::equal(roots.begin(), roots.end(), m.roots().begin(), m.roots().end())) return;
                for (auto const& n : rule.match_nodes)
                    if (n.name != 0 && !(m.values(n.name) == instance.bindings.values(n.name))) return;
                found = true;
                auto copy = g;
                auto const r = prepare(m);
                INFO(r.reason());
                REQUIRE(r.apply_to(copy));
                CHECK(check(copy, stage::canonical).size() <= check(g, stage::canonical).size());
                CHECK(same_meaning(g, copy, 1 + rewritten));
                ++rewritten;
            });
            CAPTURE(to_text(g));
            CHECK(found);
        });
        CHECK(drawn > 0);
        CHECK(rewritten == drawn);
    }
}

// An instance with all inputs but some made constant, as weights are.
any_graph with_weights(any_graph const& instance, std::set<std::string_view> const& inputs) {
    auto g = instance;
    std::vector<node_id> const all(g.inputs().begin(), g.inputs().end());
    for (auto n : all)
        if (!inputs.contains(g.name({n, 0}))) {
            auto t = tensor::uninitialized(dtype::f32, g.type({n, 0}).sizes());
            fill_random(t, random_stream{n.index});
            g.replace_uses({n, 0}, g.add_constant(std::move(t)));
        }
    REQUIRE(g.sort());
    return g;
}

TEST_CASE("every rule fires, all its preferences met, on some of its instances with weights that are constant") {
    // What these rules prefer is more than its pattern says: see rules_conv and rules_tensor.
    std::set<std::string_view> const elsewhere{"add_fuse"};
    for (auto const& rule : standard_rules()) {
        if (elsewhere.contains(rule.name)) continue;
        CAPTURE(rule.name);
        std::size_t fired = 0;
        for_samples(rule, 200, [&](pattern_instance const& instance) {
            for (auto const& inputs : {std::set<std::string_view>{"x"}, std::set<std::string_view>{"x", "y"},
                                       std::set<std::string_view>{"a", "b", "x"}}) {
                auto const g = with_weights(instance.graph, inputs);
                for (auto n : g.order()) {
                    if (n == g.return_node() || fired > 20) continue;
                    find_matches_at(g, rule, n, [&](match const& m) {
                        auto copy = g;
                        if (!prepare(m).apply_to(copy, shared_interior::refuse)) return;
                        ++fired;
                        canonicalize(copy);
                        CHECK(same_meaning(g, copy));
                    });
                }
            }
        });
        CHECK(fired > 0);
    }
}

std::vector<std::string> chosen(std::string_view list) {
    auto const rules = choose_rules(standard_rules(), list);
    if (!rules) return {rules.error().message()};
    std::vector<std::string> names;
    for (auto const& r : *rules) names.emplace_back(r.name);
    return names;
}
std::size_t count_of(rule_kind kind) {
    auto const all = standard_rules();
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](rule_program const& r) { return r.kind == kind; }));
}
bool has(std::vector<std::string> const& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

TEST_CASE("rules are chosen by name, by kind, and by what to leave out, internal and timed ones by name alone") {
    auto const all = standard_rules().size(), macros = count_of(rule_kind::macro),
               internals = count_of(rule_kind::internal), timed = count_of(rule_kind::timed);
    REQUIRE(macros > 0);
    REQUIRE(internals > 0);
    REQUIRE(timed > 0);
    CHECK(chosen("all").size() == all - internals - timed);
    CHECK(chosen("") == chosen("all"));
    CHECK(chosen("atomic").size() == all - internals - timed - macros);
    CHECK(chosen("fuse_conv_bn") == std::vector<std::string>{"fuse_conv_bn"});
    // In the order of the library, whatever the order of the list.
    CHECK(chosen("merge_conv_siblings,fuse_conv_bn") ==
          std::vector<std::string>{"fuse_conv_bn", "merge_conv_siblings"});
    CHECK(chosen("-fuse_conv_bn").size() == all - internals - timed - 1);
    CHECK_FALSE(has(chosen("-fuse_conv_bn"), "fuse_conv_bn"));
    CHECK(chosen("all,-fuse_conv_bn") == chosen("-fuse_conv_bn"));
    CHECK(chosen("fuse_conv_bn,-fuse_conv_bn").empty());
    CHECK(chosen("-fuse_conv_bn,fuse_conv_bn") == chosen("all"));
    CHECK(has(chosen("all,unfuse_conv_activation"), "unfuse_conv_activation"));
    CHECK(has(chosen("all,widen_groups"), "widen_groups"));
    // What a clock alone can tell is on where costs come from one.
    auto const by_clock = choose_rules(standard_rules(), "all", true).value();
    CHECK(by_clock.size() == all - internals);
    CHECK(choose_rules(standard_rules(), "fuse_conv_bn", true).value().size() == 1);
    CHECK(chosen("atomic,enlarge_and_merge_convs").size() == all - internals - timed - macros + 1);
    CHECK(chosen("fuse_conv_bn,,") == chosen("fuse_conv_bn"));
}

TEST_CASE("a name that no rule has is an error that names it") {
    for (auto list : {"fuse_conv_nb", "-fuse_conv_nb", "all,fuse_conv_nb", "fuse_conv_bn,fuse_conv_nb"}) {
        auto const r = choose_rules(standard_rules(), list);
        REQUIRE_FALSE(r);
        CHECK(r.error().id() == errors::unknown_rule);
        CHECK(r.error().message() ==
              "usage: there is no rule \"fuse_conv_nb\"; try: gsub verify-rules lists the rules");
    }
}

} // namespace rules_test
