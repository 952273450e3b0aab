#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/lower/kernel_graph.hpp>

#include <string>
#include <vector>

namespace kernel_graph_test {

using namespace kernel_graphs;

// Legal graphs of two stages, and a line of them replaced.
std::string const selected = R"(kernel graph selected
input f32[1,4,6,6] "x"
%0 "x": f32[1,4,6,6] input 0
%1 "w": f32[4,4,1,1] constant
%2 "c": f32[1,4,6,6] temporary
%3 "v": f32[1,4,36] temporary
%4 "m": f32[1,4,8] temporary
%5 "b": f32[36,8] constant
%6 "r": f32[1,4,8] temporary
%7 "p": f32[1,6,8] temporary
%8 "j": f32[1,12,8] temporary
%2 = conv2d{in_channels=4 out_channels=4 in=[6,6]} %0, %1 packed{}
  covers "Conv" "conv"
%3 = view{reshape=true} %2
  covers "Reshape" "flat"
%4 = matmul{m=4 n=8 k=36 batch=[1]} %3[0,1,2], %5 packed{}
  covers "MatMul" "product"
%6 = row_reduction{dims=[1,4,8] arrays=[{elements=32 strides=[32,8,1]}] ops=[{what={op=exp}}] results=[{value=1}]} %4[0,1,2]
  covers "Exp" "exp"
  frame [1,4,8]
%7 = pad{before=[0,1,0] after=[0,1,0]} %6
  covers "Pad" "pad"
%8 = concat{axis=1} %7, %7
  covers "Concat" "join"
result f32[1,12,8] "y" %8
)";
std::string const scheduled = R"(kernel graph scheduled
input f32[1,16,6,6] "x"
%0 "x": f32[1,16,6,6] input 0 bytes=2304
%1 "x": f32[1,16,6,6] temporary block=16 bytes=2304
%2 "w": f32[32,16,1,1] constant bytes=2048
%3 "all": f32[1,48,6,6] temporary block=16 bytes=6912
%4 "c": f32[1,32,6,6] temporary block=16 bytes=4608 part_of=%3
%5 "x2": f32[1,16,6,6] temporary block=16 bytes=2304 part_of=%3 offset=4608
%6 "y": f32[1,48,6,6] output 0 bytes=6912
%1 = movement{kind=to_blocked dims=[1,1,36,16] target={elements=576 strides=[576,576,16,1]} arrays=[576] boxes=[{first=[0,0,0,0] extent=[1,1,36,16] array=0 strides=[576,576,1,36]}]} %0
  moves "x"
  schedule
%4 = conv2d{in_channels=16 out_channels=32 in=[6,6]} %1, %2 packed{}
  covers "Conv" "conv"
  schedule tile_ow=6 tile_oh=1 tile_oc=2 unroll_ic=1 chunk=1 unroll_kh=false oc_inner=false tile_ic=0
%5 = copy{moves=[{to=1 size=2304}]} %1
  covers "Concat" "join"
%6 = movement{kind=from_blocked dims=[1,3,16,36] target={elements=1728 strides=[1728,576,36,1]} arrays=[1728] boxes=[{first=[0,0,0,0] extent=[1,3,16,36] array=0 strides=[1728,576,1,16]}]} %3
  moves "all"
  schedule
result f32[1,48,6,6] "y" %6
)";

struct broken {
    std::string_view piece, by, said;
};
void check_table(std::string const& legal, std::vector<broken> const& table) {
    {
        auto const found = check(parsed(legal));
        INFO((found.empty() ? std::string{} : to_string(found[0])));
        CHECK(found.empty());
    }
    for (auto const& b : table) {
        std::string all;
        for (auto const& p : check(parsed(with(legal, b.piece, b.by)))) all += to_string(p) + "\n";
        INFO(b.by);
        CHECK_THAT(all, Catch::Matchers::Contains(std::string{b.said}));
    }
}

} // namespace kernel_graph_test

TEST_CASE("an illegal kernel graph is told by kernel, operand, what was expected, and the pass before") {
    using namespace kernel_graph_test;
    check_table(
        selected,
        {
            {"} %0, %1 packed{}", "} %0",
             "usage: conv2d (node \"conv\"): expected 2 operands, found 1 (behind the pass select)"},
            {"} %0, %1 packed{}", "} %9, %1 packed{}",
             "conv2d (node \"conv\"): expected operand 0 that is computed before, found %9, which there is not"},
            {"} %0, %1 packed{}", "} %4, %1 packed{}", "expected operand 0 that is computed before, found %4 (behind"},
            {"} %0, %1 packed{}", "} %0, %1", "conv2d (node \"conv\"): expected operand 1 packed, found no packing"},
            {"} %0, %1 packed{}", "} %0, %0 packed{}", "expected operand 1 constant, found %0"},
            {"%1 packed{}", "%1 packed{scale=[1,2]}",
             "expected operand 1 with a factor for each output channel, found 2"},
            {"%1 \"w\": f32[4,4,1,1]", "%1 \"w\": f32[4,2,1,1]",
             "expected operand 1 of 16 f32 weights, found f32[4,2,1,1]"},
            {"%1 \"w\": f32[4,4,1,1]", "%1 \"w\": f16[4,4,1,1]", "expected operand 1 of 16 f32 weights, found f16"},
            {"%2 = conv2d", "%0 = conv2d", "(node \"conv\"): expected a result that may be written, found %0"},
            {"%2 = conv2d", "%2, %7 = conv2d", "(node \"conv\"): expected 1 results, found 2"},
            {"%3 = view", "%2 = view", "view (node \"flat\"): expected a result that nothing wrote before, found %2"},
            {"%3 \"v\": f32[1,4,36]", "%3 \"v\": f32[1,4,35]",
             "view (node \"flat\"): expected a view of f32[1,4,6,6] as f32[1,4,35]"},
            {"view{reshape=true}", "view{from=[0,1,9] start=[0,0,0,0] step=[1,1,1]}",
             "view (node \"flat\"): expected a view"},
            {"view{reshape=true}", "view{from=[0,1,2] start=[0,0,0] step=[1,1,1]}",
             "view (node \"flat\"): expected a view"},
            {"%3[0,1,2]", "%3[0,1]", "matmul (node \"product\"): expected operand 0 read along 3 dimensions, found 2"},
            {"%3[0,1,2]", "%3[0,1,3]", "expected operand 0 read along its 3 dimensions, found dimension 3"},
            {"%5 packed{}", "%5", "matmul (node \"product\"): expected operand 1 packed, found no packing"},
            {"k=36", "k=35", "expected operand 1 of 280 f32 weights, found f32[36,8]"},
            {"frame [1,4,8]", "frame [4]", "expected operand 0 read along 1 dimensions, found 3"},
            {"frame [1,4,8]", "frame []", "expected a frame of at least its dimensions, found 0"},
            {"pad{before=[0,1,0]", "pad{before=[0,1]",
             "pad (node \"pad\"): expected 3 dimensions with a border, found 2 and 3"},
            {"concat{axis=1}", "concat{axis=3}",
             "concat (node \"join\"): expected operands of one rank and an axis of theirs, found axis 3"},
            {"concat{axis=1} %7, %7", "concat{axis=1} %7, %2", "concat (node \"join\"): expected operands of one rank"},
            {"concat{axis=1} %7, %7", "concat{axis=1}", "concat (node \"join\"): expected 1 operands, found 0"},
            {"\"y\" %8", "\"y\" %9",
             "(node \"output 0\"): expected a value that is computed, found %9, which there is not"},
            {"result f32[1,12,8] \"y\" %8", "result f32[1,12,8] \"y\"",
             "(node \"the graph\"): expected 0 result types, found 1"},
            {"result f32[1,12,8]", "result f32[1,12,9]",
             "(node \"output 0\"): expected f32[1,12,9], found f32[1,12,8]"},
            {"input f32[1,4,6,6]", "input f32[1,4,6,7]",
             "(node \"%0\"): expected an input of f32[1,4,6,6], found f32[1,4,6,7]"},
            {"input 0\n%1", "input 1\n%1", "(node \"%0\"): expected an input of f32[1,4,6,6], found 1 inputs"},
            {"%3 \"v\": f32[1,4,36] temporary", "%3 \"v\": f32[1,4,36] temporary block=8",
             "(node \"%3\"): expected no storage before the pass layout, found storage"},
            {"%3 \"v\": f32[1,4,36] temporary", "%3 \"v\": f32[1,4,36] temporary part_of=%2",
             "expected no storage before"},
        });
    auto mixed = parsed(selected);
    mixed.values[1].data = tensor::zeros(tensor_type{dtype::f32, ints{3}});
    CHECK_THAT(to_string(check(mixed).at(0)),
               Catch::Matchers::Contains("(node \"%1\"): expected a constant of f32[4,4,1,1], found f32[3]"));
    mixed = parsed(selected);
    mixed.values[2].type.dims[1] = dim{}; // a kernel makes it
    CHECK_THAT(to_string(check(mixed).at(0)),
               Catch::Matchers::Contains("expected static types, found 1 that data decide"));
}

TEST_CASE("illegal storage is told as well") {
    using namespace kernel_graph_test;
    check_table(
        scheduled,
        {
            {"} %1, %2 packed{}", "} %0, %2 packed{}",
             "conv2d (node \"conv\"): expected operand 0 in blocks, found row-major (behind the pass schedule)"},
            {"strides=[576,576,1,36]}]} %0", "strides=[576,576,1,36]}]} %5",
             "(node \"x\"): expected operand 0 that is computed before, found %5"},
            {"strides=[1728,576,1,16]}]} %3", "strides=[1728,576,1,16]}]} %0",
             "layout transform from blocks (node \"all\"): expected operand 0 in blocks, found row-major"},
            {"%1 \"x\": f32[1,16,6,6] temporary block=16 bytes=2304",
             "%1 \"x\": f32[1,16,6,6] temporary block=16 bytes=2300", "(node \"%1\"): expected 2304 bytes, found 2300"},
            {"%1 \"x\": f32[1,16,6,6] temporary block=16 bytes=2304",
             "%1 \"x\": f32[1,16,6,6] temporary block=32 bytes=2304", "(node \"%1\"): expected 4608 bytes, found 2304"},
            {"%1 \"x\": f32[1,16,6,6] temporary", "%1 \"x\": f32[16,36] temporary",
             "(node \"%1\"): expected a value of rank 3 to 5 in blocks, found f32[16,36]"},
            {"part_of=%3 offset=4608", "part_of=%3 offset=4609",
             "(node \"%5\"): expected a piece within 6912 bytes, found 2304 bytes from 4609 on"},
            {"part_of=%3 offset=4608", "part_of=%3 offset=1152921504606846976", "expected a piece within 6912 bytes"},
            {"part_of=%3 offset=4608", "part_of=%4", "(node \"%5\"): expected a piece of a whole value, found %4"},
            {"part_of=%3 offset=4608", "part_of=%99",
             "(node \"%5\"): expected a piece of a whole value, found %99, which there is not"},
            {"to=1 size=2304", "to=1 size=2305", "copy (node \"join\"): expected moves within their values"},
            {"to=1 size=2304", "to=1 to_at=1 size=2304", "copy (node \"join\"): expected moves within their values"},
            {"moves=[{to=1 size=2304", "times=2 moves=[{to=1 from_step=1 size=2304",
             "copy (node \"join\"): expected moves within their values"},
            {"to=1 size=2304", "size=2304",
             "copy (node \"join\"): expected moves from operands to results, found one from 0 to 0"},
            {"%5 = copy{moves=[{to=1 size=2304}]} %1", "%5 = concat{} %1",
             "concat (node \"join\"): expected kernels, copies and calls alone, found concat"},
            {"  schedule tile_ow=6 tile_oh=1 tile_oc=2 unroll_ic=1 chunk=1 unroll_kh=false oc_inner=false tile_ic=0\n",
             "", "conv2d (node \"conv\"): expected a schedule, found none"},
            {"\"y\" %6", "\"y\" %3", "(node \"output 0\"): expected a value that is stored as that output, found %3"},
            {"output 0", "output 1", "(node \"output 0\"): expected a value that is stored as that output, found %6"},
        });
    // A piece that is not there makes its whole no less there: the reader finds what was stored before.
    auto k = parsed(scheduled);
    CHECK(emit(k, isa::avx512).error().code() == error_code::usage); // constants without elements
}

TEST_CASE("calls of the reference evaluator get what their graphs read") {
    using namespace kernel_graph_test;
    std::string const legal = R"(kernel graph selected
input f32[2,3] "x"
%0: f32[2,3] input 0
%1: f32[6] temporary
%1 = reference %0
  covers "Relu" "r"
  | graph "" {
  |   %0 "x": f32[3,2] = input
  |   %1: f32[3,2] = Relu(%0)
  |   return %1
  | }
result f32[6] %1
)";
    check_table(
        legal,
        {
            {"reference %0", "reference %0, %0", "reference Relu (node \"r\"): expected 1 operands, found 2"},
            {"%0: f32[2,3] input 0", "%0: f32[2,2] input 0",
             "reference Relu (node \"r\"): expected operand 0 of f32[3,2], found f32[2,2]"},
            {"%1: f32[6]", "%1: f64[6]", "reference Relu (node \"r\"): expected result 0 of f32[3,2], found f64[6]"},
        });
}

TEST_CASE("kernels say how their operands have to lie") {
    using namespace kernel_graph_test;
    auto const needs = [](std::string const& op) {
        auto const k = parsed("kernel graph selected\n= " + op + "\n");
        std::vector<operand_requirement> all;
        for (std::size_t i = 0; i < k.ops[0].operands.size(); ++i) all.push_back(requirement_of(k.ops[0], i));
        return all;
    };
    using enum operand_requirement;
    using list = std::vector<operand_requirement>;
    CHECK(needs("conv2d{bias=true residual=true} %0, %1 packed{}, %2, %3") == list{blocks, weights, lanes, blocks});
    CHECK(needs("conv2d{input=planar arrays=1} %0, %1, %2") == list{row_major, weights, blocks});
    CHECK(needs("winograd{conv={bias=true}} %0, %1, %2") == list{blocks, weights, lanes});
    CHECK(needs("separable{depthwise={bias=true} pointwise={residual=true}} %0, %1, %2, %3, %4") ==
          list{blocks, weights, lanes, weights, blocks});
    CHECK(needs("separable{pointwise={bias=true}} %0, %1, %2, %3") == list{blocks, weights, weights, lanes});
    CHECK(needs("matmul{bias=true arrays=[{}]} %0, %1, %2, %3") == list{view, weights, lanes, view});
    CHECK(needs("matmul{constant=false} %0, %1") == list{view, view});
    CHECK(needs("attention{} %0, %1, %2") == list{view, view, view});
    CHECK(needs("row_reduction{arrays=[{},{}]} %0, %1") == list{view, view});
    CHECK(needs("row_reduction{arrays=[{}] chosen=[{}]} %0, %1") == list{view, row_major});
    CHECK(needs("reduction{} %0") == list{view});
    CHECK(needs("pool2d{average=true} %0, %1") == list{blocks, row_major});
    CHECK(needs("elementwise{} %0, %1") == list{blocks, blocks});
    CHECK(needs("local_response_norm{} %0") == list{row_major});
    CHECK(needs("movement{kind=from_blocked} %0") == list{blocks});
    CHECK(needs("movement{kind=gather} %0, %1") == list{row_major, row_major});
    CHECK(needs("scatter{} %0, %1, %2") == list{row_major, row_major, row_major});
    CHECK(needs("copy{} %0, %1") == list{any, any});
    CHECK(needs("extern \"f\" %0") == list{row_major});
    CHECK(needs("view{} %0") == list{row_major});

    auto const made = [](std::string const& op) {
        return makes_blocks(parsed("kernel graph fused\n= " + op + "\n").ops[0]);
    };
    for (auto const* yes : {"conv2d{}", "winograd{}", "separable{}", "pool2d{}", "elementwise{}"}) CHECK(made(yes));
    for (auto const* no : {"matmul{}", "row_reduction{}", "movement{kind=to_blocked}", "copy{}", "view{}"})
        CHECK_FALSE(made(no));
}

TEST_CASE("kernels are called what people call them") {
    using namespace kernel_graph_test;
    auto const kind = [](std::string const& op) {
        return kind_of(parsed("kernel graph fused\n= " + op + "\n").ops[0]);
    };
    CHECK(kind("conv2d{in_channels=8 out_channels=8 groups=8}") == "depthwise conv2d");
    CHECK(kind("view{}") == "view");
    CHECK(kind("concat{}") == "concat");
    CHECK(kind("pad{}") == "pad");
    CHECK(kind("copy{}") == "copy");
    CHECK(kind("copy{moves=[{},{}]}") == "concat");
    CHECK(kind("extern \"app.Swish\"") == "extern app.Swish");
    CHECK(kind("custom \"mine\"") == "mine");
    CHECK(to_string(lowering_stage::laid_out) == "laid-out");
}

TEST_CASE("whole blocks of one image's channels are joined and cut, and nothing else") {
    using namespace kernel_graph_test;
    auto const type = [](ints dims, dtype element = dtype::f32) {
        return tensor_type{element, std::span<std::int64_t const>{dims.data(), dims.size()}};
    };
    CHECK(may_be_blocked(type({1, 3, 4})));
    CHECK_FALSE(may_be_blocked(type({1, 3})));
    CHECK_FALSE(may_be_blocked(type({1, 0, 4})));
    CHECK(may_be_blocked(type({1, 3, 4}, dtype::f16))); // poolings are of any type
    std::vector<tensor_type> const parts{type({1, 16, 4, 4}), type({1, 32, 4, 4})};
    auto const whole = type({1, 48, 4, 4});
    CHECK(concatenates_blocks(whole, 1, as_span(parts), 16));
    CHECK_FALSE(concatenates_blocks(whole, 1, as_span(parts), 32));
    CHECK_FALSE(concatenates_blocks(whole, 2, as_span(parts), 16));
    CHECK_FALSE(concatenates_blocks(type({2, 48, 4, 4}), 1, as_span(parts), 16));
    view_shape v{.from = {0, 1, 2, 3}, .start = {0, 16, 0, 0}, .step = {1, 1, 1, 1}};
    CHECK(slices_blocks(v, whole, parts[1], 16) == 16);
    CHECK_FALSE(slices_blocks(v, whole, parts[1], 32));
    CHECK_FALSE(slices_blocks({.reshape = true}, whole, parts[1], 16));
    v.step[1] = 2;
    CHECK_FALSE(slices_blocks(v, whole, parts[0], 16));
    v.step[1] = 1, v.from = {0, 1, 3, 2};
    CHECK_FALSE(slices_blocks(v, whole, parts[1], 16));
}
