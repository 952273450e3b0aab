// How long a search takes, and what it finds: `bench_optimize MODEL.onnx [STEPS [ROUNDS]]`. One JSON object a line.
#include "timing.hpp"
#include <gsub/gsub.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    if (argc < 2) return std::fprintf(stderr, "usage: %s MODEL.onnx [STEPS [ROUNDS]]\n", argv[0]), 2;
    auto const steps = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1000;
    auto const rounds = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 3;
    auto const model = gsub::io::load_onnx(argv[1]).value();

    gsub::optimize_options options;
    options.budget = gsub::search::budget{steps};
    for (auto const alpha : {1.0, 1.05, 1.1}) {
        options.alpha = alpha;
        std::vector<double> seconds;
        gsub::optimize_report report;
        for (auto i = 0ull; i < std::max(rounds, 1ull); ++i)
            seconds.push_back(seconds_of([&] { report = gsub::optimize(model, options).value().report; }));
        std::printf(
            "{\"bench\":\"optimize\",\"alpha\":%g,\"seconds\":%.6g,\"before\":%.6g,\"after\":%.6g,\"unit\":\"s\","
            "\"expanded\":%llu,\"distinct\":%llu}\n",
            alpha, median(seconds), report.cost_before, report.cost_after,
            static_cast<unsigned long long>(report.search.expanded),
            static_cast<unsigned long long>(report.search.distinct));
    }
}
