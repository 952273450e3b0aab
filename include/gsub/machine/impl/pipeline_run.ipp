#pragma once

#include <gsub/machine/pipeline_run.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace gsub::machine {

namespace detail {
// From the cycle in which a wrong prediction is found out, to that in which what follows enters.
inline constexpr double mispredicted_cycles = 13;
// Vector operations that wait for their operands, and those that have entered and wait for a place there. Measured on
// Zen 5, whose three schedulers hold 38 each: what an operation finds full is its own.
inline constexpr std::size_t waiting_operations = 60, queued_operations = 96;

GSUB_LAZY [[nodiscard]] std::uint32_t cycles_of(double busy) noexcept {
    return static_cast<std::uint32_t>(std::max(1.0f, std::ceil(static_cast<float>(busy))));
}
} // namespace detail

GSUB_LAZY_BODY pipeline_run::pipeline_run(std::span<instruction const> code, core_ports const& core)
    : core_(&core),
      starting_(cycles_known, 0),
      beginning_(cycles_known, 0),
      leaving_(static_cast<std::size_t>(std::max(1.0, core.window())), 0),
      queue_(detail::queued_operations, 0),
      busy_(cycles_known, 0),
      taken_(taken_words * most_sets, 0),
      cleared_(cycles_known) {
    std::size_t registers = 1;
    code_.reserve(code.size());
    for (auto const& i : code) {
        auto const own = core.of(i.what, i.bytes);
        step s;
        s.entry = core.entry(i.what, i.bytes);
        s.ports = own.ports, s.latency = static_cast<float>(own.latency), s.busy = detail::cycles_of(own.busy);
        s.done = std::max(s.latency, static_cast<double>(static_cast<float>(own.busy)));
        s.set = set_of(s.ports), s.waits = i.what < instruction_class::load;
        for (auto rest = s.ports; rest && s.waits; rest &= rest - 1)
            port_sets_[static_cast<std::size_t>(std::countr_zero(rest))] = set_of(rest & ~(rest - 1));
        if (i.folds_load()) {
            auto const load = core.of(i.folded_class(), i.memory.bytes);
            s.load_ports = load.ports, s.load_set = set_of(load.ports);
            s.load_latency = static_cast<float>(load.latency), s.load_busy = detail::cycles_of(load.busy);
        }
        s.moves = i.what == instruction_class::logic && i.uses.size() < 2 && i.memory.bytes == 0 && i.bytes >= 32;
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
    GSUB_ASSERT(sets_.size() < most_sets, "a core has few sets of ports");
    sets_.push_back(ports), full_.push_back(0);
    return static_cast<std::uint32_t>(sets_.size() - 1);
}

// Takes a port of a set for some cycles, the first that is free from a cycle on. *Returns* when.
GSUB_LAZY_BODY double pipeline_run::take(std::uint32_t ports, std::uint32_t set, double from, std::size_t length) {
    auto const least = from - 1e-6;
    auto const whole = static_cast<std::int64_t>(least);
    auto at = std::max(static_cast<std::size_t>(whole + (static_cast<double>(whole) < least)), full_[set]);
    auto& full = full_[set];
    for (;;) {
        if (at + length > cleared_) clear_to(at + length);
        auto& known = taken_[(at / 64) % taken_words * most_sets + set];
        auto const place = at % 64;
        auto const skipped = length == 1 ? static_cast<std::size_t>(std::countr_one(known >> place)) : 0;
        auto free = skipped > 0 ? 0u : ports & ~busy_[at % cycles_known];
        for (std::size_t c = 1; c < length && free; ++c) free &= ~busy_[(at + c) % cycles_known];
        if (!free) {
            auto const next = at + std::max<std::size_t>(1, skipped);
            if (length == 1) {
                known |= std::uint64_t{1} << place;
                if (at == full) full = next;
            }
            at = next;
            continue;
        }
        // The first and the last one by turns, so that those shared with other classes wear alike.
        auto const number = at % 2 ? static_cast<int>(std::bit_width(free)) - 1 : std::countr_zero(free);
        auto const bit = std::uint32_t{1} << number;
        for (std::size_t c = 0; c < length; ++c) busy_[(at + c) % cycles_known] |= bit;
        return static_cast<double>(at);
    }
}

// Makes the cycles to before `end` ones in which no port is taken yet, so many of them at once.
GSUB_LAZY_BODY void pipeline_run::clear_to(std::size_t end) {
    for (; cleared_ < end; cleared_ += 64) {
        auto const at = cleared_ % cycles_known;
        std::fill_n(busy_.begin() + static_cast<std::ptrdiff_t>(at), 64, 0u);
        std::fill_n(taken_.begin() + static_cast<std::ptrdiff_t>(at / 64 * most_sets), most_sets, std::uint64_t{0});
    }
}

// Begins an operation whose operands are there from a cycle on. *Returns* when.
GSUB_LAZY_BODY double pipeline_run::begin(step const& s, double entered, double operands) {
    if (s.load_ports)
        operands = std::max(operands, take(s.load_ports, s.load_set, entered, s.load_busy) + s.load_latency);
    if (!s.waits) return take(s.ports, s.set, operands, s.busy);
    auto& queued = queue_[queued_];
    queued_ = queued_ + 1 == queue_.size() ? 0 : queued_ + 1;
    issued_ = std::max(issued_, queued);
    if (waiting_ >= detail::waiting_operations) { // it gets there when one of those has begun
        while (!starting_[soonest_ % cycles_known]) ++soonest_;
        --starting_[soonest_ % cycles_known], --waiting_;
        entered_ = std::max(entered_, static_cast<double>(soonest_));
    }
    queued = entered_;
    auto const port = port_of(s.ports, std::max(entered, entered_));
    auto const ports = port < 0 ? s.ports : std::uint32_t{1} << port;
    auto const set = port < 0 ? s.set : port_sets_[static_cast<std::size_t>(port)];
    auto const start = take(ports, set, std::max(operands, entered_), s.busy);
    auto const cycle = static_cast<std::size_t>(start);
    soonest_ = waiting_++ == 0 ? cycle : std::min(soonest_, cycle);
    ++starting_[cycle % cycles_known];
    if (port >= 0 && cycle >= begun_) {
        beginning_[cycle % cycles_known] |= ports;
        ++waiting_at_[static_cast<std::size_t>(port)];
    }
    return start;
}

// The port that an operation gets as it enters: of those that may take it, the one for which fewest wait; of equals
// the next one, each time that there are some. Below 0: it takes one as it begins.
GSUB_LAZY_BODY int pipeline_run::port_of(std::uint32_t ports, double now) {
    if (core_->table().in_order) return -1;
    for (; begun_ <= static_cast<std::size_t>(now); ++begun_)
        for (auto& rest = beginning_[begun_ % cycles_known]; rest; rest &= rest - 1)
            --waiting_at_[static_cast<std::size_t>(std::countr_zero(rest))];
    auto best = -1;
    std::uint32_t least = 0, equals = 0;
    auto const look = [&](std::uint32_t some) {
        for (; some; some &= some - 1) {
            auto const port = std::countr_zero(some);
            auto const waiting = waiting_at_[static_cast<std::size_t>(port)];
            if (best < 0 || waiting < least)
                best = port, least = waiting, equals = 1;
            else
                equals += waiting == least;
        }
    };
    // From another one of them each time.
    auto from = ports;
    for (auto skip = turn_ % static_cast<unsigned>(std::popcount(ports)); skip > 0; --skip) from &= from - 1;
    look(from), look(ports & ~from);
    turn_ += equals > 1;
    return best;
}

GSUB_LAZY_BODY void pipeline_run::run(std::size_t first, std::size_t last) {
    auto const in_order = core_->table().in_order;
    if (first < last) count_ += last - first;
    for (auto n = first; n < last; ++n) {
        auto const& s = code_[n];
        auto& slot = leaving_[leaves_];
        leaves_ = leaves_ + 1 == leaving_.size() ? 0 : leaves_ + 1;
        issued_ = std::max(issued_ + s.entry, slot);
        auto const entered = static_cast<double>(static_cast<std::int64_t>(issued_ + 1e-9)); // down
        auto operands = entered;
        auto const* r = operands_.data() + s.operands;
        for (std::uint16_t u = 0; u < s.uses; ++u) operands = std::max(operands, ready_[r[u]]);
        r += s.uses;
        double start = operands, done = operands;
        if (!s.moves) {
            start = begin(s, entered, operands);
            done = start + s.done;
            for (std::uint16_t d = 0; d < s.defs; ++d) ready_[r[d]] = start + s.latency;
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
