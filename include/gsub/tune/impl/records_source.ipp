#pragma once

#include <gsub/core/format.hpp>
#include <gsub/tune/kernel_record.hpp>
#include <gsub/tune/records_source.hpp>

namespace gsub::tune {

GSUB_LAZY_BODY std::optional<loop::configuration> record_lookup::find(kernels::descriptor const& d, isa const& isa,
                                                                      loop::config_space const& space) const {
    auto const named = task_name_of(d);
    auto here = machine_;
    here.isa = &isa;
    auto const all = records_->candidates(named.task, named.args);
    std::lock_guard const lock{state_->mutex};
    auto& report = state_->report;
    for (auto const foreign : {false, true}) {
        if (foreign && !options_.other_machines) break;
        for (auto const* r : all) {
            auto const of = target_of(*r);
            if (!of || of->isa != &isa || (of->key() == here.key()) == foreign) continue;
            auto point = configuration_of(*r, space);
            if (point && space.allows(*point)) {
                ++report.recorded;
                report.foreign += foreign;
                return std::move(*point);
            }
            ++report.unfit;
            if (report.warnings.size() < options_.max_warnings)
                report.warnings.push_back(
                    format_text("{}: {}", r->args[0].text(),
                                point ? "no kernel has all of these together: " + loop::to_string(*point)
                                      : point.error().message()));
        }
    }
    ++report.missing;
    return std::nullopt;
}

} // namespace gsub::tune
