// Fast math operators: approximations of transcendental operators, which `passes::fast_math` puts in their place.
#pragma once

#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_nn.hpp>

#include <string_view>

namespace gsub::ops {
struct fast_exp {};     ///< e to the power of x, by a polynomial; `math::fast_exp` states the error
struct fast_tanh {};    ///< hyperbolic tangent, by a quotient of polynomials
struct fast_erf {};     ///< error function, by a quotient of polynomials
struct fast_softmax {}; ///< softmax with `fast_exp`
} // namespace gsub::ops

namespace gsub {

/// Fast math approximates f32, and 16-bit types, which are computed in f32; f64 is computed exactly. In ONNX files each
/// is the operator that it stands for.
template <>
struct op_traits<ops::fast_exp> : detail::unary_traits {
    static constexpr std::string_view name = "FastExp", domain = "gsub";
};
template <>
struct op_traits<ops::fast_tanh> : detail::unary_traits {
    static constexpr std::string_view name = "FastTanh", domain = "gsub";
};
template <>
struct op_traits<ops::fast_erf> : detail::unary_traits {
    static constexpr std::string_view name = "FastErf", domain = "gsub";
};
template <>
struct op_traits<ops::fast_softmax> : op_traits<ops::softmax> {
    static constexpr std::string_view name = "FastSoftmax", domain = "gsub";
};

template <>
struct infer_shape<ops::fast_exp> : infer_shape<ops::exp> {};
template <>
struct infer_shape<ops::fast_tanh> : infer_shape<ops::tanh> {};
template <>
struct infer_shape<ops::fast_erf> : infer_shape<ops::erf> {};
template <>
struct infer_shape<ops::fast_softmax> : infer_shape<ops::softmax> {};

/// The operators of this header.
using fast_ops = op_set<ops::fast_exp, ops::fast_tanh, ops::fast_erf, ops::fast_softmax>;

} // namespace gsub
