// kernel_renaming: statements of kernel IR with other variables and registers: numbers, sums and fresh names.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <map>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// What stands for variables and registers.
struct kernel_renaming {
    std::map<variable, affine> variables{};
    std::map<reg, reg> registers{};

    [[nodiscard]] affine of(affine a) const {
        for (auto const& [v, value] : variables)
            if (a.depends_on(v)) a = a.with(v, value);
        return a;
    }
    [[nodiscard]] reg of(reg r) const {
        auto const found = registers.find(r);
        return found == registers.end() ? r : found->second;
    }
    void rename(std::vector<loop::bound>& bounds) const {
        for (auto& b : bounds) b.value = of(b.value);
    }
    void rename(std::vector<limit>& limits) const {
        for (auto& l : limits) l.value = of(l.value);
    }
    void rename(instruction& i) const {
        i.result = of(i.result);
        for (auto& r : i.operands) r = of(r);
        if (variables.empty()) return;
        i.offset = of(i.offset);
        rename(i.predicate);
    }
    /// Renames what a statement itself says, not the statements within it.
    void rename(statement& s) const {
        if (variables.empty() && registers.empty()) return;
        for (auto& i : s.code) rename(i);
        rename(s.begin), rename(s.end), rename(s.conditions);
        s.guarded = of(s.guarded);
        for (auto& a : s.arguments) a = of(a);
    }
};

/// The number that a limit is; the fallback where it is none.
[[nodiscard]] inline std::int64_t number_of(std::vector<limit> const& limits, std::int64_t otherwise) {
    auto const is_number = limits.size() == 1 && limits[0].divisor == 1 && limits[0].value.is_constant();
    return is_number ? limits[0].value.constant() : otherwise;
}
/// Turns of a loop whose limits are numbers; -1 of another, and of the parallel loop.
[[nodiscard]] inline std::int64_t turns_of(statement const& s, variable parallel) {
    constexpr std::int64_t none = -1;
    if (s.kind != statement_kind::loop || s.var == parallel) return none;
    auto const from = number_of(s.begin, none), to = number_of(s.end, none);
    return from < 0 || to < 0 ? none : to > from ? to - from : 0;
}

} // namespace gsub::codegen::detail
