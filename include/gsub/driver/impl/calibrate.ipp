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

GSUB_INLINE std::string calibration_key(target const& machine, std::size_t threads, isa const& isa) {
    return format_text("{} threads={} backend=simd isa={} gsub={}", machine.key(), threads, isa.name, version);
}

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

/// One calibration: probes are timed one after the other, and rates of the machine follow from them.
class calibration_run {
public:
    calibration_run(dialect const& operators, eval_table evaluators, cost::measure_options const& measuring,
                    build_options const& building, target const& machine)
        : probes_(operators),
          evaluators_(evaluators),
          measuring_(measuring),
          building_(building),
          machine_(machine),
          threads_(*measuring.threads) {
        building_.winograd.accuracy = kernels::winograd_accuracy::off; // what is counted is what is computed
        auto const& isa = building.isa ? *building.isa : isa_of(machine);
        done_.machine = calibration_key(machine, threads_.concurrency(), isa);
    }

    calibration run() {
        measure_arithmetic();
        measure_memory();
        measure_launch();
        return std::move(done_);
    }

private:
    // Gives the rate.
    double note(std::string_view name, double taken, double amount, std::string_view unit) {
        auto const rate = amount / taken;
        if (!(taken > 0) || !(rate > 0) || !std::isfinite(rate))
            throw error{errors::calibration_failed, format_text("calibrating: {} takes {} s", name, taken)};
        done_.probes.push_back({name, taken, amount, unit});
        return rate;
    }

    double timed(any_graph const& g, double longer = 1) const {
        auto how = measuring_;
        how.least_seconds *= longer;
        auto const model = measured_kernels::make(evaluators_, {}, how, building_, machine_).value();
        auto const taken = model(g).amount;
        if (model.unmeasured() > 0)
            throw error{errors::calibration_failed, "calibrating: a kernel could not be built and timed"};
        return taken;
    }

    void measure_arithmetic() {
        auto const rate = [&](std::string_view name, any_graph const& g) {
            return note(name, timed(g), cost::flop_cost{}(g).amount, flops::symbol);
        };
        std::array rates{rate("product of matrices", probes_.product()),
                         rate("1x1 convolution", probes_.convolution(1)),
                         rate("3x3 convolution", probes_.convolution(3))};
        std::sort(rates.begin(), rates.end());
        done_.rates.flop_per_second = rates[1];
    }

    void measure_memory() {
        constexpr std::uint64_t least = std::uint64_t{64} << 20, most = std::uint64_t{128} << 20;
        auto const large =
            probes_.sum_of_arrays(static_cast<std::int64_t>(std::clamp(machine_.l3_bytes, least, most) / 4));
        // Memory is shared with whatever else runs on the machine, so its median is taken over a longer time.
        done_.rates.bytes_per_second =
            note("sum of large arrays", timed(large, 4), cost::byte_cost{}(large).amount, bytes::symbol);
    }

    void measure_launch() {
        auto many = probes_.tiny_products(64);
        auto const inputs = random_inputs(many, 1);
        auto const built = build(std::move(many), evaluators_, machine_, building_).value();
        auto context = built.make_context();
        std::array outputs{tensor::zeros(built.outputs()[0])};
        std::size_t steps = 0;
        for (auto const& s : built.steps()) {
            if (std::holds_alternative<runtime::reference_call>(s.what))
                throw error{errors::calibration_failed,
                            format_text("calibrating: a step is \"{}\", no kernel", kind_of(s))};
            ++steps;
        }
        auto const runs = std::max<std::size_t>(measuring_.least_runs, 3);
        auto const step = median_seconds(runs, 100, [&] { built.run(context, inputs, outputs, threads_).value(); });
        done_.rates.launch = 1 / note("step of a run", step, static_cast<double>(steps), "steps");
        if (threads_.concurrency() <= 1) return;
        auto const pieces = static_cast<std::size_t>(work_items_per_thread) * threads_.concurrency();
        auto const join = median_seconds(runs, 1000, [&] { threads_.parallel_for(pieces, [](std::size_t) {}); });
        done_.rates.launch += 1 / note("threads woken and joined", join, 1, "times");
    }

    probe_graphs probes_;
    eval_table evaluators_;
    cost::measure_options measuring_;
    build_options building_;
    target const& machine_;
    executor& threads_;
    calibration done_;
};

} // namespace detail

GSUB_INLINE result<calibration> calibrate(dialect const& operators, eval_table evaluators,
                                          cost::measure_options measuring, build_options building,
                                          target const& machine) {
    return capture([&] {
        inline_executor one;
        if (!measuring.threads) measuring.threads = &one;
        return detail::calibration_run{operators, evaluators, measuring, building, machine}.run();
    });
}

} // namespace gsub
