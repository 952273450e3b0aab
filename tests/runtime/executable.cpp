#include "catch.hpp"
#include "copied_values.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>
#include <gsub/runtime/executable.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace executable_test {

using namespace gsub;
using runtime::memory_role;
using runtime::on_host;
using runtime::program_value;

// Adds a number to the first value, element by element, into the second.
class adding_step final : public runtime::host_op {
public:
    adding_step(std::size_t count, float number) : count_(count), number_(number) {}
    void run(std::span<void* const> values, executor&) const override {
        for (std::size_t i = 0; i < count_; ++i)
            static_cast<float*>(values[1])[i] = static_cast<float const*>(values[0])[i] + number_;
    }

private:
    std::size_t count_;
    float number_;
};

// Tells where its first value lies.
class telling_step final : public runtime::host_op {
public:
    void run(std::span<void* const> values, executor&) const override {
        std::memcpy(values[1], values[0], static_cast<std::size_t>(1000) * sizeof(float));
        std::lock_guard const lock{mutex_};
        seen.insert(values[0]);
    }
    mutable std::set<void*> seen;

private:
    mutable std::mutex mutex_;
};

class failing_step final : public runtime::host_op {
public:
    void run(std::span<void* const>, executor&) const override {
        throw error{error_code::unsupported, "this step cannot"};
    }
};

constexpr std::int64_t count = 1000;

runtime::external_call adding(float number) {
    return {"test.Add", std::make_shared<adding_step const>(static_cast<std::size_t>(count), number)};
}

tensor_type vector_type(std::int64_t n = count) {
    return {dtype::f32, ints{n}};
}

// One input to which each step adds one more: 1, 2, ... `steps`.
runtime::program chain(int steps) {
    runtime::program p;
    p.inputs = {vector_type()}, p.outputs = {vector_type()};
    constexpr auto size = count * sizeof(float);
    p.values.push_back({on_host(memory_role::input), size});
    for (int i = 1; i <= steps; ++i) {
        p.values.push_back({on_host(i == steps ? memory_role::output : memory_role::temporary), size});
        runtime::program_step s;
        s.name = fmt::format("step {}", i);
        s.what = adding(static_cast<float>(i));
        s.values = {i - 1, i};
        p.steps.push_back(std::move(s));
    }
    return p;
}

std::vector<tensor> zeros() {
    std::vector<tensor> v;
    v.push_back(tensor::zeros(vector_type()));
    return v;
}

} // namespace executable_test

TEST_CASE("steps run in order on storage that they share") {
    using namespace executable_test;
    runtime::executable const e{chain(10), {}};
    auto const out = e.run(zeros()).value();
    for (auto v : out[0].data<float>()) CHECK(v == 55.0f);
    // Nine results between, of which two are alive at once.
    CHECK(e.arena_bytes() <= 2 * (count * sizeof(float) + 64));
    CHECK(e.constant_bytes() == 0);
}

TEST_CASE("a piece of a value lies within it") {
    using namespace executable_test;
    constexpr auto size = count * sizeof(float);
    runtime::program p;
    p.inputs = {vector_type()}, p.outputs = {vector_type(2 * count)};
    p.values = {{on_host(memory_role::input), size}, {on_host(memory_role::output), 2 * size}};
    for (std::size_t i = 0; i < 2; ++i) {
        program_value piece{on_host(memory_role::temporary), size};
        piece.part_of = 1;
        piece.offset = i * size;
        p.values.push_back(piece);
        runtime::program_step s;
        s.what = adding(static_cast<float>(i + 1));
        s.values = {0, static_cast<std::int32_t>(i + 2)};
        p.steps.push_back(std::move(s));
    }
    runtime::executable const e{std::move(p), {}};
    auto const out = e.run(zeros()).value();
    CHECK(out[0].data<float>()[0] == 1.0f);
    CHECK(out[0].data<float>()[count] == 2.0f);
    CHECK(e.arena_bytes() == 0);
}

TEST_CASE("wrong numbers, types, sizes and overlaps are usage errors, and nothing is written") {
    using namespace executable_test;
    runtime::executable const e{chain(2), {}};
    inline_executor alone;
    auto context = e.make_context();
    auto const refused = [&](std::vector<tensor> const& in, std::vector<tensor>& out,
                             error_id id = errors::given_inputs) {
        auto const r = e.run(context, in, out, alone);
        return !r && r.error().id() == id;
    };
    auto out = zeros();
    std::vector<tensor> none, longer, wider;
    longer.push_back(tensor::zeros(vector_type(count + 1)));
    wider.push_back(tensor::zeros(dtype::f64, ints{count}));
    CHECK(refused(none, out));
    CHECK(refused(longer, out));
    CHECK(refused(wider, out));
    CHECK(refused(zeros(), none));
    CHECK(refused(zeros(), longer));
    for (auto v : out[0].data<float>()) CHECK(v == 0.0f);
    // The same memory as input and output.
    auto const* const memory = out[0].raw().data();
    std::vector<tensor> same;
    same.push_back(tensor::borrowed(dtype::f32, ints{count}, memory, nullptr));
    CHECK(refused(same, out, errors::overlapping_memory));
    CHECK(e.run(context, zeros(), out, alone));
    CHECK(out[0].data<float>()[5] == 3.0f);
}

TEST_CASE("an error of a step comes out of the run, and the next run is not harmed") {
    using namespace executable_test;
    auto p = chain(3);
    p.steps[1].what = runtime::external_call{"test.Fail", std::make_shared<failing_step const>()};
    runtime::executable const e{std::move(p), {}};
    for (int i = 0; i < 2; ++i) {
        auto const r = e.run(zeros());
        REQUIRE_FALSE(r);
        CHECK(r.error().code() == error_code::unsupported);
    }
}

TEST_CASE("contexts serve runs at the same time") {
    using namespace executable_test;
    runtime::executable const e{chain(20), {}};
    std::vector<int> wrong(16, 0);
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < wrong.size(); ++t)
            threads.emplace_back([&, t] {
                inline_executor alone;
                auto context = e.make_context();
                std::vector<tensor> in = zeros(), out = zeros();
                for (auto& x : in[0].mutable_data<float>()) x = static_cast<float>(t);
                for (int i = 0; i < 50; ++i) {
                    if (!e.run(context, in, out, alone)) ++wrong[t];
                    for (auto v : out[0].data<float>()) wrong[t] += v != static_cast<float>(t) + 210.0f;
                }
            });
    }
    for (auto w : wrong) CHECK(w == 0);
}

TEST_CASE("a run that brings no context has the memory of the one before, and its own where that is still running") {
    using namespace executable_test;
    auto const told = std::make_shared<telling_step const>();
    auto p = chain(3);
    p.steps[2].what = runtime::external_call{"test.Tell", told};
    runtime::executable const e{std::move(p), {}};
    for (int i = 0; i < 3; ++i) CHECK(e.run(zeros()).value()[0].data<float>()[999] == 3.0f);
    CHECK(told->seen.size() == 1);
    std::vector<int> wrong(8, 0);
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < wrong.size(); ++t)
            threads.emplace_back([&, t] {
                auto in = zeros();
                for (auto& x : in[0].mutable_data<float>()) x = static_cast<float>(t);
                for (int i = 0; i < 50; ++i)
                    for (auto const out = e.run(in).value(); auto v : out[0].data<float>())
                        wrong[t] += v != static_cast<float>(t) + 3.0f;
            });
    }
    for (auto w : wrong) CHECK(w == 0);
}

TEST_CASE("steps are profiled by name, kind and operations") {
    using namespace executable_test;
    auto p = chain(3);
    p.steps[2].operations = 7;
    runtime::executable const e{std::move(p), {}};
    inline_executor alone;
    auto const profile = e.profile(zeros(), alone, 5).value();
    REQUIRE(profile.size() == 3);
    CHECK(profile[0].name == "step 1");
    CHECK(profile[1].kind == "extern test.Add");
    CHECK_FALSE(profile[1].reference);
    CHECK(profile[2].operations == 7);
    CHECK(profile[2].seconds >= 0);
}

TEST_CASE("a copy moves the bytes that it says, on any number of threads") {
    using namespace executable_test;
    random_stream r{17};
    runtime::thread_pool several{{.threads = 3}};
    for (int i = 0; i < 60; ++i) {
        INFO("case " << i);
        auto const p = copied_values::any_copy(r, i % 10 == 0);
        auto const in = copied_values::inputs_of(p, r);
        auto const want = copied_values::expected(p, in);
        runtime::executable const e{p, {}};
        for (executor* threads : {static_cast<executor*>(nullptr), static_cast<executor*>(&several)}) {
            auto const got = e.run(in, threads).value();
            REQUIRE(got.size() == 1);
            CHECK(std::ranges::equal(got[0].raw(), want.raw()));
        }
    }
}

TEST_CASE("a reference call computes its graph in the declared types") {
    using namespace executable_test;
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4}, "x"), h = b.input(dtype::f16, {4}, "h");
    b.outputs({b.add<ops::relu>(x), b.add<ops::add>(h, h)});
    runtime::program p;
    for (auto n : g.inputs()) p.inputs.push_back(g.type({n, 0}));
    for (std::size_t i = 0; i < 2; ++i) p.outputs.push_back(g.type(g.output(i)));
    p.values = {{on_host(memory_role::input), 16, 0},
                {on_host(memory_role::input), 8, 1},
                {on_host(memory_role::output), 16, 0},
                {on_host(memory_role::output), 8, 1}};
    p.steps.push_back({"both", runtime::reference_call{g, table_of<eval_row, standard_ops>()}, {0, 1, 2, 3}});
    runtime::executable const e{std::move(p), {}};
    std::vector<tensor> const in{tensor::from<float>({4}, {-1, 2, -3, 4}),
                                 tensor::from<float>({4}, {0.5f, 1, 2, 4096}).converted_to(dtype::f16)};
    auto const out = e.run(in).value();
    CHECK(out[0].data<float>()[3] == 4.0f);
    CHECK(out[0].data<float>()[0] == 0.0f);
    CHECK(out[1].converted_to(dtype::f32).data<float>()[3] == 8192.0f);
    inline_executor alone;
    auto const profile = e.profile(in, alone, 1).value();
    CHECK(profile[0].reference);
    CHECK(profile[0].kind == "reference Relu+Add");
}
