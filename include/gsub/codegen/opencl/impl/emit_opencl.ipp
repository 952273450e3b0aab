#pragma once

#include <gsub/codegen/opencl/emit_opencl.hpp>
#include <gsub/codegen/simt/impl/lane_writer.ipp>
#include <gsub/core/format.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gsub::codegen {

namespace detail {

struct opencl_text {
    static constexpr std::string_view function = "static inline ", global = "__global ", shared = "__local ",
                                      table = "__constant ";

    static std::string_view barrier(std::int32_t) { return "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"; }
    static std::string_view exchange_parameter(std::int32_t) { return ", __local long* exchange"; }
    static std::string_view exchange_argument(std::int32_t) { return ", exchange"; }

    static std::string_view prelude() {
        return "#ifdef cl_khr_fp64\n"
               "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
               "static inline double f64_of_bits(unsigned long x) { return as_double(x); }\n"
               "#endif\n"
               "static inline unsigned bits_of_f32(float x) { return as_uint(x); }\n"
               "static inline float f32_of_bits(unsigned x) { return as_float(x); }\n";
    }

    // Values are exchanged through memory of the group; each lane combines all of them, in one order.
    static std::string combination(std::string_view type, std::string_view name, std::string_view combined,
                                   std::int32_t lanes) {
        return format_text("{0} {1}({0} own, int lane, __local long* exchange) {{\n"
                           "  __local {0}* const all = (__local {0}*)exchange;\n"
                           "  barrier(CLK_LOCAL_MEM_FENCE);\n"
                           "  all[lane] = own;\n"
                           "  barrier(CLK_LOCAL_MEM_FENCE);\n"
                           "  {0} x = all[0];\n"
                           "  for (int l = 1; l < {2}; ++l) {{\n"
                           "    const {0} y = all[l];\n"
                           "    x = {3};\n  }}\n"
                           "  return x;\n}}",
                           type, name, lanes, combined);
    }

    template <class Writer>
    static void entry(Writer& w, std::string const& symbol) {
        auto const& k = w.k_;
        auto const group = w.group();
        auto const workspace = workspace_bytes(k);
        std::string parameters;
        for (std::size_t i = 0; i < k.buffers.size(); ++i)
            if (!k.buffers[i].workspace)
                parameters +=
                    format_text("__global {0}char* m{1}, long at{1}, ", k.buffers[i].written ? "" : "const ", i);
        if (workspace > 0 && !group.shared_workspace) parameters += "__global char* lent, ";
        w.text_.line(
            format_text("__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void {}({}long positions) {{",
                        group.threads(k), symbol, parameters));
        w.text_.indent();
        auto const type = w.integer().type;
        w.text_.line("const int lane = (int)get_local_id(0);");
        w.text_.line(format_text("const {0} first = ({0})get_group_id(0), step = ({0})get_num_groups(0), last = "
                                 "({0})positions;",
                                 type));
        for (std::size_t i = 0; i < k.buffers.size(); ++i)
            if (!k.buffers[i].workspace)
                w.text_.line(format_text("{0} const b{1} = ({0})(m{1} + at{1});", w.type_of(i), i));
        if (w.combines() || !k.fallback.empty()) w.text_.line(format_text("__local long exchange[{}];", k.lanes));
        if (workspace > 0 && group.shared_workspace)
            w.text_.line(format_text("__local char own[{}] __attribute__((aligned(64)));", workspace));
        else if (workspace > 0)
            w.text_.line(format_text("__global char* const own = lent + (long)first * {}L;", workspace));
        w.declare_workspace();
        w.text_.line("(void)lane, (void)first, (void)step, (void)last;");
        w.text_.dedent();
    }
};

} // namespace detail

GSUB_LAZY_BODY std::string emit_opencl(kernel const& k, std::string const& symbol, thread_group group) {
    GSUB_ASSERT(group.positions == 1, "a work group has one position");
    return detail::lane_writer<detail::opencl_text>{k, group}.run(symbol);
}

} // namespace gsub::codegen
