#pragma once

#include <gsub/core/format.hpp>
#include <gsub/driver/calibrate.hpp>
#include <gsub/driver/measured_kernels.hpp>
#include <gsub/models/network_builder.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

namespace gsub {

namespace detail {

// What the rates of a machine are measured by: graphs of one kernel each, and one of many.
class probe_graphs {
public:
    explicit probe_graphs(dialect const& operators) : operators_(&operators) {}

    [[nodiscard]] any_graph product() const {
        return made({512, 512}, [](models::network_builder& net, value_id x) { return times(net, x, 512); });
    }
    [[nodiscard]] any_graph convolution(std::int64_t kernel) const {
        std::int64_t const channels = kernel == 1 ? 256 : 128;
        return made({1, channels, 28, 28}, [&](models::network_builder& net, value_id x) {
            return net.conv("conv", x, {channels, {kernel, kernel}, {1, 1}, {kernel / 2, kernel / 2}, 1, false});
        });
    }
    [[nodiscard]] any_graph sum_of_arrays(std::int64_t elements) const {
        return made({elements}, [&](models::network_builder& net, value_id x) {
            return net.sum("sum", x, net.input(dtype::f32, {elements}, "y"));
        });
    }
    [[nodiscard]] any_graph tiny_products(int count) const {
        return made({1, 16}, [&](models::network_builder& net, value_id x) {
            auto const w = weights(net, 16);
            for (int i = 0; i < count; ++i) x = net.apply<ops::mat_mul>("step", {x, w});
            return x;
        });
    }

private:
    static value_id weights(models::network_builder& net, std::int64_t size) {
        return net.constant(net.weights().linear("w", size, size));
    }
    static value_id times(models::network_builder& net, value_id x, std::int64_t size) {
        return net.apply<ops::mat_mul>("product", {x, weights(net, size)});
    }
    template <class Make>
    any_graph made(shape input, Make const& make) const {
        any_graph g{*operators_};
        models::network_builder net{g, models::weight_source{1}};
        net.output(make(net, net.input(dtype::f32, std::move(input), "x")), "out");
        return g;
    }
    dialect const* operators_;
};

// Median of the times of a call, each run `inner` times; the first calls warm up.
template <class Call>
double median_seconds(std::size_t runs, std::size_t inner, Call const& call) {
    using clock = std::chrono::steady_clock;
    std::vector<double> times;
    for (std::size_t r = 0; r < runs + 2; ++r) {
        auto const begin = clock::now();
        for (std::size_t i = 0; i < inner; ++i) call();
        if (r < 2) continue;
        times.push_back(std::chrono::duration<double>(clock::now() - begin).count() / static_cast<double>(inner));
    }
    auto const middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

} // namespace detail

GSUB_INLINE std::string calibration_key(target const& machine, std::size_t threads, isa const& isa) {
    return fmt::format("{} threads={} backend=simd isa={} gsub={}", machine.key(), threads, isa.name, version);
}

GSUB_INLINE result<calibration> calibrate(dialect const& operators, eval_table evaluators,
                                          cost::measure_options measuring, build_options building,
                                          target const& machine) {
    return capture([&] {
        inline_executor one;
        auto& threads = measuring.threads ? *measuring.threads : one;
        measuring.threads = &threads;
        building.winograd.accuracy = kernels::winograd_accuracy::off; // what is counted is what is computed
        calibration done;
        done.machine = calibration_key(machine, threads.concurrency(), building.isa ? *building.isa : isa_of(machine));
        auto const note = [&](std::string_view name, double taken, double amount, std::string_view unit) {
            auto const rate = amount / taken;
            if (!(taken > 0) || !(rate > 0) || !std::isfinite(rate))
                throw error{error_code::environment, fmt::format("calibrating: {} takes {} s", name, taken)};
            done.probes.push_back({name, taken, amount, unit});
            return rate;
        };

        detail::probe_graphs const probes{operators};
        // Memory is shared with whatever else runs on the machine, so its median is taken over a longer time.
        auto const timed = [&](any_graph const& g, double longer = 1) {
            auto how = measuring;
            how.least_seconds *= longer;
            auto const model = measured_kernels::make(evaluators, {}, how, building, machine).value();
            auto const taken = model(g).amount;
            if (model.unmeasured() > 0)
                throw error{error_code::environment, "calibrating: a kernel could not be built and timed"};
            return taken;
        };
        auto const arithmetic = [&](std::string_view name, any_graph const& g) {
            return note(name, timed(g), cost::flop_cost{}(g).amount, flops::symbol);
        };
        std::array rates{arithmetic("product of matrices", probes.product()),
                         arithmetic("1x1 convolution", probes.convolution(1)),
                         arithmetic("3x3 convolution", probes.convolution(3))};
        std::sort(rates.begin(), rates.end());
        done.rates.flop_per_second = rates[1];

        constexpr std::uint64_t least = std::uint64_t{64} << 20, most = std::uint64_t{128} << 20;
        auto const large =
            probes.sum_of_arrays(static_cast<std::int64_t>(std::clamp(machine.l3_bytes, least, most) / 4));
        done.rates.bytes_per_second =
            note("sum of large arrays", timed(large, 4), cost::byte_cost{}(large).amount, bytes::symbol);

        auto many = probes.tiny_products(64);
        auto const inputs = random_inputs(many, 1);
        auto const built = build(std::move(many), evaluators, machine, building).value();
        auto context = built.make_context();
        std::array outputs{tensor::zeros(built.outputs()[0])};
        std::size_t steps = 0;
        for (auto const& s : built.steps()) {
            if (std::holds_alternative<runtime::reference_call>(s.what))
                throw error{error_code::environment,
                            fmt::format("calibrating: a step is \"{}\", no kernel", kind_of(s))};
            ++steps;
        }
        auto const runs = std::max<std::size_t>(measuring.least_runs, 3);
        auto const step =
            detail::median_seconds(runs, 100, [&] { built.run(context, inputs, outputs, threads).value(); });
        done.rates.launch = 1 / note("step of a run", step, static_cast<double>(steps), "steps");
        if (threads.concurrency() > 1) {
            auto const pieces = static_cast<std::size_t>(work_items_per_thread) * threads.concurrency();
            auto const join =
                detail::median_seconds(runs, 1000, [&] { threads.parallel_for(pieces, [](std::size_t) {}); });
            done.rates.launch += 1 / note("threads woken and joined", join, 1, "times");
        }
        return done;
    });
}

} // namespace gsub
