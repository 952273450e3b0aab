#include "catch.hpp"
#include "machine/compiled_text.hpp"
#include <gsub/core/random.hpp>
#include <gsub/machine/assembly.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace assembly_test {

using namespace gsub;
using namespace gsub::machine;
using enum instruction_class;
constexpr auto x86 = assembly_syntax::x86_64, arm = assembly_syntax::aarch64;

std::vector<instruction> code_of(std::string const& line, assembly_syntax s) {
    auto const unit = parse_assembly("f:\n\t" + line + "\n", s).value();
    CAPTURE(line);
    CHECK(unit.unknown == 0);
    return unit.functions.at(0).code;
}
std::string message(std::string const& text, assembly_syntax s = x86, assembly_limits const& limits = {}) {
    auto const unit = parse_assembly(text, s, limits);
    if (!unit) CHECK((unit.error().id() == errors::assembly_text || unit.error().code() == error_code::unsupported));
    return unit ? "" : unit.error().message();
}

struct row {
    assembly_syntax syntax;
    char const* line;
    instruction_class what;
    int bytes, memory, uses, defs;
};

TEST_CASE("an instruction has the class, width, memory and registers of its text") {
    for (auto const& r : std::vector<row>{
             {x86, "vfmadd231ps (%rax,%rcx,4), %ymm1, %ymm0", fma, 32, 32, 4, 1},
             {x86, "vfmadd213ss 8(%rdi), %xmm0, %xmm1", fma, 4, 4, 3, 1},
             {x86, "vmulps (%rax){1to16}, %zmm1, %zmm2", multiply, 64, 4, 2, 1},
             {x86, "mulps %xmm1, %xmm0", multiply, 16, 0, 2, 1},
             {x86, "vaddpd %ymm1, %ymm2, %ymm3{%k1}", add, 32, 0, 4, 1},
             {x86, "vaddpd %ymm1, %ymm2, %ymm3{%k1}{z}", add, 32, 0, 3, 1},
             {x86, "vmaxps %zmm1, %zmm2, %zmm3", maximum, 64, 0, 2, 1},
             {x86, "vcmpleps %zmm1, %zmm2, %k1", maximum, 64, 0, 2, 1},
             {x86, "vcomiss %xmm1, %xmm2", maximum, 4, 0, 2, 1},
             {x86, "vdivss %xmm1, %xmm2, %xmm3", divide, 4, 0, 2, 1},
             {x86, "vsqrtps %ymm1, %ymm2", square_root, 32, 0, 1, 1},
             {x86, "vxorps %xmm0, %xmm0, %xmm0", logic, 16, 0, 0, 1},
             {x86, "vpaddd %ymm0, %ymm1, %ymm2", logic, 32, 0, 2, 1},
             {x86, "vpternlogd $255, %zmm0, %zmm1, %zmm2", logic, 64, 0, 3, 1},
             {x86, "vpermps %ymm0, %ymm1, %ymm2", shuffle, 32, 0, 2, 1},
             {x86, "vextractf128 $1, %ymm0, %xmm1", shuffle, 32, 0, 1, 1},
             {x86, "vcvtps2dq %ymm0, %ymm1", convert, 32, 0, 1, 1},
             {x86, "vpmovzxbd (%rsi), %ymm0", convert, 32, 8, 1, 1},
             {x86, "vmovups 32(%rax), %ymm0", load, 32, 32, 1, 1},
             {x86, "vmovss .LC0(%rip), %xmm0", load, 4, 4, 0, 1},
             {x86, "vmovaps %ymm0, %ymm1", logic, 32, 0, 1, 1},
             {x86, "vbroadcastss (%rdx), %zmm1", broadcast, 64, 4, 1, 1},
             {x86, "vbroadcastss %xmm0, %ymm1", shuffle, 32, 0, 1, 1},
             {x86, "vmovups %zmm1, (%rax,%rdx){%k1}", store, 64, 64, 4, 0},
             {x86, "movq %rax, 8(%rsp)", store, 8, 8, 2, 0},
             {x86, "movl (%rax), %ecx", load, 4, 4, 1, 1},
             {x86, "leaq 8(%rax,%rcx,4), %rdx", integer, 8, 0, 2, 1},
             {x86, "addq (%rax), %rcx", integer, 8, 8, 2, 2},
             {x86, "cmpq %rax, %rcx", integer, 8, 0, 2, 1},
             {x86, "xorl %eax, %eax", integer, 4, 0, 0, 2},
             {x86, "kmovw %eax, %k1", logic, 8, 0, 1, 1},
             {x86, "jne f", branch, 8, 0, 1, 0},
             {arm, "fmla v0.4s, v1.4s, v2.s[0]", fma, 16, 0, 3, 1},
             {arm, "fmla v0.2s, v1.2s, v2.2s", fma, 8, 0, 3, 1},
             {arm, "fmadd s1, s0, s2, s1", fma, 4, 0, 3, 1},
             {arm, "fmul v0.4s, v1.4s, v2.4s", multiply, 16, 0, 2, 1},
             {arm, "fadd d0, d1, d2", add, 8, 0, 2, 1},
             {arm, "fmaxnm v0.4s, v1.4s, v2.4s", maximum, 16, 0, 2, 1},
             {arm, "fdiv v0.4s, v1.4s, v2.4s", divide, 16, 0, 2, 1},
             {arm, "fsqrt s0, s1", square_root, 4, 0, 1, 1},
             {arm, "movi v0.4s, 0", logic, 16, 0, 0, 1},
             {arm, "dup v0.4s, v1.s[0]", shuffle, 16, 0, 1, 1},
             {arm, "fcvtzs v0.4s, v1.4s", convert, 16, 0, 1, 1},
             {arm, "ldr q0, [x1, x2, lsl 4]", load, 16, 16, 2, 1},
             {arm, "ldr q0, [x1], #16", load, 16, 16, 1, 2},
             {arm, "ld1r {v4.4s}, [x4]", broadcast, 16, 4, 1, 1},
             {arm, "str q0, [x1, #-16]!", store, 16, 16, 2, 1},
             {arm, "ldrb w0, [x1]", load, 4, 1, 1, 1},
             {arm, "add x0, x1, x2, lsl 3", integer, 8, 0, 2, 1},
             {arm, "subs w0, w0, #1", integer, 4, 0, 1, 2},
             {arm, "b.ne f", branch, 8, 0, 1, 0},
             {arm, "cbnz x3, f", branch, 8, 0, 1, 0},
         }) {
        CAPTURE(r.line);
        auto const code = code_of(r.line, r.syntax);
        REQUIRE(code.size() == 1);
        CHECK(code[0].what == r.what);
        CHECK(code[0].bytes == r.bytes);
        CHECK(code[0].memory.bytes == r.memory);
        CHECK(code[0].uses.size() == static_cast<std::size_t>(r.uses));
        CHECK(code[0].defs.size() == static_cast<std::size_t>(r.defs));
    }
}

TEST_CASE("an fma's addend is the first register that it reads, whatever the order of its operands") {
    auto const addend = [](std::string const& line, assembly_syntax s) {
        return code_of(line, s)[0].uses[0] - first_vector;
    };
    CHECK(addend("vfmadd231ps %ymm1, %ymm2, %ymm3", x86) == 3);
    CHECK(addend("vfmadd213ps %ymm1, %ymm2, %ymm3", x86) == 1);
    CHECK(addend("vfnmadd132sd %xmm1, %xmm2, %xmm3", x86) == 2);
    CHECK(addend("fmadd s0, s1, s2, s3", arm) == 3);
    CHECK(addend("fmla v5.4s, v1.4s, v2.4s", arm) == 5);
}

TEST_CASE("a line that does several things is several instructions") {
    CHECK(code_of("ldp q0, q1, [x0]", arm).size() == 2);
    CHECK(code_of("ld1 {v30.4s - v1.4s}, [x0]", arm).size() == 4);
    CHECK(code_of("stp x29, x30, [sp, -32]!", arm).size() == 2);
    auto const both = code_of("addq $1, 8(%rsp)", x86);
    REQUIRE(both.size() == 2);
    CHECK((both[0].what == integer && both[0].folds_load() && both[1].what == store));
    CHECK(code_of("vextracti128 $1, %ymm0, (%rax)", x86).back().what == store);
    CHECK(code_of("vzeroupper", x86).empty());
    CHECK(code_of("nop", arm).empty());
}

TEST_CASE("blocks end at jumps and begin at labels to which lines jump") {
    auto const unit =
        parse_assembly("\t.type f, @function\nf:\n.LFB0: # begin\n\txorl %eax, %eax\n.L2:\n\taddq $1, %rax\n"
                       "\tcmpq $9, %rax; jne .L2\n.LVL1:\n\tret\n\t.size f, .-f\n\t.section .rodata\nt:\n\t.long 1\n",
                       x86)
            .value();
    REQUIRE(unit.functions.size() == 1);
    auto const& f = *unit.function("f").value();
    REQUIRE(f.blocks.size() == 3);
    CHECK(f.blocks[1].label == ".L2");
    CHECK(f.blocks[1].line == 6);
    CHECK(f.code_of(1).size() == 3);
    CHECK(f.blocks[0].next == small_vector<std::uint32_t, 2>{1});
    CHECK(f.blocks[1].next == small_vector<std::uint32_t, 2>{2, 1});
    CHECK(f.blocks[2].next.empty());
    CHECK(unit.function("g").error().id() == errors::assembly_text);
    CHECK(unit.function("g").error().message() ==
          "invalid input: the assembly has no function \"g\"; try: one of \"f\"");
}

TEST_CASE("an unknown mnemonic is a counted warning with its line, read by its operands") {
    auto const unit = parse_assembly("f:\n\tvfoops %ymm0, %ymm1, %ymm2\n\tbar %rax, (%rcx)\n\tret\n", x86).value();
    CHECK(unit.unknown == 2);
    REQUIRE(unit.warnings.size() == 2);
    CHECK(unit.warnings[0].line == 2);
    CHECK(unit.warnings[0].text == "mnemonic \"vfoops\" is not known: taken by its operands");
    CHECK(unit.functions[0].code[0].what == logic);
    CHECK(unit.functions[0].code[1].what == store);
    std::string many = "f:\n";
    for (int i = 0; i < 150; ++i) many += "\tfrob x0, x1\n";
    auto const all = parse_assembly(many, arm).value();
    CHECK(all.unknown == 150);
    CHECK(all.warnings.size() == 100);
}

TEST_CASE("what a repeat or an indirect jump does is told, not passed over") {
    auto const unit = parse_assembly("f:\n\trep stosq\n\tjmp *%rax\n", x86).value();
    REQUIRE(unit.warnings.size() == 2);
    CHECK(unit.warnings[0].text == "\"stosq\": how often it repeats is not known: it is counted once");
    CHECK(unit.warnings[1].text == "\"jmp\": where it jumps is not known");
}

TEST_CASE("text that is no assembly of the syntax is refused with its line") {
    CHECK(message("f:\n\taddq %foo, %rax\n") == "invalid input: line 2 of the assembly: \"addq %foo, %rax\": \"%foo\" "
                                                "is no operand of AT&T x86-64; try: text that "
                                                "GCC or Clang wrote for that processor");
    CHECK(message("f:\n\tadd x0, x1, [x2\n", arm).find("line 2") != std::string::npos);
    CHECK(message("f:\n\tldr q0, [x0]\n").find("\"[x0]\" is no operand of AT&T x86-64") != std::string::npos);
    CHECK(message("f:\n\tjne .L7\n").find("line 2 of the assembly: label \".L7\" is nowhere") != std::string::npos);
    CHECK(message("f:\n\tret\nf:\n\tret\n").find("line 3 of the assembly: label \"f\" stands here a second time") !=
          std::string::npos);
    CHECK(message("# nothing\n\t.text\n").find("no instruction found in 2 lines") != std::string::npos);
    CHECK(message("").find("no instruction found") != std::string::npos);
    CHECK(message("\t.intel_syntax noprefix\n").starts_with("not supported: line 1 of the assembly: Intel syntax"));
    CHECK(message("f:\n\tret\n\tret\n", x86, {.instructions = 1})
              .find("line 3 of the assembly: more than 1 instructions") != std::string::npos);
    CHECK(message("f:\n\tret\n\tret\n", x86, {.blocks = 1}).find("has more than 1 blocks") != std::string::npos);
    CHECK(message("f:\n\tret\n", x86, {.bytes = 3}).find("more than the limit of 3") != std::string::npos);
}

// Arithmetic of all kinds on floats, doubles and integers of all widths.
constexpr auto rich_source = R"(
#define F extern "C" void
F a(float* y, int const* x, double* d) { for (int i = 0; i < 99; ++i) y[i] = x[i] > 3 ? x[i] / 7.0f : __builtin_sqrtf(y[i]), d[i] += y[i] * 0.5; }
F b(unsigned char* y, short const* x, int n) { for (int i = 0; i < n; ++i) y[i] = (x[i] * 3 + 5) >> 2; }
F c(float* y, float const* x) { float s = 0, m = x[0]; for (int i = 0; i < 64; ++i) s += x[i] * y[63 - i], m = m < x[i] ? x[i] : m; y[0] = s / m; }
F d(long* y, unsigned long const* x, int n) { for (int i = 0; i < n; i += 3) y[i] = x[i] % 10 ^ x[i + 1] << 3 | x[i] / (y[i] | 1); }
F e(float* y, float const* x) { for (int i = 0; i < 40; ++i) y[i] = x[3 * i] - x[3 * i + 1] + __builtin_floorf(x[3 * i + 2]); }
F g(double* y, float const* x, int* k) { for (int i = 0; i < 77; ++i) y[i] = -x[k[i]] + __builtin_fabs(y[i]), k[i] = (int)y[i]; }
int h(unsigned n, char const* s) { int t = 0; while (*s) t = t * 31 + *s++, n ^= __builtin_popcount(t), n = n >> 3 | n << 29; return t ? n : -1; }
)";

TEST_CASE("the tables know what compilers write for arithmetic of all kinds") {
    std::string missing;
    for (auto const& c : compiled_text::compilers(missing))
        for (auto const* options : {"-O1", "-O3 -ffast-math"}) {
            if (c.name == "clang++" && options[2] == '1') continue; // much the same as at -O3
            CAPTURE(c.name, c.options, options);
            auto const text = compiled_text::compile(c, rich_source, options);
            REQUIRE_FALSE(text.empty());
            auto const unit = parse_assembly(text, c.syntax);
            if (!unit) FAIL(unit.error().message());
            std::string unknown;
            for (auto const& w : unit->warnings) unknown += std::to_string(w.line) + ": " + w.text + "\n";
            CHECK(unknown == "");
            CHECK(unit->functions.size() == 7);
        }
    if (!missing.empty()) WARN("not here: " << missing);
}

TEST_CASE("torn and mixed text is read or refused, and blocks always hold all lines once") {
    auto const seed = GENERATE(1u, 2u, 3u);
    CAPTURE(seed);
    std::string const sample =
        "\t.type f, @function\nf:\n.L1:\n\tvmovups (%rax,%rcx,4), %ymm0{%k1}\n\tldp q0, q1, [x0, #32]!\n"
        "\taddq $0x10, 8(%rsp)\n\tld1 {v0.4s - v3.4s}, [x1], x2\n\tjne .L1\n\tcbnz x3, .L1\n\tret\n";
    random_stream random{seed};
    for (int i = 0; i < 400; ++i) {
        auto text = sample;
        for (int edits = 0; edits < 4; ++edits) {
            auto const at = random.below(text.size());
            switch (random.below(3)) {
            case 0:
                text.erase(at, random.below(9));
                break;
            case 1:
                text.insert(at, 1, "%$()[]{},:;#.\n x0"[random.below(17)]);
                break;
            default:
                text[at] = static_cast<char>(random.below(256));
                break;
            }
            if (text.empty()) text = "x";
        }
        for (auto const s : {x86, arm}) {
            auto const unit = parse_assembly(text, s);
            if (!unit) continue;
            for (auto const& f : unit->functions) {
                std::uint32_t line = 0, code = 0;
                for (auto const& b : f.blocks) {
                    CHECK((b.first_line == line && b.first == code && b.last_line > line));
                    line = b.last_line, code = b.last;
                    for (auto const to : b.next) CHECK(to < f.blocks.size());
                }
                CHECK((line == f.lines.size() && code == f.code.size()));
            }
        }
    }
}

TEST_CASE("a folded load counts as a load and as what it is folded into") {
    class_counts counts;
    counts.add(code_of("vfmadd231ps (%rax), %ymm1, %ymm0", x86), 3);
    counts.add(code_of("vmovups (%rax), %ymm0", x86));
    CHECK(counts[fma] == 3);
    CHECK(counts[load] == 4);
    CHECK(counts[store] == 0);
}

} // namespace assembly_test
