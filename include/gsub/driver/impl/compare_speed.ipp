#pragma once

#include <gsub/driver/compare_speed.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

// A program with memory of its own to run in.
template <class = void>
class timed_program {
public:
    timed_program(runtime::executable const& program, std::span<tensor const> inputs, executor& threads)
        : program_(program), inputs_(inputs), threads_(threads), context_(program.make_context()) {
        outputs_ = program.make_outputs();
    }
    void run() { program_.run(context_, inputs_, outputs_, threads_).value(); }
    // Seconds of a run, over as many as take so long.
    double seconds(double least) {
        using clock = std::chrono::steady_clock;
        auto const begin = clock::now();
        std::size_t runs = 0;
        double taken = 0;
        do {
            run(), ++runs;
            taken = std::chrono::duration<double>(clock::now() - begin).count();
        } while (taken < least);
        return taken / static_cast<double>(runs);
    }

private:
    runtime::executable const& program_;
    std::span<tensor const> inputs_;
    executor& threads_;
    runtime::run_context context_;
    std::vector<tensor> outputs_;
};

GSUB_LAZY [[nodiscard]] double median_of(std::vector<double> values) {
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace detail

GSUB_LAZY_BODY result<speed_comparison> compare_speed(runtime::executable const& first,
                                                      std::span<tensor const> inputs_of_first,
                                                      runtime::executable const& second,
                                                      std::span<tensor const> inputs_of_second,
                                                      speed_options const& options) {
    return capture([&] {
        GSUB_ASSERT(options.rounds > 0, "programs are timed in at least one round");
        inline_executor alone;
        auto& threads = options.threads ? *options.threads : static_cast<executor&>(alone);
        detail::timed_program a{first, inputs_of_first, threads}, b{second, inputs_of_second, threads};
        for (int i = 0; i < 3; ++i) a.run(), b.run();
        std::vector<double> of_a, of_b, ratios;
        for (std::size_t round = 0; round < options.rounds; ++round) {
            auto const b_first = round % 2 == 1;
            auto const one = (b_first ? b : a).seconds(options.least_seconds);
            auto const other = (b_first ? a : b).seconds(options.least_seconds);
            of_a.push_back(b_first ? other : one), of_b.push_back(b_first ? one : other);
            ratios.push_back(of_b.back() / of_a.back());
        }
        speed_comparison out;
        out.first = detail::median_of(of_a), out.second = detail::median_of(of_b);
        std::sort(ratios.begin(), ratios.end());
        out.ratio = ratios[ratios.size() / 2];
        // The number of rounds below the median is binomial: about normal, 1.96 deviations to each side.
        auto const n = static_cast<double>(ratios.size());
        auto const beside = 0.98 * std::sqrt(n);
        auto const at = [&](double rank) { return ratios[static_cast<std::size_t>(std::clamp(rank, 0.0, n - 1))]; };
        out.low = at(std::floor(n / 2 - beside)), out.high = at(std::ceil(n / 2 + beside));
        return out;
    });
}

} // namespace gsub
