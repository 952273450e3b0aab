#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/passes/annotate/annotate_spans.hpp>

#include <algorithm>

namespace gsub::passes {

namespace detail {

GSUB_LAZY bool is_span(std::string_view source) {
    constexpr std::string_view prefix = "text:";
    return source.starts_with(prefix) && source.size() > prefix.size() &&
           source.find_first_not_of("0123456789:", prefix.size()) == source.npos;
}

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> annotate_spans::operator()(module& m, pass_context& cx) const {
    pass_outcome outcome;
    auto const text = to_text(m, {.max_constant_elements = 0});
    std::size_t at = 0, line = 0;
    // Nodes are the lines that begin with their results, or with `=` where they have none, in the order of the module.
    auto const next_node = [&] {
        for (;;) {
            auto const start = at;
            at = std::min(text.find('\n', at), text.size() - 1) + 1;
            ++line;
            auto const begins = std::string_view{text}.substr(start, 3);
            if (begins == "  %" || begins == "  =") return;
        }
    };
    for (auto const& f : m.functions()) {
        cx.check_stop();
        auto& body = m.find(f.name)->body;
        for (auto n : body.order()) {
            if (n == body.return_node()) continue;
            next_node();
            auto span = format_text("text:{}:3", static_cast<unsigned long long>(line));
            auto const before = body.sources(n);
            auto sources = before;
            std::erase_if(sources, [](std::string const& s) { return detail::is_span(s); });
            sources.push_back(std::move(span));
            if (sources == before) continue;
            body.set_sources(n, sources);
            ++outcome.matches;
            outcome.changed = true;
        }
    }
    return outcome;
}

} // namespace gsub::passes
