// How well predictions rank the points of a kernel's space: the k points that are predicted to be the fastest beside
// the k that are, in our spaces and on AutoTVM's.
//
//     bench_tune_ranking [--tasks N] [--points N] [--operators a,b] [--model closed,counted,scheduled] [--threads N]
//                        [--rounds N] [--seconds S] [--operations N] [--seed N] [--json FILE] [--svg FILE]
//
// TASKS (6) tasks of each operator are drawn by the seed. Of each task up to POINTS (1000) points of our space (of all
// Winograd algorithms together) and of those that AutoTVM's space has are predicted by the models, built in memory,
// and timed in turns of ROUNDS (3) by `tune::kernel_timer`, until SECONDS (20) are over. Weights lie where the task's
// network leaves them, for models and clock alike: in memory, flushed before each run, or in the last cache, where so
// few kernels are timed together that it holds all of theirs. Then the k first predicted
// and the k fastest of each list are timed anew together, three times as long: the least of many times is too low.
//
//     top-k           mean time of the k fastest over mean time of the k first predicted, both timed anew; of lists of
//                     2 k points and more. 1: the prediction finds as good ones. Source: Tuna, 2021, section 5
//     best / chosen   the time of the fastest over that of the first predicted: of the five fastest anew and the first
//                     predicted, timed together once more, nine times as long
//     tau             Kendall's, of 50 drawn points, over pairs whose times differ by more than 3 %
//
// A JSON line a task on stdout, a table on stderr. `--json` keeps all points, `--svg` draws the bars by operator. The
// time that is left is told after each task.
#include "measurement.hpp"
#include "ranking_chart.hpp"
#include "ranking_tasks.hpp"
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/nest_time.hpp>
#include <gsub/cost/ranked_pairs.hpp>
#include <gsub/cost/scheduled_time.hpp>
#include <gsub/io/file.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>
#include <gsub/tune/kernel_timer.hpp>
#ifdef GSUB_BENCH_JIT
#include <gsub/driver/jit.hpp>
#endif

#include <cmath>
#include <cstdlib>
#include <exception>
#include <limits>
#include <numeric>
#include <sstream>

namespace {

using namespace gsub;

// Models of a kernel's time, by name.
cost::kernel_time_model model_named(std::string_view name) {
    return name == "closed"      ? cost::closed_form_cycles()
           : name == "scheduled" ? cost::scheduled_cycles()
                                 : cost::kernel_time_model{};
}
constexpr std::string_view known_models[] = {"closed", "counted", "scheduled"};

struct settings {
    std::size_t tasks = 6, points = 1000, rounds = 3;
    unsigned threads = 1;
    double seconds = 20, operations = 1e9;
    std::uint64_t seed = 1;
    std::set<std::string> models{"counted", "scheduled"};
    std::set<std::string> operators{std::begin(bench::ranked_operators), std::end(bench::ranked_operators)};
    std::string json{}, svg{};
};

// A point with its times; those anew are there of few.
struct ranked_point {
    tune::candidate what{};
    std::vector<double> predicted; // by model
    double measured = 0, anew = 0; // 0: not measured, or failed
    double final = 0;              // of the first predicted and the five best anew
    bool ours = false, theirs = false;
};
// What a model makes of a list of points.
struct ranking {
    std::string op, list, model;
    std::size_t points = 0;
    double top10 = -1, top50 = -1, best_over_chosen = -1, tau = -1;
};

// Names behind commas, each one of those that are known. *Errors* throws `error` (`usage`) of another one.
std::set<std::string> names_of(std::string const& text, std::span<std::string_view const> known, char const* what) {
    std::set<std::string> out;
    std::istringstream list{text};
    for (std::string name; std::getline(list, name, ',');) {
        if (std::find(known.begin(), known.end(), name) == known.end())
            throw error{error_code::usage, fmt::format("no {} {}", what, name)};
        out.insert(name);
    }
    return out;
}

settings parse(std::vector<std::string> const& arguments) {
    settings s;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        auto const& a = arguments[i];
        auto const value = [&]() -> std::string const& {
            if (++i == arguments.size()) throw error{error_code::usage, fmt::format("{} needs a value", a)};
            return arguments[i];
        };
        auto const number = [&] { return std::strtod(value().c_str(), nullptr); };
        auto const count = [&] { return static_cast<std::size_t>(std::max(1.0, number())); };
        if (a == "--tasks")
            s.tasks = count();
        else if (a == "--points")
            s.points = count();
        else if (a == "--rounds")
            s.rounds = count();
        else if (a == "--threads")
            s.threads = static_cast<unsigned>(count());
        else if (a == "--seconds")
            s.seconds = number();
        else if (a == "--operations")
            s.operations = number();
        else if (a == "--seed")
            s.seed = count();
        else if (a == "--json")
            s.json = value();
        else if (a == "--svg")
            s.svg = value();
        else if (a == "--model")
            s.models = names_of(value(), known_models, "model");
        else if (a == "--operators")
            s.operators = names_of(value(), bench::ranked_operators, "operator");
        else
            throw error{error_code::usage, fmt::format("no option {}", a)};
    }
    return s;
}

// All ways to compute a task that are looked at.
std::vector<ranked_point> points_of(bench::ranked_task const& t, settings const& s, isa const& isa) {
    std::map<tune::candidate, ranked_point> all;
    for (auto const a : t.algorithms) {
        auto const& space = *t.task.algorithms[a].space;
        auto const seed = s.seed + kernels::hash_of(t.task.algorithms[a].computes).low;
        for (auto const i : bench::drawn_points(space, s.points / t.algorithms.size(), seed)) {
            auto& p = all[{a, i}];
            p.what = {a, i}, p.ours = true;
        }
        if (a != 0) continue;
        for (auto const i : bench::autotvm_points(t.task.what(), isa, space, s.points, seed)) {
            auto& p = all[{a, i}];
            p.what = {a, i}, p.theirs = true;
        }
    }
    std::vector<ranked_point> out;
    for (auto& [what, p] : all) out.push_back(std::move(p));
    // Neighbours in a space are alike: they must not be timed together.
    random_stream random{s.seed};
    for (auto i = out.size(); i > 1; --i) std::swap(out[i - 1], out[random.below(i)]);
    return out;
}

// Times points in turns, some at a time, until the time is up; those that are not reached, or failed, are left out.
void time_points(std::vector<ranked_point>& points, tune::kernel_timer const& timer, double seconds) {
    constexpr std::size_t together = 128;
    auto const begin = std::chrono::steady_clock::now();
    std::size_t done = 0;
    while (done < points.size() &&
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds) {
        auto const last = std::min(done + together, points.size());
        std::vector<tune::candidate> all;
        for (auto i = done; i < last; ++i) all.push_back(points[i].what);
        auto const measured = timer.measure(all);
        for (std::size_t i = 0; i < all.size(); ++i)
            if (measured[i].error == tune::measure_error::none) points[done + i].measured = measured[i].costs[0];
        done = last;
    }
    std::erase_if(points, [](ranked_point const& p) { return !(p.measured > 0); });
}

// Numbers of the points of a list, by a time.
template <class Time>
std::vector<std::size_t> in_order(std::vector<ranked_point> const& points, bool ours, Time const& time) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < points.size(); ++i)
        if (ours ? points[i].ours : points[i].theirs) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return time(points[a]) < time(points[b]); });
    return order;
}

// Times some points together, so many times as long as before.
void time_again(std::vector<ranked_point>& points, std::set<std::size_t> const& chosen, tune::kernel_timer const& timer,
                std::size_t longer, double ranked_point::*time) {
    std::vector<tune::candidate> all;
    for (auto const i : chosen) all.push_back(points[i].what);
    auto const measured = timer.measure(all, longer);
    std::size_t k = 0;
    for (auto const i : chosen) {
        if (measured[k].error == tune::measure_error::none) points[i].*time = measured[k].costs[0];
        ++k;
    }
}

// Times those of each list anew that are among the first 50, or as many as half of the list are.
void time_best_anew(std::vector<ranked_point>& points, std::size_t models, tune::kernel_timer const& timer) {
    std::set<std::size_t> chosen;
    for (bool const ours : {true, false}) {
        auto const add = [&](std::vector<std::size_t> const& order) {
            auto const count = order.size() >= 100 ? 50 : std::min<std::size_t>(order.size(), 10);
            chosen.insert(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
        };
        add(in_order(points, ours, [](ranked_point const& p) { return p.measured; }));
        for (std::size_t m = 0; m < models; ++m)
            add(in_order(points, ours, [m](ranked_point const& p) { return p.predicted[m]; }));
    }
    time_again(points, chosen, timer, 3, &ranked_point::anew);
}

// Times the first predicted of each list and its five best anew together, for longer still.
void time_finalists(std::vector<ranked_point>& points, std::size_t models, tune::kernel_timer const& timer) {
    std::set<std::size_t> chosen;
    for (bool const ours : {true, false}) {
        auto const best = in_order(points, ours, [](ranked_point const& p) {
            return p.anew > 0 ? p.anew : std::numeric_limits<double>::infinity();
        });
        chosen.insert(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(best.size(), 5)));
        for (std::size_t m = 0; m < models && !best.empty(); ++m)
            chosen.insert(in_order(points, ours, [m](ranked_point const& p) { return p.predicted[m]; }).front());
    }
    time_again(points, chosen, timer, 9, &ranked_point::final);
}

ranking rank(std::vector<ranked_point> const& points, bool ours, std::size_t model) {
    auto const by_clock = in_order(points, ours, [](ranked_point const& p) { return p.measured; });
    auto const by_model = in_order(points, ours, [model](ranked_point const& p) { return p.predicted[model]; });
    ranking r;
    r.points = by_clock.size();
    auto const sum = [&](std::vector<std::size_t> const& order, std::size_t k) {
        double all = 0;
        for (std::size_t i = 0; i < k; ++i) all += points[order[i]].anew;
        return all;
    };
    if (r.points >= 20) r.top10 = sum(by_clock, 10) / sum(by_model, 10);
    if (r.points >= 100) r.top50 = sum(by_clock, 50) / sum(by_model, 50);
    auto best = std::numeric_limits<double>::infinity();
    for (auto const i : by_clock)
        if (points[i].final > 0) best = std::min(best, points[i].final);
    r.best_over_chosen = best / points[by_model.front()].final;
    std::vector<double> predicted, measured;
    for (auto const& p : points) // in an order that was drawn
        if ((ours ? p.ours : p.theirs) && predicted.size() < 50)
            predicted.push_back(p.predicted[model]), measured.push_back(p.measured);
    r.tau = cost::rank_pairs(predicted, measured, 0.03).tau();
    return r;
}

io::json as_json(ranking const& r) {
    io::json out{{"list", r.list}, {"model", r.model}, {"points", r.points}, {"best_over_chosen", r.best_over_chosen}};
    if (r.top10 >= 0) out["top10"] = r.top10;
    if (r.top50 >= 0) out["top50"] = r.top50;
    if (!std::isnan(r.tau)) out["tau"] = r.tau;
    return out;
}
io::json as_json(bench::ranked_task const& t, std::vector<ranked_point> const& points) {
    auto out = io::json::array();
    for (auto const& p : points) {
        io::json one{{"algorithm", tune::kind_of(t.task, p.what)},
                     {"schedule", loop::to_string(t.task.point(p.what))},
                     {"ours", p.ours},
                     {"autotvm", p.theirs},
                     {"predicted", p.predicted},
                     {"measured", p.measured}};
        if (p.anew > 0) one["anew"] = p.anew;
        if (p.final > 0) one["final"] = p.final;
        out.push_back(std::move(one));
    }
    return out;
}

double mean(std::vector<double> const& v) {
    return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}
double geometric_mean(std::vector<double> const& v) {
    double sum = 0;
    for (auto const x : v) sum += std::log(x);
    return std::exp(sum / static_cast<double>(v.size()));
}

// The figures of an operator, a list and a model over its tasks.
struct figures {
    std::vector<double> top10, top50, chosen;
    bench::sample tau, points;
    void add(ranking const& r) {
        if (r.top10 >= 0) top10.push_back(r.top10);
        if (r.top50 >= 0) top50.push_back(r.top50);
        chosen.push_back(r.best_over_chosen);
        if (!std::isnan(r.tau)) tau.values.push_back(r.tau);
        points.values.push_back(static_cast<double>(r.points));
    }
};
using figure_table = std::map<std::string, std::map<std::string, figures>>; // by operator, then by list and model

void print(figure_table const& all) {
    report::table table{{"operator", "list, model", "tasks", "points", "top-10 mean", "least", "top-50 mean", "least",
                         "best / chosen", "least", "tau median"}};
    auto const three = [](double v) { return report::fixed(v, 3); };
    auto const least = [&](std::vector<double> const& v) {
        return v.empty() ? std::string{} : three(*std::min_element(v.begin(), v.end()));
    };
    for (auto const& [op, rows] : all)
        for (auto const& [series, f] : rows)
            table.add({op, series, fmt::format("{}", f.chosen.size()), fmt::format("{}", f.points.median()),
                       f.top10.empty() ? "" : three(mean(f.top10)), least(f.top10),
                       f.top50.empty() ? "" : three(mean(f.top50)), least(f.top50), three(geometric_mean(f.chosen)),
                       least(f.chosen), f.tau.values.empty() ? "" : report::fixed(f.tau.median(), 2)});
    std::fprintf(stderr, "%s", table.text().c_str());
}

std::string drawn(figure_table const& all) {
    bench::bar_chart chart;
    std::set<std::string> series;
    for (auto const& [op, rows] : all) {
        if (op != "all") chart.groups.push_back(op);
        for (auto const& [name, f] : rows) series.insert(name);
    }
    chart.groups.push_back("all");
    chart.series.assign(series.begin(), series.end());
    auto const panel = [&](char const* title, double goal, auto const& figure) {
        bench::bar_chart::panel p{title, goal, {}};
        for (auto const& op : chart.groups) {
            p.shares.emplace_back();
            for (auto const& name : chart.series) {
                auto const& rows = all.at(op);
                auto const found = rows.find(name);
                p.shares.back().push_back(found == rows.end() ? -1 : figure(found->second));
            }
        }
        chart.panels.push_back(std::move(p));
    };
    panel("top-10: time of the ten fastest over the ten first predicted", 0.95,
          [](figures const& f) { return f.top10.empty() ? -1 : mean(f.top10); });
    panel("top-50", 0.93, [](figures const& f) { return f.top50.empty() ? -1 : mean(f.top50); });
    panel("fastest over first predicted", 0.95, [](figures const& f) { return geometric_mean(f.chosen); });
    panel("Kendall's tau, median", 0.75, [](figures const& f) { return f.tau.values.empty() ? -1 : f.tau.median(); });
    return chart.svg();
}

// The models of a run, by name.
struct named_model {
    std::string name;
    cost::lowered costs;
};

// Whether the last cache loses the weights of a task's network from one run to the next.
bool weights_in_memory(bench::ranked_task const& t, target const& machine) {
    return cost::evicted_share(t.task.weight_bytes, microarchitecture_of(machine)) > 0.5;
}
std::vector<named_model> models_of(settings const& s, target const& machine, bool in_memory) {
    cost::lowered_options options{.threads = s.threads};
    options.weight_bytes = in_memory ? 1e12 : 0;
    std::vector<named_model> models;
    for (auto const& name : s.models) {
        options.model = model_named(name);
        models.push_back({name, cost::lowered::on(machine, options)});
    }
    return models;
}

void rank_task(bench::ranked_task const& t, settings const& s, target const& machine, tune::timing_options timing,
               figure_table& all, io::json& kept) {
    timing.weights_in_memory = weights_in_memory(t, machine);
    if (!timing.weights_in_memory) timing.most_bytes = static_cast<std::size_t>(machine.l3_bytes / 2);
    auto const models = models_of(s, machine, timing.weights_in_memory);
    auto points = points_of(t, s, isa_of(machine));
    tune::kernel_timer const timer{t.task, isa_of(machine), timing};
    time_points(points, timer, s.seconds);
    for (auto& p : points)
        for (auto const& m : models)
            p.predicted.push_back(m.costs.of_kernel(t.task.alone, t.task.with(p.what)).seconds);
    time_best_anew(points, models.size(), timer);
    time_finalists(points, models.size(), timer);
    io::json line{{"bench", "tune ranking"},
                  {"operator", t.op},
                  {"network", t.network},
                  {"task", tune::to_string(t.task)},
                  {"rankings", io::json::array()}};
    for (bool const ours : {true, false})
        for (std::size_t m = 0; m < models.size(); ++m) {
            if (std::count_if(points.begin(), points.end(), [&](auto const& p) { return ours ? p.ours : p.theirs; }) <
                2)
                continue;
            auto r = rank(points, ours, m);
            r.op = t.op, r.list = ours ? "ours" : "AutoTVM", r.model = models[m].name;
            line["rankings"].push_back(as_json(r));
            for (auto const& op : {t.op, std::string{"all"}}) all[op][r.list + ", " + r.model].add(r);
        }
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
    line["points"] = as_json(t, points);
    kept.push_back(std::move(line));
}

int run(settings const& s) {
    auto machine = host();
    machine.threads = s.threads;
    runtime::thread_pool pool{{.threads = s.threads}};
    tune::timing_options timing{
        .rounds = s.rounds, .most_rounds = 5 * s.rounds, .least_seconds = 3e-4, .most_bytes = std::size_t{256} << 20};
    timing.threads = timing.jit.threads = &pool;
#ifdef GSUB_BENCH_JIT
    timing.emitter = &jit_emitter;
#endif
    auto const tasks = bench::ranked_tasks(machine, s.tasks, s.seed, s.operations, s.operators);
    std::size_t count = 0, done = 0;
    for (auto const& [op, of] : tasks) count += of.size();
    std::fprintf(stderr, "%zu tasks on %s, %u threads\n", count, machine.key().c_str(), s.threads);
    figure_table all;
    auto kept = io::json::array();
    auto const begin = std::chrono::steady_clock::now();
    for (auto const& [op, of] : tasks)
        for (auto const& t : of) {
            rank_task(t, s, machine, timing, all, kept);
            auto const taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            ++done;
            std::fprintf(stderr, "%s, %s: %zu of %zu tasks in %.0f s, about %.0f s left\n", op.c_str(),
                         t.network.c_str(), done, count, taken,
                         taken / static_cast<double>(done) * static_cast<double>(count - done));
        }
    if (all.empty()) return 1; // nothing was ranked
    print(all);
    if (!s.json.empty()) io::write_file(s.json, kept.dump() + "\n").value();
    if (!s.svg.empty()) io::write_file(s.svg, drawn(all)).value();
    return 0;
}

} // namespace

int main(int argc, char** argv) try { return run(parse({argv + 1, argv + argc})); } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
}
