// affine: integer sums of loop variables times constants, as indices and bounds.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/small_vector.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace gsub::loop {

/// A variable of a nest: an axis of the computation, a loop, or a fused-loop index.
using variable = std::int32_t;

/// Closed interval: the values from `low` to `high`, both included.
struct interval {
    std::int64_t low = 0, high = 0;
    friend bool operator==(interval, interval) = default;
};

/// Affine expression `constant + sum of factor * variable`, sorted by variable and without zero factors, so that
/// equality is equality of functions.
class affine {
public:
    struct term {
        variable of = 0;
        std::int64_t factor = 0;
        friend bool operator==(term, term) = default;
    };

    affine(std::int64_t constant = 0) : constant_(constant) {}
    /// The expression `factor * v`.
    [[nodiscard]] static affine of(variable v, std::int64_t factor = 1);

    [[nodiscard]] std::int64_t constant() const noexcept { return constant_; }
    [[nodiscard]] std::span<term const> terms() const noexcept { return {terms_.data(), terms_.size()}; }
    /// Factor of a variable, zero where it does not occur.
    [[nodiscard]] std::int64_t factor(variable v) const noexcept {
        for (auto const& t : terms())
            if (t.of == v) return t.factor;
        return 0;
    }
    [[nodiscard]] bool depends_on(variable v) const noexcept { return factor(v) != 0; }
    [[nodiscard]] bool is_constant() const noexcept { return terms_.empty(); }

    /// Substitution: the expression with `value` in place of `v`.
    [[nodiscard]] affine with(variable v, affine const& value) const;
    /// The expression with numbers for the variables whose interval has one value.
    [[nodiscard]] affine resolved(std::span<interval const> variables) const;

    /// The expression with the variable `to[v]` in place of each `v`; factors of those that become one add up.
    [[nodiscard]] affine renamed(std::span<variable const> to) const;

    affine& operator+=(affine const& other);
    affine& operator*=(std::int64_t factor);
    friend affine operator+(affine a, affine const& b) { return a += b; }
    friend affine operator-(affine a, affine const& b) { return a += b * -1; }
    friend affine operator*(affine a, std::int64_t factor) { return a *= factor; }
    friend bool operator==(affine const& a, affine const& b) noexcept;

private:
    void add(variable v, std::int64_t factor);
    std::int64_t constant_ = 0;
    small_vector<term, 4> terms_;
};

/// Interval of an affine expression from those of its variables. Exact, as each variable occurs once.
[[nodiscard]] inline interval range_of(affine const& a, std::span<interval const> variables) {
    interval r{a.constant(), a.constant()};
    for (auto const& t : a.terms()) {
        auto const& v = variables[static_cast<std::size_t>(t.of)];
        r.low += t.factor * (t.factor > 0 ? v.low : v.high);
        r.high += t.factor * (t.factor > 0 ? v.high : v.low);
    }
    return r;
}

/// How often a sum is in another one with all its terms; 0: it is not, or a factor is negative.
[[nodiscard]] std::int64_t multiple_of(affine const& value, affine const& sum) noexcept;

/// Prints an affine expression with the names of its variables: `16*i + j + 3`.
[[nodiscard]] std::string to_string(affine const& a, std::span<std::string const> names);

} // namespace gsub::loop

#ifndef GSUB_COMPILED
#include <gsub/loop/impl/affine.ipp>
#endif
