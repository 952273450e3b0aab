#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/target/measured_ports.hpp>

#include <bit>
#include <limits>
#include <string>
#include <vector>

namespace measured_ports_test {

using namespace gsub;

// How many ports each set has, and each two have in common.
struct counted {
    std::vector<std::int32_t> units, shared;
};
counted count(std::vector<std::uint32_t> const& sets) {
    counted out;
    for (auto const s : sets) out.units.push_back(std::popcount(s));
    for (auto const a : sets)
        for (auto const b : sets) out.shared.push_back(std::popcount(a & b));
    return out;
}
// Numbers that differ between two lists of sets, of pairs above the diagonal.
int different(counted const& a, counted const& b) {
    auto const n = a.units.size();
    int out = 0;
    for (std::size_t i = 0; i < n; ++i) {
        out += a.units[i] != b.units[i];
        for (std::size_t j = i + 1; j < n; ++j) out += a.shared[i * n + j] != b.shared[i * n + j];
    }
    return out;
}
// The ports of a core as a calibration would find them.
measured_ports measured_of(microarchitecture const& row) {
    core_ports const core{row};
    measured_ports out;
    out.core = std::string{row.name}, out.machine = "none", out.date = "2026-01-01", out.made_by = "a test";
    out.issue = core.issue(), out.accumulate_latency = core.accumulate_latency();
    for (std::size_t c = 0; c < instruction_classes; ++c)
        for (auto const bytes : {8, 16, 32, 64}) {
            auto const use = core.of(static_cast<instruction_class>(c), bytes);
            auto const units = std::popcount(use.ports);
            out.uses.push_back({static_cast<instruction_class>(c), bytes, use.latency, use.busy / units, use.ports});
        }
    return out;
}

TEST_CASE("ports that are assigned have the numbers of each class and of each two of every port table") {
    for (auto const& table : port_tables()) {
        std::vector<std::uint32_t> sets;
        for (auto const& u : table.uses) sets.push_back(u.ports);
        auto const asked = count(sets);
        CAPTURE(table.names);
        CHECK(different(count(assign_ports(asked.units, asked.shared)), asked) == 0);
    }
}

TEST_CASE("ports that are assigned have each class's number, and nearly all of those that random classes share") {
    int wrong = 0, all = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        random_stream r{seed};
        std::vector<std::uint32_t> sets;
        for (auto n = 2 + r.below(8); n-- > 0;) {
            auto const first = static_cast<std::uint32_t>(r.below(6)),
                       length = static_cast<std::uint32_t>(1 + r.below(4));
            sets.push_back(((std::uint32_t{1} << length) - 1) << first);
        }
        auto const asked = count(sets);
        auto const found = count(assign_ports(asked.units, asked.shared));
        CAPTURE(seed);
        CHECK(found.units == asked.units);
        wrong += different(found, asked), all += static_cast<int>(sets.size() * (sets.size() - 1) / 2);
    }
    CAPTURE(wrong, all);
    CHECK(wrong * 50 <= all);
}

TEST_CASE("classes of which nothing is known share no port, while there are enough") {
    std::vector<std::int32_t> const units{4, 6, 3}, shared(9, -1);
    auto const sets = assign_ports(units, shared);
    CHECK((sets[0] & sets[1]) == 0u);
    CHECK((sets[0] & sets[2]) == 0u);
    CHECK((sets[1] & sets[2]) == 0u);
    std::vector<std::int32_t> const many(12, 6);
    for (auto const s : assign_ports(many, std::vector<std::int32_t>(144, -1))) CHECK(std::popcount(s) == 6);
}

TEST_CASE("a rate tells how many ports there are") {
    for (auto const& [cycles, units] :
         {std::pair{0.25, 4}, {0.334, 3}, {0.498, 2}, {1.004, 1}, {2.5, 2}, {5.0, 1}, {0.0, 16}})
        CHECK(measured_units(cycles) == units);
}

TEST_CASE("a table of what a core's row says runs as the row does, at all widths") {
    for (auto const& row : microarchitectures()) {
        auto const found = measured_of(row);
        REQUIRE(measured_port_table::check(found) == "");
        measured_port_table const made{found, row};
        auto copy = row;
        copy.ports = &made.table();
        core_ports const built{row}, measured{copy};
        CAPTURE(row.name);
        CHECK(measured.issue() == built.issue());
        CHECK(measured.accumulate_latency() == built.accumulate_latency());
        CHECK(measured.table().in_order == built.table().in_order);
        for (auto const& u : found.uses) {
            auto const a = measured.of(u.of, u.bytes), b = built.of(u.of, u.bytes);
            CAPTURE(to_string(u.of), u.bytes);
            CHECK(a.ports == b.ports);
            CHECK(a.latency == b.latency);
            CHECK(a.busy == Approx(b.busy).margin(0.5 + 1e-9));
        }
    }
}

TEST_CASE("what is no measurement is refused by its name") {
    auto const good = measured_of(microarchitectures()[0]);
    auto const refused = [&](auto const& change, std::string const& words) {
        auto bad = good;
        change(bad);
        CAPTURE(words, measured_port_table::check(bad));
        CHECK(measured_port_table::check(bad).find(words) != std::string::npos);
    };
    constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
    refused([](auto& m) { m.uses[0].latency = nan; }, "latency of fma at 8 bytes");
    refused([](auto& m) { m.uses[0].latency = -1; }, "latency of fma at 8 bytes");
    refused([](auto& m) { m.uses[5].cycles = 0; }, "cycles of multiply at 16 bytes");
    refused([](auto& m) { m.uses[5].cycles = nan; }, "cycles of multiply at 16 bytes");
    refused([](auto& m) { m.uses[1].ports = 0; }, "fma at 16 bytes has no port");
    refused([](auto& m) { m.uses[1].bytes = 8; }, "fma at 8 bytes stands there twice");
    refused([](auto& m) { m.uses[1].bytes = -8; }, "width of fma");
    refused(
        [](auto& m) {
            for (std::uint32_t i = 0; i <= most_port_sets; ++i) m.uses[i].ports = i + 1;
        },
        "different sets of ports, more than 24");
    refused([](auto& m) { m.issue = nan; }, "issue");
    refused([](auto& m) { m.accumulate_latency = -1; }, "accumulate_latency");
    refused([](auto& m) { m.uses.resize(m.uses.size() - 4); }, "branch is missing");
}

} // namespace measured_ports_test
