#pragma once

#include <gsub/codegen/impl/value_numbering.hpp>
#include <gsub/core/hash.hpp>

#include <algorithm>
#include <bit>

namespace gsub::codegen::detail {

GSUB_LAZY_BODY std::vector<instruction>& value_numbering::block(statement_list& out) {
    auto const is_new = out.empty() || out.back().kind != statement_kind::block;
    if (is_new) {
        out.emplace_back();
        constexpr std::size_t usual = 32; // instructions of a block
        out.back().code.reserve(usual);
    }
    if (is_new || list_ != &out || length_ != out.size()) {
        list_ = &out;
        length_ = out.size();
        values_.clear();
        keys_.clear();
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

// Equal for instructions of the same value.
GSUB_LAZY [[nodiscard]] std::uint64_t key_of(instruction const& i) {
    using gsub::detail::hash_secret, gsub::detail::multiply_fold;
    auto key = multiply_fold(hash_secret[0] ^ static_cast<std::uint64_t>(i.op),
                             hash_secret[1] ^ static_cast<std::uint32_t>(i.buffer));
    for (auto const r : i.operands)
        key = multiply_fold(hash_secret[2] ^ key, hash_secret[3] ^ static_cast<std::uint32_t>(r));
    return multiply_fold(hash_secret[4] ^ key, hash_secret[5] ^ static_cast<std::uint64_t>(i.offset.constant()));
}

// Whether a known value is what an instruction computes.
GSUB_LAZY_BODY bool value_numbering::is_value(std::vector<instruction> const& code, known_value& v,
                                              instruction const& i) {
    if (v.at >= code.size() || code[v.at].result != v.result) {
        auto const found = std::ranges::find(code, v.result, &instruction::result);
        GSUB_ASSERT(found != code.end(), "a known value is computed in its block");
        v.at = static_cast<std::size_t>(found - code.begin());
    }
    return same_value(code[v.at], i);
}

GSUB_LAZY_BODY reg value_numbering::value_of(instruction&& i, statement_list& out) {
    auto& code = block(out);
    auto const key = key_of(i);
    for (std::size_t n = 0; n < keys_.size(); ++n)
        if (keys_[n] == key && is_value(code, values_[n], i)) return values_[n].result;
    i.result = fresh();
    keys_.push_back(key);
    values_.push_back({i.result, i.buffer, code.size()});
    code.push_back(std::move(i));
    return values_.back().result;
}

GSUB_LAZY_BODY void value_numbering::forget_loads_of(std::int32_t buffer) {
    std::size_t kept = 0;
    for (std::size_t n = 0; n < values_.size(); ++n) {
        if (values_[n].buffer == buffer) continue;
        values_[kept] = values_[n], keys_[kept++] = keys_[n];
    }
    if (kept == values_.size()) return;
    values_.resize(kept), keys_.resize(kept);
    expressions_.clear();
}

GSUB_LAZY_BODY void value_numbering::set_expression(std::int32_t id, reg value) {
    auto const n = static_cast<std::size_t>(id);
    if (expressions_.size() <= n) expressions_.resize(n + 1, -1);
    expressions_[n] = value;
}

} // namespace gsub::codegen::detail
