// row_values: what is known of each value of a kernel of rows.
#pragma once

#include <gsub/kernels/row_reduction.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gsub::kernels::detail {

GSUB_INLINE bool reduces(row_reduction_op const& op) {
    return op.step != reduction_step::elementwise;
}

[[nodiscard]] constexpr std::size_t value_index(std::int32_t v) noexcept {
    return static_cast<std::size_t>(v);
}

// Values of a kernel of rows, by number: its arrays, then its operations.
template <class = void>
class row_values {
public:
    explicit row_values(row_reduction_shape const& p) : p_(p) {
        auto const count = p_.arrays.size() + p_.ops.size();
        uniform_.resize(count), level_.resize(count);
        for (std::size_t v = 0; v < p_.arrays.size(); ++v) uniform_[v] = p_.arrays[v].strides.back() == 0;
        for (auto v = p_.arrays.size(); v < count; ++v) {
            auto const& op = op_of(v);
            bool all = true;
            each_operand(op, [&](std::size_t o) {
                level_[v] = std::max(level_[v], level_[o]);
                all = all && uniform_[o];
            });
            uniform_[v] = all || reduces(op);
            if (reduces(op)) ++level_[v];
        }
        for (std::size_t v = 0; v < count; ++v) types_.push_back(type_of(v));
    }

    [[nodiscard]] std::size_t count() const noexcept { return level_.size(); }
    // Whether it has one element a row.
    [[nodiscard]] bool uniform(std::size_t v) const { return uniform_[v] != 0; }
    // Reductions that it is after.
    [[nodiscard]] int level(std::size_t v) const { return level_[v]; }
    [[nodiscard]] int last_level() const { return *std::max_element(level_.begin(), level_.end()); }
    [[nodiscard]] dtype type(std::size_t v) const { return types_[v]; }
    [[nodiscard]] std::size_t widest_bytes() const {
        std::size_t widest = 1;
        for (auto t : types_) widest = std::max(widest, byte_size(t));
        return widest;
    }
    // Whether reading a row again is cheaper than computing it again.
    [[nodiscard]] bool costs(std::size_t v) const { return info(op_of(v).what.op).slow; }

    [[nodiscard]] bool is_op(std::size_t v) const { return v >= p_.arrays.size(); }
    [[nodiscard]] row_reduction_op const& op_of(std::size_t v) const { return p_.ops[v - p_.arrays.size()]; }
    template <class F>
    static void each_operand(row_reduction_op const& op, F&& f) {
        if (op.what.left >= 0) f(value_index(op.what.left));
        auto const operands = reduces(op) ? 1 : loop::info(op.what.op).operands;
        if (operands > 1 && op.what.right >= 0) f(value_index(op.what.right));
        if (operands > 2 && op.what.third >= 0) f(value_index(op.what.third));
    }

private:
    // Of values before it, whose types are known.
    [[nodiscard]] dtype type_of(std::size_t v) const {
        if (!is_op(v)) return p_.arrays[v].element;
        auto const& op = op_of(v);
        auto const operand = [&] {
            auto const& o = op.what;
            auto const selects = !reduces(op) && o.op == loop::scalar_op::select;
            auto const first = selects ? o.right : o.left, second = selects ? o.third : o.right;
            return first >= 0 ? types_[value_index(first)] : second >= 0 ? types_[value_index(second)] : o.type;
        }();
        return reduces(op) ? operand : result_type(op.what, operand);
    }
    row_reduction_shape const& p_;
    std::vector<char> uniform_;
    std::vector<int> level_;
    std::vector<dtype> types_;
};

} // namespace gsub::kernels::detail
