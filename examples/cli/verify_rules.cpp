// gsub verify-rules and gsub rules: the laws that searches apply, proved by machine.
#include "commands.hpp"
#include <gsub/report.hpp>
#include <gsub/rewrite.hpp>

#include <chrono>

namespace cli {

using gsub::message;
using gsub::to_string;

namespace {

std::string condition_list(std::span<gsub::rule_condition const> conditions) {
    std::string out;
    for (auto const& c : conditions) out += message({out.empty() ? "" : "; ", c.sentence});
    return out;
}

std::string_view kind_of(gsub::rule_program const& r) {
    switch (r.kind) {
    case gsub::rule_kind::atomic:
        return "atomic";
    case gsub::rule_kind::macro:
        return "macro";
    case gsub::rule_kind::internal:
        return "internal";
    case gsub::rule_kind::timed:
        return "timed";
    }
    return "";
}

// The pattern as its author wrote it, but for labels.
std::string term(gsub::rule_program const& rule, std::uint16_t number) {
    auto const& n = rule.match_nodes[number];
    std::string kids;
    for (std::size_t i = 0; i < n.links; ++i)
        kids += message({kids.empty() ? "" : ", ", term(rule, rule.match_links[n.first_link + i])});
    auto const around = [&](std::string_view word) { return message({word, "(", kids, ")"}); };
    auto const inner = [&]() -> std::string {
        switch (n.kind) {
        case gsub::pattern::node_kind::variable:
            return std::string{n.text};
        case gsub::pattern::node_kind::optional:
            return message({n.text, "?"});
        case gsub::pattern::node_kind::operation: {
            auto const operators = gsub::dialect::of<gsub::standard_ops>().ops;
            return around(operators[*gsub::find_row(operators, n.op)].name);
        }
        case gsub::pattern::node_kind::category:
            return around(n.links == 1 ? "unary" : "binary");
        case gsub::pattern::node_kind::each:
            return message({kids, "..."});
        case gsub::pattern::node_kind::part:
            return "part";
        case gsub::pattern::node_kind::all_parts:
            return around("all_parts");
        case gsub::pattern::node_kind::every_part:
            return around("every_part");
        case gsub::pattern::node_kind::computed:
            return "computed";
        }
        return {};
    };
    return n.context ? message({"context(", inner(), ")"}) : inner();
}
std::string pattern_of(gsub::rule_program const& rule) {
    std::string out;
    for (auto const root : rule.roots) out += message({out.empty() ? "" : ", ", term(rule, root)});
    return out;
}

} // namespace

answer verify_rules(verify_request const& r, session const& s) {
    auto const all = gsub::standard_rules();
    auto const chosen =
        r.rules == "all" ? std::vector(all.begin(), all.end()) : gsub::choose_rules(all, r.rules).value();
    answer a;
    gsub::report::table t{{"rule", "verdict", "box", "samples", "ms"}};
    std::string evidence;
    std::size_t proved = 0, refuted = 0;
    a.data["rules"] = gsub::io::json::array();
    for (auto const& rule : chosen) {
        s.watch->on_progress({"verify", proved + refuted, chosen.size(), rule.name});
        auto const begin = std::chrono::steady_clock::now();
        auto const v = gsub::verify(rule, {.seed = r.seed});
        auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        // What is not proved is not to be trusted: it counts as refuted, with its own verdict in the table.
        ++(v.outcome == gsub::verdict::proved ? proved : refuted);
        t.add({std::string{rule.name}, std::string{to_string(v.outcome)},
               message({v.box_instances, v.box_exhausted ? "" : "+"}), message({v.sampled_instances}),
               gsub::report::fixed(seconds * 1e3, 1)});
        if (!v.counterexample.empty()) evidence += message({"\n", rule.name, ":\n", v.counterexample, "\n"});
        a.data["rules"].push_back({{"rule", rule.name},
                                   {"verdict", to_string(v.outcome)},
                                   {"box_instances", v.box_instances},
                                   {"box_exhausted", v.box_exhausted},
                                   {"sampled_instances", v.sampled_instances},
                                   {"seconds", seconds},
                                   {"counterexample", v.counterexample}});
    }
    a.positive = refuted == 0;
    a.data["proved"] = proved;
    a.data["refuted"] = refuted;
    a.text = message({t.text(), evidence, "\n", chosen.size(), " rules: ", proved, " proved, ", refuted, " refuted\n"});
    return a;
}

answer rules(rules_request const& r) {
    answer a;
    // Patterns are wide: they stand in the page and in JSON.
    gsub::report::table t{{"rule", "kind", "where", "prefer", "source"}},
        page{{"rule", "kind", "pattern", "where", "prefer", "source"}};
    a.data["rules"] = gsub::io::json::array();
    for (auto const& rule : gsub::standard_rules()) {
        auto const where = condition_list(rule.where), prefer = condition_list(rule.prefer);
        auto const pattern = pattern_of(rule);
        t.add({std::string{rule.name}, std::string{kind_of(rule)}, where, prefer, std::string{rule.source}});
        page.add({std::string{rule.name}, std::string{kind_of(rule)}, message({"`", pattern, "`"}), where, prefer,
                  std::string{rule.source}});
        a.data["rules"].push_back({{"rule", rule.name},
                                   {"kind", kind_of(rule)},
                                   {"pattern", pattern},
                                   {"where", where},
                                   {"prefer", prefer},
                                   {"source", rule.source}});
    }
    a.text =
        r.markdown
            ? message({"# Rules\n\nMade by `gsub rules --markdown` from the rules themselves; a test compares. Each is "
                       "proved by `gsub\nverify-rules`, and refuted without any one of its conditions `where`. "
                       "`prefer` says when it is tried. An\natomic rule is one law, a macro several in one step; "
                       "internal rules are off unless named, timed ones\nunless named or prices come from a clock. "
                       "What of each law is covered: [rewrite](rewrite.md#laws-of-substitution).\n\n",
                       page.markdown()})
            : t.text();
    return a;
}

} // namespace cli
