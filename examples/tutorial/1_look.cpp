// Tutorial, step 1: loads a model, looks at it, runs it.
#include "digits.hpp"

int main(int argc, char** argv) {
    app::digits const data{argc, argv};
    auto const model = gsub::io::load_onnx(data.model());
    if (!model) return std::cerr << model.error().message() << '\n', 1;
    std::cout << gsub::report::to_text(gsub::report::summarize(*model));

    for (auto n : model->order()) // each node comes after those that it reads
        if (model->is<gsub::ops::conv>(n))
            std::cout << model->display_name(n) << ": " << to_string(model->type({n, 0})) << '\n';

    auto const logits = gsub::evaluate_graph(*model, std::span{&data.images, 1}).value()[0];
    std::cout << data.read(logits);
    require(data.read(logits).right == 358, "the model reads as well as it was trained to");
}
