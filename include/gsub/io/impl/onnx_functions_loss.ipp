// Losses of classifiers.
#pragma once

#include <gsub/io/impl/function_writer.ipp>
#include <gsub/io/impl/onnx_functions_reduce.ipp>

#include <string>

namespace gsub::io::detail {

// The negative log likelihood of the classes that were meant, of logarithms of shares [batch, classes, places...].
GSUB_INLINE value_id likelihood_loss(function_writer const& to, value_id x) {
    auto& cx = to.node();
    auto const reduction = cx.text("reduction").value_or("mean");
    if (reduction != "mean" && reduction != "sum" && reduction != "none")
        cx.invalid(format_text("reduction {}", quoted{reduction}));
    auto const ignored = cx.integer("ignore_index");
    if (to.rank(x) < 2) cx.invalid(format_text("operand {} has no classes", to_string(cx.type(0))));
    auto target = to.typed(1);
    value_id skipped{};
    if (ignored) {
        auto const e = to.element(target);
        skipped = to.make<ops::equal>(target, to.integer(*ignored, e));
        target = to.select(skipped, to.integer(0, e), target);
    }
    auto const place = to.make<ops::unsqueeze>({.axes = {1}}, {target});
    auto const picked = to.make<ops::gather_elements>({.axis = 1}, {x, place});
    auto const of_target = to.make<ops::squeeze>({.axes = {1}}, {picked});
    auto weight = cx.has(2) ? to.make<ops::gather>(to.typed(2), target) : value_id{};
    if (skipped.valid()) {
        auto const one = to.number(1, x);
        weight = to.select(skipped, to.number(0, x), weight.valid() ? weight : one);
    }
    auto loss = to.make<ops::neg>(of_target);
    if (weight.valid()) loss = to.mul(loss, weight);
    if (reduction == "none") return loss;
    auto const sum = to.reduced<ops::reduce_sum>(loss, {}, false);
    if (reduction == "sum") return sum;
    return weight.valid() ? to.div(sum, to.reduced<ops::reduce_sum>(weight, {}, false))
                          : to.reduced<ops::reduce_mean>(loss, {}, false);
}

GSUB_INLINE value_id import_likelihood_loss(onnx_import_context& cx) {
    function_writer const to{cx};
    return likelihood_loss(to, to.floating(0));
}

GSUB_INLINE value_id import_cross_entropy_loss(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const logarithms = log_softmax(to, to.floating(0), {1});
    if (cx.results() > 1) cx.give(1, logarithms);
    return likelihood_loss(to, logarithms);
}

} // namespace gsub::io::detail
