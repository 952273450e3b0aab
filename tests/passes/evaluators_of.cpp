#include "catch.hpp"
#include <gsub/ir/builder.hpp>
#include <gsub/passes/evaluators_of.hpp>

namespace meaning_test {
struct swish {};
} // namespace meaning_test

template <>
struct gsub::op_traits<meaning_test::swish> {
    static constexpr std::string_view name = "Swish", domain = "meaning_test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = gsub::op_category::elementwise;
};
template <>
struct gsub::infer_shape<meaning_test::swish> : gsub::same_as_input<0> {};

namespace meaning_test {

using namespace gsub;

TEST_CASE("the evaluation table of standard operators is known, that of a user's set is what the context says") {
    using wide = standard_ops::with<swish>;
    pass_context cx;
    auto const standard = table_of<eval_row, standard_ops>();
    CHECK(evaluators_of(cx, graph{}).data() == standard.data());
    basic_graph<wide> const g;
    CHECK_THROWS_AS(evaluators_of(cx, g), error);
    cx.evaluators = table_of<eval_row, wide>().data();
    CHECK(evaluators_of(cx, g).size() == wide::size);
    CHECK(evaluators_of(cx, g).data() == cx.evaluators);
}

} // namespace meaning_test
