// Arbitrary bytes as an ONNX model, and all the way to numbers: refused with an error, or a module that the default
// passes keep legal, that builds without a compiler, and that has the same outputs however it is run.
#include <gsub/cost/analytic.hpp>
#include <gsub/driver/build.hpp>
#ifdef GSUB_TEST_JIT
#include <gsub/driver/jit.hpp>
#endif
#include <gsub/driver/run_passes.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/ir/legality.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace gsub;
using tensors = std::vector<tensor>;

auto const evaluators = table_of<eval_row, standard_ops>();

// Ends the process, so that the fuzzer keeps the input.
void require(bool holds, char const* sentence, std::string const& detail = {}) {
    if (holds) return;
    std::fprintf(stderr, "gsub: not so: %s\n%s\n", sentence, detail.c_str());
    std::abort();
}

// What became of the inputs; told in the end, where no law was broken.
struct tally {
    std::size_t models = 0, imported = 0, computed = 0, compared = 0;
    ~tally() {
        std::fprintf(stderr, "gsub: %zu models, %zu imported, %zu computed, %zu compared\n", models, imported, computed,
                     compared);
    }
} counts;

result<module> import(std::span<std::byte const> data, std::vector<std::pair<std::string, ints>> shapes = {}) {
    io::load_options options;
    options.limits = {.max_file_bytes = 1 << 16,
                      .max_structure_bytes = 1 << 16,
                      .max_tensor_bytes = 1 << 20,
                      .max_nodes = 1000,
                      .max_depth = 8,
                      .max_functions = 50,
                      .max_written_elements = 1 << 16,
                      .max_problems = 10};
    options.shapes = std::move(shapes);
    return io::load_onnx_module(data, dialect::of<standard_ops>(), table_of<io::onnx_row, standard_ops>(), options);
}

// Sizes of the inputs that leave some open, which become 2.
std::vector<std::pair<std::string, ints>> shapes_for(any_graph const& g) {
    std::vector<std::pair<std::string, ints>> out;
    for (auto n : g.inputs()) {
        if (g.type({n, 0}).is_static()) continue;
        auto& [name, sizes] = out.emplace_back(g.name({n, 0}), ints{});
        for (auto d : g.type({n, 0}).dims) sizes.push_back(d.fixed() ? d.size() : 2);
    }
    return out;
}

// Whether computing the module once takes milliseconds.
bool is_small(module const& m) {
    double work = 0;
    for (auto const& f : m.functions())
        for (auto n : f.body.order()) work += cost::flop_count(f.body, n) + cost::bytes_moved(f.body, n);
    return work < 1 << 21;
}

// Whether the inputs take little memory: a size that nothing reads costs no work.
bool has_small_inputs(any_graph const& g) {
    std::int64_t all = 0;
    for (auto n : g.inputs()) {
        ints dims;
        for (auto d : g.type({n, 0}).dims) dims.push_back(d.fixed() ? d.size() : 1);
        auto const count = checked_product(dims);
        if (!count || *count > 1 << 20) return false;
        all += *count;
    }
    return all <= 1 << 20;
}

// Whether outputs are of the same types and, up to a tolerance where they are reals, the same numbers.
bool alike(tensors const& a, tensors const& b, double tolerance) {
    return std::ranges::equal(a, b, [&](tensor const& x, tensor const& y) {
        if (x.type() != y.type()) return false;
        if (!is_floating(x.element())) return std::ranges::equal(x.raw(), y.raw());
        auto const d = compare(x, y).value();
        return d.same_specials && (d.max_relative <= tolerance || d.max_absolute <= 1e-6);
    });
}

void require_alike(tensors const& got, tensors const& want, char const* sentence) {
    std::string text;
    for (auto const& t : got) text += to_string(t, 16) + " is wrong\n";
    for (auto const& t : want) text += to_string(t, 16) + " is right\n";
    require(alike(got, want, 1e-2), sentence, text);
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    return setenv("GSUB_CHECK_STAGES", "1", 1); // import and lowering verify what they make, as the pass manager does
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    auto const bytes = std::as_bytes(std::span{data, size});
    ++counts.models;
    auto m = import(bytes);
    if (!m) require(m.error().code() != error_code::internal, "an imported graph is legal", m.error().message());
    if (!m) return 0;
    ++counts.imported;
    if (auto shapes = shapes_for(m->find("main")->body); !shapes.empty()) m = import(bytes, std::move(shapes));
    if (!m || !is_small(*m)) return 0;
    for (auto const& f : m->functions())
        if (auto const illegal = check(f.body, stage::imported); !illegal.empty())
            require(false, "an imported function is legal", to_string(illegal.front()));

    static auto const known = compiler_passes();
    auto passed = *m;
    pass_context cx;
    auto const done = run_passes(passed, known, "default", cx);
    if (!done) require(false, "passes take what was imported and leave it legal", done.error().message());

    static auto const machine = host();
    build_options options{.compiler =
                              "/nonexistent"}; // kernels are emitted in memory, or the reference runtime computes
#ifdef GSUB_TEST_JIT
    options.emitter = &jit_emitter;
#endif
    auto const built = build(*m, evaluators, machine, options);
    if (!built)
        require(built.error().code() != error_code::internal, "lowering keeps a graph legal", built.error().message());

    evaluate_options const native{.max_bytes = 1 << 22},
        exact{.compute = precision::f64, .round_outputs = true, .max_bytes = 1 << 22};
    if (!has_small_inputs(m->find("main")->body)) return 0;
    auto const inputs = random_inputs(m->find("main")->body, 1);
    auto const want = evaluate_module(*m, evaluators, inputs, native);
    if (!want) return 0;
    auto const again = evaluate_module(passed, evaluators, inputs, native);
    if (!again) require(false, "what passes leave is computed where the model is", again.error().message());
    if (!built) require(false, "what is computed can be built", built.error().message());
    auto const run = built->run(inputs);
    if (!run) require(false, "what is computed can be run", run.error().message());
    ++counts.computed;
    // Where rounding decides the numbers, they may differ.
    if (auto const wide = evaluate_module(*m, evaluators, inputs, exact); !wide || !alike(*want, *wide, 1e-5)) return 0;
    ++counts.compared;
    require_alike(*again, *want, "passes keep the numbers");
    require_alike(*run, *want, "a build computes the numbers of the model");
    return 0;
}
