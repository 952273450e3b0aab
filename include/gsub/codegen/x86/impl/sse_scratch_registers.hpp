// sse_scratch_registers: how many vector registers instructions of SSE4.2 need beside those of values and `xmm0`.
#pragma once

#include <gsub/codegen/x86/impl/machine_ir.hpp>
#include <gsub/codegen/x86/impl/register_allocation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gsub::codegen::detail {

/// Counts them as `sse_arithmetic` takes them. Slots of the frame and numbers are operands as they are; what is read
/// again from a buffer, which need not be aligned, goes through a register.
template <class = void>
class sse_scratch_registers {
public:
    sse_scratch_registers(machine_function const& f, value_places const& places, std::int32_t lanes)
        : f_(f), places_(places), lanes_(lanes) {}

    [[nodiscard]] std::int32_t of(machine_instruction const& i) const {
        if (std::any_of(std::begin(i.temporaries), std::end(i.temporaries), [&](auto v) { return in_memory(v); }))
            return 4;
        auto const kept = in_memory(i.result) ? 1 : 0;
        auto const [a, b, c] = i.operands;
        switch (i.op) {
        case machine_op::load_integers:
        case machine_op::reduce:
            return kept;
        case machine_op::binary:
            return kept && (i.at.base >= 0 || in_buffer(b)) ? 1 : 0;
        case machine_op::blend:
        case machine_op::add_bits_unless:
        case machine_op::multiply_unless:
            return kept + (in_buffer(a) || in_buffer(b) || in_buffer(c) ? 1 : 0);
        case machine_op::fused:
            return (in_buffer(a) && in_buffer(b)) ||
                           (kept && (in_buffer(c) || i.function == lane_function::subtract_from))
                       ? 1
                       : 0;
        case machine_op::multiply_add: {
            auto const part = i.lanes != lanes_;
            auto const through = in_buffer(b) && (i.at.base >= 0 || in_buffer(c));
            return through ? (part ? 2 : 1) : part && in_memory(a) ? 1 : 0;
        }
        case machine_op::combine:
            if (i.function == lane_function::add) return i.lanes != lanes_ && in_memory(a) ? 1 : 0;
            return in_buffer(b) ? 2 : in_memory(a) ? 1 : 0;
        default:
            return 0;
        }
    }

private:
    [[nodiscard]] bool in_memory(std::int32_t v) const {
        if (v < 0) return false;
        auto const at = static_cast<std::size_t>(v);
        return places_.used[at] && places_.registers[at] < 0;
    }
    [[nodiscard]] bool in_buffer(std::int32_t v) const {
        if (!in_memory(v)) return false;
        auto const home = places_.homes[static_cast<std::size_t>(v)];
        return home >= 0 && f_.code[static_cast<std::size_t>(home)].op != machine_op::splat;
    }

    machine_function const& f_;
    value_places const& places_;
    std::int32_t lanes_;
};

} // namespace gsub::codegen::detail
