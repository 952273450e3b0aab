#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/kernels/descriptor.hpp>
#include <gsub/kernels/impl/conv2d.ipp>

#include <algorithm>

namespace gsub::kernels {

GSUB_LAZY_BODY std::vector<chosen_operand> chosen_by(descriptor const& d) {
    std::vector<chosen_operand> all;
    auto const add = [&](std::size_t operand, chosen_entries const& c) {
        all.push_back({operand, c.integers, c.at.elements, c.entries});
    };
    if (auto const* const m = std::get_if<movement_shape>(&d); m && m->chosen) add(m->arrays.size(), *m->chosen);
    if (auto const* const p = std::get_if<row_reduction_shape>(&d))
        for (std::size_t c = 0; c < p->chosen.size(); ++c) add(p->arrays.size() + c, p->chosen[c].by);
    if (auto const* const s = std::get_if<scatter_shape>(&d)) {
        auto const axis = static_cast<std::size_t>(s->axis); // a text may say any number
        all.push_back({1, s->integers, s->at.elements, axis < s->dims.size() ? s->dims[axis] : 1});
    }
    return all;
}

GSUB_LAZY_BODY std::string kind_of(descriptor const& d) {
    return std::visit(
        overloaded{
            [](conv2d_shape const& s) -> std::string {
                return format_text("{}conv{}d", detail::is_depthwise(s) ? "depthwise " : "", s.depth.exists() ? 3 : 2);
            },
            [](winograd_shape const& s) { return format_text("winograd F{}", s.m); },
            [](separable_shape const&) -> std::string { return "separable conv2d"; },
            [](matmul_shape const&) -> std::string { return "matmul"; },
            [](attention_shape const&) -> std::string { return "attention"; },
            [](pool2d_shape const& s) -> std::string { return s.average ? "average pool" : "max pool"; },
            [](movement_shape const& s) { return std::string{to_string(s.kind)}; },
            [](elementwise_shape const&) -> std::string { return "elementwise"; },
            [](row_reduction_shape const& p) -> std::string {
                auto const reduces = [](row_reduction_op const& o) { return o.step != reduction_step::elementwise; };
                if (std::any_of(p.ops.begin(), p.ops.end(), reduces)) return "row reduction";
                return p.ops.empty() ? "copy" : "elementwise";
            },
            [](reduction_shape const&) -> std::string { return "reduction"; },
            [](local_response_norm_shape const&) -> std::string { return "local response norm"; },
            [](scatter_shape const&) -> std::string { return "scatter"; },
        },
        d);
}

} // namespace gsub::kernels
