// sse_stream_writer: machine instructions of SSE4.2 as models of pipelines see them.
#pragma once

#include <gsub/codegen/x86/impl/stream_writer.hpp>

#include <cstdint>
#include <utility>

namespace gsub::codegen::detail {

/// Writes what `x86_encoder<sse_arithmetic<>>` writes, without its bytes: copies where a result is not its first
/// operand, and products apart from sums.
template <class = void>
class sse_stream_writer : stream_writer<> {
public:
    using below = stream_writer<>;
    using below::below;

    void write(machine_instruction const& i) {
        if (!on_vectors(i.op)) return write_integer(i);
        if (i.result < 0 || is_computed(i)) write_vector(i);
    }

private:
    using typename below::ids;
    using typename below::what;

    static constexpr machine::register_id spare = 15; // `xmm0`; values have those before

    [[nodiscard]] machine::register_id result_or_spare(std::int32_t v) const {
        return has_register(v) ? vector_result(v) : spare;
    }
    [[nodiscard]] bool same(std::int32_t v, machine::register_id r) const {
        return has_register(v) && number(p_.vectors.registers[index(v)]) == r;
    }
    [[nodiscard]] bool in_buffer(std::int32_t v) const {
        if (has_register(v)) return false;
        auto const home = p_.vectors.homes[index(v)];
        return home >= 0 && p_.made.code[index(home)].op != machine_op::splat;
    }
    void fill(machine::register_id to, std::int64_t bits) {
        emit(bits == 0 ? what::logic : what::load, width(), {to}, {}, {-1, bits == 0 ? 0 : width(), false});
    }
    machine::register_id fetched(machine::register_id to, std::int32_t v) {
        if (has_register(v)) return copy_vector(to, number(p_.vectors.registers[index(v)])), to;
        auto const home = p_.vectors.homes[index(v)];
        if (home < 0)
            emit(what::load, width(), {to}, {slot(v)}, {-1, width(), false});
        else if (auto const& i = p_.made.code[index(home)]; i.op == machine_op::splat)
            fill(to, i.immediate);
        else
            i.op == machine_op::broadcast ? fill_from(to, i.at) : load_all(to, i.at);
        return to;
    }
    void fill_from(machine::register_id to, machine_address const& at) {
        emit(what::load, 4, {to}, address(at, rax), {-1, 4, false});
        emit(what::shuffle, width(), {to}, {to});
    }
    void load_all(machine::register_id to, machine_address const& at) {
        emit(what::load, width(), {to}, address(at, rax), {-1, width(), false});
    }
    // An instruction in place of its first operand, with a value that is a register or an aligned place.
    void change(what w, machine::register_id to, std::int32_t by, machine::register_id scratch) {
        if (in_buffer(by)) return emit(w, width(), {to}, {to, fetched(scratch, by)});
        if (has_register(by)) return emit(w, width(), {to}, {to, number(p_.vectors.registers[index(by)])});
        ids uses{to};
        if (p_.vectors.homes[index(by)] < 0) uses.push_back(slot(by));
        emit(w, width(), {to}, uses, {-1, width(), false});
    }
    void keep_from(std::int32_t v, machine::register_id from) {
        if (!has_register(v)) emit(what::store, width(), {slot(v)}, {from}, {-1, width(), false});
    }

    void write_vector(machine_instruction const& i) {
        using enum machine_op;
        auto const to = i.result >= 0 ? result_or_spare(i.result) : spare;
        switch (i.op) {
        case splat:
            fill(to, i.immediate);
            return keep_from(i.result, to);
        case load:
        case gather:
            return write_pieces(i, to);
        case broadcast:
            fill_from(to, i.at);
            return keep_from(i.result, to);
        case store:
            return write_store(i);
        case copy:
            if (has_register(i.result) || !has_register(i.operands[0])) fetched(to, i.operands[0]);
            return keep_from(i.result, has_register(i.operands[0]) ? vector_result(i.operands[0]) : to);
        case binary:
            return write_binary(i, to);
        case unary: {
            auto const w = class_of(i.function);
            fetched(to, i.operands[0]);
            emit(w, width(), {to}, {to}, {-1, w == what::logic ? width() : 0, false});
            return keep_from(i.result, to);
        }
        case fused:
            return write_fused(i, to);
        case multiply_add:
            return write_multiply_add(i);
        case blend:
        case add_bits_unless:
        case multiply_unless:
            return write_masked(i);
        case combine:
            return write_combine(i);
        case reduce:
            return write_reduce(i);
        default:
            return below::write_vector(i);
        }
    }
    void write_pieces(machine_instruction const& i, machine::register_id to) {
        auto const from = address(i.at, rax);
        auto const whole = i.op == machine_op::load && i.lanes != 3;
        auto const first = whole ? 4 * i.lanes : i.op == machine_op::load ? 8 : 4;
        emit(what::load, first, {to}, from, {-1, first, false});
        ids uses{to};
        for (auto const r : from) uses.push_back(r);
        for (auto l = first / 4; l < i.lanes; ++l) emit(what::shuffle, 16, {to}, uses, {-1, 4, false});
        keep_from(i.result, to);
    }
    void write_store(machine_instruction const& i) {
        auto const from = has_register(i.operands[0]) ? vector_result(i.operands[0]) : fetched(spare, i.operands[0]);
        auto const bytes = i.lanes == 3 ? 8 : 4 * i.lanes;
        ids uses{from};
        add_address(uses, i.at, rax);
        emit(what::store, bytes, {}, uses, {-1, bytes, false});
        if (i.lanes == 3) emit(what::store, 4, {}, uses, {-1, 4, false});
    }
    void write_binary(machine_instruction const& i, machine::register_id to) {
        auto first = i.operands[0], second = i.operands[1];
        auto const w = class_of(i.function);
        auto const swaps = commutes(i.function) || w == what::logic;
        auto const scratch = has_register(i.result) ? spare : vector_result(i.result);
        if (i.at.base >= 0 || in_buffer(second)) {
            auto const in = swaps && !same(first, to) ? to : scratch;
            i.at.base >= 0 ? load_all(in, i.at) : static_cast<void>(fetched(in, second));
            in == to ? change(w, to, first, scratch) : emit(w, width(), {to}, {fetched(to, first), in});
        } else if (same(second, to) && !same(first, to) && !swaps) {
            fetched(spare, first);
            emit(w, width(), {spare}, {spare, to});
            copy_vector(to, spare);
        } else {
            if (same(second, to) && swaps) std::swap(first, second);
            fetched(to, first);
            change(w, to, second, spare);
        }
        keep_from(i.result, to);
    }
    // The product of two values in the free register.
    void multiply(std::int32_t a, std::int32_t b) {
        if (in_buffer(b) || (!has_register(b) && !in_buffer(a))) std::swap(a, b);
        fetched(spare, a);
        change(what::multiply, spare, b, number(p_.vector_registers));
    }
    void write_fused(machine_instruction const& i, machine::register_id to) {
        auto first = i.operands[0], second = i.operands[1];
        auto const third = i.operands[2];
        auto const kept = !has_register(i.result), in_third = same(third, to);
        if (same(second, to)) std::swap(first, second);
        if (!in_third && i.function != lane_function::subtract_from) {
            if (in_buffer(second) && !same(first, to)) std::swap(first, second);
            auto const scratch = kept ? number(p_.vector_registers) : spare;
            fetched(to, first);
            change(what::multiply, to, second, scratch);
            change(what::add, to, third, scratch);
            return keep_from(i.result, to);
        }
        multiply(first, second);
        if (in_third && i.function == lane_function::subtract) {
            emit(what::add, width(), {spare}, {spare, to});
            return copy_vector(to, spare);
        }
        auto const sum = fetched(vector_result(i.result), third);
        emit(what::add, width(), {sum}, {sum, spare});
        keep_from(i.result, sum);
    }
    void write_multiply_add(machine_instruction const& i) {
        auto const [own, a, b] = i.operands;
        auto const product = i.temporaries[0] >= 0 ? vector_result(i.temporaries[0]) : spare;
        if (product != spare)
            change(what::multiply, product, i.temporaries[0] == a ? b : a, spare);
        else if (i.at.base >= 0)
            load_all(spare, i.at), change(what::multiply, spare, a, number(p_.vector_registers));
        else
            multiply(a, b);
        add_first(own, i.lanes, product);
    }
    // A register, which is free then, is added to the first lanes of a value.
    void add_first(std::int32_t own, std::int32_t lanes, machine::register_id by) {
        if (lanes != p_.lanes) {
            auto const sum = vector(own, 0);
            emit(what::add, width(), {by}, {by, sum});
            emit(what::logic, width(), {sum}, {sum, by});
            return keep_from(own, sum);
        }
        if (has_register(own)) return emit(what::add, width(), {vector_result(own)}, {vector_result(own), by});
        change(what::add, by, own, spare);
        keep_from(own, by);
    }
    // A comparison, and what is done in the lanes in which it holds or does not.
    void write_masked(machine_instruction const& i) {
        auto const to = vector_result(i.result), scratch = number(p_.vector_registers);
        fetched(spare, i.operands[0]);
        emit(what::maximum, width(), {spare}, {spare}, {-1, width(), false});
        auto first = i.operands[1], second = i.operands[2];
        if (i.op == machine_op::multiply_unless) {
            auto const in_place = same(first, to);
            auto const product = in_place ? vector(i.temporaries[1], 2) : to;
            auto const [x, factor] =
                same(second, product) ? std::pair{second, i.operands[0]} : std::pair{i.operands[0], second};
            fetched(product, x);
            change(what::multiply, product, factor, scratch);
            in_place ? emit(what::logic, width(), {to}, {to, product, spare}) : change(what::logic, to, first, scratch);
            return keep_from(i.result, to);
        }
        if (same(second, to) && !same(first, to)) std::swap(first, second);
        fetched(to, first);
        change(what::logic, to, second, scratch);
        if (i.op == machine_op::add_bits_unless)
            emit(what::logic, width(), {to}, {to, spare});
        else
            code_.back().uses.push_back(spare);
        keep_from(i.result, to);
    }
    void mark_unordered(machine::register_id to, machine::register_id of) {
        copy_vector(to, of);
        emit(what::maximum, width(), {to}, {to});
    }
    void write_combine(machine_instruction const& i) {
        auto const own = i.operands[0], other = i.operands[1];
        auto const whole = i.lanes == p_.lanes;
        if (i.function == lane_function::add) {
            if (whole && has_register(own)) return change(what::add, vector_result(own), other, spare);
            fetched(spare, other);
            return add_first(own, i.lanes, spare);
        }
        auto const sum = vector(own, 0), to = whole ? sum : vector(i.temporaries[1], 2);
        copy_vector(to, sum);
        mark_unordered(spare, to);
        change(what::maximum, to, other, number(p_.vector_registers + 1));
        emit(what::logic, width(), {to}, {to, spare});
        if (!whole) emit(what::logic, width(), {sum}, {sum, to});
        keep_from(own, sum);
    }
    void write_reduce(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        auto const adds = i.function == lane_function::add;
        fetched(to, i.operands[0]);
        for (auto half = p_.lanes / 2; half > 0; half /= 2) {
            auto const unordered = vector(i.temporaries[0], 2);
            if (!adds) mark_unordered(unordered, to);
            copy_vector(spare, to);
            emit(what::shuffle, width(), {spare}, {spare});
            emit(adds ? what::add : what::maximum, width(), {to}, {to, spare});
            if (!adds) emit(what::logic, width(), {to}, {to, unordered});
        }
        keep_from(i.result, to);
    }
};

} // namespace gsub::codegen::detail
