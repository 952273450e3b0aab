#pragma once

#include <gsub/passes/meaning.hpp>

namespace gsub {

GSUB_LAZY_BODY std::span<eval_row const> meaning_of(pass_context const& cx, any_graph const& g) {
    if (cx.meaning) return {cx.meaning, g.operators().ops.size()};
    if (&g.operators() == &dialect::of<standard_ops>()) return table_of<eval_row, standard_ops>();
    throw error{problem{error_code::usage,
                        {},
                        {},
                        "the meaning of the operators is not known: the graph is over a set of the user's own",
                        "pass_context::meaning = gsub::table_of<gsub::eval_row, MySet>().data()"}};
}

} // namespace gsub
