#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/lower/fuse.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <variant>

namespace fuse_test {

using namespace kernel_graphs;

// The kernels of a text, without values.
std::string kernels_of(kernel_graph const& k) {
    auto const text = to_text(k);
    std::string out;
    auto among = false;
    for (std::size_t at = 0; at < text.size();) {
        auto const end = text.find('\n', at);
        auto const line = text.substr(at, end - at);
        auto const value = line.starts_with('%') && line.find(" = ") == line.npos;
        if (line.starts_with('%')) among = !value;
        if (line.starts_with("result")) among = false;
        if (among) out += line + "\n";
        at = end + 1;
    }
    return out;
}

} // namespace fuse_test

TEST_CASE("operators become kernels with what their templates take over") {
    using namespace fuse_test;
    auto const g = graph_of(R"(
        %0 "x": f32[1,4,2,2] = input
        %1 "w": f32[2,4,1,1] = constant 0x0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f
        %2 "c": f32[1,2,2,2] = Conv(%0, %1) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1]}
        %3 "r": f32[1,2,2,2] = Relu(%2)
        %4 "f": f32[1,8] = Flatten(%3)
        %5 "t": f32[1,8] = Tanh(%4)
        return %5 "y", %3
    )");
    auto const k = fused(g);
    CHECK(check(k).empty());
    CHECK(to_text(k) == R"(kernel graph fused
input f32[1,4,2,2] "x"
%0 "x": f32[1,4,2,2] input 0
%1 "x": f32[1,4,2,2]:NCHW16c temporary
%2 "w": f32[2,4,1,1] constant 0x0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f
%3 "r": f32[1,2,2,2]:NCHW16c temporary
%4 "r": f32[1,2,2,2] temporary
%5 "f": f32[1,8] temporary
%6 "t": f32[1,8] temporary
%1 = view{reshape=true} %0
  covers "LayoutTransform" "LayoutTransform_3"
  boundary "c: it leads a kernel of its own"
%3 = conv2d{in_channels=4 out_channels=2 in=[2,2] input=planar low=0} %0, %2 packed{}
  covers "Conv" "c", "Relu" "r"
  boundary "LayoutTransform_6: it leads a kernel of its own"
%4 = view{reshape=true} %3
  covers "LayoutTransform" "LayoutTransform_6"
  boundary "2 operands read it"
%5 = view{reshape=true} %4
  covers "Flatten" "f"
  boundary "t: an operand of it lies otherwise"
%6 = row_reduction{dims=[1,8] arrays=[{elements=8 strides=[0,1]}] ops=[{what={op=tanh}}] results=[{value=1}]} %5[-1,1]
  covers "Tanh" "t"
  boundary "an output of the graph"
  frame [1,8]
result f32[1,8] "y" %6
result f32[1,2,2,2] "r" %4
)");
}

TEST_CASE("without groups each operator is a kernel, and without generation a call") {
    using namespace fuse_test;
    auto const g = graph_of(R"(
        %0 "x": f32[3,5] = input
        %1 "a": f32[3,5] = Exp(%0)
        %2 "b": f32[3,5] = Tanh(%1)
        return %2
    )");
    CHECK(
        kernels_of(fused(g)) ==
        R"(%1 = row_reduction{dims=[3,5] arrays=[{elements=15 strides=[5,1]}] ops=[{what={op=exp}},{what={op=tanh left=1}}] results=[{value=2}]} %0[0,1]
  covers "Exp" "a", "Tanh" "b"
  boundary "an output of the graph"
  frame [3,5]
)");
    fuse_context alone;
    alone.group = false;
    CHECK(summary(fused(g, isa::avx512, alone)) ==
          "1 x row_reduction{dims=[3,5] arrays=[{}] ops=[{what={op=exp}}] results=[{value=1}]}: Exp\n"
          "1 x row_reduction{dims=[3,5] arrays=[{}] ops=[{what={op=tanh}}] results=[{value=1}]}: Tanh\n");
    fuse_context reference;
    reference.generate = false;
    CHECK(summary(fused(g, isa::avx512, reference)) == "1 x reference Exp: Exp\n1 x reference Tanh: Tanh\n");
    CHECK(fused(g, isa::avx512, alone).ops[0].boundary == "b: no two operators share a kernel");
}

TEST_CASE("each kernel says why it covers no more") {
    using namespace fuse_test;
    auto const border = [](std::string const& body) { return fused(graph_of(body)).ops.at(0).boundary; };
    auto const begin = std::string{"%0 \"x\": f32[4,4] = input\n%1 \"m\": f32[4,4] = MatMul(%0, %0)\n"};
    CHECK(border(begin + "return %1") == "an output of the graph");
    CHECK(border(begin + "%2 \"n\": f32[4,4] = MatMul(%1, %0)\nreturn %2") == "n: it leads a kernel of its own");
    CHECK(border(begin + "%2 \"s\": f32[4,4] = Add(%1, %1)\n%3 \"p\": f32[4,4] = MatMul(%1, %2)\nreturn %3") ==
          "3 operands read it");
    CHECK(border(begin + "%2 \"q\": i32[4,4] = Cast(%1) {to = \"i32\"}\nreturn %2").starts_with("q: "));
}

TEST_CASE("what only moves elements is a view, a join or a border") {
    using namespace fuse_test;
    auto const k = fused(graph_of(R"(
        %0 "x": f32[2,3,4] = input
        %1 "t": f32[4,2,3] = Transpose(%0) {perm = [2, 0, 1]}
        %2 "s": f32[2,2,3] = Slice(%1) {starts = [3], ends = [-5], axes = [0], steps = [-2]}
        %3 "e": f32[2,2,3] = Expand(%2) {shape = [2, 2, 3]}
        %4 "j": f32[2,4,3] = Concat(%2, %3) {axis = 1}
        %5 "p": f32[2,4,6] = Pad(%4) {pads = [0, 0, 1, 0, 0, 2]}
        return %5
    )"));
    CHECK(check(k).empty());
    auto const text = kernels_of(k);
    CHECK_THAT(text, Catch::Matchers::Contains("view{from=[2,0,1] start=[0,0,0] step=[1,1,1]} %0\n"));
    CHECK_THAT(text, Catch::Matchers::Contains("view{from=[0,1,2] start=[3,0,0] step=[-2,1,1]} %1\n"));
    CHECK_THAT(text, Catch::Matchers::Contains("concat{axis=1} %2, %3\n"));
    CHECK_THAT(text, Catch::Matchers::Contains("pad{before=[0,0,1] after=[0,0,2]} %4\n"));
}

TEST_CASE("a convolution by computed weights is a product with its windows, of which several dimensions are one") {
    using namespace fuse_test;
    auto const k = fused(graph_of(R"(
        %0 "x": f32[2,6,9,8] = input
        %1 "w": f32[4,3,3,2] = input
        %2 "c": f32[2,4,4,4] = Conv(%0, %1) {group = 2, strides = [2, 2], pads = [1, 0, 0, 1], dilations = [1, 2]}
        return %2
    )"));
    CHECK(check(k).empty());
    CHECK(whole_text(parsed(whole_text(k))) == whole_text(k));
    auto const text = kernels_of(k);
    CHECK_THAT(text, Catch::Matchers::Contains("%2 = pad{before=[0,0,1,0] after=[0,0,0,1]} %0\n"));
    CHECK_THAT(
        text, Catch::Matchers::Contains("%5 = view{from=[0,1,2,3,4,3,4] start=[0,0,0,0,0] step=[1,1,1,1,2,2,2]} %3\n"));
    CHECK_THAT(text, Catch::Matchers::Contains("%6 = view{reshape=true} %5\n"));
    CHECK_THAT(text, Catch::Matchers::Contains(
                         "%7 = matmul{m=2 n=16 k=18 batch=[2,2] constant=false} %4[-1,0,1,2], %6[0,1,2,3]\n"));
}
TEST_CASE("one of a single channel a group is a sum of products of views") {
    using namespace fuse_test;
    auto const k = fused(graph_of(R"(
        %0 "x": f32[2,3,9,8] = input
        %1 "w": f32[3,1,2,3] = input
        %2 "c": f32[2,3,8,6] = Conv(%0, %1) {group = 3, strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1]}
        return %2
    )"));
    CHECK(check(k).empty());
    auto const text = kernels_of(k);
    CHECK_THAT(text, Catch::Matchers::Contains("%8 = view{from=[0,1,3,4,4] start=[0,0,0,1,0] step=[1,1,1,1,1]} %2\n"));
    CHECK_THAT(text, Catch::Matchers::Contains(
                         "%6 = matmul{n=6 k=3 batch=[2,3,8] constant=false} %4[-1,0,-1,1,2], %5[0,1,2,3,4]\n"));
    CHECK_THAT(text, Catch::Matchers::Contains("%7[-1,0,-1,1,2], %8[0,1,2,3,4], %6[0,1,2,3,4]\n"));
}
TEST_CASE("windows of which even few take too much memory are left to the reference runtime, and so are other types") {
    using namespace fuse_test;
    auto const of = [](std::string const& image, std::string const& weights, std::string const& result,
                       std::string const& attributes) {
        return summary(fused(graph_of("%0 \"x\": " + image + " = input\n%1 \"w\": " + weights +
                                      " = input\n%2 \"c\": " + result + " = Conv(%0, %1) {" + attributes +
                                      "dilations = [1, 1], pads = [0, 0, 0, 0], strides = [1, 1]}\nreturn %2\n")));
    };
    std::string const reference = "1 x reference Conv: Conv\n";
    CHECK(of("f32[4096,64,16,16]", "f32[1,64,9,9]", "f32[4096,1,8,8]", "") == reference);
    CHECK(of("f64[1,4,9,9]", "f64[1,4,3,3]", "f64[1,1,7,7]", "") == reference);
    CHECK(of("f32[1,4,9,9]", "f32[1,4,3,3]", "f32[1,1,7,7]", "activation = \"relu\", ") == reference);
    CHECK(of("f32[1,4,9,9]", "f32[1,4,3,3]", "f32[1,1,7,7]", "") != reference);
}

TEST_CASE("a column is a row to the kernel of a convolution, unless there is a border beside it") {
    using namespace fuse_test;
    int seen = 0;
    for (std::int64_t const beside : {0, 1}) {
        graph g;
        graph_builder b{g};
        attributes_of<ops::conv> a;
        a.strides = {2, 1}, a.dilations = {1, 1}, a.pads = {3, beside, 1, beside};
        auto const x = b.input(dtype::f32, {1, 32, 41, 1}, "x");
        b.outputs({b.add<ops::conv>(a, {x, b.constant(tensor::zeros(dtype::f32, ints{16, 32, 5, 1}))})});
        auto const k = fused(g);
        INFO(summary(k));
        for (auto const& op : k.ops)
            if (auto const* const d = std::get_if<kernels::descriptor>(&op.computes))
                if (auto const* const s = std::get_if<kernels::conv2d_shape>(d)) {
                    CHECK(s->in == (beside ? std::array<std::int64_t, 2>{41, 1} : std::array<std::int64_t, 2>{1, 41}));
                    CHECK(s->stride[beside ? 0 : 1] == 2);
                    CHECK(s->pads[beside ? 0 : 1] == 3);
                    ++seen;
                }
    }
    CHECK(seen == 2);
}
