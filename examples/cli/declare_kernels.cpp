// Options of the commands that make kernels: `run`, `bench`, `calibrate`, `compile`, `tasks`, `tune`.
#include "options.hpp"

namespace cli {

namespace {

void declare_runs(command_line& line) {
    auto& r = line.request<run_request>();
    auto* run = line.declare("run", "compute a model's outputs", r, &cli::run);
    run->add_option("model", r.model, "ONNX model")->required()->type_name("MODEL.onnx");
    add_input_choice(run, r.given);
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
    add_device_choice(run, r.kernels);

    auto& t = line.request<bench_request>();
    auto* bench = line.declare("bench", "time a model", t, &cli::bench);
    bench->add_option("model", t.model, "ONNX model")->required()->type_name("MODEL.onnx");
    add_input_choice(bench, t.given);
    bench->add_option("--backend", t.backend, "what computes")->check(CLI::IsMember({"reference", "simd"}));
    add_kernel_choice(bench, t.kernels);
    add_device_choice(bench, t.kernels);
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
}

void declare_calibration(command_line& line) {
    auto& calibration = line.request<calibrate_request>();
    auto* calibrate =
        line.declare("calibrate", "measure the roofline of this machine with generated kernels, and its ports",
                     calibration, &cli::calibrate);
    calibrate->add_option("--ports", calibration.ports, "write the ports to this file, for `gsub tune --ports`")
        ->type_name("FILE");
    calibrate
        ->add_option("--profile", calibration.profile,
                     "the rates are added to this file, for `gsub optimize --profile`")
        ->type_name("FILE");
}

void declare_compilation(command_line& line) {
    auto& w = line.request<compile_request>();
    auto* compile =
        line.declare("compile", "write a model as sources that build and run without gsub", w, &cli::compile);
    compile->add_option("model", w.model, "ONNX model")->required()->type_name("MODEL.onnx");
    add_input_choice(compile, w.given);
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

    auto& d = line.request<tasks_request>();
    auto* tasks = line.declare(
        "tasks", "list the distinct kernels of a model: how often, how much, what there is to choose", d, &cli::tasks);
    tasks->add_option("model", d.model, "ONNX model")->required()->type_name("MODEL.onnx");
    add_input_choice(tasks, d.given);
    add_target(tasks, d.target);
    tasks
        ->add_option("--schedules", d.schedules,
                     "write their schedules to this file, for --schedules of other commands")
        ->type_name("FILE");
}

void declare_tuning(command_line& line) {
    auto& u = line.request<tune_request>();
    auto* tune = line.declare("tune", "find schedules and algorithms for the kernels of a model", u, &cli::tune);
    tune->add_option("model", u.model, "ONNX model")->required()->type_name("MODEL.onnx");
    add_input_choice(tune, u.given);
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
}

} // namespace

void declare_kernels(command_line& line) {
    declare_runs(line), declare_calibration(line), declare_compilation(line), declare_tuning(line);
}

} // namespace cli
