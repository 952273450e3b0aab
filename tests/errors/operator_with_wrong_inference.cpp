// expect: infer_shape<Op> has no `static void infer(infer_context&)`
#include <gsub/eval/evaluate.hpp>
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
struct gsub::infer_shape<app::ops::swish> {
    static gsub::tensor_type infer(gsub::tensor_type const& x) { return x; }
};
using my_ops = gsub::standard_ops::with<app::ops::swish>;
auto const rows = gsub::table_of<gsub::infer_row, my_ops>();
