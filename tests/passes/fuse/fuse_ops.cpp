#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/fuse/defuse_ops.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fuse_test {
struct mean {};    // a reduction without windows
struct foreign {}; // an operator of the user's that nothing is known of
} // namespace fuse_test

template <>
struct gsub::op_traits<fuse_test::mean> {
    static constexpr std::string_view name = "Mean", domain = "test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = gsub::op_category::reduction;
    static constexpr bool commutative_reduction = true;
};
template <>
struct gsub::infer_shape<fuse_test::mean> : gsub::same_as_input<0> {};
template <>
struct gsub::op_traits<fuse_test::foreign> {
    static constexpr std::string_view name = "Weird-Op 3", domain = "test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = gsub::op_category::opaque;
};
template <>
struct gsub::infer_shape<fuse_test::foreign> : gsub::same_as_input<0> {};

namespace fuse_test {

using namespace gsub;
using passes::defuse_ops;
using passes::fuse_groups;
using passes::fuse_kind;
using passes::fuse_kind_of;
using passes::fuse_ops;
using passes::is_view;

struct wide_set : standard_ops::with<mean, foreign> {};

// A builder with the few operators that the cases are made of.
struct net {
    basic_graph<wide_set> g;
    graph_builder b{g};
    std::uint64_t seed = 0;

    value_id image(std::int64_t channels = 4) { return b.input(dtype::f32, {1, channels, 6, 6}, "x"); }
    value_id weight(ints const& sizes) {
        auto t = tensor::uninitialized(dtype::f32, sizes);
        fill_random(t, random_stream{++seed});
        return b.constant(std::move(t), fmt::format("w{}", static_cast<unsigned long long>(seed)));
    }
    value_id conv(value_id x, std::int64_t kernel = 3) { return conv_with(x, weight({4, 4, kernel, kernel})); }
    value_id conv_with(value_id x, value_id w) {
        attributes_of<ops::conv> a;
        auto const pad = g.type(w).dims[2].size() / 2;
        a.strides = {1, 1}, a.pads = {pad, pad, pad, pad}, a.dilations = {1, 1};
        return b.add<ops::conv>(a, {x, w});
    }
    value_id max_pool(value_id x) {
        attributes_of<ops::max_pool> a;
        a.kernel_shape = {3, 3}, a.strides = {1, 1}, a.pads = {1, 1, 1, 1}, a.dilations = {1, 1};
        return b.add<ops::max_pool>(a, {x});
    }
    value_id swap(value_id x) { return b.add<ops::transpose>({.perm = {0, 1, 3, 2}}, {x}); }
    template <class Op>
    value_id op(std::same_as<value_id> auto... x) {
        return b.add<Op>(x...);
    }
    // The module, fused.
    gsub::module fused(std::vector<value_id> const& outputs, fuse_ops const& options = {}) {
        g.set_outputs(outputs);
        gsub::module m;
        m.add("main", g);
        (void)run_pass(options, m).value();
        return m;
    }
    // Names of the functions made, without prefix, sorted.
    std::vector<std::string> kernels(std::vector<value_id> const& outputs, fuse_ops const& options = {}) {
        std::vector<std::string> names;
        auto const m = fused(outputs, options);
        for (auto const& f : m.functions())
            if (f.attributes.primitive) names.push_back(f.name.substr(6));
        std::sort(names.begin(), names.end());
        return names;
    }
};
using names = std::vector<std::string>;

TEST_CASE("FuseOps P1: elementwise and moving operators in a row are one group") {
    net n;
    auto const x = n.b.input(dtype::f32, {1, 4, 6}, "x");
    auto const y = n.b.add<ops::squeeze>({.axes = {0}}, {n.op<ops::tanh>(n.op<ops::add>(x, n.weight({6})))});
    CHECK(n.kernels({y}) == names{"add_tanh_squeeze_0"});
}

TEST_CASE("FuseOps P2: a diamond behind a convolution is one group") {
    net n;
    auto const c = n.conv(n.image());
    auto const y = n.op<ops::sum>(n.op<ops::relu>(c), n.op<ops::tanh>(c), n.op<ops::sigmoid>(c));
    auto const found = n.kernels({y});
    REQUIRE(found.size() == 1);
    CHECK(found[0].starts_with("conv_"));
}

TEST_CASE("FuseOps P3: a sum of two convolutions joins one of them") {
    net n;
    auto const x = n.image();
    auto const y = n.op<ops::add>(n.conv(x, 1), n.conv(x, 3));
    CHECK(n.kernels({y}) == names{"conv_0", "conv_add_0"});
}

TEST_CASE("FuseOps P4: moving operators join what follows them, not the pool before") {
    net n;
    auto const x = n.image();
    auto const wide = n.b.add<ops::concat>({.axis = 1}, {n.swap(n.max_pool(x)), x});
    CHECK(n.kernels({n.op<ops::add>(wide, n.weight({6}))}) == names{"max_pool_0", "transpose_concat_add_0"});
}

TEST_CASE("FuseOps P5: a softmax takes a conversion behind it along, and a convolution bias, residual and activation") {
    net n;
    auto const y = n.b.add<ops::cast>({.to = dtype::f16}, {n.b.add<ops::softmax>({}, {n.image()})});
    CHECK(n.kernels({y}) == names{"softmax_cast_0"});
    net block;
    auto const x = block.image();
    auto const biased = block.op<ops::add>(block.conv(x), block.weight({4, 1, 1}));
    CHECK(block.kernels({block.op<ops::relu>(block.op<ops::add>(biased, x))}) == names{"conv_add_add_relu_0"});
}

TEST_CASE("FuseOps P6: a plain reduction takes producers in and ends the group") {
    net in, out;
    CHECK(in.kernels({in.op<mean>(in.op<ops::tanh>(in.image()))}) == names{"tanh_mean_0"});
    CHECK(out.kernels({out.op<ops::tanh>(out.op<mean>(out.image()))}) == names{"mean_0", "tanh_0"});
}

TEST_CASE("FuseOps P7: a split and elementwise branches that meet again are one group") {
    net meeting, apart;
    auto const parts = [](net& n) { return n.b.add<ops::split>({.axis = 1, .sizes = {2, 2}}, {n.image()}, 2).node; };
    auto const s = parts(meeting);
    CHECK(meeting.kernels({meeting.op<ops::mul>(meeting.op<ops::tanh>(value_id{s, 0}), value_id{s, 1})}) ==
          names{"split_tanh_mul_0"});
    auto const t = parts(apart);
    CHECK(apart.kernels({apart.op<ops::relu>(value_id{t, 0}), apart.op<ops::tanh>(value_id{t, 1})}) ==
          names{"relu_0", "split_0", "tanh_0"});
}

// P8, a marker that ends a group: whatever is opaque does, see N2.

TEST_CASE("FuseOps N1: a value that is an output ends its group, also where others read it") {
    net n;
    auto const c = n.conv(n.image());
    auto const r = n.op<ops::relu>(c);
    CHECK(n.kernels({r, n.op<ops::tanh>(r)}) == names{"conv_relu_0", "tanh_0"});
    net used;
    auto const inner = used.op<ops::relu>(used.image());
    auto const m = used.fused({used.op<ops::tanh>(inner), inner});
    CHECK(m.functions().size() == 3);
}

TEST_CASE("FuseOps N2: an operator that nothing is known of is alone, and an opaque node stays where it is") {
    net n;
    auto const y = n.op<ops::relu>(n.op<foreign>(n.op<ops::tanh>(n.image())));
    CHECK(n.kernels({y}) == names{"relu_0", "tanh_0", "weird_op_3_0"});
    net o;
    auto const before = o.op<ops::tanh>(o.image());
    type_id const type = o.g.type_of(before);
    auto const node =
        o.g.add_opaque({.domain = "d", .op_type = "Secret"}, tensor::scalar(1.0f), {&before, 1}, {&type, 1});
    auto const m = o.fused({o.op<ops::relu>(value_id{node, 0})});
    CHECK(m.functions().size() == 3);
    auto const& main = m.find("main")->body;
    CHECK(std::count_if(main.order().begin(), main.order().end(), [&](node_id i) { return main.is<ops::opaque>(i); }) ==
          1);
}

TEST_CASE("FuseOps N3: what is fused stays as it is: a second run changes nothing") {
    net n;
    auto const x = n.image();
    auto m = n.fused({n.op<ops::add>(n.conv(n.op<ops::relu>(n.conv(x))), x)});
    auto const text = to_text(m);
    auto const again = run_pass(fuse_ops{}, m).value();
    CHECK_FALSE(again.changed);
    CHECK(again.matches == 0);
    CHECK(to_text(m) == text);
}

TEST_CASE("FuseOps N4: no group is larger than the limits, and operators of a diamond count once") {
    for (std::size_t const limit : {1u, 2u, 5u, 64u}) {
        net n;
        auto v = n.image();
        for (int i = 0; i < 8; ++i) v = n.op<ops::add>(n.op<ops::tanh>(v), n.op<ops::sigmoid>(v));
        n.g.set_outputs({&v, 1});
        auto const groups = fuse_groups(n.g, {.max_ops = limit});
        std::size_t total = 0;
        for (auto const& group : groups) {
            CHECK(group.size() <= limit);
            total += group.size();
        }
        CHECK(total == 24);
        if (limit == 1) CHECK(groups.size() == 24);
        if (limit == 64) CHECK(groups.size() == 1);
    }
    net n;
    auto v = n.image();
    for (int i = 0; i < 10; ++i) v = n.op<ops::add>(v, n.b.input(dtype::f32, {6}, fmt::format("y{}", i)));
    n.g.set_outputs({&v, 1});
    auto const groups = fuse_groups(n.g, {.max_parameters = 4});
    CHECK(groups.size() > 1);
    for (auto const& group : groups) {
        std::set<value_id> read;
        for (auto i : group)
            for (auto o : n.g.operands(i))
                if (std::find(group.begin(), group.end(), o.node) == group.end()) read.insert(o);
        CHECK(read.size() <= 4);
    }
    gsub::module m;
    m.add("main", n.g);
    CHECK(run_pass(fuse_ops{.max_parameters = 4}, m).value().skips("too many parameters") > 0);
}

TEST_CASE("FuseOps N5: a reshape to sizes that data decide is alone, one to known sizes is not") {
    for (bool const known : {true, false}) {
        net n;
        auto const x = n.b.input(dtype::f32, {4, 6}, "x");
        auto const to =
            known ? n.b.constant(tensor::from<std::int64_t>({1}, {24})) : n.b.input(dtype::i64, {1}, "sizes");
        auto const y = n.b.add<ops::reshape>({}, {n.op<ops::tanh>(x), to});
        CHECK(n.kernels({y}) == (known ? names{"tanh_reshape_0"} : names{"reshape_0", "tanh_0"}));
    }
}

TEST_CASE("weights that one group alone reads go into its function without being copied, shared ones are passed") {
    net n;
    auto const shared = n.weight({4, 4, 1, 1}), own = n.weight({4, 4, 1, 1}), half = n.b.constant(tensor::scalar(0.5f));
    auto const scaled = n.op<ops::mul>(own, half); // weight arithmetic
    auto const x = n.image();
    auto const m = n.fused({n.conv_with(n.conv_with(n.conv_with(x, shared), scaled), shared)});
    auto const is_constant = [](any_graph const& g) {
        std::set<float const*> data;
        for (auto i : g.order())
            if (g.is<ops::constant>(i)) data.insert(g.constant_data(i).template data<float>().data());
        return data;
    };
    auto const in_main = is_constant(m.find("main")->body);
    CHECK(in_main == std::set{n.g.constant_data(shared.node).data<float>().data()});
    std::set<float const*> inside;
    for (auto const& f : m.functions())
        if (f.attributes.primitive) inside.merge(is_constant(f.body));
    CHECK(inside == std::set{n.g.constant_data(own.node).data<float>().data(),
                             n.g.constant_data(half.node).data<float>().data()});
}

TEST_CASE("kernels keep the user's names, in calls, bodies and after fusing is undone") {
    net n;
    auto const c = n.conv(n.image()), y = n.op<ops::relu>(c);
    n.g.set_source(c.node, "layer1/conv");
    n.g.set_source(y.node, "layer1/relu");
    n.g.set_name(c, "hidden");
    n.g.set_name(y, "y");
    auto const before = to_text([&] {
        n.g.set_outputs({&y, 1});
        return n.g;
    }());
    auto m = n.fused({y});
    auto const& main = m.find("main")->body;
    auto const call = main.output(0).node;
    CHECK(main.sources(call) == std::vector<std::string>{"layer1/conv", "layer1/relu"});
    CHECK(main.name({call, 0}) == "y");
    (void)run_pass(defuse_ops{}, m).value();
    REQUIRE(m.functions().size() == 1);
    auto restored = m.find("main")->body;
    restored.compact();
    CHECK(to_text(restored) == before);
}

TEST_CASE("functions get names that no other function has") {
    net n;
    auto const y = n.op<ops::relu>(n.conv(n.op<ops::relu>(n.conv(n.image()))));
    n.g.set_outputs({&y, 1});
    gsub::module m;
    m.add("fused_conv_relu_0", n.g, {.compiler = "somebody"});
    m.add("main", n.g);
    (void)run_pass(fuse_ops{}, m).value();
    REQUIRE(m.functions().size() == 4);
    CHECK(m.functions()[2].name == "fused_conv_relu_1");
    CHECK(m.functions()[3].name == "fused_conv_relu_2");
    CHECK(m.functions()[0].body == n.g);
}

TEST_CASE("a function of views alone is known as one") {
    net views, moves;
    auto const y = views.b.add<ops::flatten>({}, {views.b.add<ops::unsqueeze>({.axes = {0}}, {views.image()})});
    CHECK(is_view(views.fused({y}).functions()[1].body));
    CHECK_FALSE(is_view(moves.fused({moves.swap(moves.image())}).functions()[1].body));
}

// ---- laws on any graph ---------------------------------------------------------------------------------------------

bool leads(any_graph const& g, node_id n) {
    return passes::fuse_kind_of(g, n) == fuse_kind::out_fusable;
}

// Groups cover every operator once, hold together, have one way out, and lead at most one contraction.
void check_groups(any_graph const& g, std::vector<std::vector<node_id>> const& groups) {
    std::map<std::uint32_t, std::size_t> group_of;
    for (std::size_t i = 0; i < groups.size(); ++i)
        for (auto n : groups[i]) CHECK(group_of.emplace(n.index, i).second);
    auto const results = g.return_node();
    auto const needed = upstream(g, {&results, 1});
    for (auto n : g.order())
        CHECK(group_of.contains(n.index) ==
              (needed[n.index] && !g.constant(n) && g.op(n).category != op_category::structural));
    for (auto const& group : groups) {
        CHECK(std::count_if(group.begin(), group.end(), [&](node_id n) { return leads(g, n); }) <= 1);
        std::set<std::uint32_t> reached{group.back().index};
        for (auto i = group.size(); i-- > 0;) {
            bool outside = false;
            for (std::uint32_t port = 0; port < g.result_count(group[i]); ++port)
                g.for_each_use({group[i], port}, [&](use u) {
                    auto const by = group_of.find(u.user.index);
                    if (by == group_of.end() || by->second != group_of[group[i].index])
                        outside = true;
                    else if (reached.contains(u.user.index))
                        reached.insert(group[i].index);
                });
            CHECK(outside == (i + 1 == group.size()));
        }
        CHECK(reached.size() == group.size());
    }
}

// No call comes before what it reads: the groups contract to a graph without cycles.
void check_module(gsub::module const& m) {
    for (auto const& f : m.functions()) {
        std::set<std::uint32_t> seen;
        for (auto n : f.body.order()) {
            for (auto v : f.body.operands(n)) CHECK((!v.valid() || seen.contains(v.node.index)));
            seen.insert(n.index);
        }
    }
}

TEST_CASE("fusing any graph and undoing it gives an equal graph, groups are connected, convex and deterministic") {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 10 + seed % 60);
        fuse_ops const options{.max_ops = seed % 3 == 0 ? std::size_t{4} : std::size_t{256}};
        auto const groups = fuse_groups(g, options);
        check_groups(g, groups);
        gsub::module m;
        m.add("main", g);
        auto twin = m;
        auto const outcome = run_pass(options, m).value();
        CHECK(outcome.changed);
        CHECK(outcome.matches == groups.size());
        CHECK(m.functions().size() == groups.size() + 1);
        check_module(m);
        auto const inlined = m.inlined().value();
        CHECK(inlined == g);
        CHECK(inlined.info().output_names == g.info().output_names);
        (void)run_pass(options, twin).value();
        CHECK(to_text(m) == to_text(twin));
        CHECK_FALSE(run_pass(options, m).value().changed);
        auto const undone = run_pass(defuse_ops{}, m).value();
        CHECK(undone.matches == groups.size());
        REQUIRE(m.functions().size() == 1);
        CHECK(m.find("main")->body == g);
        CHECK_FALSE(run_pass(defuse_ops{}, m).value().changed);
    }
}

TEST_CASE("a fused graph computes the same bytes") {
    for (std::uint64_t seed = 200; seed < 212; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 30);
        gsub::module m;
        m.add("main", g);
        (void)run_pass(fuse_ops{}, m).value();
        auto const inputs = random_inputs(g, seed);
        auto const before = evaluate_graph(g, inputs).value();
        auto const after = evaluate_graph(m.inlined().value(), table_of<eval_row, standard_ops>(), inputs).value();
        REQUIRE(after.size() == before.size());
        for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i].hash() == before[i].hash());
    }
}

TEST_CASE("the networks of the catalogue are fused into convolutions with their normalisations and activations") {
    struct expectation {
        std::string_view model;
        std::size_t groups;
    };
    for (auto const& [name, count] :
         {expectation{"resnet18", 24}, {"squeezenet1_1", 39}, {"mobilenet_v2", 55}, {"inception_v3", 121}}) {
        CAPTURE(name);
        auto const g = models::find_model(name)->build(1);
        auto const groups = fuse_groups(g);
        check_groups(g, groups);
        CHECK(groups.size() == count);
        gsub::module m;
        m.add("main", g);
        (void)run_pass(fuse_ops{}, m).value();
        check_module(m);
        CHECK_FALSE(run_pass(fuse_ops{}, m).value().changed);
        for (auto n : m.find("main")->body.order()) // every weight has gone into a kernel
            CHECK_FALSE(m.find("main")->body.is<ops::constant>(n));
        CHECK(m.inlined().value() == g);
        (void)run_pass(defuse_ops{}, m).value();
        CHECK(m.find("main")->body == g);
    }
}

// The rule by sets and walks, one step at a time.
class plain_grouping {
public:
    plain_grouping(any_graph const& g, fuse_ops const& options) : g_(g), options_(options) {
        auto const results = g.return_node();
        auto const needed = upstream(g, {&results, 1});
        for (auto n : g.order()) {
            auto const graph_own = g.op(n).category == op_category::structural && !g.is<ops::call>(n);
            if (!graph_own && !g.constant(n) && needed[n.index]) place_[n] = nodes_.size(), nodes_.push_back(n);
        }
        auto const end = nodes_.size();
        edges_.resize(end), parent_.assign(end + 1, end), worst_.assign(end + 1, fuse_kind::opaque);
        for (std::size_t i = 0; i < end; ++i) kinds_.push_back(fuse_kind_of(g, nodes_[i])), group_.push_back(i);
        for (auto i = end; i-- > 0;) find_parent(i);
        for (int sweep = 0; sweep < 2; ++sweep)
            for (std::size_t i = 0; i < end; ++i) visit(i, sweep);
    }
    std::vector<std::vector<node_id>> groups() const {
        std::vector<std::vector<node_id>> out;
        for (std::size_t r = 0; r < nodes_.size(); ++r) {
            if (group_[r] != r || g_.is<ops::opaque>(nodes_[r]) || g_.is<ops::call>(nodes_[r])) continue;
            out.emplace_back();
            for (std::size_t i = 0; i < nodes_.size(); ++i)
                if (group_[i] == r) out.back().push_back(nodes_[i]);
        }
        return out;
    }

private:
    void find_parent(std::size_t i) {
        auto const end = nodes_.size();
        auto ends = false;
        for (std::uint32_t port = 0; port < g_.result_count(nodes_[i]); ++port)
            g_.for_each_use({nodes_[i], port}, [&](use u) {
                auto const to = place_.find(u.user);
                if (to == place_.end()) {
                    ends = true;
                    return;
                }
                auto const &a = g_.type({nodes_[i], port}), &b = g_.type(value_id{u.user, 0});
                auto kind = kinds_[to->second];
                if (kind == fuse_kind::broadcast && a.ranked && b.ranked && a.dims == b.dims)
                    kind = fuse_kind::elementwise;
                edges_[i].emplace_back(to->second, kind);
            });
        if (ends || edges_[i].empty()) return;
        auto const above = [&](std::size_t n) {
            std::vector<std::size_t> out{n};
            while (n != end) out.push_back(n = parent_[n]);
            return out;
        };
        auto common = above(edges_[i].front().first);
        for (auto const& [to, kind] : edges_[i]) {
            auto const other = above(to);
            std::erase_if(common, [&](std::size_t n) { return std::count(other.begin(), other.end(), n) == 0; });
        }
        parent_[i] = common.front();
        worst_[i] = fuse_kind::elementwise;
        for (auto [to, kind] : edges_[i]) {
            worst_[i] = std::max(worst_[i], kind);
            for (auto n = to; n != parent_[i]; n = parent_[n]) worst_[i] = std::max(worst_[i], worst_[n]);
        }
    }
    void visit(std::size_t i, int sweep) {
        auto const kind = kinds_[i];
        auto const sink = parent_[i];
        if (kind == fuse_kind::opaque || kind == fuse_kind::reduction || sink == nodes_.size()) return;
        if (group_[i] == group_[sink]) return;
        auto between = fuse_kind::injective, last = fuse_kind::injective;
        if (kind == fuse_kind::out_fusable) {
            if (sweep != 0 || worst_[i] != fuse_kind::elementwise) return;
            between = last = fuse_kind::broadcast;
        } else if (kind <= fuse_kind::broadcast) {
            if (worst_[i] > fuse_kind::reduction) return;
            last = fuse_kind::out_fusable;
        } else if (sweep != 1) {
            return;
        }
        if (kinds_[group_[sink]] > last) return;
        std::vector<std::size_t> region{i};
        for (std::size_t at = 0; at < region.size(); ++at)
            for (auto [to, unused] : edges_[region[at]]) {
                if (to == sink || std::count(region.begin(), region.end(), to)) continue;
                if (kinds_[group_[to]] > between) return;
                region.push_back(to);
            }
        if (region.size() >= options_.max_ops) return;
        std::set<std::size_t> roots{group_[sink]};
        for (auto n : region) roots.insert(group_[n]);
        std::set<value_id> read;
        std::size_t operators = 0;
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            if (!roots.contains(group_[n])) continue;
            ++operators;
            for (auto v : g_.operands(nodes_[n])) {
                auto const from = place_.find(v.node);
                if (v.valid() && (from == place_.end() || !roots.contains(group_[from->second]))) read.insert(v);
            }
        }
        if (operators > options_.max_ops || read.size() > options_.max_parameters) return;
        auto const target = group_[sink];
        for (auto r : roots)
            if (kinds_[r] == fuse_kind::out_fusable) kinds_[target] = fuse_kind::out_fusable;
        for (auto& of : group_)
            if (roots.contains(of)) of = target;
    }

    any_graph const& g_;
    fuse_ops options_;
    std::vector<node_id> nodes_;
    std::map<node_id, std::size_t> place_;
    std::vector<std::vector<std::pair<std::size_t, fuse_kind>>> edges_;
    std::vector<std::size_t> parent_, group_;
    std::vector<fuse_kind> kinds_, worst_;
};

TEST_CASE("groups are those of the rule by sets, within any limits") {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 20 + seed % 60);
        for (auto const& limits : {fuse_ops{}, fuse_ops{.max_ops = 4}, fuse_ops{.max_ops = 9, .max_parameters = 3},
                                   fuse_ops{.max_parameters = 2}})
            CHECK(fuse_groups(g, limits) == plain_grouping{g, limits}.groups());
    }
}

TEST_CASE("operators with as many operands and readers as there are nodes are grouped in time in proportion") {
    auto const seconds_of = [](std::size_t count) {
        net n;
        auto const x = n.b.input(dtype::f32, {4}, "x");
        std::vector<value_id> one, other;
        for (std::size_t i = 0; i < count; ++i) {
            auto const v = n.op<ops::tanh>(n.b.input(dtype::f32, {4}, {}));
            one.push_back(v), other.push_back(n.op<ops::add>(v, x));
        }
        // Each branch is read by one sum at once, and by another through an addition.
        value_id const both[] = {n.b.add<ops::sum>({}, one), n.b.add<ops::sum>({}, other)};
        auto const y = n.op<ops::add>(both[0], both[1]);
        n.g.set_outputs({&y, 1});
        auto least = std::chrono::duration<double>::max();
        for (int i = 0; i < 3; ++i) {
            auto const begin = std::chrono::steady_clock::now();
            CHECK(fuse_groups(n.g).size() > count / 256);
            least = std::min<std::chrono::duration<double>>(least, std::chrono::steady_clock::now() - begin);
        }
        return least.count();
    };
    auto const small = seconds_of(3'000), large = seconds_of(24'000);
    INFO(small << " s and " << large << " s");
    CHECK(large < 0.05 + 24 * small); // 8 where linear, 64 where quadratic
}

TEST_CASE("a long chain whose first value is read all along is grouped in a moment") {
    net n;
    auto const x = n.op<ops::tanh>(n.image());
    auto v = x;
    for (int i = 0; i < 10'000; ++i) v = n.op<ops::add>(v, x);
    n.g.set_outputs({&v, 1});
    auto const groups = fuse_groups(n.g, {.max_ops = 16});
    CHECK(groups.size() > 500);
}

} // namespace fuse_test
