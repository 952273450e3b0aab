#include "catch.hpp"
#include <gsub/cost/lowered.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/machine/natural_loops.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/runtime/compiler/assembly_text.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace cross_building_test {

using namespace gsub;

auto const evaluators = table_of<eval_row, standard_ops>();

struct loop_content {
    int products = 0, instructions = 0;
    [[nodiscard]] double share() const { return instructions == 0 ? 0 : static_cast<double>(products) / instructions; }
};

// Of the innermost loop with the most multiply-adds.
loop_content main_loop(machine::assembly_function const& f) {
    auto const forest = machine::natural_loops(f).value();
    loop_content best;
    for (std::size_t l = 0; l < forest.loops.size(); ++l) {
        auto const has_inner = std::any_of(forest.loops.begin(), forest.loops.end(),
                                           [&](auto const& o) { return o.parent == static_cast<std::int32_t>(l); });
        if (has_inner) continue;
        loop_content here;
        for (auto const b : forest.loops[l].blocks)
            for (auto at = f.blocks[b].first_line; at < f.blocks[b].last_line; ++at) {
                ++here.instructions;
                here.products += f.lines[at].mnemonic == "fmla";
            }
        if (here.products > best.products) best = here;
    }
    return best;
}

bool is_pointwise(runtime::kernel_call const& call) {
    auto const* const c = call.computes ? std::get_if<kernels::conv2d_shape>(&*call.computes) : nullptr;
    return c && c->groups == 1 && c->kernel == std::array<std::int64_t, 2>{1, 1};
}

TEST_CASE("multiply-adds are three quarters of the inner loops of MobileNetV2's pointwise convolutions for AArch64") {
    auto const machine = parse_target("aarch64-neon,cpu=neoverse-n1,threads=1").value();
    auto const with = runtime::find_compiler_for(*machine.isa);
    if (!with) {
        WARN("there is no compiler for AArch64");
        return;
    }
    auto const g = models::find_model("mobilenet_v2")->build({.options = {{"image", 96}}}).value();
    auto const p = plan(g, evaluators, machine).value();
    std::vector<std::int32_t> pointwise;
    for (auto const& s : p.steps) {
        auto const* const call = std::get_if<runtime::kernel_call>(&s.what);
        if (call && is_pointwise(*call)) pointwise.push_back(call->kernel);
    }
    std::sort(pointwise.begin(), pointwise.end());
    pointwise.erase(std::unique(pointwise.begin(), pointwise.end()), pointwise.end());
    REQUIRE(pointwise.size() > 10);
    loop_content all;
    for (auto const k : pointwise) {
        auto const& source = p.kernels[static_cast<std::size_t>(k)].source;
        auto const text = runtime::assembly_text_of({&source, 1}, *with).value();
        auto const unit = machine::parse_assembly(text, machine::assembly_syntax::aarch64).value();
        auto const here = main_loop(*unit.function(source.symbol).value());
        INFO("kernel " << k << ": " << here.products << " of " << here.instructions);
        CHECK(here.share() >= 0.75);
        all.products += here.products, all.instructions += here.instructions;
    }
    CHECK(all.share() >= 0.75);
}

} // namespace cross_building_test
