// Micro-kernels: cycles of a turn of the products' inner loops, measured and predicted.
//
//     bench_micro_kernels [--rounds N] [--every N] [--core NAME] [--calibrate] [--check]
//
// For each register tile and unrolling that the config space of a product admits, with AVX-512 and AVX2 as far as they
// run here, the kernel of the template is emitted as machine code and called with data in the first cache. A turn of
// its loop is timed by two numbers of steps, in turns with a loop of independent multiply-adds of the same width, which
// tells the clock: N (100) rounds, of each the least. It is predicted by `machine::pipeline_run` on the instructions of
// the same kernel, with the ports of this machine's micro-architecture, or of NAME, or as `--calibrate` measures them
// first. `--every N` takes every Nth one.
// Prints the mean error, the share within 10 % and what lies beyond that; `--check` asks that every kernel was timed
// and predicted, not how well.
#include "measurement.hpp"
#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/codegen/x86/emit_x86.hpp>
#include <gsub/codegen/x86/instruction_stream.hpp>
#include <gsub/codegen/x86/port_calibration.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/machine/pipeline.hpp>
#include <gsub/machine/pipeline_run.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace gsub;

struct settings {
    int rounds = 100;
    std::size_t every = 1;
    std::string core;
    bool calibrate = false, check = false;
};

struct micro_kernel {
    isa const* set = nullptr;
    kernels::matmul_config knobs;
    [[nodiscard]] std::string name() const {
        return format_text("{} {}x{} by {}", set->name, knobs.tile_m, knobs.tile_n, knobs.unroll_k);
    }
    // Steps, so that both panels lie in the first cache; odd multiples of 8 lines, which spread over its sets.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> steps() const {
        auto const bytes = 4 * (std::int64_t{knobs.tile_m} + std::int64_t{knobs.tile_n} * set->lanes());
        auto const most = std::min<std::int64_t>((28 << 10) / (8 * bytes), 25);
        auto const longer = most - (most % 2 == 0);
        auto const shorter = longer / 3;
        return {8 * (shorter - (shorter % 2 == 0)), 8 * longer};
    }
    [[nodiscard]] codegen::kernel made(std::int64_t steps_of_k) const {
        kernels::matmul_shape s;
        s.m = knobs.tile_m, s.n = std::int64_t{knobs.tile_n} * set->lanes(), s.k = steps_of_k;
        return codegen::lower(kernels::matmul_nest(s, knobs, *set), "micro").value();
    }
};

// All tiles and unrollings of a product that is larger than any of them.
std::vector<micro_kernel> all_of(isa const& set) {
    kernels::matmul_shape s;
    s.m = 64, s.n = std::int64_t{64} * set.lanes(), s.k = 64;
    auto const space = kernels::space_of(kernels::descriptor{s}, set);
    std::vector<micro_kernel> out;
    for (std::uint64_t n = 0; n < space.size(); ++n) {
        auto const point = space.at(n);
        auto const knobs = kernels::matmul_knobs(point);
        if (space.allows(point) && knobs.tile_k == 0) out.push_back({&set, knobs});
    }
    return out;
}

// Independent multiply-adds, by their number, between two registers that stay: the clock.
constexpr int clock_chains = 12;
codegen::kernel clock_kernel(isa const& set, std::int64_t turns) {
    codegen::kernel k;
    k.name = "clock", k.lanes = set.lanes(), k.registers = clock_chains + 3, k.live = clock_chains;
    k.buffers = {{.name = "x", .dims = {2 * set.lanes()}},
                 {.name = "y", .dims = {clock_chains * set.lanes()}, .written = true}};
    k.names = {"i"};
    codegen::statement before, loop, body, after;
    before.code.push_back({.op = codegen::opcode::splat, .result = clock_chains + 2, .offset = {}});
    for (int r = 0; r < clock_chains; ++r)
        before.code.push_back(
            {.op = codegen::opcode::copy, .result = r, .operands = {clock_chains + 2, -1, -1}, .offset = {}});
    for (int v = 0; v < 2; ++v)
        before.code.push_back({.op = codegen::opcode::load,
                               .result = clock_chains + v,
                               .buffer = 0,
                               .offset = codegen::affine{v * set.lanes()},
                               .lanes = set.lanes()});
    for (int r = 0; r < clock_chains; ++r)
        body.code.push_back({.op = codegen::opcode::multiply_add,
                             .result = r,
                             .operands = {clock_chains, clock_chains + 1, -1},
                             .offset = {},
                             .lanes = set.lanes()});
    loop.kind = codegen::statement_kind::loop, loop.var = 0;
    loop.begin = {{codegen::affine{0}}}, loop.end = {{codegen::affine{turns}}};
    loop.body = {body};
    for (int r = 0; r < clock_chains; ++r)
        after.code.push_back({.op = codegen::opcode::store,
                              .operands = {r, -1, -1},
                              .buffer = 1,
                              .offset = codegen::affine{r * set.lanes()},
                              .lanes = set.lanes()});
    k.body = {before, loop, after};
    return k;
}

// Machine code and its arrays.
class runner {
public:
    runner(codegen::kernel const& k, isa const& set) : code_(codegen::emit_x86(k, set).value()) {
        for (auto const& b : k.buffers) {
            auto& m = memory_.emplace_back(static_cast<std::size_t>(b.elements()) + 32, 0.5f);
            auto const at = reinterpret_cast<std::uintptr_t>(m.data());
            addresses_.push_back(m.data() + (64 - at % 64) % 64 / sizeof(float));
        }
        addresses_.push_back(nullptr); // there is no workspace
    }
    // Seconds of one call, of so many in a row.
    [[nodiscard]] double seconds(int calls) {
        auto const f = reinterpret_cast<codegen::kernel_function>(code_.entry);
        return bench::seconds_of([&] {
                   for (int c = 0; c < calls; ++c) {
                       f(addresses_.data(), 0, 1);
                       asm volatile("lfence" ::: "memory"); // else short calls run beside each other
                   }
               }) /
               calls;
    }
    // As many calls as take about so long.
    [[nodiscard]] int calls_in(double seconds_in_all) {
        (void)seconds(20);
        return std::clamp(static_cast<int>(seconds_in_all / std::max(1e-9, seconds(20))), 4, 20000);
    }

private:
    codegen::machine_code code_;
    std::vector<std::vector<float>> memory_;
    std::vector<void*> addresses_;
};

// The least seconds of calls of several kernels, timed in turns.
std::vector<double> least_seconds(std::vector<runner*> const& of, int rounds) {
    std::vector<int> calls;
    for (auto* r : of) calls.push_back(r->calls_in(15e-6));
    std::vector<double> least(of.size(), 1e9);
    for (int r = 0; r < rounds; ++r)
        for (std::size_t i = 0; i < of.size(); ++i) least[i] = std::min(least[i], of[i]->seconds(calls[i]));
    return least;
}

// A loop of independent multiply-adds with few turns and with many.
struct clock_loops {
    explicit clock_loops(isa const& set)
        : few{clock_kernel(set, few_turns), set}, many{clock_kernel(set, turns), set} {}
    static constexpr std::int64_t few_turns = 128, turns = 640;
    // Of the difference, where that many multiply-adds begin a cycle.
    static double cycles(double units) { return static_cast<double>((turns - few_turns) * clock_chains) / units; }
    runner few, many;
};

// Cycles of a turn of the loop.
double measured_cycles(micro_kernel const& k, clock_loops& clock, double units, int rounds) {
    auto const [shorter, longer] = k.steps();
    runner few{k.made(shorter), *k.set}, many{k.made(longer), *k.set};
    auto const least = least_seconds({&clock.few, &few, &clock.many, &many}, rounds);
    auto const cycle = (least[2] - least[0]) / clock_loops::cycles(units);
    return (least[3] - least[1]) / cycle * k.knobs.unroll_k / static_cast<double>(longer - shorter);
}

// Of the loop with the multiply-adds, from its instructions alone.
struct prediction {
    double cycles = 0;
    machine::steady_state steady;
    std::size_t instructions = 0;
};
prediction predicted_cycles(micro_kernel const& k, core_ports const& ports) {
    auto const stream = codegen::instructions_of(k.made(k.steps().second), *k.set).value();
    auto const loop = std::find_if(stream.regions.begin(), stream.regions.end(),
                                   [](auto const& r) { return r.is_loop() && r.inner; });
    GSUB_ASSERT(loop != stream.regions.end(), "a product has a loop over its steps");
    machine::pipeline_run run{stream.code, ports};
    run.run(0, loop->first);
    auto const turns = [&](int count) {
        for (int t = 0; t < count; ++t) run.run(loop->first, loop->last);
        return run.cycles();
    };
    auto const size = loop->last - loop->first;
    auto const many = 16 + static_cast<int>(1500 / size);
    auto const begun = turns(many);
    prediction out;
    out.cycles = (turns(many) - begun) / many;
    out.steady = machine::steady_bounds(std::span{stream.code}.subspan(loop->first, size), ports);
    out.instructions = size;
    return out;
}

struct outlier {
    std::string name;
    double measured = 0, predicted = 0;
};

int run(settings const& s) {
    auto const machine = host();
    bench::reporter report{"micro_kernels"};
    auto const* core = &microarchitecture_of(machine);
    for (auto const& row : microarchitectures())
        if (row.name == s.core) core = &row;
    auto calibrated = *core;
    std::optional<measured_port_table> table;
    if (s.calibrate) {
        table.emplace(codegen::calibrate_ports().value(), *core);
        calibrated.ports = &table->table();
    }
    core_ports const ports{calibrated};
    bench::sample errors, signed_errors;
    std::vector<outlier> beyond;
    std::size_t number = 0;
    for (auto const* set : {&isa::avx512, &isa::avx2}) {
        if (!machine.has(*set)) continue;
        clock_loops clock{*set};
        auto const use = ports.of(instruction_class::fma, set->vector_bytes);
        auto const units = std::popcount(use.ports) / use.busy;
        for (auto const& k : all_of(*set)) {
            if (number++ % s.every != 0) continue;
            auto const predicted = predicted_cycles(k, ports);
            auto const measured = measured_cycles(k, clock, units, s.rounds);
            auto const error = predicted.cycles / measured - 1;
            errors.values.push_back(std::abs(error)), signed_errors.values.push_back(error);
            std::printf("%s\n", io::json{{"bench", "micro_kernels"},
                                         {"kernel", k.name()},
                                         {"measured_cycles", measured},
                                         {"predicted_cycles", predicted.cycles},
                                         {"ports", predicted.steady.ports},
                                         {"issue", predicted.steady.issue},
                                         {"chain", predicted.steady.chain},
                                         {"instructions", predicted.instructions},
                                         {"error", error}}
                                    .dump()
                                    .c_str());
            if (std::abs(error) > 0.1) beyond.push_back({k.name(), measured, predicted.cycles});
        }
    }
    if (errors.values.empty()) {
        std::fprintf(stderr, "no kernel: this machine runs neither AVX-512 nor AVX2\n");
        return 0;
    }
    auto const count = static_cast<double>(errors.values.size());
    double sum = 0;
    for (auto const e : errors.values) sum += e;
    report.add("kernels", std::string{core->name}, {{count}}, "kernels");
    report.add("mean error", std::string{core->name}, {{100 * sum / count}}, "%", s.check ? 0 : 4);
    report.add("within 10 %", std::string{core->name}, {{100 * (1 - static_cast<double>(beyond.size()) / count)}}, "%",
               s.check ? 0 : 95, bench::budget_kind::at_least);
    report.add("error, with its sign", std::string{core->name}, {{100 * signed_errors.median()}}, "%");
    for (auto const& o : beyond)
        std::fprintf(stderr, "beyond 10 %%: %-20s measured %7.2f predicted %7.2f cycles (%+.1f %%)\n", o.name.c_str(),
                     o.measured, o.predicted, 100 * (o.predicted / o.measured - 1));
    return report.finish();
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    for (int a = 1; a < argc; ++a) {
        std::string const word = argv[a];
        auto const number = [&] { return a + 1 < argc ? std::atoi(argv[++a]) : 0; };
        if (word == "--rounds")
            s.rounds = std::max(1, number());
        else if (word == "--every")
            s.every = static_cast<std::size_t>(std::max(1, number()));
        else if (word == "--core" && a + 1 < argc)
            s.core = argv[++a];
        else if (word == "--calibrate")
            s.calibrate = true;
        else if (word == "--check")
            s.check = true;
        else {
            std::fprintf(stderr,
                         "bench_micro_kernels [--rounds N] [--every N] [--core NAME] [--calibrate] [--check]\n");
            return 2;
        }
    }
    try {
        return run(s);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "bench_micro_kernels: %s\n", e.what());
        return 2;
    }
}
