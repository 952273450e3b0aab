// Gradient rules: how each operator is differentiated, user operators included.
#pragma once

#include <gsub/ir/builder.hpp>

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace gsub {

/// An operator application under differentiation, as its gradient rule sees it. L is the number whose gradient is
/// computed.
class gradient_site {
public:
    gradient_site(graph_builder& b, node_id n, std::span<value_id const> seeds, std::span<bool const> wanted)
        : builder_(&b), node_(n), seeds_(seeds), wanted_(wanted), given_(wanted.size()) {}

    /// The builder to which a rule adds its operators.
    [[nodiscard]] graph_builder& builder() const noexcept { return *builder_; }
    [[nodiscard]] any_graph const& graph() const noexcept { return builder_->graph(); }
    [[nodiscard]] node_id node() const noexcept { return node_; }
    template <operation Op>
    [[nodiscard]] attributes_of<Op> const& attributes() const {
        return graph().attributes<Op>(node_);
    }
    [[nodiscard]] std::size_t operands() const noexcept { return wanted_.size(); }
    [[nodiscard]] value_id operand(std::size_t i) const noexcept { return graph().operand(node_, i); }
    [[nodiscard]] value_id result(std::uint32_t port = 0) const noexcept { return {node_, port}; }
    [[nodiscard]] tensor_type const& type(value_id v) const { return graph().type(v); }
    /// dL / d result; invalid where L does not depend on it. That of result 0 is valid if there is only one.
    [[nodiscard]] value_id seed(std::uint32_t port = 0) const noexcept { return seeds_[port]; }
    /// Whether dL / d operand is asked for; never of operands that are no floating-point numbers.
    [[nodiscard]] bool wanted(std::size_t i) const noexcept { return i < wanted_.size() && wanted_[i]; }
    /// Sets dL / d operand. Sums the dimensions in which the operand was broadcast, and repeats those in which
    /// `gradient` has one element and the operand several. Does nothing where the gradient is not wanted. An operand
    /// without a gradient does not influence L. *Errors* throws `error` (`unsupported`) where the dimensions do not
    /// tell.
    GSUB_LAZY void give(std::size_t i, value_id gradient);
    [[nodiscard]] value_id given(std::size_t i) const noexcept { return given_[i]; }
    /// A number in the element type of `like`.
    GSUB_LAZY [[nodiscard]] value_id number(double value, value_id like) const;
    /// Fixed sizes of a value. *Errors* throws `error` (`unsupported`) where they are not.
    GSUB_LAZY [[nodiscard]] ints sizes(value_id v) const;
    /// Elements of an integer operand. *Errors* throws `error` (`unsupported`) where it is no constant.
    GSUB_LAZY [[nodiscard]] ints integers(std::size_t i) const;
    /// *Errors* throws `error` (`unsupported`), naming the operator.
    GSUB_LAZY [[noreturn]] void refuse(std::string_view reason) const;

private:
    graph_builder* builder_;
    node_id node_;
    std::span<value_id const> seeds_;
    std::span<bool const> wanted_;
    std::vector<value_id> given_;
};

/// Gradient of an operator. A specialisation has `static void build(gradient_site&)`, which calls `give` for the
/// operands that are wanted. A composite operator without one is differentiated through its parts.
template <class Op>
struct gradient;

/// A gradient rule as data.
struct gradient_rule {
    op_id op{};
    void (*build)(gradient_site&) = nullptr;

    template <operation Op>
    static constexpr gradient_rule of() noexcept {
        static_assert(
            requires(gradient_site & at) { gradient<Op>::build(at); },
            "gradient<Op> has a `static void build(gradient_site&)`");
        return {id_of<Op>, &gradient<Op>::build};
    }
};
/// Gradient rules of user operators, for `first_order_gradient::rules`.
template <operation... Ops>
inline constexpr std::array<gradient_rule, sizeof...(Ops)> gradient_rules{gradient_rule::of<Ops>()...};

/// The built-in gradient rules.
GSUB_LAZY [[nodiscard]] std::vector<gradient_rule> builtin_gradient_rules();

namespace passes::gradients {
/// A number broadcast to the type of another value, whose dimensions may be open.
GSUB_LAZY [[nodiscard]] value_id filled_as(graph_builder& b, double number, value_id like);
} // namespace passes::gradients

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/gradient/impl/elementwise_gradients.ipp>
#include <gsub/passes/gradient/impl/gradient.ipp>
#include <gsub/passes/gradient/impl/gradient_values.ipp>
#include <gsub/passes/gradient/impl/movement_gradients.ipp>
#include <gsub/passes/gradient/impl/product_gradients.ipp>
#include <gsub/passes/gradient/impl/reduction_gradients.ipp>
#include <gsub/passes/gradient/impl/window_gradients.ipp>
#endif
