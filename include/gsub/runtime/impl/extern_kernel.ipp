#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/runtime/extern_kernel.hpp>
#include <gsub/runtime/impl/c_arguments.ipp>
#include <gsub/runtime/impl/kernel_signature.ipp>
#include <gsub/runtime/impl/user_kernel_step.ipp>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace gsub::runtime {

namespace detail {

// `app.Swish`, `Relu`.
GSUB_LAZY std::string qualified(std::string_view domain, std::string_view name) {
    return format_text("{}{}{}", domain, domain.empty() ? "" : ".", name);
}

// Copies a graph node by node.
template <class = void>
class kernel_binder {
public:
    kernel_binder(any_graph const& g, std::span<user_kernel const> kernels)
        : g_(g), made_{any_graph{g.operators()}}, builder_(made_.graph) {
        for (auto const& k : kernels) {
            auto const name = qualified(k.domain, k.op_type);
            if (k.op_type.empty() || !k.function)
                throw error{errors::user_kernel_entry,
                            format_text("a user kernel for {} has no {}", k.op_type.empty() ? "?" : name,
                                        k.op_type.empty() ? "operator" : "function")};
            if (!kernels_.emplace(std::pair{std::string_view{k.domain}, std::string_view{k.op_type}}, &k).second)
                throw error{errors::user_kernel_entry, format_text("{} has two user kernels", name)};
        }
    }

    bound_graph run() {
        for (auto n : g_.inputs()) moved_[{n, 0}] = made_.graph.add_input(g_.type_of({n, 0}), g_.name({n, 0}));
        for (auto n : g_.order()) {
            if (g_.is<ops::input>(n)) continue;
            small_vector<value_id, 6> operands;
            for (auto v : g_.operands(n)) operands.push_back(v.valid() ? moved_.at(v) : v);
            if (n == g_.return_node()) {
                made_.graph.set_outputs(operands);
                continue;
            }
            auto const* const kernel = kernel_of(n);
            auto const copy = kernel ? bind(n, operands, *kernel) : copied(n, operands);
            made_.graph.set_sources(copy, g_.sources(n));
            if (kernel && g_.sources(n).empty()) made_.graph.set_source(copy, g_.display_name(n));
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
                moved_[{n, port}] = {copy, port};
                if (auto const name = g_.name({n, port}); !name.empty()) made_.graph.set_name({copy, port}, name);
            }
        }
        made_.graph.set_info(g_.info());
        if (!problems_.empty()) throw error{std::move(problems_)};
        return std::move(made_);
    }

private:
    user_kernel const* kernel_of(node_id n) const {
        auto const& op = g_.op(n);
        auto const opaque = g_.is<ops::opaque>(n);
        if (!opaque && op.category == op_category::structural) return nullptr;
        auto const found =
            opaque ? kernels_.find({g_.attributes<ops::opaque>(n).domain, g_.attributes<ops::opaque>(n).op_type})
                   : kernels_.find({op.domain, op.name});
        return found == kernels_.end() ? nullptr : found->second;
    }

    node_id copied(node_id n, std::span<value_id const> operands) {
        if (g_.is<ops::constant>(n)) return builder_.constant(g_.constant_data(n)).node;
        auto const category = g_.op(n).category;
        auto types = types_of(n);
        // What a shape function has found out goes on.
        auto const changed = [&] {
            for (std::size_t i = 0; i < operands.size(); ++i)
                if (operands[i].valid() && made_.graph.type_of(operands[i]) != g_.type_of(g_.operand(n, i)))
                    return true;
            return false;
        };
        if (category != op_category::structural && category != op_category::opaque && changed()) {
            try {
                auto const first = builder_.emit(g_.row(n), g_.attributes(n), operands, types.size());
                return first.node;
            } catch (error const& e) {
                for (auto p : e.problems()) {
                    p.node = g_.display_name(n);
                    problems_.push_back(std::move(p));
                }
            }
        }
        return clone_node(made_.graph, g_, n, operands, cloned_text::nothing, {types, {}});
    }
    small_vector<type_id, 4> types_of(node_id n) const {
        small_vector<type_id, 4> types;
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) types.push_back(g_.type_of({n, port}));
        return types;
    }

    node_id bind(node_id n, std::span<value_id const> operands, user_kernel const& k) {
        auto const opaque = g_.is<ops::opaque>(n);
        node_label const label{g_.display_name(n), qualified(k.domain, k.op_type)};
        std::shared_ptr<c_attributes<> const> attributes;
        auto types = types_of(n);
        auto const fine = checked(label, [&] {
            if (opaque) {
                auto const blob = g_.constant_data(n).raw();
                attributes = std::make_shared<c_attributes<> const>(
                    std::string_view{reinterpret_cast<char const*>(blob.data()), blob.size()});
            } else {
                attributes = std::make_shared<c_attributes<> const>(g_.op(n), g_.attributes(n));
            }
            kernel_signature<> const signature{label, k, made_.graph, operands};
            signature.check_operands(types.size());
            signature.complete(types, *attributes);
        });
        // Opaque, so that no pass and no generator takes it for the operator that it is.
        auto const copy =
            made_.graph.add_opaque({.domain = k.domain, .op_type = k.op_type, .reason = std::string{computed_by_user}},
                                   opaque ? g_.constant_data(n) : tensor::zeros(dtype::u8, ints{0}), operands, types);
        if (fine)
            made_.steps.emplace_back(
                copy, std::make_shared<user_kernel_step<> const>(k, label, attributes, made_.graph, copy));
        return copy;
    }
    // Errors are gathered: one report names every node that is wrong.
    template <class F>
    bool checked(node_label const& label, F&& f) {
        try {
            f();
            return true;
        } catch (error const& e) {
            for (auto p : e.problems()) {
                if (p.node.empty()) p.node = label.node, p.op = label.op;
                problems_.push_back(std::move(p));
            }
        }
        return false;
    }

    any_graph const& g_;
    bound_graph made_;
    graph_builder builder_;
    std::map<std::pair<std::string_view, std::string_view>, user_kernel const*> kernels_;
    std::map<value_id, value_id> moved_;
    std::vector<problem> problems_;
};

} // namespace detail

GSUB_LAZY_BODY std::shared_ptr<host_op const> bound_graph::step_of(node_id n) const {
    auto const found =
        std::lower_bound(steps.begin(), steps.end(), n, [](auto const& s, node_id m) { return s.first < m; });
    return found == steps.end() || found->first != n ? nullptr : found->second;
}

GSUB_LAZY_BODY result<bound_graph> bind_kernels(any_graph const& g, std::span<user_kernel const> kernels) {
    return capture([&] { return detail::kernel_binder{g, kernels}.run(); });
}

} // namespace gsub::runtime
