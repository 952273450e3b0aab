#pragma once

#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <utility>

namespace gsub::codegen {

namespace detail {

enum class truth : std::uint8_t { no, unknown, yes };

template <class = void>
class nest_lowerer {
public:
    /// A stage of a kernel, within so many of its loops. Variables are the stage's own.
    nest_lowerer(loop::loop_nest const& nest, std::size_t within, lower_options const& options, kernel& made)
        : nest_(nest),
          within_(within),
          options_(options),
          ranges_(nest.ranges),
          decided_(nest.what.bounds.size(), 0),
          made_(made) {
        if (nest.parallel_loops() > 1) fail(error_code::usage, "a kernel has one parallel loop: fuse them");
        if (nest.loops.empty() || nest.loops.back().kind != loop::loop_kind::vectorized)
            fail(error_code::usage, "a kernel has a vectorised loop");
        lane_ = nest.loops.back().var;
        lanes_reduce_ = nest.loops.back().reduction;
        auto const lanes = static_cast<std::int32_t>(nest.loops.back().extent);
        if (made.lanes != 1 && made.lanes != lanes) fail(error_code::usage, "stages have vectors of one width");
        made.lanes = lanes;
        loop_of_.resize(nest.names.size());
        for (std::size_t i = 0; i < nest.loops.size(); ++i) loop_of_[static_cast<std::size_t>(nest.loops[i].var)] = i;
        for (auto const& p : nest.fused_indices)
            loop_of_[static_cast<std::size_t>(p.var)] = loop_of_[static_cast<std::size_t>(p.of)];
    }

    std::vector<statement> run() {
        std::vector<statement> body;
        descend(0, body);
        return body;
    }

private:
    using statements = std::vector<statement>;

    [[noreturn]] static void fail(error_code code, std::string_view reason) {
        throw error{code, fmt::format("lowering: {}", reason)};
    }
    loop::interval& range(variable v) { return ranges_[static_cast<std::size_t>(v)]; }
    [[nodiscard]] bool known(variable v) const {
        auto const& r = ranges_[static_cast<std::size_t>(v)];
        return r.low == r.high;
    }
    // Variables with one value left become numbers.
    [[nodiscard]] affine resolved(affine const& a) const {
        affine out = a.constant();
        for (auto const& t : a.terms())
            out += known(t.of) ? affine{t.factor * ranges_[static_cast<std::size_t>(t.of)].low}
                               : affine::of(t.of, t.factor);
        return out;
    }
    [[nodiscard]] truth check(loop::bound const& b) const {
        auto const r = loop::range_of(b.value, as_span(ranges_));
        if (r.low >= 0 && r.high < b.extent) return truth::yes;
        if (!assumed_.empty() && std::any_of(assumed_.begin(), assumed_.end(), [&](auto& a) {
                auto const here = resolved(b.value);
                return b.extent == a.extent && a.low <= here.constant() && here.constant() <= a.high &&
                       here - affine{here.constant()} == a.varying;
            }))
            return truth::yes;
        return r.high < 0 || r.low >= b.extent ? truth::no : truth::unknown;
    }

    // ---- loops

    // Calls `body` for each position of the unrolled loops (and the vectorised one) among those from `depth` on which
    // `of` depends.
    template <class F>
    void each_inner_position(affine const& of, std::size_t depth, F&& body) {
        for (; depth < nest_.loops.size(); ++depth) {
            auto const& l = nest_.loops[depth];
            auto const inner = l.kind == loop::loop_kind::unrolled || l.kind == loop::loop_kind::vectorized;
            if (!inner || !of.depends_on(l.var)) continue;
            for (std::int64_t i = 0; i < l.extent; ++i) {
                range(l.var) = {i, i};
                each_inner_position(of, depth + 1, body);
            }
            range(l.var) = {0, l.extent - 1};
            return;
        }
        body();
    }

    // Adds the positions of `v` at which a condition changes for some inner position, if nothing else decides it.
    // A condition that other loops decide too is cut where it holds whatever they do, if it `must` be decided.
    void cuts_of(loop::bound const& b, variable v, std::size_t depth, bool must, std::vector<std::int64_t>& cuts) {
        auto const f = b.value.factor(v);
        if (f == 0 || check(b) == truth::yes) return;
        each_inner_position(b.value, depth, [&] {
            auto const rest = resolved(b.value.with(v, 0));
            if (!rest.is_constant() && !must) return;
            auto const r = loop::range_of(rest, as_span(ranges_));
            // 0 <= f v + rest < extent
            auto const first = f > 0 ? ceil_div(-r.low, f) : ceil_div(r.high - b.extent + 1, -f);
            auto const last = f > 0 ? ceil_div(b.extent - r.high, f) : floor_div(r.low, -f) + 1;
            cuts.push_back(first);
            cuts.push_back(last);
            if (!rest.is_constant() && range(v).high - last < 8) // the others are decided by the loops within
                for (auto x = std::max(last, range(v).low); x <= range(v).high; ++x) cuts.push_back(x);
        });
    }
    static std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
    static std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

    // Ranges of `v` within which the conditions on every inner position are the same.
    std::vector<std::int64_t> cut(variable v, std::size_t depth) {
        auto const whole = range(v);
        auto const finish = [&](std::vector<std::int64_t> cuts) {
            std::erase_if(cuts, [&](auto c) { return c <= whole.low || c > whole.high; });
            cuts.push_back(whole.low);
            std::sort(cuts.begin(), cuts.end());
            cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
            cuts.push_back(whole.high + 1);
            return cuts;
        };
        std::vector<std::int64_t> cuts;
        for (auto const& b : nest_.tails) cuts_of(b, v, depth, true, cuts);
        auto all = cuts;
        for (auto const& b : nest_.what.bounds) cuts_of(b, v, depth, false, all);
        for (auto const& t : nest_.what.exprs)
            for (auto const& b : t.predicate) cuts_of(b, v, depth, false, all);
        for (auto const& b : nest_.what.target_predicate) cuts_of(b, v, depth, false, all);
        for (auto const& s : nest_.what.more_stores)
            for (auto const& b : s.predicate) cuts_of(b, v, depth, false, all);
        auto ranges = finish(std::move(all));
        return static_cast<std::int32_t>(ranges.size()) - 1 <= options_.max_ranges ? ranges : finish(std::move(cuts));
    }

    void descend(std::size_t depth, statements& out) {
        if (depth == nest_.loops.size()) return leaf(out);
        auto const& l = nest_.loops[depth];
        if (depth < within_) {
            auto const whole = range(l.var);
            alternatives(l.var, cut(l.var, depth + 1), 0, 0, l.var, depth, out);
            range(l.var) = whole;
            return;
        }
        if (!in_tile_ && (l.reduction || only_inner_from(depth))) return tile(depth, out);
        switch (l.kind) {
        case loop::loop_kind::unrolled:
            for (std::int64_t i = 0; i < l.extent; ++i) {
                range(l.var) = {i, i};
                descend(depth + 1, out);
            }
            range(l.var) = {0, l.extent - 1};
            return;
        case loop::loop_kind::vectorized:
            return descend(depth + 1, out);
        case loop::loop_kind::parallel: {
            auto& n = add_loop(l.var, out);
            n.begin.clear(), n.end.clear(); // the caller's range
            statements body;
            auto const whole = range(l.var);
            alternatives(l.var, cut(l.var, depth + 1), 0, 0, l.var, depth, body);
            range(l.var) = whole;
            out.back().body = std::move(body);
            return;
        }
        case loop::loop_kind::serial:
            if (l.reduction) return reduce(depth, out);
            auto const whole = range(l.var);
            auto const cuts = cut(l.var, depth + 1);
            for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
                range(l.var) = {cuts[i], cuts[i + 1] - 1};
                if (cuts[i] + 1 == cuts[i + 1]) { // one position: no loop
                    enter_parts(0, l.var, depth, out);
                } else {
                    add_loop(l.var, out);
                    statements body;
                    enter_parts(0, l.var, depth, body);
                    out.back().body = std::move(body);
                }
            }
            range(l.var) = whole;
            return;
        }
    }
    statement& add_loop(variable v, statements& out) {
        statement n;
        n.kind = statement_kind::loop;
        n.var = v;
        n.begin = {{range(v).low, 1}};
        n.end = {{range(v).high + 1, 1}};
        out.push_back(std::move(n));
        return out.back();
    }
    [[nodiscard]] bool only_inner_from(std::size_t depth) const {
        return std::all_of(nest_.loops.begin() + static_cast<std::ptrdiff_t>(depth), nest_.loops.end(), [](auto& l) {
            return l.kind == loop::loop_kind::unrolled || l.kind == loop::loop_kind::vectorized;
        });
    }

    // Parts of a fused loop, from the `next` one on, each with its ranges as alternatives.
    void enter_parts(std::size_t next, variable of, std::size_t depth, statements& out) {
        auto const reaches = [&](variable index) { // fused indices of fused indices count too
            auto v = index;
            for (std::size_t i = nest_.fused_indices.size(); v != of && i-- > 0;)
                if (nest_.fused_indices[i].var == v) v = nest_.fused_indices[i].of;
            return v == of && index != of;
        };
        while (next < nest_.fused_indices.size() && !reaches(nest_.fused_indices[next].var)) ++next;
        if (next == nest_.fused_indices.size()) return descend(depth + 1, out);
        auto const& p = nest_.fused_indices[next];
        if (known(p.var)) return enter_parts(next + 1, of, depth, out);
        statement n;
        n.kind = statement_kind::fused_index;
        n.var = p.var, n.of = p.of, n.divisor = p.divisor, n.extent = p.extent;
        out.push_back(std::move(n));
        auto const whole = range(p.var);
        alternatives(p.var, cut(p.var, depth + 1), 0, next + 1, of, depth, out);
        range(p.var) = whole;
    }
    // What stands within a loop `of` from its `next` fused index on, for each range of `v`.
    void alternatives(variable v, std::vector<std::int64_t> const& cuts, std::size_t i, std::size_t next, variable of,
                      std::size_t depth, statements& out) {
        range(v) = {cuts[i], cuts[i + 1] - 1};
        if (i + 2 == cuts.size()) return enter_parts(next, of, depth, out);
        statement n;
        n.kind = statement_kind::branch;
        n.conditions = {{affine::of(v), cuts[i + 1]}};
        enter_parts(next, of, depth, n.body);
        alternatives(v, cuts, i + 1, next, of, depth, n.otherwise);
        out.push_back(std::move(n));
    }

    // The ranges of a reduction loop within which its steps exist alike.
    void reduce(std::size_t depth, statements& out) {
        auto const v = nest_.loops[depth].var;
        auto const whole = range(v);
        std::vector<std::int64_t> cuts{whole.low, whole.high + 1};
        for (auto const& b : nest_.tails) cuts_of(b, v, depth + 1, true, cuts);
        std::erase_if(cuts, [&](auto c) { return c < whole.low || c > whole.high + 1; });
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
            range(v) = {cuts[i], cuts[i + 1] - 1};
            reduce_range(depth, out);
        }
        range(v) = whole;
    }
    // A reduction loop takes over each condition that it and enclosing loops decide.
    void reduce_range(std::size_t depth, statements& out) {
        auto const& l = nest_.loops[depth];
        statement n;
        n.kind = statement_kind::loop;
        n.var = l.var;
        n.begin = {{range(l.var).low, 1}};
        n.end = {{range(l.var).high + 1, 1}};
        std::vector<std::size_t> taken;
        for (std::size_t i = 0; i < nest_.what.bounds.size(); ++i) {
            auto const& b = nest_.what.bounds[i];
            auto const f = b.value.factor(l.var);
            if (f <= 0 || decided_[i] || check(b) == truth::yes || depends_on_inner(b.value, depth + 1)) continue;
            auto const rest = resolved(b.value.with(l.var, 0));
            n.begin.push_back({rest * -1, f});
            n.end.push_back({affine{b.extent} - rest, f});
            decided_[i] = 1;
            taken.push_back(i);
        }
        if (known(l.var) && taken.empty()) { // no loop
            enter_parts(0, l.var, depth, out);
        } else {
            enter_parts(0, l.var, depth, n.body);
            out.push_back(std::move(n));
        }
        for (auto i : taken) decided_[i] = 0;
    }
    [[nodiscard]] bool depends_on_inner(affine const& a, std::size_t depth) const {
        return std::any_of(a.terms().begin(), a.terms().end(), [&](auto& t) {
            auto const& whole = nest_.ranges[static_cast<std::size_t>(t.of)];
            return loop_of_[static_cast<std::size_t>(t.of)] >= depth && whole.low != whole.high;
        });
    }

    // ---- blocks

    // The block at the end of a list. A new one knows no values: what an earlier one computed may be out of scope.
    std::vector<instruction>& block(statements& out) {
        if (out.empty() || out.back().kind != statement_kind::block) {
            out.emplace_back();
            values_.clear();
            terms_.clear();
        }
        if (block_of_values_ != &out || values_in_ != out.size()) {
            block_of_values_ = &out;
            values_in_ = out.size();
            values_.clear();
            terms_.clear();
        }
        return out.back().code;
    }
    reg fresh() { return made_.registers++; }
    // The zeros differ, a NaN does not.
    static bool same_bits(double a, double b) {
        return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    }

    // The register of a pure instruction: one that computes the same in this block, or a new one.
    reg value_of(instruction i, statements& out) {
        auto& code = block(out);
        for (auto const& [known, r] : values_)
            if (known.op == i.op && known.function == i.function && known.type == i.type && known.buffer == i.buffer &&
                std::ranges::equal(known.operands, i.operands) && known.integer == i.integer &&
                known.lanes == i.lanes && known.stride == i.stride && known.entry == i.entry &&
                same_bits(known.value, i.value) && known.offset == i.offset && known.order == i.order &&
                std::equal(known.predicate.begin(), known.predicate.end(), i.predicate.begin(), i.predicate.end(),
                           [](auto& a, auto& b) { return a.extent == b.extent && a.value == b.value; }))
                return r;
        i.result = fresh();
        auto const r = i.result;
        values_.emplace_back(i, r);
        code.push_back(std::move(i));
        return r;
    }

    // Offset of an access in elements with the vectorised loop at its first position.
    affine offset_of(loop::access const& a) const {
        auto const& from = made_.buffers[static_cast<std::size_t>(a.of)];
        affine offset;
        std::int64_t stride = 1;
        for (auto d = a.index.size(); d-- > 0;) {
            offset += a.index[d] * (from.strides.empty() ? stride : from.strides[d]);
            stride *= from.dims[d];
        }
        return offset;
    }

    // Where each lane of a load reads that looks its place up; empty where it does not.
    std::vector<std::int64_t> places_of(loop::lookup const& beyond, std::int64_t step) const {
        std::vector<std::int64_t> places;
        if (beyond.table.empty()) return places;
        auto const first = resolved(beyond.by.with(lane_, 0));
        if (!first.is_constant()) fail(error_code::unsupported, "a place is looked up by a loop that is not unrolled");
        for (std::int64_t i = 0; i < made_.lanes; ++i) {
            auto const at = first.constant() + beyond.by.factor(lane_) * i;
            GSUB_ASSERT(at >= 0 && at < static_cast<std::int64_t>(beyond.table.size()), "a place is in the table");
            places.push_back(beyond.table[static_cast<std::size_t>(at)] + step * i);
        }
        return places;
    }

    // An expression that is stored at the present place: what many stores share is looked up once.
    reg stored_value(std::int32_t id, std::int32_t lanes, reg reduced, statements& out) {
        block(out);
        storing_ = true;
        auto const r = value_of(id, lanes, reduced, out);
        storing_ = false;
        return r;
    }
    reg value_of(std::int32_t id, std::int32_t lanes, reg reduced, statements& out) {
        if (!storing_) return new_term(id, lanes, reduced, out);
        auto const n = static_cast<std::size_t>(id);
        if (terms_.size() <= n) terms_.resize(nest_.what.exprs.size(), -1);
        if (terms_[n] < 0) {
            auto const r = new_term(id, lanes, reduced, out);
            terms_[n] = r;
        }
        return terms_[n];
    }
    reg new_term(std::int32_t id, std::int32_t lanes, reg reduced, statements& out) {
        auto const& t = nest_.what.exprs[static_cast<std::size_t>(id)];
        instruction i;
        i.type = t.type;
        switch (t.op) {
        case loop::scalar_op::reduced:
            return reduced;
        case loop::scalar_op::constant:
            i.op = opcode::splat;
            i.value = t.value;
            i.integer = t.integer;
            return value_of(std::move(i), out);
        case loop::scalar_op::load: {
            auto const offset = offset_of(t.source);
            auto const step = offset.factor(lane_);
            i.order = places_of(t.source.beyond, step);
            i.op = step == 0 && i.order.empty() ? opcode::broadcast : opcode::load;
            i.value = t.value;
            i.integer = t.integer;
            i.buffer = t.source.of;
            i.offset = resolved(offset.with(lane_, 0));
            auto const all = lanes;
            for (auto const& b : t.predicate) {
                auto here = check(b);
                if (here == truth::yes) continue;
                if (here == truth::unknown && b.value.depends_on(lane_)) {
                    if (step == 0 || i.value != 0 || i.integer != 0)
                        fail(error_code::unsupported, "a condition depends on the vectorised loop");
                    auto const count = lanes_within(b);
                    lanes = std::min(lanes, count);
                    if (count > 0) continue;
                    here = truth::no;
                }
                if (here == truth::no) {
                    i = {};
                    i.type = t.type;
                    i.value = t.value;
                    i.integer = t.integer;
                    return value_of(std::move(i), out);
                }
                i.predicate.push_back({resolved(b.value), b.extent});
            }
            auto const& chosen = t.chosen;
            if (chosen.by >= 0) {
                instruction c;
                c.op = opcode::choose;
                c.type = dtype::i64;
                c.operands[0] = value_of(chosen.by, lanes, reduced, out);
                c.buffer = chosen.status;
                c.integer = chosen.entries;
                c.lanes = lanes;
                i.operands[0] = value_of(std::move(c), out);
                i.entry = chosen.stride;
                if (varies(chosen.by)) i.op = opcode::gather;
                if (i.op == opcode::gather) i.stride = step;
            }
            if (i.op == opcode::broadcast) return value_of(std::move(i), out);
            if (!i.order.empty()) {
                i.lanes = made_.lanes;
                return value_of(std::move(i), out);
            }
            // Lanes beyond the tail may hold anything that can be read: nobody stores them.
            auto const& from = made_.buffers[static_cast<std::size_t>(i.buffer)];
            auto const reach = loop::range_of(i.offset + affine{step * (made_.lanes - 1)}, as_span(ranges_));
            auto const behind = chosen.by < 0 ? 0 : (chosen.entries - 1) * chosen.stride;
            auto const readable = reach.low >= 0 && reach.high + behind < from.elements();
            i.lanes = readable && lanes == all && i.op == opcode::load ? made_.lanes : lanes;
            i.stride = step;
            return value_of(std::move(i), out);
        }
        default:
            i.op = opcode::compute;
            i.function = t.op;
            for (std::size_t o = 0; o < std::size(t.operands); ++o)
                if (t.operands[o] >= 0) i.operands[o] = value_of(t.operands[o], lanes, reduced, out);
            return value_of(std::move(i), out);
        }
    }

    // Whether an expression has a value for each lane.
    [[nodiscard]] bool varies(std::int32_t id) const {
        auto const& t = nest_.what.exprs[static_cast<std::size_t>(id)];
        if (t.op == loop::scalar_op::reduced) return true;
        if (t.op == loop::scalar_op::load && offset_of(t.source).depends_on(lane_)) return true;
        return (t.chosen.by >= 0 && varies(t.chosen.by)) ||
               std::any_of(std::begin(t.operands), std::end(t.operands), [&](auto o) { return o >= 0 && varies(o); });
    }
    // Lanes for which a condition holds: the first ones.
    std::int32_t lanes_within(loop::bound const& b) {
        std::int32_t count = 0, last = 0;
        for (std::int32_t i = 0; i < made_.lanes; ++i) {
            range(lane_) = {i, i};
            auto const here = check(b);
            if (here == truth::unknown)
                fail(error_code::unsupported, "a condition depends on the vectorised loop and on another one");
            if (here == truth::yes) ++count, last = i + 1;
        }
        range(lane_) = {0, made_.lanes - 1};
        if (count != last) fail(error_code::unsupported, "a condition leaves out the first lanes of a vector");
        return count;
    }

    // ---- register tiles

    // Everything from the first reduction loop on, or from where only unrolled loops remain: one accumulator for each
    // position of the unrolled spatial loops, kept in registers to the end.
    void tile(std::size_t depth, statements& out) {
        auto open = open_guards(depth);
        if (open.empty()) return whole_tile(depth, out);
        // Where all hold there is nothing to test within.
        statement n;
        n.kind = statement_kind::branch;
        for (auto const& a : open) {
            n.conditions.push_back({a.varying + affine{a.low}, a.extent});
            if (a.low != a.high) n.conditions.push_back({a.varying + affine{a.high}, a.extent});
        }
        assumed_ = std::move(open);
        whole_tile(depth, n.body);
        assumed_.clear();
        whole_tile(depth, n.otherwise);
        out.push_back(std::move(n));
    }
    // Conditions on what is read and stored at the end of a tile that loops have not decided, where they are many:
    // those that differ by a constant as one.
    struct guard {
        affine varying;
        std::int64_t extent = 0, low = 0, high = 0;
    };
    std::vector<guard> open_guards(std::size_t depth) {
        std::vector<guard> open;
        int count = 0;
        if (nest_.what.update >= 0) return open;
        auto const add = [&](std::vector<loop::bound> const& within) {
            for (auto const& b : within) {
                if (check(b) != truth::unknown || b.value.depends_on(lane_)) continue;
                ++count;
                auto const value = resolved(b.value);
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
        each_place(depth, [&] {
            for (auto const& t : nest_.what.exprs) add(t.predicate);
            add(nest_.what.target_predicate);
            for (auto const& s : nest_.what.more_stores) add(s.predicate);
        });
        if (count < 4) open.clear();
        return open;
    }
    void whole_tile(std::size_t depth, statements& out) {
        in_tile_ = true;
        tile_.clear();
        auto const reducing = nest_.what.update >= 0;
        each_place(depth, [&] {
            auto const lanes = lanes_here();
            if (lanes == 0) return tile_.push_back({-1, 0});
            if (!reducing) return tile_.push_back({0, lanes});
            instruction i;
            i.op = opcode::copy;
            i.type = type_of(nest_.what.initial);
            i.operands[0] = lanes_reduce_ ? neutral(out) : value_of(nest_.what.initial, lanes, -1, out);
            i.result = fresh();
            block(out).push_back(i);
            tile_.push_back({i.result, lanes});
        });
        made_.live = std::max(made_.live, static_cast<std::int32_t>(std::count_if(
                                              tile_.begin(), tile_.end(), [](auto& p) { return p.accumulator >= 0; })));
        tile_depth_ = depth;
        if (reducing) {
            auto const begins_block = out.empty() || out.back().kind != statement_kind::block;
            auto const statement = begins_block ? out.size() : out.size() - 1;
            auto const code = begins_block ? 0 : out.back().code.size();
            descend(depth, out);
            for (auto i = statement; i < out.size(); ++i) order_steps(out[i], i == statement ? code : 0);
        }
        std::size_t at = 0;
        each_place(depth, [&] {
            auto const place = tile_[at++];
            if (place.accumulator < 0) return;
            auto const reduced = lanes_reduce_ ? combined_lanes(place.accumulator, out) : place.accumulator;
            terms_.clear();
            store({nest_.what.target, nest_.what.result, nest_.what.target_predicate}, place.lanes, reduced, out);
            for (auto const& more : nest_.what.more_stores) store(more, place.lanes, reduced, out);
            if (nest_.what.guard < 0) return;
            instruction i;
            i.op = opcode::reduce;
            i.type = type_of(nest_.what.guard);
            i.operands[0] = stored_value(nest_.what.guard, place.lanes, reduced, out);
            i.result = fresh();
            block(out).push_back(i);
            statement n;
            n.kind = statement_kind::guard;
            n.guarded = i.result;
            for (auto const& a : nest_.what.fallback_at) n.arguments.push_back(resolved(a));
            out.push_back(std::move(n));
        });
        in_tile_ = false;
    }
    // Products of two vectors that are read: the steps that share the first stand together, in the order of memory, so
    // that it is read once and is in a register no longer than that. The steps of one accumulator stay in order where
    // the loops of the reduction walk memory forwards.
    void order_steps(statement& n, std::size_t from) {
        for (auto* within : {&n.body, &n.otherwise})
            for (auto& inner : *within) order_steps(inner, 0);
        auto& code = n.code;
        if (lanes_reduce_) return;
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
    void store(loop::stored_expr const& what, std::int32_t lanes, reg reduced, statements& out) {
        instruction i;
        for (auto const& b : what.predicate) {
            auto const here = check(b);
            if (here == truth::no) return;
            if (here == truth::yes) continue;
            if (b.value.depends_on(lane_)) fail(error_code::unsupported, "a condition depends on the vectorised loop");
            i.predicate.push_back({resolved(b.value), b.extent});
        }
        i.op = opcode::store;
        i.type = type_of(what.value);
        i.operands[0] = stored_value(what.value, lanes, reduced, out);
        i.buffer = what.target.of;
        auto const offset = offset_of(what.target);
        if (offset.factor(lane_) != (lanes_reduce_ ? 0 : 1))
            fail(error_code::unsupported, "results are stored one element after another by the vectorised loop");
        i.offset = resolved(offset.with(lane_, 0));
        i.lanes = lanes_reduce_ ? 1 : lanes;
        block(out).push_back(std::move(i));
        forget_loads_of(what.target.of);
    }
    // What was read of a buffer before something is stored there may be old.
    void forget_loads_of(std::int32_t buffer) {
        if (std::erase_if(values_, [&](auto const& v) { return v.first.buffer == buffer; }) > 0) terms_.clear();
    }
    [[nodiscard]] dtype type_of(std::int32_t id) const { return nest_.what.exprs[static_cast<std::size_t>(id)].type; }
    // What a combination starts from that leaves every element as it is.
    reg neutral(statements& out) {
        instruction i;
        i.type = type_of(nest_.what.initial);
        auto const adds = nest_.what.combine == loop::scalar_op::add;
        i.value = adds || !is_floating(i.type) ? 0 : -std::numeric_limits<double>::infinity();
        i.integer = adds || is_floating(i.type) ? 0 : least_integer(i.type);
        return value_of(std::move(i), out);
    }
    static std::int64_t least_integer(dtype t) {
        if (!info(t).is_signed) return 0;
        return std::numeric_limits<std::int64_t>::min() >> (64 - 8 * static_cast<int>(byte_size(t)));
    }
    // The initial value and all lanes of an accumulator as one.
    reg combined_lanes(reg accumulator, statements& out) {
        instruction i;
        i.op = opcode::reduce;
        i.function = nest_.what.combine;
        i.type = type_of(nest_.what.initial);
        i.operands[0] = accumulator;
        i.result = fresh();
        block(out).push_back(i);
        instruction first;
        first.op = opcode::copy;
        first.type = i.type;
        first.operands[0] = value_of(nest_.what.initial, made_.lanes, -1, out);
        first.result = fresh();
        block(out).push_back(first);
        instruction both;
        both.op = opcode::accumulate;
        both.function = i.function;
        both.type = i.type;
        both.operands[0] = i.result;
        both.lanes = made_.lanes;
        both.result = first.result;
        block(out).push_back(both);
        return both.result;
    }

    // Calls `body` at each position of the unrolled spatial loops from `depth` on.
    template <class F>
    void each_place(std::size_t depth, F&& body) {
        for (; depth < nest_.loops.size(); ++depth) {
            auto const& l = nest_.loops[depth];
            if (l.reduction || l.kind != loop::loop_kind::unrolled) continue;
            for (std::int64_t i = 0; i < l.extent; ++i) {
                range(l.var) = {i, i};
                each_place(depth + 1, body);
            }
            range(l.var) = {0, l.extent - 1};
            return;
        }
        body();
    }
    // Lanes that exist at the present position: a prefix.
    std::int32_t lanes_here(bool of_reduction = false) {
        std::int32_t lanes = made_.lanes;
        for (auto const& b : nest_.tails) {
            if (check(b) == truth::yes || depends_on_reduction(b.value) != of_reduction) continue;
            std::int32_t count = 0;
            for (std::int32_t i = 0; i < made_.lanes; ++i) {
                range(lane_) = {i, i};
                auto const here = check(b);
                if (here == truth::unknown)
                    fail(error_code::unsupported, "an axis that is split more than once ends within a tile");
                if (here == truth::no) break;
                ++count;
                if (!b.value.depends_on(lane_)) {
                    count = made_.lanes;
                    break;
                }
            }
            range(lane_) = {0, made_.lanes - 1};
            lanes = std::min(lanes, count);
        }
        return lanes;
    }
    [[nodiscard]] bool depends_on_reduction(affine const& a) const {
        return std::any_of(a.terms().begin(), a.terms().end(),
                           [&](auto& t) { return nest_.loops[loop_of_[static_cast<std::size_t>(t.of)]].reduction; });
    }

    // One step of a reduction for one place of the tile.
    void leaf(statements& out) {
        auto const place = tile_[place_index()];
        if (place.accumulator < 0) return;
        auto const lanes = lanes_here(true);
        if (lanes == 0) return;
        std::vector<loop::bound> open;
        for (std::size_t i = 0; i < nest_.what.bounds.size(); ++i) {
            if (decided_[i]) continue;
            auto const here = check(nest_.what.bounds[i]);
            if (here == truth::no) return;
            if (here == truth::unknown) {
                if (nest_.what.bounds[i].value.depends_on(lane_))
                    fail(error_code::unsupported, "a condition depends on the vectorised loop");
                open.push_back({resolved(nest_.what.bounds[i].value), nest_.what.bounds[i].extent});
            }
        }
        auto const valid = lanes_reduce_ ? lanes : place.lanes;
        if (open.empty()) return step(place.accumulator, valid, out);
        statement n;
        n.kind = statement_kind::branch;
        n.conditions = std::move(open);
        step(place.accumulator, valid, n.body);
        out.push_back(std::move(n));
    }
    [[nodiscard]] std::size_t place_index() const {
        std::size_t index = 0;
        for (auto d = tile_depth_; d < nest_.loops.size(); ++d) {
            auto const& l = nest_.loops[d];
            if (!l.reduction && l.kind == loop::loop_kind::unrolled)
                index = index * static_cast<std::size_t>(l.extent) +
                        static_cast<std::size_t>(ranges_[static_cast<std::size_t>(l.var)].low);
        }
        return index;
    }
    void step(reg accumulator, std::int32_t lanes, statements& out) {
        auto const& what = nest_.what;
        auto const& update = what.exprs[static_cast<std::size_t>(what.update)];
        instruction i;
        i.result = accumulator;
        i.lanes = lanes_reduce_ ? lanes : made_.lanes;
        i.type = update.type;
        i.function = what.combine;
        if (what.combine == loop::scalar_op::add && update.op == loop::scalar_op::multiply) {
            i.op = opcode::multiply_add;
            i.operands[0] = value_of(update.operands[0], lanes, -1, out);
            i.operands[1] = value_of(update.operands[1], lanes, -1, out);
        } else {
            i.op = opcode::accumulate;
            i.operands[0] = value_of(what.update, lanes, -1, out);
        }
        block(out).push_back(i);
    }

    struct tile_place {
        reg accumulator = -1; ///< -1: the position does not exist
        std::int32_t lanes = 0;
    };

    loop::loop_nest const& nest_;
    std::size_t within_; // leading loops that stand outside
    lower_options options_;
    std::vector<loop::interval> ranges_; // what is known of each variable here
    std::vector<char> decided_;          // conditions that an enclosing reduction loop ensures
    std::vector<std::size_t> loop_of_;   // depth of the loop that a variable belongs to
    variable lane_ = -1;
    bool lanes_reduce_ = false; // the vectorised loop belongs to the reduction
    kernel& made_;
    bool in_tile_ = false;
    std::size_t tile_depth_ = 0;
    std::vector<tile_place> tile_;
    statements const* block_of_values_ = nullptr;
    std::size_t values_in_ = 0;
    std::vector<guard> assumed_;
    bool storing_ = false;
    std::vector<reg> terms_; // of the present place, while storing
    std::vector<std::pair<instruction, reg>> values_;
};

// Puts stages together: each within the loops that it shares, its variables renamed to those of the kernel.
template <class = void>
class kernel_assembler {
public:
    kernel_assembler(loop::fused_nest const& nest, lower_options const& options) : nest_(nest), options_(options) {}

    kernel run(std::string_view name) {
        made_.name = name;
        made_.buffers.assign(nest_.buffers().begin(), nest_.buffers().end());
        auto const stages = nest_.stages();
        for (std::size_t i = 0; i < stages.size(); ++i) {
            auto& own = variables_.emplace_back();
            for (auto const& n : stages[i].names) {
                own.push_back(static_cast<variable>(made_.names.size()));
                made_.names.push_back(n);
            }
            for (std::size_t d = 0; d < nest_.shared(i); ++d)
                own[index(stages[i].loops[d].var)] = variables_[i - 1][index(stages[i - 1].loops[d].var)];
        }
        if (stages[0].parallel_loops() > 0) {
            made_.parallel = stages[0].loops[0].var;
            made_.parallel_extent = stages[0].parallel_extent();
        }
        assemble(0, stages.size(), 0, made_.body);
        if (auto const* const fallback = nest_.fallback())
            assemble_fallback(*fallback, stages.back().what.fallback_at.size());
        return std::move(made_);
    }

private:
    static std::size_t index(variable v) { return static_cast<std::size_t>(v); }

    // Stages that stand within `depth` common loops.
    void assemble(std::size_t first, std::size_t last, std::size_t depth, std::vector<statement>& out) {
        for (auto i = first; i < last;) {
            auto end = i + 1;
            while (end < last && nest_.shared(end) > depth) ++end;
            auto const& stage = nest_.stages()[i];
            if (end == i + 1) {
                auto body = nest_lowerer{stage, depth, options_, made_}.run();
                rename(body, variables_[i]);
                std::move(body.begin(), body.end(), std::back_inserter(out));
            } else {
                auto const& l = stage.loops[depth];
                statement n;
                n.kind = statement_kind::loop;
                n.var = variables_[i][index(l.var)];
                if (l.kind != loop::loop_kind::parallel) n.begin = {{0, 1}}, n.end = {{l.extent, 1}};
                assemble(i, end, depth + 1, n.body);
                out.push_back(std::move(n));
            }
            i = end;
        }
    }

    // Seldom run, so it is kept short: what can be tested while it runs is.
    void assemble_fallback(loop::loop_nest const& nest, std::size_t given) {
        std::vector<variable> own;
        for (auto const& n : nest.names) {
            own.push_back(static_cast<variable>(made_.names.size()));
            made_.names.push_back(n);
        }
        auto options = options_;
        options.max_ranges = 1;
        made_.fallback = nest_lowerer{nest, given, options, made_}.run();
        rename(made_.fallback, own);
        for (std::size_t d = 0; d < given; ++d) made_.fallback_parameters.push_back(own[index(nest.loops[d].var)]);
    }

    static affine renamed(affine const& a, std::vector<variable> const& to) {
        affine out = a.constant();
        for (auto const& t : a.terms()) out += affine::of(to[index(t.of)], t.factor);
        return out;
    }
    static void rename(std::vector<statement>& statements, std::vector<variable> const& to) {
        auto const bounds = [&](std::vector<loop::bound>& all) {
            for (auto& b : all) b.value = renamed(b.value, to);
        };
        for (auto& n : statements) {
            if (n.var >= 0) n.var = to[index(n.var)];
            if (n.of >= 0) n.of = to[index(n.of)];
            for (auto* limits : {&n.begin, &n.end})
                for (auto& l : *limits) l.value = renamed(l.value, to);
            bounds(n.conditions);
            for (auto& a : n.arguments) a = renamed(a, to);
            for (auto& i : n.code) {
                i.offset = renamed(i.offset, to);
                bounds(i.predicate);
            }
            rename(n.body, to);
            rename(n.otherwise, to);
        }
    }

    loop::fused_nest const& nest_;
    lower_options options_;
    kernel made_;
    std::vector<std::vector<variable>> variables_; // of the kernel, for those of each stage
};

} // namespace detail

GSUB_LAZY_BODY result<kernel> lower(loop::fused_nest const& nest, std::string_view name, lower_options const& options) {
    try {
        return detail::kernel_assembler{nest, options}.run(name);
    } catch (error const& e) { return e; }
}

} // namespace gsub::codegen
