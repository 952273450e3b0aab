#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/io/onnx_export.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/io/protobuf.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/pattern/rule.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

namespace optimize_test {

using namespace gsub;
using namespace std::chrono_literals;

auto const evaluators = table_of<eval_row, standard_ops>();

std::vector<rule_program> rules(std::string_view list) {
    return choose_rules(standard_rules(), list).value();
}

template <class T>
void shuffle(std::vector<T>& v, random_stream& r) {
    for (auto i = v.size(); i > 1; --i) std::swap(v[i - 1], v[r.below(i)]);
}

// The same graph, its nodes inserted in a random order that puts operands first.
graph rebuilt(any_graph const& g, std::uint64_t seed) {
    random_stream r{seed};
    graph out;
    std::map<value_id, value_id> moved;
    std::vector<node_id> waiting;
    for (auto n : g.order())
        if (n != g.return_node()) waiting.push_back(n);
    std::size_t inputs = 0;
    while (!waiting.empty()) {
        shuffle(waiting, r);
        auto const next = std::find_if(waiting.begin(), waiting.end(), [&](node_id n) {
            if (g.is<ops::input>(n)) return g.input_position(n) == inputs; // their order is the signature
            auto const operands = g.operands(n);
            return std::all_of(operands.begin(), operands.end(),
                               [&](auto v) { return !v.valid() || moved.contains(v); });
        });
        auto const n = *next;
        waiting.erase(next);
        value_id made;
        if (g.is<ops::input>(n)) {
            made = out.add_input(g.type_of({n, 0}), g.name({n, 0}));
            ++inputs;
        } else if (g.is<ops::constant>(n)) {
            made = out.add_constant(g.constant_data(n), g.name({n, 0}));
        } else {
            std::vector<value_id> operands;
            for (auto v : g.operands(n)) operands.push_back(v.valid() ? moved.at(v) : v);
            std::vector<type_id> types;
            for (std::uint32_t port = 0; port < g.result_count(n); ++port) types.push_back(g.type_of({n, port}));
            made = {out.append_node(g.row(n), g.attributes(n), 0, operands, types), 0};
        }
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            moved[{n, port}] = {made.node, port};
            out.set_name({made.node, port}, g.name({n, port}));
        }
        out.set_sources(made.node, g.sources(n));
    }
    out.set_info(g.info());
    std::vector<value_id> outputs;
    for (std::size_t i = 0; i < g.output_count(); ++i) outputs.push_back(moved.at(g.output(i)));
    out.set_outputs(outputs, g.info().output_names);
    return out;
}

// The bytes of an ONNX file with the nodes and the initializers of its graph in a random order.
std::string unsorted(std::string const& file, std::uint64_t seed) {
    random_stream r{seed};
    auto const rewritten = [&](std::string_view message, auto&& field) {
        std::string out;
        protozero::pbf_writer writer{out};
        protozero::pbf_reader reader{message.data(), message.size()};
        while (reader.next()) {
            if (field(writer, reader)) continue;
            auto const tag = reader.tag(); // before its value is taken
            if (reader.wire_type() == protozero::pbf_wire_type::varint)
                writer.add_uint64(tag, reader.get_uint64());
            else
                writer.add_bytes(tag, reader.get_view());
        }
        return out;
    };
    return rewritten(file, [&](auto& model, auto& reader) {
        if (reader.tag() != 7) return false; // ModelProto.graph
        std::map<protozero::pbf_tag_type, std::vector<std::string>> parts;
        auto const view = reader.get_view();
        auto graph = rewritten({view.data(), view.size()}, [&](auto&, auto& field) {
            if (field.tag() != 1 && field.tag() != 5) return false; // GraphProto.node, .initializer
            parts[field.tag()].push_back(field.get_bytes());
            return true;
        });
        protozero::pbf_writer writer{graph};
        for (auto& [tag, list] : parts) {
            shuffle(list, r);
            for (auto const& part : list) writer.add_bytes(tag, part);
        }
        model.add_bytes(7, graph);
        return true;
    });
}

std::string optimized_file(graph const& g, optimize_options const& o) {
    return io::to_onnx(optimize(g, cost::roofline{}, o).value()).value();
}

TEST_CASE("the result depends on neither the run nor the order in which nodes were inserted") {
    for (auto const& entry : models::test_graph_entries) {
        INFO(entry.name);
        auto const g = entry.build(1);
        optimize_options const o{.alpha = 1.25, .budget = search::budget{12}};
        auto const once = optimized_file(g, o);
        CHECK(optimized_file(g, o) == once);
        for (std::uint64_t seed = 0; seed < 3; ++seed) CHECK(optimized_file(rebuilt(g, seed), o) == once);
    }
    for (std::uint64_t seed = 0; seed < 330; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 25);
        optimize_options const o{.alpha = 1.1, .budget = search::budget{5}};
        auto const once = optimized_file(g, o);
        CHECK(optimized_file(g, o) == once);
        for (std::uint64_t other = 0; other < 3; ++other) CHECK(optimized_file(rebuilt(g, other), o) == once);
    }
}

TEST_CASE("a result searched in parts depends on neither the run nor the order in which nodes were inserted") {
    auto const same = [](graph const& g, optimize_options const& o) {
        auto const once = optimized_file(g, o);
        CHECK(optimized_file(g, o) == once);
        for (std::uint64_t seed = 0; seed < 3; ++seed) CHECK(optimized_file(rebuilt(g, seed), o) == once);
    };
    for (auto const& entry : models::test_graph_entries) {
        INFO(entry.name);
        same(entry.build(1), {.alpha = 1.25, .budget = search::budget{40}, .split = 3});
    }
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        CAPTURE(seed);
        same(graph{random_graph::make(seed, 25)}, {.alpha = 1.1, .budget = search::budget{30}, .split = 2 + seed % 4});
    }
}

TEST_CASE("the order of nodes in a file does not matter, sorted or not") {
    for (auto const* name : {"t1", "t4", "t6", "t7", "t11", "t12"}) {
        INFO(name);
        auto const* entry = std::find_if(models::test_graph_entries.begin(), models::test_graph_entries.end(),
                                         [&](auto const& e) { return e.name == name; });
        auto const file = io::to_onnx(entry->build(1)).value();
        optimize_options const o{.alpha = 1.25, .budget = search::budget{12}};
        auto const load = [](std::string const& bytes) {
            return io::load_onnx(std::as_bytes(std::span{bytes})).value();
        };
        auto const once = optimized_file(load(file), o);
        for (std::uint64_t seed = 0; seed < 4; ++seed) {
            auto const other = unsorted(file, seed);
            REQUIRE(other.size() == file.size());
            CHECK(optimized_file(load(other), o) == once);
        }
    }
}

TEST_CASE("threads change no byte of the result") {
    fork_join_executor three{3};
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        auto const g = random_graph::make(seed, 25);
        optimize_options const alone{.budget = search::budget{5}, .verify = true};
        auto together = alone;
        together.threads = &three;
        CHECK(optimized_file(g, together) == optimized_file(g, alone));
    }
}

// max |a - b| / max |b| over all outputs of two graphs.
double distance(any_graph const& a, any_graph const& b) {
    auto const inputs = random_inputs(a, 7);
    auto const x = evaluate_graph(a, evaluators, inputs).value(), y = evaluate_graph(b, evaluators, inputs).value();
    double most = x.size() == y.size() ? 0 : 1e9;
    for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
        auto const d = compare(x[i], y[i]);
        most = std::max(most, d && d->same_specials ? d->max_relative : 1e9);
    }
    return most;
}

template <class Cost>
void holds_for(Cost const& model, std::uint64_t graphs) {
    random_stream r{graphs};
    for (std::uint64_t seed = 0; seed < graphs; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 25);
        optimize_options const o{.alpha = r.below(3) ? r.uniform(1, 1.5) : 1.0,
                                 .admit = static_cast<search::admission>(r.below(3)),
                                 .plateau = r.below(2) != 0,
                                 .budget = search::budget{1 + r.below(6)},
                                 .verify = true};
        auto const done = optimize(g, model, o).value();
        auto const& p = done.report;
        CHECK(p.unit == Cost::unit::symbol);
        CHECK(p.cost_before == model(g).amount);
        CHECK(p.cost_after == model(done).amount);
        CHECK(p.cost_after <= p.cost_before * (1 + 1e-9));
        CHECK(p.search.expanded <= o.budget.steps);
        // Folding may leave less to do than the search saw, never more.
        if (!p.applied.empty()) CHECK(p.cost_after <= p.applied.back().cost_after * (1 + 1e-9));
        for (auto const& note : p.verification.notes) UNSCOPED_INFO(note);
        CHECK(p.verification.equal);
        CHECK(distance(g, done) < 1e-3);
        CHECK(done.inputs().size() == g.inputs().size());
        CHECK(done.info().output_names == g.info().output_names);
        for (std::size_t i = 0; i < g.output_count(); ++i) CHECK(done.type(done.output(i)) == g.type(g.output(i)));
        any_graph const& result = done;
        for (auto n : result.order()) // folded: nothing is left to do on weights
            CHECK((!result.constant(n) || result.is<ops::constant>(n) || result.is<ops::fill>(n)));
    }
}

struct energy {
    using unit = joules;
    joules operator()(any_graph const& g, node_id n) const {
        return {cost::is_executed(g, n) ? 1e-3 + 31.2e-12 * cost::bytes_moved(g, n) : 0};
    }
    joules operator()(any_graph const& g) const { return cost::sum_over_nodes(*this, g); }
};
struct kernel_count { // not additive as far as the search knows
    using unit = flops;
    flops operator()(any_graph const& g) const {
        return {static_cast<double>(
            std::count_if(g.order().begin(), g.order().end(), [&](node_id n) { return cost::is_executed(g, n); }))};
    }
};

TEST_CASE("an optimized graph computes the same and costs no more, under any cost model") {
    holds_for(cost::roofline{}, 100);
    holds_for(cost::flop_cost{}, 50);
    holds_for(cost::byte_cost{.splits = cost::split_lowering::copy}, 50);
    holds_for(cost::peak_memory{}, 100);
    holds_for(energy{}, 50);
    holds_for(kernel_count{}, 50);
}

// Counts kernels while a search asks it; a whole graph costs a thousand more, of which it resolves a part.
template <int Percent>
struct coarse : kernel_count {
    static constexpr double resolution = Percent / 100.0;
    result<flops> exactly(any_graph const& g) const { return flops{1000 + (*this)(g).amount}; }
};
TEST_CASE("what a model does not resolve is no gain: the graph comes back as it was given") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {8, 16}, "x");
    b.outputs(
        {b.add<ops::relu>(b.add<ops::transpose>({.perm = {1, 0}}, {b.add<ops::transpose>({.perm = {1, 0}}, {x})}))});
    auto const fine = optimize(g, coarse<0>{}).value();
    CHECK(fine.report.cost_before == 3);
    CHECK(fine.report.cost_after == 1);
    auto const given = optimize(g, coarse<1>{}).value();
    CHECK(given.report.cost_after == 3);
    CHECK(given.report.applied.empty());
    CHECK(given.hash() == any_graph{g}.hash());
}

TEST_CASE("a model that is not additive finds its own best graph") {
    // relu between transpositions: the order of the two does not matter, doing neither saves memory.
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {8, 16}, "x");
    auto const y =
        b.add<ops::transpose>({.perm = {1, 0}}, {b.add<ops::relu>(b.add<ops::transpose>({.perm = {1, 0}}, {x}))});
    b.outputs({b.add<ops::add>(y, x)});
    auto const r = optimize(g, cost::peak_memory{}, {.alpha = 1, .plateau = true, .verify = true}).value();
    CHECK(r.report.unit == "B");
    CHECK(r.report.cost_after <= r.report.cost_before);
    CHECK(r.report.verification.equal);
    auto const fewer = optimize(g, kernel_count{}, {.alpha = 1, .plateau = true}).value();
    CHECK(fewer.report.cost_before == 4);
    CHECK(fewer.report.cost_after == 2);
    CHECK(fewer.report.nodes_after == 2);
}

// Whether applying these rules one after the other, each at its site, can give the costs that are told.
bool replays(any_graph const& g, cost::roofline const& machine, std::span<rule_program const> from,
             std::span<applied_rule const> todo) {
    if (todo.empty()) return true;
    auto const& step = todo.front();
    bool found = false;
    find_matches(g, rule_index{from}, [&](match const& m) {
        if (found || m.rule().name != step.rule || g.display_name(m.site()) != step.site) return;
        auto next = g;
        next.start_journal();
        auto const patch = prepare(m);
        if (patch.failed() || !patch.apply_to(next, shared_interior::refuse)) return;
        canonicalize_changes(next);
        auto const cost = machine(next).amount;
        found = std::abs(cost - step.cost_after) <= 1e-9 * cost && replays(next, machine, from, todo.subspan(1));
    });
    return found;
}

TEST_CASE("what was applied can be applied again, rule by rule and site by site, at the costs that were told") {
    for (auto const& entry : models::test_graph_entries) {
        INFO(entry.name);
        auto const g = entry.build(1);
        cost::roofline const machine;
        auto const chosen = rules("all");
        auto const r = optimize(g, machine, {.alpha = 1.25, .rules = chosen, .fold = false}).value();
        auto start = any_graph{g};
        start.order_canonically();
        canonicalize(start);
        start.order_canonically();
        start.compact();
        CHECK(std::abs(machine(start).amount - r.report.cost_start) <= 1e-9 * r.report.cost_start);
        CHECK(replays(start, machine, chosen, r.report.applied));
    }
}

TEST_CASE("only rules that were chosen are applied") {
    auto const g = models::residual_module(1, 64, 7);
    std::set<std::string> seen;
    for (auto const* list : {"fuse_conv_relu", "enlarge_conv,merge_conv_siblings", "-fuse_conv_relu", "atomic"}) {
        auto const chosen = rules(list);
        auto const r = optimize(g, cost::roofline{}, {.alpha = 1.2, .rules = chosen}).value();
        for (auto const& a : r.report.applied) {
            CHECK(std::any_of(chosen.begin(), chosen.end(), [&](auto const& rule) { return rule.name == a.rule; }));
            seen.insert(a.rule);
        }
    }
    CHECK(seen.contains("fuse_conv_relu"));
    CHECK(seen.contains("merge_conv_siblings"));
    CHECK(choose_rules(standard_rules(), "fuse_conv_rellu").error().id() == errors::unknown_rule);
}

TEST_CASE("a search ends where its budget of steps, time or memory does, and says so") {
    auto const g = models::recurrent_cell(1);
    auto const run = [&](search::budget b) {
        return optimize(g, cost::roofline{}, {.alpha = 2, .budget = b}).value().report;
    };
    for (std::uint64_t steps : {0u, 1u, 7u}) {
        auto const r = run(search::budget{steps});
        CHECK(r.search.expanded == steps);
        CHECK(r.search.why == search::stop_reason::steps);
        CHECK(r.cost_after <= r.cost_before);
    }
    auto const timed = run(search::budget{2ms});
    CHECK(timed.search.why == search::stop_reason::time);
    CHECK(timed.search.seconds < 5);
    auto const small = run({100000, std::chrono::nanoseconds::max(), 2000});
    CHECK(small.search.why == search::stop_reason::memory);
    CHECK(optimize(models::fire_module(1), cost::roofline{}).value().report.search.why ==
          search::stop_reason::exhausted);
}

TEST_CASE("a search that was stopped by time is repeated by its number of steps") {
    auto const g = models::recurrent_cell(1);
    optimize_options o{.alpha = 2, .budget = search::budget{5ms}};
    auto const timed = optimize(g, cost::roofline{}, o).value();
    o.budget = search::budget{timed.report.search.expanded};
    auto const stepped = optimize(g, cost::roofline{}, o).value();
    CHECK(io::to_onnx(stepped).value() == io::to_onnx(timed).value());
    CHECK(stepped.report.search.path == timed.report.search.path);
    CHECK(stepped.report.search.history == timed.report.search.history);
}

struct recorder : observer {
    std::vector<std::string> phases;
    std::stop_source stop;
    std::uint64_t stop_at = std::numeric_limits<std::uint64_t>::max();
    void on_progress(progress const& p) override {
        if (phases.empty() || phases.back() != p.phase) phases.emplace_back(p.phase);
        if (p.phase == "search" && p.done >= stop_at) stop.request_stop();
    }
};

TEST_CASE("a search can be cancelled before and while it runs, what it found so far counts") {
    auto const g = models::recurrent_cell(1);
    recorder observe;
    observe.stop.request_stop();
    auto const none = optimize(g, cost::roofline{}, {.alpha = 2, .stop = observe.stop.get_token()}).value();
    CHECK(none.report.search.why == search::stop_reason::cancelled);
    CHECK(none.report.search.expanded == 0);
    CHECK(none.report.applied.empty());
    CHECK(distance(g, none) < 1e-5);
    recorder later;
    later.stop_at = 16;
    auto const some =
        optimize(g, cost::roofline{}, {.alpha = 2, .observe = &later, .stop = later.stop.get_token()}).value();
    CHECK(some.report.search.why == search::stop_reason::cancelled);
    CHECK(some.report.search.expanded >= 16);
    CHECK(some.report.search.expanded < 40);
    CHECK(some.report.cost_after < some.report.cost_before);
    CHECK(distance(g, some) < 1e-5);
}

TEST_CASE("an observer hears of search, verification and folding, in this order") {
    recorder observe;
    REQUIRE(optimize(models::fire_module(1), cost::roofline{}, {.verify = true, .observe = &observe}));
    CHECK(observe.phases == std::vector<std::string>{"search", "verify", "fold"});
}

// ---- verification
// ------------------------------------------------------------------------------------------------------

graph small_network(double weight = 1, activation act = activation::none, bool swapped = false) {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {1, 2, 5, 5}, "x");
    auto w = tensor::uninitialized(dtype::f32, ints{3, 2, 3, 3});
    fill_random(w, random_stream{4});
    w.mutable_data<float>()[10] *= static_cast<float>(weight);
    attributes_of<ops::conv> a;
    a.strides = a.dilations = {1, 1}, a.pads = {1, 1, 1, 1}, a.act = act;
    auto const y = b.add<ops::conv>(a, {x, b.constant(w)}), z = b.add<ops::tanh>(y);
    swapped ? b.outputs({z, y}) : b.outputs({y, z});
    return g;
}

TEST_CASE("verification accepts a graph and its rebuilt twin, and refutes every graph that computes something else") {
    auto const g = small_network();
    CHECK(verify_equal(g, g, evaluators).equal);
    CHECK(verify_equal(g, rebuilt(g, 3), evaluators).equal);
    for (auto const& other :
         {small_network(1.01), small_network(1, activation::relu), small_network(1, activation::none, true)}) {
        auto const v = verify_equal(g, other, evaluators);
        CHECK(v.attempted);
        CHECK_FALSE(v.equal);
        CHECK(v.different);
        CHECK(v.whole_in_field);
        CHECK(v.on_numbers);
        CHECK(v.max_relative_error > 1e-3);
        CHECK(v.notes.size() >= 2); // the field's and the numbers'
    }
    // Too small for numbers in single precision, not for the field.
    auto const v = verify_equal(g, small_network(1 + 1e-6), evaluators);
    CHECK_FALSE(v.equal);
    CHECK(v.different);
    CHECK(v.max_relative_error < 1e-5);
    REQUIRE(v.notes.size() == 1);
    CHECK(v.notes[0].rfind("field: ", 0) == 0);
}

TEST_CASE("graphs of different signatures are not equal") {
    auto const g = small_network();
    graph wider;
    graph_builder b{wider};
    auto const x = b.input(dtype::f32, {1, 2, 5, 5}, "x"), y = b.input(dtype::f32, {1, 2, 5, 5}, "y");
    b.outputs({b.add<ops::add>(x, y), x});
    CHECK_FALSE(verify_equal(g, wider, evaluators).equal);
    CHECK_FALSE(verify_equal(wider, g, evaluators).equal);
    graph fewer;
    graph_builder f{fewer};
    f.outputs({f.add<ops::relu>(f.input(dtype::f32, {1, 2, 5, 5}, "x"))});
    CHECK_FALSE(verify_equal(g, fewer, evaluators).equal);
    CHECK_FALSE(verify_equal(fewer, g, evaluators).equal);
    CHECK(verify_equal(g, fewer, evaluators).different);
}

// Wrong for negative numbers, and the cheaper side of its law.
inline constexpr auto drop_relu =
    rule<"drop_relu">(pattern::relu(pattern::var<"x">), pattern::var<"x">, provenance{"a wrong rule, to be caught"});

TEST_CASE("verification names the rule that changed the result") {
    auto const wrong = rule_list(drop_relu);
    auto const r = optimize(models::fire_module(1), cost::roofline{}, {.rules = wrong, .verify = true}).value();
    CHECK(r.report.applied.size() == 2);
    CHECK_FALSE(r.report.verification.equal);
    CHECK(r.report.verification.different);
    auto const& notes = r.report.verification.notes;
    CHECK(std::any_of(notes.begin(), notes.end(), [](auto const& n) { return n.find("drop_relu at relu") == 0; }));
    CHECK(std::any_of(notes.begin(), notes.end(), [](auto const& n) { return n.find("numbers: output 0") == 0; }));
    // Mixed with rules that are right, too.
    auto mixed = rules("atomic");
    mixed.push_back(drop_relu.program());
    CHECK_FALSE(optimize(models::residual_module(1, 8, 7), cost::roofline{}, {.rules = mixed, .verify = true})
                    .value()
                    .report.verification.equal);
}

TEST_CASE("a graph with an unknown operator is optimized around it, rewrites are verified one by one") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {1, 4, 8, 8}, "x");
    auto const conv = [&](value_id v, std::uint64_t seed) {
        auto w = tensor::uninitialized(dtype::f32, ints{4, 4, 3, 3});
        fill_random(w, random_stream{seed});
        attributes_of<ops::conv> a;
        a.strides = a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
        return b.add<ops::conv>(a, {v, b.constant(w)});
    };
    auto const type = g.type_of(x);
    auto const strange =
        g.add_opaque({.domain = "com.example", .op_type = "Strange"}, tensor::zeros(dtype::u8, ints{1}),
                     std::vector{b.add<ops::relu>(conv(x, 1))}, std::vector{type});
    b.outputs({b.add<ops::relu>(conv(value_id{strange, 0}, 2))});
    auto const r = optimize(g, cost::roofline{}, {.verify = true}).value();
    CHECK(r.report.applied.size() == 2);
    auto const& v = r.report.verification;
    CHECK(v.equal);
    CHECK(v.rewrites_checked == 2);
    CHECK_FALSE(v.whole_in_field);
    CHECK_FALSE(v.on_numbers);
    REQUIRE_FALSE(v.notes.empty());
    CHECK(v.notes[0].find("Strange") != std::string::npos);
    std::size_t kept = 0;
    for (auto n : r.order()) kept += r.is<ops::opaque>(n);
    CHECK(kept == 1);
    auto const nothing = verify_equal(g, r, evaluators); // nothing could be compared
    CHECK_FALSE(nothing.equal);
    CHECK_FALSE(nothing.different);
}

// A graph that an unknown operator ends, so that it can be compared in parts alone.
verification_report checked_in_parts(shape const& dims, function_ref<value_id(graph_builder&, value_id)> build) {
    graph g;
    graph_builder b{g};
    value_id const y = build(b, b.input(dtype::f32, dims, "x"));
    auto const strange =
        g.add_opaque({.domain = "com.example", .op_type = "Strange"}, tensor::zeros(dtype::u8, ints{1}),
                     std::vector<value_id>{y}, std::vector<type_id>{g.type_of(y)});
    b.outputs({value_id{strange, 0}});
    return optimize(g, cost::roofline{}, {.verify = true}).value().report.verification;
}

TEST_CASE("regions that are large are compared at a smaller size, equal ones once") {
    auto const v = checked_in_parts({1, 64, 56, 56}, [](graph_builder& b, value_id x) {
        for (int i = 0; i < 12; ++i) {
            attributes_of<ops::conv> a;
            a.strides = a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
            auto const w = b.constant(tensor::zeros(dtype::f32, ints{64, 64, 3, 3}));
            x = b.add<ops::relu>(b.add<ops::conv>(a, {x, w}));
        }
        return x;
    });
    CHECK(v.rewrites_checked == 12);
    CHECK(v.rewrites_skipped == 0);
    CHECK(v.equal);
}

TEST_CASE("what can neither be computed nor compared in parts is not verified, and not said to differ") {
    auto const v = checked_in_parts({32, 4096}, [](graph_builder& b, value_id x) {
        auto const product = [&](float number) {
            auto w = tensor::zeros(dtype::f32, ints{4096, 2048});
            w.mutable_data<float>()[0] = number;
            return b.add<ops::mat_mul>(x, b.constant(w));
        };
        return b.add<ops::mul>(product(1), product(2));
    });
    CHECK(v.attempted);
    CHECK(v.rewrites_skipped == 1);
    CHECK_FALSE(v.equal);
    CHECK_FALSE(v.different);
    REQUIRE_FALSE(v.notes.empty());
    CHECK(v.notes.back().find("1 rewrite was not compared one by one: the region is too large") == 0);
}

// ---- errors
// ------------------------------------------------------------------------------------------------------------

struct constant_cost {
    using unit = joules;
    double cost;
    joules operator()(any_graph const&, node_id) const { return {cost}; }
    joules operator()(any_graph const&) const { return {cost}; }
};

TEST_CASE("a relaxation below one is a mistake of the caller") {
    for (double alpha : {0.99, 0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
        auto const r = optimize(models::fire_module(1), cost::roofline{}, {.alpha = alpha});
        REQUIRE_FALSE(r);
        CHECK(r.error().id() == errors::search_setting);
        CHECK(r.error().message().find("it must be at least 1") != std::string::npos);
    }
}

TEST_CASE("a cost that is none is refused with the model's unit") {
    for (double cost : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        auto const r = optimize(models::fire_module(1), constant_cost{cost});
        REQUIRE_FALSE(r);
        CHECK(r.error().id() == errors::cost_value);
        CHECK(r.error().message().find(" J; costs are finite and >= 0") != std::string::npos);
    }
}

TEST_CASE("a model that throws is heard") {
    struct angry {
        using unit [[maybe_unused]] = seconds;
        seconds operator()(any_graph const&) const { throw std::runtime_error("no clock"); }
    };
    CHECK_THROWS_WITH(optimize(models::fire_module(1), angry{}), "no clock");
}

// Rules with code that throws: at once, where it builds, and where the graph has been rewritten.
[[noreturn]] inline void fail() {
    throw std::runtime_error{"no such luck"};
}
inline constexpr auto condition_throws = rule<"condition_throws">(
    pattern::relu(pattern::var<"x">), pattern::var<"x">,
    pattern::where(pattern::condition("none", [](match const&) -> bool { fail(); })), provenance{"a rule that throws"});
inline constexpr auto build_throws =
    rule<"build_throws">(pattern::relu(pattern::var<"x">), pattern::computed([](rewrite&) -> value_id { fail(); }),
                         provenance{"a rule that throws"});
inline constexpr auto late_throws =
    rule<"late_throws">(pattern::add(pattern::var<"x">, pattern::var<"y">), pattern::var<"x">,
                        pattern::where(pattern::condition("twelve activations stand by themselves",
                                                          [](match const& m) {
                                                              auto const& g = m.graph();
                                                              int count = 0;
                                                              for (auto n : g.order()) count += g.is<ops::relu>(n);
                                                              if (count < 12) fail();
                                                              return false;
                                                          })),
                        provenance{"a rule that throws"});

TEST_CASE("a rule that throws ends the search with the best graph so far, and is named") {
    auto const good = choose_rules(standard_rules(), "fuse_conv_relu").value();
    auto const g = models::residual_chain(1, 8, 7, 4);
    fork_join_executor three{3};
    for (auto const& bad : {condition_throws.program(), build_throws.program()})
        for (std::size_t const split : {0u, 5u})
            for (executor* threads : {static_cast<executor*>(nullptr), static_cast<executor*>(&three)}) {
                std::vector<rule_program> rules{good[0], bad};
                optimize_options const options{.split = split, .rules = rules, .verify = true, .threads = threads};
                auto const done = optimize(g, cost::roofline{}, options).value();
                auto const& r = done.report;
                CAPTURE(bad.name, split, r.search.failure);
                CHECK(r.search.why == search::stop_reason::failed);
                CHECK(r.search.failure.find(bad.name) != std::string::npos);
                CHECK(r.search.failure.find("no such luck") != std::string::npos);
                CHECK(r.verification.equal);
                CHECK(r.cost_after <= r.cost_before);
            }
    // What was found until then counts: relus are fused before a graph without any is met.
    std::vector<rule_program> late{good[0], late_throws.program()};
    auto const done = optimize(g, cost::roofline{}, {.split = 0, .rules = late}).value();
    CHECK(done.report.search.why == search::stop_reason::failed);
    CHECK(done.report.cost_after < done.report.cost_before);
    CHECK(done.report.applied.size() > 0);
}

TEST_CASE("folded weights beyond their limit are an error that says what to do") {
    auto const r = optimize(models::inception_module(1), cost::roofline{}, {.max_weight_bytes = 100});
    REQUIRE_FALSE(r);
    CHECK(r.error().id() == errors::memory_limit);
    CHECK(r.error().message().find("max_weight_bytes") != std::string::npos);
    CHECK(optimize(models::inception_module(1), cost::roofline{}, {.max_weight_bytes = 100, .fold = false}));
}

TEST_CASE("without folding the weight arithmetic stays, at the same cost") {
    auto const g = models::inception_module(1);
    auto const lazy = optimize(g, cost::roofline{}, {.fold = false}).value(),
               folded = optimize(g, cost::roofline{}).value();
    CHECK(lazy.report.cost_after == folded.report.cost_after);
    CHECK(lazy.size() > folded.size());
    CHECK(std::any_of(lazy.order().begin(), lazy.order().end(),
                      [&](node_id n) { return lazy.constant(n) && !lazy.is<ops::constant>(n); }));
    CHECK(distance(g, lazy) < 1e-5);
}

TEST_CASE("graphs with nothing to do come back as they are") {
    auto const empty = optimize(graph{}, cost::roofline{}, {.verify = true}).value();
    CHECK(empty.report.cost_after == 0);
    CHECK(empty.report.verification.equal);
    graph through;
    graph_builder b{through};
    auto const x = b.input(dtype::f32, {2}, "x");
    b.outputs({x, x, b.constant(tensor::zeros(dtype::f32, ints{3}))});
    auto const r = optimize(through, cost::flop_cost{}, {.verify = true}).value();
    CHECK(r.hash() == through.hash());
    CHECK(r.report.verification.equal);
}

} // namespace optimize_test
