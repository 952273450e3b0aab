#pragma once

#include <gsub/codegen/impl/expression_lowerer.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace gsub::codegen::detail {

GSUB_LAZY_BODY reg expression_lowerer::stored_value(std::int32_t id, tile_place here, statement_list& out) {
    values_.block(out);
    storing_ = true;
    auto const r = value_of(id, here, out);
    storing_ = false;
    return r;
}

GSUB_LAZY_BODY reg expression_lowerer::value_of(std::int32_t id, tile_place here, statement_list& out) {
    if (!storing_) return new_value(id, here, out);
    if (auto const known = values_.expression(id); known >= 0) return known;
    auto const r = new_value(id, here, out);
    values_.set_expression(id, r);
    return r;
}

GSUB_LAZY_BODY reg expression_lowerer::new_value(std::int32_t id, tile_place here, statement_list& out) {
    auto const& t = expression(id);
    if (t.op == loop::scalar_op::reduced) return here.accumulator;
    if (t.op == loop::scalar_op::load) return load(id, here, out);
    instruction i;
    i.type = t.type;
    if (t.op == loop::scalar_op::constant) {
        i.op = opcode::splat;
        i.value = t.value;
        i.integer = t.integer;
    } else {
        i.op = opcode::compute;
        i.function = t.op;
        for (std::size_t o = 0; o < std::size(t.operands); ++o)
            if (t.operands[o] >= 0) i.operands[o] = value_of(t.operands[o], here, out);
    }
    return values_.value_of(std::move(i), out);
}

GSUB_LAZY_BODY reg expression_lowerer::load(std::int32_t id, tile_place here, statement_list& out) {
    auto const& t = expression(id);
    auto const& read = at_.nest().what.read_by(t);
    auto const& from = flat(read.source, loads_[static_cast<std::size_t>(t.load)]);
    auto const step = from.step;
    instruction i;
    i.type = t.type;
    i.order = places_of(read.source.beyond, step);
    i.op = step == 0 && i.order.empty() ? opcode::broadcast : opcode::load;
    i.value = t.value;
    i.integer = t.integer;
    i.buffer = read.source.of;
    i.offset = at_.resolved(from.offset);
    auto const all = here.lanes;
    if (!add_predicate(read, step, i, here.lanes)) { // nothing is read
        instruction outside;
        outside.type = t.type;
        outside.value = t.value;
        outside.integer = t.integer;
        return values_.value_of(std::move(outside), out);
    }
    // Lanes beyond the tail may hold anything that can be read: nobody stores them.
    auto const whole =
        i.op == opcode::load && i.order.empty() && here.lanes == all && reads_whole_vector(i.offset, from, read.chosen);
    if (read.chosen.by >= 0) {
        i.operands[0] = chosen_entry(read.chosen, here, out);
        i.entry = read.chosen.stride;
        if (varies(read.chosen.by)) i.op = opcode::gather;
        if (i.op == opcode::gather) i.stride = step;
    }
    if (i.op == opcode::broadcast) return values_.value_of(std::move(i), out);
    if (!i.order.empty()) {
        i.lanes = made_.lanes;
        return values_.value_of(std::move(i), out);
    }
    i.lanes = whole && i.op == opcode::load ? made_.lanes : here.lanes;
    i.stride = step;
    return values_.value_of(std::move(i), out);
}

// Adds the conditions that are not decided to a load, and takes away lanes for which one does not hold; false where
// nothing is read.
GSUB_LAZY_BODY bool expression_lowerer::add_predicate(loop::loaded_element const& read, std::int64_t step,
                                                      instruction& i, std::int32_t& lanes) {
    for (auto const& b : read.predicate) {
        auto const here = at_.check(b);
        if (here == truth::yes) continue;
        if (here == truth::no) return false;
        if (b.value.depends_on(at_.lane())) {
            if (step == 0 || i.value != 0 || i.integer != 0)
                fail_lowering(errors::kernel_form, "a condition depends on the vectorised loop");
            auto const count = at_.lanes_within(b);
            lanes = std::min(lanes, count);
            if (count == 0) return false;
            continue;
        }
        i.predicate.push_back({at_.resolved(b.value), b.extent});
    }
    return true;
}

GSUB_LAZY_BODY reg expression_lowerer::chosen_entry(loop::chosen_entry const& chosen, tile_place here,
                                                    statement_list& out) {
    instruction c;
    c.op = opcode::choose;
    c.type = dtype::i64;
    c.operands[0] = value_of(chosen.by, here, out);
    c.buffer = chosen.status;
    c.integer = chosen.entries;
    c.lanes = here.lanes;
    return values_.value_of(std::move(c), out);
}

// Whether all lanes of a load are within its buffer.
GSUB_LAZY_BODY bool expression_lowerer::reads_whole_vector(affine const& offset, flat_access const& from,
                                                           loop::chosen_entry const& chosen) const {
    auto const first = at_.range_of(offset);
    auto const reach = from.step * (made_.lanes - 1);
    auto const behind = chosen.by < 0 ? 0 : (chosen.entries - 1) * chosen.stride;
    return first.low + reach >= 0 && first.high + reach + behind < from.limit;
}

// An access as an offset in elements, computed once.
GSUB_LAZY_BODY expression_lowerer::flat_access const& expression_lowerer::flat(loop::access const& a,
                                                                               flat_access& made) const {
    if (made.limit > 0) return made;
    auto const& from = made_.buffers[static_cast<std::size_t>(a.of)];
    auto const offset = at_.nest().what.offset_of(a);
    made.step = offset.factor(at_.lane());
    made.offset = offset.with(at_.lane(), 0);
    made.limit = from.elements();
    return made;
}

// Where each lane of a load reads that looks its place up; empty where it does not.
GSUB_LAZY_BODY std::vector<std::int64_t> expression_lowerer::places_of(loop::lookup const& beyond,
                                                                       std::int64_t step) const {
    std::vector<std::int64_t> places;
    if (beyond.table.empty()) return places;
    auto const first = at_.resolved(beyond.by.with(at_.lane(), 0));
    if (!first.is_constant()) fail_lowering(errors::kernel_form, "a place is looked up by a loop that is not unrolled");
    for (std::int64_t i = 0; i < made_.lanes; ++i) {
        auto const place = first.constant() + beyond.by.factor(at_.lane()) * i;
        GSUB_ASSERT(place >= 0 && place < static_cast<std::int64_t>(beyond.table.size()), "a place is in the table");
        places.push_back(beyond.table[static_cast<std::size_t>(place)] + step * i);
    }
    return places;
}

// Whether an expression has a value for each lane.
GSUB_LAZY_BODY bool expression_lowerer::varies(std::int32_t id) {
    auto const& t = expression(id);
    if (t.op == loop::scalar_op::reduced) return true;
    if (t.op == loop::scalar_op::load) {
        auto const& read = at_.nest().what.read_by(t);
        return flat(read.source, loads_[static_cast<std::size_t>(t.load)]).step != 0 ||
               (read.chosen.by >= 0 && varies(read.chosen.by));
    }
    return std::any_of(std::begin(t.operands), std::end(t.operands), [&](auto o) { return o >= 0 && varies(o); });
}

GSUB_LAZY_BODY void expression_lowerer::store(std::size_t number, tile_place here, statement_list& out) {
    auto const& what = at_.nest().what;
    auto const* const more = number > 0 ? &what.more_stores[number - 1] : nullptr;
    auto const& target = more ? more->target : what.target;
    auto const value = more ? more->value : what.result;
    instruction i;
    for (auto const& b : more ? more->predicate : what.target_predicate) {
        auto const holds = at_.check(b);
        if (holds == truth::no) return;
        if (holds == truth::yes) continue;
        if (b.value.depends_on(at_.lane()))
            fail_lowering(errors::kernel_form, "a condition depends on the vectorised loop");
        i.predicate.push_back({at_.resolved(b.value), b.extent});
    }
    i.op = opcode::store;
    i.type = type_of(value);
    i.operands[0] = stored_value(value, here, out);
    i.buffer = target.of;
    auto const& to = flat(target, stores_[number]);
    if (to.step != (at_.lanes_reduce() ? 0 : 1))
        fail_lowering(errors::kernel_form, "results are stored one element after another by the vectorised loop");
    i.offset = at_.resolved(to.offset);
    i.lanes = at_.lanes_reduce() ? 1 : here.lanes;
    values_.block(out).push_back(std::move(i));
    values_.forget_loads_of(target.of);
}

} // namespace gsub::codegen::detail
