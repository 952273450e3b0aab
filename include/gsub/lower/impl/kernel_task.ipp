#pragma once

#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/kernel_task.hpp>

#include <map>

namespace gsub {

GSUB_LAZY_BODY std::vector<kernel_task> tasks_of(kernel_graph const& g) {
    GSUB_ASSERT(g.stage == lowering_stage::scheduled, "tasks are those of a scheduled graph");
    std::vector<kernel_task> tasks;
    std::map<hash128, std::size_t> known;
    for (auto const& op : g.ops) {
        auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
        if (!d) continue;
        auto const [found, is_new] = known.try_emplace(kernels::hash_of(*d), tasks.size());
        if (is_new) {
            kernel_task task{*d, 0, kernels::operations_of(*d), 0, op.space, op.schedule};
            auto const add = [&](kernel_value_id v) {
                task.bytes += static_cast<double>(g.values[static_cast<std::size_t>(v)].bytes);
            };
            for (auto const& o : op.operands) add(o.value);
            for (auto const v : op.results) add(v);
            tasks.push_back(std::move(task));
        }
        ++tasks[found->second].kernels;
    }
    return tasks;
}

} // namespace gsub
