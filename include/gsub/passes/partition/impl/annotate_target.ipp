#pragma once

#include <gsub/core/format.hpp>
#include <gsub/passes/eliminate/impl/remove_unused_functions.ipp>
#include <gsub/passes/partition/annotate_target.hpp>
#include <gsub/passes/partition/impl/outline.ipp>

#include <map>
#include <set>

namespace gsub::passes {

GSUB_LAZY_BODY result<annotate_target> annotate_target::from_text(std::string_view text) {
    annotate_target made;
    for (auto const& item : detail::words_of(text, ';')) {
        auto const colon = item.find(':');
        auto const compiler = detail::words_of(std::string_view{item}.substr(0, colon), ' ');
        if (colon == item.npos || compiler.size() != 1)
            return error{error_code::usage,
                         fmt::format("expected `compiler: Operator Operator`, found {}", quoted{item})};
        made.compilers.push_back({compiler[0], detail::words_of(std::string_view{item}.substr(colon + 1), ' ')});
    }
    return made;
}

GSUB_LAZY_BODY result<pass_outcome> annotate_target::operator()(module& m, pass_context& cx) const {
    return capture([&] {
        pass_outcome outcome;
        if (compilers.empty()) outcome.skip("no compilers given");
        std::vector<std::set<std::string_view>> names;
        for (auto const& c : compilers) names.emplace_back(c.operators.begin(), c.operators.end());
        std::map<std::string_view, std::string_view> composites; // by function
        for (auto const& f : m.functions())
            if (!f.attributes.composite_name.empty()) composites[f.name] = f.attributes.composite_name;
        auto const compiler_of = [&](any_graph const& g, node_id n) -> compiler_support const* {
            if (g.constant(n) || g.is<ops::compiler_annotation>(n) || g.is<ops::let>(n) || g.is<ops::if_else>(n))
                return nullptr;
            auto known_as = g.op(n).name;
            if (g.is<ops::call>(n)) {
                auto const made = composites.find(g.attributes<ops::call>(n).callee);
                if (made == composites.end()) return nullptr;
                known_as = made->second;
            } else if (g.is<ops::opaque>(n)) {
                known_as = g.attributes<ops::opaque>(n).op_type;
            }
            for (std::size_t i = 0; i < compilers.size(); ++i)
                if ((names[i].contains(known_as) || names[i].contains("*")) &&
                    (!compilers[i].takes || compilers[i].takes(g, n)))
                    return &compilers[i];
            return nullptr;
        };
        for (auto const& f : m.functions()) {
            cx.check_stop();
            if (compilers.empty() || !f.attributes.composite_name.empty()) continue;
            if (opaque_to(pass_info::of<annotate_target>(), f)) {
                outcome.skip("opaque function");
                continue;
            }
            auto& g = m.find(f.name)->body;
            auto const row = find_row(g.operators().ops, id_of<ops::compiler_annotation>);
            if (!row) {
                outcome.skip("the set of operators has no marks");
                continue;
            }
            std::uint64_t marked = 0;
            auto annotated = detail::rebuilt(g, [&](any_graph& out, node_id n, auto const& operands, auto& map) {
                auto const copy = clone_node(out, g, n, operands);
                map.set(g, n, copy);
                bool already = false;
                for (std::uint32_t port = 0; port < g.result_count(n); ++port)
                    g.for_each_use({n, port}, [&](use u) { already |= g.is<ops::compiler_annotation>(u.user); });
                auto const* compiler = already || !g.used(n) ? nullptr : compiler_of(g, n);
                if (!compiler) return;
                ++marked;
                auto const attributes = intern<ops::compiler_annotation>({.compiler = compiler->compiler});
                for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
                    if (!g.used(value_id{n, port})) continue;
                    value_id const v{copy, port};
                    type_id const type = g.type_of({n, port});
                    map.set({n, port}, {out.append_node(*row, attributes, 0, {&v, 1}, {&type, 1}), 0});
                }
            });
            if (marked == 0) continue;
            g = std::move(annotated);
            outcome.matches += marked;
            outcome.changed = true;
        }
        return outcome;
    });
}

} // namespace gsub::passes
