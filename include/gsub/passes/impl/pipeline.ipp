#pragma once

#include <gsub/core/format.hpp>
#include <gsub/passes/pipeline.hpp>

#include <algorithm>
#include <vector>

namespace gsub::detail {

GSUB_LAZY_BODY result<pass_outcome> run_fixpoint(std::size_t max_iterations, module& m, pass_context& cx,
                                                 function_ref<result<pass_outcome>(module&, pass_context&)> body) {
    pass_outcome sum;
    std::vector<hash128> seen{fingerprint(m)};
    auto const ends_with = [&](std::string const& reason) {
        sum.skip(reason);
        if (cx.observe) cx.observe->on_note(format_text("fixpoint: {}", reason));
        return sum;
    };
    for (std::size_t round = 0; round < std::max<std::size_t>(max_iterations, 1); ++round) {
        auto const done = body(m, cx);
        if (!done) return done.error();
        sum += *done;
        auto const now = fingerprint(m);
        if (!done->changed || now == seen.back()) return sum;
        if (std::find(seen.begin(), seen.end(), now) != seen.end()) return ends_with("the passes undo each other");
        seen.push_back(now);
    }
    return ends_with(format_text("still changing after {} iterations", max_iterations));
}

} // namespace gsub::detail
