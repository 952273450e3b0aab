// Attributes of operators: plain structs for the code that uses them, interned value lists for everything generic.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/result.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/ir/dtype.hpp>

#include <array>
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

/// What a field of an attribute struct may be: `std::int64_t`, `bool`, `double`, `std::string`, `ints`, `reals`,
/// `dtype`, `activation`.
enum class field_type : std::uint8_t { integer, boolean, real, text, integer_list, real_list, element, activation };

/// Kind of the attribute that a field becomes.
[[nodiscard]] constexpr attribute_kind kind_of(field_type t) noexcept {
    constexpr attribute_kind kinds[] = {
        attribute_kind::integer,      attribute_kind::integer,   attribute_kind::real, attribute_kind::text,
        attribute_kind::integer_list, attribute_kind::real_list, attribute_kind::text, attribute_kind::text};
    return kinds[static_cast<std::size_t>(t)];
}

/// Name and kind of an attribute, and the type of its field.
struct attribute_info {
    std::string_view name;
    attribute_kind kind = attribute_kind::integer;
    field_type type = field_type::integer;
};

/// An attribute struct as data, so that one engine reads, writes and copies all of them.
struct attribute_layout {
    std::span<attribute_info const> fields;
    /// A new struct with the defaults, or a copy of the one given.
    void* (*make)(void const* from) = nullptr;
    void (*destroy)(void* attributes) = nullptr;
    /// Where a field of a struct is stored.
    void* (*field)(void* attributes, std::size_t i) = nullptr;

    /// Generic form of a struct, in the order of its fields.
    [[nodiscard]] std::vector<attribute_value> encode(void const* attributes) const;
    /// Generic form of the defaults.
    [[nodiscard]] std::vector<attribute_value> defaults() const;
    /// A struct of its own: the defaults, or a copy.
    [[nodiscard]] std::shared_ptr<void> owned(void const* from = nullptr) const;
    /// The struct behind a list of values of the right kinds, or nothing where a value names no enumerator.
    [[nodiscard]] std::shared_ptr<void const> decode(std::span<attribute_value const> values) const;
};

namespace detail {

template <class T>
inline constexpr field_type field_type_of = [] {
    static_assert(sizeof(T) == 0, "a field of an attribute struct is an std::int64_t, bool, double, std::string, ints, "
                                  "reals, dtype or activation");
    return field_type::integer;
}();
template <>
inline constexpr field_type field_type_of<std::int64_t> = field_type::integer;
template <>
inline constexpr field_type field_type_of<bool> = field_type::boolean;
template <>
inline constexpr field_type field_type_of<double> = field_type::real;
template <>
inline constexpr field_type field_type_of<std::string> = field_type::text;
template <>
inline constexpr field_type field_type_of<ints> = field_type::integer_list;
template <>
inline constexpr field_type field_type_of<reals> = field_type::real_list;
template <>
inline constexpr field_type field_type_of<dtype> = field_type::element;
template <>
inline constexpr field_type field_type_of<activation> = field_type::activation;

template <class Struct, class T>
constexpr attribute_info info_of(field<Struct, T> const& f) {
    return {f.name, kind_of(field_type_of<T>), field_type_of<T>};
}

// The fields of a struct, one by one. The data are constants, so that the functions below are all that a struct costs.
template <class Struct,
          class = std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(Struct::fields)>>>>
struct fields_of;
template <class Struct, std::size_t... I>
struct fields_of<Struct, std::index_sequence<I...>> {
    static constexpr std::array<attribute_info, sizeof...(I)> infos{info_of(std::get<I>(Struct::fields))...};

    static void* make(void const* from) { return from ? new Struct(*static_cast<Struct const*>(from)) : new Struct{}; }
    static void destroy(void* attributes) { delete static_cast<Struct*>(attributes); }
    static void* field(void* attributes, std::size_t i) {
        [[maybe_unused]] auto& s = *static_cast<Struct*>(attributes);
        void* const at[] = {member<I>(s)..., nullptr};
        return at[i];
    }

private:
    template <std::size_t J>
    static void* member(Struct& s) {
        constexpr auto pointer = std::get<J>(Struct::fields).member;
        return &(s.*pointer);
    }
};

} // namespace detail

/// The layout of an attribute struct.
template <class Struct>
inline constexpr attribute_layout layout_of{detail::fields_of<Struct>::infos, &detail::fields_of<Struct>::make,
                                            &detail::fields_of<Struct>::destroy, &detail::fields_of<Struct>::field};

namespace detail {

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

namespace detail {
// Interns a struct of a layout.
[[nodiscard]] attributes_id intern(op_id op, attribute_layout const& of, void const* attributes);
} // namespace detail

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/attributes.ipp>
#endif
