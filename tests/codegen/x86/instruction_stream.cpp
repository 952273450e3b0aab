#include "catch.hpp"
#include "codegen/kernel_program.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/codegen/x86/instruction_stream.hpp>
#include <gsub/core/random.hpp>
#include <gsub/kernels/knobs.hpp>

#include <algorithm>
#include <vector>

namespace instruction_stream_test {

using namespace gsub;
using codegen::instructions_of;

// How often each region runs: the product of the turns of the loops around it. All of their limits are numbers, but
// for the parallel loop's, which has those of the kernel.
double runs_of(codegen::instruction_stream const& s, std::int32_t region) {
    double runs = 1;
    for (auto r = region; r >= 0; r = s.regions[static_cast<std::size_t>(r)].within) {
        auto const& of = s.regions[static_cast<std::size_t>(r)];
        if (!of.is_loop()) continue;
        if (of.of->var == s.lowered->parallel) {
            runs *= static_cast<double>(s.lowered->parallel_extent);
            continue;
        }
        REQUIRE(of.turns);
        runs *= static_cast<double>(*of.turns);
    }
    return runs;
}
// Or products, where there are no multiply-adds.
double multiply_adds(codegen::instruction_stream const& s, isa const& isa) {
    double out = 0;
    for (auto const& i : s.code)
        if (i.what == (isa.runs(isa::avx2) ? instruction_class::fma : instruction_class::multiply))
            out += runs_of(s, i.loop);
    return out;
}
codegen::kernel product(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view knobs, isa const& isa) {
    kernels::matmul_shape s;
    s.m = m, s.n = n, s.k = k;
    kernels::descriptor const d = s;
    return codegen::lower(kernels::nest_of(d, kernels::space_of(d, isa).parse(knobs), isa), "k").value();
}
bool reloads(codegen::instruction_stream const& s) {
    return std::any_of(s.code.begin(), s.code.end(), [](auto const& i) {
        return i.memory.bytes >= 32 &&
               std::any_of(i.uses.begin(), i.uses.end(), [](auto r) { return r >= codegen::stream_registers; });
    });
}

std::ptrdiff_t loads_in(std::vector<codegen::statement> const& body) {
    std::ptrdiff_t out = 0;
    for (auto const& s : body) {
        for (auto const& i : s.code) out += i.op == codegen::opcode::load;
        out += loads_in(s.body) + loads_in(s.otherwise);
    }
    return out;
}

TEST_CASE("multiply-adds of a stream, times the turns of the loops around, are those of the product") {
    for (auto const* knobs : {"tile_m=4 tile_n=2 unroll_k=4 tile_k=0", "tile_m=8 tile_n=2 unroll_k=1 tile_k=0",
                              "tile_m=2 tile_n=4 unroll_k=8 tile_k=0", "tile_m=4 tile_n=1 unroll_k=2 tile_k=0"})
        for (auto const* isa : {&isa::avx512, &isa::avx2, &isa::sse42}) {
            CAPTURE(knobs, isa->name);
            auto const s = instructions_of(product(16, 64, 64, knobs, *isa), *isa).value();
            CHECK(multiply_adds(s, *isa) == 16 * 64 * 64 / isa->lanes());
        }
}

TEST_CASE("regions lie within each other, in order, and hold their instructions") {
    for (auto const* isa : {&isa::avx512, &isa::avx2, &isa::sse42}) {
        auto taken = 0;
        for (auto const& k : kernel_program::grid(*isa)) {
            auto const made = instructions_of(k, *isa);
            if (!made) {
                CHECK(made.error().code() == error_code::unsupported);
                continue;
            }
            ++taken;
            CAPTURE(k.name);
            auto const& s = *made;
            REQUIRE(!s.regions.empty());
            CHECK(s.regions[0].within == -1);
            CHECK(s.regions[0].last == s.code.size());
            for (std::size_t r = 1; r < s.regions.size(); ++r) {
                auto const& of = s.regions[r];
                REQUIRE(of.within >= 0);
                REQUIRE(of.within < static_cast<std::int32_t>(r));
                auto const& around = s.regions[static_cast<std::size_t>(of.within)];
                CHECK(of.first >= around.first);
                CHECK(of.first <= of.last);
                CHECK(of.last <= around.last);
                CHECK(of.first >= s.regions[r - 1].first);
                if (of.is_loop()) CHECK_FALSE(around.inner);
            }
            for (std::size_t n = 0; n < s.code.size(); ++n) {
                auto const in = s.code[n].loop;
                if (in < 0) continue;
                auto const& of = s.regions[static_cast<std::size_t>(in)];
                CHECK(of.is_loop());
                CHECK((of.first <= n && n < of.last));
            }
        }
        CHECK(taken > 20);
    }
}

TEST_CASE("values without a register are reloaded: more of them where there are sixteen") {
    CHECK_FALSE(
        reloads(instructions_of(product(28, 64, 64, "tile_m=14 tile_n=2 unroll_k=1 tile_k=0", isa::avx512), isa::avx512)
                    .value()));
    auto const many = product(16, 64, 64, "tile_m=8 tile_n=3 unroll_k=1 tile_k=0", isa::avx2);
    CHECK(reloads(instructions_of(many, isa::avx2).value()));
}

TEST_CASE("inputs and weights that do not all fit registers are read less than twice each, and as said where they do") {
    kernels::conv2d_shape s;
    s.in_channels = s.out_channels = s.groups = 64;
    s.in = {14, 14}, s.kernel = {3, 3}, s.pads = {1, 1, 1, 1};
    for (auto const* isa : {&isa::avx512, &isa::avx2}) {
        CAPTURE(isa->name);
        auto const k = codegen::lower(kernels::conv2d_nest(s, kernels::default_config(s, *isa), *isa), "k").value();
        auto const stream = instructions_of(k, *isa).value();
        auto const read = std::count_if(stream.code.begin(), stream.code.end(), [&](auto const& i) {
            return i.memory.bytes == isa->vector_bytes && i.what != instruction_class::store;
        });
        auto const loads = loads_in(k.body);
        CHECK(loads > 100);
        CHECK(read < 2 * loads);
    }
}

TEST_CASE("where one vector a row is multiplied, its elements are read within the multiply-adds") {
    auto const s =
        instructions_of(product(16, 16, 64, "tile_m=8 tile_n=1 unroll_k=1 tile_k=0", isa::avx512), isa::avx512).value();
    auto folded = 0;
    for (auto const& i : s.code) folded += i.what == instruction_class::fma && i.folds_load() && i.memory.broadcast;
    CHECK(folded >= 8);
}

TEST_CASE("what machine code does not do is refused by its name") {
    for (auto const& k : kernel_program::grid(isa::avx512)) {
        if (k.name != "softmax 1") continue;
        auto const made = instructions_of(k, isa::avx512);
        if (made) continue; // it may learn to
        CHECK(made.error().message().find("machine code in memory has no") != std::string::npos);
    }
    auto const other =
        instructions_of(product(4, 16, 16, "tile_m=4 tile_n=1 unroll_k=1 tile_k=0", isa::avx512), isa::baseline);
    REQUIRE_FALSE(other);
    CHECK(other.error().code() == error_code::unsupported);
}

} // namespace instruction_stream_test
