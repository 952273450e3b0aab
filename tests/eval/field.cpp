#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/eval/field.hpp>

#include <cmath>
#include <limits>

using namespace gsub;

namespace {
field61 draw(random_stream& r) {
    return field61::from_bits(r());
}
} // namespace

TEST_CASE("the field's axioms hold for random elements") {
    random_stream r{1};
    for (int i = 0; i < 1000; ++i) {
        auto const a = draw(r), b = draw(r), c = draw(r);
        CHECK(a + b == b + a);
        CHECK((a + b) + c == a + (b + c));
        CHECK((a * b) * c == a * (b * c));
        CHECK(a * (b + c) == a * b + a * c);
        CHECK(a + -a == field61{});
        CHECK(a - b == a + -b);
        if (!(b == field61{})) CHECK(a / b * b == a);
    }
}

TEST_CASE("integers and finite floats map to the field exactly") {
    random_stream r{2};
    for (int i = 0; i < 1000; ++i) {
        auto const m = static_cast<std::int64_t>(r.below(1u << 25)) - (1 << 24),
                   n = static_cast<std::int64_t>(r.below(1u << 25));
        CHECK(field61{m} + field61{n} == field61{m + n});
        CHECK(field61{m} * field61{n} == field61{m * n});
        // Products and sums of short floats are exact in double, hence homomorphic.
        auto const x = std::ldexp(double(m), -20), y = std::ldexp(double(n), -7);
        CHECK(field61::from_real(x) * field61::from_real(y) == field61::from_real(x * y));
        CHECK(field61::from_real(x) + field61::from_real(y) == field61::from_real(x + y));
    }
    CHECK(field61::from_real(0.5) * field61{2} == field61{1});
    CHECK(field61::from_real(std::numeric_limits<double>::denorm_min()) * field61::from_real(0x1p1000) ==
          field61::from_real(0x1p-74));
    CHECK(field61{std::numeric_limits<std::int64_t>::min()} == -(field61::from_real(0x1p63)));
    CHECK_FALSE(field61::from_real(std::numeric_limits<double>::infinity()) ==
                field61::from_real(-std::numeric_limits<double>::infinity()));
}
