// expect: onnx_traits<Op> has no `since`
#include <gsub/io/onnx_traits.hpp>
#include <gsub/ir/builder.hpp>

namespace app::ops {
struct swish {};
} // namespace app::ops

template <>
struct gsub::op_traits<app::ops::swish> {
    static constexpr std::string_view name = "Swish", domain = "app";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = gsub::op_category::elementwise;
};
template <>
struct gsub::io::onnx_traits<app::ops::swish> {
    static constexpr int version = 1;
};
using my_ops = gsub::standard_ops::with<app::ops::swish>;
auto const rows = gsub::table_of<gsub::io::onnx_row, my_ops>();
