#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/gradient/gradient.hpp>
#include <gsub/passes/gradient/impl/gradient_tables.hpp>
#include <gsub/passes/gradient/impl/gradient_values.hpp>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace gsub::passes::gradients {

GSUB_LAZY void gradient_of_sum(gradient_site& at) {
    for (std::size_t i = 0; i < at.operands(); ++i) at.give(i, at.seed());
}
GSUB_LAZY void gradient_of_sub(gradient_site& at) {
    at.give(0, at.seed());
    if (at.wanted(1)) at.give(1, at.builder().add<ops::neg>(at.seed()));
}
GSUB_LAZY void gradient_of_neg(gradient_site& at) {
    at.give(0, at.builder().add<ops::neg>(at.seed()));
}
GSUB_LAZY void gradient_of_mul(gradient_site& at) {
    if (at.wanted(0)) at.give(0, product_of(at, at.seed(), at.operand(1)));
    if (at.wanted(1)) at.give(1, product_of(at, at.seed(), at.operand(0)));
}
GSUB_LAZY void gradient_of_div(gradient_site& at) {
    auto const share = at.builder().add<ops::div>(at.seed(), at.operand(1));
    at.give(0, share);
    if (at.wanted(1)) at.give(1, at.builder().add<ops::neg>(product_of(at, share, at.result())));
}
GSUB_LAZY void gradient_of_pow(gradient_site& at) {
    auto& b = at.builder();
    auto const x = at.operand(0), n = at.operand(1);
    auto const& g = at.graph();
    if (at.type(x).element != at.type(n).element) at.refuse("mixed element types");
    if (at.wanted(1)) // where x = 0 the power is 0 for all n > 0, with derivative 0
        at.give(1, product_of(at, at.seed(),
                              chosen(at, b.add<ops::greater>(x, at.number(0, x)),
                                     product_of(at, at.result(), b.add<ops::log>(x)))));
    if (!at.wanted(0)) return;
    if (g.is<ops::constant>(n.node) && g.constant_data(n.node).elements() == 1) {
        auto const exponent = g.constant_data(n.node).converted_to(dtype::f64).data<double>()[0];
        if (exponent == 0) return;
        if (exponent == 1) return at.give(0, at.seed());
        if (exponent == 2) return at.give(0, product_of(at, at.seed(), scaled(at, x, 2)));
    }
    auto const lower = b.add<ops::pow>(x, b.add<ops::sub>(n, at.number(1, n)));
    auto const slope = product_of(at, n, lower); // n = 0: 0, also where 1 / x is not finite
    auto const zero = b.add<ops::equal>(n, at.number(0, n));
    at.give(0, product_of(at, at.seed(), b.add<ops::where>(zero, at.number(0, x), slope)));
}
GSUB_LAZY void gradient_of_exp(gradient_site& at) {
    at.give(0, product_of(at, at.seed(), at.result()));
}
GSUB_LAZY void gradient_of_log(gradient_site& at) {
    at.give(0, at.builder().add<ops::div>(at.seed(), at.operand(0)));
}
GSUB_LAZY void gradient_of_sqrt(gradient_site& at) {
    at.give(0, at.builder().add<ops::div>(scaled(at, at.seed(), 0.5), at.result()));
}
GSUB_LAZY void gradient_of_erf(gradient_site& at) { // 2 / sqrt(pi) * exp(-x^2)
    auto& b = at.builder();
    auto const x = at.operand(0);
    auto const bell = b.add<ops::exp>(b.add<ops::neg>(product_of(at, x, x)));
    at.give(0, product_of(at, at.seed(), scaled(at, bell, 2 * std::numbers::inv_sqrtpi)));
}
GSUB_LAZY void gradient_of_tanh(gradient_site& at) { // 1 - y^2
    auto const y = at.result();
    at.give(0, product_of(at, at.seed(), at.builder().add<ops::sub>(at.number(1, y), product_of(at, y, y))));
}
GSUB_LAZY void gradient_of_sigmoid(gradient_site& at) { // y * (1 - y)
    auto const y = at.result();
    auto const slope = product_of(at, y, at.builder().add<ops::sub>(at.number(1, y), y));
    at.give(0, product_of(at, at.seed(), slope));
}
GSUB_LAZY void gradient_of_relu(gradient_site& at) {
    auto const x = at.operand(0);
    at.give(0, chosen(at, at.builder().add<ops::greater>(x, at.number(0, x)), at.seed()));
}
GSUB_LAZY void gradient_of_abs(gradient_site& at) {
    auto& b = at.builder();
    auto const x = at.operand(0), zero = at.number(0, x);
    auto const below = chosen(at, b.add<ops::less>(x, zero), b.add<ops::neg>(at.seed()));
    at.give(0, b.add<ops::where>(b.add<ops::greater>(x, zero), at.seed(), below));
}
GSUB_LAZY void gradient_of_clip(gradient_site& at) {
    auto& b = at.builder();
    auto const& a = at.attributes<ops::clip>();
    auto const x = at.operand(0);
    if (at.wanted(1) || at.wanted(2)) at.refuse("a bound depends on what it is asked for");
    value_id inside;
    auto const bound = [&](std::size_t i, double attribute, bool lower) {
        value_id limit = at.operand(i);
        if (limit.valid()) {
            if (at.sizes(limit) == ints{0}) limit = {};
            if (limit.valid()) limit = shaped(b, limit, {});
        }
        if (!limit.valid() && std::abs(attribute) < std::numeric_limits<double>::infinity())
            limit = at.number(attribute, x);
        if (!limit.valid()) return;
        auto const holds = lower ? b.add<ops::greater_or_equal>(x, limit) : b.add<ops::less_or_equal>(x, limit);
        inside = inside.valid() ? b.add<ops::logical_and>(inside, holds) : holds;
    };
    bound(1, a.min, true);
    bound(2, a.max, false);
    at.give(0, inside.valid() ? chosen(at, inside, at.seed()) : at.seed());
}
GSUB_LAZY void gradient_of_cast(gradient_site& at) {
    at.give(0, at.builder().add<ops::cast>({.to = at.type(at.operand(0)).element}, {at.seed()}));
}
GSUB_LAZY void gradient_of_where(gradient_site& at) {
    auto const condition = at.operand(0);
    if (at.wanted(1)) at.give(1, chosen(at, condition, at.seed()));
    if (at.wanted(2)) at.give(2, at.builder().add<ops::where>(condition, at.number(0, at.seed()), at.seed()));
}

GSUB_LAZY_BODY std::vector<gradient_rule> elementwise_gradients() {
    return {
        {id_of<ops::add>, &gradient_of_sum},         {id_of<ops::sum>, &gradient_of_sum},
        {id_of<ops::sub>, &gradient_of_sub},         {id_of<ops::mul>, &gradient_of_mul},
        {id_of<ops::div>, &gradient_of_div},         {id_of<ops::neg>, &gradient_of_neg},
        {id_of<ops::pow>, &gradient_of_pow},         {id_of<ops::exp>, &gradient_of_exp},
        {id_of<ops::log>, &gradient_of_log},         {id_of<ops::sqrt>, &gradient_of_sqrt},
        {id_of<ops::erf>, &gradient_of_erf},         {id_of<ops::tanh>, &gradient_of_tanh},
        {id_of<ops::sigmoid>, &gradient_of_sigmoid}, {id_of<ops::relu>, &gradient_of_relu},
        {id_of<ops::abs>, &gradient_of_abs},         {id_of<ops::clip>, &gradient_of_clip},
        {id_of<ops::cast>, &gradient_of_cast},       {id_of<ops::where>, &gradient_of_where},
    };
}

} // namespace gsub::passes::gradients
