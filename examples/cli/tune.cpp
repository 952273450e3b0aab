// gsub tune: schedules and algorithms for the kernels of a model, found by a cost model, by the clock, or by both.
#include "commands.hpp"
#include "second_model.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/linear_score.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/nest_time.hpp>
#include <gsub/cost/port_file.hpp>
#include <gsub/cost/scheduled_time.hpp>
#include <gsub/driver.hpp>
#include <gsub/driver/compare_speed.hpp>
#include <gsub/eval.hpp>
#include <gsub/io.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/report.hpp>
#include <gsub/report/tuning_page.hpp>
#include <gsub/tune/database.hpp>
#include <gsub/tune/record_log.hpp>
#include <gsub/tune/records_source.hpp>
#include <gsub/tune/tuner.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>

namespace cli {

namespace {

using gsub::tune::tuned_task;
using gsub::tune::tuning_task;

std::atomic<bool> interrupted{false};

// Stops the tuner at Ctrl-C: what has been found until then is kept. A second one ends the program as usual.
class interrupt_watch {
public:
    interrupt_watch() {
        interrupted = false;
        before_ = std::signal(SIGINT, [](int) {
            interrupted = true;
            std::signal(SIGINT, SIG_DFL);
        });
        watcher_ = std::jthread{[this](std::stop_token const& done) {
            while (!done.stop_requested()) {
                if (interrupted) source_.request_stop();
                std::this_thread::sleep_for(std::chrono::milliseconds{20});
            }
        }};
    }
    interrupt_watch(interrupt_watch const&) = delete;
    interrupt_watch& operator=(interrupt_watch const&) = delete;
    ~interrupt_watch() { std::signal(SIGINT, before_); }
    [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

private:
    std::stop_source source_;
    void (*before_)(int) = nullptr;
    std::jthread watcher_;
};

// Appends records to the file and the database, and tells how far the tuner is.
class tuning_progress : public gsub::tune::tuning_observer {
public:
    tuning_progress(session const& s, std::optional<gsub::tune::record_log> log) : s_(s), log_(std::move(log)) {}

    void on_task(std::size_t, tuning_task const& t, std::size_t done, std::size_t all) override {
        auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
        auto text = gsub::format_text("{}", gsub::kernels::kind_of(t.what()));
        if (done > 0)
            text += gsub::format_text(
                ", best so far {} of untuned, {} left", gsub::report::fixed(before_ > 0 ? after_ / before_ : 1, 3),
                gsub::report::human(seconds / static_cast<double>(done) * static_cast<double>(all - done), "s"));
        s_.observe->on_progress({"tune", done, all, text});
    }
    void on_record(gsub::tune::record const& r) override {
        if (log_) log_->append(r).value();
        records.add(r);
    }
    void on_tuned(std::size_t, tuning_task const& t, tuned_task const& done) override {
        auto const before = done.untuned_seconds() * static_cast<double>(t.kernels);
        before_ += before, after_ += before * done.ratio();
    }

    gsub::tune::database records{};

private:
    session const& s_;
    std::optional<gsub::tune::record_log> log_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    double before_ = 0, after_ = 0;
};

gsub::tune::tuning_options options_of(tune_request const& r, session const& s) {
    gsub::tune::tuning_options o;
    using gsub::tune::tuning_method;
    o.method = r.method == "static"   ? tuning_method::predicted
               : r.method == "hybrid" ? tuning_method::hybrid
                                      : tuning_method::measured;
    if (r.method == "measured") o.trials = 64;
    if (r.seconds) o.seconds = *r.seconds;
    if (r.points > 0) o.points = r.points;
    if (r.trials > 0) o.trials = r.trials;
    o.seed = r.seed, o.threads = s.threads, o.timing.threads = s.threads, o.timing.jit.threads = s.threads;
    o.timing.emitter = r.compiled ? nullptr : emitter_in_memory();
    o.from_counted = !r.from_random;
    if (r.isolate) o.isolation.emplace();
    return o;
}

gsub::module prepared(gsub::any_graph g, tune_request const& r, gsub::target const& machine, session const& s) {
    if (!r.passes.empty()) return passes_applied(std::move(g), r.passes, machine, s);
    gsub::module m;
    m.add("main", std::move(g));
    return m;
}

void tell_task(tuning_task const& t, tuned_task const& done, gsub::report::table& table, gsub::io::json& data) {
    auto const seconds = [](double v) { return gsub::report::human(v, "s"); };
    auto const tuned = done.best != t.untuned;
    auto const schedule = to_string(t.point(done.best));
    auto const& algorithm = t.algorithms[done.best.algorithm].computes;
    table.add({gsub::kernels::kind_of(algorithm), gsub::format_text("{}", t.kernels),
               gsub::report::fixed(t.operations / 1e6, 2), seconds(done.untuned_predicted), seconds(done.predicted),
               done.untuned_measured ? seconds(*done.untuned_measured) : "",
               done.measured ? seconds(*done.measured) : "", gsub::report::fixed(done.ratio(), 3),
               tuned ? schedule : "untuned"});
    data.push_back({{"kernel", gsub::kernels::to_string(t.what())},
                    {"kind", gsub::kernels::kind_of(algorithm)},
                    {"kernels", t.kernels},
                    {"flop", t.operations},
                    {"scored", done.scored},
                    {"trials", done.trials},
                    {"failed", done.failed},
                    {"untuned_predicted_seconds", done.untuned_predicted},
                    {"predicted_seconds", done.predicted},
                    {"ratio", done.ratio()},
                    {"tuned", tuned},
                    {"schedule", schedule}});
    if (done.untuned_measured) data.back()["untuned_seconds"] = *done.untuned_measured;
    if (done.measured) data.back()["seconds"] = *done.measured;
}

// The ports of a file, which must be of the target's micro-architecture.
std::optional<gsub::measured_port_table> ports_of(tune_request const& r, gsub::target const& machine) {
    if (r.ports.empty()) return std::nullopt;
    auto const& core = gsub::microarchitecture_of(machine);
    auto const found = gsub::cost::read_ports(r.ports).value();
    if (found.core != core.name)
        throw gsub::error{gsub::error_code::usage,
                          gsub::format_text("{} has the ports of {}, the target is a {}", gsub::quoted{r.ports},
                                            gsub::quoted{found.core}, core.name)};
    return gsub::measured_port_table{found, core};
}

// Times the model as it is built without records and with them, in turns.
std::string time_both(gsub::any_graph const& g, tune_request const& r, gsub::target const& machine,
                      gsub::tune::database const& records, session const& s, gsub::io::json& data) {
    s.observe->on_progress({"check", 0, 0, {}});
    auto const evaluators = gsub::table_of<gsub::eval_row, gsub::standard_ops>();
    gsub::build_options options;
    options.threads = s.threads, options.observe = s.observe, options.emitter = emitter_in_memory();
    auto const groups = r.passes.empty() ? gsub::grouping::by_kernels : gsub::grouping::by_passes;
    auto const build = [&] {
        return gsub::build(prepared(g, r, machine, s), evaluators, machine, options, groups).value();
    };
    auto const untuned = build();
    gsub::tune::record_lookup const lookup{records, machine};
    auto const predicted = gsub::cost::lowered::of(g, machine);
    gsub::tune::records_source<gsub::cost::lowered> const source{lookup, predicted};
    gsub::tune::recorded_algorithms<gsub::cost::lowered> const algorithms{lookup, predicted};
    auto const point = [&](gsub::kernels::descriptor const& d, gsub::isa const& on,
                           gsub::loop::config_space const& space) { return source.choose(d, on, space); };
    auto const algorithm = [&](std::span<gsub::kernels::descriptor const> all, gsub::isa const& on) {
        return algorithms.choose(all, on);
    };
    options.schedules = gsub::schedule_function{point}, options.algorithms = gsub::algorithm_function{algorithm};
    auto const tuned = build();
    auto const inputs = gsub::random_inputs(g, r.seed);
    auto const expected = untuned.run(inputs, s.threads).value(), found = tuned.run(inputs, s.threads).value();
    double apart = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
        apart = std::max(apart, gsub::compare(found[i], expected[i]).value().max_relative);
    auto const told =
        gsub::compare_speed(untuned, inputs, tuned, inputs, {.rounds = 31, .least_seconds = 0.05, .threads = s.threads})
            .value();
    data["check"] = {{"untuned_seconds", told.first},
                     {"tuned_seconds", told.second},
                     {"ratio", told.ratio},
                     {"low", told.low},
                     {"high", told.high},
                     {"relative_difference", apart}};
    return gsub::format_text("the network: untuned {}, tuned {}: {} of it (95 %: {} to {}); results differ by {:.1e}\n",
                             gsub::report::human(told.first, "s"), gsub::report::human(told.second, "s"),
                             gsub::report::fixed(told.ratio, 3), gsub::report::fixed(told.low, 3),
                             gsub::report::fixed(told.high, 3), apart);
}

// Writes the page and the picture that are asked for. What was timed of the whole network stands in the data.
void write_pictures(std::vector<tuning_task> const& tasks, gsub::tune::tuning_report const& done, tune_request const& r,
                    gsub::tune::tuning_options const& o, answer& a) {
    auto const written = [&](char const* name, std::string const& path, std::string const& text) {
        gsub::io::write_file(path, text).value();
        a.text += gsub::format_text("{:<8} {}\n", name, path);
        a.data[name] = path;
    };
    if (!r.report.empty()) {
        gsub::report::tuning_facts facts{.model = r.model,
                                         .target = a.data["target"].get<std::string>(),
                                         .cost_model = "predicted time of the kernels that a build would make",
                                         .method = o.method,
                                         .per_hour = r.per_hour,
                                         .settings = {{"Points", gsub::format_text("{}", o.points)},
                                                      {"Trials", gsub::format_text("{}", o.trials)},
                                                      {"Seed", gsub::format_text("{}", r.seed)}}};
        if (r.seconds) facts.settings.emplace_back("Budget", gsub::format_text("{} s", *r.seconds));
        if (auto const check = a.data.find("check"); check != a.data.end()) {
            auto const number = [&](char const* name) { return check->at(name).get<double>(); };
            facts.network = gsub::report::network_times{number("untuned_seconds"), number("tuned_seconds"),
                                                        number("ratio"), number("low"), number("high")};
        }
        written("report", r.report, gsub::report::to_html(tasks, done, facts));
    }
    if (r.svg.empty()) return;
    if (auto const drawn = gsub::report::scatter_svg(tasks, done))
        written("svg", r.svg, *drawn);
    else
        a.text += "nothing was timed, so there is nothing to draw\n";
}

} // namespace

answer tune(tune_request const& r, session const& s) {
    s.observe->on_progress({"load", 0, 0, r.model});
    gsub::any_graph g = gsub::io::load_onnx(r.model, loading(r.given, s)).value();
    auto machine = gsub::parse_target(r.target).value();
    machine.threads = static_cast<unsigned>(s.threads->concurrency());
    auto const runs_here = !machine.gpu && gsub::host().has(*machine.isa);
    if (r.from_random && r.method != "measured")
        throw gsub::error{gsub::error_code::usage, "--from-random is for --method measured"};
    if (machine.gpu && !(r.model_of_time.empty() && r.ports.empty()))
        throw gsub::error{gsub::error_code::usage, "--model and --ports are for processors: a GPU has one model"};
    if (r.method != "static" && machine.gpu)
        throw gsub::error{
            gsub::error_code::unsupported,
            gsub::format_text("kernels of {} are not timed; --method static tunes for it", machine.gpu->title)};
    if (r.method != "static" && !runs_here)
        throw gsub::error{
            gsub::error_code::environment,
            gsub::format_text("this processor has no {}; --method static tunes for it", machine.isa->name)};
    if (r.method != "static" && !machine.name.empty() && machine.name != gsub::host().name)
        throw gsub::error{
            gsub::error_code::environment,
            gsub::format_text("this processor is no {}; --method static tunes for it", gsub::quoted{machine.name})};
    auto const model = r.model_of_time == "scheduled" ? gsub::cost::scheduled_cycles()
                       : r.model_of_time == "linear"  ? gsub::cost::linear_cycles()
                       : r.model_of_time == "closed"  ? gsub::cost::closed_form_cycles()
                                                      : gsub::cost::kernel_time_model{};
    auto const measured = ports_of(r, machine);
    auto const* const ports = measured ? &measured->table() : nullptr;
    auto const costs =
        gsub::cost::lowered::of(g, machine, {.threads = machine.threads, .model = model, .ports = ports});
    auto const second = second_model_of(r.model_of_time, machine, s);
    auto const better =
        gsub::cost::lowered::of(g, machine, {.threads = machine.threads, .model = second.what, .ports = ports});
    std::vector<gsub::tune::tuning_task> tasks;
    auto const keep = [&](gsub::kernel_graph const& k) {
        if (k.stage == gsub::lowering_stage::scheduled)
            tasks = gsub::tune::tuning_tasks_of(k, isa_of(machine), {gsub::kernels::winograd_options_of(machine)});
    };
    gsub::build_options planning;
    planning.threads = s.threads, planning.observe = s.observe;
    planning.on_stage = gsub::function_ref<void(gsub::kernel_graph const&)>{keep};
    static_cast<void>(gsub::plan(prepared(g, r, machine, s), gsub::table_of<gsub::eval_row, gsub::standard_ops>(),
                                 machine, planning,
                                 r.passes.empty() ? gsub::grouping::by_kernels : gsub::grouping::by_passes)
                          .value());

    std::optional<gsub::tune::record_log> log;
    if (!r.records.empty()) log = gsub::tune::record_log::open(r.records).value();
    tuning_progress progress{s, std::move(log)};
    auto options = options_of(r, s);
    interrupt_watch const watch;
    options.stop = watch.token(), options.second_model = second.there() ? &better : nullptr;
    auto const done = gsub::tune::tune(tasks, costs, machine, options, progress).value();

    answer a;
    a.data = {{"model", r.model},
              {"target", to_string(machine)},
              {"method", r.method},
              {"ports", r.ports.empty() ? "built-in" : r.ports},
              {"score", machine.gpu ? "static_gpu" : model.name},
              {"seconds", done.seconds},
              {"tasks", tasks.size()},
              {"tuned", done.tuned},
              {"stopped_by", to_string(done.why)},
              {"records", r.records},
              {"kernels", gsub::io::json::array()}};
    gsub::report::table table{
        {"task", "kernels", "MFLOP", "predicted", "tuned", "measured", "tuned", "ratio", "schedule"}};
    for (std::size_t i = 0; i < tasks.size(); ++i) tell_task(tasks[i], done.tasks[i], table, a.data["kernels"]);
    auto const totals = gsub::tune::totals_of(tasks, done);
    a.data["ratio"] = totals.ratio();
    a.data["scored"] = totals.scored, a.data["trials"] = totals.trials, a.data["failed"] = totals.failed;
    a.text = table.text();
    a.text += gsub::format_text("\n{} of {} tasks in {}: {} candidates scored, {} timed, {} failed; kernels take {} of "
                                "untuned\n",
                                done.tuned, tasks.size(), gsub::report::human(done.seconds, "s"), totals.scored,
                                totals.trials, totals.failed, gsub::report::fixed(totals.ratio(), 3));
    tell_second_model(second, costs, machine, a);
    if (r.per_hour) {
        a.data["price"] = *r.per_hour * done.seconds / 3600;
        a.text += gsub::format_text("price    {}\n", gsub::report::fixed(*r.per_hour * done.seconds / 3600, 4));
    }
    if (r.check && runs_here) a.text += time_both(g, r, machine, progress.records, s, a.data);
    if (!r.records.empty()) a.text += gsub::format_text("written  {}\n", r.records);
    write_pictures(tasks, done, r, options, a);
    return a;
}

} // namespace cli
