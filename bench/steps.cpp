// Steps on the reference runtime: the networks of the catalogue as they are, after `optimize` and after passes.
//
//     bench_steps [--budget N] [--small] [MODEL ...]
//
// MODEL is a name of `gsub models` or an ONNX file; without one, every network of the catalogue. Each is lowered as it
// is; as `optimize` leaves it with all rules, the atomic ones and those of each family, under the roofline of the
// literature, bytes moved and kernels in place of operators, N (100) expansions each; and after each pass that is
// exact, alone, and each list of such passes. Nothing is compiled. `--small` takes the networks of up to 60 nodes.
// Exits with 1 where a step is left on the reference runtime.
#include "measurement.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/fused.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/passes/manager/manager.hpp>
#include <gsub/rewrite/rules/conv.hpp>
#include <gsub/rewrite/rules/matmul.hpp>
#include <gsub/rewrite/rules/merge.hpp>
#include <gsub/rewrite/rules/movement.hpp>
#include <gsub/rewrite/rules/pool.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace gsub;

struct settings {
    std::uint64_t budget = 100;
    bool small = false;
    std::vector<std::string> models;
};

// What lowering left in a number of graphs.
struct tally {
    std::size_t graphs = 0, distinct = 0, steps = 0, reference = 0;
    std::map<std::string, std::size_t> operators; ///< on the reference runtime
};

struct rule_set {
    std::string name;
    std::vector<rule_program> rules;
};
std::vector<rule_set> rule_sets() {
    auto const chosen = [](std::string_view list) { return choose_rules(standard_rules(), list).value(); };
    auto const family = [](auto const& all) { return std::vector<rule_program>{all.begin(), all.end()}; };
    std::vector<rule_set> sets{{"all", chosen("all")}, {"atomic", chosen("atomic")}};
    sets.push_back({"convolution", family(rules::convolution::all())});
    sets.push_back({"merging", family(rules::merging::all())});
    sets.push_back({"pooling", family(rules::pooling::all())});
    sets.push_back({"matrix", family(rules::matrix::all())});
    sets.push_back({"movement", family(rules::movement::all())});
    return sets;
}

struct cost_models {
    cost::roofline roofline;
    cost::byte_cost bytes;
    cost::fused_roofline fused;
};
std::vector<std::pair<std::string, cost::any_cost>> erased(cost_models const& of) {
    return {{"roofline", cost::erase(of.roofline)}, {"bytes", cost::erase(of.bytes)}, {"fused", cost::erase(of.fused)}};
}

bool is_exact(any_pass const& p) {
    auto const exact = p.info().exact;
    return exact == exactness::bit_exact || exact == exactness::reassociating;
}
// Each exact pass, each list of the literature that has no other, and all of them after another.
std::vector<std::string> exact_lists(pass_manager const& known) {
    std::vector<std::string> lists;
    std::string every;
    for (auto const& p : known.passes()) {
        if (!is_exact(p)) continue;
        lists.emplace_back(p.name());
        if (p.name() != "first-order-gradient") every += fmt::format("{}{}", every.empty() ? "" : ", ", p.name());
    }
    for (auto const& l : known.lists()) {
        auto const passes = known.parse(l.passes).value();
        if (std::all_of(passes.begin(), passes.end(), is_exact)) lists.emplace_back(l.name);
    }
    lists.push_back(every);
    return lists;
}

class counter {
public:
    explicit counter(std::string name) : name_(std::move(name)) {}

    /// Lowers a graph, once where another variant is the same, and says which operators have no kernel.
    void count(any_graph const& g, std::string_view variant) {
        ++all.graphs;
        if (!seen_.insert({g.hash(), true}).second) return;
        ++all.distinct;
        auto const program = plan(g, table_of<eval_row, standard_ops>(), isa_of(host())).value();
        std::string missing;
        for (auto const& s : program.steps) {
            ++all.steps;
            auto const* const call = std::get_if<runtime::reference_call>(&s.what);
            if (!call) continue;
            auto const op = std::string{runtime::operators_of(*call)};
            ++all.reference, ++all.operators[op];
            missing += fmt::format("{}{} {}", missing.empty() ? "" : ", ", op, s.name);
        }
        if (!missing.empty())
            std::fprintf(stderr, "%s, %s: %s\n", name_.c_str(), std::string{variant}.c_str(), missing.c_str());
    }
    tally all;

private:
    std::string name_;
    std::map<hash128, bool> seen_;
};

module load(std::string const& name) {
    module m;
    if (auto const* const entry = models::find_model(name))
        m.add("main", entry->build(1));
    else
        m = io::load_onnx_module(name, dialect::of<standard_ops>(), table_of<io::onnx_row, standard_ops>()).value();
    return m;
}

tally count(std::string const& name, settings const& s, executor& threads) {
    counter c{name};
    auto const loaded = load(name);
    auto const given = loaded.inlined().value();
    c.count(given, "as it is");
    cost_models const costs;
    for (auto const& [list, rules] : rule_sets())
        for (auto const& [model, cost] : erased(costs)) {
            optimize_options how;
            how.rules = as_span(rules), how.threads = &threads, how.budget.steps = s.budget;
            auto const found = optimize(given, cost, table_of<eval_row, standard_ops>(), how).value();
            c.count(found.first, fmt::format("rules {}, {}", list, model));
        }
    auto const known = passes::standard_passes();
    pass_context cx;
    cx.threads = &threads;
    for (auto const& list : exact_lists(known)) {
        auto m = loaded;
        pass_run_options how;
        how.order = order_policy::note, how.instrument.check = false;
        static_cast<void>(known.run(list, m, cx, how).value());
        c.count(m.inlined().value(), fmt::format("passes {}", list));
    }
    return c.all;
}

settings parse(std::vector<std::string> const& arguments) {
    settings s;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        auto const& a = arguments[i];
        if (a == "--small")
            s.small = true;
        else if (a == "--budget" && i + 1 < arguments.size())
            s.budget = std::strtoull(arguments[++i].c_str(), nullptr, 10);
        else if (a.starts_with("--"))
            throw error{error_code::usage, fmt::format("no option {}", a)};
        else
            s.models.push_back(a);
    }
    if (s.models.empty())
        for (auto const& entry : models::catalogue())
            if (!s.small || entry.build(1).size() <= 60) s.models.emplace_back(entry.name);
    return s;
}

int run(settings const& s) {
    runtime::thread_pool threads{{}};
    report::table table{{"network", "graphs", "distinct", "steps", "reference", "operators"}};
    std::size_t steps = 0, reference = 0;
    for (auto const& model : s.models) {
        auto const found = count(model, s, threads);
        std::string operators;
        for (auto const& [op, n] : found.operators)
            operators += fmt::format("{}{} {}", operators.empty() ? "" : ", ", n, op);
        io::json const line{{"bench", "steps"},           {"network", model},     {"graphs", found.graphs},
                            {"distinct", found.distinct}, {"steps", found.steps}, {"reference", found.operators}};
        std::printf("%s\n", line.dump().c_str());
        std::fflush(stdout);
        table.add({model, fmt::format("{}", found.graphs), fmt::format("{}", found.distinct),
                   fmt::format("{}", found.steps), fmt::format("{}", found.reference), operators});
        steps += found.steps, reference += found.reference;
    }
    std::fprintf(stderr, "%s%zu of %zu steps on the reference runtime\n", table.text().c_str(), reference, steps);
    return reference > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(parse({argv + 1, argv + argc}));
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return EXIT_FAILURE;
    }
}
