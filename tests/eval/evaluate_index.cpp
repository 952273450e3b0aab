#include "catch.hpp"
#include "eval/compute.hpp"
#include <gsub/core/random.hpp>
#include <gsub/eval/evaluate_index.hpp>
#include <gsub/ir/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace evaluate_index_test {

using namespace gsub;
using compute::f32;
using compute::failure;
using compute::one;
using compute::same;

tensor places(std::initializer_list<std::int64_t> dims, std::initializer_list<std::int64_t> values) {
    return tensor::from<std::int64_t>(dims, values);
}

TEST_CASE("elements are read and written at the places that indices name along an axis") {
    auto const x = f32({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    CHECK(
        same(one<ops::gather_elements>({}, {x, places({2, 3}, {1, 2, 0, -1, 0, 0})}), f32({2, 3}, {4, 8, 3, 7, 2, 3})));
    CHECK(same(one<ops::gather_elements>({.axis = 1}, {x, places({2, 2}, {0, 0, 1, 2}).converted_to(dtype::i32)}),
               f32({2, 2}, {1, 1, 5, 6})));
    CHECK(same(one<ops::scatter_elements>(
                   {.axis = 1}, {f32({1, 5}, {1, 2, 3, 4, 5}), places({1, 2}, {1, -2}), f32({1, 2}, {10, 20})}),
               f32({1, 5}, {1, 10, 3, 20, 5})));
    auto const at = places({1, 3}, {1, 1, 0});
    auto const updates = f32({1, 3}, {10, 1, -4}), row = f32({1, 3}, {1, 2, 3});
    auto const scattered = [&](std::string const& mode) {
        return one<ops::scatter_elements>({.axis = 1, .reduction = mode}, {row, at, updates});
    };
    CHECK(same(scattered("add"), f32({1, 3}, {-3, 13, 3})));
    CHECK(same(scattered("mul"), f32({1, 3}, {-4, 20, 3})));
    CHECK(same(scattered("max"), f32({1, 3}, {1, 10, 3})));
    CHECK(same(scattered("min"), f32({1, 3}, {-4, 1, 3})));
    CHECK(same(one<ops::scatter_elements>({.reduction = "add"},
                                          {places({2}, {5, 6}), places({2}, {0, 0}), places({2}, {1, 2})}),
               places({2}, {8, 6})));
}

TEST_CASE("parts are read and written at the places that rows of indices name") {
    auto const x = f32({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(same(one<ops::gather_nd>({}, {x, places({2, 2}, {0, 1, 1, 0})}), f32({2, 2}, {2, 3, 4, 5})));
    CHECK(same(one<ops::gather_nd>({}, {x, places({1, 3}, {-1, -1, -1})}), f32({1}, {7})));
    CHECK(same(one<ops::gather_nd>({.batch_dims = 1}, {x, places({2, 1}, {1, 0})}), f32({2, 2}, {2, 3, 4, 5})));
    CHECK(same(one<ops::scatter_nd>({}, {f32({4}, {1, 2, 3, 4}), places({2, 1}, {2, 0}), f32({2}, {9, 8})}),
               f32({4}, {8, 2, 9, 4})));
    CHECK(same(one<ops::scatter_nd>({.reduction = "add"},
                                    {x, places({2, 1}, {0, 0}), f32({2, 2, 2}, {1, 1, 1, 1, 2, 2, 2, 2})}),
               f32({2, 2, 2}, {3, 4, 5, 6, 4, 5, 6, 7})));
    auto const flags = tensor::from<bool>({2, 1}, {true, false});
    CHECK(same(one<ops::gather_nd>({}, {flags, places({1, 1}, {1})}), tensor::from<bool>({1, 1}, {false})));
    auto const written = tensor::from<bool>({2, 1}, {true, true});
    CHECK(same(one<ops::scatter_nd>({}, {flags, places({1, 1}, {1}), tensor::from<bool>({1, 1}, {true})}), written));
    CHECK(same(one<ops::scatter_elements>({}, {flags, places({1, 1}, {-1}), tensor::from<bool>({1, 1}, {true})}),
               written));
}

TEST_CASE("what is written at distinct places is read there again") {
    random_stream r{1};
    for (int i = 0; i < 50; ++i) {
        auto const rows = 1 + static_cast<std::int64_t>(r.below(6)),
                   columns = 1 + static_cast<std::int64_t>(r.below(4));
        auto order = tensor::zeros(dtype::i64, ints{rows, 1});
        auto const at = order.mutable_data<std::int64_t>();
        for (std::size_t k = 0; k < at.size(); ++k) at[k] = static_cast<std::int64_t>(k);
        for (auto k = at.size(); k > 1; --k) std::swap(at[k - 1], at[r.below(k)]);
        auto x = tensor::zeros(dtype::f32, ints{rows, columns}), updates = x;
        for (auto& v : updates.mutable_data<float>()) v = static_cast<float>(r.below(100));
        auto const y = one<ops::scatter_nd>({}, {x, order, updates});
        CHECK(same(one<ops::gather_nd>({}, {y, order}), updates));
    }
}

TEST_CASE("an index beyond its dimension is refused while running") {
    auto const x = f32({2, 2}, {1, 2, 3, 4});
    for (auto const bad : {std::int64_t{2}, std::int64_t{-3}, std::numeric_limits<std::int64_t>::min()}) {
        auto const at = places({1, 1}, {bad});
        for (auto const& said : {failure<ops::gather_elements>({}, {x, at}), failure<ops::gather_nd>({}, {x, at}),
                                 failure<ops::scatter_elements>({}, {x, at, f32({1, 1}, {0})}),
                                 failure<ops::scatter_nd>({}, {x, at, f32({1, 2}, {0, 0})})})
            CHECK(said.find("for a dimension of size 2") != std::string::npos);
    }
}

TEST_CASE("the greatest elements come in order, of equal ones the first, and NaN counts as the greatest") {
    constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
    auto const x = f32({2, 4}, {1, 3, 3, -2, 5, nan, 7, 5});
    auto const of = [&](attributes_of<ops::top_k> const& a, tensor const& t) {
        return compute::all<ops::top_k>(a, {t}, 2).value();
    };
    auto const greatest = of({.k = 3}, x);
    CHECK(same(greatest[0], f32({2, 3}, {3, 3, 1, nan, 7, 5})));
    CHECK(same(greatest[1], places({2, 3}, {1, 2, 0, 1, 2, 0})));
    auto const least = of({.k = 2, .largest = false}, x);
    CHECK(same(least[0], f32({2, 2}, {-2, 1, 5, 5})));
    CHECK(same(least[1], places({2, 2}, {3, 0, 0, 3})));
    auto const columns = of({.k = 1, .axis = 0}, places({2, 2}, {1, 9, 4, 9}));
    CHECK(same(columns[0], places({1, 2}, {4, 9})));
    CHECK(same(columns[1], places({1, 2}, {1, 0})));
    CHECK(of({.k = 0}, x)[0].elements() == 0);
}

TEST_CASE("elements that are not zero are told by their places, in order") {
    constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(same(one<ops::non_zero>({f32({2, 3}, {0, 5, -0.0f, nan, 0, -1})}), places({2, 3}, {0, 1, 1, 1, 0, 2})));
    CHECK(same(one<ops::non_zero>({places({2}, {0, 0})}), tensor::zeros(dtype::i64, ints{1, 0})));
    CHECK(same(one<ops::non_zero>({tensor::from<bool>({3}, {true, false, true})}), places({1, 2}, {0, 2})));
    CHECK(one<ops::non_zero>({tensor::scalar(2.0f)}).dims().size() == 2);
    random_stream r{2};
    for (auto const element : {dtype::u8, dtype::i16, dtype::f16, dtype::bf16, dtype::f64, dtype::u64}) {
        auto x = tensor::zeros(dtype::i64, ints{2, 3, 4});
        for (auto& v : x.mutable_data<std::int64_t>()) v = static_cast<std::int64_t>(r.below(3));
        CHECK(same(one<ops::non_zero>({x.converted_to(element)}), one<ops::non_zero>({x})));
    }
}

TEST_CASE("a result whose sizes data decide is refused beyond the limit of memory") {
    auto const x = f32({4}, {1, 2, 3, 4});
    CHECK(compute::all<ops::non_zero>({}, {x}, 1, {.max_bytes = 32}));
    auto const made = compute::all<ops::non_zero>({}, {x}, 1, {.max_bytes = 31});
    REQUIRE_FALSE(made);
    CHECK(made.error().id() == errors::memory_limit);
    CHECK(made.error().message().find("a result of type i64[1,4] exceeds the limit of 31 bytes") != std::string::npos);
}

TEST_CASE("a size that data decide is the one that a graph declares, where it declares one") {
    graph const g{parse_graph(R"(graph "" {
        %0 "x": f32[4] = input
        %1 "at": i64[1,3] = NonZero(%0)
        return %1
    })",
                              dialect::of<standard_ops>())
                      .value()};
    CHECK(evaluate_graph(g, std::array{f32({4}, {1, 0, 2, 3})}));
    auto const other = evaluate_graph(g, std::array{f32({4}, {1, 0, 2, 0})});
    REQUIRE_FALSE(other);
    CHECK(other.error().id() == errors::declared_result);
    CHECK(other.error().message().find("its result is i64[1,2], the graph declares i64[1,3]") != std::string::npos);
}

TEST_CASE("different elements come in order, with where they stand") {
    constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
    auto const of = [](tensor const& x, attributes_of<ops::unique> const& a = {}) {
        return compute::all<ops::unique>(a, {x}, 4).value();
    };
    auto const x = f32({2, 4}, {2, 1, nan, -0.0f, 1, nan, 0, 4});
    auto const sorted = of(x);
    CHECK(same(sorted[0], f32({5}, {-0.0f, 1, 2, 4, nan})));
    CHECK(same(sorted[1], places({5}, {3, 1, 0, 7, 2})));
    CHECK(same(sorted[2], places({8}, {2, 1, 4, 0, 1, 4, 0, 3})));
    CHECK(same(sorted[3], places({5}, {2, 2, 1, 1, 2})));
    auto const seen = of(x, {.sorted = false});
    CHECK(same(seen[0], f32({5}, {2, 1, nan, -0.0f, 4})));
    CHECK(same(seen[1], places({5}, {0, 1, 2, 3, 7})));
    CHECK(same(seen[2], places({8}, {0, 1, 2, 3, 1, 2, 3, 4})));
    CHECK(same(seen[3], places({5}, {1, 2, 2, 2, 1})));
    auto const columns = of(places({2, 3}, {3, -1, 3, 4, 0, 4}), {.flat = false, .axis = -1});
    CHECK(same(columns[0], places({2, 2}, {-1, 3, 0, 4})));
    CHECK(same(columns[1], places({2}, {1, 0})));
    CHECK(same(columns[2], places({3}, {1, 0, 1})));
    CHECK(same(columns[3], places({2}, {1, 2})));
    auto const great = of(tensor::from<std::uint64_t>({3}, {~std::uint64_t{0}, 1, ~std::uint64_t{0}}));
    CHECK(great[0].data<std::uint64_t>()[0] == 1);
    auto const none = of(tensor::zeros(dtype::f32, ints{0, 3}), {.flat = false, .axis = 0});
    CHECK(same(none[0], tensor::zeros(dtype::f32, ints{0, 3})));
    CHECK(of(tensor::zeros(dtype::f32, ints{4, 0}), {.flat = false, .axis = 0})[3].dims()[0] == 1); // rows of nothing
}

TEST_CASE("what is different makes the whole again") {
    random_stream r{3};
    for (int i = 0; i < 30; ++i) {
        auto x = tensor::zeros(dtype::i32, ints{1 + static_cast<std::int64_t>(r.below(5)), 3});
        for (auto& v : x.mutable_data<std::int32_t>()) v = static_cast<std::int32_t>(r.below(4)) - 2;
        auto const axis = static_cast<std::int64_t>(r.below(2));
        auto const all =
            compute::all<ops::unique>({.flat = false, .axis = axis, .sorted = r.below(2) == 0}, {x}, 4).value();
        CHECK(same(one<ops::gather>({.axis = axis}, {all[0], all[2]}), x));
        CHECK(same(one<ops::gather>({.axis = axis}, {x, all[1]}), all[0]));
        CHECK(same(one<ops::reduce_sum>({.keepdims = false}, {all[3]}),
                   tensor::scalar(x.dims()[static_cast<std::size_t>(axis)])));
    }
}

TEST_CASE("of many elements the greatest are those that a sort puts first, in rows and in columns") {
    random_stream r{5};
    for (std::int64_t const kept : {1, 7, 300, 2000})
        for (auto const largest : {true, false})
            for (auto const columns : {false, true}) {
                constexpr std::int64_t size = 2000;
                CAPTURE(kept, largest, columns);
                auto x = tensor::uninitialized(dtype::f32, columns ? ints{size, 3} : ints{3, size});
                for (auto& v : x.mutable_data<float>()) // few different ones, in rising order at first
                    v = r.below(50) == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(r.below(900));
                if (!columns) std::sort(x.mutable_data<float>().begin(), x.mutable_data<float>().begin() + size / 2);
                auto const found =
                    compute::all<ops::top_k>({.k = kept, .axis = columns ? 0 : 1, .largest = largest}, {x}, 2).value();
                for (std::int64_t row = 0; row < 3; ++row) {
                    auto const at = [&](tensor const& t, std::int64_t i) {
                        return static_cast<std::size_t>(columns ? i * 3 + row : row * t.dims()[1] + i);
                    };
                    std::vector<std::int64_t> order(size);
                    std::iota(order.begin(), order.end(), std::int64_t{0});
                    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
                        return gsub::detail::ranks_before(x.data<float>()[at(x, i)], x.data<float>()[at(x, j)],
                                                          largest);
                    });
                    for (std::int64_t i = 0; i < kept; ++i)
                        REQUIRE(found[1].data<std::int64_t>()[at(found[1], i)] == order[static_cast<std::size_t>(i)]);
                }
            }
}

TEST_CASE("of many boxes those are kept that overlap none before them") {
    random_stream r{6};
    constexpr std::int64_t count = 400;
    auto boxes = tensor::uninitialized(dtype::f32, ints{1, count, 4});
    auto scores = tensor::uninitialized(dtype::f32, ints{1, 1, count});
    auto const b = boxes.mutable_data<float>(), s = scores.mutable_data<float>();
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t d = 0; d < 2; ++d) {
            b[4 * i + d] = static_cast<float>(r.uniform(0, 100));
            b[4 * i + d + 2] = b[4 * i + d] + static_cast<float>(r.uniform(0, 12));
        }
        s[i] = static_cast<float>(r.below(60));
    }
    std::vector<std::size_t> order(count), want;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return s[i] > s[j]; });
    auto const side = [&](std::size_t i, std::size_t j, std::size_t d) {
        return std::min(b[4 * i + d + 2], b[4 * j + d + 2]) - std::max(b[4 * i + d], b[4 * j + d]);
    };
    auto const area = [&](std::size_t i) { return side(i, i, 0) * side(i, i, 1); };
    for (auto const i : order) {
        if (!(s[i] > 3)) continue;
        auto const kept = std::none_of(want.begin(), want.end(), [&](std::size_t j) {
            if (!(side(i, j, 0) > 0 && side(i, j, 1) > 0)) return false;
            auto const common = side(i, j, 0) * side(i, j, 1);
            return common / (area(i) + area(j) - common) > 0.2f;
        });
        if (kept) want.push_back(i);
    }
    REQUIRE(want.size() > 40);
    auto const found =
        one<ops::non_max_suppression>({}, {boxes, scores, places({1}, {count}), f32({1}, {0.2f}), f32({1}, {3})});
    REQUIRE(found.dims()[0] == static_cast<std::int64_t>(want.size()));
    for (std::size_t i = 0; i < want.size(); ++i)
        CHECK(found.data<std::int64_t>()[3 * i + 2] == static_cast<std::int64_t>(want[i]));
}

TEST_CASE("of boxes that overlap the better one stays") {
    auto const boxes = f32(
        {1, 6, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, -0.1f, 1, 0.9f, 0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100, 1, 101});
    auto const scores = f32({1, 1, 6}, {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f});
    auto const of = [&](tensor const& b, tensor const& s, std::int64_t most, float overlap, float least,
                        bool center = false) {
        return one<ops::non_max_suppression>({.center = center},
                                             {b, s, places({1}, {most}), f32({1}, {overlap}), f32({1}, {least})});
    };
    CHECK(same(of(boxes, scores, 3, 0.5f, 0), places({3, 3}, {0, 0, 3, 0, 0, 0, 0, 0, 5})));
    CHECK(same(of(boxes, scores, 2, 0.5f, 0), places({2, 3}, {0, 0, 3, 0, 0, 0})));
    CHECK(same(of(boxes, scores, 30, 0.5f, 0.4f), places({2, 3}, {0, 0, 3, 0, 0, 0})));
    CHECK(of(boxes, scores, 30, 1, 0).dims()[0] == 6); // no overlap is greater than all
    CHECK(of(boxes, scores, 0, 0.5f, 0).dims()[0] == 0);
    CHECK(of(boxes, scores, -4, 0.5f, 0).dims()[0] == 0);
    CHECK(one<ops::non_max_suppression>({boxes, scores}).dims()[0] == 0);
    CHECK(same(one<ops::non_max_suppression>({}, {boxes, scores, places({}, {1})}), places({1, 3}, {0, 0, 3})));
    // Corners in any order, and centres.
    CHECK(same(of(f32({1, 2, 4}, {1, 1, 0, 0, 0, 1, 1, 0}), f32({1, 1, 2}, {1, 2}), 9, 0.5f, 0),
               places({1, 3}, {0, 0, 1})));
    CHECK(same(of(f32({1, 3, 4}, {0.5f, 0.5f, 1, 1, 0.5f, 0.6f, 1, 1, 3, 3, 1, 1}), f32({1, 1, 3}, {1, 2, 3}), 9, 0.5f,
                  0, true),
               places({2, 3}, {0, 0, 2, 0, 0, 1})));
    // Equal scores by the first box, boxes without area suppress nothing, batches and classes apart.
    CHECK(same(of(f32({1, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 1}), f32({1, 2, 2}, {5, 5, 1, 2}), 9, 0.5f, 0),
               places({2, 3}, {0, 0, 0, 0, 1, 1})));
    CHECK(of(f32({1, 2, 4}, {0, 0, 0, 1, 0, 0, 0, 1}), f32({1, 1, 2}, {1, 1}), 9, 0, 0).dims()[0] == 2);
    CHECK(same(of(f32({2, 1, 4}, {0, 0, 1, 1, 0, 0, 1, 1}), f32({2, 1, 1}, {1, 2}), 9, 0.5f, 0),
               places({2, 3}, {0, 0, 0, 1, 0, 0})));
    CHECK(
        of(tensor::zeros(dtype::f32, ints{1, 0, 4}), tensor::zeros(dtype::f32, ints{1, 2, 0}), 9, 0.5f, 0).dims()[0] ==
        0);
    CHECK(failure<ops::non_max_suppression>({}, {boxes, scores, places({2}, {1, 2})}).find("whole number") !=
          std::string::npos);
}

TEST_CASE("in the prime field all operands together choose boxes, which are there") {
    auto const boxes = tensor::zeros(dtype::f32, ints{2, 5, 4}), scores = tensor::zeros(dtype::f32, ints{2, 3, 5});
    evaluate_options const field{.compute = precision::field};
    random_stream r{4};
    auto const in_field = [&](tensor t) {
        fill_random(t, r.split(1));
        return to_precision(t, precision::field);
    };
    auto const b = in_field(boxes), s = in_field(scores);
    auto const chosen = one<ops::non_max_suppression>({}, {b, s}, field);
    auto const rows = chosen.data<std::int64_t>();
    REQUIRE(chosen.dims()[1] == 3);
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK((rows[i] >= 0 && rows[i] < scores.dims()[i % 3]));
    CHECK(same(one<ops::non_max_suppression>({}, {b, s}, field), chosen));
    CHECK_FALSE(same(one<ops::non_max_suppression>({.center = true}, {b, s}, field), chosen));
}

} // namespace evaluate_index_test
