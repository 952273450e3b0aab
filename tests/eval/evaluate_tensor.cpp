#include "catch.hpp"
#include "eval/compute.hpp"
#include "ir/integer_types.hpp"
#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate_tensor.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace evaluate_tensor_test {

using namespace gsub;
using compute::f32;
using compute::failure;
using compute::i64;
using compute::one;
using compute::same;

inline constexpr auto stored = stored_dtypes;

std::int64_t draw(random_stream& r, std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(high - low + 1)));
}
ints draw_dims(random_stream& r, std::size_t least = 0) {
    ints dims;
    for (auto n = least + r.below(5 - least); n-- > 0;) dims.push_back(r.below(9) ? draw(r, 1, 4) : 0);
    return dims;
}
// Arbitrary bits: moving elements must not look at them.
tensor draw_tensor(random_stream& r, std::span<std::int64_t const> dims, dtype element) {
    auto t = tensor::uninitialized(element, dims);
    for (auto& b : t.mutable_raw()) b = static_cast<std::byte>(element == dtype::boolean ? r() & 1 : r());
    return t;
}
tensor draw_tensor(random_stream& r, std::size_t least_rank = 0) {
    return draw_tensor(r, draw_dims(r, least_rank), stored[r.below(std::size(stored))]);
}
std::size_t offset_of(std::span<std::int64_t const> dims, std::span<std::int64_t const> at) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < at.size(); ++i) offset = offset * dims[i] + at[i];
    return static_cast<std::size_t>(offset);
}

// y[at] = x[from(at)] for every place of y, byte by byte; a negative place is skipped.
template <class From>
bool moved(tensor const& y, tensor const& x, From&& from) {
    if (y.elements() == 0) return true;
    auto const size = byte_size(x.element());
    box_index at{y.dims()};
    std::size_t place = 0;
    do {
        ints const source = from(at.position());
        auto const inside = std::none_of(source.begin(), source.end(), [](auto s) { return s < 0; });
        if (inside && !std::equal(y.raw().begin() + static_cast<std::ptrdiff_t>(place * size),
                                  y.raw().begin() + static_cast<std::ptrdiff_t>((place + 1) * size),
                                  x.raw().begin() + static_cast<std::ptrdiff_t>(offset_of(x.dims(), source) * size)))
            return false;
        ++place;
    } while (at.next());
    return true;
}

TEST_CASE("views keep every element where it is") {
    random_stream r{1};
    for (int i = 0; i < 200; ++i) {
        auto const x = draw_tensor(r);
        auto const rank = static_cast<std::int64_t>(x.rank());
        CAPTURE(to_string(x.type()));
        CHECK(same(one<ops::identity>({x}), x));
        auto const flat = one<ops::flatten>({.axis = draw(r, -rank, rank)}, {x});
        CHECK(flat.rank() == 2);
        CHECK(same(flat.reshaped(x.dims()), x));
        auto const axis = draw(r, 0, rank);
        auto const wide = one<ops::unsqueeze>({.axes = {axis}}, {x});
        CHECK(wide.dims()[static_cast<std::size_t>(axis)] == 1);
        CHECK(same(one<ops::squeeze>({.axes = {axis}}, {wide}), x));
        CHECK(same(one<ops::squeeze>({}, {wide, i64({axis})}), x));
        CHECK(same(one<ops::reshape>({.shape = ints(x.dims()), .allow_zero = true}, {flat}), x));
        CHECK(same(one<ops::reshape>({.allow_zero = true}, {flat, i64(ints(x.dims()))}), x));
        CHECK(same(one<ops::dropout>({x}), x));
    }
    auto const scalar = tensor::scalar(2.5f);
    CHECK(same(one<ops::reshape>({.shape = {1, 1, 1}}, {scalar}), f32({1, 1, 1}, {2.5f})));
    CHECK(same(one<ops::squeeze>({f32({1, 1}, {2.5f})}), scalar));
}

TEST_CASE("splitting and concatenating gives the tensor back, along every axis and for every element type") {
    random_stream r{2};
    for (int i = 0; i < 300; ++i) {
        auto const x = draw_tensor(r, 1);
        auto const axis = r.below(x.rank());
        auto const signed_axis =
            static_cast<std::int64_t>(axis) - (r.below(2) ? static_cast<std::int64_t>(x.rank()) : 0);
        ints sizes;
        for (auto left = x.dims()[axis]; left > 0 || sizes.empty();) {
            sizes.push_back(draw(r, 0, left));
            left -= sizes.back();
        }
        CAPTURE(to_string(x.type()), axis);
        auto const parts = compute::all<ops::split>({.axis = signed_axis, .sizes = sizes}, {x}, sizes.size()).value();
        CHECK(same(one<ops::concat>({.axis = signed_axis}, parts), x));
        // The sizes as an operand, known to inference or not.
        for (bool constant : {false, true}) {
            auto const again =
                compute::all<ops::split>({.axis = signed_axis}, {x, i64(sizes)}, sizes.size(), {}, constant).value();
            for (std::size_t k = 0; k < parts.size(); ++k) CHECK(same(again[k], parts[k]));
        }
        // Each part is a slice.
        std::int64_t begin = 0;
        for (std::size_t k = 0; k < parts.size(); begin += sizes[k++])
            CHECK(same(parts[k],
                       one<ops::slice>(
                           {.starts = {begin}, .ends = {begin + sizes[k]}, .axes = {signed_axis}, .steps = {1}}, {x})));
    }
}

TEST_CASE("a transposition moves each element to its permuted place, and its inverse moves it back") {
    random_stream r{3};
    for (int i = 0; i < 200; ++i) {
        auto const x = draw_tensor(r);
        ints perm, inverse(x.rank(), 0);
        for (std::size_t k = 0; k < x.rank(); ++k) perm.insert(r.below(k + 1), static_cast<std::int64_t>(k));
        for (std::size_t k = 0; k < x.rank(); ++k)
            inverse[static_cast<std::size_t>(perm[k])] = static_cast<std::int64_t>(k);
        auto const y = one<ops::transpose>({.perm = perm}, {x});
        CHECK(same(one<ops::transpose>({.perm = inverse}, {y}), x));
        CHECK(moved(y, x, [&](std::span<std::int64_t const> at) {
            ints from(x.rank(), 0);
            for (std::size_t k = 0; k < perm.size(); ++k) from[static_cast<std::size_t>(perm[k])] = at[k];
            return from;
        }));
    }
}

TEST_CASE("a transposition of many rows and columns moves each element, of every size") {
    for (auto const& sizes : {ints{70, 45}, ints{2, 33, 64}, ints{65, 3, 40}, ints{1, 70, 1, 37}, ints{35, 0, 40}})
        for (auto const element : {dtype::i8, dtype::f16, dtype::f32, dtype::f64}) {
            auto x = tensor::uninitialized(element, sizes);
            fill_random(x, random_stream{1});
            ints perm(sizes.size());
            std::iota(perm.begin(), perm.end(), 0);
            do {
                auto const y = one<ops::transpose>({.perm = perm}, {x});
                CHECK(moved(y, x, [&](std::span<std::int64_t const> at) {
                    ints from(perm.size(), 0);
                    for (std::size_t k = 0; k < perm.size(); ++k) from[static_cast<std::size_t>(perm[k])] = at[k];
                    return from;
                }));
            } while (std::next_permutation(perm.begin(), perm.end()));
        }
}

TEST_CASE("a slice takes every step-th element between its bounds, forwards and backwards") {
    random_stream r{4};
    auto const bound = [&] {
        auto const extremes = {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
        return r.below(6) ? draw(r, -6, 6) : extremes.begin()[r.below(2)];
    };
    for (int i = 0; i < 500; ++i) {
        auto const x = draw_tensor(r, 1);
        ints starts, ends, axes, steps, first(x.rank(), 0), step(x.rank(), 1);
        for (std::size_t k = 0; k < x.rank(); ++k) {
            if (r.below(2)) continue;
            axes.push_back(static_cast<std::int64_t>(k) - (r.below(2) ? static_cast<std::int64_t>(x.rank()) : 0));
            starts.push_back(bound()), ends.push_back(bound());
            steps.push_back(r.below(2) ? draw(r, 1, 3) : -draw(r, 1, 3));
            first[k] = clamped_slice(starts.back(), ends.back(), steps.back(), x.dims()[k]).start;
            step[k] = steps.back();
        }
        auto const y = one<ops::slice>({.starts = starts, .ends = ends, .axes = axes, .steps = steps}, {x});
        CAPTURE(to_string(x.type()), to_string(y.type()));
        CHECK(moved(y, x, [&](std::span<std::int64_t const> at) {
            ints from;
            for (std::size_t k = 0; k < x.rank(); ++k) from.push_back(first[k] + at[k] * step[k]);
            return from;
        }));
        for (bool constant : {false, true})
            CHECK(same(compute::all<ops::slice>({}, {x, i64(starts), i64(ends), i64(axes), i64(steps)}, 1, {}, constant)
                           .value()[0],
                       y));
    }
    auto const x = f32({4}, {0, 1, 2, 3});
    CHECK(same(one<ops::slice>({}, {x, i64({1}), i64({3})}), f32({2}, {1, 2})));
    CHECK(same(one<ops::slice>({}, {x, i64({-1}), i64({-10}), {}, i64({-2})}), f32({2}, {3, 1})));
    CHECK(same(one<ops::slice>({}, {x, tensor::from<std::int32_t>({1}, {2}), tensor::from<std::int32_t>({1}, {9})}),
               f32({2}, {2, 3})));
    CHECK(failure<ops::slice>({}, {x, i64({0}), i64({4}), i64({0}), i64({0})}).find("step 0") != std::string::npos);
    CHECK(failure<ops::slice>({}, {x, i64({0}), i64({4}), i64({1})}).find("axis 1 is out of range") !=
          std::string::npos);
}

TEST_CASE("a slice of what was padded gives the tensor back, and negative pads crop") {
    random_stream r{5};
    for (int i = 0; i < 200; ++i) {
        auto const x = draw_tensor(r);
        ints pads, back, starts, ends, axes;
        for (std::size_t k = 0; k < 2 * x.rank(); ++k) pads.push_back(draw(r, 0, 3));
        for (auto p : pads) back.push_back(-p);
        for (std::size_t k = 0; k < x.rank(); ++k)
            starts.push_back(pads[k]), ends.push_back(pads[k] + x.dims()[k]),
                axes.push_back(static_cast<std::int64_t>(k));
        auto const empty = std::any_of(x.dims().begin(), x.dims().end(), [](auto d) { return d == 0; });
        for (auto const* mode : {"constant", "edge"}) {
            if (empty && std::string_view{mode} == "edge") continue;
            auto const y = one<ops::pad>({.mode = mode, .pads = pads, .value = 1}, {x});
            CHECK(same(
                one<ops::slice>({.starts = starts, .ends = ends, .axes = axes, .steps = ints(axes.size(), 1)}, {y}),
                x));
            CHECK(same(one<ops::pad>({.mode = mode, .pads = back}, {y}), x));
            CHECK(same(one<ops::pad>({.mode = mode, .value = 1}, {x, i64(pads)}), y));
        }
    }
}

TEST_CASE("borders are constant, repeated or reflected") {
    auto const x = f32({1, 3}, {1, 2, 3});
    auto const padded = [&](std::string mode, ints pads) {
        return one<ops::pad>({.mode = std::move(mode), .pads = std::move(pads)}, {x});
    };
    CHECK(same(padded("constant", {0, 1, 1, 2}), f32({2, 6}, {0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0})));
    CHECK(same(padded("edge", {0, 2, 0, 1}), f32({1, 6}, {1, 1, 1, 2, 3, 3})));
    CHECK(same(padded("reflect", {0, 2, 0, 2}), f32({1, 7}, {3, 2, 1, 2, 3, 2, 1})));
    CHECK(same(padded("edge", {1, -1, 0, 1}), f32({2, 3}, {2, 3, 3, 2, 3, 3})));
    CHECK(same(padded("reflect", {0, -1, 0, 1}), f32({1, 3}, {2, 3, 2})));
    auto const inf = std::numeric_limits<double>::infinity();
    CHECK(same(one<ops::pad>({.pads = {0, 1, 0, 0}, .value = -inf}, {x}), f32({1, 4}, {float(-inf), 1, 2, 3})));
    CHECK(same(one<ops::pad>({}, {x, i64({0, 1, 0, 0}), tensor::scalar(7.0f)}), f32({1, 4}, {7, 1, 2, 3})));
    CHECK(same(one<ops::pad>({}, {x, i64({1, 0}), tensor::scalar(7.0f), i64({-1})}), f32({1, 4}, {7, 1, 2, 3})));
    CHECK(same(one<ops::pad>({.value = 5}, {x, i64({0, 1, 0, 0})}), f32({1, 4}, {5, 1, 2, 3})));
    auto const bytes = tensor::from<std::uint8_t>({2}, {1, 2});
    CHECK(same(one<ops::pad>({.pads = {1, 0}, .value = 1e300}, {bytes}), tensor::from<std::uint8_t>({3}, {255, 1, 2})));
    each_integer_type([]<class T> { // the border is the real number as an integer of the type
        CAPTURE(to_string(dtype_of<T>));
        for (auto v : {3.0, 0x1p63, 1e300, -1e300})
            CHECK(one<ops::pad>({.pads = {1, 0}, .value = v}, {tensor::zeros(dtype_of<T>, ints{1})})
                      .template data<T>()[0] == math::constant<T>(v));
    });
    CHECK(failure<ops::pad>({}, {x, i64({0, 1, 0, 0}), tensor::scalar(7.0)}).find("element types must be equal") !=
          std::string::npos);
    CHECK(failure<ops::pad>({}, {x, f32({4}, {0, 1, 0, 0})}).find("it takes integers in a vector") !=
          std::string::npos);
    CHECK(failure<ops::pad>({.mode = "reflect"}, {x, i64({0, 3, 0, 0})}).find("must be less than size 3") !=
          std::string::npos);
}

TEST_CASE("gathering picks entries along an axis, from either end, as often as they are named") {
    random_stream r{6};
    for (int i = 0; i < 300; ++i) {
        auto dims = draw_dims(r, 1);
        auto const axis = r.below(dims.size());
        if (dims[axis] == 0) dims[axis] = 2;
        auto const x = draw_tensor(r, dims, stored[r.below(std::size(stored))]);
        auto const size = dims[axis];
        auto indices = tensor::uninitialized(dtype::i64, draw_dims(r));
        for (auto& k : indices.mutable_data<std::int64_t>()) k = draw(r, -size, size - 1);
        auto const y = one<ops::gather>({.axis = static_cast<std::int64_t>(axis)}, {x, indices});
        CAPTURE(to_string(x.type()), to_string(indices.type()), axis);
        CHECK(y.rank() == x.rank() + indices.rank() - 1);
        CHECK(moved(y, x, [&](std::span<std::int64_t const> at) {
            auto const k = indices.data<std::int64_t>()[offset_of(indices.dims(), at.subspan(axis, indices.rank()))];
            ints from(at.first(axis));
            from.push_back(k < 0 ? k + size : k);
            from.append(at.subspan(axis + indices.rank()));
            return from;
        }));
        CHECK(same(one<ops::gather>({.axis = static_cast<std::int64_t>(axis)}, {x, indices.converted_to(dtype::i32)}),
                   y));
    }
    auto const x = f32({2, 2}, {1, 2, 3, 4});
    for (std::int64_t bad : {std::int64_t{2}, std::int64_t{-3}, std::numeric_limits<std::int64_t>::max(),
                             std::numeric_limits<std::int64_t>::min()}) {
        auto const indices = tensor::from<std::int64_t>({1, 1}, {bad}); // a matrix is looked at while running only
        CHECK(failure<ops::gather>({}, {x, indices})
                  .find(fmt::format("Gather: index {} for a dimension of size 2", bad)) != std::string::npos);
    }
    CHECK(one<ops::gather>({}, {x, tensor::zeros(dtype::i64, ints{0})}).elements() == 0);
}

TEST_CASE("the shape of a tensor is what it is at run time") {
    random_stream r{7};
    for (int i = 0; i < 50; ++i) {
        auto const x = draw_tensor(r);
        CHECK(same(one<ops::shape>({x}), i64(ints(x.dims()))));
        auto const start = draw(r, -6, 6), end = draw(r, -6, 6);
        auto const whole = one<ops::shape>({x});
        CHECK(same(one<ops::shape>({.start = start, .end = end}, {x}),
                   one<ops::slice>({.starts = {start}, .ends = {end}, .axes = {0}, .steps = {1}}, {whole})));
    }
}

TEST_CASE("a filled tensor repeats one value of its element type") {
    for (auto e : stored) {
        CAPTURE(to_string(e));
        auto const y = one<ops::fill>({.shape = {2, 3}, .element = e, .value = 2.5, .integer = 3}, {});
        CHECK(y.element() == e);
        auto const expected = is_floating(e) ? 2.5 : e == dtype::boolean ? 1.0 : 3.0;
        auto const wide = y.converted_to(dtype::f64);
        for (auto v : wide.data<double>()) CHECK(v == expected);
        CHECK(same(one<ops::fill>({.element = e, .value = 2.5, .integer = 3}, {i64({2, 3})}), y));
    }
    // The attribute has the bits of what is no i64.
    CHECK(one<ops::fill>({.element = dtype::u64, .integer = -1}, {}).data<std::uint64_t>()[0] ==
          std::numeric_limits<std::uint64_t>::max());
    // Rounded once, and exact in the field.
    CHECK(double{one<ops::fill>({.element = dtype::f16, .value = 1 + 0x1p-11 + 0x1p-40}, {}).data<float16>()[0]} ==
          1 + 0x1p-10);
    CHECK(one<ops::fill>({.value = 0.5}, {}, {.compute = precision::field}).data<field61>()[0] ==
          field61::from_real(0.5));
    CHECK(one<ops::fill>({.shape = {0, 3}}, {}).elements() == 0);
    CHECK(failure<ops::fill>({}, {i64({-1})}).find("sizes must be >= 0") != std::string::npos);
    CHECK(failure<ops::fill>({}, {i64({1 << 20, 1 << 20})}).find("exceeds the limit of") != std::string::npos);
    CHECK(failure<ops::fill>({}, {i64({std::int64_t{1} << 40, std::int64_t{1} << 40})}).find("at most 2^62") !=
          std::string::npos);
}

TEST_CASE("the identity's kernel has one one for each output that has an input of its number") {
    auto const w = one<ops::dirac>({.shape = {4, 2, 1, 3}, .position = {0, 2}, .group = 2}, {});
    for (std::int64_t o = 0; o < 4; ++o)
        for (std::int64_t c = 0; c < 2; ++c)
            for (std::int64_t k = 0; k < 3; ++k)
                CHECK(w.data<float>()[static_cast<std::size_t>((o * 2 + c) * 3 + k)] ==
                      (c == o % 2 && k == 2 ? 1.0f : 0.0f));
    CHECK(same(one<ops::dirac>({.shape = {2, 2}, .position = {}}, {}), f32({2, 2}, {1, 0, 0, 1})));
    CHECK(same(one<ops::dirac>({.shape = {3, 2}, .position = {}}, {}), f32({3, 2}, {1, 0, 0, 1, 0, 0})));
    CHECK(one<ops::dirac>({.shape = {0, 2}, .position = {}}, {}).elements() == 0);
    CHECK(one<ops::dirac>({.shape = {1, 1}, .position = {}, .element = dtype::i8}, {}).data<std::int8_t>()[0] == 1);
}

TEST_CASE("an expansion repeats elements where its operand has one, in either form") {
    random_stream r{7};
    for (int i = 0; i < 200; ++i) {
        auto const x = draw_tensor(r);
        ints to(x.dims().begin(), x.dims().end());
        for (auto& d : to)
            if (d == 1 || r.below(3) == 0) d = d == 1 ? draw(r, 0, 3) : 1;
        for (auto more = r.below(3); more-- > 0;) to.insert(0, draw(r, 1, 3));
        auto const y = one<ops::expand>({.shape = to}, {x});
        CHECK(same(y, one<ops::expand>({x, i64(to)})));
        CHECK(moved(y, x, [&](std::span<std::int64_t const> at) {
            ints from;
            for (std::size_t k = 0; k < x.rank(); ++k)
                from.push_back(x.dims()[k] == 1 ? 0 : at[at.size() - x.rank() + k]);
            return from;
        }));
    }
}

TEST_CASE("a range starts where it is told and steps to the limit, in every type of numbers") {
    auto const range = [](tensor const& start, tensor const& limit, tensor const& delta) {
        return one<ops::range>({start, limit, delta});
    };
    for (auto const element : {dtype::f64, dtype::f32, dtype::f16, dtype::i64, dtype::i32, dtype::i16, dtype::i8,
                               dtype::u64, dtype::u32, dtype::u16, dtype::u8}) {
        CAPTURE(to_string(element));
        auto const number = [&](double v) { return tensor::scalar(v).converted_to(element); };
        auto const is = [&](tensor const& y, std::initializer_list<double> expected) {
            return same(
                y, tensor::from<double>({static_cast<std::int64_t>(expected.size())}, expected).converted_to(element));
        };
        CHECK(is(range(number(1), number(6), number(2)), {1, 3, 5}));
        CHECK(is(range(number(3), number(3), number(1)), {}));
        if (!info(element).is_signed) continue;
        CHECK(is(range(number(10), number(4), number(-3)), {10, 7}));
        CHECK(is(range(number(3), number(9), number(-1)), {}));
    }
    auto const top = std::uint64_t{1} << 63;
    CHECK(same(range(tensor::scalar(top - 1), tensor::scalar(top + 4), tensor::scalar(std::uint64_t{2})),
               tensor::from<std::uint64_t>({3}, {top - 1, top + 1, top + 3})));
    auto const half = range(tensor::scalar(0.5f), tensor::scalar(2.0f), tensor::scalar(0.5f));
    CHECK(same(half, f32({3}, {0.5f, 1, 1.5f})));
    CHECK(failure<ops::range>({}, {tensor::scalar(0.0f), tensor::scalar(1.0f), tensor::scalar(0.0f)})
              .find("no size that is known") != std::string::npos);
    CHECK(failure<ops::range>({}, {i64({0}).reshaped(ints{}), i64({1}).reshaped(ints{}), i64({0}).reshaped(ints{})})
              .find("delta 0") != std::string::npos);
}

} // namespace evaluate_tensor_test
