#include "catch.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/passes/fuse/merge_composite.hpp>
#include <gsub/passes/partition/annotate_target.hpp>

#include <string>

namespace annotate_target_test {

using namespace gsub;
using pass_trial::count;
using pass_trial::net;
using passes::annotate_target;
using passes::compiler_support;

// Compilers of the operators that are marked, in order.
std::string marks(any_graph const& g) {
    std::string text;
    for (auto n : g.order())
        if (g.is<ops::compiler_annotation>(n))
            text += fmt::format("{}{}:{}", text.empty() ? "" : " ", g.attributes<ops::compiler_annotation>(n).compiler,
                                g.op(g.operand(n, 0).node).name);
    return text;
}

TEST_CASE("AnnotateTarget: the first compiler that can do an operator has it, weights and the rest have none") {
    net n;
    auto const x = n.input({2});
    auto const v = n.op<ops::add>(n.op<ops::tanh>(n.op<ops::relu>(x)), n.op<ops::neg>(n.number(1)));
    auto const g = n.after(annotate_target::from_text("a: Relu Neg; b: Relu Add").value(), {v});
    CHECK(marks(g) == "a:Relu b:Add");
    CHECK(n.outcome.matches == 2);
    CHECK(parse_graph(to_text(g), g.operators()).value() == g);
}

TEST_CASE("AnnotateTarget: `*` is every operator, and a question may refuse some") {
    net n;
    auto const x = n.input({2, 3});
    auto const v = n.op<ops::relu>(n.b.add<ops::reduce_sum>({.axes = {1}, .keepdims = false}, {n.op<ops::tanh>(x)}));
    annotate_target p{{compiler_support{"c", {"*"}, [](any_graph const& g, node_id i) {
                                            return g.type({i, 0}).rank() == 2;
                                        }}}};
    CHECK(marks(n.after(p, {v})) == "c:Tanh");
}

TEST_CASE("AnnotateTarget: every result that is read has a mark, outputs too") {
    net n;
    auto const s = n.b.add<ops::split>({.axis = 0, .sizes = {1, 1, 2}}, {n.input({4})}, 3).node;
    auto const g = n.after(annotate_target{{{"c", {"Split"}}}}, {{s, 0}, n.op<ops::relu>(value_id{s, 2})});
    CHECK(marks(g) == "c:Split c:Split");
    CHECK(n.outcome.matches == 1);
}

TEST_CASE("AnnotateTarget: a call of a composite counts by the pattern's name, and its body is left alone") {
    net n;
    attributes_of<ops::conv> a;
    a.strides = {1, 1}, a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
    auto const c = n.b.add<ops::conv>(a, {n.input({1, 4, 6, 6}), n.weight({4, 4, 3, 3})});
    n.g.set_outputs({{n.op<ops::relu>(c)}});
    auto m = pass_trial::module_of(n.g);
    pass_trial::run(passes::merge_composite{}, m);
    CHECK(pass_trial::run(annotate_target{{{"c", {"conv_relu", "Conv"}}}}, m).matches == 1);
    CHECK(count<ops::compiler_annotation>(m.find("main")->body) == 1);
    CHECK(count<ops::compiler_annotation>(m.find("conv_relu_0")->body) == 0);
}

TEST_CASE("AnnotateTarget: without compilers it does nothing and says so, bad arguments are errors") {
    net n;
    CHECK(n.untouched(annotate_target{}, {n.op<ops::relu>(n.input({2}))}));
    CHECK(n.outcome.skips("no compilers given") == 1);
    CHECK_FALSE(annotate_target::from_text("no colon"));
    CHECK_FALSE(annotate_target::from_text("two words: Relu"));
    CHECK(annotate_target::from_text("a: Relu").value().compilers[0].operators == std::vector<std::string>{"Relu"});
}

} // namespace annotate_target_test
