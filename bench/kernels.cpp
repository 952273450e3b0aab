// Generated kernels, one by one, as a share of the rate of multiply-adds that this process reaches on one core.
#include "measurement.hpp"
#include "overhead.hpp"
#include "winograd.hpp"
#ifdef GSUB_BENCH_JIT
#include "emitters.hpp"
#endif
#ifdef GSUB_BENCH_ONEDNN
#include "versus_onednn.hpp"
#endif
#include <gsub/core/format.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/optimize/optimize.hpp>

#include <algorithm>
#include <set>

namespace {

using namespace gsub;
using kernel_call = void (*)(void* const*, std::int64_t, std::int64_t);

// Independent chains of multiply-adds on registers; returns so that nothing is left out.
std::string peak_text(isa const& isa) {
    std::string chains, first, last;
    for (int i = 0; i < 12; ++i) {
        first += fmt::format("  vf a{} = x + {}.0f;\n", i, i);
        chains += fmt::format("    asm volatile(\"\" : \"+{}\"(a{})); a{} = a{} * x + y;\n",
                              isa.vector_bytes == 64 ? "v" : "x", i, i, i);
        last += fmt::format("{}{}", i ? " + a" : "a", i);
    }
    return fmt::format(
        "typedef float vf __attribute__((vector_size({})));\nextern \"C\" __attribute__((visibility(\"default\"))) "
        "void peak(void* const* b, long begin, long end) {{\n  vf* p = (vf*)b[0]; vf x = p[0], y = p[1];\n{}  for "
        "(long i = begin; i < end; ++i) {{\n{}  }}\n  p[2] = {};\n}}\n",
        isa.vector_bytes, first, chains, last);
}

struct measured_kernel {
    std::string name;
    kernel_call call;
    std::int64_t positions;
    double operations;
    std::vector<tensor> memory;
    std::vector<void*> addresses;
    bench::sample share;
};

} // namespace

int main(int argc, char** argv) {
    std::vector<std::string> names(argv + 1, argv + argc);
    auto const flag = [&](char const* name) { return std::erase(names, name) > 0; };
    auto const winograd = flag("--winograd"), cold = flag("--cold"), onednn = flag("--onednn"),
               overhead = flag("--overhead"), emitters = flag("--emitters");
    std::string only;
    if (auto const at = std::find(names.begin(), names.end(), "--only"); at != names.end()) {
        if (at + 1 == names.end() || !onednn ||
            (at[1] != "depthwise" && at[1] != "convolution" && at[1] != "product" && at[1] != "grouped"))
            return std::fprintf(stderr, "--onednn --only depthwise|convolution|product|grouped\n"), 2;
        only = at[1];
        names.erase(at, at + 2);
    }
    for (auto const& name : names)
        if (!models::find_model(name) && !(onednn && name == "goals"))
            return std::fprintf(stderr, "no model %s\n", name.c_str()), 2;
#ifdef GSUB_BENCH_ONEDNN
    if (onednn && !bench::onednn_layer::alone())
        return std::fprintf(stderr, "this oneDNN cannot be told to use one thread\n"), 2;
#else
    if (onednn)
        return std::fprintf(stderr, "built without oneDNN: install it (Debian: libdnnl-dev) and configure again\n"), 2;
#endif
    if (emitters) {
#ifdef GSUB_BENCH_JIT
        bench::reporter report{"emitters"};
        bench::compare_emitters(names, report);
        return report.finish();
#else
        return std::fprintf(stderr, "built without gsub::jit: install Xbyak (Debian: libxbyak-dev), configure again\n"),
               2;
#endif
    }
    if (names.empty()) names = {"resnet50", "mobilenet_v2", "inception_v3", "squeezenet1_1"};
    auto const machine = host();
    auto const& isa = isa_of(machine);
    bench::reporter report{"kernels"};
    if (winograd) {
        bench::compare_winograd(names, {.cold = cold}, report);
        return report.finish();
    }
    if (overhead) {
        bench::measure_overhead(report);
        return report.finish();
    }

    auto const with = runtime::find_compiler().value();
    auto const peak = runtime::load_kernels(
                          std::vector<runtime::kernel_source>{{peak_text(isa), "peak", std::string{isa.flags}}}, with)
                          .value();
    auto const run_peak = reinterpret_cast<kernel_call>(peak[0].function());
    auto peak_memory = tensor::zeros(dtype::f32, ints{64});
    void* peak_address[] = {peak_memory.mutable_raw().data()};
    constexpr std::int64_t turns = 200'000;
    auto const peak_rate = [&] {
        return 12.0 * 2 * isa.lanes() * turns / bench::seconds_of([&] { run_peak(peak_address, 0, turns); });
    };
#ifdef GSUB_BENCH_ONEDNN
    if (onednn) {
        bench::compare_onednn(names, {.only = only}, peak_rate, report);
        return report.finish();
    }
#endif

    std::vector<measured_kernel> kernels;
    std::set<std::string> seen;
    for (auto const& name : names) {
        auto const g = models::find_model(name)->build(1);
        auto const better = optimize(g, cost::roofline{}, {.alpha = 1.05}).value();
        auto const p = plan(better, table_of<eval_row, standard_ops>(), isa).value();
        auto const loaded = runtime::load_kernels(sources_of(p.kernels), with).value();
        for (auto const& s : p.steps) {
            auto const* const call = std::get_if<runtime::kernel_call>(&s.what);
            if (!call || s.operations < 1e6) continue;
            auto const number = static_cast<std::size_t>(call->kernel);
            auto const& text = p.kernels[number].source.text;
            if (!seen.insert(text).second) continue;
            measured_kernel k{fmt::format("{} {} {}", name, kind_of(s), s.name),
                              reinterpret_cast<kernel_call>(loaded[number].function()),
                              call->launch.positions,
                              s.operations,
                              {},
                              {},
                              {}};
            random_stream r{1};
            auto const give = [&](std::size_t bytes) -> tensor& {
                k.memory.push_back(tensor::zeros(dtype::f32, ints{static_cast<std::int64_t>(bytes / sizeof(float))}));
                k.addresses.push_back(k.memory.back().mutable_raw().data());
                return k.memory.back();
            };
            for (auto v : s.values)
                fill_random(give(p.values[static_cast<std::size_t>(v)].size), r.split(static_cast<std::uint64_t>(v)));
            if (call->workspace > 0) give(call->workspace);
            kernels.push_back(std::move(k));
        }
        // The objects stay: their functions are called below.
        static std::vector<std::vector<runtime::loaded_kernel>> kept;
        kept.push_back(loaded);
    }

    bench::sample peaks;
    for (int round = 0; round < 7; ++round)
        for (auto& k : kernels) {
            auto const before = peak_rate();
            auto const times = std::max<std::int64_t>(1, static_cast<std::int64_t>(4e8 / k.operations));
            k.call(k.addresses.data(), 0, k.positions); // what the caches can hold is in them
            auto const seconds = bench::seconds_of([&] {
                for (std::int64_t i = 0; i < times; ++i) k.call(k.addresses.data(), 0, k.positions);
            });
            auto const rate = std::max(before, peak_rate());
            peaks.values.push_back(rate / 1e9);
            k.share.values.push_back(k.operations * static_cast<double>(times) / seconds / rate);
        }

    report.add("peak", "multiply-adds on registers, one core, GFLOP/s", peaks, "x");
    bench::sample bound;
    for (auto const& k : kernels) {
        report.add("share of peak", fmt::format("{}, {}", k.name, report::human(k.operations, "FLOP")), k.share, "x");
        if (k.operations >= 50e6) bound.values.push_back(k.share.median());
    }
    report.add("share of peak, kernels of 50 MFLOP and more", "least, median and most of them", bound, "x");
    return report.finish();
}
