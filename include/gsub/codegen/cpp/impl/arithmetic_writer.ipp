#pragma once

#include <gsub/codegen/cpp/impl/arithmetic_writer.hpp>
#include <gsub/codegen/cpp/impl/cpp_names.hpp>
#include <gsub/codegen/cpp/vector_math.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>
#include <iterator>

namespace gsub::codegen::detail {

// One step of an accumulator: lanes beyond those of the step stay, which the function `first` sees to.
GSUB_LAZY [[nodiscard]] std::string step_of_first_lanes(instruction const& i, std::string_view first,
                                                        std::string_view value) {
    auto const r = name_of_register(i.result);
    return format_text("{} = {}({}, {}, {});", r, first, value, r, i.lanes);
}

// ---- vectors of f32

GSUB_LAZY_BODY bool is_f32_function(loop::scalar_op op) {
    using loop::scalar_op;
    constexpr scalar_op plain[] = {scalar_op::maximum, scalar_op::minimum, scalar_op::square_root, scalar_op::negate};
    return std::find(std::begin(plain), std::end(plain), op) != std::end(plain) || !info(op).infix.empty() ||
           !vector_function(op).empty();
}

GSUB_LAZY_BODY void f32_arithmetic::compute(instruction const& i) {
    auto const r = name_of_register(i.result);
    switch (i.function) {
    case loop::scalar_op::maximum:
        return define(text_, i.result, format_text("vmax({}, {})", wide(i, 0), wide(i, 1)));
    case loop::scalar_op::minimum:
        return define(text_, i.result, format_text("vmin({}, {})", wide(i, 0), wide(i, 1)));
    case loop::scalar_op::square_root:
        text_.line(format_text("vf {} = {};", r, wide(i, 0)));
        text_.line(format_text("for (int l = 0; l < {}; ++l) {}[l] = __builtin_sqrtf({}[l]);", lanes_, r, r));
        return;
    case loop::scalar_op::negate:
        return define(text_, i.result, format_text("-{}", operand(i, 0)));
    default:
        auto const infix = info(i.function).infix;
        define(text_, i.result,
               infix.empty() ? format_text("{}({})", vector_function(i.function), wide(i, 0))
                             : format_text("{}{}{}", operand(i, 0), infix, operand(i, 1)));
    }
}

GSUB_LAZY_BODY void f32_arithmetic::multiply_add(instruction const& i) {
    auto const r = name_of_register(i.result);
    auto const product = format_text("{} * {}", operand(i, 0), operand(i, 1));
    text_.line(i.lanes == lanes_ ? format_text("{} += {};", r, product)
                                 : step_of_first_lanes(i, "first", format_text("{} + {}", r, product)));
}

GSUB_LAZY_BODY void f32_arithmetic::accumulate(instruction const& i) {
    auto const r = name_of_register(i.result);
    auto const adds = i.function == loop::scalar_op::add;
    auto const value = adds ? format_text("{} + {}", r, operand(i, 0)) : format_text("vmaxnan({}, {})", r, wide(i, 0));
    text_.line(i.lanes != lanes_ ? step_of_first_lanes(i, "first", value)
               : adds            ? format_text("{} += {};", r, operand(i, 0))
                                 : format_text("{} = {};", r, value));
}

GSUB_LAZY_BODY void f32_arithmetic::reduce(instruction const& i) {
    auto const function = i.function == loop::scalar_op::add ? "sum_of" : "max_of";
    define(text_, i.result, format_text("{}({})", function, operand(i, 0)));
}

// ---- vectors of any element type

GSUB_LAZY_BODY void typed_arithmetic::compute(instruction const& i) {
    auto const name = function(i);
    std::string operands;
    for (int o = 0; o < info(i.function).operands; ++o) operands += format_text("{}{}", o ? ", " : "", wide(i, o));
    define(text_, i.result, format_text("{}({})", name, operands));
}

// The function of an operation; that of a select is named after what it selects.
GSUB_LAZY_BODY std::string typed_arithmetic::function(instruction const& i) {
    if (i.function == loop::scalar_op::cast) return functions_.cast(type_of(i.operands[0]), i.type);
    auto const selects = i.function == loop::scalar_op::select;
    return functions_.call(i.function, type_of(i.operands[selects ? 1 : 0]));
}

// The function that combines a value with what has been accumulated.
GSUB_LAZY_BODY std::string typed_arithmetic::combination(instruction const& i) {
    return i.function == loop::scalar_op::add ? functions_.call(loop::scalar_op::add, i.type)
                                              : functions_.maximum_or_nan(i.type);
}

GSUB_LAZY_BODY void typed_arithmetic::step(instruction const& i, std::string_view value) {
    auto const r = name_of_register(i.result);
    auto const combined = format_text("{}({}, {})", combination(i), r, value);
    text_.line(i.lanes == lanes_ ? format_text("{} = {};", r, combined) : step_of_first_lanes(i, "first_of", combined));
}

GSUB_LAZY_BODY void typed_arithmetic::multiply_add(instruction const& i) {
    auto const multiply = functions_.call(loop::scalar_op::multiply, i.type);
    step(i, format_text("{}({}, {})", multiply, wide(i, 0), wide(i, 1)));
}

GSUB_LAZY_BODY void typed_arithmetic::accumulate(instruction const& i) {
    step(i, wide(i, 0));
}

GSUB_LAZY_BODY void typed_arithmetic::reduce(instruction const& i) {
    auto const r = name_of_register(i.result);
    auto const type = vector_type(i.type);
    auto const call = combination(i);
    text_.line(format_text("{} s{} = {};", type, r, wide(i, 0)));
    if (i.function == loop::scalar_op::add && is_floating(i.type)) { // rounded one lane after another
        text_.line(format_text("const {} v{} = s{};", type, r, r));
        text_.line(format_text("for (int l = 1; l < {}; ++l) s{} = {}(s{}, wide(v{}[l]));", lanes_, r, call, r, r));
    } else {
        for (auto half = lanes_ / 2; half > 0; half /= 2)
            text_.line(format_text("s{} = {}(s{}, __builtin_shufflevector(s{}, s{}, {}));", r, call, r, r, r,
                                   rotated_lanes(lanes_, half)));
    }
    define(text_, i.result, format_text("s{}[0]", r));
}

} // namespace gsub::codegen::detail
