// branch_merger: joins neighbouring branches with the same conditions, and values that their blocks then have twice.
#pragma once

#include <gsub/codegen/impl/value_numbering.hpp>
#include <gsub/codegen/ir/kernel_ir.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Makes a kernel that computes the same with fewer branches. A compiler does so by threading jumps.
template <class = void>
class branch_merger {
public:
    explicit branch_merger(kernel made)
        : made_(std::move(made)),
          numbers_(made_),
          accumulators_(static_cast<std::size_t>(made_.registers), false),
          names_(static_cast<std::size_t>(made_.registers), -1) {}

    kernel run() {
        for (auto* const statements : {&made_.body, &made_.fallback}) {
            find_accumulators(*statements);
            *statements = numbered(merged(std::move(*statements)));
        }
        return std::move(made_);
    }

private:
    static std::size_t index(reg r) noexcept { return static_cast<std::size_t>(r); }
    static bool same(std::vector<loop::bound> const& a, std::vector<loop::bound> const& b) {
        return std::ranges::equal(
            a, b, [](auto const& x, auto const& y) { return x.extent == y.extent && x.value == y.value; });
    }
    static bool joins(statement const& a, statement const& b) {
        if (a.kind != b.kind) return false;
        if (a.kind == statement_kind::block) return true;
        return a.kind == statement_kind::branch && same(a.conditions, b.conditions);
    }
    static void append(auto& to, auto&& from) {
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    }
    static statement_list merged(statement_list statements) {
        statement_list out;
        for (auto& s : statements)
            if (!out.empty() && joins(out.back(), s)) {
                append(out.back().code, s.code);
                append(out.back().body, s.body);
                append(out.back().otherwise, s.otherwise);
            } else {
                out.push_back(std::move(s));
            }
        for (auto& s : out) s.body = merged(std::move(s.body)), s.otherwise = merged(std::move(s.otherwise));
        return out;
    }

    void find_accumulators(statement_list const& statements) {
        for (auto const& s : statements) {
            for (auto const& i : s.code)
                if (i.op == opcode::multiply_add || i.op == opcode::accumulate) accumulators_[index(i.result)] = true;
            find_accumulators(s.body), find_accumulators(s.otherwise);
        }
    }
    // Registers that values get here are none.
    [[nodiscard]] bool is_accumulator(reg r) const {
        return r >= 0 && index(r) < accumulators_.size() && accumulators_[index(r)];
    }
    // What an instruction computes depends on its operands alone, and on memory.
    bool is_value(instruction const& i) const {
        if (i.op != opcode::splat && i.op != opcode::load && i.op != opcode::broadcast && i.op != opcode::compute)
            return false;
        return std::none_of(std::begin(i.operands), std::end(i.operands), [&](reg r) { return is_accumulator(r); });
    }
    statement_list numbered(statement_list statements) {
        statement_list out;
        for (auto& s : statements) {
            if (s.kind == statement_kind::block) {
                for (auto& i : s.code) number(std::move(i), out);
                continue;
            }
            s.body = numbered(std::move(s.body));
            s.otherwise = numbered(std::move(s.otherwise));
            if (s.kind == statement_kind::guard) s.guarded = now(s.guarded);
            out.push_back(std::move(s));
        }
        return out;
    }
    void number(instruction i, statement_list& out) {
        for (auto& r : i.operands) r = now(r);
        if (is_value(i)) {
            auto const before = std::exchange(i.result, -1);
            names_[index(before)] = numbers_.value_of(std::move(i), out);
        } else {
            auto const buffer = i.op == opcode::store ? i.buffer : -1;
            numbers_.block(out).push_back(std::move(i));
            if (buffer >= 0) numbers_.forget_loads_of(buffer);
        }
    }
    // The register that has the value of one of the kernel, or the register itself.
    [[nodiscard]] reg now(reg r) const { return r < 0 || names_[index(r)] < 0 ? r : names_[index(r)]; }

    kernel made_;
    value_numbering numbers_;
    std::vector<bool> accumulators_; // by register
    std::vector<reg> names_;         // by register; -1: its own
};

} // namespace gsub::codegen::detail
