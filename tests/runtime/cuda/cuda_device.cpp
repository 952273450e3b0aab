#include "catch.hpp"
#include "codegen/kernel_program.hpp"
#include "io/scratch_folder.hpp"
#include <gsub/codegen/cuda/emit_cuda.hpp>
#include <gsub/codegen/ir/kernel_loops.hpp>
#include <gsub/machine/ptx.hpp>
#include <gsub/machine/ptx_work.hpp>
#include <gsub/runtime/compiler/jit.hpp>
#include <gsub/runtime/cuda/cuda_device.hpp>

#include <fstream>
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

TEST_CASE("PTX of a kernel multiplies and stores as often as its loops say") {
    auto compared = 0;
    for (auto const& k : kernel_program::grid(isa::warp)) {
        CAPTURE(k.name);
        auto const loops = codegen::loops_of(k);
        auto const group = codegen::group_of(k, std::size_t{48} << 10, 1);
        auto const made = runtime::compile_cuda(codegen::emit_cuda(k, "gsub_kernel", group), "compute_80");
        if (!made) {
            CHECK(made.error().id() == errors::no_device);
            WARN(made.error().message());
            return;
        }
        auto const read = machine::parse_ptx(made->code).value();
        machine::ptx_launch launch; // one group, whose first lane does all positions
        launch.block = {32, 1, 1};
        launch.parameters.resize(read.kernels.at(0).parameters.size());
        launch.parameters.back() = k.parallel_extent;
        auto const work = machine::count_ptx(read.kernels[0], launch).value();
        // Limits that depend on the position are counted by a guess; so are products that the compiler joins otherwise.
        if (!loops.exact || !work.warnings.empty() || loops.total.multiply_adds == 0) continue;
        if (!k.name.starts_with("matmul") && !k.name.starts_with("depthwise")) continue;
        ++compared;
        CHECK(work.times(machine::ptx_class::fma) == loops.total.multiply_adds);
        CHECK(work.times(machine::ptx_class::store) == loops.total.stores);
    }
    CHECK(compared >= 8);
}

TEST_CASE("what NVRTC compiled is kept, by text and architecture, and what is damaged is compiled anew") {
    scratch_folder const folder;
    runtime::jit_options how;
    how.cache_folder = folder / "cache";
    std::string const text = "extern \"C\" __global__ void k(float* x) { *x = 1; }";
    auto const first = runtime::compile_cuda(text, "sm_80", how);
    if (!first) {
        CHECK(first.error().id() == errors::no_device);
        WARN(first.error().message());
        return;
    }
    auto const entries = [&] { return runtime::cache_entries(how.cache_folder).value().size(); };
    CHECK(entries() == 1);
    CHECK(runtime::compile_cuda(text, "sm_80", how).value().code == first->code);
    CHECK(entries() == 1);
    CHECK(runtime::compile_cuda(text, "sm_90", how).value().code != first->code);
    CHECK(entries() == 2);
    auto const all = runtime::cache_entries(how.cache_folder).value();
    for (auto const& e : all) std::ofstream{how.cache_folder + "/" + e.name} << "damaged";
    CHECK(runtime::compile_cuda(text, "sm_80", how).value().code == first->code);
    how.use_cache = false;
    CHECK(runtime::compile_cuda(text, "sm_80", how).value().code == first->code);
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
