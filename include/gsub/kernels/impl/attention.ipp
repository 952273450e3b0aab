#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/attention.hpp>
#include <gsub/kernels/impl/batch_axes.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace gsub::kernels {

GSUB_LAZY_BODY std::int64_t attention_shape::batches() const noexcept {
    return detail::batch_axes<>::matrices_in(batch);
}
GSUB_LAZY_BODY double attention_shape::operations() const noexcept {
    auto const scores = static_cast<double>(batches()) * static_cast<double>(m) * static_cast<double>(s);
    return scores * (2.0 * static_cast<double>(k + n) + 12 + static_cast<double>(epilogue.size()));
}

GSUB_LAZY_BODY attention_config default_config(attention_shape const& shape, isa const& isa) {
    constexpr std::int64_t elements = std::int64_t{1} << 16, pieces = 16; // of both scratch matrices; at least
    auto const few = (shape.m * shape.batches() + pieces - 1) / pieces;
    auto const fit = std::max<std::int64_t>(elements / (2 * shape.s), 1);
    attention_config c;
    c.rows = std::min(shape.m, std::max<std::int64_t>(std::min(fit, few), 16));
    auto const parts = (shape.m + c.rows - 1) / c.rows;
    c.rows = (shape.m + parts - 1) / parts; // no part of few rows at the end
    auto const vectors = [&](std::int64_t columns) { return (columns + isa.lanes() - 1) / isa.lanes(); };
    c.scores = best_tile(c.rows, vectors(shape.s), isa, {.max_vectors = 8, .steps = shape.k});
    c.values = best_tile(c.rows, vectors(shape.n), isa, {.max_vectors = 8, .steps = shape.s});
    return c;
}

namespace detail {

template <class = void>
class attention_writer {
public:
    attention_writer(attention_shape const& shape, attention_config const& c, isa const& isa)
        : s_(shape), c_(c), l_(isa.lanes()) {
        auto const refuse = [](std::string_view reason) {
            throw error{errors::kernel_schedule, format_text("attention: {}", reason)};
        };
        if (c.rows < 1 || c.scores.pixels < 1 || c.scores.vectors < 1 || c.values.pixels < 1 || c.values.vectors < 1)
            refuse("a knob does not apply");
        auto const whole = [&](array_view& v, std::int64_t rows, std::int64_t columns) {
            batch_axes<>::whole_unless_strided(v, s_.batch, rows, columns);
        };
        whole(s_.q, s_.m, s_.k), whole(s_.keys, s_.k, s_.s), whole(s_.values, s_.s, s_.n), whole(s_.y, s_.m, s_.n);
        if (s_.y.strides.back() != 1) refuse("results are stored one after another");
        loop::expression_builder e{"attention"};
        q_ = e.input("q", {s_.q.elements});
        keys_ = e.input("keys", {s_.keys.elements});
        values_ = e.input("values", {s_.values.elements});
        for (auto const& v : s_.arrays) arrays_.push_back(e.input("x", {v.elements}));
        y_ = e.output("y", {s_.y.elements});
        packed_keys_ = e.workspace("packed keys", {blocks(s_.s, c_.scores), s_.k, l_});
        if (packs_values()) packed_values_ = e.workspace("packed values", {blocks(s_.n, c_.values), s_.s, l_});
        auto const row = (s_.s + l_ - 1) / l_ * l_;
        scores_ = e.workspace("scores", {c_.rows, row});
        weights_ = e.workspace("weights", {c_.rows, row});
        maxima_ = e.workspace("maxima", {c_.rows});
        shares_ = e.workspace("shares", {c_.rows});
        buffers_ = e.buffers();
    }

    loop::fused_nest run() const {
        loop::fused_nest all{packing(keys_, s_.keys, packed_keys_, s_.k, s_.s)};
        all.then(scores(), 1).then(maxima(), 1).then(exponentials(), 1).then(shares(), 1);
        if (packs_values()) all.then(packing(values_, s_.values, packed_values_, s_.s, s_.n), 1);
        all.then(results(), 1);
        return all;
    }

private:
    // Vectors of columns, up to a whole tile.
    [[nodiscard]] std::int64_t blocks(std::int64_t columns, register_tile t) const {
        auto const width = t.vectors * l_;
        return (columns + width - 1) / width * t.vectors;
    }

    // Rows of values that one tile of rows reads once are read where they lie.
    [[nodiscard]] bool packs_values() const { return c_.rows > c_.values.pixels || s_.values.strides.back() != 1; }

    // ---- what all stages have in common: loops over batches and pieces of rows, which become one

    struct stage {
        loop::expression_builder e;
        batch_axes<> place;
        loop::affine piece;
    };
    [[nodiscard]] stage begin(std::string_view name) const {
        stage t{loop::expression_builder{name, buffers_}, {}, {}};
        t.place = batch_axes<>{t.e, s_.batch};
        t.piece = t.e.spatial("piece", (s_.m + c_.rows - 1) / c_.rows);
        return t;
    }
    // The row of a piece, and the row of all.
    [[nodiscard]] std::pair<loop::affine, loop::affine> rows(stage& t) const {
        auto const row = t.e.spatial("row", c_.rows);
        auto const of_all = t.piece * c_.rows + row;
        if (s_.m % c_.rows != 0) t.e.restrict_domain({of_all, s_.m});
        return {row, of_all};
    }
    loop::loop_nest end(loop::schedule& plan) const {
        plan.parallel(batch_axes<>::join(plan, s_.batch.size(), plan.loop_of("piece")));
        return std::move(plan).finish();
    }

    // ---- products

    // Columns that lie one behind the other, as those of keys do, are exchanged in registers, as many as these have.
    [[nodiscard]] loop::loop_nest packing(std::int32_t from, array_view const& view, std::int32_t to, std::int64_t rows,
                                          std::int64_t columns) const {
        auto t = begin("packing");
        auto const block = t.e.spatial("block", (columns + l_ - 1) / l_), k = t.e.spatial("k", rows),
                   lane = t.e.spatial("lane", l_);
        auto const column = block * l_ + lane;
        if (columns % l_ != 0) t.e.restrict_domain({column, columns});
        auto const v = t.e.at(from, {t.place(view, k, column)});
        loop::schedule plan{t.e.store(to, {block, k, lane}, v)};
        if (auto const d = s_.batch.size(); view.strides[d] == 1 && view.strides[d + 1] != 1 && rows % l_ == 0)
            plan.unroll(plan.split(plan.loop_of("k"), l_).second);
        plan.vectorize(plan.loop_of("lane"));
        return end(plan);
    }

    // Loops of a product: `left(row, k) * right(k, column)`, what becomes of it, and where it goes.
    template <class Left, class Right, class Result, class Target>
    loop::loop_nest product(std::string_view name, std::int64_t inner, std::int64_t columns, register_tile tile,
                            Left const& left, Right const& right, Result const& result, Target const& target) const {
        auto t = begin(name);
        auto const [row, of_all] = rows(t);
        auto const jo = t.e.spatial("jo", blocks(columns, tile) / tile.vectors), ji = t.e.spatial("ji", tile.vectors),
                   lane = t.e.spatial("lane", l_), k = t.e.reduction("k", inner);
        auto const block = jo * tile.vectors + ji;
        auto const column = block * l_ + lane;
        if (columns % (tile.vectors * l_) != 0) t.e.restrict_domain({column, columns});
        auto const sum = t.e.sum(t.e.constant(0), left(t, row, of_all, k) * right(t, k, block, lane));
        auto const made = result(t, row, of_all, column, sum);
        loop::schedule plan{target(t, row, of_all, column, made)};
        auto const [io, ii] = plan.split(plan.loop_of("row"), tile.pixels);
        auto const [ko, ku] = plan.split(plan.loop_of("k"), inner % 4 == 0 ? 4 : inner % 2 == 0 ? 2 : 1);
        auto order = batch_axes<>::loops(plan, s_.batch.size());
        for (auto v :
             {plan.loop_of("piece"), plan.loop_of("jo"), io, ko, ku, ii, plan.loop_of("ji"), plan.loop_of("lane")})
            order.push_back(v);
        plan.reorder(order);
        plan.unroll(ku);
        plan.unroll(ii);
        plan.unroll(plan.loop_of("ji"));
        plan.vectorize(plan.loop_of("lane"));
        return end(plan);
    }
    [[nodiscard]] loop::loop_nest scores() const {
        return product(
            "scores", s_.k, s_.s, c_.scores,
            [&](stage& t, auto const&, auto const& row, auto const& k) { return t.e.at(q_, {t.place(s_.q, row, k)}); },
            [&](stage& t, auto const& k, auto const& block, auto const& lane) {
                return t.e.at(packed_keys_, {block, k, lane});
            },
            [&](stage& t, auto const&, auto const& row, auto const& column, loop::value sum) {
                std::vector<loop::value> values{sum};
                for (std::size_t x = 0; x < arrays_.size(); ++x)
                    values.push_back(t.e.at(arrays_[x], {t.place(s_.arrays[x], row, column)}));
                apply_epilogue(t.e, values, s_.epilogue);
                return s_.epilogue.empty() ? values.front() : values.back();
            },
            [&](stage& t, auto const& row, auto const&, auto const& column, loop::value v) {
                return t.e.store(scores_, {row, column}, v);
            });
    }
    [[nodiscard]] loop::loop_nest results() const {
        return product(
            "results", s_.s, s_.n, c_.values,
            [&](stage& t, auto const& row, auto const&, auto const& k) {
                return t.e.at(weights_, {row, k});
            },
            [&](stage& t, auto const& k, auto const& block, auto const& lane) {
                return packs_values() ? t.e.at(packed_values_, {block, k, lane})
                                      : t.e.at(values_, {t.place(s_.values, k, block * l_ + lane)});
            },
            [&](stage& t, auto const& row, auto const&, auto const&, loop::value sum) {
                return sum * t.e.at(shares_, {row});
            },
            [&](stage& t, auto const&, auto const& row, auto const& column, loop::value v) {
                return t.e.store(y_, {t.place(s_.y, row, column)}, v);
            });
    }

    // ---- the softmax of a piece

    loop::loop_nest end_row(loop::tensor_expression what) const {
        loop::schedule plan{std::move(what)};
        plan.vectorize(plan.split(plan.loop_of("x"), l_).second);
        return end(plan);
    }
    [[nodiscard]] loop::loop_nest maxima() const {
        auto t = begin("maxima");
        auto const row = rows(t).first, x = t.e.reduction("x", s_.s);
        auto const least = t.e.constant(-std::numeric_limits<double>::infinity());
        return end_row(t.e.store(maxima_, {row}, t.e.maximum(least, t.e.at(scores_, {row, x}))));
    }
    [[nodiscard]] loop::loop_nest exponentials() const {
        auto t = begin("exponentials");
        auto const row = rows(t).first, x = t.e.spatial("x", s_.s);
        auto const power = apply(s_.exponential, t.e.at(scores_, {row, x}) - t.e.at(maxima_, {row}));
        // At most one over all keys, so that no sum of values is greater than the greatest of them; a power of two,
        // which changes no digit.
        auto const part = 1 / static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(s_.s)));
        return end_row(t.e.store(weights_, {row, x}, power * t.e.constant(part)));
    }
    [[nodiscard]] loop::loop_nest shares() const {
        auto t = begin("shares");
        auto const row = rows(t).first, x = t.e.reduction("x", s_.s);
        auto const sum = t.e.sum(t.e.constant(0), t.e.at(weights_, {row, x}));
        return end_row(t.e.store(shares_, {row}, t.e.constant(1) / sum));
    }

    attention_shape s_;
    attention_config c_;
    std::int64_t l_;
    std::int32_t q_ = -1, keys_ = -1, values_ = -1, y_ = -1;
    std::int32_t packed_keys_ = -1, packed_values_ = -1, scores_ = -1, weights_ = -1, maxima_ = -1, shares_ = -1;
    std::vector<std::int32_t> arrays_;
    std::vector<loop::buffer> buffers_;
};

} // namespace detail

GSUB_LAZY_BODY loop::fused_nest attention_nest(attention_shape const& shape, attention_config const& config,
                                               isa const& isa) {
    return detail::attention_writer{shape, config, isa}.run();
}

} // namespace gsub::kernels
