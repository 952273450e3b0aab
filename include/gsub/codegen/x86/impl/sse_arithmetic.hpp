// sse_arithmetic: arithmetic on vectors of SSE4.2 as bytes, in the legacy encoding.
#pragma once

#include <gsub/codegen/x86/impl/sse_products.hpp>

#include <cstdint>
#include <utility>

namespace gsub::codegen::detail {

/// Writes the instructions that compute vectors. Their result is their first operand.
template <class = void>
class sse_arithmetic : protected sse_products<> {
public:
    using below = sse_products<>;
    using below::below;

protected:
    // In place of the first operand.
    void apply(lane_function f, xmm const& to, Xbyak::Operand const& b) {
        switch (f) {
        case lane_function::add:
            return c_.addps(to, b);
        case lane_function::subtract:
            return c_.subps(to, b);
        case lane_function::multiply:
            return c_.mulps(to, b);
        case lane_function::divide:
            return c_.divps(to, b);
        case lane_function::maximum:
            return c_.maxps(to, b);
        case lane_function::add_bits:
            return c_.paddd(to, b);
        case lane_function::subtract_bits:
            return c_.psubd(to, b);
        case lane_function::and_bits:
            return c_.andps(to, b);
        case lane_function::or_bits:
            return c_.orps(to, b);
        case lane_function::xor_bits:
            return c_.xorps(to, b);
        case lane_function::and_not_bits:
            return c_.andnps(to, b);
        case lane_function::is_less:
            return c_.cmpps(to, b, 1);
        case lane_function::is_not_greater:
            return c_.cmpps(to, b, 2);
        case lane_function::is_equal:
            return c_.cmpps(to, b, 0);
        case lane_function::unpack_low:
            return c_.unpcklps(to, b);
        case lane_function::unpack_high:
            return c_.unpckhps(to, b);
        case lane_function::unpack_low_pairs:
            return c_.unpcklpd(to, b);
        case lane_function::unpack_high_pairs:
            return c_.unpckhpd(to, b);
        default:
            GSUB_ASSERT(f == lane_function::minimum, "vectors of four lanes have one quarter");
            return c_.minps(to, b);
        }
    }
    static bool changes_places(lane_function f) {
        return commutes(f) || f == lane_function::add_bits || f == lane_function::and_bits ||
               f == lane_function::or_bits || f == lane_function::xor_bits || f == lane_function::is_equal;
    }
    void write_binary(machine_instruction const& i) {
        if (i.at.base >= 0 || in_buffer(i.operands[1])) return write_binary_of_buffer(i);
        auto const first = i.operands[0], second = i.operands[1];
        auto const to = result_or_free(i.result);
        auto const use = [&](Xbyak::Operand const& b) { apply(i.function, to, b); };
        if (!is_in(second, to) || is_in(first, to)) {
            fetched(to, first);
            use_operand(second, use);
        } else if (changes_places(i.function)) {
            with_operand(first, free(), use);
        } else {
            apply(i.function, fetched(free(), first), to);
            c_.movaps(to, free());
        }
        keep_vector(i.result, to);
    }
    void write_binary_of_buffer(machine_instruction const& i) {
        auto const first = i.operands[0];
        auto const to = result_or_free(i.result), scratch = in_memory(i.result) ? vector_result(i.result) : free();
        auto const load = [&](xmm const& r) {
            i.at.base >= 0 ? c_.movups(r, memory(i, c_.rax)) : static_cast<void>(fetched(r, i.operands[1]));
        };
        if (changes_places(i.function) && !is_in(first, to)) {
            load(to);
            with_operand(first, scratch, [&](Xbyak::Operand const& a) { apply(i.function, to, a); });
        } else {
            load(scratch);
            apply(i.function, fetched(to, first), scratch);
        }
        keep_vector(i.result, to);
    }
    void write_unary(machine_instruction const& i) {
        auto const to = result_or_free(i.result);
        auto const from = i.operands[0];
        switch (i.function) {
        case lane_function::negate:
            c_.xorps(fetched(to, from), number(0x80000000u));
            break;
        case lane_function::absolute:
            c_.andps(fetched(to, from), number(0x7fffffffu));
            break;
        case lane_function::shift_left:
            c_.pslld(fetched(to, from), static_cast<std::uint8_t>(i.immediate));
            break;
        default:
            with_operand(from, to, [&](Xbyak::Operand const& a) {
                if (i.function == lane_function::square_root) return c_.sqrtps(to, a);
                if (i.function == lane_function::from_integer) return c_.cvtdq2ps(to, a);
                c_.roundps(to, a, i.function == lane_function::floor ? 1 : 0);
            });
        }
        keep_vector(i.result, to);
    }

    // ---- by lane

    // The mask of the lanes in which a comparison with the number holds, or the opposite: the free register, which is
    // what blends take.
    void compare(machine_instruction const& i, bool opposite, xmm const& scratch) {
        auto const x = i.operands[0];
        auto const holds = static_cast<std::uint8_t>((i.function == lane_function::equal ? 0 : 1) + (opposite ? 4 : 0));
        if (i.function == lane_function::greater) {
            fill(free(), i.immediate);
            with_operand(x, scratch, [&](Xbyak::Operand const& a) { c_.cmpps(free(), a, holds); });
        } else {
            c_.cmpps(fetched(free(), x), number(static_cast<std::uint32_t>(i.immediate)), holds);
        }
    }
    // A register for operands in buffers, beside that of the result.
    [[nodiscard]] xmm scratch_beside(std::int32_t result) const {
        return vector_register(scratch_ + (in_memory(result) ? 1 : 0));
    }
    void write_blend(machine_instruction const& i) {
        auto const x = i.operands[0];
        auto first = i.operands[1], second = i.operands[2];
        auto const to = vector_result(i.result);
        auto const scratch = [&] { return scratch_beside(i.result); };
        auto const adds = i.op == machine_op::add_bits_unless;
        auto const swaps = is_in(second, to) && !is_in(first, to);
        if (swaps) std::swap(first, second);
        compare(i, adds || swaps, in_buffer(x) ? scratch() : free());
        fetched(to, first);
        with_operand(second, in_buffer(second) ? scratch() : free(),
                     [&](Xbyak::Operand const& b) { adds ? c_.paddd(to, b) : c_.blendvps(to, b); });
        if (adds) c_.andps(to, free());
        keep_vector(i.result, to);
    }
    void write_multiply_unless(machine_instruction const& i) {
        auto x = i.operands[0], factor = i.operands[2];
        auto const otherwise = i.operands[1];
        auto const to = vector_result(i.result);
        auto const in_place = is_in(otherwise, to);
        auto const product = in_place ? vector(i.temporaries[1], 2) : to;
        auto const of = [&](std::int32_t v) { return in_buffer(v) ? scratch_beside(i.result) : free(); };
        compare(i, in_place, of(x));
        if (is_in(factor, product)) std::swap(x, factor);
        fetched(product, x);
        with_operand(factor, of(factor), [&](Xbyak::Operand const& by) { c_.mulps(product, by); });
        if (in_place)
            c_.blendvps(to, product);
        else
            with_operand(otherwise, of(otherwise), [&](Xbyak::Operand const& there) { c_.blendvps(to, there); });
        keep_vector(i.result, to);
    }

    // ---- sums and maxima of lanes

    // `to` = the greater of it and a value, NaN where one of them is: `maxps` gives its last operand there.
    void maximum_or_nan(xmm const& to, std::int32_t v) {
        c_.movaps(free(), to);
        c_.cmpps(free(), free(), 3); // unordered
        with_operand(v, in_buffer(v) ? vector_register(scratch_ + 1) : free(),
                     [&](Xbyak::Operand const& b) { c_.maxps(to, b); });
        c_.orps(to, free());
    }
    void write_combine(machine_instruction const& i) {
        auto const own = i.operands[0], other = i.operands[1];
        auto const whole = i.lanes == lanes_, adds = i.function == lane_function::add;
        if (adds && whole) {
            auto const sum = result_or_free(own);
            if (in_memory(own)) {
                fetched(free(), other);
                c_.addps(free(), vector_slot(own));
            } else {
                with_operand(other, free(), [&](Xbyak::Operand const& b) { c_.addps(sum, b); });
            }
            return keep_vector(own, sum);
        }
        auto const sum = vector(own, 0);
        if (whole) {
            maximum_or_nan(sum, other);
        } else {
            auto const all = adds ? free() : vector(i.temporaries[1], 2);
            adds ? c_.addps(fetched(all, other), sum) : (c_.movaps(all, sum), maximum_or_nan(all, other));
            blend_first(sum, all, i.lanes);
        }
        keep_vector(own, sum);
    }
    // Halves upon each other.
    void write_reduce(machine_instruction const& i) {
        auto const to = vector_result(i.result), unordered = vector(i.temporaries[0], 2);
        fetched(to, i.operands[0]);
        for (auto half = lanes_ / 2; half > 0; half /= 2) {
            auto const adds = i.function == lane_function::add;
            if (!adds) {
                c_.movaps(unordered, to);
                c_.cmpps(unordered, unordered, 3);
            }
            c_.movaps(free(), to);
            c_.shufps(free(), free(), half == 2 ? 0x4e : 0xb1);
            adds ? c_.addps(to, free()) : c_.maxps(to, free());
            if (!adds) c_.orps(to, unordered);
        }
        keep_vector(i.result, to);
    }
    void write_guard(machine_instruction const& i) {
        Xbyak::Label finite, call;
        fetched(free(), i.operands[0]);
        c_.subss(free(), free());
        c_.ucomiss(free(), number(0));
        c_.jp(call);
        c_.je(finite);
        c_.L(call);
        c_.call(labels_[index(i.label)]);
        c_.L(finite);
    }
};

} // namespace gsub::codegen::detail
