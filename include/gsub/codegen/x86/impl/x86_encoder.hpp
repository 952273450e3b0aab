// x86_encoder: machine instructions with registers as bytes, through Xbyak.
#pragma once

#include <gsub/codegen/x86/impl/machine_ir.hpp>
#include <gsub/codegen/x86/impl/register_allocation.hpp>
#include <gsub/core/hash.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>
#include <xbyak/xbyak.h>

namespace gsub::codegen::detail {

/// Writes a function of the System V ABI. `rbp` holds the frame, `rax` and `rdx` are free for single instructions, and
/// so are the vector registers above `vector_registers`.
template <class = void>
class x86_encoder {
public:
    static constexpr std::int32_t integer_registers = 12;

    x86_encoder(Xbyak::CodeGenerator& to, machine_function const& f, value_places integers, value_places vectors,
                std::int32_t lanes, bool masks, std::int32_t vector_registers)
        : c_(to),
          f_(f),
          integers_(std::move(integers)),
          vectors_(std::move(vectors)),
          lanes_(lanes),
          masks_(masks),
          saves_(std::any_of(f.code.begin(), f.code.end(),
                             [](auto const& i) { return i.op == machine_op::enter_fallback; })),
          scratch_(vector_registers),
          labels_(static_cast<std::size_t>(f.labels)) {}

    void run() {
        make_frame();
        for (auto const& i : f_.code)
            if (!on_vectors(i.op))
                write_integer(i);
            else if (i.result < 0 || is_computed(i))
                write_vector(i);
        write_literals();
    }

private:
    using xmm = Xbyak::Xmm;
    using address = Xbyak::Address;

    // ---- places

    static constexpr std::array<int, integer_registers> pool{3, 1, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static std::size_t index(std::int32_t v) { return static_cast<std::size_t>(v); }

    [[nodiscard]] bool in_register(std::int32_t v) const { return integers_.registers[index(v)] >= 0; }
    [[nodiscard]] Xbyak::Reg64 reg_of(std::int32_t v) const {
        return Xbyak::Reg64{pool[index(integers_.registers[index(v)])]};
    }
    [[nodiscard]] address slot_of(std::int32_t v) { return c_.qword[c_.rbp - 8 * (integers_.slots[index(v)] + 1)]; }
    // The value in a register: its own, or the one given.
    Xbyak::Reg64 value(std::int32_t v, Xbyak::Reg64 const& otherwise) {
        if (in_register(v)) return reg_of(v);
        c_.mov(otherwise, slot_of(v));
        return otherwise;
    }
    // A register for a result, which `keep` stores where the value has none.
    [[nodiscard]] Xbyak::Reg64 result_of(std::int32_t v) { return in_register(v) ? reg_of(v) : c_.rax; }
    void keep(std::int32_t v, Xbyak::Reg64 const& from) {
        if (!in_register(v))
            c_.mov(slot_of(v), from);
        else if (reg_of(v) != from)
            c_.mov(reg_of(v), from);
    }

    [[nodiscard]] xmm vector_register(std::int32_t n) const {
        return lanes_ == 16 ? xmm{Xbyak::Operand::ZMM, n} : xmm{Xbyak::Operand::YMM, n};
    }
    // A register of which Xbyak wants to know that it is no `xmm`.
    static Xbyak::Ymm wide(xmm const& r) {
        return r.isZMM() ? Xbyak::Ymm{r.getIdx(), Xbyak::Operand::ZMM, 512} : Xbyak::Ymm{r.getIdx()};
    }
    [[nodiscard]] bool vector_in_register(std::int32_t v) const { return vectors_.registers[index(v)] >= 0; }
    [[nodiscard]] address vector_slot(std::int32_t v) {
        auto const below = integer_bytes() + vector_bytes() * (vectors_.slots[index(v)] + 1);
        return c_.ptr[c_.rbp - below];
    }
    // The vector in a register: its own, or a free one.
    xmm vector(std::int32_t v, std::int32_t scratch) {
        if (v < 0) return xmm{}; // a temporary that is not needed
        if (vector_in_register(v)) return vector_register(vectors_.registers[index(v)]);
        auto const to = vector_register(scratch_ + scratch);
        auto const home = vectors_.homes[index(v)];
        if (home < 0)
            c_.vmovups(to, vector_slot(v));
        else if (auto const& i = f_.code[index(home)]; i.op == machine_op::splat)
            fill(to, i.immediate);
        else
            c_.vmovups(to, memory(i, c_.rax));
        return to;
    }
    [[nodiscard]] bool in_memory(std::int32_t v) const { return !vector_in_register(v); }
    // The last operand of an instruction: a register, or its place in memory.
    template <class Use>
    void use_operand(std::int32_t v, std::int32_t scratch, Use const& use) {
        auto const home = vector_in_register(v) ? -1 : vectors_.homes[index(v)];
        if (vector_in_register(v)) return use(vector_register(vectors_.registers[index(v)]));
        if (home < 0) return use(vector_slot(v));
        auto const& i = f_.code[index(home)];
        if (i.op != machine_op::splat) return use(memory(i, c_.rax));
        if (masks_ && i.immediate != 0)
            return use(c_.ptr_b[c_.rip + literal({static_cast<std::uint32_t>(i.immediate)})]);
        use(vector(v, scratch));
    }
    [[nodiscard]] xmm vector_result(std::int32_t v) const {
        return vector_register(vector_in_register(v) ? vectors_.registers[index(v)] : scratch_);
    }
    void keep_vector(std::int32_t v, xmm const& from) {
        if (!vector_in_register(v)) c_.vmovups(vector_slot(v), from);
    }

    [[nodiscard]] std::int32_t vector_bytes() const { return 4 * lanes_; }
    [[nodiscard]] std::int32_t integer_bytes() const { return 8 * integers_.slot_count; }
    [[nodiscard]] std::int32_t frame_bytes() const {
        return integer_bytes() + vector_bytes() * (vectors_.slot_count + (saves_ ? saved_registers() : 0));
    }
    [[nodiscard]] std::int32_t saved_registers() const { return masks_ ? 32 : 16; }
    [[nodiscard]] address saved_vector(std::int32_t n) {
        return c_.ptr[c_.rbp - (integer_bytes() + vector_bytes() * (vectors_.slot_count + n + 1))];
    }

    // Whether an instruction's result is wanted, and not read where it is whenever it is used.
    [[nodiscard]] bool is_computed(machine_instruction const& i) const {
        return vectors_.used[index(i.result)] && vectors_.homes[index(i.result)] < 0;
    }

    // ---- the function

    void make_frame() {
        for (auto const r : {3, 5, 12, 13, 14, 15}) c_.push(Xbyak::Reg64{r});
        c_.mov(c_.rbp, c_.rsp);
        c_.sub(c_.rsp, frame_bytes());
    }
    void write_return() {
        c_.mov(c_.rsp, c_.rbp);
        for (auto const r : {15, 14, 13, 12, 5, 3}) c_.pop(Xbyak::Reg64{r});
        c_.vzeroupper();
        c_.ret();
    }
    // The fallback keeps all registers: it is called where values live.
    void save_registers() {
        for (auto const r : pool) c_.push(Xbyak::Reg64{r});
        for (std::int32_t n = 0; n < saved_registers(); ++n) c_.vmovups(saved_vector(n), vector_register(n));
    }
    void restore_registers() {
        for (std::int32_t n = 0; n < saved_registers(); ++n) c_.vmovups(vector_register(n), saved_vector(n));
        for (auto r = pool.rbegin(); r != pool.rend(); ++r) c_.pop(Xbyak::Reg64{*r});
        c_.ret();
    }

    // ---- integers

    void write_integer(machine_instruction const& i) {
        using enum machine_op;
        switch (i.op) {
        case argument: // in their order, the first to memory: none is overwritten
            return keep(i.result, Xbyak::Reg64{i.immediate == 0 ? 7 : i.immediate == 1 ? 6 : 2});
        case load_pointer: {
            auto const to = result_of(i.result);
            c_.mov(to, c_.qword[value(i.operands[0], c_.rax) + 8 * i.immediate]);
            return keep(i.result, to);
        }
        case set: {
            auto const to = result_of(i.result);
            if (i.immediate == 0)
                c_.xor_(to.cvt32(), to.cvt32());
            else
                c_.mov(to, i.immediate);
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
        case label:
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
        case leave:
            return write_return();
        case enter_fallback:
            c_.L(labels_[index(i.label)]);
            return save_registers();
        case leave_fallback:
            return restore_registers();
        default:
            return;
        }
    }

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
        c_.mov(c_.rdx, i.immediate);
        change(v, [&](auto const& to) { c_.add(to, c_.rdx); });
    }
    void multiply(Xbyak::Reg64 const& to, Xbyak::Reg64 const& from, std::int64_t by) {
        if (by > 0 && (by & (by - 1)) == 0) {
            if (to != from) c_.mov(to, from);
            c_.shl(to, std::countr_zero(static_cast<std::uint64_t>(by)));
        } else if (is_short(by)) {
            c_.imul(to, from, static_cast<int>(by));
        } else {
            c_.mov(c_.rdx, by);
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
            c_.mov(c_.rdx, by - 1);
            c_.and_(c_.rax, c_.rdx);
        } else { // the quotient of a negative number, truncated, is its ceiling
            c_.test(c_.rax, c_.rax);
            c_.lea(c_.rdx, c_.ptr[c_.rax + static_cast<int>(by - 1)]);
            c_.cmovg(c_.rax, c_.rdx);
            c_.push(c_.rcx);
            c_.cqo();
            c_.mov(c_.rcx, by);
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
            c_.mov(c_.rdx, i.immediate), c_.cmp(left, c_.rdx);
    }

    // ---- vectors

    [[nodiscard]] address memory(machine_instruction const& i, Xbyak::Reg64 const& otherwise) {
        auto const base = value(i.at.base, otherwise);
        return i.at.broadcast ? c_.ptr_b[base + i.at.displacement] : c_.ptr[base + i.at.displacement];
    }
    void write_vector(machine_instruction const& i) {
        using enum machine_op;
        switch (i.op) {
        case splat:
            return write_splat(i);
        case load:
            return write_load(i);
        case gather:
            return write_gather(i);
        case broadcast: {
            auto const to = vector_result(i.result);
            c_.vbroadcastss(to, memory(i, c_.rax));
            return keep_vector(i.result, to);
        }
        case store:
            return write_store(i);
        case copy: {
            auto const from = vector(i.operands[0], 0);
            auto const to = vector_in_register(i.result) ? vector_result(i.result) : from;
            if (to.getIdx() != from.getIdx()) c_.vmovaps(to, from);
            return keep_vector(i.result, to);
        }
        case binary:
            return write_binary(i);
        case fused:
            return write_fused(i);
        case unary:
            return write_unary(i);
        case multiply_add:
            return write_multiply_add(i);
        case combine:
            return write_combine(i);
        case reduce:
            return write_reduce(i);
        case call_unless_finite:
            return write_guard(i);
        default:
            return;
        }
    }

    // A literal behind the code.
    [[nodiscard]] Xbyak::Label& literal(std::vector<std::uint32_t> const& words) {
        auto const [at, is_new] = literals_.try_emplace(words, Xbyak::Label{});
        return at->second;
    }
    [[nodiscard]] Xbyak::Label& literal_of_all_lanes(std::uint32_t word) {
        return literal(std::vector<std::uint32_t>(static_cast<std::size_t>(lanes_), word));
    }
    void zero(xmm const& to) {
        xmm const low{to.getIdx()};
        if (to.getIdx() < 16)
            c_.vxorps(low, low, low);
        else
            c_.vpxord(to, to, to);
    }
    void write_splat(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        fill(to, i.immediate);
        keep_vector(i.result, to);
    }
    void fill(xmm const& to, std::int64_t bits) {
        if (bits == 0)
            zero(to);
        else
            c_.vbroadcastss(to, c_.ptr[c_.rip + literal({static_cast<std::uint32_t>(bits)})]);
    }

    // The mask of the first lanes: k1, or a vector.
    void set_mask(std::int32_t lanes) {
        c_.mov(c_.eax, (1 << lanes) - 1);
        c_.kmovw(c_.k1, c_.eax);
    }
    [[nodiscard]] address mask_of(std::int32_t lanes) {
        std::vector<std::uint32_t> words(static_cast<std::size_t>(lanes_), 0);
        std::fill_n(words.begin(), lanes, 0xffffffffu);
        return c_.ptr[c_.rip + literal(words)];
    }

    void write_load(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        if (i.lanes == lanes_) {
            c_.vmovups(to, memory(i, c_.rax));
        } else if (masks_) {
            set_mask(i.lanes);
            c_.vmovups(to | c_.k1 | c_.T_z, memory(i, c_.rdx));
        } else {
            c_.vmovups(to, mask_of(i.lanes));
            c_.vmaskmovps(to, to, memory(i, c_.rax));
        }
        keep_vector(i.result, to);
    }
    void write_gather(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        auto const at = vector(i.temporaries[0], 1), which = vector(i.temporaries[1], 2);
        std::vector<std::uint32_t> places;
        for (std::int32_t l = 0; l < lanes_; ++l)
            places.push_back(static_cast<std::uint32_t>(l < i.lanes ? i.immediate * l : 0));
        c_.vmovups(at, c_.ptr[c_.rip + literal(places)]);
        zero(to);
        auto const base = value(i.at.base, c_.rdx);
        if (masks_) {
            set_mask(i.lanes);
            c_.vgatherdps(to | c_.k1, c_.ptr[base + at * 4 + i.at.displacement]);
        } else {
            c_.vmovups(which, mask_of(i.lanes));
            c_.vgatherdps(to, c_.ptr[base + at * 4 + i.at.displacement], which);
        }
        keep_vector(i.result, to);
    }
    void write_store(machine_instruction const& i) {
        auto const from = vector(i.operands[0], 0);
        if (i.lanes == lanes_) {
            c_.vmovups(memory(i, c_.rax), from);
        } else if (masks_) {
            set_mask(i.lanes);
            c_.vmovups(memory(i, c_.rdx) | c_.k1, from);
        } else {
            auto const which = vector(i.temporaries[0], 1);
            c_.vmovups(which, mask_of(i.lanes));
            c_.vmaskmovps(memory(i, c_.rax), which, from);
        }
    }

    void apply(vector_function f, xmm const& to, xmm const& a, Xbyak::Operand const& b) {
        switch (f) {
        case vector_function::add:
            return c_.vaddps(to, a, b);
        case vector_function::subtract:
            return c_.vsubps(to, a, b);
        case vector_function::multiply:
            return c_.vmulps(to, a, b);
        case vector_function::divide:
            return c_.vdivps(to, a, b);
        case vector_function::maximum:
            return c_.vmaxps(to, a, b);
        default:
            return c_.vminps(to, a, b);
        }
    }
    void write_binary(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        auto const commutes = i.function == vector_function::add || i.function == vector_function::multiply;
        if (commutes && i.at.base < 0 && in_memory(i.operands[0]) && !in_memory(i.operands[1])) {
            auto swapped = i;
            std::swap(swapped.operands[0], swapped.operands[1]);
            return write_binary(swapped);
        }
        auto const a = vector(i.operands[0], 1);
        if (i.at.base >= 0)
            apply(i.function, to, a, memory(i, c_.rax));
        else
            use_operand(i.operands[1], 2, [&](Xbyak::Operand const& b) { apply(i.function, to, a, b); });
        keep_vector(i.result, to);
    }
    void write_unary(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        auto const from = vector(i.operands[0], 1);
        switch (i.function) {
        case vector_function::square_root:
            c_.vsqrtps(to, from);
            break;
        case vector_function::negate:
            c_.vxorps(to, from, c_.ptr[c_.rip + literal_of_all_lanes(0x80000000u)]);
            break;
        case vector_function::absolute:
            c_.vandps(to, from, c_.ptr[c_.rip + literal_of_all_lanes(0x7fffffffu)]);
            break;
        default: {
            std::uint8_t const mode = i.function == vector_function::floor ? 1 : 0;
            masks_ ? c_.vrndscaleps(to, from, mode) : c_.vroundps(to, from, mode);
        }
        }
        keep_vector(i.result, to);
    }
    void write_multiply_add(machine_instruction const& i) {
        auto const sum = vector(i.operands[0], 0);
        auto const a = vector(i.operands[1], 1);
        if (i.at.base >= 0) {
            c_.vfmadd231ps(sum, a, memory(i, c_.rax));
        } else {
            if (i.lanes == lanes_)
                return use_operand(i.operands[2], 2, [&](Xbyak::Operand const& b) {
                    c_.vfmadd231ps(sum, a, b);
                    keep_vector(i.operands[0], sum);
                });
            auto const b = vector(i.operands[2], 2);
            if (masks_) {
                set_mask(i.lanes);
                c_.vfmadd231ps(sum | c_.k1, a, b);
            } else { // the product of the other lanes is zero, or NaN: theirs are blended back
                auto const all = vector(i.temporaries[0], 3);
                c_.vmovaps(all, sum);
                c_.vfmadd231ps(all, a, b);
                blend_first(sum, all, i.lanes);
            }
        }
        keep_vector(i.operands[0], sum);
    }
    // a * b + c and its kin. The result's register may be that of an operand that is no longer needed.
    void write_fused(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        auto factors = std::pair{i.operands[0], i.operands[1]};
        if (in_memory(factors.first) && !in_memory(factors.second)) std::swap(factors.first, factors.second);
        auto const a = vector(factors.first, 1);
        auto const same = [&](std::int32_t v) { return !in_memory(v) && vectors_.registers[index(v)] == to.getIdx(); };
        if (same(i.operands[2])) { // to += a * b
            use_operand(factors.second, 2, [&](Xbyak::Operand const& b) { fuse_231(i.function, to, a, b); });
        } else if (to.getIdx() == a.getIdx() || same(factors.second)) { // to = to * other + c
            auto const other = to.getIdx() == a.getIdx() ? vector(factors.second, 2) : a;
            use_operand(i.operands[2], 3, [&](Xbyak::Operand const& c) { fuse_213(i.function, to, other, c); });
        } else {
            c_.vmovups(to, vector(i.operands[2], 0));
            use_operand(factors.second, 2, [&](Xbyak::Operand const& b) { fuse_231(i.function, to, a, b); });
        }
        keep_vector(i.result, to);
    }
    void fuse_231(vector_function f, xmm const& to, xmm const& a, Xbyak::Operand const& b) {
        f == vector_function::add        ? c_.vfmadd231ps(to, a, b)
        : f == vector_function::subtract ? c_.vfmsub231ps(to, a, b)
                                         : c_.vfnmadd231ps(to, a, b);
    }
    void fuse_213(vector_function f, xmm const& to, xmm const& a, Xbyak::Operand const& b) {
        f == vector_function::add        ? c_.vfmadd213ps(to, a, b)
        : f == vector_function::subtract ? c_.vfmsub213ps(to, a, b)
                                         : c_.vfnmadd213ps(to, a, b);
    }
    // The first lanes of another vector in place of one's own.
    void blend_first(xmm const& to, xmm const& from, std::int32_t lanes) {
        c_.vblendps(to, to, from, static_cast<std::uint8_t>((1 << lanes) - 1));
    }
    // `to` = the greater of two vectors, a NaN of either. *Requires* registers that differ, but `to` may be `a`.
    void maximum_or_nan(xmm const& to, xmm const& a, xmm const& b, xmm const& free) {
        if (masks_) {
            c_.vcmpps(c_.k2, b, b, 3); // unordered
            c_.vmaxps(to, b, a);
            c_.vmovaps(to | c_.k2, b);
        } else {
            c_.vcmpps(free, b, b, 3);
            c_.vmaxps(to, b, a);
            c_.vblendvps(to, to, b, free);
        }
    }
    void write_combine(machine_instruction const& i) {
        auto const sum = vector(i.operands[0], 0);
        auto const other = vector(i.operands[1], 1);
        auto const adds = i.function == vector_function::add;
        auto const free = vector(i.temporaries[0], 2), all = vector(i.temporaries[1], 3);
        auto const whole = i.lanes == lanes_;
        auto const to = whole ? sum : all;
        if (adds)
            c_.vaddps(to, sum, other);
        else
            maximum_or_nan(to, sum, other, free);
        if (!whole && masks_) {
            set_mask(i.lanes);
            c_.vmovaps(sum | c_.k1, all);
        } else if (!whole) {
            blend_first(sum, all, i.lanes);
        }
        keep_vector(i.operands[0], sum);
    }
    // Halves upon each other.
    void write_reduce(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        auto const other = vector(i.temporaries[0], 2), free = vector(i.temporaries[1], 3);
        auto const from = vector(i.operands[0], 1);
        if (to.getIdx() != from.getIdx()) c_.vmovaps(to, from);
        for (auto half = lanes_ / 2; half > 0; half /= 2) {
            if (half == 8)
                c_.vshuff32x4(wide(other), wide(to), wide(to), 0x4e);
            else if (half == 4 && lanes_ == 16)
                c_.vshuff32x4(wide(other), wide(to), wide(to), 0xb1);
            else if (half == 4)
                c_.vperm2f128(wide(other), wide(to), wide(to), 1);
            else
                c_.vshufps(other, to, to, half == 2 ? 0x4e : 0xb1);
            if (i.function == vector_function::add)
                c_.vaddps(to, to, other);
            else
                maximum_or_nan(to, to, other, free);
        }
        keep_vector(i.result, to);
    }
    void write_guard(machine_instruction const& i) {
        auto const r = vector(i.operands[0], 0), free = vector(i.temporaries[0], 1);
        xmm const low{free.getIdx()}, value{r.getIdx()};
        Xbyak::Label finite, call;
        c_.vsubss(low, value, value);
        c_.vucomiss(low, c_.ptr[c_.rip + literal({0})]);
        c_.jp(call);
        c_.je(finite);
        c_.L(call);
        c_.call(labels_[index(i.label)]);
        c_.L(finite);
    }

    void write_literals() {
        c_.align(64);
        for (auto& [words, label] : literals_) {
            c_.L(label);
            for (auto const w : words) c_.dd(w);
        }
    }

    Xbyak::CodeGenerator& c_;
    machine_function const& f_;
    value_places integers_, vectors_;
    std::int32_t lanes_;
    bool masks_; // AVX-512
    bool saves_; // there is a fallback, which saves all registers
    std::int32_t scratch_;
    std::vector<Xbyak::Label> labels_;
    std::map<std::vector<std::uint32_t>, Xbyak::Label> literals_;
};

} // namespace gsub::codegen::detail
