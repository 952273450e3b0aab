#pragma once

#include <gsub/core/meta.hpp>
#include <gsub/lower/kernel_graph.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gsub {

GSUB_LAZY_BODY std::string_view to_string(lowering_stage s) noexcept {
    constexpr std::string_view names[] = {"fused", "selected", "laid-out", "scheduled"};
    return names[static_cast<std::size_t>(s)];
}

GSUB_LAZY_BODY std::string kind_of(kernel_op const& op) {
    return std::visit(
        overloaded{
            [](kernels::descriptor const& d) { return kernels::kind_of(d); },
            [](view_shape const&) -> std::string { return "view"; },
            [](concat_shape const&) -> std::string { return "concat"; },
            [](pad_shape const&) -> std::string { return "pad"; },
            [](custom_kernel const& c) { return c.name; },
            [](runtime::copy_call const& c) -> std::string { return c.moves.size() > 1 ? "join" : "copy"; },
            [](runtime::external_call const& c) { return fmt::format("extern {}", c.op); },
            [](runtime::reference_call const& c) { return fmt::format("reference {}", runtime::operators_of(c)); },
        },
        op.computes);
}

GSUB_LAZY_BODY operand_need need_of(kernel_op const& op, std::size_t operand) {
    using enum operand_need;
    if (operand < op.operands.size() && op.operands[operand].packing) return weights;
    if (std::holds_alternative<runtime::copy_call>(op.computes)) return any;
    auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
    if (!d) return row_major;
    auto const of_conv = [&](kernels::conv2d_shape const& s, std::size_t i) { // behind the weights
        return s.bias && i == 2 ? lanes : blocks;
    };
    return std::visit(overloaded{
                          [&](kernels::conv2d_shape const& s) {
                              if (operand == 0) return s.blocked_input ? blocks : row_major;
                              return of_conv(s, operand);
                          },
                          [&](kernels::winograd_shape const& s) { return of_conv(s.conv, operand); },
                          [&](kernels::separable_shape const& s) {
                              auto const first = s.depthwise.bias ? std::size_t{2} : 1; // operand before the weights
                              if (operand <= first) return of_conv(s.depthwise, operand);
                              return of_conv(s.pointwise, operand - first);
                          },
                          [&](kernels::pool2d_shape const&) { return operand == 0 ? blocks : row_major; },
                          [&](kernels::elementwise_shape const&) { return blocks; },
                          [&](kernels::matmul_shape const& s) { return s.bias && operand == 2 ? lanes : view; },
                          [&](kernels::attention_shape const&) { return view; },
                          [&](kernels::row_program const&) { return view; },
                          [&](kernels::reduction_shape const&) { return view; },
                          [&](kernels::movement_shape const& m) {
                              return m.kind == kernels::movement_kind::from_blocks ? blocks : row_major;
                          },
                          [&](auto const&) { return row_major; },
                      },
                      *d);
}

GSUB_LAZY_BODY bool makes_blocks(kernel_op const& op) noexcept {
    auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
    return d &&
           (std::holds_alternative<kernels::conv2d_shape>(*d) || std::holds_alternative<kernels::winograd_shape>(*d) ||
            std::holds_alternative<kernels::separable_shape>(*d) || std::holds_alternative<kernels::pool2d_shape>(*d) ||
            std::holds_alternative<kernels::elementwise_shape>(*d));
}

GSUB_LAZY_BODY bool joins_blocks(tensor_type const& whole, std::int64_t axis, std::span<tensor_type const> parts,
                                 std::int64_t lanes) {
    if (axis != 1 || !may_be_blocked(whole) || whole.dims[0].size() != 1) return false;
    return std::all_of(parts.begin(), parts.end(),
                       [&](tensor_type const& t) { return t.dims[1].size() % lanes == 0 && *t.elements() > 0; });
}
GSUB_LAZY_BODY std::optional<std::int64_t> cuts_blocks(view_shape const& v, tensor_type const& from,
                                                       tensor_type const& to, std::int64_t lanes) {
    if (v.reshape || !may_be_blocked(from) || from.rank() != to.rank() || from.dims[0].size() != 1) return std::nullopt;
    for (std::size_t d = 0; d < v.from.size(); ++d) {
        if (v.from[d] != static_cast<std::int8_t>(d) || v.step[d] != 1) return std::nullopt;
        if (d != 1 && (v.start[d] != 0 || from.dims[d].size() != to.dims[d].size())) return std::nullopt;
    }
    if (v.start[1] % lanes != 0 || to.dims[1].size() % lanes != 0) return std::nullopt;
    return v.start[1];
}

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
            [&](kernels::row_program const& p) {
                return kernel_arity{p.arrays.size(), p.results.size()};
            },
            [&](kernels::movement_shape const& m) { return kernel_arity{m.arrays.size() + m.chosen.has_value()}; },
            [&](auto const&) { return kernel_arity{1}; },
        },
        *d);
}

template <class = void>
class kernel_graph_checker {
public:
    explicit kernel_graph_checker(kernel_graph const& g) : g_(g) {}
    std::vector<problem> run() {
        written_.assign(g_.values.size(), 0);
        for (std::size_t v = 0; v < g_.values.size(); ++v) check_value(v);
        for (auto const& op : g_.ops) check_op(op);
        for (std::size_t i = 0; i < g_.outputs.size(); ++i)
            if (!holds(g_.outputs[i]))
                add(fmt::format("output {}", i), {}, "a value that is computed", describe(g_.outputs[i]));
        if (g_.results.size() != g_.outputs.size())
            add("the graph", {}, fmt::format("{} result types", g_.outputs.size()),
                fmt::format("{}", g_.results.size()));
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
        return known(v) ? fmt::format("%{}", v) : fmt::format("%{}, which there is not", v);
    }
    void add(std::string node, std::string op, std::string_view expected, std::string_view found) {
        found_.push_back(
            {error_code::usage,
             std::move(node),
             std::move(op),
             fmt::format("expected {}, found {} (behind the pass {})", expected, found, pass_before(g_.stage)),
             {}});
    }
    void check_value(std::size_t v) {
        auto const& value = g_.values[v];
        auto const name = fmt::format("%{}", v);
        if (!value.type.is_static()) add(name, {}, "a static type", to_string(value.type));
        if (!laid_out()) {
            if (value.part_of >= 0 || value.block != 0) add(name, {}, "no storage before the pass layout", "storage");
            return;
        }
        if (value.part_of >= 0) {
            if (!known(value.part_of) || g_.values[static_cast<std::size_t>(value.part_of)].part_of >= 0)
                add(name, {}, "a piece of a whole value", describe(value.part_of));
            else if (value.offset + value.bytes > g_.values[static_cast<std::size_t>(value.part_of)].bytes)
                add(name, {}, "a piece within its value", fmt::format("bytes up to {}", value.offset + value.bytes));
        }
        if (value.block != 0 && !may_be_blocked(value.type))
            add(name, {}, "a value of rank 3 to 5 in blocks", to_string(value.type));
    }
    void check_op(kernel_op const& op) {
        auto const name = op.covers.empty() ? op.moves : op.covers.back().name;
        auto const kind = kind_of(op);
        if (auto const a = arity_of(op)) {
            if (op.operands.size() != a->operands)
                add(name, kind, fmt::format("{} operands", a->operands), fmt::format("{}", op.operands.size()));
            auto const flag = laid_out() && moves_by_choice(op);
            if (op.results.size() != a->results + flag)
                add(name, kind, fmt::format("{} results", a->results + flag), fmt::format("{}", op.results.size()));
        }
        for (std::size_t i = 0; i < op.operands.size(); ++i) check_operand(op, i, name, kind);
        for (auto const v : op.results) {
            if (!known(v) || g_.values[static_cast<std::size_t>(v)].role == runtime::memory_role::constant ||
                g_.values[static_cast<std::size_t>(v)].role == runtime::memory_role::input)
                add(name, kind, "a result that may be written", describe(v));
            else if (std::exchange(written_[static_cast<std::size_t>(v)], char{1}) != 0)
                add(name, kind, "a result that nothing wrote before", describe(v));
            else if (auto const whole = g_.values[static_cast<std::size_t>(v)].part_of; known(whole))
                written_[static_cast<std::size_t>(whole)] = 1;
        }
        auto const is_view = std::holds_alternative<view_shape>(op.computes) ||
                             std::holds_alternative<concat_shape>(op.computes) ||
                             std::holds_alternative<pad_shape>(op.computes);
        if (laid_out() && is_view) add(name, kind, "kernels, copies and calls alone", kind);
        auto const scheduled = std::holds_alternative<kernels::descriptor>(op.computes) ||
                               std::holds_alternative<custom_kernel>(op.computes);
        if (g_.stage == lowering_stage::scheduled && scheduled && !op.schedule) add(name, kind, "a schedule", "none");
    }
    static bool moves_by_choice(kernel_op const& op) {
        auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
        auto const* const m = d ? std::get_if<kernels::movement_shape>(d) : nullptr;
        return m && m->chosen;
    }
    void check_operand(kernel_op const& op, std::size_t i, std::string const& name, std::string const& kind) {
        auto const& o = op.operands[i];
        if (!holds(o.value))
            return add(name, kind, fmt::format("operand {} that is computed before", i), describe(o.value));
        auto const& value = g_.values[static_cast<std::size_t>(o.value)];
        auto const need = need_of(op, i);
        for (auto const d : o.access)
            if (d >= static_cast<int>(value.type.rank()))
                return add(name, kind, fmt::format("operand {} read along its {} dimensions", i, value.type.rank()),
                           fmt::format("dimension {}", d));
        if (!laid_out() || need == operand_need::any) return;
        if ((need == operand_need::blocks) != (value.block != 0) && !stored_alike(value))
            add(name, kind, fmt::format("operand {} {}", i, need == operand_need::blocks ? "in blocks" : "row-major"),
                value.block != 0 ? "blocks" : "row-major");
        if (need == operand_need::weights && value.role != runtime::memory_role::constant)
            add(name, kind, fmt::format("operand {} constant", i), describe(o.value));
    }
    // Blocks of one pixel a channel are the channels in order.
    static bool stored_alike(kernel_value const& v) {
        auto const sizes = v.type.sizes();
        return sizes.size() >= 2 && product(std::span{sizes}.subspan(2)) == 1;
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
