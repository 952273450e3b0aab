#include "catch.hpp"
#include "machine/compiled_text.hpp"
#include <gsub/core/random.hpp>
#include <gsub/machine/impl/tree_alignment.ipp>
#include <gsub/machine/loop_map.hpp>
#include <gsub/machine/pipeline.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace loop_map_test {

using namespace gsub;
using namespace gsub::machine;
using enum instruction_class;
using loops = std::vector<source_loop>;
constexpr auto x86 = assembly_syntax::x86_64;

// Loops beside and inside each other that count to numbers: `{{0, 4}, {1, 8}}` is one of 8 trips in one of 4.
assembly_function nest(std::vector<std::pair<int, int>> const& depth_and_trips) {
    std::string text = "f:\n";
    std::vector<std::size_t> open;
    auto const reg = [](int depth) { return "%r" + std::to_string(8 + depth); };
    auto const close = [&](int depth) {
        while (static_cast<int>(open.size()) > depth) {
            auto const l = open.back();
            open.pop_back();
            auto const r = reg(static_cast<int>(open.size()));
            text += "addq $1, " + r + "\ncmpq " +
                    (depth_and_trips[l].second < 0 ? std::string{"%rdi"}
                                                   : "$" + std::to_string(depth_and_trips[l].second)) +
                    ", " + r + "\njne .L" + std::to_string(l) + "\n";
        }
    };
    for (std::size_t l = 0; l < depth_and_trips.size(); ++l) {
        close(depth_and_trips[l].first);
        text += "movq $0, " + reg(depth_and_trips[l].first) + "\n.L" + std::to_string(l) +
                ":\nvaddps %ymm0, %ymm1, %ymm1\n";
        open.push_back(l);
    }
    close(0);
    return parse_assembly(text + "ret\n", x86).value().functions.at(0);
}
std::string mapped(std::vector<std::pair<int, int>> const& assembly, loops const& sources) {
    auto const f = nest(assembly);
    auto const m = map_loops(f, sources).value();
    std::string out;
    for (auto const& l : m.loops)
        out += std::string{to_string(l.how)} +
               (l.source < 0 ? "" : " " + sources[static_cast<std::size_t>(l.source)].name) +
               (l.divisor > 1 ? "/" + std::to_string(l.divisor) : "") + ", ";
    for (auto const g : m.gone) out += "gone " + sources[static_cast<std::size_t>(g)].name + ", ";
    return out;
}

TEST_CASE("loops are matched by their trips: equal, divided, peeled, given by the source, or gone") {
    loops const ijk{{"i", -1, 64}, {"j", 0, 128}, {"k", 1, 96}};
    CHECK(mapped({{0, 64}, {1, 128}, {2, 96}}, ijk) == "exact i, exact j, exact k, ");
    CHECK(mapped({{0, 64}, {1, 16}, {2, 96}}, ijk) == "exact i, divided j/8, exact k, ");
    CHECK(mapped({{0, 64}, {1, 48}}, ijk) == "exact i, divided k/2, gone j, ");
    CHECK(mapped({{0, 64}, {1, -1}, {2, 96}}, ijk) == "exact i, given j, exact k, ");
    CHECK(mapped({{0, 64}, {1, 127}, {2, 24}}, ijk) == "exact i, peeled j, divided k/4, ");
    CHECK(mapped({{0, 64}, {1, 128}}, {{"i", -1, 64}, {"t", 0, 4}, {"k", 1, 128}}) == "exact i, exact k, gone t, ");
    CHECK(mapped({{0, 7}}, {}) == "unmatched, ");
    CHECK(mapped({}, ijk) == "gone i, gone j, gone k, ");
}

TEST_CASE("what a divided loop leaves is its remainder, what does the same a version, other loops count around") {
    CHECK(mapped({{0, 64}, {1, 12}, {1, 3}}, {{"i", -1, 64}, {"j", 0, 99}}) == "exact i, divided j/8, remainder j, ");
    CHECK(mapped({{0, 50}, {0, 50}}, {{"i", -1, 2}, {"j", 0, 50}}) == "exact j, exact j, gone i, "); // copies
    CHECK(mapped({{0, 64}, {1, 5}, {1, 128}}, {{"i", -1, 64}, {"j", 0, 128}}) == "exact i, unmatched i, exact j, ");
    auto const f =
        parse_assembly(
            "f:\nxorl %eax, %eax\ntestq %rdi, %rdi\nje .L2\n.L1:\nvaddps %ymm0, %ymm1, %ymm1\naddq $1, %rax\n"
            "cmpq $16, %rax\njne .L1\nret\n.L2:\nvaddps %ymm0, %ymm1, %ymm1\naddq $1, %rax\n"
            "cmpq $128, %rax\njne .L2\nret\n",
            x86)
            .value()
            .functions.at(0);
    auto const m = map_loops(f, loops{{"j", -1, 128}}).value();
    CHECK(m.counts[add] == 16);
    REQUIRE(m.warnings.size() == 1);
    CHECK(m.warnings[0].text == "loop \".L2\" does the same as one beside it: it counts as not run");
}

TEST_CASE("a loop of unknown trips whose last turn stands outside is the source loop around what is in it") {
    // Groups of which the last one takes another way: compilers write that behind the loop of the others.
    loops const sources{{"part", -1, 7}, {"group", 0, 6}, {"point", 1, 36}, {"ic", 2, 16},
                        {"out", 1, 3},   {"row", 4, 14},  {"rest", 1, 36},  {"ic", 6, 16}};
    std::vector<std::pair<int, int>> const peeled{{0, 7}, {1, -1}, {2, 36}, {3, 16}, {2, 3}, {3, 14}, {1, 36}, {2, 16}};
    CHECK(mapped(peeled, sources) ==
          "exact part, peeled group, exact point, exact ic, exact out, exact row, exact rest, exact ic, ");
    auto const f = nest(peeled);
    auto const m = map_loops(f, sources).value();
    CHECK(m.warnings.empty());
    CHECK(m.loops[2].entries == 7 * 5); // of six turns one is outside
    CHECK(m.loops[6].entries == 7);
    // Nothing outside: all turns are the loop's. Without loops in it that are of one source loop, it counts once.
    CHECK(mapped({{0, 7}, {1, -1}, {2, 36}, {3, 16}},
                 {{"part", -1, 7}, {"group", 0, 6}, {"point", 1, 36}, {"ic", 2, 16}}) ==
          "exact part, given group, exact point, exact ic, ");
    CHECK(mapped({{0, 7}, {1, -1}, {1, 36}}, {{"part", -1, 7}, {"rest", 0, 36}}) ==
          "exact part, unmatched part, exact rest, ");
}

TEST_CASE("trips that nothing tells are 1 with a warning that has the line") {
    auto const f = nest({{0, -1}});
    auto const m = map_loops(f, {}).value();
    CHECK(m.counts[add] == 1);
    REQUIRE(m.warnings.size() == 1);
    CHECK(m.warnings[0].line == 4);
    CHECK(m.warnings[0].text == "how often loop \".L0\" runs is not known: it counts once");
    CHECK(to_string(m, f, {}) == ".L0 (line 4): 1 trips, unmatched, entered 1 times\n");
    CHECK(map_loops(f, loops(401, {"i", -1, 4})).error().message() ==
          "not supported: function \"f\": 401 loops, of at most 400 that are aligned; try: a smaller kernel, or no "
          "source loops");
}

TEST_CASE("counts of source loops are those of their blocks, and add up to the function") {
    auto const f = nest({{0, 64}, {1, 12}, {1, 3}, {0, 9}});
    loops const sources{{"i", -1, 64}, {"j", 0, 99}, {"k", -1, 9}};
    auto const m = map_loops(f, sources).value();
    CHECK(m.own[0][add] == 64);
    CHECK(m.own[1][add] == 64 * 15);
    CHECK(m.total[0][add] == 64 * 16);
    CHECK(m.own[2][add] == 9);
    CHECK(m.counts[add] == 64 * 16 + 9);
    class_counts sum;
    for (auto const& b : m.blocks) sum.add(f.code_of(b.block), b.runs);
    CHECK(sum == m.counts);
}

TEST_CASE("trees are aligned at the least cost of all alignments that keep order and ancestry") {
    auto const seed = GENERATE(range(1u, 80u));
    CAPTURE(seed);
    random_stream random{seed};
    auto const draw = [&](std::vector<std::int32_t>& parents) {
        auto const n = static_cast<std::int32_t>(1 + random.below(4));
        for (std::int32_t i = 0; i < n; ++i) {
            auto p = i - 1; // pre-order: the parent is the node before or one of those around it
            for (auto up = random.below(3); up > 0 && p >= 0; --up) p = parents[static_cast<std::size_t>(p)];
            parents.push_back(p);
        }
    };
    std::vector<std::int32_t> a, b;
    draw(a), draw(b);
    std::vector<double> costs(a.size() * b.size());
    for (auto& c : costs) c = random.below(4) == 0 ? -1 : static_cast<double>(random.below(20)) / 8;
    auto const match = [&](std::int32_t i, std::int32_t j) {
        return costs[static_cast<std::size_t>(i) * b.size() + static_cast<std::size_t>(j)];
    };
    auto const drop = [](std::int32_t i) { return 0.75 + 0.25 * i; };
    auto const skip = [](std::int32_t j) { return 0.5 + 0.25 * j; };
    auto const within = [](std::vector<std::int32_t> const& t, std::int32_t x, std::int32_t y) { // y in x
        while (y > x) y = t[static_cast<std::size_t>(y)];
        return y == x;
    };
    auto const cost_of = [&](std::vector<std::int32_t> const& m) { // negative: not allowed
        double cost = 0;
        std::vector<char> used(b.size(), 0);
        for (std::size_t i = 0; i < m.size(); ++i) {
            auto const x = static_cast<std::int32_t>(i);
            if (m[i] < 0) {
                cost += drop(x);
                continue;
            }
            if (match(x, m[i]) < 0 || used[static_cast<std::size_t>(m[i])]) return -1.0;
            used[static_cast<std::size_t>(m[i])] = 1, cost += match(x, m[i]);
            for (std::size_t before = 0; before < i; ++before)
                if (m[before] >= 0 &&
                    (m[before] > m[i] || within(a, static_cast<std::int32_t>(before), x) != within(b, m[before], m[i])))
                    return -1.0;
        }
        for (std::size_t j = 0; j < b.size(); ++j)
            if (!used[j]) cost += skip(static_cast<std::int32_t>(j));
        return cost;
    };
    double best = 1e9;
    std::vector<std::int32_t> m(a.size(), -1);
    for (bool more = true; more;) {
        if (auto const c = cost_of(m); c >= 0) best = std::min(best, c);
        more = false;
        for (auto& digit : m) {
            if (++digit < static_cast<std::int32_t>(b.size())) {
                more = true;
                break;
            }
            digit = -1;
        }
    }
    auto const found =
        machine::detail::tree_alignment{std::span{std::as_const(a)}, std::span{std::as_const(b)}, match, drop, skip}
            .matches();
    CHECK(cost_of(found) == best);
}

// Multiply-adds of single elements: whatever the width of an instruction. Two floats in a register of four would count
// as four: sizes are chosen such that there is no such tail.
double elements(assembly_function const& f, loop_map const& m) {
    double out = 0;
    for (auto const& b : m.blocks)
        for (auto const& i : f.code_of(b.block)) out += i.what == fma ? b.runs * i.bytes / 4 : 0;
    return out;
}

TEST_CASE("multiply-adds of compiled loops are those of the program: unrolled, vectorised, with remainders") {
    struct program {
        std::string text;
        double multiply_adds;
        loops sources;
        bool bounded; // whether a caller gives the sizes
    };
    std::vector<program> programs;
    random_stream random{5};
    for (int i = 0; i < 3; ++i) {
        auto const m = static_cast<int>(2 + random.below(70)),
                   n = static_cast<int>(4 * (1 + random.below(37)) + random.below(2)),
                   k = static_cast<int>(2 + random.below(70));
        auto const name = "f" + std::to_string(programs.size()), ms = std::to_string(m), ns = std::to_string(n),
                   ks = std::to_string(k);
        auto const head = "extern \"C\" void " + name +
                          "(float* __restrict c, float const* __restrict a, float const* __restrict b) {";
        programs.push_back({head + "for (int i = 0; i < " + ms + "; ++i) for (int k = 0; k < " + ks +
                                "; ++k) for (int j = 0; j < " + ns + "; ++j) c[i * " + ns + " + j] += a[i * " + ks +
                                " + k] * b[k * " + ns + " + j]; }\n",
                            1.0 * m * n * k,
                            {{"i", -1, m}, {"k", 0, k}, {"j", 1, n}},
                            false});
        auto const next = "f" + std::to_string(programs.size());
        programs.push_back({"extern \"C\" void " + next +
                                "(float* __restrict c, float const* __restrict a, long m) {"
                                "for (long i = 0; i < m; ++i) for (int j = 0; j < " +
                                ns + "; ++j) c[j] += a[i] * c[j]; }\n",
                            1.0 * m * n,
                            {{"i", -1, m}, {"j", 0, n}},
                            true});
    }
    std::string source, missing;
    for (auto const& p : programs) source += p.text;
    for (auto const& c : compiled_text::compilers(missing))
        for (auto const* options : {"-O2 -ffp-contract=fast", "-O3 -ffp-contract=fast"}) {
            if (c.name == "clang++" && options[2] == '2') continue; // much the same as at -O3
            auto const unit = parse_assembly(compiled_text::compile(c, source, options), c.syntax).value();
            CHECK(unit.unknown == 0);
            for (std::size_t i = 0; i < programs.size(); ++i) {
                // Loops with a caller's bounds are taken as they are; what unrolls them hides by how much.
                if (programs[i].bounded && std::string{options}.starts_with("-O3")) continue;
                auto const& f = *unit.function("f" + std::to_string(i)).value();
                auto const m = map_loops(f, programs[i].sources).value();
                CAPTURE(c.name, c.options, options, programs[i].text, to_string(m, f, programs[i].sources));
                CHECK(elements(f, m) == programs[i].multiply_adds);
                CHECK(m.warnings.empty());
                if (!programs[i].bounded) CHECK(elements(f, map_loops(f, {}).value()) == programs[i].multiply_adds);
            }
        }
    if (!missing.empty()) WARN("not here: " << missing);
}

TEST_CASE("a block of compiled assembly goes into the pipeline model as it is") {
    auto const f =
        parse_assembly(
            "f:\n\txorl %eax, %eax\n.L1:\n\tvmovups (%rdi,%rax), %ymm1\n\tvfmadd231ps (%rsi,%rax), %ymm2, %ymm1\n"
            "\tvmovups %ymm1, (%rdi,%rax)\n\taddq $32, %rax\n\tcmpq $4096, %rax\n\tjne .L1\n\tret\n",
            x86)
            .value()
            .functions.at(0);
    auto const m = map_loops(f, {}).value();
    REQUIRE(m.blocks.size() == 3);
    CHECK(m.blocks[1].runs == 128);
    auto const row = std::find_if(microarchitectures().begin(), microarchitectures().end(),
                                  [](auto const& r) { return r.name == "skylake-sp"; });
    REQUIRE(row != microarchitectures().end());
    auto const s = steady_schedule(f.code_of(m.blocks[1].block), core_ports{*row});
    CHECK(s.bound() == 1.5); // six instructions of four a cycle
    CHECK(s.cycles() < 2.1);
}

} // namespace loop_map_test
