#pragma once

#include <gsub/core/message.hpp>
#include <gsub/ir/module.hpp>

#include <algorithm>

namespace gsub {

GSUB_INLINE function const* module::find(std::string_view name) const noexcept {
    auto const found =
        std::find_if(functions_.begin(), functions_.end(), [&](function const& f) { return f.name == name; });
    return found == functions_.end() ? nullptr : &*found;
}
GSUB_INLINE function* module::find(std::string_view name) noexcept {
    return const_cast<function*>(std::as_const(*this).find(name));
}

GSUB_INLINE function& module::add(std::string name, any_graph body, function_attributes attributes) {
    function f{std::move(name), std::move(attributes), std::move(body)};
    if (auto* existing = find(f.name)) return *existing = std::move(f);
    return functions_.emplace_back(std::move(f));
}

namespace detail {

// Functions in the order in which they can be processed, callees first. Iterative: the call depth is input.
GSUB_INLINE std::vector<function const*> callees_first(module const& m, std::span<std::string const> entries) {
    enum class mark { open, done };
    std::map<std::string_view, mark> marks;
    std::vector<function const*> sorted;
    struct frame {
        function const* f;
        std::vector<std::string> callees;
        std::size_t next = 0;
    };
    std::vector<frame> stack;
    auto const enter = [&](std::string_view name, std::string_view caller) {
        auto const* f = m.find(name);
        if (!f)
            throw error{problem{error_code::invalid_input,
                                std::string{caller},
                                "call",
                                message({"function ", in_quotes(name), " does not exist"}),
                                {}}};
        if (auto const known = marks.find(f->name); known != marks.end()) {
            if (known->second == mark::open)
                throw error{problem{error_code::invalid_input,
                                    std::string{caller},
                                    "call",
                                    message({"function ", in_quotes(name), " calls itself"}),
                                    {}}};
            return;
        }
        marks[f->name] = mark::open;
        frame fr{f, {}, 0};
        for (auto n : f->body.order())
            if (f->body.is<ops::call>(n)) fr.callees.push_back(f->body.attributes<ops::call>(n).callee);
        stack.push_back(std::move(fr));
    };
    for (auto const& entry : entries) {
        enter(entry, {});
        while (!stack.empty()) {
            auto& top = stack.back();
            if (top.next < top.callees.size()) {
                auto const callee = top.callees[top.next++];
                enter(callee, top.f->name);
            } else {
                marks[top.f->name] = mark::done;
                sorted.push_back(top.f);
                stack.pop_back();
            }
        }
    }
    return sorted;
}

// Appends the nodes of `body` to `to`, with its inputs standing for `arguments`; gives the values of its outputs.
// A call in the body is replaced by the nodes of its callee, which must be inlined already. Values keep their names
// where `named`; those of callees do not, as a callee may be called twice.
GSUB_INLINE std::vector<value_id> splice(any_graph& to, any_graph const& body, std::span<value_id const> arguments,
                                         std::map<std::string_view, any_graph> const& inlined, bool named) {
    std::map<value_id, value_id> moved;
    for (std::size_t i = 0; i < arguments.size(); ++i) moved[{body.inputs()[i], 0}] = arguments[i];
    std::vector<value_id> outputs;
    for (auto n : body.order()) {
        if (body.is<ops::input>(n)) continue;
        small_vector<value_id, 6> operands;
        for (auto v : body.operands(n)) operands.push_back(v.valid() ? moved.at(v) : v);
        if (n == body.results_node()) {
            outputs.assign(operands.begin(), operands.end());
        } else if (body.is<ops::call>(n)) {
            auto const& callee = inlined.at(body.attributes<ops::call>(n).callee);
            if (callee.inputs().size() != operands.size() || callee.output_count() != body.result_count(n))
                throw error{problem{
                    error_code::invalid_input,
                    body.display_name(n),
                    "call",
                    message({operands.size(), " operands and ", body.result_count(n), " results; the function has ",
                             callee.inputs().size(), " and ", callee.output_count()}),
                    {}}};
            auto const refuse = [&](std::string_view what, std::size_t i, tensor_type const& given,
                                    tensor_type const& taken) {
                throw error{
                    problem{error_code::invalid_input,
                            body.display_name(n),
                            "call",
                            message({what, i, " has type ", to_string(given), "; the function has ", to_string(taken)}),
                            {}}};
            };
            for (std::size_t i = 0; i < operands.size(); ++i)
                if (auto const& taken = callee.type({callee.inputs()[i], 0});
                    !operands[i].valid() || !compatible(to.type(operands[i]), taken))
                    refuse("operand ", i, operands[i].valid() ? to.type(operands[i]) : tensor_type{}, taken);
            for (std::uint32_t port = 0; port < callee.output_count(); ++port)
                if (auto const& given = body.type({n, port}); !compatible(given, callee.type(callee.output(port))))
                    refuse("result ", port, given, callee.type(callee.output(port)));
            auto const results = splice(to, callee, operands, inlined, false);
            for (std::uint32_t port = 0; port < results.size(); ++port) {
                moved[{n, port}] = results[port];
                if (named && to.name(results[port]).empty()) to.set_name(results[port], body.name({n, port}));
            }
        } else {
            small_vector<type_id, 4> types;
            for (std::uint32_t port = 0; port < body.result_count(n); ++port) types.push_back(body.type_of({n, port}));
            auto const payload =
                body.is<ops::constant>(n) || body.is<ops::opaque>(n) ? to.add_blob(body.constant_data(n)) : 0;
            auto const copy = to.append_node(body.row(n), body.attributes(n), payload, operands, types);
            to.set_sources(copy, body.sources(n));
            for (std::uint32_t port = 0; port < types.size(); ++port) {
                moved[{n, port}] = {copy, port};
                if (named) to.set_name({copy, port}, body.name({n, port}));
            }
        }
    }
    return outputs;
}

} // namespace detail

GSUB_INLINE result<hash128> module::hash() const {
    return capture([&] {
        hasher h;
        for (auto const& entry : entries_) h.add(inlined(entry).value().hash());
        for (auto const& f : functions_)
            if (std::find(entries_.begin(), entries_.end(), f.name) != entries_.end())
                h.add(f.attributes.primitive)
                    .add(f.attributes.composite_name)
                    .add(f.attributes.compiler)
                    .add(f.attributes.symbol);
        return h.finish();
    });
}

GSUB_INLINE result<any_graph> module::inlined(std::string_view entry) const {
    return capture([&] {
        std::string const name{entry};
        auto const sorted = detail::callees_first(*this, {&name, 1});
        auto const for_each_call = [](any_graph const& g, auto&& f) {
            for (auto n : g.order())
                if (g.is<ops::call>(n)) f(g.attributes<ops::call>(n).callee);
        };
        std::map<std::string_view, std::size_t> sizes, calls_left; // a callee is kept until its last call is replaced
        for (auto const* f : sorted) {
            auto& size = sizes[f->name] = f->body.size();
            for_each_call(f->body, [&](std::string_view callee) { size += sizes.at(callee), ++calls_left[callee]; });
            if (size > max_inlined_nodes)
                throw error{error_code::unsupported,
                            message({"more than ", max_inlined_nodes, " nodes after inlining"})};
        }
        std::map<std::string_view, any_graph> done;
        for (auto const* f : sorted) {
            any_graph flat{f->body.operators()};
            std::vector<value_id> arguments;
            for (auto n : f->body.inputs())
                arguments.push_back(flat.add_input(f->body.type_of({n, 0}), f->body.name({n, 0})));
            auto const outputs = detail::splice(flat, f->body, arguments, done, true);
            flat.set_info(f->body.info());
            flat.set_outputs(outputs, f->body.info().output_names);
            done.emplace(f->name, std::move(flat));
            for_each_call(f->body, [&](std::string_view callee) {
                if (--calls_left[callee] == 0) done.erase(callee);
            });
        }
        return std::move(done.at(name));
    });
}

GSUB_INLINE node_id add_call(any_graph& g, module const& m, std::string_view callee,
                             std::span<value_id const> operands) {
    auto const fail = [&](std::string reason) {
        throw error{problem{error_code::invalid_input, {}, "call", std::move(reason), {}}};
    };
    auto const* f = m.find(callee);
    if (!f) fail(message({"function ", in_quotes(callee), " does not exist"}));
    auto const inputs = f->body.inputs();
    if (inputs.size() != operands.size())
        fail(message({operands.size(), " operands for ", inputs.size(), " inputs of ", in_quotes(callee)}));
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (!compatible(g.type(operands[i]), f->body.type({inputs[i], 0})))
            fail(message({"operand ", i, " has type ", to_string(g.type(operands[i])), ", ", in_quotes(callee),
                          " takes ", to_string(f->body.type({inputs[i], 0}))}));
    std::vector<type_id> types;
    for (std::size_t i = 0; i < f->body.output_count(); ++i) types.push_back(f->body.type_of(f->body.output(i)));
    return g.append_node(4, intern<ops::call>({.callee = std::string{callee}}), 0, operands, types);
}

} // namespace gsub
