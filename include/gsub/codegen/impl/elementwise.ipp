#pragma once

#include <gsub/codegen/elementwise.hpp>

#include <algorithm>
#include <vector>

namespace gsub::codegen {

GSUB_INLINE loop::loop_nest elementwise_nest(std::int64_t elements, std::int32_t arrays,
                                             std::span<elementwise_op const> chain, isa const& set) {
    loop::expression_builder e{"elementwise"};
    auto const i = e.spatial("i", elements);
    std::vector<std::int32_t> buffers;
    for (std::int32_t a = 0; a < arrays; ++a) buffers.push_back(e.input("x", {elements}));
    auto const y = e.output("y", {elements});
    std::vector<loop::value> values;
    for (auto b : buffers) values.push_back(e.at(b, {i}));
    for (auto const& step : chain) {
        auto const left = values[static_cast<std::size_t>(step.left)];
        auto const right = step.right < 0 ? e.constant(step.value) : values[static_cast<std::size_t>(step.right)];
        switch (step.op) {
        case loop::scalar_op::subtract:
            values.push_back(left - right);
            break;
        case loop::scalar_op::multiply:
            values.push_back(left * right);
            break;
        case loop::scalar_op::divide:
            values.push_back(left / right);
            break;
        case loop::scalar_op::maximum:
            values.push_back(max(left, right));
            break;
        case loop::scalar_op::minimum:
            values.push_back(min(left, right));
            break;
        default:
            values.push_back(left + right);
        }
    }
    loop::schedule plan{e.store(y, {i}, values.back())};
    auto const [blocks, lane] = plan.split(plan.loop_of("i"), set.lanes());
    auto const count = (elements + set.lanes() - 1) / set.lanes();
    auto const pieces = plan.split(blocks, std::min<std::int64_t>(count, 64)).first;
    plan.parallel(pieces);
    plan.vectorize(lane);
    return plan.finish();
}

} // namespace gsub::codegen
