#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "codegen/cuda/emulated_warps.hpp"
#include "codegen/kernel_program.hpp"
#include "loop/random_schedule.hpp"
#include <gsub/codegen/cuda/emit_cuda.hpp>
#include <gsub/codegen/ir/kernel_loops.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/kernels/conv2d.hpp>

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

// Convolutions whose positions have a share of a row: full ones, one filter a channel, and groups in lanes.
std::vector<kernels::conv2d_shape> convolutions() {
    std::vector<kernels::conv2d_shape> out(3);
    for (auto& s : out)
        s.in_channels = s.out_channels = 64, s.in = {6, 11}, s.kernel = {3, 3}, s.pads = {1, 1, 1, 1}, s.bias = true;
    out[0].stride = {2, 1}, out[0].residual = true;
    out[1].groups = 64, out[2].groups = 8;
    return out;
}

TEST_CASE("positions of CUDA C++ that have a share of a row compute what the whole row does") {
    auto const with = runtime::find_compiler();
    if (!with) {
        WARN("no compiler here");
        return;
    }
    std::vector<codegen::kernel> all;
    for (auto const& s : convolutions())
        for (std::int32_t const chunk : {1, 2, 4}) {
            kernels::conv2d_config c;
            c.tile_ow = 2 + chunk % 2, c.chunk = chunk, c.unroll_kh = chunk == 2;
            if (s.groups == 1) c.unroll_ic = 4, c.oc_inner = chunk == 4, c.tile_oc = 2;
            all.push_back(lower(kernels::conv2d_nest(s, c, isa::warp), "conv2d").value());
        }
    auto const compile = kernel_program::quoted(with->path) + " -w -std=c++17 -O1 -ffp-contract=fast";
    CHECK(kernel_program::fault(all, compile, "", emulated_warps::header, &emit_shared) == "");
}

TEST_CASE("kernels of a device multiply as often however their positions share rows") {
    for (auto const& s : convolutions()) {
        std::vector<double> products;
        std::vector<std::int64_t> positions;
        for (std::int32_t const tile : {1, 3, 4})
            for (std::int32_t const chunk : {1, 2, 16}) {
                kernels::conv2d_config c;
                c.tile_ow = tile, c.chunk = chunk;
                auto const k = lower(kernels::conv2d_nest(s, c, isa::warp), "conv2d").value();
                products.push_back(codegen::loops_of(k, codegen::kernel_counting::of_device).total.multiply_adds);
                positions.push_back(k.parallel_extent);
            }
        CHECK(products == std::vector<double>(products.size(), products[0]));
        CHECK(positions[0] == 11 * positions[2]); // a pixel each, the whole row
    }
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

TEST_CASE("neighbouring numbers that all lanes of CUDA read are one load, where they are aligned") {
    kernels::conv2d_shape s;
    s.in_channels = s.out_channels = 64, s.in = {7, 7}, s.kernel = {3, 3}, s.pads = {1, 1, 1, 1};
    kernels::conv2d_config c;
    c.tile_ow = 3, c.unroll_ic = 8;
    auto k = codegen::lower(kernels::conv2d_nest(s, c, isa::warp), "k").value();
    auto const count = [](std::string const& text, std::string_view word) {
        std::size_t found = 0;
        for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
        return found;
    };
    auto const group = codegen::group_of(k, std::size_t{48} << 10, 1);
    auto const wide = codegen::emit_cuda(k, "k", group);
    auto const loops = codegen::loops_of(k, codegen::kernel_counting::of_device);
    CHECK(count(wide, "const float4 q") > 0);
    CHECK(loops.total.joined == 0.75 * loops.total.broadcasts);
    k.aligned = false;
    CHECK(count(codegen::emit_cuda(k, "k", group), "float4") == 0);
    CHECK(codegen::loops_of(k, codegen::kernel_counting::of_device).total.joined == 0);
    // In pairs where the channels of a turn are two, and by themselves where they are one.
    k.aligned = true, c.unroll_ic = 2;
    k = codegen::lower(kernels::conv2d_nest(s, c, isa::warp), "k").value();
    CHECK(count(codegen::emit_cuda(k, "k", group), "const float2 q") > 0);
    CHECK(count(codegen::emit_cuda(k, "k", group), "float4") == 0);
    c.unroll_ic = 1;
    k = codegen::lower(kernels::conv2d_nest(s, c, isa::warp), "k").value();
    CHECK(count(codegen::emit_cuda(k, "k", group), "const float2 q") == 0);
}

} // namespace emit_cuda_test
