#include "catch.hpp"
#include "driver/built_graph.hpp"
#include <gsub/models/network_builder.hpp>

#include <limits>

namespace convolution_planning_test {

using namespace gsub;
using built_graph::built;
using built_graph::count;
using built_graph::error_of;

// A convolution of an image of 24 channels, and what follows it.
struct network {
    graph g;
    models::network_builder net{g, models::weight_source{3}};
    value_id x = net.input(dtype::f32, {1, 24, 9, 11}, "x"), y;

    explicit network(std::int64_t groups = 1) {
        y = net.conv("c", x, {.outputs = 24, .kernel = {3, 3}, .pad = {1, 1}, .group = groups, .bias = true});
    }
    value_id numbers(ints const& sizes) {
        auto t = tensor::uninitialized(dtype::f32, sizes);
        fill_random(t, random_stream{static_cast<std::uint64_t>(g.size())});
        return net.constant(std::move(t));
    }
    value_id number(float v) { return net.constant(tensor::scalar(v)); }
};

TEST_CASE("arithmetic with a constant for each channel is part of a convolution's kernel") {
    for (auto const groups : {1, 24}) {
        network n{groups};
        n.y = n.net.add<ops::mul>(n.numbers({24, 1, 1}), n.y);
        n.y = n.net.batch_norm("n", n.net.add<ops::sub>(n.numbers({1, 24, 1, 1}), n.y));
        n.y = n.net.add<ops::sub>(n.net.add<ops::add>(n.y, n.numbers({1})), n.numbers({24, 1, 1}));
        n.net.output(n.net.relu("r", n.net.sum("s", n.y, n.x)), "y");
        auto const e = built(n.g);
        CHECK(e.steps().size() == 3); // to blocks of channels, and back
        CHECK(error_of(n.g, e) < 1e-5);
    }
}

TEST_CASE("rows and pixels are no channels, and what else reads a convolution's result needs it as it is") {
    for (auto const& sizes : {ints{9, 1}, ints{11}, ints{1, 24, 9, 11}}) {
        network n;
        n.net.output(n.net.add<ops::mul>(n.y, n.numbers(sizes)), "y");
        auto const e = built(n.g);
        CHECK(e.steps().size() > 1);
        CHECK(error_of(n.g, e) < 1e-5);
    }
    network n;
    n.net.outputs({n.net.add<ops::mul>(n.y, n.numbers({24, 1, 1})), n.y});
    CHECK(error_of(n.g, built(n.g)) < 1e-5);
}

TEST_CASE("factors that weights cannot take are applied behind the kernel, one by one") {
    auto const endless = std::numeric_limits<float>::infinity();
    struct row {
        float first, second;
    };
    for (auto const [first, second] : {row{endless, 1}, row{1e30f, 1e30f}, row{1e30f, 1e-30f}, row{1e-30f, 1e30f},
                                       row{1e-25f, 1e-20f}, row{0, 1e30f}}) {
        CAPTURE(first, second);
        network n;
        n.y = n.net.add<ops::mul>(n.net.add<ops::mul>(n.y, n.number(first)), n.number(second));
        n.net.output(n.y, "y");
        CHECK(error_of(n.g, built(n.g)) < 1e-5);
    }
}

TEST_CASE("a weight that is arithmetic, and read in blocks, is computed before it is needed") {
    network n;
    auto const spread = n.net.add<ops::fill>({.shape = n.g.type(n.y).sizes(), .value = 0.25}, {});
    n.net.output(n.net.relu("r", n.net.sum("s", n.y, spread)), "y");
    CHECK(error_of(n.g, built(n.g)) < 1e-5);
}

TEST_CASE("convolutions in groups of every width have kernels") {
    for (auto const groups : {2, 3, 4, 6, 8, 12})
        for (auto const outputs : {24, 48, 72}) {
            CAPTURE(groups, outputs);
            network n;
            n.y = n.net.conv("g", n.x, {.outputs = outputs, .kernel = {3, 3}, .pad = {1, 1}, .group = groups});
            n.net.output(n.net.relu("r", n.y), "y");
            auto const e = built(n.g);
            CHECK(e.steps().size() == 3);
            CHECK(count(e, "conv2d") == 1);
            CHECK(error_of(n.g, e) < 1e-5);
        }
}

TEST_CASE("the activation of a convolution is part of its kernel, whatever it is") {
    for (auto const groups : {1, 4, 24})
        for (auto const act : {activation::sigmoid, activation::tanh, activation::clip}) {
            CAPTURE(groups, to_string(act));
            graph g;
            models::network_builder net{g, models::weight_source{3}};
            auto const x = net.input(dtype::f32, {1, 24, 9, 11}, "x");
            auto const plain = net.conv("c", x, {.outputs = 24, .kernel = {3, 3}, .pad = {1, 1}, .group = groups});
            auto a = g.attributes<ops::conv>(plain.node);
            a.act = act, a.act_min = -1, a.act_max = 2;
            auto const y = g.add<ops::conv>(a, {x, g.operand(plain.node, 1)});
            net.output(net.sum("s", net.add<ops::mul>(y, y), x), "y"); // the activation comes first
            auto const e = built(g);
            CHECK(e.steps().size() == 3);
            CHECK(error_of(g, e) < 1e-5);
        }
}

TEST_CASE("an infinite bound that every number passes is what a convolution's results become") {
    constexpr auto endless = std::numeric_limits<double>::infinity();
    using clip = attributes_of<ops::clip>;
    for (auto const& bounds : {clip{.min = endless, .max = 6}, clip{.min = 0, .max = -endless},
                               clip{.min = -endless, .max = 0.5}, clip{.min = -0.5, .max = endless}}) {
        CAPTURE(bounds.min, bounds.max);
        network n;
        n.net.output(graph_builder{n.g}.add<ops::clip>(bounds, {n.y}), "y");
        CHECK(error_of(n.g, built(n.g)) < 1e-5);
    }
}

TEST_CASE("arithmetic behind a convolution is part of its kernel") {
    using make = value_id (*)(network&);
    for (make const behind : {
             make{[](network& n) { return n.net.add<ops::sigmoid>(n.y); }},
             make{[](network& n) { return n.net.add<ops::mul>(n.y, n.net.add<ops::sigmoid>(n.y)); }},
             make{[](network& n) { return n.net.add<ops::hard_sigmoid>(n.y); }},
             make{[](network& n) { return n.net.add<ops::hard_swish>(n.y); }},
             make{[](network& n) { return n.net.add<ops::leaky_relu>(n.y); }},
             make{[](network& n) { return n.net.add<ops::elu>(n.y); }},
             make{[](network& n) { return n.net.add<ops::gelu>(n.y); }},
             make{[](network& n) { return n.net.add<ops::exp>(n.net.relu("r", n.y)); }},
             make{[](network& n) { return n.net.add<ops::mul>(n.net.sum("s", n.net.relu("r", n.y), n.x), n.x); }},
         })
        for (auto const groups : {1, 4, 24}) {
            network n{groups};
            n.net.output(behind(n), "y");
            auto const e = built(n.g);
            CHECK(e.steps().size() == 3); // to blocks of channels, and back
            CHECK(error_of(n.g, e) < 1e-5);
        }
}

TEST_CASE("what could leave channels that do not exist without a finite value stands by itself") {
    network n;
    auto const y = n.net.add<ops::div>(n.net.add<ops::exp>(n.y), n.net.add<ops::exp>(n.x));
    n.net.output(y, "y");
    auto const e = built(n.g);
    CHECK(e.steps().size() > 3);
    CHECK(error_of(n.g, e) < 1e-5);
}

TEST_CASE("convolutions, poolings and normalisations of rows of pixels have kernels") {
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        random_stream r{seed};
        auto const up_to = [&](std::uint64_t n) { return static_cast<std::int64_t>(1 + r.below(n)); };
        CAPTURE(seed);
        graph g;
        models::network_builder net{g, models::weight_source{seed}};
        auto const numbers = [&](ints const& sizes) {
            auto t = tensor::uninitialized(dtype::f32, sizes);
            fill_random(t, random_stream{seed + static_cast<std::uint64_t>(g.size())});
            return net.constant(std::move(t));
        };
        auto const x = net.input(dtype::f32, {up_to(2), 24, 20 + up_to(40)}, "x");
        attributes_of<ops::conv> a;
        a.strides = {up_to(3)}, a.pads = {up_to(3) - 1, up_to(3) - 1}, a.dilations = {up_to(2)};
        std::int64_t const groups[] = {1, 3, 24};
        a.group = groups[r.below(3)];
        auto y = g.add<ops::conv>(a, {x, numbers({48, 24 / a.group, up_to(5)}), numbers({48})});
        if (r.below(2)) y = net.add<ops::mul>(y, numbers({48, 1}));
        if (r.below(2)) y = net.batch_norm("n", y);
        y = net.relu("r", y);
        if (r.below(2)) {
            attributes_of<ops::max_pool> p;
            p.kernel_shape = {up_to(3)}, p.strides = {up_to(2)}, p.pads = {0, 1}, p.dilations = {1};
            if (p.kernel_shape[0] == 1) p.pads = {0, 0};
            y = g.add<ops::max_pool>(p, {y});
        } else {
            attributes_of<ops::average_pool> p;
            p.kernel_shape = {1 + up_to(2)}, p.strides = {up_to(2)}, p.pads = {1, 1}, p.dilations = {1};
            p.count_include_pad = r.below(2);
            y = g.add<ops::average_pool>(p, {y});
        }
        if (r.below(2)) y = net.add<ops::global_average_pool>(y);
        net.output(y, "y");
        auto const e = built(g);
        for (auto const& kind : built_graph::kinds(e)) CHECK(kind.find("reference") == std::string::npos);
        CHECK(error_of(g, e) < 1e-5);
    }
}

TEST_CASE("convolutions, poolings and normalisations of images that have depth have kernels") {
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        random_stream r{seed};
        auto const up_to = [&](std::uint64_t n) { return static_cast<std::int64_t>(1 + r.below(n)); };
        auto const three = [&](std::uint64_t n) { return ints{up_to(n), up_to(n), up_to(n)}; };
        CAPTURE(seed);
        graph g;
        models::network_builder net{g, models::weight_source{seed}};
        auto const numbers = [&](ints const& sizes) {
            auto t = tensor::uninitialized(dtype::f32, sizes);
            fill_random(t, random_stream{seed + static_cast<std::uint64_t>(g.size())});
            return net.constant(std::move(t));
        };
        std::int64_t const channels = seed % 4 == 0 ? 3 : 24, groups[] = {1, 3, 24};
        auto const x = net.input(dtype::f32, {up_to(2), channels, 5 + up_to(4), 6 + up_to(5), 8 + up_to(9)}, "x");
        attributes_of<ops::conv> a;
        a.strides = three(2), a.dilations = three(2), a.pads = {1, 0, 2, 0, 1, 1};
        a.group = channels == 3 ? 1 : groups[r.below(3)];
        auto const kernel = three(3);
        auto const conv = [&] {
            ints const sizes{48, channels / a.group, kernel[0], kernel[1], kernel[2]};
            return g.add<ops::conv>(a, {x, numbers(sizes), numbers({48})});
        };
        auto y = conv();
        if (r.below(2)) y = net.batch_norm("n", y);
        if (r.below(3) == 0) y = net.sum("s", conv(), y);
        y = net.relu("r", y);
        if (r.below(2)) y = net.add<ops::mul>(y, net.add<ops::sigmoid>(y));
        if (r.below(2)) {
            attributes_of<ops::max_pool> p;
            p.kernel_shape = {2, up_to(2), 2}, p.strides = three(2), p.pads = {1, 0, 0, 0, 0, 1};
            p.dilations = {1, 1, 1};
            p.ceil_mode = r.below(2);
            y = g.add<ops::max_pool>(p, {y});
        } else {
            attributes_of<ops::average_pool> p;
            p.kernel_shape = {2, 2, 2}, p.strides = three(2), p.pads = {1, 0, 1, 0, 1, 0}, p.dilations = {1, 1, 1};
            p.count_include_pad = r.below(2);
            y = g.add<ops::average_pool>(p, {y});
        }
        if (r.below(2)) y = net.add<ops::global_average_pool>(y);
        net.output(y, "y");
        auto const e = built(g);
        for (auto const& kind : built_graph::kinds(e)) CHECK(kind.find("reference") == std::string::npos);
        CHECK(count(e, "conv3d") + count(e, "conv2d") >= 1);
        CHECK(error_of(g, e) < 1e-5);
    }
}

TEST_CASE("images with channels last are neither moved before a convolution nor behind it") {
    auto const turned = [](graph& g, value_id x, ints const& perm) {
        attributes_of<ops::transpose> t;
        t.perm = perm;
        return g.add<ops::transpose>(t, {x});
    };
    struct layer {
        ints sizes; // of the input, channels last
        int outputs, group;
        bool moved; // the channels are neither whole vectors nor few
    };
    for (auto const& [sizes, outputs, group, moved] : {layer{{2, 9, 11, 64}, 32, 1, false},
                                                       {{1, 9, 11, 3}, 32, 1, false},
                                                       {{1, 9, 11, 32}, 32, 32, false},
                                                       {{2, 9, 11, 32}, 32, 8, false},
                                                       {{1, 9, 11, 24}, 32, 1, true},
                                                       {{1, 4, 5, 6, 16}, 16, 1, false}}) {
        for (auto const pooled : {false, true}) {
            CAPTURE(sizes.size(), sizes.back(), outputs, group, pooled);
            graph g;
            models::network_builder net{g, models::weight_source{3}};
            auto const deep = sizes.size() == 5;
            auto const n = sizes.size() - 2;
            auto const channels = sizes.back();
            auto x = turned(g, net.input(dtype::f32, shape(sizes.begin(), sizes.end()), "x"),
                            deep ? ints{0, 4, 1, 2, 3} : ints{0, 3, 1, 2});
            if (pooled) {
                attributes_of<ops::max_pool> p;
                p.kernel_shape.resize(n, 2), p.strides.resize(n, 1), p.pads.resize(2 * n, 1), p.dilations.resize(n, 1);
                x = g.add<ops::max_pool>(p, {x});
            }
            ints weights{outputs, channels / group};
            for (std::size_t d = 0; d < n; ++d) weights.push_back(3);
            auto filters = tensor::uninitialized(dtype::f32, weights);
            fill_random(filters, random_stream{7});
            attributes_of<ops::conv> c;
            c.group = group, c.strides.resize(n, 1), c.pads.resize(2 * n, 1), c.dilations.resize(n, 1);
            auto const y = net.relu("r", g.add<ops::conv>(c, {x, net.constant(filters, "w")}));
            net.output(turned(g, y, deep ? ints{0, 2, 3, 4, 1} : ints{0, 2, 3, 1}), "y");
            auto const e = built(g);
            CHECK(error_of(g, e) < 1e-5);
            std::string kinds;
            for (auto const& kind : built_graph::kinds(e)) kinds += kind + " ";
            CAPTURE(kinds);
            auto const lanes = isa_of(host()).lanes();
            if (!moved && channels % lanes == 0 && outputs % lanes == 0)
                CHECK(e.steps().size() == (pooled ? 2 : 1));
            else if (!pooled && !moved)
                CHECK(e.steps().size() == 1);
        }
    }
}

TEST_CASE("poolings of every type have kernels") {
    for (auto const t : {dtype::f64, dtype::f16, dtype::i8, dtype::u8})
        for (auto const& sizes : {shape{2, 21, 13}, shape{1, 16, 9, 7}, shape{1, 5, 4, 5, 6}}) {
            CAPTURE(to_string(t), sizes.size());
            graph g;
            models::network_builder net{g, models::weight_source{3}};
            auto const n = sizes.size() - 2;
            attributes_of<ops::max_pool> p;
            p.kernel_shape.resize(n, 3), p.strides.resize(n, 2), p.pads.resize(2 * n, 1), p.dilations.resize(n, 1);
            auto const x = net.input(t, sizes, "x");
            auto const y = g.add<ops::max_pool>(p, {x});
            if (is_floating(t))
                net.outputs({y, net.add<ops::global_average_pool>(x)});
            else
                net.outputs({y});
            auto const e = built(g);
            for (auto const& kind : built_graph::kinds(e)) CHECK(kind.find("reference") == std::string::npos);
            CHECK(error_of(g, e) < (t == dtype::f16 ? 2e-3 : 1e-6));
        }
}

} // namespace convolution_planning_test
