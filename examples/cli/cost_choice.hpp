// The cost models of the command line, by what its options say.
#pragma once

#include "commands.hpp"
#include "goals.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/measured.hpp>
#include <gsub/cost/relative.hpp>
#include <gsub/cost/table.hpp>
#include <gsub/driver/calibrate.hpp>
#include <gsub/driver/measured_kernels.hpp>
#include <gsub/ir.hpp>
#include <gsub/report/units.hpp>

#include <cmath>
#include <string_view>

namespace cli {

inline constexpr std::string_view table_prefix = "table:";

/// The cost model that the options name, or their goal; `weighted` for goals of which several count.
inline std::string cost_of(cost_choice const& r) {
    if (r.goal.empty()) return r.cost;
    auto const weights = weights_of(r.goal).value();
    auto const counts = [](double weight) { return weight > 0; };
    if (std::count_if(weights.begin(), weights.end(), counts) != 1) return "weighted";
    auto const one = std::find_if(weights.begin(), weights.end(), counts) - weights.begin();
    return std::string{goal_names[static_cast<std::size_t>(one)].model};
}

/// Whether costs are those of a roofline, in part at least.
inline bool takes_rates(cost_choice const& r) {
    auto const cost = cost_of(r);
    return cost == "roofline" || cost == "fused" || cost == "lowered" ||
           (cost == "weighted" && weights_of(r.goal).value()[0] > 0);
}

inline gsub::cost::profile open_profile(cost_choice const& r, session const& s) {
    auto known = r.profile.empty() ? gsub::cost::profile{} : gsub::cost::profile::open(r.profile).value();
    if (known.skipped() > 0)
        s.observe->on_note(
            gsub::format_text("{}: {} lines are no records and were passed over", r.profile, known.skipped()));
    return known;
}

/// The roofline that the options give, or that the profile has of this machine, or the library's; and which it is.
struct chosen_rates {
    gsub::cost::roofline roof;
    std::string origin;
};
inline chosen_rates rates_of(cost_choice const& r, session const& s) {
    using gsub::error;
    using gsub::error_code;
    chosen_rates out;
    auto& roof = out.roof;
    if (!r.roofline.empty()) {
        roof.launch = r.roofline[0], roof.flop_per_second = r.roofline[1], roof.bytes_per_second = r.roofline[2];
        if (!(roof.launch >= 0 && roof.flop_per_second > 0 && roof.bytes_per_second > 0 && std::isfinite(roof.launch)))
            throw error{error_code::usage, "--roofline needs a launch time >= 0 and rates > 0"};
        out.origin = "as given";
    } else if (r.profile.empty()) {
        out.origin = "not calibrated";
    } else {
        auto const machine = gsub::host();
        auto const threads = s.threads->concurrency();
        auto const profile = open_profile(r, s);
        auto const key = gsub::calibration_key(machine, threads, gsub::isa_of(machine));
        auto const found = profile.rates().find(key);
        if (found == profile.rates().end()) {
            std::string others;
            for (auto const& entry : profile.rates())
                others += gsub::format_text("\n  it has those of {}", entry.first);
            throw error{
                gsub::problem{error_code::usage,
                              {},
                              {},
                              gsub::format_text("{} has no rates of {}{}", r.profile, key, others),
                              gsub::format_text("gsub calibrate --profile {} --threads {}", r.profile, threads)}};
        }
        roof = found->second;
        out.origin = gsub::format_text("calibrated, from {}", r.profile);
    }
    roof.splits = r.split_lowering == "copy" ? gsub::cost::split_lowering::copy : gsub::cost::split_lowering::view;
    return out;
}

inline gsub::cost::energy energy_of(cost_choice const& r, gsub::cost::split_lowering splits) {
    gsub::cost::energy model{.splits = splits};
    if (!r.joules.empty()) model.per_flop = r.joules[0], model.per_byte = r.joules[1];
    if (!(model.per_flop >= 0 && model.per_byte >= 0 && std::isfinite(model.per_flop + model.per_byte)))
        throw gsub::error{gsub::error_code::usage, "--joules needs two numbers >= 0"};
    return model;
}

/// The model that predicts kernels of a machine for a graph, and what it is in words.
inline std::pair<gsub::cost::lowered, std::string> lowered_of(cost_choice const& r, session const& s,
                                                              gsub::any_graph const& start) {
    using gsub::error;
    using gsub::error_code;
    if (!r.roofline.empty())
        throw error{error_code::usage,
                    "--roofline is for --cost roofline and --cost fused: others take no rates from it"};
    if (r.split_lowering != "free" && r.goal.empty())
        throw error{error_code::usage, "--split-cost is for --cost bytes, energy, roofline and fused"};
    auto const machine = gsub::parse_target(r.target).value();
    gsub::cost::lowered_options options;
    std::string origin;
    if (!r.profile.empty()) {
        auto const profile = open_profile(r, s);
        auto const key = gsub::calibration_key(machine, std::max(1u, machine.threads), gsub::isa_of(machine));
        if (auto const found = profile.rates().find(key); found != profile.rates().end()) {
            options.rates = found->second;
            origin = gsub::format_text(", calibrated, from {}", r.profile);
        } else {
            s.observe->on_note(gsub::format_text("{} has no rates of {}: it is not used", r.profile, key));
        }
    }
    auto model = gsub::cost::lowered::of(start, machine, options);
    if (machine.gpu) {
        auto text = gsub::format_text("kernels predicted for {}", machine.gpu->title);
        if (machine.gpu->architecture->modelled_only) text += "; modelled only";
        return {std::move(model), std::move(text)};
    }
    auto const& core = model.core();
    auto text =
        gsub::format_text("kernels predicted for {}, {}{}{}", core.title, std::max(1u, machine.threads),
                          machine.threads > 1 ? " threads" : " thread", origin.empty() ? ", not calibrated" : origin);
    if (core.generic)
        text += gsub::format_text("; the processor is not known");
    else if (!core.measured)
        text += "; modelled only";
    return {std::move(model), std::move(text)};
}

// Hands the chosen model to `use`, and the choice in words; the model's type matters to the search, which costs
// additive models by what has changed. `start` is what weighted goals are held against.
template <class Use>
auto with_cost(cost_choice const& r, session const& s, gsub::any_graph const& start, Use&& use) {
    auto const cost = cost_of(r);
    auto const splits =
        r.split_lowering == "copy" ? gsub::cost::split_lowering::copy : gsub::cost::split_lowering::view;
    if (r.backend != "reference" && cost != "measured")
        throw gsub::error{gsub::error_code::usage, gsub::format_text("--backend {} needs --cost measured", r.backend)};
    if (!r.profile.empty() && cost != "measured" && !takes_rates(r))
        throw gsub::error{gsub::error_code::usage,
                          gsub::format_text("--profile has nothing for {}{}", r.goal.empty() ? "--cost " : "--goal ",
                                            r.goal.empty() ? r.cost : r.goal)};
    if (cost == "flops") return use(gsub::cost::flop_cost{}, cost);
    if (cost == "bytes") return use(gsub::cost::byte_cost{splits}, cost);
    if (cost == "energy") return use(energy_of(r, splits), r.joules.empty() ? "energy, not calibrated" : "energy");
    if (cost == "peak_memory") return use(gsub::cost::peak_memory{}, cost);
    if (cost.starts_with(table_prefix)) {
        auto const model =
            gsub::cost::table::over<gsub::standard_ops>(cost.substr(table_prefix.size()), splits).value();
        auto done = use(model, cost);
        if (model.otherwise_costed() > 0)
            s.observe->on_note(
                gsub::format_text("{} kinds of nodes have no cost of their own", model.otherwise_costed()));
        return done;
    }
    if (cost == "measured") {
        auto known = open_profile(r, s);
        gsub::cost::measure_options const measuring{.threads = s.threads, .observe = s.observe};
        auto const text = gsub::format_text("measured times of the {} backend", r.backend);
        if (r.backend == "simd") {
            auto const model = gsub::measured_kernels::over<gsub::standard_ops>(std::move(known), measuring).value();
            auto done = use(model, text);
            if (model.unmeasured() > 0)
                s.observe->on_note(gsub::format_text(
                    "{} kinds of kernels cannot be built; the roofline has costed them", model.unmeasured()));
            return done;
        }
        auto const model = gsub::cost::measured::over<gsub::standard_ops>(std::move(known), measuring);
        auto done = use(model, text);
        if (model.unmeasured() > 0)
            s.observe->on_note(
                gsub::format_text("{} kinds of nodes cannot be run; the roofline has costed them", model.unmeasured()));
        return done;
    }
    if (cost == "lowered") {
        auto const [model, text] = lowered_of(r, s, start);
        return use(model, text);
    }
    auto const rates = cost != "weighted" && takes_rates(r) ? rates_of(r, s) : chosen_rates{};
    gsub::cost::fused_roofline const fused{rates.roof};
    auto const under_roofline = gsub::format_text("under a roofline of {}, {} and {} a launch, {}",
                                                  gsub::report::human(rates.roof.flop_per_second, "FLOP/s"),
                                                  gsub::report::human(rates.roof.bytes_per_second, "B/s"),
                                                  gsub::report::human(rates.roof.launch, "s"), rates.origin);
    auto const splits_text = gsub::format_text(", splits {}", r.split_lowering == "copy" ? "copied" : "free");
    if (cost == "fused") return use(fused, gsub::format_text("kernels {}{}", under_roofline, splits_text));
    if (cost == "roofline") return use(rates.roof, gsub::format_text("operators {}{}", under_roofline, splits_text));

    auto const weights = weights_of(r.goal).value();
    auto const energy = energy_of(r, splits);
    gsub::cost::peak_memory const memory;
    gsub::cost::flop_cost const arithmetic;
    auto const [latency, predicted] = lowered_of(r, s, start);
    std::vector<gsub::cost::weighted_cost> terms{{gsub::cost::erase(latency), weights[0]},
                                                 {gsub::cost::erase(memory), weights[1]},
                                                 {gsub::cost::erase(energy), weights[2]},
                                                 {gsub::cost::erase(arithmetic), weights[3]}};
    std::string text;
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (weights[i] > 0)
            text += gsub::format_text("{}{} {}", text.empty() ? "" : " + ", weights[i], goal_names[i].goal);
    text += ", in percent of the given graph's";
    if (weights[0] > 0) text += gsub::format_text("; latency: {}", predicted);
    if (weights[2] > 0 && r.joules.empty()) text += "; energy not calibrated";
    return use(gsub::cost::relative_cost(std::move(terms), start).value(), text + splits_text);
}

} // namespace cli
