// function_writer: writes the graph that a node of a file stands for.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/onnx_ops.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::io::detail {

/// Writes the graph that a node stands for. What it needs to know of operands and does not makes the node opaque.
class function_writer {
public:
    explicit function_writer(onnx_import_context& cx) : cx_(&cx), to_(&cx.builder()) {}

    // ---- what is known of operands

    [[nodiscard]] value_id operand(std::size_t i) const {
        if (!cx_->has(i)) cx_->invalid(format_text("operand {} is missing", i));
        return cx_->operand(i);
    }
    /// An operand whose element type is known.
    [[nodiscard]] value_id typed(std::size_t i) const {
        auto const v = operand(i);
        if (element(v) == dtype::undefined) cx_->unsupported("an operand of unknown element type");
        return v;
    }
    /// An operand of floating numbers.
    [[nodiscard]] value_id floating(std::size_t i) const {
        auto const v = typed(i);
        if (!is_floating(element(v))) cx_->unsupported(format_text("element type {}", to_string(element(v))));
        return v;
    }
    [[nodiscard]] dtype element(value_id v) const { return to_->type_of(v)->element; }
    [[nodiscard]] bool is_floating_value(value_id v) const { return is_floating(element(v)); }
    [[nodiscard]] std::size_t rank(value_id v) const {
        auto const& t = *to_->type_of(v);
        if (!t.ranked) cx_->unsupported("an operand of unknown rank");
        return t.rank();
    }
    [[nodiscard]] std::int64_t size(value_id v, std::size_t axis) const {
        auto const& d = to_->type_of(v)->dims[axis];
        if (!d.fixed())
            cx_->unsupported(format_text(
                "dimension {} has no size{}", axis,
                d.named() ? format_text("; load_options::dims gives one, --dim {}=1", quoted{d.name().text()}) : ""));
        return d.size();
    }
    /// The product of sizes; the node is invalid where it cannot be counted.
    [[nodiscard]] std::int64_t product(std::initializer_list<std::int64_t> sizes) const {
        return product(std::span<std::int64_t const>{sizes.begin(), sizes.size()});
    }
    [[nodiscard]] std::int64_t product(std::span<std::int64_t const> sizes) const {
        std::int64_t all = 1;
        for (auto const size : sizes)
            if (size < 0 || __builtin_mul_overflow(all, size, &all)) cx_->invalid("more elements than can be counted");
        return all;
    }
    [[nodiscard]] std::size_t axis(std::int64_t given, std::size_t rank) const {
        auto const found = normalized_axis(given, rank);
        if (!found) cx_->invalid(format_text("axis {} for rank {}", given, rank));
        return *found;
    }

    /// Elements of a small constant operand; nothing where it is left out or no constant.
    [[nodiscard]] std::optional<std::vector<double>> reals(std::size_t i) const {
        if (auto const one = cx_->known_number(i)) return std::vector{*one};
        if (!cx_->has(i) || !to_->graph().is<ops::constant>(cx_->operand(i).node)) return std::nullopt;
        auto const& t = to_->graph().constant_data(cx_->operand(i).node);
        constexpr std::int64_t most = 256;
        if (t.elements() > most) return std::nullopt;
        auto const values = t.converted_to(dtype::f64);
        return std::vector<double>(values.data<double>().begin(), values.data<double>().end());
    }

    // ---- nodes

    template <operation Op, std::same_as<value_id>... Values>
    value_id make(Values... operands) const {
        return to_->add<Op>(operands...);
    }
    template <operation Op>
    value_id make(attributes_of<Op> const& a, std::initializer_list<value_id> operands) const {
        return to_->add<Op>(a, operands);
    }
    /// A number in the element type of a value, rounded to it: so it goes back into a file.
    [[nodiscard]] value_id number(double v, value_id like) const {
        auto const type = element(like);
        if (!is_floating(type)) return integer(static_cast<std::int64_t>(v), type);
        auto const rounded = tensor::scalar(v).converted_to(type).converted_to(dtype::f64).data<double>()[0];
        return make<ops::fill>({.element = type, .value = rounded}, {});
    }
    [[nodiscard]] value_id integer(std::int64_t v, dtype type) const {
        return to_->constant(tensor::scalar(v).converted_to(type));
    }
    [[nodiscard]] value_id add(value_id x, value_id y) const { return make<ops::add>(x, y); }
    [[nodiscard]] value_id sub(value_id x, value_id y) const { return make<ops::sub>(x, y); }
    [[nodiscard]] value_id mul(value_id x, value_id y) const { return make<ops::mul>(x, y); }
    [[nodiscard]] value_id div(value_id x, value_id y) const { return make<ops::div>(x, y); }
    [[nodiscard]] value_id select(value_id condition, value_id x, value_id y) const {
        return make<ops::where>(condition, x, y);
    }
    [[nodiscard]] value_id cast(value_id x, dtype to) const {
        return element(x) == to ? x : make<ops::cast>({.to = to}, {x});
    }
    /// f16 and bf16 as f32: what has several steps is computed in it.
    [[nodiscard]] value_id widened(value_id x) const {
        return element(x) == dtype::f16 || element(x) == dtype::bf16 ? cast(x, dtype::f32) : x;
    }
    [[nodiscard]] value_id reshaped(value_id x, ints sizes) const {
        return make<ops::reshape>({.shape = std::move(sizes)}, {x});
    }
    /// The same elements under sizes that are all known, 0 among them.
    [[nodiscard]] value_id fixed(value_id x, ints const& sizes) const {
        return make<ops::reshape>(attributes_of<ops::reshape>::to(sizes), {x});
    }
    /// 0, 1, ... along an axis of a tensor of some rank, to be broadcast; `first + step * i`.
    [[nodiscard]] value_id counted(std::int64_t count, std::size_t axis, std::size_t rank, std::int64_t first = 0,
                                   std::int64_t step = 1) const {
        cx_->take_constant({count}, format_text("an axis of size {}", count));
        ints sizes(rank - axis, 1);
        sizes[0] = count;
        auto t = tensor::uninitialized(dtype::i64, sizes);
        for (std::int64_t i = 0; i < count; ++i)
            t.mutable_data<std::int64_t>()[static_cast<std::size_t>(i)] = first + step * i;
        return to_->constant(std::move(t));
    }

    // ---- reductions

    template <operation Op>
    [[nodiscard]] value_id reduced(value_id x, ints axes, bool keepdims = true) const {
        return make<Op>({.axes = std::move(axes), .keepdims = keepdims}, {x});
    }
    /// Axes from one on.
    [[nodiscard]] static ints axes_from(std::size_t first, std::size_t rank) {
        ints all;
        for (auto i = first; i < rank; ++i) all.push_back(static_cast<std::int64_t>(i));
        return all;
    }
    /// What turns the order of numbers around, and back: -x, and of integers -1 - x, which no number is too small for.
    [[nodiscard]] value_id reversed(value_id x) const {
        return is_floating_value(x) ? make<ops::neg>(x) : sub(ones(x), x);
    }

    [[nodiscard]] onnx_import_context& node() const noexcept { return *cx_; }

private:
    /// -1, and of types without a sign the greatest number: all bits are set.
    [[nodiscard]] value_id ones(value_id like) const { return integer(-1, element(like)); }
    onnx_import_context* cx_;
    graph_builder* to_;
};

} // namespace gsub::io::detail
