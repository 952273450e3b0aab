#include "catch.hpp"
#include <gsub/driver/build.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/kernels/local_response_norm.hpp>

namespace local_response_norm_test {

using namespace gsub;

TEST_CASE("a local response normalisation of any size and power is the evaluator's, NaN and infinities included") {
    std::uint64_t seed = 1;
    for (auto const element : {dtype::f32, dtype::f64, dtype::f16})
        for (auto const size : {1, 2, 3, 5, 9})
            for (auto const beta : {0.25, 0.5, 0.75, 1.0, 0.6}) {
                graph g;
                graph_builder b{g};
                auto const x = b.input(element, {2, 6, 3, 7}, "x");
                b.outputs({b.add<ops::lrn>({.size = size, .alpha = 0.3, .beta = beta, .bias = 1.5}, {x})});
                build_options options;
                options.jit.use_cache = false;
                auto const built = build(g, host(), options).value();
                REQUIRE(built.steps().size() == 1);
                CHECK(kind_of(built.steps()[0]) == "local response norm");
                auto inputs = random_inputs(g, ++seed);
                if (element == dtype::f32) {
                    inputs[0].mutable_data<float>()[11] = std::numeric_limits<float>::infinity();
                    inputs[0].mutable_data<float>()[200] = std::numeric_limits<float>::quiet_NaN();
                }
                auto const d = compare(built.run(inputs).value()[0], evaluate_graph(g, inputs).value()[0]).value();
                CAPTURE(to_string(element), size, beta, d.max_relative);
                CHECK(d.same_specials);
                CHECK(d.max_relative < (element == dtype::f16 ? 1e-3 : 1e-6));
            }
}

} // namespace local_response_norm_test
