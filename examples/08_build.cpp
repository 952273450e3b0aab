// From a graph to generated kernels: optimized, built, run, timed, compared with the evaluator.
#include "require.hpp"
#include <gsub/gsub.hpp>

#include <iostream>

int main(int argc, char** argv) {
    auto const model = gsub::io::load_onnx(argc > 1 ? argv[1] : "examples/digits/digits.onnx").value();
    auto const better = gsub::optimize(model).value();

    gsub::runtime::thread_pool threads;
    gsub::build_options options;
    options.threads = &threads;
    auto const program = gsub::build(better, gsub::host(), options).value();

    auto const inputs = gsub::random_inputs(better, 1);
    auto const outputs = program.run(inputs, &threads).value();
    auto const expected = gsub::evaluate_graph(model, inputs).value();
    auto const difference = gsub::compare(outputs[0], expected[0]).value();
    require(difference.max_relative < 1e-4, "what is built computes what the model does");

    auto const steps = program.profile(inputs, threads).value();
    for (auto const& step : steps) std::cout << step.kind << ": " << step.seconds * 1e6 << " us\n";
    std::cout << "largest relative difference " << difference.max_relative << '\n';
}
