#include "ir/random_graph.hpp"
#include "passes/gradient_check.hpp"
#include <gsub/passes/simplify/simplify_inference.hpp>

namespace gradient_test {

using namespace gradient_check;

TEST_CASE("Gradients of functions of one number") {
    auto const each = [](bool positive, auto... tags) {
        auto const one = [&]<class Op>(type_list<Op>) {
            wide_net n;
            check(n.of(n.op<Op>(n.in({3, 5}))), against::both, positive);
        };
        (one(tags), ...);
    };
    each(false, type_list<ops::neg>{}, type_list<ops::exp>{}, type_list<ops::erf>{}, type_list<ops::tanh>{},
         type_list<ops::sigmoid>{}, type_list<ops::relu>{}, type_list<ops::abs>{}, type_list<ops::identity>{});
    each(true, type_list<ops::log>{}, type_list<ops::sqrt>{});
    wide_net n;
    auto const x = n.in({4, 6});
    auto y = n.b.add<ops::clip>({.min = -0.5, .max = 0.75}, {x});
    y = n.op<ops::add>(y, n.b.add<ops::clip>({}, {x, n.c(-0.25), n.c(0.5)}));
    y = n.op<ops::add>(y, n.b.add<ops::clip>({.max = 0.1}, {x}));
    check(n.of(n.b.add<ops::cast>({.to = dtype::f64}, {y})));
}

TEST_CASE("Gradients of composite operators go through their parts") {
    wide_net n;
    auto const x = n.in({3, 8});
    auto y = n.b.add<ops::leaky_relu>({.alpha = 0.1}, {x});
    y = n.op<ops::add>(y, n.b.add<ops::elu>({}, {x}));
    y = n.op<ops::add>(y, n.b.add<ops::gelu>({}, {x}));
    y = n.op<ops::add>(y, n.b.add<ops::gelu>({.approximate = "tanh"}, {x}));
    y = n.op<ops::add>(y, n.op<ops::hard_swish>(x));
    y = n.op<ops::add>(y, n.b.add<ops::hard_sigmoid>({}, {x}));
    y = n.b.add<ops::sum>({}, {x, y, x});
    y = n.b.add<ops::layer_norm>({}, {y, n.in({8}, "scale"), n.in({8}, "shift")});
    check(n.of(y), against::differences);
}

TEST_CASE("Gradients of powers: of the base, of the exponent, and for constant ones") {
    wide_net n;
    auto const x = n.in({3, 4}), e = n.in({4}, "e");
    check(n.of(n.op<ops::pow>(x, e)), against::differences, true);
    for (double power : {0.0, 1.0, 2.0, 3.0, -1.5}) {
        wide_net m;
        check(m.of(m.op<ops::pow>(m.in({3, 4}), m.c(power))), against::differences, true);
    }
    wide_net z;
    auto const base = z.in({2});
    auto const powers = z.b.constant(tensor::from({2}, {0.0, 3.0}));
    z.b.outputs({z.op<ops::pow>(base, powers)});
    auto const at_zero = computed(with_gradients(z.g), {tensor::zeros(dtype::f64, ints{2})});
    CHECK(total(at_zero[1]) == 0);
}

TEST_CASE("Gradients of what moves elements") {
    wide_net n;
    auto const x = n.in({2, 3, 4});
    std::vector<value_id> parts{
        n.b.add<ops::reshape>({.shape = {4, -1}}, {x}),
        n.b.add<ops::flatten>({.axis = 1}, {x}),
        n.b.add<ops::transpose>({.perm = {2, 0, 1}}, {x}),
        n.b.add<ops::unsqueeze>({.axes = {0, 2}}, {x}),
        n.b.add<ops::squeeze>({.axes = {0}}, {n.b.add<ops::slice>({{0}, {1}, {0}, {1}}, {x})}),
        n.b.add<ops::concat>({.axis = -1}, {x, n.op<ops::neg>(x), x}),
        n.b.add<ops::slice>({{1, -1}, {100, -100}, {1, 2}, {1, -1}}, {x}),
        n.b.add<ops::slice>({{3, 1}, {-100, 3}, {2, 1}, {-2, 2}}, {x}),
        n.b.add<ops::slice>({{0}, {4}, {-1}, {3}}, {x}),
        n.b.add<ops::slice>({{2}, {2}, {1}, {1}}, {x}),
        n.b.add<ops::pad>({.pads = {1, 0, -1, 0, 2, 3}}, {x}),
        n.b.add<ops::expand>({.shape = {5, 1, 3, 4}}, {n.b.add<ops::slice>({{1}, {2}, {0}, {1}}, {x})}),
    };
    auto const condition = tensor::from({2, 3, 1}, {true, false, true, false, true, false});
    parts.push_back(n.b.add<ops::where>({}, {n.b.constant(condition), x, n.in({4}, "other")}));
    for (auto index : {tensor::from<std::int64_t>({2, 2}, {2, 0, -1, 2}), tensor::scalar<std::int64_t>(-2)})
        for (std::int64_t axis : {0, 1, -1})
            if (axis != 0 || index.rank() == 0)
                parts.push_back(n.b.add<ops::gather>({.axis = axis}, {x, n.b.constant(index)}));
    for (auto y : parts) { check(n.of(n.op<ops::mul>(y, y))); }
}

TEST_CASE("Gradients of sums, means and maxima along dimensions, and of softmax") {
    wide_net n;
    auto const x = n.in({2, 3, 4});
    for (auto const& axes : {ints{}, ints{0}, ints{-1, 0}, ints{1}})
        for (bool keep : {true, false}) {
            reduce_attributes const a{.axes = axes, .keepdims = keep};
            check(n.of(n.b.add<ops::reduce_sum>(a, {n.op<ops::mul>(x, x)})));
            check(n.of(n.b.add<ops::reduce_mean>(a, {n.op<ops::mul>(x, x)})));
            check(n.of(n.b.add<ops::reduce_max>(a, {x})));
        }
    auto const axes = n.b.constant(tensor::from<std::int64_t>({1}, {-2}));
    check(n.of(n.b.add<ops::reduce_sum>({.keepdims = false}, {n.op<ops::exp>(x), axes})));
    for (std::int64_t axis : {0, 1, -1})
        for (bool flat : {false, true})
            check(n.of(n.b.add<ops::softmax>({.axis = axis, .flatten = flat}, {x})), against::differences);
}

TEST_CASE("Gradients of products of stacks, matrices and vectors, broadcast against each other") {
    for (auto const& [a, b] : std::vector<std::pair<ints, ints>>{{{3, 4}, {4, 2}},
                                                                 {{5, 3, 4}, {4, 2}},
                                                                 {{3, 4}, {5, 4, 2}},
                                                                 {{2, 1, 3, 4}, {5, 4, 2}},
                                                                 {{4}, {4, 2}},
                                                                 {{3, 4}, {4}},
                                                                 {{4}, {4}},
                                                                 {{4}, {5, 4, 2}},
                                                                 {{2, 5, 3, 4}, {4}}}) {
        wide_net n;
        auto const y = n.op<ops::mat_mul>(n.in(a, "a"), n.in(b, "b"));
        check(n.of(n.op<ops::mul>(y, y)));
    }
    for (bool turn_a : {false, true})
        for (bool turn_b : {false, true})
            for (auto const& bias : {ints{2}, ints{3, 1}, ints{}}) {
                wide_net n;
                auto const a = n.in(turn_a ? ints{4, 3} : ints{3, 4}, "a"),
                           b = n.in(turn_b ? ints{2, 4} : ints{4, 2}, "b");
                check(n.of(n.b.add<ops::gemm>({.alpha = 0.5, .beta = 2, .transpose_a = turn_a, .transpose_b = turn_b},
                                              {a, b, n.in(bias, "c")})));
            }
}

TEST_CASE("Gradients of convolutions of any stride, padding, dilation, group and rank") {
    random_stream r{3};
    for (int i = 0; i < 60; ++i) {
        auto const pick = [&](std::int64_t low, std::int64_t high) {
            return low + static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(high - low + 1)));
        };
        auto const rank = static_cast<std::size_t>(pick(1, 3));
        auto const group = pick(1, 2), channels = pick(1, 2), outputs = pick(1, 2);
        attributes_of<ops::conv> a;
        a.group = group;
        ints x{pick(1, 2), group * channels}, w{group * outputs, channels};
        for (std::size_t k = 0; k < rank; ++k) {
            w.push_back(pick(1, 3)), a.dilations.push_back(pick(1, 2)), a.strides.push_back(pick(1, 3));
            a.pads.push_back(pick(0, 2));
            x.push_back(window_extent(w[k + 2], a.dilations[k]) + pick(0, rank > 2 ? 2 : 4));
        }
        for (std::size_t k = 0; k < rank; ++k) a.pads.push_back(pick(0, 2));
        wide_net n;
        auto const image = n.in(x, "x"), kernel = n.in(w, "w"), bias = n.in({w[0]}, "b");
        check(n.of(n.b.add<ops::conv>(a, {image, kernel, bias})));
    }
}

TEST_CASE("Activations inside of a convolution are differentiated too") {
    for (auto act : {activation::relu, activation::clip, activation::sigmoid, activation::tanh}) {
        wide_net n;
        attributes_of<ops::conv> a;
        a.strides = {1, 1}, a.pads = {1, 1, 1, 1}, a.dilations = {1, 1}, a.act = act, a.act_min = -0.5, a.act_max = 1;
        check(n.of(n.b.add<ops::conv>(a, {n.in({1, 2, 4, 4}), n.in({2, 2, 3, 3}, "w")})), against::differences);
    }
}

TEST_CASE("Gradients of pools: windows that overlap, lie in pads, and leave elements out") {
    random_stream r{4};
    for (int i = 0; i < 40; ++i) {
        auto const pick = [&](std::int64_t low, std::int64_t high) {
            return low + static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(high - low + 1)));
        };
        auto const rank = static_cast<std::size_t>(pick(1, 2));
        ints x{pick(1, 2), 2}, kernel, strides, dilations, begin, end;
        for (std::size_t k = 0; k < rank; ++k) {
            kernel.push_back(pick(1, 3)), dilations.push_back(pick(1, 2)), strides.push_back(pick(1, 3));
            begin.push_back(pick(0, kernel[k] - 1)), end.push_back(pick(0, kernel[k] - 1));
            x.push_back(window_extent(kernel[k], dilations[k]) + pick(0, 4));
        }
        auto pads = begin;
        for (auto v : end) pads.push_back(v);
        bool const ceil = pick(0, 1) == 1, counted = pick(0, 1) == 1;
        wide_net n;
        auto const image = n.in(x);
        attributes_of<ops::max_pool> m;
        m.kernel_shape = kernel, m.strides = strides, m.dilations = dilations, m.pads = pads, m.ceil_mode = ceil;
        check(n.of(n.b.add<ops::max_pool>(m, {image})));
        attributes_of<ops::average_pool> a;
        a.kernel_shape = kernel, a.strides = strides, a.dilations = dilations, a.pads = pads, a.ceil_mode = ceil;
        a.count_include_pad = counted;
        check(n.of(n.b.add<ops::average_pool>(a, {image})));
        check(n.of(n.op<ops::global_average_pool>(n.op<ops::mul>(image, image))));
    }
}

TEST_CASE("The first of equal maxima in a window has the whole gradient, overlapping windows add theirs") {
    wide_net n;
    attributes_of<ops::max_pool> m;
    m.kernel_shape = {3}, m.strides = {1}, m.dilations = {1}, m.pads = {1, 1};
    n.b.outputs({n.b.add<ops::max_pool>(m, {n.in({1, 1, 4})})});
    auto const out = computed(with_gradients(n.g), {tensor::zeros(dtype::f64, ints{1, 1, 4})});
    CHECK(std::ranges::equal(out[1].data<double>(), std::vector<double>{2, 1, 1, 0}));
}

TEST_CASE("Gradients of random graphs agree with central differences") {
    int compared = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        graph g;
        random_graph::generator make{g, seed};
        make.grow(12);
        make.finish();
        auto m = module_of(g);
        REQUIRE(run_pass(passes::simplify_inference{}, m));
        auto tried = m;
        auto const done = run_pass(first_order_gradient{}, tried);
        if (!done) {
            CHECK(done.error().id() == errors::no_gradient);
            continue;
        }
        INFO(seed);
        ++compared;
        check(m.find("main")->body, against::differences, false, seed, true);
    }
    CHECK(compared > 60);
}

TEST_CASE("Gradients of normalisations by the batch and by neighbouring channels") {
    for (auto const& sizes : {ints{3, 2}, ints{2, 3, 2, 2}}) {
        wide_net n;
        auto const channels = ints{sizes[1]};
        auto const x = n.in(sizes), scale = n.in(channels, "scale"), shift = n.in(channels, "shift");
        auto const start = n.weight(channels, 3, dtype::f64);
        check(n.of(n.b.add<ops::batch_norm_training>({.epsilon = 0.1}, {x, scale, shift, start, start})),
              against::differences);
    }
    for (std::int64_t size : {1, 2, 3, 5}) {
        wide_net n;
        check(n.of(n.b.add<ops::lrn>({.size = size, .alpha = 0.5, .beta = 0.6, .bias = 1.5}, {n.in({2, 4, 3})})),
              against::differences);
    }
}

} // namespace gradient_test

namespace app::differentiable {
struct cube {};
} // namespace app::differentiable
template <>
struct gsub::op_traits<app::differentiable::cube> : gsub::detail::unary_traits {
    static constexpr std::string_view name = "Cube", domain = "app";
};
template <>
struct gsub::infer_shape<app::differentiable::cube> : gsub::same_as_input<0> {};
template <>
struct gsub::evaluate<app::differentiable::cube> {
    template <class T>
    static T scalar(T x) {
        return x * x * x;
    }
};
template <>
struct gsub::gradient<app::differentiable::cube> {
    static void build(gradient_site& at) {
        auto& b = at.builder();
        auto const x = at.operand(0);
        at.give(0, b.add<ops::mul>(b.add<ops::mul>(at.seed(), at.number(3, x)), b.add<ops::mul>(x, x)));
    }
};

namespace gradient_test {

using namespace gradient_check;

TEST_CASE("An operator of the user's own brings its rule") {
    using own = standard_ops::with<app::differentiable::cube>;
    basic_graph<own> g;
    graph_builder b{g};
    auto const x = b.input(dtype::f64, {3}, "x");
    b.outputs({b.add<app::differentiable::cube>(x)});
    pass_context cx;
    auto plain = g;
    CHECK_FALSE(first_order_gradient{}(static_cast<any_graph&>(plain), cx));
    REQUIRE(first_order_gradient{.rules = gradient_rules<app::differentiable::cube>}(static_cast<any_graph&>(g), cx));
    auto const out =
        evaluate_graph(g, table_of<eval_row, own>(), std::vector{tensor::from({3}, {1.0, 2.0, -1.0})}).value();
    CHECK(std::ranges::equal(out[1].data<double>(), std::vector<double>{3, 12, 3}));
}

} // namespace gradient_test
