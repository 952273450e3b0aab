#pragma once

#include <gsub/driver/impl/convolution_planner.ipp>
#include <gsub/kernels/attention.hpp>
#include <gsub/kernels/matmul.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace gsub::detail {

// Plans products of matrices, and attention.
template <class = void>
class product_planner : protected convolution_planner<> {
public:
    using convolution_planner<>::convolution_planner;

protected:
    std::size_t plan_product(node_id n) {
        auto const x = g_.operand(n, 0), y = g_.operand(n, 1);
        value_id const result{n, 0};
        auto const &left = g_.type(x), &right = g_.type(y), &out = g_.type(result);
        if (!computes_f32(left) || !computes_f32(right) || left.rank() < 2 || right.rank() < 2 ||
            *out.elements() == 0 || *left.elements() == 0)
            return 0;
        auto const dims = out.sizes(), left_dims = left.sizes();
        auto const rank = dims.size();
        kernels::matmul_shape s;
        double alpha = 1, beta = 1;
        auto a = view_of(x), b = view_of(y);
        if (!a || !b) return 0;
        std::optional<tensor> bias;
        bool transposed = false;
        if (g_.is<ops::gemm>(n)) {
            auto const& how = g_.attributes<ops::gemm>(n);
            alpha = how.alpha, beta = how.beta;
            transposed = how.transpose_b;
            bias = constant_of(g_.operand(n, 2));
            if (g_.operand(n, 2).valid() && !bias) return 0;
            if (how.transpose_a) std::swap(a->strides[0], a->strides[1]);
            if (transposed) std::swap(b->strides[0], b->strides[1]);
        }
        s.m = dims[rank - 2], s.n = dims[rank - 1];
        s.k = *left.elements() / (product(std::span{left_dims}.first(left.rank() - 2)) * s.m);
        if (bias && (bias->elements() != s.n || bias->dims().back() != s.n)) return 0;
        s.batch.assign(dims.begin(), dims.end() - 2);
        auto weights = right.rank() == 2 ? constant_of(y) : std::nullopt;
        s.constant = weights.has_value();
        if (!s.constant && alpha != 1) return 0;
        s.a = over_batches(*a, left.sizes(), rank);
        if (!s.constant) s.b = over_batches(*b, right.sizes(), rank);
        s.bias = bias.has_value();

        auto const view = [&](value_id v) { return view_of(v); };
        chain_writer w{g_, scalar_rows(), dims, false, view};
        w.start_with(result);
        grow(w, result, true);
        s.arrays = w.views();
        s.chain = w.chain();
        auto const last = w.nodes().empty() ? result : value_id{w.nodes().back(), 0};
        if (!s.constant && !s.bias && plan_attention(n, s, w, last)) return 1;

        std::vector<std::int32_t> values{storage_of(x)};
        if (s.constant) {
            release(y);
            values.push_back(packed_matrix(s, alpha, transposed, std::move(*weights)));
        } else {
            values.push_back(storage_of(y));
        }
        if (bias) {
            auto filled = filled_up(bias->data<float>());
            for (auto& v : filled) v *= static_cast<float>(beta);
            values.push_back(add_constant(filled));
        }
        for (auto v : w.arrays()) values.push_back(storage_of(v));
        std::vector<node_id> taken{n};
        taken.insert(taken.end(), w.nodes().begin(), w.nodes().end());
        values.push_back(new_product_result(last, s, taken));
        if (s.constant) join_rows(s);
        mark_planned(taken);
        add_kernel(s, taken, kernels::matmul_nest(s, kernels::default_config(s, set_), set_), std::move(values),
                   s.operations());
        return 1;
    }
    // A softmax of the rows of a product and a product with values that are there already are one kernel with it.
    bool plan_attention(node_id n, kernels::matmul_shape const& scores, chain_writer<> const& w, value_id last) {
        auto const softmax = only_reader(last);
        auto const fast = softmax && g_.is<ops::fast_softmax>(*softmax);
        if (!fast && (!softmax || !g_.is<ops::softmax>(*softmax))) return false;
        auto const dims = g_.type(last).sizes();
        auto const rank = dims.size();
        auto const axis =
            (fast ? g_.attributes<ops::fast_softmax>(*softmax) : g_.attributes<ops::softmax>(*softmax)).axis;
        if (axis != -1 && axis != static_cast<std::int64_t>(rank) - 1) return false;
        value_id const weights{*softmax, 0};
        auto const second = only_reader(weights);
        if (!second || !g_.is<ops::mat_mul>(*second) || g_.operand(*second, 0) != weights) return false;
        auto const v = g_.operand(*second, 1);
        auto const &type = g_.type(v), &out = g_.type({*second, 0});
        if (!computes_f32(type) || !computes_f32(out) || type.rank() < 2 || constant_of(v) || !reach(v)) return false;
        auto const out_dims = out.sizes();
        if (out_dims.size() != rank || !std::equal(dims.begin(), dims.end() - 1, out_dims.begin())) return false;
        auto const view = view_of(v);
        if (!view || out_dims.back() == 0) return false;

        kernels::attention_shape s;
        s.m = scores.m, s.k = scores.k, s.s = scores.n, s.n = out_dims.back();
        s.batch = scores.batch;
        s.q = scores.a, s.keys = scores.b;
        s.values = over_batches(*view, type.sizes(), rank);
        s.arrays = scores.arrays, s.chain = scores.chain;
        std::vector<std::int32_t> values{storage_of(g_.operand(n, 0)), storage_of(g_.operand(n, 1)), storage_of(v)};
        for (auto a : w.arrays()) values.push_back(storage_of(a));
        std::vector<node_id> taken{n};
        taken.insert(taken.end(), w.nodes().begin(), w.nodes().end());
        taken.push_back(*softmax);
        taken.push_back(*second);
        kernels::matmul_shape stored;
        stored.m = s.m, stored.n = s.n;
        values.push_back(new_product_result({*second, 0}, stored, taken));
        s.y = stored.y;
        mark_planned(taken);
        add_kernel(s, taken, kernels::attention_nest(s, default_config(s, set_), set_), std::move(values),
                   s.operations());
        return true;
    }
    // The right operand of a product, `[k, n]` or transposed, in vectors of columns.
    std::int32_t packed_matrix(kernels::matmul_shape const& s, double alpha, bool transposed, tensor weights) {
        auto const l = std::int64_t{set_.lanes()};
        auto const elements = weights.elements();
        auto pack = [n = s.n, k = s.k, l, alpha, transposed, set = set_,
                     weights = std::move(weights)](std::int64_t first, std::int64_t count) mutable {
            kernels::matmul_shape of;
            of.n = std::min(count * l, n - first * l), of.k = k;
            auto from = weights.template data<float>();
            std::vector<float> columns;
            if (transposed) {
                from = from.subspan(static_cast<std::size_t>(first * l * k), static_cast<std::size_t>(of.n * k));
            } else if (of.n < n) {
                columns.reserve(static_cast<std::size_t>(of.n * k));
                for (std::int64_t row = 0; row < k; ++row) {
                    auto const of_row =
                        from.subspan(static_cast<std::size_t>(row * n + first * l), static_cast<std::size_t>(of.n));
                    columns.insert(columns.end(), of_row.begin(), of_row.end());
                }
                from = columns;
            }
            auto packed = kernels::pack_matmul_weights(of, from, transposed, set);
            if (alpha != 1)
                for (auto& v : packed) v *= static_cast<float>(alpha);
            if (transposed) weights.discard(first * l * k, of.n * k);
            return packed;
        };
        return add_packed(elements, (s.n + l - 1) / l, std::move(pack));
    }
    // The view of an operand over the batches of the product and the two dimensions of its matrices.
    static kernels::array_view over_batches(kernels::array_view own, ints const& dims, std::size_t rank) {
        small_vector<std::int64_t, 6> strides(rank - dims.size(), 0);
        for (std::size_t d = 0; d < dims.size(); ++d)
            strides.push_back(d + 2 < dims.size() && dims[d] == 1 ? 0 : own.strides[d]);
        own.strides = strides;
        return own;
    }
    // Rows a multiple of 4 KiB apart would all fall on the same few lines of a cache: then they have gaps, if their
    // readers can do with that.
    std::int32_t new_rows(value_id v, kernels::matmul_shape& s) {
        constexpr std::int64_t apart = 4096 / sizeof(float);
        bool gaps = s.n % apart == 0 && s.m >= 8;
        g_.for_each_use(v, [&](use u) { gaps = gaps && (g_.is<ops::mat_mul>(u.user) || g_.is<ops::gemm>(u.user)); });
        if (!gaps) return new_plain(v);
        auto dims = g_.type(v).sizes();
        dims.back() += 16;
        s.y = kernels::array_view::contiguous(dims);
        auto const to = add_temporary(static_cast<std::size_t>(s.y.elements) * sizeof(float));
        add_view(v, to, s.y);
        return to;
    }
    // Where the only reader of a product permutes its dimensions, but not the last one, the product is stored so.
    std::int32_t new_product_result(value_id v, kernels::matmul_shape& s, std::vector<node_id>& taken) {
        auto reader = v.node;
        g_.for_each_use(v, [&](use u) { reader = u.user; });
        if (g_.use_count(v) != 1 || reader == g_.results_node() || !g_.is<ops::transpose>(reader))
            return new_rows(v, s);
        auto const& perm = g_.attributes<ops::transpose>(reader).perm;
        if (perm.empty() || perm.back() != static_cast<std::int64_t>(perm.size()) - 1) return new_plain(v);
        value_id const turned{reader, 0};
        auto const whole = kernels::array_view::contiguous(g_.type(turned).sizes());
        s.y = whole;
        for (std::size_t d = 0; d < perm.size(); ++d) s.y.strides[static_cast<std::size_t>(perm[d])] = whole.strides[d];
        taken.push_back(reader);
        return new_plain(turned);
    }
    // Batches of rows that meet one matrix are rows, where every array has them one after another.
    static void join_rows(kernels::matmul_shape& s) {
        while (!s.batch.empty()) {
            auto const at = s.batch.size() - 1; // the dimension before the rows
            auto const joins = [&](kernels::array_view const& v) {
                return v.strides.empty() || v.strides[at] == v.strides[at + 1] * s.m || s.batch[at] == 1;
            };
            if (!joins(s.a) || !joins(s.y) || !std::all_of(s.arrays.begin(), s.arrays.end(), joins)) return;
            auto const drop = [&](kernels::array_view& v) {
                if (v.strides.empty()) return;
                small_vector<std::int64_t, 6> rest;
                for (std::size_t d = 0; d < v.strides.size(); ++d)
                    if (d != at) rest.push_back(v.strides[d]);
                v.strides = rest;
            };
            drop(s.a), drop(s.y);
            for (auto& v : s.arrays) drop(v);
            s.m *= s.batch[at];
            s.batch.pop_back();
        }
    }
};

} // namespace gsub::detail
