// A pass, a pipeline and a class of networks of one's own: the pass is an empty tag, its facts and its work stand in
// the trait.
#include "require.hpp"
#include <gsub/gsub.hpp>

#include <iostream>

namespace app {

// Relu of what is never negative is nothing.
struct drop_needless_relu {};

} // namespace app

template <>
struct gsub::pass_traits<app::drop_needless_relu> {
    static constexpr gsub::pass_facts facts{"drop-needless-relu", gsub::exactness::bit_exact};

    static gsub::result<gsub::pass_outcome> run(app::drop_needless_relu const&, gsub::any_graph& g,
                                                gsub::pass_context&) {
        gsub::pass_outcome outcome;
        for (auto n : g.order()) {
            if (!g.is<gsub::ops::relu>(n)) continue;
            auto const x = g.operand(n, 0);
            if (!g.is<gsub::ops::relu>(x.node) && !g.is<gsub::ops::sigmoid>(x.node)) {
                outcome.skip("its operand may be negative");
                continue;
            }
            g.replace_uses({n, 0}, x);
            ++outcome.matches;
        }
        outcome.changed = outcome.matches > 0;
        g.erase_dead();
        return outcome;
    }
};
static_assert(gsub::pass<app::drop_needless_relu>);

namespace app {

// Networks whose convolutions are few have these passes run on them.
struct small_network {
    static constexpr std::string_view name = "small";
    gsub::class_score score(gsub::architecture_features const& f) const {
        return {f.convolutions <= 16 ? 1.0 : 0.0, std::to_string(f.convolutions) + " convolutions"};
    }
    auto passes() const {
        return gsub::pipeline{gsub::passes::fold_constant{}, gsub::fixpoint{drop_needless_relu{}},
                              gsub::networks::for_kernels()};
    }
};

} // namespace app

int main(int argc, char** argv) {
    // Passes are values: called at once, put together at compile time, or registered by name.
    gsub::graph g;
    gsub::graph_builder b{g};
    auto const x = b.input(gsub::dtype::f32, {8}, "x");
    b.outputs({b.add<gsub::ops::relu>(b.add<gsub::ops::relu>(b.add<gsub::ops::sigmoid>(x)))});
    gsub::module m;
    m.add("main", g);
    gsub::pass_context cx;
    auto const done = run_pass(gsub::pipeline{app::drop_needless_relu{}, gsub::passes::simplify_expr{}}, m, cx).value();
    require(done.matches == 2 && m.find("main")->body.order().size() < g.order().size(), "two are gone");

    // The list `auto` asks a class of one's own before those of the library.
    auto known = gsub::compiler_passes();
    known.add(app::drop_needless_relu{});
    gsub::run_passes_options options;
    options.select = &gsub::standard_classes::with<app::small_network>::select;
    gsub::module network;
    network.add("main", gsub::io::load_onnx(argc > 1 ? argv[1] : "digits.onnx").value());
    auto const ran = run_passes(network, known, "auto", cx, options).value();
    for (auto const& note : ran.notes) std::cout << note << '\n';
    for (auto const& r : ran.records) std::cout << r.pass << ": " << r.outcome.matches << '\n';
    require(ran.notes.back().starts_with("class small"), "digits is a small network");
}
