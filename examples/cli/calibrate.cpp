// gsub calibrate: the rates of this machine, for the roofline.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/measured.hpp>
#include <gsub/driver/calibrate.hpp>
#include <gsub/report/table.hpp>
#include <gsub/report/units.hpp>

#include <chrono>

namespace cli {

using gsub::report::human;

answer calibrate(calibrate_request const& r, session const& s) {
    // Opened first: a file that is none is an error before seconds are spent.
    auto profile = r.profile.empty() ? gsub::cost::profile{} : gsub::cost::profile::open(r.profile).value();
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
    if (!r.profile.empty()) {
        profile.add_rates(found.machine, rates);
        a.text += gsub::format_text("\nwritten  {}\n", r.profile);
        a.data["profile"] = r.profile;
    }
    return a;
}

} // namespace cli
