#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/builder.hpp>

#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

namespace gsub {

namespace detail {

GSUB_LAZY_BODY void run_widened(op_call_args& args, void (*run)(op_call_args&)) {
    auto const widened = [&](tensor const& x) { return x.element() == args.scalar ? x.converted_to(dtype::i64) : x; };
    std::vector<tensor> operands, results;
    operands.reserve(args.operands.size());
    std::vector<tensor const*> pointers;
    for (auto const* x : args.operands) {
        operands.push_back(x ? widened(*x) : tensor{});
        pointers.push_back(x ? &operands.back() : nullptr);
    }
    for (auto const& y : args.results)
        results.push_back(tensor::uninitialized(y.element() == args.scalar ? dtype::i64 : y.element(), y.dims()));
    auto wide = op_call_args{args.op,       args.attributes, as_span(pointers), {results.data(), results.size()},
                             args.declared, dtype::i64,      args.threads};
    run(wide);
    for (std::size_t i = 0; i < results.size(); ++i)
        args.results[i] = results[i].converted_to(args.results[i].element());
}

// The element type that a value has while it is computed with.
GSUB_LAZY dtype storage_type(dtype declared, precision p) {
    if (!is_floating(declared) || p == precision::native) return declared;
    return p == precision::f64 ? dtype::f64 : dtype::field61;
}

// Whether every operand can be read at each place of the one result.
GSUB_LAZY bool broadcasts_to_result(op_call_args const& args) {
    auto const result = args.results[0].dims();
    for (auto const* x : args.operands) {
        if (!x) continue;
        auto const dims = x->dims();
        if (dims.size() > result.size()) return false;
        for (std::size_t i = 0; i < dims.size(); ++i)
            if (dims[i] != 1 && dims[i] != result[result.size() - dims.size() + i]) return false;
    }
    return true;
}

// An operator as a function of which only equality is known. Elementwise ones act on each element alone.
GSUB_LAZY void run_uninterpreted(op_call_args& args) {
    auto const key = hasher{static_cast<std::uint64_t>(args.op->id)}.add(args.attributes.hash()).finish();
    auto const word_at = [](tensor const& t, std::int64_t i) -> std::uint64_t {
        if (t.element() == dtype::field61) return t.data<field61>()[static_cast<std::size_t>(i)].value();
        std::uint64_t word = 0;
        auto const item = byte_size(t.element());
        std::memcpy(&word, t.raw().data() + static_cast<std::size_t>(i) * item, item);
        return word;
    };
    auto const store = [](tensor& t, std::size_t i, std::uint64_t word) {
        if (t.element() == dtype::field61)
            t.mutable_data<field61>()[i] = field61::from_bits(word);
        else if (t.element() == dtype::boolean)
            t.mutable_data<bool>()[i] = word & 1;
        else
            std::memcpy(t.mutable_raw().data() + i * byte_size(t.element()), &word, byte_size(t.element()));
    };
    // A vector over channels (the statistics of a normalisation) is no elementwise operand; hence the test of results.
    if (args.op->category == op_category::elementwise && args.op->layouts == layout_policy::propagates &&
        args.results.size() == 1 && args.operands.size() <= 2 && broadcasts_to_result(args)) {
        auto& out = args.results[0];
        if (out.elements() == 0) return;
        auto const second = args.operands.size() == 2 && args.operands[1];
        auto const dims = args.operands[0]->dims();
        broadcast_plan<2> const plan{out.dims(), {dims, second ? args.operands[1]->dims() : dims}};
        plan.for_each_run([&](std::int64_t to, std::array<std::int64_t, 2> from, std::int64_t length) {
            for (std::int64_t i = 0; i < length; ++i) {
                std::uint64_t words[2] = {word_at(*args.operands[0], from[0] + i * plan.strides[0][0]),
                                          second ? word_at(*args.operands[1], from[1] + i * plan.strides[1][0]) : 0};
                if (args.op->commutative && words[0] > words[1]) std::swap(words[0], words[1]);
                // The same function as `apply_activation` applies in a field.
                hasher h{static_cast<std::uint64_t>(args.op->id)};
                h.add(args.attributes.hash()).add(words[0]);
                if (second) h.add(words[1]);
                store(out, static_cast<std::size_t>(to + i), h.finish().low);
            }
        });
        return;
    }
    hasher whole;
    whole.add(key);
    for (auto const* t : args.operands) {
        if (!t) {
            whole.add(0);
            continue;
        }
        whole.add(t->rank());
        for (auto d : t->dims()) whole.add(static_cast<std::uint64_t>(d));
        for (std::int64_t i = 0; i < t->elements(); ++i) whole.add(word_at(*t, i));
    }
    for (auto& out : args.results)
        for (std::size_t i = 0; i < static_cast<std::size_t>(out.elements()); ++i)
            store(out, i, hasher{whole}.add(i).finish().low);
}

/// The functions that the `If` nodes of a graph may call, each without calls.
using branch_map = std::map<std::string, any_graph>;

/// Runs one graph. Keeps each value until its last use.
template <class = void>
class evaluator {
public:
    evaluator(any_graph const& g, eval_table table, evaluate_options const& options,
              branch_map const* branches = nullptr, std::size_t depth = 0)
        : g_(g),
          table_(table),
          options_(options),
          branches_(branches),
          depth_(depth),
          values_(g.capacity()),
          uses_left_(g.capacity(), 0) {}

    std::vector<tensor> run(std::span<tensor const> inputs) {
        for (auto n : g_.order())
            for (auto v : g_.operands(n))
                if (v.valid()) ++uses_left_[v.node.index];
        inline_executor alone;
        threads_ = options_.threads ? options_.threads : &alone;
        std::vector<tensor> outputs;
        for (auto n : g_.order()) {
            if (n == g_.return_node()) {
                for (auto v : g_.operands(n)) outputs.push_back(take_output(v));
                break;
            }
            auto& results = values_[n.index];
            if (g_.is<ops::input>(n))
                results = {to_precision(checked_input(n, inputs), options_.compute)};
            else if (g_.is<ops::constant>(n))
                results = {to_precision(g_.constant_data(n), options_.compute)};
            else if (g_.is<ops::if_else>(n))
                branch(n, results);
            else
                compute(n, results);
            if (options_.on_node) options_.on_node(options_.context, g_, n, as_span(results));
            if (uses_left_[n.index] == 0) results.clear();
        }
        return outputs;
    }

private:
    tensor const& checked_input(node_id n, std::span<tensor const> inputs) {
        auto const& t = inputs[g_.input_position(n)];
        auto const& declared = g_.type({n, 0});
        auto type = t.type();
        type.layout = declared.layout; // tensors are row-major here, however values are stored elsewhere
        if (type.element == storage_type(declared.element, options_.compute)) type.element = declared.element;
        auto const refuse = [&](std::string reason) {
            throw error{problem{error_code::usage, g_.display_name(n), "input", std::move(reason), {}}};
        };
        if (!compatible(type, declared))
            refuse(fmt::format("a tensor of type {} was given; the graph takes {}", to_string(t.type()),
                               to_string(declared)));
        for (std::size_t i = 0; i < declared.dims.size(); ++i) {
            if (!declared.dims[i].named()) continue;
            auto const name = declared.dims[i].name().text();
            if (auto const size = size_named(name, t.dims()[i]); size != t.dims()[i])
                refuse(fmt::format("dimension {} is {} here and {} in an input before; equal names are equal sizes",
                                   name, t.dims()[i], size));
        }
        return t;
    }

    // The size of a dimension that has this name; the one given where it is seen for the first time.
    std::int64_t size_named(std::string_view name, std::int64_t here) {
        auto const [found, added] = size_places_.emplace(name, static_cast<std::uint32_t>(named_sizes_.size()));
        if (added) named_sizes_.push_back(here);
        return named_sizes_[found->second];
    }

    tensor take_output(value_id v) const {
        auto const& t = values_[v.node.index][v.port];
        auto const declared = g_.type(v).element;
        return options_.round_outputs && t.element() == dtype::f64 && declared != dtype::undefined
                   ? t.converted_to(declared)
                   : t;
    }

    void branch(node_id n, std::vector<tensor>& results) {
        auto const& a = g_.attributes<ops::if_else>(n);
        auto const operands = g_.operands(n);
        auto const at = [&](value_id v) -> tensor const& { return values_[v.node.index][v.port]; };
        auto const& condition = at(operands[0]);
        if (condition.elements() != 1 || condition.element() != dtype::boolean)
            throw fault(n, error_code::invalid_input,
                        fmt::format("a condition of type {}; it takes one truth value", to_string(condition.type())));
        if (depth_ >= max_branch_depth)
            throw fault(n, error_code::unsupported,
                        fmt::format("branches are nested more than {} deep", max_branch_depth));
        auto const& body = branches_->at(condition.template data<bool>()[0] ? a.then_branch : a.else_branch);
        if (body.inputs().size() + 1 != operands.size() || body.output_count() != g_.result_count(n))
            throw fault(n, error_code::invalid_input, "the branch has another number of operands or results");
        std::vector<tensor> inputs;
        for (std::size_t i = 1; i < operands.size(); ++i) inputs.push_back(at(operands[i]));
        auto inner = options_;
        inner.round_outputs = false;
        inner.on_node = nullptr;
        results = evaluator<>{body, table_, inner, branches_, depth_ + 1}.run(as_span(inputs));
        for (std::uint32_t port = 0; port < results.size(); ++port) {
            auto const declared = g_.type({n, port});
            auto type = results[port].type();
            if (storage_type(declared.element, options_.compute) == type.element) type.element = declared.element;
            if (!compatible(type, declared))
                throw fault(
                    n, error_code::invalid_input,
                    fmt::format("its result is {}, the graph declares {}", to_string(type), to_string(declared)));
            if (declared.element == dtype::undefined) found_types_[{n, port}] = results[port].element();
        }
        for (auto v : operands)
            if (--uses_left_[v.node.index] == 0) values_[v.node.index].clear();
    }

    void compute(node_id n, std::vector<tensor>& results) {
        auto const operands = g_.operands(n);
        small_vector<tensor const*, 8> tensors;
        small_vector<dtype, 8> declared;
        for (auto v : operands) {
            tensors.push_back(v.valid() ? &values_[v.node.index][v.port] : nullptr);
            declared.push_back(v.valid() ? logical_type(v) : dtype::undefined);
        }
        auto const types = result_types(n, as_span(tensors), as_span(declared));
        results.reserve(types.size());
        for (auto const& t : types) {
            auto const count = t.elements();
            auto const storage = storage_type(t.element, options_.compute);
            if (!count ||
                static_cast<std::uint64_t>(*count) > options_.max_bytes / std::max<std::size_t>(byte_size(storage), 1))
                throw fault(
                    n, error_code::unsupported,
                    fmt::format("a result of type {} exceeds the limit of {} bytes", to_string(t), options_.max_bytes));
            results.push_back(tensor::uninitialized(storage, t.sizes()));
        }
        op_call_args args{&g_.op(n),         g_.attributes(n),
                          as_span(tensors),  {results.data(), results.size()},
                          as_span(declared), scalar_of(n, as_span(declared), as_span(types)),
                          threads_};
        try {
            evaluate_node(g_.operators(), table_, g_.row(n), args, options_);
        } catch (error const& e) { throw e.within(fmt::format("node \"{}\"", g_.display_name(n))); }
        for (std::uint32_t port = 0; port < types.size(); ++port)
            if (g_.type({n, port}).element == dtype::undefined) found_types_[{n, port}] = types[port].element;
        for (auto v : operands)
            if (v.valid() && --uses_left_[v.node.index] == 0) values_[v.node.index].clear();
    }

    // Declared element type of a value; those that the graph does not know were found while running.
    dtype logical_type(value_id v) const {
        auto const declared = g_.type(v).element;
        if (declared != dtype::undefined) return declared;
        auto const found = found_types_.find(v);
        return found != found_types_.end() ? found->second : values_[v.node.index][v.port].element();
    }

    std::vector<tensor_type> result_types(node_id n, std::span<tensor const* const> tensors,
                                          std::span<dtype const> declared) const {
        std::vector<tensor_type> types;
        // Where the graph knows every size and no operand is a list of numbers that sizes may follow from, the types
        // are those that inference gave. All others are inferred again from what is there: a declared size is no proof.
        bool fixed = true;
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
            types.push_back(g_.type({n, port}));
            fixed = fixed && types.back().is_static();
        }
        for (auto v : g_.operands(n)) {
            if (!v.valid()) continue;
            auto const& t = g_.type(v);
            fixed = fixed && t.is_static() && !(is_integer(t.element) && t.rank() < 2);
        }
        if (fixed) return types;
        small_vector<type_id, 8> operand_types;
        for (std::size_t i = 0; i < tensors.size(); ++i)
            operand_types.push_back(tensors[i] ? type_id{tensor_type{declared[i], tensors[i]->dims()}} : type_id{});
        infer_context cx{g_.op(n), g_.attributes(n), operand_types, types.size()};
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            if (!tensors[i])
                cx.set_absent(i);
            else if (auto k = knowledge_of(*tensors[i]))
                cx.set_known(i, std::move(*k));
        }
        infer(g_.operators(), g_.row(n), cx);
        if (cx.failed()) throw fault(n, error_code::invalid_input, cx.reason());
        for (std::size_t port = 0; port < types.size(); ++port) {
            auto declared_type = std::exchange(types[port], cx.result_type(port));
            declared_type.layout = types[port].layout = {}; // tensors are row-major here
            if (auto* const dims = table_[g_.row(n)].result_dims; dims && !types[port].is_static())
                if (auto const found = dims(tensors))
                    types[port] = {types[port].element, std::span<std::int64_t const>{*found}};
            if (!types[port].is_static())
                throw fault(n, error_code::unsupported, "its result has no size that is known before it runs");
            if (!compatible(types[port], declared_type))
                throw fault(n, error_code::invalid_input,
                            fmt::format("its result is {}, the graph declares {}", to_string(types[port]),
                                        to_string(declared_type)));
        }
        return types;
    }

    dtype scalar_of(node_id, std::span<dtype const> declared, std::span<tensor_type const> types) const {
        dtype widest = dtype::undefined, first = declared.empty() ? dtype::undefined : declared[0];
        auto const see = [&](dtype t) {
            if (t == dtype::f64 || (is_floating(t) && widest == dtype::undefined)) widest = t;
        };
        for (auto t : declared) see(t);
        for (auto const& t : types) see(t.element);
        if (widest == dtype::undefined) return first;
        if (options_.compute == precision::field) return dtype::field61;
        return options_.compute == precision::f64 || widest == dtype::f64 ? dtype::f64 : dtype::f32;
    }

    error fault(node_id n, error_code code, std::string reason) const {
        return error{problem{code, g_.display_name(n), std::string{g_.op(n).name}, std::move(reason), {}}};
    }

    any_graph const& g_;
    eval_table table_;
    evaluate_options const& options_;
    branch_map const* branches_;
    std::size_t depth_;
    std::vector<std::vector<tensor>> values_; // by node
    std::vector<std::size_t> uses_left_;
    std::unordered_map<std::string_view, std::uint32_t> size_places_;
    std::vector<std::int64_t> named_sizes_; // of the inputs seen so far
    std::map<value_id, dtype> found_types_; // of values whose type the graph does not know
    executor* threads_ = nullptr;
};

// A composite operator: its parts, as a graph of their own. It is one operator, so 16-bit floats are rounded at its end
// only, not after each part.
GSUB_LAZY void run_by_decomposition(dialect const& d, eval_table table, std::uint16_t row, op_call_args& args,
                                    evaluate_options const& options) {
    any_graph parts{d};
    small_vector<value_id, 6> operands;
    std::vector<tensor> inputs;
    for (std::size_t i = 0; i < args.operands.size(); ++i) {
        if (!args.operands[i]) {
            operands.push_back({});
            continue;
        }
        auto const declared = args.declared[i];
        auto const narrow = declared == dtype::f16 || declared == dtype::bf16;
        auto const computed = narrow && options.compute == precision::native ? dtype::f32 : declared;
        operands.push_back(parts.add_input(tensor_type{computed, args.operands[i]->dims()}, {}));
        inputs.push_back(computed == declared ? *args.operands[i] : args.operands[i]->converted_to(computed));
    }
    auto const out = d.infer[row].build(parts, args.attributes, operands);
    parts.set_outputs({&out, 1});
    auto inner = options;
    inner.on_node = nullptr;
    inner.round_outputs = false;
    inner.threads = args.threads;
    auto result = std::move(evaluate_graph(parts, table, as_span(inputs), inner).value()[0]);
    auto const stored = args.results[0].element();
    args.results[0] = result.element() == stored ? std::move(result) : result.converted_to(stored);
}

} // namespace detail

GSUB_LAZY_BODY tensor to_precision(tensor const& t, precision p) {
    auto const storage = detail::storage_type(t.element(), p);
    if (storage == t.element()) return t;
    if (storage != dtype::field61) return t.converted_to(storage);
    auto const wide = t.converted_to(dtype::f64);
    auto out = tensor::uninitialized(dtype::field61, t.dims());
    auto const to = out.mutable_data<field61>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = field61::from_real(wide.data<double>()[i]);
    return out;
}

GSUB_LAZY_BODY void evaluate_node(dialect const& d, eval_table table, std::uint16_t row, op_call_args& args,
                                  evaluate_options const& options) {
    auto const& e = table[row];
    if (e.move && e.uninterpreted_in_field && args.scalar == dtype::field61) return detail::run_uninterpreted(args);
    if (e.move) return e.move(args);
    if (!e.run) return detail::run_by_decomposition(d, table, row, args, options);
    if (is_integer(args.scalar) || args.scalar == dtype::boolean) {
        if (!e.integers || args.scalar == dtype::boolean)
            throw error{problem{error_code::unsupported,
                                {},
                                std::string{args.op->name},
                                fmt::format("element type {} is not supported", to_string(args.scalar)),
                                {}}};
        return e.run(args);
    }
    if (args.scalar == dtype::field61 && !e.any_scalar && scalar_traits<field61>::provides < args.op->needs)
        return detail::run_uninterpreted(args);
    // f16 and bf16 are computed in float and rounded once.
    std::vector<tensor> widened;
    widened.reserve(args.operands.size());
    std::vector<tensor const*> operands(args.operands.begin(), args.operands.end());
    for (auto& t : operands)
        if (t && is_floating(t->element()) && t->element() != args.scalar)
            t = &widened.emplace_back(t->converted_to(args.scalar));
    std::vector<tensor> results;
    small_vector<dtype, 4> stored;
    for (auto& r : args.results) {
        stored.push_back(r.element());
        auto const computed = is_floating(r.element()) ? args.scalar : r.element();
        results.push_back(computed == r.element() ? std::move(r) : tensor::uninitialized(computed, r.dims()));
    }
    auto inner = args;
    inner.operands = as_span(operands);
    inner.results = {results.data(), results.size()};
    if (e.fast && options.fast_kernels && args.scalar != dtype::field61)
        e.fast(inner);
    else
        e.run(inner);
    for (std::size_t i = 0; i < results.size(); ++i) args.results[i] = results[i].converted_to(stored[i]);
}

namespace detail {
GSUB_LAZY void append_not_computable(std::vector<problem>& found, any_graph const& g, eval_table table,
                                     bool has_branches, std::span<node_id const> computed_elsewhere = {}) {
    for (auto n : g.order()) {
        if (g.is<ops::constant>(n) || n == g.return_node()) continue;
        if (std::find(computed_elsewhere.begin(), computed_elsewhere.end(), n) != computed_elsewhere.end()) continue;
        auto const row = g.row(n);
        if (g.is<ops::input>(n)) {
            for (auto const& foreign : g.info().foreign_types)
                if (foreign.first == g.name({n, 0}))
                    found.push_back({error_code::unsupported,
                                     foreign.first,
                                     {},
                                     "an input that is no tensor of a type that gsub computes with",
                                     {}});
        } else if (g.is<ops::opaque>(n)) {
            auto const& a = g.attributes<ops::opaque>(n);
            auto op = a.domain.empty() ? a.op_type : fmt::format("{}.{}", a.domain, a.op_type);
            for (auto const& [domain, opset] : g.info().domains)
                if (domain == a.domain) op += fmt::format("-{}", opset);
            found.push_back({error_code::unsupported, g.display_name(n), std::move(op),
                             a.reason.empty() ? "gsub does not know this operator" : a.reason,
                             "gsub ops lists the operators"});
        } else if (g.is<ops::if_else>(n)) {
            if (!has_branches)
                found.push_back({error_code::unsupported, g.display_name(n), std::string{g.op(n).name},
                                 "its branches are functions of a module", "use gsub::evaluate_module"});
        } else if (!table[row].move && !table[row].run && !g.operators().infer[row].build) {
            found.push_back({error_code::unsupported,
                             g.display_name(n),
                             std::string{g.op(n).name},
                             "no gsub::evaluate for this operator",
                             {}});
        }
    }
}

GSUB_LAZY std::vector<problem> not_computable(any_graph const& g, branch_map const& branches, eval_table table) {
    std::vector<problem> found;
    append_not_computable(found, g, table, true);
    for (auto const& [name, body] : branches) append_not_computable(found, body, table, true);
    return found;
}

GSUB_LAZY std::vector<tensor> evaluate_with(any_graph const& g, branch_map const* branches, eval_table table,
                                            std::span<tensor const> inputs, evaluate_options const& options) {
    GSUB_ASSERT(table.size() == g.operators().ops.size(),
                "evaluate_graph needs the table of the graph's own set of operators");
    if (auto missing = branches ? not_computable(g, *branches, table) : gsub::not_computable(g, table);
        !missing.empty())
        throw error{std::move(missing)};
    if (inputs.size() != g.inputs().size())
        throw error{error_code::usage,
                    fmt::format("{} inputs were given; the graph takes {}", inputs.size(), g.inputs().size())};
    return evaluator<>{g, table, options, branches}.run(inputs);
}
} // namespace detail

GSUB_LAZY_BODY std::vector<problem> not_computable(any_graph const& g, eval_table table,
                                                   std::span<node_id const> computed_elsewhere) {
    std::vector<problem> found;
    detail::append_not_computable(found, g, table, false, computed_elsewhere);
    return found;
}

GSUB_LAZY_BODY std::vector<problem> not_computable(module const& m, eval_table table, std::string_view entry) {
    auto const g = m.inlined(entry).value();
    return detail::not_computable(g, m.branches(g).value(), table);
}

GSUB_LAZY_BODY result<std::vector<tensor>> evaluate_module(module const& m, eval_table table,
                                                           std::span<tensor const> inputs,
                                                           evaluate_options const& options, std::string_view entry) {
    return capture([&] {
        auto const g = m.inlined(entry).value();
        auto const branches = m.branches(g).value();
        return detail::evaluate_with(g, &branches, table, inputs, options);
    });
}

GSUB_LAZY_BODY result<std::vector<tensor>>
evaluate_graph(any_graph const& g, eval_table table, std::span<tensor const> inputs, evaluate_options const& options) {
    return capture([&] { return detail::evaluate_with(g, nullptr, table, inputs, options); });
}

GSUB_LAZY_BODY std::vector<tensor> random_inputs(any_graph const& g, std::uint64_t seed) {
    std::vector<tensor> inputs;
    random_stream const root{seed};
    for (auto n : g.inputs()) {
        auto const& type = g.type({n, 0});
        ints dims;
        for (auto d : type.dims) dims.push_back(d.fixed() ? d.size() : 1);
        auto t = tensor::uninitialized(type.element == dtype::undefined ? dtype::f32 : type.element, dims);
        fill_random(t, root.split(inputs.size()));
        inputs.push_back(std::move(t));
    }
    return inputs;
}

} // namespace gsub
