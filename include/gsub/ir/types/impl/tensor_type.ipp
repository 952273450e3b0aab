#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/core/intern.hpp>
#include <gsub/ir/types/tensor_type.hpp>

namespace gsub {

namespace detail {

struct symbol_hash {
    hash128 operator()(std::string const& s) const noexcept {
        return hasher{0x73796du}.add(std::string_view{s}).finish();
    }
};
using symbol_interner = interner<std::string, symbol_hash>;

GSUB_INLINE symbol_interner& symbols() {
    static symbol_interner instance{std::string{}}; // the empty one is 0
    return instance;
}

GSUB_INLINE hash128 hash_of(tensor_type const& t) {
    hasher h{0x74797065u};
    h.add(static_cast<std::uint64_t>(t.element)).add(t.ranked).add(t.layout.text()).add(t.dims.size());
    for (auto d : t.dims) {
        if (d.fixed())
            h.add(static_cast<std::uint64_t>(d.size()));
        else
            h.add(~0ull).add(d.name().text());
    }
    return h.finish();
}

struct type_entry {
    tensor_type type;
    hash128 hash;
    friend bool operator==(type_entry const& a, type_entry const& b) { return a.type == b.type; }
};
struct type_entry_hash {
    hash128 operator()(type_entry const& e) const noexcept { return e.hash; }
};
using type_interner = interner<type_entry, type_entry_hash>;

GSUB_INLINE type_interner& types() {
    static type_interner instance{{tensor_type{}, hash_of(tensor_type{})}}; // nothing is 0
    return instance;
}

} // namespace detail

GSUB_INLINE symbol::symbol(std::string_view text)
    : id_(text.empty() ? 0 : detail::symbols().intern(std::string{text})) {}
GSUB_INLINE std::string_view symbol::text() const noexcept {
    return detail::symbols()[id_];
}

GSUB_INLINE bool tensor_type::is_static() const noexcept {
    return element != dtype::undefined && ranked && all_of(dims, [](dim d) { return d.fixed(); });
}

namespace detail {

// What `checked_product` gives for sizes that come one by one.
class bounded_product {
public:
    void add(std::int64_t size) noexcept {
        zero_ |= size == 0;
        auto const next = static_cast<uint128>(product_) * static_cast<std::uint64_t>(size ? size : 1);
        valid_ &= size >= 0 && next <= limit;
        product_ = static_cast<std::uint64_t>(next);
    }
    [[nodiscard]] std::optional<std::int64_t> value() const noexcept {
        return valid_ ? std::optional{zero_ ? 0 : static_cast<std::int64_t>(product_)} : std::nullopt;
    }

private:
    static constexpr std::uint64_t limit = std::uint64_t{1} << 62;
    std::uint64_t product_ = 1; // of the sizes that are not 0
    bool zero_ = false, valid_ = true;
};

} // namespace detail

GSUB_INLINE std::optional<std::int64_t> checked_product(std::span<std::int64_t const> sizes) noexcept {
    detail::bounded_product product;
    for (auto s : sizes) product.add(s);
    return product.value();
}

GSUB_INLINE std::optional<std::int64_t> tensor_type::elements() const noexcept {
    if (!is_static()) return std::nullopt;
    detail::bounded_product product;
    for (auto d : dims) product.add(d.size());
    return product.value();
}

GSUB_INLINE ints tensor_type::sizes() const {
    ints out;
    for (auto d : dims) out.push_back(d.size());
    return out;
}

GSUB_INLINE std::string to_string(dim d) {
    return d.fixed() ? format_text("{}", d.size()) : d.named() ? std::string{d.name().text()} : "?";
}

GSUB_INLINE std::string to_string(tensor_type const& t) {
    std::string text{to_string(t.element)};
    text += '[';
    if (!t.ranked) text += '*';
    for (std::size_t i = 0; i < t.dims.size(); ++i) text += format_text("{}{}", i ? "," : "", to_string(t.dims[i]));
    text += ']';
    if (!t.layout.empty()) text += format_text(":{}", t.layout.text());
    return text;
}

GSUB_INLINE bool may_be_one_number(tensor_type const& t) noexcept {
    for (auto d : t.dims)
        if (provably_different(d, dim{1})) return false;
    return true;
}

GSUB_INLINE bool compatible(tensor_type const& a, tensor_type const& b) noexcept {
    if (a.element != b.element && a.element != dtype::undefined && b.element != dtype::undefined) return false;
    if (!(a.layout == b.layout)) return false;
    if (!a.ranked || !b.ranked) return true;
    if (a.rank() != b.rank()) return false;
    for (std::size_t i = 0; i < a.rank(); ++i)
        if (provably_different(a.dims[i], b.dims[i])) return false;
    return true;
}

GSUB_INLINE tensor_type unify(tensor_type const& a, tensor_type const& b) {
    GSUB_ASSERT(compatible(a, b), "unify() needs compatible types");
    tensor_type t = a.ranked ? a : b;
    t.element = a.element != dtype::undefined ? a.element : b.element;
    if (a.ranked && b.ranked)
        for (std::size_t i = 0; i < t.rank(); ++i) t.dims[i] = unify(a.dims[i], b.dims[i]);
    return t;
}

GSUB_INLINE type_id::type_id(tensor_type const& t) : id_(detail::types().intern({t, detail::hash_of(t)})) {}
GSUB_INLINE tensor_type const& type_id::operator*() const noexcept {
    return detail::types()[id_].type;
}
GSUB_INLINE hash128 type_id::hash() const noexcept {
    return detail::types()[id_].hash;
}

} // namespace gsub
