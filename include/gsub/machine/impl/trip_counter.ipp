// trip_counter: follows integer registers through a function and counts the trips of its loops.
#pragma once

#include <gsub/machine/natural_loops.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace gsub::machine::detail {

// Value of a register: `scale * symbol + offset`. A symbol is what a register holds where the function begins, where
// ways meet that bring different values, or behind a line whose result is not followed.
struct followed_value {
    static constexpr std::int32_t constant = -1, unvisited = -2;
    std::int32_t symbol = unvisited;
    std::int64_t scale = 0, offset = 0;
    friend bool operator==(followed_value const&, followed_value const&) = default;
};

// Two values that are compared.
struct followed_comparison {
    followed_value left{}, right{};
    bool known = false;
};
// A value where a loop is entered, and by what each iteration changes it.
struct followed_course {
    followed_value begin{};
    std::int64_t step = 0;
    followed_value then{}; // in all iterations but the first, where these set it anew; unvisited: they do not
    [[nodiscard]] bool resets() const noexcept { return then.symbol != followed_value::unvisited; }
};

// As the machine does it: modulo 2^64.
[[nodiscard]] inline std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
[[nodiscard]] inline std::int64_t wrapped_product(std::int64_t a, std::int64_t b) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// The condition under which a branch does not jump.
[[nodiscard]] inline line_condition opposite(line_condition c) noexcept {
    using enum line_condition;
    switch (c) {
    case equal:
        return not_equal;
    case not_equal:
        return equal;
    case less:
        return greater_equal;
    case less_equal:
        return greater;
    case greater:
        return less_equal;
    case greater_equal:
        return less;
    default:
        return other;
    }
}

// How often a test is made until `stay` no longer holds of a difference that begins somewhere and changes by a step;
// 0: never, or not known.
[[nodiscard]] inline std::int64_t tests_until(line_condition stay, std::int64_t begin, std::int64_t step) noexcept {
    using enum line_condition;
    constexpr auto most = std::int64_t{1} << 52;
    if (step == 0 || begin > most || begin < -most || step > most || step < -most) return 0;
    if (stay == greater || stay == greater_equal)
        return tests_until(stay == greater ? less : less_equal, -begin, -step);
    switch (stay) {
    case equal:
        return begin == 0 ? 2 : 1;
    case not_equal:
        return begin % step == 0 && -begin / step >= 0 ? -begin / step + 1 : 0;
    case less:
        return begin >= 0 ? 1 : step < 0 ? 0 : (-begin + step - 1) / step + 1;
    case less_equal:
        return begin > 0 ? 1 : step < 0 ? 0 : -begin / step + 2;
    default:
        return 0;
    }
}

// The same of a difference that is one number in the first iteration, and another one in all that follow.
[[nodiscard]] inline std::int64_t tests_of_two(line_condition stay, std::int64_t first, std::int64_t then) noexcept {
    auto const leaves = [&](std::int64_t d) {
        using enum line_condition;
        return stay == equal           ? d != 0
               : stay == not_equal     ? d == 0
               : stay == less          ? d >= 0
               : stay == less_equal    ? d > 0
               : stay == greater       ? d <= 0
               : stay == greater_equal ? d < 0
                                       : false;
    };
    return leaves(first) ? 1 : leaves(then) ? 2 : 0;
}

// Follows values of integer registers through a function.
template <class = void>
class register_values {
protected:
    register_values(assembly_function const& f, loop_forest const& forest, std::vector<std::uint32_t> const& order)
        : f_(f),
          forest_(forest),
          order_(order),
          virtual_(f.virtual_registers > 0),
          registers_(virtual_ ? f.virtual_registers : close_together),
          before_(f.blocks.size()),
          starts_(f.blocks.size()),
          out_(f.blocks.size()) {
        for (auto const b : order_)
            for (auto const to : f_.blocks[b].next) before_[to].push_back(b);
    }

    using value = followed_value;
    static constexpr std::size_t close_together = 32 + last_stack_slot - first_stack_slot + 1;
    using state = std::vector<value>; // of each register that is followed

    [[nodiscard]] std::size_t dense(register_id r) const noexcept {
        return virtual_ || r < 32 ? r : std::size_t{32} + r - first_stack_slot;
    }
    [[nodiscard]] bool follows(register_id r) const noexcept {
        return virtual_ ? r < registers_ : r < 32 || (r >= first_stack_slot && r <= last_stack_slot);
    }
    [[nodiscard]] static std::int32_t at_entry(std::size_t r) noexcept { return static_cast<std::int32_t>(r); }
    [[nodiscard]] std::int32_t at_meeting(std::uint32_t block, std::size_t r) const noexcept {
        return static_cast<std::int32_t>((block + 1) * registers_ + r);
    }
    [[nodiscard]] std::int32_t behind(std::size_t line, std::size_t r) const noexcept {
        return static_cast<std::int32_t>((f_.blocks.size() + 1 + line) * registers_ + r);
    }
    // The block in which a symbol gets its value, and whether ways meet there; -1: where the function begins.
    [[nodiscard]] std::pair<std::int32_t, bool> birth(std::int32_t symbol) const noexcept {
        auto const group = static_cast<std::size_t>(symbol) / registers_;
        if (group == 0) return {-1, false};
        if (group <= f_.blocks.size()) return {static_cast<std::int32_t>(group - 1), true};
        auto const line = group - 1 - f_.blocks.size();
        auto const above = std::upper_bound(f_.blocks.begin(), f_.blocks.end(), line,
                                            [](std::size_t l, assembly_block const& b) { return l < b.first_line; });
        return {static_cast<std::int32_t>(above - f_.blocks.begin()) - 1, false};
    }

    [[nodiscard]] static std::optional<value> sum(value const& a, std::int64_t fa, value const& b,
                                                  std::int64_t fb) noexcept {
        auto const has = [](value const& v, std::int64_t f) { return v.symbol >= 0 && f != 0; };
        if (has(a, fa) && has(b, fb) && a.symbol != b.symbol) return std::nullopt;
        value out{has(a, fa)   ? a.symbol
                  : has(b, fb) ? b.symbol
                               : value::constant,
                  wrapped_sum(wrapped_product(a.scale, fa), wrapped_product(b.scale, fb)),
                  wrapped_sum(wrapped_product(a.offset, fa), wrapped_product(b.offset, fb))};
        if (out.scale == 0) out.symbol = value::constant;
        return out;
    }

    void forget(state& s, std::size_t line, register_id r) const {
        s[dense(r)] = {behind(line, dense(r)), 1, 0};
        if (virtual_) return;
        auto const stack = f_.syntax == assembly_syntax::x86_64 ? 4 : 31;
        for (std::size_t slot = 32; r == stack && slot < registers_; ++slot) s[slot] = {behind(line, slot), 1, 0};
    }
    void apply(state& s, std::size_t number) const {
        auto const& line = f_.lines[number];
        for (auto const& e : line.effects) {
            if (!follows(e.to)) continue;
            value const zero{value::constant, 0, 0};
            auto const a = follows(e.a) ? s[dense(e.a)] : zero, b = follows(e.b) ? s[dense(e.b)] : zero;
            auto const made = sum(a, e.factor, b, e.scale);
            forget(s, number, e.to);
            if (made) s[dense(e.to)] = {made->symbol, made->scale, wrapped_sum(made->offset, e.value)};
        }
        for (auto const r : line.writes)
            if (follows(r)) forget(s, number, r);
        if (!line.calls || virtual_) return;
        // What a callee need not keep.
        auto const x86 = f_.syntax == assembly_syntax::x86_64;
        for (register_id r = 0; r < 31; ++r)
            if (x86 ? r < 3 || r == 6 || r == 7 || (r >= 8 && r < 12) : r < 19 || r == 30) forget(s, number, r);
    }

    // Registers that each loop may change, those of the loops inside it too.
    void find_changes() {
        std::vector<char> touched(registers_);
        changes_.assign(forest_.loops.size(), touched);
        state const before(registers_);
        for (std::uint32_t b = 0; b < f_.blocks.size(); ++b) {
            if (forest_.loop_of[b] < 0) continue;
            auto& changed = changes_[static_cast<std::size_t>(forest_.loop_of[b])];
            for (auto l = f_.blocks[b].first_line; l < f_.blocks[b].last_line; ++l) {
                auto const& line = f_.lines[l];
                if (line.effects.empty() && line.writes.empty() && !line.calls) continue;
                auto s = before;
                apply(s, l);
                for (std::size_t r = 0; r < registers_; ++r)
                    if (s[r].symbol != value::unvisited) changed[r] = 1;
            }
        }
        for (std::size_t l = forest_.loops.size(); l-- > 0;)
            for (std::size_t r = 0; forest_.loops[l].parent >= 0 && r < registers_; ++r)
                if (changes_[l][r]) changes_[static_cast<std::size_t>(forest_.loops[l].parent)][r] = 1;
    }

    // Values where a block begins, from those at the ends of the blocks before it in the order.
    [[nodiscard]] state at_begin(std::uint32_t block) const {
        auto const loop = forest_.loop_of[block];
        auto const heads = loop >= 0 && forest_.loops[static_cast<std::size_t>(loop)].header == block;
        state s(registers_);
        for (std::size_t r = 0; r < registers_; ++r) {
            bool meets = heads && changes_[static_cast<std::size_t>(loop)][r];
            if (block == 0) s[r] = {at_entry(r), 1, 0};
            for (auto const p : before_[block]) {
                if (meets || (heads && forest_.contains(loop, p))) continue; // unchanged, or of the meeting
                if (out_[p].empty()) {                                       // back into a cycle that is no loop
                    meets = true;
                    continue;
                }
                auto const& v = out_[p][r];
                if (s[r].symbol == value::unvisited) s[r] = v;
                if (!(s[r] == v)) meets = true;
            }
            if (meets) s[r] = {at_meeting(block, r), 1, 0};
        }
        return s;
    }
    // One pass is enough: what a loop changes has a symbol of its own at the loop's header.
    void follow() {
        find_changes();
        for (auto const b : order_) {
            starts_[b] = at_begin(b);
            auto s = starts_[b];
            for (auto l = f_.blocks[b].first_line; l < f_.blocks[b].last_line; ++l) apply(s, l);
            out_[b] = std::move(s);
        }
    }

    assembly_function const& f_;
    loop_forest const& forest_;
    std::vector<std::uint32_t> const& order_;
    bool virtual_;          // whether registers are those of a program, as many as it has
    std::size_t registers_; // followed ones
    std::vector<std::vector<std::uint32_t>> before_;
    std::vector<state> starts_, out_;        // of each block: values where it begins and ends; empty: not reached
    std::vector<std::vector<char>> changes_; // of each loop
};

// Counts trips of loops by the values of registers.
template <class = void>
class trip_counter : register_values<> {
public:
    trip_counter(assembly_function const& f, loop_forest& forest, std::vector<std::uint32_t> const& order)
        : register_values<>(f, forest, order), forest_(forest) {}

    void count() {
        if (forest_.loops.empty()) return;
        follow();
        for (std::size_t l = forest_.loops.size(); l-- > 0;) count_loop(static_cast<std::int32_t>(l));
    }

private:
    using value = followed_value;
    using comparison = followed_comparison;
    using course = followed_course;
    using enum line_condition;

    // What a block's branch compares, and the state there.
    [[nodiscard]] comparison compared(std::uint32_t block) const {
        auto s = starts_[block];
        comparison flags;
        auto const take = [&](integer_comparison const& c) {
            flags.known = c.known() && follows(c.left) && (c.right == no_register || follows(c.right));
            if (!flags.known) return;
            flags.left = s[dense(c.left)];
            flags.right = c.right == no_register ? value{value::constant, 0, 0} : s[dense(c.right)];
            flags.right.offset = wrapped_sum(flags.right.offset, c.value);
        };
        for (auto l = f_.blocks[block].first_line; l < f_.blocks[block].last_line; ++l) {
            apply(s, l);
            auto const& line = f_.lines[l];
            if (line.sets_flags || line.compares.known()) take(line.compares);
            if (line.calls) flags.known = false;
        }
        return flags;
    }

    [[nodiscard]] std::optional<course> course_of(value const& v, std::int32_t loop) const {
        if (v.symbol < 0 || !born_in(v, loop)) return course{v, 0, {}};
        auto const [block, meeting] = birth(v.symbol);
        auto const header = forest_.loops[static_cast<std::size_t>(loop)].header;
        if (!meeting || block != static_cast<std::int32_t>(header)) return std::nullopt;
        auto const r = static_cast<std::size_t>(v.symbol) % registers_;
        value begin, back;
        if (header == 0) begin = {at_entry(r), 1, 0};
        for (auto const p : before_[header]) {
            auto& way = forest_.contains(loop, p) ? back : begin;
            if (way.symbol == value::unvisited) way = out_[p][r];
            if (!(way == out_[p][r])) return std::nullopt;
        }
        if (begin.symbol == value::unvisited || back.symbol == value::unvisited) return std::nullopt;
        auto const scaled = [&](value const& x) {
            return value{x.symbol, wrapped_product(x.scale, v.scale),
                         wrapped_sum(wrapped_product(x.offset, v.scale), v.offset)};
        };
        if (back.symbol == v.symbol && back.scale == 1)
            return course{scaled(begin), wrapped_product(back.offset, v.scale), {}};
        if (born_in(back, loop)) return std::nullopt;
        return course{scaled(begin), 0, scaled(back)};
    }
    [[nodiscard]] bool born_in(value const& v, std::int32_t loop) const noexcept {
        auto const block = v.symbol < 0 ? -1 : birth(v.symbol).first;
        return block >= 0 && forest_.contains(loop, static_cast<std::uint32_t>(block));
    }

    // Difference of two values at one time. Those that move alike in a loop differ as they do where it is entered.
    [[nodiscard]] std::optional<std::int64_t> difference(value a, value b) {
        for (int depth = 0; depth < 64; ++depth) {
            if (a.symbol == b.symbol && a.scale == b.scale) return wrapped_sum(a.offset, wrapped_product(b.offset, -1));
            auto const inner = std::max(home(a), home(b)); // pre-order: the innermost, where one holds the other
            if (inner < 0) return std::nullopt;
            auto const ca = course_of(a, inner), cb = course_of(b, inner);
            if (!ca || !cb || ca->step != cb->step || ca->resets() || cb->resets()) return std::nullopt;
            if (ca->begin == a && cb->begin == b) return std::nullopt;
            a = ca->begin, b = cb->begin;
        }
        return std::nullopt;
    }
    [[nodiscard]] std::int32_t home(value const& v) const noexcept {
        auto const block = v.symbol < 0 ? -1 : birth(v.symbol).first;
        return block < 0 ? -1 : forest_.loop_of[static_cast<std::size_t>(block)];
    }

    // A branch that leaves the loop: under which condition it stays.
    [[nodiscard]] line_condition stays(std::int32_t loop, std::uint32_t block) const {
        auto const& b = f_.blocks[block];
        auto const& line = f_.lines[b.last_line - std::size_t{1}];
        if (line.flow != line_flow::branch) return always;
        auto const in = [&](std::uint32_t to) { return forest_.contains(loop, to); };
        auto const jump = line.target >= 0 && in(static_cast<std::uint32_t>(line.target));
        auto const falls = block + 1 < f_.blocks.size() && in(block + 1);
        return jump == falls ? always : jump ? line.when : opposite(line.when);
    }

    // Whether a loop does more than count and jump behind a test.
    [[nodiscard]] bool works_behind(std::int32_t loop, std::uint32_t test) const {
        for (std::uint32_t b = 0; b < f_.blocks.size(); ++b) {
            if (b == test || !forest_.contains(loop, b) || !forest_.dominates(test, b)) continue;
            for (auto const& i : f_.code_of(b))
                if (i.what < instruction_class::integer) return true;
        }
        return false;
    }

    void count_loop(std::int32_t number) {
        auto& loop = forest_.loops[static_cast<std::size_t>(number)];
        std::vector<std::uint32_t> latches;
        for (auto const p : before_[loop.header])
            if (forest_.contains(number, p)) latches.push_back(p);
        for (auto const b : loop.blocks) {
            auto const stay = stays(number, b);
            if (stay == always || stay == other) continue;
            if (!std::all_of(latches.begin(), latches.end(), [&](auto l) { return forest_.dominates(b, l); })) continue;
            auto const c = compared(b);
            if (!c.known) continue;
            auto const left = course_of(c.left, number), right = course_of(c.right, number);
            if (!left || !right) continue;
            auto const begin = difference(left->begin, right->begin);
            auto const step = wrapped_sum(left->step, wrapped_product(right->step, -1));
            std::int64_t tests = 0;
            if (begin && (left->resets() || right->resets())) {
                auto const then =
                    difference(left->resets() ? left->then : left->begin, right->resets() ? right->then : right->begin);
                if (then && step == 0) tests = tests_of_two(stay, *begin, *then);
            } else if (begin) {
                tests = tests_until(stay, *begin, step);
            }
            if (tests == 0 || (loop.tests != 0 && tests >= loop.tests)) continue;
            loop.exit = static_cast<std::int32_t>(b), loop.tests = tests, loop.step = step;
            loop.tests_last = latches.size() == 1 && latches[0] == b;
            loop.works_first = !loop.tests_last && !works_behind(number, b);
        }
    }

    loop_forest& forest_;
};

} // namespace gsub::machine::detail
