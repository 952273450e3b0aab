#pragma once

#include <gsub/codegen/x86/instruction_stream.hpp>
#include <gsub/cost/impl/kernel_time.ipp>
#include <gsub/cost/impl/kernel_work.ipp>
#include <gsub/cost/impl/region_cycles.ipp>
#include <gsub/cost/scheduled_time.hpp>

#include <utility>
#include <vector>

namespace gsub::cost {

namespace detail {

// The regions of a stream, with what a walk has found of how often they run.
GSUB_LAZY std::vector<code_region> regions_of(codegen::instruction_stream const& s, walked_loops& loops) {
    std::vector<code_region> out;
    for (auto const& r : s.regions) {
        code_region made{r.within,    r.first, r.last,   1, 1, r.of ? loops.stage_of(*r.of) : 0,
                         r.is_loop(), false,   !!r.turns};
        if (r.is_loop()) {
            auto const found = loops.loops.find(r.of);
            auto const times = found == loops.loops.end() ? walked_loops::loop_counts{} : found->second;
            made.entries = times.entries, made.runs = times.turns, made.alone = r.of->var == s.lowered->parallel;
        } else if (r.of) {
            auto const found = loops.branches.find(r.of);
            auto const times = found == loops.branches.end() ? std::pair{0.0, 0.0} : found->second;
            made.entries = made.runs = r.otherwise ? times.second : times.first;
        }
        out.push_back(made);
    }
    return out;
}

} // namespace detail

GSUB_LAZY_BODY result<kernel_time> scheduled_time_of(codegen::kernel const& k, isa const& isa,
                                                     microarchitecture const& core, kernel_setting const& setting) {
    auto const stream = codegen::instructions_of(k, isa);
    if (!stream) return stream.error();
    detail::kernel_work<> const work{*stream->lowered, core};
    auto made = work.counted();
    auto loops = work.loops();
    auto const regions = detail::regions_of(*stream, loops);
    detail::region_cycles<>{stream->code, regions, core, loops.stage_cycles}.run();
    made.compute = made.control = 0;
    for (auto const cycles : loops.stage_cycles) made.compute += cycles;
    return detail::with_memory(made, *stream->lowered, core, setting, loops, true);
}

GSUB_LAZY_BODY kernel_time_model scheduled_cycles() noexcept {
    return {"scheduled",
            [](codegen::kernel const& k, isa const& isa, microarchitecture const& core, kernel_setting const& setting) {
                return scheduled_time_of(k, isa, core, setting);
            },
            {}};
}

} // namespace gsub::cost
