// sse_memory: loads and stores of vectors of SSE4.2 as bytes, in the legacy encoding.
#pragma once

#include <gsub/codegen/x86/impl/x86_integers.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace gsub::codegen::detail {

/// Writes the instructions that move vectors of at most four lanes from and to memory. `xmm0`, of no value, is free for
/// each of them. Numbers and slots of the frame are aligned, and may be operands; buffers need not be.
template <class = void>
class sse_memory : protected x86_integers<> {
public:
    template <class... Arguments>
    explicit sse_memory(Arguments&&... arguments) : x86_integers<>(std::forward<Arguments>(arguments)...) {
        legacy_ = true;
    }

protected:
    static xmm free() { return xmm{0}; }
    // The register of a result, or the free one, from which `keep_vector` stores it.
    [[nodiscard]] xmm result_or_free(std::int32_t v) const { return in_memory(v) ? free() : vector_result(v); }
    // Whether a value is read again from a buffer.
    [[nodiscard]] bool in_buffer(std::int32_t v) const {
        if (v < 0 || !in_memory(v)) return false;
        auto const home = vectors_.homes[index(v)];
        return home >= 0 && f_.code[index(home)].op != machine_op::splat;
    }
    // The value in a register: its own, or the one given.
    xmm vector_or(std::int32_t v, xmm const& otherwise) { return in_memory(v) ? fetched(otherwise, v) : vector(v, 0); }
    // The value as the last operand: a register, or an aligned place; what is in a buffer goes to a register first.
    template <class Use>
    void with_operand(std::int32_t v, xmm const& otherwise, Use const& use) {
        if (in_buffer(v)) return use(fetched(otherwise, v));
        use_operand(v, use);
    }

    void write_splat(machine_instruction const& i) {
        auto const to = result_or_free(i.result);
        fill(to, i.immediate);
        keep_vector(i.result, to);
    }
    // Zeros in the lanes behind.
    void write_load(machine_instruction const& i) {
        auto const to = result_or_free(i.result);
        auto const from = place_of(i.at, c_.rax);
        if (i.lanes == 1) {
            c_.movss(to, c_.dword[from]);
        } else if (i.lanes == 4) {
            c_.movups(to, c_.ptr[from]);
        } else {
            c_.movsd(to, c_.qword[from]);
            if (i.lanes == 3) c_.insertps(to, c_.dword[from + 8], 0x20);
        }
        keep_vector(i.result, to);
    }
    void write_gather(machine_instruction const& i) {
        auto const to = result_or_free(i.result);
        auto const first = place_of(i.at, c_.rax);
        auto const& places = f_.tables[index(static_cast<std::int32_t>(i.immediate))];
        for (std::int32_t l = 0; l < i.lanes; ++l) {
            auto const at = static_cast<std::int32_t>(places[index(l)]); // in elements; may lie before the base
            auto const from = c_.dword[first + static_cast<std::size_t>(std::int64_t{4} * at)];
            l == 0 ? c_.movss(to, from) : c_.insertps(to, from, static_cast<std::uint8_t>(l << 4));
        }
        keep_vector(i.result, to);
    }
    // Loads that permute are gathers here (`sse_temporaries`), so that nobody reads the numbers of their lanes.
    void write_permute(machine_instruction const&) { GSUB_ASSERT(false, "SSE4.2 has no loads that permute"); }
    void write_load_twice(machine_instruction const& i) {
        auto const to = result_or_free(i.result);
        c_.pmovzxdq(to, c_.qword[place_of(i.at, c_.rax)]);
        c_.movsldup(to, to);
        keep_vector(i.result, to);
    }
    void write_load_halves(machine_instruction const&) { GSUB_ASSERT(false, "SSE4.2 has no numbers of f16"); }
    void write_store_halves(machine_instruction const&) { GSUB_ASSERT(false, "SSE4.2 has no numbers of f16"); }
    void write_lane_numbers(machine_instruction const&) { GSUB_ASSERT(false, "nothing of SSE4.2 reads lane numbers"); }
    void write_load_integers(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        auto const first = place_of(i.at, c_.rax);
        zero(to);
        for (std::int32_t l = 0; l < i.lanes; ++l) {
            c_.mov(c_.rdx, c_.qword[first + static_cast<std::size_t>(8 * l)]);
            zero(free());
            c_.cvtsi2ss(free(), c_.rdx);
            c_.insertps(to, free(), static_cast<std::uint8_t>(l << 4));
        }
        keep_vector(i.result, to);
    }
    void write_broadcast(machine_instruction const& i) {
        auto const to = result_or_free(i.result);
        fill_from(to, memory(i, c_.rax));
        keep_vector(i.result, to);
    }
    void write_copy(machine_instruction const& i) {
        if (in_memory(i.result)) return keep_vector(i.result, vector_or(i.operands[0], free()));
        fetched(vector_result(i.result), i.operands[0]);
    }
    void write_store(machine_instruction const& i) {
        auto const from = vector_or(i.operands[0], free());
        auto const to = place_of(i.at, c_.rax);
        if (i.lanes == 1) {
            c_.movss(c_.dword[to], from);
        } else if (i.lanes == 4) {
            c_.movups(c_.ptr[to], from);
        } else {
            c_.movlps(c_.qword[to], from);
            if (i.lanes == 3) c_.extractps(c_.dword[to + 8], from, 2);
        }
    }
};

} // namespace gsub::codegen::detail
