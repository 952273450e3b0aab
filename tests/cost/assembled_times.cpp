#include "catch.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/cost/assembled_times.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/models/catalogue.hpp>

#include <memory>
#include <string>
#include <vector>

namespace assembled_times_test {

using namespace gsub;

codegen::kernel product(std::int64_t m, isa const& isa) {
    kernels::matmul_shape s;
    s.m = m, s.n = 32, s.k = 24;
    kernels::descriptor const d = s;
    return codegen::lower(kernels::nest_of(d, kernels::counted(d, isa, kernels::space_of(d, isa)), isa), "k").value();
}
// Machines whose compilers are here.
std::vector<target> machines() {
    std::vector<target> out;
    for (auto const* text : {"x86-64-avx2,cpu=zen3", "aarch64-neon,cpu=neoverse-n1"}) {
        auto const t = parse_target(text).value();
        if (runtime::find_compiler_for(*t.isa))
            out.push_back(t);
        else
            WARN("no compiler for " << text);
    }
    return out;
}

TEST_CASE("a kernel has the same time alone and among others, in any number of threads") {
    for (auto const& machine : machines()) {
        auto const& isa = *machine.isa;
        auto const& core = microarchitecture_of(machine);
        auto const with = runtime::find_compiler_for(isa).value();
        std::vector<codegen::kernel> all;
        for (std::int64_t m : {1, 3, 12, 3}) all.push_back(product(m, isa));
        cost::assembled_times alone{with};
        std::vector<double> seconds;
        for (auto const& k : all) seconds.push_back(alone.time_of(k, isa, core, {}).value().seconds);
        CHECK(alone.statistics().runs == 4);
        for (auto const threads : {std::size_t{1}, std::size_t{3}}) {
            cost::assembled_times together{with};
            fork_join_executor executor{threads};
            together.prepare(all, isa, executor);
            together.prepare(all, isa, executor); // they are here
            CHECK(together.statistics().runs == (threads == 1 ? 1 : 3));
            for (std::size_t i = 0; i < 3; ++i)
                CHECK(together.time_of(all[i], isa, core, {}).value().seconds == seconds[i]);
            auto const told = together.statistics();
            CHECK(told.predicted == 3);
            CHECK(told.refused == 0);
            CHECK(told.unknown == 0);
            CHECK(told.runs == (threads == 1 ? 1 : 3));
        }
        CHECK(seconds[0] < seconds[1]);
        CHECK(seconds[1] == seconds[3]);
        CHECK(seconds[1] < seconds[2]);
    }
}

TEST_CASE("what a compiler does not make is counted by the counted model, and told") {
    auto const machine = parse_target("aarch64-neon,cpu=neoverse-n1").value();
    auto const& core = microarchitecture_of(machine);
    auto const broken = std::make_shared<cost::assembled_times>(runtime::compiler{"/bin/false", "none\naarch64"});
    auto const k = product(3, isa::neon);
    inline_executor here;
    broken->prepare(std::vector{k, product(5, isa::neon)}, isa::neon, here);
    auto const made = broken->time_of(k, isa::neon, core, {});
    REQUIRE_FALSE(made);
    CHECK(made.error().code() == error_code::unsupported);
    CHECK(broken->statistics().refused == 1);
    REQUIRE(broken->statistics().notes.size() == 1);
    CHECK(broken->statistics().notes[0].find("/bin/false") != std::string::npos);

    auto const g = models::find_model("t4")->build(1);
    auto const assembled = cost::lowered::of(g, machine, {.model = cost::assembled_cycles(broken)});
    auto const counted = cost::lowered::of(g, machine);
    CHECK(assembled(g).amount == counted(g).amount);
    CHECK(assembled.not_modelled() > 0);
    CHECK(assembled.parameters() != counted.parameters());
}

TEST_CASE("a network's kernels are predicted by their assembly") {
    for (auto const& machine : machines()) {
        auto const source = std::make_shared<cost::assembled_times>(runtime::find_compiler_for(*machine.isa).value());
        auto const g = models::find_model("t4")->build(1);
        auto const assembled = cost::lowered::of(g, machine, {.model = cost::assembled_cycles(source)});
        auto const ratio = assembled(g).amount / cost::lowered::of(g, machine)(g).amount;
        CHECK(ratio > 0.4);
        CHECK(ratio < 2.5);
        CHECK(source->statistics().predicted > 0);
        CHECK(assembled.not_modelled() == source->statistics().refused);
    }
}

} // namespace assembled_times_test
