// sse_temporaries: the vectors that are free for instructions of SSE4.2 beside `xmm0`.
#pragma once

#include <gsub/codegen/x86/impl/machine_ir.hpp>
#include <gsub/codegen/x86/impl/register_allocation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gsub::codegen::detail {

/// Says which temporaries instructions have.
template <class = void>
class sse_temporaries {
public:
    /// Leaves those that are needed beside `xmm0`, which has the masks of comparisons. Loads that permute lanes become
    /// gathers, as no instruction permutes by numbers. Before registers are allocated.
    static void drop(machine_function& f) {
        for (auto& i : f.code) {
            if (i.op == machine_op::permute) {
                auto const numbers = std::ranges::find_if(f.code, [&](auto const& o) {
                    return o.op == machine_op::lane_numbers && o.result == i.operands[0];
                });
                i.op = machine_op::gather, i.immediate = numbers->immediate, i.operands[0] = -1;
            }
            auto const maximum = i.function == lane_function::maximum;
            auto const first = i.op == machine_op::reduce && maximum,
                       second = i.op == machine_op::multiply_unless || (i.op == machine_op::combine && maximum);
            if (!first) i.temporaries[0] = -1;
            if (!second) i.temporaries[1] = -1;
        }
    }
    /// Multiply-adds of two registers compute the product in that of a factor that nobody reads later, which then is
    /// their temporary. When registers are allocated.
    static void reuse_factors(machine_function& f, value_places const& places) {
        linear_scan<> const scan{f, true};
        auto const in_register = [&](std::int32_t v) {
            return v >= 0 && places.registers[static_cast<std::size_t>(v)] >= 0;
        };
        for (std::size_t n = 0; n < f.code.size(); ++n) {
            auto& i = f.code[n];
            if (i.op != machine_op::multiply_add || !in_register(i.operands[1]) || !in_register(i.operands[2]))
                continue;
            for (auto const o : {1, 2})
                if (i.operands[o] != i.operands[0] && scan.life_of(i.operands[o]).second == 2 * n)
                    i.temporaries[0] = i.operands[o];
        }
    }
};

} // namespace gsub::codegen::detail
