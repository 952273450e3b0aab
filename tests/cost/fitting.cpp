#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/cost/fitting.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace fitting_test {

using namespace gsub;
using cost::kernel_feature;

struct problem {
    std::size_t rows, columns;
    std::vector<double> a, b;

    std::vector<double> residuals(std::vector<double> const& x) const {
        auto out = b;
        for (auto& r : out) r = -r;
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) out[i] += a[i * columns + j] * x[j];
        return out;
    }
    double norm(std::vector<double> const& x) const {
        double sum = 0;
        for (auto r : residuals(x)) sum += r * r;
        return std::sqrt(sum);
    }
};

// `dependent`: how many of its columns are combinations of others.
problem random_problem(random_stream& r, std::size_t rows, std::size_t columns, std::size_t dependent) {
    problem p{rows, columns, std::vector<double>(rows * columns), std::vector<double>(rows)};
    for (auto& v : p.b) v = r.uniform(-1, 1);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) p.a[i * columns + j] = r.uniform(-1, 1);
    for (std::size_t d = 0; d < dependent && d + 2 < columns; ++d) {
        auto const to = columns - 1 - d, from = static_cast<std::size_t>(r.below(columns - 1 - d));
        auto const also = static_cast<std::size_t>(r.below(columns - 1 - d));
        auto const factor = r.uniform(-1, 1);
        for (std::size_t i = 0; i < rows; ++i)
            p.a[i * columns + to] = 2 * p.a[i * columns + from] + factor * p.a[i * columns + also];
    }
    return p;
}

// Least residual of projections on the columns of a set whose coefficients are not negative, by Gram and Schmidt with
// back substitution; infinite where the set's columns depend on each other or a coefficient is negative.
double residual_over(problem const& p, unsigned set) {
    std::vector<std::vector<double>> q, upper;
    std::vector<double> coefficients, rest = p.b;
    for (std::size_t j = 0; j < p.columns; ++j) {
        if (!(set >> j & 1)) continue;
        std::vector<double> v(p.rows), r;
        double before = 0, after = 0;
        for (std::size_t i = 0; i < p.rows; ++i) v[i] = p.a[i * p.columns + j], before += v[i] * v[i];
        for (int twice = 0; twice < 2; ++twice)
            for (std::size_t k = 0; k < q.size(); ++k) {
                double dot = 0;
                for (std::size_t i = 0; i < p.rows; ++i) dot += q[k][i] * v[i];
                for (std::size_t i = 0; i < p.rows; ++i) v[i] -= dot * q[k][i];
                if (r.size() <= k) r.push_back(0);
                r[k] += dot;
            }
        for (auto x : v) after += x * x;
        if (after < 1e-18 * before) return std::numeric_limits<double>::infinity();
        for (auto& x : v) x /= std::sqrt(after);
        r.push_back(std::sqrt(after));
        double dot = 0;
        for (std::size_t i = 0; i < p.rows; ++i) dot += v[i] * rest[i];
        for (std::size_t i = 0; i < p.rows; ++i) rest[i] -= dot * v[i];
        coefficients.push_back(dot), q.push_back(v), upper.push_back(r);
    }
    for (auto k = coefficients.size(); k-- > 0;) {
        coefficients[k] /= upper[k][k];
        if (coefficients[k] < -1e-9) return std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < k; ++i) coefficients[i] -= upper[k][i] * coefficients[k];
    }
    double sum = 0;
    for (auto x : rest) sum += x * x;
    return std::sqrt(sum);
}

TEST_CASE("non-negative least squares is the best of all sets of columns, dependent ones too") {
    random_stream r{1};
    for (int i = 0; i < 300; ++i) {
        auto const columns = static_cast<std::size_t>(1 + r.below(6)), rows = static_cast<std::size_t>(1 + r.below(9));
        auto const p = random_problem(r, rows, columns, static_cast<std::size_t>(r.below(3)));
        double best = std::numeric_limits<double>::infinity();
        for (unsigned set = 0; set < 1u << columns; ++set) best = std::min(best, residual_over(p, set));
        auto const found = cost::non_negative_least_squares(p.a, p.b, columns);
        CAPTURE(i, rows, columns);
        CHECK(found.residual == Approx(best).margin(1e-8));
        CHECK(found.residual == Approx(p.norm(found.x)).margin(1e-9));
    }
}

TEST_CASE("the solution holds the conditions of an optimum: no negative number, and no slope that would lead down") {
    random_stream r{2};
    for (int i = 0; i < 200; ++i) {
        auto const columns = static_cast<std::size_t>(1 + r.below(14)),
                   rows = static_cast<std::size_t>(1 + r.below(40));
        auto p = random_problem(r, rows, columns, static_cast<std::size_t>(r.below(4)));
        auto const scale = std::pow(10, r.uniform(-9, 9)); // of one column
        for (std::size_t k = 0; k < rows; ++k) p.a[k * columns] *= scale;
        auto const x = cost::non_negative_least_squares(p.a, p.b, columns).x;
        auto const residuals = p.residuals(x);
        CAPTURE(i, rows, columns, scale);
        for (std::size_t j = 0; j < columns; ++j) {
            double slope = 0, norm = 0;
            for (std::size_t k = 0; k < rows; ++k) {
                slope += p.a[k * columns + j] * residuals[k];
                norm += p.a[k * columns + j] * p.a[k * columns + j];
            }
            slope /= std::sqrt(norm);
            CHECK(x[j] >= 0);
            CHECK(slope > -1e-8);
            if (x[j] > 0) CHECK(std::abs(slope) < 1e-8);
        }
    }
}

TEST_CASE("columns and sides of zeros have a solution of zeros") {
    std::vector<double> const a{0, 1, 0, 2}, b{1, 2}, none{0, 0};
    auto const found = cost::non_negative_least_squares(a, b, 2);
    CHECK(found.x[0] == 0);
    CHECK(found.x[1] == Approx(1));
    CHECK(cost::non_negative_least_squares(a, none, 2).x == none);
    CHECK(cost::non_negative_least_squares({}, {}, 2).x == none);
}

// Kernels with features drawn, which take what a score says, but for noise.
std::vector<cost::kernel_sample> kernels_of(cost::linear_score const& score, std::size_t count, double noise) {
    random_stream r{3};
    std::vector<cost::kernel_sample> out(count);
    for (auto& s : out) {
        for (auto& f : s.features.amounts) f = {1, std::exp(r.uniform(0, 10))};
        s.features[kernel_feature::wake] = {}; // one thread
        s.gigahertz = 4;
        s.seconds = score.cycles(s.features) / 4e9 * (1 + r.uniform(-noise, noise));
    }
    return out;
}

TEST_CASE("a fit finds the coefficients that kernels were made with, and keeps those that none shows") {
    cost::linear_score made;
    made.coefficients = {0.5, 0, 1.25, 0, 2, 0.1, 0, 1, 3, 0, 0.75, 1.5, 7};
    auto const exactly = cost::fit_linear_score(kernels_of(made, 200, 0)).value();
    CHECK(exactly.kernels == 200);
    CHECK(exactly.error < 1e-9);
    for (std::size_t i = 0; i < cost::kernel_feature_count; ++i) {
        CAPTURE(cost::kernel_feature_rows[i].name);
        auto const unseen = i == static_cast<std::size_t>(kernel_feature::wake);
        CHECK(exactly.score.coefficients[i] == Approx(unseen ? 1 : made.coefficients[i]).margin(1e-7));
    }
    auto const nearly = cost::fit_linear_score(kernels_of(made, 2000, 0.1), made).value();
    CHECK(nearly.error < 0.1);
    CHECK(nearly.score[kernel_feature::wake] == 7);
    for (std::size_t i = 0; i < cost::kernel_feature_count; ++i)
        CHECK(nearly.score.coefficients[i] == Approx(made.coefficients[i]).epsilon(0.1).margin(0.1));
}

TEST_CASE("samples that nothing can be fitted to are refused by their number") {
    auto const complaint = [](auto change) {
        auto samples = kernels_of({}, 3, 0);
        change(samples[2]);
        auto const made = cost::fit_linear_score(samples);
        REQUIRE_FALSE(made);
        CHECK(made.error().id() == errors::cost_file);
        return std::string{made.error().what()};
    };
    auto const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(complaint([](auto& s) { s.seconds = 0; }).find("sample 2") != std::string::npos);
    CHECK(complaint([&](auto& s) { s.seconds = nan; }).find("sample 2") != std::string::npos);
    CHECK(complaint([&](auto& s) { s.features[kernel_feature::l2].cycles = nan; }).find("l2") != std::string::npos);
    CHECK(complaint([](auto& s) { s.features[kernel_feature::fma].cycles = -1; }).find("fma") != std::string::npos);
    auto const none = cost::fit_linear_score({});
    REQUIRE_FALSE(none);
    CHECK(none.error().code() == error_code::usage);
}

} // namespace fitting_test
