// Cycles of machine code that stands in loops, on the ports of a core.
#pragma once

#include <gsub/cost/impl/kernel_work.ipp>
#include <gsub/machine/pipeline_run.hpp>
#include <gsub/target/port_table.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace gsub::cost::detail {

// Region of machine code: the instructions of a turn of a loop, or of something that runs in some turns of what is
// around alone; with those of regions within.
struct code_region {
    std::int32_t within = -1;        // region around; -1: of the whole call
    std::size_t first = 0, last = 0; // instructions
    double entries = 1, runs = 1;    // in a call: of a loop how often it is entered, and its turns
    std::size_t stage = 0;           // of the kernel
    bool loops = false;              // whether it is a loop
    bool alone = false;              // whether it is played by itself always, as the parallel loop is
    bool same_turns = false;         // whether a loop has as many turns each time
};

// Cycles of regions, the first one the whole call, outer ones before those within: plays the bodies of loops through
// the pipeline, so often that the window fills, and counts the other turns as the last ones. What runs in some turns of
// what is around alone, is played by itself: its own turns follow each other.
template <class = void>
class region_cycles {
public:
    region_cycles(std::span<machine::instruction const> code, std::vector<code_region> const& regions,
                  microarchitecture const& core, std::vector<double>& stage_cycles)
        : regions_(regions),
          stage_cycles_(stage_cycles),
          ports_(core),
          pipe_(code, ports_),
          children_(regions.size()),
          turns_(regions.size()),
          stage_times_(stage_cycles.size(), 0) {
        for (std::size_t r = 0; r < regions.size(); ++r)
            if (regions[r].within >= 0) children_[static_cast<std::size_t>(regions[r].within)].push_back(r);
    }
    /// Sets the cycles of the stages.
    void run() {
        std::fill(stage_cycles_.begin(), stage_cycles_.end(), 0.0);
        for (alone_.push_back(0); !alone_.empty();) {
            auto const r = alone_.back();
            alone_.pop_back();
            play_alone(r);
        }
    }

private:
    [[nodiscard]] double now() const noexcept { return pipe_.cycles() + skipped_; }
    void enter_stage(std::size_t stage) {
        auto const at = now();
        stage_times_[stage_] += at - mark_;
        mark_ = at, stage_ = stage;
    }

    // Whether a region runs whenever the one around does.
    [[nodiscard]] bool follows(std::size_t r, double passes) const {
        return regions_[r].entries >= 0.98 * passes && !regions_[r].alone;
    }
    void play_body(std::size_t r, double passes, bool first) {
        auto at = regions_[r].first;
        for (auto const c : children_[r]) {
            auto const& in = regions_[c];
            pipe_.run(at, in.first);
            at = in.last;
            if (regions_[c].runs <= 0) continue;
            if (!follows(c, passes)) {
                if (first) alone_.push_back(c);
                continue;
            }
            auto const around = stage_;
            enter_stage(regions_[c].stage);
            if (in.loops)
                play_loop(c, first);
            else
                play_body(c, regions_[c].runs, first);
            enter_stage(around);
        }
        pipe_.run(at, regions_[r].last);
    }
    // Once so often that it is seen what one more turn takes, later as often as what stands before and behind reaches.
    void play_loop(std::size_t r, bool first) {
        auto& [cycles, size] = turns_[r];
        auto const turns = regions_[r].runs / regions_[r].entries, whole = std::ceil(turns);
        auto const known = cycles >= 0;
        auto const before = pipe_.count();
        auto middle = now();
        double played = 0, half = 0;
        for (auto more = 1.0; played < more; ++played) {
            if (played == half) middle = now();
            play_body(r, regions_[r].runs, first && played == 0);
            if (played > 0) continue;
            if (!known) size = static_cast<double>(pipe_.count() - before);
            more =
                std::min(whole, known ? std::ceil(reach / std::max(1.0, size)) : turns_to_fill(pipe_.count() - before));
            half = std::floor(more / 2);
        }
        if (!known) cycles = (now() - middle) / (played - half);
        skipped_ += (turns - played) * cycles;
        if (turns > predicted_turns || !regions_[r].same_turns) pipe_.mispredict();
    }
    // Turns of so many instructions that fill the window, and show what one more takes.
    static constexpr double reach = 450;
    [[nodiscard]] double turns_to_fill(std::size_t instructions) const {
        return 2 + std::ceil(1.5 * ports_.window() / static_cast<double>(std::max<std::size_t>(1, instructions)));
    }
    void play_alone(std::size_t r) {
        auto const runs = regions_[r].runs;
        stage_ = regions_[r].stage, mark_ = now();
        std::fill(stage_times_.begin(), stage_times_.end(), 0.0);
        auto const before = pipe_.count();
        play_body(r, runs, true);
        enter_stage(regions_[r].stage);
        auto const played = std::min(std::ceil(runs), turns_to_fill(pipe_.count() - before));
        double counted = 1;
        if (played > 1) {
            std::fill(stage_times_.begin(), stage_times_.end(), 0.0);
            for (double t = 1; t < played; ++t) play_body(r, runs, false);
            enter_stage(regions_[r].stage);
            counted = played - 1;
        }
        for (std::size_t s = 0; s < stage_times_.size(); ++s) stage_cycles_[s] += runs * stage_times_[s] / counted;
    }

    std::vector<code_region> const& regions_;
    std::vector<double>& stage_cycles_;
    core_ports ports_;
    machine::pipeline_run pipe_;
    std::vector<std::vector<std::size_t>> children_;
    struct turn {
        double cycles = -1, instructions = 0;
    };
    std::vector<turn> turns_;        // of loops that have been played
    std::vector<std::size_t> alone_; // that are still to be played by themselves
    std::vector<double> stage_times_;
    std::size_t stage_ = 0;
    double mark_ = 0, skipped_ = 0; // when the stage began; cycles of turns that were not played
};

} // namespace gsub::cost::detail
