#include "passes/pass_bench.hpp"
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/combine/combine_parallel_dense.hpp>

namespace parallel_dense_test {

using namespace pass_bench;
constexpr passes::combine_parallel_dense flat{}, stacked{.to_batch = true}, two{.min_branches = 2};

std::vector<value_id> products(bench& n, value_id x, std::initializer_list<std::int64_t> columns) {
    std::vector<value_id> out;
    for (auto c : columns)
        out.push_back(n.op<ops::mat_mul>(x, n.weight({n.g.type(x).dims[n.g.type(x).rank() - 1].size(), c})));
    return out;
}

TEST_CASE("CombineParallelDense P1, P2: stacks take matrices of one shape, columns all of them") {
    for (auto const& rows : {ints{3, 5}, ints{2, 3, 5}}) {
        bench n;
        auto const r = run(n, products(n, n.input(rows), {4, 4, 6, 4}), stacked);
        CHECK(r.outcome.matches == 1);
        CHECK(count_of(r.g, "MatMul") == 2);
        CHECK(count_of(r.g, "Squeeze") == 3);
        bench m;
        auto const s = run(m, products(m, m.input(rows), {4, 4, 6, 4}), flat);
        CHECK(s.text == "MatMul Split");
        CHECK(s.g.attributes<ops::split>(s.g.output(0).node).sizes == ints{4, 4, 6, 4});
    }
}

TEST_CASE("CombineParallelDense P3: biases of one number are repeated for their branch") {
    struct sizes {
        ints first, second;
        std::string_view text;
    };
    for (auto const& [first, second, text] : {sizes{{5}, {1}, "MatMul Add Split"},
                                              {{3, 1}, {3, 10}, "MatMul Add Split"},
                                              {{}, {}, "MatMul Add Split"},
                                              {{5}, {}, "MatMul Add Split"},
                                              {{3, 1}, {1, 10}, "MatMul Split Add Add"},
                                              {{5}, {3, 1}, "MatMul Split Add Add"}}) {
        bench n;
        auto p = products(n, n.input({3, 4}), {5, 10});
        p[0] = n.op<ops::add>(p[0], n.weight(first));
        p[1] = n.op<ops::add>(p[1], n.weight(second));
        CHECK(run(n, p, two).text == text);
    }
    bench one; // the same number for all
    auto const half = one.number(0.5f);
    auto p = products(one, one.input({3, 4}), {5, 1});
    for (auto& v : p) v = one.op<ops::mul>(v, half);
    CHECK(run(one, p, two).text == "MatMul Mul Split");
    bench narrow;
    auto q = products(narrow, narrow.input({3, 4}), {1, 1});
    for (auto& v : q) v = narrow.op<ops::mul>(v, narrow.weight({}));
    CHECK(run(narrow, q, two).text == "MatMul Mul Split");
}

TEST_CASE("CombineParallelDense P4, P5: what moves elements follows behind the parts, cut along the columns") {
    bench n;
    auto p = products(n, n.input({3, 4}), {5, 5, 5});
    for (auto& v : p) v = n.op<ops::relu>(n.op<ops::reshape>({.shape = {5, 3}}, {v}));
    CHECK(run(n, p, flat).text == "MatMul Split Reshape Relu Reshape Relu Reshape Relu");
    bench m;
    auto q = products(m, m.input({3, 4}), {5, 6, 5});
    for (auto& v : q) v = m.op<ops::unsqueeze>({.axes = {2}}, {v});
    auto const r = run(m, q, flat);
    CHECK(count_of(r.g, "Split") == 1);
    for (auto const i : r.g.order())
        if (r.g.is<ops::split>(i)) CHECK(r.g.attributes<ops::split>(i).axis == 1);
}

TEST_CASE("CombineParallelDense: stacked branches take their biases along, each with a dimension in front") {
    for (auto const& sizes : {ints{5}, ints{3, 1}, ints{}}) {
        bench n;
        auto p = products(n, n.input({2, 3, 4}), {5, 5, 5});
        for (auto& v : p) v = n.op<ops::relu>(n.op<ops::add>(v, n.weight(sizes)));
        CHECK(run(n, p, stacked).text == "MatMul Add Relu Split Squeeze Squeeze Squeeze");
    }
}

TEST_CASE("CombineParallelDense: products with factors, transpositions and biases, some without") {
    for (bool const transposed : {false, true}) {
        bench n;
        auto const x = n.input({3, 4});
        std::vector<value_id> ends;
        for (std::int64_t const columns : {5, 6, 7}) {
            auto const w = n.weight(transposed ? ints{columns, 4} : ints{4, columns});
            auto const bias = columns == 5 ? n.weight({5}) : columns == 6 ? n.weight({1}) : value_id{};
            ends.push_back(n.op<ops::gemm>({.alpha = 0.5, .beta = 3, .transpose_b = transposed}, {x, w, bias}));
        }
        CHECK(run(n, ends, flat).text == "Gemm Split");
        ends[0] = n.op<ops::gemm>({.alpha = 0.25, .beta = 3, .transpose_b = transposed},
                                  {x, n.weight(transposed ? ints{5, 4} : ints{4, 5}), value_id{}});
        CHECK(run(n, ends, flat).outcome.skips("fewer branches than asked for") == 1);
    }
    bench n;
    auto const x = n.input({3, 4});
    std::vector<value_id> ends;
    for (auto const& bias : {ints{5}, ints{3, 5}})
        ends.push_back(n.op<ops::gemm>({}, {x, n.weight({4, 5}), n.weight(bias)}));
    CHECK(run(n, ends, two).outcome.skips("biases of different form") == 1);
}

TEST_CASE("CombineParallelDense N1, N4: too few branches, stacks of different widths") {
    bench n;
    CHECK_FALSE(run(n, products(n, n.input({3, 4}), {5, 5}), flat).outcome.changed);
    bench m;
    CHECK_FALSE(run(m, products(m, m.input({3, 4}), {5, 6, 7}), stacked).outcome.changed);
}

// N2 and N3 cannot be written in gsub: products of one value have one inner dimension and one element type.
TEST_CASE("CombineParallelDense: weights that are computed, and other left operands, are left alone") {
    bench n;
    auto const x = n.input({3, 3});
    std::vector<value_id> ends;
    for (int i = 0; i < 3; ++i) {
        ends.push_back(n.op<ops::mat_mul>(x, n.input({3, 3})));
        ends.push_back(n.op<ops::mat_mul>(n.weight({3, 3}), x));
        ends.push_back(n.op<ops::mat_mul>(n.input({3, 3}), n.weight({3, 3})));
    }
    auto const r = run(n, ends, flat);
    CHECK_FALSE(r.outcome.changed);
    CHECK(r.outcome.skips("weights that are not constant") == 6);
}

TEST_CASE("CombineParallelDense: arguments in lists are the number of branches and the form") {
    using pass_type = passes::combine_parallel_dense;
    CHECK(pass_type::from_text("2").value().min_branches == 2);
    CHECK(pass_type::from_text("batch").value().to_batch);
    CHECK(pass_type::from_text("batch").value().min_branches == 3);
    auto const both = pass_type::from_text("4,batch").value();
    CHECK((both.min_branches == 4 && both.to_batch));
    for (auto const wrong : {"", "1", "batches", ",batch2"}) CHECK_FALSE(pass_type::from_text(wrong));
}

TEST_CASE("CombineParallelDense: query, key and value of each layer of BERT are joined, with their biases") {
    for (auto const& p : {flat, stacked}) {
        any_graph g = models::find_model("bert_base")->build(1);
        auto const before = count_of(g, "MatMul");
        auto const adds = count_of(g, "Add");
        pass_context cx;
        CHECK(p(g, cx).value().matches == 12);
        CHECK(count_of(g, "MatMul") == before - 24);
        CHECK(count_of(g, "Add") == adds - 24);
        CHECK(check(g, stage::imported).empty());
    }
    for (auto const name : {"resnet50", "mobilenet_v2", "ssd_resnet50"}) {
        any_graph g = models::find_model(name)->build(1);
        pass_context cx;
        CHECK_FALSE(flat(g, cx).value().changed);
    }
}

TEST_CASE("CombineParallelDense: random graphs keep their numbers and settle at once") {
    (void)run_on_random_graphs(two);
}

} // namespace parallel_dense_test
