#include "catch.hpp"
#include <gsub/machine/ptx.hpp>

#include <string>
#include <vector>

namespace ptx_test {

using namespace gsub;
using namespace gsub::machine;
using kinds = ptx_operand::kinds;

std::string with(std::string const& body, std::string const& header = "k(.param .u64 p, .param .u32 n)") {
    return ".version 8.0\n.target sm_80, texmode_independent\n.address_size 64\n.visible .entry " + header +
           "\n{\n.reg .pred %p<9>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<99>;\n.reg .b16 %h<9>;\n" +
           body + "}\n";
}
ptx_kernel kernel_of(std::string const& body) {
    return parse_ptx(with(body)).value().kernels.at(0);
}
ptx_instruction instruction_of(std::string const& text) {
    auto const m = parse_ptx(with(text + "\n")).value();
    CHECK(m.unknown == 0);
    return m.kernels.at(0).code.at(0);
}
std::string refused(std::string const& text) {
    auto const m = parse_ptx(text);
    REQUIRE_FALSE(m);
    CHECK(m.error().code() == error_code::invalid_input);
    return m.error().message();
}
bool tells(std::string const& message, std::string_view what) {
    return message.find(what) != std::string::npos;
}

TEST_CASE("a kernel has its name, parameters, block, memory and registers, the module its version and target") {
    auto const m = parse_ptx(R"(//
.version 8.8 // of the language
.target sm_90a
.address_size 64
/* .entry not_here() { } */
.file 1 "a file with { and ;"
.extern .shared .align 16 .b8 dynamic[];
.shared .align 4 .b8 _of_module[256];
.global .align 4 .b8 table[8] = {1, 2, 3, 4};
.func (.param .b32 out) helper(.param .b32 in) { .reg .b32 %q; ret; }
.visible .func (.param .b32 out) later(.param .b32 in);
.visible .entry first(
    .param .u64 .ptr .align 16 first_param_0,
    .param .align 8 .b8 first_param_1[24]
)
.reqntid 16, 8, 2
.minnctapersm 3
{
    .reg .pred  %p<2>;
    .reg .b32  %r<4>;
    .reg .b64 %one, %two;
    .local .align 8 .b8 __local_depot0[40];
    .shared .align 4 .b8 _ZZ5firstE1a[8][16];
    .loc 1 2 3
    mov.u64 %one, _of_module;
    mov.u64 %two, dynamic;
    mov.u64 %two, _of_module;
    add.s32 %r3, %r1, %r1;
    ret;
}
.entry second() .maxntid 128 { ret; }
.section .debug_info { .b8 1, 2 }
)")
                       .value();
    CHECK(m.version == "8.8");
    CHECK(m.target == "sm_90a");
    CHECK(m.warnings.empty());
    REQUIRE(m.kernels.size() == 2);
    auto const& k = m.kernels[0];
    CHECK(k.name == "first");
    REQUIRE(k.parameters.size() == 2);
    CHECK(k.parameters[0].name == "first_param_0");
    CHECK(k.parameters[0].bytes == 8);
    CHECK(k.parameters[1].name == "first_param_1");
    CHECK(k.parameters[1].bytes == 24);
    CHECK(k.block == std::array<std::int64_t, 3>{16, 8, 2});
    CHECK(k.exact_block);
    CHECK(k.blocks_at_once == 3);
    CHECK(k.shared_bytes == 128 + 256); // the module's once
    CHECK(k.local_bytes == 40);
    CHECK(k.registers == std::vector<std::uint8_t>{64, 64, 32, 32}); // as they are met
    CHECK(k.code.size() == 5);
    CHECK(m.kernels[1].block == std::array<std::int64_t, 3>{128, 1, 1});
    CHECK_FALSE(m.kernels[1].exact_block);
    CHECK(m.kernel("second").value() == &m.kernels[1]);
    CHECK(tells(m.kernel("third").error().message(), "\"first\", \"second\""));
}

TEST_CASE("instructions have the class, space and bytes that a thread moves") {
    struct row {
        char const* text;
        ptx_class what;
        ptx_space space;
        std::int32_t bytes;
    };
    using enum ptx_class;
    auto const none = ptx_space::none;
    for (auto const& r : {
             row{"fma.rn.f32 %f1, %f2, %f3, %f4;", fma, none, 0},
             row{"fma.rn.f16x2 %r1, %r2, %r3, %r4;", fma, none, 0},
             row{"mad.rn.f32 %f1, %f2, %f3, %f4;", fma, none, 0},
             row{"mad.lo.s32 %r1, %r2, %r3, %r4;", integer, none, 0},
             row{"add.f32 %f1, %f2, 0f3F800000;", floating, none, 0},
             row{"add.s32 %r1, %r2, -1;", integer, none, 0},
             row{"max.f32 %f1, %f2, %f3;", floating, none, 0},
             row{"setp.gt.f32 %p1, %f2, %f3;", floating, none, 0},
             row{"div.full.f32 %f1, %f2, %f3;", special, none, 0},
             row{"div.s32 %r1, %r2, %r3;", integer, none, 0},
             row{"ex2.approx.ftz.f32 %f1, %f2;", special, none, 0},
             row{"cvt.rn.f16.f32 %h1, %f2;", convert, none, 0},
             row{"mov.b32 %f1, %r1;", move, none, 0},
             row{"ld.param.u32 %r1, [n];", load, ptx_space::parameter, 4},
             row{"ld.global.nc.L1::no_allocate.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+-16];", load, ptx_space::global, 16},
             row{"ld.shared::cta.v2.b64 {%rd1, %rd2}, [%r1];", load, ptx_space::shared, 16},
             row{"ld.const.f32 %f1, [table+4];", load, ptx_space::constant, 4},
             row{"ld.local.u8 %h1, [%rd1];", load, ptx_space::local, 1},
             row{"ld.f32 %f1, [%rd1];", load, ptx_space::generic, 4},
             row{"st.global.f32 [%rd1], %f1;", store, ptx_space::global, 4},
             row{"st.shared.v4.f32 [%r1+64], {%f1, %f2, %f3, %f4};", store, ptx_space::shared, 16},
             row{"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];", load, ptx_space::shared, 16},
             row{"atom.global.add.f32 %f1, [%rd1], %f2;", atomic, ptx_space::global, 4},
             row{"red.shared.add.u32 [%r1], 1;", atomic, ptx_space::shared, 4},
             row{"cp.async.cg.shared.global [%r1], [%rd1], 16;", copy_async, ptx_space::global, 16},
             row{"cp.async.commit_group;", barrier, none, 0},
             row{"cp.async.wait_group 2;", barrier, none, 0},
             row{"bar.sync 0;", barrier, none, 0},
             row{"shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;", shuffle, none, 0},
             row{"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, "
                 "{%r5, %r6}, {%f1, %f2, %f3, %f4};",
                 matrix, none, 0},
             row{"wgmma.fence.sync.aligned;", barrier, none, 0},
             row{"bra.uni L; L:", branch, none, 0},
             row{"prefetch.global.L2 [%rd1];", other, none, 0},
         }) {
        CAPTURE(r.text);
        auto const i = instruction_of(std::string{r.text} + "\nret;");
        CHECK(to_string(i.what) == to_string(r.what));
        CHECK(to_string(i.space) == to_string(r.space));
        CHECK(i.bytes == r.bytes);
    }
    CHECK(instruction_of("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r5}, {%f1};")
              .multiply_adds == 16 * 8 * 8);
    CHECK(instruction_of("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%f1, %f2}, %rd1, %rd2, 1, 1, 1, 0, 1;")
              .multiply_adds == 64 * 128 * 16);
}

TEST_CASE("operands are registers, numbers, parameters, special registers and names, results stand apart") {
    auto const load = instruction_of("ld.global.v2.f32 {%f1, _}, [%rd3+8];");
    CHECK(load.defs.size() == 1);
    REQUIRE(load.uses.size() == 1);
    CHECK(load.uses[0].kind == kinds::reg);
    CHECK(load.uses[0].value == 8);
    auto const store = instruction_of("st.global.f32 [%rd3], %f1;");
    CHECK(store.defs.empty());
    CHECK(store.uses.size() == 2);
    auto const sum = instruction_of("add.s32 %r1, %r1, 0x10;");
    CHECK(sum.defs[0] == sum.uses[0].number);
    CHECK(sum.uses[1].value == 16);
    CHECK(sum.does == ptx_operation::add);
    CHECK(sum.is_signed);
    CHECK(instruction_of("add.u32 %r1, %r2, 4294967295U;").uses[1].value == 4294967295);
    auto const index = instruction_of("mov.u32 %r1, %ctaid.y;");
    CHECK(index.uses[0].kind == kinds::special);
    CHECK(index.uses[0].number == static_cast<std::uint32_t>(ptx_special::ctaid_y));
    CHECK(instruction_of("mov.u32 %r1, %smid;").uses[0].number == static_cast<std::uint32_t>(ptx_special::other));
    auto const parameter = instruction_of("ld.param.u32 %r1, [n];");
    CHECK(parameter.uses[0].kind == kinds::parameter);
    CHECK(parameter.uses[0].number == 1);
    CHECK(instruction_of("mov.u64 %rd1, table;").uses[0].kind == kinds::symbol);
    CHECK(instruction_of("mul.wide.s32 %rd1, %r1, 4;").wide);
    auto const guarded = instruction_of("@!%p3 st.shared.f32 [%r1], %f1;");
    CHECK(guarded.predicate >= 0);
    CHECK(guarded.negated);
    CHECK(instruction_of("setp.lo.u32 %p1, %r1, 5;").when == line_condition::less);
    CHECK(instruction_of("setp.ge.and.s32 %p1, %r1, 5, %p2;").when == line_condition::other);
    auto const product =
        instruction_of("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2}, %rd1, %rd2, 1, 1, 1;");
    CHECK(product.defs.size() == 2);
    CHECK(product.uses.size() == 7); // what is added to, too
}

TEST_CASE("blocks begin behind jumps and at labels, and names in braces are their own") {
    auto const k = kernel_of(R"(
    mov.u32 %r1, 0;
$L__BB0_1:
    { .reg .b32 %r1; .reg .pred %q; mov.u32 %r1, 7; setp.eq.s32 %q, %r1, 1; }
    add.s32 %r1, %r1, 1; setp.ne.s32 %p1, %r1, 8;
    @%p1 bra $L__BB0_1;
    @%p1 ret;
    bra.uni DONE;
    trap;
DONE: ret;
)");
    CHECK(k.registers.size() == 4); // %r1 twice, %q, %p1
    REQUIRE(k.blocks.size() == 6);
    CHECK(k.blocks[1].label == "$L__BB0_1");
    CHECK(k.blocks[1].next == small_vector<std::uint32_t, 2>{2, 1});
    CHECK(k.blocks[2].next == small_vector<std::uint32_t, 2>{3});
    CHECK(k.blocks[3].next == small_vector<std::uint32_t, 2>{5});
    CHECK(k.blocks[4].next.empty());
    CHECK(k.blocks[5].next.empty());
}

TEST_CASE("an instruction that is not known is a warning, and defines its first operand") {
    auto const m = parse_ptx(with("frobnicate.b32 %r1, %r2;\nbrx.idx %r1, targets;\n")).value();
    CHECK(m.unknown == 1);
    REQUIRE(m.warnings.size() == 2);
    CHECK(m.warnings[0].line == 11);
    CHECK(tells(m.warnings[0].text, "frobnicate.b32"));
    CHECK(m.kernels[0].code[0].defs.size() == 1);
}

TEST_CASE("what is no PTX is refused with its line") {
    CHECK(tells(refused(""), "no .version"));
    CHECK(tells(refused(".version 8.0\n.target sm_80\n"), "no kernel"));
    CHECK(tells(refused("hello"), "a directive expected"));
    CHECK(tells(refused(with("add.s32 %r1, %r2, %r100;\n")), "line 11 of the PTX: \"%r100\""));
    CHECK(tells(refused(with("add.s32 %r1, %x, 1;\n")), "%x"));
    CHECK(tells(refused(with("add.s32 %r1, %r2, 1x;\n")), "1x"));
    CHECK(tells(refused(with("ld.global.f32 %f1, [%rd1;\n")), "closes"));
    CHECK(tells(refused(with("@%q bra L;\nL: ret;\n")), "a predicate that is declared"));
    CHECK(tells(refused(with("bra L;\n")), "label \"L\" is nowhere"));
    CHECK(tells(refused(with("ret")), "a semicolon"));
    CHECK(tells(refused(with("{ ret;\n")), "a brace is not closed"));
    CHECK(tells(refused(with("")), "no instruction"));
    CHECK(tells(refused(with(".reg %r<5>;\nret;\n")), "a type and names"));
    CHECK(tells(refused(with(".shared .b8 x[4294967296][4294967296];\nret;\n")), "that can be counted"));
    CHECK(tells(refused(with("ret;\n", "")), "the name of a kernel"));
    CHECK(tells(refused(with("ret;\n", "k(.param .u32 n")), "in parentheses"));
    CHECK(tells(refused(with(std::string(65, '{') + "ret;" + std::string(65, '}'))), "64 braces"));
    CHECK(tells(parse_ptx(with("ret;\nret;\n"), {.instructions = 1}).error().message(), "more than 1 instructions"));
    CHECK(tells(parse_ptx(with("ret;\nret;\n"), {.blocks = 1}).error().message(), "more than 1 blocks"));
    CHECK(tells(parse_ptx(with("ret;\n"), {.bytes = 9}).error().message(), "the limit of 9"));
}

} // namespace ptx_test
