// A module with parts for other compilers.
#pragma once

#include "catch.hpp"
#include <gsub/driver/build.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/partition/annotate_target.hpp>
#include <gsub/passes/partition/merge_compiler_regions.hpp>
#include <gsub/passes/partition/partition_graph.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace marked_module {

using namespace gsub;

// Softmax of x and y, a region of five operators on them, and more behind it.
inline gsub::module marked(std::string_view compilers) {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4, 6}, "x"), y = b.input(dtype::f32, {4, 6}, "y");
    auto const p = b.add<ops::softmax>({.axis = 1}, {x});
    auto const t = b.add<ops::tanh>(b.add<ops::add>(p, y));
    auto const square = b.add<ops::mul>(t, t), rest = b.add<ops::relu>(b.add<ops::sub>(p, t));
    std::array const outputs{b.add<ops::softmax>({.axis = 1}, {square}), b.add<ops::exp>(rest)};
    g.set_outputs(outputs);
    gsub::module m;
    m.add("main", g);
    pass_context cx;
    static_cast<void>(run_pass(passes::annotate_target::from_text(compilers).value(), m, cx).value());
    static_cast<void>(run_pass(passes::merge_compiler_regions{}, m, cx).value());
    static_cast<void>(run_pass(passes::partition_graph{}, m, cx).value());
    return m;
}
inline eval_table evaluators() {
    return table_of<eval_row, standard_ops>();
}
inline double error_of(gsub::module const& m, std::span<external_codegen const> codegens) {
    build_options options;
    options.codegens = codegens;
    auto const e = build(m, evaluators(), host(), options).value();
    auto const g = m.inlined().value();
    auto const inputs = random_inputs(g, 1);
    auto const got = e.run(inputs).value(), expected = evaluate_graph(g, evaluators(), inputs).value();
    double most = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
        most = std::max(most, compare(got[i], expected[i]).value().max_relative);
    return most;
}

} // namespace marked_module
