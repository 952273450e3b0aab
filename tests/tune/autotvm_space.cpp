#include "tuned_network.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/tune/autotvm_space.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace autotvm_space_test {

using namespace gsub;
using namespace gsub::tune;
using Catch::Matchers::Contains;
using kernels::conv2d_shape;
using kernels::matmul_shape;

conv2d_shape conv(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t kernel, std::int64_t stride = 1) {
    conv2d_shape s;
    auto const pad = kernel / 2;
    s.in_channels = in, s.out_channels = out, s.in = {size, size}, s.kernel = {kernel, kernel};
    s.stride = {stride, stride}, s.pads = {pad, pad, pad, pad};
    return s;
}
conv2d_shape depthwise(std::int64_t channels, std::int64_t size) {
    auto s = conv(channels, channels, size, 3);
    s.groups = channels;
    return s;
}
matmul_shape product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 0) {
    matmul_shape s;
    s.m = m, s.n = n, s.k = k;
    if (batch > 0) s.constant = false, s.batch = {batch};
    return s;
}
autotvm_space only(kernels::descriptor const& d, autotvm_template t, isa const& isa = isa::avx512) {
    for (auto& s : autotvm_space::of(d, isa))
        if (s.what() == t) return s;
    FAIL("there is no such template");
    throw; // not reached
}

// Random kernels that AutoTVM has templates for, small enough to go through all points.
kernels::descriptor random_kernel(random_stream& r) {
    auto const pick = [&](std::vector<std::int64_t> const& of) { return of[r.below(of.size())]; };
    auto const channels = [&] { return pick({3, 8, 16, 24, 32, 48, 64, 96}); };
    auto const size = pick({1, 4, 7, 8, 14, 28});
    switch (r.below(4)) {
    case 0:
        return depthwise(pick({8, 16, 32, 48, 64}), size);
    case 1: {
        auto const in = channels(), out = channels(), kernel = pick({1, 3, 5}); // one after the other
        auto s = conv(in, out, size, kernel, pick({1, 2}));
        if (s.in_channels == 3 && r.below(2)) s.input = kernels::image_layout::planar;
        return s;
    }
    case 2: {
        auto const m = pick({1, 4, 12, 16}), n = pick({16, 48, 64, 100});
        return product(m, n, pick({8, 24, 64}));
    }
    default: {
        auto const m = pick({8, 12, 20}), n = pick({16, 32, 64}), k = pick({8, 64});
        return product(m, n, k, pick({1, 4}));
    }
    }
}
// All points of a space, or some of a large one.
std::vector<std::uint64_t> points_of(loop::config_space const& space, std::uint64_t most, random_stream& r) {
    std::set<std::uint64_t> out;
    if (space.size() <= most)
        for (std::uint64_t i = 0; i < space.size(); ++i) out.insert(i);
    else
        while (out.size() < most) out.insert(r.below(space.size()));
    return {out.begin(), out.end()};
}
// What the tiles of a point are, in AutoTVM's words and by ours: pixels or rows, channels or columns, steps.
using tiles = std::vector<std::int64_t>;
tiles tiles_of(autotvm_space const& s, loop::configuration const& p) {
    if (p.space().knobs()[0].name == "tile_y") return {p.last("tile_y"), p.last("tile_x"), p.last("tile_k")};
    auto const rows = s.space().knobs()[3].name == "tile_oh" ? p.choice("tile_oh").number() : 1;
    return {rows * p.last("tile_ow"), p.last("tile_oc"), p.last("tile_ic")};
}
tiles our_tiles(kernels::descriptor const& d, loop::configuration const& c, isa const& isa) {
    if (std::holds_alternative<matmul_shape>(d)) {
        auto const t = kernels::matmul_knobs(c);
        return {t.tile_m, t.tile_n * isa.lanes(), t.unroll_k};
    }
    auto const t = kernels::conv2d_knobs(c);
    auto const channels = std::get<conv2d_shape>(d).groups > 1 ? isa.lanes() : t.unroll_ic;
    return {t.tile_ow * t.tile_oh, t.tile_oc * isa.lanes(), channels};
}
bool is_plain(kernels::descriptor const& d, loop::configuration const& c) {
    if (std::holds_alternative<matmul_shape>(d)) return kernels::matmul_knobs(c).tile_k == 0;
    auto const t = kernels::conv2d_knobs(c);
    return t.tile_ic == 0 && !t.oc_inner && !t.unroll_kh;
}
record record_at(autotvm_space const& s, loop::configuration const& p, double cost,
                 std::string target = "llvm -keys=cpu") {
    record r;
    r.target = std::move(target), r.task = s.task().task, r.args = s.task().args;
    r.index = p.index(), r.entity = entity_of(p), r.costs = {cost};
    return r;
}

TEST_CASE("spaces have the sizes of AutoTVM's") {
    using enum autotvm_template;
    auto const size = [](kernels::descriptor const& d, autotvm_template t) { return only(d, t).space().size(); };
    CHECK(size(conv(64, 64, 56, 3), conv2d) == 980);
    CHECK(size(conv(128, 128, 28, 3), conv2d) == 1024);
    CHECK(size(conv(256, 256, 14, 3), conv2d) == 972);
    CHECK(size(conv(512, 512, 7, 3), conv2d) == 800);
    CHECK(size(conv(64, 256, 56, 1), conv2d) == 1260);
    CHECK(size(conv(256, 1024, 14, 1), conv2d) == 1188);
    CHECK(size(conv(512, 2048, 7, 1), conv2d) == 960);
    CHECK(size(conv(3, 64, 224, 7, 2), conv2d) == 308);
    CHECK(size(autotvm_space_test::depthwise(144, 56), depthwise) == 3600);
    CHECK(size(autotvm_space_test::depthwise(384, 14), depthwise) == 2048);
    CHECK(size(autotvm_space_test::depthwise(960, 7), depthwise) == 3136);
    CHECK(size(product(128, 768, 768), dense_nopack) == 2592);
    CHECK(size(product(128, 3072, 768), dense_nopack) == 3168);
    CHECK(size(product(128, 768, 768), dense_pack) == 437'400);
    CHECK(size(product(128, 3072, 768), dense_pack) == 641'520);
    CHECK(size(product(128, 768, 3072), dense_pack) == 534'600);
    CHECK(size(product(128, 128, 64, 12), batch_matmul) == 448);
}

TEST_CASE("tasks have the names and arguments of AutoTVM's logs") {
    auto const key = [](kernels::descriptor const& d, autotvm_template t) {
        auto const s = only(d, t);
        return task_key(s.task().task, s.task().args);
    };
    CHECK_THAT(key(conv(64, 128, 56, 3, 2), autotvm_template::conv2d),
               Contains("conv2d_NCHWc.x86") && Contains(R"(["TENSOR", [1, 64, 56, 56], "float32"])") &&
                   Contains(R"(["TENSOR", [128, 64, 3, 3], "float32"], [2, 2], [1, 1, 1, 1], [1, 1], "NCHW", "NCHW")"));
    CHECK_THAT(key(depthwise(32, 14), autotvm_template::depthwise),
               Contains("depthwise_conv2d_NCHWc.x86") && Contains(R"(["TENSOR", [32, 1, 3, 3], "float32"])"));
    CHECK_THAT(key(product(1, 1000, 512), autotvm_template::dense_pack),
               Contains(R"(["TENSOR", [1000, 512], "float32"], null, "float32")"));
    CHECK_THAT(key(product(128, 64, 32, 12), autotvm_template::batch_matmul),
               Contains(R"(["TENSOR", [12, 64, 32], "float32"], [12, 128, 64], "float32", 0, 1)"));
}

TEST_CASE("kernels that AutoTVM has no template for have no space") {
    auto grouped = conv(64, 64, 14, 3);
    grouped.groups = 4;
    auto volume = conv(16, 16, 8, 3);
    volume.depth.in = 8, volume.depth.kernel = 3;
    auto bytes = product(8, 8, 8);
    bytes.a.element = dtype::i8;
    auto several = product(8, 16, 8);
    several.batch = {4};
    for (auto const& d :
         std::vector<kernels::descriptor>{grouped, volume, bytes, several, kernels::winograd_shape{conv(64, 64, 14, 3)},
                                          kernels::pool2d_shape{}, kernels::elementwise_shape{}})
        CHECK(autotvm_space::of(d, isa::avx512).empty());
}

TEST_CASE("tiles of a row and inner tiles are limited as AutoTVM filters them") {
    auto const wide = only(conv(16, 16, 224, 3), autotvm_template::conv2d);
    auto const narrow = only(depthwise(16, 224), autotvm_template::depthwise);
    std::set<std::int64_t> rows, exact;
    for (std::uint64_t i = 0; i < wide.space().size(); ++i) rows.insert(wide.space().at(i).last("tile_ow"));
    for (std::uint64_t i = 0; i < narrow.space().size(); ++i) exact.insert(narrow.space().at(i).last("tile_ow"));
    CHECK(rows == std::set<std::int64_t>{1, 2, 4, 7, 8, 14, 16, 28, 32, 56, 64}); // powers of two leave tails
    CHECK(exact == std::set<std::int64_t>{1, 2, 4, 7, 8, 14, 16, 28, 32, 56});
    auto const packed = only(product(64, 16, 4), autotvm_template::dense_pack);
    std::set<std::int64_t> inner;
    for (std::uint64_t i = 0; i < packed.space().size(); ++i) inner.insert(packed.space().at(i).last("tile_inner"));
    CHECK(inner == std::set<std::int64_t>{1, 2, 4, 8, 16});
}

TEST_CASE("points and configurations of equal tiles belong to each other, one to one") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        random_stream r{seed};
        auto const d = random_kernel(r);
        auto const& isa = *std::vector{&isa::avx512, &isa::avx2}[r.below(2)];
        auto const ours = kernels::space_of(d, isa);
        for (auto const& s : autotvm_space::of(d, isa)) {
            CAPTURE(seed, s.task().task);
            std::map<std::uint64_t, std::uint64_t> points; // by configurations
            for (auto const i : points_of(s.space(), 400, r)) {
                auto const p = s.space().at(i);
                auto const c = s.ours(p, ours);
                if (!c) continue;
                CAPTURE(to_string(p), to_string(*c));
                CHECK(ours.allows(*c));
                CHECK(is_plain(d, *c));
                CHECK(our_tiles(d, *c, isa) == tiles_of(s, p));
                CHECK(points.emplace(c->index(), i).second);
                auto const back = s.theirs(*c);
                REQUIRE(back);
                CHECK(*back == p);
            }
            for (int i = 0; i < 40; ++i) {
                auto const c = ours.at(*ours.draw(r));
                if (auto const p = s.theirs(c)) CHECK(s.ours(*p, ours) == c);
            }
        }
    }
}

TEST_CASE("where a turn has a fixed number of channels, points of others have no configuration") {
    for (auto const* isa : {&isa::avx512, &isa::avx2})
        for (std::int64_t kernel : {1, 3})
            for (std::int64_t channels : {1, 2, 3, 4, 8}) {
                CAPTURE(isa->name, kernel, channels);
                auto const d = conv(channels, 16, 4, kernel);
                auto const s = only(d, autotvm_template::conv2d, *isa);
                auto const ours = kernels::space_of(d, *isa);
                for (std::uint64_t i = 0; i < s.space().size(); ++i)
                    if (auto const p = s.space().at(i); auto const c = s.ours(p, ours)) {
                        CHECK(our_tiles(d, *c, *isa) == tiles_of(s, p));
                        CHECK(s.theirs(*c) == p);
                    }
            }
}

TEST_CASE("a point has a configuration where one of all in the space has its tiles") {
    for (auto const& d : std::vector<kernels::descriptor>{conv(16, 64, 7, 3), conv(64, 48, 8, 3, 2), depthwise(32, 14),
                                                          product(12, 64, 24), product(12, 64, 24, 4)}) {
        auto const ours = kernels::space_of(d, isa::avx512);
        std::set<tiles> known; // of rows that are not cut otherwise
        for (std::uint64_t i = 0; i < ours.size(); ++i) {
            auto const c = ours.at(i);
            auto const* const s = std::get_if<conv2d_shape>(&d);
            if (ours.allows(c) && is_plain(d, c) && (!s || kernels::conv2d_knobs(c).tile_oh == 1))
                known.insert(our_tiles(d, c, isa::avx512));
        }
        for (auto const& s : autotvm_space::of(d, isa::avx512)) {
            if (s.what() == autotvm_template::dense_pack) continue; // of two levels
            std::size_t mapped = 0;
            for (std::uint64_t i = 0; i < s.space().size(); ++i) {
                auto const p = s.space().at(i);
                auto const whole = p.space().knobs()[0].name == "tile_y" || p.choice("unroll_kw").number() != 0;
                CAPTURE(s.task().task, to_string(p));
                auto const found = s.ours(p, ours).has_value();
                CHECK(found == (whole && known.contains(tiles_of(s, p))));
                mapped += found;
            }
            CHECK(mapped > 0);
        }
    }
}

TEST_CASE("two whole rows are a tile of joined rows, and rows apart have tiles of two") {
    auto const joined = conv(64, 64, 7, 1), apart = conv(64, 64, 14, 1, 2);
    auto const set = [](kernels::descriptor const& d, std::int64_t row, int rows) {
        auto const s = only(d, autotvm_template::conv2d);
        auto p = s.space().at(0);
        p.set("tile_ic", {-1, 16}), p.set("tile_oc", {-1, 16}), p.set("tile_ow", {-1, row}), p.set("tile_oh", rows);
        auto const ours = kernels::space_of(d, isa::avx512);
        auto const c = s.ours(p, ours);
        return c ? std::optional{kernels::conv2d_knobs(*c)} : std::nullopt;
    };
    auto const two = set(joined, 7, 2);
    REQUIRE(two);
    CHECK(two->tile_ow == 14);
    CHECK_FALSE(set(joined, 4, 2));
    auto const both = set(apart, 7, 2);
    REQUIRE(both);
    CHECK(both->tile_oh == 2);
    CHECK(both->tile_ow == 7);
}

TEST_CASE("the cheapest record of AutoTVM that our template has a kernel for schedules it") {
    auto const d = conv(64, 64, 14, 3);
    auto const s = only(d, autotvm_template::conv2d);
    auto const ours = kernels::space_of(d, isa::avx512);
    auto const point = [&](std::int64_t in, std::int64_t out, std::int64_t row) {
        auto p = s.space().at(0);
        p.set("tile_ic", {-1, in}), p.set("tile_oc", {-1, out}), p.set("tile_ow", {-1, row});
        return p;
    };
    database records;
    records.add(record_at(s, point(16, 32, 7), 3e-5));
    records.add(record_at(s, point(16, 16, 14), 2e-5));
    records.add(record_at(s, point(16, 4, 7), 1e-5)); // narrower than a vector
    records.add(record_at(s, point(16, 32, 14), 1e-5, "llvm -mcpu=other"));
    auto const found = recorded_by_autotvm(records, "llvm -keys=cpu", d, isa::avx512, ours);
    REQUIRE(found);
    auto const c = kernels::conv2d_knobs(*found);
    CHECK(c.tile_ow == 14);
    CHECK(c.tile_oc == 1);
    CHECK(c.unroll_ic == 8); // 16 would be too long a text
    CHECK_FALSE(recorded_by_autotvm(records, "llvm -mcpu=another", d, isa::avx512, ours));
    CHECK_FALSE(recorded_by_autotvm(records, "llvm -keys=cpu", conv(64, 64, 7, 3), isa::avx512, ours));

    // Numbers of TVM's own order are not looked at; all else that is read of a log is checked.
    auto one = parse_record(to_string(record_at(s, point(8, 32, 7), 3e-5))).value();
    one.index += 1;
    CHECK(s.recorded(one, ours).value() == *s.ours(point(8, 32, 7), ours));
    CHECK_THAT(s.recorded(record_at(s, point(16, 4, 7), 1), ours).error().message(), Contains("no kernel of ours"));
    CHECK_THAT(only(conv(64, 64, 7, 3), autotvm_template::conv2d).recorded(one, ours).error().message(),
               Contains("the record measures"));
    one.entity.pop_back();
    CHECK_THAT(s.recorded(one, ours).error().message(), Contains("unroll_kw"));
}

TEST_CASE("a log of AutoTVM schedules a network") {
    lowering_options options;
    options.winograd.accuracy = kernels::winograd_accuracy::off;
    auto const counted = tuned_network::stages(tuned_network::network(), isa::avx512, options).back();
    conv2d_shape what;
    loop::configuration const* before = nullptr;
    for (auto const& op : counted.ops)
        if (auto const* const d = std::get_if<kernels::descriptor>(&op.computes))
            if (auto const* const c = std::get_if<conv2d_shape>(d); c && c->groups == 1)
                what = *c, before = &*op.schedule;
    REQUIRE(before);
    auto const s = only(what, autotvm_template::conv2d);
    auto p = s.space().at(0);
    p.set("tile_ic", {-1, 4}), p.set("tile_oc", {-1, 32}), p.set("tile_ow", {-1, 2});
    database records;
    records.add(record_at(s, p, 1e-5, "llvm -mcpu=skylake-avx512"));
    auto const from_tvm = [&](kernels::descriptor const& d, isa const& on, loop::config_space const& space) {
        auto found = tune::recorded_by_autotvm(records, "llvm -mcpu=skylake-avx512", d, on, space);
        return found ? *found : counting_heuristic{}.choose(d, on, space);
    };
    options.schedules = schedule_function{from_tvm};
    std::size_t scheduled = 0;
    auto const made = lower_graph(tuned_network::network(), tuned_network::evaluators, isa::avx512, options).value();
    for (auto const& op : made.ops)
        if (op.schedule && std::holds_alternative<conv2d_shape>(std::get<kernels::descriptor>(op.computes)) &&
            s.theirs(*op.schedule) == p)
            ++scheduled;
    CHECK(scheduled >= 1);
    CHECK_FALSE(s.theirs(*before) == p);
}

TEST_CASE("the nearest configuration is that of the point, or keeps its tile of results") {
    for (std::uint64_t seed = 100; seed < 130; ++seed) {
        random_stream r{seed};
        auto const d = random_kernel(r);
        auto const ours = kernels::space_of(d, isa::avx512);
        for (auto const& s : autotvm_space::of(d, isa::avx512))
            for (auto const i : points_of(s.space(), 100, r)) {
                auto const p = s.space().at(i);
                CAPTURE(seed, s.task().task, to_string(p));
                auto const exactly = s.ours(p, ours), near = s.nearest(p, ours);
                if (exactly) CHECK(near == exactly);
                if (!near) continue;
                auto const want = tiles_of(s, p), have = our_tiles(d, *near, isa::avx512);
                CHECK(have[0] == want[0]);
                CHECK(have[1] == want[1]);
                CHECK(ours.allows(*near));
                if (s.what() != autotvm_template::depthwise) CHECK(have[2] <= want[2]);
            }
    }
}

} // namespace autotvm_space_test
