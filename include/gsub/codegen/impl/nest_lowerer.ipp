#pragma once

#include <gsub/codegen/impl/nest_lowerer.hpp>

#include <utility>

namespace gsub::codegen::detail {

GSUB_LAZY_BODY nest_lowerer::nest_lowerer(loop::loop_nest const& nest, std::size_t within, std::int32_t max_ranges,
                                          kernel& made)
    : at_(nest), partition_(at_, max_ranges), tile_(at_, made), within_(within) {
    if (made.lanes != 1 && made.lanes != at_.lanes())
        fail_lowering(errors::kernel_schedule, "stages have vectors of one width");
    made.lanes = at_.lanes();
}

GSUB_LAZY_BODY statement_list nest_lowerer::run() {
    statement_list body;
    descend(0, body);
    return body;
}

GSUB_LAZY_BODY void nest_lowerer::descend(std::size_t depth, statement_list& out) {
    if (depth == at_.nest().loops.size()) return tile_.step(out);
    auto const& l = loop_at(depth);
    if (depth < within_) return branch_on_ranges(l.var, {l.var, depth, 0}, out);
    if (!in_tile_ && (l.reduction || at_.only_inner_from(depth))) return lower_tile(depth, out);
    switch (l.kind) {
    case loop::loop_kind::unrolled:
        return unroll(depth, out);
    case loop::loop_kind::vectorized:
        return descend(depth + 1, out);
    case loop::loop_kind::parallel:
        return lower_parallel(depth, out);
    case loop::loop_kind::serial:
        return l.reduction ? lower_reduction(depth, out) : lower_serial(depth, out);
    }
}

GSUB_LAZY_BODY void nest_lowerer::unroll(std::size_t depth, statement_list& out) {
    auto const& l = loop_at(depth);
    for (std::int64_t i = 0; i < l.extent; ++i) {
        at_.range(l.var) = {i, i};
        descend(depth + 1, out);
    }
    at_.range(l.var) = {0, l.extent - 1};
}

// The range is the caller's.
GSUB_LAZY_BODY void nest_lowerer::lower_parallel(std::size_t depth, statement_list& out) {
    auto const v = loop_at(depth).var;
    statement n;
    n.kind = statement_kind::loop;
    n.var = v;
    branch_on_ranges(v, {v, depth, 0}, n.body);
    out.push_back(std::move(n));
}

GSUB_LAZY_BODY void nest_lowerer::lower_serial(std::size_t depth, statement_list& out) {
    auto const v = loop_at(depth).var;
    at_.each_range(v, partition_.of(v, depth + 1), [&] {
        if (at_.is_known(v)) return enter({v, depth, 0}, out); // one position: no loop
        auto n = loop_over_range(v);
        enter({v, depth, 0}, n.body);
        out.push_back(std::move(n));
    });
}

GSUB_LAZY_BODY void nest_lowerer::lower_reduction(std::size_t depth, statement_list& out) {
    auto const v = loop_at(depth).var;
    at_.each_range(v, partition_.of_reduction(v, depth + 1), [&] { lower_reduction_range(depth, out); });
}

// A reduction loop takes over each condition that it and enclosing loops decide.
GSUB_LAZY_BODY void nest_lowerer::lower_reduction_range(std::size_t depth, statement_list& out) {
    auto const v = loop_at(depth).var;
    auto const& bounds = at_.nest().what.bounds;
    auto n = loop_over_range(v);
    std::vector<std::size_t> taken;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        auto const& b = bounds[i];
        auto const f = b.value.factor(v);
        if (f <= 0 || at_.is_ensured(i) || at_.check(b) == truth::yes || at_.depends_on_inner(b.value, depth + 1))
            continue;
        auto const rest = at_.resolved(b.value.with(v, 0));
        n.begin.push_back({rest * -1, f});
        n.end.push_back({affine{b.extent} - rest, f});
        at_.ensure(i, true);
        taken.push_back(i);
    }
    if (at_.is_known(v) && taken.empty()) { // no loop
        enter({v, depth, 0}, out);
    } else {
        enter({v, depth, 0}, n.body);
        out.push_back(std::move(n));
    }
    for (auto i : taken) at_.ensure(i, false);
}

// A loop over the present range of its variable.
GSUB_LAZY_BODY statement nest_lowerer::loop_over_range(variable v) {
    statement n;
    n.kind = statement_kind::loop;
    n.var = v;
    n.begin = {{at_.range(v).low, 1}};
    n.end = {{at_.range(v).high + 1, 1}};
    return n;
}

// Where all open conditions hold there is nothing to test within a tile.
GSUB_LAZY_BODY void nest_lowerer::lower_tile(std::size_t depth, statement_list& out) {
    auto open = tile_.open_conditions(depth);
    if (open.empty()) return lower_whole_tile(depth, out);
    statement n;
    n.kind = statement_kind::branch;
    for (auto const& a : open) {
        n.conditions.push_back({a.varying + affine{a.low}, a.extent});
        if (a.low != a.high) n.conditions.push_back({a.varying + affine{a.high}, a.extent});
    }
    at_.assume(std::move(open));
    lower_whole_tile(depth, n.body);
    at_.assume({});
    lower_whole_tile(depth, n.otherwise);
    out.push_back(std::move(n));
}

GSUB_LAZY_BODY void nest_lowerer::lower_whole_tile(std::size_t depth, statement_list& out) {
    in_tile_ = true;
    tile_.begin(depth, out);
    if (at_.nest().what.update >= 0) {
        auto const begins_block = out.empty() || out.back().kind != statement_kind::block;
        auto const first = begins_block ? out.size() : out.size() - 1;
        auto const code = begins_block ? 0 : out.back().code.size();
        descend(depth, out);
        if (!at_.lanes_reduce())
            for (auto i = first; i < out.size(); ++i) order_products(out[i], i == first ? code : 0);
    }
    tile_.end(out);
    in_tile_ = false;
}

// Fused indices with one value left are numbers; each of the others has its ranges as alternatives.
GSUB_LAZY_BODY void nest_lowerer::enter(loop_body body, statement_list& out) {
    auto const& indices = at_.nest().fused_indices;
    while (body.next < indices.size() &&
           (!at_.is_fused_index_of(indices[body.next].var, body.of) || at_.is_known(indices[body.next].var)))
        ++body.next;
    if (body.next == indices.size()) return choose(body.depth, 0, out);
    auto const& p = indices[body.next++];
    statement n;
    n.kind = statement_kind::fused_index;
    n.var = p.var, n.of = p.of, n.divisor = p.divisor, n.extent = p.extent;
    out.push_back(std::move(n));
    branch_on_ranges(p.var, body, out);
}

template <class F>
void nest_lowerer::where_positions_exist(std::size_t depth, std::size_t known, statement_list& out, F&& body) {
    std::vector<loop::bound> open;
    statement n;
    n.kind = statement_kind::branch;
    for (auto const& b : at_.nest().tails) {
        if (at_.depends_on_inner(b.value, depth + 1) || at_.depends_on_chosen(b.value, known)) continue;
        auto const exists = at_.check(b);
        if (exists == truth::no) return;
        if (exists == truth::yes) continue;
        open.push_back(b);
        n.conditions.push_back({at_.resolved(b.value), b.extent});
    }
    if (open.empty()) return body(out);
    at_.within(open, [&] { body(n.body); });
    out.push_back(std::move(n));
}
// The indices that integers choose by a loop, from the `next` one on, then the loops inside. An index is read, and
// used, where its position exists.
GSUB_LAZY_BODY void nest_lowerer::choose(std::size_t depth, std::size_t next, statement_list& out) {
    auto const& chosen = at_.nest().what.chosen;
    while (next < chosen.size() && at_.depth_of(chosen[next].var) != depth) ++next;
    if (next == chosen.size()) return descend(depth + 1, out);
    auto const& c = chosen[next];
    where_positions_exist(depth, next, out, [&](statement_list& here) {
        statement n;
        n.kind = statement_kind::chosen_index;
        n.var = c.var, n.extent = c.entries, n.status = c.status;
        instruction i;
        i.op = opcode::broadcast;
        i.buffer = c.source.of;
        i.type = at_.nest().what.buffers[static_cast<std::size_t>(i.buffer)].element;
        i.offset = at_.resolved(at_.nest().what.offset_of(c.source));
        i.result = tile_.fresh();
        n.code.push_back(std::move(i));
        where_positions_exist(depth, next + 1, n.body,
                              [&](statement_list& inside) { choose(depth, next + 1, inside); });
        here.push_back(std::move(n));
    });
}

// What stands within a loop for each range of one of its variables.
GSUB_LAZY_BODY void nest_lowerer::branch_on_ranges(variable v, loop_body body, statement_list& out) {
    auto const whole = at_.range(v);
    alternatives(v, partition_.of(v, body.depth + 1), 0, body, out);
    at_.range(v) = whole;
}
GSUB_LAZY_BODY void nest_lowerer::alternatives(variable v, std::vector<std::int64_t> const& cuts, std::size_t range,
                                               loop_body body, statement_list& out) {
    at_.range(v) = {cuts[range], cuts[range + 1] - 1};
    if (range + 2 == cuts.size()) return enter(body, out);
    statement n;
    n.kind = statement_kind::branch;
    n.conditions = {{affine::of(v), cuts[range + 1]}};
    enter(body, n.body);
    alternatives(v, cuts, range + 1, body, n.otherwise);
    out.push_back(std::move(n));
}

} // namespace gsub::codegen::detail
