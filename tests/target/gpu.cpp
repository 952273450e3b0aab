#include "catch.hpp"
#include <gsub/target/gpu.hpp>

#include <set>
#include <string>

using namespace gsub;

TEST_CASE("architectures of GPUs have numbers that rise, and sizes that fit into each other") {
    std::int32_t before = 0;
    for (auto const& row : gpu_architectures()) {
        CAPTURE(row.name);
        CHECK(row.capability > before);
        CHECK(row.name == "sm_" + std::to_string(row.capability));
        CHECK(row.block_threads <= row.threads());
        CHECK(row.block_shared_bytes + row.shared_reserve <= row.shared_bytes);
        CHECK(row.shared_reserve == (row.capability < 80 ? 0 : 1024));
        CHECK(row.warps % row.schedulers == 0);
        CHECK(row.registers % (row.schedulers * row.register_unit) == 0);
        CHECK(row.line_bytes % row.sector_bytes == 0);
        CHECK((row.capability < 80) == (row.matrix_tf32 == 0));
        CHECK(row.matrix_tf32 * 2 <= row.matrix_f16);
        before = row.capability;
    }
}

TEST_CASE("devices have names of their own, an architecture, and the rates that their data sheets tell") {
    std::set<std::string_view> names;
    for (auto const& row : gpus()) {
        CAPTURE(row.name);
        CHECK(names.insert(row.name).second);
        REQUIRE(row.architecture);
        CHECK(find_gpu(row.name) == &row);
        CHECK(row.processors > 0);
        CHECK(row.l2_bytes > 0);
        CHECK(row.memory_bytes_per_second > 1e11);
    }
    auto const tera = [](std::string_view name) { return find_gpu(name)->flops() / 1e12; };
    CHECK(tera("v100") == Approx(15.7).epsilon(0.01));
    CHECK(tera("t4") == Approx(8.1).epsilon(0.01));
    CHECK(tera("a100") == Approx(19.5).epsilon(0.01));
    CHECK(tera("a10") == Approx(31.2).epsilon(0.01));
    CHECK(tera("l4") == Approx(30.3).epsilon(0.01));
    CHECK(tera("h200") == Approx(66.9).epsilon(0.01));
    auto const matrix = [](std::string_view name, std::int32_t gpu_architecture::*rate) {
        auto const& g = *find_gpu(name);
        return 2e9 * g.gigahertz * g.processors * g.architecture->*rate / 1e12;
    };
    CHECK(matrix("v100", &gpu_architecture::matrix_f16) == Approx(125).epsilon(0.01));
    CHECK(matrix("a100", &gpu_architecture::matrix_f16) == Approx(312).epsilon(0.01));
    CHECK(matrix("a100", &gpu_architecture::matrix_tf32) == Approx(156).epsilon(0.01));
    CHECK(matrix("l4", &gpu_architecture::matrix_f16) == Approx(121).epsilon(0.01));
    CHECK(matrix("h100", &gpu_architecture::matrix_f16) == Approx(1070).epsilon(0.01)); // 989 at 1.83 GHz
}

TEST_CASE("GPUs are found by the names that compilers have, others are not") {
    CHECK(find_gpu_architecture("sm_90a")->capability == 90);
    CHECK(find_gpu_architecture("compute_75")->capability == 75);
    CHECK(find_gpu("sm_80")->name == "a100");
    CHECK(find_gpu("sm_90a")->name == "h100");
    for (auto const* const name : {"", "a", "sm_", "sm_9", "sm_100", "90", "compute_", "H200"}) {
        CHECK(find_gpu_architecture(name) == nullptr);
        CHECK(find_gpu(name) == nullptr);
    }
}
