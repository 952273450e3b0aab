#pragma once

#include <gsub/codegen/cpp/impl/cpp_names.hpp>
#include <gsub/codegen/cpp/impl/memory_writer.hpp>
#include <gsub/codegen/ir/impl/transposable_loads.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>

namespace gsub::codegen::detail {

GSUB_LAZY [[nodiscard]] std::string number_outside(instruction const& i) {
    return literal(i.value, i.integer, i.type);
}

// A whole vector at any address.
GSUB_LAZY [[nodiscard]] std::string vector_at(dtype type, std::string_view place) {
    return format_text("({})*(const {}*)({})", vector_type(type), unaligned_type(type), place);
}

GSUB_LAZY_BODY void memory_writer::define_guarded(instruction const& i, std::string const& value,
                                                  std::string_view outside) {
    define(text_, i.result,
           i.predicate.empty() ? value : format_text("{} ? {} : {}", text_of(i.predicate), value, outside));
}

GSUB_LAZY_BODY void memory_writer::load(instruction const& i, functions_of which) {
    auto const value = vector_of(i, which);
    define_guarded(i, value, which == functions_of::f32 ? "vf{}" : format_text("wide({})", number_outside(i)));
}

GSUB_LAZY_BODY void memory_writer::broadcast(instruction const& i, functions_of which) {
    auto const value = format_text("*({})", place_of(i));
    define_guarded(i, value, which == functions_of::f32 ? "0.0f" : number_outside(i));
}

GSUB_LAZY_BODY void memory_writer::store(instruction const& i, functions_of which) {
    auto const place = place_of(i);
    auto const where = i.predicate.empty() ? std::string{} : format_text("if ({}) ", text_of(i.predicate));
    text_.line(where + (i.lanes == k_.lanes
                            ? format_text("*({}*)({}) = {};", unaligned_type(i.type), place, wide(i, 0))
                            : format_text("{}({}, {}, {});", which == functions_of::f32 ? "keep" : "keep_of", place,
                                          wide(i, 0), i.lanes)));
}

GSUB_LAZY_BODY void memory_writer::choose(instruction const& i) {
    functions_.choices();
    define(text_, i.result,
           format_text("entry_of({}, {}, b{}, {})", operand(i, 0), long_literal(i.integer), i.buffer, i.lanes));
}

GSUB_LAZY_BODY void memory_writer::choose(statement const& n) {
    functions_.choices();
    auto const place = place_of(n.code[0]);
    text_.line(format_text("const long {} = entry_of((long)*({}), {}, b{}, 1);", name_of_variable(n.var), place,
                           long_literal(n.extent), n.status));
}

GSUB_LAZY_BODY void memory_writer::gather(instruction const& i) {
    functions_.choices();
    auto const value = format_text("gathered<{}>({}, {}, {}, {}, {})", vector_type(i.type), place_of(i), operand(i, 0),
                                   long_literal(i.entry), long_literal(i.stride), i.lanes);
    define_guarded(i, value, format_text("wide({})", number_outside(i)));
}

GSUB_LAZY_BODY std::string memory_writer::vector_of(instruction const& i, functions_of which) {
    auto const function = [&](std::string_view name) {
        return which == functions_of::f32 ? std::string{name} : format_text("{}_of<{}>", name, vector_type(i.type));
    };
    if (!i.order.empty()) return reads_whole_vectors(i) ? shuffled_vectors(i) : ordered_lanes(i);
    auto const place = place_of(i);
    if (i.stride != 1) return format_text("{}({}, {}, {})", function("strided"), place, i.stride, i.lanes);
    return i.lanes == k_.lanes ? vector_at(i.type, place) : format_text("{}({}, {})", function("part"), place, i.lanes);
}

// Whether each lane of a load whose lanes read anywhere is in a whole vector of its buffer.
GSUB_LAZY_BODY bool memory_writer::reads_whole_vectors(instruction const& i) const {
    auto const in_vectors = [&](std::int64_t n) { return n % k_.lanes == 0; };
    auto const& terms = i.offset.terms();
    return in_vectors(buffer_of(i).elements()) && in_vectors(i.offset.constant()) &&
           std::all_of(terms.begin(), terms.end(), [&](auto& t) { return in_vectors(t.factor); });
}

GSUB_LAZY_BODY std::string memory_writer::ordered_lanes(instruction const& i) {
    std::string text;
    for (auto o : i.order) text += format_text("{}*({})", text.empty() ? "{" : ", ", place_of(i, o));
    return format_text("({}){}}}", vector_type(i.type), text);
}

// The vectors that lanes come from, two and then one after another, shuffled.
GSUB_LAZY_BODY std::string memory_writer::shuffled_vectors(instruction const& i) {
    std::vector<std::int64_t> from;
    for (auto o : i.order) from.push_back(o >= 0 ? o / k_.lanes : (o + 1) / k_.lanes - 1);
    auto left = from;
    std::sort(left.begin(), left.end());
    left.erase(std::unique(left.begin(), left.end()), left.end());
    auto const vector_number = [&](std::size_t n) { return vector_at(i.type, place_of(i, left[n] * k_.lanes)); };
    std::string text;
    for (std::size_t v = 0; v < left.size(); v += v == 0 && left.size() > 1 ? 2 : 1) {
        std::string lanes;
        for (std::size_t l = 0; l < from.size(); ++l) {
            auto const n = static_cast<std::size_t>(std::find(left.begin(), left.end(), from[l]) - left.begin());
            auto const within = i.order[l] - from[l] * k_.lanes;
            auto const index = v == 0 && n == 0        ? within
                               : n == (v == 0 ? 1 : v) ? within + k_.lanes
                                                       : static_cast<std::int64_t>(l); // as before, or later
            lanes += format_text(", {}", index);
        }
        text = v == 0 ? format_text("__builtin_shufflevector({}, {}{})", vector_number(0),
                                    vector_number(left.size() > 1 ? 1 : 0), lanes)
                      : format_text("__builtin_shufflevector({}, {}{})", text, vector_number(v), lanes);
    }
    return text;
}

GSUB_LAZY_BODY bool memory_writer::transposed_loads(std::vector<instruction> const& code, std::size_t first,
                                                    std::vector<char>& written) {
    auto const& i = code[first];
    if (i.type == dtype::f32) return false;
    auto const loads = transposable_loads(k_, code, first);
    if (loads.empty()) return false;
    auto const tile = format_text("t{}", next_tile_++);
    text_.line(format_text("{} {}[{}] = {{}};", vector_type(i.type), tile, k_.lanes));
    for (std::int32_t l = 0; l < i.lanes; ++l)
        text_.line(format_text("{}[{}] = {};", tile, l, vector_at(i.type, place_of(i, i.stride * l))));
    text_.line(format_text("{}({});", functions_.transpose(i.type), tile));
    for (std::size_t l = 0; l < loads.size(); ++l) {
        define(text_, code[loads[l]].result, format_text("{}[{}]", tile, l));
        written[loads[l]] = 1;
    }
    return true;
}

GSUB_LAZY_BODY bool memory_writer::lane_broadcast(std::vector<instruction> const& code, std::size_t at) {
    auto const define_lane = [&](lane_read const& r) {
        define(text_, code[at].result,
               format_text("lane_of_{}(q{}, {}, {})", k_.lanes, r.vector, r.lane, place_of(code[at])));
        return true;
    };
    for (auto const& r : lanes_read_)
        if (r.at == at) return define_lane(r);
    auto const group = broadcast_lanes(k_, code, at);
    if (group.empty()) return false;
    text_.line(format_text("lanes_of_{}(q{}, {})", k_.lanes, next_vector_, place_of(code[at])));
    for (std::size_t lane = 0; lane < group.size(); ++lane)
        lanes_read_.push_back({group[lane], next_vector_, static_cast<std::int32_t>(lane)});
    ++next_vector_;
    return define_lane(lanes_read_[lanes_read_.size() - group.size()]);
}

// Where the first lane of an instruction is, or what is so many elements further.
GSUB_LAZY_BODY std::string memory_writer::place_of(instruction const& i, std::int64_t further) {
    auto const first = place_in_first_entry(i.buffer, i.offset + affine{further});
    auto const of_entry = i.op != opcode::gather && i.op != opcode::store && i.operands[0] >= 0;
    return of_entry ? format_text("{} + {} * {}", first, operand(i, 0), long_literal(i.entry)) : first;
}

GSUB_LAZY_BODY std::string memory_writer::place_in_first_entry(std::int32_t buffer, affine const& offset) {
    auto const constant = offset.constant();
    auto const varying = offset - affine{constant};
    auto const added = constant == 0  ? std::string{}
                       : constant < 0 ? format_text(" - {}", long_literal(-constant))
                                      : format_text(" + {}", long_literal(constant));
    if (varying.is_constant()) return format_text("b{}{}", buffer, added);
    for (auto const& p : pointers_)
        if (p.buffer == buffer && p.offset == varying) return format_text("p{}{}", p.id, added);
    auto const& of = k_.buffers[static_cast<std::size_t>(buffer)];
    text_.line(format_text("{}{}* const p{} = b{} + ({});", of.written ? "" : "const ", c_type(of.element),
                           next_pointer_, buffer, text_of(varying)));
    pointers_.push_back({buffer, varying, next_pointer_});
    return format_text("p{}{}", next_pointer_++, added);
}

} // namespace gsub::codegen::detail
