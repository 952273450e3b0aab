#include "catch.hpp"
#include "codegen/kernel_program.hpp"
#include <gsub/codegen/opencl/emit_opencl.hpp>

#include <string>

// What the texts compute is tested where a device runs them: tests/runtime/opencl/opencl_device.cpp.
namespace emit_opencl_test {

using namespace gsub;

TEST_CASE("equal kernels have equal OpenCL C, whatever they are called") {
    for (auto k : kernel_program::grid(isa::warp)) {
        auto const group = codegen::group_of(k, std::size_t{48} << 10, 1);
        auto const text = codegen::emit_opencl(k, "gsub_kernel", group);
        k.name = "zebra\"*/";
        for (auto& b : k.buffers) b.name = "zebra\"*/";
        for (auto& n : k.names) n = "zebra\"*/";
        CHECK(codegen::emit_opencl(k, "gsub_kernel", group) == text);
        CHECK(text.find("void gsub_kernel(") == text.rfind("void gsub_kernel("));
        CHECK(text.find("#include") == std::string::npos);
    }
}

TEST_CASE("a workspace of a group is its own, or a part of what the launch lends") {
    for (auto const& k : kernel_program::grid(isa::warp)) {
        if (codegen::workspace_bytes(k) == 0) continue;
        auto const shared = codegen::emit_opencl(k, "k", {1, true}), lent = codegen::emit_opencl(k, "k", {1, false});
        CHECK(shared.find("__local char own[") != std::string::npos);
        CHECK(shared.find("lent") == std::string::npos);
        CHECK(lent.find("__global char* lent") != std::string::npos);
    }
}

} // namespace emit_opencl_test
