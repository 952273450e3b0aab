#pragma once

#include <gsub/kernels/elementwise.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace gsub::kernels {

GSUB_LAZY_BODY array_view array_view::contiguous(std::span<std::int64_t const> dims) {
    array_view v;
    v.elements = 1;
    v.strides = small_vector<std::int64_t, 6>(dims);
    for (auto d = dims.size(); d-- > 0;) {
        v.strides[d] = v.elements;
        v.elements *= dims[d];
    }
    return v;
}

GSUB_LAZY_BODY void apply_epilogue(loop::expression_builder& e, std::vector<loop::value>& values,
                                   std::span<elementwise_op const> ops) {
    for (auto const& step : ops) values.push_back(apply(e, step, [&](std::size_t v) { return values[v]; }));
}

GSUB_LAZY_BODY loop::loop_nest elementwise_nest(std::int64_t elements, std::int32_t arrays,
                                                std::span<elementwise_op const> ops, isa const& isa) {
    loop::expression_builder e{"elementwise"};
    auto const i = e.spatial("i", elements);
    std::vector<std::int32_t> buffers;
    for (std::int32_t a = 0; a < arrays; ++a) buffers.push_back(e.input("x", {elements}));
    auto const y = e.output("y", {elements});
    std::vector<loop::value> values;
    for (auto b : buffers) values.push_back(e.at(b, {i}));
    apply_epilogue(e, values, ops);
    loop::schedule plan{e.store(y, {i}, values.back())};
    auto const [blocks, lane] = plan.split(plan.loop_of("i"), isa.lanes());
    auto const count = (elements + isa.lanes() - 1) / isa.lanes();
    auto const pieces = plan.split(blocks, std::min<std::int64_t>(count, 64)).first;
    plan.parallel(pieces);
    plan.vectorize(lane);
    return std::move(plan).finish();
}

} // namespace gsub::kernels
