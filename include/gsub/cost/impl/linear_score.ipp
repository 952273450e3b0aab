#pragma once

#include <gsub/cost/impl/kernel_features.ipp>
#include <gsub/cost/linear_score.hpp>

namespace gsub::cost {

GSUB_LAZY_BODY kernel_time linear_time_of(codegen::kernel const& k, microarchitecture const& core,
                                          kernel_setting const& setting, linear_score const& score) {
    auto made = time_of(k, core, setting);
    made.seconds = score.cycles(features_of(made, core)) / (core.gigahertz * 1e9);
    return made;
}

GSUB_LAZY_BODY kernel_time_model linear_cycles() noexcept {
    return {"linear",
            [](codegen::kernel const& k, isa const& isa, microarchitecture const& core, kernel_setting const& setting)
                -> result<kernel_time> { return linear_time_of(k, core, setting, linear_score_of(isa).score); }};
}

} // namespace gsub::cost
