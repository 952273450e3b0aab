#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/nest_time.hpp>
#include <gsub/cost/scheduled_time.hpp>
#include <gsub/cost/static_gpu.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace lowered_test {
struct damped {}; ///< x / 2, an operator of the application's own
} // namespace lowered_test

template <>
struct gsub::op_traits<lowered_test::damped> {
    static constexpr std::string_view name = "Damped", domain = "test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
};
template <>
struct gsub::infer_shape<lowered_test::damped> : same_as_input<0> {};
template <>
struct gsub::evaluate<lowered_test::damped> {
    template <class T>
    static T scalar(T x) {
        return x * math::constant<T>(0.5);
    }
};
template <>
struct gsub::scalar_lowering<lowered_test::damped> {
    static scalar lower(scalar_builder& b, no_attributes const&, std::span<scalar const> x) {
        return apply(loop::scalar_op::multiply, x[0], b.number(0.5, x[0]));
    }
};

namespace lowered_test {

using namespace gsub;
using own_ops = standard_ops::with<damped>;

auto const scheduled = cost::scheduled_cycles();

target machine(std::string_view text = "x86-64-avx512,threads=1,l1=48K,l2=1M,l3=32M,cpu=zen5") {
    return parse_target(text).value();
}
graph model(std::string_view name) {
    auto g = models::find_model(name)->build(1);
    canonicalize(g);
    return g;
}

TEST_CASE("groups cost what the kernels of the graph lowered as a whole do") {
    for (auto const* name : {"resnet18", "mobilenet_v2", "squeezenet1_1", "bert_small", "nasrnn"}) {
        CAPTURE(name);
        auto const g = model(name);
        auto const costs = cost::lowered::of(g, machine());
        CHECK(costs(g).amount == Approx(costs.exactly(g).value().amount).epsilon(0.03));
    }
}

TEST_CASE("convolutions by computed weights cost what their products and copies do") {
    auto const of = [](ints const& taps, std::int64_t group) {
        graph g;
        graph_builder b{g};
        attributes_of<ops::conv> a;
        a.group = group, a.strides = a.dilations = {1, 1}, a.pads = {0, 0, 0, 0};
        auto const w = b.input(dtype::f32, {64, 64 / group, taps[0], taps[1]}, "w");
        b.outputs({b.add<ops::conv>(a, {b.input(dtype::f32, {1, 64, 30, 30}, "x"), w})});
        auto const costs = cost::lowered::of(g, machine());
        CHECK(costs(g).amount == Approx(costs.exactly(g).value().amount));
        CHECK(costs.not_modelled() == 0);
        return costs(g).amount;
    };
    for (std::int64_t const group : {1, 64}) CHECK(of({3, 3}, group) > 2 * of({1, 3}, group));
    CHECK(of({3, 3}, 1) > 4 * of({3, 3}, 64));
}

TEST_CASE("costs of nodes add up to that of the graph, and stand at the last operator of a kernel") {
    auto const costs = cost::lowered::on(machine());
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const g = random_graph::make(seed, 30);
        double total = 0;
        std::map<node_id, double> whole;
        for (auto const& p : costs.node_costs(g)) {
            CHECK(p.amount >= 0);
            total += p.amount;
            whole[p.node] = p.amount;
        }
        CHECK(costs(g).amount == Approx(total).epsilon(1e-12));
        auto const known = costs.remembered(g);
        for (auto const& p : known.nodes) CHECK(whole.at(p.node) == p.amount);
        for (auto n : g.order()) {
            changed_nodes const changes{{&n, 1}, {&n, 1}};
            for (auto const& p : costs.node_costs_near(g, known.memory.get(), changes))
                CHECK(whole.at(p.node) == p.amount);
            for (auto const& p : costs.remembered(g, known.memory.get(), changes).nodes)
                CHECK(whole.at(p.node) == p.amount);
        }
    }
}

TEST_CASE("a normalisation of what lies in blocks has a cost") {
    graph g;
    graph_builder b{g};
    auto const pooled = b.add<ops::global_average_pool>(b.input(dtype::f32, {5, 1, 4}, "x"));
    auto const summed = b.add<ops::reduce_sum>({.axes = {-1}}, {b.add<ops::exp>(pooled)});
    auto const y = b.add<ops::sub>(pooled, b.add<ops::log>(summed));
    auto const scale = b.constant(tensor::from<float>({1}, {1.5f}));
    b.outputs({b.add<ops::reduce_max>({.axes = {2}}, {b.add<ops::layer_norm>({}, {y, scale})})}, {"y"});
    CHECK(cost::lowered::of(g, host())(any_graph{g}) > seconds{0});
}

TEST_CASE("what is known of groups changes no cost, and copies of a model share it") {
    auto const g = model("squeezenet1_1");
    auto const one = cost::lowered::of(g, machine());
    auto const first = one(g).amount;
    auto const groups = one.groups();
    auto const copy = one;
    CHECK(copy(g).amount == first);
    CHECK(copy.groups() == groups);
    CHECK(cost::lowered::of(g, machine())(g).amount == first);
    CHECK(groups < 40); // fire modules are alike
}

TEST_CASE("costs are those of the machine that is named") {
    auto const g = model("resnet18");
    auto const on = [&](std::string_view text, cost::lowered_options const& options = {}) {
        return cost::lowered::on(machine(text), options)(g).amount;
    };
    auto const here = on("x86-64-avx512,threads=1,cpu=zen5");
    CHECK(on("x86-64-avx512,threads=1,cpu=zen4") > 1.5 * here); // wide vectors in halves
    CHECK(on("x86-64-avx2,threads=1,cpu=zen3") > 1.5 * here);
    CHECK(on("x86-64-avx512,threads=4,cpu=zen5") < 0.4 * here);
    CHECK(on("x86-64-avx512,threads=1,cpu=zen5", {.threads = 4}) < 0.4 * here);
    CHECK(on("aarch64-neon,threads=1,cpu=cortex-a53") > 20 * here);
    CHECK(on("x86-64-avx512,threads=1,cpu=zen5", {.winograd = kernels::winograd_accuracy::off}) > 1.3 * here);
    // Weights that no cache holds are waited for.
    CHECK(on("x86-64-avx512,threads=1,cpu=zen5", {.weight_bytes = 1e9}) > here);
    CHECK(cost::lowered::of(g, machine())(g).amount > cost::lowered::on(machine())(g).amount);
    // Rates that were measured count in place of the table's.
    cost::roofline slow;
    slow.flop_per_second = 1e10, slow.bytes_per_second = 1e9;
    CHECK(on("x86-64-avx512,threads=1,cpu=zen5", {.rates = slow}) > 10 * here);
}

TEST_CASE("what costs depend on is told") {
    auto const parameters = [](std::string_view text, cost::lowered_options const& options = {}) {
        return cost::lowered::on(machine(text), options).parameters();
    };
    auto const here = parameters("x86-64-avx512,threads=1,cpu=zen5");
    CHECK(here == parameters("x86-64-avx512,threads=1,cpu=zen5"));
    CHECK_FALSE(here == parameters("x86-64-avx512,threads=1,cpu=zen4"));
    CHECK_FALSE(here == parameters("x86-64-avx512,threads=2,cpu=zen5"));
    CHECK_FALSE(here == parameters("x86-64-avx512,threads=1,cpu=zen5", {.weight_bytes = 1}));
    CHECK_FALSE(here == parameters("x86-64-avx512,threads=1,cpu=zen5", {.rates = cost::roofline{}}));
    CHECK_FALSE(here == parameters("x86-64-avx512,threads=1,cpu=zen5", {.model = scheduled}));
}

TEST_CASE("cycles are scheduled where that is asked for, and counted where no machine code is made") {
    auto const g = model("squeezenet1_1");
    for (auto const* on : {"x86-64-avx512,threads=1,cpu=zen5", "x86-64-avx2,threads=1,cpu=zen3"}) {
        CAPTURE(on);
        auto const counts = cost::lowered::on(machine(on)),
                   schedules = cost::lowered::on(machine(on), {.model = scheduled});
        auto const counted = counts(g).amount;
        CHECK(schedules(g).amount != counted);
        CHECK(schedules(g).amount == Approx(counted).epsilon(0.4));
        CHECK(counts.not_modelled() == 0);
    }
    auto const* const arm = "aarch64-neon,threads=1,cpu=neoverse-n1";
    auto const none = cost::lowered::on(machine(arm), {.model = scheduled});
    CHECK(none(g).amount == cost::lowered::on(machine(arm))(g).amount);
    CHECK(none.not_modelled() > 0);
}

TEST_CASE("two machines have two best graphs of one network") {
    auto const g = models::find_model("t2")->build(1);
    auto const best = [&](std::string_view text) {
        return optimize(g, cost::lowered::of(g, machine(text)), {.alpha = 1.2}).value().hash();
    };
    CHECK_FALSE(best("x86-64-avx512,threads=1,cpu=zen5") == best("x86-64-avx512,threads=64,cpu=sapphire-rapids"));
}

TEST_CASE("graphs cost on a GPU what its kernels do as the graph lowered as a whole has them") {
    for (auto const* name : {"resnet18", "squeezenet1_1", "bert_small"}) {
        CAPTURE(name);
        auto const g = model(name);
        auto const costs = cost::lowered::of(g, machine("h200"));
        CHECK(costs(g).amount == Approx(costs.exactly(g).value().amount).epsilon(0.06));
        CHECK(costs(g).amount < cost::lowered::of(g, machine("t4"))(g).amount);
    }
}

TEST_CASE("kernels of a GPU have the points, algorithms and times of `static_gpu`") {
    auto const costs = cost::lowered::on(machine("h200"));
    cost::static_gpu const source{*find_gpu("h200")};
    auto const choose = [&](kernels::descriptor const& d, isa const& on, loop::config_space const& space) {
        return costs.choose(d, on, space);
    };
    lowering_options options;
    options.schedules = schedule_function{choose};
    auto const made =
        lower_graph(model("squeezenet1_1"), table_of<eval_row, standard_ops>(), isa::warp, options).value();
    std::size_t kernels = 0;
    for (auto const& op : made.ops) {
        auto const seconds = costs.of_kernel(made, op).seconds;
        CHECK(seconds > 0);
        auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
        if (!d) continue;
        ++kernels;
        auto const space = kernels::space_of(*d, isa::warp);
        CHECK(op.schedule->index() == source.choose(*d, isa::warp, space).index());
        CHECK(seconds == source.seconds(*d, *op.schedule));
        kernels::descriptor const alternatives[] = {*d, *d};
        CHECK(costs.choose(alternatives, isa::warp) == source.choose(alternatives, isa::warp));
    }
    CHECK(kernels > 20);
    // A step of the host waits for the device: as long as many small kernels.
    auto step_of_host = made.ops.front();
    step_of_host.computes = runtime::reference_call{.graph = model("t2")};
    CHECK(costs.of_kernel(made, step_of_host).seconds > 2e-5);
}

TEST_CASE("a search for a GPU finds what its kernels gain by, whatever the number of threads") {
    auto const g = models::find_model("t2")->build(1);
    auto const costs = cost::lowered::of(g, machine("h200"));
    auto const best = optimize(g, costs, {.alpha = 1.2}).value();
    CHECK(costs(best).amount < costs(g).amount);
    CHECK(best.hash() == optimize(g, cost::lowered::of(g, machine("h200")), {.alpha = 1.2}).value().hash());
}

// The last block of a stage of ResNet v1 and the convolutions with strides that begin the next, with normalisations or
// without.
graph end_of_stage(bool normalized) {
    graph g;
    graph_builder b{g};
    std::uint64_t seed = 0;
    auto const weight = [&](ints const& dims) {
        auto t = tensor::uninitialized(dtype::f32, dims);
        fill_random(t, random_stream{++seed});
        return b.constant(std::move(t));
    };
    auto const conv = [&](value_id v, std::int64_t outputs, std::int64_t kernel, std::int64_t stride) {
        attributes_of<ops::conv> a;
        a.strides = {stride, stride}, a.dilations = {1, 1}, a.pads = ints(4, kernel / 2);
        auto const y = b.add<ops::conv>(
            a, {v, weight({outputs, b.type_of(v)->dims[1].size(), kernel, kernel}), weight({outputs})});
        if (!normalized) return y;
        auto const k = [&] { return weight({outputs}); };
        auto const squares = b.add<ops::mul>(k(), k()); // a variance, folded
        return b.add<ops::batch_norm>({.epsilon = 0.5}, {y, k(), k(), k(), squares});
    };
    auto const relu = [&](value_id v) { return b.add<ops::relu>(v); };
    auto const x = b.input(dtype::f32, {1, 256, 28, 28}, "x");
    auto const inside = relu(conv(relu(conv(x, 64, 1, 1)), 64, 3, 1));
    auto const end = relu(b.add<ops::add>(conv(inside, 256, 1, 1), x));
    b.outputs({relu(conv(end, 128, 1, 2)), conv(end, 512, 1, 2)});
    return g;
}

TEST_CASE("the last block of a stage computes the pixels alone that the next one reads") {
    for (bool const normalized : {false, true}) {
        CAPTURE(normalized);
        auto const g = end_of_stage(normalized);
        auto const r = optimize(g, cost::lowered::of(g, machine()), {.verify = true}).value();
        CHECK(r.report.verification.equal);
        CHECK(r.report.cost_after < 0.85 * r.report.cost_before);
        // The 3x3 convolution has the strides; the one that expands, and all behind it, see a quarter of the pixels.
        std::size_t strided = 0;
        for (auto n : r.order()) {
            if (!r.is<ops::conv>(n)) continue;
            auto const weight = r.type(r.operand(n, 1)).sizes();
            CAPTURE(weight);
            CHECK(r.attributes<ops::conv>(n).strides == (weight[2] == 3 ? ints{2, 2} : ints{1, 1}));
            if (weight[1] == 64 || weight[1] == 256)
                CHECK(r.type({n, 0}).dims[2] == (weight[0] == 64 && weight[2] == 1 ? dim{28} : dim{14}));
            strided += weight[2] == 3;
        }
        CHECK(strided == 1);
    }
}

TEST_CASE("views cost nothing but where somebody outside sees them, and what is moved costs its bytes") {
    auto const costs = cost::lowered::on(machine());
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {1, 64, 64, 64}, "x");
    auto const turned = b.add<ops::transpose>({.perm = {0, 1, 3, 2}}, {x});
    b.outputs({b.add<ops::relu>(turned)});
    std::map<node_id, double> at;
    for (auto const& p : costs.node_costs(g)) at[p.node] = p.amount;
    CHECK(at.at(turned.node) == 0);
    CHECK(costs(g).amount > 0);
    b.outputs({turned});
    CHECK(costs(g).amount > cost::copy_seconds(64 * 64 * 64 * 4, costs.core()));
}

// Products of rows with a matrix of 4 MB, the second one as it is or beside another one.
graph products(bool copied, bool folded = false) {
    graph g;
    graph_builder b{g};
    auto const zeros = [&](std::int64_t columns) { return tensor::zeros(dtype::f32, ints{1024, columns}); };
    auto const w = b.constant(zeros(1024));
    auto const x = b.input(dtype::f32, {1, 1024}, "x"), y = b.input(dtype::f32, {1, 1024}, "y");
    auto const wide = folded ? b.constant(zeros(1040)) : b.add<ops::concat>({.axis = 1}, {w, b.constant(zeros(16))});
    b.outputs({b.add<ops::mat_mul>(x, w), b.add<ops::mat_mul>(y, copied ? wide : w)});
    return g;
}

TEST_CASE("weights that are read in several copies take from the last cache what others have there") {
    auto const plain = products(false), copied = products(true), folded = products(true, true);
    // Seconds that the copies cost where the network has so many bytes of weights.
    auto const extra = [&](any_graph const& g, double bytes) {
        auto const costs = cost::lowered::on(machine(), {.weight_bytes = bytes});
        double sum = 0;
        auto const known = costs.remembered(g);
        for (auto n : g.order())
            for (auto const& p : costs.node_costs_near(g, known.memory.get(), {{&n, 1}, {}}))
                if (g.is<ops::constant>(p.node) && p.node == n) sum += p.amount;
        return sum;
    };
    auto const core = cost::lowered::on(machine()).core();
    auto const kept = core.kept_share * static_cast<double>(core.l3_bytes);
    auto const lost = core.lost_share * static_cast<double>(core.l3_bytes);
    CHECK(extra(plain, 1.2 * kept) == 0);
    CHECK(extra(copied, 0.5 * kept) == 0); // all of them stay in the last cache
    CHECK(extra(copied, 1.3 * lost) == 0); // none does
    auto const dear = extra(copied, 1.2 * kept);
    CHECK(dear > 0);
    CHECK(extra(copied, 2.4 * kept) == Approx(2 * dear)); // twice as many wait
    // Computed, they are weights like any other, that the network did not come with.
    auto const costs =
        cost::lowered::of(products(false), machine("x86-64-avx512,threads=1,l1=48K,l2=1M,l3=8M,cpu=zen5"));
    auto const of_copies = [&](any_graph const& g) { return costs(g).amount - costs(plain).amount; };
    CHECK(of_copies(folded) > costs(plain).amount * 0.05);
    CHECK(of_copies(copied) > of_copies(folded) * 0.1);
    CHECK(of_copies(copied) < of_copies(folded) * 0.5);
    CHECK(costs.exactly(folded).value().amount == Approx(costs(folded).amount).epsilon(0.03));
}

TEST_CASE("of a last cache beyond 64 MB others have their part") {
    auto const seconds = [](graph const& g, std::string_view l3) {
        auto const text = "x86-64-avx512,threads=1,l1=48K,l2=1M,cpu=zen5,l3=" + std::string{l3};
        return cost::lowered::of(g, machine(text))(g).amount;
    };
    auto const g = model("densenet121"); // 32 MB of weights, about 60 as kernels read them
    CHECK(seconds(g, "480M") == seconds(g, "64M"));
    CHECK(seconds(g, "64M") < seconds(g, "32M"));
}

TEST_CASE("weights that kernels read transformed take as much of the last cache") {
    graph g;
    graph_builder b{g};
    auto const conv = [&](value_id of, std::int64_t kernel) {
        attributes_of<ops::conv> a;
        a.strides = a.dilations = {1, 1}, a.pads = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
        return b.add<ops::conv>(a, {of, b.constant(tensor::zeros(dtype::f32, ints{128, 128, kernel, kernel}))});
    };
    b.outputs({conv(conv(b.input(dtype::f32, {1, 128, 28, 28}, "x"), 3), 1)});
    auto const core = machine("x86-64-avx512,threads=1,l1=48K,l2=512K,l3=2M,cpu=zen5");
    auto const tiles = [&](kernels::winograd_accuracy most, double numbers) {
        auto const bytes = 4.0 * 128 * 128 * (numbers + 1);
        auto const of_graph = cost::lowered::of(g, core, {.winograd = most});
        CHECK(of_graph(g).amount == cost::lowered::on(core, {.winograd = most, .weight_bytes = bytes})(g).amount);
    };
    tiles(kernels::winograd_accuracy::off, 9);
    tiles(kernels::winograd_accuracy::f4, 37); // 36 products of a tile, and the signs of its weights
}

// A 3x3 convolution of so many channels and pixels.
graph convolution(std::int64_t channels, std::int64_t pixels) {
    graph g;
    graph_builder b{g};
    attributes_of<ops::conv> a;
    a.strides = a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
    auto const w = b.constant(tensor::zeros(dtype::f32, ints{channels, channels, 3, 3}));
    b.outputs({b.add<ops::conv>(a, {b.input(dtype::f32, {1, channels, pixels, pixels}, "x"), w})});
    return g;
}
kernel_graph lowered_by(graph const& g, algorithm_function algorithms, cost::lowered const& costs) {
    lowering_options options;
    auto const point = [&](kernels::descriptor const& d, isa const& isa, loop::config_space const& space) {
        return costs.choose(d, isa, space);
    };
    options.algorithms = algorithms, options.schedules = schedule_function{point};
    return lower_graph(g, table_of<eval_row, standard_ops>(), isa::avx512, options).value();
}

TEST_CASE("algorithms are those that take least, and the direct one where the others take nearly as long") {
    std::set<std::size_t> all;
    for (auto const& [channels, pixels] : {std::pair{8, 9}, {64, 56}, {128, 28}, {256, 14}, {512, 7}, {512, 3}})
        for (auto const* const core : {"zen5", "granite-rapids"}) {
            auto const g = convolution(channels, pixels);
            auto const costs = cost::lowered::on(
                machine("x86-64-avx512,threads=1,l1=48K,l2=2M,l3=32M,cpu=" + std::string{core}), {.weight_bytes = 1e9});
            std::vector<double> seconds;
            auto chosen = std::size_t{9};
            for (std::size_t i = 0; i < 3; ++i) {
                auto const made = lowered_by(
                    g,
                    [&](std::span<kernels::descriptor const> of, isa const& isa) {
                        REQUIRE(of.size() == 3);
                        chosen = costs.choose(of, isa);
                        CHECK(costs.choose(of.first(1), isa) == 0);
                        CHECK(costs.choose(of, isa::avx2) == 0); // the model is one of another instruction set
                        return i;
                    },
                    costs);
                seconds.push_back(0);
                for (auto const& op : made.ops)
                    if (op.operands.size() > 1) seconds.back() += costs.of_kernel(made, op).seconds;
            }
            CAPTURE(channels, pixels, core, seconds);
            REQUIRE(chosen < 3);
            all.insert(chosen);
            for (std::size_t i = 0; i < 3; ++i) {
                if (i == chosen) continue;
                CHECK(seconds[chosen] * (i == 0 ? 1 : chosen == 0 ? 0.95 : 1) <= seconds[i] * (i == 0 ? 0.95 : 1));
            }
        }
    CHECK(all.size() == 3);
}

TEST_CASE("Winograd kernels have the schedule whose predicted time is least, others the counted one") {
    static_assert(schedule_source<cost::lowered> && algorithm_choice<cost::lowered>);
    auto differ = 0;
    for (auto const* const text : {"x86-64-avx512,threads=2,l1=48K,l2=1M,l3=32M,cpu=zen5",
                                   "x86-64-avx2,threads=2,l1=32K,l2=512K,l3=8M,cpu=zen1"}) {
        auto const on = machine(text);
        auto const& isa = *on.isa;
        auto const costs = cost::lowered::on(on, {.weight_bytes = 1e8});
        auto const tiles = kernels::winograd_options_of(on);
        auto const lost = cost::evicted_share(1e8, costs.core());
        std::vector<cost::memory_level> const homes{cost::memory_level::cache, cost::memory_level::last};
        for (auto const& [channels, pixels] : {std::pair{64, 56}, {256, 14}, {512, 7}})
            for (auto const m : {2, 4}) {
                kernels::conv2d_shape s;
                s.in_channels = s.out_channels = channels, s.in = {pixels, pixels}, s.kernel = {3, 3};
                s.pads = {1, 1, 1, 1};
                auto const seconds = [&](kernels::winograd_config const& c) {
                    auto const k = codegen::lower(kernels::winograd_nest(s, c, isa), "kernel").value();
                    return cost::time_of(k, costs.core(), {2, true, homes, lost}).seconds;
                };
                auto const closed = [&](kernels::winograd_config const& c) {
                    return cost::nest_time_of(kernels::winograd_nest(s, c, isa), costs.core(), {2, true, homes, lost})
                        .seconds;
                };
                kernels::descriptor const d = kernels::winograd_shape{s, m};
                auto const space = kernels::space_of(d, isa);
                auto const chosen = kernels::winograd_knobs(costs.choose(d, isa, space), m);
                auto const counted = kernels::default_winograd(s, isa, m, tiles);
                CAPTURE(text, channels, pixels, m);
                differ += chosen != counted;
                if (chosen != counted) CHECK(seconds(chosen) < 0.97 * seconds(counted));
                auto const all = kernels::winograd_candidates(s, isa, m, tiles, 16);
                CHECK(std::ranges::find(all, chosen) != all.end());
                auto const best = *std::ranges::min_element(all, {}, closed);
                CHECK(0.97 * seconds(chosen) <= seconds(best));
                auto const& other = on.isa == &isa::avx2 ? isa::avx512 : isa::avx2;
                auto const space_there = kernels::space_of(d, other);
                CHECK(kernels::winograd_knobs(costs.choose(d, other, space_there), m) ==
                      kernels::default_winograd(s, other, m, tiles));
                kernels::descriptor const direct = s;
                auto const direct_space = kernels::space_of(direct, isa);
                CHECK(loop::to_string(costs.choose(direct, isa, direct_space)) ==
                      loop::to_string(kernels::counted(direct, isa, direct_space, tiles)));
            }
    }
    CHECK(differ > 0);
}

TEST_CASE("a search computes the costs of the copies of weights that its rewrites make as the graph's cost does") {
    auto const g = model("nasrnn");
    auto const costs = cost::lowered::of(g, machine());
    auto const found = optimize(g, costs, {.budget = {4}, .split = 0, .fold = false}).value();
    REQUIRE_FALSE(found.report.applied.empty());
    CHECK(found.report.search.best_cost == Approx(costs(found).amount).epsilon(1e-6));
}

TEST_CASE("operators without kernels and values of open sizes have a cost too") {
    auto const costs = cost::lowered::on(machine());
    graph g;
    graph_builder b{g};
    shape open;
    open.push_back(dim{symbol{"n"}}), open.push_back(dim{8});
    value_id const outputs[] = {b.add<ops::relu>(b.input(dtype::f32, open, "x"))};
    g.set_outputs(outputs);
    CHECK(costs(g).amount >= 0);
}

// A convolution with an elementwise operator behind it.
template <class Op, class OpSet>
basic_graph<OpSet> convolution_and() {
    basic_graph<OpSet> g;
    graph_builder b{g};
    auto k = tensor::uninitialized(dtype::f32, ints{32, 32, 3, 3});
    fill_random(k, random_stream{1});
    attributes_of<ops::conv> a;
    a.strides = a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
    auto const x = b.input(dtype::f32, {1, 32, 28, 28}, "x");
    b.outputs({b.template add<Op>(b.template add<ops::conv>(a, {x, b.constant(k)}))});
    return g;
}

TEST_CASE("joins of as many values as a graph has are costed in time in proportion") {
    auto const seconds_of = [](std::size_t count) {
        graph g;
        graph_builder b{g};
        std::vector<value_id> branches;
        for (std::size_t i = 0; i < count; ++i)
            branches.push_back(b.add<ops::tanh>(b.input(dtype::f32, {4}, std::to_string(i))));
        value_id const y[] = {b.add<ops::sum>({}, branches), b.add<ops::concat>({.axis = 0}, branches)};
        g.set_outputs(y);
        auto least = std::chrono::duration<double>::max();
        for (int i = 0; i < 2; ++i) {
            auto const model = cost::lowered::of(g, machine());
            auto const begin = std::chrono::steady_clock::now();
            CHECK(model(g).amount > 0);
            least = std::min<std::chrono::duration<double>>(least, std::chrono::steady_clock::now() - begin);
        }
        return least.count();
    };
    auto const small = seconds_of(2'000), large = seconds_of(16'000);
    INFO(small << " s and " << large << " s");
    CHECK(large < 0.05 + 24 * small); // 8 where linear, 64 where quadratic
}

TEST_CASE("operators of one's own cost their kernels, as gsub's do") {
    auto const own = convolution_and<damped, own_ops>();
    auto const standard = convolution_and<ops::relu, standard_ops>();
    auto const costs = cost::lowered::of(own, machine());
    auto const of_standard = cost::lowered::of(standard, machine());
    CHECK(costs(own).amount == Approx(of_standard(standard).amount).epsilon(0.05));
    CHECK(costs.exactly(own).value().amount == Approx(of_standard.exactly(standard).value().amount).epsilon(0.05));
    // Rows of the two sets differ: a model that knows groups of one costs graphs of the other as one that knows none.
    CHECK(costs(standard).amount == of_standard(standard).amount);
    CHECK(costs.exactly(standard).value().amount == of_standard.exactly(standard).value().amount);
    auto const group = costs.group_of_nodes(own);
    CHECK(group[own.output(0).node.index] == group[own.operand(own.output(0).node, 0).node.index]);
    // `optimize` without a model asks for these costs.
    auto const r = optimize(own).value();
    CHECK(r.report.cost_before < 1e-3);
}

TEST_CASE("groups of nodes are the kernels that a build makes") {
    auto const g = model("squeezenet1_1");
    auto const group = cost::lowered::of(g, machine()).group_of_nodes(g);
    std::map<std::uint32_t, std::vector<node_id>> found;
    for (auto n : g.order())
        if (group[n.index] != cost::no_group) found[group[n.index]].push_back(n);
    std::set<std::vector<node_id>> expected;
    for (auto nodes : kernel_groups(g, fusion_rules_of(g, isa::avx512))) {
        std::sort(nodes.begin(), nodes.end(), [&](node_id a, node_id b) { return g.place(a) < g.place(b); });
        expected.insert({nodes.begin(), nodes.end()});
    }
    CHECK(found.size() == expected.size());
    for (auto const& [at, nodes] : found) CHECK(expected.contains(nodes));
}

} // namespace lowered_test
