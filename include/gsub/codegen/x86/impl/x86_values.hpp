// x86_values: where the values of a machine function are: registers, the frame, literals.
#pragma once

#include <gsub/codegen/x86/impl/machine_ir.hpp>
#include <gsub/codegen/x86/impl/placed_function.hpp>
#include <gsub/core/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>
#include <xbyak/xbyak.h>
#include <xbyak/xbyak_util.h>

namespace gsub::codegen::detail {

/// Whether this machine has instructions that convert numbers of f16.
[[nodiscard]] inline bool converts_halves() {
    return Xbyak::util::Cpu{}.has(Xbyak::util::Cpu::tF16C);
}

/// Values while code is written. `rbp` holds the frame, `rax` and `rdx` are free for single instructions, and so are
/// the vector registers from `vector_registers` on, as many as `scratch_registers` says.
template <class = void>
class x86_values {
public:
    x86_values(Xbyak::CodeGenerator& to, machine_function const& f, value_places integers, value_places vectors,
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

protected:
    using xmm = Xbyak::Xmm;
    using address = Xbyak::Address;

    // In the order in which values take them: the arguments lie in the first ones, and a caller's come last.
    static constexpr std::array<int, integer_registers> pool{7, 6, 1, 8, 9, 10, 11, 3, 12, 13, 14, 15};
    static std::size_t index(std::int32_t v) { return static_cast<std::size_t>(v); }

    [[nodiscard]] Xbyak::RegExp below_frame(std::int32_t by) const { return c_.rbp - static_cast<std::size_t>(by); }
    [[nodiscard]] bool in_register(std::int32_t v) const { return integers_.registers[index(v)] >= 0; }
    [[nodiscard]] Xbyak::Reg64 reg_of(std::int32_t v) const {
        return Xbyak::Reg64{pool[index(integers_.registers[index(v)])]};
    }
    [[nodiscard]] address slot_of(std::int32_t v) { return c_.qword[below_frame(8 * (integers_.slots[index(v)] + 1))]; }
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
        GSUB_ASSERT(n < (masks_ ? 32 : 16 - first_register()),
                    "values and instructions get along with the registers that there are");
        return xmm{lanes_ == 16  ? Xbyak::Operand::ZMM
                   : lanes_ == 8 ? Xbyak::Operand::YMM
                                 : Xbyak::Operand::XMM,
                   n + first_register()};
    }
    // Of two operands, `xmm0` is free for single instructions.
    [[nodiscard]] std::int32_t first_register() const { return legacy_ ? 1 : 0; }
    void move(xmm const& to, xmm const& from) { legacy_ ? c_.movaps(to, from) : c_.vmovaps(to, from); }
    void move(xmm const& to, address const& from) { legacy_ ? c_.movups(to, from) : c_.vmovups(to, from); }
    void move(address const& to, xmm const& from) { legacy_ ? c_.movups(to, from) : c_.vmovups(to, from); }
    // A register of which Xbyak wants to know that it is no `xmm`.
    static Xbyak::Ymm wide(xmm const& r) {
        return r.isZMM() ? Xbyak::Ymm{r.getIdx(), Xbyak::Operand::ZMM, 512} : Xbyak::Ymm{r.getIdx()};
    }
    [[nodiscard]] bool vector_in_register(std::int32_t v) const { return vectors_.registers[index(v)] >= 0; }
    [[nodiscard]] address vector_slot(std::int32_t v) {
        return c_.ptr[below_frame(integer_bytes() + vector_bytes() * (vectors_.slots[index(v)] + 1))];
    }
    // The vector in a register: its own, or a free one.
    xmm vector(std::int32_t v, std::int32_t scratch) {
        if (v < 0) return xmm{}; // a temporary that is not needed
        if (vector_in_register(v)) return vector_register(vectors_.registers[index(v)]);
        return fetched(vector_register(scratch_ + scratch), v);
    }
    // Puts a vector into a register.
    xmm fetched(xmm const& to, std::int32_t v) {
        auto const home = vectors_.homes[index(v)];
        if (is_in(v, to)) return to;
        if (vector_in_register(v))
            move(to, vector_register(vectors_.registers[index(v)]));
        else if (home < 0)
            move(to, vector_slot(v));
        else if (auto const& i = f_.code[index(home)]; i.op == machine_op::splat)
            fill(to, i.immediate);
        else if (i.op == machine_op::broadcast)
            fill_from(to, memory(i, c_.rax));
        else if (i.op == machine_op::lane_numbers)
            move(to, lane_numbers_of(i));
        else
            move(to, memory(i, c_.rax));
        return to;
    }
    [[nodiscard]] bool is_in(std::int32_t v, xmm const& r) const {
        return v >= 0 && vector_in_register(v) && vectors_.registers[index(v)] + first_register() == r.getIdx();
    }
    [[nodiscard]] bool in_memory(std::int32_t v) const { return !vector_in_register(v); }
    // The last operand of an instruction: a register, or its place in memory.
    template <class Use>
    void use_operand(std::int32_t v, Use const& use) {
        auto const home = vector_in_register(v) ? -1 : vectors_.homes[index(v)];
        if (vector_in_register(v)) return use(vector_register(vectors_.registers[index(v)]));
        if (home < 0) return use(vector_slot(v));
        auto const& i = f_.code[index(home)];
        if (i.op != machine_op::splat) return use(memory(i, c_.rax));
        use(number(static_cast<std::uint32_t>(i.immediate)));
    }
    [[nodiscard]] address lane_numbers_of(machine_instruction const& i) {
        return c_.ptr[c_.rip + literal(f_.tables[static_cast<std::size_t>(i.immediate)])];
    }
    // The place of a number that stands in all lanes.
    [[nodiscard]] address number(std::uint32_t bits) {
        return masks_ ? c_.ptr_b[c_.rip + literal({bits})] : c_.ptr[c_.rip + literal_of_all_lanes(bits)];
    }
    [[nodiscard]] xmm vector_result(std::int32_t v) const {
        return vector_register(vector_in_register(v) ? vectors_.registers[index(v)] : scratch_);
    }
    void keep_vector(std::int32_t v, xmm const& from) {
        if (!vector_in_register(v)) move(vector_slot(v), from);
    }

    [[nodiscard]] std::int32_t vector_bytes() const { return std::max(4 * lanes_, 16); }
    [[nodiscard]] std::int32_t integer_bytes() const { return (8 * integers_.slot_count + 63) / 64 * 64; }
    [[nodiscard]] std::int32_t frame_bytes() const {
        return integer_bytes() + vector_bytes() * (vectors_.slot_count + (saves_ ? saved_registers() : 0));
    }
    [[nodiscard]] std::int32_t saved_registers() const { return masks_ ? 32 : 16 - first_register(); }
    [[nodiscard]] address saved_vector(std::int32_t n) {
        return c_.ptr[below_frame(integer_bytes() + vector_bytes() * (vectors_.slot_count + n + 1))];
    }

    // Whether an instruction's result is wanted, and not read where it is whenever it is used.
    [[nodiscard]] bool is_computed(machine_instruction const& i) const {
        return vectors_.used[index(i.result)] && vectors_.homes[index(i.result)] < 0;
    }

    [[nodiscard]] Xbyak::RegExp place_of(machine_address const& at, Xbyak::Reg64 const& otherwise) {
        auto const displacement = static_cast<std::size_t>(at.displacement);
        if (at.index < 0) return value(at.base, otherwise) + displacement;
        if (in_register(at.base) || in_register(at.index))
            return value(at.base, otherwise) + value(at.index, otherwise) + displacement;
        c_.mov(otherwise, slot_of(at.base));
        c_.add(otherwise, slot_of(at.index));
        return otherwise + displacement;
    }
    [[nodiscard]] address memory(machine_instruction const& i, Xbyak::Reg64 const& otherwise) {
        auto const place = place_of(i.at, otherwise);
        return i.at.broadcast ? c_.ptr_b[place] : c_.ptr[place];
    }
    // A literal behind the code.
    [[nodiscard]] Xbyak::Label& literal(std::vector<std::uint32_t> const& words) {
        auto const [at, is_new] = literals_.try_emplace(words, Xbyak::Label{});
        return at->second;
    }
    [[nodiscard]] Xbyak::Label& literal_of_all_lanes(std::uint32_t word) {
        return literal(std::vector<std::uint32_t>(static_cast<std::size_t>(vector_bytes() / 4), word));
    }
    void zero(xmm const& to) {
        xmm const low{to.getIdx()};
        if (legacy_)
            c_.xorps(low, low);
        else if (to.getIdx() < 16)
            c_.vxorps(low, low, low);
        else
            c_.vpxord(to, to, to);
    }
    void fill_from(xmm const& to, address const& from) {
        if (!legacy_) return c_.vbroadcastss(to, from);
        c_.movss(to, from);
        c_.shufps(to, to, 0);
    }
    void fill(xmm const& to, std::int64_t bits) {
        if (bits == 0)
            zero(to);
        else if (legacy_)
            c_.movaps(to, number(static_cast<std::uint32_t>(bits)));
        else
            c_.vbroadcastss(to, c_.ptr[c_.rip + literal({static_cast<std::uint32_t>(bits)})]);
    }

    Xbyak::CodeGenerator& c_;
    machine_function const& f_;
    value_places integers_, vectors_;
    std::int32_t lanes_;
    bool masks_;          // AVX-512
    bool legacy_ = false; // SSE4.2: the result of an instruction is its first operand
    bool saves_;          // there is a fallback, which saves all registers
    std::int32_t scratch_;
    std::vector<Xbyak::Label> labels_;
    std::map<std::vector<std::uint32_t>, Xbyak::Label> literals_;
};

} // namespace gsub::codegen::detail
