#pragma once

#include <gsub/machine/pipeline.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace gsub::machine {

namespace detail {

inline constexpr std::size_t most_ports = 32;

// Whether an instruction adds to what an earlier fma made: the addend may be forwarded within the unit.
GSUB_LAZY bool accumulates(instruction const& writer, instruction const& reader, register_id r) noexcept {
    return writer.what == instruction_class::fma && reader.what == instruction_class::fma && !reader.uses.empty() &&
           reader.uses[0] == r;
}

// Part of an instruction that takes one port: its operation or its folded load.
struct port_work {
    std::uint32_t ports = 0;
    double busy = 1, latency = 1;
};
struct instruction_work {
    port_work own{}, load{}; // of the load no port: there is none
    bool folds = false;
    double entry = 0; // cycles to enter
};
// Cycles from the start of an instruction, until another can read a register that it defines.
GSUB_LAZY double latency_between(instruction const& writer, instruction_work const& work, instruction const& reader,
                                 register_id r, core_ports const& core) noexcept {
    return accumulates(writer, reader, r) ? core.accumulate_latency() : work.own.latency;
}
GSUB_LAZY std::vector<instruction_work> work_of(std::span<instruction const> block, core_ports const& core) {
    std::vector<instruction_work> out;
    for (auto const& i : block) {
        auto const own = core.of(i.what, i.bytes);
        instruction_work w{{own.ports, own.busy, own.latency}, {}, i.folds_load(), core.entry(i.what, i.bytes)};
        if (w.folds) {
            auto const load = core.of(i.folded_class(), i.memory.bytes);
            w.load = {load.ports, load.busy, load.latency};
        }
        out.push_back(w);
    }
    return out;
}

// Busy cycles of ports; each of them takes one thing a cycle. What comes later in the program may start earlier.
template <class = void>
class port_calendar {
public:
    /// Takes the port of a set that is free first, from a cycle on, for some cycles. Of equals, that which had least to
    /// do. *Returns* the cycle.
    double take(std::uint32_t ports, double from, double cycles) {
        auto const begin = static_cast<std::size_t>(std::ceil(from));
        auto const length = static_cast<std::size_t>(std::max(1.0, std::ceil(cycles)));
        std::size_t best = 0, at = std::numeric_limits<std::size_t>::max();
        for (auto rest = ports; rest != 0; rest &= rest - 1) {
            auto const port = static_cast<std::size_t>(std::countr_zero(rest));
            auto const free = first_free(port, begin, length, at);
            if (free < at || (free == at && taken_[port] < taken_[best])) best = port, at = free;
        }
        auto& busy = busy_[best];
        if (busy.size() < at + length) busy.resize((at + length) * 2, 0);
        for (auto c = at; c < at + length; ++c) busy[c] = 1;
        while (full_[best] < busy.size() && busy[full_[best]]) ++full_[best];
        taken_[best] += length;
        return static_cast<double>(at);
    }

private:
    // The first cycle from which a port is free for some cycles; gives up behind `most`.
    [[nodiscard]] std::size_t first_free(std::size_t port, std::size_t from, std::size_t length,
                                         std::size_t most) const {
        auto const& busy = busy_[port];
        for (auto at = std::max(from, full_[port]); at <= most; ++at) {
            std::size_t c = 0;
            while (c < length && (at + c >= busy.size() || !busy[at + c])) ++c;
            if (c == length) return at;
            at += c;
        }
        return std::numeric_limits<std::size_t>::max();
    }
    std::array<std::vector<char>, most_ports> busy_;
    std::array<std::size_t, most_ports> taken_{}, full_{}; // cycles in all; before which all are
};

// Registers of a block and who wrote them last.
template <class = void>
class last_writers {
public:
    explicit last_writers(std::span<instruction const> block) {
        std::size_t count = 0;
        for (auto const& i : block) {
            for (auto const r : i.defs) count = std::max<std::size_t>(count, r + 1u);
            for (auto const r : i.uses) count = std::max<std::size_t>(count, r + 1u);
        }
        of_.assign(count, {});
    }
    struct written {
        std::ptrdiff_t by = -1; // number of the instruction in the block
        double start = 0;       // of that
    };
    written& operator[](register_id r) noexcept { return of_[r]; }
    [[nodiscard]] std::size_t size() const noexcept { return of_.size(); }

private:
    std::vector<written> of_;
};

// Runs iterations of a block through the core.
template <class = void>
class loop_runner {
public:
    loop_runner(std::span<instruction const> block, core_ports const& core)
        : block_(block),
          core_(core),
          work_(work_of(block, core)),
          writers_(block),
          retired_(static_cast<std::size_t>(std::max(1.0, core.window())), 0) {}

    /// Runs one more iteration. *Returns* the cycle in which its last instruction retires.
    double run() {
        for (std::size_t i = 0; i < block_.size(); ++i) step(i);
        return last_retired_;
    }

private:
    void step(std::size_t i) {
        auto const& what = block_[i];
        auto const& work = work_[i];
        // Issue in order, so many a cycle; an instruction enters when that a window before it has left.
        auto& slot = retired_[number_++ % retired_.size()];
        issued_ = std::max(issued_ + work.entry, slot);
        auto ready = std::floor(issued_ + 1e-9);
        if (core_.table().in_order) ready = std::max(ready, last_start_);
        auto operands = ready;
        for (auto const r : what.uses) operands = std::max(operands, available(what, r));
        double loaded = 0;
        if (work.folds) loaded = ports_.take(work.load.ports, ready, work.load.busy) + work.load.latency;
        auto const start = ports_.take(work.own.ports, std::max(operands, loaded), work.own.busy);
        last_start_ = std::max(last_start_, start);
        for (auto const r : what.defs) writers_[r] = {static_cast<std::ptrdiff_t>(i), start};
        last_retired_ = std::max({last_retired_, start + std::max(work.own.latency, work.own.busy), loaded});
        slot = last_retired_;
    }
    [[nodiscard]] double available(instruction const& reader, register_id r) {
        auto const& w = writers_[r];
        if (w.by < 0) return 0;
        auto const writer = static_cast<std::size_t>(w.by);
        return w.start + latency_between(block_[writer], work_[writer], reader, r, core_);
    }

    std::span<instruction const> block_;
    core_ports const& core_;
    std::vector<instruction_work> work_;
    last_writers<> writers_;
    port_calendar<> ports_;
    std::vector<double> retired_; // of instructions in flight
    std::size_t number_ = 0;
    double issued_ = 0, last_start_ = 0, last_retired_ = 0;
};

// Work of sets of ports: for each union of sets, what must run within it, divided by its ports.
GSUB_LAZY std::pair<double, std::uint32_t> port_pressure(std::span<instruction_work const> work) {
    std::vector<std::pair<std::uint32_t, double>> sets;
    auto const add = [&](port_work const& w) {
        for (auto& [ports, cycles] : sets)
            if (ports == w.ports) {
                cycles += w.busy;
                return;
            }
        sets.emplace_back(w.ports, w.busy);
    };
    for (auto const& w : work) {
        add(w.own);
        if (w.folds) add(w.load);
    }
    GSUB_ASSERT(sets.size() <= most_port_sets, "a port table has few different sets of ports");
    std::sort(sets.begin(), sets.end()); // of equal unions the same one for any order of instructions
    std::pair<double, std::uint32_t> most{0, 0};
    for (std::size_t subset = 1; subset < std::size_t{1} << sets.size(); ++subset) {
        std::uint32_t all = 0;
        for (std::size_t s = 0; s < sets.size(); ++s)
            if (subset >> s & 1) all |= sets[s].first;
        double cycles = 0;
        for (auto const& [ports, busy] : sets)
            if ((ports & ~all) == 0) cycles += busy;
        cycles /= std::popcount(all);
        if (cycles > most.first + 1e-12) most = {cycles, all};
    }
    return most;
}

// The greatest mean weight of a cycle of a graph, weights in a matrix, below 0 where there is no edge.
GSUB_LAZY double greatest_cycle_mean(std::vector<std::vector<double>> const& all) {
    double most = 0;
    // Most chains are of one register each; only nodes that lead to others and are led to can be on longer cycles.
    std::vector<std::size_t> nodes;
    for (std::size_t u = 0; u < all.size(); ++u) {
        most = std::max(most, all[u][u]);
        auto to = false, from = false;
        for (std::size_t v = 0; v < all.size(); ++v)
            if (v != u) to = to || all[u][v] >= 0, from = from || all[v][u] >= 0;
        if (to && from) nodes.push_back(u);
    }
    auto const n = nodes.size();
    if (n < 2) return most;
    std::vector<std::vector<double>> weight(n, std::vector<double>(n));
    for (std::size_t u = 0; u < n; ++u)
        for (std::size_t v = 0; v < n; ++v) weight[u][v] = all[nodes[u]][nodes[v]];
    constexpr auto none = -std::numeric_limits<double>::infinity();
    // Longest walks of k edges from any node.
    std::vector<std::vector<double>> walk(n + 1, std::vector<double>(n, none));
    walk[0].assign(n, 0);
    for (std::size_t k = 0; k < n; ++k)
        for (std::size_t u = 0; u < n; ++u)
            for (std::size_t v = 0; v < n; ++v)
                if (weight[u][v] >= 0 && walk[k][u] > none)
                    walk[k + 1][v] = std::max(walk[k + 1][v], walk[k][u] + weight[u][v]);
    for (std::size_t v = 0; v < n; ++v) {
        if (walk[n][v] == none) continue;
        auto least = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < n; ++k)
            if (walk[k][v] > none) least = std::min(least, (walk[n][v] - walk[k][v]) / static_cast<double>(n - k));
        most = std::max(most, least);
    }
    return most;
}

// The longest chain from an iteration to the next: registers that are read before they are written anew, and the
// longest paths between them.
GSUB_LAZY double carried_chain(std::span<instruction const> block, std::span<instruction_work const> work,
                               core_ports const& core) {
    last_writers<> writers{block};
    std::vector<std::ptrdiff_t> last(writers.size(), -1); // who leaves a register to the next iteration
    for (std::size_t i = 0; i < block.size(); ++i)
        for (auto const r : block[i].defs) last[r] = static_cast<std::ptrdiff_t>(i);
    std::vector<register_id> carried;
    std::vector<char> written(writers.size(), 0), known(writers.size(), 0);
    for (auto const& i : block) {
        for (auto const r : i.uses)
            if (!written[r] && last[r] >= 0 && !std::exchange(known[r], 1)) carried.push_back(r);
        for (auto const r : i.defs) written[r] = 1;
    }
    std::vector<std::vector<double>> weight(carried.size(), std::vector<double>(carried.size(), -1));
    std::vector<double> start(block.size());
    for (std::size_t from = 0; from < carried.size(); ++from) {
        // Cycle in which each instruction starts if only the carried register's last writer started, at 0.
        std::vector<std::ptrdiff_t> by(writers.size(), -1);
        for (std::size_t i = 0; i < block.size(); ++i) {
            start[i] = -1;
            for (auto const r : block[i].uses) {
                auto const w = by[r];
                auto const first = w < 0 && r == carried[from];
                if (!first && (w < 0 || start[static_cast<std::size_t>(w)] < 0)) continue;
                auto const writer = static_cast<std::size_t>(first ? last[r] : w);
                start[i] = std::max(start[i], (first ? 0 : start[writer]) +
                                                  latency_between(block[writer], work[writer], block[i], r, core));
            }
            for (auto const r : block[i].defs) by[r] = static_cast<std::ptrdiff_t>(i);
        }
        for (std::size_t to = 0; to < carried.size(); ++to)
            weight[from][to] = start[static_cast<std::size_t>(last[carried[to]])];
    }
    return greatest_cycle_mean(weight);
}

} // namespace detail

GSUB_LAZY_BODY std::string_view to_string(pipeline_bound b) noexcept {
    constexpr std::string_view names[] = {"ports", "issue", "chain", "schedule"};
    return names[static_cast<std::size_t>(b)];
}

GSUB_LAZY_BODY block_schedule list_schedule(std::span<instruction const> block, core_ports const& core) {
    block_schedule out;
    auto const work = detail::work_of(block, core);
    struct edge {
        std::size_t from;
        double cycles;
    };
    // RAW: the value is there. WAR, WAW: not before.
    std::vector<std::vector<edge>> before(block.size());
    detail::last_writers<> writers{block};
    std::vector<std::vector<std::size_t>> readers(writers.size());
    for (std::size_t i = 0; i < block.size(); ++i) {
        for (auto const r : block[i].uses) {
            if (auto const by = writers[r].by; by >= 0)
                before[i].push_back({static_cast<std::size_t>(by), work[static_cast<std::size_t>(by)].own.latency});
            readers[r].push_back(i);
        }
        for (auto const r : block[i].defs) {
            for (auto const reader : readers[r])
                if (reader != i) before[i].push_back({reader, 0});
            if (auto const by = writers[r].by; by >= 0) before[i].push_back({static_cast<std::size_t>(by), 0});
            writers[r].by = static_cast<std::ptrdiff_t>(i);
            readers[r].clear();
        }
    }
    // Cycle by cycle, in program order among those that are ready. A folded load runs right before its instruction.
    out.start.assign(block.size(), -1);
    std::array<double, detail::most_ports> free{};
    std::vector<double> loaded(block.size(), -1);
    auto const take = [&](detail::port_work const& w, double cycle) {
        for (auto rest = w.ports; rest != 0; rest &= rest - 1)
            if (auto& at = free[static_cast<std::size_t>(std::countr_zero(rest))]; at <= cycle) {
                at = cycle + w.busy;
                return true;
            }
        return false;
    };
    std::size_t open = block.size();
    for (double cycle = 0; open > 0; ++cycle) {
        double issued = 0;
        for (std::size_t i = 0; i < block.size() && issued < core.issue(); ++i) {
            if (out.start[i] >= 0) continue;
            auto const ready = std::all_of(before[i].begin(), before[i].end(), [&](edge const& e) {
                return out.start[e.from] >= 0 && out.start[e.from] + e.cycles <= cycle;
            });
            if (ready && work[i].folds && loaded[i] < 0) {
                if (take(work[i].load, cycle)) loaded[i] = cycle + work[i].load.latency, ++issued;
                continue;
            }
            if (!ready || loaded[i] > cycle || !take(work[i].own, cycle)) continue;
            out.start[i] = cycle, ++issued, --open;
            out.cycles = std::max(out.cycles, cycle + std::max(work[i].own.latency, work[i].own.busy));
        }
    }
    return out;
}

GSUB_LAZY_BODY steady_state steady_bounds(std::span<instruction const> block, core_ports const& core) {
    steady_state out;
    auto const work = detail::work_of(block, core);
    auto const [cycles, busiest] = detail::port_pressure(work);
    out.ports = cycles, out.busiest = busiest;
    for (auto const& w : work) out.issue += w.entry;
    out.chain = detail::carried_chain(block, work, core);
    return out;
}

GSUB_LAZY_BODY steady_state steady_schedule(std::span<instruction const> block, core_ports const& core) {
    auto out = steady_bounds(block, core);
    if (block.empty()) return out;
    // Until the window has been full, then as long again and some.
    auto const filling = static_cast<int>(core.window() / static_cast<double>(block.size())) + 4;
    auto const counted = filling + 8;
    detail::loop_runner<> loop{block, core};
    double first = 0, last = 0;
    for (int i = 0; i < filling; ++i) first = loop.run();
    for (int i = 0; i < counted; ++i) last = loop.run();
    out.scheduled = (last - first) / counted;
    return out;
}

} // namespace gsub::machine
