#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/passes/eliminate/dead_code_elimination.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>
#include <gsub/passes/manager/instrumentation.hpp>
#include <gsub/passes/pipeline.hpp>

#include <string>
#include <vector>

namespace pipeline_test {

using namespace gsub;

// Takes one relu off the end of a chain.
struct shorten {
    static constexpr auto facts = pass_facts("shorten", exactness::approximate, {},
                                             {.required = {"dead-code-elimination", "tidy"}, .tolerance = 0.25});
    result<pass_outcome> operator()(any_graph& g, pass_context&) const {
        pass_outcome outcome;
        auto const last = g.output(0).node;
        if (!g.is<ops::relu>(last)) return outcome;
        g.replace_uses({last, 0}, g.operand(last, 0));
        g.erase_unused(last);
        outcome.changed = true, outcome.matches = 1;
        return outcome;
    }
};

// Puts the one operator where the other was: undone by itself.
struct flip {
    static constexpr pass_facts facts{"flip", exactness::bit_exact};
    result<pass_outcome> operator()(any_graph& g, pass_context&) const {
        auto const last = g.output(0).node;
        auto const x = g.operand(last, 0);
        auto const other = g.is<ops::relu>(last) ? g.add<ops::tanh>(x) : g.add<ops::relu>(x);
        g.replace_uses({last, 0}, other);
        g.erase_unused(last);
        return pass_outcome{.changed = true};
    }
};

struct failing {
    static constexpr pass_facts facts{"failing", exactness::reassociating};
    result<pass_outcome> operator()(any_graph&, pass_context&) const {
        return error{error_code::unsupported, "not today"};
    }
};

gsub::module chain(int length) {
    graph g;
    graph_builder b{g};
    auto v = b.input(dtype::f32, {2}, "x");
    for (int i = 0; i < length; ++i) v = b.add<ops::relu>(v);
    b.outputs({v}, {"y"});
    gsub::module m;
    m.add("main", std::move(g));
    return m;
}

constexpr auto has_relu = [](op_histogram const& ops) { return ops.any_of<ops::relu>(); };
constexpr pipeline shortened{passes::dead_code_elimination{}, fixpoint{pipeline{shorten{}}, {.max_iterations = 100}},
                             when{has_relu, passes::fuse_ops{.max_ops = 16}}};

static_assert(pass<std::remove_const_t<decltype(shortened)>>);
static_assert(pass<fixpoint<shorten>> && pass<when<bool (*)(module const&), shorten>>);
static_assert(pass_info::of<std::remove_const_t<decltype(shortened)>>().composite);
static_assert(pass_info::of<pipeline<shorten, flip>>().exact == exactness::approximate);
static_assert(pass_info::of<pipeline<flip, failing>>().exact == exactness::reassociating);
static_assert(pass_info::of<fixpoint<shorten>>().tolerance == 0.25);
static_assert(pass_info::of<pipeline<passes::dead_code_elimination, shorten>>().required.size() == 1);
static_assert(pass_info::of<pipeline<passes::dead_code_elimination, shorten>>().required[0] == "tidy");
static_assert(pass_info::of<pipeline<>>().exact == exactness::bit_exact);

TEST_CASE("a pipeline does what its stages do one by one, and its outcome is the sum") {
    auto whole = chain(5), by_hand = chain(5);
    auto const outcome = run_pass(pipeline{shorten{}, flip{}, shorten{}}, whole).value();
    pass_outcome sum;
    sum += run_pass(shorten{}, by_hand).value();
    sum += run_pass(flip{}, by_hand).value();
    sum += run_pass(shorten{}, by_hand).value();
    CHECK(outcome == sum);
    CHECK(fingerprint(whole) == fingerprint(by_hand));
    CHECK_FALSE(run_pass(pipeline<>{}, whole).value().changed);
}

TEST_CASE("how stages are put into pipelines makes no difference") {
    auto a = chain(6), b = a, c = a;
    REQUIRE(run_pass(pipeline{shorten{}, shorten{}, flip{}}, a));
    REQUIRE(run_pass(pipeline{pipeline{shorten{}, shorten{}}, flip{}}, b));
    REQUIRE(run_pass(pipeline{shorten{}, pipeline{shorten{}, flip{}}}, c));
    CHECK(fingerprint(a) == fingerprint(b));
    CHECK(fingerprint(b) == fingerprint(c));
}

TEST_CASE("a fixpoint ends where nothing changes, and a second one finds nothing") {
    auto m = chain(20);
    auto const outcome = run_pass(fixpoint{shorten{}, {.max_iterations = 100}}, m).value();
    CHECK(outcome.matches == 20);
    CHECK(outcome.skipped.empty());
    CHECK_FALSE(run_pass(fixpoint{shorten{}}, m).value().changed);
}

TEST_CASE("a fixpoint that reaches its bound, or goes round, says so to the observer too") {
    struct listener : observer {
        std::vector<std::string> notes;
        void on_note(std::string_view text) override { notes.emplace_back(text); }
    } heard;
    pass_context cx;
    cx.observe = &heard;
    auto m = chain(20);
    auto const outcome = run_pass(fixpoint{shorten{}, {.max_iterations = 7}}, m, cx).value();
    CHECK(outcome.matches == 7);
    CHECK(outcome.skips("still changing after 7 iterations") == 1);
    CHECK(run_pass(fixpoint{flip{}}, m, cx).value().skips("the passes undo each other") == 1);
    CHECK(heard.notes == std::vector<std::string>{"fixpoint: still changing after 7 iterations",
                                                  "fixpoint: the passes undo each other"});
}

TEST_CASE("a condition may look at the module, at its operators, or at the context") {
    auto m = chain(3);
    auto const of_module = [](module const& on) { return on.functions().size() == 1; };
    auto const of_context = [](module const&, pass_context const& cx) { return cx.seed == 7; };
    CHECK(run_pass(when{of_module, shorten{}}, m).value().changed);
    CHECK(run_pass(when{has_relu, shorten{}}, m).value().changed);
    CHECK(run_pass(when{of_context, shorten{}}, m).value().skips("the condition does not hold") == 1);
    pass_context cx;
    cx.seed = 7;
    CHECK(run_pass(when{of_context, shorten{}}, m, cx).value().changed);
    CHECK_FALSE(run_pass(when{has_relu, shorten{}}, m).value().changed);
}

TEST_CASE("an error ends a pipeline, names the way to the stage, and under an instrument leaves no trace") {
    auto m = chain(3);
    auto const before = fingerprint(m);
    checking_instrument instrument{{}};
    pass_context cx;
    cx.instrument = &instrument;
    auto const r = run_pass(pipeline{shorten{}, fixpoint{failing{}}, shorten{}}, m, cx);
    REQUIRE_FALSE(r);
    CHECK(r.error().message() ==
          "pass pipeline: pass fixpoint: pass failing: function \"main\": not supported: not today");
    CHECK(fingerprint(m) == before);
    CHECK(instrument.records().size() == 4);
}

TEST_CASE("the stages of a pipeline have records of their own, deeper than the pipeline's") {
    auto m = chain(3);
    checking_instrument instrument{{}};
    pass_context cx;
    cx.instrument = &instrument;
    REQUIRE(run_pass(shortened, m, cx));
    std::vector<std::string> told;
    for (auto const& r : instrument.records())
        told.push_back(fmt::format("{} {}{}", r.depth, r.pass, r.not_run.empty() ? "" : " not run"));
    CHECK(told == std::vector<std::string>{"0 pipeline", "1 dead-code-elimination not run", "1 fixpoint", "2 pipeline",
                                           "3 shorten", "2 pipeline", "3 shorten", "2 pipeline", "3 shorten",
                                           "2 pipeline", "3 shorten", "1 when"});
}

} // namespace pipeline_test
