#pragma once

#include <gsub/codegen/impl/tile_lowerer.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace gsub::codegen::detail {

GSUB_LAZY_BODY std::vector<assumption> tile_lowerer::open_conditions(std::size_t depth) {
    std::vector<assumption> open;
    auto const& what = at_.nest().what;
    if (what.update >= 0) return open;
    int count = 0;
    auto const add = [&](std::vector<loop::bound> const& within) {
        for (auto const& b : within) {
            if (at_.check(b) != truth::unknown || b.value.depends_on(at_.lane())) continue;
            ++count;
            auto const value = at_.resolved(b.value);
            auto const constant = value.constant();
            auto const varying = value - affine{constant};
            auto const same = std::find_if(open.begin(), open.end(),
                                           [&](auto& o) { return o.extent == b.extent && o.varying == varying; });
            if (same == open.end()) {
                open.push_back({varying, b.extent, constant, constant});
            } else {
                same->low = std::min(same->low, constant);
                same->high = std::max(same->high, constant);
            }
        }
    };
    at_.each_place(depth, [&] {
        for (auto const& l : what.loads) add(l.predicate);
        add(what.target_predicate);
        for (auto const& s : what.more_stores) add(s.predicate);
    });
    if (count < 4) open.clear();
    return open;
}

GSUB_LAZY_BODY void tile_lowerer::begin(std::size_t depth, statement_list& out) {
    depth_ = depth;
    places_.clear();
    auto const reducing = at_.nest().what.update >= 0;
    at_.each_place(depth, [&] {
        auto const lanes = at_.lanes_here();
        if (lanes == 0) return places_.push_back({-1, 0});
        places_.push_back({reducing ? new_accumulator(lanes, out) : 0, lanes});
    });
    auto const live = std::count_if(places_.begin(), places_.end(), [](auto const& p) { return p.accumulator >= 0; });
    made_.live = std::max(made_.live, static_cast<std::int32_t>(live));
}

GSUB_LAZY_BODY reg tile_lowerer::new_accumulator(std::int32_t lanes, statement_list& out) {
    auto const initial = at_.nest().what.initial;
    instruction i;
    i.op = opcode::copy;
    i.type = expressions_.type_of(initial);
    i.operands[0] = at_.lanes_reduce() ? neutral(out) : expressions_.value_of(initial, {-1, lanes}, out);
    i.result = expressions_.values().fresh();
    expressions_.values().block(out).push_back(i);
    return i.result;
}

[[nodiscard]] GSUB_INLINE std::int64_t least_integer(dtype t) {
    if (!info(t).is_signed) return 0;
    return std::numeric_limits<std::int64_t>::min() >> (64 - 8 * static_cast<int>(byte_size(t)));
}

// What a combination starts from that leaves every element as it is.
GSUB_LAZY_BODY reg tile_lowerer::neutral(statement_list& out) {
    auto const& what = at_.nest().what;
    instruction i;
    i.type = expressions_.type_of(what.initial);
    auto const adds = what.combine == loop::scalar_op::add;
    i.value = adds || !is_floating(i.type) ? 0 : -std::numeric_limits<double>::infinity();
    i.integer = adds || is_floating(i.type) ? 0 : least_integer(i.type);
    return expressions_.values().value_of(std::move(i), out);
}

GSUB_LAZY_BODY void tile_lowerer::step(statement_list& out) {
    auto const place = places_[at_.place_index(depth_)];
    if (place.accumulator < 0) return;
    auto const lanes = at_.lanes_here(true);
    if (lanes == 0) return;
    auto const& bounds = at_.nest().what.bounds;
    std::vector<loop::bound> open;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        if (at_.is_ensured(i)) continue;
        auto const here = at_.check(bounds[i]);
        if (here == truth::no) return;
        if (here == truth::yes) continue;
        if (bounds[i].value.depends_on(at_.lane()))
            fail_lowering(errors::kernel_form, "a condition depends on the vectorised loop");
        open.push_back({at_.resolved(bounds[i].value), bounds[i].extent});
    }
    tile_place const valid{place.accumulator, at_.lanes_reduce() ? lanes : place.lanes};
    if (open.empty()) return accumulate(valid, out);
    statement n;
    n.kind = statement_kind::branch;
    n.conditions = std::move(open);
    accumulate(valid, n.body);
    out.push_back(std::move(n));
}

GSUB_LAZY_BODY void tile_lowerer::accumulate(tile_place here, statement_list& out) {
    auto const& what = at_.nest().what;
    auto const& update = what.exprs[static_cast<std::size_t>(what.update)];
    tile_place const read{-1, here.lanes};
    instruction i;
    i.result = here.accumulator;
    i.lanes = at_.lanes_reduce() ? here.lanes : made_.lanes;
    i.type = update.type;
    i.function = what.combine;
    if (what.combine == loop::scalar_op::add && update.op == loop::scalar_op::multiply) {
        i.op = opcode::multiply_add;
        i.operands[0] = expressions_.value_of(update.operands[0], read, out);
        i.operands[1] = expressions_.value_of(update.operands[1], read, out);
    } else {
        i.op = opcode::accumulate;
        i.operands[0] = expressions_.value_of(what.update, read, out);
    }
    expressions_.values().block(out).push_back(std::move(i));
}

GSUB_LAZY_BODY void tile_lowerer::end(statement_list& out) {
    std::size_t place = 0;
    at_.each_place(depth_, [&] {
        auto here = places_[place++];
        if (here.accumulator < 0) return;
        if (at_.lanes_reduce()) here.accumulator = combined_lanes(here.accumulator, out);
        store_results(here, out);
        if (at_.nest().what.guard >= 0) add_guard(here, out);
    });
}

// The initial value and all lanes of an accumulator as one.
GSUB_LAZY_BODY reg tile_lowerer::combined_lanes(reg accumulator, statement_list& out) {
    auto const& what = at_.nest().what;
    auto& values = expressions_.values();
    instruction i;
    i.op = opcode::reduce;
    i.function = what.combine;
    i.type = expressions_.type_of(what.initial);
    i.operands[0] = accumulator;
    i.result = values.fresh();
    values.block(out).push_back(i);
    instruction first;
    first.op = opcode::copy;
    first.type = i.type;
    first.operands[0] = expressions_.value_of(what.initial, {-1, made_.lanes}, out);
    first.result = values.fresh();
    values.block(out).push_back(first);
    instruction both;
    both.op = opcode::accumulate;
    both.function = i.function;
    both.type = i.type;
    both.operands[0] = i.result;
    both.lanes = made_.lanes;
    both.result = first.result;
    values.block(out).push_back(both);
    return both.result;
}

GSUB_LAZY_BODY void tile_lowerer::store_results(tile_place here, statement_list& out) {
    auto const& what = at_.nest().what;
    expressions_.values().forget_expressions();
    for (std::size_t i = 0; i <= what.more_stores.size(); ++i) expressions_.store(i, here, out);
}

// Where the guard of a place is not finite, the fallback runs for it.
GSUB_LAZY_BODY void tile_lowerer::add_guard(tile_place here, statement_list& out) {
    auto const& what = at_.nest().what;
    instruction i;
    i.op = opcode::reduce;
    i.type = expressions_.type_of(what.guard);
    i.operands[0] = expressions_.stored_value(what.guard, here, out);
    i.result = expressions_.values().fresh();
    expressions_.values().block(out).push_back(i);
    statement n;
    n.kind = statement_kind::guard;
    n.guarded = i.result;
    for (auto const& a : what.fallback_at) n.arguments.push_back(at_.resolved(a));
    out.push_back(std::move(n));
}

GSUB_LAZY_BODY void order_products(statement& n, std::size_t from) {
    for (auto* within : {&n.body, &n.otherwise})
        for (auto& inner : *within) order_products(inner, 0);
    auto& code = n.code;
    std::vector<std::pair<reg, std::size_t>> loads; // registers increase
    auto const load_of = [&](reg r) {
        auto const found = std::lower_bound(loads.begin(), loads.end(), std::pair{r, std::size_t{0}});
        return found != loads.end() && found->first == r ? found->second : code.size();
    };
    struct product {
        std::size_t at, reads[2];
    };
    std::vector<product> products;
    for (std::size_t i = 0; i < code.size(); ++i) {
        if (code[i].op == opcode::load) loads.emplace_back(code[i].result, i);
        if (code[i].op == opcode::load || i < from) continue;
        product const p{i, {load_of(code[i].operands[0]), load_of(code[i].operands[1])}};
        if (code[i].op != opcode::multiply_add || std::max(p.reads[0], p.reads[1]) == code.size()) return;
        products.push_back(p);
        if (!(code[p.reads[0]].offset - code[products[0].reads[0]].offset).is_constant()) return;
    }
    std::stable_sort(products.begin(), products.end(), [&](auto const& a, auto const& b) {
        return code[a.reads[0]].offset.constant() < code[b.reads[0]].offset.constant();
    });
    std::vector<instruction> ordered;
    std::vector<char> placed(code.size(), 0);
    auto const place = [&](std::size_t i) {
        if (i >= from && !std::exchange(placed[i], 1)) ordered.push_back(code[i]);
    };
    for (auto const& p : products) {
        for (auto const i : p.reads) place(i);
        place(p.at);
    }
    if (from + ordered.size() == code.size())
        std::move(ordered.begin(), ordered.end(), code.begin() + static_cast<std::ptrdiff_t>(from));
}

} // namespace gsub::codegen::detail
