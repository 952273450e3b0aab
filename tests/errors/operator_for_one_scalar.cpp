// expect: evaluate<Op> has neither scalar(), run() nor move() for this scalar type
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
    template <std::same_as<float> T> // the reference runtime needs double and the prime field too
    static T scalar(T x) {
        return x;
    }
};
using my_ops = gsub::standard_ops::with<app::ops::swish>;
auto const rows = gsub::table_of<gsub::eval_row, my_ops>();
