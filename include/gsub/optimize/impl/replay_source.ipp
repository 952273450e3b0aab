#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>
#include <gsub/optimize/impl/replay_source.hpp>

#include <vector>

namespace gsub::detail {

GSUB_LAZY_BODY substitution_state replay_source::reconstruct(substitution_state const& s, step again) {
    std::vector<substitution_state const*> moves{&s}; // the last first
    auto here = s.before;
    while (here->deferred) {
        if (auto const known = reconstructed_.find(here->path); known != reconstructed_.end()) {
            here = known->second;
        } else {
            moves.push_back(here.get());
            here = here->before;
        }
    }
    std::size_t number = 0;
    for (auto const* x = here.get(); x; x = x->before.get()) ++number;
    for (; !moves.empty(); moves.pop_back(), ++number) {
        auto const& wanted = *moves.back();
        substitution_state made;
        if (auto const why = again(here, wanted, made); !why.empty())
            throw error{problem{errors::damaged_trace, std::string{site(wanted)}, std::string{rule(wanted)},
                                format_text("the trace does not fit: rewrite {} from the start {}", number, why),
                                "a search without it"}};
        made.before = here;
        here = std::make_shared<substitution_state const>(std::move(made));
        if (&wanted != &s) reconstructed_.emplace(here->path, here);
    }
    return *here;
}

} // namespace gsub::detail
