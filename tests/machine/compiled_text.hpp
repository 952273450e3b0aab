// Assembly that real compilers write, for tests: C++ sources go through those that are here.
#pragma once

#include "io/scratch_folder.hpp"
#include <gsub/machine/assembly.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace compiled_text {

using gsub::machine::assembly_syntax;

struct compiler {
    std::string name;    ///< as it is called
    std::string options; ///< of a processor with multiply-adds
    assembly_syntax syntax = assembly_syntax::x86_64;
    int lanes = 8; ///< of floats in a vector
};

/// Compilers that are here, of those that can be; the others are told.
inline std::vector<compiler> compilers(std::string& missing) {
    std::vector<compiler> out;
    for (auto const& c : {compiler{"g++", "-mavx2 -mfma -m64", assembly_syntax::x86_64, 8},
                          compiler{"clang++", "--target=x86_64-linux-gnu -mavx2 -mfma", assembly_syntax::x86_64, 8},
                          compiler{"aarch64-linux-gnu-g++", "", assembly_syntax::aarch64, 4},
                          compiler{"clang++", "--target=aarch64-linux-gnu -nostdinc", assembly_syntax::aarch64, 4}}) {
        auto const test =
            "echo 'int f() { return 1; }' | " + c.name + " " + c.options + " -S -x c++ - -o /dev/null > /dev/null 2>&1";
        if (std::system(test.c_str()) == 0)
            out.push_back(c);
        else
            missing += c.name + " " + c.options + "; ";
    }
    return out;
}

/// What a compiler makes of a source; empty where it refuses it.
inline std::string compile(compiler const& c, std::string const& source, std::string const& options) {
    scratch_folder const at;
    auto const from = at.file("source.cpp", source), to = at / "source.s";
    auto const command = c.name + " " + c.options + " -std=c++20 -w " + options + " -S '" + from + "' -o '" + to + "'";
    if (std::system(command.c_str()) != 0) return {};
    std::ifstream in{to};
    return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace compiled_text
