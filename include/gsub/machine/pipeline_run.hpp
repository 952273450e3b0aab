// Pipeline run: a program's instructions, stretch by stretch, through issue, window, ports and retirement of a core.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/machine/instruction.hpp>
#include <gsub/target/port_table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gsub::machine {

/// Runs instructions of one code, in any order of its stretches: what a loop repeats, and what stands before and behind
/// it, overlap as they do in a core. Instructions enter in order, so many a cycle, while the window has room; each
/// starts on a port of its class when its operands are there, vector operations from a scheduler that holds some of
/// them and on the port for which fewest wait as they enter, and leaves in order. Moves between vector registers and
/// zeros take no port. Registers are renamed; data come from the first cache. *Complexity* O(1) an instruction, for the
/// cycles that ports are busy about it.
class pipeline_run {
public:
    /// *Requires* code and a core that live as long.
    GSUB_LAZY pipeline_run(std::span<instruction const> code, core_ports const& core);

    /// Runs the instructions from `first` to before `last`.
    GSUB_LAZY void run(std::size_t first, std::size_t last);
    /// What follows enters only after the last branch that has run, and the cycles that the front end takes to begin
    /// anew: that branch was predicted wrongly.
    GSUB_LAZY void mispredict();
    /// The cycle in which the last instruction so far has left.
    [[nodiscard]] double cycles() const noexcept { return retired_; }
    /// Instructions that have run.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

private:
    struct step { // an instruction, decoded
        std::uint32_t ports = 0, load_ports = 0;
        std::uint32_t set = 0, load_set = 0;   // which of the sets of ports
        std::uint32_t busy = 1, load_busy = 1; // cycles that a port is taken for
        double latency = 0, load_latency = 0, done = 0, entry = 0;
        bool moves = false, branches = false, waits = false;
        std::uint16_t uses = 0, defs = 0; // so many registers behind `operands`
        std::uint32_t operands = 0;
    };
    static constexpr std::size_t cycles_known = 8192; // a power of 2, more than any instruction waits
    static constexpr std::size_t taken_words = cycles_known / 64, most_sets = 64;

    GSUB_LAZY std::uint32_t set_of(std::uint32_t ports);
    GSUB_LAZY double take(std::uint32_t ports, std::uint32_t set, double from, std::size_t length);
    GSUB_LAZY void clear_to(std::size_t end);
    GSUB_LAZY int port_of(std::uint32_t ports, double now);
    GSUB_LAZY double begin(step const& s, double entered, double operands);

    core_ports const* core_;
    std::vector<step> code_;
    std::vector<register_id> operands_;
    std::vector<double> ready_;             // by register: when its value is there
    std::vector<std::uint16_t> starting_;   // vector operations in the scheduler, by the cycle of their start: a ring
    std::size_t waiting_ = 0, soonest_ = 0; // how many they are; no one starts before that cycle
    std::vector<std::uint32_t> beginning_;  // ports of those that have got one, by the same cycle
    std::array<std::uint32_t, 32> waiting_at_{}, port_sets_{}; // by port: how many they are, and the set of that port
    std::size_t begun_ = 0;                                    // they start in this cycle or later
    unsigned turn_ = 0;
    std::vector<double> leaving_;      // of instructions in the window
    std::vector<double> queue_;        // of vector operations: when they get to the scheduler
    std::vector<std::uint32_t> busy_;  // ports by cycle, in a ring
    std::vector<std::uint64_t> taken_; // in which cycles all ports of a set are: bits of 64 cycles, set by set
    std::vector<std::uint32_t> sets_;
    std::vector<std::size_t> full_; // by set: before which cycle all its ports are taken
    std::size_t cleared_ = 0;       // cycles of the ring before which are free of older ones
    std::size_t count_ = 0;
    std::size_t leaves_ = 0, queued_ = 0; // where the next one stands in `leaving_` and in `queue_`
    double entered_ = 0;                  // into the scheduler, the last one
    double issued_ = 0, retired_ = 0, branch_ = 0;
};

} // namespace gsub::machine

#ifndef GSUB_COMPILED
#include <gsub/machine/impl/pipeline_run.ipp>
#endif
