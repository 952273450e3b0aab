#pragma once

#include <gsub/ir/ops/op.hpp>

namespace gsub {

GSUB_INLINE result<attributes_id> op_info::intern(std::vector<attribute_value> values) const {
    auto typed = layout.decode(as_span(values));
    if (!typed) return error{{errors::ill_typed, {}, std::string{name}, "an attribute names no known value", {}}};
    return attributes_id{id, std::move(values), std::move(typed)};
}

GSUB_INLINE std::optional<std::uint16_t> find_row(std::span<op_info const> table, op_id id) noexcept {
    for (std::uint16_t row = 0; row < structural_rows; ++row)
        if (table[row].id == id) return row;
    auto const found = std::lower_bound(table.begin() + structural_rows, table.end(), id,
                                        [](op_info const& row, op_id wanted) { return row.id < wanted; });
    if (found == table.end() || found->id != id) return std::nullopt;
    return static_cast<std::uint16_t>(found - table.begin());
}

GSUB_INLINE std::optional<std::uint16_t> find_row(std::span<op_info const> table, std::string_view domain,
                                                  std::string_view name) noexcept {
    return find_row(table, make_op_id(domain == "ai.onnx" ? std::string_view{} : domain, name));
}

} // namespace gsub
