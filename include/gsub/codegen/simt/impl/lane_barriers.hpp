// lane_barriers: where threads that are the lanes of one position wait for each other.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstdint>
#include <set>
#include <vector>

namespace gsub::codegen::detail {

/// Finds the instructions and loops before which lanes wait, such that none reads or writes an element while
/// another still has to read or write it, unless both read it. A thread that reads what it wrote itself needs no
/// barrier. Accesses of one block are told apart by their offsets, those of different blocks by their buffers.
/// *Complexity* quadratic in the accesses of a block to buffers that the kernel both reads and writes.
template <class = void>
class lane_barriers {
public:
    /// The kernel outlives it.
    explicit lane_barriers(kernel const& k) {
        GSUB_ASSERT(k.buffers.size() <= 64, "a kernel has at most 64 buffers");
        auto const all = touched_by(k.body) | touched_by(k.fallback);
        exchanged_ = all.read & all.written;
        pending now;
        walk(k.body, now);
        walk(k.fallback, now = {});
    }

    /// Whether lanes wait before an instruction, or a loop.
    [[nodiscard]] bool before(instruction const& i) const { return found_.count(&i) != 0; }
    [[nodiscard]] bool before(statement const& n) const { return found_.count(&n) != 0; }
    /// Whether lanes wait before the fallback of a guard, and behind it.
    [[nodiscard]] bool around_fallback() const { return exchanged_ != 0; }

private:
    // Buffers read and written since lanes last waited, a bit each.
    struct pending {
        std::uint64_t read = 0, written = 0;
        friend pending operator|(pending a, pending b) { return {a.read | b.read, a.written | b.written}; }
        [[nodiscard]] bool meets(pending later) const {
            return (written & (later.read | later.written)) != 0 || (read & later.written) != 0;
        }
    };
    // Elements that lanes touch, from the offset of an instruction on.
    struct span_of {
        std::int64_t first = 0, last = 0;
    };

    [[nodiscard]] static std::uint64_t bit(instruction const& i) {
        auto const touches = i.buffer >= 0 && i.op != opcode::choose; // all lanes write the same to a status
        return touches ? std::uint64_t{1} << i.buffer : 0;
    }
    [[nodiscard]] static bool writes(instruction const& i) { return i.op == opcode::store; }

    static pending touched_by(std::vector<statement> const& statements) {
        pending out;
        for (auto const& n : statements) {
            for (auto const& i : n.code) (writes(i) ? out.written : out.read) |= bit(i);
            out = out | touched_by(n.body) | touched_by(n.otherwise);
        }
        return out;
    }
    [[nodiscard]] pending exchanged(pending p) const { return {p.read & exchanged_, p.written & exchanged_}; }

    void walk(std::vector<statement> const& statements, pending& now) {
        for (auto const& n : statements) switch (n.kind) {
            case statement_kind::block:
                walk_block(n, now);
                break;
            case statement_kind::loop:
                walk_loop(n, now);
                break;
            case statement_kind::branch: {
                auto other = now;
                walk(n.body, now);
                walk(n.otherwise, other);
                now = now | other;
                break;
            }
            case statement_kind::chosen_index:
                walk(n.body, now);
                break;
            case statement_kind::guard: // waits around its fallback itself
            case statement_kind::fused_index:
                break;
            }
    }

    // What one turn leaves meets the next.
    void walk_loop(statement const& n, pending& now) {
        auto const inside = exchanged(touched_by(n.body));
        if (now.meets(inside)) found_.insert(&n), now = {};
        if (inside.meets(inside)) now = now | inside;
        walk(n.body, now);
        now = now | inside;
    }

    void walk_block(statement const& n, pending& now) {
        std::vector<instruction const*> here; // since lanes last waited
        for (auto const& i : n.code) {
            if ((bit(i) & exchanged_) == 0) continue;
            pending const access = writes(i) ? pending{0, bit(i)} : pending{bit(i), 0};
            auto meets = now.meets(access);
            for (auto const* earlier : here) meets = meets || collide(*earlier, i);
            if (meets) found_.insert(&i), now = {}, here.clear();
            here.push_back(&i);
        }
        for (auto const* i : here) (writes(*i) ? now.written : now.read) |= bit(*i);
    }

    // Whether one lane may touch what another lane touches by the other instruction, and one of them writes.
    static bool collide(instruction const& a, instruction const& b) {
        if (a.buffer != b.buffer || (!writes(a) && !writes(b))) return false;
        auto const apart = b.offset - a.offset;
        if (!apart.is_constant() || of_entries(a) || of_entries(b)) return true;
        if (apart.constant() == 0 && own_lane(a) && own_lane(b)) return false;
        auto const x = elements_of(a), y = elements_of(b);
        return x.first <= y.last + apart.constant() && y.first + apart.constant() <= x.last;
    }
    // Whether a choice moves what it reads.
    static bool of_entries(instruction const& i) {
        return i.op == opcode::gather || (!writes(i) && i.operands[0] >= 0);
    }
    // Whether each lane touches its own element, one after another; all lanes may store a scalar.
    static bool own_lane(instruction const& i) {
        return (i.op == opcode::store && i.lanes > 1) || (i.op == opcode::load && i.stride == 1 && i.order.empty());
    }
    static span_of elements_of(instruction const& i) {
        if (i.op == opcode::broadcast) return {};
        span_of out;
        for (auto o : i.order) out = {o < out.first ? o : out.first, o > out.last ? o : out.last};
        if (i.order.empty()) out.last = (i.lanes - 1) * (writes(i) ? 1 : i.stride);
        return out.last < out.first ? span_of{out.last, out.first} : out;
    }

    std::uint64_t exchanged_ = 0; // buffers that the kernel both reads and writes
    std::set<void const*> found_;
};

} // namespace gsub::codegen::detail
