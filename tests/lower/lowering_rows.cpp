#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/lower/lowering_rows.hpp>

#include <set>
#include <string>

TEST_CASE("these operators of gsub have a row, and no others") {
    using namespace kernel_graphs;
    auto const all = table_of<op_info, standard_ops>();
    auto const rows = table_of<lowering_row, standard_ops>();
    REQUIRE(rows.size() == all.size());
    std::set<std::string> found;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (rows[i].lower) found.insert(std::string{all[i].name});
    CHECK(found == std::set<std::string>{"AveragePool",
                                         "BatchNormalization",
                                         "BitCast",
                                         "Concat",
                                         "ConstantOfShape",
                                         "Conv",
                                         "Einsum",
                                         "Expand",
                                         "FastSoftmax",
                                         "Gather",
                                         "GatherElements",
                                         "Gemm",
                                         "GlobalAveragePool",
                                         "LRN",
                                         "LayoutTransform",
                                         "MatMul",
                                         "MaxPool",
                                         "Pad",
                                         "ReduceMax",
                                         "ReduceMean",
                                         "ReduceSum",
                                         "ScatterElements",
                                         "ScatterND",
                                         "Shape",
                                         "Slice",
                                         "Softmax",
                                         "Split",
                                         "Transpose"});
}

TEST_CASE("rows make kernels of the templates that are theirs") {
    using namespace kernel_graphs;
    std::set<std::string> kinds;
    for (auto const& g : graphs())
        for (auto const& op : fused(g).ops) kinds.insert(kind_of(op));
    for (auto const* kind : {"conv2d", "max pool", "matmul", "attention", "view", "concat", "pad", "gather",
                             "reference Pow", "local response norm"}) {
        INFO(kind);
        CHECK(kinds.contains(kind));
    }
}

TEST_CASE("without rows operators are expressions of elements, views, or calls of the evaluator") {
    using namespace kernel_graphs;
    auto const g = attending();
    fuse_context cx;
    cx.evaluators = evaluators, cx.isa = &isa::avx512, cx.scalars = table_of<scalar_row, standard_ops>();
    auto const k = fuse(g, cx).value();
    CHECK(check(k).empty());
    std::set<std::string> kinds;
    for (auto const& op : k.ops) kinds.insert(kind_of(op));
    CHECK(kinds.contains("reference MatMul"));
    CHECK_FALSE(kinds.contains("matmul"));
    CHECK(kinds.contains("view"));
}
