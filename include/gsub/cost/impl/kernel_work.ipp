// Kernel work: how often each block of a kernel runs, and the cycles that it takes on a core's units.
#pragma once

#include <gsub/cost/impl/block_runs.ipp>
#include <gsub/cost/impl/block_work.ipp>
#include <gsub/cost/impl/kernel_stages.ipp>
#include <gsub/cost/kernel_time.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// What a core takes beside what its units do, found by comparing predictions with clocks (docs/cost.md).
inline constexpr double leave_cycles = 10;    // of a loop: the branch that is predicted wrongly, what it waited for
inline constexpr double predicted_turns = 16; // of loops that are left in time: their turns are remembered
inline constexpr double position_cycles = 20; // of the parallel loop
inline constexpr double choice_cycles = 3;    // of an integer that is read and compared

// Values of the variables of a kernel, on which limits and conditions depend, at positions that stand for all.
template <class = void>
class loop_values {
    using statement = codegen::statement;
    using variable = codegen::variable;

public:
    loop_values(codegen::kernel const& k, walked_loops& loops)
        : loops_(loops), value_(k.names.size(), 0), depends_(k.names.size(), 0) {
        loops_.parted.assign(k.names.size(), 1);
        for (std::size_t v = 0; v < k.names.size(); ++v) loops_.same.push_back(static_cast<variable>(v));
        find_dependences(k.body);
    }

    /// Whether a limit or a condition depends on a variable.
    [[nodiscard]] bool decides(variable v) const { return depends_[number(v)] != 0; }
    void set(variable v, double value) { value_[number(v)] = value; }
    [[nodiscard]] std::size_t number(variable v) const noexcept { return index(loops_.same[index(v)]); }

    [[nodiscard]] double value_of(codegen::affine const& a) const {
        auto sum = static_cast<double>(a.constant());
        for (auto const& t : a.terms()) sum += static_cast<double>(t.factor) * value_[number(t.of)];
        return sum;
    }
    [[nodiscard]] double limit_of(std::vector<codegen::limit> const& limits, bool greatest) const {
        double out = 0;
        for (std::size_t i = 0; i < limits.size(); ++i) {
            auto const v = std::ceil(value_of(limits[i].value) / static_cast<double>(limits[i].divisor));
            out = i == 0 ? v : greatest ? std::max(out, v) : std::min(out, v);
        }
        return out;
    }
    [[nodiscard]] bool hold(std::vector<loop::bound> const& conditions) const {
        return std::ranges::all_of(conditions, [&](auto const& c) {
            auto const v = value_of(c.value);
            return v >= 0 && v < static_cast<double>(c.extent);
        });
    }

private:
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }

    // Marks the variables on which limits and conditions depend.
    void find_dependences(std::vector<statement> const& statements) {
        auto const mark = [&](codegen::affine const& a) {
            for (auto const& t : a.terms()) depends_[number(t.of)] = 1;
        };
        for (auto const& n : statements) {
            if (n.kind == codegen::statement_kind::fused_index) {
                auto const [known, is_new] = parts_.try_emplace({loops_.same[index(n.of)], n.divisor, n.extent}, n.var);
                loops_.same[index(n.var)] = known->second;
                if (is_new) loops_.parted[number(n.of)] *= static_cast<double>(n.extent);
            }
            // Places that integers choose count as those of one integer after another.
            if (n.kind == codegen::statement_kind::chosen_index && !n.code[0].offset.is_constant())
                loops_.same[index(n.var)] = loops_.same[index(n.code[0].offset.terms().back().of)];
            for (auto const* limits : {&n.begin, &n.end})
                for (auto const& l : *limits) mark(l.value);
            for (auto const& c : n.conditions) mark(c.value);
            find_dependences(n.body);
            find_dependences(n.otherwise);
        }
    }

    walked_loops& loops_;
    std::vector<double> value_; // of variables that limits depend on
    std::vector<char> depends_; // by variable
    std::map<std::tuple<variable, std::int64_t, std::int64_t>, variable> parts_;
};

// Walks a kernel through its loops.
template <class = void>
class kernel_work {
public:
    kernel_work(codegen::kernel const& k, microarchitecture const& core)
        : k_(k),
          core_(core),
          values_(k, walked_),
          inside_(k.names.size(), 0),
          counter_(k, core),
          set_at_(static_cast<std::size_t>(k.registers), 0) {
        stage_finder<>{k, walked_};
        find_accumulations(k_.body);
        walk(k_.body, 0, {1, 1, false});
        for (auto cycles : walked_.stage_cycles) made_.compute += cycles;
    }
    // Instructions and cycles; nothing of bytes.
    [[nodiscard]] kernel_time const& counted() const noexcept { return made_; }
    [[nodiscard]] walked_loops const& loops() const noexcept { return walked_; }

private:
    using statement = codegen::statement;
    // How a list of nodes runs.
    struct list_runs {
        double times;        // how often
        double steps;        // turns of the reduction loops around, of one result
        bool turned = false; // whether the list is all of a loop
    };

    void spend(double cycles) { walked_.stage_cycles[stage_] += cycles; }
    void spend_on_control(double cycles) { made_.control += cycles, spend(cycles); }

    // ---- how often everything runs

    // Calls `f(value, weight)` at positions that stand for all from `begin` to before `end`.
    template <class F>
    void sample(double begin, double end, F&& f) {
        auto const n = end - begin;
        constexpr double edge = 3, middle = 8;
        if (n <= 2 * edge + middle && visits_ < 20000) {
            for (auto v = begin; v < end; ++v) f(v, 1.0);
        } else if (visits_ < 20000) {
            for (double i = 0; i < edge; ++i) f(begin + i, 1.0), f(end - 1 - i, 1.0);
            auto const step = (n - 2 * edge) / middle;
            for (double i = 0; i < middle; ++i) f(std::floor(begin + edge + (i + 0.5) * step), step);
        } else if (n > 0) {
            f(std::floor(begin + n / 2), n);
        }
    }
    void walk(std::vector<statement> const& statements, std::size_t from, list_runs const& runs) {
        for (auto i = from; i < statements.size() && runs.times > 0; ++i) {
            auto const& n = statements[i];
            ++visits_;
            stage_ = walked_.stage_of(n);
            switch (n.kind) {
            case codegen::statement_kind::block:
                i = count_run(statements, i, runs) - 1;
                break;
            case codegen::statement_kind::guard:
                spend_on_control(runs.times * 2);
                break;
            case codegen::statement_kind::branch:
                if (block_runs<>::is_simple(n))
                    i = count_run(statements, i, runs) - 1;
                else
                    walk_branch(n, runs);
                break;
            case codegen::statement_kind::chosen_index:
                walk_chosen(n, runs);
                break;
            case codegen::statement_kind::fused_index:
                if (!values_.decides(n.var) || inside_[values_.number(n.var)] > 0) break; // stages say it again
                return walk_behind(statements, i, runs);
            case codegen::statement_kind::loop:
                walk_loop(n, runs);
                break;
            }
        }
    }
    void walk_branch(statement const& n, list_runs const& runs) {
        spend_on_control(runs.times);
        auto const holds = values_.hold(n.conditions);
        note_side(n, holds, runs.times);
        walk(holds ? n.body : n.otherwise, 0, {runs.times, runs.steps});
    }
    // What stands within a chosen index: where conditions depend on it, at values of all its entries.
    void walk_chosen(statement const& n, list_runs const& runs) {
        spend_on_control(runs.times * choice_cycles);
        if (!values_.decides(n.var)) return walk(n.body, 0, {runs.times, runs.steps});
        auto const entries = static_cast<double>(n.extent);
        sample(0, entries, [&](double v, double weight) {
            values_.set(n.var, v);
            walk(n.body, 0, {runs.times * weight / entries, runs.steps});
        });
    }
    void note_side(statement const& branch, bool holds, double times) {
        auto& sides = walked_.branches[&branch];
        (holds ? sides.first : sides.second) += times;
    }
    // What stands behind a part of a loop's variable, at values of that.
    void walk_behind(std::vector<statement> const& statements, std::size_t at, list_runs const& runs) {
        auto const& n = statements[at];
        auto const extent = static_cast<double>(n.extent);
        auto& inside = inside_[values_.number(n.var)];
        ++inside;
        sample(0, extent, [&](double v, double weight) {
            values_.set(n.var, v);
            walk(statements, at + 1, {runs.times * weight / extent, runs.steps});
        });
        --inside;
    }
    void walk_loop(statement const& n, list_runs const& runs) {
        auto const own = n.var == k_.parallel;
        auto const begin = own ? 0.0 : values_.limit_of(n.begin, true);
        auto const end = own ? static_cast<double>(k_.parallel_extent) : values_.limit_of(n.end, false);
        auto const turns = std::max(0.0, end - begin);
        auto const& facts = facts_of(n);
        facts.counts->entries += runs.times, facts.counts->turns += runs.times * turns;
        auto const inner = !own && facts.straight, reduces = facts.reduces;
        made_.turns += runs.times * turns;
        if (own)
            spend_on_control(runs.times * turns * position_cycles);
        else
            spend_on_control(runs.times *
                             ((turns > predicted_turns ? leave_cycles : 0) + (inner ? 0 : turns * turn_cycles)));
        if (turns == 0) return;
        auto const further = reduces ? runs.steps * turns : 1.0;
        if (!values_.decides(n.var)) return walk(n.body, 0, {runs.times * turns, further, inner});
        sample(begin, end, [&](double v, double weight) {
            values_.set(n.var, v);
            walk(n.body, 0, {runs.times * weight, further, inner});
        });
    }
    // What does not change from visit to visit of a loop.
    struct loop_facts {
        walked_loops::loop_counts* counts = nullptr;
        bool straight = false, reduces = false;
    };
    loop_facts const& facts_of(statement const& n) {
        auto const [found, is_new] = loops_.try_emplace(&n);
        if (is_new) found->second = {&walked_.loops[&n], block_runs<>::is_straight(n.body), accumulates_.contains(&n)};
        return found->second;
    }
    // A run with its work where its condition holds, and where it does not.
    struct counted_run {
        block_run run;
        std::optional<block_work> work[2];
    };
    // Counts a run; gives the place behind it.
    std::size_t count_run(std::vector<statement> const& statements, std::size_t from, list_runs const& runs) {
        auto const [found, is_new] = runs_.try_emplace(&statements[from]);
        if (is_new) found->second.run = block_runs<>::run_from(statements, from);
        auto const& run = found->second.run;
        auto const whole = runs.turned && from == 0 && run.to == statements.size();
        auto const holds = !run.asked || values_.hold(run.asked->conditions);
        for (auto i = from; run.asked && i < run.to; ++i)
            if (statements[i].kind == codegen::statement_kind::branch) note_side(statements[i], holds, runs.times);
        if (run.asked) spend_on_control(runs.times);
        auto& work = found->second.work[holds];
        if (!work) work = counter_.work_of(blocks_.joined(statements, run, holds));
        count(*work, {runs.times, runs.steps, whole});
        return run.to;
    }
    // Finds the loops that have steps of accumulators which are set outside of them.
    void find_accumulations(std::vector<statement> const& statements) {
        for (auto const& n : statements) {
            auto const first = instructions_ + 1, steps = steps_.size();
            for (auto const& i : n.code) {
                ++instructions_;
                if (i.op == codegen::opcode::copy || i.op == codegen::opcode::splat)
                    set_at_[static_cast<std::size_t>(i.result)] = instructions_;
                else if (is_step(i) && (steps_.size() == steps || steps_.back() != i.result))
                    steps_.push_back(i.result);
            }
            find_accumulations(n.body);
            find_accumulations(n.otherwise);
            if (n.kind != codegen::statement_kind::loop) continue;
            auto const begin = steps_.begin() + static_cast<std::ptrdiff_t>(steps);
            std::sort(begin, steps_.end());
            steps_.erase(std::unique(begin, steps_.end()), steps_.end());
            auto const set_within = [&](codegen::reg r) { return set_at_[static_cast<std::size_t>(r)] >= first; };
            steps_.erase(std::remove_if(begin, steps_.end(), set_within), steps_.end());
            if (steps_.size() > steps) accumulates_.insert(&n);
        }
    }
    static bool is_step(codegen::instruction const& i) {
        return i.op == codegen::opcode::multiply_add || i.op == codegen::opcode::accumulate;
    }

    // ---- what a block does

    void count(block_work const& w, list_runs const& runs) {
        add_counts(made_, w, runs.times);
        spend(runs.times * cycles_of(w, runs.steps, runs.turned, core_));
    }
    codegen::kernel const& k_;
    microarchitecture const& core_;
    kernel_time made_;
    walked_loops walked_;
    loop_values<> values_;
    block_runs<> blocks_;
    std::size_t stage_ = 0;   // in which the walk is
    std::vector<int> inside_; // of parts, whether their values are known here
    std::size_t visits_ = 0;
    block_counter<> counter_;
    std::set<statement const*> accumulates_; // loops
    std::size_t instructions_ = 0;           // seen so far
    std::vector<std::size_t> set_at_;        // by register: the last instruction that has set it
    std::vector<codegen::reg> steps_;        // accumulators that no instruction around has set yet
    std::map<statement const*, loop_facts> loops_;
    std::map<statement const*, counted_run> runs_; // by the first of them
};

} // namespace gsub::cost::detail
