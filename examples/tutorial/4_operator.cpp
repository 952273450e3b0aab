// Tutorial, step 4: an operator of one's own behind the model, evaluated, saved, built into a kernel.
#include "digits.hpp"
#include "gate.hpp"
#include "scanner.hpp"

int main(int argc, char** argv) {
    app::digits const data{argc, argv};
    auto const product = app::gated(app::behind_scanner(gsub::io::load_onnx<app::my_ops>(data.model()).value()), 3.25);
    auto const scans = data.scans();
    auto const expected = gsub::evaluate_graph(product, std::span{&scans, 1}).value()[0];
    std::cout << "evaluated: " << data.read(expected);

    gsub::io::save_onnx(product, "product.onnx").value();
    require(gsub::io::load_onnx<app::my_ops>("product.onnx").value() == product, "the file has the operator");

    auto const program = gsub::build(product).value();
    for (auto const& step : program.steps()) std::cout << kind_of(step) << ": " << step.name << '\n';
    auto const scores = program.run(std::span{&scans, 1}).value()[0];
    std::cout << "built: " << data.read(scores);
    require(gsub::compare(scores, expected).value().max_relative < 1e-4, "the kernel computes what evaluate says");
}
