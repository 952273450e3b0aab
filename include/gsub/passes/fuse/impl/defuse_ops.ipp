#pragma once

#include <gsub/core/format.hpp>
#include <gsub/passes/fuse/defuse_ops.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace gsub::passes {

namespace detail {

// Functions of a module whose calls are replaced, and in which order their callers can be rewritten.
template <class = void>
class unfusion {
public:
    unfusion(module const& m) : m_(m) {
        for (auto const& f : m.functions()) {
            functions_[f.name] = &f;
            for (auto n : f.body.order())
                if (f.body.is<ops::call>(n)) ++calls_[f.body.attributes<ops::call>(n).callee];
        }
    }

    module run(pass_outcome& outcome, pass_context const& cx) {
        std::map<std::string_view, bool> entered; // true when done
        std::vector<std::pair<function const*, bool>> stack;
        for (auto const& f : m_.functions()) stack.push_back({&f, false});
        while (!stack.empty()) {
            auto const [f, callees_done] = stack.back();
            stack.pop_back();
            if (callees_done) {
                bodies_.emplace(f->name, rewritten(f->body, outcome));
                entered[f->name] = true;
                continue;
            }
            if (entered.contains(f->name)) continue;
            cx.check_stop();
            entered[f->name] = false;
            stack.push_back({f, true});
            for (auto n : f->body.order())
                if (auto const* callee = replaceable(f->body, n)) {
                    auto const known = entered.find(callee->name);
                    if (known == entered.end())
                        stack.push_back({callee, false});
                    else if (!known->second)
                        fail(f->body, n, format_text("function {} calls itself", quoted{callee->name}));
                }
        }
        module out;
        out.set_entry_points(m_.entry_points());
        auto const& entries = m_.entry_points();
        for (auto const& f : m_.functions()) {
            auto const entry = std::find(entries.begin(), entries.end(), f.name) != entries.end();
            if (primitive(f) && !entry)
                outcome.changed = true;
            else
                out.add(f.name, std::move(bodies_.at(f.name)), f.attributes);
        }
        return out;
    }

private:
    static bool primitive(function const& f) { return f.attributes.primitive && f.attributes.compiler.empty(); }
    [[noreturn]] static void fail(any_graph const& g, node_id call, std::string reason) {
        throw error{problem{errors::function_call, g.display_name(call), "call", std::move(reason), {}}};
    }
    function const* replaceable(any_graph const& g, node_id n) const {
        if (!g.is<ops::call>(n)) return nullptr;
        auto const found = functions_.find(g.attributes<ops::call>(n).callee);
        return found != functions_.end() && primitive(*found->second) ? found->second : nullptr;
    }

    any_graph rewritten(any_graph const& g, pass_outcome& outcome) {
        auto const has_calls =
            std::any_of(g.order().begin(), g.order().end(), [&](node_id n) { return replaceable(g, n); });
        if (!has_calls) return g;
        any_graph out{g.operators()};
        std::map<value_id, value_id> moved;
        for (auto n : g.inputs()) {
            auto const input = out.add_input(g.type_of({n, 0}), g.name({n, 0}));
            out.set_sources(input.node, g.sources(n));
            moved[{n, 0}] = input;
        }
        for (auto n : g.order()) {
            if (g.is<ops::input>(n)) continue;
            std::vector<value_id> operands;
            for (auto v : g.operands(n)) operands.push_back(v.valid() ? moved.at(v) : v);
            if (n == g.return_node()) {
                out.set_info(g.info());
                auto const names = g.info().output_names;
                out.set_outputs(operands, names);
            } else if (auto const* callee = replaceable(g, n)) {
                auto const results = splice(out, g, n, *callee, operands);
                for (std::uint32_t port = 0; port < results.size(); ++port) {
                    moved[{n, port}] = results[port];
                    if (auto const name = g.name({n, port}); !name.empty() && out.name(results[port]).empty())
                        out.set_name(results[port], name);
                }
                ++outcome.matches;
                outcome.changed = true;
            } else {
                auto const copy = clone_node(out, g, n, operands);
                for (std::uint32_t port = 0; port < g.result_count(n); ++port) moved[{n, port}] = {copy, port};
            }
            if (out.size() > max_inlined_nodes)
                throw error{errors::inlined_nodes, format_text("more than {} nodes after inlining", max_inlined_nodes)};
        }
        return out;
    }

    // Appends the callee's nodes; gives what stands for the call's results.
    std::vector<value_id> splice(any_graph& out, any_graph const& g, node_id call, function const& callee,
                                 std::span<value_id const> operands) const {
        auto const& body = bodies_.at(callee.name);
        auto const inputs = body.inputs();
        if (inputs.size() != operands.size() || body.output_count() != g.result_count(call))
            fail(g, call,
                 format_text("{} operands and {} results; the function has {} and {}", operands.size(),
                             g.result_count(call), inputs.size(), body.output_count()));
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (auto const& taken = body.type({inputs[i], 0});
                !operands[i].valid() || !compatible(out.type(operands[i]), taken))
                fail(g, call, format_text("operand {} does not fit; the function takes {}", i, to_string(taken)));
        for (std::uint32_t i = 0; i < body.output_count(); ++i)
            if (auto const& given = body.type(body.output(i)); !compatible(g.type({call, i}), given))
                fail(g, call,
                     format_text("result {} has type {}; the function has {}", i, to_string(g.type({call, i})),
                                 to_string(given)));
        auto const once = calls_.at(callee.name) == 1;
        graph_cloner copies{body, out, once ? cloned_text::names : cloned_text::sources};
        return copies.clone_body({operands.data(), operands.size()});
    }

    module const& m_;
    std::map<std::string_view, function const*> functions_;
    std::map<std::string, std::size_t, std::less<>> calls_;
    std::map<std::string_view, any_graph> bodies_;
};

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> defuse_ops::operator()(module& m, pass_context& cx) const {
    return capture([&] {
        pass_outcome outcome;
        auto defused = detail::unfusion{m}.run(outcome, cx);
        if (outcome.changed) m = std::move(defused);
        return outcome;
    });
}

} // namespace gsub::passes
