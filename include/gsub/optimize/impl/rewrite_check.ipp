// Rewrite checking: compares the part that a rewrite replaced with its replacement, in the prime field.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/verify/verifier.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gsub::detail {

/// Field arithmetic up to this many operations is done without asking.
inline constexpr double max_field_operations = 4e8;

GSUB_LAZY double operations(any_graph const& g) {
    double total = 0;
    for (auto n : g.order()) total += cost::flop_count(g, n);
    return total;
}

/// The graph with inputs of other types, all types inferred anew; nothing where that is ill-typed.
GSUB_LAZY std::optional<any_graph> retyped(any_graph const& g, std::span<tensor_type const> inputs) {
    any_graph out{g.operators()};
    graph_cloner copies{g, out};
    try {
        for (auto n : g.order()) {
            auto const operands = copies.operands(n);
            if (n == g.return_node())
                out.set_outputs(operands, g.info().output_names);
            else if (g.is<ops::input>(n))
                copies.stand({n, 0}, out.add_input(inputs[g.input_position(n)], g.name({n, 0})));
            else if (g.is<ops::constant>(n))
                copies.stand({n, 0}, out.add_constant(g.blob(n)));
            else if (g.op(n).category == op_category::opaque || g.op(n).category == op_category::structural)
                return std::nullopt;
            else
                copies.stand(n, out.emit(g.row(n), g.attributes(n), operands, g.result_count(n)).node);
        }
    } catch (error const&) { return std::nullopt; }
    return out;
}

GSUB_LAZY void refute(verification_report& report) {
    report.equal = false;
    report.different = true;
}

/// The parts of two graphs that a rewrite exchanged, as graphs over the same free boundary.
struct exchanged {
    any_graph before, after;
    std::vector<char> weights; ///< by input, whether the graph has a constant there
};

// What a match covers, and what its patch put there. Nothing where a part cannot be taken out.
GSUB_LAZY std::optional<exchanged> region_of(any_graph const& g, match const& m) {
    auto const patch = prepare(m);
    auto replaced = g;
    auto const first_new = static_cast<std::uint32_t>(g.capacity());
    if (patch.failed()) return std::nullopt;
    // The roots as further outputs, so that they can be found again after the patch.
    std::vector<value_id> watched(m.roots().begin(), m.roots().end());
    replaced.set_outputs(watched);
    if (!patch.apply_to(replaced)) return std::nullopt;
    std::vector<value_id> roots_after;
    for (std::size_t i = 0; i < watched.size(); ++i) roots_after.push_back(replaced.output(i));
    std::vector<node_id> old_nodes(m.covered().begin(), m.covered().end()), new_nodes;
    for (auto n : replaced.order())
        if (n.index >= first_new) new_nodes.push_back(n);
    // One list of boundary values for both sides.
    std::vector<value_id> boundary;
    auto const collect = [&](any_graph const& from, std::span<node_id const> nodes, auto&& inside) {
        for (auto n : nodes)
            for (auto v : from.operands(n))
                if (v.valid() && !inside(v.node) && std::find(boundary.begin(), boundary.end(), v) == boundary.end())
                    boundary.push_back(v);
    };
    auto const is_old = [&](node_id n) { return std::find(old_nodes.begin(), old_nodes.end(), n) != old_nodes.end(); };
    collect(g, as_span(old_nodes), is_old);
    collect(replaced, as_span(new_nodes), [&](node_id n) { return n.index >= first_new; });
    for (auto v : boundary)
        if (is_old(v.node)) return std::nullopt; // the new part reads what the old one made
    auto const part = [&](any_graph const& from, auto&& inside, std::span<value_id const> roots) {
        any_graph out{from.operators()};
        graph_cloner copies{from, out, cloned_text::nothing};
        for (auto v : boundary) copies.stand(v, out.add_input(from.type_of(v), {}));
        for (auto n : from.order())
            if (n != from.return_node() && inside(n)) copies.clone(n);
        std::vector<value_id> outputs;
        for (auto v : roots) outputs.push_back(copies(v));
        out.set_outputs(outputs);
        return out;
    };
    exchanged out{part(g, is_old, watched),
                  part(
                      replaced, [&](node_id n) { return n.index >= first_new; }, roots_after),
                  {}};
    for (auto v : boundary) out.weights.push_back(v.node.index < first_new ? g.constant(v) : replaced.constant(v));
    return out;
}

// The same with every dimension of its values that has a size made smaller, or with smaller images; those of weights
// stay. Nothing where that is ill-typed, or makes results of different types.
GSUB_LAZY std::optional<exchanged> resized(exchanged const& r, std::optional<std::int64_t> size, std::int64_t to) {
    std::vector<tensor_type> inputs;
    auto smaller = false;
    for (std::size_t i = 0; i < r.weights.size(); ++i) {
        auto t = r.before.type({r.before.inputs()[i], 0});
        for (std::size_t d = 0; d < t.rank() && !r.weights[i]; ++d)
            if (size ? t.dims[d] == dim{*size} : t.rank() >= 4 && d >= 2 && t.dims[d].size() > to)
                t.dims[d] = dim{to}, smaller = true;
        inputs.push_back(std::move(t));
    }
    if (!smaller) return std::nullopt;
    auto before = retyped(r.before, as_span(inputs)), after = retyped(r.after, as_span(inputs));
    if (!before || !after) return std::nullopt;
    for (std::size_t i = 0; i < before->output_count(); ++i)
        if (before->type_of(before->output(i)) != after->type_of(after->output(i))) return std::nullopt;
    return exchanged{std::move(*before), std::move(*after), r.weights};
}
GSUB_LAZY double operations(exchanged const& r) {
    return std::max(operations(r.before), operations(r.after));
}
// The largest such instance that takes at most so many operations.
GSUB_LAZY std::optional<exchanged> smaller_instance(exchanged const& r, double most) {
    std::vector<std::optional<std::int64_t>> sizes{std::nullopt};
    for (std::size_t i = 0; i < r.weights.size(); ++i)
        for (auto d : r.before.type({r.before.inputs()[i], 0}).dims)
            if (!r.weights[i] && d.size() > 1 && std::find(sizes.begin(), sizes.end(), d.size()) == sizes.end())
                sizes.emplace_back(d.size());
    for (auto size : sizes)
        for (std::int64_t const to : {48, 32, 16, 8, 5, 4, 3, 2, 1})
            if (!size || to < *size)
                if (auto made = resized(r, size, to); made && operations(*made) <= most) return made;
    return std::nullopt;
}

// Checks the rewrites of a search one after another. Regions that are alike are compared once.
template <class = void>
class rewrite_checker {
public:
    rewrite_checker(verification_report& report, eval_table evaluators, std::uint64_t seed, executor* threads)
        : report_(report), evaluators_(evaluators), seed_(seed), threads_(threads) {}
    rewrite_checker(rewrite_checker const&) = delete;
    rewrite_checker& operator=(rewrite_checker const&) = delete;
    // Says why some were not checked.
    ~rewrite_checker() {
        for (auto const& [why, count] : skipped_)
            report_.notes.push_back(format_text("{}{} not compared one by one: {}", count,
                                                count == 1 ? " rewrite was" : " rewrites were", why));
    }

    rewrite_check operator()(any_graph const& g, match const& m) {
        auto const parts = region_of(g, m);
        if (!parts) return skip("the new part reads what the old one made");
        for (auto n : parts->before.inputs())
            if (!parts->before.type({n, 0}).is_static()) return skip("shapes are not known");
        std::string difference;
        switch (compare(*parts, difference)) {
        case rewrite_check::equal:
            ++report_.rewrites_checked;
            return rewrite_check::equal;
        case rewrite_check::different:
            ++report_.rewrites_checked;
            refute(report_);
            report_.notes.push_back(
                format_text("{} at {}: {}", m.rule().name, g.display_name(m.site()), std::move(difference)));
            return rewrite_check::different;
        default:
            return skip(std::move(difference));
        }
    }

private:
    // Of one instance in the field; `why` of what is skipped or differs.
    rewrite_check compare_one(exchanged const& parts, std::string& why) {
        auto const key = hasher{}.add(parts.before.hash()).add(parts.after.hash()).finish();
        if (equal_.contains(key)) return rewrite_check::equal;
        auto const compared = compare_in_field(parts.before, parts.after, evaluators_, seed_, threads_);
        why = compared ? compared->difference : compared.error().message();
        if (!compared) return rewrite_check::skipped;
        if (!compared->equal) return rewrite_check::different;
        equal_.insert(key);
        return rewrite_check::equal;
    }
    rewrite_check compare(exchanged const& parts, std::string& why) {
        constexpr auto usual = max_field_operations / 20;
        auto const own = operations(parts);
        if (own > usual)
            if (auto const small = smaller_instance(parts, usual))
                // Where that differs its own size decides: a size may stand in an attribute.
                if (auto const found = compare_one(*small, why); found != rewrite_check::different) return found;
        if (own <= max_field_operations) return compare_one(parts, why);
        why = "the region is too large, and has no smaller instance that is equal";
        return rewrite_check::skipped;
    }
    rewrite_check skip(std::string why) {
        ++report_.rewrites_skipped;
        ++skipped_[std::move(why)];
        return rewrite_check::skipped;
    }

    verification_report& report_;
    eval_table evaluators_;
    std::uint64_t seed_;
    executor* threads_;
    std::set<hash128> equal_;
    std::map<std::string, std::size_t> skipped_;
};

} // namespace gsub::detail
