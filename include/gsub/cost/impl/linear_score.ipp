#pragma once

#include <gsub/cost/impl/kernel_features.ipp>
#include <gsub/cost/impl/scheduled_time.ipp>
#include <gsub/cost/linear_score.hpp>

namespace gsub::cost {

GSUB_LAZY_BODY kernel_time linear_time_of(kernel_time counted, microarchitecture const& core,
                                          linear_score const& score) noexcept {
    counted.seconds = score.cycles(features_of(counted, core)) / (core.gigahertz * 1e9);
    return counted;
}

namespace detail {

GSUB_LAZY result<kernel_time> linear_time_of_blocks(codegen::kernel const& k, isa const& isa,
                                                    microarchitecture const& core, kernel_setting const& setting) {
    return linear_time_of(time_of(k, core, setting), core, linear_score_of(isa, ilp_source::blocks).score);
}
GSUB_LAZY result<kernel_time> linear_time_of_instructions(codegen::kernel const& k, isa const& isa,
                                                          microarchitecture const& core,
                                                          kernel_setting const& setting) {
    auto const made = scheduled_time_of(k, isa, core, setting);
    if (made) return linear_time_of(*made, core, linear_score_of(isa, ilp_source::instructions).score);
    if (made.error().code() != error_code::unsupported) return made.error();
    return linear_time_of_blocks(k, isa, core, setting);
}

} // namespace detail

GSUB_LAZY_BODY kernel_time_model linear_cycles(ilp_source ilp) noexcept {
    if (ilp == ilp_source::blocks) return {"linear, blocks", &detail::linear_time_of_blocks};
    return {"linear", &detail::linear_time_of_instructions};
}

} // namespace gsub::cost
