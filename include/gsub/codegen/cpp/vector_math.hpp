// Vector math functions of generated kernels: their text and error bounds.
//
// Errors are in units of the last place (ULP) of the exact result, over every f32 (docs/codegen.md has them by
// instruction set). NaN gives NaN, and infinities give the limits; zeros keep their sign in floor, tanh and erf.
//
//     exponential   2 ULP   overflows to infinity; results less than 2^-126 are zero
//     logarithm     2 ULP   of zero -infinity, of negatives NaN; subnormal arguments too
//     sigmoid       4 ULP   results less than 2^-126 may be zero
//     tanh, erf     4 ULP   never beyond -1 and 1
//     floor, absolute, negate, square_root   exact
//
// The fast ones, with fewer terms (`passes::fast_math` asks for them), have no bound in ULP:
//     fast_exponential   8e-6 of the result, 4e-6 where products and sums are contracted; limits as exponential
//     fast_tanh          1.3e-5   never beyond -1 and 1
//     fast_erf           7e-6     the same
//
// Polynomials are minimax fits (least squares reweighted until errors are level, in 40 digits), coefficients rounded to
// f32 one after another, the rest fitted again.
//     exponential: x = n ln 2 + r, ln 2 in two parts, |r| <= 0.347; degree 6 with 1 + r given, off by 2^-28.2; n goes
//         into the exponent.
//     logarithm: x = 2^e (1 + f), |f| <= 1/3; degree 10 with f - f^2/2 given, off by 2^-27.7.
//     tanh, erf: x (c + P(x^2) / Q(x^2)), degrees 4/4 to |x| = 9.02 and 5/5 to 3.95, off by 2^-25.3. Where the function
//         is near 1 most of it is c x, so that errors of the quotient count little; the result is held within -1 and 1.
//     sigmoid: 1 / (1 + e^-x).
//     fast_exponential: ln 2 in one part, degree 4 with 1 given. fast_tanh, fast_erf: x P(x^2) / Q(x^2), degrees 2/3 to
//         |x| = 6 and 3/3 to 3.2, from where on the result is held.
#pragma once

#include <gsub/loop/scalar_op.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gsub::codegen {

/// Name of the function in a kernel's text that computes an operation on f32; empty for one that needs none.
GSUB_LAZY [[nodiscard]] std::string_view vector_function(loop::scalar_op op) noexcept;

/// Definitions of the functions of `used`, and of those that they call, for vectors of `lanes` floats; empty where none
/// needs one. The text relies on `vf`, `wide`, `vmin` and `vmax` before it, includes nothing, and is right
/// whether or not the compiler contracts products and sums.
GSUB_LAZY [[nodiscard]] std::string vector_math_text(std::int32_t lanes, std::span<loop::scalar_op const> used);

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/cpp/impl/vector_math.ipp>
#endif
