// Which rule fires on which network under which costs, and what that buys on the clock.
//
//     bench_rules [--rounds N] [--seconds S] [NETWORK ...] > rules.jsonl
//
// A network is optimized under predicted kernels of this machine, under the costs of the literature and under a
// calibrated roofline of kernels: how often each rule is on the way to the graph found, and what that takes beside the
// graph as it came, both built alike, in turns. Then, under the first of these, without each rule that fired: what the
// graph found takes then beside the one with it. `bench/rules_table.py` writes the page.
#include "compared_networks.hpp"
#include "measurement.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/fused.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/driver/calibrate.hpp>
#include <gsub/driver/compare_speed.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace gsub;

struct settings {
    speed_options speed{};
    std::vector<std::string> networks{};
};

settings parse(std::vector<std::string> const& arguments) {
    settings s;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        auto const number = [&] {
            if (++i == arguments.size())
                throw error{error_code::usage, fmt::format("{} needs a number", arguments[i - 1])};
            return std::strtod(arguments[i].c_str(), nullptr);
        };
        auto const& a = arguments[i];
        if (a == "--rounds")
            s.speed.rounds = static_cast<std::size_t>(number());
        else if (a == "--seconds")
            s.speed.least_seconds = number();
        else if (a.starts_with("--"))
            throw error{error_code::usage, fmt::format("no option {}", a)};
        else if (!models::find_model(a))
            throw error{error_code::usage, fmt::format("there is no network {}", in_quotes(a))};
        else
            s.networks.push_back(a);
    }
    if (s.networks.empty()) s.networks.assign(bench::compared_networks.begin(), bench::compared_networks.end());
    return s;
}

class rule_bench {
public:
    explicit rule_bench(settings s) : settings_(std::move(s)) {
        building_.threads = settings_.speed.threads = &pool_;
        rates_ = calibrate(dialect::of<standard_ops>(), evaluators_, {}, building_).value().rates;
    }

    void run(std::string const& name) {
        auto const g = models::find_model(name)->build(1);
        inputs_ = random_inputs(g, 1);
        auto const as_it_came = gsub::build(g, host(), building_).value();
        any_graph start = g;
        fold_constants(start, evaluators_, {.threads = &pool_}).value();
        canonicalize(start);
        auto const lowered = cost::lowered::of(g);
        cost::roofline const literature;
        cost::fused_roofline const calibrated{rates_};
        std::pair<char const*, cost::any_cost> const models[] = {{"lowered", cost::erase(lowered)},
                                                                 {"literature", cost::erase(literature)},
                                                                 {"calibrated", cost::erase(calibrated)}};
        for (auto const& [costs, model] : models) {
            auto const found = optimized_with(g, model, "all");
            auto const fired = counts(found.second);
            auto const same = found.first.hash() == start.hash();
            auto const built = gsub::build(found.first, evaluators_, host(), building_).value();
            tell({{"bench", "rules"}, {"network", name}, {"costs", costs}, {"rules", fired}, {"same_graph", same}},
                 as_it_came, built);
            if (model.parameters != models[0].second.parameters) continue;
            for (auto const& [rule, times] : fired) {
                auto const without = optimized_with(g, model, fmt::format("-{}", rule)).first;
                auto const equal = without.hash() == found.first.hash();
                auto const other = gsub::build(without, evaluators_, host(), building_).value();
                tell(
                    {{"bench", "rules"}, {"network", name}, {"without", rule}, {"times", times}, {"same_graph", equal}},
                    built, other);
            }
        }
    }

private:
    using fired_rules = std::map<std::string, std::size_t>;

    std::pair<any_graph, optimize_report> optimized_with(graph const& g, cost::any_cost const& model,
                                                         std::string_view list) {
        auto const rules = choose_rules(standard_rules(), list).value();
        return optimize(g, model, evaluators_, {.rules = rules, .threads = &pool_}).value();
    }
    static fired_rules counts(optimize_report const& r) {
        fired_rules out;
        for (auto const& a : r.applied) ++out[a.rule];
        return out;
    }
    // The ratio is 1 where the graphs are the same.
    void tell(io::json line, runtime::executable const& before, runtime::executable const& after) {
        auto const told = line["same_graph"].get<bool>()
                              ? speed_comparison{}
                              : compare_speed(before, inputs_, after, inputs_, settings_.speed).value();
        line["ratio"] = told.ratio, line["low"] = told.low, line["high"] = told.high;
        std::printf("%s\n", line.dump().c_str());
        std::fflush(stdout);
    }

    settings settings_;
    runtime::thread_pool pool_;
    build_options building_;
    eval_table evaluators_ = table_of<eval_row, standard_ops>();
    cost::roofline rates_;
    std::vector<tensor> inputs_;
};

} // namespace

int main(int argc, char** argv) {
    try {
        auto const s = parse({argv + 1, argv + argc});
        bench::reporter const machine{"rules"};
        rule_bench all{s};
        for (auto const& name : s.networks) all.run(name);
        return 0;
    } catch (std::exception const& e) {
        std::fprintf(stderr, "bench_rules: %s\n", e.what());
        return 2;
    }
}
