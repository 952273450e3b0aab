// Member listings of kernel graphs for text, besides descriptors.
#pragma once

#include <gsub/kernels/descriptor_fields.hpp>
#include <gsub/lower/kernel_graph.hpp>

namespace gsub::kernels {

template <>
struct word_traits<padding_mode> {
    static constexpr std::string_view words[] = {"constant", "edge", "reflect"};
};
template <>
struct word_traits<lowering_stage> {
    static constexpr std::string_view words[] = {"fused", "selected", "laid-out", "scheduled"};
};
template <>
struct word_traits<runtime::memory_role> {
    static constexpr std::string_view words[] = {"temporary", "constant", "input", "output"};
};
template <>
struct record_traits<weight_packing> {
    using s = weight_packing;
    static constexpr void each_field(auto&& field) {
        field("transposed", &s::transposed), field("alpha", &s::alpha), field("scale", &s::scale);
    }
};
template <>
struct record_traits<view_shape> {
    using s = view_shape;
    static constexpr void each_field(auto&& field) {
        field("reshape", &s::reshape), field("from", &s::from), field("start", &s::start), field("step", &s::step),
            field("in_blocks", &s::in_blocks);
    }
};
template <>
struct record_traits<concat_shape> {
    using s = concat_shape;
    static constexpr void each_field(auto&& field) { field("axis", &s::axis); }
};
template <>
struct record_traits<pad_shape> {
    using s = pad_shape;
    static constexpr void each_field(auto&& field) {
        field("before", &s::before), field("after", &s::after), field("kind", &s::kind), field("fill", &s::fill);
    }
};
template <>
struct record_traits<runtime::strided_move> {
    using s = runtime::strided_move;
    static constexpr void each_field(auto&& field) {
        field("from", &s::from), field("from_at", &s::from_at), field("from_step", &s::from_step), field("to", &s::to),
            field("to_at", &s::to_at), field("to_step", &s::to_step), field("size", &s::size);
    }
};
template <>
struct record_traits<runtime::copy_call> {
    using s = runtime::copy_call;
    static constexpr void each_field(auto&& field) { field("times", &s::times), field("moves", &s::moves); }
};

} // namespace gsub::kernels
