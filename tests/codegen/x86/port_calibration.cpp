#include "catch.hpp"
#include <gsub/codegen/x86/port_calibration.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace port_calibration_test {

using namespace gsub;
using codegen::calibrate_ports;

TEST_CASE("a calibration of this machine has each class, with latencies and rates that a core can have") {
    if (!host().has(isa::avx2)) {
        WARN("nothing is calibrated: this machine has no AVX2");
        return;
    }
    auto found = calibrate_ports({.rounds = 12}).value();
    // As many ports as its rate needs; two passes are those of a narrower use of the same ports.
    auto const fits = [&](measured_use const& u) {
        auto const busy = std::popcount(u.ports) * u.cycles;
        auto const two_passes = std::ranges::any_of(found.uses, [&](auto const& o) {
            return o.of == u.of && o.bytes < u.bytes && o.ports == u.ports && o.cycles < 0.6 * u.cycles;
        });
        return u.cycles >= 1.2 || std::abs(busy - (two_passes ? 2 : 1)) < 0.3;
    };
    for (int again = 0; again < 6 && !std::ranges::all_of(found.uses, fits); ++again) // others use the machine
        found = calibrate_ports({.rounds = 40}).value();
    CHECK(measured_port_table::check(found) == "");
    CHECK(found.machine == host().name);
    CHECK(found.core == microarchitecture_of(host()).name);
    CHECK(found.date.size() == 10);
    CHECK(found.issue > 1);
    CHECK(found.issue < 33);
    std::set<instruction_class> classes;
    for (auto const& u : found.uses) {
        CAPTURE(to_string(u.of), u.bytes, u.latency, u.cycles);
        classes.insert(u.of);
        CHECK(u.latency >= 0.8);
        CHECK(u.latency < 100);
        // Whoever waits for nobody begins no less often than a chain of them.
        if (u.of != instruction_class::store && u.of != instruction_class::branch) CHECK(u.cycles < 1.3 * u.latency);
        CHECK(fits(u));
        // What begins less often than each cycle keeps one busy, or two.
        if (u.cycles >= 1.2) CHECK((std::popcount(u.ports) == 1 || std::popcount(u.ports) == 2));
        CHECK(u.bytes <= host().isa->vector_bytes);
    }
    CHECK(classes.size() == instruction_classes);
}

TEST_CASE("a machine of a row that was measured has the multiply-adds of that row") {
    auto const& core = microarchitecture_of(host());
    if (!host().has(isa::avx2) || !core.measured || core.generic) {
        WARN("nothing is compared: this machine has no row that was measured");
        return;
    }
    core_ports const ports{core};
    // The machine may be shared; who disturbs one calibration hardly disturbs three.
    auto const agrees = [&] {
        auto const found = calibrate_ports({.rounds = 20}).value();
        for (auto const& u : found.uses) {
            if (u.of != instruction_class::fma && u.of != instruction_class::multiply) continue;
            auto const row = ports.of(u.of, u.bytes);
            auto const cycles = row.busy / std::popcount(row.ports);
            if (std::abs(u.cycles / cycles - 1) > 0.25 || std::abs(u.latency / row.latency - 1) > 0.25) return false;
        }
        return true;
    };
    CHECK((agrees() || agrees() || agrees()));
}

TEST_CASE("ports of a machine that is not this one are not calibrated") {
    auto other = host();
    other.isa = &isa::neon;
    auto const refused = calibrate_ports({}, other);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == error_code::unsupported);
    CHECK(refused.error().message().find("AVX2") != std::string::npos);
}

} // namespace port_calibration_test
