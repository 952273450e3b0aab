// memory_lowering: loads, stores and choices of kernel IR to machine instructions on values without registers.
#pragma once

#include <gsub/codegen/x86/impl/address_values.hpp>
#include <gsub/codegen/x86/impl/machine_ir.hpp>
#include <gsub/core/result.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

[[noreturn]] void not_in_machine_code(std::string_view what);

/// Lowers what reads and writes memory. Registers of the kernel IR keep their values over blocks.
template <class = void>
class memory_lowering {
protected:
    memory_lowering(kernel const& k, bool masks) : k_(k), masks_(masks), at_(k, made_) {}

    [[noreturn]] static void refuse(instruction const& i) { not_in_machine_code(to_string(i)); }

    std::int32_t new_label() { return made_.labels++; }
    void place_label(std::int32_t label) { at_.add({.op = machine_op::label, .label = label}); }

    // Goes to `label` where a bound does not hold.
    void unless(std::vector<loop::bound> const& bounds, std::int32_t label) {
        for (auto const& b : bounds) {
            auto const value = at_.value_of(b.value);
            at_.add({.op = machine_op::jump_if_outside,
                     .operands = {value, -1, -1},
                     .label = label,
                     .immediate = b.extent});
        }
    }

    std::int32_t new_vector() { return made_.vectors++; }
    // The value of a register of the kernel IR. Accumulators keep theirs.
    std::int32_t vector_of(reg r) {
        auto const [at, is_new] = vectors_.try_emplace(r, -1);
        if (is_new) at->second = new_vector();
        return at->second;
    }

    // Without mask registers, parts of vectors take a vector.
    std::int32_t mask_for(std::int32_t lanes) { return lanes != k_.lanes && !masks_ ? new_vector() : -1; }

    static std::int64_t bits_of(instruction const& i) {
        return i.type == dtype::f32 ? std::bit_cast<std::int32_t>(static_cast<float>(i.value)) : i.integer;
    }
    void splat(std::int32_t to, instruction const& i) {
        at_.add({.op = machine_op::splat, .result = to, .immediate = bits_of(i)});
    }

    // ---- vectors

    void load(instruction const& i) {
        auto const to = vector_of(i.result);
        auto const skip = i.predicate.empty() ? -1 : new_label();
        if (skip >= 0) {
            splat(to, i);
            unless(i.predicate, skip);
        }
        auto const scope = at_.enter(); // pointers made behind a condition are not known elsewhere
        machine_instruction made{.op = load_of(i),
                                 .result = to,
                                 .lanes = i.lanes,
                                 .at = place_of(i),
                                 .constant_memory = skip < 0 && i.lanes == k_.lanes &&
                                                    !k_.buffers[static_cast<std::size_t>(i.buffer)].written};
        if (made.op == machine_op::gather || made.op == machine_op::permute) {
            made.immediate = new_table(i);
            made.temporaries[0] = new_vector();
            if (made.op == machine_op::gather && !masks_) made.temporaries[1] = new_vector();
        }
        at_.add(made);
        if (skip >= 0) {
            at_.leave(scope);
            place_label(skip);
        }
    }
    void store(instruction const& i) {
        auto const from = vector_of(i.operands[0]);
        auto const skip = i.predicate.empty() ? -1 : new_label();
        if (skip >= 0) unless(i.predicate, skip);
        auto const scope = at_.enter();
        at_.add({.op = machine_op::store,
                 .operands = {from, -1, -1},
                 .temporaries = {mask_for(i.lanes), -1},
                 .lanes = i.lanes,
                 .at = at_.place(i.buffer, i.offset)});
        if (skip >= 0) {
            at_.leave(scope);
            place_label(skip);
        }
    }

    // ---- integers of 64 bits: they choose entries, and are cast

    // Whether an instruction reads such integers. They are loaded where they are used.
    static bool is_integer_load(instruction const& i) {
        return (i.op == opcode::broadcast || i.op == opcode::load) && (i.type == dtype::i64 || i.type == dtype::i32);
    }
    void note_integers(instruction const& i) { integer_loads_[i.result] = &i; }
    [[nodiscard]] instruction const* integers_of(reg r) const {
        auto const found = integer_loads_.find(r);
        return found == integer_loads_.end() ? nullptr : found->second;
    }
    // The entry that an integer which all lanes share chooses.
    void choose(instruction const& i) {
        auto const* const from = integers_of(i.operands[0]);
        if (!from || from->op != opcode::broadcast || !reads_plainly(*from)) refuse(i);
        auto const number = at_.new_integer(), entry = at_.new_integer();
        at_.add({.op = machine_op::load_integer,
                 .result = number,
                 .immediate = static_cast<std::int64_t>(byte_size(from->type)),
                 .at = at_.place(from->buffer, from->offset)});
        at_.add({.op = machine_op::choose_entry,
                 .result = entry,
                 .operands = {number, -1, -1},
                 .immediate = i.integer,
                 .at = at_.place(i.buffer, affine{0})});
        entries_[i.result] = entry;
    }
    // Whether a load may be moved to where it is used.
    [[nodiscard]] bool reads_plainly(instruction const& i) const {
        return i.predicate.empty() && i.operands[0] < 0 && i.order.empty() && i.stride == 1 &&
               !k_.buffers[static_cast<std::size_t>(i.buffer)].written;
    }

    kernel const& k_;
    bool masks_;
    machine_function made_;
    address_values<> at_;
    std::map<reg, std::int32_t> vectors_;

private:
    // ---- places

    [[nodiscard]] machine_op load_of(instruction const& i) const {
        if (i.op == opcode::broadcast) return machine_op::broadcast;
        if (i.order.empty()) return i.stride == 1 ? machine_op::load : machine_op::gather;
        auto const in_vectors = [&](std::int64_t n) { return n % k_.lanes == 0; };
        auto const& terms = i.offset.terms();
        auto const in_one =
            in_vectors(k_.buffers[static_cast<std::size_t>(i.buffer)].elements()) && in_vectors(i.offset.constant()) &&
            std::all_of(terms.begin(), terms.end(), [&](auto const& t) { return in_vectors(t.factor); }) &&
            std::all_of(i.order.begin(), i.order.end(), [&](auto n) { return n >= 0 && n < k_.lanes; });
        return in_one && k_.lanes >= 8 ? machine_op::permute : machine_op::gather;
    }
    // Where the lanes of a load read, from its offset.
    std::int64_t new_table(instruction const& i) {
        auto& table = made_.tables.emplace_back();
        for (std::int64_t l = 0; l < k_.lanes; ++l) {
            auto const n = l >= i.lanes ? 0 : i.order.empty() ? i.stride * l : i.order[static_cast<std::size_t>(l)];
            if (n != static_cast<std::int32_t>(n)) not_in_machine_code("load whose lanes are so far apart");
            table.push_back(static_cast<std::uint32_t>(n));
        }
        return static_cast<std::int64_t>(made_.tables.size()) - 1;
    }
    // In the entry that is chosen, where one is.
    machine_address place_of(instruction const& i) {
        auto out = at_.place(i.buffer, i.offset);
        if (i.operands[0] < 0) return out;
        auto const found = entries_.find(i.operands[0]);
        if (found == entries_.end()) refuse(i);
        auto const base = at_.new_integer();
        at_.move(base, out.base);
        at_.add_to(base, found->second, i.entry * static_cast<std::int64_t>(byte_size(i.type)));
        out.base = base;
        return out;
    }

    std::map<reg, instruction const*> integer_loads_;
    std::map<reg, std::int32_t> entries_; // integer values, by choice
};

} // namespace gsub::codegen::detail
