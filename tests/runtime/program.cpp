#include "catch.hpp"
#include <gsub/core/message.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops.hpp>
#include <gsub/runtime/program.hpp>

#include <numeric>
#include <string>
#include <utility>
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

TEST_CASE("a join writes each byte of its result once, so many of each operand one after the other") {
    using namespace program_test;
    random_stream r{3};
    for (int i = 0; i < 100; ++i) {
        std::vector<std::size_t> sizes(1 + r.below(5));
        for (auto& s : sizes) s = r.below(9);
        auto const row = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
        auto const times = 1 + r.below(6);
        auto const c = runtime::join_of(static_cast<std::int64_t>(times), sizes);
        CHECK(c.bytes() == row * times);
        std::vector<std::pair<std::size_t, std::size_t>> from(row * times, {99, 99}); // operand and place of each byte
        for (std::size_t t = 0; t < times; ++t)
            for (auto const& m : c.moves) {
                CHECK(m.to == sizes.size());
                for (std::size_t k = 0; k < m.size; ++k) {
                    auto& at = from.at(m.to_at + t * m.to_step + k);
                    CHECK(at.first == 99);
                    at = {m.from, m.from_at + t * m.from_step + k};
                }
            }
        std::size_t at = 0;
        for (std::size_t t = 0; t < times; ++t)
            for (std::size_t s = 0; s < sizes.size(); ++s)
                for (std::size_t k = 0; k < sizes[s]; ++k) CHECK(from[at++] == std::pair{s, t * sizes[s] + k});
    }
    CHECK(runtime::copy_of(12).bytes() == 12);
    CHECK(runtime::copy_of(0).bytes() == 0);
}

TEST_CASE("the kind of a step follows from what it is") {
    using namespace program_test;
    auto const kind = [](auto what) { return kind_of(runtime::program_step{"a step", std::move(what), {}}); };
    CHECK(kind(runtime::kernel_call{}) == "kernel");
    runtime::kernel_call call;
    call.computes = kernels::matmul_shape{};
    CHECK(kind(call) == "matmul");
    call.computes = kernels::row_program{};
    CHECK(kind(call) == "copy");
    CHECK(kind(runtime::copy_of(8)) == "copy");
    std::vector<std::size_t> const sizes{4, 8};
    CHECK(kind(runtime::join_of(2, sizes)) == "join");
    CHECK(kind(runtime::external_call{"app.Swish", {}}) == "extern app.Swish");
    using runtime::host_work;
    CHECK(kind(runtime::host_call{host_work::gather, {}}) == "gather");
    CHECK(kind(runtime::host_call{host_work::to_blocks, {}}) == "to blocks of channels");
    CHECK(kind(runtime::host_call{host_work::from_blocks, {}}) == "from blocks of channels");
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4}, "x");
    b.outputs({b.add<ops::add>(x, b.constant(tensor::from<float>({1}, {2})))});
    runtime::reference_call const reference{g, table_of<eval_row, standard_ops>()};
    CHECK(operators_of(reference) == "Add");
    CHECK(kind(reference) == "reference Add");
}

TEST_CASE("a step that only moves elements has a text of its own, one that computes has none") {
    using namespace program_test;
    auto const text = [](auto what) { return source_of(runtime::program_step{"a step", std::move(what), {}}); };
    auto const copy = text(runtime::copy_of(8));
    REQUIRE(copy);
    CHECK(copy->positions == 1);
    CHECK(copy->code.text.find("__builtin_memcpy") != std::string::npos);
    std::vector<std::size_t> const sizes{4, 8};
    CHECK(text(runtime::join_of(7, sizes))->positions == 7);
    CHECK(text(runtime::copy_of(std::size_t{1} << 20))->positions > 1); // threads can share it
    CHECK_FALSE(text(runtime::kernel_call{}));
    CHECK(text(runtime::host_call{runtime::host_work::gather, runtime::make_gather_step(1, 4, 4, 2, dtype::i64)})
              ->checks);
    graph g, h;
    graph_builder of_g{g}, of_h{h};
    of_g.outputs({of_g.add<ops::transpose>({.perm = {1, 0}}, {of_g.input(dtype::f32, {4, 3}, "x")})});
    of_h.outputs({of_h.add<ops::relu>(of_h.input(dtype::f32, {4, 3}, "x"))});
    auto const meaning = table_of<eval_row, standard_ops>();
    CHECK(text(runtime::reference_call{g, meaning}));
    CHECK_FALSE(text(runtime::reference_call{h, meaning}));
}

TEST_CASE("copies are worth threads by their bytes, other steps by their operations") {
    using namespace program_test;
    runtime::program_step s;
    s.what = runtime::copy_of(runtime::bytes_worth_threads / 2);
    CHECK(worth_threads(s));
    s.what = runtime::copy_of(runtime::bytes_worth_threads / 2 - 1);
    CHECK_FALSE(worth_threads(s));
    s.what = runtime::kernel_call{};
    CHECK_FALSE(worth_threads(s));
    s.operations = 1e6;
    CHECK(worth_threads(s));
}

TEST_CASE("sources of kernels are in the order of the kernels") {
    using namespace program_test;
    std::vector<runtime::program_kernel> kernels(3);
    for (std::size_t i = 0; i < 3; ++i) kernels[i].source.text = message({i});
    auto const sources = runtime::sources_of(kernels);
    REQUIRE(sources.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(sources[i].text == message({i}));
}
