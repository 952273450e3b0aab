// Attributes of operators: plain structs for the code that uses them, interned value lists for everything generic.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/result.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/ir/dtype.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace gsub {

/// Identity of an operator: a hash of its qualified name, fixed at compile time. The only thing about an operator that
/// hashes, texts and files depend on.
enum class op_id : std::uint64_t {};

/// A short list of real numbers.
using reals = small_vector<double, 4>;

/// Kind of an attribute.
enum class attribute_kind : std::uint8_t { integer, real, text, integer_list, real_list };

/// An attribute in generic form. Names of enumerations and element types are texts here.
class attribute_value {
public:
    attribute_value(std::int64_t v) : integer_(v) {}
    attribute_value(double v) : kind_(attribute_kind::real), real_(v) {}
    attribute_value(std::string v) : kind_(attribute_kind::text), text_(std::move(v)) {}
    attribute_value(ints v) : kind_(attribute_kind::integer_list), integers_(std::move(v)) {}
    attribute_value(reals v) : kind_(attribute_kind::real_list), reals_(std::move(v)) {}

    [[nodiscard]] attribute_kind kind() const noexcept { return kind_; }
    /// The value of its kind; that of another kind is zero or empty.
    [[nodiscard]] std::int64_t integer() const noexcept { return integer_; }
    [[nodiscard]] double real() const noexcept { return real_; }
    [[nodiscard]] std::string const& text() const noexcept { return text_; }
    [[nodiscard]] ints const& integer_list() const noexcept { return integers_; }
    [[nodiscard]] reals const& real_list() const noexcept { return reals_; }

private:
    // Not a std::variant: that costs every includer compile time, and values are interned, so their size is no matter.
    attribute_kind kind_ = attribute_kind::integer;
    std::int64_t integer_ = 0;
    double real_ = 0;
    std::string text_;
    ints integers_;
    reals reals_;
};

/// `3`, `0.5`, `"text"`, `[1, 2]`, `[0.5, 1.0]`: the form of the textual IR, exact for every value.
[[nodiscard]] std::string to_string(attribute_value const& v);

/// An activation that a convolution or product applies to its result before storing it.
enum class activation : std::uint8_t { none, relu, clip, sigmoid, tanh };
[[nodiscard]] constexpr std::string_view to_string(activation a) noexcept {
    constexpr std::string_view names[] = {"none", "relu", "clip", "sigmoid", "tanh"};
    return names[static_cast<std::size_t>(a)];
}

/// One field of an attribute struct: its name in files and where it is stored.
template <class Struct, class T>
struct field {
    std::string_view name;
    T Struct::*member;
};
template <class Struct, class T>
field(char const*, T Struct::*) -> field<Struct, T>;

/// The attribute struct of an operator that has no attributes.
struct no_attributes {
    static constexpr auto fields = std::tuple{};
};

/// Name and kind of an attribute.
struct attribute_info {
    std::string_view name;
    attribute_kind kind = attribute_kind::integer;
};

namespace detail {

template <class T>
struct attribute_codec;
template <>
struct attribute_codec<std::int64_t> {
    static constexpr auto kind = attribute_kind::integer;
    static attribute_value encode(std::int64_t v) { return v; }
    static std::optional<std::int64_t> decode(attribute_value const& v) { return v.integer(); }
};
template <>
struct attribute_codec<bool> {
    static constexpr auto kind = attribute_kind::integer;
    static attribute_value encode(bool v) { return std::int64_t{v}; }
    static std::optional<bool> decode(attribute_value const& v) { return v.integer() != 0; }
};
template <>
struct attribute_codec<double> {
    static constexpr auto kind = attribute_kind::real;
    static attribute_value encode(double v) { return v; }
    static std::optional<double> decode(attribute_value const& v) { return v.real(); }
};
template <>
struct attribute_codec<std::string> {
    static constexpr auto kind = attribute_kind::text;
    static attribute_value encode(std::string const& v) { return v; }
    static std::optional<std::string> decode(attribute_value const& v) { return v.text(); }
};
template <>
struct attribute_codec<ints> {
    static constexpr auto kind = attribute_kind::integer_list;
    static attribute_value encode(ints const& v) { return v; }
    static std::optional<ints> decode(attribute_value const& v) { return v.integer_list(); }
};
template <>
struct attribute_codec<reals> {
    static constexpr auto kind = attribute_kind::real_list;
    static attribute_value encode(reals const& v) { return v; }
    static std::optional<reals> decode(attribute_value const& v) { return v.real_list(); }
};
template <>
struct attribute_codec<dtype> {
    static constexpr auto kind = attribute_kind::text;
    static attribute_value encode(dtype v) { return std::string{to_string(v)}; }
    static std::optional<dtype> decode(attribute_value const& v) {
        auto const t = dtype_named(v.text());
        return t == dtype::field61 ? std::nullopt : t; // no graph declares it
    }
};
template <>
struct attribute_codec<activation> {
    static constexpr auto kind = attribute_kind::text;
    static attribute_value encode(activation v) { return std::string{to_string(v)}; }
    static std::optional<activation> decode(attribute_value const& v) {
        for (auto a : {activation::none, activation::relu, activation::clip, activation::sigmoid, activation::tanh})
            if (to_string(a) == v.text()) return a;
        return std::nullopt;
    }
};

/// Descriptions of the fields of an attribute struct.
template <class Struct>
[[nodiscard]] std::span<attribute_info const> attribute_infos() {
    constexpr auto count = std::tuple_size_v<std::remove_cvref_t<decltype(Struct::fields)>>;
    static constexpr auto infos = std::apply(
        []<class... T>(field<Struct, T> const&... f) {
            return std::array<attribute_info, count>{attribute_info{f.name, attribute_codec<T>::kind}...};
        },
        Struct::fields);
    return infos;
}

template <class Struct>
[[nodiscard]] std::vector<attribute_value> encode_attributes(Struct const& attributes) {
    return std::apply(
        [&]<class... T>(field<Struct, T> const&... f) {
            return std::vector<attribute_value>{attribute_codec<T>::encode(attributes.*(f.member))...};
        },
        Struct::fields);
}

template <class Struct, class T>
void decode_field(Struct& attributes, field<Struct, T> const& f, attribute_value const& value, bool& good) {
    if (auto v = attribute_codec<T>::decode(value))
        attributes.*(f.member) = *v;
    else
        good = false;
}

/// The struct behind a list of values of the right kinds, or nothing where a value names no enumerator.
template <class Struct>
[[nodiscard]] std::shared_ptr<void const> decode_attributes(std::span<attribute_value const> values) {
    auto attributes = std::make_shared<Struct>();
    [[maybe_unused]] std::size_t i = 0;
    bool good = true;
    std::apply(
        [&]<class... T>(field<Struct, T> const&... f) { (decode_field(*attributes, f, values[i++], good), ...); },
        Struct::fields);
    return good ? attributes : nullptr;
}

/// What an interned set of attributes consists of. `typed` is the operator's attribute struct.
struct attribute_entry {
    op_id op{};
    std::vector<attribute_value> values;
    std::shared_ptr<void const> typed;
    hash128 hash;
    friend bool operator==(attribute_entry const& a, attribute_entry const& b);
};

} // namespace detail

/// The interned attributes of an operator. The default is that of every operator without attributes.
class attributes_id {
public:
    constexpr attributes_id() = default;
    /// Interns values of the kinds that `op` declares, in the declared order.
    attributes_id(op_id op, std::vector<attribute_value> values, std::shared_ptr<void const> typed);

    /// Generic form, in the order of the operator's declaration.
    [[nodiscard]] std::span<attribute_value const> values() const noexcept;
    /// Structural hash, the same in every run.
    [[nodiscard]] hash128 hash() const noexcept;
    /// The attribute struct, untyped; use `any_graph::attributes<Op>`.
    [[nodiscard]] void const* typed() const noexcept;
    friend constexpr bool operator==(attributes_id, attributes_id) = default;

private:
    std::uint32_t id_ = 0;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/attributes.ipp>
#endif
