#pragma once

#include <gsub/codegen/cpp/vector_math.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>
#include <iterator>

namespace gsub::codegen {

namespace detail {

struct vector_definition {
    loop::scalar_op op;
    std::string_view name;
    loop::scalar_op calls; ///< another function, or the same where there is none
    std::string_view text;
};

// A function comes after what it calls. Unsigned lanes for bits: their sums and shifts wrap.
inline constexpr vector_definition vector_definitions[] = {
    {loop::scalar_op::absolute, "vabs", loop::scalar_op::absolute,
     R"(static inline vf vabs(vf x) { return (vf)((vu)x & 0x7fffffffu); }
)"},
    {loop::scalar_op::floor, "vfloor", loop::scalar_op::absolute, R"(static inline vf vfloor(vf x) {
  vf t = __builtin_convertvector(__builtin_convertvector(x, vi), vf);
  t = x < t ? t - 1.0f : t;
  return vabs(x) < 8388608.0f ? (vf)((vu)t | ((vu)x & 0x80000000u)) : x;
}
)"},
    {loop::scalar_op::exponential, "vexp", loop::scalar_op::exponential, R"(static inline vf vexp(vf x) {
  vf k = x * 1.44269504f + 12582912.0f, n = k - 12582912.0f;
  vf r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  vf p = r * 0.00138234987f + 0.00836882275f;
  p = p * r + 0.0416682363f;
  p = p * r + 0.166665196f;
  p = p * r + 0.49999994f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  vf y = (vf)((vu)p + ((vu)k << 23));
  y = x < -87.3365402f ? vf{} : y;
  return x < 88.7228394f ? y : x * __builtin_inff();
}
)"},
    {loop::scalar_op::logarithm, "vlog", loop::scalar_op::logarithm, R"(static inline vf vlog(vf x) {
  vf small = x * 8388608.0f;
  vf e = x < 1.17549435e-38f ? wide(-23.0f) : vf{};
  vf a = x < 1.17549435e-38f ? small : x;
  vu k = ((vu)a - 0x3f2aaaabu) & 0xff800000u;
  vf f = (vf)((vu)a - k) - 1.0f;
  e += __builtin_convertvector((vi)k, vf) * 1.1920929e-7f;
  vf p = f * -0.128679156f + 0.139862835f;
  p = p * f + -0.121897243f;
  p = p * f + 0.140054137f;
  p = p * f + -0.166800946f;
  p = p * f + 0.200104415f;
  p = p * f + -0.249998063f;
  p = p * f + 0.333332151f;
  p = p * f + -0.5f;
  vf y = e * 0.693359375f + (f + (p * (f * f) + e * -2.12194440e-4f));
  y = x < __builtin_inff() ? y : x;
  y = x == 0.0f ? wide(-__builtin_inff()) : y;
  return x < 0.0f ? wide(__builtin_nanf("")) : y;
}
)"},
    {loop::scalar_op::sigmoid, "vsigmoid", loop::scalar_op::exponential,
     R"(static inline vf vsigmoid(vf x) { return 1.0f / (vexp(-x) + 1.0f); }
)"},
    {loop::scalar_op::tanh, "vtanh", loop::scalar_op::tanh, R"(static inline vf vtanh(vf x) {
  vf s = vmin(x * x, wide(81.3604f));
  vf p = s * -8.3421547e-08f + -2.39839883e-05f;
  p = p * s + -0.000483090233f;
  p = p * s + 0.044310078f;
  p = p * s + 0.630000114f;
  vf q = s * 5.84096767e-07f + 0.000246612821f;
  q = q * s + 0.019412756f;
  q = q * s + 0.350368977f;
  q = q * s + 0.75f;
  return vmax(vmin(x * (p / q + 0.159999847f), wide(1.0f)), wide(-1.0f));
}
)"},
    {loop::scalar_op::erf, "verf", loop::scalar_op::erf, R"(static inline vf verf(vf x) {
  vf s = vmin(x * x, wide(15.6025f));
  vf p = s * -1.57367322e-05f + -0.000173442648f;
  p = p * s + -0.0020613391f;
  p = p * s + 0.0179464221f;
  p = p * s + 0.0211743563f;
  p = p * s + 1.09253633f;
  vf q = s * 5.30994112e-05f + 0.00163464609f;
  q = q * s + 0.0210636389f;
  q = q * s + 0.160472751f;
  q = q * s + 0.705448329f;
  q = q * s + 1.40360427f;
  return vmax(vmin(x * (p / q + 0.349999994f), wide(1.0f)), wide(-1.0f));
}
)"},
    {loop::scalar_op::fast_exponential, "vexp_fast", loop::scalar_op::fast_exponential,
     R"(static inline vf vexp_fast(vf x) {
  vf k = x * 1.44269504f + 12582912.0f, n = k - 12582912.0f;
  vf r = x - n * 0.693147182f;
  vf p = r * 0.041513745f + 0.16787547f;
  p = p * r + 0.50003016f;
  p = p * r + 0.9999668f;
  p = p * r + 1.0f;
  vf y = (vf)((vu)p + ((vu)k << 23));
  y = x < -87.3365402f ? vf{} : y;
  return x < 88.7228394f ? y : x * __builtin_inff();
}
)"},
    {loop::scalar_op::fast_tanh, "vtanh_fast", loop::scalar_op::fast_tanh, R"(static inline vf vtanh_fast(vf x) {
  vf s = vmin(x * x, wide(36.0f));
  vf p = s * 0.0014955419f + 0.11447254f;
  p = p * s + 0.99997115f;
  vf q = s * 5.51853e-05f + 0.017487336f;
  q = q * s + 0.4477139f;
  q = q * s + 1.0f;
  return vmax(vmin(x * (p / q), wide(1.0f)), wide(-1.0f));
}
)"},
    {loop::scalar_op::fast_erf, "verf_fast", loop::scalar_op::fast_erf, R"(static inline vf verf_fast(vf x) {
  vf s = vmin(x * x, wide(10.24f));
  vf p = s * 0.00075933157f + 0.043372724f;
  p = p * s + 0.15362343f;
  p = p * s + 1.1283811f;
  vf q = s * 0.009370446f + 0.09477625f;
  q = q * s + 0.4695253f;
  q = q * s + 1.0f;
  return vmax(vmin(x * (p / q), wide(1.0f)), wide(-1.0f));
}
)"},
};

} // namespace detail

GSUB_LAZY_BODY std::string_view vector_function(loop::scalar_op op) noexcept {
    for (auto const& d : detail::vector_definitions)
        if (d.op == op) return d.name;
    return {};
}

GSUB_LAZY_BODY std::string vector_math_text(std::int32_t lanes, std::span<loop::scalar_op const> used) {
    auto const wanted = [&](loop::scalar_op op) { return std::find(used.begin(), used.end(), op) != used.end(); };
    std::string text;
    for (auto const& d : detail::vector_definitions) {
        auto const needed =
            std::any_of(std::begin(detail::vector_definitions), std::end(detail::vector_definitions),
                        [&](auto const& other) { return wanted(other.op) && (&other == &d || other.calls == d.op); });
        if (needed) text += d.text;
    }
    if (text.empty()) return text;
    auto const width = lanes * 4;
    return format_text(
        "typedef unsigned vu __attribute__((vector_size({})));\ntypedef int vi __attribute__((vector_size({})));\n{}",
        width, width, text);
}

} // namespace gsub::codegen
