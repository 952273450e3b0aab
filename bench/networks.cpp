// Random networks, for measuring and testing what no catalogue holds.
//
//     bench_networks [--seed N] [--count N] [--kind conv|recurrent|transformer] [--small]
//                    [--write FOLDER] [--steps] [--run] [--check]
//
// Prints a table of them. `--write` saves each as FOLDER/rnd_<kind>_<seed>_<number>.onnx. `--steps` plans each as
// `gsub::build` does and tells what runs on the reference runtime. `--run` builds each, runs it once and holds it
// against the evaluator in double precision. `--check` proves that they are legal, deterministic and computable.
#include "measurement.hpp"
#include "random_networks.hpp"
#include <gsub/core/format.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/io/onnx_export.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/report/summary.hpp>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>

namespace {

using namespace gsub;
using bench::random_network;
using counts = std::map<std::string, std::size_t>;

struct settings {
    std::uint64_t seed = 1;
    std::size_t count = 20;
    std::optional<bench::network_kind> kind;
    bool small = false, steps = false, run = false, check = false;
    std::string folder; ///< empty: write nothing
};

std::string text_of(counts const& all) {
    std::string out;
    for (auto const& [name, count] : all) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, name);
    return out;
}

// The operators that a step computes on the reference runtime; empty where a kernel computes it.
std::string reference_operator(runtime::program_step const& step) {
    auto const* const call = std::get_if<runtime::reference_call>(&step.what);
    return call ? runtime::operators_of(*call) : std::string{};
}

struct planned_steps {
    std::size_t all = 0, reference = 0;
    counts operators;                 ///< of the reference runtime
    std::vector<std::string> names{}; ///< its steps
};
planned_steps steps_of(graph g) {
    auto const program = plan(std::move(g), table_of<eval_row, standard_ops>(), isa_of(host())).value();
    planned_steps out{.all = program.steps.size(), .reference = 0, .operators = {}, .names = {}};
    for (auto const& step : program.steps)
        if (auto const op = reference_operator(step); !op.empty()) {
            ++out.reference, ++out.operators[std::string{op}];
            out.names.push_back(fmt::format("{} {}", op, step.name));
        }
    return out;
}

// Greatest difference from double precision, relative to the greatest number of the output.
double error_of(graph const& g, executor& threads) {
    auto const inputs = random_inputs(g, 1);
    auto const exact = evaluate_graph(g, inputs, {.compute = precision::f64, .threads = &threads}).value();
    auto const found = build(g, host(), {.threads = &threads}).value().run(inputs, &threads).value();
    double worst = 0;
    for (std::size_t i = 0; i < exact.size(); ++i)
        worst = std::max(worst, compare(found[i], exact[i].converted_to(found[i].element())).value().max_relative);
    return worst;
}

// What is wrong with a network; empty: nothing.
std::string fault_of(random_network const& network) {
    auto const g = network.build();
    if (auto const found = check(g, stage::imported); !found.empty()) return to_string(found.front());
    if (auto const found = not_computable(g, table_of<eval_row, standard_ops>()); !found.empty())
        return to_string(found.front());
    if (!(network.build().hash() == g.hash())) return "built twice, it differs";
    auto other = network;
    ++other.seed;
    if (other.build().hash() == g.hash()) return "another seed gives the same";
    auto const file = io::to_onnx(g).value();
    if (!(io::load_onnx(std::as_bytes(std::span{file})).value().hash() == g.hash())) return "its file differs from it";
    auto const one = evaluate_graph(g, random_inputs(g, 1)).value(),
               two = evaluate_graph(g, random_inputs(g, 2)).value();
    double most = 0, moved = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
        auto const a = one[i].data<float>(), b = two[i].data<float>();
        for (std::size_t k = 0; k < a.size(); ++k) {
            auto const x = static_cast<double>(a[k]), y = static_cast<double>(b[k]);
            if (!std::isfinite(x) || !std::isfinite(y)) return "an output is no number";
            most = std::max(most, std::abs(x)), moved = std::max(moved, std::abs(x - y));
        }
    }
    if (most > 1e4) return fmt::format("an output grows to {}", most);
    if (moved < 1e-3 * most) return fmt::format("outputs up to {} move with the inputs by {} alone", most, moved);
    return {};
}

settings parse(std::vector<std::string> const& arguments) {
    settings s;
    auto const fail = [](std::string const& text) { throw error{error_code::usage, text}; };
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        auto const& a = arguments[i];
        auto const value = [&]() -> std::string const& {
            if (i + 1 == arguments.size()) fail(fmt::format("{} needs a value", a));
            return arguments[++i];
        };
        auto const number = [&] {
            auto const& text = value();
            char* end = nullptr;
            errno = 0;
            auto const n = std::strtoull(text.c_str(), &end, 10);
            if (text.empty() || text[0] < '0' || text[0] > '9' || *end != 0 || errno != 0)
                fail(fmt::format("{} needs a number, not {}", a, text));
            return n;
        };
        if (a == "--seed") {
            s.seed = number();
        } else if (a == "--count") {
            s.count = number();
        } else if (a == "--kind") {
            auto const& name = value();
            for (std::size_t k = 0; k < std::size(bench::network_kind_names); ++k)
                if (name == bench::network_kind_names[k]) s.kind = static_cast<bench::network_kind>(k);
            if (!s.kind) fail(fmt::format("no kind is called {}; there are conv, recurrent and transformer", name));
        } else if (a == "--write") {
            s.folder = value();
        } else if (a == "--small") {
            s.small = true;
        } else if (a == "--steps") {
            s.steps = true;
        } else if (a == "--run") {
            s.run = true;
        } else if (a == "--check") {
            s.check = true;
        } else {
            fail(fmt::format("no option {}", a));
        }
    }
    return s;
}

// Tells of every network; the number of faults.
int tell(settings const& s) {
    auto networks = bench::random_networks(s.seed, s.count, s.small || s.check);
    if (s.kind)
        for (auto& network : networks) network.kind = *s.kind;
    if (!s.folder.empty()) std::filesystem::create_directories(s.folder);
    fork_join_executor threads{std::max(1u, host().threads)};
    std::vector<std::string> header{"network", "nodes", "MFLOP", "parameters", "operators"};
    if (s.steps) header = {"network", "nodes", "MFLOP", "steps", "reference", "on the reference runtime"};
    if (s.run) header.push_back("error");
    report::table table{header};
    planned_steps all;
    int faults = 0;
    for (auto const& network : networks) {
        if (s.check) {
            auto const fault = fault_of(network);
            if (!fault.empty()) ++faults, std::fprintf(stderr, "%s: %s\n", network.name().c_str(), fault.c_str());
        }
        auto const g = network.build();
        auto const summary = report::summarize(g);
        io::json line{{"bench", "networks"},  {"network", network.name()},        {"nodes", summary.nodes},
                      {"flop", summary.flop}, {"parameters", summary.parameters}, {"operators", summary.operators}};
        std::vector<std::string> row{network.name(), fmt::format("{}", summary.nodes),
                                     report::fixed(summary.flop / 1e6, 1)};
        if (s.steps) {
            auto const found = steps_of(g);
            all.all += found.all, all.reference += found.reference;
            for (auto const& [name, count] : found.operators) all.operators[name] += count;
            row.insert(row.end(),
                       {fmt::format("{}", found.all), fmt::format("{}", found.reference), text_of(found.operators)});
            line["steps"] = found.all, line["reference"] = found.operators, line["reference_steps"] = found.names;
        } else {
            row.push_back(fmt::format("{}", summary.parameters));
            row.push_back(text_of(counts{summary.operators.begin(), summary.operators.end()}));
        }
        if (s.run) {
            auto const apart = error_of(g, threads);
            row.push_back(report::brief(apart)), line["error"] = apart;
        }
        if (!s.folder.empty())
            io::save_onnx(g, (std::filesystem::path{s.folder} / (network.name() + ".onnx")).string()).value();
        std::printf("%s\n", line.dump().c_str());
        std::fflush(stdout);
        table.add(row);
    }
    std::fprintf(stderr, "%s", table.text().c_str());
    if (s.steps)
        std::fprintf(stderr, "%zu of %zu steps on the reference runtime%s%s\n", all.reference, all.all,
                     all.reference > 0 ? ": " : "", text_of(all.operators).c_str());
    return faults;
}

} // namespace

int main(int argc, char** argv) try {
    return tell(parse({argv + 1, argv + argc})) == 0 ? 0 : 1;
} catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
}
