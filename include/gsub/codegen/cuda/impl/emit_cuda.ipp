#pragma once

#include <gsub/codegen/cuda/emit_cuda.hpp>
#include <gsub/codegen/simt/impl/lane_writer.ipp>
#include <gsub/core/format.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gsub::codegen {

namespace detail {

struct cuda_text {
    static constexpr std::string_view function = "static __device__ __forceinline__ ", global = "", shared = "",
                                      table = "static __device__ const ";

    // Fewer lanes than those of a warp are a part of one, which a mask tells.
    static std::string_view barrier(std::int32_t lanes) { return lanes == 32 ? "__syncwarp();" : "__syncwarp(mask);"; }
    static std::string_view exchange_parameter(std::int32_t lanes) { return lanes == 32 ? "" : ", unsigned mask"; }
    static std::string_view exchange_argument(std::int32_t lanes) { return lanes == 32 ? "" : ", mask"; }

    static std::string_view prelude() {
        return "static __device__ __forceinline__ unsigned bits_of_f32(float x) { return __float_as_uint(x); }\n"
               "static __device__ __forceinline__ float f32_of_bits(unsigned x) { return __uint_as_float(x); }\n"
               "static __device__ __forceinline__ double f64_of_bits(unsigned long x) {\n"
               "  return __longlong_as_double((long long)x);\n}\n";
    }

    // Registers are exchanged between lanes that are half as far apart each time.
    static std::string combination(std::string_view type, std::string_view name, std::string_view combined,
                                   std::int32_t lanes) {
        return format_text("{0} {1}({0} x, int{4}) {{\n"
                           "  for (int apart = {2}; apart > 0; apart /= 2) {{\n"
                           "    const {0} y = ({0})__shfl_xor_sync({5}, x, apart);\n"
                           "    x = {3};\n  }}\n"
                           "  return x;\n}}",
                           type, name, lanes / 2, combined, exchange_parameter(lanes),
                           lanes == 32 ? "0xffffffffu" : "mask");
    }

    template <class Writer>
    static void entry(Writer& w, std::string const& symbol) {
        auto const& k = w.k_;
        auto const group = w.group();
        auto const workspace = workspace_bytes(k);
        std::string parameters;
        for (std::size_t i = 0; i < k.buffers.size(); ++i)
            if (!k.buffers[i].workspace) parameters += format_text("{} __restrict__ b{}, ", w.type_of(i), i);
        if (workspace > 0 && !group.shared_workspace) parameters += "char* lent, ";
        w.text_.line(format_text("extern \"C\" __global__ void __launch_bounds__({}) {}({}long positions) {{",
                                 group.threads(k), symbol, parameters));
        w.text_.indent();
        w.text_.line(
            format_text("const int lane = (int)(threadIdx.x % {0}u), member = (int)(threadIdx.x / {0}u);", k.lanes));
        if (k.lanes < 32)
            w.text_.line(format_text("const unsigned mask = {}u << (threadIdx.x % 32u - (unsigned)lane);",
                                     (std::uint32_t{1} << k.lanes) - 1));
        auto const type = w.integer().type;
        w.text_.line(
            format_text("const {0} first = ({0})blockIdx.x * {1} + member, step = ({0})gridDim.x * {1}, last = "
                        "({0})positions;",
                        type, group.positions));
        if (workspace > 0 && group.shared_workspace) {
            w.text_.line(format_text("__shared__ __align__(64) char shared[{}];", group.shared_bytes(k)));
            w.text_.line(format_text("char* const own = shared + member * {};", workspace));
        } else if (workspace > 0) {
            w.text_.line(format_text("char* const own = lent + (long)first * {}L;", workspace));
        }
        w.declare_workspace();
        w.text_.line("(void)lane, (void)first, (void)step, (void)last;");
        if (k.lanes < 32) w.text_.line("(void)mask;");
        w.text_.dedent();
    }
};

} // namespace detail

GSUB_LAZY_BODY std::string emit_cuda(kernel const& k, std::string const& symbol, thread_group group) {
    GSUB_ASSERT(k.lanes > 0 && 32 % k.lanes == 0, "the lanes of a kernel are those of a warp, or a part of it");
    return detail::lane_writer<detail::cuda_text>{k, group}.run(symbol);
}

} // namespace gsub::codegen
