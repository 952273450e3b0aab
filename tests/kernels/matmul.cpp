#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "oracles/interpreted_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/matmul.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace matmul_test {

using namespace gsub;
using gsub::isa;
using kernels::matmul_config;
using kernels::matmul_shape;

using kernels::array_view;
using loop::scalar_op;

// Operands of small whole numbers; the results are what the definition says.
struct problem {
    matmul_shape s;
    std::vector<std::vector<float>> operands; // a, b (or weights row-major), bias, arrays

    problem(matmul_shape const& shape, std::uint64_t seed) : s(shape) {
        random_stream r{seed};
        auto const fill = [&](std::int64_t n) {
            auto& v = operands.emplace_back();
            for (; n > 0; --n) v.push_back(static_cast<float>(r.below(9)) - 4);
        };
        fill(view(s.a, s.m, s.k).elements);
        fill(s.constant ? s.k * s.n : view(s.b, s.k, s.n).elements);
        if (s.bias) fill(s.n);
        for (auto const& v : s.arrays) fill(v.elements);
    }
    [[nodiscard]] array_view view(array_view const& v, std::int64_t rows, std::int64_t columns) const {
        if (!v.strides.empty()) return v;
        auto dims = s.batch;
        dims.push_back(rows), dims.push_back(columns);
        return array_view::contiguous(dims);
    }
    // Where an element lies in an array.
    [[nodiscard]] std::size_t at(array_view const& v, std::int64_t batch, std::int64_t row, std::int64_t column) const {
        auto const dims = s.batch.size();
        auto place = v.offset + row * v.strides[dims] + column * v.strides[dims + 1];
        for (auto d = dims; d-- > 0; batch /= s.batch[d]) place += batch % s.batch[d] * v.strides[d];
        return static_cast<std::size_t>(place);
    }
    [[nodiscard]] std::vector<double> expected() const {
        auto const a = view(s.a, s.m, s.k), y = view(s.y, s.m, s.n);
        auto const b = s.constant ? array_view{} : view(s.b, s.k, s.n);
        std::vector<double> out(static_cast<std::size_t>(y.elements), interpret::untouched);
        for (std::int64_t g = 0; g < s.batches(); ++g)
            for (std::int64_t i = 0; i < s.m; ++i)
                for (std::int64_t j = 0; j < s.n; ++j) {
                    double sum = s.bias ? static_cast<double>(operands[2][static_cast<std::size_t>(j)]) : 0;
                    for (std::int64_t k = 0; k < s.k; ++k)
                        sum += static_cast<double>(operands[0].at(at(a, g, i, k))) *
                               static_cast<double>(
                                   operands[1].at(s.constant ? static_cast<std::size_t>(k * s.n + j) : at(b, g, k, j)));
                    std::vector<double> values{sum};
                    for (std::size_t x = 0; x < s.arrays.size(); ++x)
                        values.push_back(static_cast<double>(
                            operands[operands.size() - s.arrays.size() + x].at(at(s.arrays[x], g, i, j))));
                    for (auto const& op : s.epilogue)
                        values.push_back(
                            interpret::apply(op.op, values[static_cast<std::size_t>(op.left)],
                                             op.right < 0 ? op.value : values[static_cast<std::size_t>(op.right)]));
                    out.at(at(y, g, i, j)) = s.epilogue.empty() ? sum : values.back();
                }
        return out;
    }
    [[nodiscard]] interpret::arrays buffers(codegen::kernel const& made, isa const& isa) const {
        interpret::arrays out;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            auto const v =
                i == 1 && s.constant ? kernels::pack_matmul_weights(s, operands[i], false, isa) : operands[i];
            out.emplace_back(v.begin(), v.end());
        }
        if (s.bias) {
            auto const l = static_cast<std::size_t>(isa.lanes());
            out[2].resize((out[2].size() + l - 1) / l * l);
        }
        for (auto i = out.size(); i < made.buffers.size(); ++i)
            out.emplace_back(static_cast<std::size_t>(made.buffers[i].elements()), interpret::untouched);
        return out;
    }
};

// Of a matrix [..., rows, columns] that is stored with its dimensions in any order, the last one last if it must.
array_view random_view(random_stream& r, matmul_shape const& s, std::int64_t rows, std::int64_t columns, bool last) {
    auto dims = s.batch;
    dims.push_back(rows), dims.push_back(columns);
    std::vector<std::size_t> order(dims.size());
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
    auto const movable = order.size() - (last ? 1 : 0);
    std::swap(order[r.below(movable)], order[r.below(movable)]);
    array_view v;
    v.strides.resize(dims.size(), 0);
    std::int64_t stride = 1;
    for (auto i = order.size(); i-- > 0;) {
        v.strides[order[i]] = stride;
        stride *= dims[order[i]];
    }
    v.elements = stride;
    return v;
}

matmul_shape random_shape(random_stream& r) {
    auto const upto = [&](std::uint64_t n) { return static_cast<std::int64_t>(1 + r.below(n)); };
    matmul_shape s;
    s.m = upto(40), s.n = upto(40), s.k = upto(40);
    s.constant = r.below(2);
    if (r.below(2)) {
        s.batch.push_back(upto(3));
        if (r.below(2)) s.batch.push_back(upto(2));
    }
    if (r.below(2)) s.a = random_view(r, s, s.m, s.k, false);
    if (!s.constant && r.below(2)) s.b = random_view(r, s, s.k, s.n, false);
    if (r.below(2)) s.y = random_view(r, s, s.m, s.n, true);
    s.bias = r.below(2);
    auto values = std::int32_t{0};
    if (r.below(2)) { // an addition of a matrix, or of a vector for all rows
        auto v = random_view(r, s, s.m, s.n, false);
        if (r.below(2)) {
            v = {s.n, 0, {}};
            v.strides.resize(s.batch.size() + 2, 0);
            v.strides.back() = 1;
        }
        s.arrays.push_back(v);
        s.epilogue.push_back({scalar_op::add, 0, 1, 0});
        values = 2;
    }
    if (r.below(2)) s.epilogue.push_back({scalar_op::maximum, values, -1, 0});
    return s;
}
matmul_config random_config(random_stream& r, matmul_shape const& s) {
    matmul_config c;
    c.tile_m = static_cast<std::int32_t>(1 + r.below(12));
    c.tile_n = static_cast<std::int32_t>(1 + r.below(4));
    for (std::int32_t u : {2, 3, 4})
        if (s.k % u == 0 && r.below(2)) c.unroll_k = u;
    auto const tiles = static_cast<std::uint64_t>((s.k - 1) / c.unroll_k); // that are less than k
    if (tiles > 0 && r.below(2)) c.tile_k = c.unroll_k * static_cast<std::int32_t>(1 + r.below(tiles));
    return c;
}
std::size_t output_of(codegen::kernel const& k) {
    std::size_t y = 0;
    while (!k.buffers[y].written) ++y;
    return y;
}
std::string text_of(matmul_shape const& s, matmul_config const& c) {
    std::string out;
    for (auto v : {s.batches(), s.m, s.n, s.k, std::int64_t{s.bias}, std::int64_t{s.constant}})
        out += std::to_string(v) + " ";
    for (auto v : {c.tile_m, c.tile_n, c.unroll_k, c.tile_k}) out += ", " + std::to_string(v);
    return out;
}

TEST_CASE("a product of any size, with any knobs, is right") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r);
            auto const c = seed % 2 ? random_config(r, s) : kernels::default_config(s, *isa);
            CAPTURE(isa->name, seed, text_of(s, c));
            problem const p{s, seed};
            auto const k = codegen::lower(kernels::matmul_nest(s, c, *isa), "matmul").value();
            auto data = p.buffers(k, *isa);
            interpreted_kernel::machine m{k, data};
            REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
            auto const y = output_of(k);
            CHECK(data[y] == p.expected());
            auto const& written = m.written(y);
            CHECK(std::all_of(written.begin(), written.end(), [](int n) { return n == 1; }));
        }
}

TEST_CASE("compiled products stay within their buffers and are right") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<std::pair<matmul_shape, matmul_config>> cases;
        for (std::uint64_t seed = 900; seed < 930; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r);
            cases.emplace_back(s, seed % 2 ? random_config(r, s) : kernels::default_config(s, *isa));
            kernels.add(codegen::lower(kernels::matmul_nest(s, cases.back().second, *isa), "matmul").value());
        }
        kernels.compile();
        for (std::size_t i = 0; i < cases.size(); ++i) {
            CAPTURE(isa->name, i, text_of(cases[i].first, cases[i].second));
            problem const p{cases[i].first, i};
            auto const last = kernels[i].parallel_extent;
            auto const y = output_of(kernels[i]);
            auto data = p.buffers(kernels[i], *isa);
            kernels.run(i, data, compiled_kernel::guarded::side::end, {0, last});
            CHECK(data[y] == p.expected());
            data = p.buffers(kernels[i], *isa);
            kernels.run(i, data, compiled_kernel::guarded::side::begin, {0, last / 2, last});
            CHECK(data[y] == p.expected());
        }
    }
}

TEST_CASE("the chosen configuration fits the registers and applies") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512, &isa::neon})
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r);
            auto const c = kernels::default_config(s, *isa);
            CAPTURE(isa->name, text_of(s, c));
            CHECK(s.k % c.unroll_k == 0);
            auto const k = codegen::lower(kernels::matmul_nest(s, c, *isa), "matmul").value();
            CHECK(std::min<std::int64_t>(c.tile_m, s.m) * c.tile_n + c.tile_n + 1 <= isa->registers);
        }
}

TEST_CASE("weights are packed alike from rows and from columns") {
    matmul_shape s;
    s.n = 11, s.k = 5;
    std::vector<float> rows(55), columns(55);
    for (std::size_t k = 0; k < 5; ++k)
        for (std::size_t j = 0; j < 11; ++j) rows[k * 11 + j] = columns[j * 5 + k] = static_cast<float>(k * 100 + j);
    auto const packed = kernels::pack_matmul_weights(s, rows, false, isa::avx2);
    CHECK(packed == kernels::pack_matmul_weights(s, columns, true, isa::avx2));
    REQUIRE(packed.size() == 2 * 5 * 8);
    CHECK(packed[3 * 8 + 7] == 307);
    CHECK(packed[40 + 4 * 8 + 2] == 410);
    CHECK(packed[40 + 3] == 0); // filled up
}

TEST_CASE("knobs of a product that do not apply are refused") {
    matmul_shape s;
    s.m = 4, s.n = 9, s.k = 6;
    CHECK(s.operations() == 2.0 * 4 * 9 * 6);
    for (auto c : {matmul_config{.tile_m = 0}, matmul_config{.tile_n = 0}, matmul_config{.unroll_k = 0},
                   matmul_config{.unroll_k = 4}, matmul_config{.unroll_k = 2, .tile_k = 3}, matmul_config{.tile_k = -1},
                   matmul_config{.tile_k = 6}}) {
        auto const made = capture([&] { return kernels::matmul_nest(s, c, isa::avx2); });
        REQUIRE_FALSE(made.has_value());
        CHECK(made.error().id() == errors::kernel_schedule);
    }
}

} // namespace matmul_test
