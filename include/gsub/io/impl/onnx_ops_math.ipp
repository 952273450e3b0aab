#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/function_writer.ipp>
#include <gsub/io/impl/onnx_settings.hpp>
#include <gsub/io/onnx_ops.hpp>

#include <limits>

namespace gsub::io {

namespace detail {

GSUB_INLINE std::int64_t opset_of_element(dtype element, element_opsets const& opsets) {
    switch (element) {
    case dtype::bf16:
        return opsets.bf16;
    case dtype::f16:
        return opsets.halves;
    case dtype::f32:
    case dtype::f64:
        return opsets.floats;
    case dtype::undefined:
    case dtype::boolean:
    case dtype::i32:
    case dtype::i64:
        return opsets.integers;
    default:
        return opsets.others;
    }
}

} // namespace detail

GSUB_INLINE value_id onnx_traits<ops::clip>::import(onnx_import_context& cx) {
    attributes_of<ops::clip> a;
    if (cx.opset() < 11) {
        if (cx.type(0).element == dtype::undefined) cx.unsupported("an operand of unknown element type");
        a.min = cx.real("min").value_or(a.min);
        a.max = cx.real("max").value_or(a.max);
        return cx.add<ops::clip>(a, {cx.operand(0)});
    }
    auto const low = detail::known_setting(cx, 1), high = detail::known_setting(cx, 2);
    if ((cx.has(1) && !low) || (cx.has(2) && !high)) return cx.add<ops::clip>(a, cx.all_operands());
    a.min = low.value_or(a.min);
    a.max = high.value_or(a.max);
    return cx.add<ops::clip>(a, {cx.operand(0)});
}

GSUB_INLINE std::int64_t onnx_traits<ops::clip>::needed_opset(any_graph const& g, node_id n) {
    return is_integer(g.type({n, 0}).element) ? 12 : 6;
}

GSUB_INLINE void onnx_traits<ops::clip>::write(onnx_export_context& cx) {
    constexpr auto infinity = std::numeric_limits<double>::infinity();
    auto const& a = cx.attributes<ops::clip>();
    auto inputs = cx.operands();
    auto const output = cx.result();
    if (cx.opset() < 11) {
        if (inputs.size() > 1) cx.unsupported("bounds as operands need operator set 11");
        return cx.write("Clip", inputs, {&output, 1}, [&](onnx_attribute_writer& w) {
            if (a.min != -infinity) w.real("min", a.min);
            if (a.max != infinity) w.real("max", a.max);
        });
    }
    if (inputs.size() == 1) {
        for (auto bound : {a.min, a.max})
            inputs.push_back(bound == (inputs.size() == 1 ? -infinity : infinity) ? std::string{}
                                                                                  : detail::scalar_operand(cx, bound));
    }
    cx.write("Clip", inputs, {&output, 1});
}

GSUB_INLINE value_id onnx_traits<ops::sum>::import(onnx_import_context& cx) {
    if (cx.operands() == 1) return cx.add<ops::identity>({}, cx.all_operands());
    if (cx.operands() == 2) return cx.add<ops::add>({}, cx.all_operands());
    return cx.add<ops::sum>({}, cx.all_operands());
}

GSUB_INLINE value_id onnx_traits<ops::pow>::import(onnx_import_context& cx) {
    auto const base = cx.type(0).element, exponent = cx.type(1).element;
    if (base == exponent || base == dtype::undefined || exponent == dtype::undefined)
        return cx.add<ops::pow>({}, cx.all_operands());
    // The result has the type of the base, and nothing of the exponent may be lost before.
    if (is_floating(base))
        return cx.add<ops::pow>({}, {cx.operand(0), cx.builder().add<ops::cast>({.to = base}, {cx.operand(1)})});
    auto const both = is_floating(exponent) ? exponent : widest_of_kind(exponent); // powers wrap alike in both
    auto const wide = [&](std::size_t i, dtype from) {
        return from == both ? cx.operand(i) : cx.builder().add<ops::cast>({.to = both}, {cx.operand(i)});
    };
    return cx.add<ops::cast>({.to = base}, {cx.builder().add<ops::pow>(wide(0, base), wide(1, exponent))});
}

GSUB_INLINE std::int64_t onnx_traits<ops::pow>::needed_opset(any_graph const& g, node_id n) {
    return is_floating(g.type({n, 0}).element) ? 7 : 12;
}

GSUB_INLINE void onnx_traits<ops::pow>::write(onnx_export_context& cx) {
    auto const element = cx.graph().type({cx.node(), 0}).element;
    if (!is_integer(element) || element == dtype::i32 || element == dtype::i64) return cx.write_by_fields();
    auto const cast = [&](std::string const& from, std::string const& to, dtype as) {
        cx.write("Cast", {&from, 1}, {&to, 1}, [&](onnx_attribute_writer& w) { w.integer("to", info(as).onnx); });
    };
    auto wide = cx.operands();
    for (auto& name : wide) {
        auto const narrow = name;
        cast(narrow, name = cx.fresh_name("wide"), dtype::i64);
    }
    auto const power = cx.fresh_name("power");
    cx.write("Pow", wide, {&power, 1});
    cast(power, cx.result(), element);
}

// What a division leaves has the sign of the divisor or, as in C, of the dividend.
GSUB_INLINE value_id onnx_traits<ops::remainder>::import(onnx_import_context& cx) {
    detail::function_writer const to{cx};
    auto const as_in_c = cx.integer("fmod").value_or(0) != 0;
    auto const x = to.typed(0), y = to.typed(1);
    auto const element = to.element(x);
    auto const real = is_floating(element);
    if (real && !as_in_c && cx.opset() < 28) cx.invalid(format_text("fmod 0 of {}", to_string(element)));
    if (!real && !is_integer(element)) cx.unsupported(format_text("remainders of {}", to_string(element)));
    auto const left = real ? to.make<ops::remainder>(x, y) : to.sub(x, to.mul(to.div(x, y), y));
    if (as_in_c || !info(element).is_signed) return left;
    auto const zero = to.number(0, x);
    auto const below = to.make<ops::less>(y, zero);
    auto const turned = to.make<ops::logical_xor>(to.make<ops::less>(left, zero), below);
    auto const none = real ? to.select(below, to.number(-0.0, x), zero) : zero;
    return to.select(to.make<ops::equal>(left, zero), none, to.select(turned, to.add(left, y), left));
}

GSUB_INLINE void onnx_traits<ops::remainder>::write(onnx_export_context& cx) {
    cx.write("Mod", cx.operands(), cx.results(), [&](onnx_attribute_writer& w) { w.integer("fmod", 1); });
}

GSUB_INLINE value_id onnx_traits<ops::bit_cast>::import(onnx_import_context& cx) {
    auto const number = cx.integer("to");
    if (!number) cx.invalid("no target type");
    auto const to = dtype_of_onnx(*number);
    if (!to) cx.unsupported(format_text("element type number {}", *number));
    if (cx.type(0).element == dtype::undefined)
        cx.unsupported("an operand of an element type that gsub does not compute with");
    return cx.add<ops::bit_cast>({.to = *to}, cx.all_operands());
}

GSUB_INLINE void onnx_traits<ops::bit_cast>::write(onnx_export_context& cx) {
    cx.write("BitCast", cx.operands(), cx.results(),
             [&](onnx_attribute_writer& w) { w.integer("to", info(cx.attributes<ops::bit_cast>().to).onnx); });
}

GSUB_INLINE value_id onnx_traits<ops::cast>::import(onnx_import_context& cx) {
    auto const number = cx.integer("to");
    if (!number) cx.invalid("no target type");
    cx.ignore("saturate"); // concerns 8-bit floats only, as does
    cx.ignore("round_mode");
    auto const to = dtype_of_onnx(*number);
    if (!to) cx.unsupported(format_text("element type number {}", *number));
    if (cx.type(0).element == dtype::undefined)
        cx.unsupported("an operand of an element type that gsub does not compute with");
    return cx.add<ops::cast>({.to = *to}, cx.all_operands());
}

GSUB_INLINE void onnx_traits<ops::cast>::write(onnx_export_context& cx) {
    cx.write("Cast", cx.operands(), cx.results(),
             [&](onnx_attribute_writer& w) { w.integer("to", info(cx.attributes<ops::cast>().to).onnx); });
}

} // namespace gsub::io
