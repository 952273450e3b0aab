#pragma once

#include <gsub/codegen/x86/instruction_stream.hpp>
#include <gsub/cost/impl/kernel_time.ipp>
#include <gsub/cost/impl/kernel_work.ipp>
#include <gsub/cost/scheduled_time.hpp>
#include <gsub/machine/pipeline_run.hpp>
#include <gsub/target/port_table.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gsub::cost {

namespace detail {

// Cycles of a stream: plays the bodies of its loops through the pipeline, so often that the window fills, and counts
// the other turns as the last ones. What runs in some turns of what is around alone, is played by itself: its own turns
// follow each other.
template <class = void>
class stream_cycles {
public:
    stream_cycles(codegen::instruction_stream const& s, microarchitecture const& core, walked_loops& loops)
        : s_(s),
          loops_(loops),
          ports_(core),
          pipe_(s.code, ports_),
          children_(s.regions.size()),
          turns_(s.regions.size()),
          stage_times_(loops.stage_cycles.size(), 0) {
        for (std::size_t r = 0; r < s.regions.size(); ++r) {
            auto const& of = s.regions[r];
            runs_.push_back(runs_of(of));
            stages_.push_back(of.of ? loops.stage_of(*of.of) : 0);
            if (of.within >= 0) children_[static_cast<std::size_t>(of.within)].push_back(r);
        }
    }
    /// Sets the cycles of the stages.
    void run() {
        std::fill(loops_.stage_cycles.begin(), loops_.stage_cycles.end(), 0.0);
        for (alone_.push_back(0); !alone_.empty();) {
            auto const r = alone_.back();
            alone_.pop_back();
            play_alone(r);
        }
    }

private:
    struct region_runs {
        double entries = 0, runs = 0;
    };
    region_runs runs_of(codegen::stream_region const& r) const {
        if (!r.of) return {1, 1};
        if (r.is_loop()) {
            auto const found = loops_.loops.find(r.of);
            return found == loops_.loops.end() ? region_runs{}
                                               : region_runs{found->second.entries, found->second.turns};
        }
        auto const found = loops_.branches.find(r.of);
        if (found == loops_.branches.end()) return {};
        auto const times = r.otherwise ? found->second.second : found->second.first;
        return {times, times};
    }
    [[nodiscard]] double now() const noexcept { return pipe_.cycles() + skipped_; }
    void enter_stage(std::size_t stage) {
        auto const at = now();
        stage_times_[stage_] += at - mark_;
        mark_ = at, stage_ = stage;
    }

    // Whether a region runs whenever the one around does.
    [[nodiscard]] bool follows(std::size_t r, double passes) const {
        auto const& of = s_.regions[r];
        return runs_[r].entries >= 0.98 * passes && !(of.is_loop() && of.of->var == s_.lowered->parallel);
    }
    void play_body(std::size_t r, double passes, bool first) {
        auto at = s_.regions[r].first;
        for (auto const c : children_[r]) {
            auto const& in = s_.regions[c];
            pipe_.run(at, in.first);
            at = in.last;
            if (runs_[c].runs <= 0) continue;
            if (!follows(c, passes)) {
                if (first) alone_.push_back(c);
                continue;
            }
            auto const around = stage_;
            enter_stage(stages_[c]);
            if (in.is_loop())
                play_loop(c, first);
            else
                play_body(c, runs_[c].runs, first);
            enter_stage(around);
        }
        pipe_.run(at, s_.regions[r].last);
    }
    // Once so often that it is seen what one more turn takes, later as often as what stands before and behind reaches.
    void play_loop(std::size_t r, bool first) {
        auto& [cycles, size] = turns_[r];
        auto const turns = runs_[r].runs / runs_[r].entries, whole = std::ceil(turns);
        auto const known = cycles >= 0;
        auto const before = pipe_.count();
        auto middle = now();
        double played = 0, half = 0;
        for (auto more = 1.0; played < more; ++played) {
            if (played == half) middle = now();
            play_body(r, runs_[r].runs, first && played == 0);
            if (played > 0) continue;
            if (!known) size = static_cast<double>(pipe_.count() - before);
            more =
                std::min(whole, known ? std::ceil(reach / std::max(1.0, size)) : turns_to_fill(pipe_.count() - before));
            half = std::floor(more / 2);
        }
        if (!known) cycles = (now() - middle) / (played - half);
        skipped_ += (turns - played) * cycles;
        if (turns > predicted_turns || !s_.regions[r].turns) pipe_.mispredict();
    }
    // Turns of so many instructions that fill the window, and show what one more takes.
    static constexpr double reach = 450;
    [[nodiscard]] double turns_to_fill(std::size_t instructions) const {
        return 2 + std::ceil(1.5 * ports_.window() / static_cast<double>(std::max<std::size_t>(1, instructions)));
    }
    void play_alone(std::size_t r) {
        auto const runs = runs_[r].runs;
        stage_ = stages_[r], mark_ = now();
        std::fill(stage_times_.begin(), stage_times_.end(), 0.0);
        auto const before = pipe_.count();
        play_body(r, runs, true);
        enter_stage(stages_[r]);
        auto const played = std::min(std::ceil(runs), turns_to_fill(pipe_.count() - before));
        double counted = 1;
        if (played > 1) {
            std::fill(stage_times_.begin(), stage_times_.end(), 0.0);
            for (double t = 1; t < played; ++t) play_body(r, runs, false);
            enter_stage(stages_[r]);
            counted = played - 1;
        }
        for (std::size_t s = 0; s < stage_times_.size(); ++s)
            loops_.stage_cycles[s] += runs * stage_times_[s] / counted;
    }

    codegen::instruction_stream const& s_;
    walked_loops& loops_;
    core_ports ports_;
    machine::pipeline_run pipe_;
    std::vector<region_runs> runs_;
    std::vector<std::size_t> stages_;
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

} // namespace detail

GSUB_LAZY_BODY result<kernel_time> scheduled_time_of(codegen::kernel const& k, isa const& isa,
                                                     microarchitecture const& core, kernel_setting const& setting) {
    auto const stream = codegen::instructions_of(k, isa);
    if (!stream) return stream.error();
    detail::kernel_work<> const work{*stream->lowered, core};
    auto made = work.counted();
    auto loops = work.loops();
    detail::stream_cycles<>{*stream, core, loops}.run();
    made.compute = made.control = 0;
    for (auto const cycles : loops.stage_cycles) made.compute += cycles;
    return detail::with_memory(made, *stream->lowered, core, setting, loops, true);
}

GSUB_LAZY_BODY kernel_time_model scheduled_cycles() noexcept {
    return {"scheduled", [](codegen::kernel const& k, isa const& isa, microarchitecture const& core,
                            kernel_setting const& setting) { return scheduled_time_of(k, isa, core, setting); }};
}

} // namespace gsub::cost
