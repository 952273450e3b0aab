#pragma once

#include <gsub/core/format.hpp>
#include <gsub/passes/impl/op_set.hpp>
#include <gsub/passes/simplify/simplify_expr.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/rules/matmul.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <vector>

namespace gsub::passes {

namespace detail {

/// Whether every number of one type is one of another. Truth values are the integers 0 and 1.
GSUB_LAZY bool loses_nothing(dtype from, dtype to) {
    struct range {
        int digits, exponent; ///< digits of integers that are exact; of floats, largest exponent too
        bool is_signed;
    };
    auto const range_of = [](dtype t) -> range {
        switch (t) {
        case dtype::boolean:
            return {1, 1, false};
        case dtype::f16:
            return {11, 16, true};
        case dtype::bf16:
            return {8, 128, true};
        case dtype::f32:
            return {24, 128, true};
        case dtype::f64:
            return {53, 1024, true};
        default:
            if (is_integer(t)) return {integer_digits(t), integer_digits(t), info(t).is_signed};
            return {0, 0, false};
        }
    };
    if (from == to) return true;
    auto const a = range_of(from), b = range_of(to);
    if (a.digits == 0 || b.digits == 0 || to == dtype::boolean || (is_floating(from) && !is_floating(to))) return false;
    return a.digits <= b.digits && a.exponent <= b.exponent && (b.is_signed || !a.is_signed);
}

/// A constant that repeats one number of interest.
enum class repeated : std::uint8_t { unknown, other, zero, negative_zero, one };

template <class = void>
class expression_simplifier {
public:
    expression_simplifier(any_graph& g, pass_context const& cx, bool signed_zeros, pass_outcome& outcome)
        : g_(g), cx_(cx), signed_zeros_(signed_zeros), outcome_(outcome) {
        for (auto name : {"identity", "dropout", "cast", "reshape", "reshape-reshape", "transpose", "pad", "slice"})
            patterns_.push_back(find_canonicalization_pattern(name));
    }

    void run() {
        // What was left behind still counts as a reader until it is erased, so another sweep may find more.
        for (;;) {
            cx_.check_stop();
            auto const before = outcome_.matches;
            outcome_.skipped.clear(); // what stays in the end counts
            auto const order = std::vector<node_id>(g_.order().begin(), g_.order().end());
            for (auto n : order) simplify_all(n);
            if (outcome_.matches == before) return;
            GSUB_ASSERT(g_.sort(), "simpler expressions cannot close a cycle");
            g_.erase_dead();
        }
    }

private:
    // A node, and what takes its place. Operands have been seen to already.
    void simplify_all(node_id n) {
        while (n != g_.return_node() && !g_.is<ops::input>(n) && !g_.is<ops::constant>(n) &&
               g_.op(n).category != op_category::opaque && g_.used(n)) {
            auto const first_new = static_cast<std::uint32_t>(g_.capacity());
            if (!simplify(n)) return;
            ++outcome_.matches;
            if (g_.used(n)) continue;               // an operand was replaced
            if (g_.capacity() == first_new) return; // an existing value
            n = {static_cast<std::uint32_t>(g_.capacity()) - 1};
        }
    }

    bool simplify(node_id n) {
        if (std::any_of(patterns_.begin(), patterns_.end(),
                        [&](canonicalization_pattern const* c) { return c->apply(g_, n); }))
            return true;
        auto const op = g_.op(n).id;
        return std::any_of(std::begin(simplifications), std::end(simplifications),
                           [&](simplification const& s) { return contains(s.operators, op) && (this->*s.apply)(n); });
    }

    template <operation... Ops>
    [[nodiscard]] bool is_any(node_id n) const {
        return (g_.is<Ops>(n) || ...);
    }
    bool becomes(node_id n, value_id v) {
        if (!(g_.type_of({n, 0}) == g_.type_of(v))) return false;
        g_.replace_uses({n, 0}, v);
        return true;
    }

    // ---- neutral elements --------------------------------------------------------------------------------------
    repeated look_at(tensor const& t) {
        auto const raw = t.raw();
        auto const item = byte_size(t.element());
        if (t.elements() == 0 || std::memcmp(raw.data(), raw.data() + item, raw.size() - item) != 0)
            return repeated::other;
        auto const first = tensor::borrowed(t.element(), {}, raw.data(), nullptr).converted_to(dtype::f64);
        auto const number = first.template data<double>()[0];
        if (number == 1) return repeated::one;
        if (number != 0) return repeated::other;
        return std::signbit(number) ? repeated::negative_zero : repeated::zero;
    }
    repeated number_of(value_id v) {
        auto n = v.node;
        for (;;) { // through what repeats or moves elements
            if (g_.is<ops::constant>(n)) {
                if (seen_.size() <= n.index) seen_.resize(g_.capacity(), repeated::unknown);
                auto& known = seen_[n.index];
                if (known == repeated::unknown) known = look_at(g_.constant_data(n));
                return known;
            }
            if (g_.is<ops::fill>(n)) {
                auto const& a = g_.attributes<ops::fill>(n);
                auto const number = is_floating(a.element) ? a.value : static_cast<double>(a.integer);
                if (number == 1) return repeated::one;
                if (number != 0) return repeated::other;
                return std::signbit(number) ? repeated::negative_zero : repeated::zero;
            }
            if (!is_any<ops::expand, ops::reshape, ops::squeeze, ops::unsqueeze, ops::transpose>(n))
                return repeated::other;
            n = g_.operand(n, 0).node;
        }
    }
    bool drop_neutral(node_id n) {
        auto const sum = is_any<ops::add, ops::sub>(n);
        auto const commutes = is_any<ops::add, ops::mul>(n);
        for (std::size_t i = commutes ? 0 : 1; i < 2; ++i) {
            auto const number = number_of(g_.operand(n, i));
            auto const neutral =
                sum ? number == repeated::zero || number == repeated::negative_zero : number == repeated::one;
            if (!neutral) continue;
            auto const exact = !sum || !is_floating(g_.type({n, 0}).element) ||
                               (number == repeated::negative_zero) == g_.is<ops::add>(n);
            if (signed_zeros_ && !exact)
                outcome_.skip("the sign of zero");
            else if (becomes(n, g_.operand(n, 1 - i)))
                return true;
            else
                outcome_.skip("the result is larger");
        }
        return false;
    }

    // ---- broadcasting --------------------------------------------------------------------------------------------
    [[nodiscard]] bool broadcast_to_result(node_id n, shape const& a, shape const& b) const {
        auto const& y = g_.type({n, 0});
        auto const both = broadcast(a, b);
        return both && y.ranked && std::equal(both->begin(), both->end(), y.dims.begin(), y.dims.end(), provably_equal);
    }
    bool narrow_operand(node_id n) {
        for (std::size_t i = 0; i < 2; ++i) {
            auto const wide = g_.operand(n, i), other = g_.operand(n, 1 - i);
            if (!g_.type(other).ranked || !g_.type(wide).ranked) continue;
            value_id narrow;
            if (g_.is<ops::expand>(wide.node)) {
                narrow = g_.operand(wide.node, 0);
                if (!g_.type(narrow).ranked || !(g_.type(narrow).layout == g_.type(wide).layout)) continue;
                if (!broadcast_to_result(n, g_.type(narrow).dims, g_.type(other).dims)) continue;
            } else if (g_.is<ops::fill>(wide.node) && g_.operand_count(wide.node) == 0 &&
                       g_.type(wide).elements().value_or(1) != 1) {
                if (!broadcast_to_result(n, {}, g_.type(other).dims)) continue;
                auto a = g_.attributes<ops::fill>(wide.node);
                a.shape = {};
                narrow = g_.add<ops::fill>(a, {});
                g_.inherit_sources(narrow.node, {&wide.node, 1});
            } else {
                continue;
            }
            g_.set_operand(n, i, narrow); // the result keeps its type
            return true;
        }
        return false;
    }

    // ---- moving elements ---------------------------------------------------------------------------------------
    template <operation Op>
    bool joined(node_id n, attributes_of<Op> const& attributes, value_id x) {
        auto const made = g_.add<Op>(attributes, {x});
        g_.inherit_sources(made.node, {&n, 1});
        g_.replace_uses({n, 0}, made, made.node.index);
        return true;
    }
    bool join_transposes(node_id n) {
        auto const inner = g_.operand(n, 0).node;
        if (!g_.is<ops::transpose>(inner)) return false;
        return joined<ops::transpose>(
            n,
            {.perm = rules::matrix::detail::composed_permutation(g_.attributes<ops::transpose>(n).perm,
                                                                 g_.attributes<ops::transpose>(inner).perm)},
            g_.operand(inner, 0));
    }
    bool join_layouts(node_id n) {
        auto x = g_.operand(n, 0);
        if (g_.type_of(x) == g_.type_of({n, 0})) return becomes(n, x);
        if (!g_.is<ops::layout_transform>(x.node)) return false;
        x = g_.operand(x.node, 0);
        return becomes(n, x) || joined<ops::layout_transform>(n, g_.attributes<ops::layout_transform>(n), x);
    }
    bool join_casts(node_id n) {
        auto const inner = g_.operand(n, 0).node;
        if (!g_.is<ops::cast>(inner)) return false;
        auto const x = g_.operand(inner, 0);
        auto const from = g_.type(x).element, between = g_.attributes<ops::cast>(inner).to,
                   to = g_.attributes<ops::cast>(n).to;
        // What does not fit an integer is cut off coming from an integer, and is the nearest one coming from a float.
        auto const fits_otherwise =
            is_floating(between) && !is_floating(from) && is_integer(to) && !loses_nothing(from, to);
        if (from == dtype::undefined || !loses_nothing(from, between) || fits_otherwise) {
            outcome_.skip("a conversion that loses bits");
            return false;
        }
        return joined<ops::cast>(n, {.to = to}, x);
    }
    // Axes removed and inserted again, or the other way round, whatever the sizes.
    bool cancel_axes(node_id n) {
        auto const inner = g_.operand(n, 0).node;
        if (!contains(views, g_.op(inner).id)) return false;
        auto const axes_of = [&](node_id at) {
            auto axes =
                g_.is<ops::squeeze>(at) ? g_.attributes<ops::squeeze>(at).axes : g_.attributes<ops::unsqueeze>(at).axes;
            // Both count along the larger of the two.
            auto const& t = g_.is<ops::squeeze>(at) ? g_.type(g_.operand(at, 0)) : g_.type({at, 0});
            for (auto& a : axes) a += a < 0 && t.ranked ? static_cast<std::int64_t>(t.rank()) : 0;
            std::sort(axes.begin(), axes.end());
            return axes;
        };
        auto const opposite = (g_.is<ops::squeeze>(n) && g_.is<ops::unsqueeze>(inner)) ||
                              (g_.is<ops::unsqueeze>(n) && g_.is<ops::squeeze>(inner));
        auto const x = g_.operand(inner, 0);
        if (opposite && g_.operand_count(n) == 1 && g_.operand_count(inner) == 1 && g_.type(x).ranked &&
            g_.type({inner, 0}).ranked && !axes_of(n).empty() && axes_of(n) == axes_of(inner) && becomes(n, x))
            return true;
        outcome_.skip("symbolic sizes");
        return false;
    }

    // What operators have simplified beyond the patterns, in this order.
    struct simplification {
        op_set operators;
        bool (expression_simplifier::*apply)(node_id);
    };
    static constexpr op_set views = op_ids<ops::reshape, ops::flatten, ops::squeeze, ops::unsqueeze>;
    static constexpr simplification simplifications[] = {
        {op_ids<ops::add, ops::sub, ops::mul, ops::div>, &expression_simplifier::drop_neutral},
        {op_ids<ops::add, ops::sub, ops::mul, ops::div, ops::pow, ops::equal, ops::less, ops::less_or_equal,
                ops::greater, ops::greater_or_equal, ops::logical_and, ops::logical_or, ops::logical_xor>,
         &expression_simplifier::narrow_operand},
        {op_ids<ops::transpose>, &expression_simplifier::join_transposes},
        {op_ids<ops::layout_transform>, &expression_simplifier::join_layouts},
        {op_ids<ops::cast>, &expression_simplifier::join_casts},
        {views, &expression_simplifier::cancel_axes},
    };

    any_graph& g_;
    pass_context const& cx_;
    bool signed_zeros_;
    pass_outcome& outcome_;
    std::vector<canonicalization_pattern const*> patterns_;
    std::vector<repeated> seen_; // by constant
};

} // namespace detail

GSUB_LAZY_BODY result<simplify_expr> simplify_expr::from_text(std::string_view text) {
    if (text != "signed-zeros" && !text.empty())
        return error{errors::pass_arguments, format_text("{} takes signed-zeros, not {}", facts.name, quoted{text})};
    return simplify_expr{.signed_zeros = !text.empty()};
}

GSUB_LAZY_BODY result<pass_outcome> simplify_expr::operator()(any_graph& g, pass_context& cx) const {
    pass_outcome outcome;
    detail::expression_simplifier<>{g, cx, signed_zeros, outcome}.run();
    outcome.changed = outcome.matches > 0;
    return outcome;
}

} // namespace gsub::passes
