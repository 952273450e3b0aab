#pragma once

#include <gsub/core/format.hpp>
#include <gsub/optimize/relaxed_substitution.hpp>
#include <gsub/passes/evaluators_of.hpp>
#include <gsub/passes/layout/alter_op_layout.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace gsub {

namespace detail {

template <class Number>
[[nodiscard]] Number number_of(std::string_view name, std::string_view text) {
    Number out{};
    auto const end = text.data() + text.size();
    if (auto const [rest, failed] = std::from_chars(text.data(), end, out); failed != std::errc{} || rest != end)
        throw error{errors::search_setting, format_text("{} is no number: {}", name, quoted{text})};
    return out;
}

GSUB_LAZY_BODY pass_outcome substitute(any_graph& g, pass_context const& cx, cost::any_cost const& model,
                                       substitution_settings const& settings) {
    pass_outcome outcome;
    if (passes::names_layouts(g)) {
        outcome.skip("values have layouts");
        return outcome;
    }
    auto const rules = choose_rules(standard_rules(), settings.rules).value();
    if (rules.empty()) {
        outcome.skip("no rules are chosen");
        return outcome;
    }
    optimize_options options;
    options.alpha = settings.alpha;
    options.budget = settings.budget;
    options.rules = as_span(rules);
    options.fold = false;
    options.seed = cx.seed;
    options.threads = cx.threads;
    options.observe = cx.observe;
    options.stop = cx.stop;
    auto [better, report] = optimize(g, model, evaluators_of(cx, g), options).value();
    outcome.matches = report.applied.size();
    outcome.changed = !(better == g);
    if (outcome.changed) g = std::move(better);
    return outcome;
}

} // namespace detail

GSUB_LAZY_BODY result<substitution_settings> substitution_settings::parse(std::string_view text) {
    return capture([&] {
        substitution_settings out;
        std::vector<std::string_view> seen;
        while (!text.empty()) {
            auto const end = std::min(text.find(' '), text.size());
            auto const word = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            if (word.empty()) continue;
            auto const sign = std::min(word.find('='), word.size());
            auto const name = word.substr(0, sign), value = word.substr(std::min(sign + 1, word.size()));
            if (std::find(seen.begin(), seen.end(), name) != seen.end())
                throw error{errors::search_setting, format_text("{} is given twice", quoted{name})};
            seen.push_back(name);
            if (name == "alpha") {
                out.alpha = detail::number_of<double>(name, value);
                if (!(out.alpha >= 1) || !std::isfinite(out.alpha))
                    throw error{errors::search_setting, format_text("alpha is at least 1: {}", quoted{value})};
            } else if (name == "steps") {
                out.budget.steps = detail::number_of<std::uint64_t>(name, value);
            } else if (name == "rules") {
                static_cast<void>(choose_rules(standard_rules(), value).value());
                out.rules = value;
            } else {
                throw error{problem{errors::search_setting,
                                    {},
                                    {},
                                    format_text("no setting of a search: {}", quoted{name}),
                                    "such as alpha=1.05 steps=1000 rules=all"}};
            }
        }
        return out;
    });
}

} // namespace gsub
