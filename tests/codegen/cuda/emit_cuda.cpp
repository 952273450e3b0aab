#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "codegen/cuda/emulated_warps.hpp"
#include "codegen/kernel_program.hpp"
#include "loop/random_schedule.hpp"
#include <gsub/codegen/cuda/emit_cuda.hpp>
#include <gsub/codegen/lower_nest.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace emit_cuda_test {

using namespace gsub;
using codegen::lower;

// With the workspace in shared memory, where that is large enough, and in memory of the device.
std::string emit_shared(codegen::kernel const& k, std::string const& symbol) {
    return emulated_warps::emit(k, symbol, codegen::group_of(k, std::size_t{48} << 10, 128 / k.lanes));
}
std::string emit_lent(codegen::kernel const& k, std::string const& symbol) {
    return emulated_warps::emit(k, symbol, codegen::group_of(k, 0, 64 / k.lanes));
}

TEST_CASE("any legal schedule becomes CUDA C++ that computes the expression, within its buffers") {
    for (auto const emit : {&emit_shared, &emit_lent}) {
        compiled_kernel::batch kernels{isa::warp, emulated_warps::header, emit};
        std::vector<loop::tensor_expression> expressions;
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
            random_stream r{seed + 1000};
            auto const& what = expressions.emplace_back(random_schedule::computation(r, isa::warp.lanes()));
            auto const nest = random_schedule::nest(what, r, {.lanes = isa::warp.lanes()});
            kernels.add(lower(nest, "k", {.max_ranges = static_cast<std::int32_t>(1 + r.below(8))}).value());
        }
        kernels.compile();
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            CAPTURE(i, to_string(kernels[i]));
            CHECK(kernels.difference(i, expressions[i], i) == "");
        }
    }
}

TEST_CASE("kernels of every kind and tail compute what they say as CUDA C++, on emulated warps") {
    auto const with = runtime::find_compiler();
    if (!with) {
        WARN("no compiler here");
        return;
    }
    auto const compile = kernel_program::quoted(with->path) + " -w -std=c++17 -O1 -ffp-contract=fast";
    CHECK(kernel_program::fault(kernel_program::grid(isa::warp), compile, "", emulated_warps::header, &emit_shared) ==
          "");
}

TEST_CASE("kernels of fewer lanes share the warps of CUDA C++") {
    for (std::int32_t const lanes : {1, 4, 16}) {
        compiled_kernel::batch kernels{isa::warp, emulated_warps::header, &emit_shared};
        std::vector<loop::tensor_expression> expressions;
        for (std::uint64_t seed = 0; seed < 15; ++seed) {
            random_stream r{seed + 3000};
            auto const& what = expressions.emplace_back(random_schedule::computation(r, lanes));
            kernels.add(lower(random_schedule::nest(what, r, {.lanes = lanes}), "k").value());
        }
        kernels.compile();
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            CAPTURE(lanes, i, to_string(kernels[i]));
            CHECK(kernels.difference(i, expressions[i], i) == "");
        }
    }
}

} // namespace emit_cuda_test
