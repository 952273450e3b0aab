#include "catch.hpp"
#include "machine/compiled_text.hpp"
#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/ir/kernel_loops.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/matmul.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace kernel_loops_test {

using namespace gsub;
using codegen::kernel;
using gsub::isa;

kernel product(isa const& isa, std::int64_t m, std::int64_t n, std::int64_t k) {
    kernels::matmul_shape shape;
    shape.m = m, shape.n = n, shape.k = k;
    return codegen::lower(kernels::matmul_nest(shape, kernels::default_config(shape, isa), isa), "kernel").value();
}
kernel convolution(isa const& isa, std::int64_t pad) {
    kernels::conv2d_shape shape;
    shape.in_channels = shape.out_channels = 2 * isa.lanes(), shape.in = {14, 14}, shape.kernel = {3, 3};
    shape.pads = {pad, pad, pad, pad};
    return codegen::lower(kernels::conv2d_nest(shape, kernels::default_config(shape, isa), isa), "kernel").value();
}

TEST_CASE("loops stand in pre-order with their trips, and operations add up") {
    loop::expression_builder e{"product"};
    auto const i = e.spatial("i", 4), x = e.spatial("x", 6), k = e.reduction("k", 5);
    auto const a = e.input("a", {4, 5}), w = e.input("w", {5, 6}), y = e.output("y", {4, 6});
    loop::schedule plan{e.store(y, {i, x}, e.sum(e.constant(0), e.at(a, {i, k}) * e.at(w, {k, x})))};
    auto const [blocks, lane] = plan.split(plan.loop_of("x"), 4);
    auto const rows = plan.loop_of("i"), steps = plan.loop_of("k");
    plan.reorder({rows, blocks, steps, lane});
    plan.parallel(rows);
    plan.vectorize(lane);
    auto const l = codegen::loops_of(codegen::lower(plan.finish(), "product_4").value());
    REQUIRE(l.sources.size() == 3);
    CHECK((l.sources[0].name == "i" && l.sources[0].trips == 4 && l.sources[0].parent == -1));
    CHECK((l.sources[1].name == "k" && l.sources[1].trips == 5 && l.sources[1].parent == 0));
    CHECK((l.sources[2].name == "k" && l.sources[2].trips == 5 && l.sources[2].parent == 0));
    CHECK(l.exact);
    CHECK(l.own[1] == codegen::kernel_counts{20, 20, 20, 0, 0});
    CHECK(l.own[0] == codegen::kernel_counts{0, 0, 0, 8, 16});
    CHECK(l.total == codegen::kernel_counts{40, 40, 40, 8, 16});
}

TEST_CASE("limits of several numbers leave the least range, and limits of loops around have mean trips") {
    kernel k;
    k.names = {"i", "j"};
    codegen::statement inner, outer;
    inner.kind = outer.kind = codegen::statement_kind::loop, inner.var = 1, outer.var = 0;
    inner.begin = {{loop::affine{0}, 1}}, inner.end = {{loop::affine{9}, 1}, {loop::affine::of(0), 1}};
    outer.begin = {{loop::affine{-3}, 2}, {loop::affine{1}, 1}},
    outer.end = {{loop::affine{7}, 2}, {loop::affine{5}, 1}};
    outer.body = {inner};
    k.body = {outer};
    auto const l = codegen::loops_of(k);
    CHECK(l.sources[0].trips == 3); // 1 .. ceil(7 / 2)
    CHECK(l.sources[1].trips == -1);
    CHECK(l.sources[1].mean == 2); // of 1, 2 and 3
    CHECK(l.exact);
    k.body[0].body[0].end[1].value = loop::affine::of(2); // of nothing around it
    auto const unknown = codegen::loops_of(k);
    CHECK(unknown.sources[1].mean == -1);
    CHECK_FALSE(unknown.exact);
}

TEST_CASE("on a device a branch counts by the share of positions that take it, and so does what is inside") {
    kernel k;
    k.names = {"p", "x", "i"};
    k.parallel = 0, k.parallel_extent = 12, k.registers = 1;
    k.buffers.resize(1);
    auto const block = [](int count) {
        codegen::statement s;
        codegen::instruction store;
        store.op = codegen::opcode::store, store.buffer = 0;
        s.code.assign(static_cast<std::size_t>(count), store);
        return s;
    };
    codegen::statement positions, x, near, far, inside;
    positions.kind = inside.kind = codegen::statement_kind::loop, positions.var = 0, inside.var = 2;
    x.kind = codegen::statement_kind::fused_index, x.var = 1, x.of = 0, x.divisor = 2,
    x.extent = 3; // 0 1 2, twice each
    near.kind = far.kind = codegen::statement_kind::branch;
    near.conditions = {{loop::affine::of(1), 1}}, far.conditions = {{loop::affine::of(1), 2}};
    inside.begin = {{loop::affine{0}, 1}}, inside.end = {{loop::affine::of(1), 1}}; // 1 turn of x = 1
    inside.body = {block(1)};
    far.body = {inside, block(2)}, far.otherwise = {block(3)};
    near.body = {block(5)}, near.otherwise = {far};
    positions.body = {x, near};
    k.body = {positions};
    auto const of_device = codegen::loops_of(k, codegen::kernel_counting::of_device);
    CHECK(of_device.total.stores == 4 * 5 + 4 * (1 + 2) + 4 * 3);
    CHECK(of_device.runs == std::vector<double>{12, 4});
    auto const of_text = codegen::loops_of(k);
    CHECK(of_text.total.stores == 12 * (5 + 1 + 2 + 3)); // the mean of x is a turn
    CHECK_FALSE(of_text.exact);
    // Of a loop without turns there are no positions to look at.
    auto never = k;
    never.body[0].body[1].otherwise[0].body[0].end = {{loop::affine{0}, 1}};
    never.body[0].body[1].otherwise[0].body[0].body = {far};
    never.body[0].body[1].otherwise[0].body[0].body[0].conditions = {{loop::affine::of(2), 1}};
    CHECK(codegen::loops_of(never, codegen::kernel_counting::of_device).total.stores == 4 * 5 + 4 * 2 + 4 * 3);
    // What no position takes counts for nothing.
    k.body[0].body[1].conditions = {{loop::affine::of(1), 3}};
    CHECK(codegen::loops_of(k, codegen::kernel_counting::of_device).total.stores == 12 * 5);
}

TEST_CASE("the map of a compiled kernel has the multiply-adds, loads and stores that its own loops say") {
    std::string missing;
    for (auto const& c : compiled_text::compilers(missing)) {
        auto const& set = c.syntax == machine::assembly_syntax::aarch64 ? isa::neon : isa::avx2;
        std::vector<kernel> kernels{product(set, 36, 16 * set.lanes(), 48)};
        if (c.name != "clang++") kernels.push_back(convolution(set, 1)); // its code is long
        for (auto const& k : kernels) {
            auto const own = codegen::loops_of(k);
            auto const text = compiled_text::compile(c, codegen::emit_cpp(k, "kernel"),
                                                     "-O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math");
            if (text.empty()) continue; // no headers for that processor
            auto const unit = machine::parse_assembly(text, c.syntax).value();
            CHECK(unit.unknown == 0);
            auto const& f = *unit.function("kernel").value();
            auto const m = machine::map_loops(f, own.sources).value();
            CAPTURE(c.name, c.options, to_string(m, f, own.sources), own.exact);
            CHECK(own.exact);
            CHECK(m.counts[instruction_class::fma] == own.total.multiply_adds);
            double stores = 0, loads = 0; // of vectors, not to the stack
            for (auto const& b : m.blocks)
                for (auto const& i : f.code_of(b.block)) {
                    auto const stack =
                        std::find(i.uses.begin(), i.uses.end(),
                                  c.syntax == machine::assembly_syntax::aarch64 ? 31 : 4) != i.uses.end();
                    if (i.bytes != set.lanes() * 4 || stack) continue;
                    stores += i.what == instruction_class::store ? b.runs : 0;
                    loads += i.what == instruction_class::load || i.folds_load() ? b.runs : 0;
                }
            CHECK(stores == own.total.stores);
            if (set.name == isa::avx2.name) CHECK(loads >= own.total.loads); // others may be constants
        }
    }
    if (!missing.empty()) WARN("not here: " << missing);
}

} // namespace kernel_loops_test
