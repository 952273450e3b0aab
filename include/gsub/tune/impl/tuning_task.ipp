#pragma once

#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/select.hpp>
#include <gsub/tune/tuning_task.hpp>

#include <map>
#include <utility>

namespace gsub::tune {

namespace detail {

// A kernel of a graph as a graph: constants stay what they are, other values become inputs and outputs, which keep
// their storage.
GSUB_LAZY [[nodiscard]] kernel_graph kernel_alone(kernel_graph const& g, kernel_op op) {
    kernel_graph out;
    out.stage = g.stage;
    std::map<kernel_value_id, kernel_value_id> known;
    auto const take = [&](kernel_value_id& v, runtime::memory_role role) {
        auto const [found, is_new] = known.try_emplace(v, static_cast<kernel_value_id>(out.values.size()));
        if (is_new) {
            auto value = g.values[static_cast<std::size_t>(v)];
            value.part_of = -1, value.offset = 0;
            if (value.role != runtime::memory_role::constant) {
                auto const written = role == runtime::memory_role::output;
                value.role = role, value.position = written ? out.outputs.size() : out.inputs.size();
                (written ? out.results : out.inputs).push_back(value.type);
                if (written) out.outputs.push_back(found->second);
            }
            out.values.push_back(std::move(value));
        }
        v = found->second;
    };
    for (auto& o : op.operands) take(o.value, runtime::memory_role::input);
    for (auto& v : op.results) take(v, runtime::memory_role::output);
    out.ops.push_back(std::move(op));
    return out;
}

} // namespace detail

GSUB_LAZY_BODY kernel_op tuning_task::with(candidate const& c) const {
    auto op = alone.ops.front();
    auto const& a = algorithms[c.algorithm];
    op.computes = a.computes, op.space = a.space, op.schedule = a.space->at(c.index);
    return op;
}

GSUB_LAZY_BODY std::string to_string(tuning_task const& t) {
    return kernels::to_string(t.what());
}
GSUB_LAZY_BODY std::string kind_of(tuning_task const& t, candidate const& c) {
    return kernels::kind_of(t.algorithms[c.algorithm].computes);
}

GSUB_LAZY_BODY std::vector<tuning_task> tuning_tasks_of(kernel_graph const& g, isa const& isa,
                                                        task_options const& options) {
    GSUB_ASSERT(g.stage == lowering_stage::scheduled, "tasks are those of a scheduled graph");
    double weights = 0;
    for (auto const& v : g.values)
        if (v.role == runtime::memory_role::constant) weights += static_cast<double>(v.data.size_bytes());
    std::vector<tuning_task> tasks;
    constexpr auto nothing_to_choose = static_cast<std::size_t>(-1);
    std::map<hash128, std::size_t> known;
    for (auto const& op : g.ops) {
        auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
        if (!d) continue;
        auto const [found, is_new] = known.try_emplace(kernels::hash_of(*d), tasks.size());
        if (is_new) {
            tuning_task t;
            for (auto const& computes : algorithms_of(g, op, options.winograd.accuracy)) {
                auto const same = kernels::equal(computes, *d);
                auto space =
                    same ? op.space : std::make_shared<loop::config_space const>(kernels::space_of(computes, isa));
                auto counted = same ? *op.schedule : kernels::counted(computes, isa, *space, options.winograd);
                if (same) t.untuned = {t.algorithms.size(), op.schedule->index()};
                t.algorithms.push_back({computes, std::move(space), std::move(counted)});
            }
            if (options.only_choices && t.algorithms.size() == 1 && t.algorithms[0].space->size() == 1) {
                found->second = nothing_to_choose;
                continue;
            }
            t.alone = detail::kernel_alone(g, op);
            t.operations = kernels::operations_of(*d);
            t.weight_bytes = weights;
            tasks.push_back(std::move(t));
        }
        if (found->second != nothing_to_choose) ++tasks[found->second].kernels;
    }
    return tasks;
}

} // namespace gsub::tune
