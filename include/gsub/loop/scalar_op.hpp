// scalar_op: the operations of scalar expressions and of kernel instructions, as a table.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/ir/types/dtype.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gsub::loop {

/// Operations of scalar expressions. `maximum` and `minimum` give the second operand only where it is greater or less:
/// a NaN in the first stays. Integers wrap; a division of integers truncates, and by zero it is zero. A cast rounds to
/// nearest, ties to even; from a floating type to an integer it truncates and saturates, NaN is 0; between integers it
/// keeps the low bits; to a bool, nonzero is true. Errors of the functions in f32: `codegen/cpp/vector_math.hpp`.
enum class scalar_op : std::uint8_t {
    constant,
    load,
    reduced,
    cast,
    select, ///< `a ? b : c` of a bool and two others
    add,
    subtract,
    multiply,
    divide,
    power, ///< the first to the power of the second
    maximum,
    minimum,
    equal,
    less,
    less_equal,
    logical_and,
    logical_or,
    logical_xor,
    logical_not,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    square_root,
    negate,
    absolute,
    floor,
    round, ///< to the nearest whole number, ties to even
    exponential,
    logarithm, ///< natural
    tanh,
    erf,
    sigmoid, ///< 1 / (1 + e^-x)
    // Of angles in radians; those of the C++ path alone, an element at a time.
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    sinh,
    cosh,
    asinh,
    acosh,
    atanh,
    remainder, ///< of a division that rounds to zero, exactly; by the C++ path alone too
    // With fewer terms in f32, see `codegen/cpp/vector_math.hpp`; in f64 the same as without.
    fast_exponential,
    fast_tanh,
    fast_erf
};
inline constexpr std::size_t scalar_op_count = static_cast<std::size_t>(scalar_op::fast_erf) + 1;

/// Set of element types that an operation takes. f16 and bf16 are moved, selected and cast; arithmetic is in f32.
enum class scalar_domain : std::uint8_t {
    none = 0,
    floats = 1, ///< f32 and f64
    integers = 2,
    numbers = 3,
    truth = 4,
    computed = 7,
    half = 8, ///< f16 and bf16
    all = 15
};

/// A row of the table of operations.
struct scalar_op_info {
    std::string_view name;
    std::string_view infix{}; ///< between two operands in a text; empty: a call by name
    std::int8_t operands = 0;
    scalar_domain domain = scalar_domain::none; ///< of operands; of a select, of its last two
    bool truth = false;                         ///< its result is a bool; else of the type of its operands
    std::int8_t cost = 1;                       ///< relative to an addition
    bool slow = false;                          ///< computing it twice costs more than storing and loading a result
};

namespace detail {
inline constexpr std::array<scalar_op_info, scalar_op_count> scalar_op_table{{
    {"constant"},
    {"load"},
    {"reduced"},
    {"cast", {}, 1, scalar_domain::all},
    {"select", {}, 3, scalar_domain::all},
    {"add", " + ", 2, scalar_domain::numbers},
    {"subtract", " - ", 2, scalar_domain::numbers},
    {"multiply", " * ", 2, scalar_domain::numbers},
    {"divide", " / ", 2, scalar_domain::numbers, false, 1, true},
    {"power", {}, 2, scalar_domain::floats, false, 40, true},
    {"maximum", {}, 2, scalar_domain::numbers},
    {"minimum", {}, 2, scalar_domain::numbers},
    {"equal", " == ", 2, scalar_domain::computed, true},
    {"less", " < ", 2, scalar_domain::numbers, true},
    {"less_equal", " <= ", 2, scalar_domain::numbers, true},
    {"and", {}, 2, scalar_domain::truth, true},
    {"or", {}, 2, scalar_domain::truth, true},
    {"xor", {}, 2, scalar_domain::truth, true},
    {"not", {}, 1, scalar_domain::truth, true},
    {"bitwise_and", " & ", 2, scalar_domain::integers},
    {"bitwise_or", " | ", 2, scalar_domain::integers},
    {"bitwise_xor", " ^ ", 2, scalar_domain::integers},
    {"sqrt", {}, 1, scalar_domain::floats, false, 1, true},
    {"negate", {}, 1, scalar_domain::numbers},
    {"abs", {}, 1, scalar_domain::numbers},
    {"floor", {}, 1, scalar_domain::floats},
    {"round", {}, 1, scalar_domain::floats, false, 3},
    {"exp", {}, 1, scalar_domain::floats, false, 10, true},
    {"log", {}, 1, scalar_domain::floats, false, 10, true},
    {"tanh", {}, 1, scalar_domain::floats, false, 10, true},
    {"erf", {}, 1, scalar_domain::floats, false, 10, true},
    {"sigmoid", {}, 1, scalar_domain::floats, false, 10, true},
    {"sin", {}, 1, scalar_domain::floats, false, 60, true},
    {"cos", {}, 1, scalar_domain::floats, false, 60, true},
    {"tan", {}, 1, scalar_domain::floats, false, 60, true},
    {"asin", {}, 1, scalar_domain::floats, false, 60, true},
    {"acos", {}, 1, scalar_domain::floats, false, 60, true},
    {"atan", {}, 1, scalar_domain::floats, false, 60, true},
    {"sinh", {}, 1, scalar_domain::floats, false, 60, true},
    {"cosh", {}, 1, scalar_domain::floats, false, 60, true},
    {"asinh", {}, 1, scalar_domain::floats, false, 60, true},
    {"acosh", {}, 1, scalar_domain::floats, false, 60, true},
    {"atanh", {}, 1, scalar_domain::floats, false, 60, true},
    {"remainder", {}, 2, scalar_domain::floats, false, 60, true},
    {"fast_exp", {}, 1, scalar_domain::floats, false, 8, true},
    {"fast_tanh", {}, 1, scalar_domain::floats, false, 7, true},
    {"fast_erf", {}, 1, scalar_domain::floats, false, 8, true},
}};
} // namespace detail

[[nodiscard]] constexpr scalar_op_info const& info(scalar_op op) noexcept {
    return detail::scalar_op_table[static_cast<std::size_t>(op)];
}
[[nodiscard]] constexpr std::string_view to_string(scalar_op op) noexcept {
    return info(op).name;
}
/// Whether an operation has one operand and keeps its type.
[[nodiscard]] constexpr bool is_unary(scalar_op op) noexcept {
    return info(op).operands == 1 && op != scalar_op::cast;
}
/// Whether an operation takes operands of a type.
[[nodiscard]] constexpr bool computes(scalar_op op, dtype t) noexcept {
    auto const of = t == dtype::f32 || t == dtype::f64    ? scalar_domain::floats
                    : is_integer(t)                       ? scalar_domain::integers
                    : t == dtype::boolean                 ? scalar_domain::truth
                    : t == dtype::f16 || t == dtype::bf16 ? scalar_domain::half
                                                          : scalar_domain::none;
    return (static_cast<unsigned>(info(op).domain) & static_cast<unsigned>(of)) != 0;
}
/// The function that an operation approximates; any other operation itself.
[[nodiscard]] constexpr scalar_op exact(scalar_op op) noexcept {
    return op == scalar_op::fast_exponential ? scalar_op::exponential
           : op == scalar_op::fast_tanh      ? scalar_op::tanh
           : op == scalar_op::fast_erf       ? scalar_op::erf
                                             : op;
}
/// Computation type of an element type: f32 for f16 and bf16, else the type itself.
[[nodiscard]] constexpr dtype computed_in(dtype t) noexcept {
    return t == dtype::f16 || t == dtype::bf16 ? dtype::f32 : t;
}

} // namespace gsub::loop
