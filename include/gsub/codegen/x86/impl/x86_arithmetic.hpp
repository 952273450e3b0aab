// x86_arithmetic: arithmetic on vectors as bytes.
#pragma once

#include <gsub/codegen/x86/impl/x86_memory.hpp>

#include <cstdint>
#include <utility>

namespace gsub::codegen::detail {

/// Writes the instructions that compute vectors.
template <class = void>
class x86_arithmetic : protected x86_memory<> {
protected:
    void apply(lane_function f, xmm const& to, xmm const& a, Xbyak::Operand const& b) {
        switch (f) {
        case lane_function::add:
            return c_.vaddps(to, a, b);
        case lane_function::subtract:
            return c_.vsubps(to, a, b);
        case lane_function::multiply:
            return c_.vmulps(to, a, b);
        case lane_function::divide:
            return c_.vdivps(to, a, b);
        case lane_function::maximum:
            return c_.vmaxps(to, a, b);
        case lane_function::add_bits:
            return c_.vpaddd(to, a, b);
        case lane_function::subtract_bits:
            return c_.vpsubd(to, a, b);
        case lane_function::and_bits:
            return c_.vandps(to, a, b);
        case lane_function::or_bits:
            return c_.vorps(to, a, b);
        case lane_function::xor_bits:
            return c_.vxorps(to, a, b);
        case lane_function::and_not_bits:
            return c_.vandnps(to, a, b);
        case lane_function::is_less:
            return write_condition(0x11, to, a, b);
        case lane_function::is_not_greater:
            return write_condition(0x12, to, a, b);
        case lane_function::is_equal:
            return write_condition(0x00, to, a, b);
        case lane_function::unpack_low:
            return c_.vunpcklps(to, a, b);
        case lane_function::unpack_high:
            return c_.vunpckhps(to, a, b);
        case lane_function::unpack_low_pairs:
            return c_.vunpcklpd(to, a, b);
        case lane_function::unpack_high_pairs:
            return c_.vunpckhpd(to, a, b);
        case lane_function::even_quarters:
            return c_.vshuff32x4(wide(to), wide(a), b, 0x88);
        case lane_function::odd_quarters:
            return c_.vshuff32x4(wide(to), wide(a), b, 0xdd);
        case lane_function::low_halves:
            return c_.vperm2f128(wide(to), wide(a), b, 0x20);
        case lane_function::high_halves:
            return c_.vperm2f128(wide(to), wide(a), b, 0x31);
        default:
            return c_.vminps(to, a, b);
        }
    }
    // All bits of a lane where an ordered comparison holds.
    void write_condition(std::uint8_t holds, xmm const& to, xmm const& a, Xbyak::Operand const& b) {
        if (!masks_) return c_.vcmpps(to, a, b, holds);
        c_.vcmpps(c_.k2, a, b, holds);
        c_.vpmovm2d(to, c_.k2);
    }
    void write_binary(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        if (commutes(i.function) && i.at.base < 0 && in_memory(i.operands[0]) && !in_memory(i.operands[1])) {
            auto swapped = i;
            std::swap(swapped.operands[0], swapped.operands[1]);
            return write_binary(swapped);
        }
        auto const a = in_memory(i.operands[0]) && !is_in(i.operands[1], to) ? fetched(to, i.operands[0])
                                                                             : vector(i.operands[0], 0);
        if (i.at.base >= 0)
            apply(i.function, to, a, memory(i, c_.rax));
        else
            use_operand(i.operands[1], [&](Xbyak::Operand const& b) { apply(i.function, to, a, b); });
        keep_vector(i.result, to);
    }
    void write_unary(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        auto const from = in_memory(i.operands[0]) ? fetched(to, i.operands[0]) : vector(i.operands[0], 0);
        switch (i.function) {
        case lane_function::square_root:
            c_.vsqrtps(to, from);
            break;
        case lane_function::negate:
            c_.vxorps(to, from, c_.ptr[c_.rip + literal_of_all_lanes(0x80000000u)]);
            break;
        case lane_function::absolute:
            c_.vandps(to, from, c_.ptr[c_.rip + literal_of_all_lanes(0x7fffffffu)]);
            break;
        case lane_function::shift_left:
            c_.vpslld(to, from, static_cast<std::uint8_t>(i.immediate));
            break;
        case lane_function::from_integer:
            c_.vcvtdq2ps(to, from);
            break;
        case lane_function::to_half:
            c_.vcvtps2ph(half(to), from, 0);
            c_.vcvtph2ps(to, half(to));
            break;
        default: {
            std::uint8_t const mode = i.function == lane_function::floor ? 1 : 0;
            masks_ ? c_.vrndscaleps(to, from, mode) : c_.vroundps(to, from, mode);
        }
        }
        keep_vector(i.result, to);
    }
    // The mask of the lanes in which a comparison of `x` with the number holds: k2, or a vector.
    void compare(machine_instruction const& i, xmm const& x, bool opposite, xmm const& free) {
        auto const ordered = i.function == lane_function::less ? 0x11 : i.function == lane_function::greater ? 0x1e : 0;
        auto const holds = static_cast<std::uint8_t>(opposite ? ordered ^ 4 : ordered);
        auto const with = number(static_cast<std::uint32_t>(i.immediate));
        masks_ ? c_.vcmpps(c_.k2, x, with, holds) : c_.vcmpps(free, x, with, holds);
    }
    void write_blend(machine_instruction const& i) {
        auto const [x, otherwise, then] = i.operands;
        auto const to = vector_result(i.result), free = vector(i.temporaries[0], 3);
        auto const blends = i.op == machine_op::blend;
        auto const before = in_memory(x) && !is_in(otherwise, to) && !is_in(then, to);
        compare(i, before ? fetched(to, x) : vector(x, 0), masks_ && !blends, free);
        auto const first = in_memory(otherwise) && !is_in(then, to) ? fetched(to, otherwise) : vector(otherwise, 0);
        use_operand(then, [&](Xbyak::Operand const& second) {
            if (blends) return masks_ ? c_.vblendmps(to | c_.k2, first, second) : c_.vblendvps(to, first, second, free);
            if (masks_) return c_.vpaddd(to | c_.k2 | c_.T_z, first, second);
            c_.vpaddd(to, first, second);
            c_.vandnps(to, free, to);
        });
        keep_vector(i.result, to);
    }
    void write_multiply_unless(machine_instruction const& i) {
        auto const [x, otherwise, factor] = i.operands;
        auto const to = vector_result(i.result);
        auto const free = vector(i.temporaries[0], 3), product = masks_ ? to : vector(i.temporaries[1], 2);
        auto const in_place = masks_ && is_in(otherwise, to);
        auto const before = in_memory(x) && !in_place && !is_in(factor, product);
        auto const from = before ? fetched(product, x) : vector(x, 0);
        compare(i, from, in_place, free);
        use_operand(factor, [&](auto const& by) { c_.vmulps(in_place ? to | c_.k2 : product, from, by); });
        if (!in_place)
            use_operand(otherwise, [&](auto const& there) {
                masks_ ? c_.vblendmps(to | c_.k2, product, there) : c_.vblendvps(to, product, there, free);
            });
        keep_vector(i.result, to);
    }
    void write_multiply_add(machine_instruction const& i) {
        auto const sum = vector(i.operands[0], 0);
        auto const a = vector(i.operands[1], in_memory(i.operands[0]) ? 1 : 0);
        if (i.at.base >= 0) {
            c_.vfmadd231ps(sum, a, memory(i, c_.rax));
        } else {
            if (i.lanes == lanes_)
                return use_operand(i.operands[2], [&](Xbyak::Operand const& b) {
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
        auto first = i.operands[0], second = i.operands[1];
        if (in_memory(first) && !in_memory(second)) std::swap(first, second);
        auto const by_second = [&](xmm const& a) {
            use_operand(second, [&](Xbyak::Operand const& b) { fuse_231(i.function, to, a, b); });
        };
        if (is_in(i.operands[2], to)) { // to += a * b
            by_second(vector(first, 0));
        } else if (is_in(first, to) || is_in(second, to)) { // to = to * other + c
            auto const other = vector(is_in(first, to) ? second : first, 0);
            use_operand(i.operands[2], [&](Xbyak::Operand const& c) { fuse_213(i.function, to, other, c); });
        } else if (in_memory(i.result) && in_memory(first) && !in_memory(i.operands[2])) { // to = first * second + c
            fetched(to, first);
            auto const c = vector(i.operands[2], 0);
            use_operand(second, [&](Xbyak::Operand const& b) { fuse_132(i.function, to, c, b); });
        } else {
            fetched(to, i.operands[2]);
            by_second(vector(first, in_memory(i.result) ? 1 : 0));
        }
        keep_vector(i.result, to);
    }
    void fuse_132(lane_function f, xmm const& to, xmm const& c, Xbyak::Operand const& b) {
        f == lane_function::add        ? c_.vfmadd132ps(to, c, b)
        : f == lane_function::subtract ? c_.vfmsub132ps(to, c, b)
                                       : c_.vfnmadd132ps(to, c, b);
    }
    void fuse_231(lane_function f, xmm const& to, xmm const& a, Xbyak::Operand const& b) {
        f == lane_function::add        ? c_.vfmadd231ps(to, a, b)
        : f == lane_function::subtract ? c_.vfmsub231ps(to, a, b)
                                       : c_.vfnmadd231ps(to, a, b);
    }
    void fuse_213(lane_function f, xmm const& to, xmm const& a, Xbyak::Operand const& b) {
        f == lane_function::add        ? c_.vfmadd213ps(to, a, b)
        : f == lane_function::subtract ? c_.vfmsub213ps(to, a, b)
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
        auto const adds = i.function == lane_function::add;
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
            if (i.function == lane_function::add)
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

    using below = x86_memory<>;
    using below::below;
};

} // namespace gsub::codegen::detail
