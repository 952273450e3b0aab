// vector_functions: exponential, logarithm, sigmoid, tanh and erf of f32 as machine instructions.
#pragma once

#include <gsub/codegen/x86/impl/machine_ir.hpp>
#include <gsub/loop/scalar_op.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>

namespace gsub::codegen::detail {

// The series are those of `codegen/cpp/vector_math.hpp`, which says what they are, coefficient by coefficient.

/// 2^n P(r): the parts of ln 2 of which r = x - n ln 2 takes n times, and P from its highest term on.
struct exponential_series {
    loop::scalar_op of;
    std::span<float const> parts, terms;
};
inline constexpr float exact_ln2[] = {0.693359375f, -2.12194440e-4f}, fast_ln2[] = {0.693147182f};
inline constexpr float exact_exponential[] = {0.00138234987f, 0.00836882275f, 0.0416682363f, 0.166665196f,
                                              0.49999994f,    1.0f,           1.0f},
                       fast_exponential[] = {0.041513745f, 0.16787547f, 0.50003016f, 0.9999668f, 1.0f};
inline constexpr exponential_series exponentials[] = {{loop::scalar_op::exponential, exact_ln2, exact_exponential},
                                                      {loop::scalar_op::fast_exponential, fast_ln2, fast_exponential}};

/// x (P(s) / Q(s) + `added`) with s = x^2 held below `limit`, the result held within -1 and 1.
struct quotient_series {
    loop::scalar_op of;
    float limit, added;
    std::span<float const> above, below;
};
inline constexpr float tanh_above[] = {-8.3421547e-08f, -2.39839883e-05f, -0.000483090233f, 0.044310078f, 0.630000114f},
                       tanh_below[] = {5.84096767e-07f, 0.000246612821f, 0.019412756f, 0.350368977f, 0.75f},
                       erf_above[] = {-1.57367322e-05f, -0.000173442648f, -0.0020613391f,
                                      0.0179464221f,    0.0211743563f,    1.09253633f},
                       erf_below[] = {5.30994112e-05f, 0.00163464609f, 0.0210636389f,
                                      0.160472751f,    0.705448329f,   1.40360427f},
                       fast_tanh_above[] = {0.0014955419f, 0.11447254f, 0.99997115f},
                       fast_tanh_below[] = {5.51853e-05f, 0.017487336f, 0.4477139f, 1.0f},
                       fast_erf_above[] = {0.00075933157f, 0.043372724f, 0.15362343f, 1.1283811f},
                       fast_erf_below[] = {0.009370446f, 0.09477625f, 0.4695253f, 1.0f};
inline constexpr quotient_series quotients[] = {
    {loop::scalar_op::tanh, 81.3604f, 0.159999847f, tanh_above, tanh_below},
    {loop::scalar_op::erf, 15.6025f, 0.349999994f, erf_above, erf_below},
    {loop::scalar_op::fast_tanh, 36.0f, 0, fast_tanh_above, fast_tanh_below},
    {loop::scalar_op::fast_erf, 10.24f, 0, fast_erf_above, fast_erf_below}};

inline constexpr float logarithm_series[] = {-0.128679156f, 0.139862835f,  -0.121897243f, 0.140054137f, -0.166800946f,
                                             0.200104415f,  -0.249998063f, 0.333332151f,  -0.5f};

/// Writes functions into a machine function. Numbers stand once in it, before all that uses them.
template <class = void>
class vector_functions {
public:
    /// `masks`: whether there are mask registers.
    vector_functions(machine_function& to, bool masks) : to_(to), masks_(masks) {}

    static bool knows(loop::scalar_op op) {
        return op == loop::scalar_op::logarithm || op == loop::scalar_op::sigmoid || find(exponentials, op) ||
               find(quotients, op);
    }

    /// Defines the numbers of a function, here.
    void define_numbers(loop::scalar_op op) {
        define([&](std::int32_t x) { write(op, -1, x); });
    }
    /// Defines the numbers of `write_rounding`, here.
    void define_rounding() {
        define([&](std::int32_t x) { write_rounding(-1, x); });
    }

    /// `result` = the function of `x`. *Requires* `knows(op)`, and its numbers.
    void write(loop::scalar_op op, std::int32_t result, std::int32_t x) {
        if (op == loop::scalar_op::logarithm)
            logarithm(x);
        else if (op == loop::scalar_op::sigmoid)
            sigmoid(x);
        else if (auto const* const e = find(exponentials, op))
            exponential(*e, x);
        else if (auto const* const q = find(quotients, op))
            quotient(*q, x);
        to_.code.back().result = result; // of the last instruction
    }

    /// `result` = the number of bf16 that is nearest to `x`, ties to even. *Requires* its numbers.
    void write_rounding(std::int32_t result, std::int32_t x) {
        // The last bit that is kept as an integer: 0 or 1 beyond the bits of 2^23.
        auto const kept = unary(lane_function::from_integer, binary(lane_function::and_bits, x, number_of(0x10000)));
        auto const odd = fused(lane_function::add, kept, number(0x1p-16f), number(0x1p23f));
        auto const half = number_of(0x7fff - std::bit_cast<std::uint32_t>(0x1p23f));
        auto const sum = binary(lane_function::add_bits, binary(lane_function::add_bits, x, odd), half);
        auto const y = binary(lane_function::and_bits, sum, number_of(0xffff0000));
        blend(lane_function::less, unary(lane_function::absolute, x), infinity, y, x); // NaN as it is
        to_.code.back().result = result;
    }

private:
    static constexpr float infinity = std::numeric_limits<float>::infinity();

    // Defines the numbers of what `f` writes.
    template <class F>
    void define(F&& f) {
        auto const before = to_.code.size();
        auto const known = numbers_;
        f(to_.vectors++);
        to_.code.resize(before);
        for (auto const& [bits, value] : numbers_)
            if (!known.contains(bits)) add({.op = machine_op::splat, .result = value, .immediate = bits});
    }
    template <class Rows>
    static auto find(Rows const& rows, loop::scalar_op op) -> decltype(&rows[0]) {
        for (auto const& r : rows)
            if (r.of == op) return &r;
        return nullptr;
    }

    // ---- functions

    // Of x, or of -x, whose sign the numbers take.
    std::int32_t exponential(exponential_series const& by, std::int32_t x, float sign = 1) {
        constexpr auto shifter = 12582912.0f; // its sum with n has n in the last bits
        auto const k = fused(lane_function::add, x, number(sign * 1.44269504f), number(shifter));
        auto const n = binary(lane_function::subtract, k, number(shifter));
        auto r = sign > 0 ? fused(lane_function::subtract_from, n, number(by.parts[0]), x)
                          : fused(lane_function::subtract, n, number(-by.parts[0]), x);
        for (auto const part : by.parts.subspan(1)) r = fused(lane_function::subtract_from, n, number(part), r);
        auto const p = polynomial(by.terms, r), power = shifted(k, 23);
        auto const below = sign > 0 ? lane_function::less : lane_function::greater;
        auto const y = where(machine_op::add_bits_unless, below, x, sign * -87.3365402f, p, power);
        return where(machine_op::multiply_unless, below, x, sign * 88.7228394f, y, number(sign * infinity));
    }
    std::int32_t sigmoid(std::int32_t x) {
        auto const e = exponential(exponentials[0], x, -1);
        auto const one = number(1);
        return binary(lane_function::divide, one, binary(lane_function::add, e, one));
    }
    std::int32_t quotient(quotient_series const& by, std::int32_t x) {
        auto const s = binary(lane_function::minimum, binary(lane_function::multiply, x, x), number(by.limit));
        auto const p = polynomial(by.above, s), q = polynomial(by.below, s);
        auto y = binary(lane_function::divide, p, q);
        if (by.added != 0) y = binary(lane_function::add, y, number(by.added));
        y = binary(lane_function::multiply, x, y);
        // `minps` and `maxps` give their last operand where one is NaN.
        return binary(lane_function::maximum, number(-1), binary(lane_function::minimum, number(1), y));
    }
    std::int32_t logarithm(std::int32_t x) {
        constexpr auto smallest = std::numeric_limits<float>::min(), units = 0x1p23f;
        auto const scaled = binary(lane_function::multiply, x, number(units));
        auto const a = blend(lane_function::less, x, smallest, scaled, x);
        auto const moved = blend(lane_function::less, x, smallest, number(-23), number(0));
        auto const k = binary(lane_function::and_bits, binary(lane_function::subtract_bits, a, number_of(0x3f2aaaab)),
                              number_of(0xff800000));
        auto const f = binary(lane_function::subtract, binary(lane_function::subtract_bits, a, k), number(1));
        auto const e = fused(lane_function::add, unary(lane_function::from_integer, k), number(1.1920929e-7f), moved);
        auto const p = polynomial(logarithm_series, f);
        auto const low = binary(lane_function::multiply, e, number(exact_ln2[1]));
        auto const tail = fused(lane_function::add, p, binary(lane_function::multiply, f, f), low);
        auto y = fused(lane_function::add, e, number(exact_ln2[0]), binary(lane_function::add, f, tail));
        y = blend(lane_function::less, x, infinity, y, x);
        y = blend(lane_function::equal, x, 0, number(-infinity), y);
        return blend(lane_function::less, x, 0, number(std::numeric_limits<float>::quiet_NaN()), y);
    }
    std::int32_t polynomial(std::span<float const> terms, std::int32_t x) {
        auto p = number(terms[0]);
        for (auto const t : terms.subspan(1)) p = fused(lane_function::add, p, x, number(t));
        return p;
    }

    // ---- instructions, each with a new result

    std::int32_t add(machine_instruction i) {
        to_.code.push_back(i);
        return i.result;
    }
    std::int32_t number_of(std::uint32_t bits) {
        auto const [at, is_new] = numbers_.try_emplace(bits, -1);
        if (is_new) at->second = to_.vectors++;
        return at->second;
    }
    std::int32_t number(float value) { return number_of(std::bit_cast<std::uint32_t>(value)); }
    std::int32_t unary(lane_function f, std::int32_t a) {
        return add({.op = machine_op::unary, .function = f, .result = to_.vectors++, .operands = {a, -1, -1}});
    }
    std::int32_t shifted(std::int32_t a, std::int64_t by) {
        auto const result = unary(lane_function::shift_left, a);
        to_.code.back().immediate = by;
        return result;
    }
    std::int32_t binary(lane_function f, std::int32_t a, std::int32_t b) {
        return add({.op = machine_op::binary, .function = f, .result = to_.vectors++, .operands = {a, b, -1}});
    }
    // a * b + c and its kin.
    std::int32_t fused(lane_function f, std::int32_t a, std::int32_t b, std::int32_t c) {
        return add({.op = machine_op::fused, .function = f, .result = to_.vectors++, .operands = {a, b, c}});
    }
    std::int32_t where(machine_op op, lane_function holds, std::int32_t x, float than, std::int32_t a, std::int32_t b) {
        auto const free = [&](bool needed) { return needed ? to_.vectors++ : -1; };
        return add({.op = op,
                    .function = holds,
                    .result = to_.vectors++,
                    .operands = {x, a, b},
                    .temporaries = {free(!masks_), free(!masks_ && op == machine_op::multiply_unless)},
                    .immediate = std::bit_cast<std::int32_t>(than)});
    }
    std::int32_t blend(lane_function holds, std::int32_t x, float than, std::int32_t then, std::int32_t otherwise) {
        return where(machine_op::blend, holds, x, than, otherwise, then);
    }

    machine_function& to_;
    bool masks_;
    std::map<std::uint32_t, std::int32_t> numbers_; // values, by bits
};

} // namespace gsub::codegen::detail
