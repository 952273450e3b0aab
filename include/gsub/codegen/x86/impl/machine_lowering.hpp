// machine_lowering: kernel IR to machine instructions on values without registers.
#pragma once

#include <gsub/codegen/x86/impl/vector_lowering.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Lowers the statements of a kernel, its fallback behind them.
template <class = void>
class machine_lowering : vector_lowering<> {
public:
    /// `masks`: whether there are mask registers, and arithmetic that takes one element of memory for all lanes.
    machine_lowering(kernel const& k, bool masks) : vector_lowering<>(k, masks) {}

    machine_function run() {
        auto const table = at_.new_integer(true);
        at_.add({.op = machine_op::argument, .result = table, .immediate = 0});
        for (auto* const to : {&first_, &last_}) {
            *to = at_.new_integer();
            at_.add({.op = machine_op::argument, .result = *to, .immediate = to == &first_ ? 1 : 2});
        }
        fallback_ = made_.labels++;
        for (std::size_t i = 0; i < k_.fallback_parameters.size(); ++i) parameters_.push_back(at_.new_integer(true));
        define_numbers(k_.body), define_numbers(k_.fallback);
        body(k_.body, table);
        at_.add({.op = machine_op::leave});
        if (!k_.fallback.empty()) {
            at_.add({.op = machine_op::enter_fallback, .label = fallback_});
            body(k_.fallback, table);
            at_.add({.op = machine_op::leave_fallback});
            // Parameters live from the calls to the end of the fallback, which stands behind all.
        }
        return std::move(made_);
    }

private:
    void body(std::vector<statement> const& statements, std::int32_t table) {
        std::vector<std::int32_t> bases;
        std::int64_t given = 0;
        std::int64_t const workspace =
            std::count_if(k_.buffers.begin(), k_.buffers.end(), [](auto const& b) { return !b.workspace; });
        for (std::size_t i = 0; i < k_.buffers.size(); ++i) {
            auto const scratch = k_.buffers[i].workspace;
            bases.push_back(at_.new_integer());
            at_.add({.op = machine_op::load_pointer,
                     .result = bases.back(),
                     .operands = {table, -1, -1},
                     .immediate = scratch ? workspace : given++});
            if (scratch) at_.add_to(bases.back(), static_cast<std::int64_t>(workspace_offset(k_, i)));
        }
        at_.begin(std::move(bases));
        if (&statements == &k_.fallback)
            for (std::size_t i = 0; i < parameters_.size(); ++i) {
                at_.define(k_.fallback_parameters[i], parameters_[i]);
                at_.make_pointers(k_.fallback_parameters[i], statements.data(), statements.data() + statements.size());
            }
        lower(statements);
    }

    using vector_lowering<>::lower;
    void lower(std::vector<statement> const& statements) {
        auto const known = at_.enter();
        for (auto const& s : statements) switch (s.kind) {
            case statement_kind::block:
                block(s.code);
                break;
            case statement_kind::fused_index:
                fused_index(s, &s + 1, statements.data() + statements.size());
                break;
            case statement_kind::branch:
                branch(s);
                break;
            case statement_kind::guard:
                guard(s);
                break;
            case statement_kind::loop:
                loop(s);
                break;
            }
        at_.leave(known);
    }

    // ---- control

    void fused_index(statement const& s, statement const* next, statement const* end) {
        auto value = at_.known_value(s.of);
        auto const apply = [&](machine_op op, std::int64_t number) {
            if (op == machine_op::divide && number == 1) return;
            auto const made = at_.new_integer();
            at_.add({.op = op, .result = made, .operands = {value, -1, -1}, .immediate = number});
            value = made;
        };
        apply(machine_op::divide, s.divisor);
        apply(machine_op::remainder, s.extent);
        at_.define(s.var, value);
        at_.make_pointers(s.var, next, end);
    }

    void branch(statement const& s) {
        auto const otherwise = new_label(), end = new_label();
        unless(s.conditions, otherwise);
        auto const first = made_.code.size();
        lower(s.body);
        if (!s.otherwise.empty()) at_.add({.op = machine_op::jump, .label = end});
        note(s, first, false);
        place_label(otherwise);
        auto const second = made_.code.size();
        lower(s.otherwise);
        note(s, second, true);
        place_label(end);
    }
    void note(statement const& s, std::size_t first, bool otherwise) {
        if (made_.code.size() > first) made_.regions.push_back({&s, otherwise, first, made_.code.size()});
    }
    void guard(statement const& s) {
        std::vector<std::int32_t> values;
        for (auto const& a : s.arguments) values.push_back(at_.value_of(a));
        for (std::size_t i = 0; i < values.size(); ++i) at_.move(parameters_[i], values[i]);
        at_.add({.op = machine_op::call_unless_finite,
                 .operands = {vector_of(s.guarded), -1, -1},
                 .temporaries = {new_vector(), -1},
                 .label = fallback_});
    }

    // A limit as a number, or nothing.
    static std::optional<std::int64_t> number(std::vector<limit> const& limits) {
        if (limits.size() == 1 && limits[0].divisor == 1 && limits[0].value.is_constant())
            return limits[0].value.constant();
        return std::nullopt;
    }
    std::int32_t value_of(std::vector<limit> const& limits, machine_op combine) {
        std::int32_t found = -1;
        for (auto const& l : limits) {
            auto value = at_.value_of(l.value);
            if (l.divisor != 1) {
                auto const quotient = at_.new_integer();
                at_.add({.op = machine_op::ceil_divide,
                         .result = quotient,
                         .operands = {value, -1, -1},
                         .immediate = l.divisor});
                value = quotient;
            }
            if (found < 0)
                found = value;
            else
                at_.add({.op = combine, .operands = {found, value, -1}});
        }
        return found;
    }
    void loop(statement const& s) {
        auto const own = s.var == k_.parallel;
        auto const from = own ? std::optional<std::int64_t>{} : number(s.begin);
        auto const to = own ? std::optional<std::int64_t>{} : number(s.end);
        auto const known_turns = from && to;
        auto const turns = to.value_or(0) - from.value_or(0);
        if (known_turns && turns <= 0) return;
        auto const counter = at_.new_integer();
        if (from)
            at_.set(counter, *from);
        else
            at_.move(counter, own ? first_ : value_of(s.begin, machine_op::greatest));
        auto const end = to ? -1 : own ? last_ : value_of(s.end, machine_op::least);
        auto const jump = [&](machine_op op, std::int32_t label) {
            at_.add({.op = op, .operands = {counter, end, -1}, .label = label, .immediate = to.value_or(0)});
        };
        auto const top = new_label(), exit = new_label();
        if (!known_turns) jump(machine_op::jump_if_not_less, exit);
        auto const known = at_.enter();
        at_.define(s.var, counter);
        at_.make_pointers(s.var, s.body.data(), s.body.data() + s.body.size());
        auto const first = made_.code.size();
        place_label(top);
        lower(s.body);
        if (!known_turns || turns > 1) {
            at_.advance(s.var);
            at_.add_to(counter, 1);
            jump(machine_op::jump_if_less, top);
        }
        made_.loops.emplace_back(first, made_.code.size() - 1);
        note(s, first, false);
        place_label(exit);
        at_.leave(known);
    }

    std::int32_t first_ = -1, last_ = -1, fallback_ = -1;
    std::vector<std::int32_t> parameters_;
};

} // namespace gsub::codegen::detail
