#pragma once

#include <gsub/passes/normal_form/to_a_normal_form.hpp>
#include <gsub/passes/partition/impl/outline.ipp>

namespace gsub::passes {

namespace detail {

// Whether two graphs have the same nodes in the same order.
GSUB_LAZY bool same_nodes(any_graph const& a, any_graph const& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        auto const m = a.order()[i], n = b.order()[i];
        if (a.row(m) != b.row(n) || !(a.attributes(m) == b.attributes(n)) || a.operand_count(m) != b.operand_count(n))
            return false;
        for (std::size_t k = 0; k < a.operand_count(m); ++k) {
            auto const v = a.operand(m, k), w = b.operand(n, k);
            if (v.valid() != w.valid() || (v.valid() && (v.port != w.port || a.place(v.node) != b.place(w.node))))
                return false;
        }
    }
    return true;
}

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> to_a_normal_form::operator()(any_graph& g, pass_context&) const {
    pass_outcome outcome;
    auto const row = find_row(g.operators().ops, id_of<ops::let>);
    if (!row) {
        outcome.skip("the set of operators has no let");
        return outcome;
    }
    auto canonical = g;
    canonical.order_canonically();
    auto bound = detail::rebuilt(canonical, [&](any_graph& out, node_id n, auto const& operands, auto& map) {
        if (canonical.is<ops::let>(n)) { // what it binds is bound
            map.set({n, 0}, operands[0]);
            if (auto const given = canonical.name({n, 0}); !given.empty() && out.name(operands[0]).empty())
                out.set_name(operands[0], given);
            return;
        }
        auto const copy = clone_node(out, canonical, n, operands, cloned_text::sources);
        for (std::uint32_t port = 0; port < canonical.result_count(n); ++port) {
            value_id const v{n, port};
            value_id stands{copy, port};
            if (canonical.used(v)) {
                type_id const type = canonical.type_of(v);
                stands = {out.append_node(*row, attributes_id{}, 0, {&stands, 1}, {&type, 1}), 0};
                ++outcome.matches;
            }
            if (auto const given = canonical.name(v); !given.empty()) out.set_name(stands, given);
            map.set(v, stands);
        }
    });
    outcome.changed = !detail::same_nodes(g, bound);
    if (outcome.changed)
        g = std::move(bound);
    else
        outcome.matches = 0;
    return outcome;
}

} // namespace gsub::passes
