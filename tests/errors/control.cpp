// expect: success
// The right forms of what the other files of this folder do wrong.
#include <gsub/io/onnx_traits.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/passes/eliminate/dead_code_elimination.hpp>
#include <gsub/passes/select/network_class.hpp>
#include <gsub/rewrite/pattern/rule.hpp>
#include <gsub/search/backtracking.hpp>

using namespace gsub;
using namespace gsub::pattern;
inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto c = label<"c">;

constexpr auto bound = rule<"bound">(relu(add(x, y)), add(x, y), provenance{"bound variables"});
constexpr auto labelled = rule<"labelled">(transpose[c](x), transpose[c](x), provenance{"a bound label"});
constexpr auto spread = rule<"spread">(relu(concat[c](each(x))), concat[c](each(relu(x))), provenance{"each"});
constexpr auto any = rule<"any">(unary[c](x), unary[c](x), provenance{"one operand"});
constexpr auto two = rule<"two">(roots(relu(x), sigmoid(x)), results(sigmoid(x), relu(x)), provenance{"two roots"});
constexpr auto stays = rule<"stays">(roots(relu(x), context(sigmoid(x))), relu(x), provenance{"one replaced root"});
constexpr auto made = rule<"made">(relu(x), build([](rewrite& r) { r.replace_root(0, r[x]); }),
                                   where(condition("a matrix", [](match const& m) { return m.type(x).rank() == 2; })),
                                   provenance{"functions without captures"});
constexpr auto permuted = rule<"permuted">(transpose[c](x), build([](rewrite& r) {
                                               ints perm = r.attributes<ops::transpose>(c).perm;
                                               r.replace_root(0, r.add<ops::transpose>({.perm = perm}, {r[x]}));
                                           }),
                                           provenance{"attributes of the operator"});

namespace app::ops {
struct swish {};
struct unknown {}; // with facts alone: a valid operator that nothing can be done with
} // namespace app::ops
template <>
struct gsub::op_traits<app::ops::swish> {
    static constexpr std::string_view name = "Swish", domain = "app";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = gsub::op_category::elementwise;
};
template <>
struct gsub::op_traits<app::ops::unknown> : gsub::op_traits<app::ops::swish> {
    static constexpr std::string_view name = "Unknown";
};
template <>
struct gsub::infer_shape<app::ops::swish> : gsub::same_as_input<0> {};
template <>
struct gsub::evaluate<app::ops::swish> {
    template <class T>
    static T scalar(T x) {
        return x;
    }
};
template <>
struct gsub::io::onnx_traits<app::ops::swish> {
    static constexpr std::int64_t since = 1;
};
using my_ops = standard_ops::with<app::ops::swish, app::ops::unknown>;
auto const facts = table_of<op_info, my_ops>();
auto const inference = table_of<infer_row, my_ops>();
auto const evaluators = table_of<eval_row, my_ops>();
auto const files = table_of<io::onnx_row, my_ops>();

struct energy {
    using unit = joules;
    joules operator()(any_graph const&) const { return {1}; }
};
auto optimized_graph(graph const& g) {
    return optimize(g, energy{});
}
auto const sum = seconds{1} + seconds{2};
std::size_t readers(any_graph const& g, node_id n) {
    return g.use_count(value_id{n, 0});
}

struct countdown {
    using state = int;
    double cost(int s) const { return s; }
    int key(int s) const { return s; }
    std::string label(int) const { return {}; }
    template <class Emit>
    void expand(int s, Emit&& emit) const {
        if (s > 0) emit(s - 1);
    }
};
auto searched(countdown& p) {
    return search::backtracking(p, 3, {});
}
graph copied(graph const& g) {
    return g;
}

struct recurrent {
    static constexpr std::string_view name = "recurrent";
    class_score score(architecture_features const&) const { return {1, "all are"}; }
    auto passes() const { return pipeline{passes::dead_code_elimination{}}; }
};
auto selected(module const& m) {
    return select_passes<recurrent>(m);
}
