// Whether costs tell which of two graphs is the faster one: pairs on the way of a search, before and behind one
// rewrite, predicted and timed in turns.
#pragma once

#include "measurement.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/driver/compare_speed.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/optimize/graph_parts.hpp>
#include <gsub/optimize/search_graph.hpp>
#include <gsub/optimize/substitution.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>
#include <gsub/search/backtracking.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// How many pairs are looked at, and how long.
struct pair_options {
    std::size_t pairs = 24;      ///< of a graph at most, beside those that build one program
    std::size_t parts = 6;       ///< graphs that a network of more kernels than a part is cut into, at most
    std::size_t part = 8;        ///< kernels of a part at most
    std::uint64_t steps = 60;    ///< of the search of each graph
    double alpha = 1.5;          ///< of that search; what it refuses is looked at too
    std::size_t rounds = 41;     ///< of each pair, see `compare_speed`
    double least_seconds = 3e-4; ///< of each graph a round: short ones, so that few are disturbed
    double longest = 1e-2;       ///< predicted seconds of a graph at most
    std::uint64_t seed = 1;
};

namespace detail {

using namespace gsub;

// Keeps what a search comes across.
struct pair_collector : search::null_observer {
    using state = substitution_problem::state;
    std::vector<state> met{};
    void on_expand(std::uint64_t, double, state const&) {}
    void on_admit(double, std::string_view, state const& s) { keep(s); }
    void on_refuse(double, state const& s) { keep(s); }
    void on_known(double, state const&) {}
    void on_expanded(std::uint64_t, state const&) {}

private:
    void keep(state const& s) {
        if (s.parent && s.rule) met.push_back(s);
    }
};

// Some of each rule, in an order that the seed gives, rules in turns.
inline std::vector<substitution_problem::state> in_turns(std::vector<substitution_problem::state> const& met,
                                                         pair_options const& options) {
    std::map<std::string_view, std::vector<std::pair<std::uint64_t, std::size_t>>> by_rule;
    for (std::size_t i = 0; i < met.size(); ++i) {
        auto const place = random_stream{options.seed}.split(met[i].move_id).split(met[i].key.low)();
        by_rule[met[i].rule->name].emplace_back(place, i);
    }
    for (auto& [rule, all] : by_rule) std::sort(all.begin(), all.end());
    std::vector<substitution_problem::state> out;
    for (std::size_t i = 0, before = 1; before != out.size() && out.size() < 3 * options.pairs; ++i) {
        before = out.size();
        for (auto const& [rule, all] : by_rule)
            if (i < all.size()) out.push_back(met[all[i].second]);
    }
    return out;
}

// What has been built of one graph.
struct built_graph {
    runtime::executable program;
    hash128 hash;
};

// How often the sign was right, of pairs that differ.
struct sign_count {
    std::size_t pairs = 0, same_program = 0, differing = 0, right = 0, right_exactly = 0;
    void add(sign_count const& o) {
        pairs += o.pairs, same_program += o.same_program, differing += o.differing, right += o.right,
            right_exactly += o.right_exactly;
    }
};

} // namespace detail

/// Searches each graph under predicted times, takes pairs of a graph and what one rewrite makes of it, admitted by the
/// search or refused, and times both. A pair counts where the times differ by more than 5 % and the 95 % interval of
/// their ratio lies beyond that of a graph against itself. Prints a line a pair, and a table by network and by rule.
/// The exit status: 1 where there was no pair, or where of 200 pairs and more that count less than nine in ten have the
/// sign that was predicted.
[[nodiscard]] inline int compare_pairs(std::vector<std::pair<std::string, gsub::graph>> const& networks,
                                       pair_options const& options) {
    using namespace gsub;
    auto machine = host();
    machine.threads = 1;
    auto const evaluators = table_of<eval_row, standard_ops>();
    auto const rules = choose_rules(standard_rules(), "all").value();
    rule_index const index{rules};
    std::map<std::string, detail::sign_count> by_network, by_rule;
    detail::sign_count all;
    std::size_t graphs = 0;
    auto const build_of = [&](any_graph const& g) {
        build_options building;
        auto const hash = runtime::hash_of(plan(g, evaluators, machine, building).value());
        return std::make_shared<detail::built_graph>(
            detail::built_graph{build(g, evaluators, machine, building).value(), hash});
    };
    auto const look_at = [&](std::string const& name, std::string const& network, any_graph const& start) {
        auto const costs = cost::lowered::of(start, machine, {.threads = 1});
        auto const model = cost::erase(costs);
        if (costs(start).amount > options.longest) return;
        substitution_problem problem{start, model, index};
        detail::pair_collector collector;
        static_cast<void>(search::backtracking(problem, problem.start(),
                                               {.alpha = options.alpha, .budget = {options.steps}}, collector));
        auto const pairs = detail::in_turns(collector.met, options);
        if (pairs.empty()) return;
        ++graphs;
        speed_options const timing{.rounds = options.rounds, .least_seconds = options.least_seconds};
        auto const itself = build_of(start), again = build_of(start);
        auto const inputs = random_inputs(start, 1);
        auto const same = compare_speed(itself->program, inputs, again->program, inputs, timing).value();
        std::map<const void*, std::shared_ptr<detail::built_graph>> parents;
        std::size_t timed = 0;
        for (auto const& s : pairs) {
            if (timed == options.pairs) break;
            auto& before = parents[s.parent.get()];
            if (!before) before = build_of(s.parent->graph);
            auto const made = problem.materialize(s);
            auto const after = build_of(made->graph);
            auto const predicted = s.cost / s.parent->total;
            auto const exactly =
                costs.exactly(made->graph).value().amount / costs.exactly(s.parent->graph).value().amount;
            detail::sign_count one{.pairs = 1, .same_program = before->hash == after->hash};
            speed_comparison told;
            if (!one.same_program) {
                ++timed;
                auto const of_before = random_inputs(s.parent->graph, 1), of_after = random_inputs(made->graph, 1);
                told = compare_speed(before->program, of_before, after->program, of_after, timing).value();
                auto const beyond = told.low > std::max(same.high, 1.0) || told.high < std::min(same.low, 1.0);
                one.differing = beyond && std::abs(std::log(told.ratio)) > std::log(1.05);
                one.right = one.differing && (predicted - 1) * (told.ratio - 1) > 0;
                one.right_exactly = one.differing && (exactly - 1) * (told.ratio - 1) > 0;
            }
            std::printf("%s\n", io::json{{"bench", "predict pairs"},
                                         {"graph", name},
                                         {"network", network},
                                         {"rule", s.rule->name},
                                         {"before", problem.in_units(s.parent->total)},
                                         {"predicted", predicted},
                                         {"exactly", exactly},
                                         {"measured_before", told.first},
                                         {"measured_after", told.second},
                                         {"ratio", told.ratio},
                                         {"low", told.low},
                                         {"high", told.high},
                                         {"itself_low", same.low},
                                         {"itself_high", same.high},
                                         {"same_program", one.same_program > 0},
                                         {"differs", one.differing > 0},
                                         {"right", one.right > 0}}
                                    .dump()
                                    .c_str());
            std::fflush(stdout);
            all.add(one), by_network[network].add(one), by_rule[std::string{s.rule->name}].add(one);
        }
    };
    for (auto const& [name, g] : networks) {
        any_graph whole = g;
        whole.order_canonically();
        canonicalize(whole);
        whole.order_canonically();
        whole.compact();
        auto const parts = split_graph(whole, index, options.part).parts;
        if (parts.size() < 2) {
            look_at(name, name, whole);
            continue;
        }
        // The largest ones, in which there is the most to rewrite.
        std::vector<any_graph> distinct;
        for (auto const& nodes : parts) {
            auto part = part_as_graph(whole, nodes);
            canonicalize(part);
            part.order_canonically();
            part.compact();
            if (std::ranges::none_of(distinct, [&](any_graph const& p) { return p.hash() == part.hash(); }))
                distinct.push_back(std::move(part));
        }
        std::ranges::stable_sort(distinct, [](auto const& a, auto const& b) { return a.size() > b.size(); });
        for (std::size_t i = 0; i < std::min(options.parts, distinct.size()); ++i)
            look_at(fmt::format("{} part {}", name, i), name, distinct[i]);
    }
    report::table table{{"pairs", "number", "one program", "differ", "sign right", "share", "lowered whole"}};
    auto const add = [&](std::string const& what, detail::sign_count const& c) {
        auto const share = [&](std::size_t n) {
            return c.differing == 0 ? std::string{}
                                    : report::fixed(static_cast<double>(n) / static_cast<double>(c.differing), 2);
        };
        table.add({what, fmt::format("{}", c.pairs), fmt::format("{}", c.same_program), fmt::format("{}", c.differing),
                   fmt::format("{}", c.right), share(c.right), share(c.right_exactly)});
    };
    for (auto const& [network, c] : by_network) add(network, c);
    for (auto const& [rule, c] : by_rule) add(rule, c);
    add(fmt::format("all of {} graphs", graphs), all);
    std::fprintf(stderr, "%s", table.text().c_str());
    return all.pairs == 0 || (all.differing >= 200 && 10 * all.right < 9 * all.differing) ? 1 : 0;
}

} // namespace bench
