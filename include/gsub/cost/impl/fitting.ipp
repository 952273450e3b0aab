#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/format.hpp>
#include <gsub/cost/fitting.hpp>

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gsub::cost {

namespace detail {

// Active set of a non-negative least-squares problem with columns of norm 1 or 0.
template <class = void>
class active_set {
public:
    active_set(Eigen::MatrixXd const& a, Eigen::VectorXd const& b)
        : a_(a), b_(b), x_(Eigen::VectorXd::Zero(a.cols())), inside_(static_cast<std::size_t>(a.cols()), 0) {}

    [[nodiscard]] Eigen::VectorXd const& solve() {
        auto const rounding = 1e-12 * std::max(1e-300, b_.norm());
        std::vector<char> refused(inside_.size(), 0);
        auto const limit = 10 * inside_.size();
        while (iterations_ < limit) {
            Eigen::VectorXd const slope = a_.transpose() * (b_ - a_ * x_);
            auto enters = Eigen::Index{-1};
            for (Eigen::Index i = 0; i < slope.size(); ++i)
                if (!inside_[at(i)] && !refused[at(i)] && slope[i] > (enters < 0 ? rounding : slope[enters]))
                    enters = i;
            if (enters < 0) break;
            ++iterations_;
            inside_[at(enters)] = 1;
            auto const wanted = free_solution();
            // One that depends on those inside has a slope by rounding alone, and would go nowhere.
            if (wanted[enters] <= 0) {
                inside_[at(enters)] = 0, refused[at(enters)] = 1;
                continue;
            }
            std::fill(refused.begin(), refused.end(), char{0});
            go_to(wanted);
        }
        return x_;
    }
    [[nodiscard]] std::size_t iterations() const noexcept { return iterations_; }

private:
    static std::size_t at(Eigen::Index i) noexcept { return static_cast<std::size_t>(i); }

    // Least squares over the columns inside, without bounds.
    [[nodiscard]] Eigen::VectorXd free_solution() const {
        std::vector<Eigen::Index> columns;
        for (Eigen::Index i = 0; i < x_.size(); ++i)
            if (inside_[at(i)]) columns.push_back(i);
        Eigen::MatrixXd part(a_.rows(), static_cast<Eigen::Index>(columns.size()));
        for (std::size_t i = 0; i < columns.size(); ++i) part.col(static_cast<Eigen::Index>(i)) = a_.col(columns[i]);
        Eigen::VectorXd const found = part.colPivHouseholderQr().solve(b_);
        Eigen::VectorXd out = Eigen::VectorXd::Zero(x_.size());
        for (std::size_t i = 0; i < columns.size(); ++i) out[columns[i]] = found[static_cast<Eigen::Index>(i)];
        return out;
    }
    // Goes towards a free solution as far as bounds let it; those that are met leave, until it is reached.
    void go_to(Eigen::VectorXd wanted) {
        for (;;) {
            double step = 1;
            auto leaves = Eigen::Index{-1};
            for (Eigen::Index i = 0; i < x_.size(); ++i) {
                if (!inside_[at(i)] || wanted[i] > 0) continue;
                auto const reach = x_[i] > 0 ? x_[i] / (x_[i] - wanted[i]) : 0.0;
                if (reach < step) step = reach, leaves = i;
            }
            if (leaves < 0) break;
            x_ += step * (wanted - x_);
            x_[leaves] = 0, inside_[at(leaves)] = 0;
            wanted = free_solution();
        }
        x_ = wanted.cwiseMax(0.0);
    }

    Eigen::MatrixXd const& a_;
    Eigen::VectorXd const& b_;
    Eigen::VectorXd x_;
    std::vector<char> inside_; // columns whose bound is not active
    std::size_t iterations_ = 0;
};

} // namespace detail

GSUB_INLINE non_negative_solution non_negative_least_squares(std::span<double const> a, std::span<double const> b,
                                                             std::size_t columns) {
    GSUB_ASSERT(columns > 0 && a.size() == b.size() * columns, "a row of the matrix for each number");
    using row_major = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    auto const rows = static_cast<Eigen::Index>(b.size()), width = static_cast<Eigen::Index>(columns);
    Eigen::MatrixXd matrix = Eigen::Map<row_major const>(a.data(), rows, width);
    Eigen::VectorXd const wanted = Eigen::Map<Eigen::VectorXd const>(b.data(), rows);
    Eigen::VectorXd norms = matrix.colwise().norm();
    for (Eigen::Index i = 0; i < width; ++i)
        if (norms[i] > 0)
            matrix.col(i) /= norms[i];
        else
            norms[i] = 1;
    detail::active_set<> set{matrix, wanted};
    auto const& x = set.solve();
    non_negative_solution out;
    out.residual = (matrix * x - wanted).norm(), out.iterations = set.iterations();
    for (Eigen::Index i = 0; i < width; ++i) out.x.push_back(x[i] / norms[i]);
    return out;
}

GSUB_INLINE result<linear_fit> fit_linear_score(std::span<kernel_sample const> samples, linear_score const& prior) {
    if (samples.empty()) return error{error_code::usage, "no kernels to fit a score to"};
    std::vector<double> a, b(samples.size(), 1.0);
    std::array<bool, kernel_feature_count> seen{};
    for (std::size_t s = 0; s < samples.size(); ++s) {
        auto const cycles = samples[s].cycles();
        if (!(cycles > 0) || !std::isfinite(cycles))
            return error{errors::cost_file, format_text("sample {}: a kernel takes {} cycles", s, cycles)};
        for (std::size_t i = 0; i < kernel_feature_count; ++i) {
            auto const of = samples[s].features.amounts[i].cycles;
            if (!(of >= 0) || !std::isfinite(of / cycles))
                return error{errors::cost_file,
                             format_text("sample {}: {} cycles of {}", s, of, quoted{kernel_feature_rows[i].name})};
            seen[i] = seen[i] || of > 0;
            a.push_back(of / cycles);
        }
    }
    auto const solved = non_negative_least_squares(a, b, kernel_feature_count);
    linear_fit out;
    for (std::size_t i = 0; i < kernel_feature_count; ++i)
        out.score.coefficients[i] = seen[i] ? solved.x[i] : prior.coefficients[i];
    out.kernels = samples.size();
    out.error = solved.residual / std::sqrt(static_cast<double>(samples.size()));
    return out;
}

} // namespace gsub::cost
