#pragma once

#include <gsub/core/format.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/driver/default_pipeline.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/lower/grouped_graph.hpp>
#include <gsub/lower/kernel_layouts.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

// What is said of values in layouts that no kernel reads, once a layout.
GSUB_LAZY [[nodiscard]] std::vector<std::string> layouts_not_stored(any_graph const& g, isa const& isa) {
    std::vector<std::string> notes;
    std::set<std::string_view> told;
    for (auto n : g.order())
        for (std::uint32_t port = 0; port < g.result_count(n); ++port)
            if (auto const& t = g.type({n, port});
                !t.layout.empty() && !in_channel_blocks(t, isa) && told.insert(t.layout.text()).second)
                notes.push_back(format_text("layout {} of {}: no kernel for {} reads it; such values stay row-major",
                                            quoted{t.layout.text()}, g.display_name(n), isa.name));
    return notes;
}

// Whether kernels of the application compute operators of the graph's set, which nothing may take apart before.
GSUB_LAZY [[nodiscard]] bool has_own_operators(any_graph const& g, std::span<runtime::user_kernel const> kernels) {
    auto const computed = [&](op_info const& op) {
        return std::ranges::any_of(
            kernels, [&](runtime::user_kernel const& k) { return k.domain == op.domain && k.op_type == op.name; });
    };
    return !kernels.empty() &&
           std::ranges::any_of(g.order(), [&](node_id n) { return !g.is<ops::opaque>(n) && computed(g.op(n)); });
}

} // namespace detail

GSUB_LAZY_BODY result<runtime::program> plan(any_graph g, eval_table evaluators, isa const& isa,
                                             build_options const& options) {
    if (options.lay_out && options.generate && options.within.empty() && default_pipeline_pays(g) &&
        !detail::has_own_operators(g, options.kernels)) {
        module m;
        m.add("main", std::move(g));
        if (options.branches)
            for (auto const& [name, body] : *options.branches) m.add(name, body);
        pass_context cx;
        cx.machine.isa = &isa;
        cx.evaluators = evaluators.data();
        cx.threads = options.threads;
        if (auto done = run_pass(default_pipeline(), m, cx); !done) return done.error();
        g = std::move(m.find("main")->body);
    }
    auto lowered = lower_graph(std::move(g), evaluators, isa, lowering_of(options));
    if (!lowered) return lowered.error();
    return emit(std::move(*lowered), isa, options.threads);
}

GSUB_LAZY_BODY result<runtime::program> plan(any_graph g, eval_table evaluators, target const& machine,
                                             build_options const& options) {
    auto chosen = options;
    auto const& isa = options.isa ? *options.isa : isa_of(machine);
    if (machine.gpu && &isa != &isa::warp)
        return error{error_code::usage, format_text("{} has no kernels of {}", machine.gpu->title, isa.name)};
    chosen.winograd = kernels::winograd_options_of(machine);
    chosen.winograd.accuracy = options.winograd.accuracy;
    if (!options.generate || (options.algorithms && options.schedules))
        return plan(std::move(g), evaluators, isa, chosen);
    auto const costs = cost::lowered::of(g, machine, {.isa = &isa, .winograd = options.winograd.accuracy});
    auto const algorithm = [&](std::span<kernels::descriptor const> all, gsub::isa const& on) {
        return costs.choose(all, on);
    };
    auto const point = [&](kernels::descriptor const& d, gsub::isa const& on, loop::config_space const& space) {
        return costs.choose(d, on, space);
    };
    if (!options.algorithms) chosen.algorithms = algorithm_function{algorithm};
    if (!options.schedules) chosen.schedules = schedule_function{point};
    return plan(std::move(g), evaluators, isa, chosen);
}

namespace detail {

// The kernels of a program, whose texts are taken: emitted in memory as far as an emitter does so, the others compiled.
GSUB_LAZY result<std::vector<runtime::loaded_kernel>> kernels_of(runtime::program& p, isa const& isa,
                                                                 runtime::kernel_emitter emitter,
                                                                 result<runtime::compiler> const& with,
                                                                 runtime::jit_options const& how) {
    std::vector<runtime::loaded_kernel> made(p.kernels.size());
    std::vector<runtime::kernel_source> sources;
    std::vector<std::size_t> compiled;
    std::set<std::string> reasons;
    for (std::size_t i = 0; i < p.kernels.size(); ++i) {
        auto& k = p.kernels[i];
        if (emitter && k.ir) {
            auto emitted = emitter(*k.ir, isa);
            if (emitted) {
                made[i] = std::move(*emitted);
                continue;
            }
            if (emitted.error().code() != error_code::unsupported) return emitted.error();
            reasons.insert(emitted.error().message());
        }
        sources.push_back(std::move(k.source));
        compiled.push_back(i);
    }
    if (sources.empty()) return made;
    if (!with) return with.error();
    if (emitter && how.observe) {
        auto note =
            format_text("{} of {} kernels are compiled, the others emitted in memory", sources.size(), made.size());
        for (auto const& reason : reasons) note += "; " + reason;
        how.observe->on_note(note);
    }
    auto loaded = runtime::load_kernels(as_span(sources), *with, how);
    if (!loaded) return loaded.error();
    for (std::size_t i = 0; i < compiled.size(); ++i) made[compiled[i]] = std::move((*loaded)[i]);
    return made;
}

} // namespace detail

GSUB_LAZY_BODY result<runtime::executable> build(any_graph g, eval_table evaluators, target const& machine,
                                                 build_options const& options) {
    if (machine.gpu)
        return error{errors::no_device,
                     format_text("target {} is a GPU: what is built for it runs on one that is opened as a device",
                                 to_string(machine))};
    auto jit = options.jit;
    if (!jit.threads) jit.threads = options.threads;
    if (!jit.observe) jit.observe = options.observe;
    auto chosen = options;
    auto const& isa = options.isa ? *options.isa : isa_of(machine);
    auto const with = options.generate ? runtime::find_compiler(options.compiler) : runtime::compiler{};
    auto const give_up = [&] {
        if (options.observe)
            options.observe->on_note(
                format_text("no kernels are generated, the reference runtime computes: {}", with.error().message()));
        chosen.generate = false;
    };
    std::optional<any_graph> given; // where an emitter may do without the compiler
    if (!with && options.emitter)
        given = g;
    else if (!with)
        give_up();
    if (options.observe)
        for (auto const& note : detail::layouts_not_stored(g, isa)) options.observe->on_note(note);
    auto made = plan(std::move(g), evaluators, machine, chosen);
    if (!made) return made.error();
    auto kernels = detail::kernels_of(*made, isa, options.emitter, with, jit);
    if (!kernels && given) { // some kernels take a compiler
        give_up();
        made = plan(std::move(*given), evaluators, machine, chosen);
        if (!made) return made.error();
        kernels = detail::kernels_of(*made, isa, nullptr, with, jit);
    }
    if (!kernels) return kernels.error();
    return runtime::executable{std::move(*made), std::move(*kernels)};
}

namespace detail {

// What is said of the steps that run on the host beside a device: how many of each kind.
GSUB_LAZY [[nodiscard]] std::string steps_on_host(runtime::executable const& e) {
    std::map<std::string, std::size_t> kinds;
    std::size_t count = 0;
    for (std::size_t i = 0; i < e.steps().size(); ++i)
        if (!e.on_device(i)) ++kinds[runtime::kind_of(e.steps()[i])], ++count;
    if (count == 0) return {};
    std::string list;
    for (auto const& [kind, times] : kinds)
        list += format_text("{}{}{}", list.empty() ? "" : ", ", kind, times > 1 ? format_text(" ({})", times) : "");
    return format_text("{} of {} steps: {}", count, e.steps().size(), list);
}

} // namespace detail

GSUB_LAZY_BODY result<runtime::executable> build(any_graph g, eval_table evaluators,
                                                 std::shared_ptr<runtime::device> on, build_options const& options) {
    auto made = on->model() ? plan(std::move(g), evaluators, target_of(*on), options)
                            : plan(std::move(g), evaluators, isa::warp, options);
    if (!made) return made.error();
    try {
        auto const name = std::string{on->id()};
        auto jit = options.jit;
        if (!jit.threads) jit.threads = options.threads;
        if (!jit.observe) jit.observe = options.observe;
        runtime::executable out{std::move(on), std::move(*made), jit};
        auto const host_steps = detail::steps_on_host(out);
        if (options.device_only && !host_steps.empty())
            return error{errors::device_kernels_alone,
                         format_text("device {} has no kernels for {}", name, host_steps)};
        if (options.observe && !host_steps.empty())
            options.observe->on_note(format_text("the host runs {}; device {} the others", host_steps, name));
        return out;
    } catch (error const& e) { return e; }
}

namespace detail {

// What is built of a module, with the options for it.
struct grouped_build {
    grouped_graph what;
    build_options options;
    std::vector<runtime::user_kernel> kernels{}; // the application's, and those of regions
};
GSUB_LAZY result<grouped_build> grouped_of(module const& m, build_options const& options, grouping groups,
                                           std::string_view entry) {
    auto bound = bind_regions(m, options.codegens, entry);
    if (!bound) return bound.error();
    auto what = inline_groups(bound->what, entry);
    if (!what) return what.error();
    grouped_build out{std::move(*what), options, std::move(bound->kernels)};
    out.kernels.insert(out.kernels.end(), options.kernels.begin(), options.kernels.end());
    out.options.kernels = as_span(out.kernels);
    auto const& g = out.what.graph;
    if (std::ranges::any_of(g.order(), [&](node_id n) { return g.is<ops::if_else>(n); })) {
        auto branches = m.branches(g);
        if (!branches) return branches.error();
        out.options.branches = std::make_shared<branch_functions const>(std::move(*branches));
    }
    out.options.within = as_span(out.what.within);
    out.options.lay_out = options.lay_out && groups == grouping::by_kernels;
    out.options.group = options.group && (groups == grouping::by_kernels || !out.what.within.empty());
    return out;
}

} // namespace detail

GSUB_LAZY_BODY result<runtime::program> plan(module const& m, eval_table evaluators, isa const& isa,
                                             build_options const& options, grouping groups, std::string_view entry) {
    auto made = detail::grouped_of(m, options, groups, entry);
    if (!made) return made.error();
    return plan(std::move(made->what.graph), evaluators, isa, made->options);
}

GSUB_LAZY_BODY result<runtime::program> plan(module const& m, eval_table evaluators, target const& machine,
                                             build_options const& options, grouping groups, std::string_view entry) {
    auto made = detail::grouped_of(m, options, groups, entry);
    if (!made) return made.error();
    return plan(std::move(made->what.graph), evaluators, machine, made->options);
}

GSUB_LAZY_BODY result<runtime::executable> build(module const& m, eval_table evaluators, target const& machine,
                                                 build_options const& options, grouping groups,
                                                 std::string_view entry) {
    auto made = detail::grouped_of(m, options, groups, entry);
    if (!made) return made.error();
    return build(std::move(made->what.graph), evaluators, machine, made->options);
}

GSUB_LAZY_BODY result<runtime::executable> build(module const& m, eval_table evaluators,
                                                 std::shared_ptr<runtime::device> on, build_options const& options,
                                                 grouping groups, std::string_view entry) {
    auto made = detail::grouped_of(m, options, groups, entry);
    if (!made) return made.error();
    return build(std::move(made->what.graph), evaluators, std::move(on), made->options);
}

} // namespace gsub
