// Kernel work: how often each block of a kernel runs, and the cycles that it takes on a core's units.
#pragma once

#include <gsub/cost/impl/block_work.ipp>
#include <gsub/cost/kernel_time.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// What a core takes beside what its units do, found by comparing predictions with clocks (docs/cost.md).
inline constexpr double turn_cycles = 1;       // of a loop: its branch, of which one is taken a cycle
inline constexpr double turn_instructions = 2; // of an inner loop, beside others: its counter and its branch
inline constexpr double leave_cycles = 10;     // of a loop: the branch that is predicted wrongly, what it waited for
inline constexpr double predicted_turns = 16;  // of loops that are left in time: their turns are remembered
inline constexpr double position_cycles = 20;  // of the parallel loop

// What a walk has found out about the loops of a kernel, by their nodes.
struct walked_loops {
    struct loop_counts {
        double entries = 0, turns = 0;
    };
    std::map<codegen::statement const*, loop_counts> loops;
    std::map<codegen::statement const*, std::pair<double, double>> branches; // how often each side runs
    // By variable: of a part the first one that is the same, as stages name theirs anew, else itself; and the product
    // of the extents of its parts.
    std::vector<codegen::variable> same;
    std::vector<double> parted;
    // By node, the stage that it is a part of: what reads scratch that something before it in the same list has written
    // begins one. Stages take longer than a core looks ahead, so that one does not hide what another waits for.
    std::map<codegen::statement const*, std::size_t> stages;
    std::vector<double> stage_cycles; // that units, chains and loops take
};

// Walks a kernel through its loops.
template <class = void>
class kernel_work {
public:
    kernel_work(codegen::kernel const& k, microarchitecture const& core)
        : k_(k), core_(core), value_(k.names.size(), 0), depends_(k.names.size(), 0), inside_(k.names.size(), 0) {
        walked_.parted.assign(k.names.size(), 1);
        for (std::size_t v = 0; v < k.names.size(); ++v) walked_.same.push_back(static_cast<variable>(v));
        find_dependences(k_.body);
        walked_.stage_cycles.push_back(0);
        find_stages(k_.body, 0);
        walk(k_.body, 0, 1, 1);
        for (auto cycles : walked_.stage_cycles) made_.compute += cycles;
    }
    // Instructions and cycles; nothing of bytes.
    [[nodiscard]] kernel_time const& counted() const noexcept { return made_; }
    [[nodiscard]] walked_loops const& loops() const noexcept { return walked_; }

private:
    using statement = codegen::statement;
    using variable = codegen::variable;
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }
    [[nodiscard]] std::size_t number(variable v) const noexcept { return index(walked_.same[index(v)]); }

    // ---- stages

    // Which scratch a node reads, and which it writes.
    struct workspace_use {
        std::vector<char> read, written;
    };
    void find_workspace(statement const& n, workspace_use& use) const {
        for (auto const& i : n.code)
            if (i.buffer >= 0 && k_.buffers[index(i.buffer)].workspace)
                (i.op == codegen::opcode::store ? use.written : use.read)[index(i.buffer)] = 1;
        for (auto const* list : {&n.body, &n.otherwise})
            for (auto const& inner : *list) find_workspace(inner, use);
    }
    void find_stages(std::vector<statement> const& statements, std::size_t stage) {
        std::vector<char> written(k_.buffers.size(), 0);
        for (auto const& n : statements) {
            workspace_use use{std::vector<char>(written.size(), 0), std::vector<char>(written.size(), 0)};
            find_workspace(n, use);
            auto waits = false;
            for (std::size_t b = 0; b < written.size(); ++b) waits = waits || (written[b] && use.read[b]);
            if (waits) {
                stage = walked_.stage_cycles.size();
                walked_.stage_cycles.push_back(0);
                std::fill(written.begin(), written.end(), char{0});
            }
            for (std::size_t b = 0; b < written.size(); ++b)
                written[b] = static_cast<char>(written[b] | use.written[b]);
            walked_.stages[&n] = stage;
            find_stages(n.body, stage);
            find_stages(n.otherwise, stage);
        }
    }
    void spend(double cycles) { walked_.stage_cycles[stage_] += cycles; }

    // ---- how often everything runs

    // Marks the variables on which limits and conditions depend.
    void find_dependences(std::vector<statement> const& statements) {
        auto const mark = [&](codegen::affine const& a) {
            for (auto const& t : a.terms()) depends_[number(t.of)] = 1;
        };
        for (auto const& n : statements) {
            if (n.kind == codegen::statement_kind::fused_index) {
                auto const [known, is_new] =
                    parts_.try_emplace({walked_.same[index(n.of)], n.divisor, n.extent}, n.var);
                walked_.same[index(n.var)] = known->second;
                if (is_new) walked_.parted[number(n.of)] *= static_cast<double>(n.extent);
            }
            for (auto const* limits : {&n.begin, &n.end})
                for (auto const& l : *limits) mark(l.value);
            for (auto const& c : n.conditions) mark(c.value);
            find_dependences(n.body);
            find_dependences(n.otherwise);
        }
    }
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
    // `times`: how often the list runs; `steps`: turns of the reduction loops around, of one result.
    // `turned`: whether the list is all of a loop.
    void walk(std::vector<statement> const& statements, std::size_t from, double times, double steps,
              bool turned = false) {
        for (auto i = from; i < statements.size() && times > 0; ++i) {
            auto const& n = statements[i];
            ++visits_;
            stage_ = walked_.stages[&n];
            switch (n.kind) {
            case codegen::statement_kind::block:
                i = count_run(statements, i, times, steps, turned) - 1;
                break;
            case codegen::statement_kind::guard:
                spend(times * 2);
                break;
            case codegen::statement_kind::branch: {
                if (is_simple(n)) {
                    i = count_run(statements, i, times, steps, turned) - 1;
                    break;
                }
                spend(times);
                auto const holds = hold(n.conditions);
                auto& runs = walked_.branches[&n];
                (holds ? runs.first : runs.second) += times;
                walk(holds ? n.body : n.otherwise, 0, times, steps);
                break;
            }
            case codegen::statement_kind::fused_index:
                if (depends_[number(n.var)] == 0 || inside_[number(n.var)] > 0) break; // stages say it again
                ++inside_[number(n.var)];
                sample(0, static_cast<double>(n.extent), [&](double v, double weight) {
                    value_[number(n.var)] = v;
                    walk(statements, i + 1, times * weight / static_cast<double>(n.extent), steps);
                });
                --inside_[number(n.var)];
                return;
            case codegen::statement_kind::loop: {
                auto const own = n.var == k_.parallel;
                auto const begin = own ? 0.0 : limit_of(n.begin, true);
                auto const end = own ? static_cast<double>(k_.parallel_extent) : limit_of(n.end, false);
                auto const turns = std::max(0.0, end - begin);
                auto const reduces = accumulates(n);
                walked_.loops[&n].entries += times, walked_.loops[&n].turns += times * turns;
                auto const inner = !own && is_straight(n.body);
                if (own)
                    spend(times * turns * position_cycles);
                else
                    spend(times * ((turns > predicted_turns ? leave_cycles : 0) + (inner ? 0 : turns * turn_cycles)));
                if (turns == 0) break;
                auto const further = reduces ? steps * turns : 1.0;
                if (depends_[number(n.var)] == 0) {
                    walk(n.body, 0, times * turns, further, inner);
                } else {
                    sample(begin, end, [&](double v, double weight) {
                        value_[number(n.var)] = v;
                        walk(n.body, 0, times * weight, further, inner);
                    });
                }
                break;
            }
            }
        }
    }
    // Whether a list is instructions that run one behind the other, but for one condition: `count_run` takes all of it.
    static bool is_straight(std::vector<statement> const& statements) {
        statement const* asked = nullptr;
        for (auto const& n : statements) {
            if (n.kind == codegen::statement_kind::block) continue;
            if (!is_simple(n) || (asked && !alike(*asked, n))) return false;
            asked = &n;
        }
        return true;
    }
    static bool alike(statement const& a, statement const& b) {
        return std::ranges::equal(a.conditions, b.conditions,
                                  [](auto& x, auto& y) { return x.extent == y.extent && x.value == y.value; });
    }
    [[nodiscard]] bool hold(std::vector<loop::bound> const& conditions) const {
        return std::ranges::all_of(conditions, [&](auto const& c) {
            auto const v = value_of(c.value);
            return v >= 0 && v < static_cast<double>(c.extent);
        });
    }
    static bool is_simple(statement const& n) {
        return n.kind == codegen::statement_kind::branch && n.otherwise.empty() && n.body.size() == 1 &&
               n.body[0].kind == codegen::statement_kind::block;
    }
    // Blocks, and branches to blocks, from one on: those under one condition are one. Compilers test what several ask
    // once, and read what several read once. `turned`: whether they are all of a loop. Behind them.
    std::size_t count_run(std::vector<statement> const& statements, std::size_t from, double times, double steps,
                          bool turned) {
        statement const* asked = nullptr;
        auto to = from;
        for (; to < statements.size(); ++to) {
            auto const& n = statements[to];
            if (n.kind == codegen::statement_kind::block) continue;
            if (!is_simple(n) || (asked && !alike(*asked, n))) break;
            asked = &n;
        }
        auto const whole = turned && from == 0 && to == statements.size();
        auto const holds = !asked || hold(asked->conditions);
        for (auto i = from; asked && i < to; ++i)
            if (statements[i].kind == codegen::statement_kind::branch) {
                auto& runs = walked_.branches[&statements[i]];
                (holds ? runs.first : runs.second) += times;
            }
        if (asked) spend(times);
        auto const& all = to == from + 1 && !asked ? statements[from] : together(statements, from, to, holds);
        count(all, times, steps, whole);
        return to;
    }
    // Their instructions as one block.
    statement const& together(std::vector<statement> const& statements, std::size_t from, std::size_t to, bool holds) {
        auto const [found, is_new] = joined_.try_emplace({&statements[from], holds});
        auto& made = found->second;
        if (!is_new) return made;
        std::map<codegen::reg, codegen::reg> same;
        auto const add = [&](statement const& block) {
            for (auto instruction : block.code) {
                for (auto& o : instruction.operands)
                    if (auto const found_as = same.find(o); found_as != same.end()) o = found_as->second;
                auto const reads =
                    instruction.op == codegen::opcode::load || instruction.op == codegen::opcode::broadcast;
                auto const known = std::ranges::find_if(made.code, [&](auto const& o) {
                    return reads && o.op == instruction.op && o.buffer == instruction.buffer &&
                           o.lanes == instruction.lanes && o.offset == instruction.offset;
                });
                if (known == made.code.end())
                    made.code.push_back(std::move(instruction));
                else
                    same[instruction.result] = known->result;
            }
        };
        for (auto i = from; i < to; ++i) {
            if (statements[i].kind == codegen::statement_kind::block)
                add(statements[i]);
            else if (holds)
                add(statements[i].body[0]);
        }
        return made;
    }
    // Whether a loop has steps of accumulators that are set outside of it.
    bool accumulates(statement const& n) {
        auto const [found, is_new] = accumulates_.try_emplace(&n, false);
        if (!is_new) return found->second;
        std::vector<codegen::reg> set, stepped;
        each_instruction(n.body, [&](codegen::instruction const& i) {
            if (i.op == codegen::opcode::copy || i.op == codegen::opcode::splat) set.push_back(i.result);
            if (is_step(i)) stepped.push_back(i.result);
        });
        std::sort(set.begin(), set.end());
        return accumulates_[&n] = std::any_of(stepped.begin(), stepped.end(), [&](codegen::reg r) {
                   return !std::binary_search(set.begin(), set.end(), r);
               });
    }
    template <class F>
    static void each_instruction(std::vector<statement> const& statements, F&& f) {
        for (auto const& n : statements) {
            for (auto const& i : n.code) f(i);
            each_instruction(n.body, f);
            each_instruction(n.otherwise, f);
        }
    }
    static bool is_step(codegen::instruction const& i) {
        return i.op == codegen::opcode::multiply_add || i.op == codegen::opcode::accumulate;
    }

    // ---- what a block does

    void count(statement const& n, double times, double steps, bool turned) {
        auto const& w = work_of(n);
        made_.multiply_adds += times * w.multiply_adds, made_.arithmetic += times * w.arithmetic;
        made_.loads += times * (w.loads + w.scalar_loads), made_.stores += times * w.stores;
        auto const issued = w.multiply_adds + w.arithmetic + w.loads + w.scalar_loads + w.stores + w.others +
                            (turned ? turn_instructions : 0);
        auto const units = std::max(
            {(w.multiply_adds + w.multiplies) / core_.fma_units, (w.multiply_adds + w.arithmetic) / core_.vector_units,
             w.loads / core_.loads + w.scalar_loads / core_.scalar_loads, w.stores / core_.stores,
             w.divided / divided_bytes_per_cycle, issued / core_.issue, turned ? turn_cycles : 0.0});
        // Results of one tile wait for each other; those of the next one are computed meanwhile, as far as instructions
        // in flight reach.
        auto const chain = w.chain * core_.fma_latency;
        auto const others = std::max(1.0, core_.reorder_buffer / std::max(1.0, issued * steps));
        spend(times * (std::max(units, chain / others) + w.latency / std::max(1.0, others / 2)));
    }
    block_work const& work_of(statement const& n) {
        auto const [found, is_new] = work_.try_emplace(&n);
        if (is_new) found->second = block_counter<>{k_, core_}.work_of(n);
        return found->second;
    }

    codegen::kernel const& k_;
    microarchitecture const& core_;
    kernel_time made_;
    walked_loops walked_;
    std::size_t stage_ = 0;     // in which the walk is
    std::vector<double> value_; // of variables that limits depend on
    std::vector<char> depends_; // by variable
    std::vector<int> inside_;   // of parts, whether their values are known here
    std::map<std::tuple<variable, std::int64_t, std::int64_t>, variable> parts_;
    std::size_t visits_ = 0;
    std::map<statement const*, bool> accumulates_;
    std::map<statement const*, block_work> work_;
    std::map<std::pair<statement const*, bool>, statement>
        joined_; // by the first of several, and whether their condition holds
};

} // namespace gsub::cost::detail
