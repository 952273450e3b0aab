// Tutorial, from step 6 on: the product's graph, and how the product optimizes it.
#pragma once

#include "digits.hpp"
#include "gate.hpp"
#include "scanner.hpp"

namespace app {

/// The model behind the scanner and in front of the gate.
inline gsub::basic_graph<my_ops> product(digits const& data) {
    return gated(behind_scanner(gsub::io::load_onnx<my_ops>(data.model()).value()), 3.25);
}

/// Energy of a run: so much for each FLOP and each byte. The rates are illustrative.
using energy = gsub::cost::weighted_sum<gsub::joules, gsub::cost::flop_cost, gsub::cost::byte_cost>;
inline constexpr energy battery{.a = {}, .b = {}, .rate_a = 1e-12, .rate_b = 31e-12};

/// The product with the least energy, by all rules of gsub and the product's own.
inline gsub::optimized<my_ops> optimized_product(digits const& data) {
    auto rules = gsub::choose_rules(gsub::standard_rules()).value();
    rules.push_back(scanner_rules::scale_into_weight.program());
    return gsub::optimize(product(data), battery, {.rules = rules, .verify = true}).value();
}

} // namespace app
