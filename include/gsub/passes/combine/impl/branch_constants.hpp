// branch_constants: operands of branches that are constants, and how they are joined to one.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/combine/impl/sibling_groups.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace gsub::passes::detail {

/// Constants, one a branch, `from_last` from the end of which the channels are.
struct branch_constants {
    std::vector<value_id> values;
    std::vector<std::int64_t> channels; ///< of each branch
    std::size_t from_last = 0;
};

/// Joins the constants of branches.
template <class = void>
class constant_joiner {
public:
    constant_joiner(any_graph& g, sibling_kind kind) : g_(g), kind_(kind) {}

    [[nodiscard]] ints dims_of(value_id v) const {
        auto dims = g_.type(v).sizes();
        return dims.empty() ? ints(1, 1) : dims;
    }
    [[nodiscard]] bool joinable(branch_constants const& s) const {
        for (auto v : s.values)
            if (!g_.constant(v) || !g_.type(v).is_static() || g_.type(v).element != g_.type(s.values[0]).element)
                return false;
        if (shared(s)) return true;
        auto const first = dims_of(s.values[0]);
        if (first.size() <= s.from_last) return false;
        auto const at = first.size() - 1 - s.from_last;
        for (std::size_t i = 0; i < s.values.size(); ++i) {
            auto const dims = dims_of(s.values[i]);
            if (dims.size() != first.size()) return false;
            for (std::size_t d = 0; d < dims.size(); ++d)
                if ((d != at || kind_ == sibling_kind::stacks) && dims[d] != first[d]) return false;
            if (kind_ != sibling_kind::stacks && dims[at] != s.channels[i] && !(repeats() && dims[at] == 1))
                return false;
        }
        return true;
    }
    /// *Requires* `joinable`. `rank` is that of what they are joined with.
    value_id joined(branch_constants const& s, std::size_t rank) {
        if (shared(s)) return s.values[0];
        std::vector<value_id> parts;
        auto const at = dims_of(s.values[0]).size() - 1 - s.from_last;
        for (std::size_t i = 0; i < s.values.size(); ++i) {
            auto v = s.values[i];
            auto dims = dims_of(v);
            if (kind_ == sibling_kind::stacks) {
                v = reshaped(v, with_ones(dims, rank));
            } else if (dims[at] != s.channels[i]) {
                dims[at] = s.channels[i];
                v = g_.add<ops::expand>({.shape = dims}, {v});
            } else if (g_.type(v).rank() == 0) {
                v = reshaped(v, dims);
            }
            parts.push_back(v);
        }
        auto const axis = kind_ == sibling_kind::stacks ? 0 : static_cast<std::int64_t>(at);
        return g_.add<ops::concat>({.axis = axis}, parts);
    }
    value_id reshaped(value_id v, ints dims) {
        return g_.add<ops::reshape>(attributes_of<ops::reshape>::to(std::move(dims)), {v});
    }
    /// As many dimensions, ones in front.
    static ints with_ones(ints const& dims, std::size_t rank) {
        ints out(rank - dims.size(), 1);
        out.append(dims);
        return out;
    }

private:
    // Whether one number is repeated for its branch.
    [[nodiscard]] bool repeats() const { return kind_ != sibling_kind::convolutions; }
    [[nodiscard]] bool shared(branch_constants const& s) const {
        auto const same = std::all_of(s.values.begin(), s.values.end(), [&](value_id v) { return v == s.values[0]; });
        if (!same || !repeats()) return false;
        return kind_ == sibling_kind::stacks || dims_of(s.values[0]).back() == 1;
    }

    any_graph& g_;
    sibling_kind kind_;
};

} // namespace gsub::passes::detail
