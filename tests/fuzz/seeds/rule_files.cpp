// Writes the seed corpus of fuzz_rule_files into a folder: rules in TASO's format and as text.
#include "rewrite/taso_writer.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace {

using namespace taso_writer;

void write(std::filesystem::path const& file, std::string const& data) {
    std::ofstream out{file, std::ios::binary};
    if (!(out << data)) throw std::runtime_error{file.string() + " cannot be written"};
}

} // namespace

int main(int count, char** arguments) {
    if (count != 2) throw std::runtime_error{"usage: seeds_rule_files FOLDER"};
    std::filesystem::path const at{arguments[1]};
    std::filesystem::create_directories(at);
    write(at / "taso_one.pb", "p" + file({distributes()}));
    write(at / "taso_three.pb", "p" + file({distributes(), merges_outputs(), merges_batch()}));
    write(at / "products.txt", "trule rows # one\n p = mat_mul(x, w)\n q = mat_mul(y, w)\n=>\n"
                               " c = concat(x, y, axis=0, rank=2)\n d = mat_mul(c, w)\n e, f = split(d, axis=0)\n"
                               " replace p by e\n replace q by f\n");
    write(at / "convolutions.txt",
          "trule a\n c = conv(x, w, kernel=3x5, strides=2x1, pads=none)\n d = relu(c)\n=>\n"
          " e = conv(x, w, kernel=3x5, strides=2x1, pads=none, act=relu)\n replace d by e\n"
          "rule b\n p, q = split(x, axis=1)\n r = concat(q, p, axis=1)\n=>\n replace r by x\n");
}
