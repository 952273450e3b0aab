// Writes the seed corpus of fuzz_assembly into a folder: what GCC writes for small loops, and each kind of operand.
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace {

void write(std::filesystem::path const& file, std::string const& data) {
    std::ofstream out{file, std::ios::binary};
    if (!(out << data)) throw std::runtime_error{file.string() + " cannot be written"};
}

} // namespace

int main(int count, char** arguments) {
    if (count != 2) throw std::runtime_error{"usage: seeds_assembly FOLDER"};
    std::filesystem::path const at{arguments[1]};
    std::filesystem::create_directories(at);
    write(at / "product_x86.s", "\t.type f, @function\nf:\n.LFB0:\n\txorl %edi, %edi\n\tleaq 49152(%rdx), "
                                "%rcx\n.L2:\n\tmovq %rdx, %rax\n\tvmovups (%rsi), "
                                "%ymm0\n.L3:\n\tvbroadcastss (%r8), %ymm1\n\taddq $512, %rax\n\tvfmadd231ps "
                                "-512(%rax), %ymm1, %ymm0\n\tcmpq %rax, "
                                "%rcx\n\tjne .L3\n\tvmovups %ymm0, (%rsi)\n\taddq $32, %rdx\n\taddq $32, %rcx\n\taddq "
                                "$1, %rdi\n\tcmpq $64, %rdi\n\tjne "
                                ".L2\n\tvzeroupper\n\tret\n\t.size f, .-f\n");
    write(at / "product_aarch64.s", "\t.type f, %function\nf:\n\tmov x4, 0\n.L4:\n\tldr q0, [x5, x4]\n\tmov x0, "
                                    "0\n.L3:\n\tlsl x1, x0, 9\n\tldr s2, [x3, x0, lsl "
                                    "2]\n\tadd x0, x0, 1\n\tldr q1, [x2, x1]\n\tfmla v0.4s, v1.4s, v2.s[0]\n\tcmp x0, "
                                    "96\n\tbne .L3\n\tstr q0, [x5, x4]\n\tadd "
                                    "x4, x4, 16\n\tcmp x4, 512\n\tbne .L4\n\tret\n\t.size f, .-f\n");
    write(at / "operands_x86.s",
          "f:\n\tvaddpd (%rax){1to4}, %ymm2, %ymm3{%k1}{z}\n\tmovl $0, -8(%rbp)\n.L1:\n\taddl $0x2, -8(%rbp)\n\tcmpl "
          "$18, "
          "-8(%rbp)\n\tjbe .L1\n\trep stosq\n\tmovq %fs:40, %rax\n\tvpmovzxbd sym+4(%rip), %zmm0\n\tvfoo %xmm0\n\tcall "
          "g@PLT\n\tsubq $16, %rdx; jns .L1\n\tjmp *%rax\n");
    write(at / "operands_aarch64.s",
          "f:\n\tstp x29, x30, [sp, -32]!\n.L1:\n\tld1 {v30.4s - v1.4s}, [x0], #64\n\tldr q0, [x1], 16\n\tldr x2, [x3, "
          ":lo12:sym]\n\tadd x0, x1, w2, sxtw 2\n\tst1 {v0.s}[1], [x2]\n\tld1w {z0.s}, p0/z, [x0, x1, lsl 2]\n\tsubs "
          "w3, w3, "
          "#1\n\tb.ne .L1\n\ttbz x0, 3, .L1\n\tcbnz x4, .L1\n\tbr x1\n");
    write(at / "torn.s", "f:\n.L1:\n\tjne .L1\n\tvaddps (%rax, %ymm0\n\tadd x0, [x1\n");
}
