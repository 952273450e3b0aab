#include "catch.hpp"
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/search/evolution_search.hpp>
#include <gsub/search/exhaustive_search.hpp>
#include <gsub/search/minimize.hpp>
#include <gsub/search/simulated_annealing.hpp>
#include <gsub/tune/configuration_space.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace configuration_space_test {

using namespace gsub;
using tune::configuration_space;
static_assert(search::enumerable_space<configuration_space> && search::local_space<configuration_space>);

loop::config_space random_space(random_stream& r) {
    loop::config_space s;
    s.split("a", static_cast<std::int64_t>(1 + r.below(64)), {.parts = 2 + r.below(3)});
    s.split("b", static_cast<std::int64_t>(1 + r.below(40)), {.policy = loop::split_policy::verbose});
    s.choice("n", {0, 512, 16});
    s.choice("flag", {true, false});
    s.choice("word", {"none", "vec", "unroll", "both"});
    s.choice("one", {7});
    return s;
}

TEST_CASE("coordinates of a configuration lead back to it, and any coordinates to a configuration") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        auto const space = random_space(r);
        configuration_space const s{space};
        for (auto n = 0; n < 20; ++n) {
            auto const p = s.draw(r);
            CAPTURE(to_string(p));
            auto const x = s.encode(p);
            REQUIRE(x.size() == s.dimensions());
            for (auto const c : x) CHECK((c >= -0.5 && c <= 0.5));
            CHECK(s.decode(x) == p);
            auto const near = s.neighbour(p, r);
            auto differing = 0;
            for (std::size_t k = 0; k < near.digits().size(); ++k) differing += near.digits()[k] != p.digits()[k];
            CHECK(differing == 1);
        }
        std::vector<double> far(s.dimensions());
        for (auto& c : far) c = r.uniform(-9, 9);
        CHECK(s.decode(far).index() < s.size());
    }
}

TEST_CASE("a step along a coordinate changes the logarithm of a factor, the rank of a number, or the word") {
    loop::config_space space;
    space.split("tile", 64);
    space.choice("unroll", {16, 0, 4});
    space.choice("way", {"a", "b", "c"});
    configuration_space const s{space};
    REQUIRE(s.dimensions() == 5);
    auto const at = [&](double tile, double unroll, double b) {
        return to_string(s.decode(std::vector<double>{tile, unroll, 0, b, -1}));
    };
    CHECK(at(-0.5, -0.5, 1) == "tile=[-1,1] unroll=0 way=b");
    CHECK(at(0, 0, -1) == "tile=[-1,8] unroll=4 way=a");
    CHECK(at(0.5, 0.5, 1) == "tile=[-1,64] unroll=16 way=b");
    CHECK(at(1.0 / 6 + 0.01, 7, -1) == "tile=[-1,16] unroll=16 way=a");
}

TEST_CASE("an evolution search finds the best of a kernel's space under its restrictions") {
    auto const d = kernels::parse_descriptor("matmul{m=128 n=768 k=768 bias=true}");
    REQUIRE(d);
    auto const over = kernels::space_of(*d, isa::avx512);
    configuration_space const s{over};
    // Rewards large tiles, with a term that makes the least unique.
    auto const score = [&](loop::configuration const& c) {
        if (!over.allows(c)) return std::numeric_limits<double>::infinity();
        double sum = 1e-6 * static_cast<double>(c.index()) / static_cast<double>(over.size());
        for (auto const x : s.encode(c)) sum += (x - 0.3) * (x - 0.3);
        return sum;
    };
    auto const all = search::minimize(search::exhaustive_search{s}, score);
    REQUIRE(!all.best.empty());
    std::optional const start{over.at(0)};
    auto const found = search::minimize(search::evolution_search{s, {}, start}, score, {.budget = {600}});
    CHECK(found.score() <= all.score() + 0.02);
    CHECK(search::minimize(search::simulated_annealing{s, {}, start}, score, {.budget = {600}}).score() <=
          all.score() + 0.05);
}

} // namespace configuration_space_test
