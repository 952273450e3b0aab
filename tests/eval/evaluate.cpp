#include "catch.hpp"
#include "eval/compute.hpp"
#include "ir/random_graph.hpp"
#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/text.hpp>

#include <string>
#include <vector>

namespace evaluate_test {
namespace ops {
struct swish {};       // native evaluation only
struct cube {};        // composite only
struct twice {};       // both; the native one adds a thousand, so that a test can tell
struct scaled {};      // elementwise with attributes
struct mystery {};     // typed, but without an evaluation
struct log_sum_exp {}; // needs exp, so a field sees an unknown function
} // namespace ops
} // namespace evaluate_test

namespace gsub {
template <>
struct op_traits<evaluate_test::ops::swish> {
    static constexpr std::string_view name = "Swish", domain = "test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
};
template <>
struct infer_shape<evaluate_test::ops::swish> : same_as_input<0> {};
template <>
struct evaluate<evaluate_test::ops::swish> {
    template <class T>
    static T scalar(T x) {
        return x / (T(1) + math::exp(-x));
    }
};
template <>
struct op_traits<evaluate_test::ops::cube> {
    static constexpr std::string_view name = "Cube", domain = "test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
    static constexpr auto needs = scalar_needs::ring;
    static constexpr bool composite = true;
};
template <>
struct decompose<evaluate_test::ops::cube> {
    static value_id build(node_sink& sink, no_attributes const&, std::span<value_id const> x) {
        return sink.add<ops::mul>(x[0], sink.add<ops::mul>(x[0], x[0]));
    }
};
template <>
struct op_traits<evaluate_test::ops::twice> : op_traits<evaluate_test::ops::cube> {
    static constexpr std::string_view name = "Twice", domain = "test";
};
template <>
struct decompose<evaluate_test::ops::twice> {
    static value_id build(node_sink& sink, no_attributes const&, std::span<value_id const> x) {
        return sink.add<ops::add>(x[0], x[0]);
    }
};
template <>
struct evaluate<evaluate_test::ops::twice> {
    template <class T>
    static T scalar(T x) {
        return x + x + math::constant<T>(1000);
    }
};
template <>
struct op_traits<evaluate_test::ops::scaled> {
    static constexpr std::string_view name = "Scaled", domain = "test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
    static constexpr auto needs = scalar_needs::ring;
    struct attributes {
        double by = 1;
        static constexpr field<attributes> fields[] = {{"by", &attributes::by}};
    };
};
template <>
struct infer_shape<evaluate_test::ops::scaled> : same_as_input<0> {};
template <>
struct evaluate<evaluate_test::ops::scaled> {
    template <class T>
    static T scalar(attributes_of<evaluate_test::ops::scaled> const& a, T x) {
        return math::constant<T>(a.by) * x;
    }
};
template <>
struct op_traits<evaluate_test::ops::mystery> {
    static constexpr std::string_view name = "Mystery", domain = "test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
};
template <>
struct infer_shape<evaluate_test::ops::mystery> : same_as_input<0> {};
} // namespace gsub

namespace evaluate_test {

using namespace gsub;
using compute::f32;
using compute::near;
using compute::one;
using compute::same;

using my_ops = standard_ops::with<ops::swish, ops::cube, ops::twice, ops::scaled, ops::mystery>;
using my_graph = basic_graph<my_ops>;

static_assert(detail::has_evaluate<ops::swish> && detail::has_evaluate<ops::scaled> &&
              !detail::has_evaluate<ops::cube>);
static_assert(!detail::has_evaluate<ops::mystery>);
static_assert(detail::instantiable<ops::scaled, field61>() && !detail::instantiable<ops::swish, field61>());

std::string message_of(result<std::vector<tensor>> const& r) {
    return r ? "computed" : r.error().message();
}
bool says(std::string_view text, std::string_view words) {
    return text.find(words) != std::string_view::npos;
}

TEST_CASE("every standard operator is evaluated: by a row of its own or by its decomposition") {
    auto const table = table_of<eval_row, standard_ops>();
    auto const inference = table_of<infer_row, standard_ops>();
    for (std::size_t row = structural_rows; row < table.size(); ++row) {
        auto const name = table_of<op_info, standard_ops>()[row].name;
        CAPTURE(name);
        if (name != op_traits<gsub::ops::if_else>::name) // its branches have
            CHECK((table[row].move || table[row].run || inference[row].build));
        CHECK_FALSE((table[row].move && table[row].run));
    }
}

TEST_CASE("float, double and the fast kernels agree on random graphs, and every run gives the same bytes") {
    fork_join_executor two{2};
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 30);
        auto const inputs = random_inputs(g, seed);
        auto const native = evaluate_graph(g, inputs).value();
        auto const again = evaluate_graph(g, inputs).value();
        auto const slow = evaluate_graph(g, inputs, {.fast_kernels = false}).value();
        auto const threaded = evaluate_graph(g, inputs, {.threads = &two}).value();
        auto const wide = evaluate_graph(g, inputs, {.compute = precision::f64}).value();
        auto const rounded = evaluate_graph(g, inputs, {.compute = precision::f64, .round_outputs = true}).value();
        REQUIRE(native.size() == g.output_count());
        for (std::size_t i = 0; i < native.size(); ++i) {
            CAPTURE(i, to_string(g.type(g.output(i))));
            CHECK(same(native[i], again[i]));
            CHECK(near(slow[i], native[i], 1e-4));
            CHECK(near(threaded[i], native[i], 1e-4));
            CHECK(compatible(native[i].type(), g.type(g.output(i))));
            CHECK(rounded[i].element() == native[i].element());
            if (!is_floating(native[i].element())) continue;
            CHECK(wide[i].element() == dtype::f64);
            CHECK(near(native[i], wide[i], 2e-3)); // errors of thirty operators one after the other
            CHECK(same(rounded[i], wide[i].converted_to(native[i].element())));
        }
    }
}

TEST_CASE("in the prime field a graph is a function of its inputs and of nothing else") {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 25);
        auto const inputs = random_inputs(g, seed);
        evaluate_options const field{.compute = precision::field};
        auto const exact = evaluate_graph(g, inputs, field).value();
        auto const slow = evaluate_graph(g, inputs, {.compute = precision::field, .fast_kernels = false}).value();
        std::vector<tensor> lifted;
        for (auto const& t : inputs) lifted.push_back(to_precision(t, precision::field));
        auto const from_field = evaluate_graph(g, lifted, field).value();
        auto compacted = g;
        compacted.compact();
        auto const renumbered = evaluate_graph(compacted, inputs, field).value();
        for (std::size_t i = 0; i < exact.size(); ++i) {
            CHECK(same(exact[i], slow[i]));
            CHECK(same(exact[i], from_field[i]));
            CHECK(same(exact[i], renumbered[i]));
            CHECK(exact[i].element() ==
                  (is_floating(g.type(g.output(i)).element) ? dtype::field61 : g.type(g.output(i)).element));
        }
    }
}

TEST_CASE("two ways to compute a polynomial agree exactly in the field, and up to rounding in floats") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 3, 4, 4}, "x"), y = b.input(dtype::f32, {2, 3, 4, 4}, "y");
    auto const w = b.constant(compute::normal({5, 3, 3, 3}, 1));
    attributes_of<gsub::ops::conv> a;
    a.strides = {1, 1}, a.pads = {1, 1, 1, 1}, a.dilations = {1, 1};
    auto const conv = [&](value_id v) { return b.add<gsub::ops::conv>(a, {v, w}); };
    b.outputs({conv(b.add<gsub::ops::add>(x, y)), b.add<gsub::ops::add>(conv(x), conv(y))});
    auto const inputs = random_inputs(g, 3);
    auto const exact = evaluate_graph(g, inputs, {.compute = precision::field}).value();
    CHECK(same(exact[0], exact[1]));
    auto const floats = evaluate_graph(g, inputs).value();
    CHECK(near(floats[0], floats[1]));
    CHECK_FALSE(same(floats[0], floats[1]));
}

TEST_CASE("an operator of the user's own runs through `evaluate<Op>`, its decomposition, or is named as missing") {
    auto const x = compute::normal({2, 3}, 1);
    CHECK(near(one<ops::swish, my_ops>({x}), one<gsub::ops::mul>({x, one<gsub::ops::sigmoid>({x})})));
    CHECK(near(one<ops::cube, my_ops>({x}), one<gsub::ops::mul>({x, one<gsub::ops::mul>({x, x})})));
    CHECK(near(one<ops::scaled, my_ops>({.by = -3}, {x}), one<gsub::ops::mul>({x, tensor::scalar(-3.0f)})));
    // A native evaluation goes before the decomposition.
    CHECK(one<ops::twice, my_ops>({tensor::scalar(1.0f)}).data<float>()[0] == 1002);
    CHECK(compute::failure<ops::mystery, my_ops>({}, {x}) ==
          "not supported: Mystery (node \"Mystery_2\"): no gsub::evaluate for this operator");
    evaluate_options const field{.compute = precision::field};
    auto const lifted = to_precision(x, precision::field);
    CHECK(same(one<ops::cube, my_ops>({}, {x}, field),
               one<gsub::ops::mul>({}, {lifted, one<gsub::ops::mul>({}, {x, x}, field)}, field)));
    // What the field cannot compute is an unknown function of each element.
    auto const unknown = one<ops::swish, my_ops>({}, {x}, field);
    auto const flipped = one<gsub::ops::transpose>({.perm = {1, 0}}, {x});
    CHECK(same(one<ops::swish, my_ops>({}, {flipped}, field),
               one<gsub::ops::transpose>({.perm = {1, 0}}, {unknown}, field)));
    CHECK_FALSE(same(unknown, one<gsub::ops::sigmoid>({}, {x}, field)));
}

TEST_CASE("everything that cannot be computed is listed at once, constant parts and opaque nodes too") {
    my_graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    auto const w = b.add<ops::mystery>(b.constant(f32({2}, {1, 2}))); // constant
    type_id const t = g.type_of(x);
    auto const opaque =
        g.add_opaque({.domain = "ai.vendor", .op_type = "Fancy"}, tensor::zeros(dtype::u8, ints{1}), {&x, 1}, {&t, 1});
    auto const plain = g.add_opaque({.op_type = "NonZero"}, tensor::zeros(dtype::u8, ints{1}), {&x, 1}, {&t, 1});
    auto const call =
        g.append_node(gsub::structural::call, intern<gsub::ops::call>({.callee = "f"}), 0, {&x, 1}, {&t, 1});
    g.set_source(opaque, "fancy node");
    b.outputs({b.add<gsub::ops::sum>(w, value_id{opaque, 0}, value_id{plain, 0}, value_id{call, 0})});
    auto const missing = not_computable(g, table_of<eval_row, my_ops>());
    REQUIRE(missing.size() == 4);
    CHECK(missing[0].op == "Mystery");
    CHECK(missing[1].op == "ai.vendor.Fancy");
    CHECK(missing[1].node == "fancy node");
    CHECK(missing[2].op == "NonZero");
    CHECK(missing[3].op == "call");
    CHECK(missing[0].id == errors::no_evaluator);
    CHECK(missing[1].id == errors::unknown_operator);
    CHECK(missing[2].id == errors::unknown_operator);
    CHECK(missing[3].id == errors::no_evaluator);
    auto const r = evaluate_graph(g, random_inputs(g, 1));
    REQUIRE_FALSE(r);
    CHECK(r.error().code() == error_code::unsupported);
    CHECK(r.error().problems().size() == 4);
    CHECK(says(r.error().message(), "4 problems\n  not supported: Mystery"));
    CHECK(not_computable(random_graph::make(1, 30), table_of<eval_row, standard_ops>()).empty());
}

graph relu_of(tensor_type const& type) {
    graph g;
    graph_builder b{g};
    b.outputs({b.add<gsub::ops::relu>(g.add_input(type, "x"))});
    return g;
}

TEST_CASE("inputs that do not fit are refused by what was given and what is taken") {
    auto const g = relu_of({dtype::f32, shape{dim{2}, dim{symbol{"n"}}}});
    auto const given = [&](std::vector<tensor> inputs, precision p = precision::native) {
        auto const r = evaluate_graph(g, inputs, {.compute = p});
        if (!r) CHECK(r.error().id() == errors::given_inputs);
        return message_of(r);
    };
    CHECK(given({tensor::zeros(dtype::f32, ints{2, 7})}) == "computed");
    CHECK(given({tensor::zeros(dtype::f32, ints{2, 0})}) == "computed");
    CHECK(given({}) == "usage: 0 inputs were given; the graph takes 1");
    CHECK(given({tensor::scalar(1.0f), tensor::scalar(1.0f)}) == "usage: 2 inputs were given; the graph takes 1");
    CHECK(given({tensor::zeros(dtype::f32, ints{3, 7})}) ==
          "usage: input (node \"x\"): a tensor of type f32[3,7] was given; the graph takes f32[2,n]");
    CHECK(says(given({tensor::zeros(dtype::f32, ints{2})}), "f32[2] was given"));
    CHECK(says(given({tensor::zeros(dtype::f64, ints{2, 7})}), "f64[2,7] was given"));
    CHECK(says(given({tensor::zeros(dtype::i32, ints{2, 7})}), "i32[2,7] was given"));
    CHECK(says(given({tensor{}}), "?[] was given"));
    // A double is what the accuracy oracle computes with; a float is converted.
    CHECK(given({tensor::zeros(dtype::f64, ints{2, 7})}, precision::f64) == "computed");
    CHECK(given({tensor::zeros(dtype::f32, ints{2, 7})}, precision::f64) == "computed");
    CHECK(says(given({tensor::zeros(dtype::f16, ints{2, 7})}, precision::f64), "f16[2,7] was given"));
}

TEST_CASE("unknown sizes are those of the inputs of the run") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {dim{symbol{"batch"}}, 3, dim{}}, "x");
    auto const sizes = b.add<gsub::ops::shape>({}, {x});
    auto const batch = b.add<gsub::ops::slice>({.starts = {0}, .ends = {1}, .axes = {0}, .steps = {1}}, {sizes});
    auto const target = b.add<gsub::ops::concat>({.axis = 0}, {batch, b.constant(compute::i64({-1}))});
    auto const flat = b.add<gsub::ops::reshape>({}, {x, target});
    b.outputs({flat, b.add<gsub::ops::add>(x, b.add<gsub::ops::fill>({.value = 1}, {sizes})), sizes});
    for (auto const& dims : {ints{1, 3, 4}, ints{5, 3, 1}, ints{0, 3, 2}, ints{2, 3, 0}}) {
        std::vector<tensor> const inputs{compute::normal(dims, 1)};
        auto const r = evaluate_graph(g, inputs);
        if (dims[0] == 0) { // what is left over of nothing is anything
            CHECK(says(message_of(r), "Reshape"));
            continue;
        }
        REQUIRE(r);
        CHECK(same((*r)[0], inputs[0].reshaped(ints{dims[0], 3 * dims[2]})));
        CHECK(same((*r)[1], one<gsub::ops::add>({inputs[0], tensor::scalar(1.0f)})));
        CHECK(same((*r)[2], compute::i64(dims)));
    }
}

TEST_CASE("sizes that contradict each other at run time are an error before anything is read") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {dim{}, 3}, "x"), y = b.input(dtype::f32, {4, 3}, "y");
    auto const sum = b.add<gsub::ops::add>(x, y); // typed f32[4,3]: x has four rows or one
    g.set_source(sum.node, "the sum");
    b.outputs({sum});
    auto const with_rows = [&](std::int64_t rows) {
        return evaluate_graph(g, std::vector{compute::normal({rows, 3}, 1), compute::normal({4, 3}, 2)});
    };
    CHECK(with_rows(4));
    CHECK(with_rows(1));
    for (std::int64_t rows : {0, 2, 3, 5}) {
        auto const r = with_rows(rows);
        REQUIRE_FALSE(r);
        CHECK(r.error().id() == errors::ill_typed);
        CHECK(r.error().message() ==
              fmt::format("invalid input: Add (node \"the sum\"): f32[{},3] and f32[4,3] do not broadcast", rows));
    }
    // One name is one size.
    graph named;
    graph_builder nb{named};
    auto const p = nb.input(dtype::f32, {dim{symbol{"n"}}}, "p"), q = nb.input(dtype::f32, {dim{symbol{"n"}}}, "q");
    nb.outputs({nb.add<gsub::ops::add>(p, q)});
    CHECK(evaluate_graph(named, std::vector{compute::normal({3}, 1), compute::normal({3}, 2)}));
    CHECK_FALSE(evaluate_graph(named, std::vector{compute::normal({2}, 1), compute::normal({3}, 2)}));
    auto const broadcast_by_accident =
        evaluate_graph(named, std::vector{compute::normal({1}, 1), compute::normal({3}, 2)});
    CHECK(message_of(broadcast_by_accident) ==
          "usage: input (node \"q\"): dimension n is 3 here and 1 in an input before; equal names are equal sizes");
}

TEST_CASE("a bound that turns out to be several numbers at run time is refused") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x"), bound = b.input(dtype::f32, {dim{}}, "bound");
    b.outputs({b.add<gsub::ops::clip>({}, {x, bound})});
    CHECK(evaluate_graph(g, std::vector{compute::normal({2}, 1), compute::normal({1}, 2)}));
    for (std::int64_t numbers : {0, 2})
        CHECK(message_of(evaluate_graph(g, std::vector{compute::normal({2}, 1), compute::normal({numbers}, 2)})) ==
              fmt::format("invalid input: Clip (node \"Clip_3\"): bound f32[{}]; it takes one number", numbers));
}

TEST_CASE("declared sizes that the operands do not have are refused, never used for a buffer") {
    auto const run = [](std::string_view nodes, std::vector<tensor> const& inputs) {
        auto const g = parse_graph<standard_ops>(fmt::format("graph \"\" {{\n{}\n}}", nodes));
        return g ? message_of(evaluate_graph(*g, inputs)) : g.error().message();
    };
    auto const x = compute::normal({2, 3}, 1);
    std::string const two = "%0: f32[2,3] = input\n%1: i64[2] = input\n";
    CHECK(run(two + "%2: f32[3,2] = Reshape(%0, %1)\nreturn %2", {x, compute::i64({3, 2})}) == "computed");
    CHECK(says(run(two + "%2: f32[7,9] = Reshape(%0, %1)\nreturn %2", {x, compute::i64({3, 2})}),
               "its result is f32[3,2], the graph declares f32[7,9]"));
    CHECK(says(run(two + "%2: f32[9,9] = Slice(%0, %1, %1)\nreturn %2", {x, compute::i64({0, 1})}),
               "the graph declares"));
    CHECK(says(run("%0: f32[2,3] = input\n%1: i64[4] = input\n%2: f32[9,9] = Pad(%0, %1)\nreturn %2",
                   {x, compute::i64({0, 0, 1, 1})}),
               "its result is f32[3,4], the graph declares f32[9,9]"));
    CHECK(says(run(two + "%2: f32[5,3], %3: f32[5,3] = Split(%0, %1)\nreturn %2", {x, compute::i64({1, 1})}),
               "declares"));
    CHECK(says(run(two + "%2: f32[9,9] = ConstantOfShape(%1)\nreturn %2", {x, compute::i64({1, 1})}), "declares"));
    CHECK(says(run("%0: f32[?,3] = input\n%1: f32[4,3] = Relu(%0)\nreturn %1", {x}), "the graph declares f32[4,3]"));
    CHECK(says(run("%0: f32[*] = input\n%1: f32[3] = Flatten(%0)\nreturn %1", {x}), "Flatten"));
    // Settings in tensors that are no lists, or longer than anything that is followed.
    CHECK(says(run("%0: f32[2,3] = input\n%1: ?[*] = input\n%2: f32[9,9] = Slice(%0, %1, %1)\nreturn %2",
                   {x, compute::normal({2}, 1)}),
               "it takes integers in a vector"));
    CHECK(says(run("%0: f32[2,3] = input\n%1: i64[*] = input\n%2: f32[9,9] = Slice(%0, %1, %1)\nreturn %2",
                   {x, tensor::zeros(dtype::i64, ints{1, 1})}),
               "it takes integers in a vector"));
    CHECK(says(run("%0: f32[2,3] = input\n%1: i64[?] = input\n%2: f32[9,9] = Reshape(%0, %1)\nreturn %2",
                   {x, tensor::zeros(dtype::i64, ints{80})}),
               "not supported"));
}

TEST_CASE("graphs from damaged texts run or are refused, and nothing else") {
    int ran = 0, refused = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        auto const text = to_text(random_graph::make(seed, 12));
        random_stream r{seed};
        for (int i = 0; i < 150; ++i) {
            auto damaged = text;
            for (auto n = 1 + r.below(2); n-- > 0;) {
                // Change a digit, or replace it by a number: sizes, axes, operands, bytes of constants.
                auto at = r.below(damaged.size());
                while (damaged[at] < '0' || damaged[at] > '9') at = (at + 1) % damaged.size();
                if (r.below(3))
                    damaged[at] = static_cast<char>('0' + r.below(10));
                else
                    damaged.replace(
                        at, 1,
                        r.below(2) ? "?" : fmt::format("{}", static_cast<std::int64_t>(r() >> (40 + r.below(24)))));
            }
            auto const g = parse_graph<standard_ops>(damaged);
            if (!g) continue;
            bool small = true; // inputs are the caller's, not the file's
            for (auto n : g->inputs()) {
                std::int64_t count = 1;
                for (auto d : g->type({n, 0}).dims)
                    if (d.fixed() && count < 1'000'000) count *= std::min<std::int64_t>(d.size(), 1'000'000);
                small = small && count < 100'000;
            }
            if (!small) continue;
            auto const outcome = evaluate_graph(*g, random_inputs(*g, seed), {.max_bytes = 1 << 20});
            outcome ? ++ran : ++refused;
        }
    }
    CHECK(ran > 100);
    CHECK(refused > 5);
}

TEST_CASE("a tensor beyond the limit is refused before it is allocated") {
    graph g;
    graph_builder b{g};
    auto const one_element = b.input(dtype::f32, {1}, "x");
    auto const large = b.add<gsub::ops::fill>({.shape = {1 << 20}}, std::span<value_id const>{});
    b.outputs({b.add<gsub::ops::add>(large, one_element)});
    CHECK(evaluate_graph(g, random_inputs(g, 1)));
    auto const r = evaluate_graph(g, random_inputs(g, 1), {.max_bytes = 1 << 20});
    REQUIRE_FALSE(r);
    CHECK(r.error().id() == errors::memory_limit);
    CHECK(says(r.error().message(), "a result of type f32[1048576] exceeds the limit of 1048576 bytes"));
    // In double it is twice as much.
    CHECK(evaluate_graph(g, random_inputs(g, 1), {.max_bytes = 5 << 20}));
    CHECK_FALSE(evaluate_graph(g, random_inputs(g, 1), {.compute = precision::f64, .max_bytes = 5 << 20}));
}

TEST_CASE("results that take more at one time than the process can have are refused before anything is computed") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {1}, "x");
    std::vector<value_id> parts;
    for (int i = 0; i < 1000; ++i) // 8 TiB, of which no tensor is beyond the limit
        parts.push_back(b.add<gsub::ops::add>(
            b.add<gsub::ops::fill>({.shape = {std::int64_t{1} << 31}}, std::span<value_id const>{}), x));
    g.set_outputs(parts);
    std::size_t ran = 0;
    evaluate_options const options{.on_node = [](void* context, any_graph const&, node_id,
                                                 std::span<tensor const>) { ++*static_cast<std::size_t*>(context); },
                                   .context = &ran};
    auto const r = evaluate_graph(g, random_inputs(g, 1), options);
    REQUIRE_FALSE(r);
    CHECK(r.error().id() == errors::memory_limit);
    CHECK(says(r.error().message(), "results that are needed at one time take"));
    CHECK(ran == 0);
}

TEST_CASE("an error while running names the node") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 2}, "x"), i = b.input(dtype::i64, {1, 1}, "i");
    auto const y = b.add<gsub::ops::gather>({}, {x, i});
    g.set_source(y.node, "pick");
    b.outputs({y});
    auto const r = evaluate_graph(g, std::vector{compute::normal({2, 2}, 1), tensor::from<std::int64_t>({1, 1}, {9})});
    CHECK(message_of(r) == "node \"pick\": invalid input: Gather: index 9 for a dimension of size 2");
    CHECK(r.error().id() == errors::index_out_of_range);
}

TEST_CASE("outputs may be inputs, constants, or the same value several times") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x"), w = b.constant(f32({1}, {5})), y = b.add<gsub::ops::relu>(x);
    b.outputs({x, w, y, y, x});
    auto const inputs = random_inputs(g, 1);
    auto const r = evaluate_graph(g, inputs).value();
    CHECK(same(r[0], inputs[0]));
    CHECK(same(r[1], f32({1}, {5})));
    CHECK(same(r[2], r[3]));
    CHECK(same(r[4], inputs[0]));
    CHECK(evaluate_graph(graph{}, {}).value().empty());
}

TEST_CASE("outputs are computed in memory that is given for them, where a node makes them as declared") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4}, "x"), y = b.add<gsub::ops::relu>(x), z = b.add<gsub::ops::neg>(y);
    b.outputs({z, x, y, z});
    auto const inputs = random_inputs(g, 1);
    auto const alone = evaluate_graph(g, inputs).value();
    alignas(64) float memory[4][4] = {};
    std::vector<tensor> into;
    for (auto& row : memory) into.push_back(tensor::wrapping(dtype::f32, ints{4}, reinterpret_cast<std::byte*>(row)));
    into[2] = {}; // none for y
    evaluate_options options;
    options.into = {into.data(), into.size()};
    auto const r = evaluate_graph(g, inputs, options).value();
    for (std::size_t i = 0; i < alone.size(); ++i) CHECK(same(r[i], alone[i]));
    CHECK(r[0].raw().data() == reinterpret_cast<std::byte const*>(memory[0]));
    CHECK(r[1].raw().data() == inputs[0].raw().data()); // no node makes it
    CHECK(r[3].raw().data() == r[0].raw().data());
    // Of another size, or with all in double precision: they have memory of their own.
    std::vector<tensor> other{tensor::wrapping(dtype::f32, ints{3}, reinterpret_cast<std::byte*>(memory[0]))};
    options.into = {other.data(), other.size()};
    CHECK(same(evaluate_graph(g, inputs, options).value()[0], alone[0]));
    std::vector<tensor> narrow{tensor::wrapping(dtype::f32, ints{4}, reinterpret_cast<std::byte*>(memory[0]))};
    options.into = {narrow.data(), narrow.size()}, options.compute = precision::f64;
    CHECK(evaluate_graph(g, inputs, options).value()[0].element() == dtype::f64);
}

TEST_CASE("each node is reported with its results when it has run") {
    auto const g = random_graph::make(2, 20);
    struct seen {
        std::vector<node_id> nodes;
        std::size_t wrong = 0;
    } s;
    evaluate_options options;
    options.context = &s;
    options.on_node = [](void* context, any_graph const& graph, node_id n, std::span<tensor const> results) {
        auto& into = *static_cast<seen*>(context);
        into.nodes.push_back(n);
        into.wrong += results.size() != graph.result_count(n);
        for (std::uint32_t port = 0; port < results.size(); ++port)
            into.wrong += !compatible(results[port].type(), graph.type({n, port}));
    };
    REQUIRE(evaluate_graph(g, random_inputs(g, 1), options));
    CHECK(s.wrong == 0);
    CHECK(s.nodes.size() + 1 == g.size()); // all but the results node, in order
    CHECK(std::equal(s.nodes.begin(), s.nodes.end(), g.order().begin()));
}

TEST_CASE("a chain of fifty thousand nodes runs without deep recursion") {
    graph g;
    graph_builder b{g};
    auto v = b.input(dtype::f32, {2}, "x");
    for (int i = 0; i < 50'000; ++i) v = b.add<gsub::ops::relu>(v);
    b.outputs({v});
    auto const inputs = random_inputs(g, 1);
    CHECK(same(evaluate_graph(g, inputs).value()[0], one<gsub::ops::relu>({inputs[0]})));
}

TEST_CASE("random inputs have the signature's types, are seeded, and unknown sizes are one") {
    graph g;
    graph_builder b{g};
    b.outputs({b.input(dtype::f32, {2, dim{symbol{"n"}}}, "x"), b.input(dtype::i64, {100}, "i"),
               b.input(dtype::boolean, {3}, "b"), b.input(dtype::f16, {4}, "h")});
    auto const a = random_inputs(g, 5), again = random_inputs(g, 5), other = random_inputs(g, 6);
    REQUIRE(a.size() == 4);
    CHECK(to_string(a[0].type()) == "f32[2,1]");
    CHECK(to_string(a[3].type()) == "f16[4]");
    for (std::size_t i = 0; i < 4; ++i) CHECK(same(a[i], again[i]));
    CHECK_FALSE(same(a[0], other[0]));
    CHECK_FALSE(same(a[1], other[1]));
    CHECK(evaluate_graph(g, a));
}

// main(flag, x) = if flag then relu(x) else (if all of it is positive then x else x ++ x), and the inner one apart.
gsub::module of_branches() {
    gsub::module m;
    auto const add = [&](std::string const& name, auto&& body) {
        gsub::graph g;
        graph_builder b{g};
        body(g, b);
        m.add(name, std::move(g));
    };
    add("relu",
        [](gsub::graph&, graph_builder& b) { b.outputs({b.add<gsub::ops::relu>(b.input(dtype::f32, {2}, "x"))}); });
    add("same", [](gsub::graph&, graph_builder& b) { b.outputs({b.input(dtype::f32, {2}, "x")}); });
    add("twice", [](gsub::graph&, graph_builder& b) {
        auto const x = b.input(dtype::f32, {2}, "x");
        b.outputs({b.add<gsub::ops::concat>({}, {x, x})});
    });
    add("inner", [&](gsub::graph& g, graph_builder& b) {
        auto const x = b.input(dtype::f32, {2}, "x");
        auto const least =
            b.add<gsub::ops::neg>(b.add<gsub::ops::reduce_max>({.keepdims = false}, {b.add<gsub::ops::neg>(x)}));
        auto const positive = b.add<gsub::ops::greater>(least, b.constant(tensor::scalar(0.0f)));
        b.outputs({value_id{add_if(g, m, positive, "same", "twice", {&x, 1}), 0}});
    });
    add("main", [&](gsub::graph& g, graph_builder& b) {
        auto const flag = b.input(dtype::boolean, {}, "flag"), x = b.input(dtype::f32, {2}, "x");
        auto const y = value_id{add_if(g, m, flag, "relu", "inner", {&x, 1}), 0};
        b.outputs({b.add<gsub::ops::neg>(y)});
    });
    return m;
}

TEST_CASE("a module takes the branch that the condition says, and nothing of the other") {
    auto const m = of_branches();
    auto const table = table_of<eval_row, standard_ops>();
    auto const run = [&](bool flag, std::initializer_list<float> x, evaluate_options const& options = {}) {
        return evaluate_module(m, table, std::array{tensor::scalar(flag), tensor::from<float>({2}, x)}, options)
            .value()
            .at(0);
    };
    CHECK(same(run(true, {1, -2}), tensor::from<float>({2}, {-1, -0.0f})));
    CHECK(same(run(false, {1, 2}), tensor::from<float>({2}, {-1, -2})));
    CHECK(same(run(false, {1, -2}), tensor::from<float>({4}, {-1, 2, -1, 2})));
    CHECK(same(run(false, {1, -2}, {.compute = precision::f64, .round_outputs = true}),
               tensor::from<float>({4}, {-1, 2, -1, 2})));
    CHECK(run(true, {1, -2}, {.compute = precision::field}).element() == dtype::field61);
}

TEST_CASE("a graph with branches alone says that it needs its module, and a module names what its branches lack") {
    auto m = of_branches();
    auto const table = table_of<eval_row, standard_ops>();
    CHECK(not_computable(m, table).empty());
    auto const alone = not_computable(m.find("main")->body, table);
    REQUIRE(alone.size() == 1);
    CHECK(alone[0].id == errors::branches_apart);
    CHECK(says(alone[0].hint, "evaluate_module"));
    any_graph unknown{dialect::of<standard_ops>()};
    type_id const t = tensor_type{dtype::f32, shape{dim{2}}};
    auto const x = unknown.add_input(t, "x");
    value_id const y{unknown.add_opaque({.op_type = "Fancy"}, tensor::zeros(dtype::u8, ints{1}), {&x, 1}, {&t, 1}), 0};
    unknown.set_outputs({&y, 1});
    m.add("twice", unknown);
    auto const r = evaluate_module(m, table, std::array{tensor::scalar(true), tensor::from<float>({2}, {1, 2})});
    REQUIRE_FALSE(r);
    CHECK(says(r.error().message(), "Fancy"));
}

TEST_CASE("branches within branches are refused beyond a depth, on any stack") {
    gsub::module m;
    auto const leaf = [] {
        gsub::graph g;
        graph_builder b{g};
        auto const c = b.input(dtype::boolean, {}, "c");
        b.outputs({b.add<gsub::ops::logical_not>(c)});
        return g;
    };
    m.add("f0", leaf());
    for (int i = 1; i <= 80; ++i) {
        gsub::graph g;
        graph_builder b{g};
        auto const c = b.input(dtype::boolean, {}, "c");
        b.outputs({value_id{add_if(g, m, c, fmt::format("f{}", i - 1), "f0", {&c, 1}), 0}});
        m.add(fmt::format("f{}", i), std::move(g));
    }
    auto const table = table_of<eval_row, standard_ops>();
    auto const yes = std::array{tensor::scalar(true)};
    CHECK_FALSE(evaluate_module(m, table, yes, {}, "f64").value().at(0).data<bool>()[0]);
    auto const r = evaluate_module(m, table, yes, {}, "f80");
    REQUIRE_FALSE(r);
    CHECK(says(r.error().message(), "nested more than 64 deep"));
}

} // namespace evaluate_test
