// Tutorial, step 3: a rule of one's own, proved, used in a search; and what the verifier says of a wrong one.
#include "digits.hpp"
#include "scanner.hpp"

int main(int argc, char** argv) {
    using namespace app::scanner_rules;
    auto const proof = gsub::verify(scale_into_weight.program());
    std::cout << "scale_into_weight: " << to_string(proof.outcome) << ", " << proof.box_instances << " small and "
              << proof.sampled_instances << " random instances\n";
    require(proof.outcome == gsub::verdict::proved, "the rule holds");

    auto const careless = gsub::verify(scale_into_weight.program(), {.without = 0});
    std::cout << "without its condition: " << to_string(careless.outcome) << '\n' << careless.counterexample << '\n';
    auto const wrong = gsub::verify(scale_through.program());
    std::cout << "scale_through: " << to_string(wrong.outcome) << '\n'
              << wrong.counterexample << '\n'
              << wrong.replacement << '\n';
    require(careless.outcome == gsub::verdict::refuted && wrong.outcome == gsub::verdict::refuted, "both are wrong");

    app::digits const data{argc, argv};
    auto const product = app::behind_scanner(gsub::io::load_onnx(data.model()).value());
    auto rules = gsub::choose_rules(gsub::standard_rules()).value();
    rules.push_back(scale_into_weight.program());
    auto const better = gsub::optimize(product, {.rules = rules, .verify = true}).value();
    std::cout << gsub::report::to_text(better.report);
}
