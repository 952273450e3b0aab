#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "oracles/interpreted_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/attention.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace attention_test {

using namespace gsub;
using kernels::attention_config;
using kernels::attention_shape;
using loop::scalar_op;

struct problem {
    attention_shape s;
    std::vector<std::vector<float>> operands; // q, keys, values, a mask where there is one

    problem(attention_shape const& shape, std::uint64_t seed) : s(shape) {
        random_stream r{seed};
        auto const fill = [&](std::int64_t n) {
            auto& v = operands.emplace_back();
            for (; n > 0; --n) v.push_back(static_cast<float>(r.normal()));
        };
        fill(s.batches() * s.m * s.k);
        fill(s.batches() * s.k * s.s);
        fill(s.batches() * s.s * s.n);
        for (auto const& v : s.arrays) fill(v.elements);
    }
    [[nodiscard]] double score(std::int64_t b, std::int64_t i, std::int64_t j) const {
        double sum = 0;
        for (std::int64_t k = 0; k < s.k; ++k) sum += q(b, i, k) * of(1, ((b * s.k) + k) * s.s + j);
        if (!s.arrays.empty()) sum = sum * 0.5 + of(3, j);
        return sum;
    }
    [[nodiscard]] std::vector<double> expected() const {
        std::vector<double> y(static_cast<std::size_t>(s.batches() * s.m * s.n));
        for (std::int64_t b = 0; b < s.batches(); ++b)
            for (std::int64_t i = 0; i < s.m; ++i) {
                std::vector<double> e;
                for (std::int64_t j = 0; j < s.s; ++j) e.push_back(score(b, i, j));
                auto const most = *std::max_element(e.begin(), e.end());
                double sum = 0;
                for (auto& x : e) sum += x = std::exp(x - most);
                for (std::int64_t c = 0; c < s.n; ++c) {
                    double out = 0;
                    for (std::int64_t j = 0; j < s.s; ++j)
                        out += e[static_cast<std::size_t>(j)] / sum * of(2, (b * s.s + j) * s.n + c);
                    y[static_cast<std::size_t>((b * s.m + i) * s.n + c)] = out;
                }
            }
        return y;
    }
    [[nodiscard]] interpret::arrays buffers(codegen::kernel const& made) const {
        interpret::arrays out;
        for (auto const& v : operands) out.emplace_back(v.begin(), v.end());
        for (auto i = out.size(); i < made.buffers.size(); ++i)
            out.emplace_back(static_cast<std::size_t>(made.buffers[i].elements()), interpret::untouched);
        return out;
    }

private:
    [[nodiscard]] double of(std::size_t x, std::int64_t i) const {
        return static_cast<double>(operands[x][static_cast<std::size_t>(i)]);
    }
    // Queries may stand with their first batch dimension inside of the rows, as heads do.
    [[nodiscard]] double q(std::int64_t b, std::int64_t i, std::int64_t k) const {
        return of(0, s.q.strides.empty() ? (b * s.m + i) * s.k + k : b * s.q.strides[0] + i * s.q.strides[1] + k);
    }
};

attention_shape random_shape(random_stream& r) {
    auto const upto = [&](std::uint64_t n) { return static_cast<std::int64_t>(1 + r.below(n)); };
    attention_shape s;
    s.m = upto(40), s.n = upto(40), s.k = upto(20), s.s = upto(40);
    if (r.below(2)) s.batch.push_back(upto(3));
    if (s.batch.size() == 1 && r.below(2)) s.q = {s.batch[0] * s.m * s.k, 0, {s.k, s.batch[0] * s.k, 1}};
    if (r.below(2)) { // scaled, and a mask of the keys
        kernels::array_view mask{s.s, 0, {}};
        mask.strides.resize(s.batch.size() + 2, 0);
        mask.strides.back() = 1;
        s.arrays.push_back(mask);
        s.epilogue = {{scalar_op::multiply, 0, -1, 0.5}, {scalar_op::add, 2, 1, 0}};
    }
    return s;
}
attention_config random_config(random_stream& r, attention_shape const& s) {
    auto const tile = [&] {
        return kernels::register_tile{static_cast<std::int32_t>(1 + r.below(6)),
                                      static_cast<std::int32_t>(1 + r.below(4))};
    };
    return {static_cast<std::int64_t>(1 + r.below(static_cast<std::uint64_t>(s.m))), tile(), tile()};
}
double worst(std::vector<double> const& a, std::vector<double> const& b) {
    double gap = 0, largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        gap = std::max(gap, std::isnan(a[i]) ? 1e9 : std::abs(a[i] - b[i]));
        largest = std::max(largest, std::abs(b[i]));
    }
    return gap / largest;
}

TEST_CASE("attention of any size, with any knobs, is right and stores each result once") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r);
            auto const c = seed % 2 ? random_config(r, s) : kernels::default_config(s, *isa);
            CAPTURE(isa->name, seed, s.m, s.k, s.s, s.n, s.batches(), c.rows);
            problem const p{s, seed};
            auto const k = codegen::lower(kernels::attention_nest(s, c, *isa), "attention").value();
            auto data = p.buffers(k);
            interpreted_kernel::machine m{k, data};
            REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
            auto const y = 3 + s.arrays.size();
            CHECK(worst(data[y], p.expected()) <= 1e-5);
            auto const& written = m.written(y);
            CHECK(std::all_of(written.begin(), written.end(), [](int n) { return n == 1; }));
        }
}

TEST_CASE("compiled attention stays within its buffers and is right") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<attention_shape> cases;
        for (std::uint64_t seed = 300; seed < 312; ++seed) {
            random_stream r{seed};
            auto const& s = cases.emplace_back(random_shape(r));
            auto const c = seed % 2 ? random_config(r, s) : kernels::default_config(s, *isa);
            kernels.add(codegen::lower(kernels::attention_nest(s, c, *isa), "attention").value());
        }
        kernels.compile();
        for (std::size_t i = 0; i < cases.size(); ++i) {
            CAPTURE(isa->name, i);
            problem const p{cases[i], i};
            auto const last = kernels[i].parallel_extent;
            auto const y = 3 + cases[i].arrays.size();
            auto data = p.buffers(kernels[i]);
            kernels.run(i, data, compiled_kernel::guarded::side::end, {0, last});
            CHECK(worst(data[y], p.expected()) <= 1e-5);
            data = p.buffers(kernels[i]);
            kernels.run(i, data, compiled_kernel::guarded::side::begin, {0, last / 2, last});
            CHECK(worst(data[y], p.expected()) <= 1e-5);
        }
    }
}

TEST_CASE("a row of which everything is masked is no number, and no other row is") {
    attention_shape s;
    s.m = 5, s.k = 4, s.s = 9, s.n = 6;
    s.arrays.push_back({45, 0, {9, 1}});
    s.epilogue = {{scalar_op::add, 0, 1, 0}};
    problem p{s, 1};
    std::fill(p.operands[3].begin(), p.operands[3].end(), 0.0f);
    std::fill_n(p.operands[3].begin() + 2 * 9, 9, -std::numeric_limits<float>::infinity());
    auto const k =
        codegen::lower(kernels::attention_nest(s, kernels::default_config(s, isa::avx2), isa::avx2), "attention")
            .value();
    auto data = p.buffers(k);
    interpreted_kernel::machine m{k, data};
    m.run(0, k.parallel_extent);
    for (std::size_t i = 0; i < 30; ++i) CHECK(std::isnan(data[4][i]) == (i / 6 == 2));
}

TEST_CASE("knobs that do not apply are refused by name") {
    attention_config c;
    c.rows = 0;
    CHECK_THROWS_WITH(kernels::attention_nest({}, c, isa::avx2), Catch::Matchers::Contains("attention: a knob"));
}

} // namespace attention_test
