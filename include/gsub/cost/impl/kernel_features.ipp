#pragma once

#include <gsub/cost/impl/kernel_time.ipp>
#include <gsub/cost/kernel_features.hpp>

#include <algorithm>

namespace gsub::cost {

GSUB_LAZY_BODY kernel_features features_of(kernel_time const& counted, microarchitecture const& core) noexcept {
    using enum kernel_feature;
    constexpr double line = 64;
    kernel_features out;
    out.threads = counted.threads, out.part = counted.part;
    auto const instructions = [&](kernel_feature f, double count, double each_cycle) {
        out[f] = {count, count / each_cycle * counted.part};
    };
    instructions(fma, counted.multiply_adds, core.fma_units);
    instructions(arithmetic, counted.arithmetic, core.vector_units);
    instructions(load, std::max(0.0, counted.loads - counted.scalar_loads), core.loads);
    instructions(scalar_load, counted.scalar_loads, core.scalar_loads);
    instructions(store, counted.stores, core.stores);
    instructions(other, counted.others, core.issue);
    instructions(ilp, std::max(0.0, counted.compute - counted.control), 1);
    out[control] = {counted.turns, counted.control * counted.part};
    // Caches of their own give threads as much each, memory all of them together.
    auto const hertz = core.gigahertz * 1e9;
    auto const threads = static_cast<double>(counted.threads);
    auto const memory_rate = (counted.threads > 1 ? core.memory_bytes_in_all : core.memory_bytes_per_second) / hertz;
    out[l2] = {counted.l2_bytes / line, counted.l2_bytes / core.l2_bytes_per_cycle / threads};
    out[l3] = {counted.l3_bytes / line, counted.l3_bytes / core.l3_bytes_per_cycle / threads};
    out[memory] = {counted.memory_bytes / line, counted.memory_bytes / memory_rate};
    out[call] = {1, detail::call_seconds * hertz};
    if (counted.threads > 1) out[wake] = {1, detail::wake_seconds * hertz};
    return out;
}

GSUB_LAZY_BODY kernel_features features_of(codegen::kernel const& k, microarchitecture const& core,
                                           kernel_setting const& setting) {
    return features_of(time_of(k, core, setting), core);
}

} // namespace gsub::cost
