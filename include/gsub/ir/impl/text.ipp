#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/impl/graph_parser.hpp>
#include <gsub/ir/impl/graph_printer.hpp>
#include <gsub/ir/text.hpp>

namespace gsub {

GSUB_LAZY_BODY std::string to_text(any_graph const& g, text_options const& options) {
    return detail::graph_printer<>{g, options}.print();
}

GSUB_LAZY_BODY std::string to_text(module const& m, text_options const& options) {
    std::string out = "module {\n";
    for (auto const& entry : m.entry_points()) out += format_text("entry {}\n", quoted{entry});
    for (auto const& f : m.functions()) {
        out += format_text("function {}", quoted{f.name});
        if (f.attributes.primitive) out += " primitive";
        if (!f.attributes.composite_name.empty())
            out += format_text(" composite {}", quoted{f.attributes.composite_name});
        if (!f.attributes.compiler.empty()) out += format_text(" compiler {}", quoted{f.attributes.compiler});
        if (!f.attributes.symbol.empty()) out += format_text(" symbol {}", quoted{f.attributes.symbol});
        out += format_text("\n{}", to_text(f.body, options));
    }
    return out + "}\n";
}

namespace detail {

GSUB_LAZY void check_size(std::string_view text, text_limits const& limits) {
    if (text.size() > limits.max_bytes)
        throw error{errors::file_limit,
                    format_text("text of {} bytes; the limit is {}", text.size(), limits.max_bytes)};
}

GSUB_LAZY function_attributes parse_function_attributes(text_reader<>& in) {
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
            return attributes;
    }
}

} // namespace detail

GSUB_LAZY_BODY result<any_graph> parse_graph(std::string_view text, dialect const& d, text_limits const& limits) {
    return capture([&] {
        detail::check_size(text, limits);
        detail::text_reader in{text};
        auto g = detail::graph_parser<>{in, d, limits}.parse();
        if (!in.done()) in.fail("the end");
        return g;
    });
}

GSUB_LAZY_BODY result<module> parse_module(std::string_view text, dialect const& d, text_limits const& limits) {
    return capture([&] {
        detail::check_size(text, limits);
        detail::text_reader in{text};
        module m;
        std::vector<std::string> entries;
        in.expect("module");
        in.expect("{");
        while (in.accept("entry")) entries.push_back(in.string());
        while (in.accept("function")) {
            auto name = in.string();
            auto attributes = detail::parse_function_attributes(in);
            m.add(std::move(name), detail::graph_parser<>{in, d, limits}.parse(), std::move(attributes));
        }
        in.expect("}");
        if (!in.done()) in.fail("the end");
        m.set_entry_points(std::move(entries));
        return m;
    });
}

} // namespace gsub
