#include "catch.hpp"
#include <gsub/kernels/register_tile.hpp>

#include <algorithm>
#include <cstdlib>

namespace register_tile_test {

using namespace gsub;
using kernels::best_tile;
using kernels::register_tile;
using kernels::step_cycles;

constexpr isa const* every_set[] = {&isa::avx512, &isa::avx2, &isa::sse42, &isa::neon, &isa::baseline};

TEST_CASE("a larger tile takes no fewer cycles a step, and no more for each product") {
    for (auto const* isa : every_set)
        for (std::int32_t p = 1; p <= 28; ++p)
            for (std::int32_t v = 1; v <= 8; ++v) {
                CHECK(step_cycles({p + 1, v}, *isa) >= step_cycles({p, v}, *isa));
                CHECK(step_cycles({p, v + 1}, *isa) >= step_cycles({p, v}, *isa));
                CHECK(step_cycles({p + 1, v}, *isa) / (p + 1) <= step_cycles({p, v}, *isa) / p);
                CHECK(step_cycles({p, v + 1}, *isa) / (v + 1) <= step_cycles({p, v}, *isa) / v);
            }
}

TEST_CASE("a step takes its multiplications, its loads or the latency of its accumulators, whichever is most") {
    CHECK(step_cycles({14, 2}, isa::avx512) == 14);
    CHECK(step_cycles({28, 1}, isa::avx512) == 14.5);
    CHECK(step_cycles({1, 1}, isa::avx512) == 4);
    CHECK(step_cycles({4, 3}, isa::baseline) == 12);
}

TEST_CASE("the best tile fits what is computed and the registers") {
    for (auto const* isa : every_set)
        for (std::int64_t positions = 1; positions <= 70; ++positions)
            for (std::int64_t vectors = 1; vectors <= 9; ++vectors)
                for (std::int32_t widest : {1, 4, 8, -4}) {
                    auto const stay = widest < 0;
                    widest = std::abs(widest);
                    auto const t = best_tile(positions, vectors, *isa, {.max_vectors = widest, .scalars_stay = stay});
                    auto const fits = t.pixels >= 1 && t.pixels <= positions && t.vectors >= 1 &&
                                      t.vectors <= std::min<std::int64_t>(widest, vectors) &&
                                      t.pixels * t.vectors + t.vectors + (stay ? t.pixels : 1) <= isa->registers;
                    if (fits) continue;
                    CAPTURE(isa->name, positions, vectors, widest, stay, t.pixels, t.vectors);
                    FAIL_CHECK("the tile does not fit");
                }
    SUCCEED();
}

// Cycles of a step over all tiles of a size, tails included.
double all_cycles(std::int64_t positions, std::int64_t vectors, register_tile t, isa const& isa) {
    double sum = 0;
    for (std::int64_t v = 0; v < vectors; v += t.vectors)
        for (std::int64_t p = 0; p < positions; p += t.pixels)
            sum += step_cycles({static_cast<std::int32_t>(std::min<std::int64_t>(t.pixels, positions - p)),
                                static_cast<std::int32_t>(std::min<std::int64_t>(t.vectors, vectors - v))},
                               isa);
    return sum;
}

TEST_CASE("no other tile that fits takes markedly fewer cycles") {
    for (auto const* isa : every_set)
        for (std::int64_t positions : {1, 2, 7, 13, 14, 28, 49, 56, 61})
            for (std::int64_t vectors : {1, 2, 3, 4, 5, 8}) {
                CAPTURE(isa->name, positions, vectors);
                auto const best = all_cycles(positions, vectors, best_tile(positions, vectors, *isa), *isa);
                auto least = best;
                for (std::int32_t p = 1; p <= std::min<std::int64_t>(positions, 28); ++p)
                    for (std::int32_t v = 1; v <= std::min<std::int64_t>(vectors, 4); ++v)
                        if (p * v + v + 1 <= isa->registers)
                            least = std::min(least, all_cycles(positions, vectors, {p, v}, *isa));
                CHECK(best <= least * 1.02); // entering and leaving a tile counts a little
            }
}

TEST_CASE("more work takes no fewer cycles") {
    for (auto const* isa : every_set) {
        auto const cycles = [&](std::int64_t positions, std::int64_t vectors) {
            return all_cycles(positions, vectors, best_tile(positions, vectors, *isa), *isa);
        };
        for (std::int64_t positions = 1; positions < 40; ++positions)
            for (std::int64_t vectors = 1; vectors < 6; ++vectors) {
                CAPTURE(isa->name, positions, vectors);
                CHECK(cycles(positions + 1, vectors) >= cycles(positions, vectors) * 0.98);
                CHECK(cycles(positions, vectors + 1) >= cycles(positions, vectors) * 0.98);
            }
    }
}

} // namespace register_tile_test
