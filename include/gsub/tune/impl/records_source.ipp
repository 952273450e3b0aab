#pragma once

#include <gsub/core/format.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/tune/kernel_record.hpp>
#include <gsub/tune/records_source.hpp>

#include <algorithm>

namespace gsub::tune {

GSUB_LAZY_BODY std::optional<int> record_lookup::distance(record const& r, isa const& isa) const {
    auto const of = target_of(r);
    if (!of || of->isa != &isa) return std::nullopt;
    auto here = machine_;
    here.isa = &isa;
    if (of->key() != here.key()) return options_.other_machines ? std::optional{2} : std::nullopt;
    return here.gpu || of->threads == here.threads ? 0 : 1;
}

GSUB_LAZY_BODY std::optional<loop::configuration> record_lookup::find(kernels::descriptor const& d, isa const& isa,
                                                                      loop::config_space const& space) const {
    auto const named = task_name_of(d);
    auto const all = records_->candidates(named.task, named.args);
    std::lock_guard const lock{state_->mutex};
    auto& report = state_->report;
    for (auto const apart : {0, 1, 2})
        for (auto const* r : all) {
            if (distance(*r, isa) != apart) continue;
            auto point = configuration_of(*r, space);
            if (point && space.allows(*point)) {
                ++report.recorded;
                report.foreign += apart == 2;
                return std::move(*point);
            }
            ++report.unfit;
            if (report.warnings.size() < options_.max_warnings)
                report.warnings.push_back(
                    format_text("{}: {}", r->args[0].text(),
                                point ? "no kernel has all of these together: " + loop::to_string(*point)
                                      : point.error().message()));
        }
    ++report.missing;
    return std::nullopt;
}

GSUB_LAZY_BODY void record_lookup::read_algorithms(isa const& isa) const {
    std::set<std::string> seen;
    for (auto const& r : records_->records()) {
        if (!r.task.starts_with("gsub.") || !seen.insert(task_key(r.task, r.args)).second) continue;
        auto const d = descriptor_of(r);
        if (!d) continue;
        auto const key = std::pair{&isa, kernels::hash_without_layouts(*d)};
        for (auto const apart : {0, 1, 2}) {
            auto found = false;
            for (auto const* best : records_->candidates(r.task, r.args)) {
                if (distance(*best, isa) != apart) continue;
                best_record const one{doubt_of(*best), best->mean_cost()};
                auto const [at, is_new] = state_->algorithms.emplace(key, one);
                if (!is_new) at->second = std::min(at->second, one);
                found = true;
                break;
            }
            if (found) break;
        }
    }
}

GSUB_LAZY_BODY std::optional<std::size_t> record_lookup::algorithm(std::span<kernels::descriptor const> alternatives,
                                                                   isa const& isa) const {
    std::lock_guard const lock{state_->mutex};
    if (state_->read.insert(&isa).second) read_algorithms(isa);
    std::optional<std::pair<best_record, std::size_t>> least;
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
        auto const found = state_->algorithms.find({&isa, kernels::hash_without_layouts(alternatives[i])});
        if (found == state_->algorithms.end()) continue;
        std::pair const one{found->second, i};
        if (!least || one < *least) least = one;
    }
    return least ? std::optional{least->second} : std::nullopt;
}

} // namespace gsub::tune
