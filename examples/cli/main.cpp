// The command line: parses, runs one command, prints its answer. Results on stdout, talk on stderr.
#include "commands.hpp"
#include "goals.hpp"
#include <gsub/io/file.hpp>
#include <gsub/report/progress.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <functional>
#include <new>
#include <thread>

namespace {

constexpr auto exit_codes = "Exit codes: 0 done, 1 negative result (differs, refuted), 2 usage, 3 not supported, "
                            "4 invalid input file,\n5 environment, 6 internal error.";

gsub::io::json describe(gsub::error const& e) {
    auto problems = gsub::io::json::array();
    for (auto const& p : e.problems())
        problems.push_back({{"code", static_cast<int>(p.code)},
                            {"kind", to_string(p.code)},
                            {"node", p.node},
                            {"op", p.op},
                            {"reason", p.reason},
                            {"hint", p.hint}});
    return {{"error", {{"code", static_cast<int>(e.code())}, {"problems", problems}, {"context", e.context()}}}};
}

// Names in a file need not be UTF-8; JSON must be.
std::string to_text(gsub::io::json const& data) {
    return data.dump(2, ' ', false, gsub::io::json::error_handler_t::replace) + "\n";
}

void add_target(CLI::App* to, std::string& target) {
    to->add_option(
        "--target", target,
        "machine of the kernels, e.g. x86-64-avx2 or x86-64-avx512,threads=8,l2=2M; `gsub doctor` tells the host's");
}
void add_passes(CLI::App* to, std::string& list) {
    to->add_option("--passes", list,
                   "passes that run first, in place of the list `default`: names, lists and arguments, separated by "
                   "commas; what they leave ungrouped has a kernel of its own; `gsub passes` tells them")
        ->type_name("LIST");
}
void add_schedules(CLI::App* to, cli::schedule_files& files) {
    to->add_option(
          "--schedules", files.schedules,
          "schedules and algorithms of kernels that stand in this file, which `gsub tasks` writes; others are counted")
        ->type_name("FILE");
    to->add_option("--records", files.records,
                   "tuning records, which `gsub tune` writes: the best of each kernel; others are counted")
        ->type_name("FILE")
        ->excludes(to->get_option("--schedules"));
}
void add_kernel_choice(CLI::App* to, cli::kernel_choice& how) {
    to->add_option("--winograd", how.winograd,
                   "largest tiles of Winograd convolutions: f4 errs about twice as much as off")
        ->check(CLI::IsMember({"off", "f2", "f4"}));
    add_target(to, how.target);
    to->add_option("--dump-passes", how.dump_passes, "write what each pass of lowering made into this folder")
        ->type_name("DIR");
    add_passes(to, how.passes);
    add_schedules(to, how);
    to->add_flag("--compiled", how.compiled,
                 "compile all kernels with the system's compiler, those too that this program can emit in memory");
}

void add_cost_choice(CLI::App* to, cli::cost_choice& how) {
    to->add_option("--cost", how.cost,
                   "cost model; lowered: the predicted time of the kernels that a build would make; fused: a roofline "
                   "over kernels in place of operators; table:FILE: costs from a file of JSON lines")
        ->type_name("{lowered,flops,bytes,roofline,fused,energy,peak_memory,measured,table:FILE}")
        ->check(CLI::Validator(
            [](std::string const& name) -> std::string {
                for (auto const* known :
                     {"lowered", "flops", "bytes", "roofline", "fused", "energy", "peak_memory", "measured"})
                    if (name == known) return {};
                return name.starts_with("table:") && name.size() > 6 ? "" : "there is no cost model " + name;
            },
            {}));
    to->add_option("--roofline", how.roofline,
                   "seconds a launch, FLOP/s, bytes/s; without: those that the profile has of this "
                   "machine, without one 5e-6,1e13,5e11")
        ->delimiter(',')
        ->expected(3)
        ->type_name("LAUNCH_S,FLOP_PER_S,BYTE_PER_S");
    to->add_option("--goal", how.goal,
                   "in place of a cost model: latency (lowered), memory (peak_memory), energy, flops, or several with "
                   "weights, in percent of the given graph: latency:0.7,energy:0.3")
        ->type_name("GOAL[:WEIGHT],...")
        ->check(CLI::Validator(
            [](std::string const& goal) -> std::string {
                auto const weights = cli::weights_of(goal);
                return weights ? "" : weights.error().message();
            },
            {}))
        ->excludes(to->get_option("--cost"));
    to->add_option("--joules", how.joules, "energy of a FLOP and of a byte (2.3e-12,2.4e-10: not calibrated)")
        ->delimiter(',')
        ->expected(2)
        ->type_name("J_PER_FLOP,J_PER_BYTE");
    to->add_option("--split-cost", how.split_lowering, "whether the parts of a split are views or copies")
        ->check(CLI::IsMember({"free", "copy"}));
    to->add_option("--profile", how.profile,
                   "measured times are read from and added to this file; rates of `gsub calibrate` are read from it")
        ->type_name("FILE");
    to->add_option("--backend", how.backend, "what --cost measured times: operators one by one, or generated kernels")
        ->check(CLI::IsMember({"reference", "simd"}));
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app{"gsub: makes the graph of a trained model cheaper, and proves it equal", "gsub"};
    app.footer(exit_codes);
    app.require_subcommand(1);
    app.fallthrough();
    app.option_defaults()->always_capture_default();

    bool quiet = false;
    std::string json;
    std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
    app.add_flag("--quiet,-q", quiet, "no progress on stderr");
    app.add_option("--json", json, "write the answer as JSON to this file too")->type_name("FILE");
    app.add_option("--threads", threads, "threads that compute")->check(CLI::Range(1, 4096));

    std::function<cli::answer(cli::session const&)> command;
    auto const declare = [&](char const* name, char const* help, auto const& request, auto run) {
        auto* sub = app.add_subcommand(name, help);
        sub->footer(exit_codes);
        sub->option_defaults()->always_capture_default();
        sub->callback([&command, &request, run] {
            command = [&request, run](cli::session const& s) { return run(request, s); };
        });
        return sub;
    };

    cli::optimize_request o;
    auto* optimize = declare("optimize", "find a cheaper graph by relaxed substitution", o, &cli::optimize);
    optimize->add_option("model", o.model, "ONNX model to optimize")->required()->type_name("IN.onnx");
    optimize->add_option("-o,--output", o.output, "where the result is written; without: nowhere")
        ->type_name("OUT.onnx");
    optimize->add_option("--alpha", o.alpha, "how far the search may climb above the best cost, at least 1");
    optimize->add_option("--schedule", o.schedule, "then these values of alpha, each when nothing is left below")
        ->delimiter(',')
        ->type_name("A,B,...");
    optimize->add_option("--queue", o.queue, "graphs that wait at most; beyond, the cheaper half stays")
        ->always_capture_default(false)
        ->default_str("no limit");
    optimize
        ->add_option(
            "--admit", o.admit,
            "what alpha is held against: the best cost, or that of the parent; first: the search goes on from the "
            "first cheaper graph, without alpha")
        ->check(CLI::IsMember({"best", "parent", "first"}));
    optimize->add_flag("--plateau", o.plateau, "moves of equal cost too");
    add_cost_choice(optimize, o);
    add_target(optimize, o.target);
    optimize->add_option("--budget", o.budget, "graphs expanded at most");
    optimize->add_option("--time", o.seconds, "seconds of search at most")->type_name("S");
    optimize->add_option("--split", o.split, "large graphs are searched in parts: auto, none, or kernels in a part")
        ->type_name("auto|none|N");
    optimize->add_option("--seed", o.seed, "seed of the inputs that --verify uses");
    optimize->add_option("--rules", o.rules, "rules: a,b (these), -a (all but), atomic, all, none; see `gsub rules`")
        ->type_name("LIST");
    optimize->add_option("--taso", o.taso, "the rules of this file in TASO's format too, those that are proved")
        ->type_name("FILE.pb");
    optimize->add_option("--rules-file", o.rules_file, "the rules of this file too, as text; see docs/rewrite.md")
        ->type_name("FILE");
    optimize->add_flag("--measure", o.measure, "time input and result as generated kernels, and keep the faster one");
    optimize->add_flag("--verify", o.verify, "compare the result with the original; nothing is written if they differ");
    optimize->add_flag("--check", o.check, "check that every graph on the way is legal; debug builds do it always");
    optimize->add_option("--dot", o.dot, "draw the result for Graphviz")->type_name("FILE");
    optimize->add_option("--svg", o.svg, "draw the result as a picture")->type_name("FILE");
    optimize->add_option("--report", o.report, "one page of HTML: both graphs, the search, each rewrite")
        ->type_name("FILE.html");
    optimize->add_option("--trace", o.trace, "write each event of the search as a line of JSON")->type_name("FILE");
    optimize->add_option("--resume", o.resume, "go on where the search that wrote this trace stopped")
        ->type_name("FILE");
    auto* replay =
        optimize
            ->add_option("--replay", o.replay,
                         "in place of a search, make and check the rewrites of the one that wrote this trace")
            ->type_name("FILE");
    for (auto const* of_search :
         {"--resume", "--trace", "--alpha", "--schedule", "--queue", "--plateau", "--budget", "--time"})
        replay->excludes(optimize->get_option(of_search));
    auto* passes_instead =
        optimize
            ->add_option("--passes", o.passes,
                         "run these passes instead of a search: names, lists (see `gsub passes`), or `auto`: by the "
                         "class of the model")
            ->type_name("LIST");
    for (auto const* of_search :
         {"--alpha",   "--schedule", "--queue",  "--admit",  "--plateau", "--cost",  "--roofline", "--split-cost",
          "--profile", "--backend",  "--budget", "--time",   "--split",   "--rules", "--taso",     "--rules-file",
          "--report",  "--trace",    "--resume", "--replay", "--measure", "--check"})
        passes_instead->excludes(optimize->get_option(of_search));
    optimize->add_option("--dump-passes", o.dump_passes, "write what each pass made into this folder")
        ->needs(passes_instead)
        ->type_name("DIR");
    auto* apply_instead =
        optimize
            ->add_option("--apply", o.apply,
                         "apply this rule at this node instead of a search, whatever it costs; several times: one "
                         "after the other; names as `gsub explain` and `gsub inspect --text` tell them")
            ->type_name("RULE@NODE")
            ->expected(1)
            ->take_all();
    auto* objectives = optimize->add_flag(
        "--objectives", o.objectives,
        "search under predicted time, roofline, FLOP, bytes and peak memory in turn, and tell all of them for each");
    for (auto const* of_search :
         {"--alpha", "--schedule", "--queue", "--admit", "--plateau", "--budget", "--time", "--split", "--rules",
          "--report", "--trace", "--resume", "--replay", "--measure", "--passes", "--check"})
        apply_instead->excludes(optimize->get_option(of_search));
    for (auto const* of_one : {"--apply", "--cost", "--goal", "--roofline", "--joules", "--backend", "--profile",
                               "--split-cost", "--output", "--verify", "--dot", "--svg", "--report", "--trace",
                               "--resume", "--replay", "--taso", "--rules-file", "--passes"})
        objectives->excludes(optimize->get_option(of_one));

    cli::explain_request y;
    auto* explain =
        declare("explain", "tell where a rule applies, or which kernels compute a model, and why", y, &cli::explain);
    explain->add_option("model", y.model, "ONNX model")->required()->type_name("MODEL.onnx");
    auto* subject = explain->add_option_group("subject", "what is explained");
    auto* rule = subject->add_option("--rule", y.rule, "where this rule applies, see `gsub rules`")->type_name("RULE");
    auto* kernels = subject->add_flag(
        "--kernels", y.kernels,
        "the kernels: what each computes, why no more, by which algorithm and schedule, how long it takes");
    subject->require_option(1);
    explain
        ->add_flag("--weights", y.weights,
                   "print the weights that each rewrite reads and builds, a convolution's as a matrix of kernels")
        ->needs(rule);
    explain
        ->add_flag("--features", y.features,
                   "what each kernel does: instructions, cycles, lines of caches, and their shares of a linear score")
        ->needs(kernels);
    explain->add_option("--node", y.node, "this node alone, by its name in the model")->type_name("NODE")->needs(rule);
    add_kernel_choice(explain, y.kernels_of);
    add_cost_choice(explain, y);

    cli::run_request r;
    auto* run = declare("run", "compute a model's outputs", r, &cli::run);
    run->add_option("model", r.model, "ONNX model")->required()->type_name("MODEL.onnx");
    run->add_option("--input", r.inputs, "value of an input, several times")
        ->type_name("NAME=FILE.npy")
        ->expected(1)
        ->take_all();
    run->add_option("--output-dir", r.output_dir, "outputs are written here as output_<i>.npy")->type_name("DIR");
    run->add_option("--fill", r.fill, "make the inputs that are not given")->type_name("SEED");
    run->add_option("--repeat", r.repeat, "run so often, and tell the median time")->check(CLI::PositiveNumber);
    add_kernel_choice(run, r.kernels);
    run->add_option("--precision", r.precision,
                    "what the reference runtime computes with; f64: double throughout, outputs too")
        ->check(CLI::IsMember({"native", "f64"}));
    run->add_option("--backend", r.backend, "what computes")->check(CLI::IsMember({"reference", "simd"}));

    cli::bench_request t;
    auto* bench = declare("bench", "time a model", t, &cli::bench);
    bench->add_option("model", t.model, "ONNX model")->required()->type_name("MODEL.onnx");
    bench->add_option("--backend", t.backend, "what computes")->check(CLI::IsMember({"reference", "simd"}));
    add_kernel_choice(bench, t.kernels);
    bench->add_option("--runs", t.runs, "runs that are timed")->check(CLI::PositiveNumber);
    bench->add_option("--warmup", t.warmup, "runs before that")->check(CLI::NonNegativeNumber);
    bench->add_option("--time", t.seconds, "time runs for so long, whatever their number")
        ->type_name("SECONDS")
        ->check(CLI::PositiveNumber);
    auto* paper =
        bench->add_flag("--paper", t.paper,
                        "the protocol of the paper on architecture-aware selection of passes: 1000 runs after "
                        "100, without what lies beyond three standard deviations");
    for (auto const* of_runs : {"--runs", "--warmup", "--time"}) paper->excludes(bench->get_option(of_runs));
    bench->add_option("--seed", t.seed, "seed of the inputs");
    bench->add_flag("--profile", t.profile, "tell what each step takes");

    cli::calibrate_request calibration;
    auto* calibrate = declare("calibrate", "measure the roofline of this machine with generated kernels, and its ports",
                              calibration, &cli::calibrate);
    calibrate->add_option("--ports", calibration.ports, "write the ports to this file, for `gsub tune --ports`")
        ->type_name("FILE");
    calibrate
        ->add_option("--profile", calibration.profile,
                     "the rates are added to this file, for `gsub optimize --profile`")
        ->type_name("FILE");

    cli::compile_request w;
    auto* compile = declare("compile", "write a model as sources that build and run without gsub", w, &cli::compile);
    compile->add_option("model", w.model, "ONNX model")->required()->type_name("MODEL.onnx");
    compile->add_option("-o,--output", w.output, "folder for sources and weights, new or written by this command")
        ->required()
        ->type_name("DIR");
    compile->add_option("--name", w.name, "what the model is called in C; without: made of the file's name")
        ->type_name("NAME");
    add_target(compile, w.target);
    add_passes(compile, w.passes);
    add_schedules(compile, w);
    compile->add_flag("--optimize", w.optimize, "find a cheaper graph first, as `gsub optimize` does");
    compile->add_flag("!--no-threads", w.own_threads, "without threads of its own: one, or the embedder's executor");

    cli::tasks_request d;
    auto* tasks = declare("tasks", "list the distinct kernels of a model: how often, how much, what there is to choose",
                          d, &cli::tasks);
    tasks->add_option("model", d.model, "ONNX model")->required()->type_name("MODEL.onnx");
    add_target(tasks, d.target);
    tasks
        ->add_option("--schedules", d.schedules,
                     "write their schedules to this file, for --schedules of other commands")
        ->type_name("FILE");

    cli::tune_request u;
    auto* tune = declare("tune", "find schedules and algorithms for the kernels of a model", u, &cli::tune);
    tune->add_option("model", u.model, "ONNX model")->required()->type_name("MODEL.onnx");
    tune->add_option("--method", u.method,
                     "what ranks candidates; static: a cost model, nothing runs; hybrid: the clock for its best few; "
                     "measured: the clock alone")
        ->check(CLI::IsMember({"static", "hybrid", "measured"}));
    tune->add_option("--model", u.model_of_time,
                     "cost model that scores candidates: units and caches (counted), the same in closed form (closed), "
                     "machine instructions (scheduled), weighed features (linear), or counted with the best by what "
                     "the target's compiler makes "
                     "(assembled); by default all are counted, and the best scheduled or assembled by the target")
        ->check(CLI::IsMember({"closed", "counted", "scheduled", "linear", "assembled"}));
    tune->add_option("--records", u.records,
                     "append what is found to this file, for --records of run, bench, compile and explain")
        ->type_name("FILE");
    tune->add_option("--ports", u.ports, "ports of the machine as `gsub calibrate --ports` wrote them, for predictions")
        ->type_name("FILE");
    tune->add_option("--report", u.report,
                     "one page of HTML: tasks and schedules, how the best came down, predicted beside measured times")
        ->type_name("FILE");
    tune->add_option("--svg", u.svg, "draw predicted and measured times of all candidates that were timed")
        ->type_name("FILE");
    tune->add_option("--budget", u.seconds, "stop after so long; kernels with most to gain come first")
        ->type_name("SECONDS")
        ->check(CLI::PositiveNumber);
    tune->add_option("--points", u.points, "candidates of each algorithm that the cost model scores")
        ->check(CLI::PositiveNumber);
    tune->add_option("--trials", u.trials, "candidates of each kernel that are timed")->check(CLI::PositiveNumber);
    tune->add_option("--seed", u.seed, "seed of the search");
    tune->add_option("--price-per-hour", u.per_hour, "what an hour of this machine costs; tells what tuning has cost")
        ->check(CLI::NonNegativeNumber);
    tune->add_flag("!--no-check", u.check, "do not build the model untuned and tuned to time both");
    tune->add_flag("--compiled", u.compiled, "have the compiler build all candidates that are timed");
    tune->add_flag(
        "--from-random", u.from_random,
        "with --method measured: begin anywhere in place of the counted schedule, and keep the best that was "
        "seen though the untuned kernel may be better: what a tuner without a model does");
    tune->add_flag("!--no-isolation", u.isolate,
                   "time kernels in this process, for a debugger; one that crashes or hangs takes the command with it");
    add_target(tune, u.target);
    add_passes(tune, u.passes);

    cli::compare_request c;
    auto* compare = declare("compare", "run two models on the same random inputs", c, &cli::compare);
    compare->add_option("a", c.a, "ONNX model")->required()->type_name("A.onnx");
    compare->add_option("b", c.b, "ONNX model that should compute the same")->required()->type_name("B.onnx");
    compare->add_option("--rtol", c.relative, "bound of max |a-b| / max |b| of an output");
    compare->add_option("--atol", c.absolute, "outputs closer than this are equal whatever their size");
    compare->add_option("--seed", c.seed, "seed of the inputs");

    cli::convert_request x;
    auto* convert = declare("convert", "read a model and write it again, unchanged", x, &cli::convert);
    convert->add_option("model", x.model, "ONNX model")->required()->type_name("IN.onnx");
    convert->add_option("-o,--output", x.output, "where to")->required()->type_name("OUT.onnx");
    convert->add_option("--opset", x.opset, "operator set to write; 0: the oldest from 13 on that can express it")
        ->check(CLI::IsMember({0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}));

    cli::verify_request v;
    auto* verify = declare("verify-rules", "prove every rule over a prime field", v, &cli::verify_rules);
    verify->add_option("--rules", v.rules, "a choice among them, as in `gsub optimize`")->type_name("LIST");
    verify->add_option("--seed", v.seed, "seed of the random instances");
    verify->add_option("--taso", v.taso, "prove the rules of this file in TASO's format instead")
        ->type_name("FILE.pb")
        ->excludes(verify->get_option("--rules"));
    verify->add_option("--rules-file", v.rules_file, "prove the rules of this file instead, as text")
        ->type_name("FILE")
        ->excludes(verify->get_option("--rules"));

    cli::cache_request k;
    auto* cache =
        declare("cache", "compiled kernels on disk: list, remove the oldest, remove the damaged", k, &cli::cache);
    cache->add_option("action", k.action, "what to do")->check(CLI::IsMember({"ls", "gc", "verify"}));
    cache->add_option("--folder", k.folder, "the cache; without: where kernels are kept by default")->type_name("DIR");
    cache->add_option("--limit", k.limit_bytes, "bytes that `gc` leaves");

    int nothing = 0;
    declare("doctor", "tell what this machine has for generated kernels, and what is off", nothing,
            [](int, cli::session const& s) { return cli::doctor(s); });

    cli::rules_request l;
    auto* rules = declare("rules", "list the rules with their conditions and sources", l,
                          [](cli::rules_request const& request, cli::session const&) { return cli::rules(request); });
    rules->add_flag("--markdown", l.markdown, "as docs/rules.md");

    cli::passes_request q;
    auto* passes =
        declare("passes", "list the passes with level, classes, requirements, exactness and effect", q, &cli::passes);
    passes->add_flag("--markdown", q.markdown, "as a table for docs/passes.md");

    cli::bisect_request h;
    auto* bisect =
        declare("bisect", "find the pass that breaks a model, and the smallest model that shows it", h, &cli::bisect);
    bisect->add_option("model", h.model, "ONNX model")->required()->type_name("MODEL.onnx");
    bisect->add_option("--passes", h.passes, "the list, as in `gsub optimize`")->required()->type_name("LIST");
    bisect->add_option("-o,--output", h.output, "where the smallest model is written")->type_name("OUT.onnx");
    bisect->add_option("--rtol", h.relative, "bound of max |a-b| / max |b| of an output");
    bisect->add_option("--seed", h.seed, "seed of the inputs");
    bisect->add_option("--tries", h.tries, "runs of the pass while the model is made smaller");

    cli::inspect_request i;
    auto* inspect = declare("inspect", "tell what is in a model", i, &cli::inspect);
    inspect->add_option("model", i.model, "ONNX model")->required()->type_name("MODEL.onnx");
    inspect->add_flag("--text", i.text, "print the graph in the textual form");
    inspect->add_flag("--stages", i.stages, "tell convolutions, products and pools by the size of what they give");
    inspect->add_option("--dot", i.dot, "draw it for Graphviz")->type_name("FILE");
    inspect->add_option("--svg", i.svg, "draw it as a picture")->type_name("FILE");

    cli::models_request m;
    auto* models = declare("models", "list the built-in models, or write one", m, &cli::models);
    models->add_option("name", m.name, "the model to write; without: list them");
    models->add_option("-o,--output", m.output, "where to")->type_name("FILE.onnx");
    models->add_option("--seed", m.what.seed, "seed of the weights");
    for (auto const& option : cli::model_options()) {
        std::string const name{option.name}, help{option.summary};
        auto const given = [&m, name](std::int64_t value) { m.what.options.push_back({name, value}); };
        models->add_option_function<std::int64_t>("--" + name, given, help)
            ->group("Options of some models, as `gsub models` lists them")
            ->always_capture_default(false);
    }

    cli::ops_request p;
    auto* ops = declare("ops", "list the operators that are read, written and computed", p, &cli::ops);
    ops->add_flag("--markdown", p.markdown, "as docs/operators.md");

    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& e) { return app.exit(e) == 0 ? 0 : static_cast<int>(gsub::error_code::usage); }

    gsub::report::progress_reporter progress{stderr, quiet};
    gsub::runtime::thread_pool workers{{.threads = threads}};
    auto const fail = [&](gsub::error const& e) {
        progress.finish();
        std::fprintf(stderr, "gsub: %s\n", gsub::printable(e.message()).c_str());
        if (!json.empty())
            if (auto const written = gsub::io::write_file(json, to_text(describe(e))); !written)
                std::fprintf(stderr, "gsub: %s\n", gsub::printable(written.error().message()).c_str());
        return static_cast<int>(e.code());
    };
    try {
        auto const a = command({&progress, &workers});
        progress.finish();
        auto const text = gsub::printable(a.text);
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            throw gsub::error{gsub::error_code::environment, "stdout cannot be written"};
        if (!json.empty()) gsub::io::write_file(json, to_text(a.data)).value();
        return a.positive ? 0 : static_cast<int>(gsub::error_code::negative);
    } catch (gsub::error const& e) { return fail(e); } catch (std::bad_alloc const&) {
        return fail({gsub::error_code::environment, "out of memory"});
    } catch (std::exception const& e) { return fail({gsub::error_code::internal, e.what()}); }
}
