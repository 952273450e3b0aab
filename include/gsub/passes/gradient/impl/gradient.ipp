#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/gradient/gradient.hpp>
#include <gsub/passes/gradient/impl/gradient_tables.hpp>
#include <gsub/passes/gradient/impl/gradient_values.hpp>

#include <string>
#include <vector>

namespace gsub {

GSUB_LAZY_BODY void gradient_site::refuse(std::string_view reason) const {
    throw error{problem{errors::no_gradient,
                        graph().display_name(node_),
                        std::string{graph().op(node_).name},
                        format_text("no gradient: {}", reason),
                        {}}};
}

GSUB_LAZY_BODY value_id gradient_site::number(double value, value_id like) const {
    return builder_->add<ops::fill>({.element = type(like).element, .value = value}, {});
}

GSUB_LAZY_BODY ints gradient_site::sizes(value_id v) const {
    if (!type(v).is_static()) refuse("its dimensions are not fixed");
    return type(v).sizes();
}

GSUB_LAZY_BODY ints gradient_site::integers(std::size_t i) const {
    auto const v = operand(i);
    if (!graph().is<ops::constant>(v.node)) refuse(format_text("its operand {} is no constant", i));
    return graph().constant_data(v.node).to_ints();
}

GSUB_LAZY_BODY void gradient_site::give(std::size_t i, value_id gradient) {
    if (!wanted(i)) return;
    gradient = passes::gradients::fitted(*this, gradient, operand(i));
    given_[i] = given_[i].valid() ? builder_->add<ops::add>(given_[i], gradient) : gradient;
}

GSUB_LAZY_BODY std::vector<gradient_rule> builtin_gradient_rules() {
    namespace groups = passes::gradients;
    std::vector<gradient_rule> all;
    for (auto const& group : {groups::elementwise_gradients(), groups::movement_gradients(),
                              groups::reduction_gradients(), groups::product_gradients(), groups::window_gradients()})
        all.insert(all.end(), group.begin(), group.end());
    return all;
}

} // namespace gsub
