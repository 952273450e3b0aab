// turn_writer: turns of a loop of a kernel one after another, each with registers of its own.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/x86/impl/kernel_renaming.hpp>
#include <gsub/codegen/x86/impl/vector_functions.hpp>

#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Writes turns. The loop holds no other loop.
template <class = void>
class turn_writer {
public:
    using list = std::vector<statement>;

    explicit turn_writer(kernel& to) : to_(to) {}

    /// Turns from a value of the loop's variable on. The last one keeps its registers, which may be read behind it.
    void write(list const& body, variable v, affine const& first, std::int64_t turns, list& out) {
        std::set<reg> defined, read;
        find_registers(body, defined, read);
        for (std::int64_t turn = 0; turn < turns; ++turn) {
            kernel_renaming names;
            names.variables[v] = first + affine{turn};
            if (turn + 1 < turns)
                for (auto const r : defined) names.registers[r] = to_.registers++;
            auto copy = renamed(body, names);
            out.insert(out.end(), std::make_move_iterator(copy.begin()), std::make_move_iterator(copy.end()));
        }
    }

private:
    static list renamed(list statements, kernel_renaming names) {
        list out;
        for (auto& s : statements) {
            names.rename(s);
            if (s.kind == statement_kind::fused_index) {
                if (auto const of = names.of(affine::of(s.of)); of.is_constant()) {
                    names.variables[s.var] = affine{of.constant() / s.divisor % s.extent};
                    continue;
                }
                names.variables.erase(s.var);
            }
            s.body = renamed(std::move(s.body), names);
            s.otherwise = renamed(std::move(s.otherwise), names);
            out.push_back(std::move(s));
        }
        return out;
    }
    // Registers that a turn gives a value before it reads one.
    static void find_registers(list const& statements, std::set<reg>& defined, std::set<reg>& read) {
        for (auto const& s : statements) {
            for (auto const& i : s.code) {
                for (auto const r : i.operands)
                    if (r >= 0 && !defined.contains(r)) read.insert(r);
                auto const in_place = i.op == opcode::multiply_add || i.op == opcode::accumulate;
                if (in_place && !defined.contains(i.result)) read.insert(i.result);
                if (i.result >= 0 && !read.contains(i.result)) defined.insert(i.result);
            }
            if (s.kind == statement_kind::guard && !defined.contains(s.guarded)) read.insert(s.guarded);
            find_registers(s.body, defined, read), find_registers(s.otherwise, defined, read);
        }
    }

    kernel& to_;
};

/// Machine instructions that an instruction becomes, about.
[[nodiscard]] inline std::int64_t size_of(instruction const& i) {
    constexpr std::int64_t function = 12;
    auto const in_order = i.order.empty() && i.stride == 1;
    auto const computes = i.op == opcode::compute && vector_functions<>::knows(i.function);
    return 1 + 3 * static_cast<std::int64_t>(i.predicate.size()) + (in_order ? 0 : i.lanes) + (computes ? function : 0);
}
/// The same of statements.
[[nodiscard]] inline std::int64_t size_of(std::vector<statement> const& statements) {
    constexpr std::int64_t division = 8;
    std::int64_t n = 0;
    for (auto const& s : statements) {
        for (auto const& i : s.code) n += size_of(i);
        n += 2 * static_cast<std::int64_t>(s.conditions.size()) + size_of(s.body) + size_of(s.otherwise);
        if (s.kind == statement_kind::fused_index) n += division;
    }
    return n;
}

} // namespace gsub::codegen::detail
