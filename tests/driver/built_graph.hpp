// Graphs that are built, and what became of them.
#pragma once

#include <gsub/driver/build.hpp>
#ifdef GSUB_TEST_JIT
#include <gsub/driver/jit.hpp>
#endif

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace built_graph {

using namespace gsub;

/// Builds without a cache, as machine code in memory where that component is there: compilers take a second for what
/// these tests compute in a millisecond. That both emitters compute the same, is tested with them and on random graphs.
inline runtime::executable built(graph const& g) {
    build_options options;
    options.jit.use_cache = false;
#ifdef GSUB_TEST_JIT
    options.emitter = &jit_emitter;
#endif
    return build(g, host(), options).value();
}
/// The kinds of all steps.
inline std::vector<std::string> kinds(runtime::executable const& e) {
    std::vector<std::string> all;
    for (auto const& s : e.steps()) all.push_back(kind_of(s));
    return all;
}
inline std::ptrdiff_t count(runtime::executable const& e, std::string_view kind) {
    auto const all = kinds(e);
    return std::count(all.begin(), all.end(), kind);
}
/// The greatest relative error against the reference evaluator; infinite where NaN or infinities stand elsewhere.
inline double error_of(graph const& g, runtime::executable const& e) {
    auto const inputs = random_inputs(g, 1);
    auto const want = evaluate_graph(g, inputs).value(), got = e.run(inputs).value();
    double worst = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        auto const d = compare(got[i], want[i]).value();
        worst = std::max(worst, d.same_specials ? d.max_relative : std::numeric_limits<double>::infinity());
    }
    return worst;
}

} // namespace built_graph
