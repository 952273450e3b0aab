#pragma once

#include <gsub/codegen/cpp/impl/block_writer.hpp>
#include <gsub/codegen/cpp/impl/cpp_names.hpp>
#include <gsub/core/format.hpp>

#include <cstddef>

namespace gsub::codegen::detail {

// Whether an instruction has f32 operands and a result of f32, and is none that came with other types.
GSUB_LAZY [[nodiscard]] bool is_f32(instruction const& i) {
    if (i.type != dtype::f32 || i.integer != 0 || i.op == opcode::gather) return false;
    return i.op == opcode::compute ? is_f32_function(i.function) : i.value == 0 || i.op == opcode::splat;
}

GSUB_LAZY_BODY void block_writer::write(std::vector<instruction> const& code) {
    memory_.begin_block();
    std::vector<char> written(code.size(), 0);
    for (std::size_t at = 0; at < code.size(); ++at) {
        if (code[at].result >= 0) typed_.set_type(code[at].result, code[at].type);
        if (written[at]) continue;
        if (memory_.transposed_loads(code, at, written))
            has_typed_ = true;
        else if (!memory_.lane_broadcast(code, at))
            write(code[at]);
    }
}

template <class Arithmetic>
void block_writer::compute(Arithmetic& by, instruction const& i) {
    if (i.op == opcode::multiply_add) return by.multiply_add(i);
    if (i.op == opcode::accumulate) return by.accumulate(i);
    return i.op == opcode::reduce ? by.reduce(i) : by.compute(i);
}

GSUB_LAZY_BODY void block_writer::write(instruction const& i) {
    auto const f32 = is_f32(i);
    auto const functions = f32 ? memory_writer::functions_of::f32 : memory_writer::functions_of::typed;
    has_typed_ = has_typed_ || !f32;
    switch (i.op) {
    case opcode::splat:
        return define(text_, i.result, literal(i.value, i.integer, i.type));
    case opcode::load:
        return memory_.load(i, functions);
    case opcode::broadcast:
        return memory_.broadcast(i, functions);
    case opcode::store:
        return memory_.store(i, functions);
    case opcode::choose:
        return memory_.choose(i);
    case opcode::gather:
        return memory_.gather(i);
    case opcode::copy:
        return text_.line(format_text("{} {} = {};", vector_type(i.type), name_of_register(i.result), wide(i, 0)));
    case opcode::compute:
    case opcode::multiply_add:
    case opcode::accumulate:
    case opcode::reduce:
        return f32 ? compute(f32_, i) : compute(typed_, i);
    }
}

GSUB_LAZY_BODY void block_writer::choose(statement const& n) {
    memory_.begin_block();
    has_typed_ = true;
    memory_.choose(n);
}

GSUB_LAZY_BODY std::string block_writer::functions() const {
    return has_typed_ ? functions_.text() : std::string{};
}

} // namespace gsub::codegen::detail
