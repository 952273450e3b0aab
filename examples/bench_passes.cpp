// How long lists of passes take, and what they leave: `bench_passes MODEL.onnx [LIST ...]`. One JSON object a line.
#include <gsub/gsub.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

double seconds_of(auto&& work) {
    auto const begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
double median(std::vector<double> of) {
    std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
    return of[of.size() / 2];
}

} // namespace

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
