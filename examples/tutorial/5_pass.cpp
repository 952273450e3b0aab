// Tutorial, step 5: a pass of one's own in a pipeline, chosen for a class of networks of one's own.
#include "digits.hpp"
#include "passes.hpp"

int main(int argc, char** argv) {
    app::digits const data{argc, argv};
    gsub::module network;
    network.add("main", gsub::io::load_onnx(data.model()).value());

    auto known = gsub::compiler_passes();
    known.add(app::widen_pointwise{}).add(app::rejoin_split{});
    gsub::run_passes_options options;
    options.select = &gsub::standard_classes::with<app::small_resnet>::select;
    options.verify = true; // compare numbers after each pass that has changed something
    gsub::pass_context cx;
    cx.machine = gsub::host();
    auto const ran = run_passes(network, known, "auto", cx, options).value();
    for (auto const& note : ran.notes) std::cout << note << '\n';
    for (auto const& r : ran.records) std::cout << r.pass << ": " << r.outcome.matches << '\n';
    require(ran.notes.back().starts_with("class small-resnet"), "the class is asked before those of the library");

    auto const evaluators = gsub::table_of<gsub::eval_row, gsub::standard_ops>();
    auto const program = gsub::build(network, evaluators, gsub::host(), {}, gsub::grouping::by_passes).value();
    for (auto const& step : program.steps()) std::cout << kind_of(step) << ": " << step.name << '\n';
    auto const logits = program.run(std::span{&data.images, 1}).value()[0];
    std::cout << data.read(logits);
    require(data.read(logits).right == 358, "it reads as well as before");
}
