#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/ir/text.hpp>
#include <gsub/passes/annotate/annotate_spans.hpp>
#include <gsub/passes/fuse/defuse_ops.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>

#include <bit>
#include <limits>
#include <sstream>
#include <string>

namespace spans_test {

using namespace gsub;
using pass_trial::module_of;
using passes::annotate_spans;

std::string line_of(std::string const& text, std::size_t number) {
    std::istringstream in{text};
    std::string line;
    for (std::size_t i = 0; i < number; ++i) std::getline(in, line);
    return line;
}

// Each node's last source is the line on which it stands: it has the operator and says the same source.
void check_spans(gsub::module const& m) {
    auto const text = to_text(m);
    for (auto const& f : m.functions())
        for (auto n : f.body.order()) {
            if (n == f.body.return_node()) continue;
            auto const sources = f.body.sources(n);
            REQUIRE_FALSE(sources.empty());
            auto const& span = sources.back();
            REQUIRE(span.starts_with("text:"));
            auto const line = line_of(text, std::stoul(span.substr(5)));
            CHECK(line.starts_with("  %"));
            CHECK(line.find(f.body.op(n).name) != std::string::npos);
            CHECK(line.find(span) != std::string::npos);
        }
}

TEST_CASE("AnnotateSpans P1, P2: every node has its place, nothing else changes, and a second run gives the same") {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
        CAPTURE(seed);
        auto g = random_graph::make(seed, 20);
        g.set_source(g.output(0).node, "from a file");
        auto m = module_of(g);
        m.add("other", random_graph::make(seed + 100, 5));
        auto const before = fingerprint(m);
        auto const outcome = run_pass(annotate_spans{}, m).value();
        CHECK(outcome.changed);
        CHECK(fingerprint(m) == before);
        check_spans(m);
        CHECK(m.find("main")->body.display_name(g.output(0).node) == "from a file");
        auto const text = to_text(m);
        CHECK_FALSE(run_pass(annotate_spans{}, m).value().changed);
        CHECK(to_text(m) == text);
        CHECK(to_text(parse_module(text, g.operators()).value()) == text);
    }
}

TEST_CASE("AnnotateSpans P3: constants keep every bit") {
    graph g;
    graph_builder b{g};
    float const odd[] = {std::bit_cast<float>(0x7fc12345u), -0.0f, std::numeric_limits<float>::denorm_min()};
    b.outputs({b.constant(tensor::from(ints{3}, std::span<float const>{odd})),
               b.constant(tensor::scalar(std::numeric_limits<std::int64_t>::min())),
               b.constant(tensor::zeros(dtype::f32, ints{0, 3}))});
    auto m = module_of(g);
    REQUIRE(run_pass(annotate_spans{}, m).value().matches == 3);
    auto const back = parse_module(to_text(m), g.operators()).value();
    auto const& body = back.find("main")->body;
    CHECK(body == g);
    CHECK(body.constant_data(body.output(0).node).raw().size() == 12);
    check_spans(back);
}

TEST_CASE("AnnotateSpans P4: functions that fusion made keep their nodes' places, and are undone as before") {
    auto const g = random_graph::make(7, 30);
    auto m = module_of(g);
    static_cast<void>(run_pass(passes::fuse_ops{}, m).value());
    static_cast<void>(run_pass(annotate_spans{}, m).value());
    check_spans(m);
    static_cast<void>(run_pass(passes::defuse_ops{}, m).value());
    CHECK(m.find("main")->body == g);
    for (auto n : m.find("main")->body.order())
        if (n != g.return_node()) CHECK_FALSE(m.find("main")->body.sources(n).empty());
}

TEST_CASE("AnnotateSpans: a call that fusion makes has the places of all its operators") {
    graph g;
    graph_builder b{g};
    b.outputs({b.add<ops::tanh>(b.add<ops::relu>(b.input(dtype::f32, {2}, "x")))});
    auto m = module_of(g);
    static_cast<void>(run_pass(annotate_spans{}, m).value());
    static_cast<void>(run_pass(passes::fuse_ops{}, m).value());
    auto const& body = m.find("main")->body;
    CHECK(body.sources(body.output(0).node).size() == 2);
}

TEST_CASE("AnnotateSpans N1: what is shared stays shared, what is equal stays apart") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x"), y = b.add<ops::relu>(x), twin = b.add<ops::relu>(x);
    b.outputs({b.add<ops::add>(y, y), twin});
    auto m = module_of(g);
    static_cast<void>(run_pass(annotate_spans{}, m).value());
    CHECK(m.find("main")->body.size() == g.size());
}

} // namespace spans_test
