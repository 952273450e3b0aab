// Factors that a loop's extent is split into: all values of a knob, and their texts.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>
#include <gsub/loop/config_space.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::loop::detail {

inline constexpr std::size_t max_knob_values = std::size_t{1} << 20;

GSUB_LAZY [[noreturn]] void refuse_knob(std::string_view name, std::string const& reason) {
    throw error{errors::kernel_schedule, format_text("knob {}: {}", quoted{name}, reason)};
}

GSUB_LAZY std::string text_of(std::span<std::int64_t const> factors) {
    std::string text = "[";
    for (auto const& f : factors) text += format_text("{}{}", &f == factors.data() ? "" : ",", f);
    return text + "]";
}

// What the outermost factor of a split stands for. Divides step by step: the product of the others may be too large.
GSUB_LAZY std::int64_t outer_factor(std::int64_t extent, std::span<std::int64_t const> factors) noexcept {
    if (factors[0] != -1) return factors[0];
    for (auto f : factors.subspan(1)) extent = extent / f + (extent % f != 0);
    return extent;
}

GSUB_LAZY std::vector<std::int64_t> factors_of(std::int64_t extent, split_policy policy) {
    std::vector<std::int64_t> found;
    if (policy != split_policy::power2)
        for (std::int64_t i = 1; i <= extent / i; ++i)
            if (extent % i == 0) found.insert(found.end(), {i, extent / i});
    if (policy != split_policy::factors)
        for (std::int64_t i = 1;; i *= 2) {
            found.push_back(i);
            if (i > extent / 2) break;
        }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

// Depth first from the innermost factor outwards.
class split_enumerator {
public:
    split_enumerator(knob& made, split_options const& options)
        : made_(made),
          options_(options),
          exact_(options.policy == split_policy::factors),
          factors_(factors_of(made.extent, options.policy)),
          value_(options.parts, -1) {}

    void from(std::size_t place, std::int64_t product) {
        if (place == 0) {
            if (made_.size() == max_knob_values)
                refuse_knob(made_.name, format_text("has more than {} values", max_knob_values));
            made_.factors.insert(made_.factors.end(), value_.begin(), value_.end());
            return;
        }
        auto const limit =
            place + 1 == value_.size() ? std::min(options_.max_last, options_.max_factor) : options_.max_factor;
        for (auto f : factors_) {
            if (f > limit || f > made_.extent / product) break;
            if (exact_ && made_.extent % (product * f) != 0) continue;
            value_[place] = f;
            from(place - 1, product * f);
        }
    }

private:
    knob& made_;
    split_options const& options_;
    bool exact_;
    std::vector<std::int64_t> factors_, value_;
};

GSUB_LAZY void add_candidates(knob& made, split_options const& options) {
    for (auto const& c : options.candidates) {
        if (c.size() != made.parts)
            refuse_knob(made.name, format_text("candidate {} has not {} factors", text_of(c), made.parts));
        for (std::size_t i = 0; i < c.size(); ++i)
            if (c[i] < 1 && (i > 0 || c[i] != -1))
                refuse_knob(made.name, format_text("candidate {} has a factor below 1", text_of(c)));
        auto const inner = as_span(c).subspan(1);
        if (std::any_of(inner.begin(), inner.end(), [&](auto f) { return f > options.max_factor; })) continue;
        if (c.size() > 1 && c.back() > options.max_last) continue;
        for (std::size_t d = 0; d < made.size(); ++d)
            if (std::equal(inner.begin(), inner.end(), made.split(d).begin() + 1) &&
                outer_factor(made.extent, c) == outer_factor(made.extent, made.split(d)))
                refuse_knob(made.name, format_text("candidate {} is listed twice", text_of(c)));
        made.factors.insert(made.factors.end(), c.begin(), c.end());
    }
}

// Digit of a split's value, or the knob's size.
GSUB_LAZY std::size_t digit_of(knob const& k, std::span<std::int64_t const> factors) noexcept {
    if (factors.size() != k.parts) return k.size();
    for (std::size_t d = 0; d < k.size(); ++d) {
        auto const s = k.split(d);
        if (std::equal(s.begin() + 1, s.end(), factors.begin() + 1) &&
            (factors[0] == s[0] || outer_factor(k.extent, factors) == outer_factor(k.extent, s)))
            return d;
    }
    return k.size();
}

// `[-1,4,32]`, or nothing where the text is no such list.
GSUB_LAZY std::vector<std::int64_t> read_factors(std::string_view text) {
    std::vector<std::int64_t> read;
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') return {};
    for (auto const *at = text.data() + 1, *end = text.data() + text.size() - 1;; ++at) {
        auto const r = std::from_chars(at, end, read.emplace_back());
        if (r.ec != std::errc{}) return {};
        at = r.ptr;
        if (at == end) return read;
        if (*at != ',') return {};
    }
}

} // namespace gsub::loop::detail
