// gsub run and gsub compare: models on numbers.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/driver.hpp>
#ifdef GSUB_CLI_JIT
#include <gsub/driver/jit.hpp>
#endif
#include <gsub/driver/run_passes.hpp>
#include <gsub/eval.hpp>
#include <gsub/io.hpp>
#include <gsub/report.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace cli {

namespace {

using gsub::error;
using gsub::error_code;
using gsub::tensor;

std::string input_list(gsub::any_graph const& g) {
    std::string names;
    for (auto n : g.inputs())
        names += gsub::format_text("{}{}", names.empty() ? "" : ", ", gsub::quoted{g.name({n, 0})});
    return names;
}

// Operators that are missing come before wrong inputs: no input makes such a model run.
template <class Model>
void require_computable(Model const& model, std::string const& file) {
    auto missing = gsub::not_computable(model, gsub::table_of<gsub::eval_row, gsub::standard_ops>());
    if (!missing.empty()) throw error{std::move(missing)}.within(file);
}

using named_inputs = std::map<std::string, tensor, std::less<>>;

// Values of inputs, but those that have become constants.
named_inputs read_inputs(run_request const& r, gsub::any_graph const& g, std::span<std::string const> constants = {}) {
    named_inputs out;
    for (auto const& assignment : r.inputs) {
        if (std::ranges::any_of(constants, [&](auto const& name) { return assignment.starts_with(name + "="); }))
            continue;
        // A name may contain '=', a file's seldom does; the name decides.
        std::optional<gsub::value_id> input;
        std::string file;
        for (auto n : g.inputs())
            if (auto const name = g.name({n, 0}); assignment.starts_with(gsub::format_text("{}=", name)))
                input = {n, 0}, file = assignment.substr(name.size() + 1);
        if (!input)
            throw error{error_code::usage,
                        gsub::format_text("--input {} names no input; there are {}", assignment, input_list(g))};
        auto value = gsub::io::load_npy(file).value();
        // NumPy has no bf16; such inputs come as f32, as such outputs go.
        if (g.type(*input).element == gsub::dtype::bf16 && value.element() == gsub::dtype::f32)
            value = value.converted_to(gsub::dtype::bf16);
        out.insert_or_assign(std::string{g.name(*input)}, std::move(value));
    }
    return out;
}

std::vector<tensor> inputs_of(run_request const& r, gsub::graph const& g, named_inputs const& given) {
    auto filled = r.fill ? gsub::random_inputs(g, *r.fill) : std::vector<tensor>{};
    std::vector<tensor> out;
    std::string missing;
    for (std::size_t i = 0; i < g.inputs().size(); ++i) {
        auto const v = gsub::value_id{g.inputs()[i], 0};
        if (auto const found = given.find(g.name(v)); found != given.end()) {
            out.push_back(found->second);
        } else if (r.fill) {
            out.push_back(std::move(filled[i]));
        } else {
            missing += gsub::format_text("{}{} {}", missing.empty() ? "" : ", ", gsub::quoted{g.name(v)},
                                         to_string(g.type(v)));
        }
    }
    if (!missing.empty())
        throw error{error_code::usage,
                    gsub::format_text("no value for {}; give --input NAME=FILE.npy, or --fill SEED", missing)};
    return out;
}

// Whether all sizes are known, and all operators.
bool is_settled(gsub::module const& m) {
    auto const& g = m.find("main")->body;
    return std::ranges::none_of(g.order(), [&](auto n) {
        for (std::uint32_t i = 0; i < g.result_count(n); ++i)
            if (!g.type({n, i}).is_static()) return true;
        return g.is<gsub::ops::opaque>(n);
    });
}

// The model for the inputs that are given: where it is not settled without, their sizes are those of the model, and few
// numbers are settings, which become constants.
struct loaded_model {
    gsub::module model;
    std::vector<std::string> constants; // inputs that have become constants
};
loaded_model load_for(run_request const& r, session const& s) {
    auto options = loading(r.given, s, true);
    auto const load = [&] {
        return gsub::io::load_onnx_module(r.model, gsub::dialect::of<gsub::standard_ops>(),
                                          gsub::table_of<gsub::io::onnx_row, gsub::standard_ops>(), options)
            .value();
    };
    // What is said of the last one that is loaded counts.
    struct : gsub::observer {
        std::vector<std::string> notes;
        void on_note(std::string_view text) override { notes.emplace_back(text); }
    } heard;
    options.observe = &heard;
    loaded_model out{load(), {}};
    // What is wrong with an input is told later: first come operators that are missing.
    auto const given = gsub::capture([&] { return read_inputs(r, out.model.find("main")->body); });
    if (given && !given->empty() && !is_settled(out.model)) {
        auto const load_again = [&] {
            heard.notes.clear();
            out.model = load();
        };
        for (auto const& [name, value] : *given)
            options.shapes.emplace_back(name, gsub::ints(value.dims().begin(), value.dims().end()));
        load_again();
        constexpr std::int64_t few = 64;
        for (auto const whole : {true, false}) { // real numbers too, where integers are not enough: scales of a Resize
            if (is_settled(out.model)) break;
            auto const before = out.constants.size();
            for (auto const& [name, value] : *given)
                if (gsub::is_integer(value.element()) == whole && value.rank() <= 1 && value.elements() <= few) {
                    options.values.emplace_back(name, value);
                    out.constants.push_back(name);
                }
            if (out.constants.size() > before) load_again();
        }
    }
    for (auto const& note : heard.notes) s.observe->on_note(note);
    return out;
}

} // namespace

gsub::runtime::kernel_emitter emitter_in_memory() {
#ifdef GSUB_CLI_JIT
    return &gsub::jit_emitter;
#else
    return nullptr;
#endif
}

namespace {

gsub::kernels::winograd_accuracy accuracy_of(kernel_choice const& how) {
    using gsub::kernels::winograd_accuracy;
    return how.winograd == "off"  ? winograd_accuracy::off
           : how.winograd == "f2" ? winograd_accuracy::f2
                                  : winograd_accuracy::f4;
}

gsub::runtime::executable build_for_device(gsub::graph g, kernel_choice const& how, session const& s,
                                           std::shared_ptr<gsub::branch_functions const> branches) {
    auto const on = gsub::runtime::open_device(how.device).value();
    gsub::build_options options;
    options.threads = s.threads, options.observe = s.observe;
    options.branches = std::move(branches), options.device_only = how.device_only;
    options.winograd.accuracy = accuracy_of(how);
    auto const show = [&](gsub::kernel_graph const& k) {
        if (!how.dump_passes.empty()) gsub::dump_kernel_graph(k, how.dump_passes).value();
    };
    options.on_stage = show;
    auto const machine = gsub::target_of(*on);
    if (!machine.gpu && !how.records.empty())
        throw error{error_code::usage,
                    gsub::format_text("records name a machine, and {} is none of the table of GPUs", how.device)};
    auto const given = read_schedules(how, g, machine, s);
    if (given) options.schedules = *given, options.algorithms = *given;
    auto built = how.passes.empty() ? gsub::build(std::move(g), on, options).value()
                                    : gsub::build(passes_applied(std::move(g), how.passes, machine, s),
                                                  gsub::table_of<gsub::eval_row, gsub::standard_ops>(), on, options,
                                                  gsub::grouping::by_passes)
                                          .value();
    if (given) given->report(*s.observe);
    return built;
}

} // namespace

gsub::runtime::executable build_simd(gsub::graph g, kernel_choice const& how, session const& s) {
    return build_simd(std::move(g), how, s, [](gsub::kernel_graph const&) {});
}
gsub::runtime::executable build_simd(gsub::graph g, kernel_choice const& how, session const& s,
                                     gsub::function_ref<void(gsub::kernel_graph const&)> on_stage,
                                     std::shared_ptr<gsub::branch_functions const> branches) {
    if (!how.device.empty()) return build_for_device(std::move(g), how, s, std::move(branches));
    auto const machine = gsub::parse_target(how.target).value();
    if (!machine.gpu && !gsub::host().has(*machine.isa))
        throw error{
            error_code::environment,
            gsub::format_text("this processor has no {}; what it has is told by `gsub doctor`", machine.isa->name)};
    s.observe->on_progress({"build", 0, 0, {}});
    gsub::build_options options;
    options.threads = s.threads;
    options.observe = s.observe;
    options.branches = std::move(branches);
    options.emitter = how.compiled ? nullptr : emitter_in_memory();
    auto const show = [&](gsub::kernel_graph const& k) {
        if (!how.dump_passes.empty()) gsub::dump_kernel_graph(k, how.dump_passes).value();
        on_stage(k);
    };
    options.on_stage = show;
    options.winograd.accuracy = accuracy_of(how);
    auto const given = read_schedules(how, g, machine, s);
    if (given) options.schedules = *given, options.algorithms = *given;
    auto built = how.passes.empty() ? gsub::build(std::move(g), machine, options).value()
                                    : gsub::build(passes_applied(std::move(g), how.passes, machine, s),
                                                  gsub::table_of<gsub::eval_row, gsub::standard_ops>(), machine,
                                                  options, gsub::grouping::by_passes)
                                          .value();
    if (given) given->report(*s.observe);
#ifdef __GLIBC__
    malloc_trim(0); // what building took goes back to the system
#endif
    std::map<std::string, std::size_t> reference;
    for (auto const& step : built.steps())
        if (auto const* const call = std::get_if<gsub::runtime::reference_call>(&step.what))
            ++reference[operators_of(*call)];
    if (!reference.empty()) {
        std::string names;
        for (auto const& [name, count] : reference)
            names += gsub::format_text("{}{} {}", names.empty() ? "" : ", ", count, name);
        s.observe->on_note(gsub::format_text("on the reference runtime: {}", names));
    }
    return built;
}

answer run(run_request const& r, session const& s) {
    using clock = std::chrono::steady_clock;
    if (r.precision != "native" && (r.backend != "reference" || !r.kernels.device.empty()))
        throw error{error_code::usage, gsub::format_text("--precision {} needs --backend reference", r.precision)};
    s.observe->on_progress({"load", 0, 0, r.model});
    auto const evaluators = gsub::table_of<gsub::eval_row, gsub::standard_ops>();
    auto [model, constants] = load_for(r, s);
    require_computable(model, r.model);
    auto const branches = model.functions().size() > 1; // the graph alone is not enough
    auto const generated = r.backend == "simd" || !r.kernels.device.empty();
    if (branches && generated && !r.kernels.passes.empty())
        throw error{gsub::problem{error_code::unsupported,
                                  {},
                                  "If",
                                  "a list of passes for a model whose branches are not known before it runs",
                                  "leave out --passes"}}
            .within(r.model);
    gsub::graph g{branches ? model.find("main")->body : std::move(model.find("main")->body)};
    auto const inputs = inputs_of(r, g, read_inputs(r, g, constants));
    auto const names = g.info().output_names;
    gsub::evaluate_options const reference{
        .compute = r.precision == "f64" ? gsub::precision::f64 : gsub::precision::native, .threads = s.threads};
    std::vector<tensor> outputs;
    std::vector<double> seconds;
    std::optional<gsub::runtime::executable> built;
    std::shared_ptr<gsub::branch_functions const> run_by_if;
    if (branches) run_by_if = std::make_shared<gsub::branch_functions const>(model.branches(g).value());
    if (generated)
        built = build_simd(
            std::move(g), r.kernels, s, [](gsub::kernel_graph const&) {}, run_by_if);
    for (std::size_t i = 0; i < std::max<std::size_t>(r.repeat, 1); ++i) {
        s.observe->on_progress({"run", i, r.repeat, {}});
        auto const begin = clock::now();
        outputs = built      ? built->run(inputs, s.threads).value()
                  : branches ? gsub::evaluate_module(model, evaluators, inputs, reference).value()
                             : gsub::evaluate_graph(g, inputs, reference).value();
        seconds.push_back(std::chrono::duration<double>(clock::now() - begin).count());
    }
    auto const middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());

    answer a;
    a.data["peak_rss_mib"] = peak_memory() / (1 << 20);
    a.data["outputs"] = gsub::io::json::array();
    if (!r.output_dir.empty()) {
        std::error_code failed;
        std::filesystem::create_directories(r.output_dir, failed);
        if (failed) throw error{error_code::environment, gsub::format_text("{}: {}", r.output_dir, failed.message())};
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        auto const& name = names[i];
        gsub::io::json entry{{"name", name}, {"value", to_string(outputs[i])}};
        a.text += gsub::format_text("{}  {}\n", name, to_string(outputs[i]));
        if (!r.output_dir.empty()) {
            auto const file = (std::filesystem::path{r.output_dir} / gsub::format_text("output_{}.npy", i)).string();
            gsub::io::save_npy(file, outputs[i]).value();
            entry["file"] = file;
        }
        a.data["outputs"].push_back(std::move(entry));
    }
    a.text += gsub::format_text("{}{}", gsub::report::human(*middle, "s"), r.repeat > 1 ? " a run, median\n" : "\n");
    a.data["seconds"] = *middle;
    a.data["backend"] = r.kernels.device.empty() ? r.backend : r.kernels.device;
    a.data["precision"] = r.precision;
    return a;
}

answer compare(compare_request const& r, session const& s) {
    s.observe->on_progress({"load", 0, 2, r.a});
    auto const a = gsub::io::load_onnx(r.a, {.observe = s.observe}).value();
    s.observe->on_progress({"load", 1, 2, r.b});
    auto const b = gsub::io::load_onnx(r.b, {.observe = s.observe}).value();
    require_computable(a, r.a);
    require_computable(b, r.b);
    // Inputs are matched by name: they may stand in another order.
    auto const inputs = gsub::random_inputs(a, r.seed);
    if (a.inputs().size() != b.inputs().size())
        throw error{error_code::negative,
                    gsub::format_text("the models have {} and {} inputs", a.inputs().size(), b.inputs().size())};
    std::vector<tensor> for_b;
    for (auto n : b.inputs()) {
        auto const name = b.name({n, 0});
        auto const nodes = a.inputs();
        auto const at = std::find_if(nodes.begin(), nodes.end(), [&](auto m) { return a.name({m, 0}) == name; });
        if (at == nodes.end())
            throw error{error_code::negative,
                        gsub::format_text("the second model's input {} is none of the first's: {}", gsub::quoted{name},
                                          input_list(a))};
        for_b.push_back(inputs[static_cast<std::size_t>(at - nodes.begin())]);
    }
    if (a.info().output_names.size() != b.info().output_names.size())
        throw error{error_code::negative,
                    gsub::format_text("the models have {} and {} outputs", a.info().output_names.size(),
                                      b.info().output_names.size())};
    s.observe->on_progress({"run", 0, 2, r.a});
    auto const of_a = gsub::evaluate_graph(a, inputs, {.threads = s.threads}).value();
    s.observe->on_progress({"run", 1, 2, r.b});
    auto const of_b = gsub::evaluate_graph(b, for_b, {.threads = s.threads}).value();

    answer out;
    gsub::report::table t{{"output", "max |a-b| / max |b|", "max |a-b|", "mean |a-b|", ""}};
    out.data["outputs"] = gsub::io::json::array();
    for (std::size_t i = 0; i < of_a.size(); ++i) {
        auto const name = a.info().output_names[i];
        auto const d = gsub::compare(of_a[i], of_b[i], r.relative, r.absolute);
        if (!d) {
            out.positive = false;
            t.add({name, "", "", "", d.error().message()});
            out.data["outputs"].push_back({{"name", name}, {"equal", false}, {"reason", d.error().message()}});
            continue;
        }
        auto const equal = d->same_specials && (d->max_relative <= r.relative || d->max_absolute <= r.absolute);
        out.positive = out.positive && equal;
        t.add({name, gsub::report::brief(d->max_relative), gsub::report::brief(d->max_absolute),
               gsub::report::brief(d->mean_absolute), equal ? "equal" : "DIFFERS"});
        out.data["outputs"].push_back({{"name", name},
                                       {"equal", equal},
                                       {"max_relative", d->max_relative},
                                       {"max_absolute", d->max_absolute},
                                       {"mean_absolute", d->mean_absolute}});
    }
    out.text = t.text() + (out.positive ? "equal\n" : "different\n");
    out.data["equal"] = out.positive;
    return out;
}

} // namespace cli
