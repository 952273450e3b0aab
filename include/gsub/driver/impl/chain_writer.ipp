#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/ir/ops.hpp>
#include <gsub/kernels/row_kernel.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gsub::detail {

// Translates operators to the operations of one kernel: arithmetic on values of one shape, the frame, with operands
// that broadcast to it; and, where allowed, reductions along its last dimensions. What a kernel computes first (a
// product) may stand as a value of its own.
template <class = void>
class chain_writer {
public:
    using storage_view = function_ref<std::optional<kernels::array_view>(value_id)>;

    /// `view` says how a value is stored that exists before the kernel; nothing: it does not exist, or not as floats.
    chain_writer(any_graph const& g, ints frame, bool may_reduce, storage_view view)
        : g_(g), frame_(std::move(frame)), row_from_(frame_.size()), may_reduce_(may_reduce), view_(view) {}

    /// A value that the kernel computes before the chain.
    void start_with(value_id v) {
        known_[v] = product_mark;
        begins_ = true;
    }

    /// Adds an operator. Where it does not fit, nothing changes.
    bool add(node_id n) {
        auto const saved_ops = ops_.size(), saved_arrays = arrays_.size(), saved_from = row_from_;
        if (auto const v = translate(g_, n, [this](value_id o) { return operand(o); })) {
            known_[{n, 0}] = *v;
            nodes_.push_back(n);
            return true;
        }
        ops_.resize(saved_ops), arrays_.resize(saved_arrays), views_.resize(saved_arrays), row_from_ = saved_from;
        return false;
    }

    [[nodiscard]] std::vector<node_id> const& nodes() const noexcept { return nodes_; }
    [[nodiscard]] bool knows(value_id v) const { return known_.contains(v); }
    [[nodiscard]] bool reduces() const noexcept { return row_from_ < frame_.size(); }
    [[nodiscard]] std::vector<value_id> const& arrays() const noexcept { return arrays_; }
    [[nodiscard]] std::size_t size() const noexcept { return ops_.size(); }
    /// Whether a value has one element a row.
    [[nodiscard]] bool is_reduced(value_id v) const { return is_reduced_shape(g_.type(v)); }
    [[nodiscard]] std::int32_t number(value_id v) const { return final_number(known_.at(v)); }

    /// Back to so many operators.
    void shrink(std::size_t nodes, std::size_t ops, std::size_t arrays) {
        for (auto i = nodes; i < nodes_.size(); ++i) known_.erase({nodes_[i], 0});
        nodes_.resize(nodes), ops_.resize(ops), arrays_.resize(arrays), views_.resize(arrays);
    }

    /// Dimensions with those of a row as one.
    [[nodiscard]] std::vector<std::int64_t> dims() const {
        std::vector<std::int64_t> out(frame_.begin(), frame_.begin() + static_cast<std::ptrdiff_t>(row_from_));
        if (reduces()) out.push_back(product(std::span{frame_}.subspan(row_from_)));
        if (out.empty()) out.push_back(1);
        return out;
    }
    /// How the arrays are read, over `dims`.
    [[nodiscard]] std::vector<kernels::array_view> views() const {
        std::vector<kernels::array_view> out;
        for (auto const& v : views_) out.push_back(*merged(v, row_from_));
        return out;
    }
    [[nodiscard]] std::vector<kernels::row_op> ops() const {
        auto out = ops_;
        for (auto& o : out) {
            if (o.what.left >= 0) o.what.left = final_number(o.what.left);
            if (o.what.right >= 0) o.what.right = final_number(o.what.right);
        }
        return out;
    }
    [[nodiscard]] std::vector<kernels::elementwise_op> chain() const {
        std::vector<kernels::elementwise_op> out;
        for (auto const& o : ops()) out.push_back(o.what);
        return out;
    }

private:
    using number_id = std::int32_t;
    static constexpr number_id op_mark = 1 << 20, product_mark = 1 << 28;
    struct term {
        number_id value = -1; // -1: `number`
        double number = 0;
    };

    [[nodiscard]] number_id final_number(number_id v) const {
        if (v == product_mark) return 0;
        auto const first = begins_ ? 1 : 0;
        return first + (v < op_mark ? v : v - op_mark + static_cast<number_id>(arrays_.size()));
    }

    // ---- operands

    static std::optional<double> number_of(any_graph const& g, value_id v) {
        if (g.is<ops::fill>(v.node) && g.operand_count(v.node) == 0 && g.type(v).elements() == 1)
            return g.attributes<ops::fill>(v.node).value;
        if (!g.is<ops::constant>(v.node)) return std::nullopt;
        auto const t = g.constant_data(v.node);
        if (t.element() != dtype::f32 || t.elements() != 1) return std::nullopt;
        return static_cast<double>(t.data<float>()[0]);
    }
    std::optional<term> operand(value_id v) {
        if (auto const known = known_.find(v); known != known_.end()) return term{known->second, 0};
        if (auto const n = number_of(g_, v)) return term{-1, *n};
        return array(v);
    }
    std::optional<term> array(value_id v) {
        for (std::size_t i = 0; i < arrays_.size(); ++i)
            if (arrays_[i] == v) return term{static_cast<number_id>(i), 0};
        if (g_.type(v).element != dtype::f32 || arrays_.size() >= 24) return std::nullopt;
        auto const own = view_(v);
        if (!own) return std::nullopt;
        auto const seen = broadcast(*own, g_.type(v).sizes());
        if (!seen || !merged(*seen, row_from_)) return std::nullopt;
        arrays_.push_back(v);
        views_.push_back(*seen);
        return term{static_cast<number_id>(arrays_.size()) - 1, 0};
    }
    // The view of an array over the frame.
    [[nodiscard]] std::optional<kernels::array_view> broadcast(kernels::array_view const& own, ints const& dims) const {
        if (dims.size() > frame_.size()) return std::nullopt;
        auto out = own;
        out.strides.resize(0);
        out.strides.resize(frame_.size(), 0);
        auto const shift = frame_.size() - dims.size();
        for (std::size_t d = 0; d < dims.size(); ++d) {
            if (dims[d] != frame_[d + shift] && dims[d] != 1) return std::nullopt;
            out.strides[d + shift] = dims[d] == 1 ? 0 : own.strides[d];
        }
        return out;
    }
    // The same with the dimensions of a row as one, which are then stored one after another or repeat altogether.
    [[nodiscard]] std::optional<kernels::array_view> merged(kernels::array_view const& v, std::size_t from) const {
        auto out = v;
        if (frame_.empty()) out.strides.push_back(0);
        if (from >= frame_.size()) return out;
        std::int64_t stride = 0, extent = 1;
        for (auto d = frame_.size(); d-- > from;) {
            if (frame_[d] == 1) continue;
            if (extent == 1)
                stride = v.strides[d];
            else if (v.strides[d] != stride * extent)
                return std::nullopt;
            extent *= frame_[d];
        }
        out.strides.resize(from);
        out.strides.push_back(stride);
        return out;
    }
    [[nodiscard]] bool is_reduced_shape(tensor_type const& t) const {
        if (!reduces()) return false;
        auto const dims = t.sizes();
        auto const kept =
            std::equal(frame_.begin(), frame_.begin() + static_cast<std::ptrdiff_t>(row_from_), dims.begin(),
                       dims.begin() + static_cast<std::ptrdiff_t>(std::min(row_from_, dims.size()))) &&
            dims.size() >= row_from_;
        return kept && dims != frame_ && product(std::span{dims}.subspan(row_from_)) == 1;
    }

    // ---- operators

    std::optional<number_id> emit(kernels::row_step step, loop::scalar_op op, number_id left, number_id right = -1,
                                  double number = 0) {
        ops_.push_back({step, {op, left, right, number}});
        return op_mark + static_cast<number_id>(ops_.size()) - 1;
    }
    std::optional<number_id> one(loop::scalar_op op, term x) {
        if (x.value < 0) return std::nullopt;
        return emit(kernels::row_step::elementwise, op, x.value);
    }
    std::optional<number_id> two(loop::scalar_op op, term x, term y) {
        if (x.value < 0 && y.value < 0) return std::nullopt;
        return emit(kernels::row_step::elementwise, op, x.value, y.value, x.value < 0 ? x.number : y.number);
    }
    std::optional<number_id> bounds(term x, double low, double high) {
        if (x.value < 0) return std::nullopt;
        std::optional<number_id> v = x.value;
        if (low > -std::numeric_limits<double>::infinity()) v = two(loop::scalar_op::maximum, {*v, 0}, {-1, low});
        if (high < std::numeric_limits<double>::infinity()) v = two(loop::scalar_op::minimum, {*v, 0}, {-1, high});
        if (*v == x.value) return std::nullopt;
        return v;
    }

    // Sets what a row is by its first dimension; refuses where it is set otherwise or an array does not fit.
    bool set_row(std::size_t from) {
        if (!may_reduce_ || begins_ || from >= frame_.size()) return false;
        if (reduces()) return from == row_from_;
        if (!std::all_of(views_.begin(), views_.end(), [&](auto& v) { return merged(v, from).has_value(); }))
            return false;
        row_from_ = from;
        return true;
    }
    std::optional<number_id> softmax(number_id x) {
        using kernels::row_step;
        using loop::scalar_op;
        auto const most = emit(row_step::maximum, scalar_op::add, x);
        auto const centred = emit(row_step::elementwise, scalar_op::subtract, x, *most);
        auto const power = emit(row_step::elementwise, scalar_op::exponential, *centred);
        auto const sum = emit(row_step::sum, scalar_op::add, *power);
        return emit(row_step::elementwise, scalar_op::divide, *power, *sum);
    }
    // The first dimension of those that a node reduces, if they are the last ones.
    static std::optional<std::size_t> reduced_from(any_graph const& g, node_id n) {
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

    template <class Operand>
    std::optional<number_id> translate(any_graph const& g, node_id n, Operand&& find) {
        using loop::scalar_op;
        if (g.result_count(n) != 1) return std::nullopt;
        auto const& type = g.type({n, 0});
        if (type.element != dtype::f32) return std::nullopt;
        auto const& info = g.op(n);
        if (info.composite) return translate_parts(g, n, find);
        auto const whole = type.sizes() == frame_;
        auto const is_reduction = g.is<ops::reduce_sum>(n) || g.is<ops::reduce_mean>(n) || g.is<ops::reduce_max>(n);
        if (!whole && !is_reduction && !is_reduced_shape(type)) return std::nullopt;
        auto const at = [&](std::size_t i) -> std::optional<term> { return find(g.operand(n, i)); };
        auto const x = g.operand_count(n) > 0 ? at(0) : std::nullopt;
        if (!x) return std::nullopt;
        // Approximations are computed as what they stand for: the kernels' functions are within their bounds.
        auto const is_softmax = g.is<ops::softmax>(n) || g.is<ops::fast_softmax>(n);
        if (is_reduction || is_softmax) {
            auto const& in = g.type(g.operand(n, 0));
            if (x->value < 0 || in.sizes() != frame_) return std::nullopt;
            if (is_softmax) {
                auto const& a =
                    g.is<ops::softmax>(n) ? g.attributes<ops::softmax>(n) : g.attributes<ops::fast_softmax>(n);
                auto const rank = static_cast<std::int64_t>(in.rank());
                auto const axis = a.axis < 0 ? a.axis + rank : a.axis;
                if ((!a.flatten && axis != rank - 1) || !set_row(static_cast<std::size_t>(axis))) return std::nullopt;
                return softmax(x->value);
            }
            auto const from = reduced_from(g, n);
            if (!from || !set_row(*from)) return std::nullopt;
            auto const maximum = g.is<ops::reduce_max>(n);
            auto const v =
                emit(maximum ? kernels::row_step::maximum : kernels::row_step::sum, scalar_op::add, x->value);
            if (!g.is<ops::reduce_mean>(n)) return v;
            auto const count = product(std::span{frame_}.subspan(*from));
            return two(scalar_op::divide, {*v, 0}, {-1, static_cast<double>(count)});
        }
        if (g.is<ops::relu>(n)) return bounds(*x, 0, std::numeric_limits<double>::infinity());
        if (g.is<ops::clip>(n)) {
            if (g.operand_count(n) != 1) return std::nullopt;
            auto const& a = g.attributes<ops::clip>(n);
            return bounds(*x, a.min, a.max);
        }
        constexpr auto none = scalar_op::constant;
        auto const exponential = g.is<ops::exp>(n) || g.is<ops::fast_exp>(n);
        auto const erf = g.is<ops::erf>(n) || g.is<ops::fast_erf>(n);
        auto const tanh = g.is<ops::tanh>(n) || g.is<ops::fast_tanh>(n);
        auto const function = g.is<ops::sqrt>(n)      ? scalar_op::square_root
                              : exponential           ? scalar_op::exponential
                              : g.is<ops::log>(n)     ? scalar_op::logarithm
                              : erf                   ? scalar_op::erf
                              : tanh                  ? scalar_op::tanh
                              : g.is<ops::sigmoid>(n) ? scalar_op::sigmoid
                              : g.is<ops::neg>(n)     ? scalar_op::negate
                              : g.is<ops::abs>(n)     ? scalar_op::absolute
                                                      : none;
        if (function != none) return one(function, *x);
        auto const y = g.operand_count(n) > 1 ? at(1) : std::nullopt;
        if (!y) return std::nullopt;
        if (g.is<ops::pow>(n)) {
            if (y->value >= 0 || x->value < 0) return std::nullopt;
            if (y->number != 2 && y->number != 3) return std::nullopt;
            auto const square = two(scalar_op::multiply, *x, *x);
            return y->number == 2 ? square : two(scalar_op::multiply, {*square, 0}, *x);
        }
        auto const op = g.is<ops::add>(n)   ? scalar_op::add
                        : g.is<ops::sub>(n) ? scalar_op::subtract
                        : g.is<ops::mul>(n) ? scalar_op::multiply
                        : g.is<ops::div>(n) ? scalar_op::divide
                                            : none;
        if (op == none) return std::nullopt;
        return two(op, *x, *y);
    }

    // A composite operator by its parts.
    template <class Operand>
    std::optional<number_id> translate_parts(any_graph const& g, node_id n, Operand&& find) {
        auto const& d = g.operators();
        auto const build = d.infer[g.row(n)].build;
        if (!build) return std::nullopt;
        any_graph parts{d};
        small_vector<value_id, 6> inputs;
        std::map<value_id, value_id> outside;
        for (auto v : g.operands(n)) {
            inputs.push_back(v.valid() ? parts.add_input(g.type(v), {}) : value_id{});
            if (v.valid()) outside[inputs.back()] = v;
        }
        auto const result = build(parts, g.attributes(n), inputs);
        std::map<value_id, number_id> made;
        auto const inner = [&](value_id v) -> std::optional<term> {
            if (auto const known = made.find(v); known != made.end()) return term{known->second, 0};
            if (auto const number = number_of(parts, v)) return term{-1, *number};
            if (auto const o = outside.find(v); o != outside.end()) return find(o->second);
            return std::nullopt;
        };
        for (auto m : parts.order()) {
            if (parts.operand_count(m) == 0) continue; // inputs and numbers
            auto const v = translate_any(parts, m, inner);
            if (!v) return std::nullopt;
            made[{m, 0}] = *v;
        }
        auto const found = made.find(result);
        if (found == made.end()) return std::nullopt;
        return found->second;
    }
    // Breaks the circle of the two templates.
    std::optional<number_id> translate_any(any_graph const& g, node_id n,
                                           function_ref<std::optional<term>(value_id)> find) {
        return translate(g, n, find);
    }

    any_graph const& g_;
    ints frame_;
    std::size_t row_from_; // first dimension of a row; the number of dimensions where nothing is reduced
    bool may_reduce_, begins_ = false;
    storage_view view_;
    std::vector<node_id> nodes_;
    std::map<value_id, number_id> known_;
    std::vector<value_id> arrays_;
    std::vector<kernels::array_view> views_; // over the frame
    std::vector<kernels::row_op> ops_;
};

} // namespace gsub::detail
