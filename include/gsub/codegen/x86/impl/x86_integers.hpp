// x86_integers: addresses, counters and jumps as bytes.
#pragma once

#include <gsub/codegen/x86/impl/x86_values.hpp>
#include <gsub/core/hash.hpp>

#include <bit>
#include <cstdint>

namespace gsub::codegen::detail {

/// Writes the instructions on integers.
template <class = void>
class x86_integers : protected x86_values<> {
protected:
    using below = x86_values<>;
    using below::below;

    void write_integer(machine_instruction const& i) {
        using enum machine_op;
        switch (i.op) {
        case argument: // in their order, the first to memory: none is overwritten
            return keep(i.result, Xbyak::Reg64{i.immediate == 0 ? 7 : i.immediate == 1 ? 6 : 2});
        case load_pointer: {
            auto const to = result_of(i.result);
            c_.mov(to, c_.qword[value(i.operands[0], c_.rax) + static_cast<std::size_t>(8 * i.immediate)]);
            return keep(i.result, to);
        }
        case set: {
            auto const to = result_of(i.result);
            if (i.immediate == 0)
                c_.xor_(to.cvt32(), to.cvt32());
            else
                c_.mov(to, static_cast<std::uint64_t>(i.immediate));
            return keep(i.result, to);
        }
        case move:
            return keep(i.result, value(i.operands[0], c_.rax));
        case add:
            return change(i.operands[0], [&](auto const& to) { c_.add(to, value(i.operands[1], c_.rdx)); });
        case add_immediate:
            return add_number(i);
        case scale: {
            auto const to = result_of(i.result);
            multiply(to, value(i.operands[0], c_.rax), i.immediate);
            return keep(i.result, to);
        }
        case divide:
        case remainder:
        case ceil_divide:
            return divide_by(i);
        case greatest:
        case least:
            return change(i.operands[0], [&](auto const& to) {
                auto const other = value(i.operands[1], c_.rdx);
                c_.cmp(to, other);
                i.op == greatest ? c_.cmovl(to, other) : c_.cmovg(to, other);
            });
        case load_integer: {
            auto const to = result_of(i.result);
            auto const from = place_of(i.at, c_.rax);
            i.immediate == 8 ? c_.mov(to, c_.qword[from]) : c_.movsxd(to, c_.dword[from]);
            return keep(i.result, to);
        }
        case choose_entry:
            return choose_entry_of(i);
        default:
            return write_jump(i);
        }
    }
    void choose_entry_of(machine_instruction const& i) {
        Xbyak::Label not_negative, inside;
        c_.mov(c_.rdx, static_cast<std::uint64_t>(i.immediate));
        auto const chosen = value(i.operands[0], c_.rax);
        if (chosen != c_.rax) c_.mov(c_.rax, chosen);
        c_.test(c_.rax, c_.rax);
        c_.jns(not_negative);
        c_.add(c_.rax, c_.rdx);
        c_.L(not_negative);
        c_.cmp(c_.rax, c_.rdx);
        c_.jb(inside);
        c_.mov(c_.dword[place_of(i.at, c_.rdx)], 1);
        c_.xor_(c_.eax, c_.eax);
        c_.L(inside);
        keep(i.result, c_.rax);
    }
    void write_jump(machine_instruction const& i) {
        using enum machine_op;
        switch (i.op) {
        case label:
            if (i.immediate != 0) c_.align(loop_alignment);
            return c_.L(labels_[index(i.label)]);
        case jump:
            return c_.jmp(labels_[index(i.label)], Xbyak::CodeGenerator::T_NEAR);
        case jump_if_less:
            compare(i);
            return c_.jl(labels_[index(i.label)], Xbyak::CodeGenerator::T_NEAR);
        case jump_if_not_less:
            compare(i);
            return c_.jge(labels_[index(i.label)], Xbyak::CodeGenerator::T_NEAR);
        case jump_if_outside:
            compare(i);
            return c_.jae(labels_[index(i.label)], Xbyak::CodeGenerator::T_NEAR);
        default:
            return;
        }
    }

    // Bytes: instructions of a short loop lie in as few lines of a processor's cache of them as they can.
    static constexpr std::size_t loop_alignment = 32;

    template <class Change>
    void change(std::int32_t v, Change const& how) {
        auto const to = value(v, c_.rax);
        how(to);
        keep(v, to);
    }
    [[nodiscard]] static bool is_short(std::int64_t n) { return n == static_cast<std::int32_t>(n); }

    void add_number(machine_instruction const& i) {
        auto const v = i.operands[0];
        if (is_short(i.immediate)) {
            auto const n = static_cast<std::uint32_t>(i.immediate);
            return in_register(v) ? c_.add(reg_of(v), n) : c_.add(slot_of(v), n);
        }
        c_.mov(c_.rdx, static_cast<std::uint64_t>(i.immediate));
        change(v, [&](auto const& to) { c_.add(to, c_.rdx); });
    }
    void multiply(Xbyak::Reg64 const& to, Xbyak::Reg64 const& from, std::int64_t by) {
        if (by > 0 && (by & (by - 1)) == 0) {
            if (to != from) c_.mov(to, from);
            c_.shl(to, std::countr_zero(static_cast<std::uint64_t>(by)));
        } else if (is_short(by)) {
            c_.imul(to, from, static_cast<int>(by));
        } else {
            c_.mov(c_.rdx, static_cast<std::uint64_t>(by));
            if (to != from) c_.mov(to, from);
            c_.imul(to, c_.rdx);
        }
    }
    void divide_by(machine_instruction const& i) {
        using enum machine_op;
        auto const by = i.immediate;
        if ((by & (by - 1)) != 0 && i.op != ceil_divide) return divide_by_product(i);
        auto const from = value(i.operands[0], c_.rax);
        if (from != c_.rax) c_.mov(c_.rax, from);
        if (i.op == divide) {
            c_.shr(c_.rax, std::countr_zero(static_cast<std::uint64_t>(by)));
        } else if (i.op == remainder) {
            c_.mov(c_.rdx, static_cast<std::uint64_t>(by - 1));
            c_.and_(c_.rax, c_.rdx);
        } else { // the quotient of a negative number, truncated, is its ceiling
            c_.test(c_.rax, c_.rax);
            c_.lea(c_.rdx, c_.ptr[c_.rax + static_cast<std::size_t>(by - 1)]);
            c_.cmovg(c_.rax, c_.rdx);
            c_.push(c_.rcx);
            c_.cqo();
            c_.mov(c_.rcx, static_cast<std::uint64_t>(by));
            c_.idiv(c_.rcx);
            c_.pop(c_.rcx);
        }
        keep(i.result, c_.rax);
    }
    // By a product with 2^(63 + s) / by, rounded up, for 2^(s-1) < by < 2^s: exact below 2^63. *Source* Granlund and
    // Montgomery, "Division by invariant integers using multiplication", 1994.
    void divide_by_product(machine_instruction const& i) {
        auto const by = static_cast<std::uint64_t>(i.immediate);
        auto const bits = 64 - std::countl_zero(by);
        auto const factor = static_cast<std::uint64_t>((static_cast<uint128>(1) << (63 + bits)) / by + 1);
        auto const multiply_by = [&](auto const& n) { c_.mov(c_.rax, factor), c_.mul(n); };
        in_register(i.operands[0]) ? multiply_by(reg_of(i.operands[0])) : multiply_by(slot_of(i.operands[0]));
        c_.shr(c_.rdx, bits - 1);
        if (i.op == machine_op::divide) return keep(i.result, c_.rdx);
        c_.mov(c_.rax, by);
        c_.imul(c_.rdx, c_.rax);
        auto const from = value(i.operands[0], c_.rax);
        if (from != c_.rax) c_.mov(c_.rax, from);
        c_.sub(c_.rax, c_.rdx);
        keep(i.result, c_.rax);
    }
    void compare(machine_instruction const& i) {
        auto const left = value(i.operands[0], c_.rax);
        if (i.operands[1] >= 0)
            c_.cmp(left, value(i.operands[1], c_.rdx));
        else if (is_short(i.immediate))
            c_.cmp(left, static_cast<std::uint32_t>(i.immediate));
        else
            c_.mov(c_.rdx, static_cast<std::uint64_t>(i.immediate)), c_.cmp(left, c_.rdx);
    }
};

} // namespace gsub::codegen::detail
