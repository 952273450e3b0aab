// Instance builder: draws the nodes of one pattern.
#pragma once

#include <gsub/rewrite/verify/sample.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

namespace gsub {

namespace detail {

/// Draws the nodes of one pattern.
template <class = void>
class instance_builder {
public:
    instance_builder(pattern_instance& out, std::span<sample_row const> table, rule_program const& rule,
                     chooser& choose)
        : out_(out), g_(out.graph), table_(table), rule_(rule), choose_(choose) {}

    void run() {
        std::vector<value_id> outputs;
        for (auto number : rule_.roots) {
            auto const& n = at(number);
            context_ = n.context;
            if (n.kind == pattern::node_kind::every_part) {
                auto const split = build(kid(n, 0), 0);
                for (std::uint32_t port = 0; port < g_.result_count(split.node); ++port) {
                    part_ = {split.node, port};
                    outputs.push_back(build(kid(n, 1), port));
                    out_.bindings.add_root(outputs.back());
                }
                continue;
            }
            auto const v = build(number, 0);
            for (std::uint32_t port = 0; port < g_.result_count(v.node); ++port) {
                outputs.push_back({v.node, port});
                if (!n.context) out_.bindings.add_root(outputs.back());
            }
        }
        g_.set_outputs(outputs);
    }

private:
    pattern::node const& at(std::uint16_t number) const { return rule_.match_nodes[number]; }
    std::uint16_t kid(pattern::node const& n, std::size_t i) const { return rule_.match_links[n.first_link + i]; }
    static bool is_variable(pattern::node const& n) {
        return n.kind == pattern::node_kind::variable || n.kind == pattern::node_kind::optional;
    }

    // Other terms between the two of a sum: each makes one of them a sum of the type of the whole.
    void add_terms(std::vector<value_id>& operands) {
        auto const count = choose_.exhaustive() ? choose_.below(2) : choose_.pick<std::size_t>({0, 0, 1, 2, 3});
        if (count == 0) return;
        auto const dims = broadcast(g_.type(operands[0]).dims, g_.type(operands[1]).dims);
        if (!dims) throw give_up{};
        auto whole = g_.type(operands[0]);
        whole.dims = *dims;
        for (std::size_t i = 0; i < count; ++i) {
            auto& term = operands[choose_.exhaustive() ? 0 : choose_.below(2)];
            auto type = whole;
            if (!choose_.exhaustive() && g_.type(term) == whole && type.rank() > 0 && choose_.below(2) == 1)
                type.dims[choose_.below(type.rank())] = dim{1};
            auto const other = g_.add_input(type, "other");
            term = g_.add<ops::add>(term, other);
            out_.bindings.cover(term.node);
            out_.bindings.add_addend(other);
        }
    }

    // An operand of an application: a number of the pattern, and which operand of an `each` it is.
    struct slot {
        std::uint16_t number;
        std::uint32_t index;
        std::optional<value_id> fixed; // instead of a number
    };

    value_id build(std::uint16_t number, std::uint32_t index) {
        auto const& n = at(number);
        if (n.kind == pattern::node_kind::part) return part_;
        auto const slots = slots_of(n, index);
        // Operators first: variables take their types from what stands beside them.
        sample_context cx{choose_, slots.size()};
        std::vector<value_id> operands;
        for (std::size_t i = 0; i < slots.size(); ++i) operands.push_back(operand(slots[i], i, cx));
        auto const row = choose_operator(n, slots.size(), index);
        auto const attributes = draw_attributes(row, cx);
        for (std::size_t i = 0; i < slots.size(); ++i)
            if (!operands[i].valid() && !cx.absent(i)) operands[i] = variable(slots[i], cx.type(i));
        while (!operands.empty() && !operands.back().valid()) operands.pop_back();
        if (n.apart) add_terms(operands);
        auto const results = g_.operators().ops[row].results == variadic ? cx.results : 1;
        auto const made = g_.emit(row, attributes, operands, results); // throws where it is ill-typed
        if (n.name) out_.bindings.bind(n.name, {made.node, 0}, index);
        if (!context_) out_.bindings.cover(made.node);
        return made;
    }

    std::vector<slot> slots_of(pattern::node const& n, std::uint32_t index) {
        std::vector<slot> out;
        for (std::size_t i = 0; i < n.links; ++i) {
            auto const& child = at(kid(n, i));
            if (child.kind == pattern::node_kind::each) {
                auto const count = each_count();
                for (std::uint32_t k = 0; k < count; ++k) out.push_back({kid(child, 0), k, std::nullopt});
            } else if (child.kind == pattern::node_kind::all_parts) {
                append_parts(out, build(kid(child, 0), index).node);
            } else {
                out.push_back({kid(n, i), index, std::nullopt});
            }
        }
        return out;
    }
    // The parts of a split, each once, in any order.
    void append_parts(std::vector<slot>& out, node_id split) {
        std::vector<std::uint32_t> left(g_.result_count(split));
        std::iota(left.begin(), left.end(), 0u);
        while (!left.empty()) {
            auto const which = static_cast<std::ptrdiff_t>(choose_.below(left.size()));
            out.push_back({0, 0, value_id{split, left[static_cast<std::size_t>(which)]}});
            left.erase(left.begin() + which);
        }
    }

    // The value of an operand as far as it is decided before the operator is: none for a variable that is new.
    value_id operand(slot const& s, std::size_t i, sample_context& cx) {
        if (s.fixed) {
            cx.set_type(i, g_.type(*s.fixed));
            return *s.fixed;
        }
        auto const& n = at(s.number);
        auto out = n.kind == pattern::node_kind::some ? one_of(out_.bindings.values(n.name))
                   : !is_variable(n)                  ? build(s.number, s.index)
                                                      : out_.bindings.value(n.name, s.index);
        if (out.valid()) {
            cx.set_type(i, g_.type(out));
            return out;
        }
        if (n.kind == pattern::node_kind::optional && choose_.below(2) == 1) cx.set_absent(i);
        auto const before = s.index > 0 ? out_.bindings.value(n.name, 0) : value_id{};
        if (!before.valid()) return out;
        cx.like = g_.type(before);
        // Parts may share a value: weights do.
        if (!cx.absent(i) && choose_.below(choose_.exhaustive() ? 2 : 3) == 1) {
            out = before;
            out_.bindings.bind(n.name, before, s.index);
            cx.set_type(i, *cx.like);
        }
        return out;
    }

    attributes_id draw_attributes(std::uint16_t row, sample_context& cx) {
        auto const op = g_.operators().ops[row].id;
        if (auto const same_kind = drawn_.find(op); same_kind != drawn_.end())
            cx.earlier = &same_kind->second.attributes, cx.earlier_types = same_kind->second.types;
        auto const attributes = table_[row].draw(cx);
        drawn_[op] = {attributes, {cx.types().begin(), cx.types().end()}};
        return attributes;
    }

    // A new input, or the value of a variable that the term has twice.
    value_id variable(slot const& s, tensor_type const& type) {
        auto const& n = at(s.number);
        if (auto const bound = out_.bindings.value(n.name, s.index); bound.valid()) {
            if (!(g_.type(bound) == type)) throw give_up{};
            return bound;
        }
        auto const input = g_.add_input(type, n.text);
        out_.bindings.bind(n.name, input, s.index);
        return input;
    }

    value_id one_of(small_vector<value_id, 6> const& values) {
        if (values.empty()) throw give_up{};
        return values[choose_.below(values.size())];
    }
    std::uint32_t each_count() {
        if (!each_count_)
            each_count_ =
                choose_.exhaustive() ? choose_.pick<std::uint32_t>({2, 1}) : choose_.pick<std::uint32_t>({1, 2, 2, 3});
        return *each_count_;
    }

    // An operator for a node of the pattern: its own, or one of its category; the same one for a label drawn before,
    // mostly.
    std::uint16_t choose_operator(pattern::node const& n, std::size_t operands, std::uint32_t index) {
        auto const table = g_.operators().ops;
        if (n.kind == pattern::node_kind::operation) {
            auto const row = find_row(table, n.op);
            if (!row) throw give_up{};
            return *row;
        }
        if (index > 0)
            if (auto const before = out_.bindings.value(n.name, 0); before.valid() && choose_.below(3) != 2)
                return g_.row(before.node);
        small_vector<std::uint16_t, 16> candidates;
        for (std::uint16_t row = structural_rows; row < table.size(); ++row)
            if (table[row].is_plain(n.category, operands) && table[row].max_inputs != variadic)
                candidates.push_back(row);
        if (candidates.empty()) throw give_up{};
        // The box takes a few: what the law needs of an operator is its category.
        return candidates[choose_.below(choose_.exhaustive() ? std::min<std::size_t>(candidates.size(), 3)
                                                             : candidates.size())];
    }

    pattern_instance& out_;
    any_graph& g_;
    std::span<sample_row const> table_;
    rule_program const& rule_;
    chooser& choose_;
    struct application {
        attributes_id attributes;
        std::vector<std::optional<tensor_type>> types; // of the operands
    };
    std::map<op_id, application> drawn_;
    std::optional<std::uint32_t> each_count_;
    value_id part_;
    bool context_ = false;
};

} // namespace detail

GSUB_LAZY_BODY std::unique_ptr<pattern_instance> draw_instance(dialect const& d, std::span<sample_row const> table,
                                                               rule_program const& rule, chooser& choose) {
    auto out = std::make_unique<pattern_instance>(d, rule);
    try {
        detail::instance_builder<>{*out, table, rule, choose}.run();
    } catch (detail::give_up const&) { return nullptr; } catch (error const&) {
        return nullptr;
    }
    return out;
}

} // namespace gsub
