#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/passes/pass.hpp>

#include <string>
#include <utility>
#include <vector>

namespace pass_test {

using namespace gsub;

// Replaces one relu by a tanh: facts nested in the pass.
struct soften {
    static constexpr auto facts =
        pass_facts("soften", exactness::approximate, {},
                   {.level = 4, .classes = {"fast", "activation"}, .required = {"fold-constant"}});
    result<pass_outcome> operator()(any_graph& g, pass_context&) const {
        pass_outcome outcome;
        for (auto n : g.order())
            if (g.is<ops::relu>(n)) {
                auto const y = g.add<ops::tanh>(g.operand(n, 0));
                g.replace_uses({n, 0}, y);
                g.erase_unused(n);
                outcome.changed = true, ++outcome.matches;
                break;
            } else if (g.is<ops::sigmoid>(n)) {
                outcome.skip("already soft");
            }
        return outcome;
    }
};

// Somebody else's type, with the facts beside it.
struct entry_counter {
    std::uint64_t* calls;
    result<pass_outcome> operator()(module& m, pass_context& cx) const {
        *calls += cx.seed;
        pass_outcome outcome;
        outcome.matches = m.functions().size();
        return outcome;
    }
};

struct failing {
    static constexpr pass_facts facts{"failing", exactness::bit_exact};
    bool thrown = false;
    result<pass_outcome> operator()(any_graph&, pass_context&) const {
        error const e{error_code::unsupported, "not today"};
        if (thrown) throw e;
        return e;
    }
};

// Sees kernels too.
struct inner_counter {
    static constexpr auto facts = pass_facts("inner-counter", exactness::bit_exact, {}, {.enters_primitive = true});
    result<pass_outcome> operator()(any_graph&, pass_context&) const {
        pass_outcome outcome;
        outcome.matches = 1;
        return outcome;
    }
};

} // namespace pass_test

template <>
struct gsub::pass_traits<pass_test::entry_counter> {
    static constexpr pass_facts facts{"entry-counter", gsub::exactness::bit_exact};
};

namespace pass_test {

static_assert(pass<soften> && function_pass<soften> && !module_pass<soften>);
static_assert(pass<entry_counter> && module_pass<entry_counter> && !function_pass<entry_counter>);
static_assert(!pass<int> && !pass<pass_outcome>);
static_assert(pass_info::of<soften>().name == "soften" && pass_info::of<soften>().level == 4);
static_assert(pass_info::of<soften>().kind == pass_kind::function && pass_info::of<soften>().classes.size() == 2);
static_assert(pass_info::of<soften>().required.front() == "fold-constant");
static_assert(pass_info::of<entry_counter>().kind == pass_kind::module && pass_info::of<entry_counter>().level == 0);
static_assert(to_string(exactness::reassociating) == "reassociating");

template <class Op>
any_graph of() {
    graph g;
    graph_builder b{g};
    b.outputs({b.add<Op>(b.input(dtype::f32, {2, 3}, "x"))}, {"y"});
    return g;
}

gsub::module three_functions() {
    gsub::module m;
    m.add("main", of<ops::relu>());
    m.add("kernel", of<ops::relu>(), {.primitive = true});
    m.add("foreign", of<ops::relu>(), {.compiler = "somebody"});
    m.add("helper", of<ops::sigmoid>());
    return m;
}

TEST_CASE("a pass on functions runs on each that is not opaque to it, and the outcome is the sum") {
    auto m = three_functions();
    auto const outcome = run_pass(soften{}, m).value();
    CHECK(outcome.changed);
    CHECK(outcome.matches == 1);
    CHECK(outcome.skips("opaque function") == 2);
    CHECK(outcome.skips("already soft") == 1);
    CHECK(outcome.skips("never said") == 0);
    CHECK(m.find("main")->body == of<ops::tanh>());
    CHECK(m.find("kernel")->body == of<ops::relu>());
    CHECK(m.find("foreign")->body == of<ops::relu>());
    CHECK_FALSE(run_pass(soften{}, m).value().changed);
}

TEST_CASE("a pass may enter kernels, never functions whose code somebody else generates") {
    auto m = three_functions();
    auto const outcome = run_pass(inner_counter{}, m).value();
    CHECK(outcome.matches == 3);
    CHECK(outcome.skips("opaque function") == 1);
}

TEST_CASE("a pass on modules sees the whole module and the caller's context once") {
    auto m = three_functions();
    std::uint64_t calls = 0;
    pass_context cx;
    cx.seed = 7;
    CHECK(run_pass(entry_counter{&calls}, m, cx).value().matches == 4);
    CHECK(calls == 7);
}

TEST_CASE("errors of a pass, returned or thrown, name pass and function") {
    for (bool const thrown : {false, true}) {
        auto m = three_functions();
        auto const r = run_pass(failing{thrown}, m);
        REQUIRE_FALSE(r);
        CHECK(r.error().code() == error_code::unsupported);
        CHECK(r.error().message() == "pass failing: function \"main\": not supported: not today");
    }
}

TEST_CASE("a pass that is asked to stop ends with an error and changes nothing") {
    auto m = three_functions();
    auto const before = m.hash().value();
    std::stop_source source;
    source.request_stop();
    pass_context cx;
    cx.stop = source.get_token();
    auto const r = run_pass(soften{}, m, cx);
    REQUIRE_FALSE(r);
    CHECK(r.error().message() == "pass soften: environment: stopped by the caller");
    CHECK(r.error().id() == errors::stopped);
    CHECK(m.hash().value() == before);
}

TEST_CASE("the observer hears of the beginning and the end of a pass by its name") {
    struct listener : observer {
        std::vector<std::string> heard;
        void on_progress(progress const& p) override {
            heard.push_back(fmt::format("{} {} {}/{}", p.phase, p.detail, p.done, p.total));
        }
    } heard;
    auto m = three_functions();
    pass_context cx;
    cx.observe = &heard;
    REQUIRE(run_pass(soften{}, m, cx));
    CHECK(heard.heard == std::vector<std::string>{"pass soften 0/1", "pass soften 1/1"});
}

TEST_CASE("outcomes add up by reason, in order of first mention") {
    pass_outcome a, b;
    a.skip("shape"), a.skip("type", 3);
    b.skip("use"), b.skip("type", 2), b.skip("none", 0);
    b.matches = 4, b.changed = true;
    a += b;
    CHECK(a.changed);
    CHECK(a.matches == 4);
    CHECK(a.skipped == std::vector<skip_count>{{"shape", 1}, {"type", 5}, {"use", 1}});
}

} // namespace pass_test
