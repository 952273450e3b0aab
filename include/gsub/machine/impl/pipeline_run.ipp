#pragma once

#include <gsub/machine/pipeline_run.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace gsub::machine {

namespace detail {
// From the cycle in which a wrong prediction is found out, to that in which what follows enters.
inline constexpr double mispredicted_cycles = 13;
// Vector operations that wait for their operands, and those that have entered and wait for a place there. Measured on
// Zen 5, whose three schedulers hold 38 each: what an operation finds full is its own.
inline constexpr std::size_t waiting_operations = 60, queued_operations = 96;
} // namespace detail

GSUB_LAZY_BODY pipeline_run::pipeline_run(std::span<instruction const> code, core_ports const& core)
    : core_(&core),
      leaving_(static_cast<std::size_t>(std::max(1.0, core.window())), 0),
      queue_(detail::queued_operations, 0),
      busy_(cycles_known, 0),
      cleared_(cycles_known) {
    std::size_t registers = 1;
    code_.reserve(code.size());
    for (auto const& i : code) {
        auto const own = core.of(i.what, i.bytes);
        step s;
        s.ports = own.ports, s.latency = static_cast<float>(own.latency), s.busy = static_cast<float>(own.busy);
        s.set = set_of(s.ports);
        if (i.folds_load()) {
            auto const load = core.of(i.folded_class(), i.memory.bytes);
            s.load_ports = load.ports, s.load_set = set_of(load.ports);
            s.load_latency = static_cast<float>(load.latency), s.load_busy = static_cast<float>(load.busy);
        }
        s.moves = i.what == instruction_class::logic && i.uses.size() < 2 && i.memory.bytes == 0 && i.bytes >= 32;
        s.waits = i.what < instruction_class::load;
        s.branches = i.what == instruction_class::branch;
        s.operands = static_cast<std::uint32_t>(operands_.size());
        s.uses = static_cast<std::uint16_t>(i.uses.size()), s.defs = static_cast<std::uint16_t>(i.defs.size());
        operands_.insert(operands_.end(), i.uses.begin(), i.uses.end());
        operands_.insert(operands_.end(), i.defs.begin(), i.defs.end());
        code_.push_back(s);
    }
    for (auto const r : operands_) registers = std::max<std::size_t>(registers, r + 1u);
    ready_.assign(registers, 0);
}

GSUB_LAZY_BODY std::uint32_t pipeline_run::set_of(std::uint32_t ports) {
    auto const found = std::find(sets_.begin(), sets_.end(), ports);
    if (found != sets_.end()) return static_cast<std::uint32_t>(found - sets_.begin());
    sets_.push_back(ports), full_.push_back(0);
    return static_cast<std::uint32_t>(sets_.size() - 1);
}

// Takes a port of a set for some cycles, the first that is free from a cycle on. *Returns* when.
GSUB_LAZY_BODY double pipeline_run::take(std::uint32_t ports, std::uint32_t set, double from, double busy) {
    auto at = std::max(static_cast<std::size_t>(std::ceil(from - 1e-6)), full_[set]);
    auto const length = static_cast<std::size_t>(std::max(1.0, std::ceil(busy)));
    auto const was_full = at == full_[set];
    for (;; ++at) {
        while (at + length > cleared_) busy_[cleared_++ % cycles_known] = 0;
        auto free = ports & ~busy_[at % cycles_known];
        for (std::size_t c = 1; c < length && free; ++c) free &= ~busy_[(at + c) % cycles_known];
        if (!free) {
            if (was_full && at == full_[set] && length == 1) ++full_[set];
            continue;
        }
        // The first and the last one by turns, so that those shared with other classes wear alike.
        auto const number = at % 2 ? static_cast<int>(std::bit_width(free)) - 1 : std::countr_zero(free);
        auto const bit = std::uint32_t{1} << number;
        for (std::size_t c = 0; c < length; ++c) busy_[(at + c) % cycles_known] |= bit;
        return static_cast<double>(at);
    }
}

// Begins an operation whose operands are there from a cycle on. *Returns* when.
GSUB_LAZY_BODY double pipeline_run::begin(step const& s, double entered, double operands) {
    if (s.load_ports)
        operands = std::max(operands, take(s.load_ports, s.load_set, entered, s.load_busy) + s.load_latency);
    if (!s.waits) return take(s.ports, s.set, operands, s.busy);
    auto& queued = queue_[queued_++ % queue_.size()];
    issued_ = std::max(issued_, queued);
    if (waiting_.size() >= detail::waiting_operations) { // it gets there when one of those has begun
        std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>{});
        entered_ = std::max(entered_, waiting_.back());
        waiting_.pop_back();
    }
    queued = entered_;
    auto const port = port_of(s.ports, std::max(entered, entered_));
    auto const ports = port < 0 ? s.ports : std::uint32_t{1} << port;
    auto const start = take(ports, port < 0 ? s.set : set_of(ports), std::max(operands, entered_), s.busy);
    waiting_.push_back(start);
    std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>{});
    if (port >= 0) {
        auto& waiting = waiting_at_[static_cast<std::size_t>(port)];
        waiting.push_back(start);
        std::push_heap(waiting.begin(), waiting.end(), std::greater<>{});
    }
    return start;
}

// The port that an operation gets as it enters: of those that may take it, the one for which fewest wait; of equals
// the next one, each time that there are some. Below 0: it takes one as it begins.
GSUB_LAZY_BODY int pipeline_run::port_of(std::uint32_t ports, double now) {
    if (core_->table().in_order) return -1;
    auto best = -1;
    std::size_t least = 0;
    auto equals = 0;
    for (int n = 0, all = std::popcount(ports); n < all; ++n) {
        // The nth of them, from another one each time.
        auto rest = ports;
        for (auto skip = (static_cast<unsigned>(n) + turn_) % static_cast<unsigned>(all); skip > 0; --skip)
            rest &= rest - 1;
        auto const port = std::countr_zero(rest);
        auto& waiting = waiting_at_[static_cast<std::size_t>(port)];
        while (!waiting.empty() && waiting.front() <= now) {
            std::pop_heap(waiting.begin(), waiting.end(), std::greater<>{});
            waiting.pop_back();
        }
        if (best < 0 || waiting.size() < least)
            best = port, least = waiting.size(), equals = 1;
        else
            equals += waiting.size() == least;
    }
    turn_ += equals > 1;
    return best;
}

GSUB_LAZY_BODY void pipeline_run::run(std::size_t first, std::size_t last) {
    auto const each = 1 / core_->issue();
    auto const in_order = core_->table().in_order;
    for (auto n = first; n < last; ++n) {
        auto const& s = code_[n];
        auto& slot = leaving_[count_++ % leaving_.size()];
        issued_ = std::max(issued_ + each, slot);
        auto const entered = std::floor(issued_ + 1e-9);
        auto operands = entered;
        auto const* r = operands_.data() + s.operands;
        for (std::uint16_t u = 0; u < s.uses; ++u) operands = std::max(operands, ready_[r[u]]);
        r += s.uses;
        double start = operands, done = operands;
        if (!s.moves) {
            start = begin(s, entered, operands);
            done = start + static_cast<double>(std::max(s.latency, s.busy));
            for (std::uint16_t d = 0; d < s.defs; ++d) ready_[r[d]] = start + static_cast<double>(s.latency);
            if (in_order) issued_ = std::max(issued_, start);
        } else {
            for (std::uint16_t d = 0; d < s.defs; ++d) ready_[r[d]] = operands;
        }
        if (s.branches) branch_ = start;
        retired_ = std::max(retired_, done);
        slot = retired_;
    }
}

GSUB_LAZY_BODY void pipeline_run::mispredict() {
    issued_ = std::max(issued_, branch_ + detail::mispredicted_cycles);
}

} // namespace gsub::machine
