#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/runtime/program.hpp>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace program_test {

using namespace gsub;

} // namespace program_test

TEST_CASE("a join writes each byte of its result once, so many of each operand one after the other") {
    using namespace program_test;
    random_stream r{3};
    for (int i = 0; i < 100; ++i) {
        std::vector<std::size_t> sizes(1 + r.below(5));
        for (auto& s : sizes) s = r.below(9);
        auto const row = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
        auto const times = 1 + r.below(6);
        auto const c = runtime::concat_of(static_cast<std::int64_t>(times), sizes);
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
    auto const again = runtime::repeated_copy(12, 5);
    CHECK(again.bytes() == 60);
    CHECK(again.times == 5);
    CHECK(again.moves[0].from_step == 0);
    CHECK(again.moves[0].to_step == 12);
}

TEST_CASE("the kind of a step follows from what it is") {
    using namespace program_test;
    auto const kind = [](auto what) { return kind_of(runtime::program_step{"a step", std::move(what), {}}); };
    CHECK(kind(runtime::kernel_call{}) == "kernel");
    runtime::kernel_call call;
    call.computes = kernels::matmul_shape{};
    CHECK(kind(call) == "matmul");
    call.computes = kernels::row_reduction_shape{};
    CHECK(kind(call) == "copy");
    CHECK(kind(runtime::copy_of(8)) == "copy");
    std::vector<std::size_t> const sizes{4, 8};
    CHECK(kind(runtime::concat_of(2, sizes)) == "concat");
    CHECK(kind(runtime::external_call{"app.Swish", {}}) == "extern app.Swish");
    call.computes = kernels::gathered_entries(dtype::f32, ints{4}, 0, 2, dtype::i64);
    CHECK(kind(call) == "gather");
    call.computes = kernels::to_blocked_layout(dtype::f32, ints{1, 3, 2, 2}, 4);
    CHECK(kind(call) == "layout transform to blocks");
    call.computes = kernels::from_blocked_layout(dtype::f32, ints{1, 3, 2, 2}, 4);
    CHECK(kind(call) == "layout transform from blocks");
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4}, "x");
    b.outputs({b.add<ops::add>(x, b.constant(tensor::from<float>({1}, {2})))});
    runtime::reference_call const reference{g, table_of<eval_row, standard_ops>()};
    CHECK(operators_of(reference) == "Add");
    CHECK(kind(reference) == "reference Add");
}

TEST_CASE("movements are worth threads by their bytes, other steps by their operations") {
    using namespace program_test;
    runtime::program_step s;
    s.what = runtime::copy_of(runtime::bytes_worth_threads / 2);
    CHECK(worth_threads(s));
    s.what = runtime::copy_of(runtime::bytes_worth_threads / 2 - 1);
    CHECK_FALSE(worth_threads(s));
    s.what = runtime::kernel_call{};
    CHECK_FALSE(worth_threads(s));
    runtime::kernel_call moves;
    auto const n = static_cast<std::int64_t>(runtime::bytes_worth_threads / 2);
    moves.computes = kernels::copied_view(dtype::u8, ints{n}, kernels::array_view::contiguous(ints{n}));
    s.what = moves;
    CHECK(worth_threads(s));
    moves.computes = kernels::copied_view(dtype::u8, ints{n - 1}, kernels::array_view::contiguous(ints{n - 1}));
    s.what = moves;
    CHECK_FALSE(worth_threads(s));
    s.what = runtime::kernel_call{};
    s.operations = 1e6;
    CHECK(worth_threads(s));
}

TEST_CASE("sources of kernels are in the order of the kernels") {
    using namespace program_test;
    std::vector<runtime::program_kernel> kernels(3);
    for (std::size_t i = 0; i < 3; ++i) kernels[i].source.text = fmt::format("{}", i);
    auto const sources = runtime::sources_of(kernels);
    REQUIRE(sources.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(sources[i].text == fmt::format("{}", i));
}

TEST_CASE("the hash of a program is that of its code, not of names and weights") {
    using namespace program_test;
    auto const made = [](auto&& change) {
        runtime::program p;
        p.kernels.push_back({{"void f() {}", "f", "-mavx2"}, nullptr});
        p.values.resize(3);
        for (auto& v : p.values) v.size = 8;
        p.values[1].where = runtime::on_host(runtime::memory_role::constant);
        p.values[1].data = tensor::from<float>({2}, {1, 2});
        p.steps.push_back({"a", runtime::kernel_call{.kernel = 0, .launch = {4}}, {0, 1, 2}});
        p.steps.push_back({"b", runtime::copy_of(8), {2, 0}});
        change(p);
        return hash_of(p);
    };
    auto const as_it_is = made([](auto&) {});
    CHECK(made([](auto& p) { p.steps[0].name = "c"; }) == as_it_is);
    CHECK(made([](auto& p) { p.values[1].data = tensor::from<float>({2}, {3, 4}); }) == as_it_is);
    CHECK(made([](auto& p) { p.kernels[0].source.text = "void f() { }"; }) != as_it_is);
    CHECK(made([](auto& p) { p.kernels[0].source.isa_flags.clear(); }) != as_it_is);
    CHECK(made([](auto& p) { p.values[0].size = 16; }) != as_it_is);
    CHECK(made([](auto& p) { p.steps[0].values[1] = 0; }) != as_it_is);
    CHECK(made([](auto& p) { std::get<runtime::kernel_call>(p.steps[0].what).launch.positions = 5; }) != as_it_is);
    CHECK(made([](auto& p) { std::get<runtime::copy_call>(p.steps[1].what).moves[0].size = 4; }) != as_it_is);
    CHECK(made([](auto& p) { p.steps.pop_back(); }) != as_it_is);
}
