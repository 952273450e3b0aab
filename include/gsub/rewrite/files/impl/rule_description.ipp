#pragma once

#include <gsub/core/format.hpp>
#include <gsub/rewrite/files/rule_description.hpp>

#include <algorithm>

namespace gsub {

namespace detail {

/// Checks one list of operators of a described rule, and says where something is wrong.
template <class = void>
class description_checker {
public:
    explicit description_checker(rule_description const& rule) : rule_(rule) {}

    void run() const {
        check_list(rule_.source, "source");
        check_list(rule_.target, "target");
        std::size_t commutative = 0;
        for (auto const& op : rule_.source) commutative += op.word->commutative;
        if (commutative > rule_limits::commutative)
            beyond("the source has {} commutative operators, and at most {} can be matched", commutative,
                   rule_limits::commutative);
        check_outputs();
        check_replaced();
        check_parts();
        check_growth(rule_.source, "source");
        check_growth(rule_.target, "target");
        check_source_is_needed();
        check_inputs_are_bound();
    }

private:
    using list = std::vector<described_operator>;

    template <class... T>
    [[noreturn]] void wrong(std::type_identity_t<text_format<T...>> form, T&&... of) const {
        throw error{errors::malformed_rule, format_text(form, std::forward<T>(of)...)}.within(rule_.name);
    }
    template <class... T>
    [[noreturn]] void beyond(std::type_identity_t<text_format<T...>> form, T&&... of) const {
        throw error{errors::rule_form, format_text(form, std::forward<T>(of)...)}.within(rule_.name);
    }

    void check_list(list const& operators, std::string_view side) const {
        if (operators.size() > rule_limits::operators)
            beyond("the {} has {} operators, and at most {} are taken", side, operators.size(), rule_limits::operators);
        for (std::size_t i = 0; i < operators.size(); ++i) {
            auto const& op = operators[i];
            if (!op.word) wrong("{} operator {} has no type", side, i);
            auto const where = format_text("{} operator {} ({})", side, i, op.word->name);
            auto const given = op.operands.size();
            if (op.word->operands > 0 ? given != op.word->operands : given == 0)
                wrong("{} has {} operands and takes {}", where, given,
                      op.word->operands > 0 ? format_text("{}", unsigned{op.word->operands}) : "at least one");
            if (given > rule_limits::operands)
                beyond("{} has {} operands, and at most {} are taken", where, given, rule_limits::operands);
            for (auto const v : op.operands) check_value(v, operators, i, where);
            check_attributes(op, where);
        }
    }

    // Whether a value may be read by operator number `reader`, or by an output of the rule.
    void check_value(described_value v, list const& operators, std::size_t reader, std::string_view where) const {
        if (v.is_input()) {
            if (v.number() >= rule_.inputs.size()) wrong("{} reads input {}, which there is not", where, v.number());
            if (v.port != 0) wrong("{} reads result {} of an input", where, v.port);
            return;
        }
        if (v.number() >= operators.size()) wrong("{} reads operator {} of {}", where, v.number(), operators.size());
        if (v.number() >= reader) wrong("{} reads operator {}, which does not stand before it", where, v.number());
        if (v.port >= operators[v.number()].results)
            wrong("{} reads result {} of operator {}, which has {}", where, v.port, v.number(),
                  operators[v.number()].results);
    }

    void check_attributes(described_operator const& op, std::string_view where) const {
        auto const law = op.word->law;
        if (law == shape_law::convolution) {
            if ((op.kernel[0] == 0) != (op.kernel[1] == 0)) wrong("{} has a kernel of one given size", where);
            for (auto const k : op.kernel) {
                if (k < 0) wrong("{} has a kernel of size {}", where, k);
                if (k > rule_limits::kernel)
                    beyond("{} has a kernel of size {}, and at most {} is taken", where, k, rule_limits::kernel);
                if (op.same_pads && k > 0 && k % 2 == 0)
                    beyond("{} keeps the size with a kernel of even size {}, whose pads are not the same on both sides",
                           where, k);
            }
            for (auto const s : op.strides) {
                if (s < 1) wrong("{} has stride {}", where, s);
                if (s > rule_limits::kernel)
                    beyond("{} has stride {}, and at most {} is taken", where, s, rule_limits::kernel);
            }
        }
        if (law == shape_law::joining || law == shape_law::parting) {
            if (op.rank < 0) wrong("{} has rank {}", where, op.rank);
            if (op.axis < 0 || (op.rank > 0 && op.axis >= op.rank))
                wrong("{} has axis {}{}", where, op.axis, op.rank > 0 ? format_text(" in rank {}", op.rank) : "");
            if (op.axis >= rule_limits::rank || op.rank > rule_limits::rank)
                beyond("{} works on more than {} dimensions", where, rule_limits::rank);
        }
        if (op.results < 1 || (law != shape_law::parting && op.results > 1))
            wrong("{} has {} results", where, op.results);
        if (op.results > rule_limits::results)
            beyond("{} has {} results, and at most {} are taken", where, op.results, rule_limits::results);
    }

    void check_replaced() const {
        std::vector<bool> replaced(rule_.source.size(), false);
        for (auto const& o : rule_.outputs) replaced[o.source.number()] = true;
        std::size_t count = 0;
        for (auto const r : replaced) count += r;
        if (count > rule_limits::replaced)
            beyond("results of more than {} operators are replaced", rule_limits::replaced);
    }
    void check_outputs() const {
        if (rule_.source.empty()) wrong("the source has no operators");
        if (rule_.outputs.empty()) wrong("no result is replaced");
        for (std::size_t i = 0; i < rule_.outputs.size(); ++i) {
            auto const& [from, to] = rule_.outputs[i];
            auto const where = format_text("output {}", i);
            check_value(from, rule_.source, rule_.source.size(), where);
            check_value(to, rule_.target, rule_.target.size(), where);
            if (from.is_input()) wrong("{} replaces an input", where);
            for (std::size_t k = 0; k < i; ++k)
                if (rule_.outputs[k].source == from) wrong("{} replaces what output {} replaces already", where, k);
        }
    }

    // A few concats of concats would make tensors that fit into no memory.
    void check_growth(list const& operators, std::string_view side) const {
        std::vector<std::size_t> joined;
        for (auto const& op : operators) {
            std::size_t sum = 0, most = 1;
            for (auto const v : op.operands) {
                auto const of = v.is_input() ? 1 : joined[v.number()];
                sum += of, most = std::max(most, of);
            }
            joined.push_back(op.word->law == shape_law::joining ? sum : most);
            if (joined.back() > rule_limits::joined)
                beyond("concats of the {} join more than {} values", side, rule_limits::joined);
        }
    }

    // Their sizes are those of what they stand for.
    void check_parts() const {
        for (std::size_t i = 0; i < rule_.target.size(); ++i) {
            if (rule_.target[i].word->law != shape_law::parting) continue;
            std::vector<bool> stands(rule_.target[i].results, false);
            for (auto const& o : rule_.outputs)
                if (!o.target.is_input() && o.target.number() == i) stands[o.target.port] = true;
            for (std::size_t port = 0; port < stands.size(); ++port)
                if (!stands[port])
                    beyond(
                        "part {} of target operator {} stands for no replaced result, so nothing says how large it is",
                        port, i);
        }
    }

    void check_source_is_needed() const {
        std::vector<bool> needed(rule_.source.size(), false);
        for (auto const& o : rule_.outputs) needed[o.source.number()] = true;
        for (auto i = rule_.source.size(); i-- > 0;) {
            if (!needed[i]) wrong("no replaced result needs source operator {}", i);
            for (auto const v : rule_.source[i].operands)
                if (!v.is_input()) needed[v.number()] = true;
        }
    }

    void check_inputs_are_bound() const {
        std::vector<bool> bound(rule_.inputs.size(), false);
        for (auto const& op : rule_.source)
            for (auto const v : op.operands)
                if (v.is_input()) bound[v.number()] = true;
        auto const check_bound = [&](described_value v) {
            if (v.is_input() && !bound[v.number()])
                wrong("the target uses {}, which the source does not bind", rule_.inputs[v.number()]);
        };
        for (auto const& op : rule_.target)
            for (auto const v : op.operands) check_bound(v);
        for (auto const& o : rule_.outputs) check_bound(o.target);
    }

    rule_description const& rule_;
};

} // namespace detail

GSUB_LAZY_BODY result<void> check(rule_description const& rule) {
    return capture([&] { detail::description_checker{rule}.run(); });
}

} // namespace gsub
