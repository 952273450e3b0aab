#include "catch.hpp"
#include "io/scratch_folder.hpp"
#include <gsub/machine/ptx_work.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace ptx_work_test {

using namespace gsub;
using namespace gsub::machine;

std::string text_of(std::string const& path) {
    std::ifstream in{path};
    return {std::istreambuf_iterator<char>{in}, {}};
}
ptx_kernel kernel_of(std::string const& body) {
    auto const text = ".version 8.0\n.target sm_80\n.entry k(.param .u32 n) {\n.reg .pred %p<9>;\n.reg .b32 %r<99>;\n"
                      ".reg .b64 %rd<99>;\n.reg .f32 %f<99>;\n" +
                      body + "}\n";
    return parse_ptx(text).value().kernels.at(0);
}
using trips = std::vector<std::int64_t>;
trips trips_of(std::string const& body, ptx_launch const& launch = {}) {
    trips out;
    auto const work = count_ptx(kernel_of(body), launch).value();
    for (auto const& l : work.forest.loops) out.push_back(l.trips());
    return out;
}
// A loop of one multiply-add: how the counter begins, changes, and is compared.
std::string loop(std::string const& begin, std::string const& step, std::string const& compare,
                 std::string const& jump = "@%p1 bra L;") {
    return begin + "L: fma.rn.f32 %f1, %f1, %f1, %f1;\n" + step + compare + jump + "\nret;\n";
}

TEST_CASE("trips are those of counters up and down, in strides, from below zero, against either side") {
    auto const zero = std::string{"mov.u32 %r1, 0;\n"};
    CHECK(trips_of(loop(zero, "add.s32 %r1, %r1, 1;", "setp.ne.s32 %p1, %r1, 64;")) == trips{64});
    CHECK(trips_of(loop(zero, "add.s32 %r1, %r1, 2;", "setp.lt.u32 %p1, %r1, 16;")) == trips{8});
    CHECK(trips_of(loop(zero, "add.s32 %r1, %r1, 3;", "setp.lt.s32 %p1, %r1, 10;")) == trips{4});
    CHECK(trips_of(loop(zero, "add.s32 %r1, %r1, 1;", "setp.gt.s32 %p1, 10, %r1;")) == trips{10});
    CHECK(trips_of(loop(zero, "add.s32 %r1, %r1, 1;", "setp.eq.s32 %p1, %r1, 9;", "@!%p1 bra L;")) == trips{9});
    CHECK(trips_of(loop("mov.u32 %r1, -32;\n", "add.s32 %r1, %r1, 4;", "setp.ne.s32 %p1, %r1, 0;")) == trips{8});
    CHECK(trips_of(loop("mov.u32 %r1, 20;\n", "sub.s32 %r1, %r1, 2;", "setp.gt.s32 %p1, %r1, 0;")) == trips{10});
    CHECK(trips_of(loop("mov.u64 %rd1, 0;\n", "add.s64 %rd1, %rd1, 32;",
                        "cvt.u32.u64 %r1, %rd1; setp.ne.s32 %p1, %r1, 256;")) == trips{8});
    // A number that comes by copies, as compilers leave it; what is compared is not what is counted.
    CHECK(trips_of(loop("mov.u32 %r11, 0;\nmov.u32 %r67, %r11;\n", "add.s32 %r67, %r67, 2;\nshl.b32 %r3, %r67, 2;",
                        "setp.lt.u32 %p1, %r3, 128;")) == trips{16});
    CHECK(trips_of(loop(zero, "mov.u32 %r2, %r1; add.s32 %r1, %r1, 1;", "setp.ne.s32 %p1, %r2, 7;")) == trips{8});
    // The comparison stands before the step.
    CHECK(trips_of(loop(zero, "setp.ne.s32 %p1, %r1, 7;", "add.s32 %r1, %r1, 1;")) == trips{8});
    CHECK(trips_of("mov.u32 %r1, 0;\nL: setp.ge.s32 %p1, %r1, 5;\n@%p1 bra OUT;\nfma.rn.f32 %f1, %f1, %f1, %f1;\n"
                   "add.s32 %r1, %r1, 1;\nbra.uni L;\nOUT: ret;\n") == trips{5});
}

TEST_CASE("the launch tells what special registers and parameters hold") {
    auto const strided = loop("mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nmov.u32 %r3, %ntid.x;\n",
                              "add.s32 %r1, %r1, %r3;", "setp.lt.s32 %p1, %r1, %r2;");
    ptx_launch launch;
    launch.block = {256, 1, 1};
    CHECK(trips_of(strided, launch) == trips{-1});
    launch.parameters = {1000};
    CHECK(trips_of(strided, launch) == trips{4});
    launch.thread_index = {250, 0, 0};
    CHECK(trips_of(strided, launch) == trips{3});
    auto const work = count_ptx(kernel_of(strided), {}).value();
    REQUIRE(work.warnings.size() == 1);
    CHECK(work.warnings[0].text == "loop \"L\": its trips are not known, and counted as one");
    CHECK(work.warnings[0].line == 11);
}

TEST_CASE("branches that the launch decides go one way, others both") {
    auto const body = std::string{"mov.u32 %r1, %tid.x;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra ELSE;\n"
                                  "ex2.approx.f32 %f1, %f1;\nbra.uni END;\nELSE: fma.rn.f32 %f1, %f1, %f1, %f1;\n"
                                  "END: st.global.f32 [%rd1], %f1;\nret;\n"};
    ptx_launch launch;
    auto const first = count_ptx(kernel_of(body), launch).value();
    CHECK(first.times(ptx_class::special) == 1);
    CHECK(first.times(ptx_class::fma) == 0);
    launch.block = {32, 1, 1}, launch.thread_index = {5, 0, 0};
    CHECK(count_ptx(kernel_of(body), launch).value().times(ptx_class::fma) == 1);
    // Of two sides that numbers choose each runs half as often; what may be skipped runs.
    auto const chosen =
        count_ptx(kernel_of("setp.gt.f32 %p1, %f1, 0f00000000;\n" + body.substr(body.find('@'))), {}).value();
    CHECK(chosen.times(ptx_class::special) == 0.5);
    CHECK(chosen.times(ptx_class::fma) == 0.5);
    CHECK(chosen.times(ptx_class::store) == 1);
    auto const skipped = count_ptx(kernel_of("setp.gt.f32 %p1, %f1, 0f00000000;\n@%p1 bra END;\n"
                                             "fma.rn.f32 %f1, %f1, %f1, %f1;\nEND: ret;\n"),
                                   {})
                             .value();
    CHECK(skipped.times(ptx_class::fma) == 1);
}

TEST_CASE("integers are computed as PTX has it") {
    // The last predicate decides whether a loop runs five times or is passed by.
    auto const holds = [](std::string const& computation, std::string const& compared) {
        auto const body =
            computation + "setp." + compared + ";\n@%p1 bra YES;\nret;\nYES: fma.rn.f32 %f1, %f1, %f1, %f1;\nret;\n";
        return count_ptx(kernel_of(body), {}).value().times(ptx_class::fma);
    };
    auto const value = [&](std::string const& computation, std::string const& number, std::string const& type = "s32",
                           std::string const& r = "%r9") {
        CAPTURE(computation);
        CHECK(holds(computation + "\n", "eq." + type + " %p1, " + r + ", " + number) == 1);
        CHECK(holds(computation + "\n", "ne." + type + " %p1, " + r + ", " + number) == 0);
    };
    value("mov.u32 %r1, -7; shr.s32 %r9, %r1, 1;", "-4");
    value("mov.u32 %r1, -7; shr.u32 %r9, %r1, 28;", "15");
    value("mov.u32 %r1, 5; shl.b32 %r9, %r1, 33;", "0");
    value("mov.u32 %r1, -7; div.s32 %r9, %r1, 2;", "-3");
    value("mov.u32 %r1, -7; rem.s32 %r9, %r1, 2;", "-1");
    value("mov.u32 %r1, -1; div.u32 %r9, %r1, 65536;", "65535");
    value("mov.u32 %r1, -2147483648; div.s32 %r9, %r1, -1;", "-2147483648");
    value("mov.u32 %r1, 65536; mul.lo.s32 %r9, %r1, %r1;", "0");
    value("mov.u32 %r1, -3; mul.wide.s32 %rd9, %r1, 5;", "-15", "s64", "%rd9");
    value("mov.u32 %r1, -3; mul.wide.u32 %rd9, %r1, 2;", "8589934586", "s64", "%rd9");
    value("mov.u32 %r1, 3; mad.lo.s32 %r9, %r1, 5, -1;", "14");
    value("mov.u32 %r1, -1; cvt.u64.u32 %rd9, %r1;", "4294967295", "s64", "%rd9");
    value("mov.u32 %r1, -1; cvt.s64.s32 %rd9, %r1;", "-1", "s64", "%rd9");
    value("mov.u32 %r1, -1; min.s32 %r9, %r1, 3;", "-1");
    value("mov.u32 %r1, -1; min.u32 %r9, %r1, 3;", "3");
    value("mov.u32 %r1, -5; abs.s32 %r9, %r1;", "5");
    value("mov.u32 %r1, 5; neg.s32 %r9, %r1;", "-5");
    value("mov.u32 %r1, 12; and.b32 %r2, %r1, 10; or.b32 %r3, %r2, 1; xor.b32 %r4, %r3, 15; not.b32 %r9, %r4;", "-7");
    value("mov.u32 %r1, 3; setp.lt.s32 %p2, %r1, 4; selp.b32 %r9, 7, 8, %p2;", "7");
    value("mov.u32 %r1, 3; setp.lt.s32 %p2, %r1, 4; @%p2 mov.u32 %r1, 6; @!%p2 mov.u32 %r1, 9; mov.u32 %r9, %r1;", "6");
    CHECK(holds("mov.u32 %r1, -1;\n", "lt.s32 %p1, %r1, 0") == 1);
    CHECK(holds("mov.u32 %r1, -1;\n", "lt.u32 %p1, %r1, 0") == 0);
    // What is not known decides nothing: both sides run, each half as often.
    CHECK(holds("mov.u32 %r1, 1; div.s32 %r9, %r1, 0;\n", "eq.s32 %p1, %r9, 0") == 0.5);
    CHECK(holds("mul.hi.u32 %r9, 7, 9;\n", "eq.s32 %p1, %r9, 0") == 0.5);
    CHECK(holds("mov.u32 %r9, 1; @%p2 mov.u32 %r9, 2;\n", "eq.s32 %p1, %r9, 1") == 0.5);
}

TEST_CASE("live registers are counted by words where most are alive") {
    CHECK(live_registers(kernel_of("ret;\n")) == 0);
    CHECK(live_registers(
              kernel_of("mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nadd.s32 %r3, %r1, %r2;\nst.global.u32 [%rd1], %r3;\n"
                        "ret;\n")) == 4); // two numbers, an address of two words
    // Around a loop what it reads later stays alive.
    CHECK(live_registers(kernel_of("mov.u32 %r1, 0;\nmov.f32 %f2, 0f00000000;\nL: add.f32 %f1, %f1, %f2;\n"
                                   "add.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 9;\n@%p1 bra L;\nret;\n")) == 3);
}

TEST_CASE("a kernel of which too much decides branches is refused") {
    std::string body;
    for (int i = 0; i < 5000; ++i) body += ".reg .b32 %x" + std::to_string(i) + ";\n";
    body += "mov.u32 %x0, %clock;\n";
    for (int i = 1; i < 5000; ++i) body += "add.s32 %x" + std::to_string(i) + ", %x" + std::to_string(i - 1) + ", 1;\n";
    body += "setp.eq.s32 %p1, %x4999, 0;\n@%p1 bra L;\nL: ret;\n";
    auto const w = count_ptx(kernel_of(body), {});
    REQUIRE_FALSE(w);
    CHECK(w.error().code() == error_code::unsupported);
    CHECK(w.error().message().find("5001 registers decide") != std::string::npos);
}

// ---- ten kernels, counted by hand

struct hand_count {
    char const* kernel;
    std::array<std::int64_t, 3> grid, block;
    std::optional<std::int64_t> n; // the last parameter
    double fma, floating, special, loaded, stored, loaded_shared, stored_shared, barriers;
};
// Of thread 0 of block 0; loads and stores in bytes.
hand_count const by_hand[] = {
    // 96 tiles of 8: a thread loads two elements of each operand, then 8 steps of 16 products by 8 operands.
    {"product", {1, 1, 1}, {256, 1, 1}, 64, 96 * 8 * 16, 0, 0, 96 * 4 * 4, 16 * 4, 96. * 8 * 8 * 4, 96 * 4 * 4, 192},
    // 4 of 1000 by 256; 5 steps within a warp, 7 between warps.
    {"sum_rows", {8, 1, 1}, {256, 1, 1}, 1000, 0, 4 + 5 + 7, 0, 4 * 4, 4, 7 * 4, 4, 1},
    {"scale", {4, 1, 1}, {128, 1, 1}, 5000, 10, 0, 0, 40, 40, 0, 0, 0}, // 5000 by 512
    {"copy", {1, 1, 1}, {256, 1, 1}, {}, 0, 0, 0, 128, 128, 0, 0, 0},
    {"transpose", {1, 1, 1}, {32, 8, 1}, {}, 0, 0, 0, 16, 16, 16, 16, 1},
    // 8 of 2048 by 256, twice; 8 levels of the tree, of which each reads two and writes one; the sum at the end.
    {"softmax", {1, 1, 1}, {256, 1, 1}, {}, 0, 8 + 8 + 8, 16, 64, 32, 17 * 4, 9 * 4, 9},
    {"pool", {32, 1, 1}, {32, 1, 1}, {}, 0, 9, 0, 36, 4, 0, 0, 0}, // what the border skips is counted
    {"depthwise", {1, 1, 1}, {14, 1, 1}, {}, 14 * 9, 0, 0, 14 * 18 * 4, 14 * 4, 0, 0, 0},
    {"counters", {1, 1, 1}, {32, 1, 1}, {}, 10 + 16, 0, 0, 4, 4, 0, 0, 0},
    {"sides", {1, 1, 1}, {32, 1, 1}, {}, 5, 1 + 3, 3, 4, 5 * 4 + 3 * 4, 0, 0, 0}, // each half as often
};

void check_counts(std::string const& text) {
    auto const m = parse_ptx(text).value();
    CHECK(m.unknown == 0);
    REQUIRE(m.kernels.size() == std::size(by_hand));
    for (auto const& want : by_hand) {
        CAPTURE(want.kernel);
        auto const& k = *m.kernel(want.kernel).value();
        ptx_launch launch;
        launch.grid = want.grid, launch.block = want.block;
        launch.parameters.resize(k.parameters.size());
        if (want.n) launch.parameters.back() = want.n;
        auto const w = count_ptx(k, launch).value();
        for (auto const& warning : w.warnings) UNSCOPED_INFO(warning.text);
        CHECK(w.warnings.empty());
        CHECK(w.times(ptx_class::fma) == want.fma);
        CHECK(w.times(ptx_class::special) == want.special);
        CHECK(w.times(ptx_class::barrier) == want.barriers);
        CHECK(w.bytes(ptx_class::load, ptx_space::global) == want.loaded);
        CHECK(w.bytes(ptx_class::store, ptx_space::global) == want.stored);
        CHECK(w.bytes(ptx_class::load, ptx_space::shared) == want.loaded_shared);
        CHECK(w.bytes(ptx_class::store, ptx_space::shared) == want.stored_shared);
        CHECK(w.times(ptx_class::floating) == want.floating);
    }
}

TEST_CASE("counts of ten kernels that NVRTC compiled are those made by hand") {
    check_counts(text_of(GSUB_PTX_KERNELS "/kernels.ptx"));
}

TEST_CASE("counts of ten kernels that clang compiles are those made by hand") {
    scratch_folder const at;
    auto const out = at / "kernels.ptx";
    auto const command = "clang++ -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 -Xclang "
                         "-target-feature -Xclang +ptx70 -DGSUB_WITHOUT_TOOLKIT -w -O3 -S '" GSUB_PTX_KERNELS
                         "/kernels.cu' -o '" +
                         out + "' > /dev/null 2>&1";
    if (std::system(command.c_str()) != 0) {
        WARN("no clang that compiles for GPUs: not compared");
        return;
    }
    check_counts(text_of(out));
}

} // namespace ptx_work_test
