#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "oracles/every_match.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/core/format.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/pattern/conditions.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace matcher_test {

using namespace gsub;
using pattern::node_kind;
using small_graphs::dense_graph;

// Patterns whose shape is fixed: no `each` and the like.
bool is_plain(rule_program const& rule) {
    return std::all_of(rule.match_nodes.begin(), rule.match_nodes.end(), [](pattern::node const& n) {
        return n.kind == node_kind::variable || n.kind == node_kind::optional || n.kind == node_kind::operation ||
               n.kind == node_kind::category;
    });
}

std::vector<std::string> found_at_all(any_graph const& g, rule_program const& rule) {
    std::vector<std::string> out;
    for (auto n : g.order())
        if (n != g.return_node())
            find_pattern_at(g, rule, n, [&](match const& m) { out.push_back(every_match::told(m)); });
    std::sort(out.begin(), out.end());
    return out;
}

TEST_CASE("the matcher finds what trying everything finds, each match once") {
    std::map<std::string_view, std::size_t> seen;
    for (std::uint64_t seed = 0; seed < 410; ++seed) {
        auto const g = seed < 300   ? dense_graph(seed, 16)
                       : seed < 400 ? small_graphs::sums_graph(seed, 9)
                                    : small_graphs::blocks_graph(seed, 3);
        for (auto const& rule : standard_rules()) {
            if (!is_plain(rule)) continue;
            CAPTURE(seed, rule.name);
            auto const expected = every_match::of(g, rule);
            CHECK(found_at_all(g, rule) == expected);
            seen[rule.name] += expected.size();
        }
    }
    // The graphs are rich enough to prove something.
    for (auto const& [name, count] : seen) {
        CAPTURE(name);
        CHECK(count > 0);
    }
}

using namespace gsub::pattern;
constexpr auto x = var<"x">;
constexpr auto y = var<"y">;
constexpr auto z = var<"z">;
constexpr auto c = label<"c">;
constexpr auto d = label<"d">;
constexpr auto u = label<"u">;

constexpr auto relus_in_concat =
    rule<"relus_in_concat">(concat[c](each(pattern::relu[u](x))), build([](rewrite&) {}), provenance{"test"});
constexpr auto relus_of_parts = rule<"relus_of_parts">(every_part(pattern::split[c](x), pattern::relu[u](part)),
                                                       build([](rewrite&) {}), provenance{"test"});
constexpr auto parts_in_any_order =
    rule<"parts_in_any_order">(concat[c](all_parts(pattern::split[d](x))), build([](rewrite&) {}), provenance{"test"});

std::size_t count_of(any_graph const& g, rule_program const& rule) {
    return found_at_all(g, rule).size();
}

TEST_CASE("patterns over all operands or parts match where the sentence that they stand for is true") {
    std::size_t concats = 0, splits = 0, orders = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        auto const g = dense_graph(seed, 20);
        for (auto n : g.order()) {
            if (g.constant(n)) continue;
            auto const found = [&](rule_program const& rule) {
                std::size_t matches = 0;
                find_pattern_at(g, rule, n, [&](match const&) { ++matches; });
                return matches;
            };
            // Every operand is a relu that is no weight.
            if (g.is<ops::concat>(n)) {
                bool all = true;
                for (auto v : g.operands(n)) all = all && g.is<ops::relu>(v.node) && !g.constant(v);
                CHECK(found(relus_in_concat.program()) == all);
                concats += all;
                // The operands are a permutation of the results of one split.
                auto operands = g.operands(n);
                std::sort(operands.begin(), operands.end());
                bool permuted =
                    g.is<ops::split>(operands[0].node) && g.result_count(operands[0].node) == operands.size();
                for (std::uint32_t i = 0; permuted && i < operands.size(); ++i)
                    permuted = operands[i] == value_id{operands[0].node, i};
                CHECK(found(parts_in_any_order.program()) == permuted);
                orders += permuted;
            }
            // Every part has one reader, a relu.
            if (g.is<ops::split>(n)) {
                bool all = true;
                for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
                    all = all && g.use_count({n, port}) == 1;
                    g.for_each_use({n, port}, [&](use r) { all = all && g.is<ops::relu>(r.user); });
                }
                CHECK(found(relus_of_parts.program()) == all);
                splits += all;
            }
        }
    }
    CHECK(concats > 0);
    CHECK(splits > 0);
    CHECK(orders > 0);
}

TEST_CASE("patterns over all operands match up to 4096 of them") {
    for (std::size_t const count : {2u, 4096u, 4097u}) {
        graph g;
        graph_builder b{g};
        auto const p = b.input(dtype::f32, {2}, "p");
        b.outputs({b.add<ops::concat>({.axis = 0}, std::vector<value_id>(count, b.add<ops::relu>(p)))});
        CHECK(count_of(g, relus_in_concat.program()) == (count <= 4096 ? 1 : 0));
    }
}

constexpr auto sum_then_product =
    rule<"sum_then_product">(pattern::mul[c](pattern::add[d](x, y), z), build([](rewrite&) {}), provenance{"test"});
constexpr auto square = rule<"square">(pattern::mul[c](x, x), build([](rewrite&) {}), provenance{"test"});
constexpr auto difference = rule<"difference">(pattern::sub[c](x, y), build([](rewrite&) {}), provenance{"test"});

TEST_CASE("operands of commutative operators are tried in both orders, those of others in one") {
    graph g;
    graph_builder b{g};
    auto const p = b.input(dtype::f32, {2}, "p"), q = b.input(dtype::f32, {2}, "q");
    auto const sum = b.add<ops::add>(p, q), twice = b.add<ops::add>(p, p);
    b.outputs({b.add<ops::mul>(sum, p), b.add<ops::mul>(q, sum), b.add<ops::mul>(sum, sum), b.add<ops::mul>(twice, q),
               b.add<ops::sub>(p, q)});
    // sum*p and q*sum: the addends either way. sum*sum: either factor too. twice*q: one way only.
    CHECK(count_of(g, sum_then_product.program()) == 2 + 2 + 2 + 1);
    CHECK(count_of(g, square.program()) == 1);
    CHECK(count_of(g, difference.program()) == 1);
}

constexpr auto sums_of_parts = rule<"sums_of_parts">(every_part(pattern::split[c](x), pattern::add[u](part, y)),
                                                     build([](rewrite&) {}), provenance{"test"});
constexpr auto sums_in_concat = rule<"sums_in_concat">(concat[c](each(pattern::add[u](pattern::relu(x), y))),
                                                       build([](rewrite&) {}), provenance{"test"});

TEST_CASE("each part and each operand may have its own order") {
    graph g;
    graph_builder b{g};
    auto const p = b.input(dtype::f32, {2}, "p"), q = b.input(dtype::f32, {1}, "q");
    auto const parts = b.add<ops::split>({.axis = 0, .sizes = {1, 1}}, {p}, 2);
    b.outputs({b.add<ops::add>(parts, q), b.add<ops::add>(q, value_id{parts.node, 1})});
    CHECK(count_of(g, sums_of_parts.program()) == 1);
    graph h;
    graph_builder to{h};
    auto const v = to.input(dtype::f32, {2}, "v"), w = to.input(dtype::f32, {2}, "w");
    to.outputs({to.add<ops::concat>(
        {.axis = 0}, {to.add<ops::add>(to.add<ops::relu>(v), w), to.add<ops::add>(v, to.add<ops::relu>(w))})});
    CHECK(count_of(h, sums_in_concat.program()) == 1);
}

constexpr auto relu_and_tanh = rule<"relu_and_tanh">(sum_of(pattern::relu(x), pattern::tanh(y)),
                                                     pattern::sigmoid(pattern::sub(x, y)), provenance{"test"});

// Whether the two terms are found in a sum, and the graph with them replaced.
template <class Sum>
std::string replaced_in(Sum&& sum) {
    graph g;
    graph_builder b{g};
    auto const in = [&](shape dims, std::string_view name) { return b.input(dtype::f32, std::move(dims), name); };
    auto const p = b.add<ops::relu>(in({2, 3}, "p")), q = b.add<ops::tanh>(in({2, 3}, "q"));
    g.set_outputs(sum(b, p, q, in));
    std::string out = "no match";
    for (auto n : g.order()) {
        if (n == g.return_node()) continue;
        find_matches_at(g, relu_and_tanh.program(), n, [&](match const& m) {
            CHECK(out == "no match"); // once
            auto copy = g;
            REQUIRE(prepare(m).apply_to(copy, shared_interior::refuse));
            CHECK(copy.type(copy.output(0)) == g.type(g.output(0)));
            canonicalize(copy);
            out = small_graphs::operators_of(copy);
        });
    }
    return out;
}

TEST_CASE("two terms of a sum match wherever they stand in it, and the others are added to what replaces them") {
    using values = std::vector<value_id>;
    auto const sum = [](graph_builder& b, value_id p, value_id q) { return b.add<ops::add>(p, q); };
    auto const one = std::string{"Sub Sigmoid Add"};
    CHECK(replaced_in([&](auto& b, value_id p, value_id q, auto&&) { return values{sum(b, q, p)}; }) == "Sub Sigmoid");
    CHECK(replaced_in([&](auto& b, value_id p, value_id q, auto&& in) {
              return values{sum(b, sum(b, p, in({2, 3}, "r")), q)};
          }) == one);
    CHECK(replaced_in([&](auto& b, value_id p, value_id q, auto&& in) {
              return values{sum(b, q, sum(b, in({2, 3}, "r"), p))};
          }) == one);
    CHECK(replaced_in([&](auto& b, value_id p, value_id q, auto&& in) {
              return values{sum(b, sum(b, sum(b, in({2, 3}, "r"), p), in({2, 3}, "s")), sum(b, q, in({2, 3}, "t")))};
          }) == one + " Add Add");
    // In the midst of a longer sum, which stays as it is.
    CHECK(replaced_in([&](auto& b, value_id p, value_id q, auto&& in) {
              return values{sum(b, sum(b, sum(b, p, in({2, 3}, "r")), q), in({2, 3}, "s"))};
          }) == one + " Add");
    // Terms that are broadcast are terms too.
    CHECK(replaced_in([&](auto& b, value_id p, value_id q, auto&& in) {
              return values{sum(b, sum(b, p, in({3}, "r")), q)};
          }) == one);
    CHECK(replaced_in([&](auto& b, value_id p, value_id, auto&& in) {
              return values{sum(b, sum(b, p, in({2, 3}, "r")), b.template add<ops::tanh>(in({1, 3}, "s")))};
          }) == one);
    // An inner sum that is smaller than the whole, that is read elsewhere, or that is a result is one term.
    CHECK(replaced_in([&](auto& b, value_id p, value_id q, auto&& in) {
              return values{sum(b, sum(b, p, in({2, 3}, "r")), sum(b, q, in({4, 2, 3}, "s")))};
          }) == "no match");
    CHECK(replaced_in([&](auto& b, value_id p, value_id q, auto&& in) {
              auto const inner = sum(b, p, in({2, 3}, "r"));
              return values{sum(b, inner, q), b.template add<ops::sigmoid>(inner)};
          }) == "no match");
    CHECK(replaced_in([&](auto& b, value_id p, value_id q, auto&& in) {
              auto const inner = sum(b, p, in({2, 3}, "r"));
              return values{sum(b, inner, q), inner};
          }) == "no match");
    CHECK(replaced_in([&](auto& b, value_id p, value_id q, auto&& in) {
              return values{sum(b, b.template add<ops::sub>(p, in({2, 3}, "r")), q)};
          }) == "no match");
}

TEST_CASE("each two terms of a long sum are found once, at the sum in which they meet") {
    constexpr auto two = rule<"two">(sum_of(pattern::relu[c](x), pattern::relu[d](y)), build([](rewrite&) {}),
                                     prefer(in_order(c, d)), provenance{"test"});
    for (std::size_t terms : {2u, 3u, 7u, 20u}) {
        graph g;
        graph_builder b{g};
        std::vector<value_id> parts;
        for (std::size_t i = 0; i < terms; ++i)
            parts.push_back(b.add<ops::relu>(b.input(dtype::f32, {2}, fmt::format("x{}", i))));
        random_stream r{terms};
        while (parts.size() > 1) { // any tree
            auto const at = r.below(parts.size() - 1);
            parts[at] = b.add<ops::add>(parts[at], parts[at + 1]);
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        }
        b.outputs({parts[0]});
        std::vector<std::pair<node_id, node_id>> pairs;
        for (auto n : g.order())
            if (n != g.return_node())
                find_matches_at(g, two.program(), n, [&](match const& m) { pairs.emplace_back(m.node(c), m.node(d)); });
        std::sort(pairs.begin(), pairs.end());
        CHECK(std::unique(pairs.begin(), pairs.end()) == pairs.end());
        CHECK(pairs.size() == terms * (terms - 1) / 2);
    }
}

constexpr auto parts_and_reader = rule<"parts_and_reader">(
    roots(concat[c](each(x)), context(pattern::relu[d](some(x)))), build([](rewrite&) {}), provenance{"test"});

TEST_CASE("a further root may read any one of several operands") {
    graph g;
    graph_builder b{g};
    auto const p = b.input(dtype::f32, {2}, "p"), q = b.input(dtype::f32, {2}, "q"),
               other = b.input(dtype::f32, {2}, "r");
    auto const first = b.add<ops::relu>(p), second = b.add<ops::relu>(q);
    b.outputs({b.add<ops::concat>({.axis = 0}, {p, q, p}), first, second, b.add<ops::relu>(other)});
    std::vector<node_id> readers;
    find_pattern_at(g, parts_and_reader.program(), g.output(0).node,
                    [&](match const& m) { readers.push_back(m.node(d)); });
    CHECK(readers == std::vector{first.node, second.node});
    CHECK(count_of(g, parts_and_reader.program()) == 2);
}

constexpr auto siblings =
    rule<"siblings">(roots(pattern::relu[c](x), pattern::tanh[d](x)), build([](rewrite&) {}), provenance{"test"});
constexpr auto twins =
    rule<"twins">(roots(pattern::relu[c](x), pattern::relu[d](x)), build([](rewrite&) {}), provenance{"test"});
constexpr auto beside = rule<"beside">(roots(pattern::relu[c](x), context(pattern::tanh[d](x))), build([](rewrite&) {}),
                                       provenance{"test"});

TEST_CASE("several roots are readers of one value, never one node twice") {
    graph g;
    graph_builder b{g};
    auto const p = b.input(dtype::f32, {2}, "p");
    b.outputs({b.add<ops::relu>(p), b.add<ops::relu>(p), b.add<ops::tanh>(p), b.add<ops::sigmoid>(p)});
    CHECK(count_of(g, siblings.program()) == 2);
    CHECK(count_of(g, twins.program()) == 2); // one pair, each of the two as the anchor
    find_pattern_at(g, siblings.program(), g.output(0).node, [&](match const& m) {
        CHECK(m.roots().size() == 2);
        CHECK(m.covered().size() == 2);
    });
    // A root that stays is neither replaced nor covered.
    find_pattern_at(g, beside.program(), g.output(0).node, [&](match const& m) {
        CHECK(m.roots().size() == 1);
        CHECK(m.covered().size() == 1);
        CHECK(m.node(d) == g.output(2).node);
    });
    CHECK(count_of(g, beside.program()) == 2);
}

constexpr auto cousins = rule<"cousins">(roots(pattern::sigmoid(pattern::relu(x)), pattern::sigmoid(pattern::tanh(x))),
                                         build([](rewrite&) {}), provenance{"test"});

TEST_CASE("several roots may read one value by way of others") {
    graph g;
    graph_builder to{g};
    auto const p = to.input(dtype::f32, {2}, "p"), q = to.input(dtype::f32, {2}, "q");
    auto const over_relu = [&](value_id of) { return to.add<ops::sigmoid>(to.add<ops::relu>(of)); };
    auto const over_tanh = [&](value_id of) { return to.add<ops::sigmoid>(to.add<ops::tanh>(of)); };
    auto const anchor = over_relu(p), one = over_tanh(p), other = over_tanh(p), stranger = over_tanh(q);
    g.set_outputs(std::vector{anchor, one, other, stranger, to.add<ops::tanh>(p)});
    std::vector<node_id> second;
    find_matches_at(g, cousins.program(), anchor.node, [&](match const& m) {
        REQUIRE(m.roots().size() == 2);
        CHECK(m.roots()[0] == anchor);
        second.push_back(m.roots()[1].node);
    });
    CHECK(second == std::vector{one.node, other.node});
}

TEST_CASE("weights and arithmetic on weights are variables to a pattern, never its operators") {
    graph g;
    graph_builder b{g};
    auto const p = b.input(dtype::f32, {2}, "p");
    auto const w = b.constant(small_graphs::random_tensor({2}, 1));
    auto const square_of_w = b.add<ops::mul>(w, w);
    b.outputs({b.add<ops::sub>(p, square_of_w)});
    CHECK(count_of(g, square.program()) == 0);
    CHECK(count_of(g, difference.program()) == 1);
}

TEST_CASE("an index gives all matches of all rules, in the order of the nodes, with all conditions met") {
    auto const rules = standard_rules();
    rule_index const index{rules};
    CHECK(index.rules().size() == rules.size());
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        CAPTURE(seed);
        auto const g = dense_graph(seed, 25);
        std::vector<std::string> one_by_one, together;
        for (auto n : g.order())
            for (auto const& rule : rules)
                find_matches_at(g, rule, n, [&](match const& m) {
                    one_by_one.push_back(every_match::told(m) + std::string{rule.name});
                });
        find_matches(g, index, [&](match const& m) {
            together.push_back(every_match::told(m) + std::string{m.rule().name});
            CHECK(first_failure(m) == nullptr);
        });
        CHECK(one_by_one == together);
    }
}

// Who reads a value, in order.
std::vector<std::pair<std::uint32_t, std::uint32_t>> readers_of(any_graph const& g, node_id n) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
    for (std::uint32_t port = 0; port < g.result_count(n); ++port)
        g.for_each_use({n, port}, [&](use reader) { out.emplace_back(reader.user.index, reader.operand); });
    std::sort(out.begin(), out.end());
    return out;
}
// Nodes of either graph that are not in both, or have other operands or readers in the other.
std::vector<node_id> different_nodes(any_graph const& a, any_graph const& b) {
    std::vector<node_id> out;
    for (std::uint32_t i = 0; i < std::max(a.capacity(), b.capacity()); ++i) {
        node_id const n{i};
        auto const in_a = i < a.capacity() && a.live(n), in_b = i < b.capacity() && b.live(n);
        if (!in_a && !in_b) continue;
        if (in_a != in_b || a.op(n).id != b.op(n).id || !std::ranges::equal(a.operands(n), b.operands(n)) ||
            readers_of(a, n) != readers_of(b, n))
            out.push_back(n);
    }
    return out;
}

TEST_CASE("where no node that decided has changed, the same matches") {
    auto const rules = standard_rules();
    rule_index const index{rules};
    auto const all_at = [&](any_graph const& g, node_id n, node_signature* looked_at) {
        std::vector<std::string> out;
        for (auto const* rule : index.anchored_at(g.op(n)))
            find_pattern_at(
                g, *rule, n, [&](match const& m) { out.push_back(every_match::told(m) + std::string{rule->name}); },
                looked_at);
        return out;
    };
    std::size_t kept = 0, redone = 0;
    for (std::uint64_t seed = 0; seed < 90; ++seed) {
        any_graph const g = seed % 3 == 0   ? any_graph{random_graph::make(seed, 40)}
                            : seed % 3 == 1 ? any_graph{dense_graph(seed, 40)}
                                            : any_graph{small_graphs::sums_graph(seed, 10)};
        std::vector<match> moves;
        find_matches(g, index, [&](match const& m) { moves.push_back(m); });
        for (auto const& m : moves) {
            auto changed = g;
            auto const patch = prepare(m);
            if (patch.failed() || !patch.apply_to(changed, shared_interior::refuse)) continue;
            node_signature differences;
            for (auto n : different_nodes(g, changed)) differences.add(n);
            for (auto n : g.order()) {
                if (n == g.return_node() || !changed.live(n)) continue;
                node_signature looked_at;
                auto const before = all_at(g, n, &looked_at);
                if (looked_at.meets(differences)) {
                    ++redone;
                    continue;
                }
                ++kept;
                CHECK(all_at(changed, n, nullptr) == before);
            }
        }
    }
    INFO(kept << " kept, " << redone << " not");
    CHECK(kept > redone);
}

constexpr auto any_unary = rule<"any_unary">(unary[u](x), x, provenance{"test"});
constexpr auto some_rules = rule_list(siblings, any_unary, twins, square);

TEST_CASE("rules anchored at an operator come in the order given, those for a whole category among them") {
    rule_index const index{some_rules};
    auto const at = [&](auto op) {
        std::vector<std::string_view> names;
        for (auto const* r : index.anchored_at(op_info::of<decltype(op)>())) names.push_back(r->name);
        return names;
    };
    using names = std::vector<std::string_view>;
    CHECK(at(ops::relu{}) == names{"siblings", "any_unary", "twins"});
    CHECK(at(ops::mul{}) == names{"any_unary", "square"});
    CHECK(at(ops::sigmoid{}) == names{"any_unary"});
    rule_index const none{{}};
    CHECK(none.anchored_at(op_info::of<ops::relu>()).empty());
}

constexpr auto choosy = rule<"choosy">(
    pattern::relu(x), x, where(condition("x is a matrix", [](match const& m) { return m.type(x).rank() == 2; })),
    prefer(condition("x has rows", [](match const& m) { return m.type(x).dims[0] == dim{3}; }),
           condition("x has columns", [](match const& m) { return m.type(x).dims[1] == dim{4}; })),
    provenance{"test"});

TEST_CASE("why a rule does not fire is its first condition that fails, soundness first") {
    auto const why = [](ints const& dims) -> std::string_view {
        graph g;
        graph_builder b{g};
        shape s;
        for (auto n : dims) s.push_back(dim{n});
        b.outputs({b.add<ops::relu>(b.input(dtype::f32, s, "x"))});
        std::string_view out = "no match";
        auto const anchor = g.output(0).node;
        find_pattern_at(g, choosy.program(), anchor, [&](match const& m) {
            auto const* failed = first_failure(m);
            out = failed ? failed->sentence : "fires";
            std::size_t fired = 0;
            find_matches_at(g, choosy.program(), anchor, [&](match const&) { ++fired; });
            CHECK(fired == (failed ? 0 : 1));
        });
        return out;
    };
    CHECK(why({5}) == "x is a matrix");
    CHECK(why({5, 5}) == "x has rows");
    CHECK(why({3, 5}) == "x has columns");
    CHECK(why({3, 4}) == "fires");
}

} // namespace matcher_test
