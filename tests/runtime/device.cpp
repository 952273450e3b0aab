#include "catch.hpp"
#include "runtime/opencl_here.hpp"
#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/runtime/device.hpp>
#include <gsub/runtime/executable.hpp>
#include <gsub/runtime/impl/device_program.hpp>

#include <memory>
#include <string>
#include <vector>

namespace device_test {

using namespace gsub;
using runtime::memory_role;
using runtime::on_host;

// Adds one to each element of its first value.
class adding_one final : public runtime::host_op {
public:
    void run(std::span<void* const> values, executor&) const override {
        for (std::size_t i = 0; i < 8; ++i)
            static_cast<float*>(values[1])[i] = static_cast<float const*>(values[0])[i] + 1;
    }
};

// A program of steps between values of eight numbers: copies, which a device does, and additions, which it does not.
struct chain {
    runtime::program p;
    std::int32_t add(memory_role role, std::size_t position = 0) {
        p.values.push_back({on_host(role), 32, position});
        if (role == memory_role::constant) p.values.back().data = tensor::zeros(tensor_type{dtype::f32, {8}});
        return static_cast<std::int32_t>(p.values.size() - 1);
    }
    void copy(std::int32_t from, std::int32_t to) { p.steps.push_back({"copy", runtime::copy_of(32), {from, to}}); }
    void compute(std::int32_t from, std::int32_t to) {
        p.steps.push_back({"add", runtime::external_call{"app.Add", std::make_shared<adding_one>()}, {from, to}});
    }
};
chain there_and_back() {
    chain c;
    c.p.inputs = c.p.outputs = {{dtype::f32, {8}}};
    c.p.input_names = {"x"}, c.p.output_names = {"y"};
    auto const x = c.add(memory_role::input), a = c.add(memory_role::temporary), b = c.add(memory_role::temporary),
               d = c.add(memory_role::temporary), y = c.add(memory_role::output);
    c.copy(x, a), c.compute(a, b), c.compute(b, d), c.copy(d, y);
    return c;
}

std::string text_of(std::vector<runtime::detail::device_transfers::transfer> const& all) {
    std::string out;
    for (auto const& t : all) out += std::to_string(t.value) + (t.to_device ? " to device " : " to host ");
    return out;
}

TEST_CASE("a value moves before a step of the other side that reads it, and stays where it is else") {
    auto const moves = runtime::detail::transfers_of(there_and_back().p);
    REQUIRE(moves.before.size() == 4);
    CHECK(text_of(moves.before[0]) == "0 to device ");
    CHECK(text_of(moves.before[1]) == "1 to host ");
    CHECK(text_of(moves.before[2]) == "");
    CHECK(text_of(moves.before[3]) == "3 to device ");
    CHECK(text_of(moves.at_end) == "4 to host ");
}

TEST_CASE("the rest of a value that is written in part moves too") {
    chain c;
    auto const x = c.add(memory_role::input), whole = c.add(memory_role::temporary), y = c.add(memory_role::output);
    c.p.values[static_cast<std::size_t>(whole)].size = 64;
    auto const first = c.add(memory_role::temporary), second = c.add(memory_role::temporary);
    for (auto const part : {first, second}) c.p.values[static_cast<std::size_t>(part)].part_of = whole;
    c.p.values[static_cast<std::size_t>(second)].offset = 32;
    c.copy(x, first), c.compute(x, second), c.copy(first, y);
    auto const moves = runtime::detail::transfers_of(c.p);
    CHECK(text_of(moves.before[1]) == "1 to host ");   // the first half is the device's
    CHECK(text_of(moves.before[2]) == "1 to device "); // and the second one was not
}

TEST_CASE("constants are on both sides, and inputs that the host alone reads stay there") {
    chain c;
    auto const x = c.add(memory_role::input), k = c.add(memory_role::constant), a = c.add(memory_role::temporary),
               y = c.add(memory_role::output);
    c.compute(x, a), c.compute(k, a), c.copy(k, y);
    auto const moves = runtime::detail::transfers_of(c.p);
    CHECK(text_of(moves.before[0]) + text_of(moves.before[1]) + text_of(moves.before[2]) == "");
    CHECK(text_of(moves.at_end) == "3 to host ");
}

TEST_CASE("a kernel that reads a piece between multiples of sixteen bytes is told so, others are not") {
    chain c;
    auto const whole = c.add(memory_role::temporary), piece = c.add(memory_role::temporary),
               aligned = c.add(memory_role::temporary), y = c.add(memory_role::output);
    c.p.values[static_cast<std::size_t>(whole)].size = 64;
    for (auto const part : {piece, aligned}) c.p.values[static_cast<std::size_t>(part)].part_of = whole;
    c.p.values[static_cast<std::size_t>(piece)].offset = 8, c.p.values[static_cast<std::size_t>(aligned)].offset = 32;
    auto const kernel = std::make_shared<codegen::kernel const>();
    for (std::int32_t k = 0; k < 2; ++k) {
        c.p.kernels.push_back({{}, kernel});
        runtime::kernel_call call;
        call.kernel = k;
        c.p.steps.push_back({"k", call, {aligned, y}});
        c.p.steps.push_back({"k", call, {k == 0 ? piece : whole, y}});
    }
    runtime::arena_plan const plan{.offsets = std::vector<std::size_t>(c.p.values.size(), 0)};
    c.p.kernels.push_back({}); // a text alone
    runtime::kernel_call of_text;
    of_text.kernel = 2;
    c.p.steps.push_back({"t", of_text, {piece, y}});
    auto const kernels = runtime::detail::kernels_for_device(c.p, plan);
    CHECK_FALSE(kernels[2].ir);
    CHECK_FALSE(kernels[0].ir->aligned);
    CHECK(kernels[1].ir == kernel); // the one that another kernel has changed is its own
    CHECK(kernel->aligned);
}

TEST_CASE("a program with steps of the host runs on a device of OpenCL, as often as wanted") {
    auto const on = opencl_here::device();
    if (!on) return;
    runtime::executable const e{on, there_and_back().p};
    CHECK(e.on() == on.get());
    CHECK((e.on_device(0) && !e.on_device(1) && !e.on_device(2) && e.on_device(3)));
    for (float const first : {1.0F, -3.0F}) {
        auto const x = tensor::from<float>({8}, {first, 0, 0, 0, 0, 0, 0, 0});
        auto const got = e.run(std::vector{x}).value();
        CHECK(got[0].data<float>()[0] == first + 2);
        CHECK(got[0].data<float>()[7] == 2);
    }
    inline_executor alone;
    auto const profiles = e.profile(std::vector{tensor::zeros(tensor_type{dtype::f32, {8}})}, alone, 2).value();
    CHECK(profiles.size() == 4);
}

TEST_CASE("devices are opened by their names") {
    for (auto const* wrong :
         {"", "gpu", "opencl:", "opencl:x", "opencl:-1", "opencl0", "opencl:99999999999999999999"}) {
        CAPTURE(wrong);
        auto const opened = runtime::open_device(wrong);
        REQUIRE(!opened);
        CHECK(opened.error().id() == errors::unknown_target);
    }
    auto const listed = runtime::list_devices();
    CHECK(listed.devices.size() + listed.missing.size() > 0);
    for (auto const& [id, title] : listed.devices) {
        CHECK(runtime::open_device(id).has_value());
        CHECK(!title.empty());
    }
}

} // namespace device_test
