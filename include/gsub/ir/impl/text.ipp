#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/ir/text.hpp>

#include <charconv>
#include <map>

namespace gsub {

namespace detail {

// ---- printing
// --------------------------------------------------------------------------------------------------------

// As to_string(type), with named dimensions quoted: a name may be any text.
GSUB_LAZY std::string type_text(tensor_type const& t) {
    std::string text = std::string{to_string(t.element)} + (t.ranked ? "[" : "[*");
    for (std::size_t i = 0; i < t.dims.size(); ++i)
        text += t.dims[i].named() ? fmt::format("{}{}", i ? ",'" : "'", quoted{t.dims[i].name().text()})
                                  : fmt::format("{}{}", i ? "," : "", to_string(t.dims[i]));
    return text + (t.layout.empty() ? "]" : fmt::format("]:{}", t.layout.text()));
}

GSUB_LAZY void print_graph(std::string& out, any_graph const& g, text_options const& options) {
    auto const emit = [&]<class... T>(fmt::format_string<T...> form, T&&... of) {
        out += fmt::format(form, std::forward<T>(of)...);
    };
    std::map<value_id, std::size_t> numbers;
    auto const reference = [&](value_id v) { return v.valid() ? fmt::format("%{}", numbers.at(v)) : std::string{"_"}; };
    for (auto n : g.order()) {
        if (n == g.return_node()) continue;
        out += "  ";
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            auto const number = numbers.size();
            numbers[{n, port}] = number;
            emit("{}%{}", port ? ", " : "", number);
            if (auto const name = g.name({n, port}); !name.empty()) emit(" {}", in_quotes(name));
            emit(": {}", type_text(g.type({n, port})));
        }
        emit("{}= ", g.result_count(n) ? " " : "");
        auto const& op = g.op(n);
        if (!op.domain.empty() && op.category != op_category::structural && !g.is<ops::opaque>(n))
            emit("{}.", in_quotes(op.domain));
        emit("{}", op.name);
        if (g.operand_count(n) > 0 || op.category != op_category::structural) {
            emit("(");
            auto const operands = g.operands(n);
            for (std::size_t i = 0; i < operands.size(); ++i) emit("{}{}", i ? ", " : "", reference(operands[i]));
            emit(")");
        }
        auto const values = g.attributes(n).values();
        auto const defaults = op.layout.defaults();
        auto const infos = op.attributes();
        bool any = false;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (same_bits(values[i], defaults[i])) continue;
            emit("{}{} = {}", any ? ", " : " {", infos[i].name, to_string(values[i]));
            any = true;
        }
        if (any) emit("}}");
        if (g.is<ops::constant>(n) || g.is<ops::opaque>(n)) {
            auto const& t = g.constant_data(n);
            if (static_cast<std::size_t>(t.elements()) > options.max_constant_elements) {
                emit(" @{}", to_string(g.blob(n)->hash()));
            } else {
                emit(" 0x");
                for (auto b : t.raw()) {
                    out += "0123456789abcdef"[std::to_integer<unsigned>(b) >> 4];
                    out += "0123456789abcdef"[std::to_integer<unsigned>(b) & 15];
                }
            }
        }
        if (auto const sources = g.sources(n); !sources.empty()) {
            emit(" from");
            for (std::size_t i = 0; i < sources.size(); ++i) emit("{} {}", i ? "," : "", in_quotes(sources[i]));
        }
        emit("\n");
    }
    emit("  return");
    for (std::size_t i = 0; i < g.output_count(); ++i) {
        emit("{} {}", i ? "," : "", reference(g.output(i)));
        if (i < g.info().output_names.size()) emit(" {}", in_quotes(g.info().output_names[i]));
    }
    emit("\n");
}

GSUB_LAZY void print_info(std::string& out, graph_info const& info) {
    for (auto const& [domain, version] : info.domains) out += fmt::format("  domain {} {}\n", quoted{domain}, version);
    for (auto const& [key, value] : info.metadata) out += fmt::format("  metadata {} {}\n", quoted{key}, quoted{value});
    for (auto const& f : info.functions) out += fmt::format("  function {}\n", quoted{f});
    for (auto const& [name, type] : info.foreign_types)
        out += fmt::format("  foreign {} {}\n", quoted{name}, quoted{type});
}

// ---- parsing
// ---------------------------------------------------------------------------------------------------------

/// Reads tokens from text that may be anything. All errors are thrown with the line.
template <class = void>
class text_reader {
public:
    explicit text_reader(std::string_view text) : text_(text) {}

    [[noreturn]] void fail(std::string_view expected) const {
        auto const rest = text_.substr(at_, std::min<std::size_t>(text_.find('\n', at_) - at_, 30));
        throw error{problem{error_code::invalid_input,
                            {},
                            {},
                            fmt::format("line {}: expected {}, found {}", line_, expected,
                                        at_ < text_.size() ? in_quotes(rest) : "the end"),
                            {}}};
    }
    [[nodiscard]] bool done() { return skip_space(), at_ == text_.size(); }
    /// Takes a piece of punctuation or a word if it comes next.
    bool accept(std::string_view token) {
        skip_space();
        if (!text_.substr(at_).starts_with(token)) return false;
        auto const end = at_ + token.size();
        if (is_word(token.back()) && end < text_.size() && is_word(text_[end])) return false;
        at_ = end;
        return true;
    }
    void expect(std::string_view token) {
        if (!accept(token)) fail(in_quotes(token));
    }
    std::string_view word() {
        skip_space();
        auto const start = at_;
        while (at_ < text_.size() && is_word(text_[at_])) ++at_;
        if (at_ == start) fail("a word");
        return text_.substr(start, at_ - start);
    }
    std::int64_t integer() {
        skip_space();
        std::int64_t value = 0;
        auto const [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (code != std::errc{}) fail("an integer");
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }
    double real() {
        skip_space();
        double value = 0;
        auto const [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (code != std::errc{}) fail("a number");
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }
    std::string string() {
        expect("\"");
        std::string out;
        for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\n') fail("a closing quote");
            if (text_[at_] != '\\') {
                out += text_[at_];
                continue;
            }
            if (++at_ == text_.size()) break;
            if (text_[at_] != 'x') {
                out += text_[at_];
                continue;
            }
            auto const high = hex_digit(1), low = hex_digit(2);
            out += static_cast<char>(high << 4 | low);
            at_ += 2;
        }
        if (at_ == text_.size()) fail("a closing quote");
        ++at_;
        return out;
    }
    /// `0x` and pairs of hexadecimal digits up to the next other character.
    std::vector<std::byte> hex_bytes() {
        std::vector<std::byte> out;
        skip_space();
        if (!text_.substr(at_).starts_with("0x")) fail("0x");
        at_ += 2;
        while (at_ + 1 < text_.size() && hex_value(text_[at_]) >= 0) {
            out.push_back(static_cast<std::byte>(hex_digit(0) << 4 | hex_digit(1)));
            at_ += 2;
        }
        return out;
    }
    [[nodiscard]] bool next_is(char c) { return skip_space(), at_ < text_.size() && text_[at_] == c; }

private:
    static bool is_word(char c) noexcept {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }
    static int hex_value(char c) noexcept {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
    }
    unsigned hex_digit(std::size_t ahead) const {
        auto const v = at_ + ahead < text_.size() ? hex_value(text_[at_ + ahead]) : -1;
        if (v < 0) fail("two hexadecimal digits");
        return static_cast<unsigned>(v);
    }
    void skip_space() {
        for (; at_ < text_.size(); ++at_) {
            auto const c = text_[at_];
            if (c == '#') {
                while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
            } else if (c == '\n') {
                ++line_;
            } else if (c != ' ' && c != '\t' && c != '\r') {
                return;
            }
        }
    }
    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
};

GSUB_LAZY tensor_type parse_type(text_reader<>& in) {
    tensor_type t;
    if (!in.accept("?")) {
        auto const name = in.word();
        auto const element = dtype_named(name);
        if (!element || *element == dtype::field61) in.fail(fmt::format("an element type instead of {}", quoted{name}));
        t.element = *element;
    }
    in.expect("[");
    if (in.accept("*")) {
        in.expect("]");
    } else {
        t.ranked = true;
        for (bool first = true; !in.accept("]"); first = false) {
            if (!first) in.expect(",");
            if (t.dims.size() == 64) in.fail("at most 64 dimensions");
            if (in.accept("?"))
                t.dims.push_back(dim{});
            else if (in.accept("'"))
                t.dims.push_back(dim{symbol{in.string()}});
            else {
                auto const size = in.integer();
                if (size < 0) in.fail("a size >= 0");
                t.dims.push_back(dim{size});
            }
        }
    }
    if (in.accept(":")) t.layout = layout{in.word()};
    return t;
}

GSUB_LAZY attribute_value parse_attribute(text_reader<>& in, attribute_kind kind) {
    auto const list = [&](auto out, auto&& one) -> attribute_value {
        in.expect("[");
        for (bool first = true; !in.accept("]"); first = false) {
            if (!first) in.expect(",");
            out.push_back(one());
        }
        return out;
    };
    switch (kind) {
    case attribute_kind::integer:
        return in.integer();
    case attribute_kind::real:
        return in.real();
    case attribute_kind::text:
        return in.string();
    case attribute_kind::integer_list:
        return list(ints{}, [&] { return in.integer(); });
    case attribute_kind::real_list:
        return list(reals{}, [&] { return in.real(); });
    }
    in.fail("an attribute");
}

GSUB_LAZY any_graph parse_body(text_reader<>& in, dialect const& d, text_limits const& limits) {
    any_graph g{d};
    graph_info info;
    std::map<std::int64_t, value_id> values;
    auto const reference = [&]() -> value_id {
        if (in.accept("_")) return {};
        in.expect("%");
        auto const found = values.find(in.integer());
        if (found == values.end()) in.fail("a value defined above");
        return found->second;
    };
    in.expect("{");
    for (;;) {
        if (in.accept("domain")) {
            auto domain = in.string();
            info.domains.emplace_back(std::move(domain), in.integer());
        } else if (in.accept("metadata")) {
            auto key = in.string();
            info.metadata.emplace_back(std::move(key), in.string());
        } else if (in.accept("function")) {
            info.functions.push_back(in.string());
        } else if (in.accept("foreign")) {
            auto foreign = in.string();
            info.foreign_types.emplace_back(std::move(foreign), in.string());
        } else {
            break;
        }
    }
    while (!in.accept("return")) {
        if (g.size() > limits.max_nodes) in.fail("fewer nodes; the limit is reached");
        std::vector<std::int64_t> numbers;
        std::vector<std::string> names;
        std::vector<type_id> types;
        if (in.next_is('%')) do {
                in.expect("%");
                numbers.push_back(in.integer());
                names.push_back(in.next_is('"') ? in.string() : std::string{});
                in.expect(":");
                types.emplace_back(parse_type(in));
            } while (in.accept(","));
        in.expect("=");
        std::string domain;
        if (in.next_is('"')) {
            domain = in.string();
            in.expect(".");
        }
        auto const name = in.word();
        std::optional<std::uint16_t> row;
        for (std::uint16_t r = 0; r < structural_rows && domain.empty(); ++r)
            if (d.ops[r].name == name) row = r;
        if (!row) row = find_row(d.ops, domain, name);
        if (!row)
            throw error{problem{error_code::unsupported,
                                {},
                                std::string{name},
                                "no operator of that name",
                                "gsub ops lists the operators"}};
        auto const& op = d.ops[*row];
        if (*row == structural::results) in.fail("an operator; `return` gives the results");
        std::vector<value_id> operands;
        if (in.accept("("))
            for (bool first = true; !in.accept(")"); first = false) {
                if (!first) in.expect(",");
                operands.push_back(reference());
            }
        if (!op.accepts(operands.size())) in.fail(fmt::format("another number of operands for {}", op.name));
        auto attributes = op.layout.defaults();
        auto const infos = op.attributes();
        if (in.accept("{"))
            for (bool first = true; !in.accept("}"); first = false) {
                if (!first) in.expect(",");
                auto const key = in.word();
                std::size_t i = 0;
                while (i < infos.size() && infos[i].name != key) ++i;
                if (i == infos.size()) in.fail(fmt::format("an attribute of {} instead of {}", op.name, quoted{key}));
                in.expect("=");
                attributes[i] = parse_attribute(in, infos[i].kind);
            }
        auto const interned = op.intern(std::move(attributes)).value();
        std::uint32_t payload = 0;
        if (*row == structural::input) {
            if (types.size() != 1) in.fail("one result for an input");
            g.add_input(types[0], {});
        } else {
            if (structural::has_blob(*row)) {
                if (in.accept("@")) in.fail("the bytes of the constant; this text was printed without them");
                auto const raw = in.hex_bytes();
                auto const type = *row == structural::opaque
                                      ? tensor_type{dtype::u8, ints{static_cast<std::int64_t>(raw.size())}}
                                  : types.size() == 1 ? *types[0]
                                                      : tensor_type{};
                auto const count = type.elements();
                // By division: the product of a hostile type may be anything modulo 2^64.
                if (!count || raw.size() % byte_size(type.element) != 0 ||
                    raw.size() / byte_size(type.element) != static_cast<std::uint64_t>(*count))
                    in.fail("as many bytes as the type says");
                if (type.element == dtype::boolean &&
                    std::any_of(raw.begin(), raw.end(), [](std::byte b) { return b > std::byte{1}; }))
                    in.fail("0 or 1 for a truth value");
                auto t = tensor::uninitialized(type.element, type.sizes());
                std::copy(raw.begin(), raw.end(), t.mutable_raw().begin());
                payload = g.add_blob(std::move(t));
            }
            if (op.results != variadic && types.size() != static_cast<std::size_t>(op.results))
                in.fail(fmt::format("{} results for {}", op.results, op.name));
            if (*row >= structural_rows) { // the declared types must agree with inference
                small_vector<type_id, 8> operand_types;
                for (auto v : operands) operand_types.push_back(v.valid() ? g.type_of(v) : type_id{});
                infer_context cx{op, interned, operand_types, types.size()};
                for (std::size_t i = 0; i < operands.size(); ++i)
                    if (!operands[i].valid()) cx.set_absent(i);
                infer(d, *row, cx);
                if (cx.failed()) in.fail(fmt::format("a well-typed {}: {}", op.name, cx.reason()));
                for (std::size_t port = 0; port < types.size(); ++port)
                    if (!compatible(cx.result_type(port), *types[port]))
                        in.fail(
                            fmt::format("type {} for result {} of {}", to_string(cx.result_type(port)), port, op.name));
            }
            g.append_node(*row, interned, payload, operands, types);
        }
        node_id const n{static_cast<std::uint32_t>(g.capacity() - 1)};
        for (std::uint32_t port = 0; port < numbers.size(); ++port) {
            g.set_name({n, port}, names[port]);
            if (!values.emplace(numbers[port], value_id{n, port}).second) in.fail("a value number that is not taken");
        }
        if (in.accept("from")) {
            std::vector<std::string> sources;
            do sources.push_back(in.string());
            while (in.accept(","));
            g.set_sources(n, sources);
        }
    }
    std::vector<value_id> outputs;
    std::vector<std::string> output_names;
    if (!in.next_is('}')) do {
            outputs.push_back(reference());
            if (!outputs.back().valid()) in.fail("a value");
            if (in.next_is('"')) output_names.push_back(in.string());
        } while (in.accept(","));
    in.expect("}");
    g.set_info(std::move(info));
    g.set_outputs(outputs, output_names);
    return g;
}

} // namespace detail

GSUB_LAZY_BODY std::string to_text(any_graph const& g, text_options const& options) {
    auto out = fmt::format("graph {} {{\n", quoted{g.info().name});
    detail::print_info(out, g.info());
    detail::print_graph(out, g, options);
    return out + "}\n";
}

GSUB_LAZY_BODY std::string to_text(module const& m, text_options const& options) {
    std::string out = "module {\n";
    for (auto const& entry : m.entry_points()) out += fmt::format("entry {}\n", quoted{entry});
    for (auto const& f : m.functions()) {
        out += fmt::format("function {}", quoted{f.name});
        if (f.attributes.primitive) out += " primitive";
        if (!f.attributes.composite_name.empty())
            out += fmt::format(" composite {}", quoted{f.attributes.composite_name});
        if (!f.attributes.compiler.empty()) out += fmt::format(" compiler {}", quoted{f.attributes.compiler});
        if (!f.attributes.symbol.empty()) out += fmt::format(" symbol {}", quoted{f.attributes.symbol});
        out += fmt::format("\n{}", to_text(f.body, options));
    }
    return out + "}\n";
}

GSUB_LAZY_BODY result<any_graph> parse_graph(std::string_view text, dialect const& d, text_limits const& limits) {
    return capture([&] {
        if (text.size() > limits.max_bytes)
            throw error{error_code::unsupported,
                        fmt::format("text of {} bytes; the limit is {}", text.size(), limits.max_bytes)};
        detail::text_reader in{text};
        in.expect("graph");
        auto name = in.string();
        auto g = detail::parse_body(in, d, limits);
        if (!in.done()) in.fail("the end");
        auto info = g.info();
        info.name = std::move(name);
        g.set_info(std::move(info));
        return g;
    });
}

GSUB_LAZY_BODY result<module> parse_module(std::string_view text, dialect const& d, text_limits const& limits) {
    return capture([&] {
        if (text.size() > limits.max_bytes)
            throw error{error_code::unsupported,
                        fmt::format("text of {} bytes; the limit is {}", text.size(), limits.max_bytes)};
        detail::text_reader in{text};
        module m;
        std::vector<std::string> entries;
        in.expect("module");
        in.expect("{");
        while (in.accept("entry")) entries.push_back(in.string());
        while (in.accept("function")) {
            auto name = in.string();
            function_attributes attributes;
            for (;;) {
                if (in.accept("primitive"))
                    attributes.primitive = true;
                else if (in.accept("composite"))
                    attributes.composite_name = in.string();
                else if (in.accept("compiler"))
                    attributes.compiler = in.string();
                else if (in.accept("symbol"))
                    attributes.symbol = in.string();
                else
                    break;
            }
            in.expect("graph");
            auto graph_name = in.string();
            auto g = detail::parse_body(in, d, limits);
            auto info = g.info();
            info.name = std::move(graph_name);
            g.set_info(std::move(info));
            m.add(std::move(name), std::move(g), std::move(attributes));
        }
        in.expect("}");
        if (!in.done()) in.fail("the end");
        m.set_entry_points(std::move(entries));
        return m;
    });
}

} // namespace gsub
