#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/impl/graph_parser.hpp>
#include <gsub/ir/text.hpp>

#include <algorithm>
#include <optional>

namespace gsub::detail {

template <class T>
any_graph graph_parser<T>::parse() {
    in_.expect("graph");
    auto name = in_.string();
    in_.expect("{");
    auto info = parse_info();
    info.name = std::move(name);
    while (!in_.accept("return")) parse_node();
    parse_outputs(std::move(info));
    return std::move(g_);
}

template <class T>
graph_info graph_parser<T>::parse_info() {
    graph_info info;
    for (;;) {
        if (in_.accept("domain")) {
            auto domain = in_.string();
            info.domains.emplace_back(std::move(domain), in_.integer());
        } else if (in_.accept("metadata")) {
            auto key = in_.string();
            info.metadata.emplace_back(std::move(key), in_.string());
        } else if (in_.accept("function")) {
            info.functions.push_back(in_.string());
        } else if (in_.accept("foreign")) {
            auto foreign = in_.string();
            info.foreign_types.emplace_back(std::move(foreign), in_.string());
        } else {
            return info;
        }
    }
}

template <class T>
void graph_parser<T>::parse_node() {
    if (g_.size() > limits_.max_nodes) in_.fail("fewer nodes; the limit is reached");
    auto const results = parse_results();
    in_.expect("=");
    parsed_node node;
    node.row = parse_operator();
    auto const& op = g_.operators().ops[node.row];
    node.operands = parse_operands(op);
    node.attributes = parse_attributes(op);
    node.types = results.types;
    append(node);
    node_id const n{static_cast<std::uint32_t>(g_.capacity() - 1)};
    for (std::uint32_t port = 0; port < results.numbers.size(); ++port) {
        g_.set_name({n, port}, results.names[port]);
        if (!values_.emplace(results.numbers[port], value_id{n, port}).second)
            in_.fail("a value number that is not taken");
    }
    if (!in_.accept("from")) return;
    std::vector<std::string> sources;
    do sources.push_back(in_.string());
    while (in_.accept(","));
    g_.set_sources(n, sources);
}

template <class T>
void graph_parser<T>::append(parsed_node const& n) {
    auto const& op = g_.operators().ops[n.row];
    if (n.row == structural::input) {
        if (n.types.size() != 1) in_.fail("one result for an input");
        g_.add_input(n.types[0], {});
        return;
    }
    auto const payload = structural::has_blob(n.row) ? g_.add_blob(parse_blob(n)) : 0;
    if (op.results != variadic && n.types.size() != static_cast<std::size_t>(op.results))
        in_.fail(format_text("{} results for {}", op.results, op.name));
    if (n.row >= structural_rows) check_types(n);
    g_.append_node(n.row, n.attributes, payload, n.operands, n.types);
}

// The declared types must agree with inference.
template <class T>
void graph_parser<T>::check_types(parsed_node const& n) {
    auto const& op = g_.operators().ops[n.row];
    small_vector<type_id, 8> operand_types;
    for (auto v : n.operands) operand_types.push_back(v.valid() ? g_.type_of(v) : type_id{});
    infer_context cx{op, n.attributes, operand_types, n.types.size()};
    for (std::size_t i = 0; i < n.operands.size(); ++i)
        if (!n.operands[i].valid()) cx.set_absent(i);
    infer(g_.operators(), n.row, cx);
    if (cx.failed()) in_.fail(format_text("a well-typed {}: {}", op.name, cx.reason()));
    for (std::size_t port = 0; port < n.types.size(); ++port)
        if (!compatible(cx.result_type(port), *n.types[port]))
            in_.fail(format_text("type {} for result {} of {}", to_string(cx.result_type(port)), port, op.name));
}

template <class T>
void graph_parser<T>::parse_outputs(graph_info info) {
    std::vector<value_id> outputs;
    std::vector<std::string> names;
    if (!in_.next_is('}')) do {
            outputs.push_back(parse_reference());
            if (!outputs.back().valid()) in_.fail("a value");
            if (in_.next_is('"')) names.push_back(in_.string());
        } while (in_.accept(","));
    in_.expect("}");
    g_.set_info(std::move(info));
    g_.set_outputs(outputs, names);
}

// ---- parts of a line ------------------------------------------------------------------------------------------------

template <class T>
declared_results graph_parser<T>::parse_results() {
    declared_results results;
    if (in_.next_is('%')) do {
            in_.expect("%");
            results.numbers.push_back(in_.integer());
            results.names.push_back(in_.next_is('"') ? in_.string() : std::string{});
            in_.expect(":");
            results.types.emplace_back(parse_type());
        } while (in_.accept(","));
    return results;
}

template <class T>
std::uint16_t graph_parser<T>::parse_operator() {
    auto const operators = g_.operators().ops;
    std::string domain;
    if (in_.next_is('"')) {
        domain = in_.string();
        in_.expect(".");
    }
    auto const name = in_.word();
    std::optional<std::uint16_t> row;
    for (std::uint16_t r = 0; r < structural_rows && domain.empty(); ++r)
        if (operators[r].name == name) row = r;
    if (!row) row = find_row(operators, domain, name);
    if (!row)
        throw error{problem{errors::unknown_operator,
                            {},
                            std::string{name},
                            "no operator of that name",
                            "gsub ops lists the operators"}};
    if (*row == structural::results) in_.fail("an operator; `return` gives the results");
    return *row;
}

template <class T>
std::vector<value_id> graph_parser<T>::parse_operands(op_info const& op) {
    std::vector<value_id> operands;
    if (in_.accept("("))
        for (bool first = true; !in_.accept(")"); first = false) {
            if (!first) in_.expect(",");
            operands.push_back(parse_reference());
        }
    if (!op.accepts(operands.size())) in_.fail(format_text("another number of operands for {}", op.name));
    return operands;
}

// A value defined above, or nothing where an operand is left out.
template <class T>
value_id graph_parser<T>::parse_reference() {
    if (in_.accept("_")) return {};
    in_.expect("%");
    auto const found = values_.find(in_.integer());
    if (found == values_.end()) in_.fail("a value defined above");
    return found->second;
}

template <class T>
attributes_id graph_parser<T>::parse_attributes(op_info const& op) {
    auto attributes = op.layout.defaults();
    auto const infos = op.attributes();
    if (in_.accept("{"))
        for (bool first = true; !in_.accept("}"); first = false) {
            if (!first) in_.expect(",");
            auto const key = in_.word();
            std::size_t i = 0;
            while (i < infos.size() && infos[i].name != key) ++i;
            if (i == infos.size()) in_.fail(format_text("an attribute of {} instead of {}", op.name, quoted{key}));
            in_.expect("=");
            attributes[i] = parse_attribute(infos[i].kind);
        }
    return op.intern(std::move(attributes)).value();
}

template <class T>
attribute_value graph_parser<T>::parse_attribute(attribute_kind kind) {
    auto const list = [&](auto out, auto&& one) -> attribute_value {
        in_.expect("[");
        for (bool first = true; !in_.accept("]"); first = false) {
            if (!first) in_.expect(",");
            out.push_back(one());
        }
        return out;
    };
    switch (kind) {
    case attribute_kind::integer:
        return in_.integer();
    case attribute_kind::real:
        return in_.real();
    case attribute_kind::text:
        return in_.string();
    case attribute_kind::integer_list:
        return list(ints{}, [&] { return in_.integer(); });
    case attribute_kind::real_list:
        return list(reals{}, [&] { return in_.real(); });
    }
    in_.fail("an attribute");
}

template <class T>
tensor_type graph_parser<T>::parse_type() {
    tensor_type t;
    if (!in_.accept("?")) {
        auto const name = in_.word();
        auto const element = dtype_named(name);
        if (!element || *element == dtype::field61)
            in_.fail(format_text("an element type instead of {}", quoted{name}));
        t.element = *element;
    }
    in_.expect("[");
    if (in_.accept("*")) {
        in_.expect("]");
    } else {
        t.ranked = true;
        for (bool first = true; !in_.accept("]"); first = false) {
            if (!first) in_.expect(",");
            if (t.dims.size() == 64) in_.fail("at most 64 dimensions");
            if (in_.accept("?"))
                t.dims.push_back(dim{});
            else if (in_.accept("'"))
                t.dims.push_back(dim{symbol{in_.string()}});
            else {
                auto const size = in_.integer();
                if (size < 0) in_.fail("a size >= 0");
                t.dims.push_back(dim{size});
            }
        }
    }
    if (in_.accept(":")) t.layout = layout{in_.word()};
    return t;
}

// The elements of a constant, or the node of a file that an opaque one holds.
template <class T>
tensor graph_parser<T>::parse_blob(parsed_node const& n) {
    if (in_.accept("@")) in_.fail("the bytes of the constant; this text was printed without them");
    auto const raw = in_.hex_bytes();
    auto const type = n.row == structural::opaque ? tensor_type{dtype::u8, ints{static_cast<std::int64_t>(raw.size())}}
                      : n.types.size() == 1       ? *n.types[0]
                                                  : tensor_type{};
    auto const count = type.elements();
    // By division: the product of a hostile type may be anything modulo 2^64.
    if (!count || raw.size() % byte_size(type.element) != 0 ||
        raw.size() / byte_size(type.element) != static_cast<std::uint64_t>(*count))
        in_.fail("as many bytes as the type says");
    if (type.element == dtype::boolean &&
        std::any_of(raw.begin(), raw.end(), [](std::byte b) { return b > std::byte{1}; }))
        in_.fail("0 or 1 for a truth value");
    auto t = tensor::uninitialized(type.element, type.sizes());
    std::copy(raw.begin(), raw.end(), t.mutable_raw().begin());
    return t;
}

} // namespace gsub::detail
