#include "catch.hpp"
#include <gsub/driver/build.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/lower/scalar_rows.hpp>

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace scalar_rows_test {

using namespace gsub;

TEST_CASE("every elementwise operator is lowered by a row, or by its parts, but for what is no function of elements") {
    auto const ops = table_of<op_info, standard_ops>();
    auto const rows = table_of<scalar_row, standard_ops>();
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].category != op_category::elementwise) continue;
        CAPTURE(ops[i].name);
        // A normalisation has a number a channel, dropout a mask: both are rewritten before.
        auto const others = ops[i].name == "BatchNormalization" || ops[i].name == "Dropout";
        CHECK((rows[i].lower != nullptr || ops[i].composite || others));
    }
}

// One operator of operands of given types, with inputs of its own; nothing where it does not take them.
template <class Op>
std::function<value_id(graph_builder&)> of(std::vector<tensor_type> operands, attributes_of<Op> a = {}) {
    return [=](graph_builder& b) {
        std::vector<value_id> x;
        for (auto const& t : operands) x.push_back(b.input(t.element, t.dims, {}));
        return b.add<Op>(a, std::span<value_id const>{x});
    };
}
using one_operator = std::pair<std::string, std::function<value_id(graph_builder&)>>;

std::vector<one_operator> all_operators() {
    std::vector<one_operator> cases;
    shape const whole{3, 37}, row{1, 37}, one{};
    for (auto const t : stored_dtypes) {
        auto const add = [&](std::string_view name, std::function<value_id(graph_builder&)> make) {
            cases.emplace_back(fmt::format("{} of {}", name, to_string(t)), std::move(make));
        };
        add("add", of<ops::add>({{t, whole}, {t, row}}));
        add("sub", of<ops::sub>({{t, row}, {t, whole}}));
        add("mul", of<ops::mul>({{t, whole}, {t, one}}));
        add("div", of<ops::div>({{t, whole}, {t, whole}}));
        add("neg", of<ops::neg>({{t, whole}}));
        add("abs", of<ops::abs>({{t, whole}}));
        add("relu", of<ops::relu>({{t, whole}}));
        add("clip", of<ops::clip>({{t, whole}}, {.min = 0, .max = 1}));
        add("clip by operands", of<ops::clip>({{t, whole}, {t, one}, {t, one}}));
        add("sqrt", of<ops::sqrt>({{t, whole}}));
        add("exp", of<ops::exp>({{t, whole}}));
        add("tanh", of<ops::tanh>({{t, whole}}));
        add("sigmoid", of<ops::sigmoid>({{t, whole}}));
        add("reciprocal", of<ops::reciprocal>({{t, whole}}));
        add("floor", of<ops::floor>({{t, whole}}));
        add("ceil", of<ops::ceil>({{t, whole}}));
        add("round", of<ops::round>({{t, whole}}));
        add("softplus", of<ops::softplus>({{t, whole}}));
        add("softsign", of<ops::softsign>({{t, whole}}));
        add("gelu", of<ops::gelu>({{t, whole}}));
        add("hard swish", of<ops::hard_swish>({{t, whole}}));
        add("equal", of<ops::equal>({{t, whole}, {t, row}}));
        add("less", of<ops::less>({{t, whole}, {t, row}}));
        add("greater or equal", of<ops::greater_or_equal>({{t, whole}, {t, row}}));
        add("and", of<ops::logical_and>({{t, whole}, {t, row}}));
        add("bits of both", of<ops::bitwise_and>({{t, whole}, {t, row}}));
        add("bits of either", of<ops::bitwise_or>({{t, whole}, {t, row}}));
        add("bits of one", of<ops::bitwise_xor>({{t, whole}, {t, row}}));
        add("remainder", of<ops::remainder>({{t, whole}, {t, row}}));
        add("not", of<ops::logical_not>({{t, whole}}));
        add("is nan", of<ops::is_nan>({{t, whole}}));
        add("is inf", of<ops::is_inf>({{t, whole}}));
        add("where", of<ops::where>({{dtype::boolean, whole}, {t, row}, {t, whole}}));
        add("sum of a row", of<ops::reduce_sum>({{t, whole}}, {.axes = {1}}));
        add("mean of a row", of<ops::reduce_mean>({{t, whole}}, {.axes = {1}}));
        add("greatest of a row", of<ops::reduce_max>({{t, whole}}, {.axes = {-1}}));
        add("softmax", of<ops::softmax>({{t, whole}}));
        shape const cube{3, 5, 7};
        add("softmax of columns", of<ops::softmax>({{t, cube}}, {.axis = 0}));
        add("softmax of the middle", of<ops::softmax>({{t, cube}}, {.axis = -2}));
        add("sum of columns", of<ops::reduce_sum>({{t, cube}}, {.axes = {0}}));
        add("mean of planes", of<ops::reduce_mean>({{t, cube}}, {.axes = {0, 2}, .keepdims = false}));
        add("greatest of the middle", of<ops::reduce_max>({{t, cube}}, {.axes = {1}}));
        if (is_floating(t)) add("pow", of<ops::pow>({{t, whole}, {t, row}}));
        for (auto const to : stored_dtypes)
            add(fmt::format("cast to {}", to_string(to)), of<ops::cast>({{t, whole}}, {.to = to}));
    }
    return cases;
}

TEST_CASE("elementwise operators in all types that they take are kernels that compute what the evaluator does") {
    graph g;
    graph_builder b{g};
    std::vector<value_id> outputs;
    std::vector<std::string> names;
    for (auto const& [name, make] : all_operators()) {
        graph alone;
        graph_builder trial{alone};
        try {
            trial.outputs({make(trial)});
        } catch (error const&) { continue; }                           // ill-typed
        if (!evaluate_graph(alone, random_inputs(alone, 1))) continue; // of a type that it does not compute
        outputs.push_back(make(b));
        names.push_back(name);
    }
    REQUIRE(outputs.size() > 300);
    g.set_outputs(outputs);
    build_options options;
    options.jit.use_cache = false;
    auto const built = build(g, host(), options).value();
    for (auto const& s : built.steps()) {
        CAPTURE(s.name, kind_of(s));
        CHECK(std::holds_alternative<runtime::kernel_call>(s.what));
    }
    auto const inputs = random_inputs(g, 3);
    auto const got = built.run(inputs).value(), want = evaluate_graph(g, inputs).value();
    for (std::size_t o = 0; o < got.size(); ++o) {
        auto const type = got[o].element();
        auto const d = compare(got[o], want[o].converted_to(type)).value();
        CAPTURE(names[o], d.max_absolute, d.max_relative);
        CHECK(d.same_specials);
        // A result of 16 bits may be the neighbour of that of a function that is a little off.
        CHECK(d.max_relative <= (type == dtype::f16    ? 1e-3
                                 : type == dtype::bf16 ? 8e-3
                                 : is_floating(type)   ? 1e-6
                                                       : 0));
    }
}

TEST_CASE("chains of several types, with halves computed in f32, are right") {
    for (auto const half : {dtype::f16, dtype::bf16}) {
        graph g;
        graph_builder b{g};
        auto const x = b.input(half, {5, 33}, "x"), y = b.input(half, {33}, "y");
        auto const i = b.input(dtype::i32, {5, 33}, "i");
        auto const sum = b.add<ops::add>(x, y);
        auto const wide = b.add<ops::cast>({.to = dtype::f64}, {sum});
        auto const whole = b.add<ops::cast>({.to = dtype::f64}, {i});
        auto const less = b.add<ops::less>(wide, whole);
        auto const chosen = b.add<ops::where>(less, x, b.add<ops::cast>({.to = half}, {i}));
        auto const soft = b.add<ops::softmax>(chosen);
        b.outputs({sum, less, chosen, soft});
        build_options options;
        options.jit.use_cache = false;
        auto const built = build(g, host(), options).value();
        for (auto const& s : built.steps()) CHECK(std::holds_alternative<runtime::kernel_call>(s.what));
        auto const inputs = random_inputs(g, 3);
        auto const got = built.run(inputs).value(), want = evaluate_graph(g, inputs).value();
        for (std::size_t o = 0; o < got.size(); ++o) {
            auto const d = compare(got[o], want[o].converted_to(got[o].element())).value();
            CAPTURE(o, d.max_absolute);
            CHECK(d.same_specials);
            CHECK(d.max_absolute <= (o == 3 ? 0.01 : 0));
        }
    }
}

} // namespace scalar_rows_test
