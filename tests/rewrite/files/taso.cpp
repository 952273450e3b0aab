#include "catch.hpp"
#include "rewrite/taso_writer.hpp"
#include <gsub/rewrite/files/loaded_rule.hpp>
#include <gsub/rewrite/files/rule_text.hpp>
#include <gsub/rewrite/files/taso.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace taso_test {

using namespace gsub;
namespace tw = taso_writer;

// What reading a file ends with: the error, or "fine".
std::string outcome(std::string const& file) {
    auto const rules = read_taso(file);
    return rules ? "fine" : rules.error().message();
}
bool mentions(std::string const& text, std::vector<std::string> const& words) {
    for (auto const& w : words)
        if (text.find(w) == std::string::npos) return false;
    return true;
}

TEST_CASE("a file in TASO's format says what it says") {
    auto const rules = read_taso(tw::file({tw::distributes(), tw::merges_outputs()})).value();
    REQUIRE(rules.size() == 2);
    CHECK(to_text(rules[0]) == "rule taso_0\n"
                               "  s0 = add(x2, x3)\n"
                               "  s1 = conv(x1, s0, kernel=3x3, strides=1x1, pads=same, act=none)\n"
                               "=>\n"
                               "  t0 = conv(x1, x2, kernel=3x3, strides=1x1, pads=same, act=none)\n"
                               "  t1 = conv(x1, x3, kernel=3x3, strides=1x1, pads=same, act=none)\n"
                               "  t2 = add(t0, t1)\n"
                               "  replace s1 by t2\n");
    CHECK(to_text(rules[1]) == "rule taso_1\n"
                               "  s0 = conv(x1, x2, kernel=3x3, strides=1x1, pads=same, act=relu)\n"
                               "  s1 = conv(x1, x3, kernel=3x3, strides=1x1, pads=same, act=relu)\n"
                               "=>\n"
                               "  t0 = concat(x2, x3, axis=0, rank=4)\n"
                               "  t1 = conv(x1, t0, kernel=3x3, strides=1x1, pads=same, act=relu)\n"
                               "  t2_0, t2_1 = split(t1, axis=1)\n"
                               "  replace s0 by t2_0\n"
                               "  replace s1 by t2_1\n");
    CHECK(read_taso("").error().id() == errors::malformed_rule);
}

TEST_CASE("rules of a file are proved, refuted, or proved where they are typed") {
    auto const rules = read_taso(tw::file({tw::distributes(), tw::merges_outputs(), tw::merges_batch()})).value();
    auto const proof = [&](std::size_t i) { return verify(loaded_rule::make(rules[i]).value()); };
    CHECK(proof(0).outcome == verdict::proved);

    auto const wrong = proof(1);
    CHECK(wrong.outcome == verdict::refuted);
    CHECK(mentions(wrong.counterexample, {"differs at element", "\"x1\": f32[", "Conv(", "group = 2"}));
    CHECK(mentions(wrong.replacement, {"Concat(", "Split("}));

    auto const typed = proof(2);
    CHECK(typed.outcome == verdict::proved_where_typed);
    CHECK(typed.condition == "x1[1] = x2[1]");
    CHECK(typed.untyped_instances > 0);
    CHECK(typed.untyped_instances < typed.box_instances + typed.sampled_instances);
}

TEST_CASE("what is no rule file is refused by rule, operator and reason") {
    auto const of = [](std::vector<tw::op> const& source, std::vector<tw::op> const& target,
                       std::vector<tw::output> const& outputs) {
        return outcome(tw::file({tw::distributes(), tw::rule(source, target, outputs)}));
    };
    auto const relu_of = [](int node, int port = 0) { return tw::op{tw::relu, {{node, port}}}; };
    auto const around = [&](tw::op const& o) { return of({o}, {relu_of(-1)}, {{0, 0}}); };

    struct {
        std::string found;
        std::vector<std::string> words;
    } const cases[] = {
        {of({}, {relu_of(-1)}, {{0, 0}}), {"taso_1", "source has no operators"}},
        {of({relu_of(-1)}, {relu_of(-1)}, {}), {"taso_1", "no result is replaced"}},
        {of({relu_of(3)}, {relu_of(-1)}, {{0, 0}}), {"taso_1", "source operator 0 (relu)", "operator 3 of 1"}},
        {of({relu_of(0)}, {relu_of(-1)}, {{0, 0}}), {"source operator 0 (relu)", "does not stand before it"}},
        {of({relu_of(1), relu_of(0)}, {relu_of(-1)}, {{1, 0}}),
         {"source operator 0 (relu)", "does not stand before it"}},
        {of({relu_of(-1), relu_of(0, 1)}, {relu_of(-1)}, {{1, 0}}), {"source operator 1", "result 1 of operator 0"}},
        {of({relu_of(-1, 2)}, {relu_of(-1)}, {{0, 0}}), {"source operator 0", "input 0", "no result 2"}},
        {of({relu_of(-1)}, {relu_of(-2)}, {{0, 0}}), {"taso_1", "x2", "does not bind"}},
        {of({relu_of(-1)}, {relu_of(-1)}, {{1, 0}}), {"output 0", "operator 1 of 1"}},
        {of({relu_of(-1)}, {relu_of(-1)}, {{0, 4}}), {"output 0", "operator 4 of 1"}},
        {of({relu_of(-1)}, {relu_of(-1)}, {{0, 0, 1, 0}}), {"output 0", "result 1"}},
        {of({relu_of(-1)}, {relu_of(-1)}, {{-1, 0}}), {"output 0", "operator -1"}},
        {of({relu_of(-1)}, {relu_of(-1)}, {{0, 0}, {0, 0}}), {"output 1", "already"}},
        {of({relu_of(-1), relu_of(-2)}, {relu_of(-1)}, {{0, 0}}), {"source operator 1", "needs"}},
        {of({tw::op{tw::add, {{-1, 0}}}}, {relu_of(-1)}, {{0, 0}}), {"(add)", "1 operands", "takes 2"}},
        {of({relu_of(-1)}, {relu_of(-1), tw::part({0, 0}, 1)}, {{0, 1}}), {"part 1 of target operator 1"}},
        {around({99, {{-1, 0}}}), {"source operator 0", "type 99"}},
        {around({-1, {{-1, 0}}}), {"source operator 0", "type -1"}},
        {around({15, {{-1, 0}}}), {"source operator 0", "transpose", "not taken"}},
        {around({tw::relu, {{-1, 0}}, {{77, 1}}}), {"parameter 77"}},
        {around({tw::relu, {{-1, 0}}, {{tw::axis, 1}}}), {"relu", "parameter axis"}},
        {around({tw::relu, {{-1, 0}}, {{tw::inputs, 2}}}), {"relu", "number of inputs is 2"}},
        {around({tw::concat, {{-1, 0}}, {{tw::axis, 4}, {tw::dims, 4}}}), {"(concat)", "axis 4"}},
        {around({tw::concat, {{-1, 0}}, {{tw::axis, -1}, {tw::dims, 4}}}), {"(concat)", "axis -1"}},
        {around({tw::concat, {{-1, 0}}, {{tw::axis, 0}, {tw::axis, 0}}}), {"axis is given twice"}},
        {around({tw::concat, {{-1, 0}}, {{tw::axis, 1}}}), {"concat", "no number of dimensions"}},
        {around({tw::concat, {{-1, 0}}, {{tw::axis, 50}, {tw::dims, 60}}}), {"(concat)", "8 dimensions"}},
        {around({tw::split, {{-1, 0}}, {{tw::axis, 0}, {tw::outputs, 1000000000}}}), {"(split)", "1000000000 results"}},
        {around({tw::split, {{-1, 0}}, {{tw::axis, 0}, {tw::outputs, 0}}}), {"split", "outputs is 0"}},
        {around({tw::matmul, {{-1, 0}, {-1, 0}}, {{tw::act, 2}}}), {"matmul", "activation"}},
        {around({tw::conv2d, {{-1, 0}, {-1, 0}}, {{tw::kernel_h, 3}}}), {"conv2d", "no kernel width"}},
    };
    for (auto const& c : cases) {
        CAPTURE(c.found);
        CHECK(mentions(c.found, c.words));
    }
    for (auto const& [change, value, word] :
         {std::tuple{0, 0, "0 x 3"}, std::tuple{0, 4, "even size 4"}, std::tuple{0, 1001, "size 1001"},
          std::tuple{2, 0, "stride 0"}, std::tuple{4, 2, "pad 2"}, std::tuple{5, 9, "activation 9"}}) {
        auto conv = tw::conv({-1, 0}, {-2, 0});
        conv.parameters[static_cast<std::size_t>(change)].second = value;
        auto const found = around(conv);
        CAPTURE(found);
        CHECK(mentions(found, {"conv2d", word}) != mentions(found, {"(conv)", word}));
    }
    // Counts that no rule has.
    CHECK(mentions(of(std::vector<tw::op>(65, relu_of(-1)), {relu_of(-1)}, {{0, 0}}), {"taso_1", "more than 64"}));
    tw::op const wide{tw::concat, std::vector<std::pair<int, int>>(17, {-1, 0}), {{tw::axis, 0}, {tw::dims, 4}}};
    CHECK(mentions(around(wide), {"more than 16 inputs"}));
    std::vector<tw::op> sums{{tw::add, {{-1, 0}, {-1, 0}}}};
    for (int i = 0; i < 12; ++i) sums.push_back({tw::add, {{i, 0}, {i, 0}}});
    CHECK(mentions(of(sums, {relu_of(-1)}, {{12, 0}}), {"commutative"}));
    CHECK(mentions(outcome(tw::file(std::vector<std::string>(10001, tw::distributes()))), {"more than 10000 rules"}));
    // Fields that the format does not have.
    auto const foreign = tw::made([](tw::pbf_writer& w) { w.add_string(7, "?"); });
    CHECK(mentions(outcome(foreign), {"field 7"}));
    CHECK(mentions(outcome(tw::file({foreign})), {"taso_0", "field 7"}));
    CHECK(mentions(outcome(tw::made([](tw::pbf_writer& w) { w.add_int32(1, 3); })), {"field 1 is no message"}));
    CHECK(mentions(outcome(tw::file({""})), {"taso_0", "empty"}));
}

TEST_CASE("a damaged file is refused or read, and nothing worse") {
    auto const whole = tw::file({tw::distributes(), tw::merges_outputs(), tw::merges_batch()});
    std::size_t refused = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) refused += outcome(whole.substr(0, size)) != "fine";
    CHECK(refused >= whole.size() - 3); // a cut between rules leaves a file of fewer
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (int change = 1; change < 256; change *= 2) {
            auto damaged = whole;
            damaged[at] = static_cast<char>(damaged[at] ^ change);
            auto const rules = read_taso(damaged);
            if (!rules) continue;
            for (auto const& rule : *rules) CHECK(loaded_rule::make(rule).has_value());
        }
}

TEST_CASE("errors of a file name it") {
    auto const found = load_taso("/nonexistent/rules.pb");
    REQUIRE_FALSE(found);
    CHECK(found.error().code() == error_code::environment);
    CHECK(mentions(found.error().message(), {"/nonexistent/rules.pb"}));
}

} // namespace taso_test
