// port_probe: functions of one kind of instructions, or of two mixed, in a loop of so many turns.
#pragma once

#include <gsub/codegen/x86/impl/x86_values.hpp>
#include <gsub/target/port_table.hpp>

#include <cstddef>
#include <cstdint>

namespace gsub::codegen::detail {

/// What a probe repeats: instructions of a class at a width, or of the calibration alone.
enum class probe_kind : std::uint8_t { independent, chain, accumulate, move_chain, nothing };

/// Writes a probe: `void f(float* memory, long turns)`. Memory: 4 KiB, numbers from the beginning, zeros from 1024
/// bytes on, of which the last 8 before 2048 hold their own address.
template <class = void>
class port_probe {
public:
    using function = void (*)(void*, std::int64_t);

    explicit port_probe(bool zmm) : c_(std::size_t{1} << 14), zmm_(zmm) { begin(); }

    /// Adds the `number`th instruction of its kind to the turn.
    void add(instruction_class of, std::int32_t bytes, probe_kind kind, int number) {
        if (kind == probe_kind::nothing) return c_.nop();
        if (kind == probe_kind::move_chain) return c_.vmovq(c_.xmm0, c_.r8), c_.vmovq(c_.r8, c_.xmm0);
        if (of < instruction_class::load) return add_vector(of, bytes, kind, number);
        add_other(of, bytes, kind, number);
    }
    /// Ends the function.
    function finish() {
        c_.dec(c_.rsi);
        c_.jnz(top_, Xbyak::CodeGenerator::T_NEAR);
        c_.L(out_);
        for (auto const r : {15, 14, 13, 12, 3}) c_.pop(Xbyak::Reg64{r});
        c_.vzeroupper();
        c_.ret();
        c_.readyRE();
        return c_.getCode<function>();
    }

private:
    using xmm = Xbyak::Xmm;
    static constexpr int chains = 12, first_constant = 14; // 12 and 13 are written by what starts no chain
    static constexpr int integers[] = {0, 1, 2, 10, 11, 12, 13, 14, 15};

    void begin() {
        for (auto const r : {3, 12, 13, 14, 15}) c_.push(Xbyak::Reg64{r});
        c_.mov(c_.rbx, 1);
        for (auto const r : integers) c_.mov(Xbyak::Reg64{r}, 1);
        c_.lea(c_.r8, c_.ptr[c_.rdi + 2040]); // of which the content is its address
        c_.xor_(c_.r9, c_.r9);
        for (int v = 0; v < 16; ++v)
            c_.vmovups(vector(zmm_ ? 64 : 32, v), c_.ptr[c_.rdi + std::size_t{64} * (v % 2 ? 1u : 0u)]);
        c_.align(64);
        c_.L(top_);
    }
    static xmm vector(std::int32_t bytes, int n) {
        return xmm{bytes == 64 ? Xbyak::Operand::ZMM : bytes == 32 ? Xbyak::Operand::YMM : Xbyak::Operand::XMM, n};
    }
    static Xbyak::Ymm wide(xmm const& r) {
        return r.isZMM() ? Xbyak::Ymm{r.getIdx(), Xbyak::Operand::ZMM, 512} : Xbyak::Ymm{r.getIdx()};
    }

    void add_vector(instruction_class of, std::int32_t bytes, probe_kind kind, int n) {
        using enum instruction_class;
        auto const chain = kind == probe_kind::chain;
        auto const to = vector(bytes, chain ? 0 : chains + n % 2), a = chain ? to : vector(bytes, first_constant),
                   b = vector(bytes, first_constant + 1);
        switch (of) {
        case fma:
            if (chain) return c_.vfmadd213ps(to, vector(bytes, first_constant), b);
            return c_.vfmadd231ps(vector(bytes, kind == probe_kind::accumulate ? 0 : n % chains), a, b);
        case multiply:
            return c_.vmulps(to, a, b);
        case instruction_class::add:
            return c_.vaddps(to, a, b);
        case maximum:
            return c_.vmaxps(to, a, b);
        case divide:
            return c_.vdivps(to, a, b);
        case square_root:
            return c_.vsqrtps(to, a);
        case logic:
            return c_.vandps(to, a, b);
        case shuffle:
            if (bytes == 16) return c_.vshufps(to, a, b, 0x1b);
            return c_.vpermps(wide(to), wide(b), a);
        default:
            return c_.vcvtdq2ps(to, a);
        }
    }
    void add_other(instruction_class of, std::int32_t bytes, probe_kind kind, int n) {
        using enum instruction_class;
        auto const chain = kind == probe_kind::chain;
        auto const to = vector(bytes, chain ? 0 : chains + n % 2);
        auto const zeros = c_.rdi + 1024 + static_cast<std::size_t>(chain ? 0 : bytes * (n % 8));
        switch (of) {
        case load:
            if (bytes == 8) return chain ? c_.mov(c_.r8, c_.ptr[c_.r8]) : c_.mov(Xbyak::Reg64{8}, c_.ptr[zeros]);
            if (!chain) return c_.vmovups(to, c_.ptr[zeros]);
            c_.vmovups(to, c_.ptr[c_.rdi + c_.r9 + 1024]);
            return c_.vmovq(c_.r9, c_.xmm0);
        case broadcast:
            if (!chain) return c_.vbroadcastss(to, c_.ptr[zeros]);
            c_.vbroadcastss(to, c_.ptr[c_.rdi + c_.r9 + 1024]);
            return c_.vmovq(c_.r9, c_.xmm0);
        case store:
            return c_.vmovups(c_.ptr[c_.rdi + 2048 + static_cast<std::size_t>(64 * (n % 8))],
                              vector(bytes, first_constant));
        case branch: // never taken
            c_.test(c_.rbx, c_.rbx);
            return c_.jz(out_, Xbyak::CodeGenerator::T_NEAR);
        default:
            return c_.add(Xbyak::Reg64{integers[chain ? 0 : n % static_cast<int>(std::size(integers))]}, c_.rbx);
        }
    }

    Xbyak::CodeGenerator c_;
    Xbyak::Label top_, out_;
    bool zmm_;
};

} // namespace gsub::codegen::detail
