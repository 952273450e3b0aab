// Regions of a function's assembly: its loops, and blocks that some turns pass by, in an order in which they run.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/cost/impl/kernel_stages.ipp>
#include <gsub/cost/impl/region_cycles.ipp>
#include <gsub/machine/loop_map.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// Loops of a kernel in the order of `codegen::loops_of`, the fallback left out.
GSUB_LAZY void collect_loops(std::vector<codegen::statement> const& list,
                             std::vector<codegen::statement const*>& loops) {
    for (auto const& s : list) {
        if (s.kind == codegen::statement_kind::loop) loops.push_back(&s);
        if (s.kind != codegen::statement_kind::loop && s.kind != codegen::statement_kind::branch) continue;
        collect_loops(s.body, loops);
        collect_loops(s.otherwise, loops);
    }
}

// How often the blocks of a loop run in one of its turns.
template <class = void>
class turn_flow {
public:
    /// Of loop `l`, -1 the function. `hint(c)`: in how many turns a loop inside it is entered; negative: not known.
    template <class Hint>
    turn_flow(machine::assembly_function const& f, machine::loop_forest const& forest, std::int32_t l, Hint&& hint)
        : f_(f), forest_(forest), l_(l), share_(f.blocks.size(), 0) {
        auto const header = l < 0 ? 0 : forest.loops[static_cast<std::size_t>(l)].header;
        find_order(header);
        share_[header] = 1;
        for (auto const b : order_) spread(b, hint);
    }
    /// First blocks of what a turn passes, each before those that follow it: blocks, and loops by their headers.
    [[nodiscard]] std::vector<std::uint32_t> const& order() const noexcept { return order_; }
    [[nodiscard]] double share(std::uint32_t block) const noexcept { return std::min(1.0, share_[block]); }
    /// Loop inside that a block begins or is part of; -1: none.
    [[nodiscard]] std::int32_t inner(std::uint32_t block) const noexcept {
        auto at = forest_.loop_of[block];
        while (at != l_ && at >= 0 && parent(at) != l_) at = parent(at);
        return at == l_ ? -1 : at;
    }

private:
    [[nodiscard]] std::int32_t parent(std::int32_t l) const noexcept {
        return forest_.loops[static_cast<std::size_t>(l)].parent;
    }
    [[nodiscard]] bool inside(std::uint32_t block) const noexcept { return l_ < 0 || forest_.contains(l_, block); }

    // What follows within the turn.
    [[nodiscard]] std::vector<std::uint32_t> followers(std::uint32_t node) const {
        std::vector<std::uint32_t> out;
        auto const own = inner(node);
        auto const add = [&](std::uint32_t from) {
            for (auto const to : f_.blocks[from].next) {
                if (!inside(to) || (l_ >= 0 && to == forest_.loops[static_cast<std::size_t>(l_)].header)) continue;
                auto const loop = inner(to);
                if (own >= 0 && loop == own) continue;
                auto const at = loop < 0 ? to : forest_.loops[static_cast<std::size_t>(loop)].header;
                if (std::find(out.begin(), out.end(), at) == out.end()) out.push_back(at);
            }
        };
        if (own < 0) {
            add(node);
        } else {
            for (std::uint32_t b = 0; b < f_.blocks.size(); ++b)
                if (forest_.contains(own, b)) add(b);
        }
        return out;
    }
    void find_order(std::uint32_t header) {
        struct visit {
            std::uint32_t node;
            std::vector<std::uint32_t> next;
        };
        std::vector<char> seen(f_.blocks.size(), 0);
        std::vector<visit> open;
        next_.resize(f_.blocks.size());
        auto const enter = [&](std::uint32_t node) {
            seen[node] = 1;
            next_[node] = followers(node);
            open.push_back({node, next_[node]});
        };
        for (enter(header); !open.empty();) {
            auto& at = open.back();
            if (at.next.empty()) {
                order_.push_back(at.node);
                open.pop_back();
                continue;
            }
            auto const to = at.next.back();
            at.next.pop_back();
            if (!seen[to]) enter(to);
        }
        std::reverse(order_.begin(), order_.end());
    }

    // Shares what runs through a node among those that follow.
    template <class Hint>
    void spread(std::uint32_t node, Hint& hint) {
        auto const& to = next_[node];
        if (to.empty()) return;
        if (to.size() == 1) {
            share_[to.front()] += share_[node];
            return;
        }
        std::vector<double> taken;
        double known = 0, unknown = 0;
        auto const plain = std::any_of(to.begin(), to.end(), [&](auto b) { return !calls(b); });
        for (auto const b : to) {
            auto const told = plain && calls(b) ? 0.0 : told_of(b, hint);
            taken.push_back(told < 0 ? -1 : std::min(1.0, share_[node] > 0 ? told / share_[node] : 0));
            told < 0 ? unknown += 1 : known += taken.back();
        }
        auto const rest = std::max(0.0, 1 - known);
        for (std::size_t i = 0; i < to.size(); ++i) {
            auto const part = taken[i] < 0 ? rest / unknown : unknown > 0 || known <= 1 ? taken[i] : taken[i] / known;
            share_[to[i]] += share_[node] * part;
        }
    }
    [[nodiscard]] bool calls(std::uint32_t block) const {
        auto const& b = f_.blocks[block];
        for (auto i = b.first_line; i < b.last_line; ++i)
            if (f_.lines[i].calls) return true;
        return false;
    }
    // What loops tell that run only where a block has.
    template <class Hint>
    [[nodiscard]] double told_of(std::uint32_t block, Hint& hint) const {
        double most = -1;
        for (auto const b : order_)
            if (auto const loop = inner(b); loop >= 0 && forest_.dominates(block, b)) most = std::max(most, hint(loop));
        return most;
    }

    machine::assembly_function const& f_;
    machine::loop_forest const& forest_;
    std::int32_t l_;
    std::vector<double> share_;
    std::vector<std::uint32_t> order_;
    std::vector<std::vector<std::uint32_t>> next_;
};

// Lays out the code of a function by regions.
template <class = void>
class assembly_regions {
public:
    assembly_regions(codegen::kernel const& k, machine::assembly_function const& f, machine::loop_map const& map,
                     std::span<machine::source_loop const> sources, walked_loops& walked)
        : f_(f), map_(map), sources_(sources) {
        std::vector<codegen::statement const*> loops;
        collect_loops(k.body, loops);
        GSUB_ASSERT(loops.size() == sources.size(), "a kernel's loops are those that were mapped");
        for (auto const* s : loops) {
            auto const found = walked.loops.find(s);
            counts_.push_back(found == walked.loops.end() ? walked_loops::loop_counts{} : found->second);
            stages_.push_back(walked.stage_of(*s));
            parallel_.push_back(s->var == k.parallel);
        }
        there_.resize(loops.size(), 0);
        for (auto const& m : map.loops)
            if (m.source >= 0 && m.how != machine::loop_match::unmatched) there_[index(m.source)] = 1;
        regions.push_back({});
        lay_out(-1, 0);
    }
    std::vector<machine::instruction> code;
    std::vector<code_region> regions;
    double multiply_adds = 0; // of a call: vectors of the assembly

private:
    static constexpr double whole = 0.98; // of the turns: as good as all
    static std::size_t index(std::int32_t i) noexcept { return static_cast<std::size_t>(i); }

    // Trips of a source loop each time that it is entered, as the walk has found them.
    [[nodiscard]] double trips(std::int32_t s) const {
        auto const& c = counts_[index(s)];
        return c.entries > 0 ? c.turns / c.entries : 0;
    }
    // In how many turns of the loop around it a loop is entered.
    [[nodiscard]] double entered(std::int32_t l) const {
        auto const& m = map_.loops[index(l)];
        if (m.how == machine::loop_match::version) return 0;
        if (m.how == machine::loop_match::unmatched || m.source < 0) return 1;
        auto const around = map_.forest.loops[index(l)].parent;
        auto const of = around < 0 ? -1 : map_.loops[index(around)].source;
        double gone = 1; // turns of source loops between both, of which the code has copies; peeled ones are few
        auto s = sources_[index(m.source)].parent;
        for (; s >= 0 && s != of; s = sources_[index(s)].parent) gone *= there_[index(s)] ? 1 : std::max(1.0, trips(s));
        if (s != of) return 1;
        auto const turns = of < 0 ? 1 : counts_[index(of)].turns;
        auto const divisor = around < 0 ? 1.0 : static_cast<double>(map_.loops[index(around)].divisor);
        return turns <= 0 ? 0 : std::min(1.0, counts_[index(m.source)].entries * divisor / turns / gone);
    }
    // Turns of a loop each time that it is entered.
    [[nodiscard]] double turns(std::int32_t l) const {
        auto const& m = map_.loops[index(l)];
        auto const& of = map_.forest.loops[index(l)];
        if (of.tests > 0) return static_cast<double>(std::max<std::int64_t>(1, of.trips()));
        auto const peeled = m.how == machine::loop_match::peeled; // of unknown trips: one at least
        if ((m.how == machine::loop_match::given || peeled) && m.source >= 0)
            return std::max(1.0, (trips(m.source) - peeled) / static_cast<double>(m.divisor));
        return std::max(1.0, m.tests);
    }

    // What some turns pass by together is a region of its own: it begins with a block without which none of it runs.
    void lay_out(std::int32_t l, std::size_t region) {
        turn_flow<> const flow{f_, map_.forest, l, [&](std::int32_t c) { return entered(c); }};
        auto const runs = regions[region].runs;
        auto side = region;
        std::uint32_t first = 0; // block of the side
        for (auto const b : flow.order()) {
            auto const inner = flow.inner(b);
            auto const share = flow.share(b) >= whole ? 1.0 : flow.share(b);
            if (share <= 0 || (inner < 0 && f_.blocks[b].first == f_.blocks[b].last)) continue;
            auto const within = side != region && map_.forest.dominates(first, b) &&
                                share * runs >= whole * regions[side].runs && share < 1;
            if (!within) side = region;
            if (share < 1 && !within) {
                code_region made;
                made.entries = made.runs = share * runs, made.stage = regions[region].stage;
                side = open(made, region), first = b;
            }
            inner >= 0 ? lay_out_loop(inner, side) : append(b, regions[side].runs);
            regions[side].last = code.size();
        }
        regions[region].last = code.size();
    }
    void lay_out_loop(std::int32_t l, std::size_t around) {
        auto const& m = map_.loops[index(l)];
        code_region made;
        made.loops = true, made.entries = regions[around].runs, made.runs = made.entries * turns(l);
        made.same_turns = map_.forest.loops[index(l)].tests > 0, made.stage = regions[around].stage;
        if (m.source >= 0) {
            made.stage = stages_[index(m.source)];
            made.alone = parallel_[index(m.source)] && m.how != machine::loop_match::unmatched;
            made.same_turns = made.same_turns || sources_[index(m.source)].trips >= 0;
        }
        auto const at = open(made, around);
        lay_out(l, at);
    }
    std::size_t open(code_region made, std::size_t around) {
        made.within = static_cast<std::int32_t>(around), made.first = made.last = code.size();
        regions.push_back(made);
        return regions.size() - 1;
    }
    void append(std::uint32_t block, double runs) {
        for (auto const& i : f_.code_of(block)) {
            code.push_back(i);
            if (i.what == instruction_class::fma) multiply_adds += runs;
        }
    }

    machine::assembly_function const& f_;
    machine::loop_map const& map_;
    std::span<machine::source_loop const> sources_;
    std::vector<walked_loops::loop_counts> counts_; // by source loop
    std::vector<std::size_t> stages_;
    std::vector<char> parallel_, there_; // by source loop; those with a loop of the assembly
};

} // namespace gsub::cost::detail
