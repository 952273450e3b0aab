#pragma once

#include <gsub/runtime/memory_planner.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace gsub::runtime {

namespace detail {

using index = std::uint32_t;
inline constexpr index nothing = std::numeric_limits<index>::max();
inline constexpr int rounds = 16; ///< of improving an order

/// A buffer on the planner's terms: rounded size, steps without holes.
struct planned {
    std::size_t size;
    index first, last;
    index before = nothing; ///< whose storage it takes over
    index after = nothing;  ///< who takes over its storage
};

template <class = void>
struct planner {
    std::vector<planned> buffers;
    index steps = 0;
    std::size_t lower_bound = 0;

    planner(std::span<buffer const> given, std::size_t alignment);
    [[nodiscard]] std::vector<std::size_t> by_start(bool backwards) const;
    /// Groups (a buffer and all that take over its storage) one after the other; empty where it is given up.
    [[nodiscard]] std::vector<std::size_t> in_order(std::vector<index> const& heads) const;
    [[nodiscard]] std::size_t extent(std::vector<std::size_t> const& offsets) const;
};

template <class T>
planner<T>::planner(std::span<buffer const> given, std::size_t alignment) {
    GSUB_ASSERT(alignment != 0 && (alignment & (alignment - 1)) == 0, "the alignment of a plan is a power of two");
    GSUB_ASSERT(given.size() < nothing, "a plan holds fewer than 2^32 - 1 buffers");
    std::vector<int> steps_used;
    steps_used.reserve(2 * given.size());
    std::size_t sum = 0;
    for (auto const& b : given) {
        GSUB_ASSERT(b.first <= b.last, "a buffer is written before it is read last");
        GSUB_ASSERT(b.size <= std::numeric_limits<std::size_t>::max() - alignment - sum,
                    "the sizes of a plan's buffers add up to more than memory can hold");
        sum += (b.size + alignment - 1) & ~(alignment - 1);
        steps_used.insert(steps_used.end(), {b.first, b.last});
    }
    std::sort(steps_used.begin(), steps_used.end());
    steps_used.erase(std::unique(steps_used.begin(), steps_used.end()), steps_used.end());
    auto const step = [&](int s) {
        return static_cast<index>(std::lower_bound(steps_used.begin(), steps_used.end(), s) - steps_used.begin());
    };
    steps = static_cast<index>(steps_used.size());
    buffers.reserve(given.size());
    for (auto const& b : given)
        buffers.push_back({(b.size + alignment - 1) & ~(alignment - 1), step(b.first), step(b.last)});

    std::vector<std::size_t> born(steps + 1), dead(steps + 1);
    for (index i = 0; i < buffers.size(); ++i) {
        auto& b = buffers[i];
        born[b.first] += b.size, dead[b.last + 1] += b.size;
        if (given[i].in_place_of < 0) continue;
        auto const from = static_cast<index>(given[i].in_place_of);
        GSUB_ASSERT(from < buffers.size() && from != i, "in_place_of is the index of another buffer");
        auto& a = buffers[from];
        if (a.last != b.first || a.after != nothing || a.size < b.size || b.size == 0) continue;
        if (std::pair{a.first, from} > std::pair{b.first, i}) continue; // or storage could go round
        a.after = i, b.before = from;
        dead[b.first] += b.size, born[b.first + 1] += b.size; // counted once at the step where both are alive
    }
    std::size_t alive = 0;
    for (index s = 0; s < steps; ++s) {
        alive += born[s];
        alive -= dead[s];
        lower_bound = std::max(lower_bound, alive);
    }
}

template <class T>
std::size_t planner<T>::extent(std::vector<std::size_t> const& offsets) const {
    std::size_t end = 0;
    for (std::size_t i = 0; i < buffers.size(); ++i)
        if (buffers[i].size) end = std::max(end, offsets[i] + buffers[i].size);
    return end;
}

/// An arena that grows at its end: best fit among its holes, which merge when they touch.
template <class = void>
class arena {
public:
    std::size_t take(std::size_t size) {
        auto const found = by_size_.lower_bound({size, 0});
        if (found == by_size_.end()) {
            auto begin = end_;
            if (auto const last = holes_.empty() ? holes_.end() : std::prev(holes_.end());
                last != holes_.end() && last->first + last->second == end_)
                begin = last->first, erase(last);
            end_ = begin + size;
            return begin;
        }
        auto const [length, begin] = *found;
        erase(holes_.find(begin));
        if (length > size) insert(begin + size, length - size);
        return begin;
    }
    void give_back(std::size_t begin, std::size_t size) {
        if (size == 0) return;
        auto next = holes_.lower_bound(begin);
        if (next != holes_.end() && next->first == begin + size) {
            size += next->second;
            next = erase(next);
        }
        if (next != holes_.begin()) {
            auto const before = std::prev(next);
            if (before->first + before->second == begin) {
                begin = before->first, size += before->second;
                erase(before);
            }
        }
        insert(begin, size);
    }

private:
    using holes = std::map<std::size_t, std::size_t>; // begin, length
    holes::iterator erase(holes::iterator hole) {
        by_size_.erase({hole->second, hole->first});
        return holes_.erase(hole);
    }
    void insert(std::size_t begin, std::size_t size) {
        holes_.emplace(begin, size);
        by_size_.emplace(size, begin);
    }
    holes holes_;
    std::set<std::pair<std::size_t, std::size_t>> by_size_;
    std::size_t end_ = 0;
};

template <class T>
std::vector<std::size_t> planner<T>::by_start(bool backwards) const {
    // Backwards, the arena is filled from the last step to the first: only buffers that share storage differ, for there
    // the smaller one comes first, and place for the larger has to be taken at once.
    std::vector<std::vector<index>> begins(steps), ends(steps);
    for (index i = 0; i < buffers.size(); ++i) {
        auto const& b = buffers[i];
        if (b.size == 0) continue;
        begins[backwards ? b.last : b.first].push_back(i);
        ends[backwards ? b.first : b.last].push_back(i);
    }
    std::vector<std::size_t> offsets(buffers.size());
    std::vector<char> placed(buffers.size());
    std::vector<std::size_t> length(buffers.size()); // held until the end of a buffer
    arena memory;
    for (index at = 0; at < steps; ++at) {
        auto const s = backwards ? steps - 1 - at : at;
        // Large ones first: the small ones fill what is left.
        std::stable_sort(begins[s].begin(), begins[s].end(),
                         [&](index a, index b) { return buffers[a].size > buffers[b].size; });
        for (auto i : begins[s]) {
            auto const& b = buffers[i];
            if (backwards ? b.after != nothing : b.before != nothing) continue; // placed with its group
            auto size = b.size;
            if (backwards)
                for (auto p = b.before; p != nothing; p = buffers[p].before) size = std::max(size, buffers[p].size);
            auto const offset = memory.take(size);
            for (auto p = i; p != nothing; p = backwards ? buffers[p].before : buffers[p].after)
                offsets[p] = offset, length[p] = backwards ? size : buffers[p].size;
        }
        for (auto i : ends[s]) {
            auto const& b = buffers[i];
            auto const heir = backwards ? b.before : b.after;
            auto const kept = heir == nothing ? 0 : length[heir];
            memory.give_back(offsets[i] + kept, length[i] - kept);
        }
    }
    return offsets;
}

template <class T>
std::vector<std::size_t> planner<T>::in_order(std::vector<index> const& heads) const {
    // Those placed so far, found by lifetime: all that are alive at a step s are in the nodes over s of a binary tree
    // of steps, all that begin later are in the list of their first step.
    std::size_t leaves = 1;
    while (leaves < steps) leaves *= 2;
    std::vector<std::vector<index>> over(2 * leaves), from(steps);
    std::vector<std::size_t> offsets(buffers.size());
    struct range {
        std::size_t begin, end; // offsets that the group must not have, both ends excluded
    };
    std::vector<range> forbidden;
    auto work = 1000 * buffers.size();
    for (auto head : heads) {
        forbidden.clear();
        for (auto i = head; i != nothing; i = buffers[i].after) {
            auto const& b = buffers[i];
            auto const meet = [&](index j) {
                auto const& other = buffers[j];
                auto const begin = offsets[j] < b.size ? 0 : offsets[j] - b.size + 1;
                forbidden.push_back({begin, offsets[j] + other.size});
            };
            for (auto node = leaves + b.first; node > 0; node /= 2)
                for (auto j : over[node]) meet(j);
            for (auto s = b.first + 1; s <= b.last; ++s)
                for (auto j : from[s]) meet(j);
            auto const looked = forbidden.size() + b.last - b.first;
            if (looked > work) return {};
            work -= looked;
        }
        std::sort(forbidden.begin(), forbidden.end(), [](range a, range b) { return a.begin < b.begin; });
        // The tightest hole: the fewest offsets to choose from.
        std::size_t free_from = 0, best = 0, best_room = std::numeric_limits<std::size_t>::max();
        bool found = false;
        for (auto const& r : forbidden) {
            if (r.begin > free_from && r.begin - free_from < best_room)
                best = free_from, best_room = r.begin - free_from, found = true;
            free_from = std::max(free_from, r.end);
        }
        if (!found) best = free_from;
        for (auto i = head; i != nothing; i = buffers[i].after) {
            auto const& b = buffers[i];
            offsets[i] = best;
            from[b.first].push_back(i);
            for (auto left = leaves + b.first, right = leaves + b.last + 1; left < right; left /= 2, right /= 2) {
                if (left & 1) over[left++].push_back(i);
                if (right & 1) over[--right].push_back(i);
            }
        }
    }
    return offsets;
}

} // namespace detail

GSUB_LAZY_BODY memory_plan plan_memory(std::span<buffer const> given, std::size_t alignment) {
    using detail::index;
    detail::planner const p{given, alignment};
    memory_plan plan{{}, std::numeric_limits<std::size_t>::max(), p.lower_bound};
    auto const keep = [&](std::vector<std::size_t> offsets) {
        if (offsets.size() != given.size()) return false;
        if (auto const size = p.extent(offsets); size < plan.size) plan.offsets = std::move(offsets), plan.size = size;
        return plan.size == p.lower_bound;
    };
    if (keep(p.by_start(false)) || keep(p.by_start(true))) return plan;

    // Of a group, the head is the largest.
    std::vector<index> heads;
    std::vector<index> end(given.size());
    for (index i = 0; i < given.size(); ++i)
        if (p.buffers[i].size && p.buffers[i].before == detail::nothing) {
            heads.push_back(i);
            end[i] = p.buffers[i].last;
            for (auto j = i; j != detail::nothing; j = p.buffers[j].after) end[i] = p.buffers[j].last;
        }
    std::vector<std::size_t> offsets;
    auto const attempt = [&] {
        offsets = p.in_order(heads);
        return keep(offsets);
    };
    auto const sorted_by = [&](auto&& weight) {
        std::stable_sort(heads.begin(), heads.end(), [&](index a, index b) { return weight(a) > weight(b); });
        return attempt();
    };
    auto const size = [&](index i) { return p.buffers[i].size; };
    auto const life = [&](index i) { return end[i] - p.buffers[i].first + 1; };
    if (sorted_by([&](index i) { return std::pair{life(i), size(i)}; })) return plan;
    if (sorted_by([&](index i) { return static_cast<double>(size(i)) * life(i); })) return plan;
    if (sorted_by([&](index i) { return std::pair{size(i), life(i)}; })) return plan;
    // From there on, what stuck out of the smallest arena seen goes first.
    for (int round = 0; round < detail::rounds && !offsets.empty(); ++round) {
        auto const sticks_out = [&](index head) {
            for (auto i = head; i != detail::nothing; i = p.buffers[i].after)
                if (offsets[i] + p.buffers[i].size > std::max(p.lower_bound, plan.size - 1)) return true;
            return false;
        };
        std::stable_partition(heads.begin(), heads.end(), sticks_out);
        if (attempt()) return plan;
    }
    return plan;
}

} // namespace gsub::runtime
