// Costs of weights under `lowered`: what rewrites add to them takes its room in the last cache.
#pragma once

#include <gsub/cost/analytic.hpp>
#include <gsub/cost/lowered.hpp>

#include <algorithm>
#include <vector>

namespace gsub::cost {

// Of so many bytes of weights beside those that the network came with: they are as much less in the last cache of all.
GSUB_LAZY_BODY double lowered::cost_of_more(double bytes) const {
    if (machine_.gpu) return 0; // `static_gpu` reads all weights from memory
    auto const room = static_cast<double>(core_.l3_bytes);
    auto const part = options_.weight_bytes / room;
    if (bytes <= 0 || part <= core_.kept_share || part >= core_.lost_share) return 0;
    auto const lost = bytes / room / (core_.lost_share - core_.kept_share);
    auto const hertz = core_.gigahertz * 1e9;
    auto const threads = static_cast<double>(std::max(1u, options_.threads));
    auto const from_memory = threads > 1 ? core_.memory_bytes_in_all : core_.memory_bytes_per_second;
    auto const waiting = 1 / from_memory - 1 / (core_.l3_bytes_per_cycle * hertz * threads); // for a byte
    return lost * options_.weight_bytes * std::max(0.0, waiting);
}
// Of what kernels read of a weight beyond its size: values made of weights count for each of these with its size. A
// tenth of what that costs, for further rewrites may let all read one and the same; a search is to get past there.
GSUB_LAZY_BODY double lowered::cost_of_copies(any_graph const& g, node_id weight) const {
    if (cost_of_more(1) == 0) return 0;
    auto const own = gsub::cost::detail::size_bytes(g, {weight, 0});
    double read = 0;
    std::vector<node_id> made{weight};
    for (std::size_t i = 0; i < made.size(); ++i)
        for (std::uint32_t port = 0; port < g.result_count(made[i]); ++port) {
            auto by_kernel = false;
            g.for_each_use({made[i], port}, [&](use u) {
                if (u.user == g.return_node()) return;
                if (!g.constant(u.user))
                    by_kernel = true;
                else if (std::find(made.begin(), made.end(), u.user) == made.end())
                    made.push_back(u.user);
            });
            if (by_kernel) read += std::min(own, gsub::cost::detail::size_bytes(g, {made[i], port}));
        }
    constexpr double counted = 0.1;
    return counted * cost_of_more(read - own);
}

// Of all weights. What was made of weights and is computed by now counts as a whole, at the first one: a search has
// none.
GSUB_LAZY_BODY std::vector<node_cost> lowered::costs_of_weights(any_graph const& g) const {
    std::vector<node_cost> out;
    auto stored = 0.0;
    for (auto n : g.order())
        if (g.is<ops::constant>(n)) {
            stored += gsub::cost::detail::size_bytes(g, {n, 0});
            out.push_back({n, cost_of_copies(g, n)});
        }
    if (!out.empty()) out.front().amount += cost_of_more(stored - options_.weight_bytes);
    return out;
}

// Adds the costs of weights that what has changed is made of.
GSUB_LAZY_BODY void lowered::add_weights_near(std::vector<node_cost>& out, any_graph const& g,
                                              changed_nodes const& changes) const {
    std::vector<node_id> constants;
    auto const note = [&](node_id n) {
        if (g.constant(n) && std::find(constants.begin(), constants.end(), n) == constants.end())
            constants.push_back(n);
    };
    for (auto n : changes.values) note(n);
    for (auto n : changes.readers) note(n);
    for (std::size_t i = 0; i < constants.size(); ++i)
        for (auto v : g.operands(constants[i]))
            if (v.valid()) note(v.node);
    for (auto n : constants)
        if (g.is<ops::constant>(n)) out.push_back({n, cost_of_copies(g, n)});
}

} // namespace gsub::cost
