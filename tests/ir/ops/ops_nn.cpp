#include "catch.hpp"
#include "ir/infer_once.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/ops/ops_nn.hpp>

#include <limits>

namespace ops_nn_test {

using namespace gsub;
using infer_once::infers;
using infer_once::says;

using conv = attributes_of<ops::conv>;
using max_pool = attributes_of<ops::max_pool>;
using average_pool = attributes_of<ops::average_pool>;

// The window of a convolution or pooling over `spatial` dimensions: stride 1, no pads, no dilation.
window_attributes plain(std::size_t spatial) {
    return {ints(spatial, 1), ints(2 * spatial, 0), ints(spatial, 1)};
}
conv convolution(window_attributes w, std::int64_t group = 1) {
    conv a;
    static_cast<window_attributes&>(a) = std::move(w);
    a.group = group;
    return a;
}
max_pool pool(window_attributes w, ints kernel, bool ceil_mode = false) {
    max_pool a;
    static_cast<window_attributes&>(a) = std::move(w);
    a.kernel_shape = std::move(kernel);
    a.ceil_mode = ceil_mode;
    return a;
}

// Windows counted one by one. In ceil mode the last one, the only one too, may hang over the end by less than a stride
// if it starts before the trailing pad.
std::int64_t counted(std::int64_t size, std::int64_t extent, std::int64_t stride, std::int64_t begin, std::int64_t end,
                     bool ceil_mode) {
    auto const padded = begin + size + end;
    if (extent > padded) return ceil_mode && extent - padded < stride ? std::int64_t{begin + size > 0} : -1;
    std::int64_t n = 0;
    for (std::int64_t at = 0;; at += stride, ++n) {
        if (at + extent <= padded) continue;
        auto const hangs_over = ceil_mode && at < begin + size && at - stride + extent < padded;
        return n + (hangs_over ? 1 : 0);
    }
}

TEST_CASE("the number of windows is what counting them gives, for every stride, dilation and pad") {
    random_stream r{1};
    int refused = 0;
    for (int i = 0; i < 4000; ++i) {
        auto const draw = [&](std::uint64_t low, std::uint64_t count) {
            return static_cast<std::int64_t>(low + r.below(count));
        };
        auto const size = draw(0, 12), kernel = draw(1, 5), stride = draw(1, 4), dilation = draw(1, 3),
                   begin = draw(0, 4), end = draw(0, 4);
        bool const ceil_mode = r.below(2);
        CAPTURE(size, kernel, stride, dilation, begin, end, ceil_mode);
        CHECK(window_extent(kernel, dilation) == 1 + dilation * (kernel - 1));
        window_attributes const w{{stride}, {begin, end}, {dilation}};
        auto const x = fmt::format("f32[2,3,{}]", size);
        auto const n = counted(size, window_extent(kernel, dilation), stride, begin, end, ceil_mode);
        auto const got = infers<ops::max_pool>(pool(w, {kernel}, ceil_mode), {x});
        if (n < 0) {
            ++refused;
            CHECK(says(got, "does not fit dimension 0 of size"));
        } else {
            CHECK(got == fmt::format("f32[2,3,{}]", n));
        }
        if (!ceil_mode) {
            auto const y = infers<ops::conv>(convolution(w), {x, fmt::format("f32[5,3,{}]", kernel)});
            CHECK((n < 0 ? says(y, "does not fit") : y == fmt::format("f32[2,5,{}]", n)));
        }
    }
    CHECK(refused > 50);
}

TEST_CASE("a convolution's channels follow from its weight and groups") {
    auto const a = [](std::int64_t group) { return convolution(plain(2), group); };
    CHECK(infers<ops::conv>(a(1), {"f32[2,3,8,8]", "f32[4,3,3,3]"}) == "f32[2,4,6,6]");
    CHECK(infers<ops::conv>(a(2), {"f32[2,6,8,8]", "f32[4,3,3,3]", "f32[4]"}) == "f32[2,4,6,6]");
    CHECK(infers<ops::conv>(a(6), {"f32[2,6,8,8]", "f32[12,1,1,1]", "_"}) == "f32[2,12,8,8]");
    CHECK(infers<ops::conv>(a(1), {"f32[n,3,?,8]", "f32[4,3,3,3]"}) == "f32[n,4,?,6]");
    CHECK(infers<ops::conv>(a(1), {"f32[*]", "f32[4,3,3,3]"}) == "f32[?,4,?,?]");
    CHECK(infers<ops::conv>(a(1), {"f32[2,3,8,8]", "f32[*]"}) == "f32[2,?,?,?]");
    CHECK(infers<ops::conv>(convolution(plain(1)), {"f64[2,3,8]", "f64[4,3,8]"}) == "f64[2,4,1]");
    CHECK(infers<ops::conv>(convolution(plain(3)), {"f16[2,3,4,4,4]", "f16[4,3,1,2,3]"}) == "f16[2,4,4,3,2]");
    CHECK(infers<ops::conv>(a(1), {"f32[0,3,8,8]", "f32[4,3,3,3]"}) == "f32[0,4,6,6]");
}

TEST_CASE("a convolution names what does not fit") {
    auto const fails = [](conv const& a, std::vector<std::string> const& operands) {
        return infers<ops::conv>(a, operands);
    };
    auto const a = convolution(plain(2));
    CHECK(fails(a, {"f32[2,3,8,8]", "f32[4,2,3,3]"}) ==
          "error: weight channels 2, input channels 3, group 1; input channels must be weight channels times group");
    CHECK(fails(convolution(plain(2), 2), {"f32[2,3,8,8]", "f32[4,1,3,3]"}) ==
          "error: weight channels 1, input channels 3, group 2; input channels must be weight channels times group");
    CHECK(fails(convolution(plain(2), 3), {"f32[2,3,8,8]", "f32[4,1,3,3]"}) ==
          "error: 4 output channels; group 3 must divide them");
    CHECK(fails(convolution(plain(2), 0), {"f32[2,3,8,8]", "f32[4,3,3,3]"}) == "error: group 0; it must be at least 1");
    CHECK(fails(a, {"f32[2,3,8]", "f32[4,3,3]"}) ==
          "error: input f32[2,3,8] and weight f32[4,3,3] for 2 spatial dimensions; both take rank 4");
    CHECK(fails(a, {"f32[2,3,8,8]", "f64[4,3,3,3]"}) ==
          "error: input f32[2,3,8,8] and weight f64[4,3,3,3]; element types must be equal");
    CHECK(fails(a, {"i32[2,3,8,8]", "i32[4,3,3,3]"}) == "error: element type i32; it takes floating types");
    CHECK(fails(a, {"f32[2,3,8,8]", "f32[4,3,3,3]", "f32[5]"}) == "error: bias f32[5]; it takes f32[4]");
    CHECK(fails(a, {"f32[2,3,8,8]", "f32[4,3,3,3]", "f32[4,1]"}) == "error: bias f32[4,1]; it takes f32[4]");
    CHECK(fails(a, {"f32[2,3,8,8]", "f32[4,3,3,3]", "f64[4]"}) == "error: bias f64[4]; it takes f32[4]");
    CHECK(fails(a, {"f32[2,3,8,8]", "f32[4,3,0,3]"}) == "error: kernel size 0; it must be in [1, 2^31]");
    CHECK(fails(a, {"f32[2,3,2,8]", "f32[4,3,3,3]"}) ==
          "error: a window of extent 3 does not fit dimension 0 of size 2 with pads 0 and 0");
}

TEST_CASE("every attribute of a window is checked") {
    auto const with = [](ints strides, ints pads, ints dilations) {
        auto const as_conv = infers<ops::conv>(convolution({strides, pads, dilations}), {"f32[1,1,9]", "f32[1,1,3]"});
        CHECK(infers<ops::max_pool>(pool({strides, pads, dilations}, {3}), {"f32[1,1,9]"}) == as_conv);
        average_pool mean;
        static_cast<window_attributes&>(mean) = {strides, pads, dilations};
        mean.kernel_shape = {3};
        CHECK(infers<ops::average_pool>(mean, {"f32[1,1,9]"}) == as_conv);
        return as_conv;
    };
    CHECK(with({1}, {0, 0}, {1}) == "f32[1,1,7]");
    CHECK(with({0}, {0, 0}, {1}) == "error: stride 0 and dilation 1 in dimension 0; both must be in [1, 2^31]");
    CHECK(with({1}, {0, 0}, {-1}) == "error: stride 1 and dilation -1 in dimension 0; both must be in [1, 2^31]");
    CHECK(says(with({std::int64_t{1} << 32}, {0, 0}, {1}), "both must be in [1, 2^31]"));
    CHECK(with({1}, {0, -1}, {1}) == "error: pad -1; it must be in [0, 2^31]");
    CHECK(says(with({1}, {std::int64_t{1} << 62, 0}, {1}), "it must be in [0, 2^31]"));
    CHECK(with({1}, {0}, {1}) ==
          "error: 1 strides, 1 dilations and 1 pads for 1 spatial dimensions; it takes 1, 1 and 2");
    CHECK(says(with({1}, {0, 0}, {1, 1}), "2 dilations"));
    CHECK(infers<ops::max_pool>(pool({}, {}), {"f32[1,1,9]"}) == "error: no kernel shape");
    CHECK(says(infers<ops::max_pool>(pool({{1, 1}, {0, 0}, {1}}, {3}), {"f32[1,1,9]"}), "2 strides"));
    CHECK(infers<ops::max_pool>(pool(plain(1), {0}), {"f32[1,1,9]"}) ==
          "error: kernel size 0; it must be in [1, 2^31]");
    CHECK(says(infers<ops::max_pool>(pool(plain(1), {(std::int64_t{1} << 31) + 1}), {"f32[1,1,9]"}), "2^31"));
}

TEST_CASE("the largest attributes and sizes do not overflow") {
    constexpr auto large = std::int64_t{1} << 31;
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    CHECK(says(infers<ops::max_pool>(pool({{1}, {0, 0}, {large}}, {large}), {"f32[1,1,9]"}), "does not fit"));
    CHECK(infers<ops::max_pool>(pool({{large}, {large, large}, {1}}, {1}), {"f32[1,1,1]"}) == "f32[1,1,3]");
    // A dimension that no tensor can have: whatever the answer, it is one.
    auto const huge = fmt::format("f32[1,1,{}]", largest);
    CHECK(says(infers<ops::max_pool>(pool({{1}, {large, large}, {1}}, {1}, true), {huge}), "error: dimension 0"));
    CHECK(says(infers<ops::conv>(convolution({{1}, {1, 1}, {1}}), {huge, "f32[1,1,3]"}), "error: dimension 0"));
    CHECK(says(infers<ops::conv>(convolution({{1}, {1, 1}, {1}}, largest), {"f32[1,1,5]", "f32[1,1,3]"}), "group"));
}

TEST_CASE("pooling keeps batch and channels and may give the places of the maxima") {
    CHECK(infers<ops::max_pool>(pool(plain(2), {2, 3}), {"f32[n,3,8,8]"}) == "f32[n,3,7,6]");
    CHECK(infers<ops::max_pool>(pool(plain(2), {2, 3}), {"f32[n,3,8,?]"}, 2) == "f32[n,3,7,?] i64[n,3,7,?]");
    CHECK(infers<ops::max_pool>(pool(plain(2), {2, 3}), {"f32[*]"}) == "f32[*]");
    CHECK(infers<ops::max_pool>(pool(plain(1), {1}), {"i8[1,1,4]"}) == "i8[1,1,4]");
    CHECK(infers<ops::max_pool>(pool(plain(1), {1}), {"f32[1,1,4]"}, 3) == "error: 3 results asked for, it has 1 or 2");
    CHECK(infers<ops::max_pool>(pool(plain(1), {1}), {"f32[1,4]"}) ==
          "error: operand f32[1,4] for 1 kernel dimensions; it takes rank 3");
}

TEST_CASE("global pooling leaves one place a channel") {
    CHECK(infers<ops::global_average_pool>({"f32[2,3,5,7]"}) == "f32[2,3,1,1]");
    CHECK(infers<ops::global_average_pool>({"f32[n,c,?]"}) == "f32[n,c,1]");
    CHECK(infers<ops::global_average_pool>({"f32[2,3]"}) == "f32[2,3]");
    CHECK(infers<ops::global_average_pool>({"f32[*]"}) == "f32[*]");
    CHECK(infers<ops::global_average_pool>({"f32[2]"}) == "error: operand f32[2]; it takes rank 2 and more");
    CHECK(infers<ops::global_average_pool>({"f32[2,3,0]"}) ==
          "error: the mean over a dimension of size 0 is undefined");
}

TEST_CASE("normalisation takes one statistic a channel, of any floating type") {
    auto const infers_bn = [](std::string const& x, std::string const& s) {
        return infers<ops::batch_norm>({x, s, s, s, s});
    };
    CHECK(infers_bn("f32[2,3,4]", "f32[3]") == "f32[2,3,4]");
    CHECK(infers_bn("f16[2,3,4]", "f32[3]") == "f16[2,3,4]");
    CHECK(infers_bn("f32[n,?]", "f32[3]") == "f32[n,?]");
    CHECK(infers_bn("f32[*]", "f32[3]") == "f32[*]");
    CHECK(infers_bn("f32[2,3,4]", "f32[4]") ==
          "error: statistics f32[4] for 3 channels; it takes vectors of one entry a channel");
    CHECK(says(infers_bn("f32[2,3,4]", "f32[3,1]"), "one entry a channel"));
    CHECK(infers_bn("f32[3]", "f32[3]") == "error: operand f32[3]; it takes rank 2 and more");
    for (int wrong = 1; wrong < 5; ++wrong) {
        std::vector<std::string> operands{"f32[2,3]", "f32[3]", "f32[3]", "f32[3]", "f32[3]"};
        operands[static_cast<std::size_t>(wrong)] = "i64[3]";
        CHECK(infers<ops::batch_norm>(operands) == "error: statistics i64[3]; it takes floating types");
    }
}

TEST_CASE("local response normalisation, softmax and dropout keep the type") {
    for (auto const* t : {"f32[2,3]", "f32[n,3,?]", "f32[*]", "f16[1,1,0]"}) {
        CHECK(infers<ops::lrn>({.size = 3}, {t}) == t);
        CHECK(infers<ops::softmax>({.axis = 1}, {t}) == t);
        CHECK(infers<ops::dropout>({t}) == t);
    }
    CHECK(infers<ops::dropout>({"f32[2,n]"}, 2) == "f32[2,n] bool[2,n]");
    CHECK(infers<ops::dropout>({"f32[2]", "f32[2]"}) == "error: ratio f32[2]; it takes one number");
    CHECK(infers<ops::dropout>({"f32[2]", "f32[]", "bool[3]"}) == "error: training mode bool[3]; it takes one number");
    CHECK(infers<ops::dropout>({"f32[2]"}, 3) == "error: 3 results asked for, it has 1 or 2");
    CHECK(infers<ops::lrn>({.size = 0}, {"f32[2,3]"}) == "error: size 0; it must be at least 1");
    CHECK(infers<ops::lrn>({.size = 3}, {"f32[3]"}) == "error: operand f32[3]; it takes rank 2 and more");
    CHECK(infers<ops::softmax>({.axis = -2}, {"f32[2,3]"}) == "f32[2,3]");
    CHECK(infers<ops::softmax>({.axis = 2}, {"f32[2,3]"}) == "error: axis 2 for operand f32[2,3]");
    CHECK(infers<ops::softmax>({.axis = 2, .flatten = true}, {"f32[2,3]"}) == "f32[2,3]");
    CHECK(infers<ops::softmax>({.axis = 0}, {"f32[]"}) == "error: axis 0 for operand f32[]");
}

TEST_CASE("a layer normalisation has its operand's type, and its statistics fit the last dimensions") {
    for (auto const* t : {"f32[2,3]", "f16[n,3]", "f32[?,3]"}) {
        std::string const vector = std::string{t}.substr(0, 3) + "[3]";
        CHECK(infers<ops::layer_norm>({}, {t, vector, vector}) == t);
        CHECK(infers<ops::layer_norm>({}, {t, vector}) == t);
    }
    CHECK(infers<ops::layer_norm>({}, {"f32[*]", "f32[3]"}) == "f32[*]");
    CHECK(infers<ops::layer_norm>({.axis = 0}, {"f32[2,3]", "f32[2,3]"}) == "f32[2,3]");
    CHECK(infers<ops::layer_norm>({}, {"f32[2,3]", "f32[4]"}) == "error: scale f32[4] does not fit operand f32[2,3]");
    CHECK(infers<ops::layer_norm>({}, {"f32[2,3]", "f32[3]", "f64[3]"}) ==
          "error: shift f64[3] does not fit operand f32[2,3]");
    CHECK(infers<ops::layer_norm>({}, {"f32[1,3]", "f32[2,3]"}) ==
          "error: scale f32[2,3] does not fit operand f32[1,3]");
    CHECK(infers<ops::layer_norm>({.axis = 2}, {"f32[2,3]", "f32[3]"}) == "error: axis 2 for operand f32[2,3]");
    CHECK(infers<ops::layer_norm>({.axis = 1}, {"f32[*]", "f32[3]"}) == "error: axis 1 of an operand of unknown rank");
    CHECK(infers<ops::layer_norm>({}, {"i32[2,3]", "i32[3]"}) == "error: element type i32; it takes floating types");
}

} // namespace ops_nn_test
