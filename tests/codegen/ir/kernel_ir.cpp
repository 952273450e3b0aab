#include "catch.hpp"
#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/lower_nest.hpp>

#include <set>
#include <string>
#include <string_view>

namespace kernel_ir_test {

using namespace gsub;
using codegen::opcode;

TEST_CASE("each operation has a name of its own") {
    std::set<std::string_view> names;
    for (auto op = opcode::splat; op <= opcode::reduce; op = static_cast<opcode>(static_cast<int>(op) + 1)) {
        CHECK_FALSE(to_string(op).empty());
        CHECK(names.insert(to_string(op)).second);
    }
    codegen::instruction i;
    i.op = opcode::compute, i.function = loop::scalar_op::tanh;
    CHECK(to_string(i) == "tanh");
    i.op = opcode::accumulate, i.function = loop::scalar_op::maximum;
    CHECK(to_string(i) == "accumulate_maximum");
}

TEST_CASE("a kernel is printed as loops and instructions") {
    loop::expression_builder e{"product"};
    auto const i = e.spatial("i", 4), x = e.spatial("x", 6), k = e.reduction("k", 5);
    auto const a = e.input("a", {4, 5}), w = e.input("w", {5, 6}), y = e.output("y", {4, 6});
    loop::schedule plan{e.store(y, {i, x}, e.sum(e.constant(0), e.at(a, {i, k}) * e.at(w, {k, x})))};
    auto const [blocks, lane] = plan.split(plan.loop_of("x"), 4);
    auto const rows = plan.loop_of("i"), steps = plan.loop_of("k");
    plan.reorder({rows, blocks, steps, lane});
    plan.parallel(rows);
    plan.vectorize(lane);
    auto const made = codegen::lower(plan.finish(), "product_4").value();
    CHECK(to_string(made) == "kernel product_4, 4 lanes\n"
                             "  for i in  .. :\n"
                             "    r0 = splat 0\n"
                             "    r1 = copy r0\n"
                             "    for k in 0 .. 5:\n"
                             "      r2 = broadcast a[5*i + k]\n"
                             "      r3 = load w[6*k]\n"
                             "      r1 = multiply_add r2 r3\n"
                             "    store r1 y[6*i]\n"
                             "    r4 = splat 0\n"
                             "    r5 = copy r4\n"
                             "    for k in 0 .. 5:\n"
                             "      r6 = broadcast a[5*i + k]\n"
                             "      r7 = load w[6*k + 4] lanes 2\n"
                             "      r5 = multiply_add r6 r7\n"
                             "    store r5 y[6*i + 4] lanes 2\n");
}

TEST_CASE("limits, parts and branches are printed") {
    codegen::kernel k;
    k.name = "k";
    k.names = {"i", "j"};
    k.lanes = 4;
    codegen::statement inner;
    inner.kind = codegen::statement_kind::branch;
    inner.conditions = {{codegen::affine::of(1) - codegen::affine{2}, 7}};
    inner.otherwise.emplace_back();
    codegen::statement part;
    part.kind = codegen::statement_kind::fused_index;
    part.var = 1, part.of = 0, part.divisor = 3, part.extent = 2;
    codegen::statement outer;
    outer.kind = codegen::statement_kind::loop;
    outer.var = 0;
    outer.begin = {{0, 1}};
    outer.end = {{9, 1}, {codegen::affine::of(1), 2}};
    outer.body = {part, inner};
    k.body = {outer};
    CHECK(to_string(k) == "kernel k, 4 lanes\n"
                          "  for i in 0 .. min(9, ceil((j) / 2)):\n"
                          "    j = i / 3 % 2\n"
                          "    if 0 <= j - 2 < 7:\n"
                          "    else:\n");
}

} // namespace kernel_ir_test
