// How long a build takes, cold and warm, and how long what it builds: `bench_build MODEL.onnx [THREADS [ROUNDS]]`. One
// JSON object a line.
#include "timing.hpp"
#include <gsub/gsub.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    if (argc < 2) return std::fprintf(stderr, "usage: %s MODEL.onnx [THREADS [ROUNDS]]\n", argv[0]), 2;
    auto const wanted = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
    auto const rounds = std::max(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 21ull, 1ull);
    gsub::runtime::thread_pool threads{{.threads = static_cast<unsigned>(wanted)}};
    auto const model = gsub::io::load_onnx(argv[1]).value();
    gsub::build_options options;
    options.threads = &threads;

    auto const build = [&] { return gsub::build(model, gsub::host(), options).value(); };
    auto const first = seconds_of([&] { static_cast<void>(build()); }); // compiles what the cache has not
    auto const again = seconds_of([&] { static_cast<void>(build()); }); // loads it
    auto const program = build();

    auto context = program.make_context();
    auto const inputs = gsub::random_inputs(model, 1);
    auto outputs = program.run(inputs, &threads).value();
    std::vector<double> runs;
    for (auto i = 0ull; i < rounds; ++i)
        runs.push_back(seconds_of([&] { program.run(context, inputs, outputs, threads).value(); }));
    std::printf(
        "{\"bench\":\"build\",\"threads\":%zu,\"first_s\":%.6g,\"again_s\":%.6g,\"run_s\":%.6g,\"least_s\":%.6g,"
        "\"kernels\":%zu,\"arena_bytes\":%zu,\"constant_bytes\":%zu}\n",
        threads.concurrency(), first, again, median(runs), *std::min_element(runs.begin(), runs.end()),
        program.steps().size(), program.arena_bytes(), program.constant_bytes());
}
