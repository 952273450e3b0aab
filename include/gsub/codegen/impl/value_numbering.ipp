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
        forget();
    }
    return out.back().code;
}

GSUB_LAZY_BODY void value_numbering::forget() {
    if (!values_.empty()) std::fill(slots_.begin(), slots_.end(), 0u);
    values_.clear();
    keys_.clear();
    loaded_ = 0;
    expressions_.clear();
}
GSUB_LAZY_BODY void value_numbering::fill_slots() {
    std::fill(slots_.begin(), slots_.end(), 0u);
    auto const mask = slots_.size() - 1;
    for (std::size_t n = 0; n < keys_.size(); ++n) {
        auto at = keys_[n] & mask;
        while (slots_[at]) at = (at + 1) & mask;
        slots_[at] = static_cast<std::uint32_t>(n + 1);
    }
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

[[nodiscard]] constexpr std::uint64_t bit_of(std::int32_t buffer) noexcept {
    return std::uint64_t{1} << (static_cast<std::uint32_t>(buffer) % 64);
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
    if (2 * keys_.size() >= slots_.size()) {
        slots_.resize(std::max<std::size_t>(64, 2 * slots_.size()));
        fill_slots();
    }
    auto const mask = slots_.size() - 1;
    auto at = key & mask;
    for (; slots_[at]; at = (at + 1) & mask) {
        auto const n = slots_[at] - 1;
        if (keys_[n] == key && is_value(code, values_[n], i)) return values_[n].result;
    }
    slots_[at] = static_cast<std::uint32_t>(keys_.size() + 1);
    if (i.buffer >= 0) loaded_ |= bit_of(i.buffer);
    i.result = fresh();
    keys_.push_back(key);
    values_.push_back({i.result, i.buffer, code.size()});
    code.push_back(std::move(i));
    return values_.back().result;
}

GSUB_LAZY_BODY void value_numbering::forget_loads_of(std::int32_t buffer) {
    if (!(loaded_ & bit_of(buffer))) return;
    std::size_t kept = 0;
    for (std::size_t n = 0; n < values_.size(); ++n) {
        if (values_[n].buffer == buffer) continue;
        values_[kept] = values_[n], keys_[kept++] = keys_[n];
    }
    if (kept == values_.size()) return;
    values_.resize(kept), keys_.resize(kept);
    fill_slots();
    expressions_.clear();
}

GSUB_LAZY_BODY void value_numbering::set_expression(std::int32_t id, reg value) {
    auto const n = static_cast<std::size_t>(id);
    if (expressions_.size() <= n) expressions_.resize(n + 1, -1);
    expressions_[n] = value;
}

} // namespace gsub::codegen::detail
