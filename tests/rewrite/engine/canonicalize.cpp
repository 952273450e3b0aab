#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace normal_form_test {

using namespace gsub;
using small_graphs::dense_graph;
using small_graphs::operators_of;
using small_graphs::same_meaning;

graph made(std::function<void(graph_builder&)> const& f) {
    graph g;
    graph_builder to{g};
    f(to);
    return g;
}
graph normal(graph g) {
    canonicalize(g);
    return g;
}
std::string signature(any_graph const& g) {
    std::string out;
    for (auto n : g.inputs()) out += fmt::format("{}: {}; ", g.name({n, 0}), to_string(g.type({n, 0})));
    for (std::size_t i = 0; i < g.output_count(); ++i) out += fmt::format("{}; ", to_string(g.type(g.output(i))));
    for (auto const& name : g.info().output_names) out += name + "; ";
    return out;
}

// ---- of any graph
// ----------------------------------------------------------------------------------------------------------------

TEST_CASE("the canonical form of a graph means what the graph means, and is a canonical form") {
    auto const check_one = [](graph const& g, std::uint64_t seed) {
        CAPTURE(seed);
        auto const before = signature(g);
        auto once = g;
        auto const count = canonicalize(once);
        CHECK(once.size() <= g.size());
        CHECK(signature(once) == before);
        CHECK(same_meaning(g, once, seed));
        // On numbers too, in double precision.
        auto const inputs = random_inputs(g, seed);
        auto const a = evaluate_graph(g, inputs, {.compute = precision::f64}).value();
        auto const b = evaluate_graph(once, inputs, {.compute = precision::f64}).value();
        for (std::size_t i = 0; i < a.size(); ++i) {
            auto const difference = compare(b[i], a[i]).value();
            CHECK(difference.same_specials);
            CHECK((difference.max_relative < 1e-9 || difference.max_absolute < 1e-12));
        }
        // Again changes nothing, and says so.
        auto twice = once;
        CHECK(canonicalize(twice).total() == 0);
        CHECK(twice.hash() == once.hash());
        CHECK(to_text(twice) == to_text(once));
        if (count.total() == 0) CHECK(once.hash() == g.hash());
        for (auto const& p : check(once, stage::canonical)) {
            CAPTURE(to_string(p));
            CHECK(check(g, stage::canonical).size() > 0); // what was not legal before may stay
        }
    };
    for (std::uint64_t seed = 0; seed < 150; ++seed) check_one(dense_graph(seed, 40), seed);
    for (std::uint64_t seed = 0; seed < 100; ++seed) check_one(random_graph::make(seed, 40), seed);
}

// Puts things that change nothing in the way of random operands.
void litter(graph& g, std::uint64_t seed) {
    random_stream r{seed};
    std::vector<node_id> const nodes(g.order().begin(), g.order().end());
    for (auto n : nodes)
        for (std::size_t i = 0; i < g.operand_count(n); ++i) {
            auto const v = g.operand(n, i);
            if (r.below(3) != 0 || !v.valid() || !g.type(v).is_static() || !is_floating(g.type(v).element)) continue;
            auto const& t = g.type(v);
            auto const dims = t.sizes();
            value_id same;
            switch (r.below(9)) {
            case 0:
                same = g.add<ops::identity>(v);
                break;
            case 1:
                same = g.add<ops::dropout>({}, {v});
                break;
            case 2:
                same = g.add<ops::cast>({.to = t.element}, {v});
                break;
            case 3:
                same = g.add<ops::reshape>({.shape = dims, .allow_zero = true}, {v});
                break;
            case 4:
                same = g.add<ops::reshape>({.shape = dims, .allow_zero = true},
                                           {g.add<ops::unsqueeze>({.axes = {0}}, {v})});
                break;
            case 5: {
                ints perm;
                for (std::size_t d = 0; d < dims.size(); ++d) perm.push_back(static_cast<std::int64_t>(d));
                same = g.add<ops::transpose>({.perm = perm}, {v});
                break;
            }
            case 6:
                same = g.add<ops::pad>({.pads = ints(2 * dims.size(), 0)}, {v});
                break;
            case 7: {
                if (dims.empty() || dims[0] < 2) continue;
                auto const parts = g.add<ops::split>({.axis = 0, .sizes = {1, dims[0] - 1}}, {v}, 2);
                same = g.add<ops::concat>({.axis = 0}, {parts, value_id{parts.node, 1}});
                break;
            }
            default:
                same = g.add<ops::sum>({}, {v});
            }
            g.set_operand(n, i, same);
        }
    REQUIRE(g.sort());
}

TEST_CASE("whatever changes nothing leaves no trace in the canonical form") {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        CAPTURE(seed);
        auto g = dense_graph(seed, 30);
        auto const clean = normal(g);
        litter(g, seed);
        CHECK(normal(g).hash() == clean.hash());
    }
}

TEST_CASE("nodes that compute the same become one") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        CAPTURE(seed);
        auto g = dense_graph(seed, 30);
        // A twin of each node takes over some of its uses.
        random_stream r{seed};
        std::vector<node_id> const nodes(g.order().begin(), g.order().end());
        for (auto n : nodes) {
            if (n == g.return_node() || g.is<ops::input>(n)) continue;
            auto const twin = g.is<ops::constant>(n)
                                  ? g.add_constant(g.constant_data(n))
                                  : g.emit(g.row(n), g.attributes(n), g.operands(n), g.result_count(n));
            for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
                std::vector<use> uses;
                g.for_each_use({n, port}, [&](use u) { uses.push_back(u); });
                for (auto u : uses)
                    if (r.below(2)) g.set_operand(u.user, u.operand, {twin.node, port});
            }
        }
        REQUIRE(g.sort());
        auto const again = normal(g);
        CHECK(same_meaning(g, again, seed));
        std::set<std::string> seen;
        for (auto n : again.order()) {
            if (again.is<ops::input>(n) || n == again.return_node()) continue;
            auto operands = again.operands(n);
            if (again.op(n).commutative) std::sort(operands.begin(), operands.end());
            auto told =
                fmt::format("{} {} {}", again.op(n).name, again.attributes(n).hash().low, again.result_count(n));
            for (auto v : operands) told += fmt::format(" {}.{}", v.node.index, v.port);
            if (again.is<ops::constant>(n)) told += fmt::format("{}", again.constant_data(n).hash().low);
            CHECK(seen.insert(told).second);
        }
    }
}

TEST_CASE("the order in which nodes were made does not show in the canonical form") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 30);
        auto turned = g;
        turned.order_canonically();
        turned.compact();
        CHECK(normal(turned).hash() == normal(g).hash());
    }
}

TEST_CASE("after a rewrite, cleaning the neighbourhood comes to what cleaning the whole graph does") {
    rule_index const index{standard_rules()};
    std::size_t rewrites = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const g = normal(dense_graph(seed, 25));
        for (auto n : g.order())
            for (auto const* rule : index.anchored_at(g.op(n))) {
                if (n == g.return_node() || g.constant(n)) continue;
                find_pattern_at(g, *rule, n, [&](match const& m) {
                    for (auto const& condition : rule->where)
                        if (!condition.holds(m)) return;
                    CAPTURE(seed, rule->name, n.index);
                    auto near = g;
                    near.rehash();
                    near.start_journal();
                    if (!prepare(m).apply_to(near, shared_interior::refuse)) return;
                    ++rewrites;
                    auto whole = near;
                    canonicalize_changes(near);
                    canonicalize(whole);
                    CHECK(near.hash() == whole.hash());
                    CHECK(near.size() == whole.size());
                    CHECK(check(near, stage::canonical).empty());
                    CHECK(same_meaning(g, near, seed));
                    // Stored hashes kept up with the changes.
                    auto const incremental = near.hash();
                    near.rehash();
                    CHECK(near.hash() == incremental);
                    auto const fresh = parse_graph<standard_ops>(to_text(near)).value();
                    CHECK(near.hash() == fresh.hash());
                });
            }
    }
    CHECK(rewrites > 500);
}

TEST_CASE("a canonicalization pattern that waits for a reader to go is made when it goes") {
    // relu(part) keeps the nested splits apart, sigmoid(mask) the dropout.
    for (bool of_split : {true, false}) {
        auto const g = made([&](graph_builder& to) {
            auto const x = to.input(dtype::f32, {6}, "x");
            if (of_split) {
                auto const outer = to.add<ops::split>({.axis = 0, .sizes = {2, 4}}, {x}, 2);
                value_id const shared{outer.node, 1};
                auto const inner = to.add<ops::split>({.axis = 0, .sizes = {1, 3}}, {shared}, 2);
                to.outputs({outer, inner, value_id{inner.node, 1}, to.add<ops::relu>(shared)});
            } else {
                auto const y = to.add<ops::dropout>({}, {x}, 2);
                to.outputs({to.add<ops::tanh>(y), to.add<ops::cast>({.to = dtype::f32}, {value_id{y.node, 1}})});
            }
        });
        CHECK(normal(g).size() == g.size());
        auto const last = g.output(g.output_count() - 1);
        graph_patch drop{g, "drop", last.node};
        drop.replace(last,
                     drop.add<ops::fill>({.shape = g.type(last).sizes(), .value = 1}, std::span<value_id const>{}));
        drop.covers(last.node);
        auto near = g;
        near.start_journal();
        REQUIRE(drop.apply_to(near, shared_interior::refuse));
        auto const whole = normal(near);
        canonicalize_changes(near);
        CHECK(near.hash() == whole.hash());
        CHECK(operators_of(near) == (of_split ? "Split" : "Tanh"));
    }
}

// ---- canonicalization pattern by canonicalization pattern
// --------------------------------------------------------------------------------------------------

// Before and after as lists of operators; x is f32[2,6].
struct before_after {
    std::string_view name;
    std::function<void(graph_builder&, value_id x)> make;
    std::string_view after;
};

std::vector<before_after> examples() {
    auto const cut = [](graph_builder& to, value_id v, std::int64_t axis, ints sizes) {
        return to.add<ops::split>({.axis = axis, .sizes = sizes}, {v}, sizes.size());
    };
    auto const part = [](value_id v, std::uint32_t i) { return value_id{v.node, i}; };
    return {
        {"identity",
         [](auto& to, auto x) { to.outputs({to.template add<ops::relu>(to.template add<ops::identity>(x))}); }, "Relu"},
        {"dropout",
         [](auto& to, auto x) { to.outputs({to.template add<ops::relu>(to.template add<ops::dropout>({}, {x}, 2))}); },
         "Relu"},
        {"cast",
         [](auto& to, auto x) {
             to.outputs({to.template add<ops::relu>(to.template add<ops::cast>({.to = dtype::f32}, {x}))});
         },
         "Relu"},
        {"reshape",
         [](auto& to, auto x) {
             to.outputs({to.template add<ops::relu>(to.template add<ops::flatten>({.axis = 1}, {x}))});
         },
         "Relu"},
        {"reshape-reshape",
         [](auto& to, auto x) {
             auto const flat = to.template add<ops::reshape>({.shape = {12}}, {x});
             to.outputs({to.template add<ops::reshape>({.shape = {3, -1}},
                                                       {to.template add<ops::unsqueeze>({.axes = {0}}, {flat})})});
         },
         "Reshape"},
        {"transpose",
         [](auto& to, auto x) {
             to.outputs({to.template add<ops::relu>(to.template add<ops::transpose>({.perm = {0, 1}}, {x}))});
         },
         "Relu"},
        {"pad",
         [](auto& to, auto x) {
             to.outputs({to.template add<ops::relu>(to.template add<ops::pad>({.pads = {0, 0, 0, 0}}, {x}))});
         },
         "Relu"},
        {"slice",
         [](auto& to, auto x) {
             to.outputs({to.template add<ops::relu>(
                 to.template add<ops::slice>({.starts = {0}, .ends = {100}, .axes = {1}, .steps = {1}}, {x}))});
         },
         "Relu"},
        {"sum",
         [](auto& to, auto x) {
             to.outputs(
                 {to.template add<ops::sum>({}, {x, to.template add<ops::sum>({}, {to.template add<ops::relu>(x)})})});
         },
         "Relu Add"},
        {"concat-split",
         [=](graph_builder& to, value_id x) {
             auto const parts = cut(to, x, 1, {2, 4});
             to.outputs({to.add<ops::relu>(to.add<ops::concat>({.axis = -1}, {parts, part(parts, 1)}))});
         },
         "Relu"},
        {"concat-concat",
         [=](graph_builder& to, value_id x) {
             auto const y = to.add<ops::relu>(x), z = to.add<ops::tanh>(x);
             auto const parts = cut(to, to.add<ops::sigmoid>(x), 1, {2, 4});
             to.outputs({to.add<ops::concat>({.axis = 1},
                                             {to.add<ops::concat>({.axis = -1}, {y, z}), parts, part(parts, 1)})});
         },
         "Relu Tanh Sigmoid Concat"},
        {"split-concat",
         [=](graph_builder& to, value_id x) {
             auto const y = to.add<ops::relu>(x), z = to.add<ops::tanh>(x);
             auto const parts = cut(to, to.add<ops::concat>({.axis = 1}, {y, z}), -1, {6, 6});
             to.outputs({part(parts, 1), parts});
         },
         "Relu Tanh"},
        {"split-split",
         [=](graph_builder& to, value_id x) {
             auto const outer = cut(to, x, 1, {1, 5}), inner = cut(to, part(outer, 1), -1, {2, 3});
             to.outputs({outer, inner, part(inner, 1)});
         },
         "Split"},
    };
}

graph example_graph(before_after const& e) {
    return made([&](graph_builder& to) { e.make(to, to.input(dtype::f32, {2, 6}, "x")); });
}

TEST_CASE("every canonicalization pattern has an example that it alone can clean, and its sentence") {
    auto const all = examples();
    REQUIRE(all.size() == canonicalization_patterns().size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        CAPTURE(all[i].name);
        CHECK(canonicalization_patterns()[i].name == all[i].name);
        CHECK(canonicalization_patterns()[i].sentence.size() > 10);
        auto const g = example_graph(all[i]);
        auto const clean = normal(g);
        CHECK(operators_of(clean) == all[i].after);
        CHECK(same_meaning(g, clean));
        // It applies somewhere in the example.
        auto h = g;
        std::size_t applied = 0;
        std::vector<node_id> const nodes(g.order().begin(), g.order().end());
        for (auto n : nodes)
            if (n != h.return_node()) applied += canonicalization_patterns()[i].apply(h, n);
        CHECK(applied > 0);
        REQUIRE(h.sort());
        CHECK(same_meaning(g, h));
    }
}

TEST_CASE("what looks alike and changes something stays") {
    std::function<void(graph_builder&, value_id)> const kept[] = {
        [](auto& to, auto x) { to.outputs({to.template add<ops::cast>({.to = dtype::f64}, {x})}); },
        [](auto& to, auto x) {
            to.outputs({to.template add<ops::reshape>({.shape = {6, 2}}, {x})});
        },
        [](auto& to, auto x) {
            to.outputs({to.template add<ops::transpose>({.perm = {1, 0}},
                                                        {to.template add<ops::transpose>({.perm = {1, 0}}, {x})})});
        },
        [](auto& to, auto x) {
            to.outputs({to.template add<ops::pad>({.pads = {0, 0, 0, 1}}, {x})});
        },
        // Of the same type, but reversed.
        [](auto& to, auto x) {
            to.outputs(
                {to.template add<ops::slice>({.starts = {-1}, .ends = {-100}, .axes = {1}, .steps = {-1}}, {x})});
        },
        [](auto& to, auto x) {
            to.outputs({to.template add<ops::sum>({}, {x, x, x})});
        },
        // Parts in another order, along another axis, not all of them.
        [](auto& to, auto x) {
            auto const p = to.template add<ops::split>({.axis = 1, .sizes = {3, 3}}, {x}, 2);
            to.outputs({to.template add<ops::concat>({.axis = 1}, {value_id{p.node, 1}, p})});
        },
        [](auto& to, auto x) {
            auto const p = to.template add<ops::split>({.axis = 1, .sizes = {3, 3}}, {x}, 2);
            to.outputs({to.template add<ops::concat>({.axis = 0}, {p, value_id{p.node, 1}})});
        },
        [](auto& to, auto x) {
            auto const p = to.template add<ops::split>({.axis = 1, .sizes = {2, 2, 2}}, {x}, 3);
            to.outputs({to.template add<ops::concat>({.axis = 1}, {p, value_id{p.node, 1}})});
        },
        // Cut beside the joints.
        [](auto& to, auto x) {
            auto const both = to.template add<ops::concat>({.axis = 1}, {to.template add<ops::relu>(x), x});
            auto const p = to.template add<ops::split>({.axis = 1, .sizes = {5, 7}}, {both}, 2);
            to.outputs({p, value_id{p.node, 1}});
        },
        // Concat along two axes; a split of a part that something else reads too.
        [](auto& to, auto x) {
            auto const both = to.template add<ops::concat>({.axis = 1}, {x, x});
            to.outputs({to.template add<ops::concat>({.axis = 0}, {both, both})});
        },
        [](auto& to, auto x) {
            auto const outer = to.template add<ops::split>({.axis = 1, .sizes = {2, 4}}, {x}, 2);
            auto const inner = to.template add<ops::split>({.axis = 1, .sizes = {2, 2}}, {value_id{outer.node, 1}}, 2);
            to.outputs({outer, inner, value_id{inner.node, 1}, value_id{outer.node, 1}});
        },
    };
    for (auto const& make : kept) {
        auto const g = made([&](graph_builder& to) { make(to, to.input(dtype::f32, {2, 6}, "x")); });
        CAPTURE(to_text(g));
        auto h = g;
        CHECK(canonicalize(h).total() == 0);
        CHECK(h.hash() == g.hash());
    }
}

TEST_CASE("a dropout whose mask is read stays") {
    auto g = made([](graph_builder& to) {
        auto const x = to.input(dtype::f32, {2}, "x");
        auto const y = to.add<ops::dropout>({}, {x}, 2);
        to.outputs({y, value_id{y.node, 1}});
    });
    CHECK(canonicalize(g).total() == 0);
    CHECK(operators_of(g) == "Dropout");
}

TEST_CASE("sizes that are not known are not taken for equal") {
    dim const n{symbol{"n"}};
    auto const make = [&](dim rows) {
        return made([&](graph_builder& to) {
            auto const x = to.input(dtype::f32, {rows, 6}, "x");
            to.outputs({to.add<ops::relu>(to.add<ops::reshape>({.shape = {-1, 6}}, {x}))});
        });
    };
    CHECK(operators_of(normal(make(dim{2}))) == "Relu");
    CHECK(operators_of(normal(make(dim{}))) == "Reshape Relu");
    // An identity is one for any size.
    auto g = made([&](graph_builder& to) {
        to.outputs({to.add<ops::relu>(to.add<ops::identity>(to.input(dtype::f32, {n, dim{}}, "x")))});
    });
    CHECK(operators_of(normal(g)) == "Relu");
}

TEST_CASE("operators that gsub does not know are neither shared nor dropped") {
    graph g;
    graph_builder to{g};
    auto const x = to.input(dtype::f32, {2}, "x");
    type_id const type{g.type(x)};
    auto const mystery = [&] { return g.add_opaque({.domain = "app", .op_type = "Mystery"}, {}, {{x}}, {{type}}); };
    auto const first = mystery(), second = mystery();
    to.outputs({to.add<ops::identity>(value_id{first, 0}), {second, 0}});
    auto const count = canonicalize(g);
    CHECK(count.shared == 0);
    CHECK(g.output(0) == value_id{first, 0});
    CHECK(g.output(1) == value_id{second, 0});
}

TEST_CASE("names of results and sources of what was cleaned away are kept") {
    auto g = made([](graph_builder& to) {
        auto const x = to.input(dtype::f32, {2, 6}, "x");
        auto const y = to.add<ops::sum>({}, {x, to.add<ops::relu>(x)});
        to.graph().set_source(y.node, "the sum");
        to.graph().set_name(y, "sum");
        auto const z = to.add<ops::identity>(y);
        to.graph().set_name(z, "result");
        to.outputs({z}, {"result"});
    });
    canonicalize(g);
    CHECK(operators_of(g) == "Relu Add");
    CHECK(g.info().output_names == std::vector<std::string>{"result"});
    CHECK(g.sources(g.output(0).node) == std::vector<std::string>{"the sum"});
}

TEST_CASE("what nothing reads is erased, inputs stay") {
    auto g = made([](graph_builder& to) {
        auto const x = to.input(dtype::f32, {2}, "x"), unused = to.input(dtype::f32, {2}, "unused");
        static_cast<void>(
            to.add<ops::tanh>(to.add<ops::add>(unused, to.constant(small_graphs::random_tensor({2}, 1)))));
        to.outputs({to.add<ops::relu>(x)});
    });
    canonicalize(g);
    CHECK(operators_of(g) == "Relu");
    CHECK(g.inputs().size() == 2);
    CHECK(g.size() == 4);
}

TEST_CASE("concats of concats that share their operands 40 times over stay as small as they are") {
    graph g;
    graph_builder b{g};
    auto v = b.input(dtype::f32, {2}, "x");
    for (int i = 0; i < 40; ++i) v = b.add<ops::concat>({.axis = 0}, {v, v});
    b.outputs({v});
    canonicalize(g);
    std::size_t operands = 0;
    for (auto n : g.order()) operands += g.operand_count(n);
    CHECK(operands < 10'000);
    CHECK(to_string(g.type(g.output(0))) == "f32[2199023255552]");
}

TEST_CASE("long chains are cleaned in time that grows as they do, without recursion") {
    auto g = made([](graph_builder& to) {
        auto v = to.input(dtype::f32, {2}, "x");
        for (int i = 0; i < 100000; ++i) v = to.add<ops::identity>(v);
        to.outputs({to.add<ops::relu>(v)});
    });
    CHECK(canonicalize(g).simplified == 100000);
    CHECK(operators_of(g) == "Relu");
}

} // namespace normal_form_test
