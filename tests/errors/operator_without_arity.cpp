// expect: operation
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/builder.hpp>

namespace app::ops {
struct swish {};
} // namespace app::ops

template <>
struct gsub::op_traits<app::ops::swish> {
    static constexpr std::string_view name = "Swish", domain = "app";
    static constexpr auto category = gsub::op_category::elementwise;
};
using my_ops = gsub::standard_ops::with<app::ops::swish>;
