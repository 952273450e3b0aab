#include "catch.hpp"
#include <gsub/report/weight_matrix.hpp>

#include <numeric>

namespace weight_matrix_test {

using namespace gsub;
using report::weight_matrix;

tensor counted(ints dims) {
    auto t = tensor::zeros(dtype::f32, dims);
    auto const all = t.mutable_data<float>();
    std::iota(all.begin(), all.end(), 1.0f);
    return t;
}

TEST_CASE("a convolution's weight is a matrix of kernels") {
    CHECK(weight_matrix(counted({2, 2, 1, 1})) == "    1 | 2\n    3 | 4\n");
    CHECK(weight_matrix(counted({1, 2, 2, 2})) == "    1 2 | 5 6\n    3 4 | 7 8\n");
    CHECK(weight_matrix(counted({2, 1, 2, 3})) == "     1  2  3\n     4  5  6\n\n     7  8  9\n    10 11 12\n");
    CHECK(weight_matrix(counted({2, 1, 2})) == "    1 2\n    3 4\n");
}

TEST_CASE("the middle of what is large is left out") {
    CHECK(weight_matrix(counted({6, 5, 1, 1})) == "     1 |  2 | ... |  4 |  5\n     6 |  7 | ... |  9 | 10\n    ...\n"
                                                  "    21 | 22 | ... | 24 | 25\n    26 | 27 | ... | 29 | 30\n");
    CHECK(weight_matrix(counted({1, 1, 1, 9})) == "    1 2 3 ... 7 8 9\n");
    CHECK(weight_matrix(counted({10})) == "     1  2  3  4 ...  7  8  9 10\n");
    CHECK(weight_matrix(counted({3, 2}), {.elements = 2}) == "    1 2\n    ...\n    5 6\n");
}

TEST_CASE("numbers, empty weights and other element types are printed too") {
    CHECK(weight_matrix(counted({})) == "    1\n");
    CHECK(weight_matrix(tensor::zeros(dtype::f32, ints{0, 3})).empty());
    CHECK(weight_matrix(tensor::zeros(dtype::i64, ints{2})) == "    0 0\n");
}

TEST_CASE("kernels that are zero or the identity are counted") {
    auto t = tensor::zeros(dtype::f32, ints{2, 2, 3, 3});
    t.mutable_data<float>()[4] = 1;      // in the middle
    t.mutable_data<float>()[9 + 3] = 1;  // beside it
    t.mutable_data<float>()[18 + 4] = 2; // another number
    auto const counts = report::count_kernels(t);
    CHECK(counts.all == 4);
    CHECK(counts.zero == 1);
    CHECK(counts.identity == 1);
    CHECK(report::count_kernels(counted({4, 4})).all == 0);
    auto even = tensor::zeros(dtype::f32, ints{1, 1, 2, 2});
    even.mutable_data<float>()[2] = 1;
    CHECK(report::count_kernels(even).identity == 0);
}

TEST_CASE("weights of a rewrite tell what was read and built") {
    rewrite_weights w;
    w.read.push_back({"Conv", "a\nb", 1, "\"w\"", counted({1, 1, 1, 2})});
    w.built.push_back({"Conv", "c", 1, "Pad(\"w\")", tensor::zeros(dtype::f32, ints{1, 1, 1, 1})});
    CHECK(report::to_text(w) ==
          "  read   f32[1,1,1,2] \"w\" of Conv, operand 1: \"a\\x0ab\"\n    1 2\n"
          "  built  f32[1,1,1,1] Pad(\"w\") of Conv, operand 1: \"c\"; of 1 kernels 1 are zero and "
          "0 identities\n    0\n");
}

} // namespace weight_matrix_test
