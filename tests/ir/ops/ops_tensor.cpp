#include "catch.hpp"
#include "ir/infer_once.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>

#include <limits>
#include <numeric>
#include <vector>

namespace ops_tensor_test {

using namespace gsub;
using infer_once::infers;
using infer_once::says;

inline constexpr auto least = std::numeric_limits<std::int64_t>::min();
inline constexpr auto largest = std::numeric_limits<std::int64_t>::max();

std::string i64_vector(ints const& values) {
    std::string out = fmt::format("i64[{}]{{", values.size());
    for (std::size_t i = 0; i < values.size(); ++i) out += fmt::format("{}{}", i ? "," : "", values[i]);
    return out + "}";
}

TEST_CASE("the identity passes on type and knowledge") {
    CHECK(infers<ops::identity>({"f32[2,n]"}) == "f32[2,n]");
    CHECK(infers<ops::identity>({"i64[2]{3,n}"}) == "i64[2]{3,n}");
    CHECK(infers<ops::identity>({"?[*]"}) == "?[*]");
}

TEST_CASE("concatenation adds up one dimension and unifies the others") {
    CHECK(infers<ops::concat>({.axis = 1}, {"f32[2,3]", "f32[2,4]", "f32[2,0]"}) == "f32[2,7]");
    CHECK(infers<ops::concat>({.axis = -2}, {"f32[2,3]", "f32[1,3]"}) == "f32[3,3]");
    CHECK(infers<ops::concat>({.axis = 0}, {"f32[n,?]", "f32[2,5]"}) == "f32[?,5]");
    CHECK(infers<ops::concat>({.axis = 0}, {"f32[2]"}) == "f32[2]");
    CHECK(infers<ops::concat>({.axis = 0}, {"f32[2]", "f32[*]"}) == "f32[*]");
    CHECK(infers<ops::concat>({.axis = 0}, {"?[2]", "f32[3]"}) == "f32[5]");
    CHECK(infers<ops::concat>({.axis = 0}, {"i64[1]{5}", "i64[2]{n,-1}"}) == "i64[3]{5,n,-1}");
    CHECK(infers<ops::concat>({.axis = 2}, {"f32[2,3]", "f32[2,3]"}) == "error: axis 2 for operand f32[2,3]");
    CHECK(infers<ops::concat>({.axis = 0}, {"f32[]", "f32[]"}) == "error: axis 0 for operand f32[]");
    CHECK(infers<ops::concat>({.axis = 0}, {"f32[2,3]", "f32[2,4]"}) ==
          "error: operands f32[2,3] and f32[2,4] differ in dimension 1, which is not the axis 0");
    CHECK(infers<ops::concat>({.axis = 0}, {"f32[2]", "f32[2,1]"}) ==
          "error: operands f32[2] and f32[2,1]; ranks must be equal");
    CHECK(infers<ops::concat>({.axis = 0}, {"f32[2]", "i32[2]"}) ==
          "error: operands f32[2] and i32[2]; element types must be equal");
    auto const huge = fmt::format("u8[{}]", largest);
    CHECK(infers<ops::concat>({.axis = 0}, {huge, huge}) == "u8[?]"); // too large to count
}

TEST_CASE("the parts of a split have the sizes that were asked for, and together the whole") {
    random_stream r{1};
    for (int i = 0; i < 300; ++i) {
        ints sizes;
        std::int64_t total = 0;
        for (auto n = 1 + r.below(4); n-- > 0;) {
            sizes.push_back(static_cast<std::int64_t>(r.below(4)));
            total += sizes.back();
        }
        auto const x = fmt::format("f32[2,{}]", total);
        std::string expected;
        for (auto s : sizes) expected += fmt::format("{}f32[2,{}]", expected.empty() ? "" : " ", s);
        CHECK(infers<ops::split>({.axis = 1, .sizes = sizes}, {x}, sizes.size()) == expected);
        CHECK(infers<ops::split>({.axis = -1}, {x, i64_vector(sizes)}, sizes.size()) == expected);
        CHECK(says(infers<ops::split>({.axis = 1, .sizes = sizes}, {fmt::format("f32[2,{}]", total + 1)}, sizes.size()),
                   "add up to"));
    }
    CHECK(infers<ops::split>({.axis = 0, .sizes = {1, 2}}, {"f32[n]"}, 2) == "f32[1] f32[2]");
    CHECK(infers<ops::split>({.axis = 0}, {"f32[6]", "i64[2]"}, 2) == "f32[?] f32[?]");
    CHECK(infers<ops::split>({.axis = 0, .sizes = {3, 3}}, {"f32[*]"}, 2) == "f32[*] f32[*]");
    CHECK(infers<ops::split>({.axis = 0, .sizes = {3, 3}}, {"f32[6]"}, 3) == "error: 2 sizes for 3 results");
    CHECK(infers<ops::split>({.axis = 0, .sizes = {-1, 7}}, {"f32[6]"}, 2) ==
          "error: sizes must be >= 0 and add up to 6");
    CHECK(says(infers<ops::split>({.axis = 0, .sizes = {largest, largest}}, {"f32[6]"}, 2), "add up to 6"));
    CHECK(infers<ops::split>({.axis = 1, .sizes = {6}}, {"f32[6]"}) == "error: axis 1 for operand f32[6]");
}

TEST_CASE("a slice takes what ONNX says, for every start, end and step") {
    std::vector<std::int64_t> const bounds{least, least + 1, -9, -4, -3, -2, -1, 0, 1, 2, 3, 4, 9, largest};
    for (std::int64_t size = 0; size < 5; ++size)
        for (auto start : bounds)
            for (auto end : bounds)
                for (auto step : {least, std::int64_t{-3}, std::int64_t{-2}, std::int64_t{-1}, std::int64_t{1},
                                  std::int64_t{2}, std::int64_t{3}, largest}) {
                    // ONNX's clamping, without overflow. As in ONNX Runtime and unlike in Python a start below
                    // the first element is the first element for negative steps too.
                    __extension__ using wide = __int128;
                    auto const clamp = [&](wide v, wide low, wide high) {
                        if (v < 0) v += size;
                        return v < low ? low : v > high ? high : v;
                    };
                    wide const first = step < 0 ? clamp(start, size > 0 ? 0 : -1, size - 1) : clamp(start, 0, size);
                    wide const last = step < 0 ? clamp(end, -1, size - 1) : clamp(end, 0, size);
                    std::vector<std::int64_t> expected, got;
                    for (wide at = first; step > 0 ? at < last : at > last; at += step)
                        expected.push_back(static_cast<std::int64_t>(at));
                    auto const range = clamped_slice(start, end, step, size);
                    wide at = range.start;
                    for (std::int64_t i = 0; i < range.count; ++i, at += range.step)
                        got.push_back(static_cast<std::int64_t>(at));
                    if (got != expected) {
                        CAPTURE(size, start, end, step);
                        CHECK(got == expected);
                    }
                    if (!(range.start >= 0 && (size == 0 || range.start <= size))) {
                        CAPTURE(size, start, end, step);
                        FAIL_CHECK("starts at " << range.start);
                    }
                }
    SUCCEED();
}

TEST_CASE("a slice is typed alike from attributes and from operands") {
    auto const both = [](std::string const& x, ints starts, ints ends, ints axes, ints steps) {
        auto const by_operand =
            infers<ops::slice>({}, {x, i64_vector(starts), i64_vector(ends), i64_vector(axes), i64_vector(steps)});
        CHECK(infers<ops::slice>({.starts = starts, .ends = ends, .axes = axes, .steps = steps}, {x}) == by_operand);
        return by_operand;
    };
    CHECK(both("f32[6,n,4]", {1, 0}, {5, 4}, {0, -1}, {2, 1}) == "f32[2,n,4]");
    CHECK(both("f32[6,n]", {1}, {5}, {1}, {1}) == "f32[6,?]");
    CHECK(both("f32[6]", {-1}, {least}, {0}, {-1}) == "f32[6]");
    CHECK(both("f32[6]", {}, {}, {}, {}) == "f32[6]");
    CHECK(both("i64[4]{1,n,3,4}", {1}, {largest}, {0}, {2}) == "i64[2]{n,4}");
    CHECK(both("f32[6]", {0}, {6}, {0}, {0}) == "error: step 0");
    CHECK(both("f32[6]", {0}, {6}, {1}, {1}) == "error: axis 1 is out of range or repeated for operand f32[6]");
    CHECK(both("f32[6]", {0, 0}, {6, 6}, {0, -1}, {1, 1}) ==
          "error: axis -1 is out of range or repeated for operand f32[6]");
    CHECK(both("f32[6]", {0, 0}, {6}, {0}, {1}) == "error: starts, ends, axes and steps of different lengths (1 axes)");
    // Fewer operands: all leading axes, steps of one.
    CHECK(infers<ops::slice>({}, {"f32[6,5]", "i64[1]{1}", "i64[1]{3}"}) == "f32[2,5]");
    CHECK(infers<ops::slice>({}, {"f32[6,5]", "i64[1]{1}", "i64[1]{3}", "_", "i64[1]{2}"}) == "f32[1,5]");
    CHECK(infers<ops::slice>({}, {"f32[6,5]", "i64[1]", "i64[1]{3}", "i64[1]{1}"}) == "f32[6,?]");
    CHECK(infers<ops::slice>({}, {"f32[6,5]", "i64[1]", "i64[1]"}) == "f32[?,5]");
    CHECK(infers<ops::slice>({}, {"f32[6,5]", "i64[?]", "i64[2]"}) == "f32[?,?]");
    CHECK(infers<ops::slice>({}, {"f32[6,5]", "i64[?]", "i64[?]"}) == "f32[?,?]");
    CHECK(says(infers<ops::slice>({}, {"f32[6]", "i64[3]", "i64[3]"}), "axis 1 is out of range"));
    CHECK(infers<ops::slice>({}, {"f32[6]", "i64[1]{1}"}) == "error: starts without ends");
    CHECK(infers<ops::slice>({}, {"f32[6]", "_", "i64[1]{1}"}) == "error: ends without starts");
}

TEST_CASE("padding widens or crops each dimension") {
    using pad = attributes_of<ops::pad>;
    auto const widths = [](std::string mode, ints pads) {
        return pad{.mode = std::move(mode), .pads = std::move(pads)};
    };
    CHECK(infers<ops::pad>(widths("constant", {1, 0, 2, 3}), {"f32[4,5]"}) == "f32[7,8]");
    CHECK(infers<ops::pad>(widths("constant", {-1, 0, -3, 0}), {"f32[4,n]"}) == "f32[0,n]");
    CHECK(infers<ops::pad>(widths("constant", {0, 1, 0, 0}), {"f32[4,n]"}) == "f32[4,?]");
    CHECK(infers<ops::pad>(widths("constant", {}), {"f32[]"}) == "f32[]");
    CHECK(infers<ops::pad>({}, {"f32[4,5]", "i64[2]{1,2}", "f32[]", "i64[1]{-1}"}) == "f32[4,8]");
    CHECK(infers<ops::pad>({}, {"f32[4,5]", "i64[4]"}) == "f32[?,?]");
    CHECK(infers<ops::pad>(widths("reflect", {3, 3}), {"f32[4]"}) == "f32[10]");
    CHECK(infers<ops::pad>(widths("edge", {9, 0}), {"f32[4]"}) == "f32[13]");
    CHECK(infers<ops::pad>(widths("reflect", {4, 0}), {"f32[4]"}) ==
          "error: reflected pads 4 and 0 must be less than size 4");
    CHECK(infers<ops::pad>(widths("edge", {1, 0}), {"f32[0]"}) == "error: edge padding of a dimension of size 0");
    CHECK(infers<ops::pad>(widths("wrap", {0, 0}), {"f32[4]"}) ==
          "error: mode \"wrap\"; constant, edge and reflect are supported");
    CHECK(infers<ops::pad>(widths("constant", {1}), {"f32[4]"}) == "error: 1 pads for 1 dimensions; it takes 2");
    CHECK(infers<ops::pad>(widths("constant", {-3, -2}), {"f32[4]"}) ==
          "error: pads -3 and -2 leave less than nothing of dimension 0 of f32[4]");
    CHECK(infers<ops::pad>(widths("constant", {largest, 0}), {"f32[4]"}) == "error: pads beyond 2^60");
    CHECK(says(infers<ops::pad>({}, {"f32[4,5]", "i64[4]{1,1,1,1}", "_", "i64[2]{0,0}"}), "axis 0 is out of range or"));
    // A border of another element type would be read beyond its end.
    CHECK(infers<ops::pad>({}, {"f32[4]", "i64[2]{1,1}", "f64[]"}) ==
          "error: border value f64[] of operand f32[4]; element types must be equal");
}

TEST_CASE("gathering replaces one dimension by those of the indices") {
    CHECK(infers<ops::gather>({.axis = 0}, {"f32[5,6]", "i64[2,3]"}) == "f32[2,3,6]");
    CHECK(infers<ops::gather>({.axis = -1}, {"f32[5,6]", "i32[]"}) == "f32[5]");
    CHECK(infers<ops::gather>({.axis = 1}, {"f32[n,6]", "i64[?]"}) == "f32[n,?]");
    CHECK(infers<ops::gather>({.axis = 1}, {"f32[*]", "i64[2]"}) == "f32[*]");
    CHECK(infers<ops::gather>({.axis = 0}, {"i64[3]{7,n,9}", "i64[2]{-1,1}"}) == "i64[2]{9,n}");
    CHECK(infers<ops::gather>({.axis = 0}, {"i64[3]{7,8,9}", "i64[]{0}"}) == "i64[]{7}");
    CHECK(infers<ops::gather>({.axis = 0}, {"i64[3]", "i64[]{0}"}) == "i64[]");
    CHECK(infers<ops::gather>({.axis = 0}, {"f32[3]", "i64[1]{3}"}) == "error: index 3 for dimension of size 3");
    CHECK(infers<ops::gather>({.axis = 0}, {"f32[3]", "i64[1]{-4}"}) == "error: index -4 for dimension of size 3");
    CHECK(infers<ops::gather>({.axis = 2}, {"f32[3,3]", "i64[1]"}) == "error: axis 2 for operand f32[3,3]");
    CHECK(infers<ops::gather>({.axis = 0}, {"f32[]", "i64[1]"}) == "error: axis 0 for operand f32[]");
    CHECK(infers<ops::gather>({.axis = 0}, {"f32[3]", "f32[1]"}) == "error: indices f32[1]; it takes i32 or i64");
}

TEST_CASE("a reshape keeps the number of elements, whatever it is written as") {
    random_stream r{2};
    for (int i = 0; i < 1000; ++i) {
        ints from;
        std::int64_t count = 1;
        for (auto n = r.below(5); n-- > 0;)
            from.push_back(static_cast<std::int64_t>(1 + r.below(6))), count *= from.back();
        // Split the count into random factors.
        ints to;
        for (auto rest = count; rest > 1;) {
            auto factor = static_cast<std::int64_t>(1 + r.below(static_cast<std::uint64_t>(rest)));
            while (rest % factor) ++factor;
            to.push_back(factor), rest /= factor;
            if (to.size() > 6) to.back() *= rest, rest = 1;
        }
        tensor_type const x{dtype::f32, std::span<std::int64_t const>{from}};
        tensor_type const y{dtype::f32, std::span<std::int64_t const>{to}};
        CAPTURE(to_string(x), to_string(y));
        CHECK(infers<ops::reshape>({.shape = to}, {to_string(x)}) == to_string(y));
        CHECK(infers<ops::reshape>({}, {to_string(x), i64_vector(to)}) == to_string(y));
        if (to.empty()) continue;
        auto asked = to;
        auto const place = r.below(to.size());
        asked[place] = -1; // what is left over
        CHECK(infers<ops::reshape>({.shape = asked}, {to_string(x)}) == to_string(y));
        asked = to;
        asked[place] += 1;
        CHECK(says(infers<ops::reshape>({.shape = asked}, {to_string(x)}), "cannot become"));
    }
}

TEST_CASE("zero, minus one and unknown sizes in a reshape mean what ONNX says") {
    auto const to = [](std::string const& x, ints shape, bool allow_zero = false) {
        return infers<ops::reshape>({.shape = std::move(shape), .allow_zero = allow_zero}, {x});
    };
    CHECK(to("f32[2,3,4]", {0, -1}) == "f32[2,12]");
    CHECK(to("f32[2,3,4]", {-1, 0}) == "f32[8,3]");
    CHECK(to("f32[n,3,4]", {0, -1}) == "f32[n,12]");
    CHECK(to("f32[n,3,4]", {-1, 12}) == "f32[n,12]");
    CHECK(to("f32[n,m]", {-1}) == "f32[?]");
    CHECK(to("f32[?,4]", {0, -1}) == "f32[?,?]");
    CHECK(to("f32[n,4]", {0, 4}) == "f32[n,4]");
    CHECK(to("f32[*]", {2, -1}) == "f32[2,?]");
    CHECK(to("f32[0,3]", {3, 0}, true) == "f32[3,0]");
    CHECK(to("f32[0,3]", {0, 7}) == "f32[0,7]");
    CHECK(to("f32[]", {1, 1}) == "f32[1,1]");
    CHECK(to("f32[1]", {}) == "f32[]");
    CHECK(to("f32[2,3]", {-1, -1}) == "error: f32[2,3] cannot become [-1, -1]");
    CHECK(to("f32[2,3]", {-2, 3}) == "error: f32[2,3] cannot become [-2, 3]");
    CHECK(to("f32[2,3]", {4, -1}) == "error: f32[2,3] cannot become [4, -1]");
    CHECK(to("f32[2,3]", {2, 3, 0}) == "error: f32[2,3] cannot become [2, 3, 0]");
    CHECK(says(to("f32[2,3]", {largest, largest}), "cannot become"));
    CHECK(infers<ops::reshape>({}, {"f32[6]", "i64[2]"}) == "f32[?,?]");
    CHECK(infers<ops::reshape>({}, {"f32[6]", "i64[?]"}) == "f32[*]");
    CHECK(infers<ops::reshape>({}, {"f32[n,6]", "i64[3]{n,2,3}"}) == "f32[n,2,3]");
    CHECK(infers<ops::reshape>({.shape = {}}, {"i64[1]{5}"}) == "i64[]{5}");
    CHECK(infers<ops::reshape>({.shape = {-1}}, {"i64[2]{5,n}"}) == "i64[2]{5,n}");
}

TEST_CASE("flattening splits the dimensions before an axis") {
    CHECK(infers<ops::flatten>({.axis = 1}, {"f32[2,3,4]"}) == "f32[2,12]");
    CHECK(infers<ops::flatten>({.axis = 0}, {"f32[2,3,4]"}) == "f32[1,24]");
    CHECK(infers<ops::flatten>({.axis = 3}, {"f32[2,3,4]"}) == "f32[24,1]");
    CHECK(infers<ops::flatten>({.axis = -1}, {"f32[2,3,4]"}) == "f32[6,4]");
    CHECK(infers<ops::flatten>({.axis = 0}, {"f32[]"}) == "f32[1,1]");
    CHECK(infers<ops::flatten>({.axis = 1}, {"f32[n,3,4]"}) == "f32[n,12]");
    CHECK(infers<ops::flatten>({.axis = 2}, {"f32[n,3,4]"}) == "f32[?,4]");
    CHECK(infers<ops::flatten>({.axis = 1}, {"f32[*]"}) == "f32[?,?]");
    CHECK(infers<ops::flatten>({.axis = 4}, {"f32[2,3,4]"}) == "error: axis 4 for operand f32[2,3,4]");
    CHECK(infers<ops::flatten>({.axis = -4}, {"f32[2,3,4]"}) == "error: axis -4 for operand f32[2,3,4]");
}

TEST_CASE("a transposition and its inverse give the type back") {
    random_stream r{3};
    for (int i = 0; i < 200; ++i) {
        ints perm, inverse;
        for (std::int64_t k = 0, rank = static_cast<std::int64_t>(r.below(5)); k < rank; ++k)
            perm.insert(r.below(perm.size() + 1), k), inverse.push_back(0);
        for (std::size_t k = 0; k < perm.size(); ++k)
            inverse[static_cast<std::size_t>(perm[k])] = static_cast<std::int64_t>(k);
        tensor_type x{dtype::f32, shape(perm.size())};
        for (std::size_t k = 0; k < perm.size(); ++k) x.dims[k] = dim{static_cast<std::int64_t>(k + 2)};
        auto const there = infers<ops::transpose>({.perm = perm}, {to_string(x)});
        CHECK(infers<ops::transpose>({.perm = inverse}, {there}) == to_string(x));
    }
    CHECK(infers<ops::transpose>({.perm = {2, 0, 1}}, {"f32[2,n,4]"}) == "f32[4,2,n]");
    CHECK(infers<ops::transpose>({.perm = {1, 0}}, {"f32[*]"}) == "f32[?,?]");
    for (ints const& perm : {ints{0, 0}, ints{0, 2}, ints{0, std::numeric_limits<std::int64_t>::max()},
                             ints{0, std::numeric_limits<std::int64_t>::min()}}) // nor for an operand of unknown rank
        CHECK(says(infers<ops::transpose>({.perm = perm}, {"f32[*]"}), "is out of range"));
    CHECK(infers<ops::transpose>({.perm = {-1, 0}}, {"f32[*]"}) == "error: permutation [-1, 0] for operand f32[*]");
    CHECK(infers<ops::transpose>({.perm = {0}}, {"f32[2,3]"}) == "error: permutation [0] for operand f32[2,3]");
    CHECK(says(infers<ops::transpose>({.perm = {0, 0}}, {"f32[2,3]"}), "axis 0 is out of range or repeated"));
    CHECK(says(infers<ops::transpose>({.perm = {0, 2}}, {"f32[2,3]"}), "axis 2 is out of range"));
    CHECK(infers<ops::transpose>({.perm = {-1, 0}}, {"f32[2,3]"}) == "error: permutation [-1, 0] for operand f32[2,3]");
}

TEST_CASE("unsqueezing and squeezing the same axes gives the type back") {
    random_stream r{4};
    for (int i = 0; i < 300; ++i) {
        auto const rank = 1 + r.below(5);
        ints axes;
        tensor_type wide{dtype::f32, shape{}}, narrow{dtype::f32, shape{}};
        for (std::uint64_t k = 0; k < rank; ++k) {
            auto const inserted = r.below(2) != 0;
            auto const d = inserted ? dim{1} : dim{static_cast<std::int64_t>(2 + r.below(5))};
            wide.dims.push_back(d);
            if (inserted)
                axes.push_back(static_cast<std::int64_t>(k) - (r.below(2) ? static_cast<std::int64_t>(rank) : 0));
            else
                narrow.dims.push_back(d);
        }
        CAPTURE(to_string(wide), to_string(narrow));
        CHECK(infers<ops::unsqueeze>({.axes = axes}, {to_string(narrow)}) == to_string(wide));
        CHECK(infers<ops::unsqueeze>({}, {to_string(narrow), i64_vector(axes)}) == to_string(wide));
        CHECK(infers<ops::squeeze>({.axes = axes}, {to_string(wide)}) == to_string(narrow));
        CHECK(infers<ops::squeeze>({}, {to_string(wide)}) == to_string(narrow)); // all of size one
    }
    CHECK(infers<ops::squeeze>({.axes = {0}}, {"f32[n,3]"}) == "f32[3]"); // n turns out to be one, or the run fails
    CHECK(infers<ops::squeeze>({}, {"f32[1,n]"}) == "f32[*]");
    CHECK(infers<ops::squeeze>({}, {"f32[1,3]", "i64[1]"}) == "f32[*]");
    CHECK(infers<ops::squeeze>({.axes = {0}}, {"i64[1]{5}"}) == "i64[]{5}");
    CHECK(infers<ops::unsqueeze>({.axes = {0}}, {"i64[]{5}"}) == "i64[1]{5}");
    CHECK(infers<ops::squeeze>({.axes = {1}}, {"f32[1,3]"}) == "error: axis 1 of f32[1,3] has not size 1");
    CHECK(infers<ops::squeeze>({.axes = {2}}, {"f32[1,3]"}) == "error: axis 2 is out of range or repeated, rank 2");
    CHECK(infers<ops::unsqueeze>({.axes = {0, 0}}, {"f32[3]"}) == "error: axis 0 is out of range or repeated, rank 3");
}

TEST_CASE("the shape of a tensor is a vector of what is known of its dimensions") {
    CHECK(infers<ops::shape>({"f32[2,n,?]"}) == "i64[3]{2,n,?}");
    CHECK(infers<ops::shape>({"f32[]"}) == "i64[0]{}");
    CHECK(infers<ops::shape>({"f32[*]"}) == "i64[?]");
    CHECK(infers<ops::shape>({.start = 1}, {"f32[2,n,5]"}) == "i64[2]{n,5}");
    CHECK(infers<ops::shape>({.start = -2, .end = -1}, {"f32[2,n,5]"}) == "i64[1]{n}");
    CHECK(infers<ops::shape>({.start = 2, .end = 1}, {"f32[2,n,5]"}) == "i64[0]{}");
    CHECK(infers<ops::shape>({.start = least, .end = largest}, {"f32[2]"}) == "i64[1]{2}");
}

TEST_CASE("the elements of small tensors of any rank are followed where they move") {
    auto const square = std::string{"i64[2,3]{0,1,2,3,n,5}"};
    CHECK(infers<ops::transpose>({.perm = {1, 0}}, {square}) == "i64[3,2]{0,3,1,n,2,5}");
    CHECK(infers<ops::reshape>({}, {"i64[6]{0,1,2,3,n,5}", "i64[2]{-1,2}"}) == "i64[3,2]{0,1,2,3,n,5}");
    CHECK(infers<ops::reshape>({}, {square, "i64[1]{-1}"}) == "i64[6]{0,1,2,3,n,5}");
    CHECK(infers<ops::flatten>({.axis = 0}, {square}) == "i64[1,6]{0,1,2,3,n,5}");
    CHECK(infers<ops::unsqueeze>({.axes = {1}}, {square}) == "i64[2,1,3]{0,1,2,3,n,5}");
    CHECK(infers<ops::squeeze>({.axes = {0}}, {"i64[1,2]{7,8}"}) == "i64[2]{7,8}");
    CHECK(infers<ops::cast>({.to = dtype::i32}, {square}) == "i32[2,3]{0,1,2,3,n,5}");
    CHECK(infers<ops::identity>({square}) == square);
    // Backwards, as exporters turn pads that begin with the last dimension.
    CHECK(infers<ops::slice>({.starts = {-1}, .ends = {least}, .axes = {0}, .steps = {-1}}, {square}) ==
          "i64[2,3]{3,n,5,0,1,2}");
    CHECK(infers<ops::slice>({.starts = {0, 2}, .ends = {1, 0}, .axes = {0, 1}, .steps = {largest, -1}}, {square}) ==
          "i64[1,2]{2,1}");
    CHECK(infers<ops::slice>({.starts = {1}, .ends = {1}, .axes = {1}, .steps = {1}}, {square}) == "i64[2,0]{}");
    CHECK(infers<ops::concat>({.axis = 1}, {"i64[2,1]{8,9}", square}) == "i64[2,4]{8,0,1,2,9,3,n,5}");
    CHECK(infers<ops::concat>({.axis = 0}, {"i64[1,3]{7,8,9}", square}) == "i64[3,3]{7,8,9,0,1,2,3,n,5}");
    CHECK(infers<ops::gather>({.axis = 1}, {square, "i64[2]{-1,0}"}) == "i64[2,2]{2,0,5,3}");
    CHECK(infers<ops::gather>({.axis = 0}, {square, "i64[]{1}"}) == "i64[3]{3,n,5}");
    CHECK(infers<ops::fill>({.shape = {1, 2}, .element = dtype::i64, .integer = 7}, {}) == "i64[1,2]{7,7}");
    CHECK(infers<ops::add>({"i64[2,1]{1,2}", "i64[2,1]{1,2}"}) == "i64[2,1]"); // arithmetic is that of lists
}

TEST_CASE("a filled tensor has the shape of its attribute or operand") {
    CHECK(infers<ops::fill>({.shape = {2, 3}, .element = dtype::f16}, {}) == "f16[2,3]");
    CHECK(infers<ops::fill>({.shape = {}, .element = dtype::i64, .integer = 7}, {}) == "i64[]{7}");
    CHECK(infers<ops::fill>({.shape = {2}, .element = dtype::u8, .integer = 300}, {}) == "u8[2]{?,?}");
    CHECK(infers<ops::fill>({.shape = {65}, .element = dtype::i64}, {}) == "i64[65]");
    CHECK(infers<ops::fill>({}, {"i64[2]{3,n}"}) == "f32[3,n]");
    CHECK(infers<ops::fill>({}, {"i64[2]"}) == "f32[?,?]");
    CHECK(infers<ops::fill>({}, {"i64[?]"}) == "f32[*]");
    CHECK(infers<ops::fill>(attributes_of<ops::fill>{.shape = {-1}}, {}) ==
          "error: shape [-1]; sizes must be >= 0 with a product of at most 2^62");
    CHECK(says(infers<ops::fill>({.shape = {largest, largest}}, {}), "at most 2^62"));
    CHECK(says(infers<ops::fill>({}, {"i64[1]{-7}"}), "sizes must be >= 0"));
    CHECK(says(infers<ops::fill>({}, {"i64[2]{n,-7}"}), "sizes must be >= 0"));
}

TEST_CASE("the identity's kernel needs a place for its one") {
    CHECK(infers<ops::dirac>({.shape = {4, 2, 3, 3}, .position = {1, 1}, .group = 2}, {}) == "f32[4,2,3,3]");
    CHECK(infers<ops::dirac>({.shape = {4, 4}, .position = {}, .element = dtype::f64}, {}) == "f64[4,4]");
    CHECK(infers<ops::dirac>({.shape = {4, 4, 3}, .position = {3}}, {}) == "error: position outside of the kernel");
    for (auto const& a :
         {attributes_of<ops::dirac>{.shape = {4}}, attributes_of<ops::dirac>{.shape = {4, 4, 3}},
          attributes_of<ops::dirac>{.shape = {4, 4}, .group = 0}, attributes_of<ops::dirac>{.shape = {-4, 4}}})
        CHECK(says(infers<ops::dirac>(a, {}), "needs a shape [o, i, spatial...]"));
}

TEST_CASE("settings that come as operands must be vectors of integers") {
    std::string const words = "it takes integers in a vector";
    CHECK(infers<ops::slice>({}, {"f32[4]", "f32[1]", "i64[1]{1}"}) == "error: operand 1 f32[1]; " + words);
    CHECK(says(infers<ops::slice>({}, {"f32[4]", "i64[1]{0}", "i64[1,1]"}), "operand 2 i64[1,1]; " + words));
    CHECK(says(infers<ops::slice>({}, {"f32[4]", "i64[1]{0}", "i64[1]{1}", "bool[1]"}), words));
    CHECK(says(infers<ops::slice>({}, {"f32[4]", "i64[1]{0}", "i64[1]{1}", "_", "f64[1]"}), words));
    CHECK(says(infers<ops::pad>({}, {"f32[4]", "f32[2]"}), words));
    CHECK(says(infers<ops::pad>({}, {"f32[4]", "i64[2]{1,1}", "_", "f32[1]"}), words));
    CHECK(says(infers<ops::reshape>({}, {"f32[4]", "f32[1]"}), words));
    CHECK(says(infers<ops::squeeze>({}, {"f32[1]", "f32[1]"}), words));
    CHECK(says(infers<ops::unsqueeze>({}, {"f32[1]", "f32[1]"}), words));
    CHECK(says(infers<ops::split>({.axis = 0}, {"f32[4]", "f32[2]"}, 2), words));
    CHECK(says(infers<ops::fill>({}, {"f32[2]"}), words));
    CHECK(infers<ops::squeeze>({}, {"f32[1,3]", "i64[]{0}"}) == "f32[3]"); // a scalar serves as one axis
    CHECK(infers<ops::reshape>({}, {"f32[4]", "?[*]"}) == "f32[*]");
}

TEST_CASE("an expansion has the dimensions of its operand broadcast against the shape, in either form") {
    random_stream r{3};
    for (int i = 0; i < 300; ++i) {
        ints own, wanted;
        for (auto n = r.below(4); n-- > 0;) own.push_back(static_cast<std::int64_t>(1 + r.below(3)));
        for (auto n = r.below(4); n-- > 0;) wanted.push_back(static_cast<std::int64_t>(1 + r.below(3)));
        auto const as_shape = [](ints const& sizes) {
            shape s;
            for (auto v : sizes) s.push_back(dim{v});
            return s;
        };
        auto const both = broadcast(as_shape(own), as_shape(wanted));
        auto const x = to_string(tensor_type{dtype::f32, as_shape(own)});
        auto const by_attribute = infers<ops::expand>({.shape = wanted}, {x});
        CHECK(by_attribute == infers<ops::expand>({x, i64_vector(wanted)}));
        if (both)
            CHECK(by_attribute == to_string(tensor_type{dtype::f32, *both}));
        else
            CHECK(says(by_attribute, "does not broadcast"));
    }
    CHECK(infers<ops::expand>({"f32[1,3]", "i64[2]{n,1}"}) == "f32[n,3]");
    CHECK(infers<ops::expand>({"f32[3]", "i64[2]"}) == "f32[?,3]");
    CHECK(infers<ops::expand>({"f32[3]", "i64[?]"}) == "f32[*]");
    CHECK(infers<ops::expand>({.shape = {3}}, {"i64[]{n}"}) == "i64[3]{n,n,n}");
    CHECK(says(infers<ops::expand>({.shape = {-1}}, {"f32[3]"}), "sizes must be >= 0"));
    CHECK(says(infers<ops::expand>({.shape = {largest / 4, 1}}, {"f32[8]"}), "more than 2^62"));
}

TEST_CASE("the length of a range is that of counting, also at the ends of the integers") {
    for (std::int64_t start = -4; start <= 4; ++start)
        for (std::int64_t limit = -4; limit <= 4; ++limit)
            for (std::int64_t delta = -3; delta <= 3; ++delta) {
                CAPTURE(start, limit, delta);
                if (delta == 0) {
                    CHECK_FALSE(range_length(start, limit, delta));
                    continue;
                }
                std::int64_t count = 0;
                ints counted;
                for (auto at = start; delta > 0 ? at < limit : at > limit; at += delta) ++count, counted.push_back(at);
                CHECK(range_length(start, limit, delta) == count);
                auto const number = [](std::int64_t v) { return fmt::format("i64[]{{{}}}", v); };
                CHECK(infers<ops::range>({number(start), number(limit), number(delta)}) == i64_vector(counted));
            }
    CHECK(range_length(least, largest, largest) == 3);
    CHECK(range_length(largest, least, least) == 2);
    CHECK(range_length(least, largest, std::int64_t{1} << 62) == 4);
    CHECK_FALSE(range_length(least, largest, 1));
    auto const top = std::numeric_limits<std::uint64_t>::max();
    for (std::uint64_t start = 0; start <= 4; ++start)
        for (std::uint64_t limit = 0; limit <= 9; ++limit)
            for (std::uint64_t delta = 1; delta <= 4; ++delta)
                for (auto shift : {std::uint64_t{0}, top - 9}) // a few numbers, at either end
                    CHECK(range_length(start + shift, limit + shift, delta) ==
                          range_length(static_cast<std::int64_t>(start), static_cast<std::int64_t>(limit),
                                       static_cast<std::int64_t>(delta)));
    CHECK(range_length(std::uint64_t{0}, top, top) == 1);
    CHECK(range_length(std::uint64_t{0}, top, top - 1) == 2);
    CHECK_FALSE(range_length(std::uint64_t{0}, top, std::uint64_t{1}));
    CHECK_FALSE(range_length(std::uint64_t{0}, top, std::uint64_t{0}));
}

TEST_CASE("a range whose numbers are not known has as many elements as a named size, or any number") {
    CHECK(infers<ops::range>({"i64[]{0}", "i64[]{n}", "i64[]{1}"}) == "i64[n]");
    CHECK(infers<ops::range>({"i64[]{1}", "i64[]{n}", "i64[]{1}"}) == "i64[?]");
    CHECK(infers<ops::range>({"f32[]", "f32[]", "f32[]"}) == "f32[?]");
    CHECK(infers<ops::range>({"i64[]{0}", "i64[]{100}", "i64[]{1}"}) == "i64[100]"); // too many to follow
    CHECK(infers<ops::range>({"i64[]{0}", "i64[]{n}", "i64[]{0}"}) == "error: delta 0");
    CHECK(says(infers<ops::range>({"i64[]", "i32[]", "i64[]"}), "three numbers of one type"));
    CHECK(says(infers<ops::range>({"bool[]", "bool[]", "bool[]"}), "three numbers of one type"));
    CHECK(says(infers<ops::range>({"i64[2]", "i64[]", "i64[]"}), "three numbers of one type"));
}

} // namespace ops_tensor_test
