#include "catch.hpp"
#include <gsub/driver/build.hpp>
#include <gsub/driver/default_pipeline.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/lower/kernel_graph_text.hpp>
#include <gsub/models/network_builder.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace default_pipeline_test {

using namespace gsub;

// A convolution behind a border, seen from NHWC or from NCHW.
any_graph net(bool last) {
    graph g;
    models::network_builder b{g, models::weight_source{1}};
    auto const turned = [&](value_id v, ints perm) {
        return last ? b.add<ops::transpose>({.perm = std::move(perm)}, {v}) : v;
    };
    auto x = last ? b.input(dtype::f32, {1, 12, 12, 32}, "x") : b.input(dtype::f32, {1, 32, 12, 12}, "x");
    for (auto const* name : {"a", "b"}) {
        x = b.add<ops::pad>({.pads = last ? ints{0, 1, 1, 0, 0, 1, 1, 0} : ints{0, 0, 1, 1, 0, 0, 1, 1}}, {x});
        x = b.relu(name, turned(b.conv(name, turned(x, {0, 3, 1, 2}), {32, {3, 3}}), {0, 2, 3, 1}));
    }
    b.output(x, "y");
    return any_graph{g};
}
std::size_t steps_of(any_graph const& g, bool lay_out) {
    build_options options;
    options.lay_out = lay_out;
    return plan(g, table_of<eval_row, standard_ops>(), isa::avx512, options).value().steps.size();
}

TEST_CASE("a build without a list puts dimensions and borders where kernels have them") {
    CHECK(default_pipeline_pays(net(true)));
    CHECK(default_pipeline_pays(net(false)));
    CHECK_FALSE(default_pipeline_pays(any_graph{graph{}}));
    CHECK(steps_of(net(true), true) <= steps_of(net(false), true) + 1);
    CHECK(steps_of(net(true), false) > steps_of(net(true), true));
    auto const e = build(net(true), table_of<eval_row, standard_ops>(), host(), {}).value();
    auto const inputs = random_inputs(net(true), 1);
    auto const got = e.run(inputs).value(),
               expected = evaluate_graph(net(true), table_of<eval_row, standard_ops>(), inputs).value();
    CHECK(compare(got[0], expected[0]).value().max_relative < 1e-5);
}

TEST_CASE("an identity between a convolution and what follows it costs nothing") {
    auto const net = [](bool with) {
        graph g;
        models::network_builder b{g, models::weight_source{1}};
        auto const x = b.input(dtype::f32, {1, 32, 12, 12}, "x");
        auto const passed = [&](value_id v) { return with ? b.add<ops::identity>(v) : v; };
        auto const y = passed(b.batch_norm("n", passed(b.conv("a", passed(x), {32, {3, 3}}))));
        b.output(passed(b.relu("r", y)), "y");
        return any_graph{g};
    };
    CHECK(default_pipeline_pays(net(true)));
    CHECK_FALSE(default_pipeline_pays(net(false)));
    CHECK(steps_of(net(true), true) == steps_of(net(false), true));
    CHECK(plan(net(true), table_of<eval_row, standard_ops>(), isa::avx512).value().output_names ==
          std::vector<std::string>{"y"});
}

TEST_CASE("zeros keep their sign in a build without a list") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    b.outputs({b.add<ops::identity>(b.add<ops::add>(x, b.constant(tensor::from<float>({1}, {0}))))});
    CHECK(default_pipeline_pays(g));
    auto const y = build(g).value().run(std::vector{tensor::from<float>({2}, {-0.0f, 1})}).value()[0];
    CHECK_FALSE(std::signbit(y.data<float>()[0])); // -0 + 0 is 0
}

} // namespace default_pipeline_test
