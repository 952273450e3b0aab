// Tutorial, step 7: the product built and run with generated kernels; which kernels these are, why, and how fast.
#include "product.hpp"

int main(int argc, char** argv) {
    app::digits const data{argc, argv};
    auto const better = app::optimized_product(data);

    gsub::runtime::thread_pool threads;
    gsub::build_options options;
    options.threads = &threads;
    auto const tell = [](gsub::kernel_graph const& kernels) {
        if (kernels.stage != gsub::lowering_stage::scheduled) return;
        for (auto const& k : kernels.ops) {
            std::cout << kind_of(k) << ':';
            for (auto const& n : k.covers) std::cout << ' ' << n.name;
            std::cout << "\n    ends before " << k.boundary << '\n';
        }
    };
    options.on_stage = tell;
    auto const program = gsub::build(better, gsub::host(), options).value();

    auto const scans = data.scans();
    auto const scores = program.run(std::span{&scans, 1}, &threads).value()[0];
    std::cout << data.read(scores);
    require(data.read(scores).wrong == 0, "what the gate lets through is right");

    auto const profile = program.profile(std::span{&scans, 1}, threads).value();
    double seconds = 0;
    for (auto const& step : profile) seconds += step.seconds;
    std::cout << seconds * 1e3 << " ms for 360 images\n";
}
