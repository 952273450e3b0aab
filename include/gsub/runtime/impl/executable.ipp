#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/core/thread_workspace.hpp>
#include <gsub/runtime/executable.hpp>
#include <gsub/runtime/impl/device_program.hpp>
#include <gsub/runtime/memory_planner.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace gsub::runtime {

namespace detail {

using kernel_function = void (*)(void* const* buffers, std::int64_t begin, std::int64_t end);

GSUB_LAZY void run_copy(copy_call const& c, std::span<void* const> values, executor& threads, bool shared) {
    // The part of each move between two of `parts` borders, for some of the times.
    auto const move = [&](std::int64_t first, std::int64_t last, std::size_t part, std::size_t parts) {
        for (auto t = static_cast<std::size_t>(first); t < static_cast<std::size_t>(last); ++t)
            for (auto const& m : c.moves) {
                auto const begin = m.size * part / parts, end = m.size * (part + 1) / parts;
                if (begin == end) continue; // null may be no array
                std::memcpy(static_cast<std::byte*>(values[m.to]) + m.to_at + t * m.to_step + begin,
                            static_cast<std::byte const*>(values[m.from]) + m.from_at + t * m.from_step + begin,
                            end - begin);
            }
    };
    auto const workers = static_cast<std::int64_t>(threads.concurrency());
    if (workers == 1 || !shared) return move(0, c.times, 0, 1);
    auto const in_parts = c.times < workers;
    auto const pieces = in_parts ? work_items_per_thread * workers : work_items_of_loop(c.times, workers);
    threads.parallel_for(static_cast<std::size_t>(pieces), [&](std::size_t k) {
        auto const piece = static_cast<std::int64_t>(k);
        if (in_parts) return move(0, c.times, k, static_cast<std::size_t>(pieces));
        move(c.times * piece / pieces, c.times * (piece + 1) / pieces, 0, 1);
    });
}

// The error of a run in which a kernel met an integer that chooses nothing.
GSUB_LAZY [[noreturn]] void refuse_choice(kernel_call const& c, std::span<void* const> values) {
    for (auto const& chosen : c.computes ? kernels::chosen_by(*c.computes) : std::vector<kernels::chosen_operand>{}) {
        auto const* const integers = values[chosen.operand];
        for (std::int64_t i = 0; i < chosen.count; ++i) {
            auto const k = chosen.integers == dtype::i64 ? static_cast<std::int64_t const*>(integers)[i]
                                                         : std::int64_t{static_cast<std::int32_t const*>(integers)[i]};
            if (k < -chosen.entries || k >= chosen.entries)
                throw error{errors::index_out_of_range, format_text("index {} of a {} is out of range for {} entries",
                                                                    k, kernels::kind_of(*c.computes), chosen.entries)};
        }
    }
    throw error{errors::index_out_of_range, "an index is out of range"};
}

GSUB_LAZY bool overlap(std::span<std::byte const> a, std::span<std::byte const> b) {
    return !a.empty() && !b.empty() && std::less<>{}(a.data(), b.data() + b.size()) &&
           std::less<>{}(b.data(), a.data() + a.size());
}

// Where data decide the sizes of a value, `open` has it by its number, of which `numbers` are the step's.
GSUB_LAZY void run_reference(reference_call const& c, std::span<void* const> values,
                             std::span<std::int32_t const> numbers, std::span<tensor> open, executor& threads) {
    auto const& g = c.graph;
    std::vector<tensor> inputs;
    std::vector<std::span<std::byte const>> lent; // memory of others
    std::size_t at = 0;
    auto const made = [&](std::size_t i) -> tensor& { return open[static_cast<std::size_t>(numbers[i])]; };
    for (auto n : g.inputs()) {
        auto const& t = g.type({n, 0});
        inputs.push_back(
            t.is_static() ? tensor::borrowed(t.element, t.sizes(), static_cast<std::byte const*>(values[at]), nullptr)
                          : made(at));
        lent.push_back(inputs.back().raw());
        ++at;
    }
    evaluate_options options;
    options.threads = &threads;
    options.branches = c.branches.get();
    std::vector<tensor> memory; // results are computed where they belong
    for (std::size_t i = 0; i < g.output_count(); ++i) {
        auto const& t = g.type(g.output(i));
        auto* const place = static_cast<std::byte*>(values[at + i]);
        memory.push_back(t.is_static() && t.element != dtype::undefined && *t.elements() > 0
                             ? tensor::wrapping(t.element, t.sizes(), place)
                             : tensor{});
        lent.push_back(memory.back().raw());
    }
    options.into = {memory.data(), memory.size()};
    // Views of what lies in memory of others, such as a reshape's result, take elements of their own along.
    auto const kept = [&](tensor t) {
        for (auto const of_others : lent)
            if (overlap(of_others, t.raw())) {
                auto own = tensor::uninitialized(t.element(), t.dims());
                std::memcpy(own.mutable_raw().data(), t.raw().data(), t.size_bytes());
                return own;
            }
        return t;
    };
    auto const results = evaluate_graph(g, c.evaluators, as_span(inputs), options).value();
    for (std::size_t i = 0; i < results.size(); ++i) {
        auto const& declared = g.type(g.output(i));
        auto r = results[i].element() == declared.element || declared.element == dtype::undefined
                     ? results[i]
                     : results[i].converted_to(declared.element);
        if (!declared.is_static())
            made(at) = kept(std::move(r));
        else if (r.size_bytes() > 0 && r.raw().data() != values[at])
            std::memcpy(values[at], r.raw().data(), r.size_bytes());
        ++at;
    }
}

} // namespace detail

struct run_context::memory {
    void* arena = nullptr;
    std::vector<void*> addresses;
    std::vector<tensor> open;       // values whose sizes data decide, by number; empty where there are none
    std::vector<std::byte*> wholes; // addresses of whole values, for what moves to a device
    std::unique_ptr<detail::device_program::memory> device; // null: the host runs all
    std::shared_ptr<executable::state const> of;

    std::span<tensor> open_values() noexcept { return {open.data(), open.size()}; }

    memory() = default;
    memory(memory const&) = delete;
    memory& operator=(memory const&) = delete;
    ~memory() { std::free(arena); }
};

struct executable::state {
    program p;
    std::vector<loaded_kernel> kernels;
    std::vector<std::size_t> offsets;    // of each value in the arena
    std::vector<std::size_t> first_slot; // of each step in the table of addresses
    std::size_t slots = 0, arena = 0, constants = 0;
    bool decides_sizes = false;                     // of some value, by data
    std::unique_ptr<detail::device_program> device; // null: the host runs all
    // Memory of a run that has ended, for the next that brings none: fresh pages cost more than many a kernel.
    mutable std::mutex idle_lock;
    mutable std::unique_ptr<run_context::memory> idle; // of no state

    [[nodiscard]] std::unique_ptr<run_context::memory> take_idle() const {
        std::lock_guard const lock{idle_lock};
        return std::move(idle);
    }
    void keep_idle(std::unique_ptr<run_context::memory> m) const {
        m->of.reset();
        std::fill(m->open.begin(), m->open.end(), tensor{});
        std::lock_guard const lock{idle_lock};
        idle.swap(m);
    }

    // Addresses of a step's buffers begin at `at`; `open` are the values whose sizes data decide, by their numbers.
    void run_step(std::size_t i, void* const* at, std::span<tensor> open, executor& threads) const {
        auto const& s = p.steps[i];
        std::span<void* const> const values{at, s.values.size()};
        std::visit(
            overloaded{
                [&](kernel_call const& c) {
                    auto* const status = c.checks ? static_cast<std::int32_t*>(values.back()) : nullptr;
                    if (status) *status = 0;
                    run_kernel(c, values, threads, worth_threads(s));
                    if (status && *status != 0) detail::refuse_choice(c, values);
                },
                [&](copy_call const& c) {
                    auto const from = static_cast<std::size_t>(s.values.front());
                    if (p.values[from].open) // all of it
                        open[static_cast<std::size_t>(s.values.back())] = open[from];
                    else
                        detail::run_copy(c, values, threads, worth_threads(s));
                },
                [&](external_call const& c) { c.host->run(values, threads); },
                [&](reference_call const& c) { detail::run_reference(c, values, as_span(s.values), open, threads); },
            },
            s.what);
    }
    // On the device, or on the host with what it needs moved there.
    void run_step(std::size_t i, run_context::memory& m, executor& threads) const {
        if (device) {
            device->move_before(i, *m.device, [&](std::int32_t v) { return bytes_of(v, m); });
            if (device->on_device(i)) return device->start(i, *m.device);
        }
        run_step(i, m.addresses.data() + first_slot[i], m.open_values(), threads);
    }
    [[nodiscard]] std::span<std::byte> bytes_of(std::int32_t whole, run_context::memory const& m) const {
        auto const v = static_cast<std::size_t>(whole);
        return {m.wholes[v], p.values[v].size};
    }
    void run_kernel(kernel_call const& c, std::span<void* const> values, executor& threads, bool shared) const {
        auto const f =
            reinterpret_cast<detail::kernel_function>(kernels[static_cast<std::size_t>(c.kernel)].function());
        auto const positions = c.launch.positions, workers = static_cast<std::int64_t>(threads.concurrency());
        if (workers == 1 || positions == 1 || !shared) return call(c, f, values, 0, positions);
        auto const pieces = work_items_of_loop(positions, workers);
        threads.parallel_for(static_cast<std::size_t>(pieces), [&](std::size_t k) {
            auto const piece = static_cast<std::int64_t>(k);
            call(c, f, values, positions * piece / pieces, positions * (piece + 1) / pieces);
        });
    }
    static void call(kernel_call const& c, detail::kernel_function f, std::span<void* const> values, std::int64_t begin,
                     std::int64_t end) {
        if (c.workspace == 0) return f(values.data(), begin, end);
        std::array<void*, 64> own;
        GSUB_ASSERT(values.size() < own.size(), "a kernel with scratch memory has less than 64 buffers");
        std::copy(values.begin(), values.end(), own.begin());
        own[values.size()] = thread_workspace(c.workspace);
        f(own.data(), begin, end);
    }
};

GSUB_INLINE run_context::run_context(std::unique_ptr<memory> m) noexcept : memory_(std::move(m)) {}
GSUB_INLINE run_context::run_context(run_context&&) noexcept = default;
GSUB_INLINE run_context& run_context::operator=(run_context&&) noexcept = default;
GSUB_INLINE run_context::~run_context() = default;

// What an executable knows before its kernels.
struct executable::planned {
    static std::shared_ptr<state> of(program made) {
        auto s = std::make_shared<state>();
        s->p = std::move(made);
        auto const& p = s->p;
        for (auto const& step : p.steps) {
            s->first_slot.push_back(s->slots);
            s->slots += step.values.size();
        }
        auto plan = plan_arena(p);
        s->arena = plan.size;
        s->offsets = std::move(plan.offsets);
        for (auto const& v : p.values) {
            GSUB_ASSERT(v.where.device == host_cpu, "the values of a program are the host's");
            if (v.where.role == memory_role::constant) s->constants += v.size;
            s->decides_sizes = s->decides_sizes || v.open;
        }
        return s;
    }
};

GSUB_LAZY_BODY executable::executable(program made, std::vector<loaded_kernel> kernels) {
    GSUB_ASSERT(kernels.size() == made.kernels.size(), "an executable has a kernel for each source");
    made.kernels = {}; // what they were made of is needed no more
    auto s = planned::of(std::move(made));
    s->kernels = std::move(kernels);
    state_ = std::move(s);
}

GSUB_LAZY_BODY executable::executable(std::shared_ptr<gsub::runtime::device> on, program made, jit_options const& how) {
    auto s = planned::of(std::move(made));
    s->device = std::make_unique<detail::device_program>(s->p, arena_plan{s->offsets, s->arena}, std::move(on), how);
    s->p.kernels = {};
    state_ = std::move(s);
}

GSUB_INLINE device const* executable::on() const noexcept {
    return state_->device ? &state_->device->where() : nullptr;
}
GSUB_INLINE bool executable::on_device(std::size_t step) const noexcept {
    return state_->device && state_->device->on_device(step);
}

GSUB_INLINE std::span<tensor_type const> executable::inputs() const noexcept {
    return as_span(state_->p.inputs);
}
GSUB_INLINE std::span<tensor_type const> executable::outputs() const noexcept {
    return as_span(state_->p.outputs);
}
GSUB_INLINE std::span<std::string const> executable::output_names() const noexcept {
    return state_->p.output_names;
}
GSUB_INLINE std::span<program_step const> executable::steps() const noexcept {
    return as_span(state_->p.steps);
}
GSUB_INLINE std::size_t executable::arena_bytes() const noexcept {
    return state_->arena;
}
GSUB_INLINE std::size_t executable::constant_bytes() const noexcept {
    return state_->constants;
}

GSUB_LAZY_BODY run_context executable::make_context() const {
    constexpr std::size_t page = std::size_t{2} << 20;
    auto m = std::make_unique<run_context::memory>();
    m->of = state_;
    auto const large = state_->arena >= page;
    auto const unit = large ? page : std::size_t{64};
    auto const size = std::max<std::size_t>(state_->arena, 1); // not rounded up: the end needs no huge page
    if (::posix_memalign(&m->arena, unit, size) != 0) throw std::bad_alloc{};
    if (large) madvise(m->arena, size, MADV_HUGEPAGE); // advice: nothing depends on its being taken
    m->addresses.resize(state_->slots);
    auto const& p = state_->p;
    if (state_->decides_sizes) m->open.resize(p.values.size());
    std::size_t slot = 0;
    for (auto const& step : p.steps)
        for (auto v : step.values) {
            auto const whole = whole_of(p, v);
            auto const& value = p.values[whole];
            void* at = nullptr;
            if (value.where.role == memory_role::temporary)
                at = static_cast<std::byte*>(m->arena) + state_->offsets[whole] +
                     p.values[static_cast<std::size_t>(v)].offset;
            else if (value.where.role == memory_role::constant)
                at = const_cast<std::byte*>(value.data.raw().data()); // steps only read it
            m->addresses[slot++] = at;
        }
    if (state_->device) {
        m->device = state_->device->make_memory();
        m->wholes.resize(p.values.size());
        for (std::size_t v = 0; v < p.values.size(); ++v)
            if (p.values[v].where.role == memory_role::temporary && p.values[v].part_of < 0)
                m->wholes[v] = static_cast<std::byte*>(m->arena) + state_->offsets[v];
    }
    return run_context{std::move(m)};
}

namespace detail {

GSUB_LAZY void check_signature(std::span<tensor const> given, std::span<tensor_type const> wanted,
                               std::string_view what) {
    if (given.size() != wanted.size())
        throw error{errors::given_inputs,
                    format_text("the model has {} {}s, {} are given", wanted.size(), what, given.size())};
    for (std::size_t i = 0; i < given.size(); ++i)
        if (wanted[i].is_static() && given[i].type() != wanted[i])
            throw error{errors::given_inputs, format_text("{} {} has type {}, the model wants {}", what, i,
                                                          to_string(given[i].type()), to_string(wanted[i]))};
}

} // namespace detail

GSUB_LAZY_BODY result<void> executable::run(run_context& context, std::span<tensor const> inputs,
                                            std::span<tensor> outputs, executor& threads) const {
    try {
        auto const& p = state_->p;
        auto& m = *context.memory_;
        GSUB_ASSERT(m.of == state_, "a context serves the executable that made it");
        detail::check_signature(inputs, as_span(p.inputs), "input");
        detail::check_signature(outputs, as_span(p.outputs), "output");
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (!p.outputs[i].is_static()) continue; // the run makes it, and what was given stays until then
            auto const own = outputs[i].mutable_raw();
            for (auto const& in : inputs)
                if (detail::overlap(in.raw(), own))
                    throw error{errors::overlapping_memory, format_text("output {} overlaps an input in memory", i)};
            for (std::size_t k = 0; k < i; ++k)
                if (detail::overlap(outputs[k].raw(), own))
                    throw error{errors::overlapping_memory, format_text("outputs {} and {} overlap in memory", k, i)};
        }
        std::size_t slot = 0;
        for (auto const& step : p.steps)
            for (auto v : step.values) {
                auto const& value = p.values[whole_of(p, v)];
                auto const offset = p.values[static_cast<std::size_t>(v)].offset;
                if (value.where.role == memory_role::input)
                    m.addresses[slot] = const_cast<std::byte*>(inputs[value.position].raw().data()) + offset;
                else if (value.where.role == memory_role::output)
                    m.addresses[slot] = outputs[value.position].mutable_raw().data() + offset;
                ++slot;
            }
        for (std::size_t v = 0; v < m.wholes.size(); ++v) {
            auto const& value = p.values[v];
            if (value.part_of >= 0 || value.open) continue;
            if (value.where.role == memory_role::input)
                m.wholes[v] = const_cast<std::byte*>(inputs[value.position].raw().data());
            else if (value.where.role == memory_role::output)
                m.wholes[v] = outputs[value.position].mutable_raw().data();
        }
        if (state_->device) state_->device->begin(*m.device);
        for (std::size_t i = 0; i < p.steps.size(); ++i) state_->run_step(i, m, threads);
        if (state_->device) state_->device->end(*m.device, [&](std::int32_t v) { return state_->bytes_of(v, m); });
        for (std::size_t v = 0; v < m.open.size(); ++v) {
            auto made = std::exchange(m.open[v], {}); // a context keeps no memory of a run
            if (auto const& value = p.values[v]; value.open && value.where.role == memory_role::output)
                outputs[value.position] = std::move(made);
        }
        return {};
    } catch (error const& e) { return e; }
}

GSUB_LAZY_BODY std::vector<tensor> executable::make_outputs() const {
    std::vector<tensor> outputs;
    for (auto const& t : state_->p.outputs) outputs.push_back(t.is_static() ? tensor::zeros(t) : tensor{});
    return outputs;
}

GSUB_LAZY_BODY result<std::vector<tensor>> executable::run(std::span<tensor const> inputs, executor* threads) const {
    struct lent_context { // goes back, whatever happens
        state const& of;
        run_context context;
        ~lent_context() { of.keep_idle(std::move(context.memory_)); }
    };
    inline_executor alone;
    auto outputs = make_outputs();
    auto kept = state_->take_idle();
    lent_context lent{*state_, kept ? run_context{std::move(kept)} : make_context()};
    lent.context.memory_->of = state_;
    auto done = run(lent.context, inputs, {outputs.data(), outputs.size()}, threads ? *threads : alone);
    if (!done) return done.error();
    return outputs;
}

GSUB_LAZY_BODY result<std::vector<step_profile>> executable::profile(std::span<tensor const> inputs, executor& threads,
                                                                     std::size_t runs) const {
    using clock = std::chrono::steady_clock;
    auto context = make_context();
    auto outputs = make_outputs();
    // The first run also sets the addresses.
    if (auto done = run(context, inputs, {outputs.data(), outputs.size()}, threads); !done) return done.error();
    auto const& steps = state_->p.steps;
    std::vector<std::vector<double>> taken(steps.size());
    for (std::size_t r = 0; r < std::max<std::size_t>(runs, 1); ++r)
        for (std::size_t i = 0; i < steps.size(); ++i) {
            auto const begin = clock::now();
            state_->run_step(i, *context.memory_, threads);
            if (state_->device) state_->device->where().finish();
            taken[i].push_back(std::chrono::duration<double>(clock::now() - begin).count());
        }
    std::vector<step_profile> profiles;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        auto& t = taken[i];
        std::nth_element(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2), t.end());
        profiles.push_back({steps[i].name, kind_of(steps[i]), t[t.size() / 2], steps[i].operations,
                            std::holds_alternative<reference_call>(steps[i].what)});
    }
    return profiles;
}

} // namespace gsub::runtime
