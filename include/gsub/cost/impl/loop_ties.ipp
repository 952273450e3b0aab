// Ties of a loop map: source loops of one shape, of which the alignment cannot tell which is which.
#pragma once

#include <gsub/codegen/ir/kernel_loops.hpp>
#include <gsub/machine/loop_map.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// Gives loops of the assembly those of equal source loops whose multiply-adds are theirs. Compilers write the ways of a
// branch in either order, and loops in them may have the same trips.
template <class = void>
class loop_ties {
public:
    loop_ties(machine::assembly_function const& f, codegen::kernel_loops const& own, machine::loop_map& map)
        : own_(own), map_(map), source_work_(own.sources.size(), 0), work_(map.loops.size(), 0) {
        auto const& sources = own.sources;
        std::vector<double> entries(sources.size(), 1);
        for (std::size_t s = 0; s < sources.size(); ++s)
            if (auto const p = sources[s].parent; p >= 0) entries[s] = entries[index(p)] * trips(p);
        for (auto s = sources.size(); s-- > 0;) {
            source_work_[s] += own.own[s].multiply_adds;
            if (auto const p = sources[s].parent; p >= 0) source_work_[index(p)] += source_work_[s];
        }
        for (std::size_t s = 0; s < sources.size(); ++s) source_work_[s] /= std::max(entries[s], 1e-9);
        for (auto const& b : map.blocks)
            if (b.loop >= 0)
                for (auto const& i : f.code_of(b.block))
                    work_[index(b.loop)] += i.what == instruction_class::fma ? b.runs : 0;
        for (auto l = map.loops.size(); l-- > 0;)
            if (auto const p = map.forest.loops[l].parent; p >= 0) work_[index(p)] += work_[l];
        for (std::size_t l = 0; l < work_.size(); ++l) work_[l] /= std::max(map.loops[l].entries, 1e-9);
    }
    void settle() {
        constexpr int most = 4;
        auto changed = true;
        for (int i = 0; i < most && changed; ++i) {
            changed = false;
            for (std::int32_t l = 0; l < static_cast<std::int32_t>(work_.size()); ++l) changed = improve(l) || changed;
        }
    }

private:
    static std::size_t index(std::int32_t i) noexcept { return static_cast<std::size_t>(i); }
    [[nodiscard]] double trips(std::int32_t s) const {
        auto const& of = own_.sources[index(s)];
        return of.trips >= 0 ? static_cast<double>(of.trips) : of.mean >= 0 ? of.mean : 1;
    }
    [[nodiscard]] bool matched(std::int32_t l) const {
        using enum machine::loop_match;
        auto const how = map_.loops[index(l)].how;
        return map_.loops[index(l)].source >= 0 && how != unmatched && how != version && how != remainder;
    }
    [[nodiscard]] double error_of(std::int32_t l, std::int32_t s) const {
        return std::abs(work_[index(l)] - source_work_[index(s)]);
    }
    [[nodiscard]] std::int32_t end_of(std::int32_t s) const {
        auto end = s + 1;
        for (; end < static_cast<std::int32_t>(own_.sources.size()) && own_.sources[index(end)].parent >= s; ++end) {}
        return end;
    }
    // Whether two source loops beside each other have as many loops in them, with the same trips.
    [[nodiscard]] bool alike(std::int32_t a, std::int32_t b) const {
        if (own_.sources[index(a)].parent != own_.sources[index(b)].parent || end_of(a) - a != end_of(b) - b)
            return false;
        for (std::int32_t i = 0; i < end_of(a) - a; ++i) {
            auto const &x = own_.sources[index(a + i)], &y = own_.sources[index(b + i)];
            if (x.trips != y.trips || x.mean != y.mean || (i > 0 && x.parent - a != y.parent - b)) return false;
        }
        return true;
    }
    bool improve(std::int32_t l) {
        if (!matched(l)) return false;
        auto const s = map_.loops[index(l)].source;
        for (std::int32_t other = 0; other < static_cast<std::int32_t>(own_.sources.size()); ++other) {
            if (other == s || !alike(s, other)) continue;
            auto const holder = holder_of(other, l);
            auto const now = error_of(l, s) + (holder >= 0 ? error_of(holder, other) : 0);
            auto const then = error_of(l, other) + (holder >= 0 ? error_of(holder, s) : 0);
            if (then >= 0.98 * now) continue;
            move(l, s, other);
            if (holder >= 0) move(holder, other, s);
            return true;
        }
        return false;
    }
    // Loop beside another one that has a source; -1: none.
    [[nodiscard]] std::int32_t holder_of(std::int32_t s, std::int32_t beside) const {
        for (std::int32_t l = 0; l < static_cast<std::int32_t>(work_.size()); ++l)
            if (matched(l) && map_.loops[index(l)].source == s &&
                map_.forest.loops[index(l)].parent == map_.forest.loops[index(beside)].parent)
                return l;
        return -1;
    }
    // Moves a loop and those in it from one source to another of the same shape.
    void move(std::int32_t l, std::int32_t from, std::int32_t to) {
        auto const end = end_of(from);
        for (auto i = l; i < static_cast<std::int32_t>(work_.size()); ++i) {
            auto p = i;
            while (p > l) p = map_.forest.loops[index(p)].parent;
            auto& source = map_.loops[index(i)].source;
            if (p == l && source >= from && source < end) source += to - from;
        }
    }

    codegen::kernel_loops const& own_;
    machine::loop_map& map_;
    std::vector<double> source_work_, work_; // multiply-adds each time that a loop is entered
};

} // namespace gsub::cost::detail
