// machine_lowering: kernel IR to machine instructions on values without registers.
#pragma once

#include <gsub/codegen/x86/impl/kernel_renaming.hpp>
#include <gsub/codegen/x86/impl/vector_lowering.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
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
    /// `masks`: whether there are mask registers, and arithmetic that takes one element of memory for all lanes;
    /// `converts`: whether an instruction makes numbers of integers of 64 bits; `halves`: whether some read and write
    /// numbers of f16.
    machine_lowering(kernel const& k, bool masks, bool converts = false, bool halves = false)
        : vector_lowering<>(k, masks, converts, halves) {}

    machine_function run() {
        auto const table = at_.new_integer(!k_.fallback.empty());
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
        bounds_.clear();
        if (&statements == &k_.fallback)
            for (std::size_t i = 0; i < parameters_.size(); ++i) {
                at_.define(k_.fallback_parameters[i], parameters_[i]);
                at_.make_pointers(k_.fallback_parameters[i], statements.data(), statements.data() + statements.size());
            }
        lower(statements);
    }

    // How a turn ends: what is counted, by how much, and to before which value or number.
    struct loop_turn {
        variable var = -1;
        std::int32_t counter = -1, end = -1;
        std::int64_t number = 0, step = 1;
        std::int32_t top = -1, exit = -1; // labels
    };

    using vector_lowering<>::lower;
    void lower(std::vector<statement> const& statements, loop_turn const* turn = nullptr) {
        auto const known = at_.enter();
        auto const divided = quotients_.size(), compared = conditions_.size();
        for (auto const& s : statements) switch (s.kind) {
            case statement_kind::block:
                block(s.code);
                keep_choices(s, &s + 1, statements.data() + statements.size());
                break;
            case statement_kind::fused_index:
                fused_index(s, &s + 1, statements.data() + statements.size());
                break;
            case statement_kind::chosen_index:
                chosen_index(s);
                break;
            case statement_kind::branch:
                branch(s, &s == &statements.back() ? turn : nullptr);
                break;
            case statement_kind::guard:
                guard(s);
                break;
            case statement_kind::loop:
                loop(s);
                break;
            }
        quotients_.resize(divided), conditions_.resize(compared);
        at_.leave(known);
    }

    // ---- control

    void fused_index(statement const& s, statement const* next, statement const* end) {
        at_.define(s.var, index_of(s));
        bounds_[s.var] = s.extent;
        at_.make_pointers(s.var, next, end);
    }
    void chosen_index(statement const& s) {
        auto const known = at_.enter();
        at_.define(s.var, at_.chosen_entry(s.code[0], s.extent, s.status));
        bounds_[s.var] = s.extent;
        at_.make_pointers(s.var, s.body.data(), s.body.data() + s.body.size());
        lower(s.body);
        at_.leave(known);
    }
    // of / divisor % extent. A remainder by no power of two is what two quotients differ by.
    std::int32_t index_of(statement const& s) {
        if (s.extent == 1) return at_.value_of(0);
        auto const value = quotient(s.of, s.divisor);
        if (auto const of = bounds_.find(s.of); of != bounds_.end() && (of->second - 1) / s.divisor < s.extent)
            return value;
        if (std::has_single_bit(static_cast<std::uint64_t>(s.extent))) {
            auto const made = at_.new_integer();
            at_.add({.op = machine_op::remainder, .result = made, .operands = {value, -1, -1}, .immediate = s.extent});
            return made;
        }
        auto const made = at_.new_integer();
        at_.move(made, value);
        at_.add_to(made, quotient(s.of, s.divisor * s.extent), -s.extent);
        return made;
    }
    // The quotient of a variable, computed once where it is known.
    std::int32_t quotient(variable of, std::int64_t by) {
        auto const value = at_.known_value(of);
        if (by == 1) return value;
        for (auto const& q : quotients_)
            if (q.of == value && q.by == by) return q.result;
        auto const made = at_.new_integer();
        at_.add({.op = machine_op::divide, .result = made, .operands = {value, -1, -1}, .immediate = by});
        quotients_.push_back({value, by, made});
        return made;
    }

    // `turn`: of the loop whose last statement the branch is. Each side ends it itself, so that one side need not jump
    // to the end of the other.
    void branch(statement const& s, loop_turn const* turn) {
        auto const otherwise = new_label(), end = new_label();
        unless(s.conditions, otherwise);
        auto const first = made_.code.size();
        lower(s.body);
        if (!s.otherwise.empty()) {
            if (turn) end_turn(*turn);
            at_.add({.op = machine_op::jump, .label = turn ? turn->exit : end});
        }
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
        auto const from = own ? none : number_of(s.begin, none), to = own ? none : number_of(s.end, none);
        auto const turns = turns_of(s, k_.parallel);
        auto const known_turns = turns >= 0;
        if (turns == 0) return;
        auto const counter = at_.new_integer();
        if (from == none)
            at_.move(counter, own ? first_ : value_of(s.begin, machine_op::greatest));
        else if (!known_turns)
            at_.set(counter, from);
        auto const end = to != none ? -1 : own ? last_ : value_of(s.end, machine_op::least);
        loop_turn turn{s.var, counter, end, to, 1, new_label(), new_label()};
        if (!known_turns) jump(machine_op::jump_if_not_less, turn, turn.exit);
        auto const known = at_.enter();
        at_.define(s.var, counter);
        bounds_[s.var] = own ? k_.parallel_extent : to != none ? to : std::numeric_limits<std::int64_t>::max();
        make_pointers(s, turns, from, turn);
        if (known_turns && turn.counter == counter) at_.set(counter, from);
        auto const first = made_.code.size();
        at_.add({.op = machine_op::label, .label = turn.top, .immediate = 1});
        auto const again = !known_turns || turns > 1;
        lower(s.body, again ? &turn : nullptr);
        if (again) end_turn(turn);
        made_.loops.emplace_back(first, made_.code.size() - 1);
        note(s, first, false);
        place_label(turn.exit);
        at_.leave(known);
    }
    // Innermost loops whose variable is in addresses alone count the bytes by which these advance.
    void make_pointers(statement const& s, std::int64_t turns, std::int64_t from, loop_turn& turn) {
        auto const *const first = s.body.data(), *const last = first + s.body.size();
        if (turns < 2 || !is_block_list(s.body))
            return at_.make_pointers(s.var, first, last, from == none ? std::nullopt : std::optional{from});
        auto const [index, bytes] = at_.make_indices(s.var, first, last, from);
        if (index < 0) return;
        turn.counter = index, turn.step = bytes, turn.number *= bytes;
    }
    static bool is_block_list(std::vector<statement> const& statements) {
        return std::ranges::all_of(statements, [](auto const& s) {
            return s.kind == statement_kind::block &&
                   std::ranges::all_of(s.code, [](auto const& i) { return i.predicate.empty(); });
        });
    }
    void jump(machine_op op, loop_turn const& of, std::int32_t label) {
        at_.add({.op = op, .operands = {of.counter, of.end, -1}, .label = label, .immediate = of.number});
    }
    // Counts, and goes to the next turn where there is one.
    void end_turn(loop_turn const& of) {
        at_.advance(of.var);
        at_.add_to(of.counter, of.step);
        jump(machine_op::jump_if_less, of, of.top);
    }

    static constexpr auto none = std::numeric_limits<std::int64_t>::min(); // no number
    struct known_quotient {
        std::int32_t of = -1;
        std::int64_t by = 1;
        std::int32_t result = -1;
    };
    std::vector<known_quotient> quotients_;
    std::map<variable, std::int64_t> bounds_; // above the values of variables
    std::int32_t first_ = -1, last_ = -1, fallback_ = -1;
    std::vector<std::int32_t> parameters_;
};

} // namespace gsub::codegen::detail
