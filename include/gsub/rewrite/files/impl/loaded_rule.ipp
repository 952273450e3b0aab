#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/files/loaded_rule.hpp>
#include <gsub/rewrite/files/rule_shapes.hpp>
#include <gsub/rewrite/files/rule_text.hpp>

#include <algorithm>

namespace gsub {

namespace detail {

/// What a loaded rule owns. Its operators of the source are labels, its inputs variables.
struct loaded_rule_data {
    rule_description rule;
    std::vector<std::string> label_texts;
    std::vector<pattern::name_hash> labels, variables;
    std::vector<pattern::node> nodes;
    std::vector<std::uint16_t> links, roots;
    rule_program program;
    bool connected = true;

    static loaded_rule_data const& of(rule_program const& p) { return *static_cast<loaded_rule_data const*>(p.data); }
    [[nodiscard]] value_id matched(match const& m, described_value v) const {
        auto const bound = m.value(v.is_input() ? variables[v.number()] : labels[v.number()]);
        return bound.valid() ? value_id{bound.node, bound.port + v.port} : bound;
    }
};

// ---- the pattern ------------------------------------------------------------------------------------------------

/// Lowers the source of a rule. Terms are visited as the matcher visits them; what was visited before is a variable
/// bound by then.
class source_lowering {
public:
    explicit source_lowering(loaded_rule_data& out) : out_(out), seen_(out.rule.source.size(), false) {}

    void run() {
        std::vector<std::uint32_t> open; // operators with replaced results
        for (auto const& o : out_.rule.outputs) {
            auto const n = static_cast<std::uint32_t>(o.source.number());
            if (std::find(open.begin(), open.end(), n) == open.end()) open.push_back(n);
        }
        // Each root behind one with which it shares a value, if there is one.
        bound_.assign(out_.rule.inputs.size(), false);
        while (!open.empty()) {
            auto next = open.begin();
            if (!out_.roots.empty()) {
                while (next != open.end() && !touches({static_cast<std::int32_t>(*next), 0})) ++next;
                if (next == open.end()) out_.connected = false, next = open.begin();
            }
            out_.roots.push_back(lower({static_cast<std::int32_t>(*next), 0}));
            open.erase(next);
        }
    }

private:
    // Whether a value is bound already, or anything below it. Rules are small, and operators stand in order.
    bool touches(described_value v) const {
        if (v.is_input()) return bound_[v.number()];
        std::vector<bool> below(v.number() + 1, false);
        below[v.number()] = true;
        for (auto i = v.number() + 1; i-- > 0;) {
            if (!below[i]) continue;
            if (seen_[i]) return true;
            for (auto const operand : out_.rule.source[i].operands) {
                if (operand.is_input() && bound_[operand.number()]) return true;
                if (!operand.is_input()) below[operand.number()] = true;
            }
        }
        return false;
    }

    std::uint16_t append(pattern::node n) {
        out_.nodes.push_back(n);
        return static_cast<std::uint16_t>(out_.nodes.size() - 1);
    }

    // As deep as a rule is long: see rule_limits.
    std::uint16_t lower(described_value v) {
        pattern::node n;
        n.kind = pattern::node_kind::variable;
        n.port = static_cast<std::uint16_t>(v.port);
        if (v.is_input()) {
            bound_[v.number()] = true;
            n.name = out_.variables[v.number()];
            n.text = out_.rule.inputs[v.number()];
            return append(n);
        }
        n.name = out_.labels[v.number()];
        n.text = out_.label_texts[v.number()];
        if (seen_[v.number()]) return append(n);
        seen_[v.number()] = true;
        auto const& op = out_.rule.source[v.number()];
        n.kind = pattern::node_kind::operation;
        n.op = op.word->op;
        n.commutative = op.word->commutative;
        n.first_link = static_cast<std::uint16_t>(out_.links.size());
        n.links = static_cast<std::uint16_t>(op.operands.size());
        out_.links.resize(out_.links.size() + op.operands.size());
        auto const number = append(n);
        for (std::size_t i = 0; i < op.operands.size(); ++i) {
            auto const below = lower(op.operands[i]);
            out_.links[n.first_link + i] = below;
        }
        return number;
    }

    loaded_rule_data& out_;
    std::vector<bool> seen_, bound_;
};

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
        if (!made.back().valid()) return r.fail(fmt::format("target operator {} ({}) is ill-typed", i, op.word->name));
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

GSUB_INLINE result<loaded_rule> loaded_rule::make(rule_description rule) {
    if (auto const good = check(rule); !good) return good.error();
    auto data = std::make_shared<detail::loaded_rule_data>();
    data->rule = std::move(rule);
    for (std::size_t i = 0; i < data->rule.source.size(); ++i) {
        data->label_texts.push_back(fmt::format("operator {}", i));
        data->labels.push_back(hash_name(data->label_texts.back()));
    }
    for (std::size_t i = 0; i < data->rule.inputs.size(); ++i)
        data->variables.push_back(hash_name(fmt::format("input {}", i)));
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

GSUB_INLINE std::unique_ptr<pattern_instance> draw_instance(loaded_rule const& rule, dialect const& d,
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

GSUB_INLINE verification verify(loaded_rule const& rule, dialect const& d, eval_table evaluators,
                                verify_options const& options) {
    auto const draw = [&](chooser& choose) { return draw_instance(rule, d, choose); };
    auto const sentences = [](match const& m) { return detail::broken_in(m); };
    function_ref<std::vector<std::string>(match const&)> const broken = sentences;
    return verify(rule.program(), instance_source{draw, &broken}, evaluators, options);
}

} // namespace gsub
