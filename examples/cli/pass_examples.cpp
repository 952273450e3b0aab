#include "pass_examples.hpp"

#include <gsub/core/format.hpp>
#include <gsub/passes.hpp>

#include <algorithm>
#include <map>

namespace cli {

namespace {

using namespace gsub;

// Writes modules as nested applications.
class short_form {
public:
    std::vector<std::string> operator()(gsub::module const& m) {
        std::vector<std::string> lines;
        for (auto const& f : m.functions()) {
            auto const& g = f.body;
            shared_.clear();
            for (auto n : g.order()) {
                auto const read_once = g.result_count(n) == 1 && g.use_count({n, 0}) == 1;
                if (read_once || n == g.return_node() || is_leaf(g, n)) continue;
                auto const text = applied(g, n);
                auto const name = gsub::format_text("t{}", shared_.size() + 1);
                shared_[n] = name;
                lines.push_back(gsub::format_text("{} = {}", name, text));
            }
            std::string result;
            for (std::size_t i = 0; i < g.output_count(); ++i)
                result += gsub::format_text("{}{}", i ? ", " : "", value(g, g.output(i)));
            if (m.functions().size() > 1) result = gsub::format_text("{}: {}", f.name, result);
            lines.push_back(std::move(result));
        }
        return lines;
    }

private:
    static bool is_leaf(any_graph const& g, node_id n) { return g.is<ops::input>(n) || g.is<ops::constant>(n); }

    std::string value(any_graph const& g, value_id v) {
        if (g.is<ops::input>(v.node)) {
            auto const inputs = g.inputs();
            auto const place = std::find(inputs.begin(), inputs.end(), v.node) - inputs.begin();
            return g.name(v).empty() ? gsub::format_text("x{}", place + 1) : std::string{g.name(v)};
        }
        if (g.is<ops::constant>(v.node)) return constant(g.constant_data(v.node));
        auto const port = g.result_count(v.node) > 1 ? gsub::format_text("[{}]", v.port) : std::string{};
        auto const named = shared_.find(v.node);
        return gsub::format_text("{}{}", named != shared_.end() ? named->second : applied(g, v.node), port);
    }
    std::string applied(any_graph const& g, node_id n) {
        std::string operands;
        for (auto v : g.operands(n)) operands += gsub::format_text("{}{}", operands.empty() ? "" : ", ", value(g, v));
        auto text = gsub::format_text(
            "{}({}){}", g.is<ops::call>(n) ? std::string_view{g.attributes<ops::call>(n).callee} : g.op(n).name,
            operands, settings(g, n));
        for (auto const& s : g.sources(n)) text += gsub::format_text(" from {}", s);
        return text;
    }
    // Attributes that are not as usual.
    static std::string settings(any_graph const& g, node_id n) {
        if (g.is<ops::call>(n)) return {};
        if (g.is<ops::cast>(n)) return gsub::format_text(" {{{}}}", to_string(g.type({n, 0}).element));
        auto const& op = g.op(n);
        auto const values = g.attributes(n).values();
        auto const defaults = op.layout.defaults();
        std::string out;
        for (std::size_t i = 0; i < values.size(); ++i) {
            auto const all = [&](std::int64_t usual) {
                auto const& list = values[i].integer_list();
                return std::all_of(list.begin(), list.end(), [&](auto v) { return v == usual; });
            };
            auto const name = op.attributes()[i].name;
            auto const of_window = name == "strides" || name == "dilations" ? all(1) : name == "pads" && all(0);
            if (of_window || to_string(values[i]) == to_string(defaults[i])) continue;
            out += gsub::format_text("{}{} = {}", out.empty() ? " {" : ", ", name, to_string(values[i]));
        }
        return out.empty() ? out : out + "}";
    }
    std::string constant(tensor const& t) {
        if (t.elements() == 1) {
            auto const x = t.converted_to(dtype::f64).data<double>()[0];
            return gsub::format_text("{}", x);
        }
        return constants_.try_emplace(t.hash(), gsub::format_text("w{}", constants_.size() + 1)).first->second;
    }

    std::map<node_id, std::string> shared_;
    std::map<hash128, std::string> constants_;
};

// A module in the making.
struct net {
    graph g;
    graph_builder b{g};
    std::uint64_t seed = 0;

    value_id input(ints const& sizes, std::string_view name = "x", dtype element = dtype::f32) {
        return b.input(element, {sizes.begin(), sizes.end()}, name);
    }
    value_id image() { return input({1, 8, 6, 6}); }
    value_id weight(ints const& sizes, dtype element = dtype::f32) {
        auto t = tensor::uninitialized(element, sizes);
        fill_random(t, random_stream{++seed});
        return b.constant(std::move(t));
    }
    value_id number(double x, dtype element = dtype::f32) {
        return b.constant(tensor::scalar(x).converted_to(element));
    }
    template <class Op>
    value_id op(std::same_as<value_id> auto... operands) {
        return b.add<Op>(operands...);
    }
    value_id conv(value_id x, bool bias = false) {
        attributes_of<ops::conv> a;
        a.strides = a.dilations = {1, 1}, a.pads = ints(4, 0);
        std::vector<value_id> operands{x, weight({8, 8, 3, 3})};
        if (bias) operands.push_back(weight({8}));
        return b.add<ops::conv>(a, operands);
    }
    value_id dequantized(value_id q, dtype zero) {
        return b.add<ops::dequantize>({}, {q, number(0.25), number(0, zero)});
    }
    value_id quantized(value_id x) { return op<ops::quantize>(x, number(0.5), number(0, dtype::u8)); }
};

// What alter-op-layout asks for in the example.
struct blocked_convolutions {
    std::optional<layout> operator()(passes::layout_query const& q) const {
        if (!q.is<ops::conv>()) return std::nullopt;
        return layout{"NCHW8c"};
    }
};

struct example {
    std::string_view pass;               // as lists name it, with its arguments
    std::string_view first;              // passes that run before
    std::vector<value_id> (*make)(net&); // gives the outputs
};

std::vector<value_id> activated_convolution(net& n) {
    return {n.op<ops::relu>(n.conv(n.image()))};
}
std::vector<value_id> two_functions(net& n) {
    return {n.op<ops::tanh>(n.op<ops::relu>(n.input({4})))};
}
std::vector<value_id> three_functions(net& n) {
    return {n.op<ops::tanh>(n.op<ops::relu>(n.op<ops::exp>(n.input({4}))))};
}
std::vector<value_id> three_products(net& n) {
    auto const x = n.input({4, 8});
    std::vector<value_id> y;
    for (int i = 0; i < 3; ++i) y.push_back(n.op<ops::mat_mul>(x, n.weight({8, 2})));
    return y;
}

example const examples[] = {
    {"alter-op-layout", "", activated_convolution},
    {"dead-code-elimination", "",
     [](net& n) {
         auto const x = n.input({4});
         n.op<ops::exp>(x);
         return std::vector{n.op<ops::relu>(x)};
     }},
    {"defuse-ops", "fuse-ops", activated_convolution},
    {"fuse-ops", "", activated_convolution},
    {"backward-fold-scale-axis", "",
     [](net& n) {
         return std::vector{n.op<ops::mul>(n.conv(n.image()), n.weight({8, 1, 1}))};
     }},
    {"forward-fold-scale-axis", "",
     [](net& n) {
         return std::vector{n.conv(n.op<ops::mul>(n.image(), n.weight({8, 1, 1})))};
     }},
    {"fold-explicit-padding", "",
     [](net& n) {
         return std::vector{n.conv(n.b.add<ops::pad>({.pads = {0, 0, 1, 1, 0, 0, 1, 1}}, {n.image()}))};
     }},
    {"combine-parallel-conv2d", "",
     [](net& n) {
         auto const x = n.image();
         return std::vector{n.op<ops::relu>(n.conv(x)), n.op<ops::relu>(n.conv(x)), n.op<ops::relu>(n.conv(x))};
     }},
    {"combine-parallel-dense", "", three_products},
    {"combine-parallel-batch-matmul", "",
     [](net& n) {
         auto const x = n.input({2, 4, 8});
         std::vector<value_id> y;
         for (int i = 0; i < 3; ++i) y.push_back(n.op<ops::mat_mul>(x, n.weight({2, 8, 2})));
         return y;
     }},
    {"batching-ops", "", three_products},
    {"convert-layout(NCHW8c)", "", activated_convolution},
    {"simplify-inference", "",
     [](net& n) {
         auto const x = n.op<ops::dropout>(n.image());
         return std::vector{
             n.op<ops::batch_norm>(x, n.weight({8}), n.weight({8}), n.weight({8}), n.op<ops::abs>(n.weight({8})))};
     }},
    {"simplify-expr", "",
     [](net& n) {
         auto const turned = n.b.add<ops::transpose>({.perm = {1, 0}}, {n.input({3, 4})});
         return std::vector{n.op<ops::add>(n.b.add<ops::transpose>({.perm = {1, 0}}, {turned}), n.number(0))};
     }},
    {"fold-constant", "",
     [](net& n) { return std::vector{n.op<ops::mul>(n.input({4}), n.op<ops::add>(n.weight({4}), n.weight({4})))}; }},
    {"eliminate-common-subexpr", "",
     [](net& n) {
         auto const x = n.input({4});
         return std::vector{n.op<ops::mul>(n.op<ops::exp>(x), n.op<ops::exp>(x))};
     }},
    {"canonicalize-ops", "", [](net& n) { return std::vector{n.conv(n.image(), true)}; }},
    {"canonicalize-cast", "",
     [](net& n) {
         auto const wide = n.b.add<ops::cast>({.to = dtype::f32}, {n.input({4}, "x", dtype::f16)});
         return std::vector{n.op<ops::add>(wide, n.weight({4})), n.op<ops::mul>(wide, n.weight({4}))};
     }},
    {"merge-composite", "", [](net& n) { return std::vector{n.op<ops::relu>(n.conv(n.image(), true))}; }},
    {"annotate-target(dsp: Relu Tanh)", "", three_functions},
    {"merge-compiler-regions", "annotate-target(dsp: Relu Tanh)", three_functions},
    {"partition-graph", "annotate-target(dsp: Relu Tanh), merge-compiler-regions", three_functions},
    {"remove-unused-functions", "", [](net& n) { return std::vector{n.op<ops::relu>(n.input({4}))}; }},
    {"annotate-spans", "", two_functions},
    {"to-a-normal-form", "", two_functions},
    {"to-graph-normal-form", "to-a-normal-form", two_functions},
    {"first-order-gradient", "",
     [](net& n) {
         return std::vector{n.op<ops::mat_mul>(n.input({2, 3}), n.input({3, 4}, "y"))};
     }},
    {"dynamic-to-static", "",
     [](net& n) {
         auto const x = n.input({2, 12}), like = n.input({4, 6}, "y");
         return std::vector{n.g.add<ops::reshape>({}, {x, n.g.add<ops::shape>({}, {like})})};
     }},
    {"simplify-fc-transpose", "",
     [](net& n) {
         auto const turned = n.b.add<ops::transpose>({.perm = {1, 0}}, {n.weight({5, 3})});
         return std::vector{n.op<ops::mat_mul>(n.input({4, 3}), turned)};
     }},
    {"relaxed-substitution", "",
     [](net& n) {
         auto const x = n.input({4, 3});
         return std::vector{
             n.op<ops::add>(n.op<ops::mat_mul>(x, n.weight({3, 2})), n.op<ops::mat_mul>(x, n.weight({3, 2})))};
     }},
    {"fast-math", "", [](net& n) { return std::vector{n.op<ops::exp>(n.input({4}))}; }},
    {"to-mixed-precision", "", activated_convolution},
    {"fake-quantization-to-integer", "",
     [](net& n) {
         auto const x = n.dequantized(n.input({4, 3}, "x", dtype::u8), dtype::u8);
         auto const w = n.dequantized(n.weight({3, 2}, dtype::i8), dtype::i8);
         return std::vector{n.quantized(n.op<ops::mat_mul>(x, w))};
     }},
};

} // namespace

pass_example example_of(pass_manager const& known, any_pass const& p) {
    auto const found = std::find_if(std::begin(examples), std::end(examples),
                                    [&](example const& e) { return e.pass.substr(0, e.pass.find('(')) == p.name(); });
    if (found == std::end(examples))
        throw error{error_code::internal, gsub::format_text("no example of pass {}", p.name())};
    net n;
    n.g.set_outputs(found->make(n));
    gsub::module m;
    m.add("main", n.g);
    if (p.name() == passes::remove_unused_functions::facts.name) m.add("unused", n.g);
    pass_context cx;
    auto const run = [&](std::string_view list) { static_cast<void>(known.run(list, m, cx).value()); };
    run(found->first);
    short_form text;
    pass_example shown;
    shown.before = text(m);
    if (p.name() == passes::alter_op_layout<blocked_convolutions>::facts.name)
        static_cast<void>(run_pass(passes::alter_op_layout{blocked_convolutions{}}, m, cx).value());
    else
        run(found->pass);
    shown.after = text(m);
    return shown;
}

} // namespace cli
