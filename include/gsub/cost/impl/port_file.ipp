#pragma once

#include <gsub/core/format.hpp>
#include <gsub/cost/port_file.hpp>
#include <gsub/io/file.hpp>
#include <gsub/io/json.hpp>

#include <bit>
#include <cmath>
#include <utility>

namespace gsub::cost {

namespace detail {

inline constexpr std::string_view port_format = "gsub ports 1";

/// Reads fields of an object; tells where it stands.
class port_fields {
public:
    port_fields(io::json const& of, std::string where) : of_(of), where_(std::move(where)) {
        if (!of.is_object()) refuse("is no object");
    }
    [[noreturn]] void refuse(std::string_view why) const {
        throw error{errors::cost_file, format_text("measured ports: {} {}", where_, why)};
    }
    [[nodiscard]] io::json const& at(char const* field) const {
        auto const found = of_.find(field);
        if (found == of_.end()) refuse(format_text("has no {}", field));
        return *found;
    }
    [[nodiscard]] std::string text(char const* field) const {
        auto const& value = at(field);
        if (!value.is_string()) refuse(format_text("has a {} that is no text", field));
        return value.get<std::string>();
    }
    [[nodiscard]] double number(char const* field) const {
        auto const& value = at(field);
        auto const x = value.is_number() ? value.get<double>() : -1;
        if (!std::isfinite(x) || x < 0)
            refuse(format_text("has a {} that is no number from 0 on: {}", field, value.dump().substr(0, 40)));
        return x;
    }

private:
    io::json const& of_;
    std::string where_;
};

GSUB_INLINE measured_use use_of(io::json const& from, std::size_t number) {
    port_fields const f{from, format_text("use {}", number)};
    measured_use u;
    auto const name = f.text("class");
    std::size_t c = 0;
    while (c < instruction_classes && to_string(static_cast<instruction_class>(c)) != name) ++c;
    if (c == instruction_classes) f.refuse(format_text("has the class {}, which there is not", quoted{name}));
    u.of = static_cast<instruction_class>(c);
    auto const bytes = f.number("bytes");
    if (bytes > 4096 || bytes != std::floor(bytes)) f.refuse("has bytes that are no whole number up to 4096");
    u.bytes = static_cast<std::int32_t>(bytes);
    u.latency = f.number("latency"), u.cycles = f.number("cycles");
    auto const& ports = f.at("ports");
    if (!ports.is_array() || ports.size() > 32) f.refuse("has ports that are no list of at most 32");
    for (auto const& p : ports) {
        auto const n = p.is_number_unsigned() ? p.get<std::uint64_t>() : 32;
        if (n > 31) f.refuse(format_text("has a port that is no number from 0 to 31: {}", p.dump().substr(0, 40)));
        u.ports |= std::uint32_t{1} << n;
    }
    return u;
}

} // namespace detail

GSUB_INLINE std::string to_json(measured_ports const& found) {
    io::json out{{"format", detail::port_format},
                 {"core", found.core},
                 {"machine", found.machine},
                 {"date", found.date},
                 {"made_by", found.made_by},
                 {"issue", found.issue},
                 {"accumulate_latency", found.accumulate_latency}};
    out["uses"] = io::json::array();
    for (auto const& u : found.uses) {
        auto ports = io::json::array();
        for (auto rest = u.ports; rest != 0; rest &= rest - 1) ports.push_back(std::countr_zero(rest));
        out["uses"].push_back({{"class", to_string(u.of)},
                               {"bytes", u.bytes},
                               {"latency", u.latency},
                               {"cycles", u.cycles},
                               {"ports", ports}});
    }
    return out.dump(1, ' ', false, io::json::error_handler_t::replace) + '\n';
}

GSUB_INLINE result<measured_ports> parse_ports(std::string_view text) {
    return capture([&] {
        if (text.size() > std::size_t{1} << 20)
            throw error{errors::cost_file, "measured ports: a text of more than 1 MiB"};
        auto const all = io::parse_json(text).value();
        detail::port_fields const f{all, "the file"};
        if (f.text("format") != detail::port_format)
            f.refuse(format_text("has the format {}, not {}: write it anew by `gsub calibrate --ports`",
                                 quoted{f.text("format")}, quoted{detail::port_format}));
        measured_ports out;
        out.core = f.text("core"), out.machine = f.text("machine");
        out.date = f.text("date"), out.made_by = f.text("made_by");
        out.issue = f.number("issue"), out.accumulate_latency = f.number("accumulate_latency");
        auto const& uses = f.at("uses");
        if (!uses.is_array() || uses.size() > 1000) f.refuse("has uses that are no list of at most 1000");
        for (auto const& u : uses) out.uses.push_back(detail::use_of(u, out.uses.size()));
        if (auto const wrong = measured_port_table::check(out); !wrong.empty())
            throw error{errors::cost_file, format_text("measured ports: {}", wrong)};
        return out;
    });
}

GSUB_INLINE result<measured_ports> read_ports(std::string const& path) {
    auto const text = io::read_file(path, std::uint64_t{1} << 20);
    if (!text) return text.error();
    auto found = parse_ports(*text);
    if (found) return found;
    return found.error().within(format_text("{}", quoted{path}));
}

GSUB_INLINE result<void> write_ports(std::string const& path, measured_ports const& found) {
    return io::write_file(path, to_json(found));
}

} // namespace gsub::cost
