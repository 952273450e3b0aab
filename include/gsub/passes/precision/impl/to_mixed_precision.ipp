#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/impl/argument_list.hpp>
#include <gsub/passes/impl/op_set.hpp>
#include <gsub/passes/precision/to_mixed_precision.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace gsub::passes {

namespace detail {

// What is known of the standard operators.
struct precision_row {
    precision_class how;
    op_set operators;
};
inline constexpr precision_row builtin_precision[] = {
    {precision_class::always, op_ids<ops::conv, ops::mat_mul, ops::gemm>},
    {precision_class::never,
     op_ids<ops::exp, ops::pow, ops::softmax, ops::erf, ops::log, ops::range, ops::fill, ops::dirac,
            ops::global_average_pool, ops::reduce_sum, ops::reduce_mean, ops::layer_norm, ops::lrn,
            ops::batch_norm_training, ops::fast_exp, ops::fast_erf, ops::fast_softmax, ops::cast, ops::quantize,
            ops::dequantize, ops::conv_integer, ops::mat_mul_integer, ops::qlinear_conv, ops::qlinear_mat_mul,
            ops::compiler_annotation, ops::shape>},
    {precision_class::follow,
     op_ids<ops::batch_norm, ops::max_pool, ops::average_pool, ops::dropout, ops::relu, ops::clip, ops::sigmoid,
            ops::tanh, ops::fast_tanh, ops::sqrt, ops::add, ops::sub, ops::mul, ops::div, ops::sum, ops::hard_sigmoid,
            ops::hard_swish, ops::leaky_relu, ops::elu, ops::gelu, ops::neg, ops::abs, ops::reduce_max, ops::identity,
            ops::concat, ops::split, ops::slice, ops::pad, ops::gather, ops::reshape, ops::flatten, ops::transpose,
            ops::squeeze, ops::unsqueeze, ops::expand, ops::layout_transform, ops::equal, ops::less, ops::less_or_equal,
            ops::greater, ops::greater_or_equal, ops::logical_not, ops::logical_and, ops::logical_or, ops::logical_xor,
            ops::is_nan, ops::is_inf, ops::where, ops::let>},
};

// Nothing: not listed.
GSUB_LAZY std::optional<precision_class> builtin_class(op_info const& op) {
    if (op.category == op_category::structural || op.category == op_category::opaque) return precision_class::never;
    for (auto const& row : builtin_precision)
        if (contains(row.operators, op.id)) return row.how;
    return std::nullopt;
}

// One body written anew. Each f32 value may then stand in 16 bits, in f32, or in both.
template <class = void>
class precision_change {
public:
    precision_change(any_graph const& g, pass_context const& cx, to_mixed_precision const& p, pass_outcome& outcome)
        : g_(g),
          cx_(cx),
          p_(p),
          outcome_(outcome),
          greatest_(p.target == dtype::f16 ? 65504.0 : 0x1.fep127),
          lowered_(g.capacity(), false) {
        for (auto const& r : p.rules) {
            auto const rows = g.operators().ops;
            auto const row = std::find_if(rows.begin(), rows.end(), [&](op_info const& o) { return o.name == r.op; });
            if (row == rows.end())
                throw error{problem{error_code::usage, {}, {}, format_text("no operator: {}", quoted{r.op}), {}}};
            rules_.emplace(static_cast<std::uint64_t>(row->id), r.how);
        }
    }

    std::optional<any_graph> run() {
        bool any = false;
        for (auto n : g_.order())
            any = any || (!g_.constant(n) && class_of(n) == precision_class::always && reads_f32(n));
        if (!any) return std::nullopt;
        for (auto n : g_.order()) decide(n);
        if (outcome_.matches == 0) return std::nullopt;
        cx_.check_stop();
        return rewritten();
    }

private:
    // Nothing: not listed.
    [[nodiscard]] std::optional<precision_class> class_of(node_id n) const {
        auto const& op = g_.op(n);
        if (auto const own = rules_.find(static_cast<std::uint64_t>(op.id)); own != rules_.end()) return own->second;
        return builtin_class(op);
    }
    [[nodiscard]] bool is_f32(value_id v) const { return v.valid() && g_.type(v).element == dtype::f32; }
    [[nodiscard]] bool reads_f32(node_id n) const {
        for (auto v : g_.operands(n))
            if (is_f32(v)) return true;
        return false;
    }

    // The value in 16 bits of which a value is the conversion back, where it is one.
    [[nodiscard]] value_id before_conversion(value_id v) const {
        if (!g_.is<ops::cast>(v.node) || g_.attributes<ops::cast>(v.node).to != dtype::f32) return {};
        auto const from = g_.operand(v.node, 0);
        return g_.type(from).element == p_.target ? from : value_id{};
    }
    // Whether a follower finds an f32 value in 16 bits: computed so, or free to be converted.
    [[nodiscard]] bool at_hand(value_id v) const {
        return lowered_[v.node.index] || g_.is<ops::input>(v.node) || g_.constant(v) || before_conversion(v).valid();
    }

    // Whether conversions serve anything: a value that is in 16 bits already, or one that will be.
    [[nodiscard]] bool pays(node_id n) const {
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
            if (is_f32({n, port})) return true;
        for (auto v : g_.operands(n))
            if (is_f32(v) && (lowered_[v.node.index] || before_conversion(v).valid())) return true;
        return false;
    }

    [[nodiscard]] bool beyond(double x) const { return std::isfinite(x) && std::abs(x) > greatest_; }
    // Whether a constant has a number that the type cannot hold.
    bool exceeds(value_id v) {
        if (!g_.is<ops::constant>(v.node)) return false;
        auto const [found, is_new] = exceeds_.try_emplace(v.node.index, false);
        if (is_new)
            for (auto x : g_.constant_data(v.node).template data<float>())
                if (beyond(static_cast<double>(x))) {
                    found->second = true;
                    break;
                }
        return found->second;
    }
    [[nodiscard]] bool bound_exceeds(node_id n) const {
        if (g_.is<ops::clip>(n)) {
            auto const& a = g_.attributes<ops::clip>(n);
            return beyond(a.min) || beyond(a.max);
        }
        if (g_.is<ops::conv>(n)) {
            auto const& a = g_.attributes<ops::conv>(n);
            return beyond(a.act_min) || beyond(a.act_max);
        }
        return g_.is<ops::pad>(n) && beyond(g_.attributes<ops::pad>(n).value);
    }

    // Whether inference gives a node the same types with 16 bits for f32.
    [[nodiscard]] bool well_typed(node_id n) const {
        auto const operands = g_.operands(n);
        small_vector<type_id, 6> types;
        for (auto v : operands) types.push_back(v.valid() ? narrowed(v) : type_id{});
        infer_context cx{g_.op(n), g_.attributes(n), types, g_.result_count(n)};
        for (std::size_t i = 0; i < operands.size(); ++i)
            if (!operands[i].valid()) cx.set_absent(i);
        infer(g_.operators(), g_.row(n), cx);
        if (cx.failed()) return false;
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
            if (!compatible(cx.result_type(port), *narrowed({n, port}))) return false;
        return true;
    }
    [[nodiscard]] type_id narrowed(value_id v) const {
        if (!is_f32(v)) return g_.type_of(v);
        auto type = g_.type(v);
        type.element = p_.target;
        return type;
    }

    void decide(node_id n) {
        auto const how = class_of(n);
        if (!how && !(g_.constant(n) || !reads_f32(n))) {
            auto const name = g_.op(n).name;
            if (p_.unlisted == unlisted_op::error)
                throw error{problem{error_code::unsupported, g_.display_name(n), std::string{name},
                                    "it is not known whether it bears 16 bits", "to_mixed_precision::rules"}};
            if (p_.unlisted == unlisted_op::count) outcome_.skip(format_text("not listed, follows: {}", name));
        }
        if (how == precision_class::never || g_.constant(n) || !g_.used(n) || !reads_f32(n)) return;
        for (auto v : g_.operands(n))
            if (v.valid() && g_.type(v).element == dtype::f64) return outcome_.skip("computed in f64");
        auto const follows = how != precision_class::always;
        for (auto v : g_.operands(n))
            if (follows && is_f32(v) && !at_hand(v)) return;
        if (follows && !pays(n)) return;
        bool too_great = bound_exceeds(n);
        for (auto v : g_.operands(n)) too_great = too_great || (is_f32(v) && exceeds(v));
        if (too_great) return outcome_.skip("a number beyond the type");
        if (!well_typed(n)) return outcome_.skip("types that do not allow it");
        if (!cx_.should_rewrite()) return;
        lowered_[n.index] = true;
        ++outcome_.matches;
    }

    struct forms {
        value_id original, narrow; // the new values of an old one, made when they are asked for
    };
    forms& of(value_id v) { return forms_[(static_cast<std::uint64_t>(v.node.index) << 32) | v.port]; }
    value_id converted(value_id v, dtype to) { return out_->template add<ops::cast>({.to = to}, {v}); }
    value_id original(value_id v) {
        if (!v.valid()) return v;
        auto& f = of(v);
        if (!f.original.valid()) f.original = converted(f.narrow, dtype::f32);
        return f.original;
    }
    value_id narrow(value_id v) {
        if (!is_f32(v)) return original(v);
        auto& f = of(v);
        if (f.narrow.valid()) return f.narrow;
        auto const earlier = before_conversion(v);
        auto const made = earlier.valid() ? original(earlier) : converted(original(v), p_.target);
        return of(v).narrow = made;
    }

    // For those who look at no element.
    value_id either(value_id v) {
        auto const& f = of(v);
        return f.original.valid() ? f.original : f.narrow;
    }

    any_graph rewritten() {
        out_.emplace(g_.operators());
        for (auto n : g_.inputs()) of({n, 0}).original = out_->add_input(g_.type_of({n, 0}), g_.name({n, 0}));
        for (auto n : g_.order()) {
            if (g_.is<ops::input>(n) || n == g_.return_node()) continue;
            if (g_.is<ops::cast>(n) && g_.attributes<ops::cast>(n).to == p_.target && is_f32(g_.operand(n, 0))) {
                of({n, 0}).original = narrow(g_.operand(n, 0)); // it is made once
                continue;
            }
            small_vector<value_id, 6> operands;
            small_vector<type_id, 2> types;
            auto const low = lowered_[n.index];
            for (auto v : g_.operands(n))
                operands.push_back(low ? narrow(v) : g_.is<ops::shape>(n) ? either(v) : original(v));
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                types.push_back(low ? narrowed({n, port}) : g_.type_of({n, port}));
            auto const made = clone_node(*out_, g_, n, operands, cloned_text::names, {types, {}});
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                (low && is_f32({n, port}) ? of({n, port}).narrow : of({n, port}).original) = {made, port};
        }
        small_vector<value_id, 6> outputs;
        for (std::size_t i = 0; i < g_.output_count(); ++i) outputs.push_back(original(g_.output(i)));
        out_->set_info(g_.info());
        auto const names = g_.info().output_names;
        out_->set_outputs(outputs, names);
        out_->erase_dead();
        return std::move(*out_);
    }

    any_graph const& g_;
    pass_context const& cx_;
    to_mixed_precision const& p_;
    pass_outcome& outcome_;
    double greatest_;
    std::vector<bool> lowered_; // by node: whether it is to compute in 16 bits
    std::unordered_map<std::uint64_t, precision_class> rules_;
    std::unordered_map<std::uint32_t, bool> exceeds_; // by constant
    std::unordered_map<std::uint64_t, forms> forms_;  // by node and port
    std::optional<any_graph> out_;
};

} // namespace detail

GSUB_LAZY_BODY result<to_mixed_precision> to_mixed_precision::from_text(std::string_view text) {
    to_mixed_precision out;
    while (!text.empty()) {
        auto const part = detail::next_item(text);
        if (part == "f16" || part == "bf16")
            out.target = part == "f16" ? dtype::f16 : dtype::bf16;
        else if (part == "error" || part == "count" || part == "silent")
            out.unlisted = part == "error"   ? unlisted_op::error
                           : part == "count" ? unlisted_op::count
                                             : unlisted_op::silent;
        else
            return error{errors::pass_arguments,
                         format_text("argument {}; it takes f16 or bf16, and error, count or silent", quoted{part})};
    }
    return out;
}

GSUB_LAZY_BODY result<pass_outcome> to_mixed_precision::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] {
        if (target != dtype::f16 && target != dtype::bf16)
            throw error{problem{errors::pass_arguments,
                                {},
                                {},
                                format_text("element type {}; it takes f16 and bf16", to_string(target)),
                                {}}};
        pass_outcome outcome;
        if (auto made = detail::precision_change<>{g, cx, *this, outcome}.run()) g = std::move(*made);
        outcome.changed = outcome.matches > 0;
        return outcome;
    });
}

} // namespace gsub::passes
