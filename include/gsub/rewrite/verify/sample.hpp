// Sampling of pattern instances: draws types and attributes for legal operators, exhaustively or at random.
#pragma once

#include <gsub/core/random.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/rewrite/engine/match.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <vector>

namespace gsub {

/// A source of decisions. The same code draws an instance at random and enumerates all: every run repeats the decisions
/// of the one before, except the last that can still change.
class chooser {
public:
    /// Enumerates: `next()` moves to the next sequence of decisions.
    chooser() = default;
    /// Draws at random.
    explicit chooser(random_stream stream) : random_(stream) {}

    [[nodiscard]] bool exhaustive() const noexcept { return !random_; }
    /// A number below `count`. *Requires* count > 0.
    std::size_t below(std::size_t count);
    /// One of a few values.
    template <class T>
    T pick(std::initializer_list<T> from) {
        return from.begin()[below(from.size())];
    }
    /// Enumeration: makes the next run different; false after the last sequence.
    bool next();
    /// Number of sequences enumerated so far.
    [[nodiscard]] std::uint64_t sequences() const noexcept { return sequences_; }

private:
    struct decision {
        std::size_t taken, count;
    };
    std::optional<random_stream> random_;
    std::vector<decision> decisions_;
    std::size_t at_ = 0;
    std::uint64_t sequences_ = 1;
};

/// An operator application under construction in an instance. Operands that are computed or already bound have a type;
/// `sample<Op>` draws the types of the others and the attributes.
class sample_context {
public:
    sample_context(chooser& choose, std::size_t operands)
        : choose_(&choose), types_(operands), absent_(operands, false) {}

    [[nodiscard]] chooser& choose() const noexcept { return *choose_; }
    [[nodiscard]] std::size_t operands() const noexcept { return types_.size(); }
    [[nodiscard]] bool absent(std::size_t i) const noexcept { return i >= absent_.size() || absent_[i]; }
    [[nodiscard]] bool known(std::size_t i) const noexcept { return i < types_.size() && types_[i].has_value(); }
    [[nodiscard]] tensor_type const& type(std::size_t i) const { return *types_[i]; }
    [[nodiscard]] std::span<std::optional<tensor_type> const> types() const noexcept { return as_span(types_); }
    void set_type(std::size_t i, tensor_type t) { types_[i] = std::move(t); }
    void set_absent(std::size_t i) { absent_[i] = true; }

    /// Attributes of an operator of the same kind drawn before in this instance, or null: siblings should often agree.
    attributes_id const* earlier = nullptr;
    /// Types of that operator's operands; empty where there is none before.
    std::span<std::optional<tensor_type> const> earlier_types{};
    /// Inside of `each` and `every_part`, behind the first: the type that the same variable had before.
    std::optional<tensor_type> like;
    /// Number of results, of an operator that leaves it open.
    std::size_t results = 1;

    /// A small size: 1 or 2 in the exhaustive box, up to 7 at random.
    std::int64_t size() {
        return choose_->exhaustive() ? choose_->pick<std::int64_t>({1, 2})
                                     : choose_->pick<std::int64_t>({1, 1, 2, 3, 4, 5, 7});
    }
    /// A tensor type of some rank: that of `like` with one dimension changed, or a new one.
    tensor_type fresh(std::size_t rank);
    /// Abandons an instance that cannot be completed.
    [[noreturn]] void give_up() const;

private:
    chooser* choose_;
    std::vector<std::optional<tensor_type>> types_;
    std::vector<bool> absent_;
};

/// Sampler of an operator: draws legal applications. A specialisation has
/// `static attributes_of<Op> draw(sample_context&)`, which sets the type of every operand that has none. An operator
/// without one takes operands of one type and default attributes.
template <class Op>
struct sample;

/// The sampling row of an operator.
struct sample_row {
    attributes_id (*draw)(sample_context&) = nullptr;

    template <operation Op>
    static constexpr sample_row of() noexcept;
};

namespace detail {
/// Thrown where an instance cannot be completed.
struct give_up {};
/// Gives every operand without a type the type of those that have one.
void draw_alike(sample_context& cx);
} // namespace detail

template <>
struct sample<ops::conv> {
    GSUB_LAZY static attributes_of<ops::conv> draw(sample_context& cx);
};
template <>
struct sample<ops::batch_norm> {
    GSUB_LAZY static attributes_of<ops::batch_norm> draw(sample_context& cx);
};
template <>
struct sample<ops::max_pool> {
    GSUB_LAZY static attributes_of<ops::max_pool> draw(sample_context& cx);
};
template <>
struct sample<ops::average_pool> {
    GSUB_LAZY static attributes_of<ops::average_pool> draw(sample_context& cx);
};
template <>
struct sample<ops::clip> {
    GSUB_LAZY static attributes_of<ops::clip> draw(sample_context& cx);
};
template <>
struct sample<ops::add> {
    GSUB_LAZY static no_attributes draw(sample_context& cx);
};
namespace detail {
template <class Op>
concept sampled_as_add = std::same_as<Op, ops::sub> || std::same_as<Op, ops::mul> || std::same_as<Op, ops::div>;
} // namespace detail
template <detail::sampled_as_add Op>
struct sample<Op> : sample<ops::add> {};
template <>
struct sample<ops::concat> {
    GSUB_LAZY static attributes_of<ops::concat> draw(sample_context& cx);
};
template <>
struct sample<ops::split> {
    GSUB_LAZY static attributes_of<ops::split> draw(sample_context& cx);
};
template <>
struct sample<ops::mat_mul> {
    GSUB_LAZY static no_attributes draw(sample_context& cx);
};
template <>
struct sample<ops::gemm> {
    GSUB_LAZY static attributes_of<ops::gemm> draw(sample_context& cx);
};
template <>
struct sample<ops::transpose> {
    GSUB_LAZY static attributes_of<ops::transpose> draw(sample_context& cx);
};
template <>
struct sample<ops::reshape> {
    GSUB_LAZY static attributes_of<ops::reshape> draw(sample_context& cx);
};

template <operation Op>
constexpr sample_row sample_row::of() noexcept {
    sample_row row;
    if constexpr (requires(sample_context & cx) { sample<Op>::draw(cx); })
        row.draw = [](sample_context& cx) { return intern<Op>(sample<Op>::draw(cx)); };
    else
        row.draw = [](sample_context& cx) {
            detail::draw_alike(cx);
            return intern<Op>(attributes_of<Op>{});
        };
    return row;
}

#ifdef GSUB_COMPILED
extern template struct detail::table_storage<sample_row, standard_ops>;
#endif

/// A concrete instance of a pattern: a graph whose outputs are the roots, and the match of the pattern in it. Variables
/// are inputs of the graph.
struct pattern_instance {
    any_graph graph;
    match bindings;
    pattern_instance(dialect const& d, rule_program const& rule) : graph(d), bindings(graph, rule) {}
};

/// Draws an instance with the decisions of `choose`; null where they lead to none.
GSUB_LAZY [[nodiscard]] std::unique_ptr<pattern_instance>
draw_instance(dialect const& d, std::span<sample_row const> table, rule_program const& rule, chooser& choose);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/rewrite/verify/impl/instance_builder.ipp>
#include <gsub/rewrite/verify/impl/sample.ipp>
#include <gsub/rewrite/verify/impl/sample_conv.ipp>
#endif
