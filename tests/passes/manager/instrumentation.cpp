#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/core/format.hpp>
#include <gsub/passes/fuse/defuse_ops.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>
#include <gsub/passes/manager/instrumentation.hpp>

#include <stdexcept>

namespace instrumentation_test {

using namespace gsub;

// What a pass may do to a graph, chosen at run time.
enum class deed { nothing, claim, scale, nudge, break_types, throw_error, throw_other, lose_entry };

template <exactness Exact, bool KeepsMeaning = true>
struct doer {
    deed what;
    static constexpr auto facts =
        pass_facts("doer", Exact, {}, {.tolerance = 1e-2, .preserves_semantics = KeepsMeaning});

    result<pass_outcome> operator()(module& m, pass_context&) const {
        auto& g = m.find("main")->body;
        auto const times = [&](float factor) {
            auto t = tensor::zeros(dtype::f32, ints{});
            t.mutable_data<float>()[0] = factor;
            auto const old = g.output(0);
            std::vector<value_id> outputs{g.add<ops::mul>(old, g.add_constant(t))};
            g.set_outputs(outputs);
        };
        switch (what) {
        case deed::nothing:
            return pass_outcome{};
        case deed::claim:
            break;
        case deed::scale:
            times(3);
            break;
        case deed::nudge:
            times(1.001f);
            break;
        case deed::break_types: {
            auto const old = g.output(0);
            type_id const wrong{tensor_type{dtype::i64, {7}}};
            auto const n = g.append_node(row_of<ops::relu>(standard_ops{}), {}, 0, {&old, 1}, {&wrong, 1});
            std::vector<value_id> outputs{{n, 0}};
            g.set_outputs(outputs);
            break;
        }
        case deed::throw_error:
            times(2);
            throw error{error_code::unsupported, "not today"};
        case deed::throw_other:
            times(2);
            throw std::runtime_error{"oops"};
        case deed::lose_entry:
            m.set_entry_points({"elsewhere"});
            break;
        }
        return pass_outcome{.changed = true};
    }
};
using exact_doer = doer<exactness::bit_exact>;
using near_doer = doer<exactness::approximate>;

struct wants_conv {
    static constexpr pass_facts facts{"wants-conv", exactness::bit_exact};
    static bool may_apply(op_histogram const& ops) { return ops.any_of<ops::conv>(); }
    result<pass_outcome> operator()(any_graph&, pass_context&) const {
        return error{error_code::internal, "should not have been called"};
    }
};

gsub::module relu_module() {
    graph g;
    graph_builder b{g};
    b.outputs({b.add<ops::relu>(b.input(dtype::f32, {2, 3}, "x"))}, {"y"});
    gsub::module m;
    m.add("main", std::move(g));
    return m;
}

struct stage {
    gsub::module m = relu_module();
    hash128 const before = fingerprint(m);
    pass_context cx{};
    numeric_verifier numbers{cx};
    checking_instrument instrument;

    explicit stage(bool verify = false, instrument_options options = {})
        : instrument([&] {
              if (verify) options.verify = numbers;
              return options;
          }()) {
        cx.instrument = &instrument;
    }
    template <class P>
    result<pass_outcome> run(P const& p) {
        return run_pass(p, m, cx);
    }
    pass_record const& last() const { return instrument.records().back(); }
};

TEST_CASE("whether a pass changed something is what hashes say") {
    stage s;
    REQUIRE(s.run(exact_doer{deed::nothing}));
    CHECK_FALSE(s.last().changed);
    REQUIRE(s.run(exact_doer{deed::claim}));
    CHECK(s.last().outcome.changed);
    CHECK_FALSE(s.last().changed);
    REQUIRE(s.run(exact_doer{deed::scale}));
    CHECK(s.last().changed);
    CHECK(s.last().hash == fingerprint(s.m));
    CHECK(s.last().nodes_after == s.last().nodes_before + 2);
    CHECK(s.last().weight_bytes_after == s.last().weight_bytes_before + 4);
}

TEST_CASE("whatever goes wrong, the module is as before, and the error names the pass") {
    for (auto what : {deed::break_types, deed::throw_error, deed::throw_other, deed::lose_entry, deed::scale}) {
        stage s{what == deed::scale};
        auto const r = s.run(exact_doer{what});
        REQUIRE_FALSE(r);
        CHECK(r.error().message().find("pass doer") != std::string::npos);
        if (what == deed::break_types || what == deed::lose_entry) CHECK(r.error().id() == errors::illegal_graph);
        if (what == deed::throw_other) CHECK(r.error().id() == errors::pass_threw);
        if (what == deed::scale) CHECK(r.error().id() == errors::pass_changes_results);
        CHECK(fingerprint(s.m) == s.before);
        CHECK(s.last().failure == r.error().message());
        CHECK_FALSE(s.last().changed);
    }
}

TEST_CASE("an ill-typed graph is told with function, node, what was found and what inference gives") {
    stage s;
    auto const text = s.run(exact_doer{deed::break_types}).error().message();
    CAPTURE(text);
    for (auto part : {"pass doer left an ill-formed module", "main/Relu", "i64[7]", "f32[2,3]"})
        CHECK(text.find(part) != std::string::npos);
    stage unchecked{false, {.check = false}};
    CHECK(unchecked.run(exact_doer{deed::break_types}));
}

TEST_CASE("numbers may differ as far as the exactness of a pass allows") {
    stage exact{true};
    CHECK(exact.run(exact_doer{deed::nudge}).error().id() == errors::pass_changes_results);
    stage reassociating{true};
    CHECK_FALSE(reassociating.run(doer<exactness::reassociating>{deed::nudge}));
    stage near{true};
    CHECK(near.run(near_doer{deed::nudge}));
    CHECK(near.last().verdict.equal);
    CHECK(near.last().verdict.error == Approx(1e-3).epsilon(0.01));
    CHECK_FALSE(near.run(near_doer{deed::scale}));
    CHECK(near.run(doer<exactness::precision_changing>{deed::nudge}));
    CHECK(tolerance_of(pass_info::of<near_doer>()) == 1e-2);
}

TEST_CASE("a pass that changes the semantics is not compared, and so are modules that cannot be run") {
    stage s{true};
    CHECK(s.run(doer<exactness::bit_exact, false>{deed::scale}));
    CHECK_FALSE(s.last().verdict.compared);
    CHECK_FALSE(s.last().verdict.reason.empty());
    stage strange{true};
    auto& g = strange.m.find("main")->body;
    auto const x = g.output(0);
    auto const type = g.type_of(x);
    auto const n = g.add_opaque({.op_type = "Foreign"}, tensor::zeros(dtype::u8, ints{1}), {&x, 1}, {&type, 1});
    std::vector<value_id> outputs{{n, 0}};
    g.set_outputs(outputs);
    CHECK(strange.run(exact_doer{deed::scale}));
    CHECK(strange.last().verdict.reason.find("cannot be run") != std::string::npos);
}

TEST_CASE("a pass without effect is passed over, which its record and its outcome say") {
    stage s;
    auto const r = s.run(wants_conv{});
    REQUIRE(r);
    CHECK(r->skipped.size() == 1);
    CHECK_FALSE(s.last().not_run.empty());
    stage stubborn{false, {.prune = false}};
    CHECK_FALSE(stubborn.run(wants_conv{}));
}

TEST_CASE("calls that do not fit, of nobody, and in a circle are found") {
    auto m = relu_module();
    auto& g = m.find("main")->body;
    CHECK(check(m).empty());
    auto const x = g.output(0);
    m.add("callee", relu_module().find("main")->body);
    auto const n = add_call(m.find("main")->body, m, "callee", {&x, 1});
    std::vector<value_id> outputs{{n, 0}};
    m.find("main")->body.set_outputs(outputs);
    CHECK(check(m).empty());
    auto circular = m;
    circular.add("callee", m.find("main")->body);
    CHECK(check(circular).size() == 1);
    graph wrong;
    graph_builder b{wrong};
    b.outputs({b.input(dtype::f32, {5}, "x")});
    m.add("callee", wrong);
    CHECK(check(m).size() == 2);
    gsub::module alone;
    alone.add("main", m.find("main")->body);
    CHECK(check(alone).size() == 1);
}

TEST_CASE("the observer sees modules before and after, a failed one as the pass left it") {
    struct listener : pass_observer {
        std::vector<std::string> heard;
        void before_pass(pass_info const& info, std::size_t, module const& m) override {
            heard.push_back(fmt::format("before {} {}", info.name, node_count(m)));
        }
        void after_pass(pass_record const& r, module const& m) override {
            heard.push_back(fmt::format("{}{} {}", r.failure.empty() ? "after " : "failed ", r.pass, node_count(m)));
        }
    } heard;
    stage s{false, {.observe = &heard}};
    REQUIRE(s.run(exact_doer{deed::scale}));
    REQUIRE(s.run(wants_conv{}));
    REQUIRE_FALSE(s.run(exact_doer{deed::throw_error}));
    CHECK(heard.heard == std::vector<std::string>{"before doer 3", "after doer 5", "after wants-conv 5",
                                                  "before doer 5", "failed doer 7"});
    CHECK(node_count(s.m) == 5);
}

TEST_CASE("fusing and taking apart again is bit-exact on random graphs and gives the first hash") {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        graph g;
        random_graph::generator make{g, seed};
        make.grow(15);
        make.finish();
        stage s{true};
        s.m = gsub::module{};
        s.m.add("main", g);
        REQUIRE(s.run(passes::fuse_ops{}));
        CHECK(s.last().verdict.compared == s.last().changed);
        REQUIRE(s.run(passes::defuse_ops{}));
        CHECK(s.m.find("main")->body == g);
    }
}

} // namespace instrumentation_test
