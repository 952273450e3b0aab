// ptx_values: integers of a PTX kernel that the launch decides, and the branches that they decide.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/machine/ptx_work.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::machine::detail {

// The bits of a value as a number of a type.
[[nodiscard]] inline std::int64_t as_number(std::uint64_t bits, std::int32_t width, bool is_signed) noexcept {
    if (width >= 64) return static_cast<std::int64_t>(bits);
    auto const mask = (std::uint64_t{1} << width) - 1;
    auto const low = bits & mask;
    return static_cast<std::int64_t>(is_signed && (low >> (width - 1)) != 0 ? low | ~mask : low);
}
[[nodiscard]] inline std::uint64_t as_bits(std::int64_t number, std::int32_t width) noexcept {
    auto const bits = static_cast<std::uint64_t>(number);
    return width >= 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}
[[nodiscard]] inline bool holds(line_condition when, bool less, bool equal) noexcept {
    switch (when) {
    case line_condition::equal:
        return equal;
    case line_condition::not_equal:
        return !equal;
    case line_condition::less:
        return less;
    case line_condition::less_equal:
        return less || equal;
    case line_condition::greater:
        return !less && !equal;
    default:
        return !less;
    }
}

// What an instruction on integers computes of its operands, as PTX has it; nothing where that is not followed.
GSUB_LAZY std::optional<std::uint64_t> computed(ptx_instruction const& i, std::span<std::uint64_t const> x) {
    using enum ptx_operation;
    auto const width = i.bits;
    auto const n = [&](std::size_t k) { return as_number(x[k], width, i.is_signed); };
    auto const u = [&](std::size_t k) { return as_bits(static_cast<std::int64_t>(x[k]), width); };
    auto const low = [&](std::uint64_t v) { return as_bits(static_cast<std::int64_t>(v), i.wide ? 2 * width : width); };
    auto const operands = [&](std::size_t count) { return x.size() == count; };
    auto const product = [&] { return static_cast<std::uint64_t>(n(0)) * static_cast<std::uint64_t>(n(1)); };
    auto const less = [&](std::size_t a, std::size_t b) { return i.is_signed ? n(a) < n(b) : u(a) < u(b); };
    switch (i.does) {
    case copy: // of the type that is read: sign or zeros go in front
        if (operands(1)) return static_cast<std::uint64_t>(n(0));
        break;
    case add:
        if (operands(2)) return low(x[0] + x[1]);
        break;
    case subtract:
        if (operands(2)) return low(x[0] - x[1]);
        break;
    case multiply:
        if (operands(2)) return low(product());
        break;
    case multiply_add:
        if (operands(3)) return low(product() + x[2]);
        break;
    case divide:
    case remainder: {
        if (!operands(2) || u(1) == 0) break;
        if (!i.is_signed) return i.does == divide ? u(0) / u(1) : u(0) % u(1);
        if (n(1) == -1) return i.does == divide ? low(0 - x[0]) : std::uint64_t{0};
        return low(static_cast<std::uint64_t>(i.does == divide ? n(0) / n(1) : n(0) % n(1)));
    }
    case minimum:
        if (operands(2)) return less(0, 1) ? u(0) : u(1);
        break;
    case maximum:
        if (operands(2)) return less(0, 1) ? u(1) : u(0);
        break;
    case shift_left:
        if (operands(2))
            return (x[1] & 0xffffffffu) >= static_cast<std::uint64_t>(width) ? 0 : low(u(0) << (x[1] & 63));
        break;
    case shift_right: {
        if (!operands(2)) break;
        auto const by = std::min<std::uint64_t>(x[1] & 0xffffffffu, static_cast<std::uint64_t>(width));
        if (i.is_signed) return low(static_cast<std::uint64_t>(n(0) >> std::min<std::uint64_t>(by, 63)));
        return by >= static_cast<std::uint64_t>(width) ? 0 : u(0) >> by;
    }
    case bit_and:
        if (operands(2)) return u(0) & u(1);
        break;
    case bit_or:
        if (operands(2)) return u(0) | u(1);
        break;
    case bit_xor:
        if (operands(2)) return u(0) ^ u(1);
        break;
    case bit_not:
        if (operands(1)) return low(~x[0]);
        break;
    case negate:
        if (operands(1)) return low(0 - x[0]);
        break;
    case absolute:
        if (operands(1)) return low(n(0) < 0 ? 0 - x[0] : x[0]);
        break;
    case select:
        if (operands(3)) return x[2] != 0 ? u(0) : u(1);
        break;
    case compare:
        if (operands(2) && i.when != line_condition::other) return holds(i.when, less(0, 1), u(0) == u(1)) ? 1 : 0;
        break;
    case other:
        break;
    }
    return std::nullopt;
}

// What a special register holds in a thread of a launch.
[[nodiscard]] inline std::optional<std::uint64_t> special_register(ptx_special which,
                                                                   ptx_launch const& launch) noexcept {
    auto const at = static_cast<std::size_t>(which);
    std::array<std::int64_t, 3> const* const groups[] = {&launch.thread_index, &launch.block, &launch.block_index,
                                                         &launch.grid};
    if (at < 12) return static_cast<std::uint64_t>((*groups[at / 3])[at % 3]);
    if (which != ptx_special::laneid) return std::nullopt;
    auto const& t = launch.thread_index;
    auto const& b = launch.block;
    return static_cast<std::uint64_t>(t[0] + b[0] * (t[1] + b[1] * t[2])) % 32;
}

// Follows integers through a kernel: conditional constant propagation over the registers that decide branches.
template <class = void>
class ptx_values {
public:
    static constexpr std::uint32_t not_followed = 0xffffffffu;
    static constexpr std::size_t most_followed = 4096, most_states = std::size_t{1} << 21;
    struct value {
        enum class kinds : std::uint8_t { unvisited, constant, varying };
        kinds kind = kinds::unvisited;
        std::uint64_t bits = 0;
        friend bool operator==(value const&, value const&) = default;
    };
    using state = std::vector<value>; // of each followed register

    ptx_values(ptx_kernel const& k, ptx_launch const& launch) : k_(k), launch_(launch) { choose(); }

    // Numbers of followed registers, by those of the kernel; `not_followed` for others.
    [[nodiscard]] std::vector<std::uint32_t> const& numbers() const noexcept { return numbers_; }
    [[nodiscard]] std::size_t followed() const noexcept { return followed_; }
    [[nodiscard]] bool fits() const noexcept {
        return followed_ <= most_followed && (followed_ + 1) * k_.blocks.size() <= most_states;
    }

    void follow() {
        starts_.assign(k_.blocks.size(), state(followed_));
        reached_.assign(k_.blocks.size(), 0);
        reached_[0] = 1;
        edges_.assign(k_.blocks.size(), {});
        std::vector<std::uint32_t> waiting{0};
        std::vector<char> waits(k_.blocks.size(), 0);
        while (!waiting.empty()) {
            auto const b = waiting.back();
            waiting.pop_back();
            waits[b] = 0;
            auto s = starts_[b];
            auto const& block = k_.blocks[b];
            for (auto i = block.first; i < block.last; ++i) run(k_.code[i], s);
            for (auto const to : ways(b, s)) {
                auto& e = edges_[b];
                if (std::find(e.begin(), e.end(), to) == e.end()) e.push_back(to);
                if (meet(to, s) && !std::exchange(waits[to], 1)) waiting.push_back(to);
            }
        }
    }
    // Values where a block begins, and whether a way leads to it.
    [[nodiscard]] state const& start(std::size_t block) const { return starts_[block]; }
    [[nodiscard]] bool reached(std::size_t block) const { return reached_[block] != 0; }
    // Blocks that may follow one.
    [[nodiscard]] small_vector<std::uint32_t, 2> const& edges(std::size_t block) const { return edges_[block]; }

    // Runs an instruction on a state. *Returns* what it makes, where that is one integer.
    std::optional<std::uint64_t> run(ptx_instruction const& i, state& s) const {
        auto const made = i.defs.size() == 1 ? result_of(i, s) : std::nullopt;
        auto const sure = runs(i, s);
        for (auto const d : i.defs) {
            if (numbers_[d] == not_followed || sure == false) continue;
            value v{value::kinds::varying, 0};
            if (made) v = {value::kinds::constant, as_bits(static_cast<std::int64_t>(*made), k_.registers[d])};
            auto& there = s[numbers_[d]];
            there = sure || there == v ? v : value{value::kinds::varying, 0};
        }
        return sure ? made : std::nullopt;
    }
    // Whether an instruction runs: nothing where its predicate is not known.
    [[nodiscard]] std::optional<bool> runs(ptx_instruction const& i, state const& s) const {
        if (i.predicate < 0) return true;
        auto const p = operand({ptx_operand::kinds::reg, static_cast<std::uint32_t>(i.predicate), 0}, s);
        return p ? std::optional{(*p != 0) != i.negated} : std::nullopt;
    }
    [[nodiscard]] std::optional<std::uint64_t> operand(ptx_operand const& o, state const& s) const {
        using kinds = ptx_operand::kinds;
        switch (o.kind) {
        case kinds::immediate:
            return static_cast<std::uint64_t>(o.value);
        case kinds::special:
            return special_register(static_cast<ptx_special>(o.number), launch_);
        case kinds::reg: {
            auto const r = numbers_[o.number];
            if (r == not_followed || s[r].kind != value::kinds::constant) return std::nullopt;
            return s[r].bits;
        }
        default:
            return std::nullopt;
        }
    }

private:
    [[nodiscard]] std::optional<std::uint64_t> result_of(ptx_instruction const& i, state const& s) const {
        if (i.what == ptx_class::load && i.space == ptx_space::parameter && i.uses.size() == 1 &&
            i.uses[0].kind == ptx_operand::kinds::parameter && i.uses[0].value == 0 &&
            i.uses[0].number < launch_.parameters.size())
            if (auto const& p = launch_.parameters[i.uses[0].number]) return static_cast<std::uint64_t>(*p);
        if (i.does == ptx_operation::other) return std::nullopt;
        small_vector<std::uint64_t, 3> x;
        for (auto const& o : i.uses) {
            auto const v = operand(o, s);
            if (!v) return std::nullopt;
            x.push_back(*v);
        }
        return computed(i, {x.data(), x.size()});
    }
    // The ways on from the end of a block.
    [[nodiscard]] small_vector<std::uint32_t, 2> ways(std::uint32_t b, state const& s) const {
        auto const& block = k_.blocks[b];
        auto const& last = k_.code[block.last - std::size_t{1}];
        if (last.flow != line_flow::branch) return block.next;
        auto const jumps = runs(last, s);
        if (!jumps) return block.next;
        small_vector<std::uint32_t, 2> one;
        if (*jumps && last.target >= 0) one.push_back(static_cast<std::uint32_t>(last.target));
        if (!*jumps && b + 1 < k_.blocks.size()) one.push_back(b + 1);
        return one;
    }
    // Whether what a block begins with has changed, or nothing had led to it.
    bool meet(std::uint32_t block, state const& from) {
        auto& at = starts_[block];
        if (!std::exchange(reached_[block], 1)) {
            at = from;
            return true;
        }
        auto changed = false;
        for (std::size_t r = 0; r < at.size(); ++r) {
            if (at[r] == from[r] || at[r].kind == value::kinds::varying) continue;
            at[r] = {value::kinds::varying, 0};
            changed = true;
        }
        return changed;
    }

    // Chooses registers that decide branches, and those of which they are computed.
    void choose() {
        std::vector<std::vector<std::uint32_t>> makers(k_.registers.size());
        std::vector<std::uint32_t> waiting;
        numbers_.assign(k_.registers.size(), not_followed);
        auto const want = [&](std::uint32_t r) {
            if (numbers_[r] != not_followed) return;
            numbers_[r] = static_cast<std::uint32_t>(followed_++);
            waiting.push_back(r);
        };
        for (std::uint32_t i = 0; i < k_.code.size(); ++i) {
            for (auto const d : k_.code[i].defs) makers[d].push_back(i);
            if (k_.code[i].flow == line_flow::branch && k_.code[i].predicate >= 0)
                want(static_cast<std::uint32_t>(k_.code[i].predicate));
        }
        while (!waiting.empty()) {
            auto const r = waiting.back();
            waiting.pop_back();
            for (auto const m : makers[r]) {
                auto const& i = k_.code[m];
                if (i.predicate >= 0) want(static_cast<std::uint32_t>(i.predicate));
                if (i.does == ptx_operation::other) continue;
                for (auto const& o : i.uses)
                    if (o.kind == ptx_operand::kinds::reg) want(o.number);
            }
        }
    }

    ptx_kernel const& k_;
    ptx_launch const& launch_;
    std::vector<std::uint32_t> numbers_;
    std::size_t followed_ = 0;
    std::vector<state> starts_; // of each block
    std::vector<char> reached_;
    std::vector<small_vector<std::uint32_t, 2>> edges_;
};

// The refusal of a kernel that does not fit.
GSUB_LAZY error too_much_decides(ptx_kernel const& k, std::size_t followed) {
    return error{problem{error_code::unsupported,
                         {},
                         {},
                         format_text("kernel {}: {} registers decide the branches of {} blocks", quoted{k.name},
                                     followed, k.blocks.size()),
                         "a smaller kernel"}};
}

} // namespace gsub::machine::detail
