#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/machine/occupancy.hpp>

namespace occupancy_test {

using namespace gsub;
using namespace gsub::machine;
using limit = occupancy_limit;

gpu_architecture const& sm(std::string_view name) {
    return *find_gpu_architecture(name);
}

TEST_CASE("occupancy is what the vendor's rules give by hand") {
    struct row {
        char const* name;
        block_resources block;
        std::int64_t blocks;
        limit by;
    };
    for (auto const& r : {
             row{"sm_80", {256, 32, 0}, 8, limit::warps},
             row{"sm_80", {256, 33, 0}, 6, limit::registers}, // 1280 a warp, 12 warps a scheduler
             row{"sm_80", {256, 128, 32768}, 2, limit::registers}, row{"sm_80", {128, 255, 0}, 2, limit::registers},
             row{"sm_80", {32, 16, 0}, 32, limit::blocks},
             row{"sm_80", {256, 32, 49152}, 3, limit::shared_memory}, // 50176 with the reserve
             row{"sm_80", {1024, 32, 163 << 10}, 1, limit::shared_memory},
             row{"sm_75", {256, 64, 16384}, 4, limit::warps}, row{"sm_75", {1024, 65, 0}, 0, limit::registers},
             row{"sm_86", {512, 40, 0}, 3, limit::warps}, row{"sm_90", {256, 168, 0}, 1, limit::registers},
             row{"sm_90", {384, 168, 220 << 10}, 1, limit::registers},
             row{"sm_90", {33, 0, 0}, 32, limit::warps}, // two warps each
         }) {
        CAPTURE(r.name, r.block.threads, r.block.registers, r.block.shared_bytes);
        auto const o = occupancy_of(sm(r.name), r.block);
        CHECK(o.blocks == r.blocks);
        CHECK(to_string(o.limit) == to_string(r.by));
        CHECK(o.warps == r.blocks * ((r.block.threads + 31) / 32));
    }
}

TEST_CASE("a block that asks for more than there is does not fit, by what it asks for") {
    for (auto const& a : gpu_architectures()) {
        CHECK(occupancy_of(a, {a.block_threads + 1, 0, 0}).blocks == 0);
        auto const registers = occupancy_of(a, {32, a.thread_registers + 1, 0});
        CHECK(registers.blocks == 0);
        CHECK(registers.limit == limit::registers);
        CHECK(occupancy_of(a, {32, a.thread_registers, 0}).blocks > 0);
        auto const shared = occupancy_of(a, {32, 0, a.block_shared_bytes + 1});
        CHECK(shared.blocks == 0);
        CHECK(shared.limit == limit::shared_memory);
        CHECK(occupancy_of(a, {32, 0, a.block_shared_bytes}).blocks == 1);
    }
}

TEST_CASE("occupancy never rises with what a block asks for, and resident blocks fit") {
    random_stream r{5};
    auto const below = [&](std::int32_t n) {
        return static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(n)));
    };
    for (int k = 0; k < 2000; ++k) {
        auto const& a = gpu_architectures()[r.below(gpu_architectures().size())];
        block_resources const b{1 + below(a.block_threads), below(a.thread_registers + 1),
                                below(a.block_shared_bytes + 1)};
        auto const o = occupancy_of(a, b);
        CAPTURE(a.name, b.threads, b.registers, b.shared_bytes);
        CHECK(o.share(a) <= 1);
        CHECK(o.blocks <= a.blocks);
        CHECK(o.warps * a.warp * b.registers <= a.registers);
        CHECK(o.blocks * (b.shared_bytes + a.shared_reserve) <= a.shared_bytes);
        for (auto more : {b, b, b}) {
            more.threads = std::min<std::int64_t>(more.threads + below(64), a.block_threads);
            more.registers = std::min<std::int64_t>(more.registers + below(16), a.thread_registers);
            more.shared_bytes = std::min<std::int64_t>(more.shared_bytes + below(4096), a.block_shared_bytes);
            CHECK(occupancy_of(a, more).blocks <= o.blocks);
        }
    }
}

TEST_CASE("a grid takes as many rounds as its blocks fill the device, and a share of the last one") {
    auto const& g = *find_gpu("a100");
    auto const o = occupancy_of(*g.architecture, {256, 128, 0}); // 2 blocks on each of 108
    REQUIRE(o.blocks == 2);
    for (auto const& [blocks, rounds] : {std::pair{1, 1}, {216, 1}, {217, 2}, {432, 2}, {433, 3}}) {
        auto const r = rounds_of(g, o, blocks);
        CHECK(r.rounds == rounds);
        CHECK(r.share == Approx(blocks / (216.0 * rounds)));
    }
    CHECK(rounds_of(g, o, 0).rounds == 0);
}

} // namespace occupancy_test
