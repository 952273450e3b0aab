#pragma once

#include <gsub/codegen/cpp/impl/double_math.ipp>
#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/impl/c_element.hpp>
#include <gsub/core/format.hpp>

#include <span>
#include <string>
#include <string_view>

namespace gsub::codegen::detail {

// Writes the function of an operation on vectors of one element type, by a row of its table.
template <class = void>
class operation_writer {
public:
    operation_writer(typed_functions& to, dtype of, std::string const& name)
        : to_(to), of_(of), e_(c_element_of(of)), name_(name) {}

    /// *Requires* an operation of operands that is exact and no cast.
    void write(loop::scalar_op op) {
        for (auto const& r : rows())
            if (r.op == op) return (this->*r.define)(r);
        GSUB_ASSERT(false, "an operation of operands that is exact and no cast");
    }

private:
    struct row {
        loop::scalar_op op;
        void (operation_writer::*define)(row const&);
        std::string_view text;      // what the function returns, or all of it
        std::string_view builtin{}; // of an extreme
    };
    static std::span<row const> rows() {
        using loop::scalar_op;
        using w = operation_writer;
        static constexpr row all[] = {
            {scalar_op::add, &w::wrapping, "+"},
            {scalar_op::subtract, &w::wrapping, "-"},
            {scalar_op::multiply, &w::multiply, "*"},
            {scalar_op::divide, &w::divide, "a / b"},
            {scalar_op::power, &w::power, "__builtin_pow(a[l], b[l])"},
            {scalar_op::maximum, &w::extreme, "a < b ? b : a", "max"},
            {scalar_op::minimum, &w::extreme, "b < a ? b : a", "min"},
            {scalar_op::equal, &w::equal, "a == b"},
            {scalar_op::less, &w::comparison, "a < b"},
            {scalar_op::less_equal, &w::comparison, "a <= b"},
            {scalar_op::logical_and, &w::comparison, "(a != v_u8{}) & (b != v_u8{})"},
            {scalar_op::logical_or, &w::comparison, "(a != v_u8{}) | (b != v_u8{})"},
            {scalar_op::logical_xor, &w::comparison, "(a != v_u8{}) ^ (b != v_u8{})"},
            {scalar_op::logical_not, &w::unary, "(v_u8)(a == v_u8{}) & wide((unsigned char)1)"},
            {scalar_op::bitwise_and, &w::binary, "a & b"},
            {scalar_op::bitwise_or, &w::binary, "a | b"},
            {scalar_op::bitwise_xor, &w::binary, "a ^ b"},
            {scalar_op::select, &w::select, ""},
            {scalar_op::negate, &w::negate, "-a"},
            {scalar_op::absolute, &w::absolute, ""},
            {scalar_op::square_root, &w::each, "__builtin_sqrt(a[l])"},
            {scalar_op::floor, &w::each, "__builtin_floor(a[l])"},
            {scalar_op::round, &w::round, ""},
            {scalar_op::exponential, &w::series, exp_f64_text},
            {scalar_op::logarithm, &w::each, "__builtin_log(a[l])"},
            {scalar_op::tanh, &w::series, tanh_f64_text},
            {scalar_op::erf, &w::each, "__builtin_erf(a[l])"},
            {scalar_op::sigmoid, &w::sigmoid, sigmoid_f64_text},
            {scalar_op::sin, &w::each, "__builtin_sin(a[l])"},
            {scalar_op::cos, &w::each, "__builtin_cos(a[l])"},
            {scalar_op::tan, &w::each, "__builtin_tan(a[l])"},
            {scalar_op::asin, &w::each, "__builtin_asin(a[l])"},
            {scalar_op::acos, &w::each, "__builtin_acos(a[l])"},
            {scalar_op::atan, &w::each, "__builtin_atan(a[l])"},
            {scalar_op::sinh, &w::each, "__builtin_sinh(a[l])"},
            {scalar_op::cosh, &w::each, "__builtin_cosh(a[l])"},
            {scalar_op::asinh, &w::each, "__builtin_asinh(a[l])"},
            {scalar_op::acosh, &w::each, "__builtin_acosh(a[l])"},
            {scalar_op::atanh, &w::each, "__builtin_atanh(a[l])"},
            {scalar_op::remainder, &w::each_pair, "__builtin_fmod(a[l], b[l])"},
        };
        return all;
    }

    // ---- forms of functions

    void add(std::string_view text) { to_.functions_ += text; }
    void returns(std::string_view result, std::string_view parameters, std::string_view value) {
        add(format_text("static inline {} {}({}) {{ return {}; }}\n", result, name_, parameters, value));
    }
    void unary(std::string_view value) { returns(e_.vector, format_text("{} a", e_.vector), value); }
    void binary(std::string_view value) { returns(e_.vector, two(), value); }
    [[nodiscard]] std::string two() const { return format_text("{0} a, {0} b", e_.vector); }
    void comparison(std::string_view condition) {
        returns("v_u8", two(),
                format_text("(v_u8)__builtin_convertvector({}, v_i8) & wide((unsigned char)1)", condition));
    }
    void unary(row const& r) { unary(r.text); }
    void comparison(row const& r) { comparison(r.text); }
    void binary(row const& r) { binary(r.text); }
    void each(row const& r) { add(to_.lanewise(of_, name_, of_, r.text)); }
    void each_pair(row const& r) { add(to_.lanewise(of_, name_, of_, r.text, true)); }
    void series(row const& r) {
        if (to_.begin("two_to_the")) add(two_to_the_text);
        if (to_.begin("reduce_f64")) add(reduced_f64_text);
        add(r.text);
    }

    // ---- operations

    // Signed sums would overflow.
    void wrapping(row const& r) {
        binary(is_floating(of_) ? format_text("a {} b", r.text)
                                : format_text("({1})(({0})a {2} ({0})b)", e_.without_sign, e_.vector, r.text));
    }
    // Short integers are promoted to int, which would overflow.
    void multiply(row const& r) {
        if (byte_size(of_) >= 4 || is_floating(of_)) return wrapping(r);
        add(format_text("static inline {0} {1}({0} a, {0} b) {{ {0} y; for (int l = 0; l < {2}; ++l) y[l] "
                        "= ({3})((unsigned)a[l] * (unsigned)b[l]); return y; }}\n",
                        e_.vector, name_, to_.lanes_, e_.c));
    }
    void divide(row const& r) {
        if (is_floating(of_)) return binary(r.text);
        if (of_ == dtype::i32) return divide_i32();
        auto const quotient =
            info(of_).is_signed
                ? format_text("b[l] == -1 ? ({0})(0UL - (unsigned long)a[l]) : ({0})(a[l] / b[l])", e_.c)
                : format_text("({})(a[l] / b[l])", e_.c);
        add(to_.lanewise(of_, name_, of_, format_text("b[l] == 0 ? ({})0 : {}", e_.c, quotient), true));
    }
    void divide_i32() { // exact by way of f64
        add(format_text("static inline v_i32 {}(v_i32 a, v_i32 b) {{\n"
                        "  const v_i32 one = b == -1, none = b == 0;\n"
                        "  const v_f64 q = __builtin_convertvector(a, v_f64) / "
                        "__builtin_convertvector(one | none ? v_i32{{}} + 1 : b, v_f64);\n"
                        "  const v_i32 y = __builtin_convertvector(q, v_i32);\n"
                        "  return one ? (v_i32)(v_u32{{}} - (v_u32)a) : none ? v_i32{{}} : y;\n}}\n",
                        name_));
    }
    void power(row const& r) {
        if (of_ != dtype::f32) return add(to_.lanewise(of_, name_, of_, r.text, true));
        add(to_.lanewise(of_, "each_power_f32", of_, "__builtin_powf(a[l], b[l])", true));
        if (to_.begin("two_to_the")) add(two_to_the_text);
        add(power_f32_text);
    }
    // An instruction of which the second operand counts where one is NaN or both are zeros: compilers do not find it.
    void extreme(row const& r) {
        if (of_ != dtype::f64 || to_.lanes_ != 8) return binary(r.text);
        add(format_text("static inline {0} {1}({0} a, {0} b) {{\n"
                        "#if defined __AVX512F__ && defined __clang__\n"
                        "  return ({0})__builtin_ia32_{2}pd512(b, a, 4);\n"
                        "#elif defined __AVX512F__\n"
                        "  return ({0})__builtin_ia32_{2}pd512_mask(b, a, a, (unsigned char)-1, 4);\n"
                        "#else\n  return {3};\n#endif\n}}\n",
                        e_.vector, name_, r.builtin, r.text));
    }
    void equal(row const& r) { comparison(of_ == dtype::boolean ? "(a != v_u8{}) == (b != v_u8{})" : r.text); }
    void select(row const&) {
        returns(e_.vector, format_text("v_u8 c, {}", two()),
                format_text("__builtin_convertvector((v_i8)(c != v_u8{{}}), {0}) != {0}{{}} ? a : b", e_.mask));
    }
    void negate(row const& r) {
        if (is_floating(of_)) return unary(r.text);
        unary(format_text("({0})(({1}){{}} - ({1})a)", e_.vector, e_.without_sign));
    }
    void absolute(row const&) {
        if (is_floating(of_)) return unary(format_text("(a < {0}{{}} ? -a : a) + {0}{{}}", e_.vector));
        if (!info(of_).is_signed) return unary("a");
        unary(format_text("a < {0}{{}} ? ({0})({1}{{}} - ({1})a) : a", e_.vector, e_.without_sign));
    }
    void round(row const&) { // a sum with the first number of no fraction rounds
        add(format_text("static inline {0} {1}({0} a) {{ const {0} size = a < {0}{{}} ? -a : a, near = (size + "
                        "{2}) - {2}; return ({0})(({3})(size < {2} ? near : size) | (({3})a & "
                        "({3})(-{0}{{}}))); }}\n",
                        e_.vector, name_, of_ == dtype::f32 ? "0x1p23f" : "0x1p52", e_.mask));
    }
    void sigmoid(row const& r) {
        static_cast<void>(to_.call(loop::scalar_op::exponential, of_)); // before it
        add(r.text);
    }

    typed_functions& to_;
    dtype of_;
    c_element const& e_;
    std::string const& name_;
};

} // namespace gsub::codegen::detail
