#pragma once

#include <gsub/codegen/impl/value_numbering.hpp>

#include <algorithm>
#include <bit>

namespace gsub::codegen::detail {

GSUB_LAZY_BODY std::vector<instruction>& value_numbering::block(statement_list& out) {
    auto const is_new = out.empty() || out.back().kind != statement_kind::block;
    if (is_new) out.emplace_back();
    if (is_new || list_ != &out || length_ != out.size()) {
        list_ = &out;
        length_ = out.size();
        values_.clear();
        expressions_.clear();
    }
    return out.back().code;
}

// Whether two instructions without a result compute the same, bit by bit: zeros differ, a NaN does not.
GSUB_LAZY [[nodiscard]] bool same_value(instruction const& a, instruction const& b) {
    return a.op == b.op && a.function == b.function && a.type == b.type && a.buffer == b.buffer &&
           std::ranges::equal(a.operands, b.operands) && a.integer == b.integer && a.lanes == b.lanes &&
           a.stride == b.stride && a.entry == b.entry &&
           std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value) && a.offset == b.offset &&
           a.order == b.order && std::ranges::equal(a.predicate, b.predicate, [](auto& x, auto& y) {
               return x.extent == y.extent && x.value == y.value;
           });
}

GSUB_LAZY_BODY reg value_numbering::value_of(instruction i, statement_list& out) {
    auto& code = block(out);
    for (auto const& [known, r] : values_)
        if (same_value(known, i)) return r;
    i.result = fresh();
    auto const r = i.result;
    values_.emplace_back(i, r);
    code.push_back(std::move(i));
    return r;
}

GSUB_LAZY_BODY void value_numbering::forget_loads_of(std::int32_t buffer) {
    if (std::erase_if(values_, [&](auto const& v) { return v.first.buffer == buffer; }) > 0) expressions_.clear();
}

GSUB_LAZY_BODY void value_numbering::set_expression(std::int32_t id, reg value) {
    auto const n = static_cast<std::size_t>(id);
    if (expressions_.size() <= n) expressions_.resize(n + 1, -1);
    expressions_[n] = value;
}

} // namespace gsub::codegen::detail
