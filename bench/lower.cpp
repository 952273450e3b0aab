// Planning time: from a graph in memory to scheduled kernels, pass by pass, on one thread.
//
//     bench_lower [--runs N] [--optimized] [MODEL ...]
//
// MODEL is a name of `gsub models` or an ONNX file; without one, every network of the catalogue. Each run lowers a copy
// of the graph, which shares its weights. Nothing is packed, compiled or looked up. `--optimized` takes the graphs that
// `optimize` finds with the roofline in place of those that the catalogue builds.
#include "measurement.hpp"
#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/format.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/optimize/optimize.hpp>

#include <array>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace gsub;

constexpr std::array<std::string_view, 4> pass_names{"fold and fuse", "select", "layout", "schedule"};

// Seconds; nothing is said of networks that have no bar.
double bar_of(std::string_view model) {
    return model == "resnet50" ? 30e-3 : model == "bert_base" ? 40e-3 : 0;
}

graph load(std::string const& name) {
    if (auto const* const entry = models::find_model(name)) return entry->build(1);
    return io::load_onnx(name).value();
}

// The text of every kernel, as `emit` prints it, equal ones too.
std::size_t print_kernels(kernel_graph const& g, isa const& isa) {
    std::size_t characters = 0;
    for (auto const& op : g.ops)
        if (auto const* const d = std::get_if<kernels::descriptor>(&op.computes))
            characters +=
                codegen::emit_cpp(codegen::lower(kernels::nest_of(*d, *op.schedule, isa), kernels::kind_of(*d)).value(),
                                  "kernel")
                    .size();
    return characters;
}

struct timed_passes {
    std::array<bench::sample, pass_names.size()> passes;
    bench::sample sum, text;
    std::size_t kernels = 0;
};

timed_passes measure(graph const& g, int runs, isa const& isa) {
    using clock = std::chrono::steady_clock;
    timed_passes found;
    auto const evaluators = table_of<eval_row, standard_ops>();
    for (int run = 0; run <= runs; ++run) { // the first one touches memory, and does not count
        any_graph copy{g};
        auto stage = pass_names.size();
        std::array<double, pass_names.size()> seconds{};
        auto last = clock::now();
        auto const stop = [&](kernel_graph const& k) { // a pass ends where its check has ended
            auto const now = clock::now();
            stage = static_cast<std::size_t>(k.stage);
            seconds[stage] = std::chrono::duration<double>(now - last).count();
            last = clock::now();
        };
        lowering_options options;
        options.winograd = kernels::winograd_options_of(host());
        options.on_stage = function_ref<void(kernel_graph const&)>{stop};
        auto const made = lower_graph(std::move(copy), evaluators, isa, options).value();
        auto const text = bench::seconds_of([&] { print_kernels(made, isa); });
        if (run == 0) continue;
        double sum = 0;
        for (std::size_t i = 0; i < seconds.size(); ++i)
            found.passes[i].values.push_back(seconds[i]), sum += seconds[i];
        found.sum.values.push_back(sum);
        found.text.values.push_back(text);
        found.kernels = made.ops.size();
    }
    return found;
}

} // namespace

int main(int argc, char** argv) try {
    std::vector<std::string> names(argv + 1, argv + argc);
    auto const optimized = std::erase(names, "--optimized") > 0;
    int runs = 20;
    if (auto const at = std::find(names.begin(), names.end(), "--runs"); at != names.end()) {
        runs = at + 1 == names.end() ? 0 : std::atoi(at[1].c_str());
        if (runs < 1) return std::fprintf(stderr, "--runs takes a number of 1 and more\n"), 2;
        names.erase(at, at + 2);
    }
    if (names.empty()) {
        for (auto const& entry : models::classifier_entries) names.emplace_back(entry.name);
        for (auto const& entry : models::task_entries) names.emplace_back(entry.name);
    }
    auto const& isa = isa_of(host());
    bench::reporter report{"lower"};
    report::table table{
        {"network", "kernels", "fold and fuse", "select", "layout", "schedule", "sum", "least", "bar", "text"}};
    auto const text_of = [](double seconds) { return report::human(seconds, "s"); };
    for (auto const& name : names) {
        auto g = load(name);
        if (optimized) g = optimize(std::move(g), cost::roofline{}, {.alpha = 1.05}).value();
        auto const found = measure(g, runs, isa);
        for (std::size_t i = 0; i < pass_names.size(); ++i)
            report.line(std::string{pass_names[i]}, name, found.passes[i], "s");
        report.line("text of the kernels", name, found.text, "s");
        auto const bar = bar_of(name);
        auto const within = report.line("sum of the passes", name, found.sum, "s", bar);
        std::vector<std::string> row{name, fmt::format("{}", found.kernels)};
        for (auto const& s : found.passes) row.push_back(text_of(s.median()));
        row.push_back(text_of(found.sum.median()));
        row.push_back(text_of(found.sum.at(0)));
        row.push_back(bar > 0 ? fmt::format("{}{}", text_of(bar), within ? ", yes" : ", NO") : "");
        row.push_back(text_of(found.text.median()));
        table.add(std::move(row));
    }
    std::fprintf(stderr, "medians of %d runs\n%s", runs, table.text().c_str());
    return report.finish();
} catch (std::exception const& e) {
    std::fprintf(stderr, "bench_lower: %s\n", e.what());
    return 1;
}
