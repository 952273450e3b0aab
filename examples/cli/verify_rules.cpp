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

answer rules() {
    answer a;
    gsub::report::table t{{"rule", "kind", "where", "prefer", "source"}};
    a.data["rules"] = gsub::io::json::array();
    for (auto const& rule : gsub::standard_rules()) {
        auto const where = condition_list(rule.where), prefer = condition_list(rule.prefer);
        t.add({std::string{rule.name}, std::string{kind_of(rule)}, where, prefer, std::string{rule.source}});
        a.data["rules"].push_back({{"rule", rule.name},
                                   {"kind", kind_of(rule)},
                                   {"where", where},
                                   {"prefer", prefer},
                                   {"source", rule.source}});
    }
    a.text = t.text();
    return a;
}

} // namespace cli
