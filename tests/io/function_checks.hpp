// Nodes of ONNX functions, read, computed and compared.
#pragma once

#include "io/model_checks.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/io/onnx_functions.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace function_checks {

namespace w = onnx_writer;
using namespace gsub;
using model_checks::loaded;

// A node over inputs that are given when it is computed, and constant operands behind them.
struct call {
    std::string op;
    std::int64_t opset = 13;
    w::texts attributes{};
    w::texts constants{};
    std::size_t results = 1;
    std::string domain{};
    std::vector<std::ptrdiff_t> left_out{}; // places of operands, in order
};

inline w::model model_of(call const& c, std::vector<tensor> const& inputs) {
    w::model m;
    m.opset = c.opset;
    w::texts names;
    for (auto const& t : inputs) {
        names.push_back(fmt::format("x{}", names.size()));
        std::vector<w::size> sizes(t.dims().begin(), t.dims().end());
        m.in(names.back(), sizes, static_cast<int>(info(t.element()).onnx));
    }
    for (auto const& k : c.constants) {
        names.push_back(fmt::format("x{}", names.size()));
        m.weight(k + w::made([&](w::pbf_writer& p) { p.add_string(8, names.back()); }));
    }
    for (auto const i : c.left_out) names.insert(names.begin() + i, "");
    w::texts results;
    for (std::size_t i = 0; i < c.results; ++i) m.out(results.emplace_back(fmt::format("y{}", i)));
    if (!c.domain.empty()) m.domains = {{c.domain, 1}};
    m.add(c.op, names, results, c.attributes, "node", c.domain);
    return m;
}

inline std::vector<tensor> results_of(call const& c, std::vector<tensor> const& inputs) {
    INFO(c.op << "-" << c.opset);
    auto const g = loaded(model_of(c, inputs));
    CHECK(model_checks::count<ops::opaque>(g) == 0);
    auto const found = evaluate_graph(g, inputs).value();
    // What is written is the graph that was read.
    CHECK(loaded(io::to_onnx(g).value()).hash() == g.hash());
    return found;
}
inline tensor result_of(call const& c, std::vector<tensor> const& inputs) {
    return results_of(c, inputs).at(0);
}

inline tensor floats(std::initializer_list<std::int64_t> dims, std::initializer_list<float> values) {
    return tensor::from<float>(dims, values);
}
inline tensor whole(std::initializer_list<std::int64_t> dims, std::initializer_list<std::int64_t> values) {
    return tensor::from<std::int64_t>(dims, values);
}
inline std::string list(w::list const& v) {
    return w::integers("", v);
}

inline bool near(tensor const& got, tensor const& want, double tolerance = 1e-5) {
    if (got.type() != want.type()) return false;
    auto const a = got.converted_to(dtype::f64), b = want.converted_to(dtype::f64);
    return std::ranges::equal(a.data<double>(), b.data<double>(), [&](double x, double y) {
        return x == y || (x != x && y != y) || std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y));
    });
}

inline constexpr auto nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

/// Why a node stays as it is in the file, the name of the error for which it is refused, or `read`.
inline std::string reason(call const& c, std::vector<tensor> const& inputs) {
    auto const g = model_checks::read(model_of(c, inputs));
    if (!g) return std::string{to_string(g.error().code())};
    for (auto n : g->order())
        if (g->is<ops::opaque>(n)) return g->attributes<ops::opaque>(n).reason;
    return "read";
}

inline tensor random_floats(random_stream& r, ints const& dims) {
    auto t = tensor::zeros(dtype::f32, dims);
    for (auto& v : t.mutable_data<float>()) v = static_cast<float>(r.below(2001)) / 1000 - 1;
    return t;
}

} // namespace function_checks
