#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/ir/module.hpp>

#include <algorithm>

namespace gsub {

GSUB_INLINE function const* module::find(std::string_view name) const noexcept {
    auto const found = places_.find(name);
    return found == places_.end() ? nullptr : &functions_[found->second];
}
GSUB_INLINE function* module::find(std::string_view name) noexcept {
    return const_cast<function*>(std::as_const(*this).find(name));
}

GSUB_LAZY_BODY function& module::add(std::string name, any_graph body, function_attributes attributes) {
    function f{std::move(name), std::move(attributes), std::move(body)};
    if (auto* existing = find(f.name)) return *existing = std::move(f);
    auto const place = places_.try_emplace(f.name, functions_.size()).first;
    try {
        return functions_.emplace_back(std::move(f));
    } catch (...) { // no name without a function
        places_.erase(place);
        throw;
    }
}

namespace detail {

// The branch that an `If` of known condition takes, else null.
GSUB_LAZY std::string const* known_branch(any_graph const& g, node_id n) {
    auto const condition = g.operand(n, 0).node;
    if (!g.is<ops::constant>(condition) || g.constant_data(condition).elements() != 1 ||
        g.constant_data(condition).element() != dtype::boolean)
        return nullptr;
    auto const& a = g.attributes<ops::if_else>(n);
    return g.constant_data(condition).data<bool>()[0] ? &a.then_branch : &a.else_branch;
}

// The function whose nodes stand for a node once it is inlined, or null.
GSUB_LAZY std::string const* inlined_callee(any_graph const& g, node_id n) {
    if (g.is<ops::call>(n)) return &g.attributes<ops::call>(n).callee;
    return g.is<ops::if_else>(n) ? known_branch(g, n) : nullptr;
}

// Every function that a node may call.
GSUB_LAZY void append_callees(any_graph const& g, node_id n, std::vector<std::string>& to) {
    if (auto const* callee = inlined_callee(g, n)) {
        to.push_back(*callee);
    } else if (g.is<ops::if_else>(n)) {
        to.push_back(g.attributes<ops::if_else>(n).then_branch);
        to.push_back(g.attributes<ops::if_else>(n).else_branch);
    }
}

// Functions in the order in which they can be processed, callees first. Iterative: the call depth is input.
GSUB_LAZY std::vector<function const*> callees_first(module const& m, std::span<std::string const> entries) {
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
            throw error{problem{errors::function_call,
                                std::string{caller},
                                "call",
                                format_text("function {} does not exist", quoted{name}),
                                {}}};
        if (auto const known = marks.find(f->name); known != marks.end()) {
            if (known->second == mark::open)
                throw error{problem{errors::function_call,
                                    std::string{caller},
                                    "call",
                                    format_text("function {} calls itself", quoted{name}),
                                    {}}};
            return;
        }
        marks[f->name] = mark::open;
        frame fr{f, {}, 0};
        for (auto n : f->body.order()) append_callees(f->body, n, fr.callees);
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

// Whether the operands and results of a node that calls a function fit it; throws where not. `at` is the place of the
// first operand that the function takes.
GSUB_LAZY void require_fit(any_graph const& body, node_id n, any_graph const& callee,
                           std::span<value_id const> operands, any_graph const& of_operands) {
    auto const fail = [&](std::string reason) {
        throw error{problem{errors::function_call,
                            body.display_name(n),
                            body.is<ops::call>(n) ? "call" : std::string{body.op(n).name},
                            std::move(reason),
                            {}}};
    };
    if (callee.inputs().size() != operands.size() || callee.output_count() != body.result_count(n))
        fail(format_text("{} operands and {} results; the function has {} and {}", operands.size(),
                         body.result_count(n), callee.inputs().size(), callee.output_count()));
    auto const refuse = [&](std::string_view what, std::size_t i, tensor_type const& given, tensor_type const& taken) {
        fail(format_text("{}{} has type {}; the function has {}", what, i, to_string(given), to_string(taken)));
    };
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (auto const& taken = callee.type({callee.inputs()[i], 0});
            !operands[i].valid() || !compatible(of_operands.type(operands[i]), taken))
            refuse("operand ", i, operands[i].valid() ? of_operands.type(operands[i]) : tensor_type{}, taken);
    for (std::uint32_t port = 0; port < callee.output_count(); ++port)
        if (auto const& given = body.type({n, port}); !compatible(given, callee.type(callee.output(port))))
            refuse("result ", port, given, callee.type(callee.output(port)));
}

// Appends the nodes of `body` to `to`, with its inputs standing for `arguments`; gives the values of its outputs.
// A node that calls a function of `inlined` for certain is replaced by the nodes of that; others are copied, and the
// branches of an `If` renamed as `renamed` tells. Values keep their names where `named`; those of callees do not, as a
// callee may be called twice.
GSUB_LAZY std::vector<value_id> splice(any_graph& to, any_graph const& body, std::span<value_id const> arguments,
                                       std::map<std::string_view, any_graph> const* inlined, bool named,
                                       std::map<std::string_view, std::string> const& renamed = {}) {
    graph_cloner copies{body, to, named ? cloned_text::names : cloned_text::sources};
    for (std::size_t i = 0; i < arguments.size(); ++i) copies.stand({body.inputs()[i], 0}, arguments[i]);
    for (auto n : body.order()) {
        if (n == body.return_node() || body.is<ops::input>(n)) continue;
        if (auto const* const name = inlined ? inlined_callee(body, n) : nullptr) {
            auto const operands = copies.operands(n);
            auto const& callee = inlined->at(*name);
            std::span<value_id const> passed{operands.data(), operands.size()};
            if (body.is<ops::if_else>(n)) passed = passed.subspan(1); // behind the condition
            require_fit(body, n, callee, passed, to);
            auto const results = splice(to, callee, passed, nullptr, false); // it is flat, its branches are renamed
            for (std::uint32_t port = 0; port < results.size(); ++port) {
                copies.stand({n, port}, results[port]);
                if (named && to.name(results[port]).empty()) to.set_name(results[port], body.name({n, port}));
            }
        } else {
            clone_changes changes;
            if (body.is<ops::if_else>(n) && !renamed.empty()) {
                auto named_anew = body.attributes<ops::if_else>(n);
                for (auto* branch : {&named_anew.then_branch, &named_anew.else_branch}) *branch = renamed.at(*branch);
                changes.attributes = intern<ops::if_else>(named_anew);
            }
            copies.clone(n, copies.operands(n), changes);
        }
    }
    std::vector<value_id> outputs;
    for (std::size_t i = 0; i < body.output_count(); ++i) outputs.push_back(copies(body.output(i)));
    return outputs;
}

} // namespace detail

GSUB_LAZY_BODY result<hash128> module::hash() const {
    return capture([&] {
        hasher h;
        for (auto const& entry : entries_) h.add(flattened(entry, true).hash());
        for (auto const& f : functions_)
            if (std::find(entries_.begin(), entries_.end(), f.name) != entries_.end())
                h.add(f.attributes.primitive)
                    .add(f.attributes.composite_name)
                    .add(f.attributes.compiler)
                    .add(f.attributes.symbol);
        return h.finish();
    });
}

GSUB_LAZY_BODY result<any_graph> module::inlined(std::string_view entry) const {
    return capture([&] { return flattened(entry, false); });
}

GSUB_LAZY_BODY result<branch_functions> module::branches(any_graph const& g) const {
    return capture([&] {
        branch_functions found;
        std::vector<std::string> open;
        auto const see = [&](any_graph const& body) {
            for (auto n : body.order())
                if (body.is<ops::if_else>(n)) detail::append_callees(body, n, open);
        };
        for (see(g); !open.empty();) {
            auto const name = std::move(open.back());
            open.pop_back();
            if (!found.contains(name)) see(found.emplace(name, flattened(name, false)).first->second);
        }
        return found;
    });
}

GSUB_LAZY_BODY any_graph module::flattened(std::string_view entry, bool name_branches_by_contents) const {
    std::string const name{entry};
    auto const sorted = detail::callees_first(*this, {&name, 1});
    auto const for_each_call = [](any_graph const& g, auto&& f) {
        for (auto n : g.order())
            if (auto const* callee = detail::inlined_callee(g, n)) f(*callee);
    };
    std::map<std::string_view, std::size_t> sizes, calls_left; // a callee is kept until its last call is replaced
    for (auto const* f : sorted) {
        auto& size = sizes[f->name] = f->body.size();
        for_each_call(f->body, [&](std::string_view callee) { size += sizes.at(callee), ++calls_left[callee]; });
        if (size > max_inlined_nodes)
            throw error{errors::inlined_nodes, format_text("more than {} nodes after inlining", max_inlined_nodes)};
    }
    std::map<std::string_view, any_graph> done;
    std::map<std::string_view, std::string> renamed; // by contents
    for (auto const* f : sorted) {
        if (!name_branches_by_contents && f->name != name && calls_left[f->name] == 0) continue; // a branch that stays
        any_graph flat{f->body.operators()};
        std::vector<value_id> arguments;
        for (auto n : f->body.inputs())
            arguments.push_back(flat.add_input(f->body.type_of({n, 0}), f->body.name({n, 0})));
        auto const outputs = detail::splice(flat, f->body, arguments, &done, true, renamed);
        flat.set_info(f->body.info());
        flat.set_outputs(as_span(outputs), f->body.info().output_names);
        if (name_branches_by_contents) renamed[f->name] = to_string(flat.hash());
        done.emplace(f->name, std::move(flat));
        for_each_call(f->body, [&](std::string_view callee) {
            if (--calls_left[callee] == 0) done.erase(callee);
        });
    }
    return std::move(done.at(name));
}

namespace detail {

GSUB_LAZY [[noreturn]] void call_fault(std::string_view op, std::string reason) {
    throw error{problem{errors::function_call, {}, std::string{op}, std::move(reason), {}}};
}

// The function of that name, which takes the operands.
GSUB_LAZY function const& callee_for(any_graph const& g, module const& m, std::string_view op, std::string_view callee,
                                     std::span<value_id const> operands) {
    auto const* f = m.find(callee);
    if (!f) call_fault(op, format_text("function {} does not exist", quoted{callee}));
    auto const inputs = f->body.inputs();
    if (inputs.size() != operands.size())
        call_fault(op, format_text("{} operands for {} inputs of {}", operands.size(), inputs.size(), quoted{callee}));
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (!compatible(g.type(operands[i]), f->body.type({inputs[i], 0})))
            call_fault(op, format_text("operand {} has type {}, {} takes {}", i, to_string(g.type(operands[i])),
                                       quoted{callee}, to_string(f->body.type({inputs[i], 0}))));
    return *f;
}

// The type of a value that has one of two types. *Requires* element types that do not differ.
GSUB_LAZY tensor_type either(tensor_type a, tensor_type const& b) {
    if (a.element == dtype::undefined || b.element == dtype::undefined) a.element = dtype::undefined;
    if (!a.ranked || !b.ranked || a.rank() != b.rank()) {
        a.ranked = false;
        a.dims.clear();
    }
    for (std::size_t i = 0; i < a.dims.size(); ++i)
        if (!provably_equal(a.dims[i], b.dims[i])) a.dims[i] = dim{};
    if (!(a.layout == b.layout) || !a.ranked) a.layout = {};
    return a;
}

} // namespace detail

GSUB_LAZY_BODY node_id add_call(any_graph& g, module const& m, std::string_view callee,
                                std::span<value_id const> operands) {
    auto const& f = detail::callee_for(g, m, "call", callee, operands);
    std::vector<type_id> types;
    for (std::size_t i = 0; i < f.body.output_count(); ++i) types.push_back(f.body.type_of(f.body.output(i)));
    return g.append_node(structural::call, intern<ops::call>({.callee = std::string{callee}}), 0, operands, types);
}

GSUB_LAZY_BODY node_id add_if(any_graph& g, module const& m, value_id condition, std::string_view then_branch,
                              std::string_view else_branch, std::span<value_id const> operands) {
    auto const& yes = detail::callee_for(g, m, "If", then_branch, operands).body;
    auto const& no = detail::callee_for(g, m, "If", else_branch, operands).body;
    if (yes.output_count() != no.output_count())
        detail::call_fault("If", format_text("the branches give {} and {} results; they must give as many",
                                             yes.output_count(), no.output_count()));
    auto const row = g.node_sink::row<ops::if_else>();
    auto const attributes =
        intern<ops::if_else>({.then_branch = std::string{then_branch}, .else_branch = std::string{else_branch}});
    std::vector<type_id> types;
    for (std::size_t i = 0; i < yes.output_count(); ++i) {
        auto const &a = yes.type(yes.output(i)), &b = no.type(no.output(i));
        if (a.element != b.element && a.element != dtype::undefined && b.element != dtype::undefined)
            detail::call_fault(
                "If", format_text("result {} is {} in one branch and {} in the other; element types must be equal", i,
                                  to_string(a), to_string(b)));
        types.emplace_back(detail::either(a, b));
    }
    type_id const given[] = {g.type_of(condition)};
    infer_context cx{g.operators().ops[row], attributes, given, types.size()};
    infer(g.operators(), row, cx);
    if (cx.failed()) detail::call_fault("If", cx.reason());
    std::vector<value_id> all{condition};
    all.insert(all.end(), operands.begin(), operands.end());
    return g.append_node(row, attributes, 0, all, types);
}

GSUB_LAZY_BODY bool inline_call(any_graph& g, module const& m, node_id n) {
    auto const* const name = detail::inlined_callee(g, n);
    if (!name) return false;
    auto const* callee = m.find(*name);
    if (!callee) detail::call_fault(g.op(n).name, format_text("function {} does not exist", quoted{*name}));
    auto const operands = g.operands(n);
    std::span<value_id const> passed{operands.data(), operands.size()};
    if (g.is<ops::if_else>(n)) passed = passed.subspan(1);
    detail::require_fit(g, n, callee->body, passed, g);
    auto const first_new = static_cast<std::uint32_t>(g.capacity());
    any_graph const body = callee->body; // `g` may be a body of the same module
    auto const results = detail::splice(g, body, passed, nullptr, false);
    for (auto i = first_new; i < g.capacity(); ++i)
        if (g.sources({i}).empty()) g.inherit_sources({i}, {&n, 1});
    for (std::uint32_t port = 0; port < results.size(); ++port) g.replace_uses({n, port}, results[port]);
    GSUB_ASSERT(g.restore_order(first_new), "the nodes of a function depend on its operands alone");
    g.erase_unused(n);
    return true;
}

GSUB_LAZY_BODY std::size_t inline_known_branches(module& m) {
    std::vector<std::string> names;
    for (auto const& f : m.functions()) names.push_back(f.name);
    static_cast<void>(detail::callees_first(m, names)); // none calls itself, so that this ends
    std::size_t replaced = 0;
    for (auto const& each : m.functions()) {
        auto& body = m.find(each.name)->body;
        for (bool again = true; again;) { // a branch may have its own
            again = false;
            auto const order = std::vector<node_id>(body.order().begin(), body.order().end());
            for (auto n : order)
                if (body.live(n) && body.is<ops::if_else>(n) && inline_call(body, m, n)) again = true, ++replaced;
        }
    }
    return replaced;
}

} // namespace gsub
