#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>
#include <gsub/loop/impl/store_order.ipp>
#include <gsub/loop/schedule.hpp>

#include <algorithm>

namespace gsub::loop {

namespace detail {

GSUB_LAZY std::string text_of(access const& a, loop_nest const& nest) {
    auto text = nest.what.buffers[static_cast<std::size_t>(a.of)].name + "[";
    for (std::size_t i = 0; i < a.index.size(); ++i)
        text += format_text("{}{}", i ? ", " : "", to_string(a.index[i], nest.names));
    text += "]";
    if (!a.beyond.table.empty()) text += format_text(" + table[{}]", to_string(a.beyond.by, nest.names));
    return text;
}

GSUB_LAZY std::string text_of(std::int32_t id, loop_nest const& nest) {
    auto const& t = nest.what.exprs[static_cast<std::size_t>(id)];
    auto const& of = info(t.op);
    switch (t.op) {
    case scalar_op::constant:
        return is_floating(t.type) ? format_text("{}", shortest{t.value}) : format_text("{}", t.integer);
    case scalar_op::load:
        if (auto const& read = nest.what.read_by(t); read.chosen.by >= 0)
            return format_text("{} of entry {}", text_of(read.source, nest), text_of(read.chosen.by, nest));
        else
            return text_of(read.source, nest);
    case scalar_op::reduced:
        return "sum";
    default:
        break;
    }
    if (!of.infix.empty())
        return format_text("({}{}{})", text_of(t.operands[0], nest), of.infix, text_of(t.operands[1], nest));
    std::string_view const name = t.op == scalar_op::maximum   ? "max"
                                  : t.op == scalar_op::minimum ? "min"
                                  : t.op == scalar_op::cast    ? to_string(t.type)
                                                               : of.name;
    std::string operands;
    for (auto o : t.operands)
        if (o >= 0) operands += format_text("{}{}", operands.empty() ? "" : ", ", text_of(o, nest));
    return format_text("{}({})", name, operands);
}

} // namespace detail

GSUB_LAZY_BODY std::string_view to_string(loop_kind k) noexcept {
    constexpr std::string_view names[] = {"for", "parallel", "unrolled", "vectorized"};
    return names[static_cast<std::size_t>(k)];
}

GSUB_LAZY_BODY std::size_t loop_nest::parallel_loops() const noexcept {
    std::size_t n = 0;
    while (n < loops.size() && loops[n].kind == loop_kind::parallel) ++n;
    return n;
}

GSUB_LAZY_BODY std::int64_t loop_nest::parallel_extent() const noexcept {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < parallel_loops(); ++i) n *= loops[i].extent;
    return n;
}

GSUB_LAZY_BODY std::string to_string(loop_nest const& nest) {
    std::string text, indent;
    auto const line = [&](std::string_view what) { text += format_text("{}{}\n", indent, what); };
    for (auto const& l : nest.loops) {
        line(format_text("{} {} in {}{}", to_string(l.kind), nest.names[static_cast<std::size_t>(l.var)], l.extent,
                         l.reduction ? ":  # reduction" : ":"));
        indent += "  ";
        std::vector<variable> known{l.var}; // fused indices have fused indices too
        for (auto const& p : nest.fused_indices) {
            if (std::find(known.begin(), known.end(), p.of) == known.end()) continue;
            known.push_back(p.var);
            line(format_text("{} = {} / {} % {}", nest.names[static_cast<std::size_t>(p.var)],
                             nest.names[static_cast<std::size_t>(p.of)], p.divisor, p.extent));
        }
    }
    auto const where = [&](std::vector<bound> const& bounds) {
        for (auto const& b : bounds) line(format_text("where 0 <= {} < {}", to_string(b.value, nest.names), b.extent));
    };
    auto const& e = nest.what;
    for (auto const& c : e.chosen)
        line(format_text("{} = {} below {}", nest.names[static_cast<std::size_t>(c.var)],
                         detail::text_of(c.source, nest), c.entries));
    where(nest.tails);
    if (e.update >= 0) {
        where(e.bounds);
        line(format_text("sum {}{}  # from {}", e.combine == scalar_op::maximum ? "max= " : "+= ",
                         detail::text_of(e.update, nest), detail::text_of(e.initial, nest)));
    }
    where(e.target_predicate);
    line(format_text("{} = {}", detail::text_of(e.target, nest), detail::text_of(e.result, nest)));
    for (auto const& s : e.more_stores) {
        where(s.predicate);
        line(format_text("{} = {}", detail::text_of(s.target, nest), detail::text_of(s.value, nest)));
    }
    if (e.guard >= 0) {
        auto at = format_text("fallback unless finite: {}, at", detail::text_of(e.guard, nest));
        for (auto const& a : e.fallback_at) at += " " + to_string(a, nest.names);
        line(at);
    }
    return text;
}

GSUB_LAZY_BODY schedule::schedule(tensor_expression what) {
    nest_.what = std::move(what);
    nest_.tails = std::move(nest_.what.domain);
    for (auto const& a : nest_.what.axes) {
        auto const v = add_variable(a.name, a.extent);
        nest_.loops.push_back({v, a.extent, loop_kind::serial, a.kind == axis_kind::reduction});
    }
    for (auto const& c : nest_.what.chosen)
        static_cast<void>(
            add_variable("at_" + nest_.what.buffers[static_cast<std::size_t>(c.source.of)].name, c.entries));
}

GSUB_LAZY_BODY variable schedule::add_variable(std::string name, std::int64_t extent) {
    nest_.names.push_back(std::move(name));
    nest_.ranges.push_back({0, extent - 1});
    return static_cast<variable>(nest_.names.size() - 1);
}

GSUB_LAZY_BODY std::size_t schedule::position(variable loop) const {
    for (std::size_t i = 0; i < nest_.loops.size(); ++i)
        if (nest_.loops[i].var == loop) return i;
    detail::refuse("that is no loop any more");
}

GSUB_LAZY_BODY bool schedule::is_fused(variable loop) const {
    return std::any_of(nest_.fused_indices.begin(), nest_.fused_indices.end(), [&](auto& p) { return p.of == loop; });
}

GSUB_LAZY_BODY variable schedule::loop_of(std::string_view axis) const {
    for (auto const& l : nest_.loops)
        if (nest_.names[static_cast<std::size_t>(l.var)] == axis) return l.var;
    detail::refuse(format_text("there is no loop {}", quoted{axis}));
}

GSUB_LAZY_BODY void schedule::substitute(variable v, affine const& by) {
    auto const put = [&](affine& a) {
        if (a.depends_on(v)) a = a.with(v, by);
    };
    auto const into = [&](access& a) {
        for (auto& i : a.index) put(i);
        put(a.beyond.by);
    };
    auto const within = [&](std::vector<bound>& bounds) {
        for (auto& b : bounds) put(b.value);
    };
    for (auto& c : nest_.what.chosen) into(c.source);
    for (auto& l : nest_.what.loads) into(l.source), within(l.predicate);
    into(nest_.what.target), within(nest_.what.target_predicate);
    for (auto& a : nest_.what.fallback_at) put(a);
    for (auto& s : nest_.what.more_stores) into(s.target), within(s.predicate);
    within(nest_.what.bounds), within(nest_.tails);
}

GSUB_LAZY_BODY std::pair<variable, variable> schedule::split(variable loop, std::int64_t factor) {
    auto const at = position(loop);
    auto const old = nest_.loops[at];
    if (factor < 1) detail::refuse("a factor is positive");
    if (old.kind != loop_kind::serial) detail::refuse("a loop is split while it is serial");
    if (is_fused(loop)) detail::refuse("a fused loop is not split");
    auto const outer_extent = (old.extent - 1) / factor + 1;
    auto const name = nest_.names[static_cast<std::size_t>(loop)];
    auto const outer = add_variable(name + "_o", outer_extent), inner = add_variable(name + "_i", factor);
    auto const value = affine::of(outer, factor) + affine::of(inner);
    substitute(loop, value);
    if (outer_extent * factor != old.extent) nest_.tails.push_back({value, old.extent});
    nest_.loops[at] = {inner, factor, loop_kind::serial, old.reduction};
    nest_.loops.insert(nest_.loops.begin() + static_cast<std::ptrdiff_t>(at),
                       {outer, outer_extent, loop_kind::serial, old.reduction});
    return {outer, inner};
}

GSUB_LAZY_BODY variable schedule::fuse(variable outer, variable inner) {
    auto const at = position(outer);
    if (at + 1 >= nest_.loops.size() || nest_.loops[at + 1].var != inner)
        detail::refuse("loops to be fused are neighbours, the outer one first");
    auto const a = nest_.loops[at], b = nest_.loops[at + 1];
    if (a.reduction != b.reduction) detail::refuse("a spatial loop and a reduction do not fuse");
    if (a.kind != loop_kind::serial || b.kind != loop_kind::serial)
        detail::refuse("loops are fused while they are serial");
    auto const f = add_variable(format_text("{}_{}", nest_.names[static_cast<std::size_t>(outer)],
                                            nest_.names[static_cast<std::size_t>(inner)]),
                                a.extent * b.extent);
    nest_.fused_indices.insert(nest_.fused_indices.begin(), {{outer, f, b.extent, a.extent}, {inner, f, 1, b.extent}});
    nest_.loops.erase(nest_.loops.begin() + static_cast<std::ptrdiff_t>(at));
    nest_.loops[at] = {f, a.extent * b.extent, loop_kind::serial, a.reduction};
    return f;
}

GSUB_LAZY_BODY void schedule::reorder(std::span<variable const> order) {
    if (order.size() != nest_.loops.size()) detail::refuse("an order names every loop");
    std::vector<nest_loop> next;
    for (auto v : order) {
        next.push_back(nest_.loops[position(v)]);
        for (std::size_t i = 0; i + 1 < next.size(); ++i)
            if (next[i].var == v) detail::refuse("an order names every loop once");
    }
    nest_.loops = std::move(next);
}

GSUB_LAZY_BODY void schedule::set_kind(variable loop, loop_kind k) {
    auto& l = nest_.loops[position(loop)];
    if (l.kind != loop_kind::serial) detail::refuse("a loop gets its kind once");
    if (l.reduction && k == loop_kind::parallel) detail::refuse("a reduction is not parallel");
    if (is_fused(loop) && k != loop_kind::parallel) detail::refuse("a fused loop is serial or parallel");
    l.kind = k;
}

GSUB_LAZY_BODY void schedule::check() const {
    bool reducing = false, inner = false;
    for (std::size_t i = 0; i < nest_.loops.size(); ++i) {
        auto const& l = nest_.loops[i];
        auto const& name = nest_.names[static_cast<std::size_t>(l.var)];
        if (l.kind == loop_kind::parallel && inner)
            detail::refuse(format_text("{}: parallel loops stand outermost", name));
        if (l.kind != loop_kind::parallel) inner = true;
        if (l.kind == loop_kind::vectorized && i + 1 != nest_.loops.size())
            detail::refuse(format_text("{}: the vectorised loop stands innermost", name));
        reducing = reducing || l.reduction;
        if (reducing && !l.reduction && l.kind != loop_kind::unrolled && l.kind != loop_kind::vectorized)
            detail::refuse(format_text("{}: a spatial loop within a reduction is unrolled or vectorised", name));
    }
    if (!nest_.what.chosen.empty()) detail::store_order<>{nest_}.check();
}

} // namespace gsub::loop
