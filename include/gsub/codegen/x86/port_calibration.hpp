// calibrate_ports: times instructions of this machine and finds the ports that they take. Of the component `gsub::jit`.
//
//     class, width ── chain of them ──────────► latency ┐   all against a chain of integer additions,
//                  ── independent ones ───────► rate    ├─► which are a cycle each: the clock is no matter
//     two classes ─── mixed ─► ports together ─► shared ┘
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/result.hpp>
#include <gsub/target/measured_ports.hpp>
#include <gsub/target/target.hpp>

namespace gsub::codegen {

/// Options of `calibrate_ports`.
struct port_calibration_options {
    int rounds = 40; ///< of timing each probe, in turns with the chain of additions; of each the least time counts
};

/// Calibrates the ports of this machine with instructions of each class, at all widths that the machine has: latency by
/// a chain, rate by independent ones, shared ports by mixing two classes. Stores and branches begin no chain, so their
/// latency is 1. A load of a vector is timed with a move to an integer register, half of the way there and back.
/// Two classes are mixed in numbers that the front end keeps up with; where these tell nothing, they share no port.
/// Takes less than a second at 40 rounds. *Errors* `unsupported` where the machine has no AVX2, `environment` where the
/// clock gives no number. *Source* measuring latency, throughput and port usage as uops.info does: Abel and Reineke,
/// 2019.
GSUB_LAZY [[nodiscard]] result<measured_ports> calibrate_ports(port_calibration_options options = {},
                                                               target const& machine = host());

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/x86/impl/port_calibration.ipp>
#endif
