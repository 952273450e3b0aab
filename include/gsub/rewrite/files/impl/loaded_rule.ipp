#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/files/impl/loaded_rule_data.hpp>
#include <gsub/rewrite/files/impl/source_lowering.hpp>
#include <gsub/rewrite/files/loaded_rule.hpp>
#include <gsub/rewrite/files/rule_shapes.hpp>
#include <gsub/rewrite/files/rule_text.hpp>

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

// ---- operators --------------------------------------------------------------------------------------------------

/// Attributes of an operator of a rule over operands of these types; `parts` are the sizes of a split. Nothing where
/// the operands do not have the shapes that the operator takes, as far as gsub's own inference would let them pass.
GSUB_INLINE std::optional<attributes_id> loaded_attributes(described_operator const& op,
                                                           std::span<tensor_type const* const> types, ints parts) {
    auto const& x = *types[0];
    auto const rank = static_cast<std::int64_t>(x.rank());
    switch (op.word->law) {
    case shape_law::alike:
        for (auto const* t : types)
            if (!(*t == x)) return std::nullopt;
        return attributes_id{};
    case shape_law::product: {
        auto const& w = *types[1];
        if (rank < 2 || w.rank() != x.rank()) return std::nullopt;
        for (std::size_t d = 0; d + 2 < x.rank(); ++d)
            if (!(x.dims[d] == w.dims[d])) return std::nullopt;
        return attributes_id{};
    }
    case shape_law::convolution: {
        auto const& w = *types[1];
        if (rank != 4 || w.rank() != 4 || x.dims[1].size() % w.dims[1].size() != 0) return std::nullopt;
        attributes_of<ops::conv> a;
        a.group = x.dims[1].size() / w.dims[1].size();
        a.act = op.act;
        a.dilations = ints(2, 1);
        for (std::size_t d = 0; d < 2; ++d) {
            auto const kernel = w.dims[d + 2].size();
            if ((op.kernel[d] > 0 && kernel != op.kernel[d]) || (op.same_pads && kernel % 2 == 0)) return std::nullopt;
            a.strides.push_back(op.strides[d]);
            a.pads.push_back(op.same_pads ? same_pad(x.dims[d + 2].size(), kernel, op.strides[d]) : 0);
        }
        a.pads.push_back(a.pads[0]), a.pads.push_back(a.pads[1]);
        return intern<ops::conv>(a);
    }
    case shape_law::joining:
    case shape_law::parting:
        if (op.axis >= rank || (op.rank > 0 && op.rank != rank)) return std::nullopt;
        if (op.word->law == shape_law::joining) return intern<ops::concat>(attributes_of<ops::concat>{.axis = op.axis});
        return intern<ops::split>(attributes_of<ops::split>{.axis = op.axis, .sizes = std::move(parts)});
    }
    return std::nullopt;
}

/// Appends an operator of a rule; an invalid value where it is ill-typed.
GSUB_INLINE value_id emit_loaded(node_sink& sink, described_operator const& op, std::span<value_id const> operands,
                                 ints parts) {
    std::vector<tensor_type const*> types;
    for (auto const v : operands) types.push_back(&*sink.type_of(v));
    auto const row = find_row(sink.operators().ops, op.word->op);
    auto attributes = row ? loaded_attributes(op, types, std::move(parts)) : std::nullopt;
    if (!attributes) return {};
    auto const& info = sink.operators().ops[*row];
    if (op.word->law == shape_law::alike || op.word->law == shape_law::product)
        attributes = *info.intern(info.layout.defaults());
    return sink.emit(*row, *attributes, operands, op.results);
}

// ---- conditions -------------------------------------------------------------------------------------------------

// Floating-point tensors with elements in them, of which all sizes are known.
GSUB_INLINE bool plain_types(match const& m) {
    auto const& data = loaded_rule_data::of(m.rule());
    auto const& g = m.graph();
    auto const plain = [&](value_id v) {
        auto const& t = g.type(v);
        return t.is_static() && is_floating(t.element) && t.layout == layout{} &&
               all_of(t.dims, [](dim d) { return d.size() > 0; });
    };
    for (std::size_t i = 0; i < data.variables.size(); ++i) {
        auto const v = data.matched(m, described_value::input(i));
        if (v.valid() && !plain(v)) return false;
    }
    for (std::size_t i = 0; i < data.labels.size(); ++i) {
        auto const n = data.matched(m, {static_cast<std::int32_t>(i), 0}).node;
        if (g.result_count(n) != data.rule.source[i].results) return false;
        for (std::uint32_t port = 0; port < g.result_count(n); ++port)
            if (!plain({n, port})) return false;
    }
    return true;
}

// Operators have operands of the shapes, and the attributes, that the rule states. *Requires* plain types.
GSUB_INLINE bool stated_operators(match const& m) {
    auto const& data = loaded_rule_data::of(m.rule());
    auto const& g = m.graph();
    for (std::size_t i = 0; i < data.labels.size(); ++i) {
        auto const& op = data.rule.source[i];
        auto const n = data.matched(m, {static_cast<std::int32_t>(i), 0}).node;
        std::vector<tensor_type const*> types;
        for (auto const v : g.operands(n)) types.push_back(&g.type(v));
        auto const expected = loaded_attributes(op, types, {});
        if (!expected) return false;
        auto const axis_is = [&](std::int64_t axis) {
            return normalized_axis(axis, types[0]->rank()) == static_cast<std::size_t>(op.axis);
        };
        if (op.word->law == shape_law::convolution && g.attributes(n) != *expected) return false;
        if (op.word->law == shape_law::joining && !axis_is(g.attributes<ops::concat>(n).axis)) return false;
        if (op.word->law == shape_law::parting && !axis_is(g.attributes<ops::split>(n).axis)) return false;
    }
    return true;
}

inline constexpr rule_condition loaded_conditions[] = {
    {"tensors are of floating-point numbers and of fixed sizes", &plain_types},
    {"operators have the attributes, and operands of the shapes, that the rule states", &stated_operators},
};

// ---- the replacement --------------------------------------------------------------------------------------------

GSUB_INLINE void build_loaded(rewrite& r) {
    auto const& m = r.matched();
    auto const& data = loaded_rule_data::of(m.rule());
    auto const& rule = data.rule;
    std::vector<value_id> made;
    auto const read = [&](described_value v) {
        return v.is_input() ? data.matched(m, v) : value_id{made[v.number()].node, v.port};
    };
    for (std::size_t i = 0; i < rule.target.size(); ++i) {
        auto const& op = rule.target[i];
        std::vector<value_id> operands;
        for (auto const v : op.operands) operands.push_back(read(v));
        ints parts(op.results, 0);
        if (op.word->law == shape_law::parting)
            for (auto const& o : rule.outputs) {
                if (o.target.is_input() || o.target.number() != i) continue;
                auto const& t = r.type(data.matched(m, o.source));
                if (op.axis >= static_cast<std::int64_t>(t.rank())) return r.fail("a part of a split lacks the axis");
                parts[o.target.port] = t.dims[static_cast<std::size_t>(op.axis)].size();
            }
        made.push_back(emit_loaded(r, op, operands, std::move(parts)));
        if (!made.back().valid()) return r.fail(format_text("target operator {} ({}) is ill-typed", i, op.word->name));
    }
    for (auto const& o : rule.outputs) {
        auto const from = data.matched(m, o.source), to = read(o.target);
        if (!(r.type(from) == r.type(to))) return r.fail("a result would change its type");
        r.replace(from, to);
    }
}

// ---- instances --------------------------------------------------------------------------------------------------

GSUB_INLINE std::vector<std::string> broken_in(match const& m) {
    auto const& data = loaded_rule_data::of(m.rule());
    auto const sizes = [&](described_value v) { return m.graph().type(data.matched(m, v)).sizes(); };
    described_shapes shapes;
    for (std::size_t i = 0; i < data.variables.size(); ++i) shapes.inputs.push_back(sizes(described_value::input(i)));
    for (std::size_t i = 0; i < data.labels.size(); ++i) {
        shapes.results.emplace_back();
        for (std::uint32_t port = 0; port < data.rule.source[i].results; ++port)
            shapes.results.back().push_back(sizes({static_cast<std::int32_t>(i), port}));
    }
    return broken_requirements(data.rule, shapes);
}

} // namespace detail

GSUB_LAZY_BODY result<loaded_rule> loaded_rule::make(rule_description rule) {
    if (auto const good = check(rule); !good) return good.error();
    auto data = std::make_shared<detail::loaded_rule_data>();
    data->rule = std::move(rule);
    for (std::size_t i = 0; i < data->rule.source.size(); ++i) {
        data->label_texts.push_back(format_text("operator {}", i));
        data->labels.push_back(hash_name(data->label_texts.back()));
    }
    for (std::size_t i = 0; i < data->rule.inputs.size(); ++i)
        data->variables.push_back(hash_name(format_text("input {}", i)));
    detail::source_lowering{*data}.run();
    auto& p = data->program;
    p.name = data->rule.name;
    p.source = "a rule file";
    p.match_nodes = data->nodes;
    p.match_links = data->links;
    p.roots = data->roots;
    p.build = &detail::build_loaded;
    p.where = detail::loaded_conditions;
    p.data = data.get();
    p.data_hash = hash_name(to_text(data->rule));
    loaded_rule out;
    out.data_ = std::move(data);
    return out;
}

GSUB_INLINE rule_program const& loaded_rule::program() const noexcept {
    return data_->program;
}
GSUB_INLINE rule_description const& loaded_rule::description() const noexcept {
    return data_->rule;
}
GSUB_INLINE bool loaded_rule::connected() const noexcept {
    return data_->connected;
}

GSUB_LAZY_BODY std::unique_ptr<pattern_instance> draw_instance(loaded_rule const& rule, dialect const& d,
                                                               chooser& choose) {
    auto const& data = detail::loaded_rule_data::of(rule.program());
    auto const shapes = draw_shapes(data.rule, choose);
    if (!shapes) return nullptr;
    auto out = std::make_unique<pattern_instance>(d, data.program);
    auto& g = out->graph;
    auto& m = out->bindings;
    try {
        for (std::size_t i = 0; i < shapes->inputs.size(); ++i)
            m.bind(data.variables[i],
                   g.add_input(tensor_type{dtype::f32, std::span<std::int64_t const>{shapes->inputs[i]}},
                               data.rule.inputs[i]),
                   0);
        for (std::size_t i = 0; i < data.rule.source.size(); ++i) {
            auto const& op = data.rule.source[i];
            std::vector<value_id> operands;
            for (auto const v : op.operands) operands.push_back(data.matched(m, v));
            ints parts;
            if (op.word->law == shape_law::parting)
                for (auto const& part : shapes->results[i]) parts.push_back(part[static_cast<std::size_t>(op.axis)]);
            auto const made = detail::emit_loaded(g, op, operands, std::move(parts));
            if (!made.valid()) return nullptr;
            g.set_name(made, data.label_texts[i]);
            m.bind(data.labels[i], made, 0);
            m.cover(made.node);
        }
    } catch (error const&) { return nullptr; }
    std::vector<value_id> outputs;
    for (auto const& o : data.rule.outputs) outputs.push_back(data.matched(m, o.source));
    for (auto const v : outputs) m.add_root(v);
    g.set_outputs(outputs);
    return out;
}

GSUB_LAZY_BODY verification verify(loaded_rule const& rule, dialect const& d, eval_table evaluators,
                                   verify_options const& options) {
    auto const draw = [&](chooser& choose) { return draw_instance(rule, d, choose); };
    auto const sentences = [](match const& m) { return detail::broken_in(m); };
    function_ref<std::vector<std::string>(match const&)> const broken = sentences;
    return verify(rule.program(), instance_source{draw, &broken}, evaluators, options);
}

} // namespace gsub
