#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>
#include <gsub/passes/layout/alter_op_layout.hpp>
#include <gsub/passes/layout/impl/layout_choice.ipp>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace gsub::passes::detail {

// Writes a graph anew, each value in the layout that was chosen for it.
template <class = void>
class layout_change {
public:
    layout_change(any_graph const& g, target const& machine, layout_hook_ref hook, layout_cost cost)
        : g_(g), machine_(machine), hook_(hook), choice_(g, cost), out_(g.operators()) {}

    laid_out_graph run(pass_outcome& outcome) {
        for (auto n : g_.order())
            if (asks(n)) ask(n, outcome);
        choice_.solve([&](node_id n, layout as) {
            return incompatibility(as, g_.type({n, 0})).empty() && readable(n, as) &&
                   (g_.op(n).layouts != layout_policy::concatenates || joinable(n, as));
        });
        for (auto n : g_.inputs()) {
            moved_[{n, 0}] = out_.add_input(g_.type_of({n, 0}), g_.name({n, 0}));
            came_from(moved_[{n, 0}].node, n);
        }
        std::size_t before = 0;
        for (auto n : g_.order()) {
            if (g_.is<ops::input>(n) || n == g_.return_node()) continue;
            if (g_.is<ops::layout_transform>(n)) { // made again where it is still needed
                ++before;
                moved_[{n, 0}] = moved_.at(g_.operand(n, 0));
                continue;
            }
            rewrite(n, outcome);
        }
        small_vector<value_id, 6> outputs;
        auto names = g_.info().output_names;
        for (std::size_t i = 0; i < g_.output_count(); ++i) {
            outputs.push_back(as_before(g_.output(i)));
            auto const given = g_.name(g_.output(i));
            if (given.empty() || out_.name(outputs.back()) == given) continue;
            names.resize(std::max(names.size(), i + 1)); // what has the name is stored otherwise
            if (names[i].empty()) names[i] = given;
        }
        out_.set_info(g_.info());
        out_.set_outputs(outputs, names);
        // Between values of given layouts no graph has fewer changes, and one with as many has the same.
        outcome.changed = retyped_ || changed_.size() != before;
        came_from_.resize(out_.capacity());
        return {std::move(out_), std::move(came_from_)};
    }

private:
    [[nodiscard]] layout layout_of(value_id v) const { return out_.type(moved_.at(v)).layout; }

    // The value that stands for an old one, in a layout. Made at most once.
    value_id stored(value_id v, layout as) {
        auto const now = moved_.at(v);
        if (out_.type(now).layout == as) return now;
        auto& known = changed_[{now, std::string{as.text()}}];
        if (!known.valid()) known = out_.add<ops::layout_transform>({.to = std::string{as.text()}}, {now});
        return known;
    }
    value_id as_before(value_id v) { return v.valid() ? stored(v, g_.type(v).layout) : v; }

    // Whether an operand may stay row-major beside blocked ones.
    [[nodiscard]] bool broadcasts(node_id n, value_id v) const {
        return g_.type(v).ranked && !(g_.type(v).dims == g_.type({n, 0}).dims);
    }

    // Whether the operands that an operator reads in its own layout can have it: the rank of what a convolution reads
    // may be unknown where its result's is not.
    [[nodiscard]] bool readable(node_id n, layout as) const {
        auto const rule = g_.op(n).layouts;
        auto const given = g_.operands(n);
        for (std::size_t i = 0; i < given.size(); ++i) {
            auto const row_major =
                rule == layout_policy::propagates_first
                    ? i > 0
                    : rule == layout_policy::propagates && given[i].valid() && broadcasts(n, given[i]);
            if (given[i].valid() && !row_major && !incompatibility(as, g_.type(given[i])).empty()) return false;
        }
        return true;
    }

    // Whether a layout may be chosen for an operator.
    [[nodiscard]] bool asks(node_id n) const {
        auto const rule = g_.op(n).layouts;
        return !g_.constant(n) && g_.op(n).category != op_category::structural &&
               g_.op(n).category != op_category::opaque && g_.result_count(n) > 0 &&
               (rule == layout_policy::propagates || rule == layout_policy::propagates_first ||
                rule == layout_policy::concatenates);
    }
    // Asks what is wanted of an operator's layout.
    void ask(node_id n, pass_outcome& outcome) {
        small_vector<type_id, 6> types;
        auto fixed = g_.type({n, 0}).is_static(), alike = g_.op(n).layouts != layout_policy::propagates;
        for (auto v : g_.operands(n)) {
            types.push_back(v.valid() ? g_.type_of(v) : type_id{});
            fixed = fixed && (!v.valid() || g_.type(v).is_static());
            alike = alike || (v.valid() && !broadcasts(n, v));
        }
        std::optional<desired_layout> wanted;
        if (fixed)
            wanted = hook_(layout_query{g_.op(n), g_.attributes(n), types, g_.type_of({n, 0}), machine_, g_, n});
        else
            outcome.skip("dynamic shape");
        if (!wanted) {
            if (alike)
                choice_.follow(n);
            else
                choice_.settle(n, {}, false); // nothing that it reads could be stored otherwise
            return;
        }
        if (auto const reason = incompatibility(wanted->stored, g_.type({n, 0})); !reason.empty())
            throw error{problem{errors::layout_request,
                                g_.display_name(n),
                                std::string{g_.op(n).name},
                                format_text("layout {} for a value of type {}: {}", quoted{wanted->stored.text()},
                                            to_string(g_.type({n, 0})), reason),
                                {}}};
        if (g_.op(n).layouts == layout_policy::concatenates && !joinable(n, wanted->stored)) {
            wanted->stored = {};
        } else {
            ++outcome.matches;
        }
        if (!alike) wanted->stored = {};
        if (wanted->replace) replacements_[n] = std::move(wanted->replace);
        choice_.settle(n, wanted->stored, wanted->reads_row_major);
    }

    // Whether operands can be joined in a layout. Which dimension they are joined along is not asked: one of full
    // blocks can be joined along any.
    [[nodiscard]] bool joinable(node_id n, layout as) const {
        auto const blocked = parse_layout(as.text());
        if (!blocked) return as.empty();
        for (auto v : g_.operands(n)) {
            auto const& t = g_.type(v);
            if (!incompatibility(as, t).empty()) return false;
            auto const d = t.dims[blocked->axis];
            if (!d.fixed() || d.size() % blocked->block != 0) return false;
        }
        return true;
    }

    void rewrite(node_id n, pass_outcome& outcome) {
        auto const rule = g_.op(n).layouts;
        auto const given = g_.operands(n);
        small_vector<value_id, 6> operands;
        if (!asks(n)) {
            auto const reads_all = rule == layout_policy::any && !g_.constant(n);
            for (auto v : given) operands.push_back(reads_all && v.valid() ? moved_.at(v) : as_before(v));
            keep(n, clone_node(out_, g_, n, operands));
            return;
        }
        auto const as = choice_.of(n);
        if (rule == layout_policy::concatenates && as.empty() &&
            std::any_of(given.begin(), given.end(),
                        [&](value_id v) { return !layout_of(v).empty() && !joinable(n, layout_of(v)); }))
            outcome.skip("blocks that are not full");
        for (std::size_t i = 0; i < given.size(); ++i) {
            auto const v = given[i];
            if (!v.valid())
                operands.push_back(v);
            else if (rule == layout_policy::propagates_first ? i > 0
                                                             : rule == layout_policy::propagates && broadcasts(n, v))
                operands.push_back(stored(v, rule == layout_policy::propagates && layout_of(v) == as ? as : layout{}));
            else
                operands.push_back(stored(v, as));
        }
        if (auto const found = replacements_.find(n); found != replacements_.end()) {
            replace(n, operands, found->second);
            return;
        }
        small_vector<type_id, 4> types;
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
            auto type = g_.type({n, port});
            retyped_ |= !(type.layout == as);
            type.layout = as;
            types.push_back(type);
        }
        keep(n, clone_node(out_, g_, n, operands, cloned_text::names, {types, {}}));
    }

    // What the hook has put in the place of an operator.
    void replace(node_id n, std::span<value_id const> operands, operator_replacement const& by) {
        auto const first = out_.capacity();
        auto const results = by(out_, operands);
        auto const refuse = [&](std::string reason) {
            throw error{problem{errors::layout_request,
                                g_.display_name(n),
                                std::string{g_.op(n).name},
                                format_text("the layout hook's replacement {}", reason),
                                {}}};
        };
        if (results.size() != g_.result_count(n))
            refuse(format_text("has {} results, not {}", results.size(), g_.result_count(n)));
        for (std::uint32_t port = 0; port < results.size(); ++port) {
            auto type = out_.type(results[port]);
            type.layout = g_.type({n, port}).layout;
            if (type != g_.type({n, port}))
                refuse(format_text("is of type {}, not {}", to_string(type), to_string(g_.type({n, port}))));
            moved_[{n, port}] = results[port];
        }
        for (auto i = first; i < out_.capacity(); ++i) came_from({static_cast<std::uint32_t>(i)}, n);
        retyped_ = true;
    }
    void keep(node_id from, node_id to) {
        for (std::uint32_t port = 0; port < g_.result_count(from); ++port) moved_[{from, port}] = {to, port};
        came_from(to, from);
    }
    void came_from(node_id to, node_id from) {
        if (came_from_.size() <= to.index) came_from_.resize(to.index + 1);
        came_from_[to.index] = from;
    }

    any_graph const& g_;
    target const& machine_;
    layout_hook_ref hook_;
    layout_choice<> choice_;
    any_graph out_;
    std::map<value_id, value_id> moved_;                           // from old to new
    std::map<std::pair<value_id, std::string>, value_id> changed_; // new values in other layouts
    std::vector<node_id> came_from_;                               // of new nodes
    std::map<node_id, operator_replacement> replacements_;
    bool retyped_ = false; // whether a value has got another layout than it had
};

GSUB_LAZY_BODY laid_out_graph lay_out_graph(any_graph const& g, target const& machine, layout_hook_ref hook,
                                            layout_cost cost, pass_outcome& outcome) {
    return layout_change{g, machine, hook, cost}.run(outcome);
}

GSUB_LAZY_BODY pass_outcome alter_layouts(any_graph& g, pass_context& cx, layout_hook_ref hook, layout_cost cost) {
    pass_outcome outcome;
    auto made = lay_out_graph(g, cx.machine, hook, cost, outcome);
    if (outcome.changed) g = std::move(made.graph);
    return outcome;
}

} // namespace gsub::passes::detail

namespace gsub::passes {

GSUB_LAZY_BODY bool names_layouts(any_graph const& g) {
    for (auto n : g.order())
        for (std::uint32_t port = 0; port < g.result_count(n); ++port)
            if (!g.type({n, port}).layout.empty()) return true;
    return false;
}

GSUB_LAZY_BODY std::uint64_t conversion_traffic(tensor_type const& type, layout from, layout to) {
    std::uint64_t bytes = 0;
    for (auto as : {from, to}) {
        auto const blocked = parse_layout(as.text());
        auto const sizes = type.sizes();
        auto const elements = blocked ? blocked->stored_elements(sizes) : type.elements();
        bytes += static_cast<std::uint64_t>(elements.value_or(std::int64_t{1} << 40)) * byte_size(type.element);
    }
    return bytes;
}

} // namespace gsub::passes
