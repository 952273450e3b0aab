// From an ONNX file to a cheaper graph that computes the same: loaded, optimized, verified, run, saved.
#include <gsub/gsub.hpp>

#include <iostream>

int main(int argc, char** argv) {
    auto const model = gsub::io::load_onnx(argc > 1 ? argv[1] : "examples/digits/digits.onnx").value();
    auto const better = gsub::optimize(model, {.alpha = 1.05, .verify = true}).value();
    auto const outputs = gsub::evaluate_graph(better, gsub::random_inputs(better, 1)).value();
    gsub::io::save_onnx(better, "better.onnx").value();
    std::cout << gsub::report::to_text(better.report) << outputs[0] << '\n';
    return better.report.verification.equal && better.report.cost_after <= better.report.cost_before ? 0 : 1;
}
