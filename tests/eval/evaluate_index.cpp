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

// Operands of a suppression, of which the last two may be left out.
struct suppression {
    bool center = false;
    tensor boxes, scores, most, overlap, least;
};

// The rows that a suppression keeps, one box at a time as its definition says.
template <class T>
std::vector<std::int64_t> kept_by_definition(suppression const& of) {
    struct sides {
        T low[2], high[2], area;
    };
    auto const number = [](tensor const& t, T otherwise) {
        return t.element() == dtype::undefined ? otherwise : t.data<T>()[0];
    };
    auto const classes = static_cast<std::size_t>(of.scores.dims()[1]),
               count = static_cast<std::size_t>(of.scores.dims()[2]);
    auto const all = of.boxes.data<T>(), scores = of.scores.data<T>();
    auto const overlap = number(of.overlap, 0);
    std::vector<std::int64_t> rows;
    for (std::size_t part = 0; part < scores.size() / count; ++part) {
        auto const b = all.subspan(part / classes * 4 * count), s = scores.subspan(part * count, count);
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < count; ++i)
            if (of.least.element() == dtype::undefined || s[i] > number(of.least, 0)) order.push_back(i);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t i, std::size_t j) { return gsub::detail::ranks_before(s[i], s[j], true); });
        std::vector<sides> kept;
        for (auto const i : order) {
            if (static_cast<std::int64_t>(kept.size()) >= of.most.data<std::int64_t>()[0]) break;
            sides x{};
            for (std::size_t d = 0; d < 2; ++d) {
                auto const p = b[4 * i + d], q = b[4 * i + d + 2];
                x.low[d] = of.center ? p - q / 2 : std::min(p, q);
                x.high[d] = of.center ? p + q / 2 : std::max(p, q);
            }
            x.area = (x.high[0] - x.low[0]) * (x.high[1] - x.low[1]);
            auto const overlaps = [&](sides const& y) {
                auto const side = [&](int d) { return std::min(x.high[d], y.high[d]) - std::max(x.low[d], y.low[d]); };
                auto const common = side(0) * side(1), together = x.area + y.area - common;
                return x.area > 0 && y.area > 0 && side(0) > 0 && side(1) > 0 && together > 0 &&
                       common / together > overlap;
            };
            if (std::any_of(kept.begin(), kept.end(), overlaps)) continue;
            kept.push_back(x);
            for (auto const v : {part / classes, part % classes, i}) rows.push_back(static_cast<std::int64_t>(v));
        }
    }
    return rows;
}

template <class T>
void check_kept(suppression const& of) {
    auto const found =
        one<ops::non_max_suppression>({.center = of.center}, {of.boxes, of.scores, of.most, of.overlap, of.least});
    auto const rows = found.data<std::int64_t>();
    CHECK(std::vector<std::int64_t>(rows.begin(), rows.end()) == kept_by_definition<T>(of));
}

// Boxes of sides up to a size whose places are spread over 100, and scores from 0 to 1, of so many different ones.
template <class T>
suppression random_suppression(random_stream& r, std::int64_t images, std::int64_t classes, std::int64_t count,
                               double size, std::uint64_t different) {
    suppression s;
    s.boxes = tensor::uninitialized(dtype_of<T>, ints{images, count, 4});
    s.scores = tensor::uninitialized(dtype_of<T>, ints{images, classes, count});
    s.most = places({1}, {100});
    auto const b = s.boxes.mutable_data<T>();
    for (std::size_t i = 0; i < b.size(); ++i)
        b[i] = static_cast<T>(i % 4 < 2 ? r.uniform(0, 100) : static_cast<double>(b[i - 2]) + r.uniform(0, size));
    for (auto& v : s.scores.mutable_data<T>()) v = static_cast<T>(r.below(different)) / static_cast<T>(different);
    return s;
}

TEST_CASE("boxes are kept as the definition says, for numbers of all kinds", "[property]") {
    constexpr auto nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity(),
                   tiny = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max();
    constexpr float odd[] = {nan, -nan, inf, -inf, 0, -0.0f, tiny, -tiny, most, -most, 0.5f, 1};
    random_stream r{7};
    auto const one_of = [&](auto const& values) { return values[r.below(std::size(values))]; };
    for (int i = 0; i < 300; ++i) {
        constexpr std::int64_t counts[] = {1, 7, 8, 31, 33, 200, 1100};
        auto s = random_suppression<float>(r, 1 + static_cast<std::int64_t>(r.below(2)),
                                           1 + static_cast<std::int64_t>(r.below(3)), one_of(counts),
                                           r.below(2) == 0 ? 30 : 500, r.below(2) == 0 ? 5 : 1'000'000);
        s.center = r.below(2) == 0;
        constexpr std::int64_t mosts[] = {0, 1, 4, 100, std::numeric_limits<std::int64_t>::max()};
        s.most = places({1}, {one_of(mosts)});
        constexpr float overlaps[] = {0, 0.3f, 0.9f, 1, -1, nan};
        if (r.below(4) != 0) s.overlap = f32({1}, {one_of(overlaps)});
        constexpr float leasts[] = {0, -0.0f, 0.2f, 0.5f, 0.99f, nan, inf, -inf};
        if (r.below(3) != 0) s.least = f32({1}, {one_of(leasts)});
        if (r.below(2) == 0)
            for (auto& v : s.scores.mutable_data<float>())
                if (r.below(6) == 0) v = one_of(odd);
        if (r.below(2) == 0)
            for (auto& v : s.boxes.mutable_data<float>())
                if (r.below(40) == 0) v = one_of(odd);
        CAPTURE(i, to_string(s.scores.type()), s.center);
        check_kept<float>(s);
    }
}

TEST_CASE("boxes are kept in double precision where they are given in it") {
    random_stream r{8};
    for (std::int64_t const count : {20, 700}) {
        auto s = random_suppression<double>(r, 2, 2, count, 40, 1'000'000'000);
        auto const scores = s.scores.mutable_data<double>();
        for (std::size_t i = 0; i + 1 < scores.size(); i += 2)
            scores[i + 1] = scores[i] + 1e-12; // one number as floats
        s.overlap = tensor::from<double>({1}, {0.4});
        check_kept<double>(s);
        s.least = tensor::from<double>({1}, {0.7});
        check_kept<double>(s);
    }
}

TEST_CASE("boxes are looked at down to the last, where nearly all overlap better ones") {
    random_stream r{9};
    for (auto const different : {1u, 40u, 1'000'000u})
        for (std::int64_t const most : {3, 100}) {
            CAPTURE(different, most);
            auto s = random_suppression<float>(r, 1, 2, 5000, 0, different);
            for (auto& v : s.boxes.mutable_data<float>()) v = static_cast<float>(r.uniform(0, 1));
            auto const b = s.boxes.mutable_data<float>();
            for (std::size_t i = 2; i < b.size(); i += 4) b[i] += 10, b[i + 1] += 10;
            s.most = places({1}, {most});
            s.overlap = f32({1}, {0.5f});
            check_kept<float>(s);
            // The worst box of the second class stands apart.
            auto const scores = s.scores.mutable_data<float>();
            scores[scores.size() - 1] = -1;
            for (std::size_t d = 0; d < 4; ++d) b[b.size() - 4 + d] += 1000;
            check_kept<float>(s);
            s.least = f32({1}, {0.3f});
            check_kept<float>(s);
        }
}

TEST_CASE("boxes are kept by the best scores wherever these stand") {
    random_stream r{10};
    for (auto const rising : {false, true}) {
        auto s = random_suppression<float>(r, 1, 1, 4000, 10, 1'000'000);
        auto const scores = s.scores.mutable_data<float>();
        std::sort(scores.begin(), scores.end());
        if (!rising) std::reverse(scores.begin(), scores.end());
        s.overlap = f32({1}, {0.1f});
        check_kept<float>(s);
        for (std::size_t i = 0; i < scores.size(); i += 17) scores[i] = rising ? -1.0f : 2.0f; // a sample misleads
        check_kept<float>(s);
    }
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
    auto const small = f32({1, 2, 4}, {0, 0, 1e-30f, 1e-30f, 0, 0, 1, 1}); // an area that is rounded to 0
    CHECK(of(small, f32({1, 1, 2}, {1, 2}), 9, -1, 0).dims()[0] == 2);
    CHECK(of(small, f32({1, 1, 2}, {2, 1}), 9, -1, 0).dims()[0] == 2);
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
