#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/intern.hpp>
#include <gsub/ir/ops/attributes.hpp>

#include <bit>
#include <cmath>
#include <limits>

namespace gsub {

namespace detail {

// Attributes are compared as what they are, so zeros differ by sign; but every NaN is the same, as its text is.
GSUB_INLINE std::uint64_t real_bits(double x) {
    return std::bit_cast<std::uint64_t>(std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x);
}

GSUB_INLINE bool same_bits(attribute_value const& a, attribute_value const& b) {
    auto const same = [](double x, double y) { return real_bits(x) == real_bits(y); };
    auto const &x = a.real_list(), &y = b.real_list();
    return a.kind() == b.kind() && a.integer() == b.integer() && same(a.real(), b.real()) && a.text() == b.text() &&
           a.integer_list() == b.integer_list() && std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
}

GSUB_INLINE bool operator==(attribute_entry const& a, attribute_entry const& b) {
    return a.op == b.op && std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same_bits);
}

GSUB_INLINE hash128 hash_of(op_id op, std::span<attribute_value const> values) {
    hasher h{static_cast<std::uint64_t>(op)};
    for (auto const& v : values) {
        h.add(static_cast<std::uint64_t>(v.kind()))
            .add(static_cast<std::uint64_t>(v.integer()))
            .add(real_bits(v.real()))
            .add(std::string_view{v.text()});
        h.add(v.integer_list().size()).add(v.real_list().size());
        for (auto x : v.integer_list()) h.add(static_cast<std::uint64_t>(x));
        for (auto x : v.real_list()) h.add(real_bits(x));
    }
    return h.finish();
}

struct attribute_entry_hash {
    hash128 operator()(attribute_entry const& e) const noexcept { return e.hash; }
};
using attribute_interner = interner<attribute_entry, attribute_entry_hash>;

// Stores a value in a field; false where it names no enumerator.
GSUB_INLINE bool assign_field(field_type type, void* at, attribute_value const& value) {
    switch (type) {
    case field_type::integer:
        *static_cast<std::int64_t*>(at) = value.integer();
        return true;
    case field_type::boolean:
        *static_cast<bool*>(at) = value.integer() != 0;
        return true;
    case field_type::real:
        *static_cast<double*>(at) = value.real();
        return true;
    case field_type::text:
        *static_cast<std::string*>(at) = value.text();
        return true;
    case field_type::integer_list:
        *static_cast<ints*>(at) = value.integer_list();
        return true;
    case field_type::real_list:
        *static_cast<reals*>(at) = value.real_list();
        return true;
    case field_type::element: {
        auto const named = dtype_named(value.text());
        if (!named || named == dtype::field61) return false; // no graph declares the field
        *static_cast<dtype*>(at) = *named;
        return true;
    }
    case field_type::activation:
        for (auto a : {activation::none, activation::relu, activation::clip, activation::sigmoid, activation::tanh})
            if (to_string(a) == value.text()) {
                *static_cast<activation*>(at) = a;
                return true;
            }
        return false;
    }
    return false;
}

GSUB_INLINE attribute_interner& attribute_sets() {
    static attribute_interner instance{{op_id{}, {}, nullptr, hash_of(op_id{}, {})}}; // nothing is 0
    return instance;
}

// Shortest form that reads back to the same double, and always recognisable as a real number.
GSUB_INLINE std::string real_text(double v) {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    auto text = format_text("{}", shortest{v});
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

} // namespace detail

GSUB_INLINE std::string to_string(attribute_value const& value) {
    auto const list = [](auto const& v, auto&& one) {
        std::string text = "[";
        for (std::size_t i = 0; i < v.size(); ++i) text += format_text("{}{}", i ? ", " : "", one(v[i]));
        return text + ']';
    };
    switch (value.kind()) {
    case attribute_kind::integer:
        return format_text("{}", value.integer());
    case attribute_kind::real:
        return detail::real_text(value.real());
    case attribute_kind::text:
        return in_quotes(value.text());
    case attribute_kind::integer_list:
        return list(value.integer_list(), [](std::int64_t x) { return format_text("{}", x); });
    case attribute_kind::real_list:
        return list(value.real_list(), detail::real_text);
    }
    return {};
}

GSUB_INLINE std::vector<attribute_value> attribute_layout::encode(void const* attributes) const {
    std::vector<attribute_value> values;
    values.reserve(fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
        void const* const at = field(const_cast<void*>(attributes), i); // `field` only computes an address
        switch (fields[i].type) {
        case field_type::integer:
            values.emplace_back(*static_cast<std::int64_t const*>(at));
            break;
        case field_type::boolean:
            values.emplace_back(std::int64_t{*static_cast<bool const*>(at)});
            break;
        case field_type::real:
            values.emplace_back(*static_cast<double const*>(at));
            break;
        case field_type::text:
            values.emplace_back(*static_cast<std::string const*>(at));
            break;
        case field_type::integer_list:
            values.emplace_back(*static_cast<ints const*>(at));
            break;
        case field_type::real_list:
            values.emplace_back(*static_cast<reals const*>(at));
            break;
        case field_type::element:
            values.emplace_back(std::string{to_string(*static_cast<dtype const*>(at))});
            break;
        case field_type::activation:
            values.emplace_back(std::string{to_string(*static_cast<activation const*>(at))});
            break;
        }
    }
    return values;
}

GSUB_INLINE std::vector<attribute_value> attribute_layout::defaults() const {
    return encode(owned().get());
}

GSUB_INLINE std::shared_ptr<void> attribute_layout::owned(void const* from) const {
    return {make(from), destroy};
}

GSUB_INLINE std::shared_ptr<void const> attribute_layout::decode(std::span<attribute_value const> values) const {
    auto attributes = owned();
    for (std::size_t i = 0; i < fields.size(); ++i)
        if (!detail::assign_field(fields[i].type, field(attributes.get(), i), values[i])) return nullptr;
    return attributes;
}

namespace detail {

// `typed` gives the struct; it is asked where the values are new.
template <class Typed>
std::uint32_t intern_set(op_id op, std::vector<attribute_value> values, Typed const& typed) {
    if (values.empty()) return 0;
    auto const hash = hash_of(op, as_span(values));
    attribute_entry entry{op, std::move(values), nullptr, hash};
    return attribute_sets().intern(hash, entry, [&] {
        entry.typed = typed();
        return std::move(entry);
    });
}

} // namespace detail

GSUB_INLINE attributes_id::attributes_id(op_id op, std::vector<attribute_value> values,
                                         std::shared_ptr<void const> typed)
    : id_(detail::intern_set(op, std::move(values), [&] { return typed; })) {}
GSUB_INLINE attributes_id::attributes_id(op_id op, attribute_layout const& of, void const* attributes)
    : id_(detail::intern_set(op, of.encode(attributes), [&] { return of.owned(attributes); })) {}
GSUB_INLINE std::span<attribute_value const> attributes_id::values() const noexcept {
    return as_span(detail::attribute_sets()[id_].values);
}
GSUB_INLINE hash128 attributes_id::hash() const noexcept {
    return detail::attribute_sets()[id_].hash;
}
GSUB_INLINE void const* attributes_id::typed() const noexcept {
    return detail::attribute_sets()[id_].typed.get();
}

} // namespace gsub
