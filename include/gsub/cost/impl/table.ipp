#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/cost/measured.hpp>
#include <gsub/cost/table.hpp>
#include <gsub/io/file.hpp>
#include <gsub/io/json.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace gsub::cost {

namespace detail {

// Whether a text fits a pattern in which `*` stands for any characters. *Complexity* O(pattern * text).
GSUB_INLINE bool fits_pattern(std::string_view pattern, std::string_view text) noexcept {
    std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p, ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

} // namespace detail

/// Reads the lines of one table; every mistake is thrown with the place.
class table_reader {
public:
    table_reader(table& out, std::span<op_info const> operators) : out_(out), operators_(operators) {}

    void read(std::string_view text) {
        while (!text.empty()) {
            auto const end = std::min(text.find('\n'), text.size());
            ++line_;
            read_line(text.substr(0, end));
            text.remove_prefix(std::min(end + 1, text.size()));
        }
    }

private:
    [[noreturn]] void fail(std::string_view reason) const {
        throw error{problem{errors::cost_file,
                            {},
                            {},
                            format_text("{}, line {}: {}", out_.name_, line_, reason),
                            R"(a line such as {"op": "Conv", "attributes": {"group": 2}, "seconds": 1e-4})"}};
    }

    void read_line(std::string_view text) {
        if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
        auto const parsed = io::parse_json(text);
        if (!parsed) fail(parsed.error().problems()[0].reason);
        auto const& line = *parsed;
        if (!line.is_object()) fail("no JSON object");
        for (auto const& [key, value] : line.items()) {
            static_cast<void>(value);
            if (key != "op" && key != "operands" && key != "attributes" && key != "seconds" && key != "otherwise")
                fail(format_text("unknown key {}", quoted{key}));
        }
        if (line.contains("otherwise")) {
            if (line.size() > 1) fail("\"otherwise\" stands on a line of its own");
            if (out_.otherwise_) fail("a second \"otherwise\"");
            auto const& value = line["otherwise"];
            out_.otherwise_ = value == "roofline" ? -1.0 : cost_of(value, "otherwise");
            return;
        }
        table::entry e;
        auto const& op = operator_of(line);
        e.op = op.name;
        e.seconds = line.contains("seconds") ? cost_of(line["seconds"], "seconds") : (fail("no \"seconds\""), 0.0);
        if (line.contains("operands")) read_operands(line["operands"], e);
        if (line.contains("attributes")) read_attributes(line["attributes"], op, e);
        out_.entries_.push_back(std::move(e));
    }

    double cost_of(io::json const& value, std::string_view key) const {
        auto const number = value.is_number() ? value.get<double>() : -1.0;
        if (!(number >= 0) || !std::isfinite(number))
            fail(format_text("{} is {}; a cost is a finite number >= 0", quoted{key},
                             value.is_number() ? format_text("{}", value.get<double>()) : "no number"));
        return number;
    }

    op_info const& operator_of(io::json const& line) const {
        if (!line.contains("op") || !line["op"].is_string()) fail("no \"op\", or one that is no text");
        auto const name = line["op"].get<std::string>();
        for (auto const& op : operators_)
            if (op.name == name) return op;
        fail(format_text("there is no operator {}", quoted{name}));
    }

    void read_operands(io::json const& list, table::entry& e) const {
        if (!list.is_array()) fail("\"operands\" is no list");
        for (auto const& type : list) {
            if (!type.is_string()) fail("an operand is no text");
            e.operands.push_back(type.get<std::string>());
        }
    }

    void read_attributes(io::json const& object, op_info const& op, table::entry& e) const {
        if (!object.is_object()) fail("\"attributes\" is no object");
        for (auto const& [key, value] : object.items()) {
            auto const infos = op.attributes();
            std::size_t i = 0;
            while (i < infos.size() && infos[i].name != key) ++i;
            if (i == infos.size()) fail(format_text("{} has no attribute {}", op.name, quoted{key}));
            e.values.emplace_back(i, to_string(attribute(value, infos[i].kind, key)));
        }
    }

    attribute_value attribute(io::json const& value, attribute_kind kind, std::string_view key) const {
        auto const all = [&](auto&& is) { return value.is_array() && std::all_of(value.begin(), value.end(), is); };
        switch (kind) {
        case attribute_kind::integer:
            if (value.is_boolean()) return std::int64_t{value.get<bool>()};
            if (value.is_number_integer()) return value.get<std::int64_t>();
            break;
        case attribute_kind::real:
            if (value.is_number()) return value.get<double>();
            break;
        case attribute_kind::text:
            if (value.is_string()) return value.get<std::string>();
            break;
        case attribute_kind::integer_list:
            if (all([](io::json const& v) { return v.is_number_integer(); })) {
                ints list;
                for (auto const& v : value) list.push_back(v.get<std::int64_t>());
                return list;
            }
            break;
        case attribute_kind::real_list:
            if (all([](io::json const& v) { return v.is_number(); })) {
                reals list;
                for (auto const& v : value) list.push_back(v.get<double>());
                return list;
            }
            break;
        }
        fail(format_text("attribute {} has a value of another kind", quoted{key}));
    }

    table& out_;
    std::span<op_info const> operators_;
    std::size_t line_ = 0;
};

GSUB_INLINE result<table> table::parse(std::string_view text, std::string name, std::span<op_info const> operators,
                                       split_lowering splits) {
    return capture([&] {
        table out;
        out.name_ = std::move(name);
        out.splits_ = splits;
        out.parameters_ = hasher{static_cast<std::uint64_t>(splits)}.add(text).finish();
        table_reader{out, operators}.read(text);
        return out;
    });
}
GSUB_INLINE result<table> table::open(std::string const& path, std::span<op_info const> operators,
                                      split_lowering splits) {
    auto const text = io::read_file(path);
    if (!text) return text.error();
    return parse(*text, path, operators, splits);
}

GSUB_INLINE bool table::fits(entry const& e, any_graph const& g, node_id n) {
    if (e.op != g.op(n).name || e.operands.size() > g.operand_count(n)) return false;
    for (std::size_t i = 0; i < e.operands.size(); ++i) {
        auto const v = g.operand(n, i);
        if (!detail::fits_pattern(e.operands[i], v.valid() ? to_string(g.type(v)) : std::string{})) return false;
    }
    auto const values = g.attributes(n).values();
    return all_of(e.values, [&](auto const& wanted) {
        return wanted.first < values.size() && to_string(values[wanted.first]) == wanted.second;
    });
}

GSUB_INLINE table::unit table::operator()(any_graph const& g, node_id n) const {
    if (!is_executed(g, n, splits_)) return {0};
    auto const text = signature(g, n);
    auto key = format_text("{}|{}", g.op(n).name, text);
    std::lock_guard const lock{state_->mutex};
    if (auto const found = state_->known.find(key); found != state_->known.end()) return {found->second};
    auto const costed = [&](double seconds) -> unit { return {state_->known[std::move(key)] = seconds}; };
    for (auto const& e : entries_)
        if (fits(e, g, n)) return costed(e.seconds);
    if (!otherwise_)
        throw error{problem{errors::no_cost, g.display_name(n), std::string{g.op(n).name},
                            format_text("{} has no cost for {}", name_, text),
                            R"(a line for it, or {"otherwise": "roofline"})"}};
    ++state_->fallbacks;
    return costed(*otherwise_ < 0 ? roofline{.splits = splits_}(g, n).amount : *otherwise_);
}

} // namespace gsub::cost
