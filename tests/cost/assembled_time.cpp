#include "catch.hpp"
#include "cost/sample_kernels.hpp"
#include "machine/compiled_text.hpp"
#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/cost/assembled_time.hpp>
#include <gsub/cost/scheduled_time.hpp>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace assembled_time_test {

using namespace gsub;
using namespace sample_kernels;

constexpr auto options = "-O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math -fno-reorder-blocks";
machine::assembly_unit assembled(compiled_text::compiler const& c, codegen::kernel const& k) {
    return machine::parse_assembly(compiled_text::compile(c, codegen::emit_cpp(k, "k"), options), c.syntax).value();
}
bool is_arm(compiled_text::compiler const& c) {
    return c.syntax == machine::assembly_syntax::aarch64;
}
// GNU compilers that are here; Clang's code of these kernels is tested with `map_loops`.
std::vector<compiled_text::compiler> compilers() {
    std::string missing;
    auto out = compiled_text::compilers(missing);
    std::erase_if(out, [](auto const& c) { return c.name == "clang++"; });
    if (!missing.empty()) WARN("not here: " << missing);
    return out;
}

TEST_CASE("a kernel takes at least the cycles of its multiply-adds, and its counts are those of the kernel") {
    for (auto const& c : compilers()) {
        auto const& core = named(is_arm(c) ? "neoverse-n1" : "zen3");
        for (auto const& d : std::vector<kernels::descriptor>{product(28, 64, 64), product(29, 100, 24),
                                                              convolution(32, 14, 3), convolution(32, 14, 3, 32)}) {
            auto const k = counted(d, *core.isa);
            auto const unit = assembled(c, k);
            auto const made = cost::assembled_time_of(k, *unit.function("k").value(), core).value();
            auto const counted = cost::time_of(k, core);
            CAPTURE(c.name, made.multiply_adds, made.unmatched, made.time.compute, counted.compute);
            CHECK(unit.unknown == 0);
            CHECK(made.loops > 0);
            CHECK(made.time.multiply_adds == counted.multiply_adds);
            CHECK(made.time.memory_bytes == counted.memory_bytes);
            CHECK(made.multiply_adds == Approx(counted.multiply_adds).epsilon(0.25));
            CHECK(made.time.compute >= 0.95 * counted.multiply_adds / core.fma_units);
            CHECK(made.time.compute <= 4 * counted.compute);
            CHECK(made.time.seconds >= made.time.compute / (core.gigahertz * 1e9));
            auto const exact = std::abs(made.multiply_adds - counted.multiply_adds) <= 0.05 * counted.multiply_adds;
            if (!exact) CHECK_FALSE(made.mapped()); // and it is told
            if (!exact) CHECK(made.warnings.back().line > 0);
            CHECK(cost::assembled_time_of(k, *unit.function("k").value(), core)->time.seconds == made.time.seconds);
        }
    }
}

TEST_CASE("groups of channels of which the last has another way are counted by their turns") {
    for (auto const& c : compilers()) {
        auto const& core = named(is_arm(c) ? "neoverse-n1" : "zen3");
        kernels::descriptor const d = kernels::winograd_shape{convolution(16 * core.isa->lanes(), 56, 3), 4};
        auto const k =
            kernel_of(d, "rows=2 columns=14 tile=6 vectors=3 unroll_ic=4 parts=1 points_outer=false", *core.isa);
        auto const unit = assembled(c, k);
        auto const made = cost::assembled_time_of(k, *unit.function("k").value(), core).value();
        auto const wanted = cost::time_of(k, core).multiply_adds;
        CAPTURE(c.name, made.multiply_adds, wanted);
        CHECK(made.multiply_adds == Approx(wanted).epsilon(0.25));
    }
}

TEST_CASE("a compiler's code and our own instructions of a kernel take about as long") {
    for (auto const& c : compilers()) {
        if (is_arm(c)) continue; // of which we have no instructions
        for (auto const& d : std::vector<kernels::descriptor>{product(28, 64, 256), convolution(32, 14, 3)}) {
            auto const k = counted(d, isa::avx2);
            auto const unit = assembled(c, k);
            auto const made = cost::assembled_time_of(k, *unit.function("k").value(), named("zen3")).value();
            auto const own = cost::scheduled_time_of(k, isa::avx2, named("zen3")).value();
            CHECK(made.time.compute == Approx(own.compute).epsilon(0.3));
            CHECK(made.time.l2_bytes == Approx(own.l2_bytes).epsilon(0.01));
        }
    }
}

TEST_CASE("a core with more units is faster, one that starts instructions in order is slower") {
    for (auto const& c : compilers()) {
        if (!is_arm(c)) continue;
        auto const k = counted(product(28, 64, 256), isa::neon);
        auto const unit = assembled(c, k);
        auto const cycles = [&](std::string_view core) {
            return cost::assembled_time_of(k, *unit.function("k").value(), named(core))->time.compute;
        };
        CHECK(cycles("neoverse-v1") < cycles("neoverse-n1"));
        CHECK(cycles("neoverse-n1") < cycles("cortex-a53"));
    }
}

TEST_CASE("assembly of something else is refused by name and line, never costed as nothing") {
    for (auto const& c : compilers()) {
        auto const& isa = is_arm(c) ? isa::neon : isa::avx2;
        auto const& core = named(is_arm(c) ? "neoverse-n1" : "zen3");
        auto const k = counted(product(28, 64, 64), isa), other = counted(product(4, 16, 16), isa);
        auto const unit = assembled(c, other);
        auto const made = cost::assembled_time_of(k, *unit.function("k").value(), core);
        REQUIRE_FALSE(made);
        CHECK(made.error().code() == error_code::unsupported);
        for (auto const* word : {"\"k\"", "line ", "multiply-adds", "counted"})
            CHECK(made.error().message().find(word) != std::string::npos);
    }
    machine::assembly_function nothing;
    nothing.name = "k";
    auto const made = cost::assembled_time_of(counted(product(4, 16, 16), isa::avx2), nothing, named("zen3"));
    REQUIRE_FALSE(made);
    CHECK(made.error().code() == error_code::unsupported);
}

} // namespace assembled_time_test
