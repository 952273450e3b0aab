// Options of `optimize` and `explain`.
#include "options.hpp"

namespace cli {

namespace {

// What is searched, and how.
void add_search(CLI::App* optimize, optimize_request& o) {
    optimize->add_option("model", o.model, "ONNX model to optimize")->required()->type_name("IN.onnx");
    add_input_choice(optimize, o.given);
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
}
// What becomes of the result.
void add_result(CLI::App* optimize, optimize_request& o) {
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
}
// What is done instead of a search, and which options of one it leaves without a meaning.
void add_replay(CLI::App* optimize, optimize_request& o) {
    auto* replay =
        optimize
            ->add_option("--replay", o.replay,
                         "in place of a search, make and check the rewrites of the one that wrote this trace")
            ->type_name("FILE");
    for (auto const* of_search :
         {"--resume", "--trace", "--alpha", "--schedule", "--queue", "--plateau", "--budget", "--time"})
        replay->excludes(optimize->get_option(of_search));
}
void add_pass_list(CLI::App* optimize, optimize_request& o) {
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
}
void add_rewrites(CLI::App* optimize, optimize_request& o) {
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
}

} // namespace

void declare_search(command_line& line) {
    auto& o = line.request<optimize_request>();
    auto* optimize = line.declare("optimize", "find a cheaper graph by relaxed substitution", o, &cli::optimize);
    add_search(optimize, o), add_result(optimize, o);
    add_replay(optimize, o), add_pass_list(optimize, o), add_rewrites(optimize, o);

    auto& y = line.request<explain_request>();
    auto* explain = line.declare("explain", "tell where a rule applies, or which kernels compute a model, and why", y,
                                 &cli::explain);
    explain->add_option("model", y.model, "ONNX model")->required()->type_name("MODEL.onnx");
    add_input_choice(explain, y.given);
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
}

} // namespace cli
