// Port tables: which ports of a core start which instructions, and when their results are there; rows of a table.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gsub {

/// Instruction class: what models of pipelines tell apart. Those from `load` on move data or control.
enum class instruction_class : std::uint8_t {
    fma,         ///< multiply-add of vectors; its result may be its addend
    multiply,    ///< of vectors of floats
    add,         ///< also subtract
    maximum,     ///< also minimum and comparison
    divide,      ///< one unit, busy for several cycles
    square_root, ///< the same
    logic,       ///< bits, blends, moves of vectors, adds of integers
    shuffle,     ///< of lanes
    convert,     ///< between types
    load,        ///< of a register's width
    broadcast,   ///< load of one element for all lanes
    store,
    integer, ///< of addresses and counters
    branch,
};

/// Name of a class, e.g. `fma`.
[[nodiscard]] constexpr std::string_view to_string(instruction_class c) noexcept {
    constexpr std::string_view names[] = {"fma",         "multiply", "add",     "maximum", "divide",
                                          "square root", "logic",    "shuffle", "convert", "load",
                                          "broadcast",   "store",    "integer", "branch"};
    return names[static_cast<std::size_t>(c)];
}
inline constexpr std::size_t instruction_classes = 14;

/// Port use of a class: for vectors of `from_bytes` and more, until a row of the class says otherwise.
struct port_use {
    instruction_class of = instruction_class::fma;
    std::int32_t from_bytes = 0;
    std::uint32_t ports = 0; ///< bits, the first named port lowest; an instruction takes one of them
    double latency = 0;      ///< cycles until the result is there; 0 of `fma`: as the micro-architecture says
    double busy = 1;         ///< cycles that a pass keeps the port
};

/// Port table of a core: what its row of `microarchitectures()` does not say.
struct port_table {
    std::string_view names; ///< of micro-architectures, by `;`, that have these ports
    std::string_view ports; ///< their names, by blanks
    std::span<port_use const> uses;
    double accumulate_latency = 0; ///< of an fma to its addend in the next one, 0: as to any operand
    bool in_order = false;         ///< whether instructions start in the order of the program
    bool modelled_only = true;     ///< whether nobody here could compare it with such a machine
    double issue = 0;              ///< instructions a cycle; 0: as the micro-architecture says
};

/// Different sets of ports that the uses of a table may have: models of pipelines weigh all unions of them.
inline constexpr std::size_t most_port_sets = 24;

namespace detail::port_rows {

// Bits of ports.
template <class... Numbers>
[[nodiscard]] constexpr std::uint32_t ports(Numbers... numbers) noexcept {
    return ((std::uint32_t{1} << numbers) | ...);
}

using enum instruction_class;

// clang-format off
// f0 f1 f2 f3: vectors; l0 l1 l2 l3; s0 s1; a0 ... a5, of which the last three branch
inline constexpr port_use zen5_uses[] = {
    {fma, 0, ports(0, 1)}, {multiply, 0, ports(0, 1), 3}, {add, 0, ports(2, 3), 2}, {maximum, 0, ports(2, 3), 2},
    {divide, 0, ports(0, 1), 10, 5}, {square_root, 0, ports(0, 1), 14, 9}, {logic, 0, ports(0, 1, 2, 3), 2},
    {shuffle, 0, ports(0, 1, 2, 3), 2}, {shuffle, 32, ports(1, 2), 4}, {shuffle, 64, ports(1, 2), 5},
    {convert, 0, ports(2, 3), 3},
    {load, 0, ports(4, 5, 6, 7), 4}, {load, 16, ports(4, 5), 7}, {broadcast, 0, ports(4, 5), 7},
    {store, 0, ports(8, 9), 1}, {store, 64, ports(8), 1},
    {integer, 0, ports(10, 11, 12, 13, 14, 15), 1}, {branch, 0, ports(13, 14, 15), 1},
};
// The same with units of 32 bytes and three memory operations a cycle; a0 ... a3, of which two branch
inline constexpr port_use zen4_uses[] = {
    {fma, 0, ports(0, 1)}, {multiply, 0, ports(0, 1), 3}, {add, 0, ports(2, 3), 3}, {maximum, 0, ports(0, 1), 1},
    {divide, 0, ports(1), 11, 3}, {divide, 32, ports(1), 11, 5},
    {square_root, 0, ports(1), 15, 5}, {square_root, 32, ports(1), 15, 8},
    {logic, 0, ports(0, 1, 2, 3), 1}, {shuffle, 0, ports(1, 2), 1}, {shuffle, 32, ports(1, 2), 3},
    {convert, 0, ports(2, 3), 3},
    {load, 0, ports(4, 5, 6), 4}, {load, 16, ports(4, 5), 7}, {broadcast, 0, ports(4, 5), 7},
    {store, 0, ports(7), 1},
    {integer, 0, ports(8, 9, 10, 11), 1}, {branch, 0, ports(8, 11), 1},
};
// The same with units of 16 bytes, two memory operations a cycle, and one slow shuffle across the halves of 32 bytes
inline constexpr port_use zen1_uses[] = {
    {fma, 0, ports(0, 1)}, {multiply, 0, ports(0, 1), 3}, {add, 0, ports(2, 3), 3}, {maximum, 0, ports(0, 1), 1},
    {divide, 0, ports(3), 13, 4.5}, {square_root, 0, ports(3), 8, 5}, {logic, 0, ports(0, 1, 2, 3), 1},
    {shuffle, 0, ports(1, 2), 1}, {shuffle, 32, ports(1, 2), 5, 4}, {convert, 0, ports(3), 4},
    {load, 0, ports(4, 5), 4}, {load, 16, ports(4, 5), 7}, {broadcast, 0, ports(4, 5), 7}, {store, 0, ports(6), 1},
    {integer, 0, ports(7, 8, 9, 10), 1}, {branch, 0, ports(7, 10), 1},
};
// p0 ... p7: vectors on 0, 1, 5, of which 64 bytes take 0 with 1, or 5; loads on 2, 3; stores on 4
inline constexpr port_use skylake_uses[] = {
    {fma, 0, ports(0, 1)}, {fma, 64, ports(0, 5)}, {multiply, 0, ports(0, 1), 4}, {multiply, 64, ports(0, 5), 4},
    {add, 0, ports(0, 1), 4}, {add, 64, ports(0, 5), 4}, {maximum, 0, ports(0, 1), 4}, {maximum, 64, ports(0, 5), 4},
    {divide, 0, ports(0), 11, 3}, {divide, 32, ports(0), 11, 5}, {divide, 64, ports(0), 18, 10},
    {square_root, 0, ports(0), 12, 3}, {square_root, 32, ports(0), 12, 6}, {square_root, 64, ports(0), 20, 12},
    {logic, 0, ports(0, 1, 5), 1}, {logic, 64, ports(0, 5), 1}, {shuffle, 0, ports(5), 1}, {shuffle, 32, ports(5), 3},
    {convert, 0, ports(0, 1), 4}, {convert, 64, ports(0, 5), 4},
    {load, 0, ports(2, 3), 5}, {load, 16, ports(2, 3), 7}, {broadcast, 0, ports(2, 3), 7}, {store, 0, ports(4), 1},
    {integer, 0, ports(0, 1, 5, 6), 1}, {branch, 0, ports(0, 6), 1},
};
// p0 ... p9: the same with a second store port for up to 32 bytes and shuffles in lanes on 1
inline constexpr port_use icelake_uses[] = {
    {fma, 0, ports(0, 1)}, {fma, 64, ports(0, 5)}, {multiply, 0, ports(0, 1), 4}, {multiply, 64, ports(0, 5), 4},
    {add, 0, ports(0, 1), 4}, {add, 64, ports(0, 5), 4}, {maximum, 0, ports(0, 1), 4}, {maximum, 64, ports(0, 5), 4},
    {divide, 0, ports(0), 11, 3}, {divide, 32, ports(0), 11, 5}, {divide, 64, ports(0), 18, 10},
    {square_root, 0, ports(0), 12, 3}, {square_root, 32, ports(0), 12, 6}, {square_root, 64, ports(0), 20, 12},
    {logic, 0, ports(0, 1, 5), 1}, {logic, 64, ports(0, 5), 1}, {shuffle, 0, ports(1, 5), 1}, {shuffle, 32, ports(5), 3},
    {convert, 0, ports(0, 1), 4}, {convert, 64, ports(0, 5), 4},
    {load, 0, ports(2, 3), 5}, {load, 16, ports(2, 3), 7}, {broadcast, 0, ports(2, 3), 7},
    {store, 0, ports(4, 9), 1}, {store, 64, ports(4), 1},
    {integer, 0, ports(0, 1, 5, 6), 1}, {branch, 0, ports(0, 6), 1},
};
// p0 ... p11: the same with adders of their own on 1, 5, a third load for up to 32 bytes on 11, and integers on 10
inline constexpr port_use sapphire_rapids_uses[] = {
    {fma, 0, ports(0, 1)}, {fma, 64, ports(0, 5)}, {multiply, 0, ports(0, 1), 4}, {multiply, 64, ports(0, 5), 4},
    {add, 0, ports(1, 5), 3}, {add, 64, ports(0, 5), 4}, {maximum, 0, ports(0, 1), 4}, {maximum, 64, ports(0, 5), 4},
    {divide, 0, ports(0), 11, 3}, {divide, 32, ports(0), 11, 5}, {divide, 64, ports(0), 18, 10},
    {square_root, 0, ports(0), 12, 3}, {square_root, 32, ports(0), 12, 6}, {square_root, 64, ports(0), 20, 12},
    {logic, 0, ports(0, 1, 5), 1}, {logic, 64, ports(0, 5), 1}, {shuffle, 0, ports(1, 5), 1}, {shuffle, 32, ports(5), 3},
    {convert, 0, ports(0, 1), 4}, {convert, 64, ports(0, 5), 4},
    {load, 0, ports(2, 3, 11), 5}, {load, 16, ports(2, 3, 11), 7}, {load, 64, ports(2, 3), 8},
    {broadcast, 0, ports(2, 3, 11), 7}, {store, 0, ports(4, 9), 1}, {store, 64, ports(4), 1},
    {integer, 0, ports(0, 1, 5, 6, 10), 1}, {branch, 0, ports(0, 6), 1},
};
// v0 v1; l0 l1; d; s0 s1 m; b
inline constexpr port_use neoverse_n1_uses[] = {
    {fma, 0, ports(0, 1)}, {multiply, 0, ports(0, 1), 3}, {add, 0, ports(0, 1), 2}, {maximum, 0, ports(0, 1), 2},
    {divide, 0, ports(0), 10, 7}, {square_root, 0, ports(0), 10, 7}, {logic, 0, ports(0, 1), 2},
    {shuffle, 0, ports(0, 1), 2}, {convert, 0, ports(0), 4, 2},
    {load, 0, ports(2, 3), 4}, {load, 16, ports(2, 3), 5}, {broadcast, 0, ports(2, 3), 7}, {store, 0, ports(4), 1},
    {integer, 0, ports(5, 6, 7), 1}, {branch, 0, ports(8), 1},
};
// v0 v1 v2 v3; l0 l1 l2; d0 d1; s0 s1 s2 s3; b0 b1
inline constexpr port_use neoverse_v_uses[] = {
    {fma, 0, ports(0, 1, 2, 3)}, {multiply, 0, ports(0, 1, 2, 3), 3}, {add, 0, ports(0, 1, 2, 3), 2},
    {maximum, 0, ports(0, 1, 2, 3), 2}, {divide, 0, ports(0, 2), 10, 5}, {square_root, 0, ports(0, 2), 10, 5},
    {logic, 0, ports(0, 1, 2, 3), 2}, {shuffle, 0, ports(0, 1, 2, 3), 2}, {convert, 0, ports(0, 2), 4, 2},
    {load, 0, ports(4, 5, 6), 4}, {load, 16, ports(4, 5, 6), 6}, {broadcast, 0, ports(4, 5, 6), 8},
    {store, 0, ports(7, 8), 1}, {integer, 0, ports(9, 10, 11, 12), 1}, {branch, 0, ports(13, 14), 1},
};
// v0 v1; l0 l1 l2; d0 d1; s0 s1 m0 m1; b0 b1
inline constexpr port_use neoverse_n2_uses[] = {
    {fma, 0, ports(0, 1)}, {multiply, 0, ports(0, 1), 3}, {add, 0, ports(0, 1), 2}, {maximum, 0, ports(0, 1), 2},
    {divide, 0, ports(0), 10, 5}, {square_root, 0, ports(0), 10, 5}, {logic, 0, ports(0, 1), 2},
    {shuffle, 0, ports(0, 1), 2}, {convert, 0, ports(0), 4, 2},
    {load, 0, ports(2, 3, 4), 4}, {load, 16, ports(2, 3, 4), 6}, {broadcast, 0, ports(2, 3, 4), 8},
    {store, 0, ports(5, 6), 1}, {integer, 0, ports(7, 8, 9, 10), 1}, {branch, 0, ports(11, 12), 1},
};
// f; ls; a0 a1; b
inline constexpr port_use cortex_a53_uses[] = {
    {fma, 0, ports(0)}, {multiply, 0, ports(0), 4}, {add, 0, ports(0), 4}, {maximum, 0, ports(0), 4},
    {divide, 0, ports(0), 18, 14}, {square_root, 0, ports(0), 17, 13}, {logic, 0, ports(0), 2},
    {shuffle, 0, ports(0), 2}, {convert, 0, ports(0), 4},
    {load, 0, ports(1), 3}, {load, 8, ports(1), 4}, {broadcast, 0, ports(1), 4}, {store, 0, ports(1), 1},
    {integer, 0, ports(2, 3), 1}, {branch, 0, ports(4), 1},
};
// f0 f1; l0 l1; s; a0 a1; b
inline constexpr port_use generic_uses[] = {
    {fma, 0, ports(0)}, {multiply, 0, ports(0), 4}, {add, 0, ports(1), 4}, {maximum, 0, ports(1), 4},
    {divide, 0, ports(0), 14, 7}, {square_root, 0, ports(0), 18, 9}, {logic, 0, ports(0, 1), 1},
    {shuffle, 0, ports(1), 1}, {convert, 0, ports(1), 4},
    {load, 0, ports(2, 3), 5}, {broadcast, 0, ports(2, 3), 6}, {store, 0, ports(4), 1},
    {integer, 0, ports(5, 6), 1}, {branch, 0, ports(7), 1},
};

inline constexpr port_table rows[] = {
    {"zen5", "f0 f1 f2 f3 l0 l1 l2 l3 s0 s1 a0 a1 a2 a3 a4 a5", zen5_uses, 0, false, false},
    {"zen1", "f0 f1 f2 f3 l0 l1 s0 a0 a1 a2 a3", zen1_uses, 0, false, false},
    {"zen4;zen3;zen2", "f0 f1 f2 f3 l0 l1 l2 s0 a0 a1 a2 a3", zen4_uses},
    {"skylake-sp;generic-avx512;generic-avx2", "p0 p1 p2 p3 p4 p5 p6 p7", skylake_uses},
    {"icelake-sp", "p0 p1 p2 p3 p4 p5 p6 p7 p8 p9", icelake_uses},
    {"sapphire-rapids;granite-rapids", "p0 p1 p2 p3 p4 p5 p6 p7 p8 p9 p10 p11", sapphire_rapids_uses},
    {"neoverse-n1;generic-neon", "v0 v1 l0 l1 d s0 s1 m b", neoverse_n1_uses, 2},
    {"neoverse-v1;neoverse-v2", "v0 v1 v2 v3 l0 l1 l2 d0 d1 s0 s1 s2 s3 b0 b1", neoverse_v_uses, 2},
    {"neoverse-n2", "v0 v1 l0 l1 l2 d0 d1 s0 s1 m0 m1 b0 b1", neoverse_n2_uses, 2},
    {"cortex-a53", "f ls a0 a1 b", cortex_a53_uses, 4, true},
    {"generic;generic-sse42", "f0 f1 l0 l1 s a0 a1 b", generic_uses},
};
// clang-format on

} // namespace detail::port_rows

/// All port tables. *Source* ports and latencies as LLVM's scheduling models have them after the vendors' optimization
/// guides (AMD 58455 for Zen 5, Arm's of Neoverse N1, V1, N2, V2 and Cortex-A53, Intel's manual); division and square
/// roots of other x86 after uops.info. Of Zen 5, latencies and rates of all classes at 16, 32 and 64 bytes were
/// measured on such a server (`codegen::calibrate_ports`: chains and independent instructions, against a chain of
/// additions), and micro-kernels compared (tests/machine/pipeline.cpp). Those of Zen 1
/// were measured on such a server the same way. The others, `modelled_only`, were compared with no machine.
[[nodiscard]] constexpr std::span<port_table const> port_tables() noexcept {
    return detail::port_rows::rows;
}

/// Ports of a core: its row of micro-architectures joined with its port table. Says what models of pipelines ask.
/// A core whose row points to measured ports has those. *Requires* a row that lives as long.
class core_ports {
public:
    /// How one instruction runs.
    struct use {
        std::uint32_t ports = 0;
        double latency = 0; ///< cycles
        double busy = 1;    ///< cycles of a port, all passes together
    };

    explicit constexpr core_ports(microarchitecture const& core) noexcept
        : core_(&core), table_(core.ports ? core.ports : &table_of(core)) {}

    [[nodiscard]] constexpr microarchitecture const& core() const noexcept { return *core_; }
    [[nodiscard]] constexpr port_table const& table() const noexcept { return *table_; }
    /// Use of a class at a width in bytes. A broadcast is of one element: it takes one pass at any width.
    [[nodiscard]] constexpr use of(instruction_class c, std::int32_t width) const noexcept {
        port_use const* row = nullptr;
        for (auto const& u : table_->uses)
            if (u.of == c && u.from_bytes <= width) row = &u;
        GSUB_ASSERT(row != nullptr, "a port table has every class");
        auto const passes = c == instruction_class::broadcast ? 1.0 : core_->passes(width);
        return {row->ports, row->latency > 0 ? row->latency : core_->fma_latency, row->busy * passes};
    }
    /// Latency of an fma to the addend of the next one.
    [[nodiscard]] constexpr double accumulate_latency() const noexcept {
        return table_->accumulate_latency > 0 ? table_->accumulate_latency : core_->fma_latency;
    }
    /// Whether what is computed with it is of a machine that nobody here could compare with.
    [[nodiscard]] constexpr bool modelled_only() const noexcept { return table_->modelled_only; }
    [[nodiscard]] constexpr double issue() const noexcept { return table_->issue > 0 ? table_->issue : core_->issue; }
    /// Part of a cycle that an instruction of a class and width takes to enter.
    [[nodiscard]] constexpr double entry(instruction_class c, std::int32_t width) const noexcept {
        auto const is_vector = c != instruction_class::integer && c != instruction_class::branch && width >= 16;
        auto const one = 1 / issue();
        return is_vector && core_->vector_issue > 0 ? std::max(one, core_->passes(width) / core_->vector_issue) : one;
    }
    /// Instructions in flight; an in-order core has those that it issues at once.
    [[nodiscard]] constexpr double window() const noexcept { return core_->reorder_buffer; }

private:
    static constexpr port_table const& table_of(microarchitecture const& core) noexcept {
        for (auto const& row : port_tables())
            for (auto rest = row.names; !rest.empty();) {
                auto const end = std::min(rest.find(';'), rest.size());
                if (rest.substr(0, end) == core.name) return row;
                rest.remove_prefix(std::min(end + 1, rest.size()));
            }
        return port_tables().back();
    }
    microarchitecture const* core_;
    port_table const* table_;
};

} // namespace gsub
