#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/machine/strided_box.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace gsub::machine {

namespace detail {

// Joins terms whose steps follow one another: {f, n} and {f * i, m} with i <= n are {f, n + i * (m - 1)}.
GSUB_LAZY void join_terms(small_vector<ranged_term, 8>& terms) {
    std::sort(terms.begin(), terms.end(), [](auto const& a, auto const& b) { return a.factor < b.factor; });
    for (std::size_t i = 0; i < terms.size(); ++i)
        for (auto k = i + 1; k < terms.size();) {
            auto const step = terms[k].factor / terms[i].factor;
            if (terms[k].factor % terms[i].factor != 0 || step > terms[i].extent) {
                ++k;
                continue;
            }
            terms[i].extent += step * (terms[k].extent - 1);
            terms.erase(k);
            k = i + 1;
        }
}

// Values of a progression without holes plus those of a term.
GSUB_LAZY double count_of_two(std::int64_t stride, double count, ranged_term const& t) {
    auto const common = std::gcd(stride, t.factor);
    auto const a = static_cast<double>(stride / common), b = static_cast<double>(t.factor / common);
    auto const n = static_cast<double>(t.extent);
    return count * n - std::max(0.0, count - b) * std::max(0.0, n - a);
}

// Places that are hit: between what positions that fall anywhere hit and what those that keep apart do.
GSUB_LAZY double expected_count(double positions, double places) noexcept {
    return (std::min(positions, places) - places * std::expm1(-positions / places)) / 2;
}

// The same up to a part of one: counts are expected values.
[[nodiscard]] inline bool same_count(double a, double b) noexcept {
    return a - b <= 1e-9 * (a + b) && b - a <= 1e-9 * (a + b);
}

GSUB_LAZY std::int64_t floor_divide(std::int64_t a, std::int64_t b) noexcept {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// A number x with a * x = 1 modulo m. *Requires* that a and m have no common factor.
GSUB_LAZY std::int64_t inverse_modulo(std::int64_t a, std::int64_t m) noexcept {
    std::int64_t before = 0, x = 1, rest = m, value = a % m;
    while (value != 0 && value != 1) {
        auto const quotient = rest / value;
        before = std::exchange(x, before - quotient * x);
        rest = std::exchange(value, rest - quotient * value);
    }
    return m == 1 ? 0 : ((x % m) + m) % m;
}

// Stride of a set in unions: one value has every stride.
GSUB_LAZY std::int64_t union_stride(progression const& p) noexcept {
    return p.low == p.high ? 0 : p.stride;
}

GSUB_LAZY std::optional<progression> common_part(progression const& a, progression const& b) {
    auto const low = std::max(a.low, b.low), high = std::min(a.high, b.high);
    auto const common = std::gcd(a.stride, b.stride);
    if (low > high || (b.low - a.low) % common != 0) return std::nullopt;
    // a.low + a.stride * k is in b where k is (b.low - a.low) / a.stride modulo b.stride, all divided by `common`.
    auto const modulus = b.stride / common;
    auto const away = ((b.low - a.low) / common % modulus + modulus) % modulus;
    auto const k = away * inverse_modulo(a.stride / common % std::max<std::int64_t>(modulus, 1), modulus) % modulus;
    progression p;
    p.stride = a.stride * modulus;
    p.low = a.low + a.stride * k;
    p.low += floor_divide(low - p.low + p.stride - 1, p.stride) * p.stride;
    if (p.low > high) return std::nullopt;
    p.high = p.low + (high - p.low) / p.stride * p.stride;
    p.count = p.places() * std::min(a.density(), b.density());
    return p;
}

GSUB_LAZY progression hull_of(progression const& a, progression const& b) {
    progression p;
    p.low = std::min(a.low, b.low), p.high = std::max(a.high, b.high);
    p.stride = std::gcd(std::gcd(union_stride(a), union_stride(b)), a.low - b.low);
    if (p.stride == 0) p.stride = 1;
    p.count = p.places() * std::max(a.density(), b.density());
    return p;
}

GSUB_LAZY double product_of_counts(strided_box const& b) noexcept {
    double out = 1;
    for (auto const& p : b.dims) out *= p.count;
    return out;
}

// Share of the product that belongs to a box.
GSUB_LAZY double fullness(strided_box const& b) noexcept {
    auto const all = product_of_counts(b);
    return all > 0 ? b.elements / all : 1.0;
}

} // namespace detail

GSUB_LAZY_BODY progression image_of(std::int64_t at, std::span<ranged_term const> terms) {
    progression p{at, at, 1, 1};
    small_vector<ranged_term, 8> sorted;
    for (auto t : terms) {
        if (t.extent <= 1 || t.factor == 0) continue;
        if (t.factor < 0) p.low += t.factor * (t.extent - 1), t.factor = -t.factor;
        sorted.push_back(t);
    }
    detail::join_terms(sorted);
    p.high = p.low;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        auto const& t = sorted[i];
        auto const span = p.high - p.low;
        auto const without_holes = detail::same_count(p.count, p.places());
        p.high += t.factor * (t.extent - 1);
        if (i == 0) {
            p.stride = t.factor, p.count = static_cast<double>(t.extent);
            continue;
        }
        auto const stride = std::gcd(p.stride, t.factor);
        auto const positions = p.count * static_cast<double>(t.extent);
        auto const places = static_cast<double>((p.high - p.low) / stride + 1);
        p.count = t.factor > span ? positions
                  : without_holes ? detail::count_of_two(p.stride, p.count, t)
                                  : std::max(p.count, detail::expected_count(positions, places));
        p.stride = stride;
    }
    return p;
}

GSUB_LAZY_BODY std::optional<progression> clipped(progression p, std::int64_t low, std::int64_t high) {
    auto const density = p.density();
    if (p.low < low) p.low += (low - p.low + p.stride - 1) / p.stride * p.stride;
    if (p.high > high) p.high -= (p.high - high + p.stride - 1) / p.stride * p.stride;
    if (p.low > p.high) return std::nullopt;
    p.count = p.places() * density;
    return p;
}

GSUB_LAZY_BODY strided_box strided_box::full(std::span<progression const> dims) {
    strided_box b;
    for (auto const& p : dims) b.dims.push_back(p);
    b.elements = detail::product_of_counts(b);
    return b;
}

GSUB_LAZY_BODY double strided_box::places() const noexcept {
    double out = 1;
    for (auto const& p : dims) out *= p.places();
    return out;
}

GSUB_LAZY_BODY std::optional<strided_box> intersection(strided_box const& a, strided_box const& b) {
    GSUB_ASSERT(a.dims.size() == b.dims.size(), "boxes that meet have equally many dimensions");
    strided_box out;
    for (std::size_t i = 0; i < a.dims.size(); ++i) {
        auto const p = detail::common_part(a.dims[i], b.dims[i]);
        if (!p) return std::nullopt;
        out.dims.push_back(*p);
    }
    out.elements = detail::product_of_counts(out) * std::min(detail::fullness(a), detail::fullness(b));
    return out;
}

GSUB_LAZY_BODY strided_box hull(strided_box const& a, strided_box const& b) {
    GSUB_ASSERT(a.dims.size() == b.dims.size(), "boxes of a hull have equally many dimensions");
    strided_box out;
    for (std::size_t i = 0; i < a.dims.size(); ++i) out.dims.push_back(detail::hull_of(a.dims[i], b.dims[i]));
    out.elements = detail::product_of_counts(out) * std::max(detail::fullness(a), detail::fullness(b));
    return out;
}

GSUB_LAZY_BODY void box_union::add(strided_box box) {
    for (std::size_t i = 0; i < boxes_.size();) {
        auto const& other = boxes_[i];
        auto const common = intersection(other, box);
        auto const shared = common ? common->elements : 0.0;
        if (common && detail::same_count(shared, box.elements)) return; // within another
        auto const covered = common && detail::same_count(shared, other.elements);
        auto joined = covered ? box : hull(other, box);
        if (!detail::same_count(joined.elements, other.elements + box.elements - shared)) {
            ++i;
            continue;
        }
        box = std::move(joined);
        boxes_.erase(boxes_.begin() + static_cast<std::ptrdiff_t>(i));
        i = 0;
    }
    boxes_.push_back(std::move(box));
    if (boxes_.size() > most) join_closest();
}

GSUB_LAZY_BODY void box_union::join_closest() {
    std::size_t first = 0, second = 1;
    auto least = -1.0;
    for (std::size_t i = 0; i < boxes_.size(); ++i)
        for (auto k = i + 1; k < boxes_.size(); ++k) {
            auto const lost = hull(boxes_[i], boxes_[k]).elements - boxes_[i].elements - boxes_[k].elements;
            if (least >= 0 && lost >= least) continue;
            first = i, second = k, least = std::max(lost, 0.0);
        }
    boxes_[first] = hull(boxes_[first], boxes_[second]);
    boxes_.erase(boxes_.begin() + static_cast<std::ptrdiff_t>(second));
}

// |A1 u ... u An| = sum over non-empty subsets of (-1)^(size + 1) |intersection of the subset|.
GSUB_LAZY_BODY double box_union::elements() const {
    if (boxes_.empty()) return 0;
    if (boxes_.size() == 1) return boxes_[0].elements;
    std::vector<std::optional<strided_box>> of(std::size_t{1} << boxes_.size());
    double sum = 0, greatest = 0, all = 0;
    for (auto const& b : boxes_) greatest = std::max(greatest, b.elements), all += b.elements;
    for (std::size_t subset = 1; subset < of.size(); ++subset) {
        auto const last = static_cast<std::size_t>(std::countr_zero(subset));
        auto const rest = subset & (subset - 1);
        if (rest == 0)
            of[subset] = boxes_[last];
        else if (of[rest])
            of[subset] = intersection(*of[rest], boxes_[last]);
        if (of[subset]) sum += (std::popcount(subset) % 2 != 0 ? 1 : -1) * of[subset]->elements;
    }
    return std::clamp(sum, greatest, all);
}

} // namespace gsub::machine
