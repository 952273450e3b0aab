#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/layout/alter_op_layout.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace layout_test {

using namespace gsub;
using passes::alter_op_layout;
using passes::layout_query;

// What a vector machine asks for: convolutions of images in blocks.
struct blocked_convolutions {
    std::string_view wanted = "NCHW4c";
    std::optional<layout> operator()(layout_query const& q) const {
        if (!q.is<ops::conv>() || q.result->rank() != 4) return std::nullopt;
        return layout{wanted};
    }
};
static_assert(passes::layout_hook<blocked_convolutions> && !passes::layout_hook<int>);
static_assert(pass<alter_op_layout<blocked_convolutions>>);

struct net {
    graph g;
    graph_builder b{g};
    std::uint64_t seed = 0;

    value_id image(std::int64_t channels = 8) {
        return b.input(dtype::f32, {1, channels, 6, 6}, fmt::format("x{}", g.inputs().size()));
    }
    value_id weight(ints const& sizes) {
        auto t = tensor::uninitialized(dtype::f32, sizes);
        fill_random(t, random_stream{++seed});
        return b.constant(std::move(t));
    }
    value_id conv(value_id x, std::int64_t outputs = 8) {
        attributes_of<ops::conv> a;
        a.strides = {1, 1}, a.pads = {1, 1, 1, 1}, a.dilations = {1, 1};
        return b.add<ops::conv>(a, {x, weight({outputs, g.type(x).dims[1].size(), 3, 3})});
    }
    template <class Op>
    value_id op(std::same_as<value_id> auto... x) {
        return b.add<Op>(x...);
    }
};

// Runs the pass on a graph with these outputs, checks its laws, and gives the new graph as its operators in order.
template <class Hook = blocked_convolutions>
std::string altered(net& n, std::vector<value_id> const& outputs, Hook hook = {}, pass_outcome* told = nullptr) {
    n.g.set_outputs(outputs);
    gsub::module m;
    m.add("main", n.g);
    auto const outcome = run_pass(alter_op_layout<Hook>{hook}, m).value();
    if (told) *told = outcome;
    auto const& g = m.find("main")->body;
    for (auto const& p : check(g, stage::canonical)) FAIL_CHECK(to_string(p));
    CHECK_FALSE(run_pass(alter_op_layout<Hook>{hook}, m).value().changed);
    for (std::size_t i = 0; i < outputs.size(); ++i) CHECK(g.type(g.output(i)) == n.g.type(outputs[i]));
    auto const inputs = random_inputs(n.g, 1);
    auto const before = evaluate_graph(n.g, inputs).value();
    auto const after = evaluate_graph(g, table_of<eval_row, standard_ops>(), inputs).value();
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i].hash() == before[i].hash());
    std::string text;
    for (auto i : g.order()) {
        if (g.op(i).category == op_category::structural) continue;
        text += text.empty() ? "" : " ";
        if (g.is<ops::layout_transform>(i)) {
            text += fmt::format(">{}", g.attributes<ops::layout_transform>(i).to);
        } else {
            text += g.op(i).name;
            if (!g.type({i, 0}).layout.empty()) text += "'";
        }
    }
    return text;
}

TEST_CASE("P1: two convolutions in a row take one change of layout in and one out") {
    net n;
    auto const y = n.op<ops::relu>(n.conv(n.op<ops::relu>(n.conv(n.image()))));
    pass_outcome told;
    CHECK(altered(n, {y}, {}, &told) == ">NCHW4c Conv' Relu' Conv' Relu' >");
    CHECK(told.changed);
    CHECK(told.matches == 2);
}

TEST_CASE("P2: a value with readers of both kinds is changed back once, for the readers that need it") {
    net n;
    auto const r = n.op<ops::relu>(n.conv(n.image()));
    auto const flat = n.b.add<ops::flatten>({}, {r}), other = n.b.add<ops::flatten>({.axis = 2}, {r});
    CHECK(altered(n, {n.conv(r), flat, other}) == ">NCHW4c Conv' Relu' > Flatten Flatten Conv' >");
}

TEST_CASE("P3: a residual block takes its shared input in once, and comes out behind the pool") {
    net n;
    auto const r = n.op<ops::relu>(n.image());
    auto const y = n.op<ops::global_average_pool>(n.op<ops::add>(n.conv(r), n.conv(r)));
    CHECK(altered(n, {y}) == ">NCHW4c Relu' Conv' Conv' Add' GlobalAveragePool' >");
}

TEST_CASE("P4, N2: a bias a channel, a number, and an image of one value a channel stay as they are") {
    net n;
    auto const c = n.conv(n.image());
    auto const y = n.op<ops::mul>(n.op<ops::add>(c, n.weight({8, 1, 1})), n.b.constant(tensor::scalar(2.0f)));
    CHECK(altered(n, {n.op<ops::add>(y, n.weight({1, 8, 1, 1}))}) == ">NCHW4c Conv' Add' Mul' Add' >");
    net wide;
    auto const sum = wide.op<ops::add>(wide.conv(wide.image()), wide.weight({1, 8, 6, 6}));
    CHECK(altered(wide, {sum}) == ">NCHW4c Conv' >NCHW4c Add' >");
}

TEST_CASE("P5: a concatenation of full blocks stays blocked, any other goes back") {
    for (std::int64_t const channels : {8, 6}) {
        net n;
        auto const x = n.image();
        auto const a = n.conv(x, channels), b = n.conv(x, 8);
        pass_outcome told;
        auto const text = altered(n, {n.b.add<ops::concat>({.axis = 1}, {a, b})}, {}, &told);
        CHECK(text == (channels == 8 ? ">NCHW4c Conv' Conv' Concat' >" : ">NCHW4c Conv' Conv' > > Concat"));
        CHECK(told.skips("blocks that are not full") == (channels == 8 ? 0 : 1));
    }
}

TEST_CASE("N1: without a desired layout nothing changes, and neither does a graph that has the layouts desired") {
    net n;
    auto const y = n.op<ops::relu>(n.conv(n.image()));
    pass_outcome told;
    auto const nothing = [](layout_query const&) { return std::optional<layout>{}; };
    CHECK(altered(n, {y}, nothing, &told) == "Conv Relu");
    CHECK_FALSE(told.changed);
    net row_major;
    auto const plain = [](layout_query const&) { return std::optional{layout{}}; };
    CHECK(altered(row_major, {row_major.conv(row_major.image())}, plain) == "Conv");
}

TEST_CASE("N3: what moves elements reads them in row-major order") {
    net n;
    auto const t = n.b.add<ops::transpose>({.perm = {0, 1, 3, 2}}, {n.conv(n.image())});
    CHECK(altered(n, {n.conv(t)}) == ">NCHW4c Conv' > Transpose >NCHW4c Conv' >");
}

TEST_CASE("N4: no layout is chosen for shapes that are not known") {
    net n;
    auto const x = n.b.input(dtype::f32, {dim{symbol{"batch"}}, 8, 6, 6}, "x");
    pass_outcome told;
    CHECK(altered(n, {n.op<ops::relu>(n.conv(x))}, {}, &told) == "Conv Relu");
    CHECK(told.skips("dynamic shape") == 2);
}

TEST_CASE("N5: attributes and sources of the original stay as they were") {
    net n;
    auto const c = n.conv(n.image());
    n.g.set_source(c.node, "stem");
    n.g.set_outputs({&c, 1});
    auto const before = to_text(n.g);
    auto copy = any_graph{n.g};
    pass_context cx;
    CHECK(alter_op_layout{blocked_convolutions{}}(copy, cx).value().changed);
    CHECK(to_text(n.g) == before);
    for (auto i : copy.order())
        if (copy.is<ops::conv>(i)) CHECK(copy.display_name(i) == "stem");
}

TEST_CASE("N6: weights stay as they are, those of depthwise convolutions too: packing them is the kernel's business") {
    net n;
    attributes_of<ops::conv> a;
    a.strides = {1, 1}, a.pads = {1, 1, 1, 1}, a.dilations = {1, 1}, a.group = 8;
    auto const depthwise = n.b.add<ops::conv>(a, {n.image(), n.weight({8, 1, 3, 3}), n.weight({8})});
    CHECK(altered(n, {n.conv(depthwise)}) == ">NCHW4c Conv' Conv' >");
}

TEST_CASE("the hook sees the operator, its attributes and types, and the machine") {
    net n;
    auto const y = n.conv(n.image(), 4);
    n.g.set_outputs({&y, 1});
    int asked = 0;
    auto const look = [&](layout_query const& q) {
        ++asked;
        CHECK(q.is<ops::conv>());
        CHECK(q.attributes<ops::conv>().pads == ints{1, 1, 1, 1});
        CHECK(q.operands.size() == 2);
        CHECK(to_string(*q.operands[1]) == "f32[4,8,3,3]");
        CHECK(to_string(*q.result) == "f32[1,4,6,6]");
        CHECK(q.machine.has(isa::avx512));
        return std::optional<layout>{};
    };
    pass_context cx;
    cx.machine.isa = &isa::avx512;
    CHECK(alter_op_layout{look}(n.g, cx));
    CHECK(asked == 1);
}

// Puts a product, which has no layouts, in the place of convolutions of one pixel; others are wanted in blocks.
struct products_of_pixels {
    bool wrong = false;
    std::optional<passes::desired_layout> operator()(layout_query const& q) const {
        if (!q.is<ops::conv>()) return std::nullopt;
        auto const& w = *q.operands[1];
        if (w.dims[2].size() != 1) return layout{"NCHW4c"};
        passes::desired_layout a;
        a.replace = [bad = wrong](any_graph& g, std::span<value_id const> x) {
            auto const& in = g.type(x[0]);
            auto const c = in.dims[1].size(), out = g.type(x[1]).dims[0].size(), h = in.dims[2].size();
            graph_builder b{g};
            auto const rows = b.add<ops::reshape>(x[0], b.constant(tensor::from<std::int64_t>({3}, {1, c, h * h})));
            auto const weights = b.add<ops::reshape>(x[1], b.constant(tensor::from<std::int64_t>({2}, {out, c})));
            auto const y = b.add<ops::mat_mul>(weights, rows);
            if (bad) return std::vector{y};
            return std::vector{b.add<ops::reshape>(y, b.constant(tensor::from<std::int64_t>({4}, {1, out, h, h})))};
        };
        return a;
    }
};

TEST_CASE("a hook may put other operators in an operator's place, of the same types") {
    auto const made = [](bool wrong) {
        net n;
        auto const x = n.conv(n.image());
        attributes_of<ops::conv> a;
        a.strides = {1, 1}, a.pads = {0, 0, 0, 0}, a.dilations = {1, 1};
        n.g.set_outputs(std::vector{n.conv(n.b.add<ops::conv>(a, {x, n.weight({8, 8, 1, 1})}))});
        gsub::module m;
        m.add("main", n.g);
        auto const done = run_pass(alter_op_layout<products_of_pixels>{{wrong}}, m);
        if (!done) return std::pair{done.error().message(), any_graph{n.g}};
        auto const& g = m.find("main")->body;
        CHECK(check(g, stage::canonical).empty());
        auto const inputs = random_inputs(n.g, 1);
        auto const evaluators = table_of<eval_row, standard_ops>();
        CHECK(compare(evaluate_graph(g, evaluators, inputs).value()[0], evaluate_graph(n.g, inputs).value()[0])
                  .value()
                  .max_relative < 1e-5);
        return std::pair{std::string{}, any_graph{g}};
    };
    auto const g = made(false).second;
    std::size_t products = 0, convolutions = 0, changes = 0;
    for (auto n : g.order()) {
        products += g.is<ops::mat_mul>(n);
        convolutions += g.is<ops::conv>(n);
        changes += g.is<ops::layout_transform>(n);
    }
    CHECK(products == 1);
    CHECK(convolutions == 2);
    CHECK(changes == 4);
    CHECK(made(true).first.find("replacement is of type") != std::string::npos);
}

TEST_CASE("a layout that a value cannot have is refused with the node's name") {
    for (std::string_view const wanted : {"NC4c", "nonsense"}) {
        net n;
        auto const y = n.conv(n.image());
        n.g.set_name(y, "stem");
        n.g.set_outputs({&y, 1});
        pass_context cx;
        auto const r = alter_op_layout{blocked_convolutions{wanted}}(n.g, cx);
        REQUIRE_FALSE(r);
        CHECK(r.error().id() == errors::layout_request);
        CHECK(r.error().message().starts_with("usage: Conv (node \"stem\"): layout \"" + std::string{wanted} + "\""));
    }
}

// Wants what a seed says, of anything of rank 4 or 3.
struct random_wishes {
    std::uint64_t seed;
    std::optional<layout> operator()(layout_query const& q) const {
        if (!q.result->ranked || q.result->rank() < 3 || q.result->rank() > 4) return std::nullopt;
        random_stream r{seed ^ q.attributes_of_op.hash().low ^ static_cast<std::uint64_t>(q.op.id)};
        auto const four = q.result->rank() == 4;
        switch (r.below(4)) {
        case 0:
            return layout{four ? "NCHW4c" : "NCW4c"};
        case 1:
            return layout{four ? "NCHW8c" : "NCW2n"};
        case 2:
            return layout{};
        default:
            return std::nullopt;
        }
    }
};

TEST_CASE("whatever a hook wants, graphs stay well-typed, compute the same bytes, and settle at once") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 30);
        auto changed = any_graph{g};
        pass_context cx;
        alter_op_layout const desired_layouts{random_wishes{seed}};
        (void)desired_layouts(changed, cx).value();
        for (auto const& p : check(changed, stage::imported))
            if (p.reason.find("no operator is internal") == p.reason.npos) {
                auto const before = check(g, stage::imported);
                auto const known =
                    std::any_of(before.begin(), before.end(), [&](problem const& b) { return b.reason == p.reason; });
                if (!known) FAIL_CHECK(to_string(p));
            }
        auto const again = any_graph{changed};
        CHECK_FALSE(desired_layouts(changed, cx).value().changed);
        CHECK(changed == again);
        auto const inputs = random_inputs(g, seed);
        auto const before = evaluate_graph(g, inputs).value();
        auto const after = evaluate_graph(changed, table_of<eval_row, standard_ops>(), inputs).value();
        for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i].hash() == before[i].hash());
        // Without desired layouts all changes of layout go away.
        auto const none = [](layout_query const&) { return std::optional{layout{}}; };
        (void)alter_op_layout{none}(changed, cx).value();
        CHECK(changed == g);
        // Weights that were stored anew are folded and still fit.
        (void)desired_layouts(changed, cx).value();
        REQUIRE(fold_constants(changed, table_of<eval_row, standard_ops>(), {}));
        for (auto const& p : check(changed, stage::imported)) CHECK(p.reason.find("ill-typed") == p.reason.npos);
    }
}

// Asks for blocks of every second convolution, by its channels, and says of the rest what a mask says: row-major or
// not.
struct half_and_half {
    std::optional<std::uint32_t> mask{};
    mutable std::uint32_t asked = 0;
    std::optional<layout> operator()(layout_query const& q) const {
        if (q.is<ops::conv>()) return q.result->dims[1].size() == 8 ? layout{"NCHW4c"} : layout{};
        if (!mask) return std::nullopt;
        return (*mask >> asked++) & 1 ? layout{"NCHW4c"} : layout{};
    }
};
// Bytes that changes of layout move, without those of weights.
std::uint64_t traffic(any_graph const& g) {
    std::uint64_t sum = 0;
    for (auto n : g.order())
        if (g.is<ops::layout_transform>(n) && !g.constant(n))
            sum += passes::conversion_traffic(g.type({n, 0}), g.type(g.operand(n, 0)).layout, g.type({n, 0}).layout);
    return sum;
}

TEST_CASE("operators without a desired layout get the layouts with which changes of layout cost least") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        net n;
        random_stream r{seed};
        std::vector<value_id> values{n.image(), n.image()};
        auto const any = [&] { return values[r.below(values.size())]; };
        int convolutions = 0, others = 0;
        while (others < 7) {
            auto const kind = r.below(4);
            if (kind == 0 && convolutions < 4) {
                auto x = n.conv(any(), convolutions++ % 2 ? 8 : 16);
                if (n.g.type(x).dims[1].size() == 16) {
                    auto const half = n.b.add<ops::split>({.axis = 1, .sizes = {8, 8}}, {x}, 2);
                    ++others;
                    x = half;
                }
                values.push_back(x);
            } else {
                values.push_back(kind < 3 ? n.op<ops::add>(any(), any()) : n.op<ops::relu>(any()));
                ++others;
            }
        }
        std::vector<value_id> const outputs{values.back(), n.b.add<ops::flatten>({}, {any()})};
        n.g.set_outputs(outputs);
        n.g.erase_dead();
        auto const laid_out = [&](std::optional<std::uint32_t> mask) {
            half_and_half const hook{mask};
            return traffic(passes::lay_out_graph(n.g, target{}, hook).graph);
        };
        auto least = laid_out(std::uint32_t{0});
        for (std::uint32_t mask = 1; mask < 1u << others; ++mask) least = std::min(least, laid_out(mask));
        CHECK(laid_out(std::nullopt) == least);
    }
}

TEST_CASE("a sum of one value in blocks and two in rows is computed in rows, and with a free way back in blocks") {
    net n;
    auto const a = n.op<ops::add>(n.op<ops::add>(n.conv(n.image()), n.image()), n.image());
    CHECK(altered(n, {a}) == ">NCHW4c Conv' > Add Add");
    // What changes cost is the caller's to say.
    auto const free_way_in = [](tensor_type const&, layout, layout to) { return to.empty() ? 100u : 0u; };
    auto const made = passes::lay_out_graph(n.g, target{}, blocked_convolutions{}, free_way_in);
    for (auto i : made.graph.order())
        if (made.graph.is<ops::add>(i)) CHECK(made.graph.type({i, 0}).layout == layout{"NCHW4c"});
    REQUIRE(made.came_from.size() == made.graph.capacity());
    for (auto i : made.graph.order())
        if (auto const from = made.came_from[i.index]; from.valid()) CHECK(n.g.op(from).id == made.graph.op(i).id);
}

TEST_CASE("what a kernel reads in rows itself pulls nobody into blocks") {
    net n;
    auto const r = n.op<ops::relu>(n.op<ops::add>(n.image(), n.image()));
    auto const reads_rows = [](layout_query const& q) -> std::optional<passes::desired_layout> {
        if (!q.is<ops::conv>()) return std::nullopt;
        return passes::desired_layout{layout{"NCHW4c"}, true};
    };
    auto const y = n.conv(r);
    CHECK(altered(n, {y}, reads_rows) == "Add Relu >NCHW4c Conv' >");
    net other;
    auto const z = other.conv(other.op<ops::relu>(other.op<ops::add>(other.image(), other.image())));
    CHECK(altered(other, {z}) == "Add >NCHW4c Relu' Conv' >");
}

TEST_CASE("pieces and parts of what is in blocks may be in blocks, and an output keeps its name") {
    net n;
    auto const c = n.conv(n.image(), 16);
    auto const half = n.b.add<ops::split>({.axis = 1, .sizes = {8, 8}}, {c}, 2);
    auto const part = n.b.add<ops::slice>({.starts = {4}, .ends = {8}, .axes = {1}, .steps = {1}}, {half});
    n.g.set_name(part, "part");
    n.g.set_outputs({&part, 1});
    auto const made = passes::lay_out_graph(n.g, target{}, blocked_convolutions{}).graph;
    CHECK(made.info().output_names == std::vector<std::string>{"part"});
    CHECK(altered(n, {part}) == ">NCHW4c Conv' Split' Slice' >");
}

TEST_CASE("networks go into blocks at their beginning and come out at their end") {
    struct expectation {
        std::string_view model;
        std::size_t changes;
    };
    for (auto const& [name, changes] :
         {expectation{"resnet18", 2}, {"squeezenet1_1", 2}, {"mobilenet_v2", 2}, {"inception_v3", 2}}) {
        CAPTURE(name);
        any_graph g = models::find_model(name)->build(1);
        pass_context cx;
        CHECK(alter_op_layout{blocked_convolutions{"NCHW16c"}}(g, cx).value().changed);
        auto const is_change = [&](node_id n) { return g.is<ops::layout_transform>(n); };
        CHECK(static_cast<std::size_t>(std::count_if(g.order().begin(), g.order().end(), is_change)) == changes);
        CHECK(check(g, stage::canonical).empty());
    }
}

} // namespace layout_test
