// stream_values: where the values of a machine function are, for models of pipelines: registers and reloads.
#pragma once

#include <gsub/codegen/x86/impl/placed_function.hpp>
#include <gsub/machine/instruction.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gsub::codegen::detail {

/// Values while a stream is written; see `x86_values`, whose decisions these are.
template <class = void>
class stream_values {
public:
    stream_values(placed_function const& p, std::vector<machine::instruction>& to) : p_(p), code_(to) {}

protected:
    using ids = small_vector<machine::register_id, 4>;
    using what = instruction_class;

    // Numbers of registers: vectors, masks, integers, those that are free, places of the frame.
    static constexpr machine::register_id mask = 32, integers = 34, rax = 46, rdx = 47, frame = 48;
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }
    static machine::register_id number(std::int32_t v) noexcept { return static_cast<machine::register_id>(v); }

    void emit(what w, std::int32_t bytes, ids const& defs, ids const& uses, machine::memory_operand memory = {}) {
        machine::instruction made{w, bytes, {}, uses, memory, -1};
        for (auto const r : defs) made.defs.push_back(r);
        code_.push_back(std::move(made));
    }

    // ---- integers

    [[nodiscard]] bool in_register(std::int32_t v) const { return p_.integers.registers[index(v)] >= 0; }
    [[nodiscard]] machine::register_id integer(std::int32_t v) const {
        return in_register(v) ? number(integers + p_.integers.registers[index(v)])
                              : number(frame + p_.integers.slots[index(v)]);
    }
    // The value in a register: its own, or the free one, into which it is loaded.
    machine::register_id value(std::int32_t v, machine::register_id otherwise) {
        if (in_register(v)) return integer(v);
        emit(what::load, 8, {otherwise}, {integer(v)}, {-1, 8, false});
        return otherwise;
    }
    machine::register_id result(std::int32_t v) { return in_register(v) ? integer(v) : rax; }
    void keep(std::int32_t v) {
        if (!in_register(v)) emit(what::store, 8, {integer(v)}, {rax}, {-1, 8, false});
    }
    void compute(std::int32_t to, ids uses, int steps = 1) {
        for (int s = 1; s < steps; ++s) emit(what::integer, 8, {rax}, uses), uses = {rax};
        emit(what::integer, 8, {result(to)}, uses);
        keep(to);
    }
    void change(std::int32_t v, std::int32_t other, int steps) {
        auto const own = value(v, rax);
        ids uses{own};
        if (other >= 0) uses.push_back(value(other, rdx));
        for (int s = 0; s < steps; ++s) emit(what::integer, 8, {own}, uses);
        keep(v);
    }

    // ---- vectors

    [[nodiscard]] std::int32_t width() const noexcept { return 4 * p_.lanes; }
    [[nodiscard]] bool is_computed(machine_instruction const& i) const {
        return p_.vectors.used[index(i.result)] && p_.vectors.homes[index(i.result)] < 0;
    }
    [[nodiscard]] bool has_register(std::int32_t v) const { return p_.vectors.registers[index(v)] >= 0; }
    [[nodiscard]] machine::register_id slot(std::int32_t v) const {
        return number(frame + p_.integers.slot_count + p_.vectors.slots[index(v)]);
    }
    machine::register_id vector_result(std::int32_t v) const {
        return number(has_register(v) ? p_.vectors.registers[index(v)] : p_.vector_registers);
    }
    void keep_vector(std::int32_t v) {
        if (!has_register(v))
            emit(what::store, width(), {slot(v)}, {number(p_.vector_registers)}, {-1, width(), false});
    }
    // Of a value that changes in place.
    void keep_in_place(std::int32_t v, machine::register_id from) {
        if (!has_register(v)) emit(what::store, width(), {slot(v)}, {from}, {-1, width(), false});
    }
    void copy_vector(machine::register_id to, machine::register_id from) {
        if (to != from) emit(what::logic, width(), {to}, {from});
    }
    void fill(machine::register_id to, std::int64_t bits) {
        if (bits == 0)
            emit(what::logic, width(), {to}, {});
        else
            emit(what::broadcast, width(), {to}, {}, {-1, 4, true});
    }
    // Where a memory operand is: its base in a register.
    ids address(machine_address const& at, machine::register_id otherwise) {
        ids out{value(at.base, otherwise)};
        if (at.index >= 0) out.push_back(value(at.index, otherwise));
        return out;
    }
    void add_address(ids& to, machine_address const& at, machine::register_id otherwise) {
        for (auto const r : address(at, otherwise)) to.push_back(r);
    }
    [[nodiscard]] machine::memory_operand memory_at(machine_address const& at) const {
        return {-1, at.broadcast ? 4 : width(), at.broadcast};
    }
    // The vector in a register: its own, or a free one.
    machine::register_id vector(std::int32_t v, std::int32_t scratch) {
        if (v < 0) return number(p_.vector_registers); // a temporary that is not needed
        if (has_register(v)) return number(p_.vectors.registers[index(v)]);
        auto const to = number(std::min<std::int32_t>(p_.vector_registers + scratch, mask - 1));
        auto const home = p_.vectors.homes[index(v)];
        if (home < 0)
            emit(what::load, width(), {to}, {slot(v)}, {-1, width(), false});
        else if (auto const& i = p_.made.code[index(home)]; i.op == machine_op::splat)
            fill(to, i.immediate);
        else if (i.op == machine_op::lane_numbers)
            load_mask(to);
        else
            emit(what::load, width(), {to}, address(i.at, rax), {-1, width(), false});
        return to;
    }
    // An instruction whose last operand is a register or in memory.
    void emit_with(what w, machine::register_id to, ids uses, std::int32_t last, machine_address const& at) {
        if (at.base >= 0) {
            add_address(uses, at, rax);
            return emit(w, width(), {to}, uses, memory_at(at));
        }
        if (has_register(last)) {
            uses.push_back(number(p_.vectors.registers[index(last)]));
            return emit(w, width(), {to}, uses);
        }
        auto const home = p_.vectors.homes[index(last)];
        if (home < 0) {
            uses.push_back(slot(last));
            return emit(w, width(), {to}, uses, {-1, width(), false});
        }
        auto const& i = p_.made.code[index(home)];
        if (i.op != machine_op::splat) {
            add_address(uses, i.at, rax);
            return emit(w, width(), {to}, uses, {-1, width(), false});
        }
        emit(w, width(), {to}, uses, {-1, p_.masks ? 4 : width(), p_.masks}); // a literal
    }

    void set_mask() {
        emit(what::integer, 4, {rax}, {});
        emit(what::logic, 16, {mask}, {rax});
    }
    // The mask of the first lanes as a vector.
    void load_mask(machine::register_id to) { emit(what::load, width(), {to}, {}, {-1, width(), false}); }

    placed_function const& p_;
    std::vector<machine::instruction>& code_;
};

} // namespace gsub::codegen::detail
