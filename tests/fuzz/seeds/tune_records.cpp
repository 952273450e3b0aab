// Writes the seed corpus of fuzz_tune_records into a folder: records of AutoTVM, of Ansor and of gsub.
#include "tune/tuning_records.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace {

using namespace tuning_records;

void write(std::filesystem::path const& file, std::string const& data) {
    std::ofstream out{file, std::ios::binary};
    if (!(out << data)) throw std::runtime_error{file.string() + " cannot be written"};
}

} // namespace

int main(int count, char** arguments) {
    if (count != 2) throw std::runtime_error{"usage: seeds_tune_records FOLDER"};
    std::filesystem::path const at{arguments[1]};
    std::filesystem::create_directories(at);
    write(at / "autotvm.jsonl", autotvm_line + "\n");
    write(at / "ansor.jsonl", ansor_line + "\n");
    write(
        at / "point.jsonl",
        R"({"input": ["llvm", "t", [1], {}], "config": {"index": 0, "code_hash": "a", "entity": [["tile_f", "sp", )"
        R"([-1, 1, 1, 1]], ["tile_rc", "sp", [-1, 1]], ["unroll", "ot", 0], ["order", "ot", "oc_outer"]]}, "result": )"
        R"([[0.5, 1e-3], 0, 1, 2], "version": 0.2, "x": [true, null, "\u00e9"]})"
        "\n");
    write(
        at / "kernel.jsonl",
        R"({"input": ["llvm -keys=cpu -model=x86-64-avx512%2Cthreads%3D2", "gsub.matmul", ["matmul{m=4 n=8 k=8}"], {}], )"
        R"("config": {"index": 0, "code_hash": null, "entity": [["re", "re", [1, 0]], ["an", "an", ["vec"]]]}, )"
        R"("result": [[1000000000.0], 5, 1.0, 2.0], "version": 0.2, "tvm_version": "gsub 0.1.0"})"
        "\n# torn\n{\"input\": [");
}
