#include "catch.hpp"
#include <gsub/machine/warp_accesses.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace warp_accesses_test {

using namespace gsub;
using namespace gsub::machine;

gpu_architecture const& a100 = *find_gpu_architecture("sm_80");

std::vector<warp_access> accesses_of(std::string const& body, ptx_launch const& launch) {
    auto const text =
        ".version 8.0\n.target sm_80\n.entry k(.param .u64 p, .param .u32 n) {\n.reg .pred %p<9>;\n"
        ".reg .b32 %r<99>;\n.reg .b64 %rd<99>;\n.reg .f32 %f<99>;\n.shared .f32 tile[4096];\n.shared .f32 beside[64];\n"
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, tile;\nld.param.u64 %rd1, [p];\n" +
        body + "ret;\n}\n";
    return warp_accesses(parse_ptx(text).value().kernels.at(0), launch, a100).value();
}
ptx_launch block(std::int64_t x, std::int64_t y = 1) {
    ptx_launch launch;
    launch.block = {x, y, 1};
    return launch;
}
// An access to shared memory, thread by thread so many bytes apart.
warp_access strided(std::int64_t step, std::string const& type, std::string const& results, std::int64_t x = 32) {
    return accesses_of("mad.lo.s32 %r4, %r1, " + std::to_string(step) + ", %r3;\nld.shared." + type + " " + results +
                           ", [%r4+8];\n",
                       block(x))
        .at(0);
}

TEST_CASE("threads that want different words of one bank wait for each other") {
    for (auto const& [step, passes] : {std::pair{4, 1}, {8, 2}, {12, 1}, {16, 4}, {128, 32}, {132, 1}, {0, 1}}) {
        CAPTURE(step);
        auto const a = strided(step, "f32", "%f1");
        CHECK(a.known);
        CHECK(a.space == ptx_space::shared);
        CHECK(a.bytes == 4);
        CHECK(a.passes == passes);
        CHECK(a.factor() == passes);
    }
    auto const v2 = strided(8, "v2.f32", "{%f1, %f2}"), v4 = strided(16, "v4.f32", "{%f1, %f2, %f3, %f4}");
    CHECK(v2.passes == 2); // by halves
    CHECK(v2.factor() == 1);
    CHECK(v4.passes == 4); // by quarters
    CHECK(v4.factor() == 1);
    CHECK(strided(32, "v4.f32", "{%f1, %f2, %f3, %f4}").factor() == 2);
    CHECK(strided(1, "u8", "%r5").factor() == 1);
    // Sixteen threads along x, the next ones in another row: the same words again.
    CHECK(strided(4, "f32", "%f1", 16).factor() == 1);
    CHECK(strided(8, "f32", "%f1", 16).factor() == 1);
}

TEST_CASE("global memory is read by sectors, wherever an array begins") {
    auto const global = [](std::string const& step, std::string const& more = "") {
        return accesses_of("mul.wide.s32 %rd2, %r1, " + step +
                               ";\nadd.s64 %rd3, %rd1, %rd2;\ncvta.to.global.u64 %rd4, %rd3;\n"
                               "ld.global.f32 %f1, [%rd4" +
                               more + "];\n",
                           block(32))
            .at(0);
    };
    CHECK(global("4").passes == 4);
    CHECK(global("4").factor() == 1);
    CHECK(global("4", "+4").passes == 5);
    CHECK(global("8").passes == 8);
    CHECK(global("8").factor() == 2);
    CHECK(global("128").factor() == 8);
    CHECK(global("0").passes == 1);
    CHECK(global("-4").factor() == 1.25);
}

TEST_CASE("what numbers in memory decide is not known") {
    auto const all = accesses_of("ld.global.u32 %r4, [%rd1];\nadd.s32 %r5, %r3, %r4;\nld.shared.f32 %f1, [%r5];\n"
                                 "mul.lo.s32 %r6, %r3, 2;\nst.shared.f32 [%r6], %f1;\nst.shared.f32 [tile+4], %f1;\n",
                                 block(32));
    REQUIRE(all.size() == 4);
    CHECK(all[0].known);
    CHECK_FALSE(all[1].known);
    CHECK_FALSE(all[2].known); // an address twice is none
    CHECK(all[1].factor() == 1);
    CHECK(all[3].known);
    CHECK(all[3].passes == 1);
}

TEST_CASE("arrays of two names lie anywhere, seen from each other") {
    auto const distance = [](std::string const& to) {
        return accesses_of("mov.u32 %r4, " + to + ";\nsub.s32 %r5, %r3, %r4;\nld.shared.f32 %f1, [%r5];\n", block(32))
            .at(0);
    };
    CHECK(distance("tile").known);
    CHECK_FALSE(distance("beside").known);
}

TEST_CASE("kernels that NVRTC compiled meet in banks and sectors as their texts say") {
    std::ifstream in{GSUB_PTX_KERNELS "/kernels.ptx"};
    auto const m = parse_ptx(std::string{std::istreambuf_iterator<char>{in}, {}}).value();
    auto const worst = [&](char const* name, ptx_launch launch, ptx_space space) {
        auto const& k = *m.kernel(name).value();
        launch.parameters.resize(k.parameters.size());
        if (k.parameters.back().bytes == 4) launch.parameters.back() = 1024;
        double factor = 0;
        auto const all = warp_accesses(k, launch, a100).value();
        for (auto const& a : all) {
            CAPTURE(name, a.instruction);
            CHECK(a.known);
            if (a.space == space) factor = std::max(factor, a.factor());
        }
        return factor;
    };
    using enum ptx_space;
    CHECK(worst("transpose", block(32, 8), shared) == 1); // rows of 33
    CHECK(worst("transpose", block(32, 8), global) == 1);
    CHECK(worst("softmax", block(256), shared) == 1);
    CHECK(worst("copy", block(256), global) == 1);
    CHECK(worst("pool", block(32), global) == 2.25);  // every second pixel, from any place on
    CHECK(worst("product", block(256), global) == 8); // of a a column, whose elements lie 3072 bytes apart
}

} // namespace warp_accesses_test
