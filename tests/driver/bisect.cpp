#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/driver/bisect.hpp>
#include <gsub/passes/eliminate/dead_code_elimination.hpp>
#include <gsub/passes/fuse/defuse_ops.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>
#include <gsub/passes/manager/manager.hpp>

namespace bisect_test {

using namespace gsub;

// Replaces every sigmoid by a tanh and counts them, one place each.
struct harden {
    static constexpr pass_facts facts{"harden", exactness::bit_exact};
    result<pass_outcome> operator()(any_graph& g, pass_context& cx) const {
        pass_outcome outcome;
        std::vector<node_id> const order(g.order().begin(), g.order().end());
        for (auto n : order) {
            if (!g.is<ops::sigmoid>(n) || !cx.should_rewrite()) continue;
            // Only the sigmoid behind a relu becomes something else.
            auto const right = !g.is<ops::relu>(g.operand(n, 0).node);
            auto const x = g.operand(n, 0);
            g.replace_uses({n, 0}, right ? g.add<ops::sigmoid>(x) : g.add<ops::tanh>(x));
            g.erase_unused(n);
            outcome.changed = true, ++outcome.matches;
        }
        if (!g.sort()) return error{error_code::internal, "cycle"};
        return outcome;
    }
};

// Takes the errors of others back.
struct heal {
    gsub::module original;
    static constexpr pass_facts facts{"heal", exactness::bit_exact};
    result<pass_outcome> operator()(gsub::module& m, pass_context&) const {
        m = original;
        return pass_outcome{.changed = true};
    }
};

// Fails where there is a softmax.
struct afraid {
    static constexpr pass_facts facts{"afraid", exactness::bit_exact};
    result<pass_outcome> operator()(any_graph& g, pass_context&) const {
        for (auto n : g.order())
            if (g.is<ops::softmax>(n)) return error{error_code::unsupported, "softmax"};
        return pass_outcome{};
    }
};

// Chains of sigmoids, near the end of one a sigmoid behind a relu and a softmax.
gsub::module chains(int length) {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 3}, "x");
    auto u = x, v = b.add<ops::tanh>(x);
    for (int i = 0; i < length; ++i) {
        u = b.add<ops::sigmoid>(u);
        v = b.add<ops::sigmoid>(v);
        if (i == length - 2) v = b.add<ops::sigmoid>(b.add<ops::relu>(b.add<ops::softmax>(v)));
    }
    b.outputs({b.add<ops::add>(u, v), v}, {"sum", "v"});
    gsub::module m;
    m.add("main", std::move(g));
    return m;
}

struct search {
    gsub::module m = chains(9);
    pass_manager known = passes::standard_passes().add(harden{}).add(afraid{}).add(heal{m});
    pass_context cx{};
    numbers_differ differ{&cx};
    bisect_report run(std::string_view list, bisect_options const& options = {}) const {
        return bisect(m, known, known.parse(list).value(), cx, differ, options).value();
    }
};

TEST_CASE("a list that does not fail has no culprit") {
    search const s;
    CHECK_FALSE(s.run("dce, fuse-ops, defuse-ops").found);
    CHECK_FALSE(s.run("none").found);
}

TEST_CASE("pass, place and the smallest model are found, wherever the culprit stands") {
    search const s;
    for (auto list : {"harden", "dce, harden", "harden, dce, dce, dce", "dce, dce, harden, dce"}) {
        auto const r = s.run(list);
        REQUIRE(r.found);
        CHECK(r.pass == "harden");
        CHECK(s.known.parse(list).value()[r.position].name() == "harden");
        CHECK(r.rewrites == 19);
        CHECK(r.rewrite > 0);
        CHECK(r.nodes == 2);
        CHECK_FALSE(r.exhausted);
        graph smallest;
        graph_builder b{smallest};
        b.outputs({b.add<ops::sigmoid>(b.add<ops::relu>(b.input(dtype::f32, {2, 3}, "x")))});
        CHECK(r.before.find("main")->body == smallest);
        CHECK(s.differ(r.before, r.after));
    }
}

TEST_CASE("a failure that a later pass takes back is none, one that is there at the end is found") {
    search const s;
    CHECK_FALSE(s.run("harden, heal").found);
    auto const r = s.run("harden, heal, dce, harden, dce");
    REQUIRE(r.found);
    CHECK(r.pass == "harden");
}

TEST_CASE("an error of a pass is a failure, and is in the report") {
    search const s;
    auto const r = s.run("dce, afraid, harden");
    REQUIRE(r.found);
    CHECK(r.pass == "afraid");
    CHECK(r.position == 1);
    CHECK(r.nodes == 1);
    CHECK(r.failure.find("not supported: softmax") != std::string::npos);
    CHECK(s.run("dce, harden, afraid").pass == "harden");
}

TEST_CASE("a bisection that may not try is told to be unfinished, and what it has fails all the same") {
    search const s;
    auto const r = s.run("harden", {.max_tries = 3});
    CHECK(r.exhausted);
    CHECK(r.nodes > 2);
    CHECK(s.differ(r.before, r.after));
}

TEST_CASE("every result of a bisection of random graphs fails, and no single operator can be left out") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        graph g;
        random_graph::generator make{g, seed};
        make.grow(20);
        make.finish();
        search s;
        s.m = gsub::module{};
        s.m.add("main", g);
        auto const has_relu = [](gsub::module const&, gsub::module const& after) {
            return histogram_of(after).any_of<ops::relu>();
        };
        auto const list = s.known.parse("dce").value();
        auto const r = bisect(s.m, s.known, list, s.cx, has_relu).value();
        CHECK(r.found == has_relu(s.m, s.m));
        if (r.found) CHECK(r.nodes == 1);
    }
}

} // namespace bisect_test
