// Reads handwritten digits with a trained network, before and after optimization: accuracy of both, and whether they
// agree image by image. Usage: digits FOLDER, where FOLDER holds digits.onnx, images.npy and labels.npy.
#include <gsub/gsub.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

// The class with the largest logit, for every image.
std::vector<std::int64_t> classes_of(gsub::tensor const& logits) {
    auto const count = static_cast<std::ptrdiff_t>(logits.dims()[1]);
    auto const all = logits.data<float>();
    std::vector<std::int64_t> out;
    for (auto row = all.begin(); row != all.end(); row += count)
        out.push_back(std::max_element(row, row + count) - row);
    return out;
}

std::size_t agreeing(std::span<std::int64_t const> a, std::span<std::int64_t const> b) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i];
    return count;
}

int classify(std::string const& folder) {
    auto const graph = gsub::io::load_onnx(folder + "/digits.onnx").value();
    auto const images = gsub::io::load_npy(folder + "/images.npy").value();
    auto const labels = gsub::io::load_npy(folder + "/labels.npy").value();
    auto const better = gsub::optimize(graph, gsub::cost::roofline{}, {.alpha = 1.05, .verify = true}).value();
    std::fputs(gsub::report::to_text(better.report).c_str(), stdout);

    auto const logits_before = gsub::evaluate_graph(graph, std::span{&images, 1}).value()[0];
    auto const logits_after = gsub::evaluate_graph(better, std::span{&images, 1}).value()[0];
    auto const before = classes_of(logits_before), after = classes_of(logits_after);
    auto const total = labels.data<std::int64_t>().size();
    auto const right_before = agreeing(before, labels.data<std::int64_t>());
    auto const right_after = agreeing(after, labels.data<std::int64_t>());
    auto const same = agreeing(before, after);
    auto const distance = gsub::compare(logits_after, logits_before).value().max_relative;

    auto const share = [&](std::size_t n) { return 100.0 * static_cast<double>(n) / static_cast<double>(total); };
    std::printf("accuracy before  %zu of %zu held-out images (%.2f %%)\n", right_before, total, share(right_before));
    std::printf("accuracy after   %zu of %zu (%.2f %%)\n", right_after, total, share(right_after));
    std::printf("agreement        %zu of %zu, logits within %.1e of the largest\n", same, total, distance);
    return better.report.verification.equal && same == total ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) return std::fputs("usage: digits FOLDER\n", stderr), 2;
    try {
        return classify(argv[1]);
    } catch (gsub::error const& e) {
        std::fprintf(stderr, "digits: %s\n", e.what());
        return static_cast<int>(e.code());
    }
}
