// gsub calibrate: the rates of this machine, for the roofline, and the ports of its cores, for models of pipelines.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/measured.hpp>
#include <gsub/cost/port_file.hpp>
#include <gsub/driver/calibrate.hpp>
#include <gsub/report/table.hpp>
#include <gsub/report/units.hpp>

#ifdef GSUB_CLI_JIT
#include <gsub/codegen/x86/port_calibration.hpp>
#endif

#include <bit>
#include <chrono>
#include <cmath>
#include <optional>

namespace cli {

using gsub::report::human;

namespace {

// Nothing where this machine, or this program, cannot measure its ports.
std::optional<gsub::measured_ports> measured() {
#ifdef GSUB_CLI_JIT
    if (gsub::host().has(gsub::isa::avx2)) return gsub::codegen::calibrate_ports().value();
#endif
    return std::nullopt;
}

// What was measured beside what the built-in row says; cycles an instruction, and how many ports take it.
void tell_ports(gsub::measured_ports const& found, answer& a) {
    auto const& row = gsub::microarchitecture_of(gsub::host());
    gsub::measured_port_table const made{found, row};
    auto core = row;
    core.ports = &made.table();
    gsub::core_ports const built{row}, here{core};
    auto const text = [](double cycles) { return gsub::report::fixed(cycles, 2); };
    gsub::report::table t{{"class", "bytes", "latency", "cycles", "ports", "built-in latency", "cycles", "ports", ""}};
    auto uses = gsub::io::json::array();
    for (auto const& u : found.uses) {
        auto const was = built.of(u.of, u.bytes), is = here.of(u.of, u.bytes);
        auto const cycles = was.busy / std::popcount(was.ports);
        auto const differs = is.latency != was.latency || std::abs(u.cycles / cycles - 1) > 0.1;
        t.add({std::string{to_string(u.of)}, gsub::format_text("{}", u.bytes), text(u.latency), text(u.cycles),
               gsub::format_text("{}", std::popcount(u.ports)), text(was.latency), text(cycles),
               gsub::format_text("{}", std::popcount(was.ports)), differs ? "differs" : ""});
        uses.push_back({{"class", to_string(u.of)},
                        {"bytes", u.bytes},
                        {"latency", u.latency},
                        {"cycles", u.cycles},
                        {"built_in_latency", was.latency},
                        {"built_in_cycles", cycles},
                        {"differs", differs}});
    }
    a.text += gsub::format_text("\nports of {}, beside the built-in row {}; {} instructions a cycle, built-in {}\n\n",
                                found.machine, found.core, text(found.issue), text(built.issue()));
    a.text += t.text();
    a.data["ports"] = {{"core", found.core}, {"issue", found.issue}, {"uses", std::move(uses)}};
}

} // namespace

answer calibrate(calibrate_request const& r, session const& s) {
    // Opened first: a file that is none is an error before seconds are spent.
    auto profile = r.profile.empty() ? gsub::cost::profile{} : gsub::cost::profile::open(r.profile).value();
    auto const ports = measured();
    if (!ports && !r.ports.empty())
        throw gsub::error{gsub::error_code::environment,
                          "ports are measured by machine code in memory, on x86-64 with AVX2: there is none here"};
    if (ports && !r.ports.empty()) gsub::cost::write_ports(r.ports, *ports).value();
    s.observe->on_progress({"calibrate", 0, 0, {}});
    auto const begin = std::chrono::steady_clock::now();
    auto const found =
        gsub::calibrate(gsub::dialect::of<gsub::standard_ops>(), gsub::table_of<gsub::eval_row, gsub::standard_ops>(),
                        {.least_runs = 9, .least_seconds = 0.2, .threads = s.threads, .observe = s.observe})
            .value();
    auto const taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    auto const& rates = found.rates;

    answer a;
    a.text = gsub::format_text("arithmetic  {}\nmemory      {}\nlaunch      {} a kernel\nmachine     {}\n\n",
                               human(rates.flop_per_second, "FLOP/s"), human(rates.bytes_per_second, "B/s"),
                               human(rates.launch, "s"), found.machine);
    gsub::report::table t{{"timed", "median", "rate"}};
    a.data = {{"machine", found.machine},
              {"threads", s.threads->concurrency()},
              {"launch_s", rates.launch},
              {"flop_per_s", rates.flop_per_second},
              {"bytes_per_s", rates.bytes_per_second},
              {"seconds", taken},
              {"probes", gsub::io::json::array()}};
    for (auto const& p : found.probes) {
        t.add({std::string{p.name}, human(p.seconds, "s"),
               human(p.amount / p.seconds, gsub::format_text("{}/s", p.unit))});
        a.data["probes"].push_back({{"name", p.name}, {"seconds", p.seconds}, {"amount", p.amount}, {"unit", p.unit}});
    }
    a.text += t.text();
    if (ports) tell_ports(*ports, a);
    if (!r.ports.empty()) {
        a.text += gsub::format_text("\nwritten  {}\n", r.ports);
        a.data["ports_file"] = r.ports;
    }
    if (!r.profile.empty()) {
        profile.add_rates(found.machine, rates);
        a.text += gsub::format_text("\nwritten  {}\n", r.profile);
        a.data["profile"] = r.profile;
    }
    return a;
}

} // namespace cli
