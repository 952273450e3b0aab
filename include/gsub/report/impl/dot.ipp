#pragma once

#include <gsub/core/format.hpp>
#include <gsub/report/dot.hpp>
#include <gsub/report/escape.hpp>

namespace gsub::report {

namespace detail {

// Text inside of a quoted DOT string, cut to a readable length. What is no character becomes `?`.
GSUB_LAZY std::string dot_text(std::string_view text) {
    std::string out;
    std::size_t at = 0;
    while (at < text.size() && at < 60) {
        auto const length = utf8_length(text.substr(at));
        auto const c = static_cast<unsigned char>(text[at]);
        if (length == 0 || c < 32 || c == 127) {
            out += '?', ++at;
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += text.substr(at, length);
        at += length;
    }
    return at < text.size() ? out + "..." : out;
}

} // namespace detail

GSUB_LAZY_BODY std::string to_dot(any_graph const& g) {
    std::string out = "digraph gsub {\n  rankdir=TB;\n  node [shape=box, fontname=\"Helvetica\", fontsize=10];\n  edge "
                      "[fontname=\"Helvetica\", fontsize=8];\n";
    for (auto n : g.order()) {
        if (g.is<ops::constant>(n)) continue;
        auto const results = n == g.return_node();
        auto const name = g.is<ops::opaque>(n) ? detail::dot_text(g.attributes<ops::opaque>(n).op_type)
                          : results            ? std::string{"outputs"}
                                               : std::string{g.op(n).name};
        auto const label = results
                               ? name
                               : format_text("{}\\n{}\\n{}", name, detail::dot_text(g.display_name(n)),
                                             g.result_count(n) > 0 ? detail::dot_text(to_string(g.type({n, 0}))) : "");
        out += format_text("  n{} [label=\"{}\"{}];\n", n.index, label,
                           g.constant(n)                    ? ", style=dashed"
                           : g.is<ops::input>(n) || results ? ", style=rounded"
                                                            : "");
        for (auto v : g.operands(n))
            if (v.valid() && !g.is<ops::constant>(v.node))
                out += format_text("  n{} -> n{} [label=\"{}\"];\n", v.node.index, n.index,
                                   g.result_count(v.node) > 1 ? format_text("port {}", v.port) : std::string{});
    }
    return out + "}\n";
}

} // namespace gsub::report
