// Kernels in memory beside those of the compiler: what each takes, on the same numbers, in turns.
#pragma once

#include "compared_networks.hpp"
#include "measurement.hpp"
#include <gsub/core/format.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/driver/jit.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/runtime/compiler/jit.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace bench {

namespace detail {

using namespace gsub;

struct emitted_kernel {
    std::string name;
    codegen::kernel_function compiled = nullptr, emitted = nullptr;
    std::int64_t positions = 0;
    std::vector<tensor> memory;
    std::vector<void*> addresses;
};

// Compiled by emitted: the least of some rounds of each, which take turns.
inline double speed_of(emitted_kernel& k, int rounds) {
    constexpr double least_seconds = 1e-4; // of a round
    double least[2]{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    codegen::kernel_function const calls[]{k.compiled, k.emitted};
    for (int round = 0; round < 2 * rounds; ++round) {
        auto const which = static_cast<std::size_t>((round + round / 2) % 2);
        int times = 0;
        double seconds = 0;
        calls[which](k.addresses.data(), 0, k.positions); // what the caches can hold is in them
        for (auto const begin = std::chrono::steady_clock::now(); seconds < least_seconds; ++times) {
            calls[which](k.addresses.data(), 0, k.positions);
            seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        }
        least[which] = std::min(least[which], seconds / times);
    }
    return least[0] / least[1];
}

} // namespace detail

/// Prints for each network what its kernels take compiled by what they take in memory, the geometric mean and the
/// least; and each kernel that is slower in memory than `slow`. One thread; weights stay where caches hold them.
inline void compare_emitters(std::vector<std::string> names, reporter& report, int rounds = 15, double slow = 0.93) {
    using namespace gsub;
    if (names.empty()) names.assign(compared_networks.begin(), compared_networks.end());
    auto const machine = host();
    auto const with = runtime::find_compiler().value();
    std::set<std::string> seen;
    sample all;
    std::size_t refused = 0;
    for (auto const& name : names) {
        auto const p = plan(models::find_model(name)->build(1), table_of<eval_row, standard_ops>(), machine).value();
        auto const compiled = runtime::load_kernels(sources_of(p.kernels), with).value();
        std::vector<runtime::loaded_kernel> kept;
        sample of_network;
        for (auto const& s : p.steps) {
            auto const* const call = std::get_if<runtime::kernel_call>(&s.what);
            if (!call) continue;
            auto const number = static_cast<std::size_t>(call->kernel);
            auto const& k = p.kernels[number];
            if (!k.ir || !seen.insert(k.source.text).second) continue;
            auto emitted = jit_emitter(*k.ir, isa_of(machine));
            if (!emitted) {
                ++refused;
                continue;
            }
            kept.push_back(std::move(*emitted));
            detail::emitted_kernel one;
            one.name = fmt::format("{} {} {:.40}", name, kind_of(s), s.name);
            one.compiled = reinterpret_cast<codegen::kernel_function>(compiled[number].function());
            one.emitted = reinterpret_cast<codegen::kernel_function>(kept.back().function());
            one.positions = call->launch.positions;
            auto const give = [&](std::size_t bytes) {
                one.memory.push_back(
                    tensor::zeros(dtype::f32, ints{static_cast<std::int64_t>((bytes + 3) / sizeof(float))}));
                one.addresses.push_back(one.memory.back().mutable_raw().data());
            };
            std::size_t at = 0;
            for (auto v : s.values) {
                give(p.values[static_cast<std::size_t>(v)].size);
                if (k.ir->buffers[at++].element == dtype::f32) // indices stay zero
                    fill_random(one.memory.back(), random_stream{1}.split(static_cast<std::uint64_t>(v)));
            }
            if (call->workspace > 0) give(call->workspace);
            auto const speed = detail::speed_of(one, rounds);
            of_network.values.push_back(speed), all.values.push_back(speed);
            sample slower;
            slower.values = {speed};
            if (speed < slow) report.add("slower in memory", one.name, slower, "x");
        }
        if (of_network.values.empty()) continue;
        sample mean;
        double sum = 0;
        for (auto const v : of_network.values) sum += std::log(v);
        mean.values = {std::exp(sum / static_cast<double>(of_network.values.size()))};
        report.add("compiled / in memory, geometric mean", name, mean, "x");
    }
    report.add("compiled / in memory", "all kernels, median, least and most", all, "x");
    sample left;
    left.values = {static_cast<double>(refused)};
    report.add("not taken", "kernels", left, "");
}

} // namespace bench
