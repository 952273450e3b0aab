// loop_hoister: loop-invariant code motion, and products in place of divisions by what a loop does not change.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/x86/impl/turn_writer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Moves what each turn of a loop computes alike in front of the loop, where registers suffice. In a loop, a division
/// by a square root becomes a product with its reciprocal, which is rounded once more: zero, infinite and NaN roots
/// give what they gave, and no other reciprocal overflows. A division by a power of two is an exact product everywhere.
template <class = void>
class loop_hoister {
public:
    /// `registers`: of vectors.
    loop_hoister(kernel made, std::int32_t registers)
        : made_(std::move(made)), room_(static_cast<std::size_t>(3 * registers / 4)) {}

    kernel run() {
        for (auto* const statements : {&made_.body, &made_.fallback}) note(*statements);
        for (auto* const statements : {&made_.body, &made_.fallback}) *statements = hoisted(std::move(*statements));
        return std::move(made_);
    }

    /// Whether `run` moved or replaced something.
    [[nodiscard]] bool has_changed() const noexcept { return has_changed_; }

private:
    // Of a loop, beyond which registers do not suffice; integers need none.
    static constexpr std::int64_t most_instructions = 160;

    using list = std::vector<statement>;
    using code_list = std::vector<instruction>;

    // What a loop changes, and the registers that it needs.
    struct loop_facts {
        std::set<variable> variables;
        std::set<std::int32_t> written; // buffers
        std::set<reg> defined, used;
    };

    // ---- facts

    void note(list& statements) {
        for (auto& s : statements) {
            for (std::size_t n = 0; n < s.code.size(); ++n) {
                if (is_exact_division(s.code[n])) n = multiply(s.code, n);
                note(s.code[n]);
            }
            note(s.body), note(s.otherwise);
        }
    }
    // Registers that there are not yet have none.
    int& definitions_of(reg r) {
        auto const n = static_cast<std::size_t>(r);
        if (n >= definitions_.size()) definitions_.resize(2 * n + 1, 0);
        return definitions_[n];
    }
    void note(instruction const& i) {
        if (i.result < 0) return;
        ++definitions_of(i.result);
        if (i.op == opcode::splat && i.type == dtype::f32) numbers_[i.result] = i.value;
        if (is(i, loop::scalar_op::square_root)) roots_.insert(i.result);
    }
    static bool is(instruction const& i, loop::scalar_op op) {
        return i.op == opcode::compute && i.type == dtype::f32 && i.function == op;
    }
    static void find(statement const& s, loop_facts& facts) {
        if (s.var >= 0) facts.variables.insert(s.var);
        for (auto const& i : s.code) {
            if (i.op == opcode::store || i.op == opcode::choose) facts.written.insert(i.buffer);
            if (i.result >= 0) facts.defined.insert(i.result), facts.used.insert(i.result);
            facts.used.insert(std::begin(i.operands), std::end(i.operands));
        }
        for (auto const* const within : {&s.body, &s.otherwise})
            for (auto const& inner : *within) find(inner, facts);
    }
    static bool has_integers(list const& statements) {
        return std::ranges::any_of(statements, [](auto const& s) { return std::ranges::any_of(s.code, is_integer); });
    }
    static bool has_guard(list const& statements) {
        return std::ranges::any_of(statements, [](auto const& s) {
            return s.kind == statement_kind::guard || has_guard(s.body) || has_guard(s.otherwise);
        });
    }

    // ---- motion

    list hoisted(list statements) {
        list out;
        for (auto& s : statements) {
            s.body = hoisted(std::move(s.body));
            s.otherwise = hoisted(std::move(s.otherwise));
            if (s.kind == statement_kind::loop && !has_guard(s.body)) {
                statement before;
                before.code = invariants_of(s);
                has_changed_ = has_changed_ || !before.code.empty();
                if (!before.code.empty()) out.push_back(std::move(before));
            }
            out.push_back(std::move(s));
        }
        return out;
    }
    // Takes them from the blocks that each turn runs.
    code_list invariants_of(statement& loop) {
        if (size_of(loop.body) > most_instructions && !has_integers(loop.body)) return {};
        loop_facts facts;
        find(loop, facts);
        auto const turns = turns_of(loop, made_.parallel);
        code_list out;
        for (auto& s : loop.body) {
            if (s.kind != statement_kind::block) continue;
            code_list kept;
            for (auto& i : s.code) {
                if (turns > 1) multiply_by_reciprocal(i, facts, out);
                auto const moves = is_invariant(i, facts) && (turns > 0 || i.op == opcode::splat) &&
                                   (is_integer(i) || facts.used.size() <= room_);
                if (moves) facts.defined.erase(i.result);
                (moves ? out : kept).push_back(std::move(i));
            }
            s.code = std::move(kept);
        }
        return out;
    }
    // Whether an instruction works on integers that all lanes share, which need no vector register.
    static bool is_integer(instruction const& i) {
        return i.op == opcode::choose || (i.op == opcode::broadcast && i.type != dtype::f32);
    }
    [[nodiscard]] bool is_invariant(instruction const& i, loop_facts const& facts) {
        auto const reads = i.op == opcode::load || i.op == opcode::broadcast;
        if (!reads && i.op != opcode::splat && i.op != opcode::compute && i.op != opcode::choose) return false;
        if (definitions_of(i.result) != 1 || !i.predicate.empty()) return false;
        if (reads && facts.written.contains(i.buffer)) return false;
        if (std::ranges::any_of(i.operands, [&](reg r) { return facts.defined.contains(r); })) return false;
        return std::ranges::none_of(i.offset.terms(), [&](auto const& t) { return facts.variables.contains(t.of); });
    }

    // ---- divisions

    // By a power of two whose reciprocal is no subnormal number.
    [[nodiscard]] bool is_exact_division(instruction const& i) {
        if (!is(i, loop::scalar_op::divide)) return false;
        auto const by = numbers_.find(i.operands[1]);
        if (by == numbers_.end() || definitions_of(i.operands[1]) != 1) return false;
        constexpr auto greatest_power = 126;
        auto power = 0;
        return std::abs(std::frexp(by->second, &power)) == 0.5 && std::abs(power - 1) <= greatest_power;
    }
    // The place of the product, behind that of the reciprocal.
    std::size_t multiply(code_list& code, std::size_t n) {
        instruction number{.op = opcode::splat,
                           .result = made_.registers++,
                           .offset = 0,
                           .value = 1 / numbers_.at(code[n].operands[1])};
        code[n].function = loop::scalar_op::multiply, code[n].operands[1] = number.result;
        note(number);
        code.insert(code.begin() + static_cast<std::ptrdiff_t>(n), std::move(number));
        has_changed_ = true;
        return n + 1;
    }
    // By a square root that the loop does not change.
    void multiply_by_reciprocal(instruction& i, loop_facts& facts, code_list& out) {
        auto const by = i.operands[1];
        if (!is(i, loop::scalar_op::divide) || !roots_.contains(by) || definitions_of(by) != 1 ||
            facts.defined.contains(by))
            return;
        auto const one = made_.registers++, reciprocal = made_.registers++;
        definitions_of(one) = definitions_of(reciprocal) = 1;
        out.push_back({.op = opcode::splat, .result = one, .offset = 0, .value = 1});
        out.push_back({.op = opcode::compute,
                       .function = loop::scalar_op::divide,
                       .result = reciprocal,
                       .operands = {one, by, -1},
                       .offset = 0});
        i.function = loop::scalar_op::multiply, i.operands[1] = reciprocal;
    }

    kernel made_;
    std::size_t room_;
    bool has_changed_ = false;
    std::vector<int> definitions_; // by register
    std::map<reg, double> numbers_;
    std::set<reg> roots_;
};

} // namespace gsub::codegen::detail
