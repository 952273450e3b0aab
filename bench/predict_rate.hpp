// Scoring rate: candidates of tuning tasks whose time the cost models predict in a second, on one core.
#pragma once

#include "measurement.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/format.hpp>
#include <gsub/core/hash.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/nest_time.hpp>
#include <gsub/cost/scheduled_time.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/tune/tuning_task.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// How much is scored.
struct rate_options {
    std::size_t points = 40; ///< of each algorithm's space at most, drawn; each once
    std::size_t rounds = 5;  ///< of which the least time of each algorithm's points counts
    std::uint64_t seed = 1;
};

namespace detail {

// What is timed of a candidate: its nest is made, its time predicted from that in closed form, it is lowered too, the
// models of kernel IR and of machine instructions predict its time.
enum class rate_part : std::uint8_t { nest, closed, lowered, counted, scheduled };
inline constexpr std::size_t rate_parts = 5;

// Times of all candidates of a kind of kernel.
struct rate_row {
    std::size_t points = 0;
    double seconds[rate_parts] = {};
    [[nodiscard]] double rate(rate_part p) const {
        return static_cast<double>(points) / seconds[static_cast<std::size_t>(p)];
    }
};

// Scores the points of one algorithm of a task.
class rated_points {
public:
    rated_points(gsub::tune::tuning_task const& t, std::size_t algorithm, gsub::isa const& isa, rate_options const& o)
        : task_(t), isa_(isa) {
        auto const& space = *t.algorithms[algorithm].space;
        auto random = gsub::random_stream{o.seed}.split(gsub::kernels::hash_of(t.algorithms[algorithm].computes).low);
        std::set<std::uint64_t> seen;
        for (std::size_t draws = 0; draws < 4 * o.points && ops_.size() < o.points; ++draws)
            if (auto const at = space.draw(random); at && seen.insert(*at).second)
                ops_.push_back(t.with({algorithm, *at}));
    }
    [[nodiscard]] std::size_t size() const noexcept { return ops_.size(); }
    /// Adds what costs say of all points, bit by bit.
    void add_to(gsub::hasher& h, gsub::cost::lowered const& costs) const {
        for (auto const& op : ops_) h.add(std::bit_cast<std::uint64_t>(costs.of_kernel(task_.alone, op).seconds));
    }
    /// *Returns* seconds for all points.
    [[nodiscard]] double time(gsub::cost::lowered const& costs) const {
        return seconds_of([&] {
            for (auto const& op : ops_) static_cast<void>(costs.of_kernel(task_.alone, op));
        });
    }
    [[nodiscard]] double time_nests(bool lowered) const {
        return seconds_of([&] {
            for (auto const& op : ops_) {
                auto const nest =
                    gsub::kernels::nest_of(std::get<gsub::kernels::descriptor>(op.computes), *op.schedule, isa_);
                if (lowered) static_cast<void>(gsub::codegen::lower(nest, "kernel").value());
            }
        });
    }

private:
    gsub::tune::tuning_task const& task_;
    gsub::isa const& isa_;
    std::vector<gsub::kernel_op> ops_;
};

} // namespace detail

/// Prints a JSON line for each kind of kernel, and a table: candidates a second on one core whose nest is made, whose
/// nest is made and lowered, and whose time is predicted from the nest in closed form (`closed`), from kernel IR
/// (`counted`) and from machine instructions (`scheduled`). Models forget between rounds what they have predicted. The
/// hash of all predictions, which stays the same where only the speed changes, stands behind. The exit status: 1 where
/// nothing was scored.
[[nodiscard]] inline int rate(std::vector<std::pair<std::string, gsub::graph>> const& networks,
                              rate_options const& options) {
    using namespace gsub;
    using detail::rate_part;
    auto machine = host();
    machine.threads = 1;
    auto const& isa = isa_of(machine);
    auto const model = [&](rate_part p) {
        cost::lowered_options o{.threads = 1};
        if (p == rate_part::scheduled) o.model = cost::scheduled_cycles();
        if (p == rate_part::closed) o.model = cost::closed_form_cycles();
        return cost::lowered::on(machine, o);
    };
    std::map<std::string, detail::rate_row> rows;
    hasher predictions;
    std::set<std::string> seen;
    for (auto const& [name, g] : networks) {
        auto const tasks = tune::tuning_tasks_of(lower_graph(g, table_of<eval_row, standard_ops>(), isa).value(), isa);
        for (auto const& t : tasks) {
            if (!seen.insert(tune::to_string(t)).second) continue;
            for (std::size_t a = 0; a < t.algorithms.size(); ++a) {
                detail::rated_points const points{t, a, isa, options};
                double least[detail::rate_parts];
                std::fill(std::begin(least), std::end(least), std::numeric_limits<double>::infinity());
                for (std::size_t round = 0; round < options.rounds; ++round)
                    for (std::size_t p = 0; p < detail::rate_parts; ++p) {
                        auto const part = static_cast<rate_part>(p);
                        auto const seconds = part == rate_part::nest      ? points.time_nests(false)
                                             : part == rate_part::lowered ? points.time_nests(true)
                                                                          : points.time(model(part));
                        least[p] = std::min(least[p], seconds);
                    }
                for (auto const p : {rate_part::closed, rate_part::counted, rate_part::scheduled})
                    points.add_to(predictions, model(p));
                for (auto const& kind : {kernels::kind_of(t.algorithms[a].computes), std::string{"~ all"}}) {
                    auto& row = rows[kind]; // all behind every kind
                    row.points += points.size();
                    for (std::size_t p = 0; p < detail::rate_parts; ++p) row.seconds[p] += least[p];
                }
            }
        }
    }
    report::table table{{"kernels", "candidates", "nests/s", "closed/s", "lowered/s", "counted/s", "scheduled/s"}};
    for (auto const& [kind, r] : rows) {
        auto const label = kind.starts_with("~") ? std::string{"all"} : kind;
        auto const of = [&r = r](rate_part p) { return std::round(r.rate(p)); };
        std::printf("%s\n", io::json{{"bench", "predict rate"},
                                     {"kind", label},
                                     {"candidates", r.points},
                                     {"nests_per_second", of(rate_part::nest)},
                                     {"closed_per_second", of(rate_part::closed)},
                                     {"lowered_per_second", of(rate_part::lowered)},
                                     {"counted_per_second", of(rate_part::counted)},
                                     {"scheduled_per_second", of(rate_part::scheduled)}}
                                .dump()
                                .c_str());
        table.add({label, fmt::format("{}", r.points), report::fixed(of(rate_part::nest), 0),
                   report::fixed(of(rate_part::closed), 0), report::fixed(of(rate_part::lowered), 0),
                   report::fixed(of(rate_part::counted), 0), report::fixed(of(rate_part::scheduled), 0)});
    }
    auto const hash = predictions.finish();
    std::fprintf(stderr, "%spredictions %016llx%016llx\n", table.text().c_str(),
                 static_cast<unsigned long long>(hash.high), static_cast<unsigned long long>(hash.low));
    return rows.empty() ? 1 : 0;
}

} // namespace bench
