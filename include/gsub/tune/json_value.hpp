// json_value: a value of a line of JSON, whose numbers keep the text in which they were written.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::tune {

/// Number of a JSON text: its value, and the text that it was written as, which writing it again keeps.
class json_number {
public:
    json_number() = default;
    /// A number as Python writes it: the shortest decimal that reads back, `0.5`, `1e-05`, `1000000000.0`; `NaN` and
    /// `Infinity` where it is not finite.
    GSUB_LAZY json_number(double value);
    /// An integer, without a point.
    GSUB_LAZY [[nodiscard]] static json_number integer(std::int64_t value);

    [[nodiscard]] double value() const noexcept { return value_; }
    [[nodiscard]] std::string const& text() const noexcept { return text_; }
    /// The integer that it was written as; nothing where it has a point or an exponent, or does not fit.
    GSUB_LAZY [[nodiscard]] std::optional<std::int64_t> integer() const noexcept;
    /// Whether two numbers have the same text.
    friend bool operator==(json_number const& a, json_number const& b) noexcept { return a.text_ == b.text_; }

private:
    template <class>
    friend class json_reader;
    std::string text_ = "0";
    double value_ = 0;
};

enum class json_kind : std::uint8_t { null, boolean, number, text, list, object };

/// Value of a JSON text. Members of objects keep their order; two values are equal if they are written alike.
class json_value {
public:
    json_value() = default; ///< null
    json_value(bool flag) : kind_(json_kind::boolean), flag_(flag) {}
    json_value(json_number number) : kind_(json_kind::number), number_(std::move(number)) {}
    json_value(std::string text) : kind_(json_kind::text), text_(std::move(text)) {}
    json_value(char const* text) : json_value(std::string{text}) {}
    json_value(std::vector<json_value> items) : kind_(json_kind::list), items_(std::move(items)) {}
    [[nodiscard]] static json_value object() {
        json_value made;
        made.kind_ = json_kind::object;
        return made;
    }

    [[nodiscard]] json_kind kind() const noexcept { return kind_; }
    [[nodiscard]] bool boolean() const noexcept { return flag_; }
    [[nodiscard]] json_number const& number() const noexcept { return number_; }
    [[nodiscard]] std::string const& text() const noexcept { return text_; }
    /// Items of a list, or values of an object.
    [[nodiscard]] std::span<json_value const> items() const noexcept { return {items_.data(), items_.size()}; }
    /// Names of an object's members, in the order of `items`.
    [[nodiscard]] std::span<std::string const> keys() const noexcept { return {keys_.data(), keys_.size()}; }
    /// Member of an object; null where there is none of that name.
    GSUB_LAZY [[nodiscard]] json_value const* find(std::string_view key) const noexcept;
    /// Adds a member. *Requires* an object without one of that name.
    GSUB_LAZY void add(std::string key, json_value value);

    friend bool operator==(json_value const&, json_value const&) = default;

private:
    template <class>
    friend class json_reader;
    json_kind kind_ = json_kind::null;
    bool flag_ = false;
    json_number number_;
    std::string text_;
    std::vector<std::string> keys_;
    std::vector<json_value> items_;
};

/// Limits of a JSON text that comes from a stranger.
struct json_limits {
    std::size_t depth = 64;        ///< of lists and objects in each other
    std::size_t values = 1 << 16;  ///< in all
    std::size_t members = 1 << 10; ///< of one object
    std::size_t bytes = 1 << 20;   ///< of the text
};

/// Parses one JSON value, and Python's `NaN` and `Infinity`. *Errors* `invalid_input` with the column, from 1: what is
/// no JSON, a text that ends early, a member that stands twice, text that is no UTF-8, a number that no double holds,
/// what lies beyond a limit. *Complexity* linear, but for the names of an object's members.
GSUB_LAZY [[nodiscard]] result<json_value> parse_json_value(std::string_view text, json_limits const& limits = {});

/// Prints a value on one line, as Python's `json.dumps` does: a blank behind each comma and colon, characters beyond
/// ASCII escaped, numbers as they were written.
GSUB_LAZY [[nodiscard]] std::string to_string(json_value const& value);

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/json_value.ipp>
#endif
