#pragma once

#include <gsub/core/random.hpp>
#include <gsub/ir/types/tensor.hpp>
#include <gsub/lower/emit.hpp>
#include <gsub/runtime/executable.hpp>
#include <gsub/tune/kernel_timer.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace gsub::tune {

namespace detail {

// Reads some bytes by all threads, a cache line at a time.
GSUB_LAZY void read_lines(std::span<std::byte const> bytes, executor& threads) {
    auto const pieces = 8 * threads.concurrency();
    threads.parallel_for(pieces, [&](std::size_t k) {
        auto const* const last = bytes.data() + bytes.size() * (k + 1) / pieces;
        for (auto const* at = bytes.data() + bytes.size() * k / pieces; at < last; at += 64)
            static_cast<void>(*static_cast<std::byte const volatile*>(at));
    });
}

[[nodiscard]] GSUB_INLINE double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
[[nodiscard]] GSUB_INLINE double seconds_since_1970() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Takes some bytes out of all caches.
GSUB_LAZY void flush_lines([[maybe_unused]] std::span<std::byte const> bytes) {
#ifdef __x86_64__
    for (std::size_t at = 0; at < bytes.size(); at += 64) __builtin_ia32_clflush(bytes.data() + at);
    __builtin_ia32_mfence();
#endif
}

} // namespace detail

struct kernel_timer::trial {
    std::size_t number = every_candidate;
    std::optional<runtime::program> program{};
    std::vector<tensor> weights{}; // of the program, to be flushed
    std::optional<runtime::executable> kernel{};
    std::optional<runtime::run_context> context{};
    measure_error error = measure_error::none;
    std::vector<double> runs{};
    double all = 0; // seconds with all around it
};

struct kernel_timer::state {
    tuning_task const* task;
    isa const* on;
    timing_options options;
    inline_executor here;
    std::vector<tensor> inputs, expected, results;
    tensor evicting;

    [[nodiscard]] executor& threads() { return options.threads ? *options.threads : static_cast<executor&>(here); }
    void tell(timing_phase phase, std::size_t candidate) const {
        if (options.on_step) options.on_step(phase, candidate);
    }
    // Elements in a row, however they lie in the network.
    static tensor_type stored(tensor_type const& t, std::size_t bytes) {
        return {t.element, ints{static_cast<std::int64_t>(bytes / byte_size(t.element))}};
    }

    // Bytes of a candidate's weights at most: those of Winograd's tiles of 4 x 4 pixels are four times as many.
    [[nodiscard]] std::size_t packed_bytes() const {
        std::size_t bytes = 1;
        for (auto const& v : task->alone.values)
            if (v.role == runtime::memory_role::constant) bytes += v.data.size_bytes();
        return task->algorithms.size() > 1 ? 4 * bytes : bytes;
    }
    // The program of a candidate, whose signature is storage.
    [[nodiscard]] runtime::program program_of(candidate const& c) const {
        auto g = task->alone;
        g.ops.front() = task->with(c);
        auto p = emit(std::move(g), *on, nullptr).value();
        for (auto const& v : p.values)
            if (v.where.role == runtime::memory_role::input)
                p.inputs[v.position] = stored(p.inputs[v.position], v.size);
            else if (v.where.role == runtime::memory_role::output)
                p.outputs[v.position] = stored(p.outputs[v.position], v.size);
        return p;
    }

    // Loads the kernels of all trials that have a program: in memory as far as the emitter goes, the others compiled.
    // *Errors* that of the compiler, where it takes one of them not.
    result<void> load(std::span<trial> trials) const {
        std::vector<runtime::kernel_source> sources;
        std::vector<trial*> compiled;
        for (auto& t : trials) {
            if (!t.program) continue;
            auto& k = t.program->kernels.front();
            if (options.emitter && k.ir) {
                tell(timing_phase::emit, t.number);
                auto made = options.emitter(*k.ir, *on);
                if (made) {
                    t.kernel.emplace(std::move(*t.program), std::vector{std::move(*made)});
                    continue;
                }
                if (made.error().code() != error_code::unsupported) throw made.error(); // a fault of the emitter
            }
            sources.push_back(std::move(k.source));
            compiled.push_back(&t);
        }
        if (sources.empty()) return {};
        auto const with = runtime::find_compiler(options.compiler);
        if (!with) {
            for (auto* t : compiled) t->error = measure_error::compile_host;
            return with.error();
        }
        result<void> out;
        tell(timing_phase::compile, every_candidate);
        auto const all = runtime::load_kernels(as_span(sources), *with, options.jit);
        for (std::size_t i = 0; i < compiled.size(); ++i) {
            // Where not all are compiled, each is tried alone: one must not fail the others.
            if (!all) tell(timing_phase::compile, compiled[i]->number);
            auto const one = all ? all : runtime::load_kernels({&sources[i], 1}, *with, options.jit);
            if (one) {
                compiled[i]->kernel.emplace(std::move(*compiled[i]->program), std::vector{(*one)[all ? i : 0]});
            } else {
                compiled[i]->error = measure_error::compile_host;
                out = one.error();
            }
        }
        return out;
    }

    void run(trial& t) {
        auto const done = t.kernel->run(*t.context, as_span(inputs), std::span{results}, threads());
        if (!done) throw done.error();
    }
    void check(trial& t) {
        tell(timing_phase::run, t.number);
        run(t);
        for (std::size_t i = 0; i < expected.size(); ++i)
            if (auto const d = compare(results[i], expected[i]).value();
                !d.same_specials || d.max_relative > options.tolerance)
                t.error = measure_error::wrong_answer;
    }
    void time(trial& t) {
        tell(timing_phase::run, t.number);
        if (options.evict_bytes > 0) detail::read_lines(evicting.raw(), threads());
        for (auto const& w : t.weights) detail::flush_lines(w.raw());
        for (auto const& in : inputs) detail::read_lines(in.raw(), threads());
        auto const begin = std::chrono::steady_clock::now();
        run(t);
        t.runs.push_back(detail::seconds_since(begin));
    }
};

GSUB_LAZY_BODY kernel_timer::kernel_timer(tuning_task const& task, isa const& isa, timing_options const& options)
    : state_(std::make_shared<state>()) {
    GSUB_ASSERT(options.rounds >= 1, "a kernel is timed once at least");
    auto& s = *state_;
    s.task = &task, s.on = &isa, s.options = options;
    trial untuned;
    s.tell(timing_phase::lower, every_candidate);
    untuned.program = s.program_of(task.untuned);
    s.load({&untuned, 1}).value();
    untuned.context = untuned.kernel->make_context();
    for (auto const& t : untuned.kernel->inputs()) {
        s.inputs.push_back(tensor::zeros(t));
        fill_random(s.inputs.back(), random_stream{options.seed}.split(s.inputs.size()));
    }
    for (auto const& t : untuned.kernel->outputs()) s.results.push_back(tensor::zeros(t));
    if (options.evict_bytes > 0)
        s.evicting = tensor::zeros(dtype::f32, ints{static_cast<std::int64_t>(options.evict_bytes / 4)});
    if (options.evict_bytes > 0) fill_random(s.evicting, random_stream{options.seed}); // pages of their own
    s.tell(timing_phase::run, every_candidate);
    s.run(untuned);
    s.expected = s.results; // which are written elsewhere from now on
}

GSUB_LAZY_BODY std::vector<kernel_timer::trial> kernel_timer::build(std::span<candidate const> candidates,
                                                                    std::size_t first) const {
    auto& s = *state_;
    s.tell(timing_phase::lower, every_candidate);
    std::vector<trial> trials(candidates.size());
    for (std::size_t i = 0; i < trials.size(); ++i) trials[i].number = first + i;
    auto const begin = std::chrono::steady_clock::now();
    s.threads().parallel_for(candidates.size(), [&](std::size_t i) {
        try {
            trials[i].program = s.program_of(candidates[i]);
            for (auto const& v : trials[i].program->values)
                if (s.options.weights_in_memory && v.where.role == runtime::memory_role::constant)
                    trials[i].weights.push_back(v.data);
        } catch (error const&) { trials[i].error = measure_error::instantiation; }
    });
    static_cast<void>(s.load(trials)); // what is not loaded has failed
    for (auto& t : trials) {
        t.all = detail::seconds_since(begin) / static_cast<double>(trials.size());
        if (t.kernel) t.context = t.kernel->make_context();
    }
    return trials;
}

GSUB_LAZY_BODY std::vector<measurement> kernel_timer::measure(std::span<candidate const> candidates,
                                                              std::size_t longer) const {
    auto& s = *state_;
    std::vector<measurement> out;
    auto const together = std::max<std::size_t>(1, s.options.most_bytes / s.packed_bytes());
    for (std::size_t first = 0; first < candidates.size(); first += together) {
        auto trials = build(candidates.subspan(first, std::min(together, candidates.size() - first)), first);
        std::vector<trial*> running;
        for (auto& t : trials) {
            if (t.kernel) s.check(t);
            if (t.error == measure_error::none) running.push_back(&t);
        }
        auto const enough = [&](trial const& t) {
            double sum = 0;
            for (auto const r : t.runs) sum += r;
            return t.runs.size() >= longer * s.options.most_rounds ||
                   (t.runs.size() >= longer * s.options.rounds &&
                    sum >= static_cast<double>(longer) * s.options.least_seconds);
        };
        for (std::size_t round = 0; !std::all_of(running.begin(), running.end(), [&](auto* t) { return enough(*t); });
             ++round)
            for (std::size_t i = 0; i < running.size(); ++i)
                s.time(*running[round % 2 == 0 ? i : running.size() - 1 - i]);
        for (auto& t : trials) {
            measurement m;
            m.error = t.error, m.timestamp = detail::seconds_since_1970(), m.all_cost = t.all;
            for (auto const r : t.runs) m.all_cost += r;
            std::sort(t.runs.begin(), t.runs.end());
            if (!t.runs.empty()) m.costs = {std::max(t.runs[t.runs.size() / 2], 1e-9)};
            out.push_back(std::move(m));
        }
    }
    return out;
}

} // namespace gsub::tune
