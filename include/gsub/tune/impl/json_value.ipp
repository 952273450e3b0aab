#pragma once

#include <gsub/core/format.hpp>
#include <gsub/tune/json_value.hpp>

#include <charconv>
#include <cmath>
#include <system_error>

namespace gsub::tune {

namespace detail {

// Character of UTF-8 that a text begins with, and its length; length 0 where it begins with none.
struct utf8_character {
    std::uint32_t code = 0;
    std::size_t length = 0;
};
GSUB_LAZY [[nodiscard]] utf8_character read_utf8(std::string_view text) noexcept {
    auto const first = static_cast<unsigned char>(text.front());
    if (first < 0x80) return {first, 1};
    std::size_t const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
    std::uint32_t code = first & (0x7fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        auto const next = static_cast<unsigned char>(text[i]);
        if ((next & 0xc0) != 0x80) return {};
        code = code << 6 | (next & 0x3fu);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
    return {code, length};
}
GSUB_LAZY void append_utf8(std::string& out, std::uint32_t code) {
    auto const byte = [&](std::uint32_t b) { out += static_cast<char>(static_cast<unsigned char>(b)); };
    if (code < 0x80) return byte(code);
    if (code < 0x800)
        byte(0xc0 | code >> 6);
    else if (code < 0x10000)
        byte(0xe0 | code >> 12), byte(0x80 | (code >> 6 & 0x3f));
    else
        byte(0xf0 | code >> 18), byte(0x80 | (code >> 12 & 0x3f)), byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
}

GSUB_LAZY void append_json_text(std::string& out, std::string_view text) {
    auto const escape = [&](std::uint32_t unit) {
        out += "\\u";
        for (auto shift = 12; shift >= 0; shift -= 4) out += "0123456789abcdef"[unit >> shift & 15];
    };
    out += '"';
    while (!text.empty()) {
        auto const [code, length] = read_utf8(text);
        constexpr std::string_view special = "\"\\\b\f\n\r\t", words = "\"\\bfnrt";
        if (auto const at = length == 1 ? special.find(text.front()) : special.npos; at != special.npos)
            (out += '\\') += words[at];
        else if (length == 1 && code >= 0x20 && code < 0x7f)
            out += text.front();
        else if (code < 0x10000)
            escape(length == 0 ? 0xfffd : code); // what is no UTF-8 becomes the replacement character
        else
            escape(0xd800 + ((code - 0x10000) >> 10)), escape(0xdc00 + (code & 0x3ff));
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    out += '"';
}

GSUB_LAZY [[nodiscard]] std::string python_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    char digits[64];
    std::string text{digits, std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific).ptr};
    auto const exponent = std::atoi(text.c_str() + text.find('e') + 1);
    if (exponent < -4 || exponent >= 16) return text;
    text.assign(digits, std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed).ptr);
    return text.find('.') == text.npos ? text + ".0" : text;
}

} // namespace detail

/// Reader of one JSON text: containers that are open stand on a stack.
template <class = void>
class json_reader {
public:
    json_reader(std::string_view text, json_limits const& limits) : text_(text), limits_(limits) {}

    json_value read() {
        json_value root;
        if (text_.size() > limits_.bytes) fail(format_text("it has more than {} bytes", limits_.bytes));
        for (auto* at = &root; at; at = next()) begin(*at);
        skip_blanks();
        if (at_ < text_.size()) fail("something stands behind the value");
        return root;
    }
    /// Whether the text ended where more was expected.
    [[nodiscard]] bool ended_early() const noexcept { return at_ >= text_.size(); }

private:
    [[noreturn]] void fail(std::string_view reason) const {
        throw error{errors::malformed_record, format_text("column {}: {}", at_ + 1, reason)};
    }
    [[noreturn]] void expected(std::string_view what) const {
        if (at_ >= text_.size()) fail(format_text("the text ends; {} is expected", what));
        fail(format_text("{} is expected, not {}", what, quoted{text_.substr(at_, 1)}));
    }
    void skip_blanks() noexcept {
        while (at_ < text_.size() && std::string_view{" \t\r\n"}.find(text_[at_]) != std::string_view::npos) ++at_;
    }
    bool accept(char c) noexcept {
        skip_blanks();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    // Reads a scalar whole, and of a container its opening.
    void begin(json_value& value) {
        if (++values_ > limits_.values) fail(format_text("there are more than {} values", limits_.values));
        skip_blanks();
        if (at_ >= text_.size()) expected("a value");
        auto const c = text_[at_];
        if (c == '[' || c == '{') {
            if (open_.size() >= limits_.depth) fail(format_text("values nest more than {} deep", limits_.depth));
            ++at_;
            value.kind_ = c == '[' ? json_kind::list : json_kind::object;
            open_.push_back(&value);
        } else if (c == '"') {
            value.kind_ = json_kind::text;
            value.text_ = read_text();
        } else if (word("true") || word("false")) {
            value = json_value{c == 't'};
        } else if (!word("null")) {
            for (std::string_view const whole : {"true", "false", "null", "NaN", "Infinity", "-Infinity"})
                if (whole.starts_with(text_.substr(at_)) && whole != text_.substr(at_)) at_ = text_.size();
            if (at_ >= text_.size()) expected("a value");
            value.kind_ = json_kind::number;
            value.number_ = read_number();
        }
    }

    // The place of the next value: in the innermost container that goes on; null where all are closed.
    json_value* next() {
        for (; !open_.empty(); open_.pop_back()) {
            auto& in = *open_.back();
            auto const is_list = in.kind_ == json_kind::list;
            if (accept(is_list ? ']' : '}')) continue;
            if (!in.items_.empty() && !accept(',')) expected(is_list ? "\",\" or \"]\"" : "\",\" or \"}\"");
            if (!is_list) read_key(in);
            return &in.items_.emplace_back();
        }
        return nullptr;
    }

    void read_key(json_value& in) {
        skip_blanks();
        auto const at = at_;
        if (at_ >= text_.size() || text_[at_] != '"') expected("a name in quotes");
        auto key = read_text();
        if (in.find(key)) at_ = at, fail(format_text("member {} stands there twice", quoted{key}));
        if (in.keys_.size() >= limits_.members)
            fail(format_text("an object has more than {} members", limits_.members));
        in.keys_.push_back(std::move(key));
        if (!accept(':')) expected("\":\"");
    }

    bool word(std::string_view w) noexcept {
        if (text_.substr(at_, w.size()) != w) return false;
        at_ += w.size();
        return true;
    }

    std::string read_text() {
        std::string out;
        for (++at_;;) {
            if (at_ >= text_.size()) expected("the end of a text");
            auto const c = text_[at_];
            if (c == '"') return ++at_, out;
            if (c == '\\') {
                read_escape(out);
                continue;
            }
            if (static_cast<unsigned char>(c) < 0x20) fail("a control character stands in a text");
            auto const length = detail::read_utf8(text_.substr(at_)).length;
            if (length == 0) fail("the text is no UTF-8");
            out += text_.substr(at_, length);
            at_ += length;
        }
    }
    void read_escape(std::string& out) {
        constexpr std::string_view words = "\"\\/bfnrt", means = "\"\\/\b\f\n\r\t";
        ++at_;
        if (at_ < text_.size() && text_[at_] == 'u') {
            ++at_;
            auto code = read_unit();
            if (code >= 0xdc00 && code < 0xe000) fail("the second half of a character stands alone");
            if (code >= 0xd800 && code < 0xdc00) {
                auto const second = word("\\u") ? read_unit() : 0;
                if (second < 0xdc00 || second >= 0xe000) fail("the first half of a character stands alone");
                code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
            }
            detail::append_utf8(out, code);
            return;
        }
        auto const which = at_ < text_.size() ? words.find(text_[at_]) : words.npos;
        if (which == words.npos) expected("one of \\\"/bfnrtu");
        out += means[which];
        ++at_;
    }
    std::uint32_t read_unit() {
        std::uint32_t code = 0;
        auto const digits = text_.substr(at_, 4);
        auto const [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (fault != std::errc{} || end != digits.data() + 4 || digits.size() < 4) {
            at_ += static_cast<std::size_t>(end - digits.data());
            expected("a hexadecimal digit");
        }
        at_ += 4;
        return code;
    }

    json_number read_number() {
        json_number out;
        auto const begin = at_;
        auto const digits = [&] {
            auto const from = at_;
            while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
            if (at_ == from) expected(from == begin ? "a value" : "a digit");
        };
        auto const minus = word("-");
        if (word("Infinity") || (!minus && word("NaN"))) {
            out.value_ = text_[begin] == 'N' ? std::nan("") : minus ? -HUGE_VAL : HUGE_VAL;
        } else {
            if (!word("0")) digits();
            if (word(".")) digits();
            if (word("e") || word("E")) {
                static_cast<void>(word("+") || word("-"));
                digits();
            }
            if (std::from_chars(text_.data() + begin, text_.data() + at_, out.value_).ec != std::errc{}) {
                at_ = begin;
                fail("the number is out of range");
            }
        }
        out.text_ = text_.substr(begin, at_ - begin);
        return out;
    }

    std::string_view text_;
    json_limits limits_;
    std::size_t at_ = 0, values_ = 0;
    std::vector<json_value*> open_; // items of a container are added only while it is the innermost, so these stay
};

GSUB_LAZY_BODY json_number::json_number(double value) : text_(detail::python_text(value)), value_(value) {}

GSUB_LAZY_BODY json_number json_number::integer(std::int64_t value) {
    json_number made;
    made.text_ = std::to_string(value);
    made.value_ = static_cast<double>(value);
    return made;
}

GSUB_LAZY_BODY std::optional<std::int64_t> json_number::integer() const noexcept {
    std::int64_t number = 0;
    auto const* const end = text_.data() + text_.size();
    auto const read = std::from_chars(text_.data(), end, number);
    if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
    return number;
}

GSUB_LAZY_BODY json_value const* json_value::find(std::string_view key) const noexcept {
    for (std::size_t i = 0; i < keys_.size(); ++i)
        if (keys_[i] == key) return &items_[i];
    return nullptr;
}

GSUB_LAZY_BODY void json_value::add(std::string key, json_value value) {
    GSUB_ASSERT(kind_ == json_kind::object && !find(key), "a member is added to an object that has none of its name");
    keys_.push_back(std::move(key));
    items_.push_back(std::move(value));
}

GSUB_LAZY_BODY result<json_value> parse_json_value(std::string_view text, json_limits const& limits) {
    return capture([&] { return json_reader<>{text, limits}.read(); });
}

GSUB_LAZY_BODY std::string to_string(json_value const& value) {
    std::string out;
    struct place {
        json_value const* in;
        std::size_t item;
    };
    std::vector<place> open;
    for (auto const* at = &value; at;) {
        switch (at->kind()) {
        case json_kind::null:
            out += "null";
            break;
        case json_kind::boolean:
            out += at->boolean() ? "true" : "false";
            break;
        case json_kind::number:
            out += at->number().text();
            break;
        case json_kind::text:
            detail::append_json_text(out, at->text());
            break;
        case json_kind::list:
            out += '[', open.push_back({at, 0});
            break;
        case json_kind::object:
            out += '{', open.push_back({at, 0});
            break;
        }
        at = nullptr;
        while (!open.empty() && !at) {
            auto& [in, item] = open.back();
            auto const is_list = in->kind() == json_kind::list;
            if (item == in->items().size()) {
                out += is_list ? ']' : '}';
                open.pop_back();
                continue;
            }
            if (item > 0) out += ", ";
            if (!is_list) detail::append_json_text(out, in->keys()[item]), out += ": ";
            at = &in->items()[item++];
        }
    }
    return out;
}

} // namespace gsub::tune
