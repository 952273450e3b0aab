// stream_writer: machine instructions as models of pipelines see them, one for each that the encoder writes.
#pragma once

#include <gsub/codegen/x86/impl/stream_values.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace gsub::codegen::detail {

/// Writes what `x86_encoder` writes, without its bytes.
template <class = void>
class stream_writer : protected stream_values<> {
public:
    using below = stream_values<>;
    using below::below;

    void write(machine_instruction const& i) {
        if (!on_vectors(i.op))
            write_integer(i);
        else if (i.result < 0 || is_computed(i))
            write_vector(i);
    }

protected:
    using typename below::ids;
    using typename below::what;

    void write_integer(machine_instruction const& i) {
        using enum machine_op;
        switch (i.op) {
        case label:
            return;
        case argument:
        case set:
            return compute(i.result, {});
        case load_pointer: {
            auto const table = value(i.operands[0], rax);
            emit(what::load, 8, {result(i.result)}, {table}, {-1, 8, false});
            return keep(i.result);
        }
        case move:
            return compute(i.result, {value(i.operands[0], rax)});
        case add_immediate:
            return change(i.operands[0], -1, 1);
        case machine_op::add:
            return change(i.operands[0], i.operands[1], 1);
        case greatest:
        case least:
            return change(i.operands[0], i.operands[1], 2);
        case scale:
            return compute(i.result, {value(i.operands[0], rax)});
        case divide:
        case remainder: {
            auto const power = (i.immediate & (i.immediate - 1)) == 0;
            return compute(i.result, {value(i.operands[0], rax)}, power ? 2 : i.op == divide ? 3 : 7);
        }
        case ceil_divide:
            return compute(i.result, {value(i.operands[0], rax)}, 18); // a division takes as long
        default:
            return write_control(i);
        }
    }
    void write_control(machine_instruction const& i) {
        using enum machine_op;
        switch (i.op) {
        case jump:
            return emit(what::branch, 8, {}, {});
        case jump_if_less:
        case jump_if_not_less:
        case jump_if_outside: { // the comparison and the jump are one
            ids uses{value(i.operands[0], rax)};
            if (i.operands[1] >= 0) uses.push_back(value(i.operands[1], rdx));
            return emit(what::branch, 8, {}, uses);
        }
        case leave:
            return emit(what::branch, 8, {}, {});
        case load_integer: {
            emit(what::load, 8, {result(i.result)}, address(i.at, rax), {-1, 8, false});
            return keep(i.result);
        }
        case choose_entry: // compared twice; nothing is stored but in an error
            compute(i.result, {value(i.operands[0], rax)}, 4);
            return emit(what::branch, 8, {}, {result(i.result)});
        default:
            not_in_machine_code("model of a control instruction");
        }
    }

    // ---- vectors

    static what class_of(lane_function f) {
        switch (f) {
        case lane_function::add:
        case lane_function::subtract:
            return what::add;
        case lane_function::multiply:
            return what::multiply;
        case lane_function::divide:
            return what::divide;
        case lane_function::maximum:
        case lane_function::minimum:
            return what::maximum;
        case lane_function::square_root:
            return what::square_root;
        case lane_function::negate:
        case lane_function::absolute:
        case lane_function::add_bits:
        case lane_function::subtract_bits:
        case lane_function::and_bits:
        case lane_function::or_bits:
        case lane_function::xor_bits:
        case lane_function::and_not_bits:
        case lane_function::shift_left:
            return what::logic;
        case lane_function::unpack_low:
        case lane_function::unpack_high:
        case lane_function::unpack_low_pairs:
        case lane_function::unpack_high_pairs:
        case lane_function::even_quarters:
        case lane_function::odd_quarters:
        case lane_function::low_halves:
        case lane_function::high_halves:
            return what::shuffle;
        case lane_function::less:
        case lane_function::greater:
        case lane_function::equal:
        case lane_function::is_less:
        case lane_function::is_not_greater:
        case lane_function::is_equal:
            return what::maximum;
        default:
            return what::convert; // rounding
        }
    }

    void write_vector(machine_instruction const& i) {
        using enum machine_op;
        switch (i.op) {
        case splat:
            fill(vector_result(i.result), i.immediate);
            break;
        case lane_numbers:
            load_mask(vector_result(i.result));
            break;
        case load:
            write_load(i);
            break;
        case gather:
            write_gather(i);
            break;
        case broadcast:
            emit(what::broadcast, width(), {vector_result(i.result)}, address(i.at, rax), {-1, 4, true});
            break;
        case store:
            return write_store(i);
        case copy:
            return write_copy(i);
        case binary:
            write_binary(i);
            break;
        case fused:
            write_fused(i);
            break;
        case unary:
            write_unary(i);
            break;
        case blend:
        case add_bits_unless:
        case multiply_unless:
            write_masked(i);
            break;
        case permute:
            write_permute(i);
            break;
        case load_twice:
            write_load_twice(i);
            break;
        case load_integers:
            write_load_integers(i);
            break;
        case load_halves:
            emit(what::convert, width(), {vector_result(i.result)}, address(i.at, rax), {-1, 2 * i.lanes, false});
            break;
        case store_halves:
            return write_store_halves(i);
        case multiply_add:
            return write_multiply_add(i);
        case combine:
            return write_combine(i);
        case reduce:
            write_reduce(i);
            break;
        case call_unless_finite:
            return write_guard(i);
        default:
            not_in_machine_code("model of a vector instruction");
        }
        keep_vector(i.result);
    }
    void write_copy(machine_instruction const& i) {
        auto const from = vector(i.operands[0], 0);
        if (!has_register(i.result)) return emit(what::store, width(), {slot(i.result)}, {from}, {-1, width(), false});
        copy_vector(vector_result(i.result), from);
    }
    void write_permute(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        if (!has_register(i.operands[0])) load_mask(to);
        ids uses{has_register(i.operands[0]) ? vector(i.operands[0], 0) : to};
        add_address(uses, i.at, rax);
        emit(what::shuffle, width(), {to}, uses, {-1, width(), false});
    }
    void write_load_twice(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        emit(what::shuffle, width(), {to}, address(i.at, rax), {-1, width() / 2, false});
        emit(what::shuffle, width(), {to}, {to});
    }
    // Whether a shorter register moves the lanes, or all of them are moved.
    [[nodiscard]] bool moves_plainly(std::int32_t lanes) const {
        return lanes == p_.lanes || lanes == 1 || lanes == 4 || lanes == 8;
    }
    void write_load(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        auto const plain = moves_plainly(i.lanes);
        if (!plain && p_.masks) set_mask();
        if (!plain && !p_.masks) load_mask(to);
        auto uses = address(i.at, rdx);
        if (!plain) uses.push_back(p_.masks ? mask : to);
        auto const bytes = plain ? 4 * i.lanes : width();
        emit(what::load, bytes, {to}, uses, {-1, bytes, false});
    }
    // Lane by lane, in quarters, which are joined.
    void write_gather(machine_instruction const& i) {
        auto const to = vector_result(i.result), quarter = vector(i.temporaries[0], 1);
        auto const from = address(i.at, rdx);
        for (std::int32_t first = 0; first < i.lanes; first += 4) {
            auto const part = first == 0 ? to : quarter;
            emit(what::load, 4, {part}, from, {-1, 4, false});
            ids uses{part};
            for (auto const r : from) uses.push_back(r);
            for (auto l = first + 1; l < std::min(first + 4, i.lanes); ++l)
                emit(what::shuffle, 16, {part}, uses, {-1, 4, false});
            if (first > 0) emit(what::shuffle, width(), {to}, {to, part});
        }
    }
    void write_load_integers(machine_instruction const& i) {
        auto const to = vector_result(i.result), one = vector(i.temporaries[1], 2);
        if (i.immediate != 0) return emit(what::convert, width(), {to}, address(i.at, rax), {-1, 8 * i.lanes, false});
        auto const from = address(i.at, rax);
        for (std::int32_t l = 0; l < i.lanes; ++l) {
            emit(what::convert, 16, {one}, from, {-1, 8, false});
            emit(what::shuffle, 16, {to}, {to, one});
        }
    }
    // A comparison, and what is done in the lanes in which it holds or does not.
    void write_masked(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        emit(what::maximum, width(), {mask}, {vector(i.operands[0], 0)}, {-1, 4, true});
        auto const w = i.op == machine_op::multiply_unless ? what::multiply : what::logic;
        ids uses{mask, vector(i.operands[1], 1)};
        emit_with(w, to, uses, i.operands[2] >= 0 ? i.operands[2] : i.operands[1], {});
    }
    void write_store(machine_instruction const& i) {
        auto const from = vector(i.operands[0], 0);
        ids uses{from};
        if (!moves_plainly(i.lanes)) {
            auto const which = p_.masks ? mask : vector(i.temporaries[0], 1);
            p_.masks ? set_mask() : load_mask(which);
            uses.push_back(which);
        }
        add_address(uses, i.at, rdx);
        auto const bytes = moves_plainly(i.lanes) ? 4 * i.lanes : width();
        emit(what::store, bytes, {}, uses, {-1, bytes, false});
    }
    void write_store_halves(machine_instruction const& i) {
        auto const low = vector(i.temporaries[0], 1);
        emit(what::convert, width(), {low}, {vector(i.operands[0], 0)});
        ids uses{low};
        add_address(uses, i.at, rdx);
        emit(what::store, 2 * i.lanes, {}, uses, {-1, 2 * i.lanes, false});
    }
    void write_binary(machine_instruction const& i) {
        auto first = i.operands[0], second = i.operands[1];
        if (commutes(i.function) && i.at.base < 0 && !has_register(first) && has_register(second))
            std::swap(first, second);
        ids const uses{vector(first, 1)};
        emit_with(class_of(i.function), vector_result(i.result), uses, second, i.at);
    }
    void write_unary(machine_instruction const& i) {
        auto const w = class_of(i.function);
        auto const from = vector(i.operands[0], 1);
        auto const bits = w == what::logic; // against a literal
        emit(w, width(), {vector_result(i.result)}, {from}, {-1, bits ? width() : 0, false});
    }
    void write_fused(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        auto first = i.operands[0], second = i.operands[1];
        if (!has_register(first) && has_register(second)) std::swap(first, second);
        if (!has_register(i.result) && !has_register(first) && has_register(i.operands[2])) // to = first * second + c
            return emit_with(what::fma, to, {vector(i.operands[2], 0), vector(first, 0)}, second, {});
        auto const a = vector(first, 1);
        auto const same = [&](std::int32_t v) {
            return has_register(v) && number(p_.vectors.registers[index(v)]) == to;
        };
        if (!same(i.operands[2]) && (to == a || same(second))) {
            auto const other = to == a ? vector(second, 2) : a;
            return emit_with(what::fma, to, {to, other}, i.operands[2], {});
        }
        if (!same(i.operands[2])) copy_vector(to, vector(i.operands[2], 0));
        emit_with(what::fma, to, {to, a}, second, {});
    }
    void write_multiply_add(machine_instruction const& i) {
        auto const sum = vector(i.operands[0], 0), a = vector(i.operands[1], 1);
        if (i.lanes == p_.lanes) {
            emit_with(what::fma, sum, {sum, a}, i.operands[2], i.at);
        } else if (p_.masks) {
            auto const b = vector(i.operands[2], 2);
            set_mask();
            emit(what::fma, width(), {sum}, {sum, a, b, mask});
        } else {
            auto const b = vector(i.operands[2], 2), all = vector(i.temporaries[0], 3);
            copy_vector(all, sum);
            emit(what::fma, width(), {all}, {all, a, b});
            emit(what::logic, width(), {sum}, {sum, all});
        }
        keep_in_place(i.operands[0], sum);
    }
    void combine(lane_function f, machine::register_id to, machine::register_id a, machine::register_id b) {
        if (f == lane_function::add) return emit(what::add, width(), {to}, {a, b});
        emit(what::maximum, width(), {static_cast<machine::register_id>(mask + 1)}, {b}); // unordered: NaN
        emit(what::maximum, width(), {to}, {a, b});
        emit(what::logic, width(), {to}, {to, b, static_cast<machine::register_id>(mask + 1)});
    }
    void write_combine(machine_instruction const& i) {
        auto const sum = vector(i.operands[0], 0), other = vector(i.operands[1], 1);
        auto const whole = i.lanes == p_.lanes;
        auto const to = whole ? sum : vector(i.temporaries[1], 3);
        combine(i.function, to, sum, other);
        if (!whole && p_.masks) set_mask();
        if (!whole) emit(what::logic, width(), {sum}, {sum, to});
        keep_in_place(i.operands[0], sum);
    }
    void write_reduce(machine_instruction const& i) {
        auto const to = vector_result(i.result), other = vector(i.temporaries[0], 2);
        copy_vector(to, vector(i.operands[0], 1));
        for (auto half = p_.lanes / 2; half > 0; half /= 2) {
            emit(what::shuffle, half >= 4 ? width() : 16, {other}, {to});
            combine(i.function, to, to, other);
        }
    }
    void write_guard(machine_instruction const& i) {
        auto const r = vector(i.operands[0], 0), free = vector(i.temporaries[0], 1);
        emit(what::add, 16, {free}, {r});
        emit(what::maximum, 16, {rax}, {free}, {-1, 4, false});
        emit(what::branch, 8, {}, {rax});
        emit(what::branch, 8, {}, {rax});
    }
};

} // namespace gsub::codegen::detail
