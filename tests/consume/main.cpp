// What a stranger writes: a graph built, optimized, computed and saved, with installed headers alone.
#include <gsub/gsub.hpp>

#include <iostream>

int main() {
    auto const model = gsub::models::residual_module(1, 16, 7);
    auto const better = gsub::optimize(model, gsub::cost::flop_cost{}, {.budget = 20, .verify = true}).value();
    auto const outputs = gsub::evaluate_graph(better, gsub::random_inputs(better, 1)).value();
    gsub::io::save_onnx(better, "module.onnx").value();
    std::cout << "gsub " << gsub::version << ": " << outputs[0] << '\n';
    return better.report.verification.equal && gsub::io::load_onnx("module.onnx").has_value() ? 0 : 1;
}
