// One operator applied to tensors, through a graph of its own. Shared by the tests of layer eval.
#pragma once

#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/builder.hpp>

#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

namespace compute {

using namespace gsub;

/// The results of one application. A default tensor stands for an operand left out. `constant_settings` makes every
/// operand but the first a constant, so that inference sees it; otherwise it is an input, seen at run time.
template <class Op, class OpSet = standard_ops>
result<std::vector<tensor>> all(attributes_of<Op> const& attributes, std::vector<tensor> const& operands,
                                std::size_t results = 1, evaluate_options const& options = {},
                                bool constant_settings = false) {
    basic_graph<OpSet> g;
    std::vector<tensor> inputs;
    auto const built = capture([&] {
        graph_builder b{g};
        std::vector<value_id> values;
        for (auto const& t : operands) {
            if (t.element() == dtype::undefined) {
                values.push_back({});
            } else if (constant_settings && !values.empty()) {
                values.push_back(b.constant(t));
            } else {
                auto const type = t.type();
                // Elements of the field stand for those of a float.
                values.push_back(b.input(type.element == dtype::field61 ? dtype::f32 : type.element, type.dims, {}));
                inputs.push_back(t);
            }
        }
        auto const y = b.add<Op>(attributes, values, results);
        std::vector<value_id> outputs;
        for (std::uint32_t port = 0; port < results; ++port) outputs.push_back({y.node, port});
        g.set_outputs(outputs);
    });
    if (!built) return built.error();
    return evaluate_graph(g, inputs, options);
}

/// The first result.
template <class Op, class OpSet = standard_ops>
tensor one(attributes_of<Op> const& attributes, std::vector<tensor> const& operands,
           evaluate_options const& options = {}) {
    return all<Op, OpSet>(attributes, operands, 1, options).value()[0];
}
template <class Op, class OpSet = standard_ops>
tensor one(std::vector<tensor> const& operands) {
    return one<Op, OpSet>(attributes_of<Op>{}, operands);
}

/// The message of the failure, or "computed".
template <class Op, class OpSet = standard_ops>
std::string failure(attributes_of<Op> const& attributes, std::vector<tensor> const& operands,
                    evaluate_options const& options = {}) {
    auto const r = all<Op, OpSet>(attributes, operands, 1, options);
    return r ? "computed" : r.error().message();
}

inline tensor normal(std::span<std::int64_t const> dims, std::uint64_t seed, dtype element = dtype::f32) {
    auto t = tensor::uninitialized(element, dims);
    fill_random(t, random_stream{seed});
    return t;
}
inline tensor normal(std::initializer_list<std::int64_t> dims, std::uint64_t seed, dtype element = dtype::f32) {
    return normal(std::span{dims.begin(), dims.size()}, seed, element);
}
inline tensor f32(std::initializer_list<std::int64_t> dims, std::initializer_list<float> elements) {
    return tensor::from<float>(dims, elements);
}
inline tensor i64(std::initializer_list<std::int64_t> elements) {
    return tensor::from<std::int64_t>({static_cast<std::int64_t>(elements.size())}, elements);
}
inline tensor i64(ints const& elements) {
    return tensor::from<std::int64_t>(ints{static_cast<std::int64_t>(elements.size())}, elements);
}

/// Same type and same bytes.
inline bool same(tensor const& a, tensor const& b) {
    return a.hash() == b.hash();
}
/// Same shape and specials, and max |a - b| / max |b| within a bound. Element types may differ.
inline bool near(tensor const& a, tensor const& b, double bound = 1e-5) {
    auto const d = compare(a, b);
    return d && d->same_specials && (d->max_relative <= bound || d->max_absolute <= 1e-30);
}

} // namespace compute
