#pragma once

#include <gsub/core/format.hpp>
#include <gsub/passes/eliminate/remove_unused_functions.hpp>
#include <gsub/passes/impl/argument_list.hpp>

#include <algorithm>
#include <map>

namespace gsub::passes {

GSUB_LAZY_BODY result<remove_unused_functions> remove_unused_functions::from_text(std::string_view text) {
    return remove_unused_functions{detail::words_of(text, ',')};
}

GSUB_LAZY_BODY result<pass_outcome> remove_unused_functions::operator()(module& m, pass_context& cx) const {
    return capture([&] {
        auto const functions = m.functions();
        std::map<std::string_view, std::size_t> places;
        for (std::size_t i = 0; i < functions.size(); ++i) places[functions[i].name] = i;
        auto const& roots = entries.empty() ? m.entry_points() : entries;
        std::vector<bool> reached(functions.size(), false);
        std::vector<std::size_t> open;
        auto const reach = [&](std::string_view callee) {
            auto const found = places.find(callee);
            if (found == places.end()) return false; // of calls: the checks of modules tell
            if (!reached[found->second]) open.push_back(found->second);
            reached[found->second] = true;
            return true;
        };
        for (auto const& entry : roots)
            if (!reach(entry)) throw error{error_code::usage, format_text("there is no function {}", quoted{entry})};
        while (!open.empty()) {
            cx.check_stop();
            auto const& body = functions[open.back()].body;
            open.pop_back();
            for (auto n : body.order()) {
                if (body.is<ops::call>(n)) reach(body.attributes<ops::call>(n).callee);
                if (!body.is<ops::if_else>(n)) continue;
                reach(body.attributes<ops::if_else>(n).then_branch);
                reach(body.attributes<ops::if_else>(n).else_branch);
            }
        }
        pass_outcome outcome;
        for (bool const r : reached) outcome.matches += !r;
        outcome.changed = outcome.matches > 0 || (!entries.empty() && entries != m.entry_points());
        if (!outcome.changed) return outcome;
        module kept;
        kept.set_entry_points(roots);
        for (std::size_t i = 0; i < functions.size(); ++i)
            if (reached[i]) kept.add(functions[i].name, functions[i].body, functions[i].attributes);
        m = std::move(kept);
        return outcome;
    });
}

} // namespace gsub::passes
