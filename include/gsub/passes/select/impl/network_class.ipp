#pragma once

#include <gsub/core/format.hpp>
#include <gsub/passes/select/network_class.hpp>

#include <algorithm>

namespace gsub {

GSUB_LAZY_BODY std::string pass_selection::text() const {
    std::string out;
    for (auto const& p : passes) out += format_text("{}{}", out.empty() ? "" : ", ", p.text());
    return out;
}

namespace detail {

GSUB_LAZY_BODY classification first_that_fits(std::span<scored_class const> classes) {
    classification out;
    for (auto const& c : classes) {
        auto const fits = c.score.value >= 0.5;
        if (fits && out.name.empty()) {
            out.name = c.name, out.score = c.score.value;
            out.reasons.insert(out.reasons.begin(), format_text("{}: {}", c.name, c.score.reason));
        } else {
            if (out.name.empty()) out.score = std::max(out.score, c.score.value);
            out.reasons.push_back(format_text("{}{}: {}", fits ? "also " : "not ", c.name, c.score.reason));
        }
    }
    return out;
}

} // namespace detail

} // namespace gsub
