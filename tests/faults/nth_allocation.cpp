#include "faults/nth_failure.hpp"
#include "faults/small_networks.hpp"
#include "io/scratch_folder.hpp"
#include <gsub/core/sharing_executor.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/driver/run_passes.hpp>
#include <gsub/io/file.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/rewrite/files/rule_text.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>
#ifdef GSUB_TEST_JIT
#include <gsub/driver/jit.hpp>
#endif

#include <atomic>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

namespace nth_allocation_test {

using namespace gsub;
namespace fs = std::filesystem;
using nth_failure::each_allocation;
using small_networks::evaluators;
using small_networks::network;

// No compiler is asked: what machine code does not take, the reference runtime computes.
result<runtime::executable> built(module const& m, executor* threads = nullptr) {
    build_options options;
    options.compiler = "/nowhere/c++";
    options.jit.use_cache = false;
#ifdef GSUB_TEST_JIT
    options.emitter = &jit_emitter;
#endif
    options.threads = threads;
    return build(m, evaluators, host(), options);
}
result<graph> searched(graph const& g, executor* threads = nullptr) {
    auto found = optimize(g, {.budget = search::budget{3}, .threads = threads});
    if (!found) return found.error();
    if (found->report.search.why == search::stop_reason::failed)
        return error{error_code::internal, found->report.search.failure};
    return graph{any_graph{std::move(*found)}};
}

std::string text_of(hash128 h) {
    return to_string(h);
}
std::string text_of(module const& m) {
    return text_of(m.hash().value());
}
std::string text_of(std::vector<tensor> const& values) {
    std::string out;
    for (auto const& v : values) out += text_of(v.hash()) + " ";
    return out;
}

void run_all(network const& n) {
    auto const m = n.read().value();
    auto const before = text_of(m);
    graph const g{any_graph{m.find("main")->body}};
    auto inputs = random_inputs(g, 3);
    auto const expected = text_of(evaluate_module(m, evaluators, inputs).value());
    auto const given = text_of(inputs);
    auto const runs = [&](runtime::executable const& e) { return text_of(e.run(inputs).value()); };
    auto const modules = [](module const& made) { return text_of(made); };
    auto const values = [](std::vector<tensor> const& made) { return text_of(made); };

    each_allocation(
        n.name + ", import", [&] { return n.read(); }, modules);
    each_allocation(
        n.name + ", evaluate", [&] { return evaluate_module(m, evaluators, inputs); }, values);
    each_allocation(
        n.name + ", passes",
        [&]() -> result<module> {
            auto passed = m;
            pass_context cx;
            if (auto done = run_passes(passed, compiler_passes(), "default, fuse-ops", cx); !done) return done.error();
            return passed;
        },
        modules);
    each_allocation(
        n.name + ", build", [&] { return built(m); }, runs);
    auto const e = built(m).value();
    each_allocation(
        n.name + ", run", [&] { return e.run(inputs); }, values);
    each_allocation(
        n.name + ", export", [&] { return io::to_onnx(m, table_of<io::onnx_row, standard_ops>()); },
        [](std::string const& bytes) { return bytes; });
    each_allocation(
        n.name + ", search", [&] { return searched(g); }, [](graph const& found) { return text_of(found.hash()); });

    CHECK(text_of(m) == before);
    CHECK(text_of(g.hash()) == text_of(m.find("main")->body.hash()));
    CHECK(text_of(inputs) == given);
    CHECK(text_of(evaluate_module(m, evaluators, inputs).value()) == expected);
}

TEST_CASE("a network of convolutions survives that any allocation fails") {
    run_all(small_networks::convolutions());
}
TEST_CASE("a network of attention survives that any allocation fails") {
    run_all(small_networks::attention());
}
TEST_CASE("a network with branches survives that any allocation fails") {
    run_all(small_networks::branches());
}
TEST_CASE("a network with a loop survives that any allocation fails") {
    run_all(small_networks::loop());
}
TEST_CASE("a quantized network survives that any allocation fails") {
    run_all(small_networks::quantized());
}

TEST_CASE("files of rules are read whatever allocation fails") {
    constexpr std::string_view text = R"(
rule merge_rows
  p = mat_mul(x, w)
  q = mat_mul(y, w)
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
    each_allocation(
        "rules", [&] { return parse_rules(text); },
        [](std::vector<rule_description> const& rules) {
            std::string out;
            for (auto const& r : rules) out += to_text(r);
            return out;
        });
}

std::size_t entries_of(std::string const& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator{folder}, fs::directory_iterator{}));
}

TEST_CASE("whatever allocation fails a file is written whole or not at all and no descriptor stays open") {
    scratch_folder const folder;
    auto const path = folder / "y";
    auto const descriptors = entries_of("/proc/self/fd");
    std::string const contents(1000, 'y');
    each_allocation(
        "file",
        [&]() -> result<std::string> {
            if (auto const written = io::write_file(path, contents); !written) return written.error();
            return io::read_file(path);
        },
        [](std::string const& read) { return read; });
    CHECK(entries_of(folder / "") == 1);
    CHECK(entries_of("/proc/self/fd") == descriptors);

    auto const n = small_networks::convolutions();
    auto const g = any_graph{n.read().value().find("main")->body};
    auto const model = folder / "model.onnx";
    each_allocation(
        "model file",
        [&]() -> result<any_graph> {
            auto const table = table_of<io::onnx_row, standard_ops>();
            // The second time weights lie beside the model.
            for (auto const bytes : {std::uint64_t{1} << 24, std::uint64_t{64}})
                if (auto const saved = io::save_onnx(g, table, model, {.external_tensor_bytes = bytes}); !saved)
                    return saved.error();
            return io::load_onnx(model, dialect::of<standard_ops>(), table);
        },
        [](any_graph const& read) { return text_of(read.hash()); });
    CHECK(entries_of(folder / "") == 3);
    CHECK(entries_of("/proc/self/fd") == descriptors);
}

// Sums numbers; an allocation for each, on whatever thread.
std::string sum_on(executor& threads) {
    std::atomic<std::size_t> sum{0};
    threads.parallel_for(40, [&](std::size_t i) { sum += std::vector<std::size_t>(i + 1).size(); });
    return std::to_string(sum.load());
}

TEST_CASE("threads survive that any allocation fails") {
    auto const same = [](std::string const& s) { return s; };
    each_allocation(
        "pool",
        [] {
            runtime::thread_pool pool{{.threads = 3}};
            return sum_on(pool);
        },
        same);
    each_allocation(
        "fork and join",
        [] {
            fork_join_executor threads{3};
            return sum_on(threads);
        },
        same);
    runtime::thread_pool pool{{.threads = 3}};
    each_allocation(
        "pool that lives on", [&] { return sum_on(pool); }, same);
    each_allocation(
        "sharing",
        [&] {
            sharing_executor sharing{pool};
            std::atomic<std::size_t> sum{0};
            sharing.run(4, [&](std::size_t i) {
                sharing.parallel_for(8, [&](std::size_t k) { sum += std::vector<std::size_t>(i + k + 1).size(); });
            });
            sharing.run_here([&] { sum += std::stoul(sum_on(sharing)); });
            return std::to_string(sum.load());
        },
        same);
}

TEST_CASE("builds and searches on several threads survive that any allocation fails") {
    auto const m = small_networks::convolutions().read().value();
    graph const g{any_graph{m.find("main")->body}};
    auto const inputs = random_inputs(g, 3);
    runtime::thread_pool pool{{.threads = 3}};
    auto const runs = [&](runtime::executable const& e) { return text_of(e.run(inputs, &pool).value()); };
    each_allocation(
        "build on threads", [&] { return built(m, &pool); }, runs);
    auto const e = built(m).value();
    each_allocation(
        "run on threads", [&] { return e.run(inputs, &pool); },
        [](std::vector<tensor> const& made) { return text_of(made); });
    each_allocation(
        "search on threads", [&] { return searched(g, &pool); },
        [](graph const& found) { return text_of(found.hash()); });
}

} // namespace nth_allocation_test
