#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/impl/graph_printer.hpp>
#include <gsub/ir/text.hpp>

namespace gsub::detail {

template <class T>
std::string graph_printer<T>::print() {
    out_ = format_text("graph {} {{\n", quoted{g_.info().name});
    print_info();
    for (auto n : g_.order())
        if (n != g_.return_node()) print_node(n);
    print_return();
    return std::move(out_) + "}\n";
}

template <class T>
void graph_printer<T>::print_info() {
    for (auto const& [domain, version] : g_.info().domains)
        out_ += format_text("  domain {} {}\n", quoted{domain}, version);
    for (auto const& [key, value] : g_.info().metadata)
        out_ += format_text("  metadata {} {}\n", quoted{key}, quoted{value});
    for (auto const& f : g_.info().functions) out_ += format_text("  function {}\n", quoted{f});
    for (auto const& [name, type] : g_.info().foreign_types)
        out_ += format_text("  foreign {} {}\n", quoted{name}, quoted{type});
}

template <class T>
void graph_printer<T>::print_node(node_id n) {
    out_ += "  ";
    print_results(n);
    print_operator(n);
    print_attributes(n);
    if (g_.is<ops::constant>(n) || g_.is<ops::opaque>(n)) print_blob(n);
    print_sources(n);
    out_ += '\n';
}

template <class T>
void graph_printer<T>::print_return() {
    auto const& names = g_.info().output_names;
    out_ += "  return";
    for (std::size_t i = 0; i < g_.output_count(); ++i) {
        out_ += format_text("{} {}", i ? "," : "", reference(g_.output(i)));
        if (i < names.size()) out_ += format_text(" {}", in_quotes(names[i]));
    }
    out_ += '\n';
}

// ---- parts of a line ------------------------------------------------------------------------------------------------

template <class T>
void graph_printer<T>::print_results(node_id n) {
    for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
        auto const number = numbers_.size();
        numbers_[{n, port}] = number;
        out_ += format_text("{}%{}", port ? ", " : "", number);
        if (auto const name = g_.name({n, port}); !name.empty()) out_ += format_text(" {}", in_quotes(name));
        out_ += format_text(": {}", type_text(g_.type({n, port})));
    }
    out_ += g_.result_count(n) ? " = " : "= ";
}

template <class T>
void graph_printer<T>::print_operator(node_id n) {
    auto const& op = g_.op(n);
    auto const structural = op.category == op_category::structural;
    if (!op.domain.empty() && !structural && !g_.is<ops::opaque>(n)) out_ += format_text("{}.", in_quotes(op.domain));
    out_ += op.name;
    if (g_.operand_count(n) == 0 && structural) return;
    auto const operands = g_.operands(n);
    out_ += '(';
    for (std::size_t i = 0; i < operands.size(); ++i) out_ += (i ? ", " : "") + reference(operands[i]);
    out_ += ')';
}

template <class T>
void graph_printer<T>::print_attributes(node_id n) {
    auto const& op = g_.op(n);
    auto const values = g_.attributes(n).values();
    auto const defaults = op.layout.defaults();
    auto const infos = op.attributes();
    bool any = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (same_bits(values[i], defaults[i])) continue;
        out_ += format_text("{}{} = {}", any ? ", " : " {", infos[i].name, to_string(values[i]));
        any = true;
    }
    if (any) out_ += '}';
}

template <class T>
void graph_printer<T>::print_blob(node_id n) {
    auto const& t = g_.constant_data(n);
    if (static_cast<std::size_t>(t.elements()) > options_.max_constant_elements) {
        out_ += format_text(" @{}", to_string(g_.blob(n)->hash()));
        return;
    }
    out_ += " 0x";
    for (auto b : t.raw()) {
        out_ += "0123456789abcdef"[std::to_integer<unsigned>(b) >> 4];
        out_ += "0123456789abcdef"[std::to_integer<unsigned>(b) & 15];
    }
}

template <class T>
void graph_printer<T>::print_sources(node_id n) {
    auto const sources = g_.sources(n);
    for (std::size_t i = 0; i < sources.size(); ++i)
        out_ += format_text("{} {}", i ? "," : " from", in_quotes(sources[i]));
}

template <class T>
std::string graph_printer<T>::reference(value_id v) const {
    return v.valid() ? format_text("%{}", numbers_.at(v)) : std::string{"_"};
}

// As to_string(type), with named dimensions quoted: a name may be any text.
template <class T>
std::string graph_printer<T>::type_text(tensor_type const& t) {
    std::string text = std::string{to_string(t.element)} + (t.ranked ? "[" : "[*");
    for (std::size_t i = 0; i < t.dims.size(); ++i)
        text += t.dims[i].named() ? format_text("{}{}", i ? ",'" : "'", quoted{t.dims[i].name().text()})
                                  : format_text("{}{}", i ? "," : "", to_string(t.dims[i]));
    return text + (t.layout.empty() ? "]" : format_text("]:{}", t.layout.text()));
}

} // namespace gsub::detail
