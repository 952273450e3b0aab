#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "oracles/interpreted_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/kernels/elementwise.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace elementwise_test {

using namespace gsub;
using gsub::isa;
using kernels::elementwise_op;
using loop::scalar_op;

constexpr scalar_op every_op[] = {scalar_op::add,    scalar_op::subtract, scalar_op::multiply,
                                  scalar_op::divide, scalar_op::maximum,  scalar_op::minimum};
constexpr scalar_op every_function[] = {scalar_op::negate,      scalar_op::absolute,  scalar_op::tanh,
                                        scalar_op::erf,         scalar_op::sigmoid,   scalar_op::square_root,
                                        scalar_op::exponential, scalar_op::logarithm, scalar_op::floor};

std::vector<elementwise_op> random_epilogue(random_stream& r, std::int32_t arrays) {
    std::vector<elementwise_op> ops;
    for (auto n = 1 + r.below(5); n-- > 0;) {
        auto const known = static_cast<std::uint64_t>(arrays) + ops.size();
        elementwise_op op;
        op.op = every_op[r.below(6)];
        // Inexact ones last: what follows could make their error any size.
        if (r.below(3) == 0) op.op = every_function[r.below(n == 0 ? 5 : 2)];
        op.left = static_cast<std::int32_t>(ops.empty() ? r.below(known) : known - 1);
        op.right = static_cast<std::int32_t>(r.below(known + 1)) - 1;
        op.value = static_cast<double>(r.below(5)) + 0.5;
        ops.push_back(op);
    }
    return ops;
}
interpret::arrays inputs_of(std::int64_t n, std::int32_t arrays, std::uint64_t seed) {
    random_stream r{seed};
    interpret::arrays out(static_cast<std::size_t>(arrays) + 1);
    for (auto& a : out)
        for (std::int64_t i = 0; i < n; ++i) a.push_back(static_cast<double>(r.below(9)) - 4);
    out.back().assign(static_cast<std::size_t>(n), interpret::untouched);
    return out;
}
// What is wrong with the output; empty where nothing is.
std::string fault(std::vector<elementwise_op> const& ops, interpret::arrays const& data) {
    for (std::size_t i = 0; i < data.back().size(); ++i) {
        std::vector<double> values;
        for (std::size_t a = 0; a + 1 < data.size(); ++a) values.push_back(data[a][i]);
        for (auto const& c : ops)
            values.push_back(interpret::apply(c.op, values[static_cast<std::size_t>(c.left)],
                                              c.right < 0 ? c.value : values[static_cast<std::size_t>(c.right)]));
        auto const want = values.back(), got = data.back()[i];
        if (!(std::abs(got - want) <= 1e-4 * (1 + std::abs(want)) || got == want || (got != got && want != want)))
            return "element " + std::to_string(i) + " is " + std::to_string(got) + ", not " + std::to_string(want);
    }
    return {};
}

TEST_CASE("chains of any length over arrays of any size are right") {
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::int64_t n = 1; n <= 200; ++n) {
            random_stream r{static_cast<std::uint64_t>(n)};
            auto const arrays = static_cast<std::int32_t>(1 + r.below(3));
            auto const ops = random_epilogue(r, arrays);
            CAPTURE(isa->name, n);
            auto const k = codegen::lower(kernels::elementwise_nest(n, arrays, ops, *isa), "chain").value();
            auto data = inputs_of(n, arrays, 1);
            interpreted_kernel::machine m{k, data};
            REQUIRE_NOTHROW(m.run(0, k.parallel_extent));
            CHECK(fault(ops, data) == "");
        }
}

TEST_CASE("arrays of several parallel pieces, the last one not whole, are right") {
    std::vector<elementwise_op> const ops{{scalar_op::maximum, 0, -1, 1.0}};
    for (auto const* isa : {&isa::baseline, &isa::avx2, &isa::avx512})
        for (std::int64_t n : {1024, 1025, 1039, 1040, 1600, 2047, 2048, 2049, 3000, 5003}) {
            CAPTURE(isa->name, n);
            auto const made = codegen::lower(kernels::elementwise_nest(n, 1, ops, *isa), "chain");
            REQUIRE(made.has_value());
            auto data = inputs_of(n, 1, 2);
            interpreted_kernel::machine m{*made, data};
            REQUIRE_NOTHROW(m.run(0, made->parallel_extent));
            CHECK(fault(ops, data) == "");
        }
}

TEST_CASE("compiled chains stay within their arrays and are right") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<std::vector<elementwise_op>> chains;
        std::vector<std::pair<std::int64_t, std::int32_t>> sizes;
        for (std::int64_t n = 1; n <= 200; n += n < 40 ? 1 : 23) {
            random_stream r{static_cast<std::uint64_t>(n) + 1000};
            auto const arrays = static_cast<std::int32_t>(1 + r.below(3));
            chains.push_back(random_epilogue(r, arrays));
            sizes.emplace_back(n, arrays);
            kernels.add(codegen::lower(kernels::elementwise_nest(n, arrays, chains.back(), *isa), "chain").value());
        }
        kernels.compile();
        for (std::size_t i = 0; i < chains.size(); ++i) {
            CAPTURE(isa->name, sizes[i].first);
            for (auto side : {compiled_kernel::guarded::side::begin, compiled_kernel::guarded::side::end}) {
                auto data = inputs_of(sizes[i].first, sizes[i].second, i);
                kernels.run(i, data, side, {0, kernels[i].parallel_extent});
                CHECK(fault(chains[i], data) == "");
            }
        }
    }
}

TEST_CASE("NaN and infinities pass as the operations say") {
    auto const nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<std::vector<elementwise_op>> chains;
        for (auto op : every_op) {
            chains.push_back({{op, 0, 1, 0}});
            chains.push_back({{op, 0, -1, 2}});
        }
        for (auto op : every_function) chains.push_back({{op, 1}});
        for (auto const& ops : chains)
            kernels.add(codegen::lower(kernels::elementwise_nest(25, 2, ops, *isa), "chain").value());
        kernels.compile({});
        double const special[] = {nan, infinity, -infinity, 0, 1.5};
        interpret::arrays data(3);
        for (auto a : special)
            for (auto b : special) data[0].push_back(a), data[1].push_back(b), data[2].push_back(0);
        for (std::size_t i = 0; i < chains.size(); ++i) {
            CAPTURE(isa->name, static_cast<int>(chains[i][0].op), chains[i][0].right);
            kernels.run(i, data, compiled_kernel::guarded::side::end, {0, kernels[i].parallel_extent});
            CHECK(fault(chains[i], data) == "");
        }
    }
}

} // namespace elementwise_test
