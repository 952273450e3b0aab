#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/kernels/row_reduction.hpp>
#include <gsub/lower/impl/kernel_frame.ipp>
#include <gsub/lower/scalar_lowering.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gsub::detail {

// The element of a constant that has one.
GSUB_LAZY std::optional<tensor> one_number(any_graph const& g, value_id v) {
    if (g.is<ops::fill>(v.node) && g.operand_count(v.node) == 0 && g.type(v).elements() == 1) {
        auto const& a = g.attributes<ops::fill>(v.node);
        auto const to = g.type(v).element;
        return is_floating(to) ? tensor::scalar(a.value).converted_to(to) : tensor::scalar(a.integer).converted_to(to);
    }
    if (!g.is<ops::constant>(v.node)) return std::nullopt;
    auto const t = g.constant_data(v.node);
    return t.elements() == 1 ? std::optional{t} : std::nullopt;
}
GSUB_LAZY std::int64_t whole_of(tensor const& wide) {
    if (wide.element() == dtype::u64) return static_cast<std::int64_t>(wide.data<std::uint64_t>()[0]);
    return is_floating(wide.element()) ? 0 : wide.data<std::int64_t>()[0];
}
GSUB_LAZY scalar number_of(scalar_builder& b, tensor const& t) {
    auto const type = loop::computed_in(t.element());
    auto const wide = t.converted_to(widest_of_kind(t.element()));
    return b.number(is_floating(type) ? wide.data<double>()[0] : 0, whole_of(wide), type);
}
// In the type that it is computed with.
GSUB_LAZY scalar widened(scalar s) {
    return cast(s, loop::computed_in(s.type()));
}
// The first dimension of those that a node reduces, if they are the last ones.
GSUB_LAZY std::optional<std::size_t> reduced_from(any_graph const& g, node_id n) {
    if (g.operand_count(n) != 1) return std::nullopt;
    auto const& a = g.is<ops::reduce_sum>(n)    ? g.attributes<ops::reduce_sum>(n)
                    : g.is<ops::reduce_mean>(n) ? g.attributes<ops::reduce_mean>(n)
                                                : g.attributes<ops::reduce_max>(n);
    auto const rank = static_cast<std::int64_t>(g.type(g.operand(n, 0)).rank());
    if (a.axes.empty()) return 0;
    std::vector<std::int64_t> axes;
    for (auto d : a.axes) axes.push_back(d < 0 ? d + rank : d);
    std::sort(axes.begin(), axes.end());
    for (std::size_t i = 0; i < axes.size(); ++i)
        if (axes[i] != rank - static_cast<std::int64_t>(axes.size() - i)) return std::nullopt;
    return static_cast<std::size_t>(axes.front());
}

struct known_value {
    std::int32_t number = 0;
    dtype type = dtype::f32;
};
// What each value of the kernel is: so few that a list finds them faster than a tree.
template <class = void>
class known_values {
public:
    [[nodiscard]] known_value const* find(value_id v) const noexcept {
        for (auto const& [of, what] : all_)
            if (of == v) return &what;
        return nullptr;
    }
    void set(value_id v, known_value what) {
        for (auto& [of, known] : all_)
            if (of == v) {
                known = what;
                return;
            }
        all_.emplace_back(v, what);
    }
    void erase(value_id v) {
        std::erase_if(all_, [&](auto const& k) { return k.first == v; });
    }

private:
    std::vector<std::pair<value_id, known_value>> all_;
};

// Translates operators to the operations of one kernel by their rows of `scalar_lowering`: arithmetic on values of one
// shape, the frame, with operands that broadcast to it; and, in kernels of rows, values of any element type, and
// reductions along the last dimensions of the frame. What a kernel computes first (a product) may stand as a value of
// its own.
template <class = void>
class expression_writer {
public:
    using array_test = function_ref<bool(value_id)>;
    static constexpr std::size_t most_operands = 48; // of a node: a kernel has fewer than 64 buffers

    /// `takes` says whether the kernel may read a value. With `rows` the kernel is one of rows; others compute f32.
    expression_writer(any_graph const& g, std::span<scalar_row const> scalars, ints frame, bool rows, array_test takes)
        : g_(g), scalars_(scalars), frame_(std::move(frame)), rows_(rows), takes_(takes) {}

    /// A value of f32 that the kernel computes before the chain.
    void start_with(value_id v) {
        known_.set(v, {product_mark, dtype::f32});
        begins_ = true;
    }

    /// The same, times a factor, and another value added times its own: what Gemm does behind its product. False where
    /// the kernel cannot read that value.
    bool start_with_sum(value_id v, double alpha, value_id added, double beta) {
        start_with(v);
        scalar_builder b{ops_, op_mark};
        auto sum = b.value(product_mark, dtype::f32);
        if (alpha != 1) sum = sum * b.number(alpha, sum);
        if (added.valid()) {
            auto const other = operand(b, added);
            if (!other) return false;
            if (other->is_number())
                sum = sum + b.number(beta * other->real(), sum);
            else
                sum = sum + (beta == 1 ? *other : *other * b.number(beta, sum));
        }
        if (auto const number = b.number_of(sum)) known_.set(v, {*number, dtype::f32});
        return !b.refused();
    }

    /// Adds an operator. Where it does not fit, nothing changes.
    bool add(node_id n) {
        auto const saved_ops = ops_.size(), saved_arrays = arrays_.size(), saved_from = frame_.row_from();
        scalar_builder b{ops_, op_mark};
        if (auto const v = translate(b, g_, n, [&](value_id o) { return operand(b, o); });
            v && ops_.size() <= most_operations) {
            // Rounded after each operator, so that it makes no difference which of them share a kernel.
            auto const result = cast(*v, g_.type({n, 0}).element);
            if (auto const number = b.number_of(result); number && (rows_ || is_last(*number))) {
                known_.set({n, 0}, {*number, result.type()});
                nodes_.push_back(n);
                return true;
            }
        }
        ops_.resize(saved_ops), arrays_.resize(saved_arrays), views_.resize(saved_arrays), frame_.set_row(saved_from);
        return false;
    }

    [[nodiscard]] std::vector<node_id> const& nodes() const noexcept { return nodes_; }
    [[nodiscard]] bool knows(value_id v) const { return known_.find(v) != nullptr; }
    [[nodiscard]] bool reduces() const noexcept { return frame_.reduces(); }
    /// Whether the kernel is one of rows, and whether it computes a value before the chain.
    [[nodiscard]] bool of_rows() const noexcept { return rows_; }
    [[nodiscard]] bool begins() const noexcept { return begins_; }
    [[nodiscard]] std::vector<value_id> const& arrays() const noexcept { return arrays_; }
    [[nodiscard]] std::size_t size() const noexcept { return ops_.size(); }
    /// Whether a value has one element a row.
    [[nodiscard]] bool is_reduced(value_id v) const { return frame_.is_reduced_shape(g_.type(v)); }
    [[nodiscard]] std::int32_t number(value_id v) const { return final_number(known_.find(v)->number); }

    /// Back to so many operators.
    void shrink(std::size_t nodes, std::size_t ops, std::size_t arrays) {
        for (auto i = nodes; i < nodes_.size(); ++i) known_.erase({nodes_[i], 0});
        nodes_.resize(nodes), ops_.resize(ops), arrays_.resize(arrays), views_.resize(arrays);
    }

    /// Dimensions with those of a row as one.
    [[nodiscard]] std::vector<std::int64_t> dims() const { return frame_.dims(); }
    [[nodiscard]] ints const& frame() const noexcept { return frame_.all(); }
    /// How the arrays are read over `dims` if they are stored row-major.
    [[nodiscard]] std::vector<kernels::array_view> views() const {
        std::vector<kernels::array_view> out;
        for (auto const& v : views_) out.push_back(frame_.row_view(v));
        return out;
    }
    [[nodiscard]] std::vector<kernels::row_reduction_op> ops() const {
        auto out = ops_;
        for (auto& o : out) {
            if (o.what.left >= 0) o.what.left = final_number(o.what.left);
            if (o.what.right >= 0) o.what.right = final_number(o.what.right);
            if (o.what.third >= 0) o.what.third = final_number(o.what.third);
        }
        return out;
    }
    [[nodiscard]] std::vector<kernels::elementwise_op> epilogue() const {
        std::vector<kernels::elementwise_op> out;
        for (auto const& o : ops()) out.push_back(o.what);
        return out;
    }

    /// Of the rows of a kernel, by some exponential function.
    static scalar softmax(scalar_builder& b, scalar x, loop::scalar_op exponential) {
        auto const power = apply(exponential, x - b.reduce(kernels::reduction_step::maximum, x));
        return power * (b.number(1, power) / b.reduce(kernels::reduction_step::sum, power)); // one quotient a row
    }

private:
    using number_id = std::int32_t;
    static constexpr number_id op_mark = 1 << 20, product_mark = 1 << 28;
    [[nodiscard]] number_id final_number(number_id v) const {
        if (v == product_mark) return 0;
        auto const first = begins_ ? 1 : 0;
        return first + (v < op_mark ? v : v - op_mark + static_cast<number_id>(arrays_.size()));
    }

    // Whether a value is that of a chain, of which the last operation counts.
    [[nodiscard]] bool is_last(number_id v) const {
        return v == (ops_.empty() ? product_mark : op_mark + static_cast<number_id>(ops_.size()) - 1);
    }

    // ---- operands
    std::optional<scalar> operand(scalar_builder& b, value_id v) {
        if (auto const* const known = known_.find(v)) {
            if (!rows_alone_ && frame_.stands_first(g_.type(v))) return std::nullopt;
            return widened(b.value(known->number, known->type));
        }
        if (auto const t = one_number(g_, v)) return number_of(b, *t);
        auto const a = array(v);
        if (!a) return std::nullopt;
        return widened(b.value(*a, g_.type(v).element));
    }
    std::optional<number_id> array(value_id v) {
        if (rows_alone_ && *g_.type(v).elements() > 1) return std::nullopt;
        for (std::size_t i = 0; i < arrays_.size(); ++i)
            if (arrays_[i] == v) return static_cast<number_id>(i);
        if (!has_elements(g_.type(v).element) || arrays_.size() >= 24) return std::nullopt;
        if (!takes_(v)) return std::nullopt;
        auto const sizes = g_.type(v).sizes();
        auto seen = frame_.broadcast(kernels::array_view::contiguous(sizes), sizes);
        if (!seen) return std::nullopt;
        seen->element = g_.type(v).element;
        arrays_.push_back(v);
        views_.push_back(*seen);
        return static_cast<number_id>(arrays_.size()) - 1;
    }
    // Whether arrays and results of a type may be in the kernel.
    [[nodiscard]] bool has_elements(dtype t) const {
        return rows_ ? computes(loop::scalar_op::cast, t) : t == dtype::f32;
    }
    // Whether it may compute such values: where it is a chain of f32, conditions too, which are not stored.
    [[nodiscard]] bool may_compute(dtype t) const { return has_elements(t) || t == dtype::boolean; }
    // ---- operators

    // Sets what a row is by its first dimension; refuses where it is set otherwise.
    bool set_row(std::size_t from) {
        if (!rows_ || begins_ || from >= frame_.all().size()) return false;
        if (frame_.reduces()) return from == frame_.row_from();
        frame_.set_row(from);
        return true;
    }
    using find_operand = function_ref<std::optional<scalar>(value_id)>;
    std::optional<scalar> translate(scalar_builder& b, any_graph const& g, node_id n, find_operand find) {
        if (g.result_count(n) != 1) return std::nullopt;
        auto const& type = g.type({n, 0});
        auto const rounds = &g != &g_ && loop::computed_in(type.element) == dtype::f32; // a part, which is not stored
        if (!may_compute(type.element) && !rounds) return std::nullopt;
        if (g.op(n).composite) return translate_parts(b, g, n, find);
        auto const reduces = g.is<ops::reduce_sum>(n) || g.is<ops::reduce_mean>(n) || g.is<ops::reduce_max>(n);
        // A part of a composite operator may be computed for more elements than it has, where it repeats.
        auto const repeats = &g != &g_ && frame_.broadcast(kernels::array_view::contiguous(type.sizes()), type.sizes());
        if (!frame_.is_of(type) && !reduces && !frame_.is_reduced_shape(type) && !repeats) return std::nullopt;
        auto const is_softmax = g.is<ops::softmax>(n) || g.is<ops::fast_softmax>(n);
        auto const lower = scalars_.empty() ? nullptr : scalars_[g.row(n)].lower;
        if (!reduces && !is_softmax && !lower) return std::nullopt;
        auto const of_rows = frame_.stands_first(type);
        small_vector<scalar, 4> x;
        for (auto v : g.operands(n)) {
            rows_alone_ = of_rows;
            auto const o = v.valid() ? find(v) : scalar{};
            rows_alone_ = false;
            if (!o) return std::nullopt;
            x.push_back(*o);
        }
        if (x.empty()) return std::nullopt;
        auto const made = reduces      ? reduction(b, g, n, x[0])
                          : is_softmax ? softmax_of(b, g, n, x[0])
                                       : lower(b, g.attributes(n), std::span<scalar const>{x.data(), x.size()});
        if (!made || b.refused() || !made->present()) return std::nullopt;
        if (made->type() != type.element && made->type() != loop::computed_in(type.element)) return std::nullopt;
        return made;
    }
    std::optional<scalar> softmax_of(scalar_builder& b, any_graph const& g, node_id n, scalar x) {
        auto const& in = g.type(g.operand(n, 0));
        if (!frame_.is_of(in)) return std::nullopt;
        auto const fast = g.is<ops::fast_softmax>(n);
        auto const& a = fast ? g.attributes<ops::fast_softmax>(n) : g.attributes<ops::softmax>(n);
        auto const rank = static_cast<std::int64_t>(in.rank());
        auto const axis = a.axis < 0 ? a.axis + rank : a.axis;
        if ((!a.flatten && axis != rank - 1) || !set_row(static_cast<std::size_t>(axis))) return std::nullopt;
        return softmax(b, x, fast ? loop::scalar_op::fast_exponential : loop::scalar_op::exponential);
    }
    std::optional<scalar> reduction(scalar_builder& b, any_graph const& g, node_id n, scalar x) {
        if (!frame_.is_of(g.type(g.operand(n, 0)))) return std::nullopt;
        auto const from = reduced_from(g, n);
        if (!from || !set_row(*from)) return std::nullopt;
        auto const step = g.is<ops::reduce_max>(n) ? kernels::reduction_step::maximum : kernels::reduction_step::sum;
        if (!g.is<ops::reduce_mean>(n)) return b.reduce(step, x);
        // The sum of integers has the bits that it needs before it is divided.
        auto const sum = b.reduce(step, is_integer(x.type()) ? cast(x, widest_of_kind(x.type())) : x);
        return cast(sum / b.number(static_cast<double>(frame_.elements_from(*from)), sum), x.type());
    }

    // A composite operator by its parts.
    std::optional<scalar> translate_parts(scalar_builder& b, any_graph const& g, node_id n, find_operand find) {
        auto const& d = g.operators();
        auto const build = d.infer[g.row(n)].build;
        if (!build) return std::nullopt;
        // Parts that reduce read row-major operands alone.
        if (g.op(n).category == op_category::reduction)
            for (auto v : g.operands(n))
                if (v.valid() && !g.type(v).layout.empty()) return std::nullopt;
        any_graph parts{d};
        small_vector<value_id, 6> inputs;
        std::map<value_id, value_id> outside;
        for (auto v : g.operands(n)) {
            inputs.push_back(v.valid() ? parts.add_input(g.type(v), {}) : value_id{});
            if (v.valid()) outside[inputs.back()] = v;
        }
        auto const result = build(parts, g.attributes(n), inputs);
        std::map<value_id, scalar> made;
        auto const inner = [&](value_id v) -> std::optional<scalar> {
            if (auto const known = made.find(v); known != made.end()) {
                if (!rows_alone_ && frame_.stands_first(parts.type(v))) return std::nullopt;
                return widened(known->second);
            }
            if (auto const t = one_number(parts, v)) return number_of(b, *t);
            if (auto const o = outside.find(v); o != outside.end()) return find(o->second);
            return std::nullopt;
        };
        for (auto m : parts.order()) {
            if (parts.operand_count(m) == 0) continue; // inputs and numbers
            auto const v = translate(b, parts, m, inner);
            if (!v) return std::nullopt;
            made[{m, 0}] = *v;
        }
        auto const found = made.find(result);
        if (found == made.end()) return std::nullopt;
        return found->second;
    }

    static constexpr std::size_t most_operations = 384; // a kernel is lowered by recursion over its expression

    any_graph const& g_;
    std::span<scalar_row const> scalars_;
    kernel_frame<> frame_;
    bool rows_, begins_ = false;
    bool rows_alone_ = false; // an operand is wanted that has one element a row
    array_test takes_;
    std::vector<node_id> nodes_;
    known_values<> known_;
    std::vector<value_id> arrays_;
    std::vector<kernels::array_view> views_; // over the frame
    std::vector<kernels::row_reduction_op> ops_;
};

} // namespace gsub::detail
