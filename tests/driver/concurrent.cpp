#include "catch.hpp"
#include "io/scratch_folder.hpp"
#include <gsub/driver/build.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <cerrno>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace concurrent_test {

using namespace gsub;

auto const evaluators = table_of<eval_row, standard_ops>();

// A convolution in several pieces, a product, an operator of the reference runtime, a kernel with scratch memory.
graph mixed_net() {
    graph g;
    models::network_builder net{g, models::weight_source{5}};
    auto x = net.input(dtype::f32, {1, 16, 28, 28}, "x");
    x = net.relu("r", net.conv("c", x, {24, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    x = net.max_pool("m", net.relu("s", net.conv("d", x, {24, {3, 3}, {1, 1}, {1, 1}, 1, true})), {{2, 2}, {2, 2}});
    net.output(net.linear("fc", net.pooled_features(x), 19), "y");
    return g;
}

struct runs {
    graph const g = mixed_net();
    std::vector<std::vector<tensor>> inputs;
    runs() {
        for (std::uint64_t seed = 0; seed < 4; ++seed) inputs.push_back(random_inputs(g, seed));
    }
    [[nodiscard]] std::vector<hash128> serial(runtime::executable const& e) const {
        std::vector<hash128> out;
        for (auto const& i : inputs) out.push_back(e.run(i).value().at(0).hash());
        return out;
    }
};

runtime::executable built(graph const& g, std::string const& cache, executor* threads = nullptr) {
    build_options options;
    options.jit.cache_folder = cache;
    options.jit.use_cache = !cache.empty();
    options.threads = threads;
    return build(g, evaluators, host(), options).value();
}

TEST_CASE("16 threads on one executable get the bits that one thread gets, by contexts or by calls, with any pool") {
    scratch_folder const folder;
    runs const r;
    auto const e = built(r.g, folder / "cache");
    auto const want = r.serial(e);
    runtime::thread_pool pool{{.threads = 3}};
    std::vector<int> wrong(16, 0);
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < wrong.size(); ++t)
            threads.emplace_back([&, t] {
                inline_executor alone;
                auto& lent = t % 2 ? static_cast<executor&>(pool) : alone;
                auto context = e.make_context();
                std::vector<tensor> out{tensor::zeros(e.outputs()[0])};
                for (std::size_t i = 0; i < 25; ++i) {
                    auto const k = (t + i) % want.size();
                    wrong[t] += !e.run(context, r.inputs[k], out, lent) || out[0].hash() != want[k];
                    wrong[t] += e.run(r.inputs[k], &lent).value().at(0).hash() != want[k];
                }
            });
    }
    CHECK(wrong == std::vector<int>(16, 0));
}

TEST_CASE("threads may build one network at once, from one cache, and drop it while others run") {
    scratch_folder const folder;
    runs const r;
    auto const want = r.serial(built(r.g, ""));
    runtime::thread_pool pool{{.threads = 2}};
    std::vector<int> wrong(4, 0);
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < wrong.size(); ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 2; ++i) wrong[t] += r.serial(built(r.g, folder / "cache", &pool)) != want;
            });
    }
    CHECK(wrong == std::vector<int>(4, 0));
    CHECK(runtime::cache_verify(folder / "cache").value().removed == 0);
}

TEST_CASE("in the child of a fork an executable runs as before, while other threads of its parent run it") {
    scratch_folder const folder;
    runs const r;
    runtime::thread_pool pool{{.threads = 3}};
    auto const e = built(r.g, folder / "cache");
    auto const want = r.serial(e);
    std::jthread const other([&](std::stop_token stop) {
        while (!stop.stop_requested()) static_cast<void>(e.run(r.inputs[0], &pool).value());
    });
    for (int i = 0; i < 5; ++i) {
        auto const child = ::fork();
        if (child == 0) {
            ::alarm(60);
            auto const same = e.run(r.inputs[1], &pool).value().at(0).hash() == want[1];
            ::_exit(same ? 0 : 1);
        }
        int status = 1;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
        CHECK(status == 0);
    }
}

} // namespace concurrent_test
