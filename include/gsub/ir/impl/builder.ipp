#pragma once

#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/impl/infer.ipp>

#include <cmath>
#include <cstdint>

namespace gsub {

GSUB_INLINE std::optional<tensor_knowledge> knowledge_of(tensor const& t) {
    if (t.elements() > static_cast<std::int64_t>(max_known_elements)) return std::nullopt;
    tensor_knowledge k;
    if (is_floating(t.element())) {
        if (t.element() == dtype::field61) return std::nullopt;
        auto const numbers = t.converted_to(dtype::f64);
        auto any = false;
        for (auto const v : numbers.data<double>()) {
            auto const whole = std::abs(v) <= 0x1p53 && std::trunc(v) == v && !(v == 0 && std::signbit(v));
            any = any || whole;
            k.push_back(whole ? detail::element_of(t.element(), static_cast<std::int64_t>(v)) : element_knowledge{});
        }
        return any ? std::optional{k} : std::nullopt;
    }
    if (!is_integer(t.element()) && t.element() != dtype::boolean) return std::nullopt;
    // A u64 from 2^63 on has the bits of a negative number, which no u64 is.
    for (auto v : t.to_ints())
        k.push_back(v < 0 && t.element() == dtype::u64 ? element_knowledge{} : element_knowledge{true, v, {}});
    return k;
}

GSUB_INLINE value_id graph_builder::constant(tensor value, std::string_view name) {
    auto k = knowledge_of(value);
    auto const v = graph_->add_constant(std::move(value), name);
    if (k) set_known(v, std::move(*k));
    return v;
}

GSUB_INLINE tensor_knowledge const* graph_builder::known(value_id v) const {
    auto const* const k = known_elements(v);
    return k && !(graph_->type(v).ranked && graph_->type(v).rank() > 1) ? k : nullptr;
}

GSUB_INLINE tensor_knowledge const* graph_builder::known_elements(value_id v) const {
    auto const found = known_.find(v);
    return found == known_.end() ? nullptr : &found->second;
}

GSUB_INLINE value_id graph_builder::append(std::uint16_t row, attributes_id attributes,
                                           std::span<value_id const> operands, std::span<type_id const> results) {
    return {graph_->append_node(row, attributes, 0, operands, results), 0};
}

GSUB_INLINE void graph_builder::on_ill_typed(std::uint16_t row, std::string_view reason) {
    throw error{problem{errors::ill_typed, {}, std::string{operators().ops[row].name}, std::string{reason}, {}}};
}

} // namespace gsub
