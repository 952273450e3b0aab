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

// The same, where some arrays have entries of which an integer chooses one a row, along some dimensions.
row_reduction_shape with_choices(row_reduction_shape p, random_stream& r) {
    for (std::size_t a = 0; a < p.arrays.size(); ++a) {
        if (r.below(2)) continue;
        auto& array = p.arrays[a];
        kernels::chosen_rows c{static_cast<std::int32_t>(a), {.integers = r.below(2) ? dtype::i64 : dtype::i32}};
        c.by.at.strides.resize(p.dims.size(), 0);
        c.by.at.elements = 1;
        for (std::size_t d = 0; d + 1 < p.dims.size(); ++d) {
            if (r.below(2)) continue;
            array.strides[d] = r.below(2) ? array.strides[d] : 0;
            c.by.at.strides[d] = c.by.at.elements;
            c.by.at.elements *= p.dims[d];
        }
        c.by.entries = static_cast<std::int64_t>(1 + r.below(6));
        c.by.stride = array.elements;
        array.elements *= c.by.entries;
        p.chosen.push_back(std::move(c));
    }
    return p;
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
        auto const place = [&](array_view const& v) {
            auto at = v.offset, rest = row;
            for (auto d = p.dims.size() - 1; d-- > 0; rest /= p.dims[d]) at += rest % p.dims[d] * v.strides[d];
            return at;
        };
        for (std::size_t a = 0; a < p.arrays.size(); ++a) {
            auto at = place(p.arrays[a]);
            for (std::size_t c = 0; c < p.chosen.size(); ++c) {
                auto const& [array, by] = p.chosen[c];
                if (array != static_cast<std::int32_t>(a)) continue;
                auto const k =
                    static_cast<std::int64_t>(data[p.arrays.size() + c].at(static_cast<std::size_t>(place(by.at))));
                at += (k < 0 ? k + by.entries : k) * by.stride;
            }
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
// Integers within range, from the front or the end, and nothing that is out of range.
void fill_choices(row_reduction_shape const& p, interpret::arrays& data, std::uint64_t seed) {
    random_stream r{seed};
    for (std::size_t c = 0; c < p.chosen.size(); ++c)
        for (auto& k : data[p.arrays.size() + c]) {
            auto const n = static_cast<std::uint64_t>(p.chosen[c].by.entries);
            k = static_cast<double>(r.below(2 * n)) - static_cast<double>(n);
        }
    if (!p.chosen.empty()) data[p.arrays.size() + p.chosen.size() + p.results.size()] = {0};
}

std::string difference(row_reduction_shape const& p, interpret::arrays const& before, interpret::arrays const& after,
                       double tolerance) {
    auto const want = expected(p, before);
    for (std::size_t r = 0; r < want.size(); ++r)
        for (std::size_t i = 0; i < want[r].size(); ++i) {
            auto const x = after.at(p.arrays.size() + p.chosen.size() + r).at(i), y = want[r][i];
            if (!(std::abs(x - y) <= tolerance * (1 + std::abs(y))))
                return "element " + std::to_string(i) + " of result " + std::to_string(r) + " is " + std::to_string(x) +
                       ", not " + std::to_string(y);
        }
    if (!p.chosen.empty() && after[p.arrays.size() + p.chosen.size() + want.size()].at(0) != 0)
        return "an integer is out of range";
    return {};
}

TEST_CASE("a row program computes what it says, interpreted") {
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        random_stream r{seed};
        auto p = seed == 0   ? softmax({2, 3, 37})
                 : seed == 1 ? layer_norm({3, 20})
                 : seed == 2 ? layer_norm({5})
                             : random_program(r);
        if (r.below(3) == 0)
            p = in_columns(std::move(p));
        else
            p = with_choices(std::move(p), r);
        auto const& isa = *(r.below(2) ? &isa::avx2 : &isa::avx512);
        auto const nest = kernels::row_reduction_nest(p, isa);
        CAPTURE(seed, to_string(nest));
        auto const k = codegen::lower(nest, "rows").value();
        auto data = random_data(k, seed);
        fill_choices(p, data, seed);
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
            programs.back() =
                seed % 3 == 0 ? in_columns(std::move(programs.back())) : with_choices(std::move(programs.back()), r);
        }
        for (auto const& p : programs)
            kernels.add(codegen::lower(kernels::row_reduction_nest(p, *isa), "rows").value());
        kernels.compile();
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            CAPTURE(isa->name, i);
            auto data = random_data(kernels[i], i);
            fill_choices(programs[i], data, i);
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

TEST_CASE("an integer out of range chooses the first row, and the status tells it") {
    writer w;
    w.p.dims = {3, 16};
    array_view rows{.elements = 4 * 16};
    rows.strides = {0, 1};
    w.array(rows);
    w.p.results = {{w.number(scalar_op::add, 0, 1), true}};
    kernels::chosen_rows c{0, {.entries = 4, .stride = 16}};
    c.by.at.elements = 3, c.by.at.strides = {1, 0};
    w.p.chosen = {c};
    auto const k = codegen::lower(kernels::row_reduction_nest(w.p, isa::avx2), "rows").value();
    auto data = random_data(k, 1);
    data[1] = {-4, 4, 3}, data[3] = {0};
    interpreted_kernel::machine m{k, data};
    m.run(0, k.parallel_extent);
    CHECK(data[3][0] == 1);
    CHECK(data[2][0] == data[0][0] + 1);
    CHECK(data[2][16] == data[0][0] + 1);
    CHECK(data[2][32] == data[0][48] + 1);
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
