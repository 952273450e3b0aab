// Sum terms: the terms on both sides of a sum that is taken apart.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/rewrite/engine/matcher.hpp>

#include <cstddef>
#include <cstdint>

namespace gsub::detail {

/// Whether a term is a sum that is taken apart.
[[nodiscard]] inline bool is_inner_sum(any_graph const& g, node_id whole, value_id v, node_signature* looked_at) {
    if (g.row(v.node) != g.row(whole) || g.constant(v.node)) return false;
    if (looked_at) looked_at->add(v.node);
    return g.use_count(v) == 1 && g.type(v).is_static() && g.type(v) == g.type({whole, 0});
}

/// The terms on both sides of a sum, and how deep they stand. A term that is a sum is taken apart where it has the type
/// of the whole and no other reader, as long as there are few terms: else a chain of n sums has n^2 of them.
class sum_terms {
public:
    static constexpr std::size_t none = ~std::size_t{0};
    static constexpr std::size_t most_of_a_side = 32;
    struct term {
        value_id value;
        value_id beside;          // what it is added to, unless that is the other side
        std::size_t above = none; // the sum that it is a term of, unless that is the whole
    };

    sum_terms(any_graph const& g, node_id whole, node_signature* looked_at) {
        for (std::uint32_t side = 0; side < 2; ++side) {
            terms_.push_back({g.operand(whole, side), {}, none});
            auto const first_term = terms_.size() - 1;
            for (auto i = first_term; i < terms_.size() && terms_.size() - first_term < most_of_a_side; ++i) {
                auto const v = terms_[i].value;
                if (!is_inner_sum(g, whole, v, looked_at)) continue;
                auto const first = g.operand(v.node, 0), second = g.operand(v.node, 1);
                terms_.push_back({first, second, i});
                terms_.push_back({second, first, i});
            }
            if (side == 0) left_ = terms_.size();
        }
    }
    term const& operator[](std::size_t i) const { return terms_[i]; }
    [[nodiscard]] std::size_t size() const { return terms_.size(); }
    /// Number of terms on the left side, which come first.
    [[nodiscard]] std::size_t left() const { return left_; }

private:
    small_vector<term, 8> terms_;
    std::size_t left_ = 0;
};

} // namespace gsub::detail
