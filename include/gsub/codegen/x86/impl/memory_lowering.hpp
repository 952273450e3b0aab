// memory_lowering: loads, stores and choices of kernel IR to machine instructions on values without registers.
#pragma once

#include <gsub/codegen/ir/impl/transposable_loads.hpp>
#include <gsub/codegen/x86/impl/address_values.hpp>
#include <gsub/codegen/x86/impl/machine_ir.hpp>
#include <gsub/core/result.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
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
            auto const value = condition(b.value, &b == &bounds.front());
            at_.add({.op = machine_op::jump_if_outside,
                     .operands = {value, -1, -1},
                     .label = label,
                     .immediate = b.extent});
        }
    }

    // The value of an expression, which nothing changes. Those that are computed whatever else holds are known in the
    // statements behind; a sum is what is known of it, and a constant.
    std::int32_t condition(affine const& a, bool always) {
        if (a.constant() == 0 && a.terms().size() == 1 && a.terms()[0].factor == 1)
            return at_.known_value(a.terms()[0].of);
        for (auto const& c : conditions_)
            if (c.of == a) return c.value;
        auto const made = a.constant() == 0 ? at_.value_of(a) : at_.new_integer();
        if (a.constant() != 0) {
            at_.move(made, condition(a - affine{a.constant()}, always));
            at_.add_to(made, a.constant());
        }
        if (always) conditions_.push_back({a, made});
        return made;
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
        auto const real = i.type == dtype::f32 || i.type == dtype::f16;
        return real ? std::bit_cast<std::int32_t>(static_cast<float>(i.value)) : i.integer;
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
                                 .constant_memory = skip < 0 && (i.lanes == k_.lanes || i.op == opcode::broadcast) &&
                                                    !k_.buffers[static_cast<std::size_t>(i.buffer)].written};
        if (i.type == dtype::f16) {
            made.op = machine_op::load_halves, made.at.broadcast = i.op == opcode::broadcast;
            made.constant_memory = false;
        }
        if (made.op == machine_op::permute) made.operands[0] = lane_numbers_.at(i.order);
        if (made.op == machine_op::gather) {
            made.immediate = new_table(i, made.at.displacement);
            made.temporaries[0] = new_vector();
        }
        at_.add(made);
        if (skip >= 0) {
            at_.leave(scope);
            place_label(skip);
        }
    }
    // Lanes by which a load permutes, once for all loops.
    void define_lane_numbers(instruction const& i) {
        if (i.op != opcode::load || load_of(i) != machine_op::permute) return;
        auto const [at, is_new] = lane_numbers_.try_emplace(i.order, -1);
        if (!is_new) return;
        at->second = new_vector();
        at_.add({.op = machine_op::lane_numbers, .result = at->second, .immediate = new_table(i, 0)});
    }
    // Loads that read a tile together, of whose rows most lanes are wanted: reads the rows and exchanges lanes in
    // registers. Marks the loads as done; false where the one at `first` is none of such.
    bool transpose(std::vector<instruction> const& code, std::size_t first, std::vector<char>& done) {
        auto const& i = code[first];
        if ((k_.lanes != 16 && k_.lanes != 8) || 4 * i.lanes <= k_.lanes || byte_size(i.type) != 4) return false;
        auto const loads = transposable_loads(k_, code, first);
        if (loads.empty()) return false;
        std::vector<std::int32_t> rows;
        for (std::int64_t l = 0; l < k_.lanes; ++l) {
            rows.push_back(new_vector());
            if (l < i.lanes)
                at_.add({.op = machine_op::load,
                         .result = rows.back(),
                         .lanes = k_.lanes,
                         .at = at_.place(i.buffer, i.offset + affine{l * i.stride})});
            else
                at_.add({.op = machine_op::splat, .result = rows.back()});
        }
        std::vector<std::int32_t> columns;
        for (auto const l : loads) columns.push_back(vector_of(code[l].result)), done[l] = 1;
        transpose_rows(rows, columns);
        return true;
    }
    void store(instruction const& i) {
        auto const from = vector_of(i.operands[0]);
        auto const skip = i.predicate.empty() ? -1 : new_label();
        if (skip >= 0) unless(i.predicate, skip);
        auto const scope = at_.enter();
        auto const halves = i.type == dtype::f16;
        at_.add({.op = halves ? machine_op::store_halves : machine_op::store,
                 .operands = {from, -1, -1},
                 .temporaries = {halves ? new_vector() : mask_for(i.lanes), -1},
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
        auto const entry = at_.chosen_entry(*from, i.integer, i.buffer);
        entries_[i.result] = entry;
        at_.define(at_.choice(i.result), entry);
    }
    // Choices of a block are known behind it, and so is what they make of addresses.
    void keep_choices(statement const& block, statement const* next, statement const* end) {
        for (auto const& i : block.code)
            if (i.op == opcode::choose) {
                at_.define(at_.choice(i.result), entries_.at(i.result));
                at_.make_pointers(at_.choice(i.result), next, end);
            }
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
    struct known_condition {
        affine of;
        std::int32_t value = -1;
    };
    std::vector<known_condition> conditions_;

private:
    // ---- transposition

    std::int32_t exchanged(lane_function f, std::int32_t a, std::int32_t b, std::int32_t to = -1) {
        if (to < 0) to = new_vector();
        at_.add({.op = machine_op::binary, .function = f, .result = to, .operands = {a, b, -1}});
        return to;
    }
    // Four rows after another to vectors of which quarter q has column 4 q + c of these rows, for c from 0 to 3; then
    // the quarters of a column from all of these.
    void transpose_rows(std::vector<std::int32_t> const& rows, std::vector<std::int32_t> const& columns) {
        using enum lane_function;
        std::vector<std::array<std::int32_t, 4>> of_four; // by c
        for (std::size_t r = 0; r < rows.size(); r += 4) {
            auto const low = exchanged(unpack_low, rows[r], rows[r + 1]),
                       high = exchanged(unpack_high, rows[r], rows[r + 1]),
                       next_low = exchanged(unpack_low, rows[r + 2], rows[r + 3]),
                       next_high = exchanged(unpack_high, rows[r + 2], rows[r + 3]);
            of_four.push_back({exchanged(unpack_low_pairs, low, next_low), exchanged(unpack_high_pairs, low, next_low),
                               exchanged(unpack_low_pairs, high, next_high),
                               exchanged(unpack_high_pairs, high, next_high)});
        }
        for (std::size_t c = 0; c < 4; ++c) {
            if (rows.size() == 8) {
                exchanged(low_halves, of_four[0][c], of_four[1][c], columns[c]);
                exchanged(high_halves, of_four[0][c], of_four[1][c], columns[4 + c]);
                continue;
            }
            auto const even = exchanged(even_quarters, of_four[0][c], of_four[1][c]),
                       odd = exchanged(odd_quarters, of_four[0][c], of_four[1][c]),
                       next_even = exchanged(even_quarters, of_four[2][c], of_four[3][c]),
                       next_odd = exchanged(odd_quarters, of_four[2][c], of_four[3][c]);
            exchanged(even_quarters, even, next_even, columns[c]);
            exchanged(even_quarters, odd, next_odd, columns[4 + c]);
            exchanged(odd_quarters, even, next_even, columns[8 + c]);
            exchanged(odd_quarters, odd, next_odd, columns[12 + c]);
        }
    }

    // ---- places

    [[nodiscard]] machine_op load_of(instruction const& i) const {
        if (i.op == opcode::broadcast) return machine_op::broadcast;
        if (i.order.empty()) return i.stride == 1 ? machine_op::load : machine_op::gather;
        auto twice = k_.lanes >= 4 && i.lanes == k_.lanes;
        for (std::size_t l = 0; l < i.order.size(); ++l)
            twice = twice && i.order[l] == static_cast<std::int64_t>(l / 2);
        if (twice) return machine_op::load_twice;
        auto const in_vectors = [&](std::int64_t n) { return n % k_.lanes == 0; };
        auto const& terms = i.offset.terms();
        auto const in_one =
            in_vectors(k_.buffers[static_cast<std::size_t>(i.buffer)].elements()) && in_vectors(i.offset.constant()) &&
            std::all_of(terms.begin(), terms.end(), [&](auto const& t) { return in_vectors(t.factor); }) &&
            std::all_of(i.order.begin(), i.order.end(), [&](auto n) { return n >= 0 && n < k_.lanes; });
        return in_one && k_.lanes >= 8 ? machine_op::permute : machine_op::gather;
    }
    // Where the lanes of a load read, from its offset, which lies so many bytes behind a pointer.
    std::int64_t new_table(instruction const& i, std::int64_t displacement) {
        auto& table = made_.tables.emplace_back();
        for (std::int64_t l = 0; l < k_.lanes; ++l) {
            auto const n = l >= i.lanes ? 0 : i.order.empty() ? i.stride * l : i.order[static_cast<std::size_t>(l)];
            if (std::abs(n) > std::numeric_limits<std::int32_t>::max() / 8 ||
                displacement + 4 * n != static_cast<std::int32_t>(displacement + 4 * n))
                not_in_machine_code("load whose lanes are so far apart");
            table.push_back(static_cast<std::uint32_t>(n));
        }
        return static_cast<std::int64_t>(made_.tables.size()) - 1;
    }
    // In the entry that is chosen, where one is.
    machine_address place_of(instruction const& i) {
        if (i.operands[0] >= 0 && !entries_.contains(i.operands[0])) refuse(i);
        return at_.place(i.buffer, at_.offset_of(i));
    }

    std::map<reg, instruction const*> integer_loads_;
    std::map<reg, std::int32_t> entries_;                            // integer values, by choice
    std::map<std::vector<std::int64_t>, std::int32_t> lane_numbers_; // vectors, by order of lanes
};

} // namespace gsub::codegen::detail
