// Block throughput: counts a block's instructions by the units of a core that run them.
#pragma once

#include <gsub/cost/impl/block_runs.ipp>
#include <gsub/cost/kernel_time.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// g++ reads a vector anew for each multiply-add that takes it, where no more than so many do.
inline constexpr double read_again = 3;

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
    case sin:
    case cos:
    case tan:
    case asin:
    case acos:
    case atan:
    case sinh:
    case cosh:
    case asinh:
    case acosh:
    case atanh:
    case remainder:
        return {160, 160}; // a call an element
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

    // Adds that of another one; chains stay as they are.
    block_work& operator+=(block_work const& o) {
        multiply_adds += o.multiply_adds, multiplies += o.multiplies, arithmetic += o.arithmetic;
        loads += o.loads, scalar_loads += o.scalar_loads, stores += o.stores, others += o.others;
        divided += o.divided, latency += o.latency;
        return *this;
    }
    friend block_work operator*(double times, block_work w) {
        for (auto* const count : {&w.multiply_adds, &w.multiplies, &w.arithmetic, &w.loads, &w.scalar_loads, &w.stores,
                                  &w.others, &w.divided, &w.latency})
            *count *= times;
        return w;
    }
};

// Of a loop, found by comparing predictions with clocks (docs/cost.md).
inline constexpr double turn_cycles = 1;       // its branch, of which one is taken a cycle
inline constexpr double turn_instructions = 2; // of an inner loop, beside others: its counter and its branch

// Cycles that a block takes each time. `steps`: turns of the reduction loops around, of one result; `turned`: whether
// the block is all of a loop.
GSUB_LAZY [[nodiscard]] double cycles_of(block_work const& w, double steps, bool turned,
                                         microarchitecture const& core) {
    auto const issued = w.multiply_adds + w.arithmetic + w.loads + w.scalar_loads + w.stores + w.others +
                        (turned ? turn_instructions : 0);
    auto const passes =
        w.multiply_adds + w.arithmetic + w.loads + w.stores + w.scalar_loads * core.passes(core.isa->vector_bytes);
    auto const entered = std::max(issued / core.issue, core.vector_issue > 0 ? passes / core.vector_issue : 0.0);
    auto const units = std::max({(w.multiply_adds + w.multiplies) / core.fma_units,
                                 (w.multiply_adds + w.arithmetic) / core.vector_units,
                                 w.loads / core.loads + w.scalar_loads / core.scalar_loads, w.stores / core.stores,
                                 w.divided / divided_bytes_per_cycle, entered, turned ? turn_cycles : 0.0});
    // Results of one tile wait for each other; those of the next one are computed meanwhile, as far as instructions in
    // flight reach.
    auto const chain = w.chain * core.fma_latency;
    auto const others = std::max(1.0, core.reorder_buffer / std::max(1.0, issued * steps));
    return std::max(units, chain / others) + w.latency / std::max(1.0, others / 2);
}
GSUB_LAZY void add_counts(kernel_time& made, block_work const& w, double times) {
    made.multiply_adds += times * w.multiply_adds, made.arithmetic += times * w.arithmetic;
    made.loads += times * (w.loads + w.scalar_loads), made.stores += times * w.stores;
    made.scalar_loads += times * w.scalar_loads, made.others += times * w.others;
}

// Counts them for a core.
template <class = void>
class block_counter {
public:
    block_counter(codegen::kernel const& k, microarchitecture const& core)
        : k_(k), core_(core), uses_(static_cast<std::size_t>(k.registers), 0), steps_(uses_) {}

    [[nodiscard]] block_work work_of(joined_block const& n) {
        block_work w;
        count_uses(n);
        for (auto const* const at : n.code) {
            auto const& i = *at;
            w += work_of(i, i.result >= 0 ? uses_[index(i.result)] : 0.0, [&] { return transposed(n, i); });
            if (i.op == codegen::opcode::multiply_add || i.op == codegen::opcode::accumulate)
                w.chain = std::max(w.chain, ++steps_[index(i.result)]);
        }
        forget_uses(n);
        return w;
    }
    /// That of one instruction, without its part of a chain. `used`: multiply-adds that take its result;
    /// `is_transposed`: whether a strided load is one of as many side by side.
    template <class F>
    [[nodiscard]] block_work work_of(codegen::instruction const& i, double used, F const& is_transposed) const {
        block_work w;
        auto const bytes = static_cast<std::int32_t>(byte_size(i.type)) * k_.lanes;
        auto const passes = core_.passes(bytes);
        auto const typed = i.type == dtype::f32 ? 1.0 : i.type == dtype::f64 ? 1.2 : 1.6;
        switch (i.op) {
        case codegen::opcode::splat:
        case codegen::opcode::copy:
            w.others += passes / 2;
            break;
        case codegen::opcode::load:
            count_load(w, i, used, is_transposed);
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
            count_store(w, i);
            break;
        case codegen::opcode::compute: {
            auto const work = instructions_of(i.function);
            if (divides(i.function) && is_floating(i.type)) w.divided += bytes * (i.type == dtype::f64 ? 2 : 1);
            w.multiplies += passes * typed * work.multiplies;
            w.arithmetic += passes * typed * (work.multiplies + work.others);
            break;
        }
        case codegen::opcode::multiply_add:
            w.multiply_adds += passes * typed;
            break;
        case codegen::opcode::accumulate:
            w.arithmetic += passes * typed * (i.function == loop::scalar_op::add ? 1 : 3);
            break;
        case codegen::opcode::reduce: {
            auto const halves = std::log2(static_cast<double>(k_.lanes));
            w.arithmetic += (i.function == loop::scalar_op::add ? 2 : 3) * halves;
            w.latency += 5 * halves;
            break;
        }
        }
        return w;
    }

private:
    static std::size_t index(codegen::reg r) noexcept { return static_cast<std::size_t>(r); }

    // Counts how many multiply-adds take each register.
    void count_uses(joined_block const& n) {
        for (auto const* const i : n.code)
            if (i->op == codegen::opcode::multiply_add)
                for (auto const o : i->operands)
                    if (o >= 0) ++uses_[index(o)];
        for (auto const& [again, first] : n.same) uses_[index(first)] += std::exchange(uses_[index(again)], 0.0);
    }
    void forget_uses(joined_block const& n) {
        for (auto const* const i : n.code) {
            if (i->result >= 0) steps_[index(i->result)] = uses_[index(i->result)] = 0;
            for (auto const o : i->operands)
                if (o >= 0) uses_[index(o)] = 0;
        }
    }
    template <class F>
    void count_load(block_work& w, codegen::instruction const& i, double used, F const& is_transposed) const {
        auto const passes = core_.passes(static_cast<std::int32_t>(byte_size(i.type)) * k_.lanes);
        if (i.operands[0] < 0 && !i.order.empty() && whole_vectors(i)) { // shuffled in registers
            w.loads += 2 * passes, w.arithmetic += passes;
        } else if (i.operands[0] < 0 && i.stride != 1 && i.type != dtype::f32 && is_transposed()) {
            w.loads += passes, w.arithmetic += passes * std::log2(static_cast<double>(k_.lanes));
        } else if (!i.order.empty() || i.stride != 1) {
            auto const lanes = i.lanes > 0 ? i.lanes : k_.lanes;
            w.scalar_loads += lanes, w.arithmetic += lanes;
        } else {
            auto const again = used > 0 && used <= read_again ? used : 1.0;
            w.loads += passes * again;
            if (i.lanes > 0 && i.lanes < k_.lanes) w.others += 2;
            if (i.operands[0] >= 0) w.others += 3; // the place of the entry
        }
        w.others += static_cast<double>(i.predicate.size());
    }
    void count_store(block_work& w, codegen::instruction const& i) const {
        auto const bytes = static_cast<double>(byte_size(i.type)) * (i.lanes > 0 ? i.lanes : k_.lanes);
        w.stores += std::max(1.0, bytes / core_.unit_bytes);
        if (i.lanes > 1 && i.lanes < k_.lanes) w.others += 3;
        w.others += static_cast<double>(i.predicate.size());
    }
    // Whether lanes come from whole vectors, as the emitter finds out.
    [[nodiscard]] bool whole_vectors(codegen::instruction const& i) const {
        auto const blocks = [&](std::int64_t n) { return n % k_.lanes == 0; };
        auto const& terms = i.offset.terms();
        return blocks(k_.buffers[static_cast<std::size_t>(i.buffer)].elements()) && blocks(i.offset.constant()) &&
               std::all_of(terms.begin(), terms.end(), [&](auto const& t) { return blocks(t.factor); });
    }
    // Whether a strided load is one of as many side by side, which are exchanged in registers.
    [[nodiscard]] bool transposed(joined_block const& block, codegen::instruction const& i) const {
        auto const beside = std::count_if(block.code.begin(), block.code.end(), [&](auto const* o) {
            return o->op == i.op && o->buffer == i.buffer && o->stride == i.stride && o->lanes == i.lanes;
        });
        return i.predicate.empty() && beside >= k_.lanes;
    }

    codegen::kernel const& k_;
    microarchitecture const& core_;
    std::vector<double> uses_, steps_; // by register, of the block being counted
};

} // namespace gsub::cost::detail
