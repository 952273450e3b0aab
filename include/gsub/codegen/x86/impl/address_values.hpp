// address_values: the integer values that hold addresses and indices while a kernel is lowered to machine code.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/x86/impl/machine_ir.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Values of variables and of pointers into buffers. A pointer grows term by term in the order in which variables get
/// their values, so that each part is computed where its last variable changes: outside of the loops within. In a loop
/// of its last variable it is advanced by a constant, once a turn.
template <class = void>
class address_values {
public:
    address_values(kernel const& k, machine_function& made) : k_(k), made_(made) {}

    /// Begins a function body with the values of buffers' addresses.
    void begin(std::vector<std::int32_t> bases) {
        bases_ = std::move(bases);
        pointers_.clear(), variables_.clear();
    }

    // ---- code

    machine_instruction& add(machine_instruction i) {
        made_.code.push_back(i);
        return made_.code.back();
    }
    [[nodiscard]] std::int32_t new_integer(bool in_memory = false) {
        made_.in_memory.push_back(in_memory);
        return made_.integers++;
    }
    void set(std::int32_t result, std::int64_t number) {
        add({.op = machine_op::set, .result = result, .immediate = number});
    }
    void move(std::int32_t result, std::int32_t from) {
        add({.op = machine_op::move, .result = result, .operands = {from, -1, -1}});
    }
    void add_to(std::int32_t value, std::int64_t number) {
        if (number != 0) add({.op = machine_op::add_immediate, .operands = {value, -1, -1}, .immediate = number});
    }
    void add_to(std::int32_t value, std::int32_t other, std::int64_t factor) {
        auto const term = factor == 1 ? other : new_integer();
        if (factor != 1)
            add({.op = machine_op::scale, .result = term, .operands = {other, -1, -1}, .immediate = factor});
        add({.op = machine_op::add, .operands = {value, term, -1}});
    }

    // ---- variables

    void define(variable v, std::int32_t value) { variables_.push_back({v, value}); }
    [[nodiscard]] std::int32_t known_value(variable v) const { return variables_[order_of(v)].value; }
    /// A new value of an affine expression.
    [[nodiscard]] std::int32_t value_of(affine const& a) {
        auto const made = new_integer();
        auto terms = a.terms();
        if (terms.empty() || terms[0].factor != 1) {
            set(made, a.constant());
        } else {
            move(made, known_value(terms[0].of));
            terms = terms.subspan(1);
        }
        for (auto const& t : terms) add_to(made, known_value(t.of), t.factor);
        if (!a.terms().empty() && a.terms()[0].factor == 1) add_to(made, a.constant());
        return made;
    }

    // ---- pointers

    /// The variable that is the entry which a choice gives.
    [[nodiscard]] variable choice(reg r) const { return static_cast<variable>(k_.names.size()) + r; }
    /// Where an instruction reads or writes, in elements of its buffer.
    [[nodiscard]] affine offset_of(instruction const& i) const {
        auto const chosen = i.op == opcode::load && i.operands[0] >= 0;
        return chosen ? i.offset + affine::of(choice(i.operands[0]), i.entry) : i.offset;
    }

    /// Where an element of a buffer is.
    [[nodiscard]] machine_address place(std::int32_t buffer, affine const& offset) {
        auto const size = element_size(buffer);
        auto const terms = ordered(offset);
        auto out = pointer_to(buffer, terms, terms.size());
        auto const bytes = offset.constant() * size;
        if (bytes >= std::numeric_limits<std::int32_t>::min() / 2 &&
            bytes <= std::numeric_limits<std::int32_t>::max() / 2) {
            out.displacement = static_cast<std::int32_t>(bytes);
            return out;
        }
        auto const further = sum_of(out);
        add_to(further, bytes);
        return {.base = further};
    }

    /// The entry of so many that an integer, which a broadcast reads, chooses.
    [[nodiscard]] std::int32_t chosen_entry(instruction const& from, std::int64_t entries, std::int32_t status) {
        auto const number = new_integer(), entry = new_integer();
        add({.op = machine_op::load_integer,
             .result = number,
             .immediate = static_cast<std::int64_t>(byte_size(from.type)),
             .at = place(from.buffer, from.offset)});
        add({.op = machine_op::choose_entry,
             .result = entry,
             .operands = {number, -1, -1},
             .immediate = entries,
             .at = place(status, affine{0})});
        return entry;
    }

    /// Makes the pointers whose last variable is `v`, of what statements read and write. `now`: the number that it is.
    void make_pointers(variable v, statement const* first, statement const* last,
                       std::optional<std::int64_t> now = std::nullopt) {
        now_ = now;
        each_prefix(v, first, last,
                    [&](std::int32_t buffer, auto const& terms) { pointer_to(buffer, terms, terms.size()); });
        now_ = std::nullopt;
    }
    /// Makes them for an innermost loop of `v`, which begins with the number `now`, so that those which advance alike
    /// have one index. Gives the index of the most of them and its bytes a turn; -1: there is none.
    std::pair<std::int32_t, std::int64_t> make_indices(variable v, statement const* first, statement const* last,
                                                       std::int64_t now) {
        std::map<std::int64_t, int> advancing; // pointers, by bytes a turn
        std::vector<pointer> wanted;
        each_prefix(v, first, last, [&](std::int32_t buffer, auto const& terms) {
            if (std::ranges::any_of(wanted, [&](auto const& p) { return p.buffer == buffer && p.terms == terms; }))
                return;
            wanted.push_back({buffer, {}, terms});
            ++advancing[terms.back().factor * element_size(buffer)];
        });
        std::pair<std::int32_t, std::int64_t> most{-1, 0};
        for (auto const& [bytes, count] : advancing) {
            if (bytes <= 0 || (most.first >= 0 && count <= advancing.at(most.second))) continue;
            most = {most.first < 0 ? new_integer() : most.first, bytes};
        }
        for (auto& p : wanted) {
            if (p.terms.back().factor * element_size(p.buffer) != most.second) continue;
            auto at = pointer_to(p.buffer, p.terms, p.terms.size() - 1);
            if (at.index >= 0) at = {.base = sum_of(at)};
            at.index = most.first;
            pointers_.push_back({p.buffer, at, p.terms});
        }
        if (most.first >= 0) set(most.first, now * most.second);
        make_pointers(v, first, last, now);
        return most;
    }
    /// Advances the pointers whose last variable is `v` by one turn of its loop, but for those that have an index.
    void advance(variable v) {
        for (auto const& p : pointers_)
            if (p.terms.back().of == v && p.at.index < 0)
                add_to(p.at.base, p.terms.back().factor * element_size(p.buffer));
    }

    /// What is known in a scope, and is forgotten behind it.
    struct scope {
        std::size_t variables = 0, pointers = 0;
    };
    [[nodiscard]] scope enter() const { return {variables_.size(), pointers_.size()}; }
    void leave(scope s) {
        variables_.resize(s.variables);
        pointers_.resize(s.pointers);
    }

private:
    struct known_variable {
        variable of = -1;
        std::int32_t value = -1;
    };
    struct pointer {
        std::int32_t buffer = -1;
        machine_address at{};            // without a displacement
        std::vector<affine::term> terms; // in order
    };

    [[nodiscard]] std::int64_t element_size(std::int32_t buffer) const {
        return static_cast<std::int64_t>(byte_size(k_.buffers[static_cast<std::size_t>(buffer)].element));
    }
    [[nodiscard]] std::size_t order_of(variable v) const {
        for (std::size_t i = 0; i < variables_.size(); ++i)
            if (variables_[i].of == v) return i;
        return variables_.size();
    }
    // Terms in the order in which their variables got values; those that have none yet come last.
    [[nodiscard]] std::vector<affine::term> ordered(affine const& offset) const {
        std::vector<affine::term> terms(offset.terms().begin(), offset.terms().end());
        std::stable_sort(terms.begin(), terms.end(),
                         [&](auto const& a, auto const& b) { return order_of(a.of) < order_of(b.of); });
        return terms;
    }
    [[nodiscard]] machine_address find(std::int32_t buffer, std::vector<affine::term> const& terms,
                                       std::size_t length) const {
        for (auto const& p : pointers_)
            if (p.buffer == buffer && p.terms.size() == length &&
                std::equal(p.terms.begin(), p.terms.end(), terms.begin()))
                return p.at;
        return {};
    }
    // The pointer with the first `length` terms: the longest that is known, and what it lacks.
    machine_address pointer_to(std::int32_t buffer, std::vector<affine::term> const& terms, std::size_t length) {
        auto known = length;
        machine_address at;
        while (known > 0 && (at = find(buffer, terms, known)).base < 0) --known;
        if (known == 0) at = {.base = bases_[static_cast<std::size_t>(buffer)]};
        for (; known < length; ++known) at = {.base = extended(buffer, terms, known, at)};
        return at;
    }
    // A new value of an address.
    std::int32_t sum_of(machine_address const& at) {
        auto const made = new_integer();
        move(made, at.base);
        if (at.index >= 0) add_to(made, at.index, 1);
        return made;
    }
    // A pointer with one term more than another one, which has the first `length`.
    std::int32_t extended(std::int32_t buffer, std::vector<affine::term> const& terms, std::size_t length,
                          machine_address const& from) {
        auto const bytes = terms[length].factor * element_size(buffer);
        auto const made = sum_of(from);
        if (now_ && variables_.back().of == terms[length].of)
            add_to(made, *now_ * bytes);
        else
            add_to(made, known_value(terms[length].of), bytes);
        pointers_.push_back(
            {buffer, {.base = made}, {terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(length) + 1}});
        return made;
    }
    // The terms up to that of `v` of what statements read and write.
    template <class Visit>
    void each_prefix(variable v, statement const* first, statement const* last, Visit const& visit) {
        each_access(first, last, [&](std::int32_t buffer, affine const& offset) {
            auto terms = ordered(offset);
            auto const at = std::find_if(terms.begin(), terms.end(), [&](auto const& t) { return t.of == v; });
            if (at == terms.end()) return;
            terms.erase(at + 1, terms.end());
            visit(buffer, terms);
        });
    }
    template <class Visit>
    void each_access(statement const* first, statement const* last, Visit const& visit) const {
        for (; first != last; ++first) {
            for (auto const& i : first->code)
                if (i.buffer >= 0) visit(i.buffer, offset_of(i));
            for (auto const* const list : {&first->body, &first->otherwise})
                each_access(list->data(), list->data() + list->size(), visit);
        }
    }

    kernel const& k_;
    machine_function& made_;
    std::vector<std::int32_t> bases_; // by buffer
    std::optional<std::int64_t> now_; // the number that the last variable is
    std::vector<known_variable> variables_;
    std::vector<pointer> pointers_;
};

} // namespace gsub::codegen::detail
