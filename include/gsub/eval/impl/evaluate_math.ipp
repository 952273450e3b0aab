#pragma once

#include <gsub/eval/evaluate_math.hpp>

#include <cstring>

namespace gsub {

GSUB_INLINE void evaluate<ops::cast>::move(op_call_args& args) {
    auto const& x = *args.operands[0];
    auto& y = args.results[0];
    auto const from = args.declared[0], to = static_cast<attributes_of<ops::cast> const*>(args.attributes.typed())->to;
    if (x.element() == dtype::field61 || y.element() == dtype::field61) {
        auto const count = static_cast<std::size_t>(x.elements());
        if (is_floating(to) && !is_floating(from)) { // integers are in the field
            auto const to_field = [&](auto const& numbers, auto&& image) {
                for (std::size_t i = 0; i < count; ++i) y.mutable_data<field61>()[i] = image(numbers[i]);
            };
            auto const wide = x.converted_to(widest_of_kind(from));
            if (wide.element() == dtype::u64)
                to_field(wide.data<std::uint64_t>(), &field61::from_bits);
            else
                to_field(wide.data<std::int64_t>(), [](std::int64_t v) { return field61{v}; });
        } else if (is_floating(to)) { // between floating types: rounds, hence uninterpreted where it narrows
            auto const in = x.data<field61>();
            auto const out = y.mutable_data<field61>();
            for (std::size_t i = 0; i < count; ++i)
                out[i] = byte_size(to) >= byte_size(from)
                             ? in[i]
                             : field61::from_bits(hasher{hash_name(to_string(to))}.add(in[i].value()).finish().low);
        } else if (is_floating(from)) {
            auto bits = tensor::uninitialized(dtype::i64, x.dims());
            for (std::size_t i = 0; i < count; ++i)
                bits.mutable_data<std::int64_t>()[i] = static_cast<std::int64_t>(
                    hasher{hash_name(to_string(to))}.add(x.data<field61>()[i].value()).finish().low >> 1);
            y = bits.converted_to(to);
        } else {
            y = x.converted_to(to);
        }
        return;
    }
    y = x.converted_to(y.element());
}

GSUB_INLINE void evaluate<ops::bit_cast>::move(op_call_args& args) {
    auto const x = args.operands[0]->converted_to(args.declared[0]);
    auto& y = args.results[0];
    auto bits =
        tensor::uninitialized(static_cast<attributes_of<ops::bit_cast> const*>(args.attributes.typed())->to, x.dims());
    // Of a truth value one bit counts, and no other may be set.
    std::transform(x.raw().begin(), x.raw().end(), bits.mutable_raw().begin(),
                   [&](std::byte b) { return bits.element() == dtype::boolean ? std::byte{b != std::byte{}} : b; });
    y = bits.converted_to(y.element());
}

namespace detail {

GSUB_INLINE void compare_elements(op_call_args& args, relation r) {
    auto const &a = *args.operands[0], &b = *args.operands[1];
    auto const to = args.results[0].mutable_data<bool>();
    if (to.empty()) return;
    broadcast_plan<2> const plan{args.results[0].dims(), {a.dims(), b.dims()}};
    auto const compare = [&]<class T>(T const* x, T const* y, auto&& holds) {
        auto const sx = plan.strides[0][0], sy = plan.strides[1][0];
        plan.for_each_run([&](std::int64_t at, std::array<std::int64_t, 2> const& from, std::int64_t length) {
            for (std::int64_t i = 0; i < length; ++i)
                to[static_cast<std::size_t>(at + i)] = holds(x[from[0] + i * sx], y[from[1] + i * sy]);
        });
    };
    auto const by_order = [&](auto x, auto y) {
        return (r.lower && x < y) || (r.same && x == y) || (r.higher && x > y);
    };
    if (a.element() == dtype::field61)
        return compare(a.data<field61>().data(), b.data<field61>().data(), [](field61 x, field61 y) { return x == y; });
    auto const wide = widest_of_kind(a.element());
    auto const x = a.converted_to(wide), y = b.converted_to(wide);
    auto const compare_as = [&]<class T>() { compare(x.data<T>().data(), y.data<T>().data(), by_order); };
    if (wide == dtype::f64)
        compare_as.template operator()<double>();
    else if (wide == dtype::u64)
        compare_as.template operator()<std::uint64_t>();
    else
        compare_as.template operator()<std::int64_t>();
}

GSUB_INLINE void combine_truth(op_call_args& args, unsigned table) {
    auto const &a = *args.operands[0], &b = *args.operands[1];
    auto const to = args.results[0].mutable_data<bool>();
    broadcast_plan<2> const plan{args.results[0].dims(), {a.dims(), b.dims()}};
    plan.for_each_run([&](std::int64_t at, std::array<std::int64_t, 2> const& from, std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i) {
            auto const x = a.data<bool>()[static_cast<std::size_t>(from[0] + i * plan.strides[0][0])],
                       y = b.data<bool>()[static_cast<std::size_t>(from[1] + i * plan.strides[1][0])];
            to[static_cast<std::size_t>(at + i)] = (table >> (2u * x + y)) & 1u;
        }
    });
}

// out[i] = f(x[i]) for a floating operand.
template <class Test>
void test_each(op_call_args& args, Test&& holds) {
    auto const x = args.operands[0]->converted_to(dtype::f64);
    auto const from = x.data<double>();
    auto const to = args.results[0].mutable_data<bool>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = holds(from[i]);
}

} // namespace detail

GSUB_INLINE void evaluate<ops::logical_not>::move(op_call_args& args) {
    auto const from = args.operands[0]->data<bool>();
    auto const to = args.results[0].mutable_data<bool>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = !from[i];
}
GSUB_INLINE void evaluate<ops::is_nan>::move(op_call_args& args) {
    detail::test_each(args, [](double x) { return x != x; });
}
GSUB_INLINE void evaluate<ops::is_inf>::move(op_call_args& args) {
    static attributes_of<ops::is_inf> const defaults{};
    auto const* typed = static_cast<attributes_of<ops::is_inf> const*>(args.attributes.typed());
    auto const& a = typed ? *typed : defaults;
    constexpr auto infinity = std::numeric_limits<double>::infinity();
    detail::test_each(args, [&](double x) { return (a.positive && x == infinity) || (a.negative && x == -infinity); });
}

GSUB_INLINE void evaluate<ops::where>::move(op_call_args& args) {
    auto& out = args.results[0];
    if (out.elements() == 0) return;
    auto const condition = args.operands[0]->data<bool>();
    std::byte const* const from[] = {args.operands[1]->raw().data(), args.operands[2]->raw().data()};
    auto* const to = out.mutable_raw().data();
    auto const item = byte_size(out.element());
    detail::broadcast_plan<3> const plan{
        out.dims(), {args.operands[0]->dims(), args.operands[1]->dims(), args.operands[2]->dims()}};
    plan.for_each_run([&](std::int64_t at, std::array<std::int64_t, 3> const& first, std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i) {
            auto const other = !condition[static_cast<std::size_t>(first[0] + i * plan.strides[0][0])];
            auto const source = first[1 + other] + i * plan.strides[1 + other][0];
            std::memcpy(to + static_cast<std::size_t>(at + i) * item,
                        from[other] + static_cast<std::size_t>(source) * item, item);
        }
    });
}

} // namespace gsub
