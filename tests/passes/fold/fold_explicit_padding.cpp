#include "passes/pass_bench.hpp"
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/fold/fold_explicit_padding.hpp>

#include <limits>

namespace padding_test {

using namespace pass_bench;
constexpr passes::fold_explicit_padding folding{};

value_id padded(bench& n, value_id x, ints pads, double value = 0, std::string mode = "constant") {
    return n.op<ops::pad>({.mode = std::move(mode), .pads = std::move(pads), .value = value}, {x});
}
ints const border{0, 0, 1, 2, 0, 0, 1, 0}; // rows by 1 and 1, columns by 2 and 0

attributes_of<ops::max_pool> max_window(std::int64_t kernel, std::int64_t pad = 0) {
    attributes_of<ops::max_pool> a;
    a.kernel_shape = {kernel, kernel}, a.strides = {2, 2}, a.dilations = {1, 1}, a.pads = ints(4, pad);
    return a;
}
attributes_of<ops::average_pool> mean_window(std::int64_t pad = 0) {
    attributes_of<ops::average_pool> a;
    a.kernel_shape = {3, 3}, a.strides = {2, 2}, a.dilations = {1, 1}, a.pads = ints(4, pad);
    return a;
}

TEST_CASE("FoldExplicitPadding P1: widths are added to the convolution's own, side by side") {
    bench n;
    auto a = bench::window(3);
    a.pads = {0, 1, 2, 3};
    auto const y = n.b.add<ops::conv>(a, {padded(n, n.image(), border), n.weight({4, 4, 3, 3}), n.weight({4})});
    auto const r = run(n, {y}, folding);
    CHECK(r.text == "Conv");
    CHECK(r.g.attributes<ops::conv>(r.g.output(0).node).pads == ints{1, 3, 3, 3});
}

// P2, NHWC, cannot be written: windows of gsub are over the last dimensions, whatever the layout.
TEST_CASE("FoldExplicitPadding P3: one and three spatial dimensions, several groups") {
    for (std::size_t const spatial : {1u, 3u}) {
        bench n;
        ints sizes{1, 2}, kernel{2, 1}, pads{0, 0};
        attributes_of<ops::conv> a;
        a.group = 2;
        for (std::size_t i = 0; i < spatial; ++i) {
            sizes.push_back(4), kernel.push_back(2), pads.push_back(static_cast<std::int64_t>(i));
            a.strides.push_back(1), a.dilations.push_back(2), a.pads.push_back(0), a.pads.push_back(1);
        }
        pads.push_back(0), pads.push_back(0);
        for (std::size_t i = 0; i < spatial; ++i) pads.push_back(2);
        auto const y = n.b.add<ops::conv>(a, {padded(n, n.input(sizes), pads), n.weight(kernel)});
        CHECK(run(n, {y}, folding).text == "Conv");
    }
}

TEST_CASE("FoldExplicitPadding P4: borders in a row all fold in one run") {
    bench n;
    auto const r = run(n, {n.conv(padded(n, padded(n, n.image(), border), border))}, folding);
    CHECK(r.text == "Conv");
    CHECK(r.outcome.matches == 2);
}

TEST_CASE("FoldExplicitPadding: means count the border afterwards, maxima take the lowest number") {
    bench n;
    auto const p = padded(n, n.image(), border);
    auto own = mean_window(1);
    own.count_include_pad = true;
    auto const a = n.op<ops::average_pool>(mean_window(), {p}), b = n.op<ops::average_pool>(own, {p});
    CHECK(run(n, {a, b}, folding).text == "AveragePool AveragePool");
    for (double const low :
         {-std::numeric_limits<double>::infinity(), static_cast<double>(std::numeric_limits<float>::lowest())}) {
        bench m;
        auto const y = m.op<ops::max_pool>(max_window(3), {padded(m, m.image(), border, low)});
        CHECK(run(m, {y}, folding).text == "MaxPool");
    }
}

TEST_CASE("FoldExplicitPadding N1-N4, N6: other values, modes, dimensions, crops, computed widths") {
    auto const stays = [](std::string_view reason, ints pads, double value, std::string mode) {
        CAPTURE(reason);
        bench n;
        auto const p = padded(n, n.image(), pads, value, mode);
        CHECK(run(n, {n.conv(p)}, folding).outcome.skips(reason) == 1);
    };
    stays("a border that is not zero", border, 1, "constant");
    stays("a border of other elements", border, 0, "reflect");
    stays("a border of other elements", border, 0, "edge");
    stays("a border around images or channels", {0, 1, 1, 1, 0, 0, 1, 1}, 0, "constant");
    stays("a border around images or channels", {1, 0, 1, 1, 0, 0, 1, 1}, 0, "constant");
    stays("a border that crops", {0, 0, 1, -1, 0, 0, 1, 1}, 0, "constant");
    bench n;
    auto const widths = n.b.constant(tensor::from<std::int64_t>({8}, {0, 0, 1, 1, 0, 0, 1, 1}));
    auto const p = n.b.add<ops::pad>({}, {n.image(), widths, n.input({})});
    CHECK_FALSE(run(n, {n.b.add<ops::conv>(bench::window(1), {p, n.weight({4, 4, 1, 1})})}, folding).outcome.changed);
}

TEST_CASE("FoldExplicitPadding: zeros stay where weights are not finite: a product of both is no zero") {
    for (auto const number : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        bench n;
        auto weights = tensor::zeros(dtype::f32, ints{4, 4, 3, 3});
        weights.mutable_data<float>()[5] = number;
        auto const w = n.b.constant(std::move(weights));
        auto const r = run(n, {n.b.add<ops::conv>(bench::window(3), {padded(n, n.image(), border), w})}, folding);
        CHECK(r.outcome.skips("weights that are not finite") == 1);
    }
}

TEST_CASE("FoldExplicitPadding N5: a border with other readers folds where it can and stays for them") {
    bench n;
    auto const p = padded(n, n.image(), border);
    auto const r = run(n, {n.conv(p), n.op<ops::relu>(p), n.conv(p)}, folding);
    CHECK(r.outcome.matches == 2);
    CHECK(count_of(r.g, "Pad") == 1);
    bench weights; // a border around the weight is none of the window's
    auto const w = padded(weights, weights.input({4, 4, 1, 1}), {0, 0, 1, 1, 0, 0, 1, 1});
    CHECK_FALSE(
        run(weights, {weights.b.add<ops::conv>(bench::window(1), {weights.image(), w})}, folding).outcome.changed);
}

TEST_CASE("FoldExplicitPadding N7: zeros around a maximum fold only where no element is negative") {
    auto const pooled = [](value_id (*front)(bench&, value_id), attributes_of<ops::max_pool> const& window) {
        bench n;
        return run(n, {n.op<ops::max_pool>(window, {padded(n, front(n, n.image()), border)})}, folding).outcome;
    };
    auto const relu = [](bench& n, value_id v) { return n.op<ops::relu>(v); };
    auto const clip = [](bench& n, value_id v) { return n.op<ops::clip>({.min = -1, .max = 6}, {v}); };
    auto const plain = [](bench&, value_id v) { return v; };
    CHECK(pooled(plain, max_window(3)).skips("a border that may be the maximum") == 1);
    CHECK(pooled(clip, max_window(3)).skips("a border that may be the maximum") == 1);
    CHECK(pooled(relu, max_window(3)).matches == 1);
    CHECK(pooled(relu, max_window(2)).skips("a window that may see no element") == 1);
}

TEST_CASE("FoldExplicitPadding: means that leave out their own border, and windows that round up, stay") {
    bench n;
    auto const p = padded(n, n.image(), border);
    auto up = mean_window();
    up.ceil_mode = true;
    auto const r = run(n, {n.op<ops::average_pool>(mean_window(1), {p}), n.op<ops::average_pool>(up, {p})}, folding);
    CHECK_FALSE(r.outcome.changed);
    CHECK(r.outcome.skips("a mean that does not count its own border") == 1);
    CHECK(r.outcome.skips("a window that rounds up") == 1);
}

TEST_CASE("FoldExplicitPadding: PyTorch's networks have no borders of their own") {
    for (auto const name : {"resnet50", "mobilenet_v2", "ssd_resnet50"}) {
        gsub::module m;
        m.add("main", models::find_model(name)->build(1));
        CHECK_FALSE(passes::fold_explicit_padding::may_apply(histogram_of(m)));
    }
}

TEST_CASE("FoldExplicitPadding: random graphs keep their numbers and settle at once") {
    (void)run_on_random_graphs(folding);
}

} // namespace padding_test
