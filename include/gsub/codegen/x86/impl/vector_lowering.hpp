// vector_lowering: blocks of kernel IR to machine instructions on values without registers.
#pragma once

#include <gsub/codegen/x86/impl/block_facts.hpp>
#include <gsub/codegen/x86/impl/lane_types.hpp>
#include <gsub/codegen/x86/impl/memory_lowering.hpp>
#include <gsub/codegen/x86/impl/vector_functions.hpp>
#include <gsub/core/result.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Lowers blocks.
template <class = void>
class vector_lowering : protected memory_lowering<> {
protected:
    using code_list = std::vector<instruction>;

    /// `masks`: whether there are mask registers, and arithmetic that takes one element of memory for all lanes.
    vector_lowering(kernel const& k, bool masks, bool converts, bool halves)
        : memory_lowering<>(k, masks),
          facts_(k, masks),
          functions_(made_, masks),
          converts_(converts),
          lanes_(halves) {}

    // Integers of 64 bits are loaded by what uses them.
    static bool is_lowered_later(instruction const& i) { return i.type == dtype::i64 && is_integer_load(i); }
    void check_type(instruction const& i) {
        if (i.op == opcode::choose || lanes_.takes(i)) return;
        auto const moves = i.op == opcode::load || i.op == opcode::store || i.op == opcode::splat ||
                           i.op == opcode::copy || i.op == opcode::broadcast;
        if (!moves || (i.type != dtype::u32 && i.type != dtype::i32)) refuse(i);
    }

    static bool is_function(instruction const& i) {
        return (i.op == opcode::compute && i.type == dtype::f32 && vector_functions<>::knows(i.function)) ||
               lane_types::rounds_to_bf16(i);
    }
    void block(code_list const& code) {
        facts_.read(code);
        auto const known = at_.enter();
        auto const kept = copied_accumulators(code);
        std::vector<char> done(code.size(), 0); // with others before them
        for (std::size_t n = 0; n < code.size(); ++n) {
            auto const& i = code[n];
            if (is_integer_load(i)) note_integers(i);
            if (is_lowered_later(i)) continue;
            check_type(i);
            if (i.op == opcode::copy && begins_sum(code, n)) {
                begun_[i.result] = i.operands[0];
                continue;
            }
            if (!facts_.is_left_out(i) && !done[n] && !transpose(code, n, done)) lower(i);
        }
        for (auto const& [r, value] : kept) vectors_[r] = value;
        at_.leave(known);
    }
    // Functions need many registers: what a loop accumulated before is copied, so that only copies go to memory.
    std::map<reg, std::int32_t> copied_accumulators(code_list const& code) {
        std::map<reg, std::int32_t> kept;
        if (std::none_of(code.begin(), code.end(), is_function)) return kept;
        for (auto const& i : code)
            for (auto const r : i.operands)
                if (r >= 0 && accumulators_.contains(r)) kept.emplace(r, vector_of(r));
        for (auto const& i : code) kept.erase(i.result);
        for (auto const& [r, value] : kept) {
            auto const copy = new_vector();
            at_.add({.op = machine_op::copy, .result = copy, .operands = {value, -1, -1}});
            vectors_[r] = copy;
        }
        return kept;
    }

    void lower(instruction const& i) {
        switch (i.op) {
        case opcode::splat:
            return splat(vector_of(i.result), i);
        case opcode::load:
        case opcode::broadcast:
            return load(i);
        case opcode::store:
            return store(i);
        case opcode::copy:
            at_.add({.op = machine_op::copy,
                     .result = vector_of(i.result),
                     .operands = {vector_of(i.operands[0]), -1, -1}});
            return;
        case opcode::compute:
            return compute(i);
        case opcode::multiply_add:
            return multiply_add(i);
        case opcode::accumulate:
            if (facts_.adds_all(i)) return accumulate(i);
            at_.add({.op = machine_op::combine,
                     .function = extreme_or_sum(i),
                     .operands = {vector_of(i.result), vector_of(i.operands[0]), -1},
                     .temporaries = {mask_for(extreme_or_sum(i)), i.lanes == k_.lanes ? -1 : new_vector()},
                     .lanes = i.lanes});
            return;
        case opcode::reduce:
            at_.add({.op = machine_op::reduce,
                     .function = extreme_or_sum(i),
                     .result = vector_of(i.result),
                     .operands = {vector_of(i.operands[0]), -1, -1},
                     .temporaries = {new_vector(), mask_for(extreme_or_sum(i))}});
            return;
        case opcode::choose:
            return choose(i);
        case opcode::gather:
            refuse(i);
        }
    }

    static lane_function extreme_or_sum(instruction const& i) {
        return i.function == loop::scalar_op::add ? lane_function::add : lane_function::maximum;
    }
    // Without mask registers, comparisons and parts of vectors take a vector.
    using memory_lowering<>::mask_for;
    std::int32_t mask_for(lane_function f) { return f == lane_function::maximum && !masks_ ? new_vector() : -1; }
    // ---- arithmetic

    // The instruction with its vector operands, the one at `memory` taken from memory where it is folded.
    void set_operand(machine_instruction& made, int at, reg from) {
        if (auto const* const load = facts_.load_of(from)) {
            made.at = at_.place(load->buffer, load->offset);
            made.at.broadcast = load->op == opcode::broadcast;
        } else {
            made.operands[at] = vector_of(from);
        }
    }
    // Numbers of the functions that statements compute, once for all loops.
    void define_numbers(std::vector<statement> const& statements) {
        for (auto const& s : statements) {
            for (auto const& i : s.code) {
                if (lane_types::rounds_to_bf16(i))
                    functions_.define_rounding();
                else if (is_function(i))
                    functions_.define_numbers(i.function);
                define_lane_numbers(i);
                if (i.op == opcode::multiply_add || i.op == opcode::accumulate) accumulators_.insert(i.result);
            }
            define_numbers(s.body), define_numbers(s.otherwise);
        }
    }
    void compute(instruction const& i) {
        if (vector_functions<>::knows(i.function))
            return functions_.write(i.function, vector_of(i.result), vector_of(i.operands[0]));
        if (i.function == loop::scalar_op::cast) return cast(i);
        if (i.type == dtype::boolean) return condition(i);
        if (i.function == loop::scalar_op::select) return select(i);
        auto const function = facts_.function_of(i.function);
        if (!function) refuse(i);
        if (info(i.function).operands == 1) {
            at_.add({.op = machine_op::unary,
                     .function = *function,
                     .result = vector_of(i.result),
                     .operands = {vector_of(i.operands[0]), -1, -1}});
            return;
        }
        if (auto const number = facts_.number_of(i)) {
            at_.add({.op = machine_op::splat,
                     .result = vector_of(i.result),
                     .immediate = std::bit_cast<std::int32_t>(*number)});
            return;
        }
        if (fused(i)) return;
        // `maxps` gives its last operand where it is not less, as `maximum` gives its first one.
        auto const swapped = (i.function == loop::scalar_op::maximum || i.function == loop::scalar_op::minimum);
        machine_instruction made{.op = machine_op::binary, .function = *function, .result = vector_of(i.result)};
        set_operand(made, 1, i.operands[swapped ? 0 : 1]);
        made.operands[0] = vector_of(i.operands[swapped ? 1 : 0]);
        at_.add(made);
    }
    void binary(lane_function f, std::int32_t result, std::int32_t a, std::int32_t b) {
        at_.add({.op = machine_op::binary, .function = f, .result = result, .operands = {a, b, -1}});
    }
    void condition(instruction const& i) {
        using loop::scalar_op;
        constexpr std::pair<scalar_op, lane_function> functions[] = {
            {scalar_op::less, lane_function::is_less},        {scalar_op::less_equal, lane_function::is_not_greater},
            {scalar_op::equal, lane_function::is_equal},      {scalar_op::logical_and, lane_function::and_bits},
            {scalar_op::logical_or, lane_function::or_bits},  {scalar_op::logical_xor, lane_function::xor_bits},
            {scalar_op::logical_not, lane_function::xor_bits}};
        auto const* const found = std::find_if(std::begin(functions), std::end(functions),
                                               [&](auto const& f) { return f.first == i.function; });
        auto other = info(i.function).operands == 2 ? vector_of(i.operands[1]) : new_vector();
        if (info(i.function).operands == 1) at_.add({.op = machine_op::splat, .result = other, .immediate = -1});
        binary(found->second, vector_of(i.result), vector_of(i.operands[0]), other);
    }
    // The bits of one vector where the condition holds, those of another elsewhere.
    void select(instruction const& i) {
        if (!lanes_.are_conditions(i.operands[0])) refuse(i);
        auto const holds = vector_of(i.operands[0]), first = new_vector(), second = new_vector();
        binary(lane_function::and_bits, first, holds, vector_of(i.operands[1]));
        binary(lane_function::and_not_bits, second, holds, vector_of(i.operands[2]));
        binary(lane_function::or_bits, vector_of(i.result), first, second);
    }
    // Between numbers of f32 and halves, and of loaded integers to f32.
    void cast(instruction const& i) {
        if (i.type == dtype::bf16) return functions_.write_rounding(vector_of(i.result), vector_of(i.operands[0]));
        if (i.type == dtype::f16 || lanes_.are_halves(i.operands[0])) {
            at_.add({.op = i.type == dtype::f16 ? machine_op::unary : machine_op::copy,
                     .function = lane_function::to_half,
                     .result = vector_of(i.result),
                     .operands = {vector_of(i.operands[0]), -1, -1}});
            return;
        }
        auto const* const from = integers_of(i.operands[0]);
        if (from && from->type == dtype::i32) {
            at_.add({.op = machine_op::unary,
                     .function = lane_function::from_integer,
                     .result = vector_of(i.result),
                     .operands = {vector_of(i.operands[0]), -1, -1}});
            return;
        }
        if (!from || from->op != opcode::load || !reads_plainly(*from) || k_.lanes > 8) refuse(i);
        at_.add({.op = machine_op::load_integers,
                 .result = vector_of(i.result),
                 .temporaries = {new_vector(), new_vector()},
                 .lanes = from->lanes,
                 .immediate = converts_ && from->lanes == k_.lanes,
                 .at = at_.place(from->buffer, from->offset)});
    }
    void multiply_add(instruction const& i) {
        machine_instruction made{.op = machine_op::multiply_add,
                                 .operands = {vector_of(i.result), -1, -1},
                                 .temporaries = {mask_for(i.lanes), -1},
                                 .lanes = i.lanes};
        auto const first = facts_.load_of(i.operands[0]) ? 1 : 0; // factors change places
        made.operands[1] = vector_of(i.operands[first]);
        set_operand(made, 2, i.operands[1 - first]);
        at_.add(made);
    }

    // A sum in all lanes, which begins with what would else be copied first.
    void accumulate(instruction const& i) {
        auto const sum = vector_of(i.result);
        machine_instruction made{.op = machine_op::binary, .function = lane_function::add, .result = sum};
        auto const begun = begun_.find(i.result);
        made.operands[0] = begun == begun_.end() ? sum : vector_of(begun->second);
        if (begun != begun_.end()) begun_.erase(begun);
        set_operand(made, 1, i.operands[0]);
        at_.add(made);
    }
    // Whether a copy is the first value of a sum of its block that is accumulated before anything reads the copy, and
    // before the copied value changes.
    bool begins_sum(code_list const& code, std::size_t n) {
        auto const copy = code[n];
        for (auto at = n + 1; at < code.size(); ++at) {
            auto const& i = code[at];
            auto const sums = facts_.adds_all(i) && i.result == copy.result;
            if (std::ranges::count(i.operands, copy.result) > 0) return false;
            if (sums) return true;
            if (i.result == copy.result || i.result == copy.operands[0]) return false;
        }
        return false;
    }

    // A sum that takes a product.
    bool fused(instruction const& i) {
        auto const* const first = facts_.product_of(i, 0);
        auto const* const product = first ? first : facts_.product_of(i, 1);
        if (!product) return false;
        auto const subtracts = i.function == loop::scalar_op::subtract;
        machine_instruction made{.op = machine_op::fused,
                                 .function = !subtracts ? lane_function::add
                                             : first    ? lane_function::subtract
                                                        : lane_function::subtract_from,
                                 .result = vector_of(i.result)};
        made.operands[0] = vector_of(product->operands[0]);
        made.operands[1] = vector_of(product->operands[1]);
        made.operands[2] = vector_of(i.operands[first ? 1 : 0]);
        at_.add(made);
        return true;
    }

private:
    block_facts<> facts_;
    vector_functions<> functions_;
    bool converts_;
    lane_types lanes_;
    std::set<reg> accumulators_;
    std::map<reg, reg> begun_; // sums that have no value yet, and what they begin with
};

} // namespace gsub::codegen::detail
