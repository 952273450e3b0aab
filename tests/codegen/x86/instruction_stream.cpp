#include "catch.hpp"
#include "codegen/kernel_program.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/codegen/x86/instruction_stream.hpp>
#include <gsub/core/random.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/kernels/row_reduction.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/loop/schedule.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace instruction_stream_test {

using namespace gsub;
using codegen::instructions_of;

// How often each region runs: the product of the turns of the loops around it. All of their limits are numbers, but
// for the parallel loop's, which has those of the kernel.
double runs_of(codegen::instruction_stream const& s, std::int32_t region) {
    double runs = 1;
    for (auto r = region; r >= 0; r = s.regions[static_cast<std::size_t>(r)].within) {
        auto const& of = s.regions[static_cast<std::size_t>(r)];
        if (!of.is_loop()) continue;
        if (of.of->var == s.lowered->parallel) {
            runs *= static_cast<double>(s.lowered->parallel_extent);
            continue;
        }
        REQUIRE(of.turns);
        runs *= static_cast<double>(*of.turns);
    }
    return runs;
}
// Or products, where there are no multiply-adds.
double multiply_adds(codegen::instruction_stream const& s, isa const& isa) {
    double out = 0;
    for (auto const& i : s.code)
        if (i.what == (isa.runs(isa::avx2) ? instruction_class::fma : instruction_class::multiply))
            out += runs_of(s, i.loop);
    return out;
}
codegen::kernel product(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view knobs, isa const& isa) {
    kernels::matmul_shape s;
    s.m = m, s.n = n, s.k = k;
    kernels::descriptor const d = s;
    return codegen::lower(kernels::nest_of(d, kernels::space_of(d, isa).parse(knobs), isa), "k").value();
}
bool reloads(codegen::instruction_stream const& s) {
    return std::any_of(s.code.begin(), s.code.end(), [](auto const& i) {
        return i.memory.bytes >= 32 &&
               std::any_of(i.uses.begin(), i.uses.end(), [](auto r) { return r >= codegen::stream_registers; });
    });
}

std::ptrdiff_t loads_in(std::vector<codegen::statement> const& body) {
    std::ptrdiff_t out = 0;
    for (auto const& s : body) {
        for (auto const& i : s.code) out += i.op == codegen::opcode::load;
        out += loads_in(s.body) + loads_in(s.otherwise);
    }
    return out;
}

TEST_CASE("multiply-adds of a stream, times the turns of the loops around, are those of the product") {
    for (auto const* knobs : {"tile_m=4 tile_n=2 unroll_k=4 tile_k=0", "tile_m=8 tile_n=2 unroll_k=1 tile_k=0",
                              "tile_m=2 tile_n=4 unroll_k=8 tile_k=0", "tile_m=4 tile_n=1 unroll_k=2 tile_k=0"})
        for (auto const* isa : {&isa::avx512, &isa::avx2, &isa::sse42}) {
            CAPTURE(knobs, isa->name);
            auto const s = instructions_of(product(16, 64, 64, knobs, *isa), *isa).value();
            CHECK(multiply_adds(s, *isa) == 16 * 64 * 64 / isa->lanes());
        }
}

TEST_CASE("regions lie within each other, in order, and hold their instructions") {
    for (auto const* isa : {&isa::avx512, &isa::avx2, &isa::sse42}) {
        auto taken = 0;
        for (auto const& k : kernel_program::grid(*isa)) {
            auto const made = instructions_of(k, *isa);
            if (!made) {
                CHECK(made.error().code() == error_code::unsupported);
                continue;
            }
            ++taken;
            CAPTURE(k.name);
            auto const& s = *made;
            REQUIRE(!s.regions.empty());
            CHECK(s.regions[0].within == -1);
            CHECK(s.regions[0].last == s.code.size());
            for (std::size_t r = 1; r < s.regions.size(); ++r) {
                auto const& of = s.regions[r];
                REQUIRE(of.within >= 0);
                REQUIRE(of.within < static_cast<std::int32_t>(r));
                auto const& around = s.regions[static_cast<std::size_t>(of.within)];
                CHECK(of.first >= around.first);
                CHECK(of.first <= of.last);
                CHECK(of.last <= around.last);
                CHECK(of.first >= s.regions[r - 1].first);
                if (of.is_loop()) CHECK_FALSE(around.inner);
            }
            for (std::size_t n = 0; n < s.code.size(); ++n) {
                auto const in = s.code[n].loop;
                if (in < 0) continue;
                auto const& of = s.regions[static_cast<std::size_t>(in)];
                CHECK(of.is_loop());
                CHECK((of.first <= n && n < of.last));
            }
        }
        CHECK(taken > 20);
    }
}

TEST_CASE("values without a register are reloaded: more of them where there are sixteen") {
    CHECK_FALSE(
        reloads(instructions_of(product(28, 64, 64, "tile_m=14 tile_n=2 unroll_k=1 tile_k=0", isa::avx512), isa::avx512)
                    .value()));
    auto const many = product(16, 64, 64, "tile_m=8 tile_n=3 unroll_k=1 tile_k=0", isa::avx2);
    CHECK(reloads(instructions_of(many, isa::avx2).value()));
}

TEST_CASE("products of a Winograd kernel keep their sums in registers, however many values its transforms have") {
    kernels::conv2d_shape s;
    s.in_channels = s.out_channels = 96, s.in = {28, 28}, s.kernel = {3, 3}, s.pads = {1, 1, 1, 1}, s.bias = true;
    for (auto const& [tile, vectors] : {std::pair{5, 2}, {6, 2}, {4, 3}, {11, 1}}) {
        kernels::winograd_config c;
        c.rows = 2, c.columns = 7, c.tile = tile, c.vectors = vectors, c.unroll_ic = 4;
        auto const k = codegen::lower(kernels::winograd_nest(s, c, isa::avx2), "k").value();
        auto const stream = instructions_of(k, isa::avx2).value();
        auto products = 0;
        for (std::size_t r = 0; r < stream.regions.size(); ++r) {
            auto const& region = stream.regions[r];
            if (!region.is_loop() || !region.inner) continue;
            std::ptrdiff_t fma = 0, in_frame = 0;
            for (auto i = region.first; i < region.last; ++i) {
                auto const& code = stream.code[i];
                fma += code.what == instruction_class::fma;
                in_frame += code.bytes == 32 &&
                            std::ranges::any_of(code.defs, [](auto d) { return d >= codegen::stream_registers; });
            }
            if (5 * fma < 2 * static_cast<std::ptrdiff_t>(region.last - region.first)) continue;
            CAPTURE(tile, vectors, r, fma);
            ++products;
            CHECK(in_frame == 0);
        }
        CHECK(products > 0);
    }
}

TEST_CASE("inputs and weights that do not all fit registers are read less than twice each, and as said where they do") {
    kernels::conv2d_shape s;
    s.in_channels = s.out_channels = s.groups = 64;
    s.in = {14, 14}, s.kernel = {3, 3}, s.pads = {1, 1, 1, 1};
    for (auto const* isa : {&isa::avx512, &isa::avx2}) {
        CAPTURE(isa->name);
        auto const k = codegen::lower(kernels::conv2d_nest(s, kernels::default_config(s, *isa), *isa), "k").value();
        auto const stream = instructions_of(k, *isa).value();
        auto const read = std::count_if(stream.code.begin(), stream.code.end(), [&](auto const& i) {
            return i.memory.bytes == isa->vector_bytes && i.what != instruction_class::store;
        });
        auto const loads = loads_in(k.body);
        CHECK(loads > 100);
        CHECK(read < 2 * loads);
    }
}

TEST_CASE("where one vector a row is multiplied, its elements are read within the multiply-adds") {
    auto const s =
        instructions_of(product(16, 16, 64, "tile_m=8 tile_n=1 unroll_k=1 tile_k=0", isa::avx512), isa::avx512).value();
    auto folded = 0;
    for (auto const& i : s.code) folded += i.what == instruction_class::fma && i.folds_load() && i.memory.broadcast;
    CHECK(folded >= 8);
}

// ---- what code leaves out

using codegen::opcode;

// Instructions of a class in the turns of innermost loops.
std::ptrdiff_t in_loops(codegen::instruction_stream const& s, instruction_class what) {
    return std::count_if(s.code.begin(), s.code.end(), [&](auto const& i) {
        auto const& of = s.regions[static_cast<std::size_t>(std::max(i.loop, 0))];
        return i.what == what && i.loop >= 0 && of.inner && of.of->var != s.lowered->parallel;
    });
}
std::ptrdiff_t all_of(codegen::instruction_stream const& s, instruction_class what) {
    return std::count_if(s.code.begin(), s.code.end(), [&](auto const& i) { return i.what == what; });
}
codegen::statement loop_of(codegen::variable v, std::int64_t turns, std::vector<codegen::statement> body) {
    codegen::statement s;
    s.kind = codegen::statement_kind::loop, s.var = v, s.begin = {{0}}, s.end = {{turns}}, s.body = std::move(body);
    return s;
}
codegen::statement block_of(std::vector<codegen::instruction> code) {
    codegen::statement s;
    s.code = std::move(code);
    return s;
}
// A kernel of one read and one written buffer, for whose positions statements are run.
codegen::kernel kernel_of(std::vector<codegen::statement> body, isa const& isa) {
    codegen::kernel k;
    k.name = "k", k.lanes = isa.lanes(), k.registers = 16, k.names = {"p", "i", "j"}, k.parallel = 0;
    k.parallel_extent = 24;
    k.buffers = {{.name = "x", .dims = {1 << 16}}, {.name = "y", .dims = {1 << 16}, .written = true}};
    k.body = {loop_of(0, 0, std::move(body))};
    return k;
}
std::vector<codegen::instruction> copy_of(codegen::affine from, codegen::affine to, isa const& isa) {
    return {{.op = opcode::load, .result = 0, .buffer = 0, .offset = std::move(from), .lanes = isa.lanes()},
            {.op = opcode::store, .operands = {0, -1, -1}, .buffer = 1, .offset = std::move(to), .lanes = isa.lanes()}};
}
constexpr isa const* both[] = {&isa::avx512, &isa::avx2};

TEST_CASE("layer normalisation divides in no loop, and reads no number there that it kept in memory") {
    using kernels::reduction_step;
    using loop::scalar_op;
    for (auto const* isa : both) {
        kernels::row_reduction_shape p;
        p.dims = {3, 32 * isa->lanes()};
        p.arrays = {kernels::array_view::contiguous(p.dims)};
        p.ops = {{reduction_step::sum, {scalar_op::add, 0, -1, 0}},
                 {reduction_step::elementwise, {scalar_op::divide, 1, -1, 512}},
                 {reduction_step::elementwise, {scalar_op::subtract, 0, 2, 0}},
                 {reduction_step::elementwise, {scalar_op::multiply, 3, 3, 0}},
                 {reduction_step::sum, {scalar_op::add, 4, -1, 0}},
                 {reduction_step::elementwise, {scalar_op::add, 5, -1, 1e-3}},
                 {reduction_step::elementwise, {scalar_op::square_root, 6, -1, 0}},
                 {reduction_step::elementwise, {scalar_op::divide, 3, 7, 0}}};
        p.results = {{8, true}};
        auto const s = instructions_of(codegen::lower(kernels::row_reduction_nest(p, *isa), "k").value(), *isa).value();
        CHECK(in_loops(s, instruction_class::divide) == 0);
        CHECK(in_loops(s, instruction_class::broadcast) == 0);
        CHECK(all_of(s, instruction_class::divide) == 1); // of the root; the other one is an exact product
        // Sums of a loop have four accumulators, which do not wait for each other.
        auto const sums = in_loops(s, instruction_class::fma);
        CHECK(sums == 4);
        std::set<machine::register_id> accumulators;
        for (auto const& i : s.code)
            if (i.what == instruction_class::fma) accumulators.insert(i.defs.begin(), i.defs.end());
        CHECK(accumulators.size() == 4);
    }
}

TEST_CASE("an entry is chosen before the loop that moves it: a turn reads, writes, counts and jumps") {
    for (auto const* isa : both) {
        auto const n = 32 * isa->lanes();
        loop::expression_builder e{"gather"};
        auto const i = e.spatial("i", 12), x = e.spatial("x", n);
        auto const from = e.input("from", {9 * n}), chosen = e.input("chosen", {12}, dtype::i64);
        auto const y = e.output("y", {12, n}), status = e.output("status", {1}, dtype::i32);
        loop::schedule plan{e.store(y, {i, x}, e.at(from, {x}, e.at(chosen, {i}), 9, n, status))};
        plan.vectorize(plan.split(plan.loop_of("x"), isa->lanes()).second);
        auto const s = instructions_of(codegen::lower(plan.finish(), "k").value(), *isa).value();
        CHECK(in_loops(s, instruction_class::load) == 1);
        CHECK(in_loops(s, instruction_class::store) == 1);
        CHECK(in_loops(s, instruction_class::integer) == 1);
        CHECK(in_loops(s, instruction_class::branch) == 1);
    }
}

TEST_CASE("addresses that advance alike advance once, and are what is counted") {
    for (auto const* isa : both) {
        std::int64_t const l = isa->lanes();
        auto const p = codegen::affine::of(0, 64 * l), i = codegen::affine::of(1, l);
        auto const s =
            instructions_of(kernel_of({loop_of(1, 64, {block_of(copy_of(p + i, p + i, *isa))})}, *isa), *isa).value();
        CHECK(in_loops(s, instruction_class::integer) == 1);
        CHECK(in_loops(s, instruction_class::branch) == 1);
    }
}

TEST_CASE("loops of nothing are none") {
    for (auto const* isa : both) {
        auto const copy = block_of(copy_of(codegen::affine::of(0), codegen::affine::of(0), *isa));
        auto const s = instructions_of(kernel_of({copy, loop_of(1, 64, {})}, *isa), *isa).value();
        CHECK(s.code.size() == instructions_of(kernel_of({copy}, *isa), *isa).value().code.size());
    }
}

TEST_CASE("turns of a short loop decide no conditions, and read nothing twice") {
    for (auto const* isa : both) {
        std::int64_t const l = isa->lanes();
        auto const p = codegen::affine::of(0, 16 * l), i = codegen::affine::of(1, l);
        codegen::statement branch;
        branch.kind = codegen::statement_kind::branch;
        branch.conditions = {{codegen::affine::of(1), 7}};
        branch.body = {block_of(copy_of(p, p + i, *isa))};
        branch.otherwise = {block_of(copy_of(p, p + i + codegen::affine{l}, *isa))};
        auto const s = instructions_of(kernel_of({loop_of(1, 9, {branch})}, *isa), *isa).value();
        CHECK(all_of(s, instruction_class::branch) == 3); // whether there is a position, and another one; the return
        CHECK(all_of(s, instruction_class::store) == 9);
        CHECK(std::count_if(s.code.begin(), s.code.end(), [&](auto const& of) {
                  return of.what == instruction_class::load && of.memory.bytes == isa->vector_bytes;
              }) == 1);
    }
}

TEST_CASE("an index that its range makes another one takes no division, and two of one variable share theirs") {
    for (auto const* isa : both) {
        auto const index = [](codegen::variable v, codegen::variable of, std::int64_t divisor, std::int64_t extent) {
            codegen::statement s;
            s.kind = codegen::statement_kind::fused_index;
            s.var = v, s.of = of, s.divisor = divisor, s.extent = extent;
            return s;
        };
        std::int64_t const l = isa->lanes();
        auto const direct =
            instructions_of(
                kernel_of({block_of(copy_of(codegen::affine::of(0, l), codegen::affine::of(0, l), *isa))}, *isa), *isa)
                .value();
        auto const same =
            instructions_of(kernel_of({index(1, 0, 1, 24), index(2, 1, 1, 31),
                                       block_of(copy_of(codegen::affine::of(1, l), codegen::affine::of(2, l), *isa))},
                                      *isa),
                            *isa)
                .value();
        CHECK(same.code.size() == direct.code.size());
        auto const split =
            instructions_of(kernel_of({index(1, 0, 6, 4), index(2, 0, 1, 6),
                                       block_of(copy_of(codegen::affine::of(1, l), codegen::affine::of(2, l), *isa))},
                                      *isa),
                            *isa)
                .value();
        auto const divided =
            instructions_of(kernel_of({index(1, 0, 6, 4),
                                       block_of(copy_of(codegen::affine::of(1, l), codegen::affine::of(1, l), *isa))},
                                      *isa),
                            *isa)
                .value();
        CHECK(split.code.size() <= divided.code.size() + 3); // a copy, a product and a sum
    }
}

TEST_CASE("lanes by which loads permute are read once, before the loops") {
    for (auto const* isa : both) {
        std::int64_t const l = isa->lanes();
        auto code = copy_of(codegen::affine::of(1, l), codegen::affine::of(1, l), *isa);
        code[0].order.assign(static_cast<std::size_t>(l), 0);
        auto const s = instructions_of(kernel_of({loop_of(1, 64, {block_of(code)})}, *isa), *isa).value();
        CHECK(in_loops(s, instruction_class::shuffle) == 1);
        CHECK(in_loops(s, instruction_class::load) == 0);
    }
}

TEST_CASE("elements that stand in two lanes each are read without a table") {
    for (auto const* isa : both) {
        std::int64_t const l = isa->lanes();
        auto code = copy_of(codegen::affine::of(1, l / 2), codegen::affine::of(1, l), *isa);
        for (std::int64_t i = 0; i < l; ++i) code[0].order.push_back(i / 2);
        auto const s = instructions_of(kernel_of({loop_of(1, 64, {block_of(code)})}, *isa), *isa).value();
        CHECK(in_loops(s, instruction_class::shuffle) == 2);
        CHECK(in_loops(s, instruction_class::load) == 0);
    }
}

TEST_CASE("integers of 64 bits become numbers by one instruction where there is one") {
    for (auto const* isa : both) {
        auto const lanes = isa->lanes(8);
        loop::expression_builder e{"numbers"};
        auto const x = e.spatial("x", lanes);
        auto const a = e.input("a", {lanes}, dtype::i64), y = e.output("y", {lanes});
        loop::schedule plan{e.store(y, {x}, cast(e.at(a, {x}), dtype::f32))};
        plan.vectorize(plan.split(plan.loop_of("x"), lanes).second);
        auto const s = instructions_of(codegen::lower(plan.finish(), "k").value(), *isa).value();
        CHECK(all_of(s, instruction_class::convert) == (isa == &isa::avx512 ? 1 : lanes));
    }
}

TEST_CASE("what machine code does not do is refused by its name") {
    for (auto const& k : kernel_program::grid(isa::avx512)) {
        if (k.name != "softmax 1") continue;
        auto const made = instructions_of(k, isa::avx512);
        if (made) continue; // it may learn to
        CHECK(made.error().message().find("machine code in memory has no") != std::string::npos);
    }
    auto const other =
        instructions_of(product(4, 16, 16, "tile_m=4 tile_n=1 unroll_k=1 tile_k=0", isa::avx512), isa::baseline);
    REQUIRE_FALSE(other);
    CHECK(other.error().code() == error_code::unsupported);
}

} // namespace instruction_stream_test
