// gsub verify-rules and gsub rules: the laws that searches apply, proved by machine.
#include "commands.hpp"
#include "rule_files.hpp"
#include <gsub/core/format.hpp>
#include <gsub/report.hpp>
#include <gsub/rewrite.hpp>
#include <gsub/rewrite/files/rule_text.hpp>
#include <gsub/rewrite/files/taso.hpp>

#include <chrono>

namespace cli {

using gsub::to_string;

namespace {

std::string condition_list(std::span<gsub::rule_condition const> conditions) {
    std::string out;
    for (auto const& c : conditions) out += gsub::format_text("{}{}", out.empty() ? "" : "; ", c.sentence);
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

// Whether a variable of the pattern stands for the result of its node `n`.
bool is_read_by_name(gsub::rule_program const& rule, gsub::pattern::node const& n) {
    return n.name != 0 && gsub::any_of(rule.match_nodes, [&](gsub::pattern::node const& other) {
               return other.kind == gsub::pattern::node_kind::variable && other.name == n.name;
           });
}
// The pattern as its author wrote it, but for labels that nothing else refers to.
std::string term(gsub::rule_program const& rule, std::uint16_t number) {
    auto const& n = rule.match_nodes[number];
    std::string kids;
    for (std::size_t i = 0; i < n.links; ++i)
        kids += gsub::format_text("{}{}", kids.empty() ? "" : ", ", term(rule, rule.match_links[n.first_link + i]));
    if (n.apart) kids += ", ...";
    auto const label = is_read_by_name(rule, n) ? gsub::format_text("{}: ", n.text) : std::string{};
    auto const around = [&](std::string_view word) { return gsub::format_text("{}{}({})", label, word, kids); };
    auto const inner = [&]() -> std::string {
        switch (n.kind) {
        case gsub::pattern::node_kind::variable:
            return std::string{n.text};
        case gsub::pattern::node_kind::optional:
            return gsub::format_text("{}?", n.text);
        case gsub::pattern::node_kind::operation: {
            auto const operators = gsub::dialect::of<gsub::standard_ops>().ops;
            return around(operators[*gsub::find_row(operators, n.op)].name);
        }
        case gsub::pattern::node_kind::category:
            return around(n.links == 1 ? "unary" : "binary");
        case gsub::pattern::node_kind::each:
            return gsub::format_text("{}...", kids);
        case gsub::pattern::node_kind::part:
            return "part";
        case gsub::pattern::node_kind::all_parts:
            return around("all_parts");
        case gsub::pattern::node_kind::every_part:
            return around("every_part");
        case gsub::pattern::node_kind::some:
            return gsub::format_text("some({})", n.text);
        case gsub::pattern::node_kind::computed:
            return "computed";
        }
        return {};
    };
    return n.context ? gsub::format_text("context({})", inner()) : inner();
}
std::string pattern_of(gsub::rule_program const& rule) {
    std::string out;
    for (auto const root : rule.roots) out += gsub::format_text("{}{}", out.empty() ? "" : ", ", term(rule, root));
    return out;
}

} // namespace

namespace {

bool is_proved(gsub::verification const& v) {
    return v.outcome == gsub::verdict::proved || v.outcome == gsub::verdict::proved_where_typed;
}

/// Verdicts as they come in, and the answer that they make.
class tally {
public:
    tally(std::size_t rules, session const& s) : rules_(rules), session_(&s) {
        answer_.data["rules"] = gsub::io::json::array();
    }

    template <class Prove>
    void add(std::string_view name, Prove&& prove) {
        session_->observe->on_progress({"verify", proved_ + refuted_, rules_, name});
        auto const begin = std::chrono::steady_clock::now();
        gsub::verification const v = prove();
        auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        // What is not proved is not to be trusted: it counts as refuted, with its own verdict in the table.
        ++(is_proved(v) ? proved_ : refuted_);
        table_.add({std::string{name}, std::string{to_string(v.outcome)},
                    gsub::format_text("{}{}", v.box_instances, v.box_exhausted ? "" : "+"),
                    gsub::format_text("{}", v.sampled_instances), gsub::report::fixed(seconds * 1e3, 1)});
        if (!v.condition.empty())
            conditions_ += gsub::format_text("\n{} is typed where {}: {} of {} instances", name, v.condition,
                                             v.box_instances + v.sampled_instances - v.untyped_instances,
                                             v.box_instances + v.sampled_instances);
        if (!v.counterexample.empty()) evidence_ += gsub::format_text("\n{}:\n{}\n", name, v.counterexample);
        if (!v.replacement.empty()) evidence_ += gsub::format_text("becomes\n{}\n", v.replacement);
        answer_.data["rules"].push_back({{"rule", name},
                                         {"verdict", to_string(v.outcome)},
                                         {"box_instances", v.box_instances},
                                         {"box_exhausted", v.box_exhausted},
                                         {"sampled_instances", v.sampled_instances},
                                         {"untyped_instances", v.untyped_instances},
                                         {"condition", v.condition},
                                         {"seconds", seconds},
                                         {"counterexample", v.counterexample},
                                         {"replacement", v.replacement}});
    }

    answer result() {
        answer_.positive = refuted_ == 0;
        answer_.data["proved"] = proved_;
        answer_.data["refuted"] = refuted_;
        answer_.text = gsub::format_text("{}{}{}{}\n{} rules: {} proved, {} refuted\n", table_.text(), conditions_,
                                         conditions_.empty() ? "" : "\n", evidence_, rules_, proved_, refuted_);
        return std::move(answer_);
    }

private:
    std::size_t rules_, proved_ = 0, refuted_ = 0;
    session const* session_;
    gsub::report::table table_{{"rule", "verdict", "box", "samples", "ms"}};
    std::string conditions_, evidence_;
    answer answer_;
};

} // namespace

answer verify_rules(verify_request const& r, session const& s) {
    if (rule_files const files{r.taso, r.rules_file}; files.given()) {
        auto const loaded = load_rules(files);
        tally t{loaded.size(), s};
        auto options = gsub::loaded_rule_options;
        options.seed = r.seed;
        for (auto const& rule : loaded) t.add(rule.program().name, [&] { return gsub::verify(rule, options); });
        return t.result();
    }
    auto const all = gsub::standard_rules();
    auto const chosen =
        r.rules == "all" ? std::vector(all.begin(), all.end()) : gsub::choose_rules(all, r.rules).value();
    tally t{chosen.size(), s};
    for (auto const& rule : chosen) t.add(rule.name, [&] { return gsub::verify(rule, {.seed = r.seed}); });
    return t.result();
}

std::vector<gsub::loaded_rule> load_rules(rule_files const& files) {
    std::vector<gsub::loaded_rule> out;
    auto const add = [&](gsub::result<std::vector<gsub::rule_description>> described) {
        for (auto& d : described.value()) out.push_back(gsub::loaded_rule::make(std::move(d)).value());
    };
    if (!files.taso.empty()) add(gsub::load_taso(files.taso));
    if (!files.text.empty()) add(gsub::load_rules(files.text));
    return out;
}

usable_rules prove_rules(rule_files const& files, std::uint64_t seed, session const& s) {
    auto const loaded = load_rules(files);
    auto options = gsub::loaded_rule_options;
    options.seed = seed;
    usable_rules out;
    std::size_t refuted = 0, loose = 0, done = 0;
    for (auto const& rule : loaded) {
        s.observe->on_progress({"verify", done++, loaded.size(), rule.program().name});
        if (!is_proved(gsub::verify(rule, options)))
            ++refuted;
        else if (!rule.connected())
            ++loose;
        else
            out.rules.push_back(rule);
    }
    auto const both = !files.taso.empty() && !files.text.empty();
    auto const names = gsub::format_text("{}{}{}", files.taso, both ? ", " : "", files.text);
    out.text =
        gsub::format_text("loaded   {}: {} rules, {} used; left out: {} refuted, {} of parts that share no value\n",
                          names, loaded.size(), out.rules.size(), refuted, loose);
    out.data = {{"file", names},
                {"rules", loaded.size()},
                {"used", out.rules.size()},
                {"refuted", refuted},
                {"unconnected", loose}};
    return out;
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
        page.add({std::string{rule.name}, std::string{kind_of(rule)}, gsub::format_text("`{}`", pattern), where, prefer,
                  std::string{rule.source}});
        a.data["rules"].push_back({{"rule", rule.name},
                                   {"kind", kind_of(rule)},
                                   {"pattern", pattern},
                                   {"where", where},
                                   {"prefer", prefer},
                                   {"source", rule.source}});
    }
    a.text = r.markdown
                 ? gsub::format_text(
                       "# Rules\n\nMade by `gsub rules --markdown` from the rules themselves; a test compares. Each "
                       "is proved by `gsub\nverify-rules`, and refuted without any one of its conditions `where`. "
                       "`prefer` says when it is tried. An\natomic rule is one law, a macro several in one step; "
                       "internal rules are off unless named, timed ones\nunless named or costs come from a clock. "
                       "What of each law is covered: [rewrite](rewrite.md#laws-of-substitution).\n\n{}",
                       page.markdown())
                 : t.text();
    return a;
}

} // namespace cli
