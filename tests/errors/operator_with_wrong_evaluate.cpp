// expect: evaluate<Op> has no scalar(x), run(op_call<T>&) or move(op_call_args&) that can be called
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
struct gsub::evaluate<app::ops::swish> {
    static float apply(float x) { return x; }
};
using my_ops = gsub::standard_ops::with<app::ops::swish>;
auto const rows = gsub::table_of<gsub::eval_row, my_ops>();
