// How the benchmarks among the examples time: seconds of a call, and the median of several.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

template <class Work>
double seconds_of(Work&& work) {
    auto const begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline double median(std::vector<double> of) {
    auto const middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
    std::nth_element(of.begin(), middle, of.end());
    return *middle;
}
