// Elementwise loops over broadcast operands, shared by every elementwise operator.
#pragma once

#include <gsub/eval/op_call.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace gsub::detail {

/// Broadcast plan: strides of `Operands` tensors over a result of `dims`, 0 where an operand is broadcast. Merges
/// neighbouring dimensions that all operands step through alike.
template <std::size_t Operands>
struct broadcast_plan {
    small_vector<std::int64_t, 6> dims;
    std::array<small_vector<std::int64_t, 6>, Operands> strides;

    broadcast_plan(std::span<std::int64_t const> result, std::array<std::span<std::int64_t const>, Operands> operands) {
        std::array<std::int64_t, Operands> step;
        step.fill(1);
        for (std::size_t back = 0; back < result.size(); ++back) {
            auto const d = result[result.size() - 1 - back];
            std::array<std::int64_t, Operands> s{};
            for (std::size_t k = 0; k < Operands; ++k) {
                auto const own = back < operands[k].size() ? operands[k][operands[k].size() - 1 - back] : 1;
                s[k] = own == 1 && d != 1 ? 0 : step[k];
                step[k] *= own;
            }
            if (d == 1) continue;
            bool mergeable = !dims.empty();
            for (std::size_t k = 0; k < Operands && mergeable; ++k) mergeable = s[k] == strides[k].back() * dims.back();
            if (mergeable) {
                dims.back() *= d;
                continue;
            }
            dims.push_back(d);
            for (std::size_t k = 0; k < Operands; ++k) strides[k].push_back(s[k]);
        }
        if (dims.empty()) {
            dims.push_back(1);
            for (auto& s : strides) s.push_back(1);
        }
        // Dimension 0 is now the innermost.
    }

    /// Calls `inner(result offset, operand offsets, length)` for each innermost run.
    void for_each_run(
        function_ref<void(std::int64_t, std::array<std::int64_t, Operands> const&, std::int64_t)> inner) const {
        std::int64_t outer = 1;
        for (std::size_t i = 1; i < dims.size(); ++i) outer *= dims[i];
        if (dims[0] == 0) return;
        small_vector<std::int64_t, 6> at(dims.size(), 0);
        std::array<std::int64_t, Operands> offset{};
        for (std::int64_t run = 0; run < outer; ++run) {
            inner(run * dims[0], offset, dims[0]);
            for (std::size_t i = 1; i < dims.size(); ++i) {
                for (std::size_t k = 0; k < Operands; ++k) offset[k] += strides[k][i];
                if (++at[i] < dims[i]) break;
                for (std::size_t k = 0; k < Operands; ++k) offset[k] -= strides[k][i] * dims[i];
                at[i] = 0;
            }
        }
    }
};

/// out[i] = f(in[i])
template <class T, class F>
void map_unary(op_call<T>& k, F&& f) {
    auto const in = k.in(0);
    auto const out = k.out();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(in[i]);
}

/// out[i] = f(a[i], b[i]) with broadcasting
template <class T, class F>
void map_binary(op_call<T>& k, F&& f) {
    auto const *a = k.in(0).data(), *b = k.in(1).data();
    auto* const out = k.out().data();
    broadcast_plan<2> const plan{k.result_dims(), {k.dims(0), k.dims(1)}};
    auto const sa = plan.strides[0][0], sb = plan.strides[1][0];
    plan.for_each_run([&](std::int64_t to, std::array<std::int64_t, 2> from, std::int64_t length) {
        auto const *x = a + from[0], *y = b + from[1];
        auto* const z = out + to;
        // Constant strides let the compiler vectorise.
        if (sa == 1 && sb == 1)
            for (std::int64_t i = 0; i < length; ++i) z[i] = f(x[i], y[i]);
        else if (sa == 1 && sb == 0)
            for (std::int64_t i = 0; i < length; ++i) z[i] = f(x[i], *y);
        else
            for (std::int64_t i = 0; i < length; ++i) z[i] = f(x[i * sa], y[i * sb]);
    });
}

} // namespace gsub::detail
