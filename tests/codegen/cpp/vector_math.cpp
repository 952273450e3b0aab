#include "catch.hpp"
#include "codegen/function_errors.hpp"
#include <gsub/codegen/cpp/vector_math.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace vector_math_test {

using namespace gsub;
using namespace function_errors;
using gsub::isa;

// The compiler of other tests, and clang++ where it is installed.
std::vector<runtime::compiler> compilers() {
    std::vector<runtime::compiler> out{runtime::find_compiler().value()};
    for (auto const* name : {"clang++-14", "clang++"})
        if (auto const found = runtime::find_compiler(name); found && out.size() == 1 && found->path != out[0].path)
            out.push_back(*found);
    return out;
}
// Some functions over n elements, compiled together for each instruction set that runs here.
std::vector<evaluator> compiled(std::vector<scalar_op> const& of, std::size_t n,
                                std::vector<runtime::compiler> const& compilers) {
    std::vector<evaluator> out;
    for (auto const& with : compilers)
        for (auto const* isa : compiled_kernel::sets()) {
            auto const kernels = std::make_shared<compiled_kernel::batch>(*isa);
            for (auto const op : of) kernels->add(kernel_of(op, static_cast<std::int64_t>(n), *isa));
            kernels->compile({}, with);
            out.push_back({with.path + " " + std::string{isa->name}, [of, kernels](scalar_op op, auto& x) {
                               auto const i =
                                   static_cast<std::size_t>(std::find(of.begin(), of.end(), op) - of.begin());
                               return run(kernels->function(i), (*kernels)[i], x);
                           }});
        }
    return out;
}

TEST_CASE("functions are as near to the exact value as stated, over all magnitudes") {
    auto const x = every(1021);
    REQUIRE(x.size() >= std::size_t{1} << 22);
    check_bounds(compiled({exact_functions.begin(), exact_functions.end()}, x.size(), compilers()), x);
}

TEST_CASE("approximations of fewer terms are within their bounds, over all magnitudes") {
    auto const x = every(4093);
    check_approximations(
        compiled({std::begin(approximations), std::end(approximations)}, x.size(), {runtime::find_compiler().value()}),
        x);
}

TEST_CASE("limits, signed zeros, NaN and the ends of the range are those of the function") {
    check_limits(compiled({all_functions.begin(), all_functions.end()}, limits().size(), compilers()));
}

TEST_CASE("functions of constants and of what all lanes share are functions of vectors") {
    for (auto const* isa : compiled_kernel::sets()) {
        loop::expression_builder e{"scales"};
        auto const i = e.spatial("i", 3), x = e.spatial("x", 21);
        auto const a = e.input("a", {3}), y = e.output("y", {3, 21});
        auto const v = e.at(a, {i});
        auto const what = e.store(y, {i, x}, -exp(v) + floor(v) * tanh(e.constant(0.5)) + abs(-v));
        loop::schedule plan{what};
        plan.vectorize(plan.split(plan.loop_of("x"), isa->lanes()).second);
        compiled_kernel::batch kernels{*isa};
        kernels.add(codegen::lower(plan.finish(), "scales").value());
        kernels.compile();
        CAPTURE(isa->name);
        CHECK(kernels.difference(0, what, 1) == "");
    }
}

TEST_CASE("a text defines the functions that it calls, and nothing for kernels without") {
    CHECK(codegen::vector_math_text(8, {}) == "");
    for (auto op : {scalar_op::add, scalar_op::square_root, scalar_op::negate}) {
        CHECK(codegen::vector_function(op) == "");
        CHECK(codegen::vector_math_text(8, {&op, 1}) == "");
    }
    scalar_op const all[] = {
        scalar_op::absolute,  scalar_op::floor,   scalar_op::exponential, scalar_op::logarithm,
        scalar_op::tanh,      scalar_op::erf,     scalar_op::sigmoid,     scalar_op::fast_exponential,
        scalar_op::fast_tanh, scalar_op::fast_erf};
    auto const defines = [](std::string const& text, loop::scalar_op op) {
        return text.find("vf " + std::string{codegen::vector_function(op)} + "(") != std::string::npos;
    };
    for (auto op : all) {
        auto const text = codegen::vector_math_text(8, {&op, 1});
        for (auto other : all) {
            auto const called = (op == scalar_op::floor && other == scalar_op::absolute) ||
                                (op == scalar_op::sigmoid && other == scalar_op::exponential);
            CHECK(defines(text, other) == (op == other || called));
        }
        CHECK(text.find("#include") == std::string::npos);
        CHECK(defines(codegen::vector_math_text(8, all), op));
    }
}

} // namespace vector_math_test
