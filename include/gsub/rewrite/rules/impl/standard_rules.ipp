#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/rewrite/rules/conv.hpp>
#include <gsub/rewrite/rules/matmul.hpp>
#include <gsub/rewrite/rules/merge.hpp>
#include <gsub/rewrite/rules/movement.hpp>
#include <gsub/rewrite/rules/pool.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>

#include <algorithm>

namespace gsub {

GSUB_INLINE std::span<rule_program const> standard_rules() noexcept {
    static std::vector<rule_program> const all = [] {
        std::vector<rule_program> list;
        append(list, rules::convolution::all());
        append(list, rules::merging::all());
        append(list, rules::pooling::all());
        append(list, rules::matrix::all());
        append(list, rules::movement::all());
        return list;
    }();
    return as_span(all);
}

GSUB_INLINE result<std::vector<rule_program>> choose_rules(std::span<rule_program const> from, std::string_view list,
                                                           bool timed) {
    std::vector<bool> chosen(from.size(), false);
    auto const everything = [&](bool macros) {
        for (std::size_t i = 0; i < from.size(); ++i)
            chosen[i] = from[i].kind == rule_kind::atomic || (macros && from[i].kind == rule_kind::macro) ||
                        (timed && from[i].kind == rule_kind::timed);
    };
    bool first = true;
    while (!list.empty() || first) {
        auto const comma = std::min(list.find(','), list.size());
        auto name = list.substr(0, comma);
        list.remove_prefix(std::min(comma + 1, list.size()));
        auto const without = name.starts_with('-');
        if (without) name.remove_prefix(1);
        if (first && (without || name.empty())) everything(true);
        first = false;
        if (name == "all" || name == "atomic") {
            everything(name == "all");
            continue;
        }
        if (name == "none") {
            chosen.assign(from.size(), false);
            continue;
        }
        if (name.empty()) continue;
        std::size_t place = 0;
        while (place < from.size() && from[place].name != name) ++place;
        if (place == from.size())
            return error{problem{errors::unknown_rule,
                                 {},
                                 {},
                                 format_text("there is no rule {}", quoted{name}),
                                 "gsub verify-rules lists the rules"}};
        chosen[place] = !without;
    }
    std::vector<rule_program> out;
    for (std::size_t i = 0; i < from.size(); ++i)
        if (chosen[i]) out.push_back(from[i]);
    return out;
}

} // namespace gsub
