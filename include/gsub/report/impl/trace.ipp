#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/json.hpp>
#include <gsub/report/escape.hpp>
#include <gsub/report/trace.hpp>

#include <algorithm>
#include <charconv>
#include <span>
#include <type_traits>

namespace gsub::report {

namespace detail {

/// Whether an event is of a successor.
GSUB_INLINE bool of_successor(search_event::kind k) noexcept {
    using kind = search_event::kind;
    return k == kind::admit || k == kind::refuse || k == kind::known;
}

} // namespace detail

GSUB_LAZY_BODY std::string to_json_line(search_event const& e) {
    using kind = search_event::kind;
    auto const hex = [](auto h) {
        if constexpr (std::is_same_v<decltype(h), hash128>)
            return format_text("\"{}\"", to_string(h));
        else
            return format_text("\"{}\"", std::string_view{to_string(hash128{h, 0})}.substr(0, 16));
    };
    auto out = format_text("{{\"event\":\"{}\"", to_string(e.what));
    if (e.what == kind::header)
        return out +
               format_text(
                   ",\"version\":{},\"graph\":{},\"rules\":{},\"costs\":{},\"unit\":{},\"cost\":{},\"orders\":\"{}\"}}",
                   trace_version, hex(e.of->graph), hex(e.of->rules), hex(e.of->costs), json_text(e.of->unit),
                   shortest{e.of->cost}, to_string(e.of->moves));
    out += format_text(",\"step\":{},\"cost\":{}", e.steps, shortest{e.cost});
    if (detail::of_successor(e.what))
        out += format_text(",\"rule\":{},\"site\":{},\"move\":{},\"key\":{}", json_text(e.rule), json_text(e.site),
                           hex(e.move), hex(e.key));
    if (e.what == kind::begin || e.what == kind::expand)
        out += format_text(",\"key\":{},\"path\":{}", hex(e.key), hex(e.path));
    if (e.what == kind::expanded) out += format_text(",\"failed\":{}", e.failed);
    if (e.what == kind::stop) out += format_text(",\"reason\":{}", json_text(to_string(e.why)));
    return out + "}";
}

GSUB_INLINE void trace_writer::on_event(search_event const& e) {
    out_.write(to_json_line(e) + "\n");
    ++events_;
}

namespace detail {

/// A line of a trace, key by key. What is missing or of another kind is thrown.
class trace_line {
public:
    explicit trace_line(std::string_view text) : data_(io::parse_json(text).value()) {
        if (!data_.is_object()) fail("the line is no JSON object");
    }
    [[nodiscard]] std::string const& text(char const* key) const {
        auto const* found = at(key).get_ptr<std::string const*>();
        if (!found) fail(format_text("{} is no text", quoted{key}));
        return *found;
    }
    [[nodiscard]] std::uint64_t count(char const* key) const {
        auto const& value = at(key);
        if (!value.is_number_unsigned()) fail(format_text("{} is no number of things", quoted{key}));
        return value.get<std::uint64_t>();
    }
    [[nodiscard]] double number(char const* key) const {
        auto const& value = at(key);
        if (!value.is_number()) fail(format_text("{} is no number", quoted{key}));
        return value.get<double>();
    }
    [[nodiscard]] hash128 hash(char const* key) const {
        auto const& digits = hexadecimal(key, 32);
        return {word(digits, 0), word(digits, 16)};
    }
    [[nodiscard]] std::uint64_t half_hash(char const* key) const { return word(hexadecimal(key, 16), 0); }
    [[noreturn]] static void fail(std::string reason) { throw error{errors::damaged_trace, std::move(reason)}; }

private:
    [[nodiscard]] io::json const& at(char const* key) const {
        auto const found = data_.find(key);
        if (found == data_.end()) fail(format_text("there is no {}", quoted{key}));
        return *found;
    }
    [[nodiscard]] std::string const& hexadecimal(char const* key, std::size_t size) const {
        auto const& digits = text(key);
        if (digits.size() != size || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
            fail(format_text("{} is not {} hexadecimal digits", quoted{key}, size));
        return digits;
    }
    [[nodiscard]] static std::uint64_t word(std::string const& digits, std::size_t from) {
        std::uint64_t out = 0;
        std::from_chars(digits.data() + from, digits.data() + from + 16, out, 16);
        return out;
    }
    io::json data_;
};

// The number of a name in an enumeration that has `to_string`.
template <class Enum>
Enum named(std::string_view name, Enum last, std::string_view what) {
    for (int i = 0; i <= static_cast<int>(last); ++i)
        if (to_string(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
    trace_line::fail(format_text("there is no {} {}", what, quoted{name}));
}

GSUB_INLINE void read_trace_line(std::string_view text, bool first, search_log& log) {
    using kind = search_event::kind;
    trace_line const line{text};
    search_event e{.what = named(line.text("event"), kind::stop, "event")};
    search_identity what;
    if (first != (e.what == kind::header)) trace_line::fail("the first line, and no other, is the header of a trace");
    e.cost = line.number("cost");
    if (e.what == kind::header) {
        if (line.count("version") != trace_version)
            trace_line::fail(
                format_text("the trace is of version {}, gsub reads {}", line.count("version"), trace_version));
        auto const orders = named(line.text("orders"), explored_moves::until_no_dearer, "orders");
        what = {line.hash("graph"), line.hash("rules"), line.hash("costs"), line.text("unit"), e.cost, orders};
        e.of = &what;
    } else {
        e.steps = line.count("step");
    }
    if (of_successor(e.what))
        e.rule = line.text("rule"), e.site = line.text("site"), e.move = line.half_hash("move"),
        e.key = line.hash("key");
    if (e.what == kind::begin || e.what == kind::expand) e.key = line.hash("key"), e.path = line.hash("path");
    if (e.what == kind::expanded) e.failed = line.count("failed");
    if (e.what == kind::stop) e.why = named(line.text("reason"), search::stop_reason::failed, "reason");
    log.add(e);
}

} // namespace detail

GSUB_LAZY_BODY result<search_log> read_trace(std::string const& path) {
    constexpr std::size_t block = 1 << 20; // no line is longer
    auto const file = io::input_file::open(path);
    if (!file) return file.error();
    std::uint64_t number = 0;
    try {
        search_log log;
        std::string buffer;
        std::size_t begin = 0;
        for (std::uint64_t at = 0; at < file->size();) {
            buffer.erase(0, begin);
            auto const kept = buffer.size();
            if (kept >= block) {
                ++number;
                throw error{errors::damaged_trace, format_text("no end within {} bytes", block)};
            }
            buffer.resize(kept + static_cast<std::size_t>(std::min<std::uint64_t>(block, file->size() - at)));
            file->read(at, std::as_writable_bytes(std::span{buffer}.subspan(kept)));
            at += buffer.size() - kept;
            if (at == file->size() && buffer.back() != '\n') buffer += '\n';
            begin = 0;
            for (auto end = buffer.find('\n', kept); end != std::string::npos; end = buffer.find('\n', begin)) {
                ++number;
                detail::read_trace_line(std::string_view{buffer}.substr(begin, end - begin), number == 1, log);
                begin = end + 1;
            }
        }
        if (number == 0) throw error{errors::damaged_trace, "there is no event"};
        return log;
    } catch (error const& e) { return e.within(format_text("{}, line {}", path, number)); }
}

} // namespace gsub::report
