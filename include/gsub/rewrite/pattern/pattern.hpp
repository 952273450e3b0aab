// The pattern language: patterns and replacements as constexpr algebra.
#pragma once

#include <gsub/core/meta.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/rewrite/engine/match.hpp>
#include <gsub/rewrite/pattern/program.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace gsub::pattern {

// Terms are types without contents: a pattern is its type, and lowering it needs no object.

// ---- terms: what patterns and replacements are made of
// ---------------------------------------------------------------------

/// No attribute function. One is a captureless function object that computes a new operator's attributes.
struct no_attribute_function {};

/// Operator term: an application of `Op`. `Label` names the node; an empty label does not.
template <class Op, fixed_string Label, class AttributeFunction, class... Operands>
struct term : term_base {};
/// Category term: an application of any operator of a category with this many operands.
template <op_category Category, fixed_string Label, class... Operands>
struct category_term : term_base {};
/// Repetition: all operands of a variadic operator. Variables and labels inside are bound once per operand.
template <class Term>
struct each_term : term_base {};
/// Repetition over a split: the operands of a variadic operator are its parts, each once, in any order.
template <class Split>
struct all_parts_term : term_base {};
/// The current part of a split, inside `every_part`.
struct part_term : term_base {};
/// The readers of the parts of a split, one per part.
template <class Split, class Reader>
struct every_part_term : term_base {};
/// One of the values to which a variable inside `each` is bound.
template <fixed_string Name>
struct some_term : term_base {};
/// A replacement value that a function `value_id(rewrite&)` makes.
template <class F>
struct computed_term : term_base {};
/// Context root: must match, and is not replaced.
template <class Term>
struct context_term : term_base {};
/// Two terms of a sum. It is a whole pattern, so no `pattern_term`.
template <class Sum>
struct sum_term {};

namespace detail {
template <class T>
inline constexpr bool is_each = false;
template <class T>
inline constexpr bool is_each<each_term<T>> = true;
template <class T>
inline constexpr bool is_each<all_parts_term<T>> = true;
} // namespace detail

/// A term of the pattern language: a variable, an operator application, or another term of this header.
template <class T>
concept pattern_term = std::is_base_of_v<term_base, std::remove_cvref_t<T>>;

// ---- the words of the language
// -----------------------------------------------------------------------------------------------

/// An operator as a function of terms: `conv(x, w)`; with a label `conv[c](x, w)`. In a replacement, a label copies the
/// attributes of the matched node; `with(f)` gives new ones, `f(match const&)` returning the attribute struct.
template <class Op, fixed_string Label = "", class AttributeFunction = no_attribute_function>
struct operator_word {
    template <fixed_string L>
    constexpr auto operator[](label_t<L>) const noexcept {
        return operator_word<Op, L, AttributeFunction>{};
    }
    template <class F>
    requires std::is_empty_v<F>
    constexpr auto with(F) const noexcept { return operator_word<Op, Label, F>{}; }
    template <pattern_term... Operands>
    constexpr auto operator()(Operands...) const noexcept {
        constexpr auto given = static_cast<int>(sizeof...(Operands));
        constexpr bool spread = (false || ... || detail::is_each<Operands>);
        static_assert(spread || given >= op_traits<Op>::min_inputs,
                      "an operator in the rule has fewer operands than it takes");
        static_assert(spread || op_traits<Op>::max_inputs == variadic || given <= op_traits<Op>::max_inputs,
                      "an operator in the rule has more operands than it takes");
        return term<Op, Label, AttributeFunction, Operands...>{};
    }
};

/// Any elementwise operator of one operand (`unary`) or two (`binary`); see `op_info::is_plain`.
template <int Arity, fixed_string Label = "">
struct elementwise_word {
    template <fixed_string L>
    constexpr auto operator[](label_t<L>) const noexcept {
        return elementwise_word<Arity, L>{};
    }
    template <pattern_term... Operands>
    constexpr auto operator()(Operands...) const noexcept {
        static_assert(sizeof...(Operands) == Arity,
                      "an elementwise operator in the rule has another number of operands");
        return category_term<op_category::elementwise, Label, Operands...>{};
    }
};

template <class Op>
inline constexpr operator_word<Op> op{};

inline constexpr operator_word<ops::conv> conv{};
inline constexpr operator_word<ops::batch_norm> batch_norm{};
inline constexpr operator_word<ops::max_pool> max_pool{};
inline constexpr operator_word<ops::average_pool> average_pool{};
inline constexpr operator_word<ops::relu> relu{};
inline constexpr operator_word<ops::clip> clip{};
inline constexpr operator_word<ops::sigmoid> sigmoid{};
inline constexpr operator_word<ops::tanh> tanh{};
inline constexpr operator_word<ops::add> add{};
inline constexpr operator_word<ops::sub> sub{};
inline constexpr operator_word<ops::mul> mul{};
inline constexpr operator_word<ops::div> div{};
inline constexpr operator_word<ops::mat_mul> mat_mul{};
inline constexpr operator_word<ops::gemm> gemm{};
inline constexpr operator_word<ops::concat> concat{};
inline constexpr operator_word<ops::split> split{};
inline constexpr operator_word<ops::reshape> reshape{};
inline constexpr operator_word<ops::transpose> transpose{};
inline constexpr elementwise_word<1> unary{};
inline constexpr elementwise_word<2> binary{};

/// All operands of a variadic operator: `concat[k](each(relu(x)))`.
template <pattern_term Term>
constexpr auto each(Term) noexcept {
    return each_term<Term>{};
}
/// The operands of a variadic operator are the parts of one split in any order: `concat[k](all_parts(split[s](x)))`.
template <pattern_term Split>
constexpr auto all_parts(Split) noexcept {
    return all_parts_term<Split>{};
}
/// The current part, inside `every_part`.
inline constexpr part_term part{};
/// The readers of all parts of a split, one per part: `every_part(split[s](x), relu[r](part))`.
template <pattern_term Split, pattern_term Reader>
constexpr auto every_part(Split, Reader) noexcept {
    return every_part_term<Split, Reader>{};
}
/// In a further root: one of the operands to which `x` is bound inside `each`.
template <fixed_string N>
constexpr auto some(var_t<N>) noexcept {
    return some_term<N>{};
}
/// A whole pattern: two terms of one sum, which need not stand next to each other. `sum_of(conv(x, w), k)` matches
/// `(conv(x, w) + y) + k` too, and the rewrite adds y to what replaces `conv(x, w) + k`. The matcher flattens an inner
/// sum that has the type of the whole and no other reader.
template <pattern_term P, pattern_term Q>
constexpr auto sum_of(P p, Q q) noexcept {
    return sum_term<decltype(add(p, q))>{};
}
/// A value made by a captureless function `value_id(rewrite&)`.
template <class F>
requires std::is_empty_v<F>
constexpr auto computed(F) noexcept {
    return computed_term<F>{};
}
/// Context root: the matcher requires it, the rewrite keeps it.
template <pattern_term Term>
constexpr auto context(Term) noexcept {
    return context_term<Term>{};
}

/// Several roots that are matched, and replaced, together.
template <class... Terms>
struct root_list {};
template <pattern_term... Terms>
constexpr auto roots(Terms...) noexcept {
    return root_list<Terms...>{};
}
/// Replacements of several roots, in their order.
template <pattern_term... Terms>
constexpr auto results(Terms...) noexcept {
    return root_list<Terms...>{};
}

/// A replacement written as a captureless function `void(rewrite&)`, which calls `replace_root` for each replaced root.
template <class F>
struct build_function {};
template <class F>
requires std::is_empty_v<F>
constexpr auto build(F) noexcept {
    return build_function<F>{};
}
/// A replacement written as a named function: `built_by<fuse_conv_bn>`.
template <void (*Function)(rewrite&)>
struct call_function {
    void operator()(rewrite& r) const { Function(r); }
};
template <void (*Function)(rewrite&)>
inline constexpr build_function<call_function<Function>> built_by{};

} // namespace gsub::pattern
