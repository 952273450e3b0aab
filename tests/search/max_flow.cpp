#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/search/max_flow.hpp>

#include <algorithm>
#include <vector>

namespace max_flow_test {

using namespace gsub;
using search::flow_network;

struct channel {
    std::uint32_t from, to;
    std::uint64_t capacity;
};

flow_network network(std::size_t nodes, std::vector<channel> const& channels) {
    flow_network net{nodes};
    for (auto const& c : channels) net.connect(c.from, c.to, c.capacity);
    return net;
}

// Capacity of what leads from a side to the other; `side` has a bit for each node.
std::uint64_t capacity_of_cut(std::vector<channel> const& channels, std::uint32_t side) {
    std::uint64_t sum = 0;
    for (auto const& c : channels)
        if ((side >> c.from & 1) && !(side >> c.to & 1)) {
            if (c.capacity == flow_network::unlimited) return flow_network::unlimited;
            sum += c.capacity;
        }
    return sum;
}

std::uint32_t bits(std::vector<bool> const& side) {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < side.size(); ++i) out |= std::uint32_t{side[i]} << i;
    return out;
}

} // namespace max_flow_test

TEST_CASE("the largest flow is the cheapest of all cuts, and the sides reached are the smallest and the largest") {
    using namespace max_flow_test;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        random_stream r{seed};
        auto const nodes = static_cast<std::uint32_t>(2 + r.below(8));
        std::vector<channel> channels;
        for (auto n = r.below(4 * nodes); n-- > 0;)
            channels.push_back({static_cast<std::uint32_t>(r.below(nodes)), static_cast<std::uint32_t>(r.below(nodes)),
                                r.below(12) == 0 ? flow_network::unlimited : r.below(6)});
        auto least = flow_network::unlimited;
        for (std::uint32_t side = 0; side < (1u << nodes); ++side)
            if ((side & 1) && !(side >> 1 & 1)) least = std::min(least, capacity_of_cut(channels, side));
        auto net = network(nodes, channels);
        INFO("seed " << seed);
        REQUIRE(net.maximize(0, 1) == least);
        if (least == flow_network::unlimited) continue;
        auto const near = bits(net.reachable_from(0)), far = ~bits(net.reaching(1)) & ((1u << nodes) - 1);
        CHECK(capacity_of_cut(channels, near) == least);
        CHECK(capacity_of_cut(channels, far) == least);
        for (std::uint32_t side = 0; side < (1u << nodes); ++side)
            if ((side & 1) && !(side >> 1 & 1) && capacity_of_cut(channels, side) == least) {
                CHECK((near & ~side) == 0);
                CHECK((side & ~far) == 0);
            }
        CHECK(net.maximize(0, 1) == 0); // nothing more goes through
    }
}

TEST_CASE("a closed set is extended by all that can be reached, or left as it was") {
    using namespace max_flow_test;
    std::size_t refused = 0, extended = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        auto const nodes = static_cast<std::uint32_t>(3 + r.below(8));
        std::vector<channel> channels;
        for (auto n = r.below(3 * nodes); n-- > 0;) {
            auto const from = static_cast<std::uint32_t>(r.below(nodes)),
                       to = static_cast<std::uint32_t>(r.below(nodes));
            channels.push_back({from, to, r.below(3)});
        }
        auto const net = network(nodes, channels);
        auto closed = net.reachable_from(0);
        for (std::uint32_t from = 0; from < nodes; ++from) {
            auto const before = closed;
            auto expected = net.reachable_from(from);
            for (std::size_t n = 0; n < nodes; ++n) expected[n] = expected[n] || before[n];
            auto const most = r.below(nodes);
            std::size_t added = 0;
            auto const all = net.extend(closed, from, [&](std::uint32_t n) {
                CHECK_FALSE(before[n]);
                return ++added <= most;
            });
            auto const wanted =
                std::count(expected.begin(), expected.end(), true) - std::count(before.begin(), before.end(), true);
            CHECK(all == (wanted <= static_cast<std::ptrdiff_t>(most)));
            CHECK(bits(closed) == bits(all ? expected : before));
            (all ? extended : refused) += 1;
        }
    }
    CHECK(extended > 300);
    CHECK(refused > 100);
}

TEST_CASE("a flow through a ladder of many steps needs no stack") {
    using namespace max_flow_test;
    constexpr std::uint32_t steps = 100'000;
    flow_network net{2 * steps + 2};
    for (std::uint32_t i = 0; i < 2 * steps; i += 2) {
        net.connect(i, i + 2, 2), net.connect(i + 1, i + 3, 3);
        net.connect(i, i + 1, 1);
    }
    net.connect(2 * steps, 2 * steps + 1, 1);
    CHECK(net.maximize(0, 2 * steps + 1) == 3);
}

TEST_CASE("capacity that was added lets more through") {
    using namespace max_flow_test;
    auto net = network(3, {{0, 1, 4}, {1, 2, 3}});
    CHECK(net.maximize(0, 2) == 3);
    net.connect(1, 2, 5);
    CHECK(net.maximize(0, 2) == 1);
    net.connect(0, 2, flow_network::unlimited);
    CHECK(net.maximize(0, 2) == flow_network::unlimited);
}
