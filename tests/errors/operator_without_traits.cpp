// expect: operation
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/builder.hpp>

namespace app::ops {
struct swish {};
} // namespace app::ops

using my_ops = gsub::standard_ops::with<app::ops::swish>;
auto const rows = gsub::table_of<gsub::op_info, my_ops>();
