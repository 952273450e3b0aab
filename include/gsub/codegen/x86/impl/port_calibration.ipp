#pragma once

#include <gsub/codegen/x86/impl/port_probe.hpp>
#include <gsub/codegen/x86/port_calibration.hpp>
#include <gsub/core/format.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace gsub::codegen {

namespace detail {

/// Times probes against a chain of integer additions.
template <class = void>
class probe_timer {
public:
    probe_timer(bool zmm, int rounds) : zmm_(zmm), rounds_(rounds), clock_(zmm) {
        memory_.assign(4096 + 64, 0);
        auto const at = reinterpret_cast<std::uintptr_t>(memory_.data());
        data_ = memory_.data() + (64 - at % 64) % 64;
        for (int f = 0; f < 16; ++f) { // two numbers near 1, of which no sums and products get out of hand
            auto const x = 1.0009f, y = 0.9991f;
            std::memcpy(data_ + 4 * f, &x, sizeof x), std::memcpy(data_ + 64 + 4 * f, &y, sizeof y);
        }
        auto const* const own = data_ + 2040;
        std::memcpy(data_ + 2040, &own, sizeof own);
        for (int n = 0; n < clock_size; ++n) clock_.add(instruction_class::integer, 8, probe_kind::chain, n);
        tick_ = clock_.finish();
    }

    [[nodiscard]] bool zmm() const noexcept { return zmm_; }
    /// Cycles of a turn of a function: the difference of many turns and few, of the least times.
    double cycles(port_probe<>::function f) {
        constexpr std::int64_t few = 24, many = 144;
        double least[4] = {1, 1, 1, 1};
        auto const keep = [&](double& to, port_probe<>::function g, std::int64_t turns) {
            to = std::min(to, seconds(g, turns));
        };
        for (int r = 0; r < rounds_; ++r)
            keep(least[0], tick_, few), keep(least[1], f, few), keep(least[2], tick_, many), keep(least[3], f, many);
        auto const tick = (least[2] - least[0]) / clock_size;
        auto const found = (least[3] - least[1]) / tick;
        if (!(tick > 0) || !(found > 0) || !std::isfinite(found))
            throw error{errors::calibration_failed, "calibrating ports: the clock of this machine gives no time"};
        return found;
    }
    /// The same of one instruction of a turn.
    double each(instruction_class of, std::int32_t bytes, probe_kind kind) {
        constexpr int count = 96;
        port_probe<> p{zmm_};
        for (int n = 0; n < count; ++n) p.add(of, bytes, kind, n);
        return cycles(p.finish()) / count;
    }

private:
    static constexpr int clock_size = 128;
    double seconds(port_probe<>::function f, std::int64_t turns) {
        using clock = std::chrono::steady_clock;
        auto const begin = clock::now();
        f(data_, turns);
        return std::chrono::duration<double>(clock::now() - begin).count();
    }

    bool zmm_;
    int rounds_;
    std::vector<unsigned char> memory_;
    unsigned char* data_ = nullptr;
    port_probe<> clock_;
    port_probe<>::function tick_ = nullptr;
};

template <class = void>
class port_calibration_run {
public:
    port_calibration_run(target const& machine, int rounds)
        : machine_(machine), timer_(machine.has(isa::avx512), rounds) {}

    measured_ports run() {
        using enum instruction_class;
        measured_ports out;
        out.core = std::string{microarchitecture_of(machine_).name}, out.machine = machine_.name;
        out.date = today();
        out.made_by =
            format_text("gsub {}.{}.{} calibrate_ports", GSUB_VERSION_MAJOR, GSUB_VERSION_MINOR, GSUB_VERSION_PATCH);
        out.accumulate_latency = timer_.each(fma, widest(), probe_kind::accumulate);
        move_ = timer_.each(integer, 8, probe_kind::move_chain) / 2;
        out.issue = 1 / timer_.each(integer, 8, probe_kind::nothing);
        time_uses(out.uses);
        find_shared(out);
        return out;
    }

private:
    // Uses of one class that have the same rate take the same ports, and so do those of twice the width and half the
    // rate: units take these in two passes.
    static bool on_same_ports(double cycles, double of_narrower) {
        return of_narrower > 0 &&
               (std::abs(cycles / of_narrower - 1) < 0.12 || std::abs(cycles / of_narrower - 2) < 0.24);
    }
    struct port_item {
        std::size_t use = 0; // the first one of it
        std::int32_t units = 1;
        double cycles = 1;
    };

    [[nodiscard]] std::int32_t widest() const { return timer_.zmm() ? 64 : 32; }
    static std::string today() {
        std::chrono::year_month_day const d{std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
        auto const two = [](unsigned n) { return format_text("{}{}", n < 10 ? "0" : "", n); };
        return format_text("{}-{}-{}", static_cast<int>(d.year()), two(static_cast<unsigned>(d.month())),
                           two(static_cast<unsigned>(d.day())));
    }
    static std::vector<std::int32_t> widths_of(instruction_class c, std::int32_t widest) {
        std::vector<std::int32_t> out;
        if (c == instruction_class::integer || c == instruction_class::branch) return {8};
        if (c == instruction_class::load) out.push_back(8);
        for (std::int32_t w = 16; w <= widest; w *= 2) out.push_back(w);
        return out;
    }
    void time_uses(std::vector<measured_use>& uses) {
        using enum instruction_class;
        for (std::size_t n = 0; n < instruction_classes; ++n) {
            auto const c = static_cast<instruction_class>(n);
            for (auto const w : widths_of(c, widest())) {
                measured_use u{c, w, 1, timer_.each(c, w, probe_kind::independent), 0};
                if (c != store && c != branch) u.latency = timer_.each(c, w, probe_kind::chain);
                if ((c == load && w > 8) || c == broadcast) u.latency = std::max(1.0, u.latency - move_);
                auto const before = !uses.empty() && uses.back().of == c ? uses.back().cycles : 0.0;
                if (!on_same_ports(u.cycles, before))
                    items_.push_back({uses.size(), measured_units(u.cycles), u.cycles});
                uses.push_back(u);
            }
        }
    }
    // Instructions of each kind, spread evenly, that take about as long as those of the other one by themselves.
    double mixed(measured_use const& a, measured_use const& b, int of_a, int of_b) {
        port_probe<> p{timer_.zmm()};
        auto const turns = std::max(1, 72 / (of_a + of_b));
        int added_a = 0, added_b = 0;
        for (auto n = turns * (of_a + of_b); n > 0; --n)
            if (added_a * of_b <= added_b * of_a)
                p.add(a.of, a.bytes, probe_kind::independent, added_a++);
            else
                p.add(b.of, b.bytes, probe_kind::independent, added_b++);
        return timer_.cycles(p.finish()) / turns;
    }
    // Both kinds in such numbers that the front end keeps up: what is then slower than either alone waits for ports.
    [[nodiscard]] std::int32_t shared(measured_ports const& found, port_item const& i, port_item const& j) {
        auto const longest = std::max({4.0, std::ceil(i.cycles), std::ceil(j.cycles)});
        auto const count = [&](port_item const& x) { return std::max(1, static_cast<int>(longest / x.cycles + 0.5)); };
        auto of_i = count(i), of_j = count(j);
        auto& more = of_i > of_j ? of_i : of_j;
        more = std::max(1, more - std::max(0, of_i + of_j - static_cast<int>(0.8 * found.issue * longest)));
        auto const time = mixed(found.uses[i.use], found.uses[j.use], of_i, of_j);
        if (time < 1.1 * std::max(of_i * i.cycles, of_j * j.cycles)) return 0;
        // Cycles of ports that both take, over the ports of either.
        auto const together = std::lround((of_i * i.cycles * i.units + of_j * j.cycles * j.units) / time);
        return std::clamp(i.units + j.units - static_cast<std::int32_t>(together), 0, std::min(i.units, j.units));
    }
    void find_shared(measured_ports& found) {
        auto const n = items_.size();
        std::vector<std::int32_t> units, common(n * n, 0);
        for (auto const& i : items_) units.push_back(i.units);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = i + 1; j < n; ++j) common[i * n + j] = shared(found, items_[i], items_[j]);
        auto const sets = assign_ports(units, common);
        for (std::size_t i = 0; i < n; ++i)
            for (auto u = items_[i].use; u < (i + 1 < n ? items_[i + 1].use : found.uses.size()); ++u)
                found.uses[u].ports = sets[i];
    }

    target const& machine_;
    probe_timer<> timer_;
    std::vector<port_item> items_;
    double move_ = 0;
};

} // namespace detail

GSUB_LAZY_BODY result<measured_ports> calibrate_ports(port_calibration_options options, target const& machine) {
    GSUB_ASSERT(options.rounds >= 1, "something is timed once or more");
    if (!machine.has(isa::avx2) || !host().has(*machine.isa))
        return error{error_code::unsupported, format_text("ports are calibrated on the machine itself, which needs "
                                                          "AVX2: {}",
                                                          to_string(machine))};
    return capture([&] {
        try {
            return detail::port_calibration_run<>{machine, options.rounds}.run();
        } catch (Xbyak::Error const& e) {
            throw error{error_code::unsupported, format_text("calibrating ports: {}", e.what())};
        }
    });
}

} // namespace gsub::codegen
