// x86_encoder: machine instructions with registers as bytes, through Xbyak.
#pragma once

#include <gsub/codegen/x86/impl/sse_arithmetic.hpp>
#include <gsub/codegen/x86/impl/x86_arithmetic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gsub::codegen::detail {

/// Writes a function of the System V ABI. `Instructions` are those on vectors: `x86_arithmetic<>` of AVX2 and AVX-512,
/// `sse_arithmetic<>` of SSE4.2.
template <class Instructions = x86_arithmetic<>>
class x86_encoder : protected Instructions {
public:
    using below = Instructions;
    using below::below;

    void run() {
        make_frame();
        for (machine_instruction const& i : f_.code)
            if (!on_vectors(i.op))
                write_control(i);
            else if (i.result < 0 || this->is_computed(i))
                write_vector(i);
        write_literals();
    }

private:
    using below::c_;
    using below::f_;
    using below::index;
    using below::labels_;
    using below::pool;

    // Registers of the caller that values take, and that of the frame where there is one.
    [[nodiscard]] std::vector<int> kept_registers() const {
        std::vector<int> out;
        if (this->frame_bytes() > 0) out.push_back(5);
        for (std::size_t n = 0; n < pool.size(); ++n)
            if ((pool[n] == 3 || pool[n] >= 12) &&
                std::ranges::count(this->integers_.registers, static_cast<int>(n)) > 0)
                out.push_back(pool[n]);
        return out;
    }
    void make_frame() {
        for (auto const r : kept_) c_.push(Xbyak::Reg64{r});
        if (this->frame_bytes() == 0) return;
        // Vectors in the frame lie in one line each; the stack as it was stands at `rbp`.
        c_.mov(c_.rax, c_.rsp);
        c_.lea(c_.rbp, c_.ptr[c_.rsp - 8]);
        c_.and_(c_.rbp, 0xffffffc0u); // -64, which the instruction extends
        c_.mov(c_.qword[c_.rbp], c_.rax);
        c_.lea(c_.rsp, c_.ptr[this->below_frame(this->frame_bytes())]);
    }
    void write_return() {
        if (this->frame_bytes() > 0) c_.mov(c_.rsp, c_.qword[c_.rbp]);
        for (auto r = kept_.rbegin(); r != kept_.rend(); ++r) c_.pop(Xbyak::Reg64{*r});
        if (!this->legacy_) c_.vzeroupper();
        c_.ret();
    }
    // The fallback keeps all registers: it is called where values live.
    void save_registers() {
        for (auto const r : pool) c_.push(Xbyak::Reg64{r});
        for (std::int32_t n = 0; n < this->saved_registers(); ++n)
            this->move(this->saved_vector(n), this->vector_register(n));
    }
    void restore_registers() {
        for (std::int32_t n = 0; n < this->saved_registers(); ++n)
            this->move(this->vector_register(n), this->saved_vector(n));
        for (auto r = pool.rbegin(); r != pool.rend(); ++r) c_.pop(Xbyak::Reg64{*r});
        c_.ret();
    }

    void write_control(machine_instruction const& i) {
        using enum machine_op;
        switch (i.op) {
        case leave:
            return write_return();
        case enter_fallback:
            c_.L(labels_[index(i.label)]);
            return save_registers();
        case leave_fallback:
            return restore_registers();
        default:
            return this->write_integer(i);
        }
    }
    void write_vector(machine_instruction const& i) {
        using enum machine_op;
        switch (i.op) {
        case splat:
            return this->write_splat(i);
        case lane_numbers:
            return this->write_lane_numbers(i);
        case load:
            return this->write_load(i);
        case gather:
            return this->write_gather(i);
        case permute:
            return this->write_permute(i);
        case load_twice:
            return this->write_load_twice(i);
        case load_integers:
            return this->write_load_integers(i);
        case load_halves:
            return this->write_load_halves(i);
        case store_halves:
            return this->write_store_halves(i);
        case broadcast:
            return this->write_broadcast(i);
        case store:
            return this->write_store(i);
        case copy:
            return this->write_copy(i);
        case binary:
            return this->write_binary(i);
        case fused:
            return this->write_fused(i);
        case unary:
            return this->write_unary(i);
        case blend:
        case add_bits_unless:
            return this->write_blend(i);
        case multiply_unless:
            return this->write_multiply_unless(i);
        case multiply_add:
            return this->write_multiply_add(i);
        case combine:
            return this->write_combine(i);
        case reduce:
            return this->write_reduce(i);
        case call_unless_finite:
            return this->write_guard(i);
        default:
            return;
        }
    }

    void write_literals() {
        c_.align(64);
        for (auto& [words, label] : this->literals_) {
            c_.L(label);
            for (auto const w : words) c_.dd(w);
        }
    }

    std::vector<int> kept_ = kept_registers();
};

} // namespace gsub::codegen::detail
