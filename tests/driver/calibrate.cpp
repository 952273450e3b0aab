#include "catch.hpp"
#include <gsub/cost/measured.hpp>
#include <gsub/driver/calibrate.hpp>
#include <gsub/driver/measured_kernels.hpp>
#include <gsub/ir/builder.hpp>

#include <cmath>
#include <set>
#include <string>

namespace calibrate_test {

using namespace gsub;

build_options without_cache() {
    build_options building;
    building.jit.use_cache = false;
    return building;
}
result<calibration> quick(executor* threads = nullptr, build_options building = without_cache()) {
    return calibrate(dialect::of<standard_ops>(), table_of<eval_row, standard_ops>(),
                     {.least_runs = 3, .least_seconds = 0, .threads = threads}, std::move(building));
}

} // namespace calibrate_test

TEST_CASE("a calibration gives rates that are rates, each of a probe that it names") {
    using namespace calibrate_test;
    fork_join_executor two{2};
    for (auto* threads : {static_cast<executor*>(nullptr), static_cast<executor*>(&two)}) {
        auto const found = quick(threads).value();
        for (auto rate : {found.rates.launch, found.rates.flop_per_second, found.rates.bytes_per_second}) {
            CHECK(rate > 0);
            CHECK(std::isfinite(rate));
        }
        // A computer of this century: a wrong unit is far outside.
        CHECK(found.rates.launch < 0.1);
        CHECK(found.rates.flop_per_second > 1e6);
        CHECK(found.rates.bytes_per_second > 1e6);
        CHECK(found.machine == calibration_key(host(), threads ? 2 : 1, isa_of(host())));
        std::set<std::string_view> units;
        for (auto const& p : found.probes) {
            CHECK(p.seconds > 0);
            CHECK(p.amount > 0);
            CHECK_FALSE(p.name.empty());
            if (p.unit == "steps") CHECK(p.amount >= 64); // a step a product: none is computed in another's kernel
            units.insert(p.unit);
        }
        CHECK(units.size() == (threads ? 4 : 3));
        CHECK(found.rates.splits == cost::split_lowering::view);
    }
}

TEST_CASE("rates of other threads and instruction sets stand under keys of their own") {
    using namespace calibrate_test;
    target machine = host();
    std::set<std::string> keys{calibration_key(machine, 1, isa::avx2), calibration_key(machine, 2, isa::avx2),
                               calibration_key(machine, 1, isa::baseline)};
    machine.l2_bytes += 1;
    keys.insert(calibration_key(machine, 1, isa::avx2));
    CHECK(keys.size() == 4);
    CHECK(calibration_key(machine, 1, isa::avx2) == calibration_key(machine, 1, isa::avx2));
}

TEST_CASE("what cannot be timed as a kernel is costed by the rates of the profile, where it has those of this target") {
    using namespace calibrate_test;
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {dim{symbol{"n"}}, 6}, "x");
    b.outputs({b.add<ops::relu>(x)});
    auto const cost = [&](std::string const& key) {
        cost::profile known;
        known.add_rates(key, {.launch = 1, .flop_per_second = 1, .bytes_per_second = 1});
        return measured_kernels::over<standard_ops>(std::move(known), {}, without_cache()).value()(g).amount;
    };
    auto const& isa = isa_of(host());
    CHECK(cost(calibration_key(host(), 1, isa)) ==
          cost::roofline{.launch = 1, .flop_per_second = 1, .bytes_per_second = 1}(g).amount);
    CHECK(cost(calibration_key(host(), 2, isa)) == cost::roofline{}(g).amount);
}

TEST_CASE("without a compiler there is nothing to calibrate with") {
    using namespace calibrate_test;
    auto building = without_cache();
    building.compiler = "no-such-compiler";
    auto const found = quick(nullptr, building);
    REQUIRE_FALSE(found);
    CHECK(found.error().id() == errors::compiler_failed);
}

TEST_CASE("kernels that cannot be built give no rates") {
    using namespace calibrate_test;
    auto building = without_cache();
    building.emitter = [](codegen::kernel const&, isa const&) -> result<runtime::loaded_kernel> {
        return error{error_code::internal, "no kernel"};
    };
    auto const found = quick(nullptr, building);
    REQUIRE_FALSE(found);
    CHECK(found.error().id() == errors::calibration_failed);
}
