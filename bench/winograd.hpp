// Winograd kernels beside the direct ones, for each distinct 3x3 convolution of stride 1 of some models.
#pragma once

#include "layers.hpp"
#include "measurement.hpp"
#include <gsub/core/format.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <memory>
#include <set>

namespace bench {

/// How convolutions are compared.
struct winograd_comparison {
    bool cold = false; ///< weights come from memory, as in networks that no cache holds
    int rounds = 15;
};

namespace detail {

using namespace gsub;

struct conv_variant {
    codegen::kernel k;
    codegen::kernel_function call = nullptr;
    std::vector<tensor> weights; ///< copies, used in turn
    std::size_t turn = 0;
};

// Names of shapes, `64 -> 128, 28 x 28`, each once.
inline std::vector<std::pair<std::string, kernels::conv2d_shape>> convolutions_of(std::vector<std::string> const& names,
                                                                                  std::int32_t lanes) {
    std::vector<std::pair<std::string, kernels::conv2d_shape>> found;
    std::set<std::string> seen;
    for (auto const& name : names) {
        auto const* const entry = models::find_model(name);
        if (!entry) {
            std::fprintf(stderr, "no model %s\n", name.c_str());
            continue;
        }
        auto const g = entry->build(1);
        for (auto const n : g.order()) {
            if (!g.is<ops::conv>(n)) continue;
            auto const shape = conv2d_of(g, n, lanes);
            if (!shape || !kernels::winograd_applies(*shape)) continue;
            auto const& s = *shape;
            auto text = fmt::format("{} -> {}, {} x {}{}", s.in_channels, s.out_channels, s.out(0), s.out(1),
                                    s.pads == std::array<std::int64_t, 4>{} ? ", no pads" : "");
            if (seen.insert(text).second) found.emplace_back(std::move(text), s);
        }
    }
    return found;
}

inline void run(conv_variant& v, std::vector<void*> const& buffers, executor& threads) {
    auto const own = static_cast<std::int64_t>(codegen::workspace_bytes(v.k) / sizeof(float));
    auto const positions = v.k.parallel_extent,
               pieces = std::min(positions, 4 * static_cast<std::int64_t>(threads.concurrency()));
    auto* const weights = v.weights[v.turn++ % v.weights.size()].mutable_raw().data();
    threads.parallel_for(static_cast<std::size_t>(pieces), [&](std::size_t k) {
        thread_local tensor workspace;
        if (own > 0 && (!workspace.raw().data() || static_cast<std::int64_t>(workspace.raw().size()) < 4 * own))
            workspace = tensor::zeros(dtype::f32, ints{own});
        auto all = buffers;
        all[1] = weights;
        if (own > 0) all.push_back(workspace.mutable_raw().data());
        auto const piece = static_cast<std::int64_t>(k);
        v.call(all.data(), positions * piece / pieces, positions * (piece + 1) / pieces);
    });
}

} // namespace detail

/// Prints for one thread, and for two where there are two CPUs: what a direct kernel takes, and what Winograd kernels
/// and the one that is chosen take of that, in rounds that take one after the other. Budgets are on two threads.
inline void compare_winograd(std::vector<std::string> const& names, winograd_comparison const& how, reporter& report) {
    using namespace gsub;
    auto const machine = host();
    auto const& isa = isa_of(machine);
    auto const with = runtime::find_compiler().value();
    auto const layers = detail::convolutions_of(names, isa.lanes());
    for (std::uint32_t count = 1; count <= std::min<std::size_t>(2, runtime::available_cpus()); ++count) {
        runtime::thread_pool threads{{.threads = count}};
        auto options = kernels::winograd_options_of(machine);
        options.threads = count;
        for (auto const& [name, s] : layers) {
            auto const chosen = kernels::choose_winograd(s, isa, options);
            auto const weights = random_tensor(s.out_channels * s.in_channels * 9, 1);
            std::vector<detail::conv_variant> variants(3);
            std::vector<runtime::kernel_source> sources;
            for (std::size_t i = 0; i < 3; ++i) {
                auto& v = variants[i];
                std::vector<float> packed;
                if (i == 0) {
                    packed = kernels::pack_conv2d_weights(s, weights.data<float>(), isa);
                    v.k =
                        codegen::lower(kernels::conv2d_nest(s, kernels::default_config(s, isa), isa), "direct").value();
                } else {
                    auto const c = kernels::default_winograd(s, isa, i == 1 ? 2 : 4, options);
                    packed = kernels::pack_winograd_weights(s, c, weights.data<float>(), isa);
                    v.k = codegen::lower(kernels::winograd_nest(s, c, isa), "winograd").value();
                }
                auto const symbol = fmt::format("variant_{}", i);
                sources.push_back({codegen::emit_cpp(v.k, symbol), symbol, std::string{isa.flags}});
                auto const size = packed.size() * sizeof(float);
                auto const copies = how.cold ? 1 + 3 * std::max<std::uint64_t>(machine.l3_bytes, 1u << 25) / size : 1;
                for (std::size_t c = 0; c < copies; ++c) {
                    auto& copy = v.weights.emplace_back(
                        tensor::zeros(dtype::f32, ints{static_cast<std::int64_t>(packed.size())}));
                    std::copy(packed.begin(), packed.end(), copy.mutable_data<float>().begin());
                }
            }
            auto const loaded = runtime::load_kernels(sources, with).value();
            for (std::size_t i = 0; i < 3; ++i)
                variants[i].call = reinterpret_cast<codegen::kernel_function>(loaded[i].function());

            auto const& b = variants[0].k.buffers;
            std::vector<tensor> memory;
            std::vector<void*> addresses;
            for (std::size_t i = 0; i < b.size(); ++i) {
                memory.push_back(random_tensor(i == 1 ? 1 : b[i].elements(), i));
                addresses.push_back(memory.back().mutable_raw().data());
            }
            sample direct, of[2];
            auto const times = std::max(1, static_cast<int>(4e8 / s.operations()));
            for (int round = -1; round < how.rounds; ++round) { // the first one warms up
                double seconds[3];
                for (std::size_t i = 0; i < 3; ++i) {
                    seconds[i] = seconds_of([&] {
                        for (int k = 0; k < times; ++k) detail::run(variants[i], addresses, threads);
                    });
                    seconds[i] /= times;
                }
                if (round < 0) continue;
                direct.values.push_back(seconds[0]);
                for (std::size_t i : {0u, 1u}) of[i].values.push_back(seconds[i + 1] / seconds[0]);
            }
            auto const on =
                fmt::format("{}, {}{}{}", name, count, count == 1 ? " thread" : " threads", how.cold ? ", cold" : "");
            auto const pixels = std::min(s.out(0), s.out(1)), channels = std::min(s.in_channels, s.out_channels);
            auto const budget = count == 1      ? 0
                                : channels < 64 ? 1 / 0.98
                                : pixels >= 28  ? 1 / 2.0
                                : pixels >= 14  ? 1 / 1.5
                                : pixels >= 7   ? 1 / 1.2
                                                : 1 / 0.98;
            sample one;
            one.values.assign(static_cast<std::size_t>(how.rounds), 1.0);
            report.add("direct", on, direct, "s");
            report.add("F(2x2) / direct", on, of[0], "x");
            report.add("F(4x4) / direct", on, of[1], "x");
            report.add(fmt::format("chosen: {}", !chosen          ? "direct"
                                                 : chosen->m == 2 ? "F(2x2)"
                                                                  : "F(4x4)"),
                       on,
                       !chosen          ? one
                       : chosen->m == 2 ? of[0]
                                        : of[1],
                       "x", budget);
        }
    }
}

} // namespace bench
