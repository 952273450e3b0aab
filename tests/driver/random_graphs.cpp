#include "catch.hpp"
#include "random_graph.hpp"
#include "runtime/opencl_here.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/driver/build.hpp>
#ifdef GSUB_TEST_JIT
#include <gsub/driver/jit.hpp>
#endif
#include <gsub/driver/run_passes.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/passes/manager/order.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace random_graphs_test {

using namespace gsub;
using random_program::bound;
using random_program::generator;

auto const evaluators = table_of<eval_row, standard_ops>();

// Whether data decide a size of what an operator reads or makes.
bool decides_sizes(any_graph const& g, node_id n) {
    for (auto v : g.operands(n))
        if (v.valid() && !g.type(v).is_static()) return true;
    for (std::uint32_t port = 0; port < g.result_count(n); ++port)
        if (!g.type({n, port}).is_static()) return true;
    return false;
}

// The operators that docs/driver.md leaves to the reference runtime.
bool is_documented(any_graph const& g, node_id n) {
    auto const& type = g.type(g.operand_count(n) > 0 ? g.operand(n, 0) : value_id{n, 0});
    if (g.is<ops::conv>(n)) {
        auto const& a = g.attributes<ops::conv>(n);
        auto const alone = !g.operand(n, 2).valid() && a.act == activation::none;
        return type.element == dtype::f64 || (!alone && a.group > 1);
    }
    if (g.is<ops::gemm>(n)) {
        auto const& a = g.attributes<ops::gemm>(n);
        return is_integer(type.element) && (a.alpha != 1 || a.beta != 1);
    }
    return (g.is<ops::max_pool>(n) && g.result_count(n) == 2) || (g.is<ops::pow>(n) && is_integer(type.element)) ||
           g.is<ops::range>(n) || g.is<ops::top_k>(n) || decides_sizes(g, n) || g.is<ops::dirac>(n) ||
           g.is<ops::layout_transform>(n);
}

struct made_graph {
    graph g;
    std::vector<tensor> inputs;
    std::map<value_id, bound> bounds;
};
made_graph make(std::uint64_t seed, std::uint64_t least = 50) {
    generator maker{seed};
    maker.grow(least + seed % 30);
    return {std::move(maker.g), std::move(maker.inputs), std::move(maker.bounds)};
}

// What is wrong with a tensor, if anything.
std::string fault_of(tensor const& got, tensor const& want, bound const& k) {
    if (got.type() != want.type()) return to_string(got.type()) + " for " + to_string(want.type());
    if (!is_floating(want.element())) {
        for (std::size_t i = 0, size = byte_size(want.element()); i < want.raw().size(); ++i)
            if (got.raw()[i] != want.raw()[i]) return fmt::format("element {} is another", i / size);
        return {};
    }
    auto const x = got.converted_to(dtype::f64), y = want.converted_to(dtype::f64);
    for (std::size_t i = 0; i < y.data<double>().size(); ++i) {
        auto const a = x.data<double>()[i], b = y.data<double>()[i];
        if (a == b || (a != a && b != b) || std::abs(a - b) <= k.error) continue;
        std::ostringstream text;
        text << std::setprecision(17) << "element " << i << " is " << a << " for " << b << std::setprecision(3)
             << ", which errs by " << std::abs(a - b) << "; the bound is " << k.error;
        return text.str();
    }
    return {};
}

struct way {
    gsub::isa const* isa;
    bool optimised;                        // as users have it
    bool in_memory;                        // by the emitter that needs no compiler, for what it takes
    std::string list{};                    // of passes before; empty: none, and the build's own groups
    std::shared_ptr<runtime::device> on{}; // null: the host
};
// A breach of the law.
struct fault {
    std::string kind; // faults of one kind may have one cause
    std::string what;
};
std::optional<fault> fault_of(made_graph const& m, way const& how, std::string_view kind = {}) {
    auto const failed = [](char const* when, error const& e) {
        return fault{when, std::string{when} + ": " + e.what()};
    };
    auto const want = evaluate_graph(m.g, evaluators, m.inputs);
    if (!want) return failed("evaluation", want.error());
    build_options options;
    options.jit.use_cache = false;
    if (!how.optimised) options.jit.flags = {"-O1"}; // compiles sooner
#ifdef GSUB_TEST_JIT
    if (how.in_memory) options.emitter = &jit_emitter;
#endif
    options.isa = how.isa;
    std::optional<fault> first;
    auto const note = [&](fault f) {
        if (!first && (kind.empty() || kind == f.kind)) first = std::move(f);
    };
    gsub::module listed;
    listed.add("main", m.g);
    if (!how.list.empty()) {
        pass_context cx;
        cx.machine = host();
        cx.machine.isa = how.isa;
        run_passes_options run;
        run.run.order = order_policy::ignore;
        static auto const known = compiler_passes();
        if (auto const done = run_passes(listed, known, how.list, cx, run); !done)
            return failed("passes", done.error());
    }
    auto const groups = how.list.empty() ? grouping::by_kernels : grouping::by_passes;
    auto const made = plan(listed, evaluators, *how.isa, options, groups);
    if (!made) return failed("plan", made.error());
    for (auto const& s : made->steps)
        if (auto const* const call = std::get_if<runtime::reference_call>(&s.what))
            for (auto n : call->graph.order())
                if (!call->graph.is<ops::input>(n) && !call->graph.is<ops::constant>(n) &&
                    n != call->graph.return_node() && !is_documented(call->graph, n))
                    note({kind_of(s), kind_of(s) + "\n" + to_text(call->graph, {.max_constant_elements = 4})});
    if (first && kind != "numbers") return first; // without a run of the compiler
    if (kind.starts_with("reference")) return first;
    auto const e = how.on ? build(listed, evaluators, how.on, options, groups)
                          : build(listed, evaluators, host(), options, groups);
    if (!e) return failed("build", e.error());
    auto const got = e->run(m.inputs);
    if (!got) return failed("run", got.error());
    for (std::size_t i = 0; i < want->size(); ++i) {
        auto const v = m.g.output(i);
        if (auto what = fault_of((*got)[i], (*want)[i], m.bounds.at(v)); !what.empty())
            note({"numbers", std::string{m.g.op(v.node).name} + " " + to_string(m.g.type(v)) + ", output " +
                                 std::to_string(i) + ": " + what});
    }
    return first;
}

// Nodes computed elsewhere: the graph without them reads what the evaluator gives for them.
made_graph cut(made_graph const& m, std::vector<value_id> const& outputs, std::set<node_id> const& away,
               std::map<value_id, tensor> const& known) {
    made_graph out;
    std::map<value_id, value_id> now;
    std::vector<node_id> ends;
    for (auto v : outputs) ends.push_back(v.node);
    std::set<node_id> needed; // walks stop at what is cut
    while (!ends.empty()) {
        auto const n = ends.back();
        ends.pop_back();
        if (!needed.insert(n).second || away.contains(n)) continue;
        for (auto v : m.g.operands(n))
            if (v.valid()) ends.push_back(v.node);
    }
    for (auto n : m.g.order()) {
        if (!needed.contains(n) || n == m.g.return_node()) continue;
        auto const ports = static_cast<std::uint32_t>(m.g.result_count(n));
        if (m.g.is<ops::input>(n) || away.contains(n)) {
            for (std::uint32_t port = 0; port < ports; ++port) {
                value_id const v{n, port};
                auto type = m.g.type(v);
                type.layout = {};
                now[v] = out.g.add_input(type, fmt::format("x{}", out.inputs.size()));
                out.inputs.push_back(m.g.is<ops::input>(n) ? m.inputs[m.g.input_position(n)] : known.at(v));
            }
        } else {
            std::vector<value_id> operands;
            for (auto v : m.g.operands(n)) operands.push_back(v.valid() ? now.at(v) : v);
            std::vector<type_id> types;
            for (std::uint32_t port = 0; port < ports; ++port) types.push_back(m.g.type_of({n, port}));
            auto const copy =
                out.g.append_node(m.g.row(n), m.g.attributes(n), out.g.payload_of_copy(m.g, n), operands, types);
            for (std::uint32_t port = 0; port < ports; ++port) now[{n, port}] = {copy, port};
        }
        for (std::uint32_t port = 0; port < ports; ++port)
            if (m.bounds.contains({n, port})) out.bounds[now[{n, port}]] = m.bounds.at({n, port});
    }
    std::vector<value_id> results;
    for (auto v : outputs) results.push_back(now.at(v));
    out.g.set_outputs(results);
    return out;
}
std::vector<value_id> outputs_of(made_graph const& m) {
    std::vector<value_id> all;
    for (std::size_t i = 0; i < m.g.output_count(); ++i) all.push_back(m.g.output(i));
    return all;
}
// A smaller graph with a fault of the same kind.
made_graph shrunk(made_graph m, way const& how, std::string_view kind) {
    for (auto again = true; again;) {
        again = false;
        std::map<value_id, tensor> known;
        auto const shrink_to = [&](std::vector<value_id> const& outputs, std::set<node_id> const& away) {
            auto next = cut(m, outputs, away, known);
            if (outputs.empty() || !fault_of(next, how, kind)) return false;
            return m = std::move(next), again = true;
        };
        // Fewer outputs, halves of them first.
        for (auto some = m.g.output_count() / 2; some > 0; some /= 2)
            for (std::size_t first = 0; first < m.g.output_count() && m.g.output_count() > 1;) {
                auto fewer = outputs_of(m);
                auto const begin = fewer.begin() + static_cast<std::ptrdiff_t>(first);
                fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(some, fewer.size() - first)));
                if (!shrink_to(fewer, {})) first += some;
            }
        // What an output is made of instead of it.
        for (std::size_t i = 0; i < m.g.output_count();) {
            auto const all = outputs_of(m);
            auto found = false;
            for (auto v : m.g.operands(all[i].node)) {
                if (!v.valid() || m.g.constant(v) || m.g.is<ops::input>(v.node) || !m.bounds.contains(v)) continue;
                auto other = all;
                other[i] = v;
                if ((found = shrink_to(other, {}))) break;
            }
            i += !found;
        }
        // Operands given, halves of the nodes first.
        evaluate_options observe;
        observe.context = &known;
        observe.on_node = [](void* context, any_graph const&, node_id n, std::span<tensor const> results) {
            for (std::uint32_t port = 0; port < results.size(); ++port)
                (*static_cast<std::map<value_id, tensor>*>(context))[{n, port}] = results[port];
        };
        if (!evaluate_graph(m.g, evaluators, m.inputs, observe)) return m;
        std::vector<node_id> nodes;
        for (auto n : m.g.order())
            if (!m.g.is<ops::input>(n) && !m.g.is<ops::constant>(n) && known.contains({n, 0})) nodes.push_back(n);
        std::set<node_id> away;
        for (auto part = nodes.size() / 2; part > 0; part /= 2)
            for (std::size_t first = 0; first < nodes.size(); first += part) {
                auto more = away;
                for (auto i = first; i < std::min(first + part, nodes.size()); ++i) more.insert(nodes[i]);
                if (more != away && fault_of(cut(m, outputs_of(m), more, known), how, kind)) away = std::move(more);
            }
        auto next = cut(m, outputs_of(m), away, known);
        again = again || next.g.size() < m.g.size();
        m = std::move(next);
    }
    return m;
}

std::uint64_t number_in(char const* variable, std::uint64_t otherwise) {
    auto const* const text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// A list of exact passes, some of them twice, that breaks no hard order.
std::string random_list(std::uint64_t seed) {
    static auto const known = compiler_passes();
    static auto const names = [] {
        std::vector<std::string_view> exact;
        for (auto const& p : known.passes())
            if (p.info().exact <= exactness::reassociating && p.info().preserves_semantics) exact.push_back(p.name());
        return exact;
    }();
    random_stream r{seed};
    for (;;) {
        std::vector<std::string_view> list;
        for (auto length = 1 + r.below(10); length > 0; --length) list.push_back(names[r.below(names.size())]);
        auto const breaches = check_order(list);
        if (std::ranges::any_of(breaches, [](order_breach const& b) { return b.rule->kind == order_kind::hard; }))
            continue;
        std::string text;
        for (auto name : list) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
        return text;
    }
}

// GSUB_RANDOM_GRAPHS tells how many, GSUB_RANDOM_SEED the first, GSUB_RANDOM_FAULT that no other kind counts.
void hold_the_law(std::uint64_t first, std::uint64_t count, bool through_lists) {
    std::vector<isa const*> sets{&isa::baseline};
    if (host().has(isa::sse42)) sets.push_back(&isa::sse42);
    if (host().has(isa::avx2)) sets.push_back(&isa::avx2);
    if (host().has(isa::avx512)) sets.push_back(&isa::avx512);
    auto const* const only = std::getenv("GSUB_RANDOM_FAULT");
    std::string_view const kind = only ? only : "";
    for (auto seed = first; seed < first + count; ++seed) {
        auto m = through_lists ? make(seed, 15) : make(seed); // lists are many, graphs of all sizes are above
        way const how{sets[(seed + 2) % sets.size()], seed % 5 == 0, seed / sets.size() % 2 == 1,
                      through_lists ? random_list(seed) : ""};
        auto const found = fault_of(m, how, kind);
        if (!found) continue;
        m = shrunk(std::move(m), how, found->kind);
        auto const last = fault_of(m, how, found->kind);
        FAIL_CHECK("seed " << seed << ", " << how.isa->name << (how.in_memory ? ", in memory" : "")
                           << ", passes: " << how.list << ": " << found->what
                           << "\nshrunk to: " << (last ? last->what : "nothing") << "\n"
                           << to_text(m.g, {.max_constant_elements = 8}));
    }
}

// The same on a device: GSUB_RANDOM_DEVICE_GRAPHS tells how many.
void hold_the_law_on(std::shared_ptr<runtime::device> const& on, std::uint64_t first, std::uint64_t count) {
    for (auto seed = first; seed < first + count; ++seed) {
        auto m = make(seed, 15);
        way const how{&isa::warp, false, false, {}, on};
        auto const found = fault_of(m, how);
        if (!found) continue;
        m = shrunk(std::move(m), how, found->kind);
        auto const last = fault_of(m, how, found->kind);
        FAIL_CHECK("seed " << seed << ", " << on->id() << ": " << found->what
                           << "\nshrunk to: " << (last ? last->what : "nothing") << "\n"
                           << to_text(m.g, {.max_constant_elements = 8}));
    }
}

} // namespace random_graphs_test

TEST_CASE("random graphs have every operator that kernels take, in every element type") {
    using namespace random_graphs_test;
    std::set<std::string_view> names, missing;
    std::set<dtype> types;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        auto const m = make(seed);
        std::size_t operators = 0;
        for (auto n : m.g.order()) {
            names.insert(m.g.op(n).name);
            operators += !m.g.is<ops::input>(n) && !m.g.is<ops::constant>(n) && n != m.g.return_node();
            for (std::uint32_t port = 0; port < m.g.result_count(n); ++port) types.insert(m.g.type({n, port}).element);
        }
        CHECK(operators >= 50);
        CHECK(to_text(make(seed).g) == to_text(m.g));
    }
    std::set<std::string_view> const never{
        "call",           "opaque",           "If",          "Let",           "CompilerAnnotation",
        "QuantizeLinear", "DequantizeLinear", "ConvInteger", "MatMulInteger", "QLinearConv",
        "QLinearMatMul",  "Saturate",         "RoundTo", // these have tests/lower/legalize.cpp
        "Einsum"};                                       // and this one tests/driver/einsum.cpp
    for (auto const& op : table_of<op_info, standard_ops>())
        if (!names.contains(op.name) && !never.contains(op.name)) missing.insert(op.name);
    CHECK(missing == std::set<std::string_view>{});
    for (auto t : stored_dtypes) CHECK(types.contains(t));
}

TEST_CASE("random graphs of all operators have a predicted time, that of their groups") {
    using namespace random_graphs_test;
    for (auto const* isa : {&isa::avx512, &isa::avx2, &isa::sse42, &isa::baseline}) {
        target machine;
        machine.isa = isa;
        auto const costs = cost::lowered::on(machine);
        for (std::uint64_t seed = 1; seed <= 25; ++seed) {
            CAPTURE(seed, isa->name);
            auto const m = make(seed);
            double sum = 0;
            for (auto const& p : costs.node_costs(m.g)) {
                CHECK(std::isfinite(p.amount));
                CHECK(p.amount >= 0);
                sum += p.amount;
            }
            CHECK(sum > 0);
            CHECK(costs(m.g).amount == Approx(sum).epsilon(1e-12));
        }
    }
}

TEST_CASE("random graphs of all operators are built to what the evaluator computes") {
    random_graphs_test::hold_the_law(random_graphs_test::number_in("GSUB_RANDOM_SEED", 1),
                                     random_graphs_test::number_in("GSUB_RANDOM_GRAPHS", 10), false);
}

TEST_CASE("random graphs through random lists of exact passes are built to what the evaluator computes") {
    random_graphs_test::hold_the_law(random_graphs_test::number_in("GSUB_RANDOM_SEED", 1),
                                     random_graphs_test::number_in("GSUB_RANDOM_GRAPHS", 10), true);
}

TEST_CASE("random graphs of all operators compute on a device of OpenCL what the evaluator does") {
    using namespace random_graphs_test;
    if (auto const on = opencl_here::device())
        hold_the_law_on(on, number_in("GSUB_RANDOM_SEED", 1), number_in("GSUB_RANDOM_DEVICE_GRAPHS", 2));
}
