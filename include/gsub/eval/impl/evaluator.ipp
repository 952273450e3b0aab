#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/builder.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gsub::detail {

// The element type that a value has while it is computed with.
GSUB_LAZY dtype storage_type(dtype declared, precision p) {
    if (!is_floating(declared) || p == precision::native) return declared;
    return p == precision::f64 ? dtype::f64 : dtype::field61;
}

// Memory that the process can have: that of the machine, or what the system's limits leave.
GSUB_LAZY std::uint64_t process_memory() {
    auto const pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
    auto bytes = pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size)
                                       : ~std::uint64_t{0};
    for (auto const what : {RLIMIT_AS, RLIMIT_DATA})
        if (::rlimit r{}; ::getrlimit(what, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
            bytes = std::min<std::uint64_t>(bytes, r.rlim_cur);
    return bytes;
}

GSUB_LAZY error fault_of(any_graph const& g, node_id n, error_id id, std::string reason) {
    return error{problem{id, g.display_name(n), std::string{g.op(n).name}, std::move(reason), {}}};
}

/// Bytes of the results of a graph's nodes, as far as types tell them, against what is allowed.
template <class = void>
class result_sizes {
public:
    result_sizes(any_graph const& g, evaluate_options const& options) : g_(g), options_(options) {}

    // Refuses a result that is too large by itself.
    std::uint64_t checked_bytes(node_id n, tensor_type const& t) const {
        auto const count = t.elements();
        auto const each = std::max<std::size_t>(byte_size(storage_type(t.element, options_.compute)), 1);
        if (!count || static_cast<std::uint64_t>(*count) > options_.max_bytes / each)
            throw fault_of(
                g_, n, errors::memory_limit,
                format_text("a result of type {} exceeds the limit of {} bytes", to_string(t), options_.max_bytes));
        return static_cast<std::uint64_t>(*count) * each;
    }

    // Refuses what cannot end well before anything is computed.
    void check(std::vector<std::size_t> left) const { // the uses of each node
        auto const limit = process_memory();
        std::vector<std::uint64_t> bytes(g_.capacity(), 0);
        std::uint64_t live = 0;
        for (auto n : g_.order()) {
            if (n == g_.return_node()) break;
            auto& own = bytes[n.index];
            own = known_bytes(n);
            live += std::min(own, ~std::uint64_t{0} - live);
            if (live > limit)
                throw fault_of(
                    g_, n, errors::memory_limit,
                    format_text("results that are needed at one time take {} bytes; the limit is {}", live, limit));
            for (auto v : g_.operands(n))
                if (v.valid() && --left[v.node.index] == 0) live -= bytes[v.node.index];
            if (left[n.index] == 0) live -= own;
        }
    }

private:
    // Bytes of a node's results that take memory of their own, as far as the graph knows them.
    std::uint64_t known_bytes(node_id n) const {
        if (g_.is<ops::input>(n) || g_.is<ops::constant>(n)) return 0;
        std::uint64_t sum = 0;
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
            if (auto const& t = g_.type({n, port}); t.is_static()) sum += checked_bytes(n, t);
        return sum;
    }

    any_graph const& g_;
    evaluate_options const& options_;
};

/// Runs one graph. Keeps each value until its last use.
template <class = void>
class evaluator {
public:
    evaluator(any_graph const& g, eval_table table, evaluate_options const& options,
              branch_functions const* branches = nullptr, std::size_t depth = 0)
        : g_(g),
          table_(table),
          options_(options),
          branches_(branches),
          depth_(depth),
          sizes_(g, options),
          values_(g.capacity()),
          uses_left_(g.capacity(), 0) {}

    std::vector<tensor> run(std::span<tensor const> inputs) {
        for (auto n : g_.order())
            for (auto v : g_.operands(n))
                if (v.valid()) ++uses_left_[v.node.index];
        sizes_.check(uses_left_);
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
            throw error{problem{errors::given_inputs, g_.display_name(n), "input", std::move(reason), {}}};
        };
        if (!compatible(type, declared))
            refuse(format_text("a tensor of type {} was given; the graph takes {}", to_string(t.type()),
                               to_string(declared)));
        for (std::size_t i = 0; i < declared.dims.size(); ++i) {
            if (!declared.dims[i].named()) continue;
            auto const name = declared.dims[i].name().text();
            if (auto const size = size_named(name, t.dims()[i]); size != t.dims()[i])
                refuse(format_text("dimension {} is {} here and {} in an input before; equal names are equal sizes",
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
            throw fault(n, errors::ill_typed,
                        format_text("a condition of type {}; it takes one truth value", to_string(condition.type())));
        if (depth_ >= max_branch_depth)
            throw fault(n, error_code::unsupported,
                        format_text("branches are nested more than {} deep", max_branch_depth));
        auto const& body = branches_->at(condition.template data<bool>()[0] ? a.then_branch : a.else_branch);
        if (body.inputs().size() + 1 != operands.size() || body.output_count() != g_.result_count(n))
            throw fault(n, errors::function_call, "the branch has another number of operands or results");
        std::vector<tensor> inputs;
        for (std::size_t i = 1; i < operands.size(); ++i) inputs.push_back(at(operands[i]));
        auto inner = options_;
        inner.round_outputs = false;
        inner.into = {};
        inner.on_node = nullptr;
        results = evaluator<>{body, table_, inner, branches_, depth_ + 1}.run(as_span(inputs));
        for (std::uint32_t port = 0; port < results.size(); ++port) {
            auto const declared = g_.type({n, port});
            auto type = results[port].type();
            if (storage_type(declared.element, options_.compute) == type.element) type.element = declared.element;
            if (!compatible(type, declared))
                throw fault(
                    n, errors::declared_result,
                    format_text("its result is {}, the graph declares {}", to_string(type), to_string(declared)));
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
        auto const decides = table_[g_.row(n)].decides_sizes;
        for (auto const& t : types) {
            if (decides) {
                results.emplace_back();
                continue;
            }
            static_cast<void>(sizes_.checked_bytes(n, t));
            results.push_back(memory_for({n, static_cast<std::uint32_t>(results.size())},
                                         storage_type(t.element, options_.compute), t.sizes()));
        }
        op_call_args args{&g_.op(n),         g_.attributes(n),
                          as_span(tensors),  {results.data(), results.size()},
                          as_span(declared), scalar_of(n, as_span(declared), as_span(types)),
                          threads_,          options_.max_bytes};
        try {
            evaluate_node(g_.operators(), table_, g_.row(n), args, options_);
        } catch (error const& e) { throw e.within(format_text("node \"{}\"", g_.display_name(n))); }
        for (std::uint32_t port = 0; decides && port < types.size(); ++port) {
            auto type = results[port].type();
            type.element = types[port].element;
            auto wanted = g_.type({n, port});
            wanted.layout = {};
            if (!compatible(type, types[port]) || !compatible(type, wanted))
                throw fault(n, errors::declared_result,
                            format_text("its result is {}, the graph declares {}", to_string(type), to_string(wanted)));
        }
        for (std::uint32_t port = 0; port < types.size(); ++port)
            if (g_.type({n, port}).element == dtype::undefined) found_types_[{n, port}] = types[port].element;
        for (auto v : operands)
            if (v.valid() && --uses_left_[v.node.index] == 0) values_[v.node.index].clear();
    }

    // Memory of an output that has some, else new memory.
    tensor memory_for(value_id v, dtype element, std::span<std::int64_t const> dims) const {
        for (std::size_t i = 0; i < std::min(options_.into.size(), g_.output_count()); ++i) {
            auto& given = options_.into[i];
            if (g_.output(i) == v && given.element() == element && std::ranges::equal(given.dims(), dims))
                return std::exchange(given, {});
        }
        return tensor::uninitialized(element, dims);
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
        if (cx.failed()) throw fault(n, errors::ill_typed, cx.reason());
        for (std::size_t port = 0; port < types.size(); ++port) {
            auto declared_type = std::exchange(types[port], cx.result_type(port));
            declared_type.layout = types[port].layout = {}; // tensors are row-major here
            if (auto* const dims = table_[g_.row(n)].result_dims; dims && !types[port].is_static())
                if (auto const found = dims(tensors))
                    types[port] = {types[port].element, std::span<std::int64_t const>{*found}};
            if (!types[port].is_static() && !table_[g_.row(n)].decides_sizes)
                throw fault(n, error_code::unsupported, "its result has no size that is known before it runs");
            if (!compatible(types[port], declared_type))
                throw fault(n, errors::declared_result,
                            format_text("its result is {}, the graph declares {}", to_string(types[port]),
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

    error fault(node_id n, error_id id, std::string reason) const { return fault_of(g_, n, id, std::move(reason)); }

    any_graph const& g_;
    eval_table table_;
    evaluate_options const& options_;
    branch_functions const* branches_;
    std::size_t depth_;
    result_sizes<> sizes_;
    std::vector<std::vector<tensor>> values_; // by node
    std::vector<std::size_t> uses_left_;
    std::unordered_map<std::string_view, std::uint32_t> size_places_;
    std::vector<std::int64_t> named_sizes_; // of the inputs seen so far
    std::map<value_id, dtype> found_types_; // of values whose type the graph does not know
    executor* threads_ = nullptr;
};

} // namespace gsub::detail
