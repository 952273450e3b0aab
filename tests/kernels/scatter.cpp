#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#ifdef GSUB_TEST_JIT
#include <gsub/codegen/x86/emit_x86.hpp>
#endif
#include <gsub/core/random.hpp>
#include <gsub/ir/types/tensor.hpp>
#include <gsub/kernels/scatter.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace scatter_test {

using namespace gsub;
using namespace gsub::kernels;
using loop::scalar_op;

std::int64_t below(random_stream& r, std::int64_t n) {
    return static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(n)));
}

// What is there, and an update, as the evaluator of scatters combines them, in double.
double met(std::optional<scalar_op> combined, double a, double b, dtype t) {
    if (!combined) return b;
    if (*combined == scalar_op::maximum) return a > b || a != a ? a : b;
    if (*combined == scalar_op::minimum) return a < b || a != a ? a : b;
    auto const v = *combined == scalar_op::add ? a + b : a * b;
    return t == dtype::f32 ? static_cast<double>(static_cast<float>(v)) : interpret::held(v, t);
}

struct job {
    scatter_shape what;
    std::size_t kernel;
    std::vector<std::int64_t> integers;
    std::vector<double> data, updates;

    job(scatter_shape s, std::size_t k, std::uint64_t seed) : what(std::move(s)), kernel(k) {
        random_stream r{seed};
        auto const entries = what.dims[static_cast<std::size_t>(what.axis)];
        for (std::int64_t i = 0; i < what.at.elements; ++i) integers.push_back(below(r, 2 * entries) - entries);
        auto const fill = [&](std::vector<double>& to, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) {
                auto const v = interpret::held(interpret::small_number(r, what.element), what.element);
                auto const special = is_floating(what.element) && r.below(12) == 0;
                to.push_back(!special          ? v
                             : r.below(2) == 0 ? std::numeric_limits<double>::quiet_NaN()
                                               : -std::numeric_limits<double>::infinity());
            }
        };
        fill(data, what.elements()), fill(updates, product(as_span(what.updates)));
    }

    // The result, one update after another.
    [[nodiscard]] std::vector<double> expected() const {
        auto out = data;
        auto const& s = what;
        auto const to = array_view::contiguous(as_span(s.dims));
        std::vector<std::int64_t> at(s.updates.size(), 0);
        for (auto const update : updates) {
            std::int64_t place = 0, integer = 0;
            for (std::size_t d = 0; d < at.size(); ++d) integer += at[d] * s.at.strides[d];
            auto k = integers[static_cast<std::size_t>(integer)];
            for (std::size_t d = 0; d < at.size(); ++d) {
                auto const is_axis = d == static_cast<std::size_t>(s.axis);
                place += (is_axis ? k < 0 ? k + s.dims[d] : k : at[d]) * to.strides[d];
            }
            auto& element = out.at(static_cast<std::size_t>(place));
            element = met(s.combined, element, update, s.element);
            for (auto d = at.size(); d > 0 && ++at[d - 1] == s.updates[d - 1]; --d) at[d - 1] = 0;
        }
        return out;
    }
    // What differs; every buffer ends, or begins, at memory that cannot be touched.
    [[nodiscard]] std::string difference(codegen::kernel_function f, std::int64_t last) const {
        using compiled_kernel::guarded;
        auto const want = expected();
        auto const size = byte_size(what.element), width = byte_size(what.integers);
        for (auto const flush : {guarded::side::end, guarded::side::begin}) {
            std::vector<guarded> memory;
            auto const add = [&](std::vector<double> const& from) {
                memory.emplace_back(from.size(), flush, size);
                auto* const to = reinterpret_cast<char*>(memory.back().data());
                for (std::size_t i = 0; i < from.size(); ++i) interpret::put(from[i], what.element, to + i * size);
            };
            add(data);
            memory.emplace_back(integers.size(), flush, width);
            for (std::size_t i = 0; i < integers.size(); ++i)
                std::memcpy(reinterpret_cast<char*>(memory.back().data()) + i * width, &integers[i], width);
            add(updates);
            memory.emplace_back(want.size(), flush, size);
            std::int32_t status = 0;
            std::vector<void*> at;
            for (auto const& m : memory) at.push_back(m.data());
            at.push_back(&status);
            f(at.data(), last / 3, last), f(at.data(), 0, last / 3);
            if (status != 0) return "a choice is out of range";
            if (!memory.back().intact()) return "something is stored beside the result";
            for (std::size_t i = 0; i < want.size(); ++i) {
                auto const got = interpret::get(what.element, reinterpret_cast<char*>(memory.back().data()) + i * size);
                if (got != want[i] && (got == got || want[i] == want[i]))
                    return "element " + std::to_string(i) + " is " + std::to_string(got) + ", not " +
                           std::to_string(want[i]);
            }
        }
        return {};
    }
};

std::optional<scalar_op> any_combination(random_stream& r, dtype t) {
    std::optional<scalar_op> const all[] = {
        {}, scalar_op::add, scalar_op::multiply, scalar_op::maximum, scalar_op::minimum};
    auto const one = all[r.below(5)];
    return one && loop::computes(*one, loop::computed_in(t)) ? one : std::nullopt;
}
scatter_shape random_scatter(random_stream& r) {
    auto const type = r.below(2) == 0 ? dtype::f32 : stored_dtypes[r.below(std::size(stored_dtypes))];
    auto const integers = r.below(2) ? dtype::i32 : dtype::i64;
    ints dims;
    for (auto d = 1 + r.below(4); d-- > 0;) dims.push_back(1 + below(r, r.below(3) == 0 ? 40 : 5));
    if (r.below(6) == 0) dims[0] = 4000; // in pieces
    auto const combined = any_combination(r, type);
    if (r.below(2) == 0) return scattered_entries(type, dims, 1 + below(r, 40), integers, combined);
    auto const axis = r.below(dims.size());
    auto updates = dims;
    for (std::size_t d = 0; d < dims.size(); ++d)
        if (d == axis || r.below(3) == 0) updates[d] = 1 + below(r, d == axis ? 9 : dims[d]);
    return scattered_elements(type, dims, updates, axis, integers, combined);
}
// Shapes that are cut into pieces in each way.
std::vector<scatter_shape> large_scatters() {
    std::vector<scatter_shape> all;
    for (auto const& combined : {std::optional<scalar_op>{}, std::optional{scalar_op::add}}) {
        ints const rows{1531, 19}, matrix{30, 300}, line{9001}, cube{3, 211, 40}, few{90, 3}, half{30, 150};
        all.push_back(scattered_entries(dtype::f32, rows, 70, dtype::i64, combined));
        all.push_back(scattered_entries(dtype::f16, rows, 70, dtype::i32, combined));
        all.push_back(scattered_entries(dtype::f32, line, 50, dtype::i64, combined));
        all.push_back(scattered_elements(dtype::f32, matrix, ints{40, 300}, 0, dtype::i64, combined));
        all.push_back(scattered_elements(dtype::i32, matrix, ints{40, 299}, 0, dtype::i32, combined));
        all.push_back(scattered_elements(dtype::f64, matrix, half, 1, dtype::i32, combined));
        all.push_back(scattered_elements(dtype::f32, cube, ints{2, 90, 39}, 1, dtype::i64, combined));
        all.push_back(scattered_elements(dtype::f32, few, ints{90, 3}, 0, dtype::i64, combined));
    }
    return all;
}

// By each emitter; machine code in memory, if not `compiled`, is for some types alone.
int check(std::vector<scatter_shape> const& shapes, gsub::isa const& isa, bool compiled) {
    compiled_kernel::batch kernels{isa};
    std::vector<job> jobs;
    for (auto const& s : shapes) {
        auto k = codegen::lower(scatter_nest(s, isa), "scatter").value();
        jobs.emplace_back(s, kernels.add(std::move(k)), jobs.size());
    }
    if (compiled) kernels.compile();
    auto run = 0;
    for (auto const& j : jobs) {
        auto const& k = kernels[j.kernel];
        codegen::kernel_function f = nullptr;
        if (compiled) f = kernels.function(j.kernel);
#ifdef GSUB_TEST_JIT
        auto const made = codegen::emit_x86(k, isa);
        if (!compiled && made) f = reinterpret_cast<codegen::kernel_function>(made->entry);
#endif
        if (!f) continue;
        ++run;
        CAPTURE(isa.name, to_string(j.what.element), j.what.axis, j.kernel, to_string(k));
        CHECK(j.difference(f, k.parallel_extent) == "");
    }
    return run;
}

} // namespace scatter_test

TEST_CASE("a scatter stores one update after another, for every type, mode and instruction set") {
    using namespace scatter_test;
    for (auto const* isa : compiled_kernel::sets()) {
        random_stream r{5};
        auto shapes = large_scatters();
        for (int i = 0; i < 80; ++i) shapes.push_back(random_scatter(r));
        CHECK(check(shapes, *isa, true) == static_cast<int>(shapes.size()));
    }
}

#ifdef GSUB_TEST_JIT
TEST_CASE("machine code of a scatter stores one update after another") {
    using namespace scatter_test;
    for (auto const* isa : compiled_kernel::sets()) {
        if (isa == &isa::baseline) continue;
        random_stream r{6};
        auto shapes = large_scatters();
        for (int i = 0; i < 300; ++i) shapes.push_back(random_scatter(r));
        CHECK(check(shapes, *isa, false) > 60);
    }
}
#endif

TEST_CASE("a scatter tells of an entry that is not there") {
    using namespace scatter_test;
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        for (std::int64_t const inner : {1, 5})
            kernels.add(
                codegen::lower(scatter_nest(scattered_entries(dtype::f32, ints{5, inner}, 3, dtype::i64), *isa), "k")
                    .value());
        kernels.compile();
        for (std::size_t k = 0; k < 2; ++k)
            for (std::int64_t const wrong : {std::int64_t{5}, std::int64_t{-6}, std::int64_t{1} << 40}) {
                std::vector<float> x(25, 1), updates(15, 2), y(25, -1.0f);
                std::int64_t const chosen[] = {-1, wrong, 4};
                std::int32_t status = 0;
                void* const at[] = {x.data(), const_cast<std::int64_t*>(chosen), updates.data(), y.data(), &status};
                kernels.function(k)(at, 0, kernels[k].parallel_extent);
                CHECK(status == 1);
            }
    }
}

TEST_CASE("updates of one place run in one thread, and pieces of the result beside each other") {
    using namespace scatter_test;
    auto const pieces = [](scatter_shape const& s) { return scatter_nest(s, isa::avx2).stages()[1].parallel_extent(); };
    CHECK(pieces(scattered_entries(dtype::f32, ints{200000, 64}, 12000, dtype::i64)) == 16);
    CHECK(pieces(scattered_elements(dtype::f32, ints{8, 1000}, ints{8, 10}, 1, dtype::i64)) == 8);
    CHECK(pieces(scattered_elements(dtype::f32, ints{1000, 4096}, ints{1000, 4096}, 0, dtype::i64)) == 16);
    CHECK(pieces(scattered_elements(dtype::f32, ints{1000}, ints{1000}, 0, dtype::i64)) == 1);
    CHECK(pieces(scattered_elements(dtype::f32, ints{1000000}, ints{1000}, 0, dtype::i64)) == 16);
}

TEST_CASE("scatters of types of one size have one text where nothing is combined") {
    using namespace scatter_test;
    auto const text = [](dtype t, std::optional<scalar_op> combined) {
        auto const nest = scatter_nest(scattered_entries(t, ints{7, 9}, 3, dtype::i64, combined), isa::avx2);
        return codegen::emit_cpp(codegen::lower(nest, "k").value(), "k");
    };
    CHECK(text(dtype::f32, {}) == text(dtype::i32, {}));
    CHECK(text(dtype::f32, scalar_op::add) != text(dtype::i32, scalar_op::add));
}
