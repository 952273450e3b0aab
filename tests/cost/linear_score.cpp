#include "catch.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/cost/linear_score.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/scheduled_time.hpp>
#include <gsub/kernels/knobs.hpp>

#include <cmath>
#include <numeric>
#include <string_view>

namespace linear_score_test {

using namespace gsub;
using cost::kernel_feature;

microarchitecture const& named(std::string_view name) {
    for (auto const& row : microarchitectures())
        if (row.name == name) return row;
    FAIL("no row " << name);
    return microarchitectures().back();
}
codegen::kernel kernel_of(std::int64_t m, std::int64_t n, std::int64_t k, isa const& on) {
    kernels::matmul_shape s;
    s.m = m, s.n = n, s.k = k;
    kernels::descriptor const d = s;
    auto const space = kernels::space_of(d, on);
    return codegen::lower(kernels::nest_of(d, kernels::counted(d, on, space), on), "k").value();
}

TEST_CASE("rows have coefficients of at least 0, and say what they were fitted to") {
    auto const rows = cost::linear_scores();
    CHECK(rows.back().architecture.empty());
    for (auto const& row : rows) {
        CAPTURE(row.architecture);
        for (auto const c : row.score.coefficients) CHECK((c >= 0 && std::isfinite(c)));
        auto const fitted = row.kernels > 0;
        CHECK(row.machine.empty() != fitted);
        CHECK(row.date.empty() != fitted);
        CHECK(row.command.empty() != fitted);
    }
    for (auto const ilp : {cost::ilp_source::blocks, cost::ilp_source::instructions}) {
        for (auto const* s : instruction_sets()) {
            auto const& row = cost::linear_score_of(*s, ilp);
            CHECK((row.architecture.empty() || (row.architecture == s->architecture && row.ilp == ilp)));
        }
        // One set of coefficients serves all instruction sets of an architecture.
        CHECK(&cost::linear_score_of(isa::avx512, ilp) == &cost::linear_score_of(isa::avx2, ilp));
    }
}

TEST_CASE("a score is the sum of its terms, and without a fit that of blocks, loops, bytes and calls") {
    auto const& core = named("zen5");
    auto const f = cost::features_of(kernel_of(29, 100, 24, isa::avx512), core);
    cost::linear_score score;
    using enum kernel_feature;
    CHECK(score.cycles(f) ==
          Approx(f[ilp].cycles + f[control].cycles + f[l2].cycles + f[l3].cycles + f[memory].cycles + f[call].cycles));
    random_stream r{1};
    for (auto& c : score.coefficients) c = r.uniform(0, 2);
    double sum = 0;
    for (std::size_t i = 0; i < cost::kernel_feature_count; ++i) sum += score.cycles(f, static_cast<kernel_feature>(i));
    CHECK(score.cycles(f) == Approx(sum));
}

TEST_CASE("the model counts as the one that it is built on, and takes its seconds from the architecture's row") {
    for (auto const ilp : {cost::ilp_source::blocks, cost::ilp_source::instructions})
        for (auto const* on : {&isa::avx512, &isa::avx2, &isa::neon}) {
            auto const& core = named(on == &isa::neon ? "neoverse-n1" : on == &isa::avx2 ? "zen3" : "zen5");
            auto const k = kernel_of(64, 96, 128, *on);
            auto const made = cost::linear_cycles(ilp).of(k, *on, core, {}).value();
            // Nothing makes machine code for NEON.
            auto const from = on == &isa::neon ? cost::ilp_source::blocks : ilp;
            auto const counted = from == cost::ilp_source::blocks ? cost::time_of(k, core)
                                                                  : cost::scheduled_time_of(k, *on, core).value();
            CAPTURE(on->name, cost::to_string(ilp));
            CHECK(made.multiply_adds == counted.multiply_adds);
            CHECK(made.compute == counted.compute);
            auto const& score = cost::linear_score_of(*on, from).score;
            auto const cycles = score.cycles(cost::features_of(counted, core));
            CHECK(made.seconds == Approx(cycles / (core.gigahertz * 1e9)));
            CHECK(made.seconds > 0.5 * counted.seconds);
            CHECK(made.seconds < 2 * counted.seconds);
            auto twice = score;
            for (auto& c : twice.coefficients) c *= 2;
            CHECK(cost::linear_time_of(counted, core, twice).seconds == Approx(2 * made.seconds));
        }
}

TEST_CASE("a cost model that takes the linear score is another one") {
    auto const machine = parse_target("x86-64-avx512,threads=1").value();
    auto const counted = cost::lowered::on(machine, {.threads = 1});
    auto const linear = cost::lowered::on(machine, {.threads = 1, .model = cost::linear_cycles()});
    auto const blocks =
        cost::lowered::on(machine, {.threads = 1, .model = cost::linear_cycles(cost::ilp_source::blocks)});
    CHECK(counted.parameters() != linear.parameters());
    CHECK(blocks.parameters() != linear.parameters());
}

} // namespace linear_score_test
