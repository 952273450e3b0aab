// Text forms of plain structs: prints, parses and compares them by one listing of their members.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/core/quoted.hpp>
#include <gsub/core/result.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace gsub::kernels {

/// Trait that lists the members of a struct, a record, for text: a call of `field` for each, in the order of the text;
/// all have a text. Where the struct is an alternative of a variant it also has the word that stands before its fields.
/// *Example* `template <> struct record_traits<point> {`
/// `    static constexpr std::string_view word = "point";`
/// `    static constexpr void each_field(auto&& field) { field("x", &point::x), field("y", &point::y); }`
/// `};`
template <class S>
struct record_traits;

/// Trait that gives the words of an enumeration whose numbers begin with 0, in their order.
/// *Example* `template <> struct word_traits<colour> { static constexpr std::string_view words[] = {"red", "green"};
/// };`
template <class E>
struct word_traits;

/// Most elements of a list that is read.
inline constexpr std::size_t max_list_elements = std::size_t{1} << 16;

/// Parser of values in one line of a text that may be anything. Spaces may stand between tokens; ends of lines may not.
/// *Errors* throws `error` (`invalid_input`) with the column, from 1, and the reason.
class record_reader {
public:
    explicit record_reader(std::string_view text) noexcept : text_(text) {}

    /// Number of bytes read so far.
    [[nodiscard]] std::size_t offset() const noexcept { return at_; }
    /// Skips spaces; whether the text ends there.
    GSUB_LAZY bool at_end() noexcept;
    /// Skips spaces; whether there are some, here or just before.
    GSUB_LAZY bool skip_space() noexcept;
    /// Skips spaces, and the character if it comes next.
    GSUB_LAZY bool accept(char c) noexcept;
    GSUB_LAZY void expect(char c);
    /// Skips spaces, then takes a token, maybe empty: letters, digits and `_?.+-`, of words and numbers.
    GSUB_LAZY std::string_view token() noexcept;
    GSUB_LAZY std::int64_t integer(std::int64_t low, std::int64_t high);
    GSUB_LAZY std::uint64_t natural(std::uint64_t high);
    GSUB_LAZY double real();
    /// A text between quotes, as `in_quotes` writes it.
    GSUB_LAZY std::string quoted();
    /// Parses a word: its number in `words`; `what` says what they are, e.g. `field`.
    GSUB_LAZY std::size_t word(std::string_view what, std::span<std::string_view const> words);

    /// Reports an error at the token that begins at an offset.
    GSUB_LAZY [[noreturn]] void fail(std::size_t offset, std::string_view reason) const;
    /// Reports what was expected at an offset, and what is found there.
    GSUB_LAZY [[noreturn]] void fail_expected(std::size_t offset, std::string_view expected) const;

private:
    GSUB_LAZY [[nodiscard]] std::size_t token_end(std::size_t from) const noexcept;

    std::string_view text_;
    std::size_t at_ = 0;
};

namespace detail {

/// Converts to any member, in checks alone.
struct any_member {
    template <class T>
    operator T() const;
};
template <std::size_t>
using any_member_at = any_member;

template <class S, std::size_t... I>
consteval bool has_members(std::index_sequence<I...>) {
    return requires {
        S{any_member_at<I>{}...};
    };
}

template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_variant = false;
template <class... Ts>
inline constexpr bool is_variant<std::variant<Ts...>> = true;

template <class T>
inline constexpr std::array<std::string_view, 0> alternatives{};
template <class... Ts>
inline constexpr std::array<std::string_view, sizeof...(Ts)> alternatives<std::variant<Ts...>>{
    record_traits<Ts>::word...};
inline constexpr std::string_view truths[] = {"false", "true"};

/// Shortest text of the same number; every NaN is `nan`.
GSUB_LAZY void print_real(std::string& out, double value);

} // namespace detail

/// Number of fields that a record lists.
template <class S>
inline constexpr std::size_t field_count = [] {
    std::size_t count = 0;
    record_traits<S>::each_field([&](std::string_view, auto) { ++count; });
    return count;
}();

/// The names of the fields, in the order of the listing.
template <class S>
inline constexpr auto field_names = [] {
    std::array<std::string_view, field_count<S>> names{};
    std::size_t count = 0;
    record_traits<S>::each_field([&](std::string_view name, auto) { names[count++] = name; });
    return names;
}();

/// Whether a record lists as many fields as the struct has members.
template <class S>
inline constexpr bool lists_all_members = detail::has_members<S>(std::make_index_sequence<field_count<S>>{}) &&
                                          !detail::has_members<S>(std::make_index_sequence<field_count<S> + 1>{});

/// Concept of a struct with `record_traits`.
template <class T>
concept record = specialised<record_traits<T>>;
/// Concept of an enumeration with `word_traits`.
template <class T>
concept has_words = std::is_enum_v<T> && specialised<word_traits<T>>;

/// Whether two values have the same text. Numbers compare by bits, so zeros differ by sign; but every NaN is the same.
template <class T>
[[nodiscard]] bool same_value(T const& a, T const& b) {
    if constexpr (std::same_as<T, float>) {
        return same_value(static_cast<double>(a), static_cast<double>(b));
    } else if constexpr (std::same_as<T, double>) {
        return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (a != a && b != b);
    } else if constexpr (std::integral<T> || has_words<T>) {
        return a == b;
    } else if constexpr (detail::is_optional<T>) {
        return a.has_value() == b.has_value() && (!a || same_value(*a, *b));
    } else if constexpr (detail::is_variant<T>) {
        return a.index() == b.index() && std::visit(
                                             [&](auto const& x) {
                                                 auto const y = std::get_if<std::remove_cvref_t<decltype(x)>>(&b);
                                                 return y && same_value(x, *y);
                                             },
                                             a);
    } else if constexpr (record<T>) {
        static_assert(lists_all_members<T>, "record_traits lists each member of the struct once");
        bool same = true;
        record_traits<T>::each_field(
            [&](std::string_view, auto member) { same = same && same_value(a.*member, b.*member); });
        return same;
    } else {
        if (a.size() != b.size()) return false;
        for (std::size_t i = 0; i < a.size(); ++i)
            if (!same_value(a[i], b[i])) return false;
        return true;
    }
}

/// Appends the text of a value: integers; `true` or `false`; real numbers in their shortest exact form, `inf`, `-inf`
/// or `nan`; enumerators by their words; lists `[a,b]`; records `{name=value name=value}`, without fields that have
/// their default value; variants as the word of the alternative and its record. *Requires* enumerators that have words,
/// and optionals with a value: a field without one is left out.
template <class T>
void print_value(std::string& out, T const& value) {
    if constexpr (std::same_as<T, bool>) {
        out += value ? "true" : "false";
    } else if constexpr (std::floating_point<T>) {
        detail::print_real(out, static_cast<double>(value));
    } else if constexpr (std::signed_integral<T>) {
        out += std::to_string(static_cast<long long>(value));
    } else if constexpr (std::unsigned_integral<T>) {
        out += std::to_string(static_cast<unsigned long long>(value));
    } else if constexpr (has_words<T>) {
        auto const number = static_cast<std::size_t>(value);
        GSUB_ASSERT(number < std::size(word_traits<T>::words), "an enumerator has a word");
        out += word_traits<T>::words[number];
    } else if constexpr (detail::is_optional<T>) {
        GSUB_ASSERT(value.has_value(), "an optional value that is printed is there");
        print_value(out, *value);
    } else if constexpr (detail::is_variant<T>) {
        std::visit(
            [&](auto const& x) {
                out += record_traits<std::remove_cvref_t<decltype(x)>>::word;
                print_value(out, x);
            },
            value);
    } else if constexpr (record<T>) {
        static_assert(lists_all_members<T>, "record_traits lists each member of the struct once");
        T const plain{};
        char before = '{';
        record_traits<T>::each_field([&](std::string_view name, auto member) {
            if (same_value(value.*member, plain.*member)) return;
            out += before;
            (out += name) += '=';
            print_value(out, value.*member);
            before = ' ';
        });
        out += before == '{' ? "{}" : "}";
    } else {
        char before = '[';
        for (auto const& element : value) {
            out += before;
            print_value(out, element);
            before = ',';
        }
        out += before == '[' ? "[]" : "]";
    }
}

/// Parses a value as `print_value` writes it; fields stand in any order, each at most once. *Errors* as of
/// `record_reader`; the value is then unspecified. *Complexity* linear; values nest no deeper than their types do.
template <class T>
void read_value(record_reader& in, T& value);

namespace detail {

template <record T>
void read_record(record_reader& in, T& value) {
    static_assert(lists_all_members<T>, "record_traits lists each member of the struct once");
    value = T{};
    std::array<bool, field_count<T>> given{};
    in.expect('{');
    for (bool first = true; !in.accept('}'); first = false) {
        auto const apart = in.skip_space();
        auto const at = in.offset();
        if (!first && !apart) in.fail_expected(at, "a space or \"}\"");
        auto const chosen = in.word("field", field_names<T>);
        if (given[chosen]) in.fail(at, "field " + in_quotes(field_names<T>[chosen]) + " stands there twice");
        given[chosen] = true;
        in.expect('=');
        std::size_t number = 0;
        record_traits<T>::each_field([&](std::string_view, auto member) {
            if (number++ == chosen) read_value(in, value.*member);
        });
    }
}

template <class List>
void read_list(record_reader& in, List& value) {
    in.expect('[');
    if constexpr (!is_array<List>) value.clear();
    std::size_t count = 0;
    for (; !in.accept(']'); ++count) {
        if (count != 0) in.expect(',');
        in.skip_space();
        constexpr auto most = [] {
            if constexpr (is_array<List>) return std::tuple_size_v<List>;
            return max_list_elements;
        }();
        if (count == most) in.fail(in.offset(), "the list has more than " + std::to_string(most) + " elements");
        if constexpr (is_array<List>) {
            read_value(in, value[count]);
        } else {
            typename List::value_type element{};
            read_value(in, element);
            value.push_back(std::move(element));
        }
    }
    if constexpr (is_array<List>)
        if (count < value.size())
            in.fail(in.offset() - 1, "the list ends after " + std::to_string(count) + " of " +
                                         std::to_string(value.size()) + " elements");
}

} // namespace detail

template <class T>
void read_value(record_reader& in, T& value) {
    if constexpr (std::same_as<T, bool>) {
        value = in.word("truth value", detail::truths) != 0;
    } else if constexpr (std::same_as<T, double>) {
        value = in.real();
    } else if constexpr (std::same_as<T, float>) {
        in.skip_space();
        auto const at = in.offset();
        auto const wide = in.real();
        if (wide - wide == 0 &&
            (wide > std::numeric_limits<float>::max() || wide < std::numeric_limits<float>::lowest()))
            in.fail(at, "the number is out of range");
        value = static_cast<float>(wide);
    } else if constexpr (std::signed_integral<T>) {
        value = static_cast<T>(in.integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else if constexpr (std::unsigned_integral<T>) {
        value = static_cast<T>(in.natural(std::numeric_limits<T>::max()));
    } else if constexpr (has_words<T>) {
        value = static_cast<T>(in.word("word", word_traits<T>::words));
    } else if constexpr (detail::is_optional<T>) {
        read_value(in, value.emplace());
    } else if constexpr (detail::is_variant<T>) {
        auto const chosen = in.word("kind", detail::alternatives<T>);
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            static_cast<void>(((chosen == I && (read_value(in, value.template emplace<I>()), true)) || ...));
        }
        (std::make_index_sequence<std::variant_size_v<T>>{});
    } else if constexpr (record<T>) {
        detail::read_record(in, value);
    } else {
        detail::read_list(in, value);
    }
}

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/record_text.ipp>
#endif
