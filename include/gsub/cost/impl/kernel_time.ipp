#pragma once

#include <gsub/cost/kernel_time.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace gsub::cost {

namespace detail {

// What a core takes beside what its units do, found by comparing predictions with clocks (docs/cost.md).
inline constexpr double turn_cycles = 1;      // of a loop: its counter and its branch
inline constexpr double leave_cycles = 10;    // of a loop: the branch that is predicted wrongly, what it waited for
inline constexpr double position_cycles = 20; // of the parallel loop
inline constexpr double call_seconds = 7e-8;
inline constexpr double wake_seconds = 1e-6;

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

// A set of places that a block touches in one buffer, as it moves with the loops around it.
struct touched {
    std::int32_t buffer = 0;
    small_vector<codegen::affine::term, 4> moves; // by variables
    double runs = 0, run = 0, span = 0; // pieces, the bytes of one, from the first byte to behind the last one
    bool written = false;
    // In whole lines.
    [[nodiscard]] double bytes() const { return runs * 64 * std::max(1.0, std::ceil(run / 64)); }
    std::array<double, 3> missed{}; // bytes that each cache does not have
};

template <class = void>
class kernel_walk {
public:
    kernel_walk(codegen::kernel const& k, microarchitecture const& core, kernel_setting const& setting)
        : k_(k),
          core_(core),
          setting_(setting),
          value_(k.names.size(), 0),
          depends_(k.names.size(), 0),
          same_(k.names.size(), 0),
          inside_(k.names.size(), 0),
          parted_(k.names.size(), 1) {}

    kernel_time run() {
        for (std::size_t v = 0; v < same_.size(); ++v) same_[v] = static_cast<variable>(v);
        find_dependences(k_.body);
        walk(k_.body, 0, 1, 1, 0);
        auto all = memory(k_.body, 0);
        finish(all);
        return made_;
    }

private:
    using node = codegen::node;
    using variable = codegen::variable;
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }
    // Of a variable: stages name the parts of their loops anew.
    [[nodiscard]] std::size_t number(variable v) const noexcept { return index(same_[index(v)]); }

    // ---- how often everything runs

    // Marks the variables on which limits and conditions depend.
    void find_dependences(std::vector<node> const& nodes) {
        auto const mark = [&](codegen::affine const& a) {
            for (auto const& t : a.terms()) depends_[number(t.of)] = 1;
        };
        for (auto const& n : nodes) {
            if (n.kind == codegen::node_kind::part) {
                auto const [known, is_new] = parts_.try_emplace({same_[index(n.of)], n.divisor, n.extent}, n.var);
                same_[index(n.var)] = known->second;
                if (is_new) parted_[number(n.of)] *= static_cast<double>(n.extent);
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
    struct loop_counts {
        double entries = 0, turns = 0;
    };

    // `times`: how often the list runs; `steps`: turns of the reduction loops around, of one result.
    void walk(std::vector<node> const& nodes, std::size_t from, double times, double steps, int depth) {
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
                (holds ? branches_[&n].first : branches_[&n].second) += times;
                // Compilers test what several ask once, and read what several read once.
                auto const behind = alike_until(nodes, i);
                if (behind == i + 1) {
                    walk(holds ? n.body : n.otherwise, 0, times, steps, depth);
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
                    walk(nodes, i + 1, times * weight / static_cast<double>(n.extent), steps, depth);
                });
                --inside_[number(n.var)];
                return;
            case codegen::node_kind::loop: {
                auto const own = n.var == k_.parallel;
                auto const begin = own ? 0.0 : limit_of(n.begin, true);
                auto const end = own ? static_cast<double>(k_.parallel_extent) : limit_of(n.end, false);
                auto const turns = std::max(0.0, end - begin);
                auto const reduces = accumulates(n);
                counts_[&n].entries += times, counts_[&n].turns += times * turns;
                made_.compute += times * (own ? turns * position_cycles : leave_cycles + turns * turn_cycles);
                if (turns == 0) break;
                auto const further = reduces ? steps * turns : 1.0;
                if (depends_[number(n.var)] == 0) {
                    walk(n.body, 0, times * turns, further, depth + 1);
                } else {
                    sample(begin, end, [&](double v, double weight) {
                        value_[number(n.var)] = v;
                        walk(n.body, 0, times * weight, further, depth + 1);
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
            auto const bytes = static_cast<double>(byte_size(i.type)) * k_.lanes;
            auto const passes = std::max(1.0, bytes / core_.unit_bytes);
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

    // ---- bytes

    [[nodiscard]] std::array<double, 3> sizes() const {
        // Lines of others and of the stack are there too.
        constexpr double use = 0.85;
        return {use * static_cast<double>(core_.l1_bytes), use * static_cast<double>(core_.l2_bytes),
                use * static_cast<double>(core_.l3_bytes)};
    }
    // What a list touches each time it runs.
    std::vector<touched> memory(std::vector<node> const& nodes, std::size_t from) {
        std::vector<touched> all;
        for (auto i = from; i < nodes.size(); ++i) {
            auto const& n = nodes[i];
            switch (n.kind) {
            case codegen::node_kind::block:
                touch(n, all);
                break;
            case codegen::node_kind::check:
                break;
            case codegen::node_kind::branch:
                // The one that runs more often stands for both.
                if (auto const runs = branches_.find(&n); runs != branches_.end())
                    merge(all, memory(runs->second.first >= runs->second.second ? n.body : n.otherwise, 0));
                break;
            case codegen::node_kind::part:
                if (inside_[number(n.var)] > 0) break;
                ++inside_[number(n.var)];
                merge(all, turned(memory(nodes, i + 1), same_[index(n.var)],
                                  static_cast<double>(n.extent) / parted_[number(n.var)]));
                --inside_[number(n.var)];
                return all;
            case codegen::node_kind::loop: {
                auto const found = counts_.find(&n);
                if (found == counts_.end() || found->second.entries <= 0 || found->second.turns <= 0) break;
                auto const turns = found->second.turns / found->second.entries;
                merge(all,
                      turned(memory(n.body, 0), same_[index(n.var)], std::max(1.0, turns / parted_[number(n.var)])));
                break;
            }
            }
        }
        return all;
    }
    void touch(node const& block, std::vector<touched>& all) {
        struct places {
            codegen::instruction const* first;
            std::vector<std::pair<double, double>> pieces; // bytes, from and to
            bool written;
        };
        std::vector<places> groups;
        for (auto const& i : block.code) {
            if (i.buffer < 0) continue;
            auto const same = [&](places const& p) {
                return p.first->buffer == i.buffer && std::ranges::equal(p.first->offset.terms(), i.offset.terms());
            };
            auto group = std::find_if(groups.begin(), groups.end(), same);
            auto const written = i.op == codegen::opcode::store;
            if (group == groups.end()) group = groups.insert(groups.end(), {&i, {}, written});
            group->written = group->written || written;
            auto const size = static_cast<double>(byte_size(k_.buffers[index(i.buffer)].element));
            auto const count = i.op == codegen::opcode::broadcast ? 1 : i.lanes > 0 ? i.lanes : k_.lanes;
            auto const first = static_cast<double>(i.offset.constant()) * size;
            auto const add = [&](double at, double elements) {
                group->pieces.emplace_back(first + at * size, first + (at + elements) * size);
            };
            if (!i.order.empty())
                for (auto const o : i.order) add(static_cast<double>(o), 1);
            else if (i.stride != 1)
                for (std::int32_t l = 0; l < count; ++l) add(static_cast<double>(l * i.stride), 1);
            else
                add(0, count);
        }
        for (auto& g : groups) {
            std::sort(g.pieces.begin(), g.pieces.end());
            touched t;
            t.buffer = g.first->buffer;
            for (auto const& term : g.first->offset.terms()) t.moves.push_back({same_[index(term.of)], term.factor});
            t.written = g.written;
            constexpr double line = 64;
            double last = -1e300, bytes = 0;
            for (auto const& [begin, end] : g.pieces) { // those less than a line apart are one
                if (begin >= last + line) ++t.runs, last = begin;
                bytes += std::max(0.0, end - last);
                last = std::max(last, end);
            }
            t.run = bytes / t.runs;
            t.span = last - g.pieces[0].first;
            t.missed.fill(t.bytes());
            merge(all, {std::move(t)});
        }
    }
    // Sets of one buffer that move alike are one: what is read of it twice is read once.
    static void merge(std::vector<touched>& all, std::vector<touched> more) {
        for (auto& t : more) {
            auto const same = [&](touched const& o) {
                return o.buffer == t.buffer && std::ranges::equal(o.moves, t.moves);
            };
            auto const found = std::find_if(all.begin(), all.end(), same);
            if (found == all.end()) {
                all.push_back(std::move(t));
                continue;
            }
            if (t.bytes() > found->bytes()) found->runs = t.runs, found->run = t.run;
            found->span = std::max(found->span, t.span);
            found->written = found->written || t.written;
            for (std::size_t c = 0; c < 3; ++c) found->missed[c] = std::max(found->missed[c], t.missed[c]);
        }
    }
    // What pieces become that move on so often by so many bytes.
    static void move(touched& t, double step, double turns) {
        auto const span = t.span + step * (turns - 1), gap = t.runs > 1 ? t.span / t.runs : t.span;
        auto const touching = step <= std::max(t.run, 64.0);
        if (t.runs == 1 || t.run + step * (turns - 1) <= gap) { // each piece by itself
            if (touching)
                t.run += step * (turns - 1);
            else
                t.runs *= turns;
        } else if (step >= t.span) { // apart
            t.runs *= turns;
        } else { // between each other
            t.run = std::min(t.bytes() * turns, span), t.runs = 1;
        }
        t.span = span;
    }
    [[nodiscard]] double buffer_bytes(std::int32_t b) const {
        auto const& of = k_.buffers[index(b)];
        return static_cast<double>(of.elements()) * static_cast<double>(byte_size(of.element));
    }
    // The same over all turns of a loop.
    std::vector<touched> turned(std::vector<touched> within, variable v, double turns) const {
        std::map<std::int32_t, double> of_buffer;
        for (auto const& t : within) of_buffer[t.buffer] += t.bytes();
        double together = 0;
        for (auto const& [b, bytes] : of_buffer) together += std::min(bytes, buffer_bytes(b));
        auto const caches = sizes();
        for (auto& t : within) {
            auto const size = static_cast<double>(byte_size(k_.buffers[index(t.buffer)].element));
            double step = 0;
            small_vector<codegen::affine::term, 4> rest;
            for (auto const& m : t.moves) {
                if (m.of == v)
                    step = std::abs(static_cast<double>(m.factor)) * size;
                else
                    rest.push_back(m);
            }
            t.moves = rest;
            if (step > 0) move(t, step, turns);
            auto const bytes = std::min(t.bytes(), std::max(buffer_bytes(t.buffer), 64.0));
            for (std::size_t c = 0; c < 3; ++c) t.missed[c] = together <= caches[c] ? bytes : t.missed[c] * turns;
        }
        return within;
    }

    // ---- the whole

    void finish(std::vector<touched>& all) {
        // Of each buffer, what no cache can have twice is cold.
        std::size_t given = 0;
        std::vector<residence> homes;
        for (auto const& b : k_.buffers) {
            auto home = residence::cache;
            if (!b.scratch) {
                if (given < setting_.buffers.size()) home = setting_.buffers[given];
                ++given;
            }
            homes.push_back(home);
        }
        auto const shared = setting_.shared && setting_.threads > 1 && k_.parallel >= 0;
        auto const threads = shared ? std::min<double>(setting_.threads, static_cast<double>(k_.parallel_extent)) : 1.0;
        for (auto const& t : all) {
            auto const& b = k_.buffers[index(t.buffer)];
            auto const factor = t.written ? 1.5 : 1.0;
            auto const cold = std::min(t.bytes(), std::max(buffer_bytes(t.buffer), 64.0));
            made_.l2_bytes += factor * t.missed[0];
            if (b.scratch) {
                made_.l3_bytes += factor * std::max(0.0, t.missed[1] - cold);
                continue;
            }
            auto const home = homes[index(t.buffer)];
            // What has just been written lies in the second cache as far as that holds it.
            auto const kept = home == residence::cache && !shared && cold <= sizes()[1];
            made_.l3_bytes += factor * std::max(0.0, t.missed[1] - (kept ? cold : 0));
            auto const in_last = home != residence::memory && cold <= sizes()[2];
            made_.memory_bytes += factor * std::max(0.0, t.missed[2] - (in_last ? cold : 0));
        }
        auto const hertz = core_.gigahertz * 1e9;
        auto const positions = static_cast<double>(k_.parallel < 0 ? 1 : k_.parallel_extent);
        // Threads take pieces of the positions, so that the last one may be alone.
        auto const uneven = threads > 1 ? std::ceil(positions / threads) * threads / positions : 1.0;
        auto const each = made_.compute / threads * std::min(uneven, 1.0 + 1.0 / threads);
        auto const l2 = made_.l2_bytes / core_.l2_bytes_per_cycle / threads;
        auto const l3 = made_.l3_bytes / core_.l3_bytes_per_cycle / threads;
        auto const memory =
            made_.memory_bytes * hertz / (threads > 1 ? core_.memory_bytes_in_all : core_.memory_bytes_per_second);
        auto const moved = std::max({l2, l3, memory});
        auto const cycles = std::max(each, moved) + 0.25 * std::min(each, moved);
        made_.seconds = cycles / hertz + call_seconds + (shared ? wake_seconds : 0);
    }

    codegen::kernel const& k_;
    microarchitecture const& core_;
    kernel_setting const& setting_;
    kernel_time made_;
    std::vector<double> value_;  // of variables that limits depend on
    std::vector<char> depends_;  // by variable
    std::vector<variable> same_; // of a part, the first one that is the same; else itself
    std::map<std::tuple<variable, std::int64_t, std::int64_t>, variable> parts_;
    std::vector<int> inside_; // of parts, whether their values are known here
    std::size_t visits_ = 0;
    std::map<node const*, loop_counts> counts_;
    std::map<node const*, std::pair<double, double>> branches_; // how often each side runs
    std::map<node const*, bool> accumulates_;
    std::map<node const*, block_work> work_;
    std::map<node const*, node> joined_; // by the first of several branches
    std::vector<double> parted_;         // by variable, the product of the extents of its parts
};

} // namespace detail

GSUB_LAZY_BODY kernel_time time_of(codegen::kernel const& k, microarchitecture const& core,
                                   kernel_setting const& setting) {
    return detail::kernel_walk{k, core, setting}.run();
}

} // namespace gsub::cost
