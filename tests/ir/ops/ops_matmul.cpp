#include "catch.hpp"
#include "ir/infer_once.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/ops/ops_matmul.hpp>

namespace ops_matmul_test {

using namespace gsub;
using infer_once::infers;

TEST_CASE("matrix products follow numpy's matmul") {
    CHECK(infers<ops::mat_mul>({"f32[2,3]", "f32[3,4]"}) == "f32[2,4]");
    CHECK(infers<ops::mat_mul>({"f32[3]", "f32[3]"}) == "f32[]");
    CHECK(infers<ops::mat_mul>({"f32[3]", "f32[3,4]"}) == "f32[4]");
    CHECK(infers<ops::mat_mul>({"f32[2,3]", "f32[3]"}) == "f32[2]");
    CHECK(infers<ops::mat_mul>({"f32[7,1,2,3]", "f32[5,3,4]"}) == "f32[7,5,2,4]");
    CHECK(infers<ops::mat_mul>({"f32[3]", "f32[7,3,4]"}) == "f32[7,4]");
    CHECK(infers<ops::mat_mul>({"f32[n,2,k]", "f32[k,m]"}) == "f32[n,2,m]");
    CHECK(infers<ops::mat_mul>({"f32[2,0]", "f32[0,4]"}) == "f32[2,4]");
    CHECK(infers<ops::mat_mul>({"f32[*]", "f32[3,4]"}) == "f32[*]");
    CHECK(infers<ops::mat_mul>({"?[2,3]", "i32[3,4]"}) == "i32[2,4]");
    CHECK(infers<ops::mat_mul>({"f32[2,3]", "f32[4,5]"}) ==
          "error: inner dimensions 3 and 4 of f32[2,3] and f32[4,5] differ");
    CHECK(infers<ops::mat_mul>({"f32[2,2,3]", "f32[5,3,4]"}) ==
          "error: batch dimensions of f32[2,2,3] and f32[5,3,4] do not broadcast");
    CHECK(infers<ops::mat_mul>({"f32[]", "f32[3,4]"}) ==
          "error: a scalar operand; it takes vectors, matrices and stacks of them");
    CHECK(infers<ops::mat_mul>({"f32[2,3]", "f64[3,4]"}) ==
          "error: operands f32[2,3] and f64[3,4]; element types must be equal");
}

TEST_CASE("a gemm's result follows from the transpositions of its operands") {
    random_stream r{1};
    for (int i = 0; i < 200; ++i) {
        auto const m = r.below(9), k = r.below(9), n = r.below(9);
        bool const ta = r.below(2), tb = r.below(2);
        CAPTURE(m, k, n, ta, tb);
        auto const a = ta ? fmt::format("f32[{},{}]", k, m) : fmt::format("f32[{},{}]", m, k);
        auto const b = tb ? fmt::format("f32[{},{}]", n, k) : fmt::format("f32[{},{}]", k, n);
        auto const y = fmt::format("f32[{},{}]", m, n);
        attributes_of<ops::gemm> const flags{.transpose_a = ta, .transpose_b = tb};
        CHECK(infers<ops::gemm>(flags, {a, b}) == y);
        for (auto const& c : {y, fmt::format("f32[{}]", n), fmt::format("f32[{},1]", m), std::string{"f32[]"},
                              std::string{"f32[1,1]"}, std::string{"f32[*]"}, std::string{"_"}})
            CHECK(infers<ops::gemm>(flags, {a, b, c}) == y);
    }
    CHECK(infers<ops::gemm>({"f32[n,k]", "f32[k,5]"}) == "f32[n,5]");
    CHECK(infers<ops::gemm>({"f32[*]", "f32[3,5]"}) == "f32[?,5]");
}

TEST_CASE("a gemm names what does not fit") {
    CHECK(infers<ops::gemm>({"f32[2,3,4]", "f32[4,5]"}) ==
          "error: operands f32[2,3,4] and f32[4,5]; both must be matrices");
    CHECK(infers<ops::gemm>({"f32[2,3]", "f32[4,5]"}) == "error: inner dimensions 3 and 4 differ");
    CHECK(infers<ops::gemm>({"f32[2,3]", "i32[3,5]"}) ==
          "error: operands f32[2,3] and i32[3,5]; element types must be equal");
    for (auto const* c : {"f32[2]", "f32[3,5]", "f32[1,2,5]", "f32[5,1]"})
        CHECK(infers<ops::gemm>({"f32[2,3]", "f32[3,5]", c}) ==
              fmt::format("error: addend {} does not broadcast to [2,5]", c));
    CHECK(infers<ops::gemm>({"f32[1,3]", "f32[3,5]", "f32[2,5]"}) ==
          "error: addend f32[2,5] does not broadcast to [1,5]");
    CHECK(infers<ops::gemm>({"f32[2,3]", "f32[3,5]", "i64[5]"}) ==
          "error: addend i64[5] of operands f32[2,3] and f32[3,5]; element types must be equal");
}

std::string of_equation(char const* equation, std::vector<std::string> const& operands) {
    return infers<ops::einsum>({.equation = equation}, operands);
}

TEST_CASE("an einsum has the dimensions that its result names, or those of letters that stand once") {
    CHECK(of_equation("ij,jk->ik", {"f32[2,3]", "f32[3,4]"}) == "f32[2,4]");
    CHECK(of_equation(" ij , jk ", {"f32[2,3]", "f32[3,4]"}) == "f32[2,4]");
    CHECK(of_equation("bij,bjk->kbi", {"f32[7,2,3]", "f32[7,3,4]"}) == "f32[4,7,2]");
    CHECK(of_equation("ba", {"i32[2,3]"}) == "i32[3,2]");
    CHECK(of_equation("aB,B", {"f32[2,3]", "f32[3]"}) == "f32[2]");
    CHECK(of_equation("i,i->", {"f64[5]", "f64[5]"}) == "f64[]");
    CHECK(of_equation(",", {"f32[]", "f32[]"}) == "f32[]");
    CHECK(of_equation("ii->i", {"f32[3,3]"}) == "f32[3]");
    CHECK(of_equation("i,j,k->kji", {"f32[1]", "f32[2]", "f32[3]"}) == "f32[3,2,1]");
    CHECK(of_equation("...ij,...jk->...ik", {"f32[5,1,2,3]", "f32[6,3,4]"}) == "f32[5,6,2,4]");
    CHECK(of_equation("i...,...->...i", {"f32[2,3]", "f32[4,1]"}) == "f32[4,3,2]");
    CHECK(of_equation("...ij,...j", {"f32[7,2,3]", "f32[3]"}) == "f32[7,2]");
    CHECK(of_equation("ij,jk", {"f32[n,3]", "f32[?,m]"}) == "f32[n,m]");
    CHECK(of_equation("ij,ij", {"f32[1,3]", "f32[2,3]"}) == "f32[]");
    CHECK(of_equation("ij,jk->ik", {"f32[*]", "f32[3,4]"}) == "f32[*]");
}

TEST_CASE("an einsum says what is wrong with its equation") {
    auto const says = [](char const* equation, std::vector<std::string> const& operands, char const* reason) {
        CAPTURE(equation);
        CHECK(of_equation(equation, operands) == fmt::format("error: equation \"{}\": {}", equation, reason));
    };
    says("ij", {"f32[2,3]", "f32[3]"}, "1 terms of 2 operands");
    says("ij,jk->ik", {"f32[2,3]", "f32[3]"}, "2 letters for operand 1 of 1 dimensions");
    says("i...jk", {"f32[2,3]"}, "3 letters for operand 0 of 2 dimensions");
    says("i1", {"f32[2,3]"}, "terms are of letters and one ellipsis");
    says("i..", {"f32[2,3]"}, "terms are of letters and one ellipsis");
    says("...i...", {"f32[2,3]"}, "terms are of letters and one ellipsis");
    says("ij->i->j", {"f32[2,3]"}, "terms are of letters and one ellipsis");
    says("ij->ik", {"f32[2,3]"}, "the result has a letter of its own");
    says("ij->ii", {"f32[2,3]"}, "the result has a letter twice");
    says("...j->j", {"f32[2,3]"}, "the result has no ellipsis");
    CHECK(of_equation("ij,jk", {"f32[2,3]", "f32[4,5]"}) ==
          "error: dimension 0 of operand f32[4,5] is 3 elsewhere in \"ij,jk\"");
    CHECK(of_equation("i,i", {"f32[2]", "f64[2]"}) == "error: operand f64[2] beside f32; element types must be equal");
}

} // namespace ops_matmul_test
