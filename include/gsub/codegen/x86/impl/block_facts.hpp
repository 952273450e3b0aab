// block_facts: what a block of kernel IR lets machine code leave out: loads that arithmetic takes from memory, products
// that sums take, arithmetic on numbers.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/x86/impl/machine_ir.hpp>

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Facts of the blocks of a kernel, one block after the other.
template <class = void>
class block_facts {
public:
    using code_list = std::vector<instruction>;

    /// `broadcasts`: whether arithmetic takes one element of memory for all lanes.
    block_facts(kernel const& k, bool broadcasts) : k_(k), broadcasts_(broadcasts) {
        count_readers(k.body), count_readers(k.fallback);
    }

    void read(code_list const& code) {
        folded_.clear(), products_.clear();
        find_numbers(code);
        find_products(code);
        find_memory_operands(code);
    }

    /// Whether another instruction does the work of this one.
    [[nodiscard]] bool is_left_out(instruction const& i) const {
        if (i.op == opcode::load || i.op == opcode::broadcast) return folded_.contains(i.result);
        return i.op == opcode::compute && products_.contains(i.result);
    }
    /// The load that an operand is taken from; null: none.
    [[nodiscard]] instruction const* load_of(reg operand) const { return find(folded_, operand); }
    /// The product that an operand is, which the sum computes with it; null: none.
    [[nodiscard]] instruction const* product_of(instruction const& sum, int operand) const {
        return is_sum(sum) ? find(products_, sum.operands[operand]) : nullptr;
    }
    /// The number that arithmetic on numbers gives.
    [[nodiscard]] std::optional<float> number_of(instruction const& i) const {
        auto const found = numbers_.find(i.result);
        return found == numbers_.end() ? std::nullopt : std::optional{found->second};
    }

    /// Whether an instruction accumulates sums in all lanes.
    [[nodiscard]] bool adds_all(instruction const& i) const {
        return i.op == opcode::accumulate && i.function == loop::scalar_op::add && i.lanes == k_.lanes;
    }

    /// The vector function of an operation; nothing: there is none.
    static std::optional<lane_function> function_of(loop::scalar_op op) {
        using loop::scalar_op;
        constexpr std::pair<scalar_op, lane_function> functions[] = {
            {scalar_op::add, lane_function::add},           {scalar_op::subtract, lane_function::subtract},
            {scalar_op::multiply, lane_function::multiply}, {scalar_op::divide, lane_function::divide},
            {scalar_op::maximum, lane_function::maximum},   {scalar_op::minimum, lane_function::minimum},
            {scalar_op::negate, lane_function::negate},     {scalar_op::square_root, lane_function::square_root},
            {scalar_op::absolute, lane_function::absolute}, {scalar_op::floor, lane_function::floor},
            {scalar_op::round, lane_function::round}};
        for (auto const& [known, function] : functions)
            if (known == op) return function;
        return std::nullopt;
    }

private:
    static instruction const* find(std::map<reg, instruction const*> const& in, reg r) {
        auto const found = in.find(r);
        return found == in.end() ? nullptr : found->second;
    }

    // Which operand of a computation may be in memory; -1: none.
    [[nodiscard]] int operand_in_memory(instruction const& i) const {
        using loop::scalar_op;
        if (i.op != opcode::compute || !function_of(i.function)) return -1;
        if (products_.contains(i.result) ||
            (is_sum(i) && (products_.contains(i.operands[0]) || products_.contains(i.operands[1]))))
            return -1; // the allocation of registers decides
        if (i.function == scalar_op::maximum || i.function == scalar_op::minimum) return 0; // operands change places
        return info(i.function).operands == 2 ? 1 : -1;
    }

    std::optional<float> folded_number(instruction const& i) const {
        auto const a = numbers_.find(i.operands[0]), b = numbers_.find(i.operands[1]);
        if (a == numbers_.end() || b == numbers_.end()) return std::nullopt;
        switch (i.function) {
        case loop::scalar_op::add:
            return a->second + b->second;
        case loop::scalar_op::subtract:
            return a->second - b->second;
        case loop::scalar_op::multiply:
            return a->second * b->second;
        default:
            return std::nullopt;
        }
    }
    void find_numbers(code_list const& code) {
        for (auto const& i : code)
            if (i.op == opcode::splat && i.type == dtype::f32)
                numbers_[i.result] = static_cast<float>(i.value);
            else if (auto const number = i.op == opcode::compute ? folded_number(i) : std::nullopt)
                numbers_[i.result] = *number;
    }
    static bool is_sum(instruction const& i) {
        return i.op == opcode::compute && i.type == dtype::f32 &&
               (i.function == loop::scalar_op::add || i.function == loop::scalar_op::subtract);
    }
    static std::map<reg, int> uses_in(code_list const& code) {
        std::map<reg, int> uses;
        for (auto const& i : code)
            for (auto const r : i.operands)
                if (r >= 0) ++uses[r];
        return uses;
    }
    // Finds the products of a block that one sum alone reads: they are rounded once with it.
    void find_products(code_list const& code) {
        auto uses = uses_in(code);
        std::map<reg, instruction const*> waiting;
        for (auto const& i : code) {
            for (int o = 0; o < 2 && is_sum(i); ++o)
                if (auto const found = waiting.find(i.operands[o]); found != waiting.end()) {
                    products_.insert(*found);
                    break; // of two products one is fused
                }
            if (i.op == opcode::multiply_add || i.op == opcode::accumulate)
                std::erase_if(waiting, [&](auto const& w) {
                    return w.second->operands[0] == i.result || w.second->operands[1] == i.result;
                });
            if (i.op == opcode::compute && i.type == dtype::f32 && i.function == loop::scalar_op::multiply &&
                !numbers_.contains(i.result) && uses[i.result] == 1 && !used_elsewhere(code, i.result))
                waiting[i.result] = &i;
        }
    }

    // Finds the loads of a block that one arithmetic instruction alone reads, which takes them from memory.
    void find_memory_operands(code_list const& code) {
        auto uses = uses_in(code);
        std::map<reg, instruction const*> waiting;
        for (auto const& i : code) {
            if (i.op == opcode::store) waiting.clear(); // it may write what they read
            for (int o = 0; o < 3; ++o) {
                auto const found = i.operands[o] < 0 ? waiting.end() : waiting.find(i.operands[o]);
                if (found == waiting.end()) continue;
                auto const both = waiting.contains(i.operands[0]) && waiting.contains(i.operands[1]);
                auto const takes = i.op == opcode::multiply_add ? i.lanes == k_.lanes && (!both || o == 1)
                                   : i.op == opcode::accumulate ? adds_all(i)
                                                                : operand_in_memory(i) == o;
                if (takes) folded_[found->first] = found->second;
                waiting.erase(found);
            }
            auto const whole = i.op == opcode::load ? i.lanes == k_.lanes && i.stride == 1 && i.order.empty()
                                                    : i.op == opcode::broadcast && broadcasts_;
            if (whole && i.type == dtype::f32 && i.predicate.empty() && i.operands[0] < 0 && uses[i.result] == 1 &&
                !used_elsewhere(code, i.result))
                waiting[i.result] = &i;
        }
    }
    // Whether a register of a block is read outside of it. Blocks define what they read but accumulators and
    // numbers.
    bool used_elsewhere(code_list const& code, reg r) {
        auto const& in = blocks_that_read_[r];
        return in.size() != 1 || *in.begin() != &code;
    }
    void count_readers(std::vector<statement> const& statements) {
        for (auto const& s : statements) {
            for (auto const& i : s.code)
                for (auto const r : i.operands)
                    if (r >= 0) blocks_that_read_[r].insert(&s.code);
            if (s.kind == statement_kind::guard) blocks_that_read_[s.guarded].insert(nullptr);
            count_readers(s.body), count_readers(s.otherwise);
        }
    }

    kernel const& k_;
    bool broadcasts_;
    std::map<reg, instruction const*> folded_, products_;
    std::map<reg, float> numbers_;
    std::map<reg, std::set<code_list const*>> blocks_that_read_;
};

} // namespace gsub::codegen::detail
