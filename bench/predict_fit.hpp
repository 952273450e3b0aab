// Fits the linear score to kernels in memory, and tells how its coefficients rank kernels that they were not fitted to:
// those of another instruction set, of other shapes, of other kinds.
#pragma once

#include "predict_rank.hpp"
#include <gsub/cost/fitting.hpp>
#include <gsub/cost/kernel_samples.hpp>
#include <gsub/cost/scheduled_time.hpp>
#include <gsub/io/file.hpp>

#ifdef GSUB_BENCH_JIT
#include <gsub/driver/jit.hpp>
#endif

#include <functional>
#include <span>

namespace bench {

/// What is timed and fitted.
struct fit_options {
    /// Tasks of each instruction set; features are of what the model counts.
    rank_options ranking{.tasks = 40, .points = 40, .rounds = 7, .model = gsub::cost::scheduled_cycles()};
    std::string written{}; ///< calibration file; empty: none
    std::string read{};    ///< calibration file that is fitted in place of kernels that are timed; empty: none
};

namespace detail {

// A measured kernel, and what the model that counts it predicts; 0 where it comes from a file.
struct fit_point {
    cost::kernel_sample sample;
    double bounds = 0;
};

// Kind of a kernel, e.g. of convolutions; of a text that is no descriptor, that text.
inline std::string kind_of(cost::kernel_sample const& s) {
    auto const d = kernels::parse_descriptor(s.kernel);
    return d ? kernels::kind_of(*d) : s.kernel;
}

// Null where nothing emits the kernel.
inline codegen::kernel_function emitted(codegen::kernel const& k, isa const& isa,
                                        std::vector<runtime::loaded_kernel>& kept) {
#ifdef GSUB_BENCH_JIT
    auto made = jit_emitter(k, isa);
    if (!made && made.error().code() == error_code::unsupported) return nullptr;
    kept.push_back(made.value());
    return reinterpret_cast<codegen::kernel_function>(kept.back().function());
#else
    static_cast<void>(k), static_cast<void>(isa), static_cast<void>(kept);
    throw error{error_code::environment, "this build has no gsub::jit to time kernels with; --read fits a file"};
#endif
}

// The counted point of each algorithm of a task and others that are drawn, timed; those without machine code are left
// out.
inline std::vector<fit_point> fit_points_of(rank_task const& t, cost::lowered const& costs, target const& machine,
                                            isa const& isa, rank_options const& options) {
    std::vector<rank_point> points;
    std::vector<fit_point> out;
    std::vector<runtime::loaded_kernel> kept;
    std::set<std::string> texts;
    for (auto const& d : t.algorithms) {
        auto const space = std::make_shared<loop::config_space const>(kernels::space_of(d, isa));
        auto const add = [&](loop::configuration const& at) {
            rank_point p{kernels::kind_of(d), loop::to_string(at)};
            p.kernel = codegen::lower(kernels::nest_of(d, at, isa), "kernel").value();
            auto const floats = [](auto const& b) { return b.element == dtype::f32; };
            if (!std::ranges::all_of(p.kernel.buffers, floats)) return;
            if (!texts.insert(codegen::to_string(p.kernel)).second) return;
            auto const call = emitted(p.kernel, isa, kept);
            if (!call) return;
            p.call = call;
            auto op = t.op;
            op.computes = d, op.space = space, op.schedule = at;
            auto const counted = costs.of_kernel(*t.in, op);
            fit_point made{{cost::features_of(counted, costs.core())}, counted.seconds};
            auto& s = made.sample;
            s.gigahertz = costs.core().gigahertz, s.kernel = t.text, s.isa = isa.name, s.machine = machine.key();
            if (options.model.of) s.ilp = cost::ilp_source::instructions;
            s.schedule = fmt::format("{} {}", p.algorithm, p.schedule);
            points.push_back(std::move(p)), out.push_back(std::move(made));
        };
        add(kernels::counted(d, isa, *space, kernels::winograd_options_of(machine)));
        auto random = random_stream{options.seed}.split(kernels::hash_of(d).low);
        auto const before = out.size();
        for (std::size_t draws = 0; draws < 4 * options.points && out.size() < before + options.points; ++draws)
            if (auto const at = space->draw(random)) add(space->at(*at));
    }
    time_points(points, options);
    for (std::size_t i = 0; i < points.size(); ++i) out[i].sample.seconds = points[i].taken.at(0);
    return out;
}

// Kernels of all kinds alike, on each instruction set with machine code that runs here.
inline std::vector<fit_point> timed_points(std::vector<std::pair<std::string, graph>> const& networks,
                                           rank_options const& options) {
    auto machine = host();
    machine.threads = 1;
    std::vector<fit_point> out;
    for (auto const* isa : {&isa::avx512, &isa::avx2}) {
        if (!machine.has(*isa)) continue;
        auto const costs = cost::lowered::on(machine, {.threads = 1, .isa = isa, .model = options.model});
        auto planned = machine;
        planned.isa = isa, planned.fma_per_cycle = 0;
        auto const by_kind = rank_tasks_of(networks, planned, options);
        std::size_t done = 0;
        for (std::size_t i = 0, before = 1; before != done && done < options.tasks; ++i) {
            before = done;
            for (auto const& [kind, tasks] : by_kind)
                if (i < tasks.size() && done < options.tasks) {
                    append(out, fit_points_of(tasks[i], costs, machine, *isa, options));
                    ++done;
                }
        }
    }
    return out;
}

// How a score ranks the ways to compute each kernel of a set of points.
struct transfer {
    sample top, tau, lost;

    void add(std::span<fit_point const> of, std::function<double(fit_point const&)> const& predict) {
        std::vector<double> predicted, measured;
        for (auto const& p : of) predicted.push_back(predict(p)), measured.push_back(p.sample.seconds);
        if (measured.size() < 2) return;
        auto const t = cost::rank_pairs(predicted, measured, 0.03).tau();
        if (!std::isnan(t)) tau.values.push_back(t);
        top.values.push_back(top_ratio(predicted, measured));
        auto const first = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
        lost.values.push_back(measured[static_cast<std::size_t>(first)] /
                              *std::min_element(measured.begin(), measured.end()));
    }
    [[nodiscard]] double mean_top() const {
        double sum = 0;
        for (auto const v : top.values) sum += v;
        return top.values.empty() ? 0 : sum / static_cast<double>(top.values.size());
    }
};

// Points by kernel and instruction set, and what is fitted to some of them.
class transfers {
public:
    using chosen = std::function<bool(cost::kernel_sample const&)>;

    explicit transfers(std::vector<fit_point> points) {
        for (auto& p : points) {
            auto const key = std::pair{p.sample.isa, p.sample.kernel};
            kernels_[key].push_back(std::move(p));
        }
    }
    // Whether a model has predicted them, too.
    [[nodiscard]] bool timed() const { return !kernels_.empty() && kernels_.begin()->second.front().bounds > 0; }
    [[nodiscard]] std::set<std::string> sets() const {
        std::set<std::string> out;
        for (auto const& [key, of] : kernels_) out.insert(key.first);
        return out;
    }
    [[nodiscard]] std::set<std::string> kinds() const {
        std::set<std::string> out;
        for (auto const& [key, of] : kernels_) out.insert(kind_of(of.front().sample));
        return out;
    }
    [[nodiscard]] result<cost::linear_fit> fit(chosen const& of) const {
        std::vector<cost::kernel_sample> samples;
        for (auto const& [key, points] : kernels_)
            for (auto const& p : points)
                if (of(p.sample)) samples.push_back(p.sample);
        return cost::fit_linear_score(samples);
    }
    void rank(transfer& out, chosen const& of, std::function<double(fit_point const&)> const& predict) const {
        for (auto const& [key, points] : kernels_)
            if (of(points.front().sample)) out.add(points, predict);
    }
    // Of what was fitted to some, ranking others.
    void fit_and_rank(transfer& out, chosen const& fitted, chosen const& ranked) const {
        auto const made = fit(fitted);
        if (!made) return;
        rank(out, ranked, [&](fit_point const& p) { return made->score.cycles(p.sample.features); });
    }

private:
    std::map<std::pair<std::string, std::string>, std::vector<fit_point>> kernels_;
};

// Table of transfers, which are printed as lines too.
class transfer_table {
public:
    // `held`: whether it has to reach 0.93.
    void add(std::string const& fitted, std::string const& ranked, transfer const& t, bool held = false) {
        auto const three = [](double v) { return report::fixed(v, 3); };
        if (t.top.values.empty()) return;
        table_.add({fitted, ranked, fmt::format("{}", t.top.values.size()), three(t.mean_top()), three(t.top.median()),
                    three(t.tau.median()), three(t.lost.median())});
        std::printf("%s\n", io::json{{"bench", "predict fit"},
                                     {"fitted", fitted},
                                     {"ranked", ranked},
                                     {"kernels", t.top.values.size()},
                                     {"top_ten_mean", t.mean_top()},
                                     {"top_ten", t.top.median()},
                                     {"tau", t.tau.median()},
                                     {"chosen_over_best", t.lost.median()}}
                                .dump()
                                .c_str());
        if (held && t.top.values.size() >= 20 && t.mean_top() < 0.93) reached_ = false;
    }
    [[nodiscard]] std::string text() const { return table_.text(); }
    [[nodiscard]] bool reached() const noexcept { return reached_; }

private:
    report::table table_{{"fitted to", "ranked", "kernels", "ten fastest / chosen, mean", "median", "tau median",
                          "chosen / fastest, median"}};
    bool reached_ = true;
};

// Tells how what is fitted to some kernels ranks others. Gives whether those that are held to it reach 0.93.
inline bool tell_transfers(transfers const& all) {
    transfer_table table;
    auto const any = [](cost::kernel_sample const&) { return true; };
    auto const predicted_by = [&](std::string const& name, std::function<double(fit_point const&)> const& predict) {
        for (auto const& set : all.sets()) {
            transfer t;
            all.rank(
                t, [&](auto const& s) { return s.isa == set; }, predict);
            table.add(name, set, t);
        }
    };
    if (all.timed()) predicted_by("the cycle bounds", [](fit_point const& p) { return p.bounds; });
    predicted_by("nothing", [](fit_point const& p) { return cost::linear_score{}.cycles(p.sample.features); });
    predicted_by("its row", [](fit_point const& p) {
        for (auto const* s : instruction_sets())
            if (s->name == p.sample.isa) return cost::linear_score_of(*s, p.sample.ilp).score.cycles(p.sample.features);
        return 0.0;
    });
    for (auto const& from : all.sets())
        for (auto const& to : all.sets()) {
            transfer t;
            all.fit_and_rank(
                t, [&](auto const& s) { return s.isa == from; }, [&](auto const& s) { return s.isa == to; });
            table.add(from, to, t, from != to && from == "avx512");
        }
    transfer itself, shapes;
    all.fit_and_rank(itself, any, any);
    table.add("all", "all", itself);
    for (auto const half : {false, true}) {
        auto const side = [&](cost::kernel_sample const& s) {
            return (hasher{}.add(s.kernel).finish().low % 2 == 0) == half;
        };
        all.fit_and_rank(shapes, side, [&](auto const& s) { return !side(s); });
    }
    table.add("half of the shapes", "the other half", shapes, true);
    for (auto const& kind : all.kinds()) {
        transfer t;
        all.fit_and_rank(
            t, [&](auto const& s) { return kind_of(s) != kind; }, [&](auto const& s) { return kind_of(s) == kind; });
        table.add("other kinds", kind, t);
    }
    std::fprintf(stderr, "%s", table.text().c_str());
    return table.reached();
}

// Prints coefficients, one row for all samples and one for those of each instruction set.
inline void tell_coefficients(transfers const& all) {
    report::table table{{"feature", "coefficient"}};
    auto const fitted = all.fit([](auto const&) { return true; }).value();
    std::string row;
    for (std::size_t i = 0; i < cost::kernel_feature_count; ++i) {
        table.add({std::string{cost::kernel_feature_rows[i].name}, report::fixed(fitted.score.coefficients[i], 4)});
        row += fmt::format("{}{:.4g}", i == 0 ? "" : ", ", fitted.score.coefficients[i]);
    }
    std::fprintf(stderr, "%zu kernels, relative error %.3f\n%s{%s}\n", fitted.kernels, fitted.error,
                 table.text().c_str(), row.c_str());
    std::printf("%s\n", io::json{{"bench", "predict fit"},
                                 {"machine", host().key()},
                                 {"kernels", fitted.kernels},
                                 {"error", fitted.error},
                                 {"coefficients", fitted.score.coefficients}}
                            .dump()
                            .c_str());
}

} // namespace detail

/// Times kernels of networks in memory (or reads them from a calibration file), fits the linear score to them and
/// prints its coefficients and how it transfers. The exit status: 1 where the ten that are predicted to be the fastest
/// take more than 1 / 0.93 of the ten fastest, in the mean over 20 kernels or more of AVX2 by coefficients of AVX-512,
/// or of one half of the shapes by those of the other.
[[nodiscard]] inline int fit(std::vector<std::pair<std::string, gsub::graph>> const& networks,
                             fit_options const& options) {
    using namespace gsub;
    std::vector<detail::fit_point> points;
    if (options.read.empty()) {
        points = detail::timed_points(networks, options.ranking);
    } else {
        auto const samples = cost::parse_kernel_samples(io::read_file(options.read).value(), options.read).value();
        for (auto const& s : samples) points.push_back({s});
    }
    if (!options.written.empty()) {
        std::string lines;
        for (auto const& p : points) lines += cost::to_json_line(p.sample) + '\n';
        io::write_file(options.written, lines).value();
    }
    detail::transfers const all{std::move(points)};
    detail::tell_coefficients(all);
    return detail::tell_transfers(all) ? 0 : 1;
}

} // namespace bench
