// Bring your own code generator: parts of a network go to the compilers that they are marked for.
#include "require.hpp"
#include <gsub/aot.hpp>
#include <gsub/gsub.hpp>
#include <gsub/passes/partition/annotate_target.hpp>
#include <gsub/passes/partition/merge_compiler_regions.hpp>
#include <gsub/passes/partition/partition_graph.hpp>
#include <gsub/passes/pipeline.hpp>

#include <array>
#include <iostream>

extern "C" int app_region(gsub_call const* call); // 12_external_codegen.c

namespace {

// Softmax, five operators of x and y with two results, and what is computed of these.
gsub::graph network() {
    gsub::graph g;
    gsub::graph_builder b{g};
    auto const x = b.input(gsub::dtype::f32, {4, 6}, "x"), y = b.input(gsub::dtype::f32, {4, 6}, "y");
    auto const p = b.add<gsub::ops::softmax>({.axis = 1}, {x});
    auto const t = b.add<gsub::ops::tanh>(b.add<gsub::ops::add>(p, y));
    auto const square = b.add<gsub::ops::mul>(t, t), rest = b.add<gsub::ops::relu>(b.add<gsub::ops::sub>(p, t));
    b.outputs({b.add<gsub::ops::softmax>({.axis = 1}, {square}), b.add<gsub::ops::exp>(rest)}, {"u", "v"});
    return g;
}

// What a compiler takes is marked, and cut out into functions.
gsub::module cut(char const* compilers) {
    namespace passes = gsub::passes;
    gsub::module m;
    m.add("main", network());
    gsub::pass_context cx;
    gsub::pipeline const partition{passes::annotate_target::from_text(compilers).value(),
                                   passes::merge_compiler_regions{}, passes::partition_graph{}};
    static_cast<void>(gsub::run_pass(partition, m, cx).value());
    return m;
}

// The application's compiler: here it knows one region, whose function it has already.
gsub::external_codegen const dsp{.compiler = "dsp", .compile = [](gsub::marked_region const& r) {
                                     std::cout << "dsp gets " << r.marked.name << '\n' << to_text(r.body);
                                     return gsub::result<gsub::region_kernel>{
                                         {.function = app_region, .symbol = "app_region"}};
                                 }};

void check(gsub::module const& m, std::span<gsub::external_codegen const> codegens) {
    gsub::build_options options;
    options.codegens = codegens;
    auto const evaluators = gsub::table_of<gsub::eval_row, gsub::standard_ops>();
    auto const program = gsub::build(m, evaluators, gsub::host(), options).value();
    for (auto const& step : program.steps()) std::cout << kind_of(step) << '\n';
    auto const inputs = gsub::random_inputs(network(), 1);
    auto const got = program.run(inputs).value(),
               expected = gsub::evaluate_graph(network(), evaluators, inputs).value();
    for (std::size_t i = 0; i < got.size(); ++i)
        require(gsub::compare(got[i], expected[i]).value().max_relative < 1e-5, "regions compute what they are");
}

} // namespace

int main() {
    // A C function computes the region of the one compiler, an executable of gsub's own that of the other.
    auto const m = cut("dsp: Add Tanh Mul Sub Relu; reference: Softmax");
    gsub::build_options plain;
    plain.generate = false;
    check(m, std::array{dsp, gsub::gsub_codegen("reference", gsub::host(), plain)});

    // A compiler that nobody has is told by name.
    auto const refused = gsub::build(m, gsub::table_of<gsub::eval_row, gsub::standard_ops>(), gsub::host());
    require(!refused, "regions have code generators");
    std::cout << refused.error().message() << '\n';

    // Ahead of time: the sources call app_region by its name, and whoever links them has it.
    gsub::build_options options;
    options.codegens = {&dsp, 1};
    auto const program = gsub::plan(cut("dsp: Add Tanh Mul Sub Relu"),
                                    gsub::table_of<gsub::eval_row, gsub::standard_ops>(), gsub::isa::baseline, options);
    auto const written = gsub::aot::export_program(program.value(), "network", {.name = "network"}).value();
    for (auto const& file : written.files) std::cout << file << '\n';
}
