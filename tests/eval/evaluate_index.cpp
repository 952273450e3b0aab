#include "catch.hpp"
#include "eval/compute.hpp"
#include <gsub/core/random.hpp>
#include <gsub/eval/evaluate_index.hpp>

#include <algorithm>
#include <limits>
#include <string>

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

} // namespace evaluate_index_test
