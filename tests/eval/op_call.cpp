#include "catch.hpp"
#include "eval/compute.hpp"
#include <gsub/eval/op_call.hpp>

#include <vector>

namespace kernel_test {

using namespace gsub;

static_assert(std::is_default_constructible_v<op_call_args>);
static_assert(!std::is_default_constructible_v<op_call<float>>, "a kernel is one application of an operator");

TEST_CASE("an index steps through a box in row-major order and comes back to its start") {
    random_stream r{1};
    for (int i = 0; i < 200; ++i) {
        ints dims;
        for (auto n = r.below(5); n-- > 0;) dims.push_back(static_cast<std::int64_t>(1 + r.below(4)));
        box_index at{dims};
        std::int64_t number = 0;
        bool more = true;
        while (more) {
            std::int64_t offset = 0;
            for (std::size_t k = 0; k < dims.size(); ++k) {
                offset = offset * dims[k] + at[k];
                CHECK(at.position()[k] == at[k]);
            }
            CHECK(offset == number);
            ++number;
            more = at.next();
        }
        CHECK(number == product(dims));
        for (std::size_t k = 0; k < dims.size(); ++k) CHECK(at[k] == 0);
    }
}

TEST_CASE("the box without dimensions has one position") {
    box_index at{std::span<std::int64_t const>{}};
    CHECK(at.position().empty());
    CHECK_FALSE(at.next());
    CHECK(product({}) == 1);
    CHECK(product(ints{3, 0, 5}) == 0);
    CHECK(product(ints{3, 4, 5}) == 60);
}

TEST_CASE("a kernel gives operands, results and attributes as what they are") {
    auto const x = tensor::from<float>({2}, {1, 2});
    tensor const* const operands[] = {&x, nullptr, &x};
    std::vector<tensor> results{tensor::zeros(dtype::f32, ints{2}), tensor::zeros(dtype::i64, ints{3})};
    dtype const declared[] = {dtype::f32, dtype::undefined, dtype::f32};
    inline_executor threads;
    auto const op = op_info::of<ops::clip>();
    op_call_args args{&op, intern<ops::clip>({.min = -1, .max = 3}), operands, results, declared, dtype::f32, &threads};
    op_call<float> k{args};
    CHECK(k.operands() == 3);
    CHECK(k.has(0));
    CHECK_FALSE(k.has(1));
    CHECK(k.has(2));
    CHECK_FALSE(k.has(3));
    CHECK(k.attributes<ops::clip>().max == 3);
    CHECK(k.in(0)[1] == 2);
    CHECK(k.dims(0).size() == 1);
    CHECK(k.results() == 2);
    CHECK(k.result_dims(1)[0] == 3);
    k.out()[1] = 5;
    CHECK(results[0].data<float>()[1] == 5);
    CHECK(&k.threads() == &threads);
    CHECK(&k.args() == &args);
    // An operator without attributes, or an application that has none, sees the defaults.
    args.attributes = {};
    CHECK(op_call<float>{args}.attributes<ops::clip>().max == std::numeric_limits<double>::infinity());
}

} // namespace kernel_test
