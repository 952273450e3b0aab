#include "catch.hpp"
#include <gsub/target/port_table.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace port_table_test {

using namespace gsub;

int units_of(core_ports const& core, std::initializer_list<instruction_class> classes, std::int32_t bytes) {
    std::uint32_t all = 0;
    for (auto const c : classes) all |= core.of(c, bytes).ports;
    return std::popcount(all);
}

TEST_CASE("port tables agree with the micro-architectures that have them") {
    using enum instruction_class;
    for (auto const& row : microarchitectures()) {
        core_ports const core{row};
        CAPTURE(row.name);
        CHECK(units_of(core, {fma}, row.unit_bytes) == row.fma_units);
        CHECK(units_of(core, {fma, multiply, add, maximum, logic, shuffle, convert}, row.unit_bytes) >=
              row.vector_units);
        CHECK(units_of(core, {fma, multiply, add}, row.unit_bytes) == row.vector_units);
        CHECK(units_of(core, {load}, row.unit_bytes) == row.loads);
        CHECK(units_of(core, {broadcast}, row.unit_bytes) == row.scalar_loads);
        CHECK(units_of(core, {store}, row.unit_bytes) == row.stores);
        CHECK(core.of(fma, row.unit_bytes).latency == row.fma_latency);
        CHECK(core.accumulate_latency() <= row.fma_latency);
    }
}

TEST_CASE("each micro-architecture has one port table, by its name, with all classes, on ports that have names") {
    std::set<std::string> seen;
    for (auto const& table : port_tables()) {
        CAPTURE(table.names);
        auto const ports = 1 + std::count(table.ports.begin(), table.ports.end(), ' ');
        std::set<std::uint32_t> sets;
        for (auto const& use : table.uses) {
            sets.insert(use.ports);
            CHECK(use.ports != 0);
            CHECK(use.ports >> ports == 0);
            CHECK(use.busy >= 1);
            CHECK((use.latency >= 1 || use.of == instruction_class::fma));
        }
        CHECK(sets.size() <= most_port_sets);
        std::string names{table.names};
        for (std::size_t at = 0; at <= names.size();) {
            auto const end = std::min(names.find(';', at), names.size());
            auto const name = names.substr(at, end - at);
            CHECK(seen.insert(name).second);
            CHECK(std::ranges::any_of(microarchitectures(), [&](auto const& m) { return m.name == name; }));
            at = end + 1;
        }
        for (std::size_t c = 0; c < instruction_classes; ++c)
            CHECK(std::ranges::any_of(table.uses, [&](port_use const& u) {
                return static_cast<std::size_t>(u.of) == c && u.from_bytes == 0;
            }));
    }
    CHECK(seen.size() == microarchitectures().size());
}

TEST_CASE("vectors wider than a unit take several passes, and wider ones other ports where a row says so") {
    auto const named = [](std::string_view name) {
        return core_ports{*std::ranges::find(microarchitectures(), name, &microarchitecture::name)};
    };
    using enum instruction_class;
    CHECK(named("zen4").of(fma, 64).busy == 2);
    CHECK(named("zen5").of(fma, 64).busy == 1);
    CHECK(named("zen4").of(broadcast, 64).busy == 1);
    CHECK(named("zen1").of(fma, 32).busy == 2);
    CHECK(named("skylake-sp").of(fma, 64).ports != named("skylake-sp").of(fma, 32).ports);
    CHECK(named("cortex-a53").accumulate_latency() == 4);
    CHECK(named("cortex-a53").of(fma, 16).latency == 8);
    CHECK(named("cortex-a53").table().in_order);
}

TEST_CASE("tables of machines that were not measured are marked, classes have names") {
    auto const is_measured = [](std::string_view name) { return name == "zen5" || name == "zen1"; };
    for (auto const& table : port_tables()) CHECK(table.modelled_only == !is_measured(table.names));
    for (auto const& row : microarchitectures()) CHECK(core_ports{row}.modelled_only() == !is_measured(row.name));
    CHECK(to_string(instruction_class::fma) == "fma");
    CHECK(to_string(instruction_class::branch) == "branch");
    static_assert(static_cast<std::size_t>(instruction_class::branch) + 1 == instruction_classes);
}

} // namespace port_table_test
