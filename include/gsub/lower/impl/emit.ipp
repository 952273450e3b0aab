#pragma once

#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/format.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/emit.hpp>
#include <gsub/lower/impl/weight_packer.ipp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

template <class = void>
class program_emitter {
public:
    program_emitter(kernel_graph g, isa const& isa) : g_(std::move(g)), isa_(isa), value_of_(g_.values.size(), -1) {}

    result<runtime::program> run(executor* threads) {
        if (auto found = check(g_); !found.empty()) return error{std::move(found)};
        uses_.assign(g_.values.size(), 0);
        for (auto const& op : g_.ops)
            for (auto const& o : op.operands) ++uses_[index(o.value)];
        // Whole values before their pieces.
        for (auto const pieces : {false, true})
            for (std::size_t v = 0; v < g_.values.size(); ++v)
                if (auto& value = g_.values[v];
                    value.role != runtime::memory_role::constant && (value.part_of >= 0) == pieces)
                    add_value(v, value);
        for (auto& op : g_.ops) add_step(op);
        made_.inputs = std::move(g_.inputs), made_.outputs = std::move(g_.results);
        made_.input_names = std::move(g_.input_names), made_.output_names = std::move(g_.output_names);
        packer_.run(made_, threads);
        return std::move(made_);
    }

private:
    static std::size_t index(kernel_value_id v) noexcept { return static_cast<std::size_t>(v); }

    std::int32_t add(runtime::program_value v) {
        made_.values.push_back(std::move(v));
        return static_cast<std::int32_t>(made_.values.size() - 1);
    }
    void add_value(std::size_t v, kernel_value const& value) {
        runtime::program_value stored{runtime::on_host(value.role), value.bytes, value.position};
        stored.open = !value.type.is_static();
        if (value.part_of >= 0) stored.part_of = value_of_[index(value.part_of)], stored.offset = value.offset;
        value_of_[v] = add(std::move(stored));
    }
    std::int32_t value(kernel_value_id v) {
        auto& number = value_of_[index(v)];
        if (number >= 0) return number;
        auto const& data = g_.values[index(v)].data;
        if (data.element() == dtype::undefined && g_.values[index(v)].bytes > 0)
            throw error{error_code::usage, format_text("constant %{} has no elements", v)};
        return number = add({runtime::on_host(runtime::memory_role::constant), data.size_bytes(), 0, data});
    }
    // Kernels that read weights in one order share them: an unrolled network reads its matrices once a step, and one
    // copy of them stays in a cache.
    std::int32_t packed(kernel_op const& op, kernel_operand& o, bool second) {
        auto& of = g_.values[index(o.value)];
        if (of.data.element() == dtype::undefined)
            throw error{error_code::usage, format_text("weights %{} have no elements", o.value)};
        auto const alone = uses_[index(o.value)] == 1;
        auto order = weight_order::of(op, second, std::move(*o.packing));
        auto* const known = alone ? nullptr : &packed_.try_emplace({o.value, order.text()}, -1).first->second;
        if (known && *known >= 0) return *known;
        auto const made = add({runtime::on_host(runtime::memory_role::constant)});
        if (known) *known = made;
        packer_.add(made, std::move(order), alone ? std::exchange(of.data, tensor{}) : of.data, isa_);
        return made;
    }

    void add_step(kernel_op& op) {
        runtime::program_step s;
        auto seen_weights = false;
        for (auto& o : op.operands)
            s.values.push_back(o.packing ? packed(op, o, std::exchange(seen_weights, true)) : value(o.value));
        for (auto const r : op.results) s.values.push_back(value(r));
        for (auto const& n : op.covers) s.name += format_text("{}{}", s.name.empty() ? "" : " + ", n.name);
        if (op.covers.empty()) s.name = op.moves;
        if (auto* const d = std::get_if<kernels::descriptor>(&op.computes)) {
            s.operations = kernels::operations_of(*d);
            auto const nest = kernels::nest_of(*d, *op.schedule, isa_);
            check_buffers(op, s, nest);
            auto call = kernel(nest, kernels::kind_of(*d));
            call.checks = !kernels::chosen_by(*d).empty();
            call.computes = std::move(*d);
            s.what = std::move(call);
        } else if (auto* const own = std::get_if<custom_kernel>(&op.computes)) {
            if (!own->nest) refuse_without_function(op);
            s.operations = own->operations;
            auto const nest = own->nest(*op.schedule, isa_);
            check_buffers(op, s, nest);
            s.what = kernel(nest, own->name);
        } else if (auto* const copy = std::get_if<runtime::copy_call>(&op.computes)) {
            s.what = std::move(*copy);
        } else if (auto* const external = std::get_if<runtime::external_call>(&op.computes)) {
            if (!external->host) refuse_without_function(op);
            s.what = std::move(*external);
        } else {
            s.what = std::move(std::get<runtime::reference_call>(op.computes));
        }
        made_.steps.push_back(std::move(s));
    }
    // Whether the values of a step are as many and as large as what its kernel reads and writes.
    void check_buffers(kernel_op const& op, runtime::program_step const& s, loop::fused_nest const& nest) const {
        std::size_t count = 0;
        auto const wrong = [&](std::string reason) {
            auto const name = op.covers.empty() ? op.moves : op.covers.back().name;
            throw error{problem{error_code::usage, name, kind_of(op), std::move(reason), {}}};
        };
        for (auto const& b : nest.buffers()) {
            if (b.workspace) continue;
            auto const i = count++;
            if (i >= s.values.size()) continue;
            if ((i < op.operands.size()) == b.written)
                wrong(format_text("its kernel {} {}", b.written ? "writes the operand" : "does not write", b.name));
            auto const needed = static_cast<std::size_t>(b.elements()) * byte_size(b.element);
            auto const& value = made_.values[static_cast<std::size_t>(s.values[i])];
            if (value.size < needed && !(i < op.operands.size() && op.operands[i].packing))
                wrong(format_text("its kernel takes {} bytes as {}, and is given {}", needed, b.name, value.size));
        }
        if (count != s.values.size())
            wrong(format_text("its kernel takes {} arrays, and is given {}", count, s.values.size()));
    }
    [[noreturn]] static void refuse_without_function(kernel_op const& op) {
        auto const name = op.covers.empty() ? std::string{} : op.covers.front().name;
        throw error{problem{error_code::usage, name, kind_of(op), "the kernel of the application has no function", {}}};
    }
    runtime::kernel_call kernel(loop::fused_nest const& nest, std::string const& name) {
        auto k = codegen::lower(nest, name).value();
        runtime::kernel_call call;
        call.launch.positions = k.parallel < 0 ? 1 : k.parallel_extent;
        call.workspace = codegen::workspace_bytes(k);
        auto text = codegen::emit_cpp(k, "gsub_kernel");
        auto const next = static_cast<std::int32_t>(made_.kernels.size());
        auto const [found, is_new] = kernels_.emplace(std::move(text), next);
        if (is_new)
            made_.kernels.push_back({{found->first, "gsub_kernel", std::string{isa_.flags}},
                                     std::make_shared<codegen::kernel const>(std::move(k))});
        call.kernel = found->second;
        return call;
    }

    kernel_graph g_;
    isa const& isa_;
    runtime::program made_;
    weight_packer<> packer_;
    std::vector<std::int32_t> value_of_;                                     // of the program
    std::vector<std::size_t> uses_;                                          // of values
    std::map<std::pair<kernel_value_id, std::string>, std::int32_t> packed_; // weights by their orders
    std::map<std::string, std::int32_t> kernels_;                            // by their texts
};

} // namespace detail

GSUB_LAZY_BODY result<runtime::program> emit(kernel_graph g, isa const& isa, executor* threads) {
    try {
        return detail::program_emitter{std::move(g), isa}.run(threads);
    } catch (error const& e) { return e; }
}

} // namespace gsub
