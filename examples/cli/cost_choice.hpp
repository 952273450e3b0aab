// The cost models of the command line, by what its options say.
#pragma once

#include "commands.hpp"
#include <gsub/cost.hpp>
#include <gsub/cost/measured.hpp>
#include <gsub/cost/table.hpp>
#include <gsub/driver/measured_kernels.hpp>
#include <gsub/ir.hpp>
#include <gsub/report/units.hpp>

#include <cmath>

namespace cli {

inline constexpr std::string_view table_prefix = "table:";

// The cost model that the options name, or their goal.
inline std::string cost_of(cost_choice const& r) {
    return r.goal == "latency" ? "fused" : r.goal == "memory" ? "peak_memory" : r.goal.empty() ? r.cost : r.goal;
}

// Hands the chosen model to `use`; its type matters to the search, which prices additive models by what has changed.
template <class Use>
auto with_cost(cost_choice const& r, session const& s, Use&& use) {
    auto const cost = cost_of(r);
    auto const splits = r.split_cost == "copy" ? gsub::cost::split_cost::copy : gsub::cost::split_cost::free;
    if (r.backend != "reference" && cost != "measured")
        throw gsub::error{gsub::error_code::usage, gsub::message({"--backend ", r.backend, " needs --cost measured"})};
    if (cost == "flops") return use(gsub::cost::flop_cost{});
    if (cost == "bytes") return use(gsub::cost::byte_cost{splits});
    if (cost == "energy") {
        gsub::cost::energy model{.splits = splits};
        if (!r.joules.empty()) model.per_flop = r.joules[0], model.per_byte = r.joules[1];
        if (!(model.per_flop >= 0 && model.per_byte >= 0 && std::isfinite(model.per_flop + model.per_byte)))
            throw gsub::error{gsub::error_code::usage, "--joules needs two numbers >= 0"};
        return use(model);
    }
    if (cost == "peak_memory") return use(gsub::cost::peak_memory{});
    if (cost.starts_with(table_prefix)) {
        auto const model =
            gsub::cost::table::over<gsub::standard_ops>(cost.substr(table_prefix.size()), splits).value();
        auto done = use(model);
        if (model.otherwise_priced() > 0)
            s.watch->on_note(gsub::message({model.otherwise_priced(), " kinds of nodes have no price of their own"}));
        return done;
    }
    if (cost == "measured") {
        auto known = r.profile.empty() ? gsub::cost::profile{} : gsub::cost::profile::open(r.profile).value();
        if (known.skipped() > 0)
            s.watch->on_note(
                gsub::message({r.profile, ": ", known.skipped(), " lines are no records and were passed over"}));
        gsub::cost::measure_options const measuring{.threads = s.threads, .watch = s.watch};
        if (r.backend == "simd") {
            auto const model = gsub::measured_kernels::over<gsub::standard_ops>(std::move(known), measuring).value();
            auto done = use(model);
            if (model.unmeasured() > 0)
                s.watch->on_note(gsub::message(
                    {model.unmeasured(), " kinds of kernels cannot be built; the roofline has priced them"}));
            return done;
        }
        auto const model = gsub::cost::measured::over<gsub::standard_ops>(std::move(known), measuring);
        auto done = use(model);
        if (model.unmeasured() > 0)
            s.watch->on_note(
                gsub::message({model.unmeasured(), " kinds of nodes cannot be run; the roofline has priced them"}));
        return done;
    }
    gsub::cost::roofline roof{.splits = splits};
    if (!r.roofline.empty()) {
        roof.launch = r.roofline[0], roof.flop_per_second = r.roofline[1], roof.bytes_per_second = r.roofline[2];
        if (!(roof.launch >= 0 && roof.flop_per_second > 0 && roof.bytes_per_second > 0 && std::isfinite(roof.launch)))
            throw gsub::error{gsub::error_code::usage, "--roofline needs a launch time >= 0 and rates > 0"};
    }
    if (cost == "fused") return use(gsub::cost::fused_roofline{roof});
    return use(roof);
}

/// The choice in words.
inline std::string described(cost_choice const& r) {
    using gsub::message;
    auto const cost = cost_of(r);
    if (cost == "measured") return message({"measured times of the ", r.backend, " backend"});
    if (cost == "energy") return r.joules.empty() ? "energy, not calibrated" : "energy";
    if (cost != "roofline" && cost != "fused") return cost;
    gsub::cost::roofline const usual;
    auto const& v = r.roofline;
    auto const rate = [&](std::size_t i, double otherwise, char const* unit) {
        return gsub::report::human(v.empty() ? otherwise : v[i], unit);
    };
    return message({cost == "fused" ? "kernels under a roofline of " : "a roofline of ",
                    rate(1, usual.flop_per_second, "FLOP/s"), ", ", rate(2, usual.bytes_per_second, "B/s"), " and ",
                    rate(0, usual.launch, "s"), " a launch, splits ", r.split_cost == "copy" ? "copied" : "free"});
}

} // namespace cli
