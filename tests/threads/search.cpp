// Searches alone of what src/driver.cpp has, with parts searched side by side and successors made by several threads.
#include "catch.hpp"
#include <gsub/core/sharing_executor.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/fused.hpp>
#include <gsub/models/inception.hpp>
#include <gsub/optimize/impl/cut_part.ipp>
#include <gsub/optimize/impl/graph_parts.ipp>
#include <gsub/optimize/impl/search_graph.ipp>
#include <gsub/optimize/impl/search_part.ipp>
#include <gsub/optimize/impl/substitution.ipp>
#include <gsub/optimize/search_graph.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>

#include <optional>

namespace threads_search {

using namespace gsub;

template <class Cost>
void check(Cost const& machine, std::size_t bound) {
    any_graph g = models::inception_v3({.image = 75});
    canonicalize(g);
    g.order_canonically();
    g.compact();
    auto const model = cost::erase(machine);
    auto const chosen = choose_rules(standard_rules(), "all").value();
    rule_index const rules{chosen};
    search::options const options{.budget = {24}};
    fork_join_executor four{4};
    auto const alone = search_graph(g, model, rules, options, bound);
    sharing_executor all{four};
    std::optional<search_result> together;
    all.run_here([&] { together = search_graph(g, model, rules, options, bound, {.threads = &all}); });
    CHECK(together->best.hash() == alone.best.hash());
    CHECK(together->stats.path == alone.stats.path);
    CHECK(together->stats.history == alone.stats.history);
}

} // namespace threads_search

TEST_CASE("several threads search as one does") {
    threads_search::check(gsub::cost::roofline{}, 0);        // whole
    threads_search::check(gsub::cost::fused_roofline{}, 20); // in parts
}
