// How costs rank the ways to compute one kernel: its algorithms, and points of the spaces of their schedules,
// predicted and timed.
#pragma once

#include "measurement.hpp"
#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/format.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/ranked_pairs.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/select.hpp>
#include <gsub/runtime/compiler/jit.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// How much is compared.
struct rank_options {
    std::size_t tasks = 48;  ///< at most, of all kinds alike
    std::size_t points = 50; ///< of each algorithm's space at most, drawn; the counted one beside them
    std::size_t rounds = 9;
    double least_seconds = 3e-4; ///< that each kernel runs a round
    double operations = 4e8;     ///< of a task at most
    std::uint64_t seed = 1;
    gsub::cost::kernel_time_model model{};
};

namespace detail {

using namespace gsub;

// A kernel of a network, with all that computes the same.
struct rank_task {
    std::string network, kind, text;
    std::shared_ptr<kernel_graph const> in; // without weights
    kernel_op op;
    std::vector<kernels::descriptor> algorithms;
};

// One way to compute a task.
struct rank_point {
    std::string algorithm, schedule;
    bool counted = false; // what a build takes where nobody else chooses: of the algorithm, and that algorithm
    double predicted = 0;
    codegen::kernel kernel{};
    codegen::kernel_function call = nullptr;
    sample taken{};
};

// Tasks of networks that have something to choose, by kind; each once, in an order that the seed gives.
inline std::map<std::string, std::vector<rank_task>>
rank_tasks_of(std::vector<std::pair<std::string, graph>> const& networks, target const& machine,
              rank_options const& options) {
    std::map<std::string, std::map<std::uint64_t, rank_task>> found;
    std::set<std::string> seen;
    for (auto const& [name, g] : networks) {
        auto in = std::make_shared<kernel_graph>();
        auto const keep = [&](kernel_graph const& k) {
            if (k.stage == lowering_stage::scheduled) *in = k;
        };
        build_options building;
        building.on_stage = function_ref<void(kernel_graph const&)>{keep};
        static_cast<void>(plan(g, table_of<eval_row, standard_ops>(), machine, building).value());
        // Kernels are timed again and again, so that all they read lies where it fits, weights too.
        for (auto& v : in->values) v.data = {}, v.role = runtime::memory_role::temporary;
        for (auto const& op : in->ops) {
            auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
            if (!d || kernels::operations_of(*d) > options.operations) continue;
            auto const* const tiles = std::get_if<kernels::winograd_shape>(d);
            auto direct = tiles ? kernels::descriptor{tiles->conv} : *d;
            auto text = kernels::to_string(direct);
            if (!seen.insert(text).second) continue;
            auto const weights = op.operands.size() > 1 && op.operands[1].packing;
            auto all = weights ? algorithms_of(direct) : std::vector{direct};
            if (all.size() == 1 && op.space->size() == 1) continue; // nothing to choose
            auto kind = fmt::format("{}{}", kernels::kind_of(direct), all.size() > 1 ? ", winograd" : "");
            auto const place = random_stream{options.seed}.split(hasher{}.add(text).finish().low)();
            found[kind].emplace(place, rank_task{name, kind, std::move(text), in, op, std::move(all)});
        }
    }
    std::map<std::string, std::vector<rank_task>> out;
    for (auto& [kind, tasks] : found)
        for (auto& [place, t] : tasks) out[kind].push_back(std::move(t));
    return out;
}

// The counted point of each algorithm, and others that are drawn; those of one text are one.
inline std::vector<rank_point> points_of(rank_task const& t, cost::lowered const& costs, target const& machine,
                                         rank_options const& options, std::vector<runtime::kernel_source>& sources) {
    auto const& isa = isa_of(machine);
    auto const chosen = costs.choose(t.algorithms, isa);
    std::vector<rank_point> out;
    std::set<std::string> texts;
    for (std::size_t a = 0; a < t.algorithms.size(); ++a) {
        auto const& d = t.algorithms[a];
        auto const space = std::make_shared<loop::config_space const>(kernels::space_of(d, isa));
        auto const add = [&](loop::configuration const& at, bool counted) {
            rank_point p{kernels::kind_of(d), loop::to_string(at), counted && a == chosen};
            p.kernel = codegen::lower(kernels::nest_of(d, at, isa), "kernel").value();
            auto text = codegen::emit_cpp(p.kernel, "gsub_kernel");
            if (!texts.insert(text).second) return;
            sources.push_back({std::move(text), "gsub_kernel", std::string{isa.flags}});
            auto op = t.op;
            op.computes = d, op.space = space, op.schedule = at;
            p.predicted = costs.of_kernel(*t.in, op).seconds;
            out.push_back(std::move(p));
        };
        add(kernels::counted(d, isa, *space, kernels::winograd_options_of(machine)), true);
        auto random = random_stream{options.seed}.split(kernels::hash_of(d).low);
        auto const before = out.size();
        for (std::size_t draws = 0; draws < 4 * options.points && out.size() < before + options.points; ++draws)
            if (auto const at = space->draw(random)) add(space->at(*at), false);
    }
    return out;
}

// Times all ways in turns, one after the other and in the next round the other way round.
inline void time_points(std::vector<rank_point>& points, rank_options const& options) {
    std::vector<tensor> memory; // by number of the buffer: as large as any of them wants; the last one is scratch
    auto const want = [&](std::size_t i, std::size_t bytes) {
        if (memory.size() <= i) memory.resize(i + 1);
        auto const size = static_cast<std::int64_t>(bytes / sizeof(float) + 1024);
        if (memory[i].element() == dtype::f32 && *memory[i].type().elements() >= size) return;
        memory[i] = tensor::zeros(dtype::f32, ints{size});
        fill_random(memory[i], random_stream{1}.split(i));
    };
    for (auto const& p : points) {
        std::size_t count = 0;
        for (auto const& b : p.kernel.buffers)
            if (!b.workspace) want(count++, static_cast<std::size_t>(b.elements()) * byte_size(b.element));
        want(count, codegen::workspace_bytes(p.kernel));
    }
    std::vector<void*> addresses;
    for (auto& m : memory) addresses.push_back(m.mutable_raw().data());
    auto const run = [&](rank_point const& p) {
        p.call(addresses.data(), 0, p.kernel.parallel < 0 ? 1 : p.kernel.parallel_extent);
    };
    for (std::size_t round = 0; round < options.rounds; ++round)
        for (std::size_t i = 0; i < points.size(); ++i) {
            auto& p = points[round % 2 == 0 ? i : points.size() - 1 - i];
            run(p); // what the caches can hold is in them
            // The least of some runs: what interrupts one of them is no part of it.
            double taken = 0, least = std::numeric_limits<double>::infinity();
            for (std::size_t runs = 0; runs < 2 || taken < options.least_seconds; ++runs) {
                auto const one = seconds_of([&] { run(p); });
                taken += one, least = std::min(least, one);
            }
            p.taken.values.push_back(least);
        }
}

// What the times of one kernel differ by: medians of odd rounds beside those of even ones, of nine kernels in ten.
inline double noise_of(std::vector<rank_point> const& points) {
    sample apart;
    for (auto const& p : points) {
        sample halves[2];
        for (std::size_t i = 0; i < p.taken.values.size(); ++i) halves[i % 2].values.push_back(p.taken.values[i]);
        if (!halves[1].values.empty()) apart.values.push_back(std::abs(halves[0].median() / halves[1].median() - 1));
    }
    return apart.at(0.9);
}

} // namespace detail

/// Time of the ten fastest ways, in parts of that of the ten that are predicted to be the fastest.
[[nodiscard]] inline double top_ratio(std::vector<double> const& predicted, std::vector<double> measured) {
    std::vector<std::size_t> order(predicted.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return predicted[a] < predicted[b]; });
    auto const count = std::min<std::size_t>(10, order.size());
    double chosen = 0, least = 0;
    for (std::size_t i = 0; i < count; ++i) chosen += measured[order[i]];
    std::sort(measured.begin(), measured.end());
    for (std::size_t i = 0; i < count; ++i) least += measured[i];
    return least / chosen;
}

/// Prints for each task a line with all points, and a table by kind: tau over pairs whose times differ by more than
/// 3 % and than the noise, tau-b over all pairs, and what the point that is predicted to be the fastest takes beside
/// the fastest one. Predictions and times are those of one thread. The exit status: 1 where nothing was ranked, or
/// where of 40 tasks and more the median of tau is below 0.6.
[[nodiscard]] inline int rank(std::vector<std::pair<std::string, gsub::graph>> const& networks,
                              rank_options const& options) {
    using namespace gsub;
    auto machine = host();
    machine.threads = 1;
    auto const costs = cost::lowered::on(machine, {.threads = 1, .model = options.model});
    auto const with = runtime::find_compiler().value();
    runtime::thread_pool pool;
    auto const by_kind = detail::rank_tasks_of(networks, machine, options);
    std::vector<detail::rank_task const*> chosen;
    for (std::size_t i = 0, before = 1; before != chosen.size() && chosen.size() < options.tasks; ++i) {
        before = chosen.size();
        for (auto const& [kind, tasks] : by_kind)
            if (i < tasks.size() && chosen.size() < options.tasks) chosen.push_back(&tasks[i]);
    }
    struct row {
        sample tau, tau_b, lost, counted_lost, top;
    };
    std::map<std::string, row> rows;
    std::size_t points_in_all = 0;
    for (auto const* t : chosen) {
        std::vector<runtime::kernel_source> sources;
        auto points = detail::points_of(*t, costs, machine, options, sources);
        auto const floats = [](detail::rank_point const& p) {
            return std::ranges::all_of(p.kernel.buffers, [](auto const& b) { return b.element == dtype::f32; });
        };
        if (points.size() < 2 || !std::ranges::all_of(points, floats)) continue;
        runtime::jit_options jit;
        jit.threads = &pool;
        auto const loaded = runtime::load_kernels(as_span(sources), with, jit).value();
        for (std::size_t i = 0; i < points.size(); ++i)
            points[i].call = reinterpret_cast<codegen::kernel_function>(loaded[i].function());
        detail::time_points(points, options);
        std::vector<double> predicted, measured;
        double counted = 0;
        std::vector<io::json> told;
        for (auto const& p : points) {
            predicted.push_back(p.predicted), measured.push_back(p.taken.median());
            if (p.counted) counted = measured.back();
            told.push_back(io::json{{"algorithm", p.algorithm},
                                    {"schedule", p.schedule},
                                    {"counted", p.counted},
                                    {"predicted", predicted.back()},
                                    {"measured", measured.back()}});
        }
        auto const noise = detail::noise_of(points);
        auto const tau = cost::rank_pairs(predicted, measured, std::max(0.03, noise)).tau();
        auto const tau_b = cost::rank_pairs(predicted, measured).tau_b();
        auto const best = *std::min_element(measured.begin(), measured.end());
        auto const first = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
        auto const lost = measured[static_cast<std::size_t>(first)] / best;
        auto const top = top_ratio(predicted, measured);
        std::printf("%s\n", io::json{{"bench", "predict rank"},
                                     {"network", t->network},
                                     {"kind", t->kind},
                                     {"task", t->text},
                                     {"noise", noise},
                                     {"tau", std::isnan(tau) ? io::json{} : io::json(tau)},
                                     {"tau_b", std::isnan(tau_b) ? io::json{} : io::json(tau_b)},
                                     {"chosen_over_best", lost},
                                     {"counted_over_best", counted / best},
                                     {"top_ten", top},
                                     {"points", std::move(told)}}
                                .dump()
                                .c_str());
        std::fflush(stdout);
        points_in_all += points.size();
        for (auto const& kind : {t->kind, std::string{"~ all"}}) { // behind every kind
            auto& r = rows[kind];
            if (!std::isnan(tau)) r.tau.values.push_back(tau);
            if (!std::isnan(tau_b)) r.tau_b.values.push_back(tau_b);
            r.lost.values.push_back(lost), r.counted_lost.values.push_back(counted / best);
            r.top.values.push_back(top);
        }
    }
    report::table table{{"kernels", "tasks", "tau 25 %", "tau median", "tau 75 %", "tau-b median",
                         "chosen / fastest, median", "90 %", "counted / fastest, median", "90 %",
                         "ten fastest / chosen"}};
    auto const two = [](double v) { return report::fixed(v, 2); };
    for (auto const& [kind, r] : rows)
        table.add({kind.starts_with("~") ? "all" : kind, fmt::format("{}", r.lost.values.size()), two(r.tau.at(0.25)),
                   two(r.tau.median()), two(r.tau.at(0.75)), two(r.tau_b.median()), two(r.lost.median()),
                   two(r.lost.at(0.9)), two(r.counted_lost.median()), two(r.counted_lost.at(0.9)),
                   two(r.top.median())});
    std::fprintf(stderr, "%zu kernels\n%s", points_in_all, table.text().c_str());
    if (costs.not_modelled() > 0) std::fprintf(stderr, "%zu kernels have no schedule\n", costs.not_modelled());
    auto const& tau = rows["~ all"].tau;
    return tau.values.empty() || (tau.values.size() >= 40 && tau.median() < 0.6) ? 1 : 0;
}

} // namespace bench
