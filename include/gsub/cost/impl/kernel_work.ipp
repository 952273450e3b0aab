// How often everything in a kernel runs, and what it takes of a core's units.
#pragma once

#include <gsub/cost/kernel_time.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// What a core takes beside what its units do, found by comparing predictions with clocks (docs/cost.md).
inline constexpr double turn_cycles = 1;      // of a loop: its counter and its branch
inline constexpr double leave_cycles = 10;    // of a loop: the branch that is predicted wrongly, what it waited for
inline constexpr double position_cycles = 20; // of the parallel loop

// Divisions and roots that a scalar operation has: one unit does them, a few bytes a cycle.
GSUB_LAZY [[nodiscard]] bool divides(loop::scalar_op op) noexcept {
    using enum loop::scalar_op;
    return op == divide || op == square_root || op == power || op == tanh || op == fast_tanh || op == erf ||
           op == fast_erf || op == sigmoid;
}
inline constexpr double divided_bytes_per_cycle = 9;
// Other instructions that a scalar operation is, on vectors of f32: those that multiply, and the rest.
struct operation_work {
    double multiplies = 0, others = 1;
};
GSUB_LAZY [[nodiscard]] operation_work instructions_of(loop::scalar_op op) noexcept {
    using enum loop::scalar_op;
    switch (op) {
    case constant:
    case load:
    case reduced:
        return {0, 0};
    case multiply:
        return {1, 0};
    case power:
        return {30, 30};
    case exponential:
        return {10, 7};
    case fast_exponential:
        return {7, 6};
    case logarithm:
        return {12, 15};
    case tanh:
        return {11, 5};
    case fast_tanh:
        return {7, 5};
    case erf:
        return {13, 6};
    case fast_erf:
        return {9, 5};
    case sigmoid:
        return {10, 9};
    case floor:
        return {0, 7};
    case round:
        return {0, 6};
    case select:
    case cast:
        return {0, 2};
    default:
        return {};
    }
}

// What the instructions of a block are, by units.
struct block_work {
    double multiply_adds = 0, multiplies = 0, arithmetic = 0; // `arithmetic`: with `multiplies`
    double loads = 0, scalar_loads = 0, stores = 0, others = 0;
    double chain = 0;   // steps of the longest accumulator
    double divided = 0; // bytes
    double latency = 0; // cycles that are waited for in any case
};

// What a walk has found out about the loops of a kernel, by their nodes.
struct walked_loops {
    struct loop_counts {
        double entries = 0, turns = 0;
    };
    std::map<codegen::node const*, loop_counts> loops;
    std::map<codegen::node const*, std::pair<double, double>> branches; // how often each side runs
    // By variable: of a part the first one that is the same, as stages name theirs anew, else itself; and the product
    // of the extents of its parts.
    std::vector<codegen::variable> same;
    std::vector<double> parted;
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
        walk(k_.body, 0, 1, 1);
    }
    // Instructions and cycles; nothing of bytes.
    [[nodiscard]] kernel_time const& counted() const noexcept { return made_; }
    [[nodiscard]] walked_loops const& loops() const noexcept { return walked_; }

private:
    using node = codegen::node;
    using variable = codegen::variable;
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }
    [[nodiscard]] std::size_t number(variable v) const noexcept { return index(walked_.same[index(v)]); }

    // ---- how often everything runs

    // Marks the variables on which limits and conditions depend.
    void find_dependences(std::vector<node> const& nodes) {
        auto const mark = [&](codegen::affine const& a) {
            for (auto const& t : a.terms()) depends_[number(t.of)] = 1;
        };
        for (auto const& n : nodes) {
            if (n.kind == codegen::node_kind::part) {
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
    void walk(std::vector<node> const& nodes, std::size_t from, double times, double steps) {
        for (auto i = from; i < nodes.size() && times > 0; ++i) {
            auto const& n = nodes[i];
            ++visits_;
            switch (n.kind) {
            case codegen::node_kind::block:
                count(n, times, steps);
                break;
            case codegen::node_kind::check:
                made_.compute += times * 2;
                break;
            case codegen::node_kind::branch: {
                auto holds = true;
                for (auto const& c : n.conditions) {
                    auto const v = value_of(c.value);
                    holds = holds && v >= 0 && v < static_cast<double>(c.extent);
                }
                made_.compute += times;
                // Compilers test what several ask once, and read what several read once.
                auto const behind = alike_until(nodes, i);
                for (auto b = i; b < behind; ++b) {
                    auto& runs = walked_.branches[&nodes[b]];
                    (holds ? runs.first : runs.second) += times;
                }
                if (behind == i + 1) {
                    walk(holds ? n.body : n.otherwise, 0, times, steps);
                } else if (holds) {
                    count(together(nodes, i, behind), times, steps);
                }
                i = behind - 1;
                break;
            }
            case codegen::node_kind::part:
                if (depends_[number(n.var)] == 0 || inside_[number(n.var)] > 0) break; // stages say it again
                ++inside_[number(n.var)];
                sample(0, static_cast<double>(n.extent), [&](double v, double weight) {
                    value_[number(n.var)] = v;
                    walk(nodes, i + 1, times * weight / static_cast<double>(n.extent), steps);
                });
                --inside_[number(n.var)];
                return;
            case codegen::node_kind::loop: {
                auto const own = n.var == k_.parallel;
                auto const begin = own ? 0.0 : limit_of(n.begin, true);
                auto const end = own ? static_cast<double>(k_.parallel_extent) : limit_of(n.end, false);
                auto const turns = std::max(0.0, end - begin);
                auto const reduces = accumulates(n);
                walked_.loops[&n].entries += times, walked_.loops[&n].turns += times * turns;
                made_.compute += times * (own ? turns * position_cycles : leave_cycles + turns * turn_cycles);
                if (turns == 0) break;
                auto const further = reduces ? steps * turns : 1.0;
                if (depends_[number(n.var)] == 0) {
                    walk(n.body, 0, times * turns, further);
                } else {
                    sample(begin, end, [&](double v, double weight) {
                        value_[number(n.var)] = v;
                        walk(n.body, 0, times * weight, further);
                    });
                }
                break;
            }
            }
        }
    }
    // Behind the branches from one on that have its conditions and a block each.
    static std::size_t alike_until(std::vector<node> const& nodes, std::size_t from) {
        auto const simple = [](node const& n) {
            return n.kind == codegen::node_kind::branch && n.otherwise.empty() && n.body.size() == 1 &&
                   n.body[0].kind == codegen::node_kind::block;
        };
        auto to = from + 1;
        if (!simple(nodes[from])) return to;
        auto const alike = [&](node const& n) {
            return simple(n) && std::ranges::equal(n.conditions, nodes[from].conditions, [](auto& a, auto& b) {
                       return a.extent == b.extent && a.value == b.value;
                   });
        };
        while (to < nodes.size() && alike(nodes[to])) ++to;
        return to;
    }
    // Their blocks as one.
    node const& together(std::vector<node> const& nodes, std::size_t from, std::size_t to) {
        auto& made = joined_[&nodes[from]];
        if (!made.code.empty()) return made;
        for (auto i = from; i < to; ++i)
            for (auto const& instruction : nodes[i].body[0].code) {
                auto const reads =
                    instruction.op == codegen::opcode::load || instruction.op == codegen::opcode::broadcast;
                auto const known = reads && std::any_of(made.code.begin(), made.code.end(), [&](auto const& o) {
                                       return o.op == instruction.op && o.buffer == instruction.buffer &&
                                              o.lanes == instruction.lanes && o.offset == instruction.offset;
                                   });
                if (!known) made.code.push_back(instruction);
            }
        return made;
    }
    // Whether a loop has steps of accumulators that are set outside of it.
    bool accumulates(node const& n) {
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
    static void each_instruction(std::vector<node> const& nodes, F&& f) {
        for (auto const& n : nodes) {
            for (auto const& i : n.code) f(i);
            each_instruction(n.body, f);
            each_instruction(n.otherwise, f);
        }
    }
    static bool is_step(codegen::instruction const& i) {
        return i.op == codegen::opcode::multiply_add || i.op == codegen::opcode::accumulate;
    }

    // ---- what a block does

    void count(node const& n, double times, double steps) {
        auto const& w = work_of(n);
        made_.multiply_adds += times * w.multiply_adds, made_.arithmetic += times * w.arithmetic;
        made_.loads += times * (w.loads + w.scalar_loads), made_.stores += times * w.stores;
        auto const issued = w.multiply_adds + w.arithmetic + w.loads + w.scalar_loads + w.stores + w.others;
        auto const units = std::max(
            {(w.multiply_adds + w.multiplies) / core_.fma_units, (w.multiply_adds + w.arithmetic) / core_.vector_units,
             w.loads / core_.loads + w.scalar_loads / core_.scalar_loads, w.stores / core_.stores,
             w.divided / divided_bytes_per_cycle, issued / core_.issue});
        // Results of one tile wait for each other; those of the next one are computed meanwhile, as far as instructions
        // in flight reach.
        auto const chain = w.chain * core_.fma_latency;
        auto const others = std::max(1.0, core_.reorder_buffer / std::max(1.0, issued * steps));
        made_.compute += times * (std::max(units, chain / others) + w.latency / std::max(1.0, others / 2));
    }
    block_work const& work_of(node const& n) {
        auto const [found, is_new] = work_.try_emplace(&n);
        if (!is_new) return found->second;
        auto& w = found->second;
        std::map<codegen::reg, double> steps;
        for (auto const& i : n.code) {
            auto const bytes = static_cast<std::int32_t>(byte_size(i.type)) * k_.lanes;
            auto const passes = core_.passes(bytes);
            auto const typed = i.type == dtype::f32 ? 1.0 : i.type == dtype::f64 ? 1.2 : 1.6;
            switch (i.op) {
            case codegen::opcode::splat:
            case codegen::opcode::copy:
                w.others += passes / 2;
                break;
            case codegen::opcode::load:
                if (i.operands[0] < 0 && !i.order.empty() && whole_vectors(i)) { // shuffled in registers
                    w.loads += 2 * passes, w.arithmetic += passes;
                } else if (i.operands[0] < 0 && i.stride != 1 && i.type != dtype::f32 && transposed(n, i)) {
                    w.loads += passes, w.arithmetic += passes * std::log2(static_cast<double>(k_.lanes));
                } else if (!i.order.empty() || i.stride != 1) {
                    auto const lanes = i.lanes > 0 ? i.lanes : k_.lanes;
                    w.scalar_loads += lanes, w.arithmetic += lanes;
                } else {
                    w.loads += passes;
                    if (i.lanes > 0 && i.lanes < k_.lanes) w.others += 2;
                    if (i.operands[0] >= 0) w.others += 3; // the place of the entry
                }
                w.others += static_cast<double>(i.within.size());
                break;
            case codegen::opcode::broadcast:
                w.scalar_loads += 1;
                break;
            case codegen::opcode::gather:
                w.scalar_loads += k_.lanes, w.arithmetic += k_.lanes;
                break;
            case codegen::opcode::choose:
                w.arithmetic += 4 * passes;
                break;
            case codegen::opcode::store:
                w.stores += std::max(1.0, static_cast<double>(byte_size(i.type)) * (i.lanes > 0 ? i.lanes : k_.lanes) /
                                              core_.unit_bytes);
                if (i.lanes > 1 && i.lanes < k_.lanes) w.others += 3;
                w.others += static_cast<double>(i.within.size());
                break;
            case codegen::opcode::compute:
                if (divides(i.function) && is_floating(i.type)) w.divided += bytes * (i.type == dtype::f64 ? 2 : 1);
                w.multiplies += passes * typed * instructions_of(i.function).multiplies;
                w.arithmetic +=
                    passes * typed * (instructions_of(i.function).multiplies + instructions_of(i.function).others);
                break;
            case codegen::opcode::multiply_add:
                w.multiply_adds += passes * typed;
                ++steps[i.result];
                break;
            case codegen::opcode::accumulate:
                w.arithmetic += passes * typed * (i.function == loop::scalar_op::add ? 1 : 3);
                ++steps[i.result];
                break;
            case codegen::opcode::reduce: {
                auto const halves = std::log2(static_cast<double>(k_.lanes));
                w.arithmetic += (i.function == loop::scalar_op::add ? 2 : 3) * halves;
                w.latency += 5 * halves;
                break;
            }
            }
        }
        for (auto const& [r, count] : steps) w.chain = std::max(w.chain, count);
        return w;
    }

    // Whether lanes come from whole vectors, as the emitter finds out.
    [[nodiscard]] bool whole_vectors(codegen::instruction const& i) const {
        auto const blocks = [&](std::int64_t n) { return n % k_.lanes == 0; };
        auto const& terms = i.offset.terms();
        return blocks(k_.buffers[index(i.buffer)].elements()) && blocks(i.offset.constant()) &&
               std::all_of(terms.begin(), terms.end(), [&](auto const& t) { return blocks(t.factor); });
    }
    // Whether a strided load is one of as many side by side, which are exchanged in registers.
    [[nodiscard]] bool transposed(node const& block, codegen::instruction const& i) const {
        auto const beside = std::count_if(block.code.begin(), block.code.end(), [&](codegen::instruction const& o) {
            return o.op == i.op && o.buffer == i.buffer && o.stride == i.stride && o.lanes == i.lanes;
        });
        return i.within.empty() && beside >= k_.lanes;
    }

    codegen::kernel const& k_;
    microarchitecture const& core_;
    kernel_time made_;
    walked_loops walked_;
    std::vector<double> value_; // of variables that limits depend on
    std::vector<char> depends_; // by variable
    std::vector<int> inside_;   // of parts, whether their values are known here
    std::map<std::tuple<variable, std::int64_t, std::int64_t>, variable> parts_;
    std::size_t visits_ = 0;
    std::map<node const*, bool> accumulates_;
    std::map<node const*, block_work> work_;
    std::map<node const*, node> joined_; // by the first of several branches
};

} // namespace gsub::cost::detail
