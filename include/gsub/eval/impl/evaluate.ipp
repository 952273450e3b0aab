#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/eval/impl/evaluator.ipp>
#include <gsub/eval/impl/not_computable.ipp>
#include <gsub/eval/impl/uninterpreted.ipp>
#include <gsub/ir/builder.hpp>

#include <utility>

namespace gsub {

GSUB_INLINE tensor& op_call_args::make_result(std::size_t port, dtype element, std::span<std::int64_t const> dims) {
    auto const each = std::max<std::size_t>(byte_size(element), 1);
    if (auto const count = checked_product(dims); !count || static_cast<std::uint64_t>(*count) > max_bytes / each)
        throw error{problem{errors::memory_limit,
                            {},
                            std::string{op->name},
                            format_text("a result of type {} exceeds the limit of {} bytes",
                                        to_string(tensor_type{element, dims}), max_bytes),
                            {}}};
    return results[port] = tensor::uninitialized(element, dims);
}

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

// Truth values as the integers 0 and 1.
GSUB_LAZY void run_as_bytes(dialect const& d, eval_table table, std::uint16_t row, op_call_args& args,
                            evaluate_options const& options) {
    std::vector<tensor> bytes;
    bytes.reserve(args.operands.size());
    std::vector<tensor const*> operands(args.operands.begin(), args.operands.end());
    for (auto& t : operands)
        if (t && t->element() == dtype::boolean) t = &bytes.emplace_back(t->converted_to(dtype::u8));
    tensor result[] = {tensor::uninitialized(dtype::u8, args.results[0].dims())};
    auto inner = args;
    inner.operands = as_span(operands), inner.results = result, inner.scalar = dtype::u8;
    evaluate_node(d, table, row, inner, options);
    args.results[0] = result[0].converted_to(dtype::boolean);
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
        if (e.booleans && args.scalar == dtype::boolean) return detail::run_as_bytes(d, table, row, args, options);
        if (!e.integers || args.scalar == dtype::boolean)
            throw error{problem{errors::element_type,
                                {},
                                std::string{args.op->name},
                                format_text("element type {} is not supported", to_string(args.scalar)),
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

GSUB_LAZY std::vector<tensor> evaluate_with(any_graph const& g, branch_functions const* branches, eval_table table,
                                            std::span<tensor const> inputs, evaluate_options const& options) {
    GSUB_ASSERT(table.size() == g.operators().ops.size(),
                "evaluate_graph needs the table of the graph's own set of operators");
    if (auto missing = branches ? not_computable(g, *branches, table) : gsub::not_computable(g, table);
        !missing.empty())
        throw error{std::move(missing)};
    if (inputs.size() != g.inputs().size())
        throw error{errors::given_inputs,
                    format_text("{} inputs were given; the graph takes {}", inputs.size(), g.inputs().size())};
    return evaluator<>{g, table, options, branches}.run(inputs);
}

} // namespace detail

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
    return capture([&] { return detail::evaluate_with(g, options.branches, table, inputs, options); });
}

GSUB_LAZY_BODY std::vector<tensor> random_inputs(any_graph const& g, std::uint64_t seed) {
    std::vector<tensor> inputs;
    std::uint64_t total = 0;
    auto const limit = detail::process_memory();
    random_stream const root{seed};
    for (auto n : g.inputs()) {
        auto const& type = g.type({n, 0});
        ints dims;
        for (auto d : type.dims) dims.push_back(d.fixed() ? d.size() : 1);
        auto const element = type.element == dtype::undefined ? dtype::f32 : type.element;
        auto const count = checked_product(dims);
        auto const most = (limit - total) / std::max<std::size_t>(byte_size(element), 1);
        if (!count || static_cast<std::uint64_t>(*count) > most)
            throw error{problem{errors::memory_limit,
                                g.display_name(n),
                                "input",
                                format_text("inputs up to {} exceed the limit of {} bytes", to_string(type), limit),
                                {}}};
        total += static_cast<std::uint64_t>(*count) * byte_size(element);
        auto t = tensor::uninitialized(element, dims);
        fill_random(t, root.split(inputs.size()));
        inputs.push_back(std::move(t));
    }
    return inputs;
}

} // namespace gsub
