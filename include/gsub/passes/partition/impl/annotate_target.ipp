#pragma once

#include <gsub/core/format.hpp>
#include <gsub/passes/impl/argument_list.hpp>
#include <gsub/passes/partition/annotate_target.hpp>
#include <gsub/passes/partition/impl/outline.ipp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace gsub::passes {

GSUB_LAZY_BODY result<annotate_target> annotate_target::from_text(std::string_view text) {
    annotate_target made;
    for (auto const& item : detail::words_of(text, ';')) {
        auto const colon = item.find(':');
        auto const compiler = detail::words_of(std::string_view{item}.substr(0, colon), ' ');
        if (colon == item.npos || compiler.size() != 1)
            return error{errors::pass_arguments,
                         format_text("expected `compiler: Operator Operator`, found {}", quoted{item})};
        made.compilers.push_back({compiler[0], detail::words_of(std::string_view{item}.substr(colon + 1), ' ')});
    }
    return made;
}

namespace detail {

// Marks what compilers take, function by function.
template <class = void>
class target_annotator {
public:
    target_annotator(std::span<compiler_support const> compilers, module const& m) : compilers_(compilers) {
        for (auto const& c : compilers) names_.emplace_back(c.operators.begin(), c.operators.end());
        for (auto const& f : m.functions())
            if (!f.attributes.composite_name.empty()) composites_[f.name] = f.attributes.composite_name;
    }

    // Marks the operators of a body that a compiler takes, and gives how many these are.
    std::uint64_t annotate(any_graph& g, std::uint16_t row) const {
        std::uint64_t marked = 0;
        auto annotated = rebuilt(g, [&](any_graph& out, node_id n, auto const& operands, auto& map) {
            auto const copy = clone_node(out, g, n, operands);
            map.set(g, n, copy);
            auto const* compiler = marked_already(g, n) || !g.used(n) ? nullptr : compiler_of(g, n);
            if (!compiler) return;
            ++marked;
            auto const attributes = intern<ops::compiler_annotation>({.compiler = compiler->compiler});
            for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
                if (!g.used(value_id{n, port})) continue;
                value_id const v{copy, port};
                type_id const type = g.type_of({n, port});
                map.set({n, port}, {out.append_node(row, attributes, 0, {&v, 1}, {&type, 1}), 0});
            }
        });
        if (marked > 0) g = std::move(annotated);
        return marked;
    }

private:
    [[nodiscard]] static bool marked_already(any_graph const& g, node_id n) {
        bool already = false;
        for (std::uint32_t port = 0; port < g.result_count(n); ++port)
            g.for_each_use({n, port}, [&](use u) { already |= g.is<ops::compiler_annotation>(u.user); });
        return already;
    }
    // By what name compilers know an operator, if they may take it.
    [[nodiscard]] std::optional<std::string_view> known_as(any_graph const& g, node_id n) const {
        if (g.constant(n) || g.is<ops::compiler_annotation>(n) || g.is<ops::let>(n) || g.is<ops::if_else>(n))
            return std::nullopt;
        if (g.is<ops::opaque>(n)) return g.attributes<ops::opaque>(n).op_type;
        if (!g.is<ops::call>(n)) return g.op(n).name;
        auto const made = composites_.find(g.attributes<ops::call>(n).callee);
        return made == composites_.end() ? std::nullopt : std::optional{made->second};
    }
    // The first compiler that takes an operator.
    [[nodiscard]] compiler_support const* compiler_of(any_graph const& g, node_id n) const {
        auto const name = known_as(g, n);
        if (!name) return nullptr;
        for (std::size_t i = 0; i < compilers_.size(); ++i)
            if ((names_[i].contains(*name) || names_[i].contains("*")) &&
                (!compilers_[i].takes || compilers_[i].takes(g, n)))
                return &compilers_[i];
        return nullptr;
    }

    std::span<compiler_support const> compilers_;
    std::vector<std::set<std::string_view>> names_;           // by compiler: of operators
    std::map<std::string_view, std::string_view> composites_; // by function
};

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> annotate_target::operator()(module& m, pass_context& cx) const {
    return capture([&] {
        pass_outcome outcome;
        if (compilers.empty()) outcome.skip("no compilers given");
        detail::target_annotator<> const annotator{compilers, m};
        for (auto const& f : m.functions()) {
            cx.check_stop();
            if (compilers.empty() || !f.attributes.composite_name.empty()) continue;
            if (opaque_to(pass_info::of<annotate_target>(), f)) {
                outcome.skip("opaque function");
                continue;
            }
            auto& g = m.find(f.name)->body;
            if (auto const row = find_row(g.operators().ops, id_of<ops::compiler_annotation>))
                outcome.matches += annotator.annotate(g, *row);
            else
                outcome.skip("the set of operators has no marks");
        }
        outcome.changed = outcome.matches > 0;
        return outcome;
    });
}

} // namespace gsub::passes
