#include "catch.hpp"
#include "rewrite/taso_writer.hpp"
#include <gsub/core/format.hpp>
#include <gsub/rewrite/files/rule_text.hpp>
#include <gsub/rewrite/files/taso.hpp>

#include <string>
#include <utility>
#include <vector>

namespace rule_text_test {

using namespace gsub;

constexpr std::string_view merge_rows = R"(
# two products of one matrix
rule merge_rows
  p = mat_mul(x, w)
  q = mat_mul(y, w)     # the second
=>
  both = concat(x, y, axis=0, rank=2)
  product = mat_mul(both, w)
  p2, q2 = split(product, axis=0)
  replace p by p2
  replace q by q2

rule relu_of_relu
  a = relu(t)
  b = relu(a)
=>
  replace b by t
)";

TEST_CASE("text says what it says") {
    auto const rules = parse_rules(merge_rows).value();
    REQUIRE(rules.size() == 2);
    auto const& r = rules[0];
    CHECK(r.name == "merge_rows");
    CHECK(r.inputs == std::vector<std::string>{"x", "w", "y"});
    REQUIRE(r.source.size() == 2);
    CHECK(r.source[0].word->name == "mat_mul");
    CHECK(r.source[1].operands == std::vector{described_value::input(2), described_value::input(1)});
    REQUIRE(r.target.size() == 3);
    CHECK(r.target[0].rank == 2);
    CHECK(r.target[2].results == 2);
    CHECK(r.target[2].operands == std::vector{described_value{1, 0}});
    CHECK(r.outputs == std::vector{described_output{{0, 0}, {2, 0}}, described_output{{1, 0}, {2, 1}}});
    CHECK(rules[1].outputs == std::vector{described_output{{1, 0}, described_value::input(0)}});
    CHECK(parse_rules("").value().empty());
    CHECK(parse_rules("# nothing\n\n").value().empty());
}

TEST_CASE("rules are themselves again after writing and reading") {
    auto rules = parse_rules(merge_rows).value();
    using namespace taso_writer;
    auto const published = read_taso(file({distributes(), merges_outputs(), merges_batch()})).value();
    rules.insert(rules.end(), published.begin(), published.end());
    rules.push_back(parse_rules("rule all\n y = conv(s0, t1, kernel=3x1, strides=2x3, pads=none, act=sigmoid)\n"
                                " _s, v, z = split(y, axis=2)\n=>\n"
                                " n = conv(s0, t1, pads=same, act=tanh)\n replace v by n")
                        .value()[0]);
    for (auto const& r : rules) {
        CAPTURE(to_text(r));
        auto const again = parse_rules(to_text(r));
        REQUIRE(again);
        CHECK((*again)[0] == r);
    }
}

TEST_CASE("what is wrong is told with rule and line") {
    auto const found = [](std::string_view body) {
        auto const rules = parse_rules(body);
        return rules ? std::string{"fine"} : rules.error().message();
    };
    std::pair<std::string_view, std::vector<std::string_view>> const cases[] = {
        {"a = relu(x)", {"line 1", "expected \"rule\""}},
        {"rule r\n a = relu(x)\n=>\n replace a by x", {"fine"}},
        {"rule r\n a = relu(x)\n=>\n=>\n", {"r: line 4", "once"}},
        {"rule r\n a = love(x)\n", {"r: line 2", "no operator \"love\""}},
        {"rule r\n a = relu(x) b\n", {"line 2", "left over"}},
        {"rule r\n a = relu(x\n", {"line 2", "expected \")\" before the end"}},
        {"rule r\n a = relu(,)\n", {"line 2", "expected a name"}},
        {"rule r\n a = relu\n", {"line 2", "expected \"(\""}},
        {"rule r\n a = relu()\n=>\n replace a by x", {"line 4", "no input"}},
        {"rule r\n a = relu(x, y)\n=>\n replace a by x", {"r: ", "2 operands"}},
        {"rule r\n a, b = relu(x)\n", {"line 2", "one result"}},
        {"rule r\n a = relu(x)\n a = relu(x)\n", {"line 3", "\"a\" has a meaning already"}},
        {"rule r\n a = relu(x)\n x = relu(a)\n", {"line 3", "\"x\" has a meaning already"}},
        {"rule r\n a = relu(x, axis=1)\n", {"line 2", "relu has no parameter \"axis\""}},
        {"rule r\n a = concat(x, y)\n", {"line 2", "needs an axis"}},
        {"rule r\n a = concat(x, y, axis=z)\n", {"line 2", "expected a number"}},
        {"rule r\n a = concat(x, y, axis=99999999999)\n", {"line 2", "expected a number"}},
        {"rule r\n a = concat(x, y, axis=1, rank=0)\n", {"line 2", "rank is at least 1"}},
        {"rule r\n a = conv(x, y, kernel=3)\n", {"line 2", "expected \"x\""}},
        {"rule r\n a = conv(x, y, kernel=0x0)\n", {"line 2", "at least 1"}},
        {"rule r\n a = conv(x, y, pads=some)\n", {"line 2", "expected \"none\""}},
        {"rule r\n a = conv(x, y, act=gelu)\n", {"line 2", "no activation \"gelu\""}},
        {"rule r\n a = relu(x)\n replace a by x", {"line 3", "behind =>"}},
        {"rule r\n a = relu(x)\n=>\n replace b by x", {"line 4", "no result of the source"}},
        {"rule r\n a = relu(x)\n=>\n b = relu(a)\n", {"line 4", "\"a\" is made by the source"}},
        {"rule r\n a = relu(x)\n=>\n b = relu(y)\n", {"line 4", "\"y\" is no input"}},
        {"rule r\n a = relu(x)\n=>\n b = relu(x)\n", {"r: ", "no result is replaced"}},
        {"rule r\n a = relu(x)\n=>\n replace a by x\nrule r\n", {"line 5", "already"}},
        {"rule r\n a = conv(x, w, kernel=2x2)\n=>\n replace a by x", {"r: ", "even size 2"}},
    };
    for (auto const& c : cases) {
        auto const text = found(c.first);
        CAPTURE(c.first, text);
        for (auto const word : c.second) CHECK(text.find(word) != std::string::npos);
        auto const unsupported = text.find("not supported: ") != std::string::npos;
        if (text != "fine")
            CHECK(parse_rules(c.first).error().id() == (unsupported ? errors::rule_form : errors::malformed_rule));
    }
    std::string many = "rule r\n";
    for (int i = 0; i < 70; ++i) many += fmt::format(" a{} = relu(x)\n", i);
    CHECK(parse_rules(many).error().id() == errors::rule_form);
    CHECK(found(many).find("more than 64 operators") != std::string::npos);
    CHECK(found("rule " + std::string(100, 'a')).find("64 letters") != std::string::npos);
    CHECK(load_rules("/nonexistent/rules").error().message().find("/nonexistent/rules") != std::string::npos);
}

TEST_CASE("damaged text is refused or read, and nothing worse") {
    std::string const whole{merge_rows};
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (char const c : {'=', 'x', ',', '\n', '(', ')', '#', '9', '\0', '\xff'}) {
            auto damaged = whole;
            damaged[at] = c;
            if (auto const rules = parse_rules(damaged))
                for (auto const& r : *rules) CHECK(check(r).has_value());
        }
}

} // namespace rule_text_test
