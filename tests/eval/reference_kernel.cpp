#include "catch.hpp"
#include "eval/compute.hpp"
#include <gsub/eval/reference_kernel.hpp>

#include <cmath>
#include <limits>

namespace reference_kernel_test {

using namespace gsub;
using compute::near;
using compute::normal;

template <class Op>
concept has_fast_kernel = requires(op_call<float>& k) {
    reference_kernel<Op>::run(k);
};
static_assert(has_fast_kernel<ops::conv> && has_fast_kernel<ops::mat_mul> && has_fast_kernel<ops::gemm>);
static_assert(!has_fast_kernel<ops::add> && !has_fast_kernel<ops::max_pool>);

std::int64_t draw(random_stream& r, std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(high - low + 1)));
}

// The fast kernel against `evaluate<Op>`, in float and double, on one thread and on two.
template <class Op>
void check(attributes_of<Op> const& a, std::vector<tensor> operands) {
    fork_join_executor two{2};
    for (auto element : {dtype::f32, dtype::f64}) {
        for (auto& t : operands) t = t.converted_to(element);
        auto const evaluators = compute::one<Op>(a, operands, {.fast_kernels = false});
        auto const bound = element == dtype::f32 ? 2e-5 : 1e-13;
        CHECK(near(compute::one<Op>(a, operands), evaluators, bound));
        CHECK(near(compute::one<Op>(a, operands, {.threads = &two}), evaluators, bound));
    }
}

TEST_CASE("the tables of the standard operators know their fast kernels") {
    auto const table = table_of<eval_row, standard_ops>();
    CHECK(table[row_of<ops::conv>(standard_ops{})].fast != nullptr);
    CHECK(table[row_of<ops::mat_mul>(standard_ops{})].fast != nullptr);
    CHECK(table[row_of<ops::gemm>(standard_ops{})].fast != nullptr);
    CHECK(table[row_of<ops::add>(standard_ops{})].fast == nullptr);
}

TEST_CASE("the fast convolution is the convolution, for every window, grouping, bias and activation") {
    random_stream r{1};
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        auto const spatial = 1 + seed % 3;
        auto const kind = r.below(4); // 0: one channel a group, 1: pointwise, else general
        attributes_of<ops::conv> a;
        a.group = kind == 0 ? draw(r, 2, 6) : draw(r, 1, 3);
        auto const inputs = kind == 0 ? 1 : draw(r, 1, 4), outputs = draw(r, 1, 3);
        ints x{draw(r, 1, 3), a.group * inputs}, w{a.group * outputs, inputs};
        for (std::size_t i = 0; i < spatial; ++i) {
            auto const size = kind == 1 ? 1 : draw(r, 1, 4), dilation = draw(r, 1, 3);
            a.strides.push_back(kind == 1 && r.below(2) ? 1 : draw(r, 1, 3));
            a.dilations.push_back(dilation);
            w.push_back(size);
            x.push_back(std::max<std::int64_t>(1, window_extent(size, dilation) + draw(r, -2, 6)));
        }
        // Pads of their own on each side; as much as the window needs to fit at least.
        for (std::size_t i = 0; i < spatial; ++i) a.pads.push_back(kind == 1 && r.below(2) ? 0 : draw(r, 0, 3));
        for (std::size_t i = 0; i < spatial; ++i) {
            auto const missing = window_extent(w[i + 2], a.dilations[i]) - x[i + 2] - a.pads[i];
            a.pads.push_back(std::max<std::int64_t>(missing, kind == 1 && r.below(2) ? 0 : draw(r, 0, 3)));
        }
        a.act = static_cast<activation>(r.below(5));
        a.act_min = -0.5, a.act_max = 1;
        std::vector<tensor> operands{normal(x, 3 * seed), normal(w, 3 * seed + 1)};
        if (r.below(2)) operands.push_back(normal({w[0]}, 3 * seed + 2));
        CAPTURE(seed, to_string(operands[0].type()), to_string(operands[1].type()), a.group, to_string(a.act),
                to_string(attribute_value{a.strides}), to_string(attribute_value{a.pads}),
                to_string(attribute_value{a.dilations}));
        check<ops::conv>(a, operands);
    }
}

TEST_CASE("weights that are no finite numbers meet the image, not its padding") {
    auto const infinite = std::numeric_limits<float>::infinity();
    for (float const special : {infinite, -infinite, std::numeric_limits<float>::quiet_NaN()})
        for (std::int64_t const group : {1, 2}) {
            attributes_of<ops::conv> a;
            a.group = group, a.strides = a.dilations = {1, 1}, a.pads = {1, 2, 1, 0};
            auto const x = normal({1, 4, 5, 6}, 1);
            auto weights = normal({4, 4 / group, 3, 3}, 2);
            weights.mutable_data<float>()[7] = special;
            auto const fast = compute::one<ops::conv>(a, {x, weights}),
                       evaluators = compute::one<ops::conv>(a, {x, weights}, {.fast_kernels = false});
            auto const got = fast.data<float>(), want = evaluators.data<float>();
            CAPTURE(special, group);
            for (std::size_t i = 0; i < want.size(); ++i) {
                CHECK(std::isnan(got[i]) == std::isnan(want[i]));
                if (!std::isnan(want[i])) CHECK((got[i] == want[i] || std::abs(got[i] - want[i]) < 1e-4f));
            }
        }
}

TEST_CASE("large convolutions, which are cut into pieces for threads, are the same") {
    attributes_of<ops::conv> a;
    a.strides = {1, 1}, a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
    check<ops::conv>(a, {normal({1, 16, 40, 41}, 1), normal({24, 16, 3, 3}, 2), normal({24}, 3)});
    check<ops::conv>(a, {normal({2, 64, 14, 14}, 4), normal({40, 64, 3, 3}, 5)}); // deep: pieces get small
    a.group = 32;
    check<ops::conv>(a, {normal({1, 32, 37, 50}, 6), normal({64, 1, 3, 3}, 7), normal({64}, 8)}); // depthwise
    a.group = 4, a.strides = {2, 3};
    check<ops::conv>(a, {normal({3, 32, 33, 35}, 9), normal({48, 8, 3, 3}, 10)});
}

TEST_CASE("the fast matrix product is the matrix product, of vectors, matrices and stacks") {
    random_stream r{2};
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        auto const m = draw(r, 0, 9), k = draw(r, 0, 9), n = draw(r, 0, 9), batch = draw(r, 1, 3);
        ints a{m, k}, b{k, n};
        switch (r.below(6)) {
        case 0:
            a = {k};
            break;
        case 1:
            b = {k};
            break;
        case 2:
            a.insert(0, batch);
            break;
        case 3:
            b.insert(0, batch);
            break;
        case 4:
            a.insert(0, 1), a.insert(0, draw(r, 0, 2)), b.insert(0, batch);
            break;
        default:
            break;
        }
        CAPTURE(seed, to_string(attribute_value{a}), to_string(attribute_value{b}));
        check<ops::mat_mul>({}, {normal(a, 2 * seed), normal(b, 2 * seed + 1)});
    }
    check<ops::mat_mul>({}, {normal({300, 70}, 1), normal({70, 50}, 2)});   // rows are split between threads
    check<ops::mat_mul>({}, {normal({3, 70}, 3), normal({70, 500}, 4)});    // columns are
    check<ops::mat_mul>({}, {normal({4, 90, 70}, 5), normal({70, 50}, 6)}); // one tall matrix
}

TEST_CASE("the fast gemm is the gemm, for all of its flags") {
    random_stream r{3};
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        auto const m = draw(r, 0, 20), k = draw(r, 0, 20), n = draw(r, 0, 20);
        attributes_of<ops::gemm> const a{.alpha = r.uniform(-2, 2),
                                         .beta = r.below(3) ? r.uniform(-2, 2) : 0,
                                         .transpose_a = r.below(2) != 0,
                                         .transpose_b = r.below(2) != 0};
        std::vector<tensor> operands{normal(a.transpose_a ? ints{k, m} : ints{m, k}, 3 * seed),
                                     normal(a.transpose_b ? ints{n, k} : ints{k, n}, 3 * seed + 1)};
        ints const addends[] = {{m, n}, {1, n}, {n}, {m, 1}, {}, {1}};
        if (r.below(4)) operands.push_back(normal(addends[r.below(6)], 3 * seed + 2));
        CAPTURE(seed, m, k, n, a.transpose_a, a.transpose_b, operands.size());
        check<ops::gemm>(a, operands);
    }
}

TEST_CASE("16-bit floats take the fast kernels in float and are rounded once") {
    auto const x = normal({5, 8}, 1).converted_to(dtype::f16), y = normal({8, 6}, 2).converted_to(dtype::f16);
    auto const wide = compute::one<ops::mat_mul>({x.converted_to(dtype::f32), y.converted_to(dtype::f32)});
    CHECK(compute::same(compute::one<ops::mat_mul>({x, y}), wide.converted_to(dtype::f16)));
}

TEST_CASE("the result is the same to the last bit for any number of threads") {
    // Folded weights enter the hash of a graph, and that must not depend on the machine's number of cores.
    random_stream r{4};
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
        auto const large = draw(r, 1, 500), k = draw(r, 1, 200), small = draw(r, 1, 90);
        auto const m = seed % 2 ? large : small, n = seed % 2 ? small : large;
        attributes_of<ops::conv> a;
        a.strides = {1, 1}, a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
        a.group = seed % 3 ? 1 : 4;
        auto const image = normal({1, 4 * draw(r, 1, 6), draw(r, 20, 40), 40}, seed);
        auto const weight = normal({4 * draw(r, 1, 8), image.dims()[1] / a.group, 3, 3}, seed + 1);
        CAPTURE(m, k, n, to_string(image.type()), to_string(weight.type()));
        for (auto element : {dtype::f32, dtype::f64}) {
            auto const x = normal({m, k}, seed, element), y = normal({k, n}, seed + 1, element);
            auto const product = compute::one<ops::mat_mul>({x, y});
            auto const convolved = compute::one<ops::conv>(a, {image, weight});
            for (std::size_t threads : {1u, 2u, 3u, 8u}) {
                fork_join_executor e{threads};
                CHECK(compute::same(compute::one<ops::mat_mul>({}, {x, y}, {.threads = &e}), product));
                CHECK(compute::same(compute::one<ops::conv>(a, {image, weight}, {.threads = &e}), convolved));
            }
        }
    }
}

} // namespace reference_kernel_test
