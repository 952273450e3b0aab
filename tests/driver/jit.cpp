#include "catch.hpp"
#include <gsub/driver/build.hpp>
#include <gsub/driver/jit.hpp>
#include <gsub/models.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace jit_test {

using namespace gsub;

struct notes final : observer {
    std::vector<std::string> all;
    void on_note(std::string_view text) override { all.emplace_back(text); }
};

std::vector<tensor> inputs_of(any_graph const& g) {
    std::vector<tensor> out;
    for (auto n : g.inputs()) {
        out.push_back(tensor::zeros(g.type({n, 0})));
        fill_random(out.back(), random_stream{out.size()});
    }
    return out;
}

bool runs_here() {
    if (host().has(isa::sse42)) return true;
    WARN("nothing is emitted: this machine has no SSE4.2");
    return false;
}

// The instruction sets that machine code is made for, and that run here.
std::vector<isa const*> sets() {
    std::vector<isa const*> out;
    for (auto const* isa : {&isa::avx512, &isa::avx2, &isa::sse42})
        if (host().has(*isa)) out.push_back(isa);
    return out;
}

TEST_CASE("networks whose kernels are emitted in memory compute what the reference runtime does") {
    if (!runs_here()) return;
    for (auto const* isa : sets())
        for (auto const* name : {"resnet_module", "t2", "t4", "t7", "t11", "t13", "t14"}) {
            CAPTURE(isa->name, name);
            auto const g = models::find_model(name)->build(3);
            notes heard;
            build_options options{.emitter = &jit_emitter};
            options.isa = isa;
            options.observe = &heard;
            auto const made = build(g, host(), options).value();
            auto const inputs = inputs_of(g);
            auto const found = made.run(inputs).value();
            auto const expected = evaluate_graph(g, inputs).value();
            for (std::size_t i = 0; i < found.size(); ++i)
                CHECK(compare(found[i], expected[i]).value().max_relative < 1e-4);
            for (auto const& step : made.steps()) CHECK(kind_of(step) != "reference");
            CAPTURE(heard.all);
            CHECK(heard.all.empty()); // nothing is compiled
        }
}

// Has a power, which machine code does not take.
graph with_power() {
    graph g;
    auto const x = g.add_input(tensor_type{dtype::f32, ints{4, 33}}, "x");
    g.set_outputs(std::vector{g.add<ops::pow>(g.add<ops::abs>(x), g.add_constant(tensor::scalar(1.5f)))});
    return g;
}

TEST_CASE("what machine code does not take is compiled and named") {
    if (!runs_here()) return;
    auto const g = with_power();
    notes heard;
    build_options options{.emitter = &jit_emitter};
    options.observe = &heard;
    auto const made = build(g, host(), options).value();
    REQUIRE(heard.all.size() == 1);
    CHECK(heard.all[0].find("pow") != std::string::npos);
    auto const inputs = inputs_of(g);
    CHECK(compare(made.run(inputs).value()[0], evaluate_graph(g, inputs).value()[0]).value().max_relative < 1e-4);
}

TEST_CASE("no compiler is needed where machine code takes all kernels, and what it does not take is told") {
    if (!runs_here()) return;
    auto const g = models::find_model("t14")->build(1);
    notes heard;
    build_options options{.compiler = "/nowhere/g++", .emitter = &jit_emitter};
    options.observe = &heard;
    auto const made = build(g, host(), options).value();
    CAPTURE(heard.all);
    CHECK(heard.all.empty());
    auto const inputs = inputs_of(g);
    CHECK(compare(made.run(inputs).value()[0], evaluate_graph(g, inputs).value()[0]).value().max_relative < 1e-4);

    auto const curved = with_power();
    auto const slow = build(curved, host(), options).value();
    REQUIRE(heard.all.size() == 1);
    CHECK(heard.all[0].find("no kernels are generated") != std::string::npos);
    auto const given = inputs_of(curved);
    CHECK(compare(slow.run(given).value()[0], evaluate_graph(curved, given).value()[0]).value().max_relative < 1e-4);
}

} // namespace jit_test
