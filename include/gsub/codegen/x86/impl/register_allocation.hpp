// register_allocation: a register or a place in memory for each value of a machine function, by linear scan.
#pragma once

#include <gsub/codegen/x86/impl/machine_ir.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Places of the values of one kind: a register each, or memory: a slot of the stack frame, or where the instruction
/// that defines it reads, which then is not needed.
struct value_places {
    std::vector<std::int32_t> registers; ///< by value; -1: memory
    std::vector<std::int32_t> slots;     ///< by value; -1: none
    std::vector<std::int32_t> homes;     ///< by value: the number of the instruction that reads it; -1: none
    std::vector<bool> used;              ///< by value
    std::int32_t slot_count = 0;
};

/// Linear scan over live intervals. *Source* Poletto and Sarkar, "Linear scan register allocation", 1999. Where no
/// register is free, the value goes to memory whose uses are the fewest for the time that it lives, a use in a loop
/// counting ten times. Numbers, and what is loaded of memory that nobody writes, are read where they are.
template <class = void>
class linear_scan {
public:
    /// `tied`: whether a result is its first operand, whose register it then takes where that is free. Broadcasts are
    /// read again then, as loads are.
    linear_scan(machine_function const& f, bool vectors, bool tied = false)
        : f_(f), vectors_(vectors), tied_(tied), live_(static_cast<std::size_t>(vectors ? f.vectors : f.integers)) {
        find_loops();
        for (std::size_t n = 0; n < f.code.size(); ++n) note(n);
        for (auto& l : live_) l.home = l.home >= 0 && l.definitions == 1 && in_one_stretch(l) ? l.home : -1;
    }

    /// Addresses of vectors that are read where they are, which live as long as these.
    void note_homes(value_places const& vectors) {
        for (std::size_t n = 0; n < f_.code.size(); ++n)
            if (on_vectors(f_.code[n].op))
                for (auto const v : f_.code[n].operands)
                    if (v >= 0 && vectors.homes[index(v)] >= 0)
                        operands_of(f_.code[index(vectors.homes[index(v)])].at, n);
    }

    /// First and last half instruction of a value's life, operands before results; the first one behind the last where
    /// it has none.
    [[nodiscard]] std::pair<std::size_t, std::size_t> life_of(std::int32_t v) const {
        return {live_[index(v)].begin, live_[index(v)].end};
    }
    /// The number of the instruction whose operand in memory a value is; -1 where it cannot be read there later.
    [[nodiscard]] std::int32_t home_of(std::int32_t v) const { return live_[index(v)].home; }

    [[nodiscard]] value_places run(std::int32_t registers) {
        std::vector<std::int32_t> const none(live_.size(), -1);
        places_ = {none, none, none, std::vector<bool>(live_.size(), false), 0};
        free_.clear(), active_.clear();
        for (auto r = registers; r-- > 0;) free_.push_back(r);
        for (auto const v : by_begin()) {
            places_.used[index(v)] = live_[index(v)].uses > 0;
            expire(live_[index(v)].begin);
            if (!vectors_ && f_.in_memory[index(v)])
                to_memory(v);
            else if (!free_.empty() || make_room(v))
                to_register(v);
            else
                to_memory(v);
        }
        return std::move(places_);
    }

private:
    // From the first definition to the last use, in half instructions: operands before results.
    struct interval {
        std::size_t begin = std::numeric_limits<std::size_t>::max(), end = 0;
        double weight = 0;
        std::int32_t home = -1, definitions = 0, uses = 0, first_operand = -1;

        // What keeping it in a register saves, for the time that it takes one.
        [[nodiscard]] double density() const {
            return (home >= 0 ? 0.5 : 1) * weight / static_cast<double>(end - begin + 1);
        }
    };
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }

    void expire(std::size_t now) {
        std::erase_if(active_, [&](std::int32_t a) {
            if (live_[index(a)].end >= now) return false;
            free_.push_back(places_.registers[index(a)]);
            return true;
        });
    }
    // Frees the register of a value that needs one less than `v`.
    bool make_room(std::int32_t v) {
        auto const least = std::min_element(active_.begin(), active_.end(), [&](std::int32_t a, std::int32_t b) {
            return live_[index(a)].density() < live_[index(b)].density();
        });
        if (least == active_.end() || live_[index(*least)].density() >= live_[index(v)].density()) return false;
        free_.push_back(places_.registers[index(*least)]);
        to_memory(*least);
        active_.erase(least);
        return true;
    }
    void to_register(std::int32_t v) {
        if (auto const first = live_[index(v)].first_operand; tied_ && first >= 0)
            if (auto const at = std::find(free_.begin(), free_.end(), places_.registers[index(first)]);
                at != free_.end())
                std::iter_swap(at, free_.end() - 1);
        places_.registers[index(v)] = free_.back();
        free_.pop_back();
        active_.push_back(v);
    }
    void to_memory(std::int32_t v) {
        places_.registers[index(v)] = -1;
        if (live_[index(v)].home >= 0)
            places_.homes[index(v)] = live_[index(v)].home;
        else
            places_.slots[index(v)] = places_.slot_count++;
    }

    // The innermost loop of each instruction, and what a use there counts.
    void find_loops() {
        weights_.assign(f_.code.size(), 1);
        innermost_.assign(f_.code.size(), -1);
        for (auto const& [first, last] : f_.loops) loops_.push_back({first, last, -1});
        std::stable_sort(loops_.begin(), loops_.end(), [](auto const& a, auto const& b) { // outer ones first
            return a.first != b.first ? a.first < b.first : a.last > b.last;
        });
        for (std::size_t l = 0; l < loops_.size(); ++l) {
            loops_[l].around = innermost_[loops_[l].first];
            for (auto n = loops_[l].first; n <= loops_[l].last; ++n)
                weights_[n] *= 10, innermost_[n] = static_cast<std::int32_t>(l);
        }
    }
    void operand(std::int32_t v, std::size_t n) {
        if (v < 0) return;
        ++live_[index(v)].uses;
        touch(v, n, 2 * n, 2 * n);
    }
    void operands_of(machine_address const& at, std::size_t n) { operand(at.base, n), operand(at.index, n); }
    void note(std::size_t n) {
        auto const& i = f_.code[n];
        if (on_vectors(i.op) == vectors_) {
            for (auto const v : i.operands) operand(v, n);
            if (i.result >= 0) define(i, n);
            if (vectors_)
                for (auto const v : i.temporaries)
                    if (v >= 0) touch(v, n, 2 * n, 2 * n + 1), ++live_[index(v)].uses;
        }
        if (!vectors_) operands_of(i.at, n);
    }
    void define(machine_instruction const& i, std::size_t n) {
        touch(i.result, n, 2 * n + 1, 2 * n + 1);
        auto& l = live_[index(i.result)];
        ++l.definitions;
        l.first_operand = i.operands[0];
        auto const again = i.op == machine_op::load || (tied_ && i.op == machine_op::broadcast);
        auto const reads = reads_literal(i.op) || (again && i.constant_memory && i.at.base >= 0);
        if (vectors_ && reads) l.home = static_cast<std::int32_t>(n);
    }
    void touch(std::int32_t v, std::size_t n, std::size_t begin, std::size_t end) {
        auto& l = live_[index(v)];
        // What a loop uses and did not define lives through the whole loop.
        if (l.begin != std::numeric_limits<std::size_t>::max())
            for (auto of = innermost_[n]; of >= 0 && l.begin < 2 * loops_[index(of)].first;
                 of = loops_[index(of)].around)
                end = std::max(end, 2 * loops_[index(of)].last + 1);
        l.begin = std::min(l.begin, begin);
        l.end = std::max(l.end, end);
        l.weight += weights_[n];
    }
    // Whether addresses are the same from the definition to the last use: no loop begins or ends between. Numbers have
    // no address.
    [[nodiscard]] bool in_one_stretch(interval const& l) const {
        if (reads_literal(f_.code[index(l.home)].op)) return true;
        return std::none_of(f_.loops.begin(), f_.loops.end(), [&](auto const& loop) {
            auto const between = [&](std::size_t n) { return l.begin / 2 < n && n < l.end / 2; };
            return between(loop.first) || between(loop.second);
        });
    }
    [[nodiscard]] std::vector<std::int32_t> by_begin() const {
        std::vector<std::int32_t> order;
        for (std::size_t v = 0; v < live_.size(); ++v)
            if (live_[v].weight > 0) order.push_back(static_cast<std::int32_t>(v));
        std::stable_sort(order.begin(), order.end(),
                         [&](std::int32_t a, std::int32_t b) { return live_[index(a)].begin < live_[index(b)].begin; });
        return order;
    }

    machine_function const& f_;
    bool vectors_, tied_;
    std::vector<interval> live_;
    struct code_loop {
        std::size_t first, last;
        std::int32_t around; // the loop around it; -1: none
    };
    std::vector<code_loop> loops_;
    std::vector<std::int32_t> innermost_; // loop, by instruction; -1: none
    std::vector<double> weights_;         // of instructions
    value_places places_;
    std::vector<std::int32_t> free_, active_;
};

} // namespace gsub::codegen::detail
