// Searches over random graphs, every state that is expanded held against the graph at the start in the prime field.
#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/optimize/substitution.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>
#include <gsub/rewrite/verify/verifier.hpp>
#include <gsub/search/backtracking.hpp>

#include <set>
#include <string>
#include <vector>

namespace random_search_test {

using namespace gsub;

struct checked_problem : substitution_problem {
    using substitution_problem::substitution_problem;
    std::size_t checked = 0, rewritten = 0;
    std::set<std::string> rules; // that led to a state

    template <class Emit>
    void expand(state const& s, Emit&& emit) {
        if (s.rule) {
            auto const& original = materialize(start())->graph;
            auto const compared =
                compare_in_field(original, materialize(s)->graph, table_of<eval_row, standard_ops>(), 7);
            if (compared) {
                ++checked;
                INFO(label(s));
                CHECK(compared->equal);
            }
            ++rewritten;
            rules.emplace(s.rule->name);
        }
        substitution_problem::expand(s, emit);
    }
};

TEST_CASE("every graph on the way of a search computes what the first does, for a thousand random graphs") {
    // All laws, those too that a search leaves out unless they are named.
    std::vector<rule_program> chosen(standard_rules().begin(), standard_rules().end());
    rule_index const index{chosen};
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    std::size_t checked = 0, rewritten = 0;
    std::set<std::string> rules;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        CAPTURE(seed);
        any_graph g = random_graph::make(seed, 5 + seed % 56);
        canonicalize(g);
        g.order_canonically();
        g.compact();
        checked_problem p{g, model, index};
        auto const found = search::backtracking(p, p.start(), {.alpha = 1.3, .plateau = true, .budget = 200});
        CHECK(found.stats.best_cost <= found.stats.start_cost);
        checked += p.checked, rewritten += p.rewritten;
        rules.insert(p.rules.begin(), p.rules.end());
    }
    CHECK(rewritten > 1000);
    CHECK(static_cast<double>(checked) > 0.9 * static_cast<double>(rewritten));
    CHECK(rules.size() > 20);
}

} // namespace random_search_test
