#include "catch.hpp"
#include "codegen/kernel_program.hpp"
#include "runtime/opencl_here.hpp"
#include <gsub/runtime/opencl/opencl_device.hpp>

#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace opencl_device_test {

using namespace gsub;
using runtime::device_address;
using runtime::device_memory;

// The bytes of an array of a kernel, and back.
std::vector<std::byte> stored(std::vector<double> const& numbers, dtype t) {
    std::vector<std::byte> out(numbers.size() * byte_size(t));
    for (std::size_t e = 0; e < numbers.size(); ++e)
        interpret::put(numbers[e], t, reinterpret_cast<char*>(out.data()) + e * byte_size(t));
    return out;
}

// What differs between a kernel on a device and one that is read; empty where nothing does. Buffers begin at a byte of
// their memory that is not the first.
std::string difference(std::shared_ptr<runtime::device> const& on, codegen::kernel const& k, std::uint64_t seed) {
    constexpr std::size_t shift = 256;
    std::vector<runtime::program_kernel> kernels(1);
    kernels[0].ir = std::make_shared<codegen::kernel const>(k);
    auto const loaded = on->load(as_span(kernels), {});
    auto data = kernel_program::contents(k, seed);
    std::vector<device_memory> memory;
    std::vector<device_address> at;
    for (std::size_t b = 0; b < data.size(); ++b) {
        if (k.buffers[b].workspace) continue;
        auto const bytes = stored(data[b], k.buffers[b].element);
        memory.emplace_back(on, shift + bytes.size());
        at.push_back(memory.back().address() + shift);
        on->upload(at.back(), as_span(bytes));
    }
    on->launch(*loaded[0], as_span(at), k.parallel < 0 ? 1 : k.parallel_extent);
    interpreted_kernel::machine m{k, data};
    m.run(0, k.parallel_extent);
    std::size_t given = 0;
    for (std::size_t b = 0; b < data.size(); ++b) {
        if (k.buffers[b].workspace) continue;
        auto const t = k.buffers[b].element;
        std::vector<std::byte> got(data[b].size() * byte_size(t));
        on->download({got.data(), got.size()}, at[given++]);
        double largest = 1;
        for (auto const v : data[b])
            if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
        for (std::size_t e = 0; e < data[b].size(); ++e) {
            auto const x = interpret::get(t, reinterpret_cast<char const*>(got.data()) + e * byte_size(t)),
                       y = data[b][e];
            if (!(std::abs(x - y) <= 1e-5 * largest || x == y || (x != x && y != y)))
                return k.name + ": element " + std::to_string(e) + " of buffer " + std::to_string(b) + " is " +
                       std::to_string(x) + ", not " + std::to_string(y);
        }
    }
    return {};
}

TEST_CASE("kernels of every kind and tail compute what they say on a device of OpenCL") {
    auto const on = opencl_here::device();
    if (!on) return;
    std::uint64_t seed = 0;
    for (auto const& k : kernel_program::grid(isa::warp)) {
        CAPTURE(k.name);
        CHECK(difference(on, k, ++seed) == "");
    }
}

TEST_CASE("a device of OpenCL moves bytes, rows and zeros") {
    auto const on = opencl_here::device();
    if (!on) return;
    CHECK(on->id() == "opencl:0");
    CHECK(!on->title().empty());
    std::vector<unsigned char> bytes(96), back(96);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
    device_memory const a{on, 96}, b{on, 96};
    on->upload(a.address(), std::as_bytes(std::span{bytes}));
    on->fill_with_zeros(b.address(), 96);
    on->copy({a.address() + 2, b.address() + 1, 16, 32, 5, 3}); // three rows of an image into those of another
    on->copy({a.address(), b.address() + 90, 0, 2, 1, 2});      // one byte twice: no rows
    on->download(std::as_writable_bytes(std::span{back}), b.address());
    std::vector<unsigned char> expected(96, 0);
    for (std::size_t t = 0; t < 3; ++t)
        for (std::size_t i = 0; i < 5; ++i) expected[1 + 32 * t + i] = bytes[2 + 16 * t + i];
    expected[90] = expected[92] = bytes[0];
    CHECK(back == expected);
    on->copy({a.address(), b.address(), 0, 0, 0, 7});      // nothing
    on->copy({b.address(), b.address() + 48, 4, 5, 2, 4}); // within one memory, with another step
    on->download(std::as_writable_bytes(std::span{back}), b.address());
    for (std::size_t t = 0; t < 4; ++t)
        for (std::size_t i = 0; i < 2; ++i) expected[48 + 5 * t + i] = expected[4 * t + i];
    CHECK(back == expected);
    on->upload(a.address(), {});
    on->finish();
}

TEST_CASE("devices of OpenCL that are not there are named, with what there is") {
    auto const none = runtime::opencl_device(4711);
    REQUIRE(!none);
    CHECK(none.error().id() == errors::no_device);
    auto const titles = runtime::opencl_device_titles();
    if (titles)
        CHECK(none.error().message().find("opencl:4711") != std::string::npos);
    else
        CHECK(titles.error().id() == errors::no_device);
}

// What a call throws.
template <class F>
error thrown(F&& f) {
    try {
        f();
    } catch (error const& e) { return e; }
    return error{error_code::internal, "nothing"};
}

TEST_CASE("what a device of OpenCL does not have or cannot do is refused by its name") {
    auto const on = opencl_here::device();
    if (!on) return;
    auto const memory = thrown([&] { static_cast<void>(on->allocate(std::size_t{1} << 60)); });
    CHECK(memory.id() == errors::device_memory);
    CHECK(memory.message().find("opencl:0") != std::string::npos);
    codegen::kernel wide;
    wide.name = "wide", wide.lanes = 1 << 20;
    std::vector<runtime::program_kernel> kernels(1);
    kernels[0].ir = std::make_shared<codegen::kernel const>(wide);
    auto const failed = thrown([&] { static_cast<void>(on->load(as_span(kernels), {})); });
    CHECK(failed.id() == errors::device_failed);
    CHECK(failed.message().find("wide") != std::string::npos);
}

TEST_CASE("a kernel that is a text alone runs on no device of OpenCL") {
    auto const on = opencl_here::device();
    if (!on) return;
    std::vector<runtime::program_kernel> kernels(1);
    CHECK_THROWS_AS(on->load(as_span(kernels), {}), error);
}

} // namespace opencl_device_test
