#pragma once

#include <gsub/core/message.hpp>
#include <gsub/ir/ops_tensor.hpp>
#include <gsub/passes/layout.hpp>

#include <map>
#include <utility>

namespace gsub::passes::detail {

// Writes a graph anew, each value in the layout that was chosen for it.
template <class = void>
class layout_change {
public:
    using hook_ref = function_ref<std::optional<layout>(layout_question const&)>;
    layout_change(any_graph const& g, pass_context const& cx, hook_ref hook)
        : g_(g), cx_(cx), hook_(hook), out_(g.operators()) {}

    any_graph run(pass_outcome& outcome) {
        for (auto n : g_.inputs()) moved_[{n, 0}] = out_.add_input(g_.type_of({n, 0}), g_.name({n, 0}));
        std::size_t before = 0;
        for (auto n : g_.order()) {
            if (g_.is<ops::input>(n) || n == g_.results_node()) continue;
            if (g_.is<ops::layout_transform>(n)) { // made again where it is still needed
                ++before;
                moved_[{n, 0}] = moved_.at(g_.operand(n, 0));
                continue;
            }
            rewrite(n, outcome);
        }
        small_vector<value_id, 6> outputs;
        for (std::size_t i = 0; i < g_.output_count(); ++i) outputs.push_back(as_before(g_.output(i)));
        out_.set_info(g_.info());
        auto const names = g_.info().output_names;
        out_.set_outputs(outputs, names);
        // Between values of given layouts no graph has fewer changes, and one with as many has the same.
        outcome.changed = retyped_ || changed_.size() != before;
        return std::move(out_);
    }

private:
    [[nodiscard]] layout layout_of(value_id v) const { return out_.type(moved_.at(v)).arrangement; }

    // The value that stands for an old one, in a layout. Made at most once.
    value_id stored(value_id v, layout as) {
        auto const now = moved_.at(v);
        if (out_.type(now).arrangement == as) return now;
        auto& known = changed_[{now, std::string{as.text()}}];
        if (!known.valid()) known = out_.add<ops::layout_transform>({.to = std::string{as.text()}}, {now});
        return known;
    }
    value_id as_before(value_id v) { return v.valid() ? stored(v, g_.type(v).arrangement) : v; }

    // Whether an operand may stay row-major beside blocked ones.
    [[nodiscard]] bool broadcasts(node_id n, value_id v) const {
        return g_.type(v).ranked && !(g_.type(v).dims == g_.type({n, 0}).dims);
    }

    // What the hook wants of a node, where it may be asked.
    std::optional<layout> wish(node_id n, pass_outcome& outcome) {
        small_vector<type_id, 6> types;
        bool fixed = g_.type({n, 0}).is_static();
        for (auto v : g_.operands(n)) {
            types.push_back(v.valid() ? g_.type_of(v) : type_id{});
            fixed = fixed && (!v.valid() || g_.type(v).is_static());
        }
        if (!fixed) {
            outcome.skip("dynamic shape");
            return std::nullopt;
        }
        auto const wanted =
            hook_(layout_question{g_.op(n), g_.attributes(n), types, g_.type_of({n, 0}), cx_.machine, g_, n});
        if (!wanted) return wanted;
        if (auto const reason = misfit(*wanted, g_.type({n, 0})); !reason.empty())
            throw error{problem{error_code::usage,
                                g_.display_name(n),
                                std::string{g_.op(n).name},
                                message({"layout ", in_quotes(wanted->text()), " for a value of type ",
                                         to_string(g_.type({n, 0})), ": ", reason}),
                                {}}};
        return wanted;
    }

    // Whether operands can be joined in a layout. Which dimension they are joined along is not asked: one of full
    // blocks can be joined along any.
    [[nodiscard]] bool joinable(node_id n, layout as) const {
        auto const blocked = parse_layout(as.text());
        if (!blocked) return as.empty();
        for (auto v : g_.operands(n)) {
            auto const& t = g_.type(v);
            if (!misfit(as, t).empty()) return false;
            auto const d = t.dims[blocked->axis];
            if (!d.fixed() || d.size() % blocked->block != 0) return false;
        }
        return true;
    }

    void rewrite(node_id n, pass_outcome& outcome) {
        auto const rule = g_.op(n).layouts;
        auto const asks =
            !g_.constant(n) && g_.op(n).category != op_category::structural &&
            g_.op(n).category != op_category::opaque && g_.result_count(n) > 0 &&
            (rule == layout_rule::keeps || rule == layout_rule::keeps_first || rule == layout_rule::joins);
        auto const given = g_.operands(n);
        small_vector<value_id, 6> operands;
        if (!asks) {
            auto const reads_all = rule == layout_rule::any && !g_.constant(n);
            for (auto v : given) operands.push_back(reads_all && v.valid() ? moved_.at(v) : as_before(v));
            keep(n, clone_node(out_, g_, n, operands));
            return;
        }
        auto const wanted = wish(n, outcome);
        auto chosen = wanted;
        for (std::size_t i = 0; i < given.size() && !chosen && (i == 0 || rule != layout_rule::keeps_first); ++i)
            if (given[i].valid() && !layout_of(given[i]).empty() &&
                misfit(layout_of(given[i]), g_.type({n, 0})).empty())
                chosen = layout_of(given[i]);
        auto as = chosen.value_or(layout{});
        if (rule == layout_rule::joins && !joinable(n, as)) {
            outcome.skip("blocks that are not full");
            as = {};
        } else if (wanted) {
            ++outcome.matches;
        }
        for (std::size_t i = 0; i < given.size(); ++i) {
            auto const v = given[i];
            if (!v.valid())
                operands.push_back(v);
            else if (rule == layout_rule::keeps_first ? i > 0 : rule == layout_rule::keeps && broadcasts(n, v))
                operands.push_back(stored(v, rule == layout_rule::keeps && layout_of(v) == as ? as : layout{}));
            else
                operands.push_back(stored(v, as));
        }
        small_vector<type_id, 4> types;
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
            auto type = g_.type({n, port});
            retyped_ |= !(type.arrangement == as);
            type.arrangement = as;
            types.push_back(type);
        }
        keep(n, clone_node(out_, g_, n, operands, cloned_text::names, {types, {}}));
    }

    void keep(node_id from, node_id to) {
        for (std::uint32_t port = 0; port < g_.result_count(from); ++port) moved_[{from, port}] = {to, port};
    }

    any_graph const& g_;
    pass_context const& cx_;
    hook_ref hook_;
    any_graph out_;
    std::map<value_id, value_id> moved_;                           // from old to new
    std::map<std::pair<value_id, std::string>, value_id> changed_; // new values in other layouts
    bool retyped_ = false;                                         // whether a value has got another layout than it had
};

GSUB_LAZY_BODY pass_outcome alter_layouts(any_graph& g, pass_context& cx,
                                          function_ref<std::optional<layout>(layout_question const&)> hook) {
    pass_outcome outcome;
    auto changed = layout_change{g, cx, hook}.run(outcome);
    if (outcome.changed) g = std::move(changed);
    return outcome;
}

} // namespace gsub::passes::detail
