// How long lists of passes take, and what they leave: `bench_passes MODEL.onnx [LIST ...]`. One JSON object a line.
#include "timing.hpp"
#include <gsub/gsub.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    if (argc < 2) return std::fprintf(stderr, "usage: %s MODEL.onnx [LIST ...]\n", argv[0]), 2;
    std::vector<std::string> lists(argv + 2, argv + argc);
    if (lists.empty()) lists = {"none", "default", "auto", "tvm_o3"};
    auto const model = gsub::io::load_onnx(argv[1]).value();
    auto const known = gsub::compiler_passes();

    for (auto const& list : lists) {
        std::vector<double> seconds;
        gsub::pass_run done;
        std::size_t nodes = 0;
        for (auto i = 0; i < 5; ++i) {
            gsub::module m;
            m.add("main", model);
            gsub::pass_context cx;
            cx.machine = gsub::host();
            seconds.push_back(seconds_of([&] { done = run_passes(m, known, list, cx).value(); }));
            nodes = gsub::node_count(m);
        }
        auto const changed = std::count_if(done.records.begin(), done.records.end(), [](auto& r) { return r.changed; });
        std::printf(
            "{\"bench\":\"passes\",\"list\":\"%s\",\"seconds\":%.6g,\"passes\":%zu,\"changed\":%td,\"nodes\":%zu}\n",
            list.c_str(), median(seconds), done.records.size(), changed, nodes);
    }
}
