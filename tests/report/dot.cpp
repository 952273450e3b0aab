#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/core/format.hpp>
#include <gsub/report/dot.hpp>

#include <regex>
#include <set>
#include <sstream>

namespace dot_test {

using namespace gsub;

struct drawing {
    std::multiset<std::string> nodes, edges;
    bool well_formed = true;
};

// Reads what `to_dot` writes: one statement a line. What stands outside of quotes is ours alone.
drawing read(std::string const& text) {
    static std::regex const box{"  (n[0-9]+) \\[label=(, style=(dashed|rounded))?\\];"},
        arrow{"  (n[0-9]+) -> (n[0-9]+) \\[label=\\];"},
        frame{"digraph gsub \\{|\\}|  rankdir=TB;|  (node|edge) \\[[a-z0-9=, ]+\\];"};
    drawing d;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        bool quoted = false;
        std::string bare;
        for (std::size_t i = 0; i < line.size(); ++i) {
            auto const c = static_cast<unsigned char>(line[i]);
            if (quoted && c == '\\')
                ++i;
            else if (c == '"')
                quoted = !quoted;
            else if (!quoted)
                bare += line[i];
            d.well_formed = d.well_formed && c >= 32 && c != 127;
        }
        std::smatch found;
        if (std::regex_match(bare, found, box))
            d.nodes.insert(found[1]);
        else if (std::regex_match(bare, found, arrow))
            d.edges.insert(fmt::format("{} {}", found[1].str(), found[2].str()));
        else
            d.well_formed = d.well_formed && std::regex_match(bare, frame);
        d.well_formed = d.well_formed && !quoted;
    }
    return d;
}

bool valid_utf8(std::string const& s) {
    for (std::size_t i = 0; i < s.size();) {
        auto const c = static_cast<unsigned char>(s[i]);
        auto const more = c < 0x80                ? 0u
                          : c >= 0xc2 && c < 0xe0 ? 1u
                          : c >= 0xe0 && c < 0xf0 ? 2u
                          : c >= 0xf0 && c < 0xf5 ? 3u
                                                  : 9u;
        if (more == 9 || i + more >= s.size() + (more == 0)) return false;
        for (auto k = i + 1; k <= i + more; ++k)
            if ((static_cast<unsigned char>(s[k]) & 0xc0u) != 0x80u) return false;
        i += more + 1;
    }
    return true;
}

TEST_CASE("a drawing has a box for each node and an arrow for each operand, constants left out") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 20);
        std::multiset<std::string> nodes, edges;
        for (auto n : g.order()) {
            if (g.is<ops::constant>(n)) continue;
            nodes.insert(fmt::format("n{}", n.index));
            for (auto v : g.operands(n))
                if (v.valid() && !g.is<ops::constant>(v.node))
                    edges.insert(fmt::format("n{} n{}", v.node.index, n.index));
        }
        auto const d = read(report::to_dot(g));
        CHECK(d.well_formed);
        CHECK(d.nodes == nodes);
        CHECK(d.edges == edges);
    }
}

TEST_CASE("a box tells operator, name and type, weight arithmetic is dashed") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 3}, "image");
    auto const w = b.add<ops::relu>(b.constant(tensor::zeros(dtype::f32, ints{3})));
    auto const y = b.add<ops::add>(x, w);
    g.set_source(y.node, "layer1.add");
    auto const parts = b.add<ops::split>({.axis = 1, .sizes = {1, 2}}, {y}, 2);
    b.outputs({value_id{parts.node, 1}});
    auto const text = report::to_dot(g);
    CHECK(text.find("Add\\nlayer1.add\\nf32[2,3]") != std::string::npos);
    CHECK(text.find("image") != std::string::npos);
    CHECK(text.find("\"port 1\"") != std::string::npos);
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        CHECK((line.find("style=dashed") != std::string::npos) == (line.find("label=\"Relu") != std::string::npos));
}

TEST_CASE("names from a model cannot break out of their place") {
    for (auto const& name :
         std::vector<std::string>{"a\"]; x -> y [label=\"", "back\\", "two\nlines\r\t", std::string{"nul\0byte", 8},
                                  std::string(200, '"'), std::string(200, '\\'), "}",
                                  fmt::format("{}\xc3\xa4\xc3\xb6", std::string(59, 'a')), "\xff\xfe broken", "\x7f"}) {
        CAPTURE(name);
        graph g;
        auto const x = g.add_input(tensor_type{dtype::f32, {dim{symbol{name}}, 2}}, name);
        auto const type = g.type_of(x);
        auto const strange = g.add_opaque({.domain = name, .op_type = name}, tensor::zeros(dtype::u8, ints{1}),
                                          std::vector{x}, std::vector{type});
        g.set_source(strange, name);
        graph_builder b{g};
        b.outputs({b.add<ops::relu>(value_id{strange, 0})}, {name});
        auto const text = report::to_dot(g);
        auto const d = read(text);
        CHECK(d.well_formed);
        CHECK(d.nodes.size() == 4);
        CHECK(d.edges.size() == 3);
        CHECK(valid_utf8(text));
    }
}

TEST_CASE("long names are cut and the empty graph is drawn") {
    graph g;
    graph_builder b{g};
    b.outputs({b.add<ops::relu>(b.input(dtype::f32, {1}, std::string(500, 'q')))});
    CHECK(report::to_dot(g).find(std::string(61, 'q')) == std::string::npos);
    auto const d = read(report::to_dot(graph{}));
    CHECK(d.well_formed);
    CHECK(d.nodes.size() == 1);
}

} // namespace dot_test
