#pragma once

#include <gsub/core/message.hpp>
#include <gsub/report/dot.hpp>

namespace gsub::report {

namespace detail {

// Text inside of a quoted DOT string, cut to a readable length.
GSUB_INLINE std::string dot_text(std::string_view text) {
    std::string out;
    for (char c : text.substr(0, 60)) {
        auto const code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') out += '\\';
        out += code < 32 || code == 127 ? '?' : c;
    }
    return text.size() > 60 ? out + "..." : out;
}

} // namespace detail

GSUB_INLINE std::string to_dot(any_graph const& g) {
    std::string out = "digraph gsub {\n  rankdir=TB;\n  node [shape=box, fontname=\"Helvetica\", fontsize=10];\n  edge "
                      "[fontname=\"Helvetica\", fontsize=8];\n";
    for (auto n : g.order()) {
        if (g.is<ops::constant>(n)) continue;
        auto const results = n == g.results_node();
        auto const name = g.is<ops::opaque>(n) ? g.attributes<ops::opaque>(n).op_type
                          : results            ? std::string{"outputs"}
                                               : std::string{g.op(n).name};
        auto const label = results ? name
                                   : message({name, "\\n", detail::dot_text(g.display_name(n)), "\\n",
                                              g.result_count(n) > 0 ? to_string(g.type({n, 0})) : ""});
        out += message({"  n", n.index, " [label=\"", label, "\"",
                        g.constant(n)                    ? ", style=dashed"
                        : g.is<ops::input>(n) || results ? ", style=rounded"
                                                         : "",
                        "];\n"});
        for (auto v : g.operands(n))
            if (v.valid() && !g.is<ops::constant>(v.node))
                out += message({"  n", v.node.index, " -> n", n.index, " [label=\"",
                                g.result_count(v.node) > 1 ? message({"port ", v.port}) : std::string{}, "\"];\n"});
    }
    return out + "}\n";
}

} // namespace gsub::report
