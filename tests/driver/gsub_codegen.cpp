#include "catch.hpp"
#include "marked_module.hpp"
#include <gsub/driver/gsub_codegen.hpp>

#include <string>

namespace gsub_codegen_test {

using namespace gsub;
using namespace marked_module;

TEST_CASE("a region may be an executable of its own") {
    auto const m = marked("other: Add Tanh Mul Sub Relu");
    build_options how;
    how.isa = &isa::baseline;
    auto const other = gsub_codegen("other", host(), how);
    CHECK(error_of(m, {&other, 1}) < 1e-5);
}

TEST_CASE("what a region's executable refuses is an error with the region's name") {
    auto const m = marked("other: Add Tanh Mul Sub Relu");
    build_options how;
    how.compiler = "no-such-compiler";
    auto const slow = gsub_codegen("other", host(), how); // the reference runtime computes it
    CHECK(error_of(m, {&slow, 1}) < 1e-5);
    auto kernel = runtime::extern_kernel("", "Tanh", [](gsub_call const*) -> int { return GSUB_ENVIRONMENT; });
    how.kernels = {&kernel, 1};
    how.compiler.clear();
    auto const other = gsub_codegen("other", host(), how);
    build_options options;
    options.codegens = {&other, 1};
    auto const e = build(m, evaluators(), host(), options).value();
    auto const ran = e.run(random_inputs(m.inlined().value(), 1));
    REQUIRE_FALSE(ran);
    CHECK(ran.error().message().find("Tanh") != std::string::npos);
    CHECK(ran.error().message().find("other_main_0") != std::string::npos);
}

} // namespace gsub_codegen_test
