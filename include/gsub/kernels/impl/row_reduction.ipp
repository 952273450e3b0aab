#pragma once

#include <gsub/core/format.hpp>
#include <gsub/kernels/impl/row_values.ipp>
#include <gsub/kernels/row_reduction.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace gsub::kernels {

namespace detail {

// Strides of all arrays and integers, and of all results that are stored in another order.
template <class F>
void each_strides(row_reduction_shape& p, F&& f) {
    for (auto& a : p.arrays) f(a.strides);
    for (auto& c : p.chosen) f(c.by.at.strides);
    for (auto& r : p.results)
        if (!r.strides.empty()) f(r.strides);
}

// Dimensions of one element are dropped, neighbours along which everything is stored alike become one. The last
// dimension stays itself where it is reduced.
GSUB_LAZY row_reduction_shape with_merged_dims(row_reduction_shape p) {
    auto const reducing = std::any_of(p.ops.begin(), p.ops.end(), reduces);
    auto const erase = [&](std::size_t d) {
        p.dims.erase(p.dims.begin() + static_cast<std::ptrdiff_t>(d));
        each_strides(p, [&](auto& strides) {
            auto const old = strides;
            strides.clear();
            for (std::size_t k = 0; k < old.size(); ++k)
                if (k != d) strides.push_back(old[k]);
        });
    };
    for (auto d = p.dims.size() - (reducing ? 1 : 0); d-- > 0;)
        if (p.dims[d] == 1 && p.dims.size() > 1) erase(d);
    for (auto d = p.dims.size() - 1; d-- > 0;) {
        if (reducing && d + 2 == p.dims.size()) continue;
        auto alike = true;
        each_strides(p, [&](auto& strides) { alike = alike && strides[d] == strides[d + 1] * p.dims[d + 1]; });
        if (!alike) continue;
        p.dims[d + 1] *= p.dims[d];
        erase(d);
    }
    return p;
}
// Whether the dimension before the row is the one along which elements follow each other: of results, else of arrays.
GSUB_LAZY bool lies_in_columns(row_reduction_shape const& p) {
    if (p.dims.size() < 2 || !p.chosen.empty()) return false;
    auto const column = [](auto const& strides) { return strides.back() != 1 && strides[strides.size() - 2] == 1; };
    for (auto const& r : p.results)
        if (r.whole) return !r.strides.empty() && column(r.strides);
    return std::any_of(p.arrays.begin(), p.arrays.end(),
                       [&](auto& a) { return a.strides.back() && column(a.strides); }) &&
           std::none_of(p.arrays.begin(), p.arrays.end(),
                        [](auto& a) { return a.strides.back() == 1 && a.strides[a.strides.size() - 2] != 0; });
}
// Columns in pieces of whole vectors, of which a thread keeps `kept` rows near it.
GSUB_LAZY [[nodiscard]] std::int64_t columns_of_piece(std::int64_t columns, std::int64_t lanes, std::int64_t kept) {
    auto const most = std::max(4 * lanes, 8192 / std::max<std::int64_t>(kept, 1));
    auto piece = columns;
    if (columns % lanes == 0)
        for (auto n = lanes; n <= most; n += lanes)
            if (columns % n == 0) piece = n;
    return piece;
}
// The dimension before the row in pieces.
GSUB_LAZY void split_rows(row_reduction_shape& p, std::int64_t piece) {
    auto const d = p.dims.size() - 2;
    p.dims[d] /= piece;
    p.dims.insert(p.dims.begin() + static_cast<std::ptrdiff_t>(d) + 1, piece);
    each_strides(p, [&](auto& strides) {
        auto const old = strides;
        strides.clear();
        for (std::size_t k = 0; k < old.size(); ++k) {
            strides.push_back(k == d ? old[k] * piece : old[k]);
            if (k == d) strides.push_back(old[k]);
        }
    });
}

template <class = void>
class row_reduction_writer {
public:
    row_reduction_writer(row_reduction_shape p, isa const& isa) : p_(with_merged_dims(std::move(p))), values_(p_) {
        reducing_ = std::any_of(p_.ops.begin(), p_.ops.end(), reduces);
        scalar_.assign(values_.count(), -1), row_.assign(values_.count(), -1);
        // Vectors of the widest type are those of the instruction set.
        lanes_ = isa.lanes(static_cast<std::int32_t>(values_.widest_bytes()));
        if (reducing_ && lies_in_columns(p_)) {
            columns_ = true;
            std::int64_t kept = 1;
            for (std::size_t v = p_.arrays.size(); v < values_.count(); ++v)
                kept += !values_.uniform(v) && values_.costs(v);
            split_rows(p_, columns_of_piece(p_.dims[row_dims() - 1], lanes_, kept * p_.dims.back()));
            beside_ = p_.dims[row_dims() - 1];
        } else if (reducing_ && row_dims() > 0 && p_.dims.back() <= 8 * lanes_) {
            // Rows so short that each waits for its own reductions: some side by side, where there are enough.
            for (std::int64_t const n : {4, 3, 2})
                if (beside_ == 1 && p_.dims[row_dims() - 1] % n == 0 && rows() >= 16 * n) beside_ = n;
            if (beside_ > 1) split_rows(p_, beside_);
        }
    }

    loop::fused_nest run() {
        declare();
        auto const last = values_.last_level();
        for (int level = 0; level <= last; ++level) {
            keep_rows(level);
            for (auto v = p_.arrays.size(); v < values_.count(); ++v)
                if (reduces(values_.op_of(v)) && values_.level(v) == level + 1) reduce(v);
        }
        store_rows();
        return std::move(*made_);
    }

private:
    using value = loop::value;

    [[nodiscard]] std::size_t row_dims() const { return p_.dims.size() - 1; }
    [[nodiscard]] std::int64_t rows() const {
        std::int64_t n = 1;
        for (std::size_t d = 0; d < row_dims(); ++d) n *= p_.dims[d];
        return n;
    }

    // Buffers, and which rows and elements are kept.
    void declare() {
        std::vector<std::vector<std::size_t>> stages(values_.count()); // in which a value is computed
        auto const visit = [&](std::size_t root, std::size_t in_stage) {
            for (std::vector<std::size_t> open{root}; !open.empty();) {
                auto const v = open.back();
                open.pop_back();
                if (!values_.is_op(v) || values_.uniform(v)) continue;
                auto& in = stages[v];
                if (std::find(in.begin(), in.end(), in_stage) != in.end()) continue;
                in.push_back(in_stage);
                values_.each_operand(values_.op_of(v), [&](std::size_t o) { open.push_back(o); });
            }
        };
        for (auto v = p_.arrays.size(); v < values_.count(); ++v)
            if (reduces(values_.op_of(v))) visit(value_index(values_.op_of(v).what.left), v);
        for (auto const& r : p_.results) visit(value_index(r.value), values_.count());
        std::map<dtype, std::int64_t> kept_rows, kept_scalars; // by type
        for (auto v = p_.arrays.size(); v < values_.count(); ++v) {
            if (!values_.uniform(v) && stages[v].size() > 1 && values_.costs(v)) row_[v] = kept_rows[values_.type(v)]++;
            if (values_.uniform(v) && values_.level(v) > 0) scalar_[v] = kept_scalars[values_.type(v)]++;
        }
        loop::expression_builder e{"rows"};
        for (auto const& a : p_.arrays) arrays_.push_back(e.input("x", {a.elements}, a.element));
        for (auto const& c : p_.chosen) integers_.push_back(e.input("chosen", {c.by.at.elements}, c.by.integers));
        for (auto const& r : p_.results)
            results_.push_back(
                e.output("y", {r.whole ? rows() * p_.dims.back() : rows()}, values_.type(value_index(r.value))));
        if (!p_.chosen.empty()) status_ = e.output("status", {1}, dtype::i32);
        auto const whole = [&](std::int64_t n) { return (n + lanes_ - 1) / lanes_ * lanes_; };
        auto const across = columns_ ? whole(beside_) : beside_,
                   row = columns_ ? p_.dims.back() : whole(p_.dims.back());
        step_ = columns_ ? std::array{across, std::int64_t{1}} : std::array{std::int64_t{1}, row};
        for (auto const& [type, count] : kept_scalars) scalars_[type] = e.workspace("scalars", {count, across}, type);
        for (auto const& [type, count] : kept_rows) rows_[type] = e.workspace("kept", {count, row * across}, type);
        buffers_ = e.buffers();
    }

    // ---- stages

    struct stage {
        loop::expression_builder e;
        std::vector<loop::affine> at; ///< indices of the dimensions
        std::vector<std::optional<value>> known;
    };
    [[nodiscard]] stage begin(bool reduction) const {
        stage s{loop::expression_builder{"rows", buffers_}, {}, {}};
        for (std::size_t d = 0; d < row_dims(); ++d) s.at.push_back(s.e.spatial(format_text("r{}", d), p_.dims[d]));
        if (row_dims() == 0) static_cast<void>(s.e.spatial("r0", 1));
        auto const n = p_.dims.back();
        s.at.push_back(reduction ? s.e.reduction("x", n) : s.e.spatial("x", n));
        s.known.resize(values_.count());
        return s;
    }
    [[nodiscard]] loop::affine row_index(stage const& s) const {
        loop::affine a;
        for (std::size_t d = 0; d < row_dims(); ++d) a = a * p_.dims[d] + s.at[d];
        return a;
    }
    [[nodiscard]] loop::affine element_index(stage const& s, row_reduction_result const& r) const {
        if (r.strides.empty()) return row_index(s) * p_.dims.back() + s.at.back();
        loop::affine a;
        for (std::size_t d = 0; d < s.at.size(); ++d) a += s.at[d] * r.strides[d];
        return a;
    }
    // In scratch memory, of all rows side by side: one element a row, or a row.
    [[nodiscard]] bool has_beside() const { return columns_ || beside_ > 1; }
    [[nodiscard]] loop::affine beside(stage const& s) const {
        return has_beside() ? s.at[row_dims() - 1] : loop::affine{};
    }
    [[nodiscard]] loop::affine place_in_row(stage const& s) const {
        return s.at.back() * step_[0] + beside(s) * step_[1];
    }
    // A value and those before it, in the order of the operands, without recursion: a sum may have 1e5 terms.
    value compute(stage& s, std::size_t v) const {
        small_vector<std::size_t, 16> open;
        open.push_back(v);
        while (!open.empty()) {
            auto const next = open.back();
            if (s.known[next]) {
                open.pop_back();
                continue;
            }
            auto const before = open.size();
            if (values_.is_op(next) && !stored_[next])
                values_.each_operand(values_.op_of(next), [&](std::size_t o) {
                    if (!s.known[o]) open.push_back(o);
                });
            if (open.size() > before) { // the first operand on top
                std::reverse(open.begin() + static_cast<std::ptrdiff_t>(before), open.end());
                continue;
            }
            s.known[next] = compute_new(s, next);
            open.pop_back();
        }
        return *s.known[v];
    }
    [[nodiscard]] static loop::affine place(stage const& s, array_view const& a) {
        loop::affine at = a.offset;
        for (std::size_t d = 0; d < s.at.size(); ++d) at += s.at[d] * a.strides[d];
        return at;
    }
    value load(stage& s, std::size_t array) const {
        auto const at = place(s, p_.arrays[array]);
        for (std::size_t c = 0; c < p_.chosen.size(); ++c)
            if (auto const& by = p_.chosen[c].by; value_index(p_.chosen[c].array) == array)
                return s.e.at(arrays_[array], {at}, s.e.at(integers_[c], {place(s, by.at)}), by.entries, by.stride,
                              status_);
        return s.e.at(arrays_[array], {at});
    }
    value compute_new(stage& s, std::size_t v) const {
        if (!values_.is_op(v)) return load(s, v);
        if (stored_[v]) {
            if (scalar_[v] >= 0) return s.e.at(scalars_.at(values_.type(v)), {loop::affine{scalar_[v]}, beside(s)});
            return s.e.at(rows_.at(values_.type(v)), {loop::affine{row_[v]}, place_in_row(s)});
        }
        return apply(s.e, values_.op_of(v).what, [&](std::size_t o) { return *s.known[o]; });
    }

    // Rows of this level that later stages read.
    void keep_rows(int level) {
        std::vector<std::size_t> all;
        for (auto v = p_.arrays.size(); v < values_.count(); ++v)
            if (row_[v] >= 0 && values_.level(v) == level) all.push_back(v);
        if (all.empty()) return;
        auto s = begin(false);
        auto const target = [&](std::size_t v) { return loop::affine{row_[v]}; };
        for (std::size_t i = 1; i < all.size(); ++i)
            s.e.also_store(rows_.at(values_.type(all[i])), {target(all[i]), place_in_row(s)}, compute(s, all[i]));
        auto const first = compute(s, all[0]);
        end(s.e.store(rows_.at(values_.type(all[0])), {target(all[0]), place_in_row(s)}, first));
        for (auto v : all) stored_[v] = true;
    }

    // A reduction, and the elements that can be computed of it.
    void reduce(std::size_t v) {
        auto s = begin(true);
        auto const update = compute(s, value_index(values_.op_of(v).what.left));
        auto const sums = values_.op_of(v).step == reduction_step::sum;
        auto const type = values_.type(v);
        auto const least = info(type).is_signed ? std::numeric_limits<std::int64_t>::min() >> (64 - 8 * byte_size(type))
                                                : std::int64_t{0};
        auto const reduced =
            sums ? s.e.sum(s.e.number(0, 0, type), update)
                 : s.e.maximum(s.e.number(-std::numeric_limits<double>::infinity(), least, type), update);
        std::fill(s.known.begin(), s.known.end(), std::nullopt);
        s.known[v] = reduced;
        std::vector<std::size_t> made{v};
        for (auto u = p_.arrays.size(); u < values_.count(); ++u) {
            if (scalar_[u] < 0 || stored_[u] || reduces(values_.op_of(u))) continue;
            bool ready = true;
            values_.each_operand(values_.op_of(u), [&](std::size_t o) {
                ready = ready && (!values_.is_op(o) || scalar_[o] < 0 || stored_[o] || s.known[o]);
            });
            if (!ready) continue;
            s.e.also_store(scalars_.at(values_.type(u)), {loop::affine{scalar_[u]}, beside(s)}, compute(s, u));
            made.push_back(u);
        }
        for (std::size_t r = 0; r < p_.results.size(); ++r)
            if (!p_.results[r].whole &&
                std::find(made.begin(), made.end(), value_index(p_.results[r].value)) != made.end())
                s.e.also_store(results_[r], {row_index(s)}, compute(s, value_index(p_.results[r].value)));
        end(s.e.store(scalars_.at(type), {loop::affine{scalar_[v]}, beside(s)}, reduced));
        for (auto u : made) stored_[u] = true;
    }

    void store_rows() {
        std::vector<std::size_t> whole;
        for (std::size_t r = 0; r < p_.results.size(); ++r)
            if (p_.results[r].whole) whole.push_back(r);
        if (whole.empty()) return;
        auto s = begin(false);
        for (std::size_t i = 1; i < whole.size(); ++i)
            s.e.also_store(results_[whole[i]], {element_index(s, p_.results[whole[i]])},
                           compute(s, value_index(p_.results[whole[i]].value)));
        auto const first = compute(s, value_index(p_.results[whole[0]].value));
        end(s.e.store(results_[whole[0]], {element_index(s, p_.results[whole[0]])}, first));
    }

    // Rows are parallel, several inner dimensions of them in one piece where there are enough others; where nothing is
    // reduced, pieces of rows too. Of columns, up to four vectors side by side run along the row.
    void end(loop::tensor_expression what) {
        loop::schedule plan{std::move(what)};
        auto const outer = has_beside() ? row_dims() - 1 : row_dims();
        auto const [blocks, lane] =
            plan.split(plan.loop_of(columns_ ? format_text("r{}", row_dims() - 1) : std::string{"x"}), lanes_);
        auto outside = plan.loop_of("r0");
        std::size_t shared = 1, fused = 1;
        for (auto n = outer > 0 ? p_.dims[0] : 1; fused < outer && n < 16; ++fused) {
            n *= p_.dims[fused];
            outside = plan.fuse(outside, plan.loop_of(format_text("r{}", fused)));
        }
        shared += fused < outer ? outer - fused : 0;
        if (!reducing_ && shared == 1) {
            auto const count = (p_.dims.back() + lanes_ - 1) / lanes_;
            outside = plan.fuse(outside, plan.split(blocks, std::min<std::int64_t>(count, 64)).first);
        }
        if (has_beside()) {
            std::vector<loop::variable> order;
            for (std::size_t i = 0; i < shared; ++i) order.push_back(plan.loops()[i].var);
            auto tile = columns_ ? loop::variable{} : plan.loop_of(format_text("r{}", row_dims() - 1));
            if (columns_) {
                auto const [tiles, inner] = plan.split(blocks, std::min<std::int64_t>(step_[0] / lanes_, 4));
                for (auto v : {tiles, plan.loop_of("x")}) order.push_back(v);
                tile = inner;
            } else {
                order.push_back(blocks);
            }
            for (auto v : {tile, lane}) order.push_back(v);
            plan.reorder(order);
            plan.unroll(tile);
        }
        plan.parallel(outside);
        plan.vectorize(lane);
        if (made_)
            made_->then(std::move(plan).finish(), shared);
        else
            made_.emplace(std::move(plan).finish());
    }

    row_reduction_shape p_;
    row_values<> values_; // of dimensions that were merged
    std::int64_t lanes_ = 1;
    bool columns_ = false;                // vectors lie across rows
    std::int64_t beside_ = 1;             // rows that are computed side by side
    std::array<std::int64_t, 2> step_{1}; // in scratch memory, along a row and to the row beside
    bool reducing_ = false;
    std::vector<std::int64_t> scalar_, row_; // places in scratch memory
    std::vector<char> stored_ = std::vector<char>(p_.arrays.size() + p_.ops.size());
    std::vector<std::int32_t> arrays_, integers_, results_;
    std::int32_t status_ = -1;
    std::map<dtype, std::int32_t> scalars_, rows_; // buffers, by type
    std::vector<loop::buffer> buffers_;
    std::optional<loop::fused_nest> made_;
};

} // namespace detail

GSUB_LAZY_BODY loop::fused_nest row_reduction_nest(row_reduction_shape p, isa const& isa) {
    return detail::row_reduction_writer{std::move(p), isa}.run();
}

} // namespace gsub::kernels
