// Tutorial, step 2: optimizes the model, reads the report, and saves the result as an ONNX file.
#include "digits.hpp"

int main(int argc, char** argv) {
    app::digits const data{argc, argv};
    auto const model = gsub::io::load_onnx(data.model()).value();
    auto const better = gsub::optimize(model, {.alpha = 1.05, .verify = true}).value();
    std::cout << gsub::report::to_text(better.report);
    for (auto const& step : better.report.applied)
        std::cout << step.rule << " at " << step.site << ": " << step.cost_after * 1e3 << " ms\n";

    auto const logits = gsub::evaluate_graph(better, std::span{&data.images, 1}).value()[0];
    std::cout << data.read(logits);
    gsub::io::save_onnx(better, "better.onnx").value();
    require(better.report.verification.equal && data.read(logits).right == 358, "nothing is lost");
}
