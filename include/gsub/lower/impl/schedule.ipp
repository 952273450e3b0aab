#pragma once

#include <gsub/core/format.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/lower/schedule.hpp>

#include <map>
#include <string>
#include <utility>

namespace gsub {

GSUB_LAZY_BODY result<kernel_graph> schedule(kernel_graph g, isa const& isa, schedule_function choose) {
    try {
        struct chosen {
            std::shared_ptr<loop::config_space const> space;
            loop::configuration point;
        };
        std::map<hash128, chosen> known;
        for (auto& op : g.ops) {
            auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
            auto const* const own = std::get_if<custom_kernel>(&op.computes);
            if (own) {
                op.space =
                    std::make_shared<loop::config_space const>(own->space ? own->space(isa) : loop::config_space{});
                std::uint64_t first = 0; // that the space allows
                while (first < op.space->size() && !op.space->allows(op.space->at(first))) ++first;
                if (first == op.space->size())
                    return error{errors::kernel_schedule, format_text("the space of {} allows no point", own->name)};
                op.schedule = op.space->at(first);
            }
            if (!d) continue;
            auto space = std::make_shared<loop::config_space const>(kernels::space_of(*d, isa));
            if (space->knobs().empty()) { // nothing to choose
                op.schedule = space->at(0);
                op.space = std::move(space);
                continue;
            }
            auto const key = kernels::hash_of(*d);
            auto found = known.find(key);
            if (found == known.end()) {
                auto point = choose(*d, isa, *space);
                if (&point.space() != space.get() || !space->allows(point))
                    return error{errors::kernel_schedule,
                                 format_text("the schedule of {} is no point of its space: {}",
                                             op.covers.empty() ? op.moves : op.covers.front().name,
                                             loop::to_string(point))};
                found = known.emplace(key, chosen{std::move(space), std::move(point)}).first;
            }
            op.space = found->second.space;
            op.schedule = found->second.point;
        }
        g.stage = lowering_stage::scheduled;
        return g;
    } catch (error const& e) { return e; }
}

} // namespace gsub
