#include "catch.hpp"
#include "eval/compute.hpp"
#include <gsub/eval/elementwise.hpp>

#include <vector>

namespace elementwise_test {

using namespace gsub;
using detail::broadcast_plan;

// The offset of an operand's element under a place of the result, from the definition of broadcasting.
std::int64_t naive_offset(std::span<std::int64_t const> operand, std::span<std::int64_t const> at) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < operand.size(); ++i) {
        auto const place = at[at.size() - operand.size() + i];
        offset = offset * operand[i] + (operand[i] == 1 ? 0 : place);
    }
    return offset;
}

// A result shape and an operand that broadcasts to it: leading dimensions dropped, some of the others one.
ints draw_dims(random_stream& r) {
    ints dims;
    for (auto n = r.below(6); n-- > 0;) dims.push_back(static_cast<std::int64_t>(r.below(8) ? 1 + r.below(4) : 0));
    return dims;
}
ints draw_operand(random_stream& r, ints const& result) {
    auto const skipped = r.below(result.size() + 1);
    ints dims(result.begin() + skipped, result.end());
    for (auto& d : dims)
        if (r.below(3) == 0) d = 1;
    return dims;
}

TEST_CASE("a plan visits each place of the result once, with the operands' elements that broadcasting wants") {
    random_stream r{1};
    for (int round = 0; round < 3000; ++round) {
        auto const result = draw_dims(r), a = draw_operand(r, result), b = draw_operand(r, result);
        std::vector<int> visits(static_cast<std::size_t>(product(result)), 0);
        std::vector<std::int64_t> from_a(visits.size()), from_b(visits.size());
        broadcast_plan<2> const plan{result, {std::span<std::int64_t const>{a}, std::span<std::int64_t const>{b}}};
        plan.for_each_run([&](std::int64_t to, std::array<std::int64_t, 2> from, std::int64_t length) {
            for (std::int64_t i = 0; i < length; ++i) {
                auto const place = static_cast<std::size_t>(to + i);
                REQUIRE(place < visits.size());
                ++visits[place];
                from_a[place] = from[0] + i * plan.strides[0][0];
                from_b[place] = from[1] + i * plan.strides[1][0];
            }
        });
        std::size_t wrong = 0;
        if (!visits.empty()) {
            box_index at{result};
            std::size_t place = 0;
            do {
                wrong += visits[place] != 1 || from_a[place] != naive_offset(a, at.position()) ||
                         from_b[place] != naive_offset(b, at.position());
                ++place;
            } while (at.next());
        }
        if (wrong != 0) {
            CAPTURE(to_string(attribute_value{result}), to_string(attribute_value{a}), to_string(attribute_value{b}));
            CHECK(wrong == 0);
        }
    }
    SUCCEED();
}

TEST_CASE("operands of the result's own shape are one run") {
    random_stream r{2};
    for (int i = 0; i < 200; ++i) {
        auto const dims = draw_dims(r);
        if (product(dims) == 0) continue;
        broadcast_plan<1> const plan{dims, {std::span<std::int64_t const>{dims}}};
        int runs = 0;
        plan.for_each_run([&](std::int64_t to, std::array<std::int64_t, 1> from, std::int64_t length) {
            ++runs;
            CHECK(to == 0);
            CHECK(from[0] == 0);
            CHECK(length == product(dims));
        });
        CHECK(runs == 1);
    }
}

TEST_CASE("neighbouring dimensions merge where all operands step through them alike") {
    ints const result{2, 3, 4, 5}, channel{3, 1, 1};
    broadcast_plan<2> const plan{result,
                                 {std::span<std::int64_t const>{result}, std::span<std::int64_t const>{channel}}};
    CHECK(plan.dims == small_vector<std::int64_t, 6>{20, 3, 2}); // innermost first
    CHECK(plan.strides[0] == small_vector<std::int64_t, 6>{1, 20, 60});
    CHECK(plan.strides[1] == small_vector<std::int64_t, 6>{0, 1, 0});
}

TEST_CASE("binary operators agree with the definition of broadcasting, for every kind of operand") {
    random_stream r{3};
    for (std::uint64_t round = 0; round < 400; ++round) {
        auto result = draw_dims(r);
        auto const a = draw_operand(r, result), b = draw_operand(r, result);
        auto const x = compute::normal(a, 2 * round), y = compute::normal(b, 2 * round + 1);
        auto const z = compute::one<ops::sub>({x, y});
        auto const dims = z.dims(); // both operands may lack a dimension of the drawn result
        CAPTURE(to_string(x.type()), to_string(y.type()), to_string(z.type()));
        if (z.elements() == 0) continue;
        box_index at{dims};
        std::size_t place = 0, wrong = 0;
        do {
            auto const i = static_cast<std::size_t>(naive_offset(a, at.position())),
                       j = static_cast<std::size_t>(naive_offset(b, at.position()));
            wrong += z.data<float>()[place++] != x.data<float>()[i] - y.data<float>()[j];
        } while (at.next());
        CHECK(wrong == 0);
    }
}

TEST_CASE("a scalar and an empty tensor broadcast like any other") {
    CHECK(compute::same(compute::one<ops::add>({tensor::scalar(1.0f), tensor::scalar(2.0f)}), tensor::scalar(3.0f)));
    auto const nothing = tensor::zeros(dtype::f32, ints{2, 0, 3});
    CHECK(compute::same(compute::one<ops::mul>({nothing, tensor::scalar(2.0f)}), nothing));
    CHECK(compute::same(compute::one<ops::mul>({compute::f32({1, 3}, {1, 2, 3}), nothing}), nothing));
}

} // namespace elementwise_test
