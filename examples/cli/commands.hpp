// The commands of `gsub`: each takes its request, and gives what is printed, what goes into the JSON file, and whether
// the answer is yes. Errors are thrown as `gsub::error`, whose code is the exit code.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/observer.hpp>
#include <gsub/core/result.hpp>
#include <gsub/io/json.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/models/builder_options.hpp>
#include <gsub/runtime/executable.hpp>
#include <gsub/target/target.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cli {

/// What every command has at hand.
struct session {
    gsub::observer* observe; ///< hears progress and notes
    gsub::executor* threads; ///< for computing
};

/// Sizes and values of a model's inputs, each `NAME=...`; see `loading`.
struct input_choice {
    std::vector<std::string> dims, shapes, values;
};
/// How a model is read with them. *Errors* `usage` where one cannot be read, `environment`, as `load_npy`.
gsub::io::load_options loading(input_choice const& how, session const& s, bool map = false);

/// A command's answer. `positive` is false where models differ or a rule is refuted.
struct answer {
    std::string text;
    gsub::io::json data = gsub::io::json::object();
    bool positive = true;
};

/// What graphs are costed by; see cost_choice.hpp.
struct cost_choice {
    std::string cost = "lowered";
    std::string goal; ///< latency, memory, energy or flops, or several with weights, in place of a cost; empty: none
    std::vector<double> joules;   ///< a FLOP, a byte; empty: the library's
    std::vector<double> roofline; ///< launch seconds, FLOP/s, bytes/s; empty: the profile's, or the library's
    std::string split_lowering = "free";
    std::string profile;               ///< file of measured times and rates, empty: none
    std::string backend = "reference"; ///< whose times `measured` takes; or `simd`
    std::string target = "host";       ///< the machine that `lowered` predicts, as `parse_target` reads it
};

struct optimize_request : cost_choice {
    input_choice given;
    std::string model, output;
    double alpha = 1.05;
    std::vector<double> schedule; ///< further values of alpha
    std::string admit = "best";
    bool plateau = false;
    std::uint64_t budget = 1000;
    std::size_t queue = std::numeric_limits<std::size_t>::max();
    std::optional<double> seconds;
    std::string split = "auto"; ///< or `none`, or kernels in a part at most
    std::uint64_t seed = 1;
    std::string rules = "all";
    std::string taso;       ///< use the proved rules of this file too; empty: none
    std::string rules_file; ///< the same in textual form
    bool verify = false;
    bool check = false;
    bool measure = false; ///< time input and result, and keep the faster one
    std::string dot, svg;
    std::string report;             ///< page of HTML; empty: none
    std::string trace;              ///< events of the search as lines of JSON; empty: none
    std::string resume;             ///< trace of a search that goes on; empty: none
    std::string replay;             ///< trace whose rewrites are made again in place of a search; empty: none
    std::string passes;             ///< run this list instead of a search; empty: search
    std::string dump_passes;        ///< folder for what each pass made; empty: none
    std::vector<std::string> apply; ///< `RULE@NODE`: these rewrites in place of a search; empty: search
    bool objectives = false;        ///< a search under each of some cost models, and all metrics of what each gives
};
answer optimize(optimize_request const& r, session const& s);
/// What `optimize` does where it is given rewrites.
answer apply_rules(optimize_request const& r, session const& s);
/// What `optimize` does where it is asked for the metrics of each objective.
answer compare_objectives(optimize_request const& r, session const& s);
/// What `optimize` does where it is given passes.
answer run_passes(optimize_request const& r, session const& s);

/// Files that schedules and algorithms of kernels come from.
struct schedule_files {
    std::string schedules; ///< file of a `schedule_table`; empty: none
    std::string records;   ///< file of tuning records; empty: none
};
/// How kernels are generated.
struct kernel_choice : schedule_files {
    std::string winograd = "f4"; ///< or `f2`, `off`
    std::string target = "host"; ///< as `parse_target` reads it
    std::string dump_passes;     ///< folder for what each pass of lowering made; empty: none
    std::string passes;          ///< a list that runs before lowering; empty: `default`
    bool compiled = false;       ///< kernels are not emitted in memory
    std::string device;          ///< as `open_device` takes it; empty: this processor
    bool device_only = false;    ///< no step may run on the host
};
/// The emitter of kernels in memory that this program has, or null.
gsub::runtime::kernel_emitter emitter_in_memory();
/// What the files say, as the functions of `build_options`, which refer to it.
class schedules_of_files {
public:
    gsub::loop::configuration operator()(gsub::kernels::descriptor const& d, gsub::isa const& isa,
                                         gsub::loop::config_space const& space) const;
    std::size_t operator()(std::span<gsub::kernels::descriptor const> alternatives, gsub::isa const& isa) const;
    /// Tells how many kernels had records, and what was not understood.
    void report(gsub::observer& to) const;

private:
    friend std::optional<schedules_of_files> read_schedules(schedule_files const&, gsub::any_graph const&, gsub::target,
                                                            session const&);
    struct state;
    std::shared_ptr<state> state_;
};
/// Reads such files, or nothing where there is none; a kernel of the graph that they do not name is counted. Records
/// are those of the machine with the session's threads. *Errors* throws `environment`, and `invalid_input` with every
/// line of a table that is wrong.
std::optional<schedules_of_files> read_schedules(schedule_files const& files, gsub::any_graph const& g,
                                                 gsub::target machine, session const& s);

struct tune_request {
    input_choice given;
    std::string model;
    std::string target = "host";   ///< as `parse_target` reads it
    std::string method = "hybrid"; ///< or `static`, `measured`
    std::string model_of_time; ///< `closed`, `counted`, `scheduled`, `linear`, `assembled`; empty: counted, its best by
                               ///< the target
    std::string records;       ///< file that records are appended to; empty: none
    std::string passes;        ///< a list that runs before lowering; empty: `default`
    std::string ports;         ///< file of `gsub calibrate --ports`; empty: the built-in row
    std::string report, svg;   ///< page, and its scatter plot alone, that are written; empty: none
    std::optional<double> seconds;
    std::uint64_t points = 0;       ///< candidates of an algorithm that the cost model scores; 0: the library's number
    std::size_t trials = 0;         ///< candidates of a task that are measured; 0: the same
    std::optional<double> per_hour; ///< of an hour of this machine
    std::uint64_t seed = 1;
    bool check = true;        ///< builds the network untuned and tuned, and times both
    bool compiled = false;    ///< all candidates are compiled, none is made in memory
    bool from_random = false; ///< a measured search begins anywhere, and takes the best that it has seen
    bool isolate = true;      ///< candidates are timed in a process of their own, which may crash or hang
};
answer tune(tune_request const& r, session const& s);

struct tasks_request {
    input_choice given;
    std::string model;
    std::string target = "host"; ///< as `parse_target` reads it
    std::string schedules;       ///< file that is written; empty: none
};
answer tasks(tasks_request const& r, session const& s);

/// What runs where a list of passes is given: the module that it makes of a graph.
gsub::module passes_applied(gsub::any_graph g, std::string const& list, gsub::target const& machine, session const& s);

struct explain_request : cost_choice {
    input_choice given;
    std::string model, rule;
    std::string node;         ///< by name; empty: everywhere
    bool weights = false;     ///< weights that the rewrites read and build, too
    bool kernels = false;     ///< kernels in place of a rule
    bool features = false;    ///< what each kernel does, too
    kernel_choice kernels_of; ///< how they are generated
};
answer explain(explain_request const& r, session const& s);
/// What `explain` does where it is asked for kernels.
answer explain_kernels(explain_request const& r, session const& s);

struct passes_request {
    bool markdown = false;
};
answer passes(passes_request const& r, session const& s);

struct bisect_request {
    input_choice given;
    std::string model, passes, output;
    double relative = 1e-3;
    std::uint64_t seed = 1;
    std::size_t tries = 2000;
};
answer bisect(bisect_request const& r, session const& s);

struct run_request {
    input_choice given;
    std::string model;
    std::vector<std::string> inputs; ///< `NAME=FILE.npy`
    std::string output_dir;
    std::optional<std::uint64_t> fill;
    std::size_t repeat = 1;
    std::string backend = "reference";
    kernel_choice kernels;
    std::string precision = "native"; ///< or `f64`: everything in double, on the reference runtime
};
answer run(run_request const& r, session const& s);

/// Builds generated kernels; says which operators have none. `on_stage` is shown each kernel graph, `branches` are what
/// `If` nodes run.
gsub::runtime::executable build_simd(gsub::graph g, kernel_choice const& how, session const& s,
                                     gsub::function_ref<void(gsub::kernel_graph const&)> on_stage,
                                     std::shared_ptr<gsub::branch_functions const> branches = {});
gsub::runtime::executable build_simd(gsub::graph g, kernel_choice const& how, session const& s);

struct bench_request {
    input_choice given;
    std::string model;
    std::string backend = "simd";
    kernel_choice kernels;
    std::size_t runs = 50, warmup = 5;
    bool paper = false; ///< 1000 runs after 100
    std::optional<double> seconds;
    std::uint64_t seed = 1;
    bool profile = false;
};
answer bench(bench_request const& r, session const& s);

struct calibrate_request {
    std::string profile; ///< file that the rates are added to; empty: none
    std::string ports;   ///< file that the measured ports are written to; empty: none
};
answer calibrate(calibrate_request const& r, session const& s);

/// The most memory that this process has had resident, in bytes.
double peak_memory();

struct compile_request : schedule_files {
    input_choice given;
    std::string model, output;
    std::string name;            ///< empty: made of the file's
    std::string target = "host"; ///< as `parse_target` reads it
    std::string passes;          ///< a list that runs before lowering; empty: `default`
    bool optimize = false;
    bool own_threads = true; ///< with a pool of threads in what is written
};
answer compile(compile_request const& r, session const& s);

struct cache_request {
    std::string action = "ls"; ///< `ls`, `gc` or `verify`
    std::string folder;        ///< empty: the default
    std::uint64_t limit_bytes = std::uint64_t{1} << 30;
};
answer cache(cache_request const& r, session const& s);

/// What this machine has for generated kernels. The answer is no where there is no compiler.
answer doctor(session const& s);

struct compare_request {
    std::string a, b;
    double relative = 1e-3, absolute = 1e-6;
    std::uint64_t seed = 1;
};
answer compare(compare_request const& r, session const& s);

struct check_request {
    input_choice given;
    std::string model, target = "host";
};
answer check(check_request const& r, session const& s);

struct convert_request {
    input_choice given;
    std::string model, output;
    std::int64_t opset = 0; ///< 0: as `gsub::io::save_options` says
};
answer convert(convert_request const& r, session const& s);

struct verify_request {
    std::string rules = "all";
    std::string taso;       ///< verify the rules of this file instead of the library's; empty: none
    std::string rules_file; ///< the same in textual form
    std::uint64_t seed = 1;
};
answer verify_rules(verify_request const& r, session const& s);

struct inspect_request {
    input_choice given;
    std::string model, dot, svg;
    bool text = false;
    bool stages = false; ///< its convolutions and products by size
};
answer inspect(inspect_request const& r, session const& s);

struct models_request {
    std::string name, output;
    gsub::models::build_request what; ///< seed and options
};
answer models(models_request const& r, session const& s);
/// Each option that some built-in model has, once.
std::vector<gsub::models::option_info> model_options();

/// What errors mean: all, or the one of a number.
struct errors_request {
    std::string number;
    bool markdown = false;
};
answer errors(errors_request const& r, session const& s);

struct ops_request {
    bool markdown = false;
};
answer ops(ops_request const& r, session const& s);

/// The rules that `--rules` chooses from.
struct rules_request {
    bool markdown = false;
};
answer rules(rules_request const& r);

} // namespace cli
