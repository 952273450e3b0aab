// Calls the engines marked GSUB_LAZY. Elsewhere tests link gsub::compiled, where they are ordinary functions.
#include <gsub/aot/export.hpp>
#include <gsub/driver/measured_kernels.hpp>
#include <gsub/driver/run_passes.hpp>
#include <gsub/gsub.hpp>
#include <gsub/passes.hpp>

#include <cstdio>
#include <filesystem>

namespace {

int failures = 0;
void check(bool holds, char const* what) {
    if (!holds) std::fprintf(stderr, "header-only: %s\n", what), ++failures;
}

} // namespace

int main() {
    using namespace gsub;
    auto const g = models::residual_module(1, 16, 7);
    auto const inputs = random_inputs(g, 1);
    auto const expected = evaluate_graph(g, inputs).value();
    auto const near = [&](std::vector<tensor> const& y) {
        return compare(y.at(0), expected.at(0)).value().max_relative <= 1e-4;
    };

    check(near(build(g, host()).value().run(inputs).value()), "built");
    check(near(evaluate_graph(parse_graph<standard_ops>(to_text(g)).value(), inputs).value()), "text and back");
    check(!report::to_dot(g).empty(), "drawn");
    auto const written = io::to_onnx(g).value();
    auto const read = io::load_onnx<standard_ops>(std::as_bytes(std::span{written.data(), written.size()})).value();
    check(near(evaluate_graph(read, inputs).value()), "ONNX and back");

    module m;
    m.add("main", g);
    pass_context context;
    check(passes::fuse_ops{}(m, context).has_value(), "fused");
    check(near(evaluate_graph(graph{m.inlined().value()}, inputs).value()), "fused, computed");
    check(passes::defuse_ops{}(m, context).has_value(), "unfused");
    check(near(evaluate_graph(graph{m.inlined().value()}, inputs).value()), "unfused, computed");
    check(run_passes(m, passes::standard_passes(), "auto", context).has_value(), "passes by class");
    check(near(evaluate_graph(graph{m.inlined().value()}, inputs).value()), "passes by class, computed");

    auto const folder = std::filesystem::temp_directory_path() / "gsub_header_only";
    check(aot::export_program(plan(g, table_of<eval_row, standard_ops>(), isa_of(host())).value(), folder.string())
              .has_value(),
          "written ahead of time");
    std::filesystem::remove_all(folder);
    return failures == 0 ? 0 : 1;
}
