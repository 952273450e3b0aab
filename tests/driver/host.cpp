#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include <gsub/driver/build.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <cfenv>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace host_test {

using namespace gsub;

auto const evaluators = table_of<eval_row, standard_ops>();

// Odd sizes throughout: reads of whole vectors would leave the input.
graph odd_net() {
    graph g;
    models::network_builder net{g, models::weight_source{6}};
    auto const x = net.input(dtype::f32, {1, 3, 13, 11}, "x");
    auto const a = net.relu("a", net.conv("c", x, {5, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    auto const y = net.linear("fc", net.pooled_features(net.max_pool("m", a, {{3, 3}, {2, 2}})), 7);
    net.outputs({y, net.sum("s", x, x)});
    return g;
}

runtime::executable built(graph const& g, bool generate) {
    build_options options;
    options.jit.use_cache = false;
    options.generate = generate;
    return build(g, evaluators, host(), options).value();
}

TEST_CASE("inputs are read where they lie, aligned as their elements alone, and nothing beside them") {
    auto const g = odd_net();
    auto const x = random_inputs(g, 3);
    for (auto const generate : {false, true}) {
        auto const e = built(g, generate);
        auto const want = e.run(x).value();
        for (auto const side : {compiled_kernel::guarded::side::begin, compiled_kernel::guarded::side::end}) {
            CAPTURE(generate);
            auto const memory = std::make_shared<compiled_kernel::guarded>(3 * 13 * 11, side);
            std::memcpy(memory->data(), x[0].raw().data(), x[0].size_bytes());
            std::vector<tensor> const same{tensor::borrowed(
                dtype::f32, ints{1, 3, 13, 11}, reinterpret_cast<std::byte const*>(memory->data()), memory)};
            auto const got = e.run(same).value();
            for (std::size_t i = 0; i < want.size(); ++i) CHECK(got[i].hash() == want[i].hash());
            CHECK(memory->intact());
        }
    }
}

TEST_CASE("building and running keep the direction of rounding") {
    auto const g = odd_net();
    auto const x = random_inputs(g, 3);
    auto const want = built(g, true).run(x).value();
    runtime::thread_pool pool{{.threads = 2}};
    for (auto const rounding : {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO}) {
        REQUIRE(std::fesetround(rounding) == 0);
        auto const e = built(g, true);
        auto const got = e.run(x, &pool);
        auto const after = std::fegetround();
        std::fesetround(FE_TONEAREST);
        CHECK(after == rounding);
        REQUIRE(got);
        CHECK(compare(got.value()[0], want[0]).value().max_relative < 1e-5);
    }
}

// Built before main, run before and after it.
struct early {
    std::optional<runtime::executable> made;
    graph g = odd_net();
    runtime::thread_pool pool{{.threads = 2}};
    hash128 want;
    early() {
        made = built(g, false);
        want = made->run(random_inputs(g, 1), &pool).value()[0].hash();
    }
    early(early const&) = delete;
    ~early() {
        if (made->run(random_inputs(g, 1), &pool).value()[0].hash() != want) std::_Exit(9);
    }
};
early const before_main; // NOLINT(cert-err58-cpp)

TEST_CASE("an executable of a global object runs before, in and after main") {
    auto const outputs = before_main.made->run(random_inputs(before_main.g, 1)).value();
    CHECK(outputs[0].hash() == before_main.want);
}

TEST_CASE("what is built for the host asks for no driver of a device") {
    std::vector<std::string> const libraries{"libcuda.so.1", "libnvrtc.so.13", "libnvrtc.so.12", "libOpenCL.so.1"};
    auto const loaded = [&] {
        std::vector<bool> out;
        for (auto const& library : libraries)
            out.push_back(::dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr);
        return out;
    };
    auto const before = loaded(); // by other cases of this process
    auto const g = odd_net();
    CHECK(built(g, true).run(random_inputs(g, 3)));
    CHECK(loaded() == before);
}

} // namespace host_test
