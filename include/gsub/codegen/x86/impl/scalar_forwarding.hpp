// scalar_forwarding: store-to-load forwarding of the numbers that a kernel keeps in memory between its loops.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/x86/impl/kernel_renaming.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Reads a stored number from its register, where no store and no other value of the register lie between. Machine code
/// has a scalar in all lanes of its register; one whose lanes may differ is not forwarded. *Complexity* O(n d log n)
/// for n instructions and loops d deep.
template <class = void>
class scalar_forwarding {
public:
    explicit scalar_forwarding(kernel made) : made_(std::move(made)) {}

    kernel run() {
        definitions_.assign(static_cast<std::size_t>(made_.registers), 0);
        count(made_.body), count(made_.fallback);
        if (!keeps_numbers_) return std::move(made_);
        while (find_uneven(made_.body) || find_uneven(made_.fallback)) {}
        for (auto* const statements : {&made_.body, &made_.fallback}) forward(*statements, {});
        for (auto* const statements : {&made_.body, &made_.fallback}) rename(*statements);
        return std::move(made_);
    }

private:
    using list = std::vector<statement>;
    using place = std::pair<std::int32_t, std::int64_t>; // buffer and element
    using known = std::map<place, reg>;

    static bool in_place(instruction const& i) { return i.op == opcode::multiply_add || i.op == opcode::accumulate; }

    void count(list const& statements) {
        for (auto const& s : statements) {
            for (auto const& i : s.code) {
                if (i.result >= 0) ++definitions_[static_cast<std::size_t>(i.result)];
                if (i.op == opcode::store && i.lanes == 1 && i.offset.is_constant()) keeps_numbers_ = true;
            }
            count(s.body), count(s.otherwise);
        }
    }
    // Finds registers whose lanes may differ. True: there was one more.
    bool find_uneven(list const& statements) {
        auto found = false;
        for (auto const& s : statements) {
            for (auto const& i : s.code)
                if (i.result >= 0 && is_uneven(i)) found = uneven_.insert(i.result).second || found;
            found = find_uneven(s.body) || found;
            found = find_uneven(s.otherwise) || found;
        }
        return found;
    }
    [[nodiscard]] bool is_uneven(instruction const& i) const {
        switch (i.op) {
        case opcode::splat:
        case opcode::broadcast:
        case opcode::reduce:
            return false;
        case opcode::copy:
        case opcode::compute:
            break;
        case opcode::multiply_add:
        case opcode::accumulate:
            if (i.lanes == made_.lanes) break;
            return true;
        default:
            return true;
        }
        return std::ranges::any_of(i.operands, [&](reg r) { return uneven_.contains(r); });
    }

    void forward(list& statements, known stored) {
        for (auto& s : statements) {
            if (s.kind == statement_kind::block) {
                std::erase_if(s.code, [&](auto const& i) { return is_forwarded(i, stored); });
                continue;
            }
            forget(list{s}, stored);
            forward(s.body, stored);
            forward(s.otherwise, stored);
        }
    }
    // Whether a register has what an instruction reads; what it does to those that do.
    bool is_forwarded(instruction const& i, known& stored) {
        auto const number = i.type == dtype::f32 && i.predicate.empty() && i.offset.is_constant();
        if (i.op == opcode::broadcast && number && i.operands[0] < 0 &&
            definitions_[static_cast<std::size_t>(i.result)] == 1)
            if (auto const found = stored.find({i.buffer, i.offset.constant()}); found != stored.end()) {
                names_.registers[i.result] = found->second;
                return true;
            }
        forget(i, stored);
        if (i.op == opcode::store && number && i.lanes == 1)
            if (auto const r = names_.of(i.operands[0]); !uneven_.contains(r))
                stored[{i.buffer, i.offset.constant()}] = r;
        return false;
    }
    static void forget(instruction const& i, known& stored) {
        auto const writes = i.op == opcode::store || i.op == opcode::choose;
        std::erase_if(stored, [&](auto const& of) {
            if (of.second == i.result) return true;
            if (!writes || of.first.first != i.buffer) return false;
            auto const from = i.offset.constant();
            return !i.offset.is_constant() || (from <= of.first.second && of.first.second < from + i.lanes);
        });
    }
    static void forget(list const& statements, known& stored) {
        for (auto const& s : statements) {
            if (s.kind == statement_kind::guard) stored.clear(); // the fallback writes what it likes
            for (auto const& i : s.code) forget(i, stored);
            forget(s.body, stored), forget(s.otherwise, stored);
        }
    }
    void rename(list& statements) const {
        for (auto& s : statements) {
            names_.rename(s);
            rename(s.body), rename(s.otherwise);
        }
    }

    kernel made_;
    std::vector<int> definitions_; // by register
    bool keeps_numbers_ = false;
    std::set<reg> uneven_;
    kernel_renaming names_;
};

} // namespace gsub::codegen::detail
