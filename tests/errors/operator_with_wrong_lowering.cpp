// expect: scalar_lowering<Op> has no `loop::scalar_op op` and no `static scalar lower
#include <gsub/lower/scalar_lowering.hpp>

struct swish {};
template <>
struct gsub::op_traits<swish> {
    static constexpr std::string_view name = "Swish";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
};
template <>
struct gsub::scalar_lowering<swish> {
    static float lower(float x) { return x; }
};

auto const row = gsub::scalar_row::of<swish>();
