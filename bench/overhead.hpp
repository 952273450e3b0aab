// What a run adds to its kernels: waking threads, claiming pieces, waiting for the last one.
#pragma once

#include "measurement.hpp"
#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/format.hpp>
#include <gsub/kernels/elementwise.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>
#include <gsub/runtime/executable.hpp>

#include <array>

namespace bench {

namespace detail {

constexpr std::size_t chain_length = 100;

// Every step computes the same function of the one before it: one kernel for all.
inline gsub::runtime::program chain_of(gsub::codegen::kernel const& k, gsub::isa const& isa, std::int64_t elements) {
    using namespace gsub;
    runtime::program p;
    auto const size = static_cast<std::size_t>(elements) * sizeof(float);
    p.kernels = {{{codegen::emit_cpp(k, "step"), "step", std::string{isa.flags}}}};
    p.inputs = {tensor_type{dtype::f32, {elements}}}, p.outputs = p.inputs;
    p.input_names = {"x"}, p.output_names = {"y"};
    for (std::size_t i = 0; i <= chain_length; ++i) {
        runtime::program_value v;
        v.where.role = i == 0              ? runtime::memory_role::input
                       : i == chain_length ? runtime::memory_role::output
                                           : runtime::memory_role::temporary;
        v.size = size;
        p.values.push_back(std::move(v));
    }
    for (std::size_t i = 0; i < chain_length; ++i) {
        runtime::program_step s;
        s.name = fmt::format("step {}", i);
        s.what = runtime::kernel_call{0, {k.parallel_extent}};
        s.values = {static_cast<std::int32_t>(i), static_cast<std::int32_t>(i) + 1};
        s.operations = 1e6; // enough to wake threads
        p.steps.push_back(std::move(s));
    }
    return p;
}

} // namespace detail

/// Prints what `run` adds to each of a chain of kernels, on one thread and on two: the time of a run, less that of the
/// same calls on the same pieces, each thread for itself on a half of every kernel, without waiting in between; over
/// the number of kernels. Half the pieces of a run are read by the other thread than has written them: what that costs
/// counts as overhead.
inline void measure_overhead(reporter& report, int rounds = 41) {
    using namespace gsub;
    auto const& isa = isa_of(host());
    auto const with = runtime::find_compiler().value();
    for (std::int64_t elements : {4096, 16384, 65536}) {
        std::array<kernels::elementwise_op, 2> const ops{
            {{loop::scalar_op::multiply, 0, -1, 0.5}, {loop::scalar_op::add, 1, -1, 0.25}}};
        auto const k = codegen::lower(kernels::elementwise_nest(elements, 1, ops, isa), "step").value();
        auto const p = detail::chain_of(k, isa, elements);
        auto const loaded = runtime::load_kernels(sources_of(p.kernels), with).value();
        auto const call = reinterpret_cast<codegen::kernel_function>(loaded[0].function());
        runtime::executable const e{p, loaded};

        std::vector<tensor> const in{tensor::zeros(p.inputs[0])};
        std::vector<tensor> out{tensor::zeros(p.outputs[0])};
        // The same places as in a run: how far arrays lie apart decides what they cost.
        auto const places = runtime::plan_arena(p);
        constexpr std::size_t page = 4096;
        auto arena = tensor::zeros(dtype::u8, ints{static_cast<std::int64_t>(places.size + page)});
        auto* const unaligned = arena.mutable_raw().data();
        auto* const base = unaligned + (page - reinterpret_cast<std::uintptr_t>(unaligned) % page) % page;
        std::vector<std::array<void*, 2>> addresses;
        auto const address = [&](std::size_t v) -> void* {
            if (v == 0) return const_cast<std::byte*>(in[0].raw().data());
            return v == detail::chain_length ? out[0].mutable_raw().data() : base + places.offsets[v];
        };
        for (std::size_t i = 0; i < detail::chain_length; ++i) addresses.push_back({address(i), address(i + 1)});
        double alone_on_one = 0;
        for (std::uint32_t count = 1; count <= std::min<std::size_t>(2, runtime::available_cpus()); ++count) {
            runtime::thread_pool threads{{.threads = count}};
            auto const positions = k.parallel_extent, pieces = count == 1 ? 1 : work_items_of_loop(positions, count);
            auto context = e.make_context();
            auto const run = [&] { e.run(context, in, out, threads).value(); };
            auto const direct = [&] {
                threads.parallel_for(count, [&](std::size_t half) {
                    auto const first = pieces * static_cast<std::int64_t>(half) / count,
                               last = pieces * static_cast<std::int64_t>(half + 1) / count;
                    for (auto const& at : addresses)
                        for (auto i = first; i < last; ++i)
                            call(at.data(), positions * i / pieces, positions * (i + 1) / pieces);
                });
            };
            sample overhead, kernel;
            constexpr int times = 20;
            auto const seconds = [&](auto& f) {
                f();
                return seconds_of([&] {
                           for (int i = 0; i < times; ++i) f();
                       }) /
                       (times * static_cast<double>(detail::chain_length));
            };
            for (int round = 0; round < rounds; ++round) {
                auto const alone = seconds(direct), whole = seconds(run);
                kernel.values.push_back(alone);
                overhead.values.push_back(whole - alone);
            }
            if (count == 1)
                alone_on_one = kernel.median();
            else if (kernel.median() > 0.7 * alone_on_one)
                std::fprintf(stderr, "%lld elements: two threads are no faster than one; is the machine busy?\n",
                             static_cast<long long>(elements));
            auto const on = fmt::format("{} elements, {} pieces, {}{}", elements, pieces, count,
                                        count == 1 ? " thread" : " threads");
            report.add("kernel", on, kernel, "s");
            report.add("overhead a kernel", on, overhead, "s", 2e-6);
        }
    }
}

} // namespace bench
