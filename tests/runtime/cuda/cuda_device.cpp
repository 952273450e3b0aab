#include "catch.hpp"
#include "codegen/kernel_program.hpp"
#include <gsub/codegen/cuda/emit_cuda.hpp>
#include <gsub/runtime/cuda/cuda_device.hpp>

#include <string>
#include <string_view>

namespace cuda_device_test {

using namespace gsub;

TEST_CASE("kernels of every kind and tail compile for GPUs, without one") {
    if (auto const known = runtime::compile_cuda("extern \"C\" __global__ void k() {}", "compute_80"); !known) {
        CHECK(known.error().id() == errors::no_device);
        WARN(known.error().message());
        return;
    }
    for (auto const& k : kernel_program::grid(isa::warp)) {
        CAPTURE(k.name);
        auto const text = codegen::emit_cuda(k, "gsub_kernel", codegen::group_of(k, std::size_t{48} << 10, 4));
        for (std::string_view const architecture : {"sm_80", "sm_90a"}) {
            auto const made = runtime::compile_cuda(text, architecture);
            if (!made) FAIL_CHECK(made.error().message() << text);
        }
    }
}

TEST_CASE("what NVRTC does not compile is refused with its words") {
    auto const made = runtime::compile_cuda("extern \"C\" __global__ void k() { nonsense(); }", "compute_80");
    REQUIRE(!made);
    if (made.error().id() == errors::no_device) return;
    CHECK(made.error().id() == errors::compiler_failed);
    CHECK(made.error().message().find("nonsense") != std::string::npos);
    CHECK(!runtime::compile_cuda("", "sm_1"));
}

TEST_CASE("a GPU that is not there is named, with what is missing") {
    auto const none = runtime::cuda_device(4711);
    REQUIRE(!none);
    CHECK(none.error().id() == errors::no_device);
    auto const titles = runtime::cuda_device_titles();
    if (!titles) CHECK(titles.error().id() == errors::no_device);
}

} // namespace cuda_device_test
