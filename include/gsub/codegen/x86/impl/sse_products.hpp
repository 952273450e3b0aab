// sse_products: products of vectors of SSE4.2 and their sums as bytes, in the legacy encoding.
#pragma once

#include <gsub/codegen/x86/impl/sse_memory.hpp>

#include <cstdint>
#include <utility>

namespace gsub::codegen::detail {

/// Writes multiply-adds as products, which are rounded, and sums.
template <class = void>
class sse_products : protected sse_memory<> {
public:
    using below = sse_memory<>;
    using below::below;

protected:
    // The product of two values in the free register, or in that of one of them, which is free then.
    xmm product_of(machine_instruction const& i, std::int32_t scratch) {
        auto const [sum, a, b] = i.operands;
        if (i.temporaries[0] >= 0) {
            auto const to = vector(i.temporaries[0], 0);
            c_.mulps(to, vector(i.temporaries[0] == a ? b : a, 0));
            return to;
        }
        if (i.at.base >= 0) {
            c_.movups(free(), memory(i, c_.rax));
            multiply_by(free(), a, scratch);
        } else {
            multiply(a, b, scratch);
        }
        return free();
    }
    // The product of two values in the free register.
    void multiply(std::int32_t a, std::int32_t b, std::int32_t scratch) {
        if (in_buffer(b) || (in_memory(b) && !in_buffer(a))) std::swap(a, b);
        fetched(free(), a);
        multiply_by(free(), b, scratch);
    }
    void multiply_by(xmm const& to, std::int32_t b, std::int32_t scratch) {
        with_operand(b, in_buffer(b) ? vector_register(scratch_ + scratch) : free(),
                     [&](Xbyak::Operand const& by) { c_.mulps(to, by); });
    }
    void write_multiply_add(machine_instruction const& i) {
        auto const whole = i.lanes == lanes_;
        auto const sum = whole ? result_or_free(i.operands[0]) : vector(i.operands[0], 0);
        auto const product = product_of(i, whole ? 0 : 1);
        if (!whole) {
            c_.addps(product, sum);
            blend_first(sum, product, i.lanes);
        } else if (in_memory(i.operands[0])) {
            c_.addps(product, vector_slot(i.operands[0]));
            return keep_vector(i.operands[0], product);
        } else {
            c_.addps(sum, product);
        }
        keep_vector(i.operands[0], sum);
    }
    // a * b + c and its kin.
    void write_fused(machine_instruction const& i) {
        auto first = i.operands[0], second = i.operands[1];
        auto const third = i.operands[2];
        auto const adds = i.function == lane_function::add, from_third = i.function == lane_function::subtract_from;
        auto const to = result_or_free(i.result);
        if (is_in(second, to)) std::swap(first, second);
        auto const kept = in_memory(i.result), in_third = !kept && is_in(third, to);
        if (!in_third && !from_third) { // to = first, to *= second, to += third
            if (in_buffer(second) && !is_in(first, to)) std::swap(first, second);
            fetched(to, first);
            multiply_beside(to, second, kept);
            with_operand(third, kept && in_buffer(third) ? vector_result(i.result) : free(),
                         [&](Xbyak::Operand const& c) { adds ? c_.addps(to, c) : c_.subps(to, c); });
            return keep_vector(i.result, to);
        }
        multiply(first, second, 0);
        if (kept) { // from the third operand
            auto const c = fetched(vector_result(i.result), third);
            c_.subps(c, free());
            return keep_vector(i.result, c);
        }
        if (in_third && i.function == lane_function::subtract) {
            c_.subps(free(), to);
            c_.movaps(to, free());
        } else {
            fetched(to, third);
            adds ? c_.addps(to, free()) : c_.subps(to, free());
        }
    }
    void multiply_beside(xmm const& to, std::int32_t by, bool kept) {
        if (kept) return multiply_by(to, by, 0);
        with_operand(by, free(), [&](Xbyak::Operand const& b) { c_.mulps(to, b); });
    }
    // The first lanes of another vector in place of one's own.
    void blend_first(xmm const& to, xmm const& from, std::int32_t lanes) { c_.blendps(to, from, (1 << lanes) - 1); }
};

} // namespace gsub::codegen::detail
