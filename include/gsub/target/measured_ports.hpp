// Measured ports: what instructions of a core were timed at, and the port table that follows from it.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/target/port_table.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gsub {

/// Timed use of ports by a class at a width in bytes. *Units* cycles.
struct measured_use {
    instruction_class of = instruction_class::fma;
    std::int32_t bytes = 0;
    double latency = 0;      ///< until the result is there
    double cycles = 0;       ///< an instruction, of many that do not wait for each other
    std::uint32_t ports = 0; ///< bits; which numbers they have means nothing but what classes share
    friend bool operator==(measured_use const&, measured_use const&) = default;
};

/// Measurement of the ports of a core, with where it comes from. A use counts for its width and more, until the next
/// one of its class.
struct measured_ports {
    std::string core;              ///< row of `microarchitectures()` that the machine has otherwise
    std::string machine;           ///< name of the processor, as `host()` has it
    std::string date;              ///< e.g. `2026-11-26`
    std::string made_by;           ///< program and version
    double issue = 0;              ///< instructions a cycle
    double accumulate_latency = 0; ///< cycles of an fma to the addend of the next one
    std::vector<measured_use> uses{};
    friend bool operator==(measured_ports const&, measured_ports const&) = default;
};

/// Ports that an instruction may take, by its measured rate: as many as begin one a cycle each. One that begins less
/// often than each 1.35 cycles keeps its port busy for longer; two ports do where that is not a whole number of cycles.
GSUB_LAZY [[nodiscard]] std::int32_t measured_units(double cycles) noexcept;

/// Assigns ports to classes from how many each takes and how many each two have in common: `shared[i * n + j]` for
/// `i < j`; below 0: not known, rather none. Where no assignment has all of these numbers, one with few wrong
/// ones. *Returns* a set of at most 32 ports each. *Requires* from 1 to 32 ports each. *Complexity* O(n^2) times some
/// thousand: a beam search over which classes' ports are shared.
GSUB_LAZY [[nodiscard]] std::vector<std::uint32_t> assign_ports(std::span<std::int32_t const> units,
                                                                std::span<std::int32_t const> shared);

/// Port table of a measurement, for `microarchitecture::ports`. Latencies, the issue width and the times that ports are
/// busy are whole numbers. Copies share it.
class measured_port_table {
public:
    /// *Requires* a use of each class and the core that it names: `check` tells.
    GSUB_LAZY measured_port_table(measured_ports const& found, microarchitecture const& core);
    /// What is wrong with a measurement: a class without a use, no port, a number that is none. Empty: nothing is.
    GSUB_LAZY [[nodiscard]] static std::string check(measured_ports const& found);

    [[nodiscard]] port_table const& table() const noexcept { return kept_->table; }

private:
    struct state {
        std::string name, ports;
        std::vector<port_use> uses;
        port_table table;
    };
    std::shared_ptr<state const> kept_;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/target/impl/measured_ports.ipp>
#endif
