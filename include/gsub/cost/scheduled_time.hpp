// Scheduled time: predicts the time of a kernel from its machine instructions, run through the ports of a core.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/result.hpp>
#include <gsub/cost/kernel_time.hpp>
#include <gsub/target/isa.hpp>
#include <gsub/target/microarchitecture.hpp>

namespace gsub::cost {

/// Predicts the time of one call of a kernel as `time_of` does, but for its cycles: those that its instruction stream
/// (`codegen::instructions_of`) takes on the ports of the core. *Errors* `unsupported`: those of the stream.
GSUB_LAZY [[nodiscard]] result<kernel_time> scheduled_time_of(codegen::kernel const& k, isa const& isa,
                                                              microarchitecture const& core,
                                                              kernel_setting const& setting = {});

/// The kernel time model of `scheduled_time_of`, for `lowered_options::model`.
GSUB_LAZY [[nodiscard]] kernel_time_model scheduled_cycles() noexcept;

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/scheduled_time.ipp>
#endif
