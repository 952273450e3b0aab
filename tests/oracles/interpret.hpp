// What a computation and a loop nest mean, element by element in double: the oracle of tests of loop and codegen.
#pragma once

#include <gsub/core/random.hpp>
#include <gsub/loop/schedule.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace interpret {

using namespace gsub;
using loop::affine;
using loop::tensor_expression;

using positions = std::vector<std::int64_t>;     // of variables
using arrays = std::vector<std::vector<double>>; // contents of buffers

std::int64_t at(affine const& a, positions const& p);
template <class Value>
bool holds_all(std::vector<loop::bound> const& bounds, Value&& value) {
    return std::all_of(bounds.begin(), bounds.end(), [&](auto const& b) {
        auto const v = value(b.value);
        return v >= 0 && v < b.extent;
    });
}
bool holds(std::vector<loop::bound> const& bounds, positions const& p);
/// Number of an element in its buffer. An index outside is an error of the expression.
std::size_t element(tensor_expression const& e, loop::access const& a, positions const& p);
/// A number as an element of a type holds it. Elements of i64 and u64 beyond 2^53 are not for this oracle.
double held(double v, dtype t);
/// A number of a type as one of another.
double converted(double v, dtype from, dtype to);
/// Of operands of a type. `maximum` and `minimum` take the second where it is greater or less: a NaN in the first
/// stays.
double apply(loop::scalar_op op, double a, double b, double c = 0, dtype of = dtype::f32);
/// One step of a reduction. A maximum over a NaN is NaN.
double combine(loop::scalar_op op, double sum, double next, dtype of = dtype::f32);
double term(tensor_expression const& e, std::int32_t id, positions const& p, arrays const& data, double reduced);

/// Calls `f` for all positions of axes or loops of one kind, the others left as they are.
template <class Extents, class F>
void each(Extents const& loops, bool reduction, std::size_t depth, positions& p, F&& f) {
    if (depth == loops.size()) return f();
    auto const& l = loops[depth];
    if (l.reduction != reduction) return each(loops, reduction, depth + 1, p, f);
    for (std::int64_t i = 0; i < l.extent; ++i) {
        p[static_cast<std::size_t>(l.var)] = i;
        each(loops, reduction, depth + 1, p, f);
    }
    p[static_cast<std::size_t>(l.var)] = 0;
}

/// Computes the output of an expression. Elements that it leaves out stay as they are.
void run(tensor_expression const& e, arrays& data);

/// Computes the output of a nest in the order of its loops, with `seen` counting the times that each element of the
/// output and each pair of element and step is visited.
void run(loop::loop_nest const& nest, arrays& data, std::map<std::size_t, int>& stored,
         std::map<std::size_t, int>& steps);

/// Small whole numbers, whose sums and products floats hold exactly; the output is filled with a mark.
inline constexpr double untouched = -12345.5;
/// An element in memory, as a kernel has it, and back.
inline void put(double v, dtype t, void* at) {
    with_storage_type(t, [&]<class T>() {
        T element;
        if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
            element = T{static_cast<float>(v)};
        else
            element = static_cast<T>(v);
        std::memcpy(at, &element, sizeof element);
    });
}
[[nodiscard]] inline double get(dtype t, void const* at) {
    return with_storage_type(t, [&]<class T>() {
        T element;
        std::memcpy(&element, at, sizeof element);
        return static_cast<double>(element);
    });
}

/// What stands in a buffer of a type before it is written, and a small number that the type has.
inline double untouched_of(dtype t) {
    return t == dtype::f32 || t == dtype::f64 ? untouched : t == dtype::boolean ? 1 : 85;
}
double small_number(random_stream& r, dtype t);

arrays random_data(tensor_expression const& e, std::uint64_t seed);

} // namespace interpret
