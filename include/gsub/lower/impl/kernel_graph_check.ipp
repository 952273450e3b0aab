// Verifier of kernel graphs.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/kernel_graph.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

// The pass that makes graphs of a stage.
GSUB_LAZY [[nodiscard]] std::string_view pass_before(lowering_stage s) noexcept {
    constexpr std::string_view names[] = {"fuse", "select", "layout", "schedule"};
    return names[static_cast<std::size_t>(s)];
}

// How many operands and results a kernel has by its descriptor; nothing where any number is right.
struct kernel_arity {
    std::size_t operands = 0, results = 1;
};
GSUB_LAZY [[nodiscard]] std::optional<kernel_arity> arity_of(kernel_op const& op) {
    auto const of_conv = [](kernels::conv2d_shape const& s) {
        return std::size_t{2} + s.bias + s.residual + static_cast<std::size_t>(s.arrays);
    };
    if (std::holds_alternative<view_shape>(op.computes)) return kernel_arity{1};
    if (std::holds_alternative<concat_shape>(op.computes))
        return kernel_arity{std::max<std::size_t>(op.operands.size(), 1)};
    if (std::holds_alternative<pad_shape>(op.computes))
        return kernel_arity{op.operands.size() == 2 ? std::size_t{2} : 1};
    if (auto const* const c = std::get_if<runtime::reference_call>(&op.computes))
        return kernel_arity{c->graph.inputs().size(), c->graph.output_count()};
    auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
    if (!d) return std::nullopt;
    return std::visit(
        overloaded{
            [&](kernels::conv2d_shape const& s) { return kernel_arity{of_conv(s)}; },
            [&](kernels::winograd_shape const& s) { return kernel_arity{of_conv(s.conv)}; },
            [&](kernels::separable_shape const& s) {
                return kernel_arity{of_conv(s.depthwise) + of_conv(s.pointwise) - 1};
            },
            [&](kernels::pool2d_shape const& s) { return kernel_arity{s.average ? std::size_t{2} : 1}; },
            [&](kernels::elementwise_shape const& s) { return kernel_arity{static_cast<std::size_t>(s.arrays)}; },
            [&](kernels::matmul_shape const& s) { return kernel_arity{2 + s.bias + s.arrays.size()}; },
            [&](kernels::attention_shape const& s) { return kernel_arity{3 + s.arrays.size()}; },
            [&](kernels::row_reduction_shape const& p) {
                return kernel_arity{p.arrays.size() + p.chosen.size(), p.results.size()};
            },
            [&](kernels::movement_shape const& m) { return kernel_arity{m.arrays.size() + m.chosen.has_value()}; },
            [&](kernels::scatter_shape const&) { return kernel_arity{3}; },
            [&](auto const&) { return kernel_arity{1}; },
        },
        *d);
}

// Whether values have one element type and as many elements.
GSUB_LAZY bool holds_same_elements(tensor_type const& a, tensor_type const& b) {
    return a.element == b.element && a.elements() == b.elements();
}
// What a value of the type takes in memory at least; nothing where that is too large.
GSUB_LAZY std::optional<std::size_t> least_bytes(kernel_value const& v) {
    if (!v.type.is_static()) return 0; // data decide it
    auto sizes = v.type.sizes();
    if (v.block > 0) sizes[1] = (sizes[1] + v.block - 1) / v.block * v.block;
    sizes.push_back(static_cast<std::int64_t>(byte_size(v.type.element)));
    auto const all = checked_product(sizes);
    return all ? std::optional{static_cast<std::size_t>(*all)} : std::nullopt;
}
// How many weights the kernel packs; nothing where it packs none.
GSUB_LAZY std::optional<std::int64_t> packed_weights(kernel_op const& op, std::size_t operand) {
    auto const of_conv = [](kernels::conv2d_shape const& s) -> std::optional<std::int64_t> {
        std::int64_t const dims[] = {s.out_channels, s.groups > 0 ? s.in_channels / s.groups : -1, s.depth.kernel,
                                     s.kernel[0], s.kernel[1]};
        return checked_product(dims);
    };
    auto const& d = std::get<kernels::descriptor>(op.computes);
    if (auto const* const s = std::get_if<kernels::matmul_shape>(&d)) {
        std::int64_t const dims[] = {s->n, s->k};
        return checked_product(dims);
    }
    if (auto const* const s = std::get_if<kernels::conv2d_shape>(&d)) return of_conv(*s);
    if (auto const* const s = std::get_if<kernels::winograd_shape>(&d)) return of_conv(s->conv);
    if (auto const* const s = std::get_if<kernels::separable_shape>(&d))
        return of_conv(operand == 1 ? s->depthwise : s->pointwise);
    return std::nullopt;
}
GSUB_LAZY bool moves_by_choice(kernel_op const& op) {
    auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
    return d && !kernels::chosen_by(*d).empty();
}
// Blocks of one pixel a channel are the channels in order.
GSUB_LAZY bool stored_alike(kernel_value const& v) {
    auto const sizes = v.type.sizes();
    return sizes.size() >= 2 && product(std::span{sizes}.subspan(2)) == 1;
}

template <class = void>
class kernel_graph_checker {
public:
    explicit kernel_graph_checker(kernel_graph const& g) : g_(g) {}
    std::vector<problem> run() {
        written_.assign(g_.values.size(), 0);
        for (std::size_t v = 0; v < g_.values.size(); ++v) check_value(v);
        for (auto const& op : g_.ops) check_op(op);
        for (std::size_t i = 0; i < g_.outputs.size(); ++i) check_output(i);
        if (g_.results.size() != g_.outputs.size())
            add("the graph", {}, format_text("{} result types", g_.outputs.size()),
                format_text("{}", g_.results.size()));
        return std::move(found_);
    }

private:
    bool laid_out() const noexcept { return g_.stage >= lowering_stage::laid_out; }
    bool known(kernel_value_id v) const noexcept { return v >= 0 && static_cast<std::size_t>(v) < g_.values.size(); }
    bool holds(kernel_value_id v) const noexcept {
        if (!known(v)) return false;
        auto const& value = g_.values[static_cast<std::size_t>(v)];
        if (value.role == runtime::memory_role::constant || value.role == runtime::memory_role::input) return true;
        // A whole is there by its pieces, and a piece by the whole.
        auto const whole = value.part_of < 0 ? v : value.part_of;
        return written_[static_cast<std::size_t>(v)] != 0 || written_[static_cast<std::size_t>(whole)] != 0;
    }
    std::string describe(kernel_value_id v) const {
        return known(v) ? format_text("%{}", v) : format_text("%{}, which there is not", v);
    }
    void add(std::string node, std::string op, std::string_view expected, std::string_view found) {
        found_.push_back(
            {error_code::usage,
             std::move(node),
             std::move(op),
             format_text("expected {}, found {} (behind the pass {})", expected, found, pass_before(g_.stage)),
             {}});
    }
    void check_output(std::size_t i) {
        auto const v = g_.outputs[i];
        auto const name = format_text("output {}", i);
        if (!holds(v)) return add(name, {}, "a value that is computed", describe(v));
        auto const& value = g_.values[static_cast<std::size_t>(v)];
        if (laid_out() && (value.role != runtime::memory_role::output || value.position != i))
            add(name, {}, "a value that is stored as that output", describe(v));
        if (i < g_.results.size() && !holds_same_elements(value.type, g_.results[i]))
            add(name, {}, to_string(g_.results[i]), to_string(value.type));
    }
    void check_value(std::size_t v) {
        auto const& value = g_.values[v];
        auto const name = format_text("%{}", v);
        auto const given = value.role == runtime::memory_role::input || value.role == runtime::memory_role::constant;
        if (value.type.is_static() ? !value.type.elements() : given || value.part_of >= 0 || value.block != 0)
            return add(name, {}, "a static type", to_string(value.type));
        auto const has_data = value.data.element() != dtype::undefined;
        if (has_data &&
            (value.role != runtime::memory_role::constant || !holds_same_elements(value.data.type(), value.type)))
            add(name, {}, format_text("a constant of {}", to_string(value.type)), to_string(value.data.type()));
        if (value.role == runtime::memory_role::input &&
            (value.position >= g_.inputs.size() || !holds_same_elements(g_.inputs[value.position], value.type)))
            add(name, {}, format_text("an input of {}", to_string(value.type)),
                value.position < g_.inputs.size() ? to_string(g_.inputs[value.position])
                                                  : format_text("{} inputs", g_.inputs.size()));
        if (!laid_out()) {
            if (value.part_of >= 0 || value.block != 0) add(name, {}, "no storage before the pass layout", "storage");
            return;
        }
        if (value.part_of >= 0) {
            if (!known(value.part_of) || g_.values[static_cast<std::size_t>(value.part_of)].part_of >= 0)
                add(name, {}, "a piece of a whole value", describe(value.part_of));
            else if (auto const whole = g_.values[static_cast<std::size_t>(value.part_of)].bytes;
                     value.offset > whole || value.bytes > whole - value.offset)
                add(name, {}, format_text("a piece within {} bytes", whole),
                    format_text("{} bytes from {} on", value.bytes, value.offset));
        }
        if (value.block != 0 && (value.block < 0 || !may_be_blocked(value.type)))
            return add(name, {}, "a value of rank 3 to 5 in blocks", to_string(value.type));
        if (auto const least = least_bytes(value); !least || value.bytes < *least)
            add(name, {}, least ? format_text("{} bytes", *least) : "fewer elements", format_text("{}", value.bytes));
    }
    void check_op(kernel_op const& op) {
        auto const name = op.covers.empty() ? op.moves : op.covers.back().name;
        auto const kind = kind_of(op);
        if (auto const a = arity_of(op)) {
            if (op.operands.size() != a->operands)
                add(name, kind, format_text("{} operands", a->operands), format_text("{}", op.operands.size()));
            auto const flag = laid_out() && moves_by_choice(op);
            if (op.results.size() != a->results + flag)
                add(name, kind, format_text("{} results", a->results + flag), format_text("{}", op.results.size()));
        }
        for (std::size_t i = 0; i < op.operands.size(); ++i) check_operand(op, i, name, kind);
        check_sizes(op, name, kind);
        for (auto const v : op.results) {
            if (!known(v) || g_.values[static_cast<std::size_t>(v)].role == runtime::memory_role::constant ||
                g_.values[static_cast<std::size_t>(v)].role == runtime::memory_role::input)
                add(name, kind, "a result that may be written", describe(v));
            else if (std::exchange(written_[static_cast<std::size_t>(v)], char{1}) != 0 && !works_in_place(op, v))
                add(name, kind, "a result that nothing wrote before", describe(v));
            else if (auto const whole = g_.values[static_cast<std::size_t>(v)].part_of; known(whole))
                written_[static_cast<std::size_t>(whole)] = 1;
        }
        if (auto const* const c = std::get_if<runtime::copy_call>(&op.computes)) check_moves(op, *c, name, kind);
        if (auto const* const c = std::get_if<runtime::reference_call>(&op.computes)) check_types(op, *c, name, kind);
        if (!laid_out() && known_values(op)) check_shapes(op, name, kind);
        auto const is_view = std::holds_alternative<view_shape>(op.computes) ||
                             std::holds_alternative<concat_shape>(op.computes) ||
                             std::holds_alternative<pad_shape>(op.computes);
        if (laid_out() && is_view) add(name, kind, "kernels, copies and calls alone", kind);
        auto const scheduled = std::holds_alternative<kernels::descriptor>(op.computes) ||
                               std::holds_alternative<custom_kernel>(op.computes);
        if (g_.stage == lowering_stage::scheduled && scheduled && !op.schedule) add(name, kind, "a schedule", "none");
    }
    // Whether a kernel changes a value that was written before, its first operand.
    static bool works_in_place(kernel_op const& op, kernel_value_id v) {
        auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
        auto const* const s = d ? std::get_if<kernels::scatter_shape>(d) : nullptr;
        return s && s->in_place && op.operands[0].value == v;
    }
    tensor_type const& type(kernel_value_id v) const { return g_.values[static_cast<std::size_t>(v)].type; }
    bool known_values(kernel_op const& op) const {
        return std::all_of(op.operands.begin(), op.operands.end(), [&](auto const& o) { return known(o.value); }) &&
               std::all_of(op.results.begin(), op.results.end(), [&](auto v) { return known(v); }) &&
               !op.operands.empty() && !op.results.empty();
    }
    // The evaluator alone, and copies of a whole value, take sizes that data decide.
    void check_sizes(kernel_op const& op, std::string const& name, std::string const& kind) {
        auto const* const copy = std::get_if<runtime::copy_call>(&op.computes);
        if (std::holds_alternative<runtime::reference_call>(op.computes)) return;
        std::size_t open = 0;
        auto const count = [&](kernel_value_id v) { open += known(v) && !type(v).is_static(); };
        for (auto const& o : op.operands) count(o.value);
        for (auto const v : op.results) count(v);
        auto const whole = copy && op.operands.size() == 1 && op.results.size() == 1 && open == 2;
        if (open != 0 && !whole) add(name, kind, "static types", format_text("{} that data decide", open));
    }
    // What moves elements, and how operands are read, over the dimensions that there are.
    void check_shapes(kernel_op const& op, std::string const& name, std::string const& kind) {
        auto const &from = type(op.operands[0].value), &to = type(op.results[0]);
        auto const rank = static_cast<std::int64_t>(from.rank());
        if (auto const* const v = std::get_if<view_shape>(&op.computes)) {
            if (v->reshape
                    ? !holds_same_elements(from, to)
                    : v->start.size() != from.rank() || v->from.size() != to.rank() || v->step.size() != to.rank() ||
                          std::any_of(v->from.begin(), v->from.end(), [&](auto d) { return d < -1 || d >= rank; }))
                add(name, kind, format_text("a view of {} as {}", to_string(from), to_string(to)), "another");
        } else if (auto const* const c = std::get_if<concat_shape>(&op.computes)) {
            auto same = c->axis >= 0 && c->axis < static_cast<std::int64_t>(to.rank());
            for (auto const& o : op.operands) same = same && type(o.value).rank() == to.rank();
            if (!same) add(name, kind, "operands of one rank and an axis of theirs", format_text("axis {}", c->axis));
        } else if (auto const* const p = std::get_if<pad_shape>(&op.computes)) {
            if (p->before.size() != from.rank() || p->after.size() != from.rank() || to.rank() != from.rank())
                add(name, kind, format_text("{} dimensions with a border", from.rank()),
                    format_text("{} and {}", p->before.size(), p->after.size()));
        }
        auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
        if (!d) return;
        std::optional<std::size_t> frame;
        if (auto const* const r = std::get_if<kernels::row_reduction_shape>(d)) {
            frame = op.frame.size();
            if (r->dims.empty() || r->dims.size() > op.frame.size() + 1)
                add(name, kind, "a frame of at least its dimensions", format_text("{} dimensions", op.frame.size()));
        } else if (auto const* const m = std::get_if<kernels::matmul_shape>(d)) {
            frame = m->batch.size() + 2;
        } else if (auto const* const a = std::get_if<kernels::attention_shape>(d)) {
            frame = a->batch.size() + 2;
        } else if (auto const* const x = std::get_if<kernels::reduction_shape>(d)) {
            frame = x->dims.size();
        }
        for (std::size_t i = 0; frame && i < op.operands.size(); ++i)
            if (requirement_of(op, i) == operand_requirement::view && op.operands[i].access.size() != *frame)
                add(name, kind, format_text("operand {} read along {} dimensions", i, *frame),
                    format_text("{}", op.operands[i].access.size()));
    }
    // The bytes of the value that a move begins at a number of.
    std::size_t bytes_at(kernel_op const& op, std::size_t i) const {
        auto const v = i < op.operands.size() ? op.operands[i].value : op.results[i - op.operands.size()];
        return known(v) ? g_.values[static_cast<std::size_t>(v)].bytes : 0;
    }
    void check_moves(kernel_op const& op, runtime::copy_call const& c, std::string const& name,
                     std::string const& kind) {
        auto const within = [&](std::size_t i, std::size_t at, std::size_t step, std::size_t size) {
            auto const bytes = bytes_at(op, i), times = static_cast<std::size_t>(c.times);
            return size <= bytes && at <= bytes - size &&
                   (times < 2 || step == 0 || times - 1 <= (bytes - size - at) / step);
        };
        auto const count = op.operands.size() + op.results.size();
        for (auto const& m : c.moves)
            if (m.from >= op.operands.size() || m.to < op.operands.size() || m.to >= count)
                add(name, kind, "moves from operands to results", format_text("one from {} to {}", m.from, m.to));
            else if (laid_out() && (c.times < 0 || !within(m.from, m.from_at, m.from_step, m.size) ||
                                    !within(m.to, m.to_at, m.to_step, m.size)))
                add(name, kind, "moves within their values", format_text("one of {} bytes beyond", m.size));
    }
    void check_types(kernel_op const& op, runtime::reference_call const& c, std::string const& name,
                     std::string const& kind) {
        auto const compare = [&](std::string_view what, std::size_t i, kernel_value_id v, tensor_type const& t) {
            if (known(v) && !holds_same_elements(g_.values[static_cast<std::size_t>(v)].type, t))
                add(name, kind, format_text("{} {} of {}", what, i, to_string(t)),
                    to_string(g_.values[static_cast<std::size_t>(v)].type));
        };
        auto const inputs = c.graph.inputs();
        for (std::size_t i = 0; i < std::min(inputs.size(), op.operands.size()); ++i)
            compare("operand", i, op.operands[i].value, c.graph.type({inputs[i], 0}));
        for (std::size_t i = 0; i < std::min(c.graph.output_count(), op.results.size()); ++i)
            compare("result", i, op.results[i], c.graph.type(c.graph.output(i)));
    }
    // Weights are packed by their kernel's shape.
    void check_weights(kernel_op const& op, std::size_t i, std::string const& name, std::string const& kind) {
        auto const& o = op.operands[i];
        auto const& value = g_.values[static_cast<std::size_t>(o.value)];
        if (value.role != runtime::memory_role::constant)
            add(name, kind, format_text("operand {} constant", i), describe(o.value));
        if (!o.packing) return add(name, kind, format_text("operand {} packed", i), "no packing");
        if (!std::holds_alternative<kernels::descriptor>(op.computes))
            return add(name, kind, format_text("operand {} as it is", i), "a packing");
        auto const count = packed_weights(op, i);
        if (!count || value.type.element != dtype::f32 || value.type.elements() != count)
            add(name, kind, count ? format_text("operand {} of {} f32 weights", i, *count) : "no weights",
                to_string(value.type));
        auto const scales = o.packing->scale.size();
        if (scales != 0 && (value.type.rank() == 0 || static_cast<std::int64_t>(scales) != value.type.dims[0].size()))
            add(name, kind, format_text("operand {} with a factor for each output channel", i),
                format_text("{} factors", scales));
    }
    void check_operand(kernel_op const& op, std::size_t i, std::string const& name, std::string const& kind) {
        auto const& o = op.operands[i];
        if (!holds(o.value))
            return add(name, kind, format_text("operand {} that is computed before", i), describe(o.value));
        auto const& value = g_.values[static_cast<std::size_t>(o.value)];
        auto const need = requirement_of(op, i);
        for (auto const d : o.access)
            if (d >= static_cast<int>(value.type.rank()))
                return add(name, kind, format_text("operand {} read along its {} dimensions", i, value.type.rank()),
                           format_text("dimension {}", d));
        if (need == operand_requirement::weights) return check_weights(op, i, name, kind);
        if (!laid_out() || need == operand_requirement::any) return;
        if ((need == operand_requirement::blocks) != (value.block != 0) && !stored_alike(value))
            add(name, kind,
                format_text("operand {} {}", i, need == operand_requirement::blocks ? "in blocks" : "row-major"),
                value.block != 0 ? "blocks" : "row-major");
    }

    kernel_graph const& g_;
    std::vector<char> written_;
    std::vector<problem> found_;
};

} // namespace detail

GSUB_LAZY_BODY std::vector<problem> check(kernel_graph const& g) {
    return detail::kernel_graph_checker{g}.run();
}

} // namespace gsub
