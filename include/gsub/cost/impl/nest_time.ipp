#pragma once

#include <gsub/codegen/lower_nest.hpp>
#include <gsub/cost/impl/kernel_time.ipp>
#include <gsub/cost/impl/nest_work.ipp>
#include <gsub/cost/nest_time.hpp>

#include <utility>
#include <vector>

namespace gsub::cost {

namespace detail {

// Counts a fused nest. It writes a skeleton of the kernel, with loops for what is unrolled and each access once, of
// which the footprints are those of the kernel.
template <class = void>
class nest_counter {
public:
    nest_counter(loop::fused_nest const& nest, microarchitecture const& core) : nest_(nest), core_(core) {
        made_.buffers.assign(nest.buffers().begin(), nest.buffers().end());
        auto const stages = nest.stages();
        names_.reserve(stages.size()), tiles_.reserve(stages.size()), work_.reserve(stages.size());
        for (auto const& l : stages[0].loops)
            if (l.kind == loop::loop_kind::vectorized) made_.lanes = static_cast<std::int32_t>(l.extent);
        std::size_t variables = 0;
        for (std::size_t s = 0; s < stages.size(); ++s) {
            auto& own = names_.emplace_back();
            for (std::size_t v = 0; v < stages[s].names.size(); ++v)
                own.push_back(static_cast<loop::variable>(variables++));
            for (std::size_t d = 0; d < nest.shared(s); ++d)
                own[index(stages[s].loops[d].var)] = names_[s - 1][index(stages[s - 1].loops[d].var)];
            for (auto const& c : stages[s].what.chosen) // as `loop_values` has it
                if (auto const by = stages[s].what.offset_of(c.source); !by.is_constant())
                    own[index(c.var)] = own[index(by.terms().back().of)];
            auto const within = std::max(nest.shared(s), s + 1 < stages.size() ? nest.shared(s + 1) : 0);
            work_.emplace_back(tiles_.emplace_back(stages[s], within), as_span(own), counter_);
        }
        made_.names.resize(variables);
        if (stages[0].parallel_loops() > 0) {
            made_.parallel = stages[0].loops[0].var;
            made_.parallel_extent = stages[0].parallel_extent();
        }
        write(0, stages.size(), 0, made_.body);
        static_cast<void>(loop_values<>{made_, loops_});
        if (stages.size() > 1)
            stage_finder<>{made_, loops_};
        else
            loops_.stage_cycles.push_back(0);
        walk(made_.body, 1);
        for (auto const cycles : loops_.stage_cycles) time_.compute += cycles;
    }
    [[nodiscard]] kernel_time seconds(kernel_setting const& setting) const {
        return with_memory(time_, made_, core_, setting, loops_);
    }

private:
    using statement = codegen::statement;
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }
    enum class part : std::uint8_t { begin, update, end };

    // ---- the skeleton

    // Stages that stand within `depth` common loops.
    void write(std::size_t first, std::size_t last, std::size_t depth, std::vector<statement>& out) {
        for (auto s = first; s < last;) {
            auto end = s + 1;
            while (end < last && nest_.shared(end) > depth) ++end;
            if (end == s + 1) {
                write_stage(s, depth, out);
            } else {
                auto& body = add_loop(s, depth, out);
                for (auto other = s + 1; other < end; ++other) // each stage has names of its own for parts of the loop
                    add_indices(other, nest_.stages()[other].loops[depth].var, body);
                write(s, end, depth + 1, body);
            }
            s = end;
        }
    }
    // *Returns* what a loop of a stage is around.
    std::vector<statement>& add_loop(std::size_t s, std::size_t depth, std::vector<statement>& out) {
        auto const& l = nest_.stages()[s].loops[depth];
        auto& n = out.emplace_back();
        n.kind = codegen::statement_kind::loop;
        n.var = names_[s][index(l.var)];
        n.extent = l.extent;
        n.divisor = l.kind == loop::loop_kind::unrolled ? 0 : 1; // so that the walk tells them
        n.body.reserve(3 + nest_.stages()[s].fused_indices.size());
        add_indices(s, l.var, n.body);
        return n.body;
    }
    void add_indices(std::size_t s, loop::variable of, std::vector<statement>& out) {
        for (auto const& p : nest_.stages()[s].fused_indices) {
            if (p.of != of) continue;
            auto& n = out.emplace_back();
            n.kind = codegen::statement_kind::fused_index;
            n.var = names_[s][index(p.var)], n.of = names_[s][index(p.of)];
            n.divisor = p.divisor, n.extent = p.extent;
            add_indices(s, p.var, out);
        }
    }
    void write_stage(std::size_t s, std::size_t depth, std::vector<statement>& out) {
        auto const& loops = nest_.stages()[s].loops;
        auto const& work = work_[s];
        auto* body = &out;
        for (auto d = depth; d < work.tile().depth(); ++d) body = &add_loop(s, d, *body);
        if (work.reduces()) add_block(s, part::begin, *body);
        auto& here = *body; // where three blocks of the tile stand, with their loops
        if (work.reduces()) {
            auto* inner = &here;
            for (auto d = work.tile().depth(); d < loops.size(); ++d)
                if (loops[d].kind != loop::loop_kind::vectorized) inner = &add_loop(s, d, *inner);
            add_block(s, part::update, *inner);
        }
        auto* inner = &here;
        for (auto d = work.tile().depth(); d < loops.size(); ++d)
            if (loops[d].kind == loop::loop_kind::unrolled && !loops[d].reduction) inner = &add_loop(s, d, *inner);
        add_block(s, part::end, *inner);
    }
    void add_block(std::size_t s, part p, std::vector<statement>& out) {
        auto& n = out.emplace_back();
        n.code = std::move(block_of(s, p).accesses);
        blocks_.push_back({s, p});
    }

    [[nodiscard]] repeated_block& block_of(std::size_t s, part p) {
        return p == part::begin ? work_[s].begin() : p == part::update ? work_[s].update() : work_[s].end();
    }

    // ---- how often everything runs

    // `times`: how often the list runs.
    void walk(std::vector<statement> const& statements, double times) {
        for (auto const& n : statements) {
            auto const stage = loops_.stage_of(n);
            if (n.kind == codegen::statement_kind::loop) {
                auto const own = n.var == made_.parallel;
                auto const turns = static_cast<double>(n.extent);
                loops_.loops[&n] = {1, turns};
                if (n.divisor == 0) { // unrolled
                    walk(n.body, times);
                    continue;
                }
                time_.turns += times * turns;
                spend(stage, times * (own                       ? turns * position_cycles
                                      : turns > predicted_turns ? leave_cycles + turned_cycles(n, turns)
                                                                : turned_cycles(n, turns)));
                walk(n.body, times * turns);
            } else if (n.kind == codegen::statement_kind::block) {
                count(stage, times);
            }
        }
    }
    // A loop around one body shares the units with its turns; conditions in it do not.
    static double turned_cycles(statement const& n, double turns) { return is_straight(n) ? 0 : turns * turn_cycles; }
    static bool is_straight(statement const& n) {
        return std::ranges::all_of(n.body, [](auto const& inner) {
            return inner.kind == codegen::statement_kind::block ||
                   (inner.kind == codegen::statement_kind::loop && inner.divisor == 0 && is_straight(inner));
        });
    }
    void spend(std::size_t stage, double cycles) { time_.control += cycles, loops_.stage_cycles[stage] += cycles; }
    void count(std::size_t stage, double times) {
        auto const [s, p] = blocks_[seen_++];
        auto const& work = work_[s];
        auto const& tile = work.tile();
        if (p != part::update)
            return count(stage, block_of(s, p).work(tile.extents(), 0), times * tile.exists(), 1, !work.reduces());
        times *= tile.tiles();
        auto const whole = !work.updates()[0].asked && tile.steps() > 1; // of a loop
        for (auto const& u : work.updates()) {
            if (u.asked) spend(stage, times * u.times);
            count(stage, u.work, times * tile.reads() * u.times, tile.steps(), whole);
        }
    }
    void count(std::size_t stage, block_work const& w, double times, double steps, bool turned) {
        add_counts(time_, w, times);
        loops_.stage_cycles[stage] += times * cycles_of(w, steps, turned, core_);
    }

    loop::fused_nest const& nest_;
    microarchitecture const& core_;
    codegen::kernel made_;
    walked_loops loops_;
    kernel_time time_;
    std::vector<std::vector<loop::variable>> names_; // of the kernel, for those of each stage
    std::vector<nest_tile<>> tiles_;                 // by stage, as the work
    std::vector<nest_work<>> work_;
    std::vector<std::pair<std::size_t, part>> blocks_;
    std::size_t seen_ = 0; // blocks that are counted
    block_counter<> counter_{made_, core_};
};

} // namespace detail

GSUB_LAZY_BODY kernel_time nest_time_of(loop::fused_nest const& nest, microarchitecture const& core,
                                        kernel_setting const& setting) {
    return detail::nest_counter<>{nest, core}.seconds(setting);
}

GSUB_LAZY_BODY kernel_time_model closed_form_cycles() noexcept {
    kernel_time_model m;
    m.name = "closed";
    m.of_nest = [](loop::fused_nest const& nest, microarchitecture const& core, kernel_setting const& setting) {
        return nest_time_of(nest, core, setting);
    };
    return m;
}

} // namespace gsub::cost
