#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "oracles/interpreted_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/kernels/row_reduction.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace row_kernel_test {

using namespace gsub;
using kernels::array_view;
using kernels::reduction_step;
using kernels::row_reduction_op;
using kernels::row_reduction_shape;
using loop::scalar_op;

// A program under construction.
struct writer {
    row_reduction_shape p;
    std::int32_t array(array_view v) {
        p.arrays.push_back(std::move(v));
        return static_cast<std::int32_t>(p.arrays.size()) - 1;
    }
    std::int32_t add(row_reduction_op op) {
        p.ops.push_back(op);
        return static_cast<std::int32_t>(p.arrays.size() + p.ops.size()) - 1;
    }
    std::int32_t two(scalar_op op, std::int32_t a, std::int32_t b) {
        return add({reduction_step::elementwise, {op, a, b, 0}});
    }
    std::int32_t number(scalar_op op, std::int32_t a, double v) {
        return add({reduction_step::elementwise, {op, a, -1, v}});
    }
    std::int32_t one(scalar_op op, std::int32_t a) { return add({reduction_step::elementwise, {op, a, -1, 0}}); }
    std::int32_t sum(std::int32_t a) { return add({reduction_step::sum, {scalar_op::add, a, -1, 0}}); }
    std::int32_t maximum(std::int32_t a) { return add({reduction_step::maximum, {scalar_op::add, a, -1, 0}}); }
};

row_reduction_shape softmax(std::vector<std::int64_t> const& dims) {
    writer w;
    w.p.dims = dims;
    auto const x = w.array(array_view::contiguous(dims));
    auto const e = w.one(scalar_op::exponential, w.two(scalar_op::subtract, x, w.maximum(x)));
    w.p.results = {{w.two(scalar_op::divide, e, w.sum(e)), true}};
    return w.p;
}

row_reduction_shape layer_norm(std::vector<std::int64_t> const& dims) {
    writer w;
    w.p.dims = dims;
    auto const x = w.array(array_view::contiguous(dims));
    array_view column;
    column.elements = dims.back();
    column.strides.resize(dims.size(), 0);
    column.strides.back() = 1;
    auto const gamma = w.array(column), beta = w.array(column);
    auto const n = static_cast<double>(dims.back());
    auto const centred = w.two(scalar_op::subtract, x, w.number(scalar_op::divide, w.sum(x), n));
    auto const variance = w.number(scalar_op::divide, w.sum(w.two(scalar_op::multiply, centred, centred)), n);
    auto const deviation = w.one(scalar_op::square_root, w.number(scalar_op::add, variance, 1e-5));
    auto const scaled = w.two(scalar_op::multiply, w.two(scalar_op::divide, centred, deviation), gamma);
    w.p.results = {{w.two(scalar_op::add, scaled, beta), true}, {variance, false}};
    return w.p;
}

// Arrays that repeat, are transposed or start anywhere; operations of all kinds; several results.
row_reduction_shape random_program(random_stream& r) {
    writer w;
    for (auto d = 1 + r.below(4); d-- > 0;) w.p.dims.push_back(static_cast<std::int64_t>(1 + r.below(5)));
    w.p.dims.push_back(static_cast<std::int64_t>(1 + r.below(40)));
    for (auto count = 1 + r.below(3); count-- > 0;) {
        std::vector<std::size_t> order;
        for (std::size_t d = 0; d < w.p.dims.size(); ++d) order.push_back(d);
        if (r.below(2)) std::swap(order[r.below(order.size())], order[r.below(order.size())]);
        array_view v;
        v.strides.resize(order.size(), 0);
        std::int64_t stride = 1;
        for (auto d : order) {
            if (r.below(4) == 0) continue; // repeated
            v.strides[d] = stride;
            stride *= w.p.dims[d];
        }
        v.offset = static_cast<std::int64_t>(r.below(3));
        v.elements = stride + v.offset + static_cast<std::int64_t>(r.below(2));
        w.array(std::move(v));
    }
    constexpr scalar_op kinds[] = {scalar_op::add,     scalar_op::subtract, scalar_op::multiply, scalar_op::maximum,
                                   scalar_op::minimum, scalar_op::absolute, scalar_op::sigmoid,  scalar_op::negate};
    for (auto count = 1 + r.below(8); count-- > 0;) {
        auto const values = w.p.arrays.size() + w.p.ops.size();
        auto const pick = [&] {
            return static_cast<std::int32_t>(values - 1 - r.below(std::min<std::size_t>(values, 4)));
        };
        auto const kind = kinds[r.below(std::size(kinds))];
        switch (r.below(4)) {
        case 0:
            w.number(scalar_op::multiply, w.sum(pick()), 0.125); // keep numbers small
            break;
        case 1:
            w.maximum(pick());
            break;
        default:
            if (loop::is_unary(kind))
                w.one(kind, pick());
            else if (r.below(3))
                w.two(kind, r.below(5) ? pick() : -1, pick());
            else
                w.number(kind, pick(), 1.5);
        }
    }
    auto const count = w.p.arrays.size() + w.p.ops.size();
    w.p.results = {{static_cast<std::int32_t>(count) - 1, true}};
    for (std::size_t i = 0; i < w.p.ops.size(); ++i) {
        auto const v = static_cast<std::int32_t>(w.p.arrays.size() + i);
        if (w.p.ops[i].step != reduction_step::elementwise && r.below(2)) w.p.results.push_back({v, false});
        if (r.below(5) == 0) w.p.results.push_back({v, true});
    }
    return w.p;
}

// The same arrays and results with rows along the dimension before the last.
row_reduction_shape in_columns(row_reduction_shape p) {
    auto const reduces = [](row_reduction_op const& o) { return o.step != reduction_step::elementwise; };
    if (p.dims.size() < 2 || std::none_of(p.ops.begin(), p.ops.end(), reduces)) return p;
    auto const swap_last = [](auto& values) { std::swap(values[values.size() - 1], values[values.size() - 2]); };
    auto stored = array_view::contiguous(p.dims).strides;
    swap_last(stored);
    swap_last(p.dims);
    for (auto& a : p.arrays) swap_last(a.strides);
    for (auto& r : p.results)
        if (r.whole) r.strides = stored;
    return p;
}

// What the program means, row by row; the results' buffers.
interpret::arrays expected(row_reduction_shape const& p, interpret::arrays const& data) {
    interpret::arrays out(p.results.size());
    std::int64_t rows = 1;
    for (std::size_t d = 0; d + 1 < p.dims.size(); ++d) rows *= p.dims[d];
    auto const n = p.dims.back();
    for (std::size_t r = 0; r < out.size(); ++r)
        out[r].resize(static_cast<std::size_t>(p.results[r].whole ? rows * n : rows));
    for (std::int64_t row = 0; row < rows; ++row) {
        interpret::arrays values;
        for (std::size_t a = 0; a < p.arrays.size(); ++a) {
            auto at = p.arrays[a].offset, rest = row;
            for (auto d = p.dims.size() - 1; d-- > 0; rest /= p.dims[d])
                at += rest % p.dims[d] * p.arrays[a].strides[d];
            auto& v = values.emplace_back();
            for (std::int64_t x = 0; x < n; ++x)
                v.push_back(data[a].at(static_cast<std::size_t>(at + x * p.arrays[a].strides.back())));
        }
        for (auto const& op : p.ops) {
            auto const left = op.what.left < 0 ? std::vector<double>(static_cast<std::size_t>(n), op.what.value)
                                               : values.at(static_cast<std::size_t>(op.what.left));
            std::vector<double> v;
            auto all = op.step == reduction_step::sum ? 0.0 : left[0];
            for (std::size_t x = 0; x < left.size(); ++x) {
                auto const right =
                    op.what.right < 0 ? op.what.value : values.at(static_cast<std::size_t>(op.what.right))[x];
                if (op.step == reduction_step::elementwise)
                    v.push_back(interpret::apply(op.what.op, left[x], right));
                else
                    all = op.step == reduction_step::sum ? all + left[x] : std::max(all, left[x]);
            }
            values.push_back(op.step == reduction_step::elementwise ? v : std::vector<double>(left.size(), all));
        }
        for (std::size_t r = 0; r < p.results.size(); ++r) {
            auto const& v = values.at(static_cast<std::size_t>(p.results[r].value));
            auto const& strides = p.results[r].strides;
            auto at = strides.empty() ? row * n : 0, step = strides.empty() ? 1 : strides.back(), rest = row;
            for (auto d = p.dims.size() - 1; !strides.empty() && d-- > 0; rest /= p.dims[d])
                at += rest % p.dims[d] * strides[d];
            if (!p.results[r].whole) at = row;
            for (std::int64_t x = 0; x < (p.results[r].whole ? n : 1); ++x)
                out[r][static_cast<std::size_t>(at + x * step)] = v[static_cast<std::size_t>(x)];
        }
    }
    return out;
}

interpret::arrays random_data(codegen::kernel const& k, std::uint64_t seed) {
    random_stream r{seed};
    interpret::arrays data;
    for (auto const& b : k.buffers) {
        auto& a = data.emplace_back(static_cast<std::size_t>(b.elements()), interpret::untouched);
        if (!b.written)
            for (auto& v : a) v = static_cast<double>(r.below(17)) / 4 - 2;
    }
    return data;
}

std::string difference(row_reduction_shape const& p, interpret::arrays const& before, interpret::arrays const& after,
                       double tolerance) {
    auto const want = expected(p, before);
    for (std::size_t r = 0; r < want.size(); ++r)
        for (std::size_t i = 0; i < want[r].size(); ++i) {
            auto const x = after.at(p.arrays.size() + r).at(i), y = want[r][i];
            if (!(std::abs(x - y) <= tolerance * (1 + std::abs(y))))
                return "element " + std::to_string(i) + " of result " + std::to_string(r) + " is " + std::to_string(x) +
                       ", not " + std::to_string(y);
        }
    return {};
}

TEST_CASE("a row program computes what it says, interpreted") {
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        random_stream r{seed};
        auto p = seed == 0   ? softmax({2, 3, 37})
                 : seed == 1 ? layer_norm({3, 20})
                 : seed == 2 ? layer_norm({5})
                             : random_program(r);
        if (r.below(3) == 0) p = in_columns(std::move(p));
        auto const& isa = *(r.below(2) ? &isa::avx2 : &isa::avx512);
        auto const nest = kernels::row_reduction_nest(p, isa);
        CAPTURE(seed, to_string(nest));
        auto const k = codegen::lower(nest, "rows").value();
        auto const data = random_data(k, seed);
        auto after = data;
        interpreted_kernel::machine m{k, after};
        m.run(0, k.parallel_extent / 2);
        m.run(k.parallel_extent / 2, k.parallel_extent);
        CHECK(difference(p, data, after, 1e-6) == "");
    }
}

TEST_CASE("a row program computes what it says, compiled") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<row_reduction_shape> programs{softmax({3, 4, 50}), softmax({2, 128}), layer_norm({2, 3, 768}),
                                                  layer_norm({7})};
        for (auto const& dims :
             {std::vector<std::int64_t>{3, 4, 50}, {64, 64}, {9, 128}, {2, 7, 61}, {40, 4096}, {5, 1}})
            programs.push_back(in_columns(softmax(dims))), programs.push_back(in_columns(layer_norm(dims)));
        for (auto const& dims : {std::vector<std::int64_t>{64, 64}, {48, 61}, {34, 37}, {2, 40, 33}, {66, 7}})
            programs.push_back(softmax(dims)), programs.push_back(layer_norm(dims)); // some rows side by side
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
            random_stream r{seed};
            programs.push_back(random_program(r));
            if (seed % 3 == 0) programs.back() = in_columns(std::move(programs.back()));
        }
        for (auto const& p : programs)
            kernels.add(codegen::lower(kernels::row_reduction_nest(p, *isa), "rows").value());
        kernels.compile();
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            CAPTURE(isa->name, i);
            auto const data = random_data(kernels[i], i);
            auto const last = kernels[i].parallel_extent;
            for (auto flush : {compiled_kernel::guarded::side::end, compiled_kernel::guarded::side::begin}) {
                auto after = data;
                kernels.run(i, after, flush, {0, last / 3, last});
                CHECK(difference(programs[i], data, after, 2e-5) == "");
            }
        }
    }
}

TEST_CASE("a softmax of rows whose elements are far apart stays finite, a row with a NaN is NaN") {
    auto const p = softmax({2, 20});
    auto const k = codegen::lower(kernels::row_reduction_nest(p, isa::avx2), "rows").value();
    auto data = random_data(k, 1);
    data[0][3] = 3e38, data[0][4] = -3e38, data[0][25] = std::nan("");
    interpreted_kernel::machine m{k, data};
    m.run(0, k.parallel_extent);
    CHECK(data[1][3] == 1);
    CHECK(data[1][4] == 0);
    for (std::size_t i = 20; i < 40; ++i) CHECK(std::isnan(data[1][i]));
}

TEST_CASE("dimensions along which everything is stored alike are one") {
    writer w;
    w.p.dims = {4, 1, 6, 10};
    auto const x = w.array(array_view::contiguous(w.p.dims));
    w.p.results = {{w.number(scalar_op::add, x, 1), true}};
    auto const k = codegen::lower(kernels::row_reduction_nest(w.p, isa::avx2), "rows").value();
    CHECK(k.parallel_extent == 1); // 30 vectors in one piece
}

} // namespace row_kernel_test
