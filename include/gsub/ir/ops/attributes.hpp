// Attributes of operators: plain structs for the code that uses them, interned value lists for everything generic.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/result.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/ir/types/dtype.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// Text of an attribute in the textual IR, exact for every value: `3`, `0.5`, `"text"`, `[1, 2]`, `[0.5, 1.0]`.
[[nodiscard]] std::string to_string(attribute_value const& v);

/// An activation that a convolution or product applies to its result before storing it.
enum class activation : std::uint8_t { none, relu, clip, sigmoid, tanh };
[[nodiscard]] constexpr std::string_view to_string(activation a) noexcept {
    constexpr std::string_view names[] = {"none", "relu", "clip", "sigmoid", "tanh"};
    return names[static_cast<std::size_t>(a)];
}

/// Type of a field in an attribute struct: `std::int64_t`, `bool`, `double`, `std::string`, `ints`, `reals`, `dtype`,
/// `activation`.
enum class field_type : std::uint8_t { integer, boolean, real, text, integer_list, real_list, element, activation };

/// One field of an attribute struct: its name in files and where it is stored.
template <class Struct>
class field {
public:
    constexpr field(char const* n, std::int64_t Struct::*m) : name(n), type(field_type::integer), integer_(m) {}
    constexpr field(char const* n, bool Struct::*m) : name(n), type(field_type::boolean), boolean_(m) {}
    constexpr field(char const* n, double Struct::*m) : name(n), type(field_type::real), real_(m) {}
    constexpr field(char const* n, std::string Struct::*m) : name(n), type(field_type::text), text_(m) {}
    constexpr field(char const* n, ints Struct::*m) : name(n), type(field_type::integer_list), integers_(m) {}
    constexpr field(char const* n, reals Struct::*m) : name(n), type(field_type::real_list), reals_(m) {}
    constexpr field(char const* n, dtype Struct::*m) : name(n), type(field_type::element), element_(m) {}
    constexpr field(char const* n, activation Struct::*m) : name(n), type(field_type::activation), activation_(m) {}
    template <class T>
    constexpr field(char const*, T Struct::*) {
        static_assert(sizeof(T) == 0, "a field of an attribute struct is an std::int64_t, bool, double, std::string, "
                                      "ints, reals, dtype or activation");
    }

    std::string_view name;
    field_type type;

    /// Where the field of a struct is stored.
    [[nodiscard]] constexpr void* in(Struct& s) const noexcept {
        switch (type) {
        case field_type::integer:
            return &(s.*integer_);
        case field_type::boolean:
            return &(s.*boolean_);
        case field_type::real:
            return &(s.*real_);
        case field_type::text:
            return &(s.*text_);
        case field_type::integer_list:
            return &(s.*integers_);
        case field_type::real_list:
            return &(s.*reals_);
        case field_type::element:
            return &(s.*element_);
        case field_type::activation:
            return &(s.*activation_);
        }
        return nullptr;
    }

private:
    // A member of each type, and not a list of types: that costs every includer compile time.
    union {
        std::int64_t Struct::*integer_;
        bool Struct::*boolean_;
        double Struct::*real_;
        std::string Struct::*text_;
        ints Struct::*integers_;
        reals Struct::*reals_;
        dtype Struct::*element_;
        activation Struct::*activation_;
    };
};

/// The attribute struct of an operator that has no attributes.
struct no_attributes {
    static constexpr std::array<field<no_attributes>, 0> fields{};
};

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

/// Attribute layout: an attribute struct as data, so that one engine reads, writes and copies all of them.
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
    /// A new struct with an owner: the defaults, or a copy of `from`.
    [[nodiscard]] std::shared_ptr<void> owned(void const* from = nullptr) const;
    /// The struct behind a list of values of the right kinds, or nothing where a value names no enumerator.
    [[nodiscard]] std::shared_ptr<void const> decode(std::span<attribute_value const> values) const;
};

namespace detail {

// The fields of a struct. The data are constants, so that the functions below are all that a struct costs.
template <class Struct>
struct fields_of {
    static constexpr auto infos = [] {
        std::array<attribute_info, std::size(Struct::fields)> all{};
        for (std::size_t i = 0; auto const& f : Struct::fields) all[i++] = {f.name, kind_of(f.type), f.type};
        return all;
    }();

    static void* make(void const* from) { return from ? new Struct(*static_cast<Struct const*>(from)) : new Struct{}; }
    static void destroy(void* attributes) { delete static_cast<Struct*>(attributes); }
    static void* at(void* attributes, std::size_t i) {
        return std::data(Struct::fields)[i].in(*static_cast<Struct*>(attributes));
    }
};

} // namespace detail

/// The layout of an attribute struct.
template <class Struct>
inline constexpr attribute_layout layout_of{detail::fields_of<Struct>::infos, &detail::fields_of<Struct>::make,
                                            &detail::fields_of<Struct>::destroy, &detail::fields_of<Struct>::at};

namespace detail {

/// Whether two values are the same: zeros differ by their signs, every NaN is the same.
[[nodiscard]] bool same_bits(attribute_value const& a, attribute_value const& b);

/// Interned set of attributes. `typed` is the operator's attribute struct.
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
    /// Interns a struct of that layout.
    attributes_id(op_id op, attribute_layout const& of, void const* attributes);

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
#include <gsub/ir/ops/impl/attributes.ipp>
#endif
