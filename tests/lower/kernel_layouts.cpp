#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/lower/kernel_layouts.hpp>
#include <gsub/models/catalogue.hpp>

#include <string>
#include <vector>

namespace kernel_layouts_test {

using namespace kernel_graphs;

struct net {
    graph g;
    models::network_builder b{g, weight_source{1}};
    value_id x(std::int64_t channels = 32, std::int64_t batch = 1) {
        return b.input(dtype::f32, {batch, channels, 6, 6}, "x" + std::to_string(g.inputs().size()));
    }
    value_id conv(value_id v, std::int64_t outputs = 32) { return b.conv("c", v, {outputs, {3, 3}, {1, 1}, {1, 1}}); }
    kernel_storage storage(value_id v) const { return kernel_storage_of(any_graph{g}, v.node, isa::avx512); }
};

} // namespace kernel_layouts_test

TEST_CASE("convolutions and pools of images are stored in blocks, arithmetic follows, all else is in rows") {
    using namespace kernel_layouts_test;
    using enum kernel_storage;
    net n;
    auto const x = n.x();
    CHECK(n.storage(n.conv(x)) == blocks);
    CHECK(n.storage(n.b.max_pool("p", x, {{2, 2}, {2, 2}, {0, 0}})) == blocks);
    CHECK(n.storage(n.b.add<ops::global_average_pool>(x)) == blocks);
    CHECK(n.storage(n.b.relu("r", x)) == follows);
    CHECK(n.storage(n.b.sum("s", x, x)) == follows);
    CHECK(n.storage(n.b.add<ops::div>(x, x)) == row_major); // what fills blocks up would be no number
    CHECK(n.storage(n.b.add<ops::softmax>({.axis = 1}, {x})) == row_major);
    CHECK(n.storage(n.b.add<ops::transpose>({.perm = {0, 2, 3, 1}}, {x})) == row_major);
    CHECK(n.storage(n.conv(x, 8)) == blocks);
    CHECK(n.storage(n.b.relu("flat", n.b.add<ops::flatten>({}, {x}))) == row_major);
    // Numbers for each channel, where they become part of a convolution's weights.
    auto const numbers = n.b.constant(tensor::zeros(dtype::f32, ints{32, 1, 1}));
    CHECK(n.storage(n.b.sum("behind", n.conv(x), numbers)) == follows);
    CHECK(n.storage(n.b.sum("alone", x, numbers)) == row_major);
    // By weights that are computed there is no kernel in blocks.
    auto const w = n.b.input(dtype::f32, {8, 32, 3, 3}, "w");
    attributes_of<ops::conv> a;
    a.strides = {1, 1}, a.pads = {1, 1, 1, 1}, a.dilations = {1, 1};
    CHECK(n.storage(n.b.add<ops::conv>(a, {x, w})) == row_major);
}

TEST_CASE("whole blocks of one image are joined and cut where they lie") {
    using namespace kernel_layouts_test;
    using enum kernel_storage;
    for (std::int64_t const batch : {1, 2}) {
        net n;
        auto const x = n.x(64, batch), few = n.x(24, batch);
        auto const one = batch == 1 ? follows : row_major;
        CHECK(n.storage(n.b.concat("j", {x, x})) == one);
        CHECK(n.storage(n.b.concat("j", {x, few})) == row_major);
        CHECK(n.storage(n.b.add<ops::split>({.axis = 1, .sizes = {16, 48}}, {x}, 2)) == one);
        CHECK(n.storage(n.b.add<ops::split>({.axis = 1, .sizes = {8, 56}}, {x}, 2)) == row_major);
        CHECK(n.storage(n.b.add<ops::split>({.axis = 2, .sizes = {3, 3}}, {x}, 2)) == row_major);
        auto const cut = [&](std::int64_t first, std::int64_t last, std::int64_t axis) {
            return n.b.add<ops::slice>({.starts = {first}, .ends = {last}, .axes = {axis}, .steps = {1}}, {x});
        };
        CHECK(n.storage(cut(16, 48, 1)) == one);
        CHECK(n.storage(cut(8, 40, 1)) == row_major);
        CHECK(n.storage(cut(1, 4, 2)) == row_major);
    }
}

TEST_CASE("blocks have as many channels as vectors have lanes") {
    using namespace gsub;
    CHECK(channel_blocks(4, isa::avx512).text() == "NCHW16c");
    CHECK(channel_blocks(3, isa::avx2).text() == "NCW8c");
    CHECK(channel_blocks(5, isa::baseline).text() == "NCDHW4c");
    tensor_type t{dtype::f32, ints{1, 32, 6, 6}};
    CHECK_FALSE(in_channel_blocks(t, isa::avx512));
    for (auto const* name : {"NCHW16c", "NCHW8c", "NCHW16n", "NCW16c"}) {
        t.layout = layout{name};
        CHECK(in_channel_blocks(t, isa::avx512) == (std::string_view{name} == "NCHW16c"));
    }
}

TEST_CASE("a convolution reads few channels in rows, and what had its channels last where it lies") {
    using namespace kernel_layouts_test;
    net n;
    auto const turned = n.b.input(dtype::f32, {1, 6, 6, 32}, "t");
    auto const x = n.b.add<ops::transpose>({.perm = {0, 3, 1, 2}}, {turned});
    auto const sideways = n.b.add<ops::transpose>({.perm = {0, 3, 2, 1}}, {turned});
    std::vector<std::pair<value_id, bool>> const rows{{n.conv(n.x(3)), true},
                                                      {n.conv(n.x(12)), false},
                                                      {n.conv(x), true},
                                                      {n.conv(sideways), false},
                                                      {n.b.max_pool("p", x, {{2, 2}, {2, 2}, {0, 0}}), true},
                                                      {n.b.max_pool("q", n.x(3), {{2, 2}, {2, 2}, {0, 0}}), false}};
    any_graph const g{n.g};
    for (auto const& [v, in_place] : rows) CHECK(reads_in_place(g, v.node, isa::avx512) == in_place);
    CHECK(data_of(g, rows[2].first.node, isa::avx512) == x);
    // In front of a change of layout, too.
    auto const behind = n.b.add<ops::layout_transform>({.to = "NCHW16c"}, {x});
    auto const y = n.conv(behind);
    any_graph const h{n.g};
    CHECK(reads_in_place(h, y.node, isa::avx512));
    CHECK(data_of(h, y.node, isa::avx512) == x);
}

TEST_CASE("types of the networks say what lowering will find, and little is changed") {
    using namespace kernel_layouts_test;
    struct row {
        std::string_view model;
        std::size_t most; // changes of layout
    };
    for (auto const& [name, most] : {row{"resnet50", 2},
                                     {"inception_v3", 2},
                                     {"mobilenet_v2", 2},
                                     {"densenet121", 2},
                                     {"squeezenet1_1", 2},
                                     {"ssd_resnet50", 14},
                                     {"bert_small", 0}}) {
        CAPTURE(name);
        any_graph const g = models::find_model(name)->build(1);
        auto const made = passes::lay_out_graph(g, target{}, kernel_layouts{&isa::avx512}).graph;
        std::size_t changes = 0;
        for (auto n : made.order()) {
            changes += made.is<ops::layout_transform>(n);
            auto const storage = kernel_storage_of(made, n, isa::avx512);
            auto const& t = made.type({n, 0});
            if (storage == kernel_storage::blocks) CHECK(in_channel_blocks(t, isa::avx512));
            if (storage == kernel_storage::row_major && !made.is<ops::layout_transform>(n)) CHECK(t.layout.empty());
        }
        CHECK(changes <= most);
    }
}
