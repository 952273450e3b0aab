#include "catch.hpp"
#include <gsub/cost/table.hpp>
#include <gsub/io/file.hpp>
#include <gsub/ir/builder.hpp>

#include <filesystem>
#include <string>
#include <unistd.h>

namespace table_test {

using namespace gsub;

std::span<op_info const> operators() {
    return dialect::of<standard_ops>().ops;
}
result<cost::table> read(std::string_view text, cost::split_lowering splits = cost::split_lowering::view) {
    return cost::table::parse(text, "costs", operators(), splits);
}
std::string complaint(std::string_view text) {
    auto const t = read(text);
    if (t) return {};
    CHECK(t.error().id() == errors::cost_file);
    CHECK_FALSE(t.error().problems()[0].hint.empty());
    return t.error().problems()[0].reason;
}

// A convolution of two groups, relu, split, and weight arithmetic.
struct canvas {
    graph g;
    graph_builder to{g};
    value_id x = to.input(dtype::f32, {1, 4, 6, 6}, "x");
    value_id w = to.add<ops::relu>(to.constant(tensor::zeros(dtype::f32, ints{4, 2, 1, 1})));
    value_id conv, relu, parts;
    canvas() {
        attributes_of<ops::conv> a;
        a.strides = a.dilations = {1, 1};
        a.pads = {0, 0, 0, 0};
        a.group = 2;
        conv = to.add<ops::conv>(a, {x, w});
        g.set_source(conv.node, "first_conv");
        relu = to.add<ops::relu>(conv);
        parts = to.add<ops::split>({.axis = 1, .sizes = {1, 3}}, {relu}, 2);
        to.outputs({parts, value_id{parts.node, 1}});
    }
    double cost(std::string_view text, value_id v) const { return read(text).value()(g, v.node).amount; }
};

TEST_CASE("a node costs what the first line says that fits operator, operands and attributes") {
    canvas const c;
    CHECK(c.cost(R"({"op": "Conv", "seconds": 2e-3})", c.conv) == 2e-3);
    CHECK(c.cost("\n{\"op\": \"Relu\", \"seconds\": 1}\r\n  \n{\"op\": \"Conv\", \"seconds\": 0}", c.conv) == 0);
    auto const two = [&](std::string_view condition) {
        return c.cost(std::string(R"({"op": "Conv", "seconds": 1, )").append(condition) + "}\n" +
                          R"({"op": "Conv", "seconds": 2})",
                      c.conv);
    };
    CHECK(two(R"("attributes": {"group": 2})") == 1);
    CHECK(two(R"("attributes": {"group": 2, "strides": [1, 1], "activation": "none", "activation_min": 0})") == 1);
    CHECK(two(R"("attributes": {"group": 1})") == 2);
    CHECK(two(R"("attributes": {"group": 2, "strides": [1]})") == 2);
    CHECK(two(R"("operands": ["f32[1,4,6,6]", "f32[4,2,1,1]"])") == 1);
    CHECK(two(R"("operands": ["f32[1,4,6,6]"])") == 1);
    CHECK(two(R"("operands": ["*", "f32[4,*,1]"])") == 1);
    CHECK(two(R"("operands": ["f32[*,6]", "*[4,2,1,1]"])") == 1);
    CHECK(two(R"("operands": ["f32[1,4,6,*7]"])") == 2);
    CHECK(two(R"("operands": ["f32[1,4,6,6"])") == 2);
    CHECK(two(R"("operands": ["*", "*", "*"])") == 2); // there is no third
}

TEST_CASE("a graph costs the sum of its kernels, views and weight arithmetic are free and need no line") {
    canvas const c;
    auto const t = read("{\"op\": \"Conv\", \"seconds\": 1}\n{\"op\": \"Relu\", \"seconds\": 0.5}").value();
    CHECK(t.size() == 2);
    CHECK(t(c.g).amount == 1.5);
    CHECK(t(c.g, c.w.node).amount == 0);
    CHECK(t(c.g, c.parts.node).amount == 0);
    static_assert(additive_cost_model<cost::table>);
    CHECK(cost::erase(t).by_clock);
    CHECK_FALSE(cost::erase(cost::roofline{}).by_clock);
}

TEST_CASE("what no line fits is an error that names it, or costs what the file says") {
    canvas const c;
    auto const only_relu = std::string{"{\"op\": \"Relu\", \"seconds\": 0.5}\n"};
    try {
        static_cast<void>(c.cost(only_relu, c.conv));
        FAIL("no cost, and no error");
    } catch (error const& e) {
        CHECK(e.id() == errors::no_cost);
        CHECK(e.problems()[0].node == "first_conv");
        CHECK(e.problems()[0].op == "Conv");
        CHECK(e.message().find("costs has no cost for (f32[1,4,6,6] f32[4,2,1,1]c )->f32[1,4,6,6]") !=
              std::string::npos);
    }
    CHECK(c.cost(only_relu + R"({"otherwise": 3})", c.conv) == 3);
    CHECK(c.cost(only_relu + R"({"otherwise": 3})", c.relu) == 0.5);
    CHECK(c.cost(R"({"otherwise": "roofline"})", c.conv) == cost::roofline{}(c.g, c.conv.node).amount);
    auto const t = read(R"({"otherwise": "roofline"})", cost::split_lowering::copy).value();
    CHECK(t(c.g).amount == cost::roofline{.splits = cost::split_lowering::copy}(c.g).amount);
    CHECK(t.otherwise_costed() == 3); // the split is a kernel now
    CHECK(t(c.g, c.parts.node).amount > 0);
    CHECK(t.otherwise_costed() == 3);
}

TEST_CASE("a line that is no cost is refused with its file and number") {
    auto const good = std::string{"{\"op\": \"Conv\", \"seconds\": 1}\n\n"};
    struct mistake {
        std::string_view line, reason;
    };
    for (auto const& m : {
             mistake{R"({"op": "Conv", "seconds": -1})", "\"seconds\" is -1"},
             {R"({"op": "Conv", "seconds": "1"})", "\"seconds\" is no number"},
             {R"({"op": "Conv", "seconds": null})", "\"seconds\" is no number"},
             {R"({"op": "Conv", "seconds": NaN})", "parse error"},
             {R"({"op": "Conv", "seconds": 1e999})", "number overflow"},
             {R"({"op": "Conv"})", "no \"seconds\""},
             {R"({"seconds": 1})", "no \"op\""},
             {R"({"op": 3, "seconds": 1})", "no \"op\""},
             {R"({"op": "Convolution", "seconds": 1})", "there is no operator \"Convolution\""},
             {R"({"op": "Conv", "cost": 1})", "unknown key \"cost\""},
             {R"({"op": "Conv", "seconds": 1, "operands": "f32"})", "\"operands\" is no list"},
             {R"({"op": "Conv", "seconds": 1, "operands": [1]})", "an operand is no text"},
             {R"({"op": "Conv", "seconds": 1, "attributes": [1]})", "\"attributes\" is no object"},
             {R"({"op": "Conv", "seconds": 1, "attributes": {"groups": 1}})", "Conv has no attribute \"groups\""},
             {R"({"op": "Conv", "seconds": 1, "attributes": {"group": "1"}})", "a value of another kind"},
             {R"({"op": "Conv", "seconds": 1, "attributes": {"strides": [0.5]}})", "a value of another kind"},
             {R"({"otherwise": -2})", "\"otherwise\" is -2"},
             {R"({"otherwise": "best"})", "\"otherwise\" is no number"},
             {R"({"otherwise": 1, "op": "Conv"})", "on a line of its own"},
             {"{\"otherwise\": 1}\n{\"otherwise\": 2}", "a second \"otherwise\""},
             {"[1]", "no JSON object"},
             {"Conv 1", "parse error"},
             {R"({"op": "Conv", "seconds": 1} {})", "parse error"},
         }) {
        CAPTURE(m.line);
        auto const why = complaint(good + std::string{m.line});
        CAPTURE(why);
        CHECK(why.starts_with(m.line.find('\n') == std::string_view::npos ? "costs, line 3: " : "costs, line 4: "));
        CHECK(why.find(m.reason) != std::string::npos);
    }
    // Brackets without end exhaust nothing.
    CHECK(complaint(R"({"op": "Conv", "seconds": )" + std::string(200000, '[') + std::string(200000, ']') + "}")
              .starts_with("costs, line 1: "));
}

TEST_CASE("a table is read from a file, one that is not there is an error of the environment") {
    auto const path =
        (std::filesystem::temp_directory_path() / ("gsub-table-" + std::to_string(::getpid()) + ".jsonl")).string();
    io::write_file(path, "{\"op\": \"Relu\", \"seconds\": 0.25}\n{\"otherwise\": 0}\n").value();
    canvas const c;
    auto const t = cost::table::over<standard_ops>(path);
    std::filesystem::remove(path);
    REQUIRE(t);
    CHECK((*t)(c.g).amount == 0.25);
    auto const gone = cost::table::over<standard_ops>(path);
    REQUIRE_FALSE(gone);
    CHECK(gone.error().message().find(path) != std::string::npos);
}

} // namespace table_test
