#pragma once

#include <gsub/core/format.hpp>
#include <gsub/machine/impl/ptx_values.ipp>
#include <gsub/machine/impl/trip_counter.ipp>
#include <gsub/machine/ptx_work.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace gsub::machine {

GSUB_LAZY_BODY double ptx_work::times(ptx_class what, std::optional<ptx_space> space) const noexcept {
    double sum = 0;
    for (auto const& c : counts)
        if (c.what == what && (!space || c.space == *space)) sum += c.times;
    return sum;
}
GSUB_LAZY_BODY double ptx_work::bytes(ptx_class what, ptx_space space) const noexcept {
    double sum = 0;
    for (auto const& c : counts)
        if (c.what == what && c.space == space) sum += c.times * c.bytes;
    return sum;
}

namespace detail {

// The class of processors' tables that an instruction is nearest to: loops ask what stands before their test.
GSUB_LAZY instruction_class nearest_class(ptx_class c) noexcept {
    switch (c) {
    case ptx_class::fma:
    case ptx_class::matrix:
        return instruction_class::fma;
    case ptx_class::floating:
        return instruction_class::add;
    case ptx_class::special:
        return instruction_class::divide;
    case ptx_class::convert:
        return instruction_class::convert;
    case ptx_class::load:
        return instruction_class::load;
    case ptx_class::store:
    case ptx_class::atomic:
    case ptx_class::copy_async:
        return instruction_class::store;
    case ptx_class::shuffle:
        return instruction_class::shuffle;
    case ptx_class::branch:
        return instruction_class::branch;
    default:
        return instruction_class::integer;
    }
}

// Writes a kernel as a function of assembly whose branches go as values decide, with what its followed registers do.
template <class = void>
class ptx_function {
public:
    ptx_function(ptx_kernel const& k, ptx_values<> const& values) : k_(k), values_(values) {}

    [[nodiscard]] assembly_function write() const {
        assembly_function f;
        f.name = k_.name;
        f.virtual_registers = static_cast<std::uint32_t>(std::max<std::size_t>(1, values_.followed()));
        for (auto const& i : k_.code) {
            auto& line = f.lines.emplace_back();
            line.line = i.line;
            line.first = static_cast<std::uint32_t>(f.code.size());
            f.code.push_back({nearest_class(i.what), 4, {}, {}, {}, -1});
            line.last = static_cast<std::uint32_t>(f.code.size());
            line.flow = i.flow, line.target = i.target;
        }
        for (std::uint32_t b = 0; b < k_.blocks.size(); ++b) {
            auto const& block = k_.blocks[b];
            f.blocks.push_back({block.label, k_.code[block.first].line, block.first, block.last, block.first,
                                block.last, values_.edges(b)});
            if (values_.reached(b)) write_block(f, b);
        }
        return f;
    }

private:
    using state = ptx_values<>::state;
    using kinds = ptx_operand::kinds;

    void write_block(assembly_function& f, std::uint32_t b) const {
        auto const& block = k_.blocks[b];
        auto const& end = k_.code[block.last - std::size_t{1}];
        std::uint32_t decides = block.last; // what makes the predicate of the branch at the end
        for (auto i = block.first; i < block.last; ++i)
            for (auto const d : k_.code[i].defs)
                if (end.flow == line_flow::branch && d == static_cast<std::uint32_t>(end.predicate)) decides = i;
        auto s = values_.start(b);
        auto when = line_condition::other;
        for (auto i = block.first; i < block.last; ++i) {
            if (i == decides) when = write_comparison(f.lines[i], k_.code[i], s);
            write_effects(f.lines[i], k_.code[i], s);
        }
        auto& last = f.lines[block.last - std::size_t{1}];
        if (last.flow != line_flow::branch) return;
        if (auto const jumps = values_.runs(end, s))
            last.flow = !*jumps ? line_flow::next : end.target < 0 ? line_flow::leave : line_flow::jump;
        last.when = end.negated ? opposite(when) : when;
    }

    // What is known of an operand: a constant, or which followed register it is.
    struct known_operand {
        register_id reg = no_register;
        std::int64_t value = 0;
        bool known = false;
        [[nodiscard]] bool constant() const noexcept { return known && reg == no_register; }
    };
    [[nodiscard]] known_operand known(ptx_instruction const& i, std::size_t n, state const& s) const {
        if (n >= i.uses.size()) return {};
        auto const& o = i.uses[n];
        if (auto const v = values_.operand(o, s)) return {no_register, as_number(*v, i.bits, true), true};
        if (o.kind != kinds::reg || values_.numbers()[o.number] == ptx_values<>::not_followed) return {};
        return {static_cast<register_id>(values_.numbers()[o.number]), 0, true};
    }

    // Says what a line compares. *Returns* the condition on their difference.
    line_condition write_comparison(assembly_line& line, ptx_instruction const& i, state const& s) const {
        using enum line_condition;
        if (i.does != ptx_operation::compare || i.predicate >= 0 || i.defs.size() != 1) return other;
        auto const a = known(i, 0, s), b = known(i, 1, s);
        if (!a.known || !b.known || (a.constant() && b.constant())) return other;
        line.sets_flags = true;
        line.compares =
            a.constant() ? integer_comparison{b.reg, no_register, a.value} : integer_comparison{a.reg, b.reg, b.value};
        if (!a.constant()) return i.when;
        return i.when == less            ? greater
               : i.when == less_equal    ? greater_equal
               : i.when == greater       ? less
               : i.when == greater_equal ? less_equal
                                         : i.when;
    }

    void write_effects(assembly_line& line, ptx_instruction const& i, state& s) const {
        auto const form = linear(i, s);
        auto const made = values_.run(i, s);
        for (auto const d : i.defs) {
            auto const number = values_.numbers()[d];
            if (number == ptx_values<>::not_followed) continue;
            auto const to = static_cast<register_id>(number);
            if (made)
                line.effects.push_back({to, no_register, no_register, 1, 1, as_number(*made, k_.registers[d], true)});
            else if (form && i.predicate < 0)
                line.effects.push_back({to, form->a, form->b, form->factor, form->scale, form->value});
            else
                line.writes.push_back(to);
        }
    }
    // The result as a sum of registers, where it is one.
    [[nodiscard]] std::optional<integer_effect> linear(ptx_instruction const& i, state const& s) const {
        using enum ptx_operation;
        if (i.does == ptx_operation::other || i.defs.size() != 1) return std::nullopt;
        auto const a = known(i, 0, s), b = known(i, 1, s), c = known(i, 2, s);
        auto const sum = [](known_operand const& x, std::int64_t fx, known_operand const& y, std::int64_t fy) {
            integer_effect e{no_register, x.reg, y.reg, fx, fy, 0};
            e.value = wrapped_sum(x.constant() ? wrapped_product(x.value, fx) : 0,
                                  y.constant() ? wrapped_product(y.value, fy) : 0);
            return e;
        };
        known_operand const zero{no_register, 0, true};
        if (!a.known) return std::nullopt;
        switch (i.does) {
        case copy:
            return sum(a, 1, zero, 1);
        case negate:
            return sum(a, -1, zero, 1);
        case add:
        case subtract:
            if (!b.known) return std::nullopt;
            return sum(a, 1, b, i.does == add ? 1 : -1);
        case shift_left:
            if (!b.constant() || b.value < 0 || b.value > 62) return std::nullopt;
            return sum(a, std::int64_t{1} << b.value, zero, 1);
        case multiply:
        case multiply_add: {
            auto const& more = i.does == multiply ? zero : c;
            if (!b.known || !more.known || (!a.constant() && !b.constant())) return std::nullopt;
            return b.constant() ? sum(a, b.value, more, 1) : sum(b, a.value, more, 1);
        }
        default:
            return std::nullopt;
        }
    }

    ptx_kernel const& k_;
    ptx_values<> const& values_;
};

// Counts what runs.
template <class = void>
class ptx_counter {
public:
    ptx_counter(ptx_kernel const& k, ptx_values<> const& values, loop_forest forest) : k_(k), values_(values) {
        out_.forest = std::move(forest);
    }

    [[nodiscard]] ptx_work count() {
        warn_of_loops();
        find_sides();
        out_.runs.assign(k_.blocks.size(), 0);
        std::map<std::tuple<ptx_class, ptx_space, std::int32_t>, double> sums;
        for (std::uint32_t b = 0; b < k_.blocks.size(); ++b) {
            if (!values_.reached(b)) continue;
            auto const times = out_.runs[b] = turns(b) * share(b);
            for (auto i = k_.blocks[b].first; i < k_.blocks[b].last; ++i) {
                auto const& what = k_.code[i];
                sums[{what.what, what.space, what.bytes}] += times;
                out_.multiply_adds += times * static_cast<double>(what.multiply_adds);
            }
        }
        for (auto const& [of, times] : sums)
            out_.counts.push_back({std::get<0>(of), std::get<1>(of), std::get<2>(of), times});
        return std::move(out_);
    }

private:
    void warn_of_loops() {
        for (auto const& l : out_.forest.loops)
            if (l.tests == 0 && out_.warnings.size() < 100)
                out_.warnings.push_back({k_.code[k_.blocks[l.header].first].line,
                                         format_text("loop {}: its trips are not known, and counted as one",
                                                     quoted{k_.blocks[l.header].label})});
    }
    // Blocks that run or not as a branch goes whose other side they exclude.
    void find_sides() {
        auto const n = k_.blocks.size();
        std::vector<std::uint32_t> before(n, 0); // ways that lead to a block
        for (std::uint32_t b = 0; b < n; ++b)
            if (values_.reached(b))
                for (auto const to : values_.edges(b)) ++before[to];
        side_.assign(n, 0);
        for (std::uint32_t b = 0; b < n; ++b) {
            auto const& ways = values_.edges(b);
            if (!values_.reached(b) || ways.size() != 2) continue;
            auto const loop = out_.forest.loop_of[b];
            auto const stays = [&](std::uint32_t to) { return loop < 0 || out_.forest.contains(loop, to); };
            if (before[ways[0]] == 1 && before[ways[1]] == 1 && stays(ways[0]) && stays(ways[1]))
                side_[ways[0]] = side_[ways[1]] = 1;
        }
    }
    [[nodiscard]] double share(std::uint32_t block) const {
        double out = 1;
        for (auto b = static_cast<std::int32_t>(block); b >= 0; b = out_.forest.dominator[static_cast<std::size_t>(b)])
            if (side_[static_cast<std::size_t>(b)]) out /= 2;
        return out;
    }
    [[nodiscard]] double turns(std::uint32_t block) const {
        constexpr double most = 1e300;
        double out = 1;
        for (auto l = out_.forest.loop_of[block]; l >= 0;) {
            auto const& loop = out_.forest.loops[static_cast<std::size_t>(l)];
            auto const runs = loop.tests == 0 ? 1 : out_.forest.runs_in(l, block, static_cast<double>(loop.tests));
            out = std::min(most, out * runs);
            l = loop.parent;
        }
        return out;
    }

    ptx_kernel const& k_;
    ptx_values<> const& values_;
    std::vector<char> side_;
    ptx_work out_;
};

// Follows registers backwards: which hold what is read later.
template <class = void>
class live_ranges {
public:
    explicit live_ranges(ptx_kernel const& k) : k_(k), begins_(k.blocks.size(), set_of(k)) {}

    [[nodiscard]] std::int64_t most() {
        for (auto changed = true; changed;) {
            changed = false;
            for (auto b = k_.blocks.size(); b-- > 0;) {
                auto live = at_end(b);
                walk(b, live);
                if (live != begins_[b]) begins_[b] = live, changed = true;
            }
        }
        most_ = 0;
        for (auto b = k_.blocks.size(); b-- > 0;) {
            auto live = at_end(b);
            counts_ = true;
            walk(b, live);
        }
        return most_;
    }

private:
    using set = std::vector<std::uint64_t>;
    static set set_of(ptx_kernel const& k) { return set((k.registers.size() + 63) / 64, 0); }

    [[nodiscard]] set at_end(std::size_t b) const {
        auto live = set_of(k_);
        for (auto const to : k_.blocks[b].next)
            for (std::size_t w = 0; w < live.size(); ++w) live[w] |= begins_[to][w];
        return live;
    }
    [[nodiscard]] std::int64_t words(std::uint32_t r) const noexcept {
        auto const bits = k_.registers[r];
        return bits == 1 ? 0 : bits <= 32 ? 1 : bits / 32;
    }
    void walk(std::size_t b, set& live) {
        std::int64_t now = 0;
        if (counts_)
            for (std::uint32_t r = 0; r < k_.registers.size(); ++r)
                if (live[r / 64] >> (r % 64) & 1) now += words(r);
        auto const add = [&](std::uint32_t r) {
            auto const bit = std::uint64_t{1} << (r % 64);
            if (!(live[r / 64] & bit)) now += words(r);
            live[r / 64] |= bit;
        };
        for (auto i = k_.blocks[b].last; i-- > k_.blocks[b].first;) {
            auto const& what = k_.code[i];
            for (auto const d : what.defs) add(d); // a result needs a place, read or not
            most_ = std::max(most_, now);
            if (what.predicate < 0)
                for (auto const d : what.defs) {
                    now -= words(d) * static_cast<std::int64_t>(live[d / 64] >> (d % 64) & 1);
                    live[d / 64] &= ~(std::uint64_t{1} << (d % 64));
                }
            for (auto const& o : what.uses)
                if (o.kind == ptx_operand::kinds::reg) add(o.number);
            if (what.predicate >= 0) add(static_cast<std::uint32_t>(what.predicate));
            most_ = std::max(most_, now);
        }
    }

    ptx_kernel const& k_;
    std::vector<set> begins_; // live where a block begins
    std::int64_t most_ = 0;
    bool counts_ = false;
};

} // namespace detail

GSUB_LAZY_BODY result<ptx_work> count_ptx(ptx_kernel const& k, ptx_launch const& launch) {
    detail::ptx_values<> values{k, launch};
    if (!values.fits()) return detail::too_much_decides(k, values.followed());
    values.follow();
    auto const f = detail::ptx_function<>{k, values}.write();
    auto forest = natural_loops(f);
    if (!forest) return forest.error();
    return detail::ptx_counter<>{k, values, std::move(*forest)}.count();
}

GSUB_LAZY_BODY std::int64_t live_registers(ptx_kernel const& k) {
    return detail::live_ranges<>{k}.most();
}

} // namespace gsub::machine
