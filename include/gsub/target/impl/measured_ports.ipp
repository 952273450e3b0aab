#pragma once

#include <gsub/core/format.hpp>
#include <gsub/target/measured_ports.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace gsub {

namespace detail {

// Assigns the ports of one class after the other; keeps the best few assignments of those so far.
template <class = void>
class port_assignment {
public:
    port_assignment(std::span<std::int32_t const> units, std::span<std::int32_t const> shared)
        : units_(units), shared_(shared), order_(units.size()) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::stable_sort(order_.begin(), order_.end(), [&](auto a, auto b) { return units_[a] > units_[b]; });
    }

    std::vector<std::uint32_t> run() {
        std::vector<partial> kept{partial{std::vector<std::uint32_t>(units_.size(), 0)}};
        for (std::size_t n = 0; n < order_.size(); ++n) {
            std::vector<partial> next;
            for (auto const& p : kept) extend(p, n, next);
            std::stable_sort(next.begin(), next.end(), [](partial const& a, partial const& b) {
                return std::pair{a.wrong, std::popcount(a.used)} < std::pair{b.wrong, std::popcount(b.used)};
            });
            if (next.size() > kept_most) next.resize(kept_most);
            kept = std::move(next);
        }
        return std::move(kept.front().sets);
    }

private:
    static constexpr std::size_t kept_most = 48, choices_most = 4096;
    struct partial {
        std::vector<std::uint32_t> sets;
        std::uint32_t used = 0;
        std::int32_t wrong = 0;
    };

    // Ports that the same classes take: which of them another class shares makes no difference.
    [[nodiscard]] std::vector<std::uint32_t> groups_of(partial const& p, std::size_t n) const {
        std::vector<std::uint32_t> groups;
        if (p.used != 0) groups.push_back(p.used);
        for (std::size_t i = 0; i < n; ++i) {
            std::vector<std::uint32_t> split;
            for (auto const g : groups)
                for (auto const part : {g & p.sets[order_[i]], g & ~p.sets[order_[i]]})
                    if (part != 0) split.push_back(part);
            groups = std::move(split);
        }
        return groups;
    }
    // The first ports of a group.
    static std::uint32_t first_of(std::uint32_t group, std::int32_t count) {
        std::uint32_t out = 0;
        for (; count > 0; --count, group &= group - 1) out |= group & (~group + 1);
        return out;
    }
    [[nodiscard]] std::int32_t wrong(partial const& p, std::size_t n, std::uint32_t set) const {
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            auto const [a, b] = std::minmax(order_[i], order_[n]);
            auto const asked = shared_[a * units_.size() + b];
            auto const has = std::popcount(set & p.sets[order_[i]]);
            sum += 2 * std::abs(has - std::max(asked, 0)) / (asked < 0 ? 2 : 1);
        }
        return sum;
    }
    // All ways to take the ports of the class: so many of each group, and new ones.
    void extend(partial const& p, std::size_t n, std::vector<partial>& next) const {
        auto const groups = groups_of(p, n);
        std::vector<std::int32_t> count(groups.size(), 0);
        auto const units = units_[order_[n]];
        auto const free = ~p.used;
        for (std::size_t choice = 0; choice < choices_most; ++choice) {
            auto taken = 0;
            std::uint32_t set = 0;
            for (std::size_t g = 0; g < groups.size(); ++g) set |= first_of(groups[g], count[g]), taken += count[g];
            if (taken <= units && units - taken <= std::popcount(free)) {
                auto made = p;
                set |= first_of(free, units - taken);
                made.sets[order_[n]] = set, made.used |= set, made.wrong += wrong(p, n, set);
                next.push_back(std::move(made));
            }
            std::size_t g = 0;
            while (g < groups.size() && ++count[g] > std::min(units, std::popcount(groups[g]))) count[g++] = 0;
            if (g == groups.size()) break;
        }
    }

    std::span<std::int32_t const> units_, shared_;
    std::vector<std::size_t> order_; // those with many ports first
};

} // namespace detail

GSUB_LAZY_BODY std::int32_t measured_units(double cycles) noexcept {
    if (cycles < 1.35) return static_cast<std::int32_t>(std::lround(1 / std::max(cycles, 1.0 / 16)));
    auto const part = cycles - std::floor(cycles);
    return part > 0.35 && part < 0.65 ? 2 : 1;
}

GSUB_LAZY_BODY std::vector<std::uint32_t> assign_ports(std::span<std::int32_t const> units,
                                                       std::span<std::int32_t const> shared) {
    GSUB_ASSERT(shared.size() == units.size() * units.size(), "each two classes have a number of shared ports");
    for (auto const u : units) GSUB_ASSERT(u >= 1 && u <= 32, "a class has from 1 to 32 ports");
    return units.empty() ? std::vector<std::uint32_t>{} : detail::port_assignment<>{units, shared}.run();
}

GSUB_LAZY_BODY std::string measured_port_table::check(measured_ports const& found) {
    auto const is_number = [](double x, double least, double most) { return x >= least && x <= most; }; // not of NaN
    if (!is_number(found.issue, 1, 64)) return format_text("issue is {}, not from 1 to 64", found.issue);
    if (!is_number(found.accumulate_latency, 0, 1000))
        return format_text("accumulate_latency is {}, not from 0 to 1000", found.accumulate_latency);
    std::array<bool, instruction_classes> has{};
    std::vector<std::uint32_t> sets;
    for (auto const& u : found.uses) {
        auto const at = [&](std::string_view what, double x) {
            return format_text("{} of {} at {} bytes is {}", what, to_string(u.of), u.bytes, x);
        };
        if (u.bytes < 0 || u.bytes > 4096) return at("width", u.bytes) + ", not from 0 to 4096";
        if (!is_number(u.latency, 0.5, 1000)) return at("latency", u.latency) + ", not from 0.5 to 1000";
        if (!is_number(u.cycles, 1.0 / 32, 1000)) return at("cycles", u.cycles) + ", not from 1/32 to 1000";
        if (u.ports == 0) return format_text("{} at {} bytes has no port", to_string(u.of), u.bytes);
        for (auto const& other : found.uses)
            if (&other < &u && other.of == u.of && other.bytes == u.bytes)
                return format_text("{} at {} bytes stands there twice", to_string(u.of), u.bytes);
        has[static_cast<std::size_t>(u.of)] = true;
        if (std::find(sets.begin(), sets.end(), u.ports) == sets.end()) sets.push_back(u.ports);
    }
    if (sets.size() > most_port_sets)
        return format_text("the uses have {} different sets of ports, more than {}", sets.size(), most_port_sets);
    for (std::size_t c = 0; c < has.size(); ++c)
        if (!has[c]) return format_text("{} is missing", to_string(static_cast<instruction_class>(c)));
    return {};
}

GSUB_LAZY_BODY measured_port_table::measured_port_table(measured_ports const& found, microarchitecture const& core) {
    GSUB_ASSERT(check(found).empty(), "a measurement has all classes, with numbers that are some");
    auto made = std::make_shared<state>();
    made->name = found.core;
    auto uses = found.uses;
    std::stable_sort(uses.begin(), uses.end(), [](auto const& a, auto const& b) {
        return std::pair{a.of, a.bytes} < std::pair{b.of, b.bytes};
    });
    std::uint32_t all = 0;
    for (auto const& u : uses) {
        auto const first = made->uses.empty() || made->uses.back().of != u.of;
        // `core_ports` counts a pass for each width of a unit; what was measured has them all.
        auto const passes = u.of == instruction_class::broadcast ? 1.0 : core.passes(u.bytes);
        auto const busy = std::max(1.0, std::round(u.cycles * std::popcount(u.ports)));
        made->uses.push_back(
            {u.of, first ? 0 : u.bytes, u.ports, std::max(1.0, std::ceil(u.latency - 0.25)), busy / passes});
        all |= u.ports;
    }
    for (int p = 0; p < static_cast<int>(std::bit_width(all)); ++p)
        made->ports += format_text("{}m{}", p == 0 ? "" : " ", p);
    made->table.names = made->name, made->table.ports = made->ports, made->table.uses = made->uses;
    made->table.accumulate_latency = std::ceil(found.accumulate_latency - 0.25);
    made->table.issue = std::round(found.issue);
    made->table.in_order = core_ports{core}.table().in_order;
    made->table.modelled_only = false;
    kept_ = std::move(made);
}

} // namespace gsub
