#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "codegen/interpreted_kernel.hpp"
#include <gsub/codegen/lower.hpp>
#include <gsub/codegen/matmul.hpp>
#include <gsub/core/result.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace matmul_test {

using namespace gsub;
using codegen::isa;
using codegen::matmul_config;
using codegen::matmul_shape;

// Operands row-major, small whole numbers.
struct problem {
    matmul_shape s;
    std::vector<float> a, w, bias, residual; // [m, k], [k, n], [n], [m, n]

    problem(matmul_shape const& shape, std::uint64_t seed) : s(shape) {
        random_stream r{seed};
        auto const fill = [&](std::vector<float>& v, std::int64_t n) {
            for (; n > 0; --n) v.push_back(static_cast<float>(r.below(9)) - 4);
        };
        fill(a, s.m * s.k);
        fill(w, s.k * s.n);
        if (s.bias) fill(bias, s.n);
        if (s.residual) fill(residual, s.m * s.n);
    }
    [[nodiscard]] std::vector<double> expected() const {
        std::vector<double> y;
        for (std::int64_t i = 0; i < s.m; ++i)
            for (std::int64_t j = 0; j < s.n; ++j) {
                double sum = s.bias ? static_cast<double>(bias[static_cast<std::size_t>(j)]) : 0;
                for (std::int64_t k = 0; k < s.k; ++k)
                    sum += static_cast<double>(a[static_cast<std::size_t>(i * s.k + k)]) *
                           static_cast<double>(w[static_cast<std::size_t>(k * s.n + j)]);
                if (s.residual) sum += static_cast<double>(residual[y.size()]);
                if (s.low > -1e300) sum = std::max(sum, s.low);
                if (s.high < 1e300) sum = std::min(sum, s.high);
                y.push_back(sum);
            }
        return y;
    }
    [[nodiscard]] interpret::arrays buffers(isa const& set) const {
        auto const wide = [](std::vector<float> const& v) { return std::vector<double>(v.begin(), v.end()); };
        interpret::arrays out{wide(a), wide(codegen::pack_matmul_weights(s, w, false, set))};
        if (s.bias) {
            out.push_back(wide(bias));
            auto const l = static_cast<std::size_t>(set.lanes());
            out.back().resize((bias.size() + l - 1) / l * l);
        }
        if (s.residual) out.push_back(wide(residual));
        out.emplace_back(static_cast<std::size_t>(s.m * s.n), interpret::untouched);
        return out;
    }
};

matmul_shape random_shape(random_stream& r) {
    auto const upto = [&](std::uint64_t n) { return static_cast<std::int64_t>(1 + r.below(n)); };
    matmul_shape s;
    s.m = upto(40), s.n = upto(40), s.k = upto(40);
    s.bias = r.below(2), s.residual = r.below(2);
    if (r.below(2)) s.low = 0;
    if (r.below(3) == 0) s.high = 20;
    return s;
}
matmul_config random_config(random_stream& r, matmul_shape const& s) {
    matmul_config c;
    c.tile_m = static_cast<std::int32_t>(1 + r.below(12));
    c.tile_n = static_cast<std::int32_t>(1 + r.below(4));
    for (std::int32_t u : {2, 3, 4})
        if (s.k % u == 0 && r.below(2)) c.unroll_k = u;
    return c;
}
std::string text_of(matmul_shape const& s, matmul_config const& c) {
    std::string out;
    for (auto v : {s.m, s.n, s.k, std::int64_t{s.bias}, std::int64_t{s.residual}}) out += std::to_string(v) + " ";
    for (auto v : {c.tile_m, c.tile_n, c.unroll_k}) out += ", " + std::to_string(v);
    return out;
}

TEST_CASE("a product of any size, with any knobs, is right") {
    for (auto const* set : {&codegen::baseline, &codegen::avx2, &codegen::avx512})
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r);
            auto const c = seed % 2 ? random_config(r, s) : codegen::default_config(s, *set);
            CAPTURE(set->name, seed, text_of(s, c));
            problem const p{s, seed};
            auto const k = codegen::lower(codegen::matmul_nest(s, c, *set), "matmul").value();
            auto data = p.buffers(*set);
            interpreted_kernel::machine m{k, data};
            REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
            CHECK(data.back() == p.expected());
            auto const& written = m.written(data.size() - 1);
            CHECK(std::all_of(written.begin(), written.end(), [](int n) { return n == 1; }));
        }
}

TEST_CASE("compiled products stay within their buffers and are right") {
    for (auto const* set : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*set};
        std::vector<std::pair<matmul_shape, matmul_config>> cases;
        for (std::uint64_t seed = 900; seed < 930; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r);
            cases.emplace_back(s, seed % 2 ? random_config(r, s) : codegen::default_config(s, *set));
            kernels.add(codegen::lower(codegen::matmul_nest(s, cases.back().second, *set), "matmul").value());
        }
        kernels.compile();
        for (std::size_t i = 0; i < cases.size(); ++i) {
            CAPTURE(set->name, i, text_of(cases[i].first, cases[i].second));
            problem const p{cases[i].first, i};
            auto const last = kernels[i].parallel_extent;
            auto data = p.buffers(*set);
            kernels.run(i, data, compiled_kernel::guarded::side::end, {0, last});
            CHECK(data.back() == p.expected());
            data = p.buffers(*set);
            kernels.run(i, data, compiled_kernel::guarded::side::begin, {0, last / 2, last});
            CHECK(data.back() == p.expected());
        }
    }
}

TEST_CASE("the chosen configuration fits the registers and applies") {
    for (auto const* set : {&codegen::baseline, &codegen::avx2, &codegen::avx512, &codegen::neon})
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            random_stream r{seed};
            auto const s = random_shape(r);
            auto const c = codegen::default_config(s, *set);
            CAPTURE(set->name, text_of(s, c));
            CHECK(s.k % c.unroll_k == 0);
            auto const k = codegen::lower(codegen::matmul_nest(s, c, *set), "matmul").value();
            CHECK(k.live + c.tile_n + 1 <= set->registers);
        }
}

TEST_CASE("weights are packed alike from rows and from columns") {
    matmul_shape s;
    s.n = 11, s.k = 5;
    std::vector<float> rows(55), columns(55);
    for (std::size_t k = 0; k < 5; ++k)
        for (std::size_t j = 0; j < 11; ++j) rows[k * 11 + j] = columns[j * 5 + k] = static_cast<float>(k * 100 + j);
    auto const packed = codegen::pack_matmul_weights(s, rows, false, codegen::avx2);
    CHECK(packed == codegen::pack_matmul_weights(s, columns, true, codegen::avx2));
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
                   matmul_config{.unroll_k = 4}}) {
        auto const made = capture([&] { return codegen::matmul_nest(s, c, codegen::avx2); });
        REQUIRE_FALSE(made.has_value());
        CHECK(made.error().code() == error_code::usage);
    }
}

} // namespace matmul_test
