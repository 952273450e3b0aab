#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/passes/impl/pass_steps.hpp>
#include <gsub/passes/partition/impl/merge_compiler_regions.ipp>
#include <gsub/passes/partition/outline.hpp>
#include <gsub/passes/partition/partition_graph.hpp>

#include <limits>
#include <map>
#include <tuple>

namespace gsub::passes {

namespace detail {

// The parts that the marks of one function's body name.
template <class = void>
class marked_parts {
public:
    marked_parts(any_graph& g, std::string_view function, pass_outcome& outcome) : g_(g), part_(g.capacity(), none) {
        find_parts(function, outcome);
        outcome.matches += gone_.size();
        drop_circles(outcome);
        drop_marks();
    }
    [[nodiscard]] std::vector<outlined_part> const& parts() const noexcept { return parts_; }
    [[nodiscard]] std::vector<node_id> const& marks() const noexcept { return gone_; }

private:
    static constexpr std::uint32_t none = 0xffffffffu;

    void find_parts(std::string_view function, pass_outcome& outcome) {
        auto const results = g_.return_node();
        auto const needed = upstream(g_, {&results, 1});
        std::map<std::tuple<std::string_view, std::int64_t, std::uint32_t>, std::uint32_t> known;
        for (auto n : g_.order()) {
            if (!g_.is<ops::compiler_annotation>(n)) continue;
            auto const of = behind_marks(g_, {n, 0}).node;
            auto const& says = what_mark_says(g_, n);
            if (says.compiler == "default" || g_.constant(of) || g_.is<ops::input>(of)) {
                if (says.compiler != "default") outcome.skip("a mark of no operator");
                gone_.push_back(n);
                continue;
            }
            if (!needed[of.index]) {
                outcome.skip("no output needs it");
                gone_.push_back(n);
                continue;
            }
            marks_.push_back(n);
            if (part_[of.index] != none) continue;
            auto const alone = says.region < 0;
            auto const [at, fresh] =
                known.try_emplace({says.compiler, alone ? -1 : says.region, alone ? of.index : none},
                                  static_cast<std::uint32_t>(parts_.size()));
            if (fresh)
                parts_.push_back({{},
                                  format_text("{}_{}", identifier_of(says.compiler), identifier_of(function)),
                                  {.primitive = true, .compiler = says.compiler}});
            part_[of.index] = at->second;
            parts_[at->second].nodes.push_back(of);
        }
    }

    // Parts that stand in a circle with others, or between circles, stay as they are.
    void drop_circles(pass_outcome& outcome) {
        unit_graph units{g_};
        for (auto const& p : parts_)
            for (auto n : p.nodes) units.join(p.nodes.front(), n);
        std::vector<std::vector<node_id>> members;
        std::vector<bool> free(g_.capacity(), false);
        for (bool const backwards : {false, true})
            for (auto u : units.sorted(members, backwards)) free[u] = true;
        std::vector<outlined_part> kept;
        std::vector<std::uint32_t> places(parts_.size(), none);
        for (std::uint32_t i = 0; i < parts_.size(); ++i) {
            if (!free[units.unit(parts_[i].nodes.front())]) {
                outcome.skip("a part would need its own results");
                continue;
            }
            places[i] = static_cast<std::uint32_t>(kept.size());
            kept.push_back(std::move(parts_[i]));
        }
        parts_ = std::move(kept);
        for (auto& p : part_)
            if (p != none) p = places[p];
    }

    // Readers of a mark read what it stands for, where its part becomes a function.
    void drop_marks() {
        for (auto n : marks_)
            if (part_[behind_marks(g_, {n, 0}).node.index] != none) gone_.push_back(n);
        for (auto n : gone_)
            if (g_.used(n)) g_.replace_uses({n, 0}, g_.operand(n, 0));
    }

    any_graph& g_;
    std::vector<std::uint32_t> part_;   // of each operator, by node id
    std::vector<node_id> marks_, gone_; // those of parts; those that go
    std::vector<outlined_part> parts_;
};

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> partition_graph::operator()(module& m, pass_context& cx) const {
    return capture([&] {
        pass_outcome outcome;
        outliner make_functions{m};
        for (auto const& function_name : detail::functions_seen(pass_info::of<partition_graph>(), m, outcome)) {
            cx.check_stop();
            auto& body = m.find(function_name)->body;
            detail::marked_parts const marked{body, function_name, outcome};
            if (marked.marks().empty()) continue;
            outcome.changed = true;
            outcome.matches += marked.parts().size();
            for (auto const& made : make_functions(
                     function_name, marked.parts(),
                     {.copied_elements = std::numeric_limits<std::int64_t>::max(), .left_out = marked.marks()}))
                m.find(made)->attributes.symbol = made;
        }
        return outcome;
    });
}

} // namespace gsub::passes
