// Transforms of Winograd convolution, as tensor expressions; those of the weights are made when these are packed.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/kernels/impl/winograd_sizes.ipp>
#include <gsub/kernels/winograd.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace gsub::kernels {

namespace detail {

// Interpolation points other than zero and infinity come in pairs +-p: their rows of the transforms are sums and
// differences of an even and an odd part. The points are exact, and those of the larger tile give the least errors of
// those with few bits.
inline constexpr double winograd_points[] = {0.75, 1.5};
GSUB_LAZY std::vector<double> points_of(std::int32_t m) {
    if (m == 2) return {0, 1, -1};
    return {0, winograd_points[0], -winograd_points[0], winograd_points[1], -winograd_points[1]};
}

using winograd_terms = std::vector<loop::value>;

// Rows of B^T: the coefficients of the product of (x - q) over all points q but the row's own, at last over all.
GSUB_LAZY winograd_terms input_transform(std::int32_t m, winograd_terms const& d, loop::expression_builder& e) {
    if (m == 2) return {d[2] - d[0], d[2] + d[1], d[2] - d[1], d[3] - d[1]};
    auto const a = winograd_points[0], b = winograd_points[1];
    auto const aa = e.constant(a * a), bb = e.constant(b * b), sum = e.constant(a * a + b * b),
               product = e.constant(a * a * b * b);
    auto const even_a = d[4] - bb * d[2], odd_a = e.constant(a) * (d[3] - bb * d[1]);
    auto const even_b = d[4] - aa * d[2], odd_b = e.constant(b) * (d[3] - aa * d[1]);
    return {(d[4] - sum * d[2]) + product * d[0], even_a + odd_a, even_a - odd_a, even_b + odd_b, even_b - odd_b,
            (d[5] - sum * d[3]) + product * d[1]};
}
// Rows of A^T: the powers of the points; infinity has the last row alone.
GSUB_LAZY winograd_terms output_transform(std::int32_t m, winograd_terms const& p, loop::expression_builder& e) {
    auto const even_a = p[1] + p[2], odd_a = p[1] - p[2];
    if (m == 2) return {p[0] + even_a, odd_a + p[3]};
    auto const a = winograd_points[0], b = winograd_points[1];
    auto const even_b = p[3] + p[4], odd_b = p[3] - p[4];
    return {(p[0] + even_a) + even_b, e.constant(a) * odd_a + e.constant(b) * odd_b,
            e.constant(a * a) * even_a + e.constant(b * b) * even_b,
            (p[5] + e.constant(a * a * a) * odd_a) + e.constant(b * b * b) * odd_b};
}
// The weights of nine taps from their transforms, which hold them up to rounding, and from a number that holds their
// signs exactly: the digits -1, 0, 1 to the base of three. A weight of zero is zero, and none changes its sign.
GSUB_LAZY winograd_terms weights_of(std::int32_t m, winograd_terms const& u, loop::value signs,
                                    loop::expression_builder& e) {
    auto const a = m == 2 ? 1 : winograd_points[0], b = winograd_points[1];
    auto const zero = m == 2 ? -1 : a * a * b * b,
               pair = m == 2 ? 1 : a * (a * a - b * b); // see `pack_winograd_weights`
    auto const t = static_cast<std::size_t>(m + 2);
    auto const row = [&](auto&& of) {
        return winograd_terms{e.constant(zero) * of(0), e.constant(pair) * (of(1) - of(2)), of(t - 1)};
    };
    winograd_terms columns[3]; // of a row: points of the other direction
    for (std::size_t q : {std::size_t{0}, std::size_t{1}, std::size_t{2}, t - 1}) {
        auto const three = row([&](std::size_t p) { return u[p * t + q]; });
        for (std::size_t r = 0; r < 3; ++r) columns[r].push_back(three[r]);
    }
    winograd_terms out;
    auto power = 1.0;
    auto above = signs + e.constant(9841); // (3^9 - 1) / 2: digits 0, 1, 2
    for (auto const& c : columns)
        for (auto const& w : row([&](std::size_t p) { return c[std::min<std::size_t>(p, 3)]; })) {
            power *= 3;
            auto const next = floor((signs + e.constant(9841.5)) * e.constant(1 / power));
            auto const sign = (above - e.constant(3) * next) - e.constant(1);
            out.push_back(sign * max(abs(w), e.constant(1.1754944e-38)));
            above = next;
        }
    return out;
}
// A transform of rows, then of columns: `size` x `size` values, row-major.
template <class F>
winograd_terms both_directions(winograd_terms const& in, std::size_t size, F&& transform) {
    std::vector<winograd_terms> rows;
    for (std::size_t r = 0; r < in.size() / size; ++r)
        rows.push_back(transform(winograd_terms(in.begin() + static_cast<std::ptrdiff_t>(r * size),
                                                in.begin() + static_cast<std::ptrdiff_t>((r + 1) * size))));
    std::vector<winograd_terms> columns;
    for (std::size_t c = 0; c < rows[0].size(); ++c) {
        winograd_terms column;
        for (auto const& r : rows) column.push_back(r[c]);
        columns.push_back(transform(column));
    }
    winograd_terms out;
    for (std::size_t r = 0; r < columns[0].size(); ++r)
        for (auto const& c : columns) out.push_back(c[r]);
    return out;
}

GSUB_LAZY loop::value sum_of(winograd_terms of) {
    while (of.size() > 1) {
        auto const half = of.size() / 2;
        for (std::size_t i = 0; i < half; ++i) of[i] = of[i] + of[of.size() - 1 - i];
        of.erase(of.end() - static_cast<std::ptrdiff_t>(half), of.end());
    }
    return of[0];
}

} // namespace detail

GSUB_LAZY_BODY bool winograd_holds(std::span<float const> weights) noexcept {
    return greatest_magnitude(weights) <= 1e30f; // not where one is NaN
}

GSUB_LAZY_BODY std::vector<float> pack_winograd_weights(conv2d_shape const& s, winograd_config const& c,
                                                        std::span<float const> weights, isa const& isa) {
    detail::winograd_sizes const z{s, c, isa};
    auto const points = detail::points_of(c.m);
    auto const t = static_cast<std::size_t>(z.t);
    // Rows of G: (1, p, p^2) over the product of p - q for the other points q; infinity has (0, 0, 1).
    std::vector<std::array<double, 3>> g;
    for (auto p : points) {
        double product = 1;
        for (auto q : points)
            if (q != p) product *= p - q;
        g.push_back({1 / product, p / product, p * p / product});
    }
    g.push_back({0, 0, 1});
    std::vector<float> packed(static_cast<std::size_t>(z.groups * (z.points + 1) * z.in_blocks * z.l * c.vectors * z.l),
                              0.0f);
    auto const point = static_cast<std::size_t>(z.in_blocks * z.l * c.vectors * z.l); // from one to the next
    // The filters of a vector of output channels one after another: they share cache lines.
    for (std::int64_t block = 0; block < z.out_blocks; ++block)
        for (std::int64_t i = 0; i < s.in_channels; ++i) {
            auto const first =
                ((block / c.vectors * (z.points + 1) * z.in_blocks * z.l + i) * c.vectors + block % c.vectors) * z.l;
            for (std::int64_t lane = 0; lane < std::min(z.l, s.out_channels - block * z.l); ++lane) {
                auto const* const w = weights.data() + ((block * z.l + lane) * s.in_channels + i) * 9;
                auto* to = packed.data() + first + lane;
                for (std::size_t r = 0; r < t; ++r) {
                    std::array<double, 3> row;
                    for (std::size_t k = 0; k < 3; ++k)
                        row[k] = g[r][0] * static_cast<double>(w[k]) + g[r][1] * static_cast<double>(w[3 + k]) +
                                 g[r][2] * static_cast<double>(w[6 + k]);
                    for (std::size_t q = 0; q < t; ++q, to += point)
                        *to = static_cast<float>(row[0] * g[q][0] + row[1] * g[q][1] + row[2] * g[q][2]);
                }
                float signs = 0;
                for (std::size_t k = 9; k-- > 0;) signs = 3 * signs + static_cast<float>((w[k] > 0) - (w[k] < 0));
                *to = signs;
            }
        }
    return packed;
}

} // namespace gsub::kernels
