#pragma once

#include <gsub/rewrite/files/impl/size_solver.ipp>
#include <gsub/rewrite/files/rule_shapes.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace gsub {

namespace detail {

/// Things of which some are known to be equal.
class equal_classes {
public:
    explicit equal_classes(std::size_t count = 0) : parent_(count) {
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    }
    [[nodiscard]] std::size_t of(std::size_t i) const {
        while (parent_[i] != i) i = parent_[i];
        return i;
    }
    void join(std::size_t a, std::size_t b) {
        auto const p = of(a), q = of(b);
        parent_[std::max(p, q)] = std::min(p, q);
    }

private:
    std::vector<std::size_t> parent_;
};

/// Draws shapes for the source of a rule, every other time such that the target is well-typed too: equal sizes are
/// joined, then sizes are drawn one after the other, and what follows from them is computed.
template <class = void>
class shape_drawer {
public:
    shape_drawer(rule_description const& rule, chooser& choose) : rule_(rule), choose_(choose) {
        values_ = rule.inputs.size();
        add_side(rule.source);
        if (choose.below(2) == 0) add_side(rule.target);
        sizes_ = equal_classes(values_ * max_rank);
    }

    std::optional<described_shapes> run() {
        try {
            draw_ranks();
            relate();
            solver_.solve(choose_, dimensions());
        } catch (give_up const&) { return std::nullopt; }
        described_shapes out;
        for (std::size_t i = 0; i < rule_.inputs.size(); ++i) out.inputs.push_back(shape_of(i));
        for (std::size_t i = 0; i < rule_.source.size(); ++i) {
            out.results.emplace_back();
            for (std::uint32_t port = 0; port < rule_.source[i].results; ++port)
                out.results.back().push_back(shape_of(sides_[0].first_result[i] + port));
        }
        return out;
    }

private:
    static constexpr std::size_t max_rank = rule_limits::rank;
    using size_class = size_solver::size_class;

    // Source or target, with the number of each operator's first result among all values.
    struct side {
        std::vector<described_operator> const* operators;
        std::vector<std::size_t> first_result;
    };
    void add_side(std::vector<described_operator> const& operators) {
        sides_.push_back({&operators, {}});
        for (auto const& op : operators) {
            sides_.back().first_result.push_back(values_);
            values_ += op.results;
        }
    }
    static std::size_t value(side const& s, described_value v) {
        return v.is_input() ? v.number() : s.first_result[v.number()] + v.port;
    }
    // Calls f(side, operator, number of its first result).
    template <class F>
    void each_operator(F&& f) const {
        for (auto const& s : sides_)
            for (std::size_t i = 0; i < s.operators->size(); ++i) f(s, (*s.operators)[i], s.first_result[i]);
    }
    // Calls f(value, value) for what is replaced and what stands for it.
    template <class F>
    void each_output(F&& f) const {
        if (sides_.size() < 2) return;
        for (auto const& o : rule_.outputs) f(value(sides_[0], o.source), value(sides_[1], o.target));
    }

    void draw_ranks() {
        equal_classes ranks(values_);
        each_operator([&](side const& s, described_operator const& op, std::size_t y) {
            for (auto const v : op.operands)
                for (std::uint32_t port = 0; port < op.results; ++port) ranks.join(value(s, v), y + port);
        });
        each_output([&](std::size_t a, std::size_t b) { ranks.join(a, b); });
        std::vector<std::int64_t> fixed(values_, 0), least(values_, 1);
        each_operator([&](side const&, described_operator const& op, std::size_t y) {
            auto const c = ranks.of(y);
            auto const asked = op.word->law == shape_law::convolution ? 4 : op.rank;
            if (asked != 0 && fixed[c] != 0 && fixed[c] != asked) throw give_up{};
            if (asked != 0) fixed[c] = asked;
            least[c] = std::max(least[c], op.word->law == shape_law::product ? 2 : op.axis + 1);
        });
        ranks_.resize(values_);
        for (std::size_t i = 0; i < values_; ++i) {
            auto const c = ranks.of(i);
            if (c == i && fixed[c] == 0) {
                auto const most = std::max<std::int64_t>(least[c], choose_.exhaustive() ? least[c] + 1 : 4);
                fixed[c] =
                    least[c] + static_cast<std::int64_t>(choose_.below(static_cast<std::size_t>(most - least[c] + 1)));
                fixed[c] = std::min(fixed[c], rule_limits::rank);
            }
            if (fixed[c] < least[c]) throw give_up{};
            ranks_[i] = static_cast<std::size_t>(fixed[c]);
        }
    }

    std::size_t dimension(std::size_t value, std::size_t d) const { return value * max_rank + d; }
    size_class size_of(std::size_t value, std::size_t d) const { return sizes_.of(dimension(value, d)); }
    // Classes of all dimensions, in the order in which they are drawn.
    std::vector<size_class> dimensions() const {
        std::vector<size_class> out;
        for (std::size_t v = 0; v < values_; ++v)
            for (std::size_t d = 0; d < ranks_[v]; ++d) out.push_back(size_of(v, d));
        return out;
    }
    void join(std::size_t a, std::size_t i, std::size_t b, std::size_t k) {
        sizes_.join(dimension(a, i), dimension(b, k));
    }

    // Two passes: classes must be complete before relations speak of them.
    void relate() {
        each_operator([&](side const& s, described_operator const& op, std::size_t y) { relate_equal(s, op, y); });
        each_output([&](std::size_t a, std::size_t b) {
            for (std::size_t d = 0; d < ranks_[a]; ++d) join(a, d, b, d);
        });
        solver_ = size_solver{values_ * max_rank};
        each_operator([&](side const& s, described_operator const& op, std::size_t y) { relate_unequal(s, op, y); });
    }
    void relate_equal(side const& s, described_operator const& op, std::size_t y) {
        auto const x = value(s, op.operands[0]), rank = ranks_[y];
        switch (op.word->law) {
        case shape_law::alike:
            for (auto const v : op.operands)
                for (std::size_t d = 0; d < rank; ++d) join(value(s, v), d, y, d);
            break;
        case shape_law::product: {
            auto const w = value(s, op.operands[1]);
            for (std::size_t d = 0; d + 2 < rank; ++d) join(x, d, y, d), join(w, d, y, d);
            join(x, rank - 2, y, rank - 2);
            join(x, rank - 1, w, rank - 2);
            join(w, rank - 1, y, rank - 1);
            break;
        }
        case shape_law::convolution:
            join(x, 0, y, 0);
            join(value(s, op.operands[1]), 0, y, 1);
            for (std::size_t d = 0; d < 2; ++d)
                if (op.same_pads && op.strides[d] == 1) join(x, d + 2, y, d + 2);
            break;
        case shape_law::joining:
        case shape_law::parting:
            for (std::size_t d = 0; d < rank; ++d) {
                if (static_cast<std::int64_t>(d) == op.axis) continue;
                for (auto const v : op.operands) join(value(s, v), d, y, d);
                for (std::uint32_t port = 1; port < op.results; ++port) join(y + port, d, y, d);
            }
            break;
        }
    }
    void relate_unequal(side const& s, described_operator const& op, std::size_t y) {
        auto const x = value(s, op.operands[0]);
        auto const axis = static_cast<std::size_t>(op.axis);
        switch (op.word->law) {
        case shape_law::convolution: {
            auto const w = value(s, op.operands[1]);
            auto const groups =
                choose_.exhaustive() ? choose_.pick<std::int64_t>({1, 2}) : choose_.pick<std::int64_t>({1, 1, 2, 3});
            solver_.add(size_solver::grouping{size_of(x, 1), size_of(w, 1), size_of(w, 0), groups});
            for (std::size_t d = 0; d < 2; ++d) {
                if (op.kernel[d] > 0) solver_.learn(size_of(w, d + 2), op.kernel[d]);
                if (op.kernel[d] == 0) solver_.add_kernel(size_of(w, d + 2));
                solver_.add(
                    size_solver::window{size_of(x, d + 2), size_of(y, d + 2), size_of(w, d + 2), &op, op.strides[d]});
            }
            break;
        }
        case shape_law::joining: {
            size_solver::sum whole{size_of(y, axis), {}};
            for (auto const v : op.operands) whole.parts.push_back(size_of(value(s, v), axis));
            solver_.add(std::move(whole));
            break;
        }
        case shape_law::parting: {
            size_solver::sum whole{size_of(x, axis), {}};
            for (std::uint32_t port = 0; port < op.results; ++port) whole.parts.push_back(size_of(y + port, axis));
            solver_.add(std::move(whole));
            break;
        }
        default:
            break;
        }
    }

    ints shape_of(std::size_t value) const {
        ints out;
        for (std::size_t d = 0; d < ranks_[value]; ++d) out.push_back(solver_[size_of(value, d)]);
        return out;
    }

    rule_description const& rule_;
    chooser& choose_;
    std::vector<side> sides_;
    std::size_t values_ = 0;         // inputs, then results
    std::vector<std::size_t> ranks_; // by value
    equal_classes sizes_;            // of dimensions
    size_solver solver_;
};

} // namespace detail

GSUB_LAZY_BODY std::optional<described_shapes> draw_shapes(rule_description const& rule, chooser& choose) {
    return detail::shape_drawer{rule, choose}.run();
}

} // namespace gsub
