// uniform_registers: registers that hold one number in all lanes.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/loop/scalar_op.hpp>

#include <cstddef>
#include <vector>

namespace gsub::codegen::detail {

/// Whether each register of a kernel is uniform: all that defines it gives all lanes the same. Scalars that threads
/// keep are, and what is computed of them alone. *Complexity* linear in the instructions, a few times.
template <class = void>
class uniform_registers {
public:
    explicit uniform_registers(kernel const& k) : k_(k), uniform_(static_cast<std::size_t>(k.registers), 1) {
        do {
            changed_ = false;
            walk(k.body), walk(k.fallback);
        } while (changed_);
    }
    [[nodiscard]] bool operator[](reg r) const { return uniform_[static_cast<std::size_t>(r)] != 0; }

private:
    void walk(std::vector<statement> const& statements) {
        for (auto const& n : statements) {
            for (auto const& i : n.code)
                if (i.result >= 0 && (*this)[i.result] && !gives_one(i))
                    uniform_[static_cast<std::size_t>(i.result)] = 0, changed_ = true;
            walk(n.body), walk(n.otherwise);
        }
    }
    [[nodiscard]] bool gives_one(instruction const& i) const {
        auto const operands = [&](int count) {
            for (int o = 0; o < count; ++o)
                if (!(*this)[i.operands[o]]) return false;
            return true;
        };
        switch (i.op) {
        case opcode::splat:
        case opcode::reduce:
            return true;
        case opcode::broadcast:
            return i.operands[0] < 0 || operands(1);
        case opcode::copy:
            return operands(1);
        case opcode::compute:
            return operands(loop::info(i.function).operands);
        case opcode::multiply_add:
            return i.lanes == k_.lanes && operands(2);
        case opcode::accumulate:
            return i.lanes == k_.lanes && operands(1);
        case opcode::load:
        case opcode::choose:
        case opcode::gather:
        case opcode::store:
            break;
        }
        return false;
    }

    kernel const& k_;
    std::vector<char> uniform_;
    bool changed_ = false;
};

} // namespace gsub::codegen::detail
