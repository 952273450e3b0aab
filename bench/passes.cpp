// Lists of passes on whole networks, after the protocol of the architecture-aware selection paper: how long a list
// takes, what each of its passes changed, and the latency of what it leaves, with generated kernels.
//
//     bench_passes [--threads N] [--warmup N] [--runs N] [--rounds N] [--lists a,b,... | --worth] [--cold]
//                  MODEL...
//
// MODEL is a name of `gsub models` or an ONNX file. All lists of a model are timed in turns. What a list leaves is what
// is built: an operator that it does not group has a kernel of its own, so `none` starts from nothing, and `default` is
// what a build does without a list. `whole` is every pass of the library but `first-order-gradient`, which adds
// outputs; what it leaves is not run.
//
// `--cold` compiles every kernel, so that the time of a build is that of the first one.
//
// `--worth` is what single passes are worth: each alone, over `none`; `auto` without it, or with it where `auto` does
// not have it, over `auto`; fusion before layouts, over `auto`; and whether the program with it is another.
#include "measurement.hpp"
#include <gsub/core/format.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/driver/network_classes.hpp>
#include <gsub/driver/run_passes.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/manager/manager.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

namespace {

using namespace gsub;

constexpr std::string_view whole = "whole";
constexpr std::string_view every_pass =
    "remove-unused-functions, to-graph-normal-form, simplify-inference, dynamic-to-static, eliminate-common-subexpr, "
    "fold-constant, simplify-expr, fake-quantization-to-integer, fold-explicit-padding, backward-fold-scale-axis, "
    "forward-fold-scale-axis, combine-parallel-conv2d, combine-parallel-dense, combine-parallel-batch-matmul, "
    "batching-ops, simplify-fc-transpose, fold-constant, merge-composite, canonicalize-cast, canonicalize-ops, "
    "convert-layout, alter-op-layout, fast-math, to-mixed-precision, dead-code-elimination, annotate-target, "
    "merge-compiler-regions, partition-graph, annotate-spans, to-a-normal-form, to-graph-normal-form, "
    "fuse-ops, defuse-ops, remove-unused-functions";

// Whose worth is told, by their names.
constexpr std::string_view weighed[] = {"simplify-inference",
                                        "fold-constant",
                                        "eliminate-common-subexpr",
                                        "simplify-expr",
                                        "convert-layout",
                                        "fold-explicit-padding",
                                        "backward-fold-scale-axis",
                                        "forward-fold-scale-axis",
                                        "combine-parallel-conv2d",
                                        "combine-parallel-dense",
                                        "combine-parallel-batch-matmul",
                                        "fast-math",
                                        "alter-op-layout",
                                        "fuse-ops"};

struct settings {
    bool worth = false, cold = false;
    unsigned threads = 2;
    int warmup = 20, runs = 200, rounds = 5;
    std::vector<std::string> lists{"none", "default", "tvm_o3", "BL",   "AS-0",  "AS-1",
                                   "PO-0", "PO-1",    "PO-2",   "PO-3", "whole", "auto"};
    std::vector<std::string> models;
};

std::string_view text_of(std::string_view list) {
    return list == whole ? every_pass : list;
}

// A list of passes on one model.
struct variant {
    variant(std::string called, std::string text, std::string weighs = {}, std::string beside = "auto")
        : list(std::move(called)), passes(std::move(text)), pass(std::move(weighs)), over(std::move(beside)) {}

    std::string list;               // what it is called
    std::string passes;             // as it is read
    std::string pass;               // whose worth it tells
    std::string over;               // the list that it is compared with
    bench::sample compile, latency; // seconds; latency: the mean of a round without outliers
    bench::sample structure;        // of compile, without `fold-constant`, which computes weights
    std::optional<pass_run> done;
    std::string failure;
    module made;
    hash128 program{};
    std::optional<runtime::executable> built;
    std::optional<runtime::run_context> context;
    std::vector<tensor> outputs;
};

std::optional<module> load(std::string const& name) {
    if (auto const* const entry = models::find_model(name)) {
        module m;
        m.add("main", entry->build(1));
        return m;
    }
    auto m = io::load_onnx_module(name, dialect::of<standard_ops>(), table_of<io::onnx_row, standard_ops>());
    if (!m) return std::fprintf(stderr, "%s\n", m.error().message().c_str()), std::nullopt;
    return std::move(m).value();
}

// Time in passes that changed nothing, and how many those are.
std::pair<double, int> idle_passes(pass_run const& run) {
    std::pair<double, int> out{0, 0};
    for (auto const& r : run.records)
        if (!r.changed && r.depth == 0) {
            out.first += r.time_s + r.instrument_s;
            ++out.second;
        }
    return out;
}

// Of a run, what its passes take but `fold-constant`.
double structure_of(pass_run const& run, double whole_run) {
    for (auto const& r : run.records)
        if (r.pass == "fold-constant") whole_run -= r.time_s;
    return whole_run;
}

// Seconds of a run, without what lies further than three standard deviations from the mean.
double mean_of(std::vector<double> const& times) {
    double sum = 0, squares = 0;
    for (auto t : times) sum += t, squares += t * t;
    auto const n = static_cast<double>(times.size());
    auto const mean = sum / n, deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
    double kept = 0, count = 0;
    for (auto t : times)
        if (std::abs(t - mean) <= 3 * deviation) kept += t, ++count;
    return count > 0 ? kept / count : mean;
}

// `auto` and `none` of a model, and the lists that differ from them by one pass.
std::vector<variant> worth_of_passes(module const& m, pass_manager const& known) {
    std::vector<variant> out;
    out.emplace_back("none", "none");
    out.emplace_back("auto", "auto");
    auto const chosen = select_passes(m).passes;
    auto const listed = [&](auto const& passes) {
        std::string text;
        for (auto const& p : passes) text += fmt::format("{}{}", text.empty() ? "" : ", ", p.text());
        return text;
    };
    for (auto const name : weighed) {
        out.emplace_back(fmt::format("{} alone", name), std::string{name}, std::string{name}, "none");
        auto list = chosen;
        if (std::erase_if(list, [&](any_pass const& p) { return p.name() == name; }) > 0) {
            out.emplace_back(fmt::format("auto without {}", name), listed(list), std::string{name});
            continue;
        }
        auto const before = std::ranges::find(list, "alter-op-layout", &any_pass::name);
        list.insert(before, known.find(name).value());
        out.emplace_back(fmt::format("auto with {}", name), listed(list), std::string{name});
    }
    auto swapped = chosen;
    std::iter_swap(std::ranges::find(swapped, "alter-op-layout", &any_pass::name),
                   std::ranges::find(swapped, "fuse-ops", &any_pass::name));
    out.emplace_back("auto, fuse-ops first", listed(swapped), "fuse-ops");
    return out;
}

// Whether a pass of a run changed something.
bool reports_change(pass_run const& run, std::string_view pass) {
    return std::ranges::any_of(run.records, [&](pass_record const& r) { return r.pass == pass && r.changed; });
}

struct shared_table {
    report::table changes{{"model", "list", "pass", "changed", "places", "nodes", "ms"}};
    std::map<std::string, bench::sample> ratios; // over models, by the two lists
};

void measure(std::string const& model, settings const& s, bench::reporter& report, shared_table& all) {
    auto const loaded = load(model);
    if (!loaded) return;
    auto const known = compiler_passes();
    runtime::thread_pool pool{{.threads = s.threads}};
    std::vector<variant> variants;
    if (s.worth)
        variants = worth_of_passes(*loaded, known);
    else
        for (auto const& list : s.lists) variants.emplace_back(list, std::string{text_of(list)});
    if (std::ranges::count(variants, "auto", &variant::list) > 0)
        variants.emplace_back("auto again", "auto"); // what two equal programs differ by

    pass_context cx;
    cx.threads = &pool;
    cx.machine = host();
    for (int round = 0; round < s.rounds; ++round)
        for (auto& v : variants) {
            if (!v.failure.empty()) continue;
            auto m = *loaded;
            run_passes_options how;
            how.run.order = order_policy::note;
            how.run.instrument.check = false;
            result<pass_run> done = pass_run{};
            v.compile.values.push_back(bench::seconds_of([&] { done = run_passes(m, known, v.passes, cx, how); }));
            if (!done) {
                v.failure = done.error().message();
                continue;
            }
            v.done = std::move(done).value();
            v.structure.values.push_back(structure_of(*v.done, v.compile.values.back()));
            v.made = std::move(m);
        }
    for (auto& v : variants) {
        if (!v.failure.empty()) {
            std::fprintf(stderr, "%s, %s: %s\n", model.c_str(), v.list.c_str(), v.failure.c_str());
            continue;
        }
        for (auto const& r : v.done->records)
            all.changes.add({model, v.list, r.pass,
                             !r.not_run.empty() ? "passed over"
                             : r.changed        ? "yes"
                                                : "no",
                             fmt::format("{}", r.outcome.matches),
                             fmt::format("{} to {}", r.nodes_before, r.nodes_after),
                             report::fixed((r.time_s + r.instrument_s) * 1e3, 3)});
        auto const on = fmt::format("{}, {}", model, v.list);
        report.add("passes", on, v.compile, "s");
        report.add("passes without folding", on, v.structure, "s");
        auto const [idle, count] = idle_passes(*v.done);
        report.add(fmt::format("passes without effect, {}", count), on, {{idle}}, "s");
        report.add("nodes", on, {{static_cast<double>(node_count(v.made))}}, "");
        if (v.list == whole) continue;
        build_options o;
        o.threads = &pool;
        auto const evaluators = table_of<eval_row, standard_ops>();
        if (auto const made = plan(v.made, evaluators, isa_of(host()), o, grouping::by_passes))
            v.program = hash_of(*made);
        o.jit.use_cache = !s.cold;
        std::optional<result<runtime::executable>> made;
        auto const time = bench::seconds_of([&] { made = build(v.made, evaluators, host(), o, grouping::by_passes); });
        auto& built = *made;
        if (!built) {
            v.failure = built.error().message();
            std::fprintf(stderr, "%s, %s: %s\n", model.c_str(), v.list.c_str(), v.failure.c_str());
            continue;
        }
        v.built = std::move(built).value();
        report.add(s.cold ? "build" : "build with kernels from the cache", on, {{time}}, "s");
        report.add("memory of arena and weights", on,
                   {{static_cast<double>(v.built->arena_bytes() + v.built->constant_bytes())}}, "B");
        v.context = v.built->make_context();
        v.outputs = v.built->make_outputs();
    }

    auto const inputs = random_inputs(loaded->find(loaded->entry_points().front())->body, 1);
    auto const run = [&](variant& v) { v.built->run(*v.context, inputs, v.outputs, pool).value(); };
    for (int round = 0; round < s.rounds; ++round)
        for (auto& v : variants) {
            if (!v.built) continue;
            auto const first = bench::seconds_of([&] { run(v); });
            auto const at_most = [&](int wanted, double seconds) { // what runs on the reference runtime takes long
                return std::clamp(static_cast<int>(seconds / first), 1, wanted);
            };
            for (int i = 1, warmup = at_most(s.warmup, 2); i < warmup; ++i) run(v);
            std::vector<double> times;
            for (int i = 0, runs = at_most(s.runs, 20); i < runs; ++i)
                times.push_back(bench::seconds_of([&] { run(v); }));
            v.latency.values.push_back(mean_of(times));
        }
    auto const find = [&](std::string_view list) -> variant const* {
        for (auto const& v : variants)
            if (v.list == list && v.failure.empty()) return &v;
        return nullptr;
    };
    for (auto const& v : variants) {
        if (!v.built) continue;
        auto const on = fmt::format("{}, {}", model, v.list);
        report.add("latency", on, v.latency, "s");
        auto const* const other = find(v.over);
        if (!other || &v == other) continue;
        bench::sample ratio;
        for (std::size_t i = 0; i < v.latency.values.size(); ++i)
            ratio.values.push_back(v.latency.values[i] / other->latency.values[i]);
        report.add(fmt::format("latency over that of {}", v.over), on, ratio, "x");
        all.ratios[fmt::format("{} / {}", v.list, v.over)].values.push_back(ratio.median());
        if (v.program == other->program) report.add(fmt::format("the program of {}", v.over), on, {{1}}, "");
        if (!s.worth || v.pass.empty()) continue;
        auto const& with = reports_change(*v.done, v.pass) ? v : *other;
        report.add(fmt::format("program {}, the pass {}", v.program == other->program ? "the same" : "another",
                               reports_change(*with.done, v.pass) ? "reports a change" : "changes nothing"),
                   on, {{1}}, "");
    }
    auto const* const automatic = find("auto");
    if (auto const* const o3 = find("tvm_o3"); o3 && automatic)
        report.add("time of auto over that of tvm_o3", model, {{automatic->compile.median() / o3->compile.median()}},
                   "x");
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    for (int i = 1; i < argc; ++i) {
        std::string const a = argv[i];
        auto const number = [&](auto& to) {
            if (i + 1 < argc)
                to = static_cast<std::remove_reference_t<decltype(to)>>(std::max(1, std::atoi(argv[++i])));
        };
        if (a == "--threads") {
            number(s.threads);
        } else if (a == "--warmup") {
            number(s.warmup);
        } else if (a == "--runs") {
            number(s.runs);
        } else if (a == "--rounds") {
            number(s.rounds);
        } else if (a == "--lists" && i + 1 < argc) {
            s.lists.clear();
            std::string_view rest = argv[++i];
            while (!rest.empty()) {
                s.lists.emplace_back(rest.substr(0, rest.find(',')));
                rest.remove_prefix(std::min(s.lists.back().size() + 1, rest.size()));
            }
        } else if (a == "--worth") {
            s.worth = true;
        } else if (a == "--cold") {
            s.cold = true;
        } else if (a.starts_with("--")) {
            return std::fprintf(stderr, "no option %s\n", argv[i]), 2;
        } else {
            s.models.push_back(a);
        }
    }
    if (s.models.empty()) s.models = {"resnet50", "mobilenet_v2", "ssd_resnet50", "bert_base"};
    bench::reporter report{"passes"};
    shared_table all;
    for (auto const& model : s.models) measure(model, s, report, all);
    for (auto const& [list, ratio] : all.ratios) {
        double logs = 0;
        for (auto r : ratio.values) logs += std::log(r);
        report.add("geometric mean over models", list, {{std::exp(logs / static_cast<double>(ratio.values.size()))}},
                   "x");
    }
    std::fprintf(stderr, "%s\n", all.changes.text().c_str());
    return report.finish();
}
