// Pass ordering: rules as data, and the check of a list against them.
#pragma once

#include <gsub/core/config.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// Kind of an ordering rule: what breaking it costs.
enum class order_kind : std::uint8_t {
    hard,      ///< the result would be wrong, or the second pass impossible
    soft,      ///< an effect is lost
    exclusive, ///< the later one undoes or prevents the earlier; the order says nothing
};
[[nodiscard]] constexpr std::string_view to_string(order_kind k) noexcept {
    constexpr std::string_view names[] = {"hard", "soft", "exclusive"};
    return names[static_cast<std::size_t>(k)];
}

/// An ordering rule: each of `before` comes before each of `after`; several names are separated by blanks. It may name
/// passes that do not exist yet.
struct order_rule {
    order_kind kind;
    std::string_view before, after;
    std::string_view reason;
};

/// Ordering rules of the library's passes.
[[nodiscard]] std::span<order_rule const> order_rules() noexcept;

/// A pair of passes of a list that breaks an ordering rule.
struct order_breach {
    order_rule const* rule = nullptr;
    std::string_view before, after; ///< which of the rule's names
    /// One sentence, e.g. `"canonicalize-ops" must come before "convert-layout": biases need ...`.
    [[nodiscard]] std::string text() const;
};

/// Rules that a list of canonical names breaks, where it has both passes of one: a hard one, where the first does not
/// stand before every occurrence of the second; a soft one, where it stands before none; an exclusive one always.
/// *Complexity* O(rules x names).
[[nodiscard]] std::vector<order_breach> check_order(std::span<std::string_view const> names,
                                                    std::span<order_rule const> rules = order_rules());

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/manager/impl/order.ipp>
#endif
