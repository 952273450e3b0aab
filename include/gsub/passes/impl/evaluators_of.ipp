#pragma once

#include <gsub/passes/evaluators_of.hpp>

namespace gsub {

GSUB_LAZY_BODY eval_table evaluators_of(pass_context const& cx, any_graph const& g) {
    if (cx.evaluators) return {cx.evaluators, g.operators().ops.size()};
    if (&g.operators() == &dialect::of<standard_ops>()) return table_of<eval_row, standard_ops>();
    throw error{problem{error_code::usage,
                        {},
                        {},
                        "how the operators are evaluated is not known: the graph is over a set of the user's own",
                        "pass_context::evaluators = gsub::table_of<gsub::eval_row, MySet>().data()"}};
}

} // namespace gsub
