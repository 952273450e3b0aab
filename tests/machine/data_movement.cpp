#include "catch.hpp"
#include "machine/tree_run.hpp"
#include <gsub/core/random.hpp>
#include <gsub/machine/data_movement.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace data_movement_test {

using namespace gsub;
using namespace gsub::machine;
using loop::affine;

affine of(loop::variable v, std::int64_t factor = 1) {
    return affine::of(v, factor);
}
std::int64_t between(random_stream& draw, std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(high - low + 1)));
}

// Listing 1 of the paper: two products, tiled and fused over i and j.
struct two_products {
    std::int64_t ni, nj, nk, nl, ti, tj;
    access_tree tree;
    std::int32_t it = 0, jt = 0, k = 0, l = 0;
    std::int32_t a, b, c, d, e;

    two_products(std::int64_t ni_, std::int64_t nj_, std::int64_t nk_, std::int64_t nl_, std::int64_t ti_,
                 std::int64_t tj_)
        : ni(ni_), nj(nj_), nk(nk_), nl(nl_), ti(ti_), tj(tj_) {
        a = tree.tensor("A", {ni, nk}), b = tree.tensor("B", {nk, nj}), c = tree.tensor("C", {ni, nj});
        d = tree.tensor("D", {nj, nl}), e = tree.tensor("E", {ni, nl});
        enum : loop::variable { v_it, v_jt, v_k, v_i1, v_j1, v_l, v_i2, v_j2 };
        it = tree.loop(0, v_it, ni / ti), jt = tree.loop(it, v_jt, nj / tj);
        k = tree.loop(jt, v_k, nk), l = tree.loop(jt, v_l, nl);
        auto const j1 = tree.loop(tree.loop(k, v_i1, ti), v_j1, tj);
        auto const j2 = tree.loop(tree.loop(l, v_i2, ti), v_j2, tj);
        auto const i_1 = of(v_it, ti) + of(v_i1), j_1 = of(v_jt, tj) + of(v_j1);
        auto const i_2 = of(v_it, ti) + of(v_i2), j_2 = of(v_jt, tj) + of(v_j2);
        tree.access(j1, a, access_kind::read, {i_1, of(v_k)});
        tree.access(j1, b, access_kind::read, {of(v_k), j_1});
        tree.access(j1, c, access_kind::update, {i_1, j_1});
        tree.access(j2, c, access_kind::read, {i_2, j_2});
        tree.access(j2, d, access_kind::read, {j_2, of(v_l)});
        tree.access(j2, e, access_kind::update, {i_2, of(v_l)});
    }
};

TEST_CASE("the paper's two fused products move what its section III.A.2 and figure 2 say, to the term") {
    std::int64_t const ni = 640, nj = 720, nk = 12, nl = 10, ti = 8, tj = 6;
    two_products const p{ni, nj, nk, nl, ti, tj};
    auto const term = [](std::int64_t x, std::int64_t y) { return static_cast<double>(x * y); };
    // Ti*Tj + Ti*Nl + Tj*Nl + Tj*Nk + Ti*Nk < S < Ni, Nj
    auto const one = term(ti, tj) + term(ti, nl) + term(tj, nl) + term(tj, nk) + term(ti, nk);
    double const s = 400;
    REQUIRE((one < s && s < static_cast<double>(std::min(ni, nj))));
    auto const m = faithful_movement(p.tree, s);
    auto const node = [&](std::int32_t n) -> auto const& {
        return m.nodes[static_cast<std::size_t>(n)];
    };
    auto const at = [&](std::int32_t n, std::int32_t t) { return node(n).tensors[static_cast<std::size_t>(t)]; };

    // Loops below jt: movement is footprint.
    CHECK(node(p.jt).iteration == one);
    CHECK(node(p.k).footprint == term(ti, nk) + term(nk, tj) + term(ti, tj));
    CHECK(node(p.l).footprint == term(ti, nl) + term(tj, nl) + term(ti, tj));
    for (std::size_t n = 0; n < m.nodes.size(); ++n)
        if (static_cast<std::int32_t>(n) > p.jt) CHECK(m.nodes[n].moved == m.nodes[n].footprint);

    // jt: Ti*Nj + Ti*Nl + Nj*Nl + Nj*Nk + Ti*Nk
    CHECK(at(p.jt, p.c).moved == term(ti, nj));
    CHECK(at(p.jt, p.e).moved == term(ti, nl));
    CHECK(at(p.jt, p.d).moved == term(nj, nl));
    CHECK(at(p.jt, p.b).moved == term(nj, nk));
    CHECK(at(p.jt, p.a).moved == term(ti, nk));
    auto const row = term(ti, nj) + term(ti, nl) + term(nj, nl) + term(nj, nk) + term(ti, nk);
    CHECK(node(p.jt).moved == row);
    CHECK(node(p.jt).moved == node(p.jt).footprint);

    // it: the same, times Ni / Ti, in each term.
    auto const times = static_cast<double>(ni / ti);
    for (auto const t : {p.a, p.b, p.c, p.d, p.e}) CHECK(at(p.it, t).moved == at(p.jt, t).moved * times);
    CHECK(node(p.it).moved == row * times);
    CHECK(m.total().moved == row * times);
    CHECK(m.total().footprint == term(ni, nk) + term(nk, nj) + term(ni, nj) + term(nj, nl) + term(ni, nl));
}

TEST_CASE("a cache that holds everything moves each element once, one that holds nothing all accesses") {
    two_products const p{16, 24, 5, 7, 4, 6};
    auto const all = faithful_movement(p.tree, 1e9);
    CHECK(all.total().moved == all.total().footprint);
    cache_level const none{"none", 4, 4};
    auto const one_line = line_movement(p.tree, none);
    CHECK(one_line.total().moved == 16. * 24 * (3 * 5 + 3 * 7));
}

TEST_CASE("neighbouring loops that exceed the cache end the reuse of a tensor, those within it do not") {
    access_tree tree;
    auto const x = tree.tensor("x", {4}), y = tree.tensor("y", {100});
    auto const outer = tree.loop(0, 0, 8), first = tree.loop(outer, 1, 4), second = tree.loop(outer, 2, 100);
    tree.access(first, x, access_kind::read, {of(1)});
    tree.access(second, y, access_kind::read, {of(2)});
    auto const root = tree.loop(0, 3, 2);
    static_cast<void>(root);
    auto const reused = [&](double capacity) {
        return faithful_movement(tree, capacity).nodes[static_cast<std::size_t>(outer)].tensors[0].reused;
    };
    CHECK_FALSE(reused(99));
    CHECK(reused(100));
}

// A random nest of rectangular loops: one or two nests in a shared loop, tensors with strided and windowed indices.
// `holes`: indices whose images have gaps.
access_tree random_tree(random_stream& draw, bool holes) {
    access_tree tree;
    std::vector<std::int64_t> extents;
    auto const loops = [&](std::int32_t parent, std::int64_t count, std::vector<loop::variable>& vars) {
        for (; count > 0; --count) {
            vars.push_back(static_cast<loop::variable>(extents.size()));
            extents.push_back(between(draw, 2, 6));
            parent = tree.loop(parent, vars.back(), extents.back());
        }
        return parent;
    };
    std::vector<loop::variable> shared;
    auto const around = loops(0, between(draw, 0, 2), shared);
    struct use {
        std::int32_t node;
        std::vector<loop::variable> vars;
    };
    std::vector<use> nests;
    for (auto n = between(draw, 1, 2); n > 0; --n) {
        nests.push_back({0, shared});
        nests.back().node = loops(around, between(draw, 1, 3), nests.back().vars);
    }
    for (auto t = between(draw, 1, 3); t > 0; --t) {
        struct index {
            std::vector<affine> of;
        };
        std::vector<std::pair<std::size_t, index>> uses;
        std::vector<std::int64_t> dims(static_cast<std::size_t>(between(draw, 1, 2)), 1);
        for (auto n = between(draw, 1, 2); n > 0; --n) {
            auto const nest = static_cast<std::size_t>(draw.below(nests.size()));
            auto vars = nests[nest].vars; // each in one dimension
            index made;
            for (auto& dim : dims) {
                affine a{between(draw, 0, 1)};
                std::int64_t span = 1;
                for (auto terms = between(draw, 0, 2); terms > 0 && !vars.empty(); --terms) {
                    auto const pick = static_cast<std::size_t>(draw.below(vars.size()));
                    auto const extent = extents[static_cast<std::size_t>(vars[pick])];
                    auto const factor = holes ? between(draw, 1, 7) : span; // as a split loop, or a window
                    a += of(vars[pick], factor);
                    span += factor * (extent - 1);
                    vars.erase(vars.begin() + static_cast<std::ptrdiff_t>(pick));
                }
                made.of.push_back(a);
                dim = std::max(dim, span + 1);
            }
            uses.push_back({nest, made});
        }
        auto const tensor = tree.tensor("t", std::span<std::int64_t const>{dims});
        for (auto const& [nest, made] : uses)
            tree.access(nests[nest].node, tree_access{tensor, static_cast<access_kind>(draw.below(3)), made.of, 0, 1});
    }
    return tree;
}

TEST_CASE("footprints of random nests are those of enumerated elements") {
    random_stream draw{31};
    for (int round = 0; round < 200; ++round) {
        auto const tree = random_tree(draw, false);
        std::set<std::pair<std::int32_t, std::int64_t>> touched;
        double accesses = 0;
        tree_run::each(tree, [&](std::size_t a, std::int64_t element) {
            touched.insert({tree.accesses()[a].of, element}), ++accesses;
        });
        auto const m = faithful_movement(tree, 1e9);
        CAPTURE(round);
        CHECK(m.total().footprint == Approx(static_cast<double>(touched.size())));
    }
}

TEST_CASE("footprints of indices with holes err by less than 5 % on average") {
    random_stream draw{32};
    double error = 0;
    int const rounds = 200;
    for (int round = 0; round < rounds; ++round) {
        auto const tree = random_tree(draw, true);
        std::set<std::pair<std::int32_t, std::int64_t>> touched;
        tree_run::each(tree, [&](std::size_t a, std::int64_t element) {
            touched.insert({tree.accesses()[a].of, element});
        });
        auto const exact = static_cast<double>(touched.size());
        error += std::abs(faithful_movement(tree, 1e9).total().footprint - exact) / exact;
    }
    CHECK(error / rounds < 0.05);
}

TEST_CASE("movement lies between footprint and accesses, falls with capacity, and bounds an LRU cache of twice the "
          "lines") {
    random_stream draw{33};
    int cases = 0, above = 0;
    for (int round = 0; round < 200; ++round) {
        auto const tree = random_tree(draw, false);
        double before = 0, before_written = 0;
        tree_run::each(tree,
                       [&](std::size_t a, std::int64_t) { ++before, before_written += tree.accesses()[a].writes(); });
        for (double const lines : {1., 2., 5., 13., 34., 89., 1000.}) {
            auto const m = line_movement(tree, cache_level{"", lines * 4, 4}); // lines of one element
            auto const [fetched, written] = tree_run::simulate(tree, static_cast<std::size_t>(2 * lines), 4);
            CAPTURE(round, lines);
            CHECK(m.total().moved >= m.total().footprint * (1 - 1e-9));
            CHECK(m.total().moved <= before * (1 + 1e-9));
            CHECK(m.total().written <= before_written * (1 + 1e-9));
            // Sets with holes are counted by their density; the bound is one up to that.
            CHECK(fetched <= m.total().moved * 1.2);
            CHECK(written <= m.total().moved * 1.2);
            ++cases, above += fetched > m.total().moved * (1 + 1e-9);
            before = m.total().moved, before_written = m.total().written;
        }
    }
    CHECK(above * 200 < cases);
}

// A product of m x n x k in tiles of rows, columns and depth, the order of whose outer loops is drawn.
access_tree tiled_product(random_stream& draw) {
    std::int64_t const tm = between(draw, 1, 6), tn = 16 * between(draw, 1, 2), tk = between(draw, 2, 12);
    std::int64_t const m = tm * between(draw, 2, 5), n = tn * between(draw, 1, 4), k = tk * between(draw, 1, 4);
    access_tree tree;
    auto const a = tree.tensor("a", {m, k}), b = tree.tensor("b", {k, n}), c = tree.tensor("c", {m, n});
    std::vector<std::pair<loop::variable, std::int64_t>> outer{{0, m / tm}, {1, n / tn}, {2, k / tk}};
    for (std::size_t i = 2; i > 0; --i) std::swap(outer[i], outer[static_cast<std::size_t>(draw.below(i + 1))]);
    std::int32_t at = 0;
    for (auto const& [var, extent] : outer) at = tree.loop(at, var, extent);
    for (auto const& [var, extent] : {std::pair{5, tk}, std::pair{3, tm}, std::pair{4, tn}})
        at = tree.loop(at, var, extent);
    auto const i = of(0, tm) + of(3), j = of(1, tn) + of(4), l = of(2, tk) + of(5);
    tree.access(at, a, access_kind::read, {i, l});
    tree.access(at, b, access_kind::read, {l, j});
    tree.access(at, c, access_kind::update, {i, j});
    return tree;
}

// A convolution over blocks of 16 channels with its loops over rows and columns in tiles.
access_tree tiled_convolution(random_stream& draw) {
    std::int64_t const tile = between(draw, 2, 4), width = tile * between(draw, 2, 4), height = between(draw, 3, 8);
    std::int64_t const channels = between(draw, 2, 6), filters = between(draw, 1, 3), taps = 3;
    access_tree tree;
    auto const x = tree.tensor("x", {channels, height + taps - 1, width + taps - 1, 16});
    auto const w = tree.tensor("w", {filters, channels, taps, taps, 16}),
               y = tree.tensor("y", {filters, height, width, 16});
    enum : loop::variable { f, row, block, c, ky, kx, column, lane };
    std::vector<std::pair<loop::variable, std::int64_t>> outer{{f, filters}, {row, height}, {block, width / tile}};
    for (std::size_t i = 2; i > 0; --i) std::swap(outer[i], outer[static_cast<std::size_t>(draw.below(i + 1))]);
    std::int32_t at = 0;
    for (auto const& [var, extent] : outer) at = tree.loop(at, var, extent);
    auto inside = at;
    for (auto const& [var, extent] : {std::pair{c, channels}, std::pair{ky, taps}, std::pair{kx, taps},
                                      std::pair{column, tile}, std::pair{lane, std::int64_t{16}}})
        inside = tree.loop(inside, var, extent);
    auto const ox = of(block, tile) + of(column);
    tree.access(inside, x, access_kind::read, {of(c), of(row) + of(ky), ox + of(kx), of(lane)});
    tree.access(inside, w, access_kind::read, {of(f), of(c), of(ky), of(kx), of(lane)});
    auto const behind = tree.loop(tree.loop(at, column, tile), lane, 16);
    tree.access(behind, y, access_kind::write, {of(f), of(row), ox, of(lane)});
    return tree;
}

// Ranks of numbers, equal ones in the middle.
std::vector<double> ranks_of(std::vector<double> const& numbers) {
    std::vector<double> out;
    for (auto const x : numbers) {
        double less = 0, equal = 0;
        for (auto const y : numbers) less += y < x, equal += y == x;
        out.push_back(less + (equal - 1) / 2);
    }
    return out;
}
double correlation(std::vector<double> const& x, std::vector<double> const& y) {
    double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
    auto const n = static_cast<double>(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) sx += x[i], sy += y[i];
    for (std::size_t i = 0; i < x.size(); ++i) {
        auto const a = x[i] - sx / n, b = y[i] - sy / n;
        xx += a * a, yy += b * b, xy += a * b;
    }
    return xy / std::sqrt(xx * yy);
}

TEST_CASE("movement of tiled products and convolutions is that of an LRU cache of lines within 10 %, in its order") {
    random_stream draw{34};
    std::vector<double> counted, simulated, write_backs;
    double error = 0, write_error = 0;
    int const rounds = 30;
    for (int round = 0; round < rounds; ++round) {
        auto const tree = round % 2 ? tiled_product(draw) : tiled_convolution(draw);
        auto const lines = static_cast<std::size_t>(between(draw, 24, 160));
        auto const m = line_movement(tree, cache_level{"", static_cast<double>(lines) * 64, 64});
        auto const [fetched, written] = tree_run::simulate(tree, lines, 64);
        counted.push_back(m.total().moved), simulated.push_back(fetched);
        error += std::abs(std::log(m.total().moved / fetched));
        write_error += std::abs(std::log(m.total().written / written));
    }
    INFO("mean error " << error / rounds << ", of writes " << write_error / rounds << ", rank correlation "
                       << correlation(ranks_of(counted), ranks_of(simulated)));
    CHECK(error / rounds < 0.10);
    CHECK(write_error / rounds < 0.10);
    CHECK(correlation(ranks_of(counted), ranks_of(simulated)) > 0.95);
}

TEST_CASE("lines that stores overwrite as a whole come in only where the cache fetches them") {
    access_tree tree;
    auto const x = tree.tensor("x", {64, 64}), y = tree.tensor("y", {64, 64}), z = tree.tensor("z", {64, 64});
    auto const i = tree.loop(0, 0, 64), j = tree.loop(i, 1, 64);
    tree.access(j, x, access_kind::read, {of(0), of(1)});
    tree.access(j, y, access_kind::write, {of(0), of(1)});
    auto const k = tree.loop(i, 2, 32);
    tree.access(k, z, access_kind::write, {of(0), of(2, 2)}); // every other element
    cache_level level{"L1", 32 << 10, 64, 1, 32, true};
    CHECK(line_movement(tree, level).total().moved == 3 * 256);
    CHECK(line_movement(tree, level).total().written == 2 * 256);
    CHECK(movement_cycles(line_movement(tree, level), level) == 5 * 256 * 2);
    level.fetch_overwritten = false;
    CHECK(line_movement(tree, level).total().moved == 2 * 256);
    CHECK(line_movement(tree, level).total().written == 2 * 256);
}

TEST_CASE("what lies in the padding is not touched, and chosen entries are at most all") {
    access_tree tree;
    auto const x = tree.tensor("x", {10}), table = tree.tensor("table", {1, 8});
    auto const i = tree.loop(0, 0, 10), k = tree.loop(i, 1, 3);
    tree.access(k, x, access_kind::read, {of(0) + of(1) - affine{1}});
    auto const j = tree.loop(i, 2, 8);
    tree.access(j, tree_access{table, access_kind::read, {affine{}, of(2)}, 0, 6});
    auto const m = faithful_movement(tree, 1000);
    CHECK(m.total().tensors[0].footprint == 10);
    CHECK(m.total().tensors[1].footprint == 6 * 8);
    CHECK(m.nodes[static_cast<std::size_t>(j)].tensors[1].footprint == 8);
}

TEST_CASE("caches of a core are those of its row, each with the rate of what lies behind") {
    for (auto const& core : microarchitectures()) {
        auto const levels = cache_levels_of(core);
        CHECK(levels[0].bytes == static_cast<double>(core.l1_bytes));
        CHECK(levels[0].bytes_per_cycle == core.l2_bytes_per_cycle);
        CHECK(levels[1].bytes_per_cycle == core.l3_bytes_per_cycle);
        two_products const p{64, 64, 32, 32, 16, 16};
        auto before = 1e30;
        for (auto const& level : levels) {
            auto const moved = line_movement(p.tree, level).total().moved;
            CHECK(moved <= before);
            before = moved;
        }
    }
}

} // namespace data_movement_test
