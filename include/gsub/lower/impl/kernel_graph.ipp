#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/lower/kernel_graph.hpp>

#include <algorithm>

namespace gsub {

GSUB_LAZY_BODY std::string_view to_string(lowering_stage s) noexcept {
    constexpr std::string_view names[] = {"fused", "selected", "laid-out", "scheduled"};
    return names[static_cast<std::size_t>(s)];
}

GSUB_LAZY_BODY std::string kind_of(kernel_op const& op) {
    return std::visit(
        overloaded{
            [](kernels::descriptor const& d) { return kernels::kind_of(d); },
            [](view_shape const&) -> std::string { return "view"; },
            [](concat_shape const&) -> std::string { return "concat"; },
            [](pad_shape const&) -> std::string { return "pad"; },
            [](custom_kernel const& c) { return c.name; },
            [](runtime::copy_call const& c) -> std::string { return c.moves.size() > 1 ? "concat" : "copy"; },
            [](runtime::external_call const& c) { return format_text("extern {}", c.op); },
            [](runtime::reference_call const& c) { return format_text("reference {}", runtime::operators_of(c)); },
        },
        op.computes);
}

GSUB_LAZY_BODY operand_requirement requirement_of(kernel_op const& op, std::size_t operand) {
    using enum operand_requirement;
    if (operand < op.operands.size() && op.operands[operand].packing) return weights;
    if (std::holds_alternative<runtime::copy_call>(op.computes)) return any;
    auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
    if (!d) return row_major;
    auto const of_image = [&](kernels::image_layout l) {
        return l == kernels::image_layout::blocked ? blocks : l == kernels::image_layout::planar ? row_major : view;
    };
    auto const of_conv = [&](kernels::conv2d_shape const& s, std::size_t i) {
        return i == 0 ? of_image(s.input) : i == 1 ? weights : s.bias && i == 2 ? lanes : of_image(s.result);
    };
    return std::visit(overloaded{
                          [&](kernels::conv2d_shape const& s) { return of_conv(s, operand); },
                          [&](kernels::winograd_shape const& s) { return of_conv(s.conv, operand); },
                          [&](kernels::separable_shape const& s) {
                              auto const first = s.depthwise.bias ? std::size_t{2} : 1; // operand before the weights
                              if (operand <= first) return of_conv(s.depthwise, operand);
                              return of_conv(s.pointwise, operand - first);
                          },
                          [&](kernels::pool2d_shape const& s) { return operand == 0 ? of_image(s.input) : row_major; },
                          [&](kernels::elementwise_shape const&) { return blocks; },
                          [&](kernels::matmul_shape const& s) {
                              return s.constant && operand == 1 ? weights : s.bias && operand == 2 ? lanes : view;
                          },
                          [&](kernels::attention_shape const&) { return view; },
                          [&](kernels::row_reduction_shape const& p) {
                              return operand < p.arrays.size() ? view : row_major; // the integers that choose rows
                          },
                          [&](kernels::reduction_shape const&) { return view; },
                          [&](kernels::movement_shape const& m) {
                              return m.kind == kernels::movement_kind::from_blocked ? blocks : row_major;
                          },
                          [&](auto const&) { return row_major; },
                      },
                      *d);
}

GSUB_LAZY_BODY bool makes_blocks(kernel_op const& op) noexcept {
    auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
    if (!d) return false;
    if (auto const images = kernels::images_of(*d)) return *images->result == kernels::image_layout::blocked;
    return std::holds_alternative<kernels::elementwise_shape>(*d);
}

GSUB_LAZY_BODY bool concatenates_blocks(tensor_type const& whole, std::int64_t axis, std::span<tensor_type const> parts,
                                        std::int64_t lanes) {
    if (axis != 1 || !may_be_blocked(whole) || whole.dims[0].size() != 1) return false;
    return std::all_of(parts.begin(), parts.end(),
                       [&](tensor_type const& t) { return t.dims[1].size() % lanes == 0 && *t.elements() > 0; });
}
GSUB_LAZY_BODY std::optional<std::int64_t> slices_blocks(view_shape const& v, tensor_type const& from,
                                                         tensor_type const& to, std::int64_t lanes) {
    if (v.reshape || !may_be_blocked(from) || from.rank() != to.rank() || from.dims[0].size() != 1) return std::nullopt;
    for (std::size_t d = 0; d < v.from.size(); ++d) {
        if (v.from[d] != static_cast<std::int8_t>(d) || v.step[d] != 1) return std::nullopt;
        if (d != 1 && (v.start[d] != 0 || from.dims[d].size() != to.dims[d].size())) return std::nullopt;
    }
    if (v.start[1] % lanes != 0 || to.dims[1].size() % lanes != 0) return std::nullopt;
    return v.start[1];
}

} // namespace gsub
