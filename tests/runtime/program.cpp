#include "catch.hpp"
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops.hpp>
#include <gsub/runtime/program.hpp>

#include <numeric>
#include <vector>

namespace program_test {

using namespace gsub;

void run(runtime::host_step const& step, std::vector<void*> const& values) {
    inline_executor alone;
    step.run(values, alone);
}

std::vector<float> counting(std::size_t n) {
    std::vector<float> v(n);
    std::iota(v.begin(), v.end(), 1.0f);
    return v;
}

} // namespace program_test

TEST_CASE("blocks of channels hold each element once, then zeros, and come back unchanged") {
    using namespace program_test;
    for (std::int64_t const lanes : {1, 4, 8, 16})
        for (ints const& dims :
             {ints{1, 1, 1, 1}, ints{2, 3, 4, 5}, ints{1, 16, 2, 2}, ints{3, 17, 1, 2}, ints{2, 9}, ints{1, 5, 3}}) {
            auto const n = static_cast<std::size_t>(product(dims));
            auto from = counting(n);
            auto const blocks = (dims[1] + lanes - 1) / lanes;
            std::vector<float> stored(n / static_cast<std::size_t>(dims[1]) * static_cast<std::size_t>(blocks * lanes),
                                      -1.0f),
                back(n, -1.0f);
            run(*runtime::make_blocking_step(dims, lanes, true), {from.data(), stored.data()});
            auto const sum = [](std::vector<float> const& v) { return std::accumulate(v.begin(), v.end(), 0.0); };
            CHECK(sum(stored) == sum(from));
            CHECK(stored[0] == 1.0f);
            auto const area = static_cast<float>(product(std::span{dims}.subspan(2)));
            if (lanes > 1 && dims[1] > 1) CHECK(stored[1] == 1.0f + area);
            run(*runtime::make_blocking_step(dims, lanes, false), {stored.data(), back.data()});
            CHECK(back == from);
        }
}

TEST_CASE("joining takes so many bytes of each, again and again") {
    using namespace program_test;
    auto a = counting(6), b = std::vector<float>{-1, -2, -3};
    std::vector<float> out(9);
    run(*runtime::make_join_step(3, {2 * sizeof(float), sizeof(float)}), {a.data(), b.data(), out.data()});
    CHECK(out == std::vector<float>{1, 2, -1, 3, 4, -2, 5, 6, -3});
    std::vector<float> copy(9);
    run(*runtime::make_copy_step(9 * sizeof(float)), {out.data(), copy.data()});
    CHECK(copy == out);
    run(*runtime::make_copy_step(0), {nullptr, nullptr});
}

TEST_CASE("a reference step computes its graph in the declared types") {
    using namespace program_test;
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4}, "x"), h = b.input(dtype::f16, {4}, "h");
    b.outputs({b.add<ops::relu>(x), b.add<ops::add>(h, h)});
    auto const in = tensor::from<float>({4}, {-1, 2, -3, 4});
    auto const half = tensor::from<float>({4}, {0.5f, 1, 2, 4096}).converted_to(dtype::f16);
    auto y = tensor::zeros(dtype::f32, ints{4}), z = tensor::zeros(dtype::f16, ints{4});
    auto const step = runtime::make_reference_step(g, table_of<eval_row, standard_ops>());
    auto const address = [](tensor const& t) { return const_cast<std::byte*>(t.raw().data()); };
    run(*step, {address(in), address(half), y.mutable_raw().data(), z.mutable_raw().data()});
    CHECK(y.data<float>()[3] == 4.0f);
    CHECK(y.data<float>()[0] == 0.0f);
    CHECK(z.converted_to(dtype::f32).data<float>()[3] == 8192.0f);
}
