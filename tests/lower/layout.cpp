#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/lower/layout.hpp>

#include <string>

namespace layout_test {

using namespace kernel_graphs;

std::string laid_out(std::string const& selected, isa const& isa = isa::avx512) {
    auto const k = layout_values(parsed("kernel graph selected\n" + selected, isa), isa).value();
    auto const found = check(k);
    INFO((found.empty() ? std::string{} : to_string(found[0])));
    CHECK(found.empty());
    return to_text(k);
}

} // namespace layout_test

TEST_CASE("kernels of images read and write blocks, and the borders of the graph do not") {
    using namespace layout_test;
    CHECK(laid_out(R"(input f32[1,32,2,3] "x"
%0 "x": f32[1,32,2,3] input 0
%1 "w": f32[16,32,1,1] constant
%2 "c": f32[1,16,2,3] temporary
%2 = conv2d{in_channels=32 out_channels=16 in=[2,3]} %0, %1 packed{}
  covers "Conv" "c"
result f32[1,16,2,3] "y" %2
)") == R"(kernel graph laid-out
input f32[1,32,2,3] "x"
%0 "x": f32[1,32,2,3] input 0 bytes=768
%1 "x": f32[1,32,2,3] temporary block=16 bytes=768
%2 "w": f32[16,32,1,1] constant bytes=2048
%3 "c": f32[1,16,2,3] temporary block=16 bytes=384
%4 "c": f32[1,16,2,3] output 0 bytes=384
%1 = movement{kind=to_blocked dims=[1,2,6,16] target={elements=192 strides=[192,96,16,1]} arrays=[192] boxes=[{first=[0,0,0,0] extent=[1,2,6,16] array=0 strides=[192,96,1,6]}]} %0
  moves "x"
%3 = conv2d{in_channels=32 out_channels=16 in=[2,3]} %1, %2 packed{}
  covers "Conv" "c"
%4 = movement{kind=from_blocked dims=[1,1,16,6] target={elements=96 strides=[96,96,6,1]} arrays=[96] boxes=[{first=[0,0,0,0] extent=[1,1,16,6] array=0 strides=[96,96,1,16]}]} %3
  moves "c"
result f32[1,16,2,3] "y" %4
)");
}

TEST_CASE("images whose channels stand last in memory are read and written there") {
    using namespace layout_test;
    auto const turned = [](int channels, std::string const& input) {
        auto const c = std::to_string(channels);
        return laid_out("input f32[2,5,5," + c + "]\n%0: f32[2,5,5," + c + "] input 0\n%1: f32[2," + c +
                        ",5,5] temporary\n%2: f32[32," + c +
                        ",3,3] constant\n%3: f32[2,32,3,3] temporary\n%4: f32[2,3,3,32] temporary\n"
                        "%1 = view{from=[0,3,1,2] start=[0,0,0,0] step=[1,1,1,1]} %0\n"
                        "%3 = conv2d{batch=2 in_channels=" +
                        c + " out_channels=32 in=[5,5] kernel=[3,3]" + input +
                        "} %1, %2 packed{}\n  covers \"Conv\" \"c\"\n"
                        "%4 = view{from=[0,2,3,1] start=[0,0,0,0] step=[1,1,1,1]} %3\nresult f32[2,3,3,32] %4\n");
    };
    using Catch::Matchers::Contains;
    auto const wide = turned(16, "");
    CHECK_THAT(wide, Contains("kernel=[3,3] input=channels_last result=channels_last} %0, %2 packed{}"));
    CHECK_THAT(wide, !Contains("movement"));
    CHECK_THAT(turned(3, " input=planar"), Contains("input=channels_last result=channels_last} %0"));
    // Neither whole vectors of channels, nor few: in blocks.
    auto const odd = turned(20, "");
    CHECK_THAT(odd, Contains("movement{kind=to_blocked") && Contains("kernel=[3,3] result=channels_last}"));
}

TEST_CASE("views are read where they lie, and copied where a kernel cannot") {
    using namespace layout_test;
    auto const turned = [](std::string const& reader) {
        return laid_out(R"(input f32[3,4] "x"
%0 "x": f32[3,4] input 0
%1 "t": f32[4,3] temporary
%2 "y": f32[4,3] temporary
%1 = view{from=[1,0] start=[0,0] step=[1,1]} %0
)" + reader + "result f32[4,3] %2\n");
    };
    // A kernel of rows reads strides.
    CHECK_THAT(turned("%2 = row_reduction{dims=[4,3] arrays=[{elements=12 strides=[3,1]}] ops=[{what={op=exp}}] "
                      "results=[{value=1}]} %1[0,1]\n  frame [4,3]\n"),
               Catch::Matchers::Contains("\n%1 = row_reduction{dims=[4,3] arrays=[{elements=12 strides=[1,4]}] "
                                         "ops=[{what={op=exp}}] results=[{value=1}]} %0\n"));
    // A function of the application does not: the view is copied.
    auto const copied = turned("%2 = extern \"f\" %1\n");
    CHECK_THAT(copied, Catch::Matchers::Contains("\n%1 = movement{dims=[4,3] target={elements=12 strides=[3,1]} "
                                                 "arrays=[12] boxes=[{first=[0,0] extent=[4,3] array=0 "
                                                 "strides=[1,4]}]} %0\n  moves \"t\"\n"));
    CHECK_THAT(copied, Catch::Matchers::Contains("\n%2 = extern \"f\" %1\n"));
    // An output that is a view of an input is a copy of it.
    CHECK(laid_out("input f32[2,2]\n%0: f32[2,2] input 0\n%1: f32[4] temporary\n%1 = view{reshape=true} %0\n"
                   "result f32[4] %1\n") ==
          "kernel graph laid-out\ninput f32[2,2]\n%0: f32[2,2] input 0 bytes=16\n%1: f32[4] output 0 bytes=16\n"
          "%1 = copy{moves=[{to=1 size=16}]} %0\nresult f32[4] %1\n");
}

TEST_CASE("rows that integers choose are read where they lie, and gathered where a kernel cannot") {
    using namespace layout_test;
    auto const gathered = [](std::string const& reader) {
        return laid_out(R"(input f32[9,64] "x"
input i64[5] "at"
%0 "x": f32[9,64] input 0
%1 "at": i64[5] input 1
%2 "rows": f32[5,64] temporary
%3 "y": f32[5,64] temporary
%2 = movement{kind=gather dims=[1,5,64] target={elements=320 strides=[320,64,1]} arrays=[576] boxes=[{first=[0,0,0] extent=[1,5,64] array=0 strides=[576,0,1]}] chosen={at={elements=5 strides=[0,1,0]} entries=9 stride=64}} %0, %1
  covers "Gather" "g"
)" + reader + "result f32[5,64] %3\n");
    };
    auto const read = gathered("%3 = row_reduction{dims=[5,64] arrays=[{elements=320 strides=[64,1]}] "
                               "ops=[{what={op=exp}}] results=[{value=1}]} %2[0,1]\n  covers \"Exp\" \"e\"\n"
                               "  frame [5,64]\n");
    CHECK_THAT(read,
               Catch::Matchers::Contains("\n%2, %3 = row_reduction{dims=[5,64] arrays=[{elements=576 strides=[0,1]}] "
                                         "ops=[{what={op=exp}}] results=[{value=1}] chosen=[{by={at={elements=5 "
                                         "strides=[1,0]} entries=9 stride=64}}]} %0, %1\n"));
    CHECK_THAT(read, !Catch::Matchers::Contains("movement"));
    CHECK_THAT(read, Catch::Matchers::Contains("covers \"Gather\" \"g\""));
    CHECK_THAT(gathered("%3 = extern \"f\" %2\n"), Catch::Matchers::Contains("movement{kind=gather"));
}

TEST_CASE("what is joined along whole blocks is computed in its place") {
    using namespace layout_test;
    auto const text = laid_out(R"(input f32[1,16,2,2] "x"
%0 "x": f32[1,16,2,2] input 0
%1 "v": f32[16,16,1,1] constant
%2 "w": f32[32,16,1,1] constant
%3 "a": f32[1,16,2,2]:NCHW16c temporary
%4 "b": f32[1,32,2,2]:NCHW16c temporary
%5 "j": f32[1,48,2,2]:NCHW16c temporary
%6 "j": f32[1,48,2,2] temporary
%3 = conv2d{in_channels=16 out_channels=16 in=[2,2]} %0, %1 packed{}
  covers "Conv" "a"
%4 = conv2d{in_channels=16 out_channels=32 in=[2,2]} %0, %2 packed{}
  covers "Conv" "b"
%5 = concat{axis=1} %3, %4
  covers "Concat" "j"
%6 = view{reshape=true} %5
result f32[1,48,2,2] "y" %6
)");
    CHECK_THAT(text, Catch::Matchers::Contains(R"("j": f32[1,48,2,2] temporary block=16 bytes=768
%4 "a": f32[1,16,2,2] temporary block=16 bytes=256 part_of=%3
)"));
    CHECK_THAT(text,
               Catch::Matchers::Contains("\"b\": f32[1,32,2,2] temporary block=16 bytes=512 part_of=%3 offset=256\n"));
    CHECK(text.find("copy") == std::string::npos);
    CHECK(text.find("kind=concat") == std::string::npos);
}

TEST_CASE("borders are movements, each over what the one before made") {
    using namespace layout_test;
    auto const text = laid_out("input f32[2,3,4]\n%0: f32[2,3,4] input 0\n%1 \"p\": f32[4,5,7] temporary\n"
                               "%1 = pad{before=[1,1,1] after=[1,1,2] kind=edge} %0\nresult f32[4,5,7] %1\n");
    CHECK_THAT(text, Catch::Matchers::Contains("%1 \"p\": f32[4,5,4] temporary bytes=320\n"));
    CHECK_THAT(text, Catch::Matchers::Contains("%2 \"p\": f32[4,5,7] output 0 bytes=560\n"));
}

TEST_CASE("values that are too large in blocks are refused") {
    using namespace layout_test;
    auto const k = parsed("kernel graph selected\ninput f32[1,1,1099511627776]\n%0: f32[1,1,1099511627776] input 0\n"
                          "%1: f32[1,1,1099511627776] temporary\n"
                          "%1 = pool2d{in=[1,1099511627776] kernel=[1,1] out=[1,1099511627776]} %0\n"
                          "result f32[1,1,1099511627776] %1\n");
    CHECK(check(k).empty());
    auto huge = k;
    huge.values[0].type.dims[2] = huge.values[1].type.dims[2] = dim{std::int64_t{1} << 60};
    auto const made = layout_values(std::move(huge), isa::avx512);
    REQUIRE_FALSE(made);
    CHECK(made.error().code() == error_code::unsupported);
}
