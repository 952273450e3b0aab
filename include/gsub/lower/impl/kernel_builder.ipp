#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/lower/impl/kernel_layouts.ipp>
#include <gsub/lower/kernel_builder.hpp>
#include <gsub/lower/lowering.hpp>

#include <algorithm>
#include <utility>

namespace gsub {

GSUB_LAZY_BODY kernel_builder::kernel_builder(any_graph const& g, fuse_context const& cx)
    : fusion_scope(g, cx), g_(g), cx_(cx), done_(g.capacity(), 0) {
    for (auto n : g.inputs()) {
        value_id const v{n, 0};
        auto t = g.type(v);
        t.layout = {}; // callers' memory is row-major
        number_[v] = static_cast<kernel_value_id>(made_.values.size());
        made_.values.push_back({.name = std::string{g.name(v)},
                                .type = t,
                                .role = runtime::memory_role::input,
                                .position = g.input_position(n)});
        made_.inputs.push_back(std::move(t));
        made_.input_names.emplace_back(g.name(v));
    }
}

GSUB_LAZY_BODY std::optional<tensor> kernel_builder::constant_of(value_id v) const {
    if (!v.valid() || !g_.constant(v)) return std::nullopt;
    if (g_.is<ops::constant>(v.node)) return g_.constant_data(v.node);
    if (auto const found = constants_.find(v); found != constants_.end()) return found->second;
    auto const alone = extract(g_, {&v.node, 1});
    std::vector<tensor> known; // what it is made of may be arithmetic, too
    for (auto const operand : alone.boundary) known.push_back(*constant_of(operand));
    return constants_[v] = evaluate_graph(alone.graph, cx_.evaluators, known).value()[v.port];
}

GSUB_LAZY_BODY kernel_value_id kernel_builder::operand(value_id v) {
    if (auto const found = number_.find(v); found != number_.end()) return found->second;
    auto t = constant_of(v);
    GSUB_ASSERT(t.has_value(), "a kernel reads what exists");
    return number_[v] = constant(std::move(*t), std::string{g_.name(v)});
}
GSUB_LAZY_BODY kernel_value_id kernel_builder::result(value_id v) {
    auto t = g_.type(v);
    if (!in_channel_blocks(t, isa())) t.layout = {}; // no kernel reads another one
    auto const named = detail::unchanged(g_, v);     // a change of layout is called what it changes
    auto const given = g_.name(named);
    made_.values.push_back(
        {.name = given.empty() ? g_.display_name(named.node) : std::string{given}, .type = std::move(t)});
    return number_[v] = static_cast<kernel_value_id>(made_.values.size() - 1);
}
GSUB_LAZY_BODY kernel_value_id kernel_builder::unnamed(tensor_type t) {
    made_.values.push_back({.type = std::move(t)});
    return static_cast<kernel_value_id>(made_.values.size() - 1);
}
GSUB_LAZY_BODY kernel_value_id kernel_builder::constant(tensor t, std::string name) {
    auto type = t.type();
    made_.values.push_back({.name = std::move(name),
                            .type = std::move(type),
                            .role = runtime::memory_role::constant,
                            .data = std::move(t)});
    return static_cast<kernel_value_id>(made_.values.size() - 1);
}
GSUB_LAZY_BODY void kernel_builder::set_constant(value_id v, tensor t) {
    number_[v] = constant(std::move(t), std::string{g_.name(v)});
    done_[v.node.index] = 1;
}
GSUB_LAZY_BODY kernel_operand kernel_builder::viewed(value_id v) {
    kernel_operand o{operand(v), {}, {}};
    for (std::size_t d = 0; d < type(v).rank(); ++d) o.access.push_back(static_cast<std::int8_t>(d));
    return o;
}

GSUB_LAZY_BODY void kernel_builder::add(std::span<node_id const> covers, kernel_op what) {
    for (auto n : covers) {
        what.covers.push_back({std::string{g_.op(n).name}, g_.display_name(n)});
        done_[n.index] = 1;
    }
    what.boundary = boundary_of(covers);
    made_.ops.push_back(std::move(what));
}

GSUB_LAZY_BODY void kernel_builder::add_reference(node_id n) {
    auto alone = extract(g_, {&n, 1});
    kernel_op op;
    for (auto v : alone.boundary) op.operands.push_back(whole(v));
    for (auto v : alone.results) op.results.push_back(result(v));
    op.computes = runtime::reference_call{std::move(alone.graph), cx_.evaluators,
                                          g_.is<ops::if_else>(n) ? cx_.branches : nullptr};
    add({&n, 1}, std::move(op));
}

GSUB_LAZY_BODY std::string kernel_builder::boundary_of(std::span<node_id const> covers) const {
    value_id const last{covers.back(), 0};
    auto const count = g_.use_count(last);
    if (count == 0) return "nothing reads it";
    if (count > 1) return format_text("{} operands read it", count);
    auto reader = g_.return_node();
    g_.for_each_use(last, [&](use u) { reader = u.user; });
    if (reader == g_.return_node()) return "an output of the graph";
    auto const why = [&]() -> std::string {
        if (!cx_.group) return "no two operators share a kernel";
        if (done(reader)) return "another kernel computes it";
        auto const row = g_.row(reader);
        if (!cx_.rows.empty() && cx_.rows[row].lower) return "it leads a kernel of its own";
        for (auto v : g_.operands(reader))
            if (v.valid() && v != last && !exists(v))
                return format_text("its operand {} is computed later", g_.display_name(v.node));
        if ((cx_.scalars.empty() || !cx_.scalars[row].lower) && !g_.op(reader).composite)
            return "it has no expression of elements";
        if (g_.type({reader, 0}) != g_.type(last))
            return format_text("its result is {}, not {}", to_string(g_.type({reader, 0})), to_string(g_.type(last)));
        return "an operand of it lies otherwise";
    };
    return format_text("{}: {}", g_.display_name(reader), why());
}

GSUB_LAZY_BODY kernel_graph kernel_builder::take() {
    for (std::size_t i = 0; i < g_.output_count(); ++i) {
        auto const v = g_.output(i);
        made_.outputs.push_back(operand(v));
        auto t = g_.type(v);
        t.layout = {};
        made_.results.push_back(std::move(t));
        made_.output_names.push_back(i < g_.info().output_names.size() ? g_.info().output_names[i]
                                                                       : std::string{g_.name(v)});
    }
    return std::move(made_);
}

} // namespace gsub
