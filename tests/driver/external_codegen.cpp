#include "catch.hpp"
#include "marked_module.hpp"
#include <gsub/driver/build.hpp>
#include <gsub/driver/external_codegen.hpp>
#include <gsub/driver/gsub_codegen.hpp>
#include <gsub/ir/builder.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace external_codegen_test {

using namespace gsub;
using namespace marked_module;

// The region of `dsp` as the application computes it: two operands, two results.
int app_region(gsub_call const* call) {
    if (call->operand_count != 2 || call->result_count != 2) return GSUB_UNSUPPORTED;
    auto const *a = static_cast<float const*>(call->operands[0].data),
               *b = static_cast<float const*>(call->operands[1].data);
    auto *sum = static_cast<float*>(call->results[0].data), *rest = static_cast<float*>(call->results[1].data);
    if (auto* const calls = static_cast<int*>(call->user)) ++*calls;
    for (std::int64_t i = 0; i < call->results[0].elements; ++i) {
        auto const t = std::tanh(a[i] + b[i]);
        sum[i] = t * t;
        rest[i] = std::max(a[i] - t, 0.0f);
    }
    return GSUB_OK;
}

TEST_CASE("a region of five operators goes to the function of the application that is registered for its compiler") {
    auto const m = marked("dsp: Add Tanh Mul Sub Relu");
    int calls = 0;
    std::size_t operators = 0;
    external_codegen const dsp{"dsp", {}, [&](marked_region const& r) -> result<region_kernel> {
                                   CHECK(r.marked.attributes.compiler == "dsp");
                                   CHECK(r.body.inputs().size() == 2);
                                   CHECK(r.body.output_count() == 2);
                                   for (auto n : r.body.order())
                                       operators += r.body.op(n).category == op_category::elementwise;
                                   return region_kernel{&app_region, &calls, {}};
                               }};
    CHECK(bind_regions(m, {&dsp, 1}).value().kernels.size() == 1);
    CHECK(operators == 5);
    CHECK(error_of(m, {&dsp, 1}) < 1e-5);
    CHECK(calls == 1);
}

TEST_CASE("two compilers have a code generator each, and what a composite's code generator claims is its") {
    auto const m = marked("left: Add Tanh; right: Mul Sub Relu");
    std::array const both{gsub_codegen("left"), gsub_codegen("right")};
    CHECK(bind_regions(m, both).value().kernels.size() >= 2);
    CHECK(error_of(m, both) < 1e-5);
    // By the name of a pattern.
    gsub::module named;
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {3, 5}, "x");
    auto const y = b.add<ops::tanh>(b.add<ops::exp>(x));
    g.set_outputs({&y, 1});
    named.add("curve_0", g, {.composite_name = "app.curve"});
    graph outer;
    graph_builder ob{outer};
    auto const in = ob.input(dtype::f32, {3, 5}, "x");
    auto const call = add_call(outer, named, "curve_0", std::array{in});
    value_id const result{call, 0};
    outer.set_outputs({&result, 1});
    named.add("main", outer);
    CHECK(bind_regions(named, {}).value().kernels.empty()); // nobody claims it
    auto curve = gsub_codegen("gsub");
    std::swap(curve.compiler, curve.composite);
    curve.composite = "app.curve";
    CHECK(bind_regions(named, {&curve, 1}).value().kernels.size() == 1);
    CHECK(error_of(named, {&curve, 1}) < 1e-5);
}

TEST_CASE("regions in the branches of a condition are found, and nodes of a file pass for none") {
    gsub::module m;
    graph inner;
    graph_builder ib{inner};
    auto const y = ib.add<ops::tanh>(ib.input(dtype::f32, {3}, "x"));
    inner.set_outputs({&y, 1});
    m.add("region", inner, {.compiler = "dsp"});
    for (auto const* name : {"then", "else"}) {
        graph branch;
        graph_builder b{branch};
        std::array const in{b.input(dtype::f32, {3}, "x")};
        value_id const out{add_call(branch, m, "region", in), 0};
        branch.set_outputs({&out, 1});
        m.add(name, branch);
    }
    graph g;
    graph_builder b{g};
    auto const condition = b.input(dtype::boolean, {}, "c");
    std::array const in{b.input(dtype::f32, {3}, "x")};
    value_id const out{add_if(g, m, condition, "then", "else", in), 0};
    g.set_outputs({&out, 1});
    m.add("main", g);
    CHECK(bind_regions(m, {}).error().message().find("\"dsp\"") != std::string::npos);
    auto const dsp = gsub_codegen("dsp");
    auto const bound = bind_regions(m, {&dsp, 1}).value();
    CHECK(bound.kernels.size() == 1);
    CHECK(bound.what.find("then")->body.op(bound.what.find("then")->body.output(0).node).category ==
          op_category::opaque);

    graph stranger;
    auto const x = stranger.add_input(tensor_type{dtype::f32, ints{3}}, "x");
    type_id const type = stranger.type_of(x);
    value_id const z{stranger.add_opaque({.domain = "gsub.region", .op_type = "region"},
                                         tensor::zeros(dtype::u8, ints{1}), {&x, 1}, {&type, 1}),
                     0};
    stranger.set_outputs({&z, 1});
    gsub::module file;
    file.add("main", stranger);
    CHECK(bind_regions(file, {}).error().code() == error_code::invalid_input);
}

TEST_CASE("regions and code generators that do not fit are refused by name") {
    auto const m = marked("dsp: Add Tanh Mul Sub Relu");
    auto const other = gsub_codegen("gpu");
    auto const missing = bind_regions(m, {&other, 1});
    REQUIRE_FALSE(missing);
    CHECK(missing.error().id() == errors::no_code_generator);
    CHECK(missing.error().message().find("\"dsp\"") != std::string::npos);
    CHECK(missing.error().message().find("\"gpu\"") != std::string::npos);
    external_codegen refuses{"dsp", {}, [](marked_region const&) -> result<region_kernel> {
                                 return error{error_code::unsupported, "no unit for tanh"};
                             }};
    auto const refused = bind_regions(m, {&refuses, 1});
    REQUIRE_FALSE(refused);
    CAPTURE(refused.error().message());
    CHECK(refused.error().message().find("no unit for tanh") != std::string::npos);
    CHECK(refused.error().message().find("dsp_main_0") != std::string::npos);
    std::array const twice{refuses, refuses};
    CHECK(bind_regions(m, twice).error().id() == errors::user_kernel_entry);
    external_codegen const nameless{{}, {}, refuses.compile};
    CHECK(bind_regions(m, {&nameless, 1}).error().id() == errors::user_kernel_entry);
    // What the function says at run time is the error of the run.
    external_codegen const fails{
        "dsp", {}, [](marked_region const&) -> result<region_kernel> {
            return region_kernel{[](gsub_call const*) -> int { return GSUB_ENVIRONMENT; }, nullptr, {}};
        }};
    CHECK(build(m, evaluators(), host()).error().message().find("\"dsp\"") != std::string::npos);
    build_options options;
    options.codegens = {&fails, 1};
    auto const e = build(m, evaluators(), host(), options).value();
    auto const ran = e.run(random_inputs(m.inlined().value(), 1));
    REQUIRE_FALSE(ran);
    CHECK(ran.error().code() == error_code::environment);
}

} // namespace external_codegen_test
