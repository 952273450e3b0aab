#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/gradient/first_order_gradient.hpp>
#include <gsub/passes/impl/argument_list.hpp>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace gsub {

namespace passes::detail {

GSUB_LAZY std::string_view gradient_hint(any_graph const& g, node_id n) {
    if (g.is<ops::batch_norm>(n) || g.is<ops::dropout>(n)) return "simplify-inference before this pass";
    if (g.is<ops::let>(n)) return "to-graph-normal-form before this pass";
    if (g.is<ops::layout_transform>(n)) return "a graph without layouts of its own";
    if (g.is<ops::call>(n)) return "defuse-ops before this pass, or inlining";
    return {};
}

// One graph that gets gradients.
template <class = void>
class gradient_engine {
public:
    gradient_engine(any_graph& g, first_order_gradient const& asked, pass_context& cx)
        : g_(g), builder_(g), asked_(asked), cx_(cx), builtin_(builtin_gradient_rules()) {
        rules_.assign(g.operators().ops.size(), nullptr);
        for (std::size_t row = 0; row < rules_.size(); ++row) rules_[row] = find_rule(g.operators().ops[row].id);
    }

    pass_outcome run() {
        pass_outcome outcome;
        choose_sources(outcome);
        choose_outputs();
        if (sources_.empty() || summed_.empty()) {
            outcome.skip(sources_.empty() ? "nothing to differentiate by" : "no floating-point output");
            return outcome;
        }
        mark();
        take_apart();
        refuse_unknown();
        seed();
        differentiate();
        finish();
        outcome.matches = sources_.size();
        outcome.changed = true;
        return outcome;
    }

private:
    using rule = void (*)(gradient_site&);

    rule find_rule(op_id op) const {
        for (auto const& r : asked_.rules)
            if (r.op == op) return r.build;
        for (auto const& r : builtin_)
            if (r.op == op) return r.build;
        return nullptr;
    }
    bool differentiable(value_id v) const { return is_floating(g_.type(v).element); }
    // Whether a derivative may go through a value: of an unknown type too, so that its operator is asked for a rule.
    bool carries(value_id v) const { return differentiable(v) || g_.type(v).element == dtype::undefined; }

    void choose_sources(pass_outcome& outcome) {
        if (asked_.with_respect_to.empty()) {
            for (auto n : g_.inputs())
                differentiable({n, 0}) ? sources_.push_back({n, 0}) : outcome.skip("integer input");
            return;
        }
        std::unordered_map<std::string_view, value_id> named;
        for (auto n : g_.order())
            if (g_.is<ops::input>(n) || g_.is<ops::constant>(n)) named.try_emplace(g_.name({n, 0}), value_id{n, 0});
        for (auto const& wanted : asked_.with_respect_to) {
            auto const entry = named.find(wanted);
            auto const found = entry != named.end() && !wanted.empty() ? entry->second : value_id{};
            if (!found.valid()) bad_name("no input or constant", wanted);
            if (!differentiable(found)) bad_name("a gradient with respect to integers:", wanted);
            if (std::find(sources_.begin(), sources_.end(), found) == sources_.end()) sources_.push_back(found);
        }
    }
    void choose_outputs() {
        for (std::size_t i = 0; i < g_.output_count(); ++i) names_.push_back(output_name(i));
        taken_.insert(names_.begin(), names_.end());
        for (auto n : g_.inputs()) taken_.emplace(g_.name({n, 0}));
        if (asked_.of.empty()) {
            for (std::size_t i = 0; i < g_.output_count(); ++i)
                if (carries(g_.output(i))) summed_.push_back(i);
            return;
        }
        for (auto const& wanted : asked_.of) {
            auto const at = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), wanted) - names_.begin());
            if (at == names_.size()) bad_name("no output", wanted);
            if (!differentiable(g_.output(at))) bad_name("a gradient of integers:", wanted);
            if (!contains(summed_, at)) summed_.push_back(at);
        }
    }
    [[noreturn]] static void bad_name(std::string_view what, std::string_view wanted) {
        throw error{problem{error_code::usage, {}, {}, format_text("{} {}", what, quoted{wanted}), {}}};
    }
    std::string output_name(std::size_t i) const {
        auto const& declared = g_.info().output_names;
        if (i < declared.size() && !declared[i].empty()) return declared[i];
        auto const name = g_.name(g_.output(i));
        return name.empty() ? format_text("output_{}", i) : std::string{name};
    }
    std::string free_name(std::string const& stem) {
        auto name = stem;
        for (int i = 2; !taken_.insert(name).second; ++i) name = format_text("{}_{}", stem, i);
        return name;
    }

    // Which nodes depend on a source, by way of floating-point values, and lead to an output that is summed.
    void mark() {
        depends_.assign(g_.capacity(), 0);
        leads_.assign(g_.capacity(), 0);
        for (auto v : sources_) depends_[v.node.index] = 1;
        for (auto n : g_.order()) {
            if (n == g_.return_node()) continue;
            for (auto v : g_.operands(n))
                if (v.valid() && depends(v)) depends_[n.index] = 1;
        }
        for (auto i : summed_) leads_[g_.output(i).node.index] = 1;
        auto const order = g_.order();
        for (auto i = order.size(); i-- > 0;) {
            auto const n = order[i];
            if (n == g_.return_node() || !leads_[n.index] || !depends_[n.index]) continue;
            for (auto v : g_.operands(n))
                if (v.valid() && carries(v)) leads_[v.node.index] = 1;
        }
    }
    bool depends(value_id v) const { return depends_[v.node.index] && carries(v); }
    bool on_the_way(node_id n) const {
        if (!depends_[n.index] || !leads_[n.index] || n == g_.return_node()) return false;
        if (g_.is<ops::input>(n) || g_.is<ops::constant>(n)) return false;
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
            if (carries({n, port})) return true;
        return false;
    }

    // Composite operators without a rule, and activations inside of convolutions, in their parts.
    void take_apart() {
        for (bool again = true; again;) {
            again = false;
            auto const order = std::vector<node_id>(g_.order().begin(), g_.order().end());
            for (auto n : order) {
                if (!on_the_way(n)) continue;
                auto const parts = g_.operators().infer[g_.row(n)].build;
                bool done = false;
                if (g_.is<ops::conv>(n) && g_.attributes<ops::conv>(n).act != activation::none)
                    done = replace_node(g_, n, [&](node_sink& sink) { return without_activation(sink, n); });
                else if (!rules_[g_.row(n)] && parts)
                    done = replace_node(g_, n,
                                        [&](node_sink& sink) { return parts(sink, g_.attributes(n), g_.operands(n)); });
                again = again || done;
            }
            if (!again) break;
            GSUB_ASSERT(g_.sort(), "parts of an operator cannot close a cycle");
            g_.erase_dead();
            mark();
        }
    }
    value_id without_activation(node_sink& sink, node_id n) const {
        auto a = g_.attributes<ops::conv>(n);
        auto const act = a.act;
        auto const low = a.act_min, high = a.act_max;
        a.act = activation::none, a.act_min = a.act_max = 0;
        auto const y = sink.add<ops::conv>(a, std::span<value_id const>{g_.operands(n)});
        return act == activation::relu      ? sink.add<ops::relu>(y)
               : act == activation::clip    ? sink.add<ops::clip>({.min = low, .max = high}, {y})
               : act == activation::sigmoid ? sink.add<ops::sigmoid>(y)
                                            : sink.add<ops::tanh>(y);
    }
    void refuse_unknown() const {
        std::vector<problem> found;
        std::unordered_set<std::uint16_t> told;
        for (auto n : g_.order()) {
            if (!on_the_way(n)) continue;
            auto const blocked = !g_.type({n, 0}).layout.empty();
            if ((rules_[g_.row(n)] && !blocked) || !told.insert(g_.row(n)).second) continue;
            auto const& unknown = g_.is<ops::opaque>(n) ? g_.attributes<ops::opaque>(n).op_type : std::string{};
            found.push_back({errors::no_gradient, g_.display_name(n),
                             unknown.empty() ? std::string{g_.op(n).name} : unknown,
                             blocked ? "no gradient is known in this layout" : "no gradient is known of this operator",
                             std::string{gradient_hint(g_, n)}});
        }
        if (!found.empty()) throw error{std::move(found)};
    }

    void add_to(value_id v, value_id gradient) {
        auto& sum = gradients_[v.node.index];
        if (sum.empty()) sum.resize(g_.result_count(v.node), value_id{});
        sum[v.port] = sum[v.port].valid() ? builder_.add<ops::add>(sum[v.port], gradient) : gradient;
    }
    void seed() {
        last_ = static_cast<std::uint32_t>(g_.capacity());
        gradients_.resize(last_);
        for (auto i : summed_) {
            auto const y = g_.output(i);
            if (asked_.seeds)
                add_to(y, g_.add_input(g_.type_of(y), free_name(format_text("seed_{}", names_[i]))));
            else if (depends(y))
                add_to(y, gradients::filled_as(builder_, 1, y));
        }
    }
    void differentiate() {
        auto const order = std::vector<node_id>(g_.order().begin(), g_.order().end());
        small_vector<bool, 6> wanted;
        for (auto i = order.size(); i-- > 0;) {
            auto const n = order[i];
            if (n.index >= last_ || !on_the_way(n) || gradients_[n.index].empty()) continue;
            cx_.check_stop();
            wanted.clear();
            auto const operands = g_.operands(n);
            for (auto v : operands) wanted.push_back(v.valid() && depends(v));
            gradient_site site{builder_, n, gradients_[n.index], {wanted.data(), wanted.size()}};
            auto const first_new = static_cast<std::uint32_t>(g_.capacity());
            rules_[g_.row(n)](site);
            for (std::size_t k = 0; k < operands.size(); ++k)
                if (site.given(k).valid()) add_to(operands[k], site.given(k));
            for (auto k = first_new; k < g_.capacity(); ++k) g_.inherit_sources({k}, {&n, 1});
        }
    }
    void finish() {
        std::vector<value_id> outputs;
        for (std::size_t i = 0; i < g_.output_count(); ++i) outputs.push_back(g_.output(i));
        for (auto v : sources_) {
            auto const& sum = gradients_[v.node.index];
            outputs.push_back(!sum.empty() ? sum[v.port] : gradients::filled_as(builder_, 0, v));
            auto const name = g_.name(v);
            names_.push_back(free_name(
                format_text("grad_{}", name.empty() ? format_text("input_{}", names_.size()) : std::string{name})));
        }
        g_.set_outputs(outputs, names_);
        g_.erase_dead();
    }

    any_graph& g_;
    graph_builder builder_;
    first_order_gradient const& asked_;
    pass_context& cx_;
    std::vector<gradient_rule> builtin_;
    std::vector<rule> rules_; // by row
    std::vector<value_id> sources_;
    std::vector<std::size_t> summed_; // outputs
    std::unordered_set<std::string> taken_;
    std::vector<std::string> names_; // of outputs
    std::vector<char> depends_, leads_;
    std::vector<std::vector<value_id>> gradients_; // by node and port, of nodes before `last_`
    std::uint32_t last_ = 0;
};

} // namespace passes::detail

namespace passes {

GSUB_LAZY_BODY result<first_order_gradient> first_order_gradient::from_text(std::string_view text) {
    first_order_gradient out;
    while (!text.empty()) {
        auto const part = detail::next_item(text);
        if (part.empty()) continue;
        if (part == "seeds")
            out.seeds = true;
        else if (part.starts_with("of="))
            out.of.emplace_back(part.substr(3));
        else
            out.with_respect_to.emplace_back(part);
    }
    return out;
}

GSUB_LAZY_BODY result<pass_outcome> first_order_gradient::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] { return detail::gradient_engine<>{g, *this, cx}.run(); });
}

GSUB_LAZY_BODY result<pass_outcome> first_order_gradient::operator()(module& m, pass_context& cx) const {
    return capture([&] {
        auto const is_entry = [&](std::string_view f) {
            return std::find(m.entry_points().begin(), m.entry_points().end(), f) != m.entry_points().end();
        };
        auto const refuse_call = [&](function const& f, std::string_view callee) {
            if (is_entry(callee))
                throw error{problem{
                    errors::no_gradient,
                    {},
                    {},
                    format_text("function {} calls {}, whose results would change", quoted{f.name}, quoted{callee}),
                    {}}};
        };
        for (auto const& f : m.functions())
            for (auto n : f.body.order()) {
                if (f.body.is<ops::call>(n)) refuse_call(f, f.body.attributes<ops::call>(n).callee);
                if (!f.body.is<ops::if_else>(n)) continue;
                refuse_call(f, f.body.attributes<ops::if_else>(n).then_branch);
                refuse_call(f, f.body.attributes<ops::if_else>(n).else_branch);
            }
        pass_outcome sum;
        for (auto const& entry : m.entry_points()) {
            auto* const f = m.find(entry);
            if (!f) continue;
            if (!f->attributes.compiler.empty() || f->attributes.primitive) {
                sum.skip("opaque function");
                continue;
            }
            sum += (*this)(f->body, cx).value();
        }
        for (auto const& f : m.functions())
            if (!is_entry(f.name)) sum.skip("no entry function");
        return sum;
    });
}

} // namespace passes

} // namespace gsub
