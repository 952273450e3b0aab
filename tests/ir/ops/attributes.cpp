#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/ir/ops/op.hpp>

#include <bit>
#include <clocale>
#include <cmath>
#include <limits>
#include <locale>
#include <string>
#include <vector>

namespace attributes_test {
using namespace gsub;

// One field of every kind that an attribute struct may have.
struct everything {};
struct everything_attributes {
    std::int64_t integer = 3;
    bool flag = false;
    double real = 0.5;
    std::string text = "default";
    ints integers{1, 2};
    reals numbers{};
    dtype element = dtype::f32;
    activation act = activation::none;
    static constexpr field<everything_attributes> fields[] = {
        {"integer", &everything_attributes::integer},   {"flag", &everything_attributes::flag},
        {"real", &everything_attributes::real},         {"text", &everything_attributes::text},
        {"integers", &everything_attributes::integers}, {"numbers", &everything_attributes::numbers},
        {"element", &everything_attributes::element},   {"act", &everything_attributes::act}};
};
} // namespace attributes_test

template <>
struct gsub::op_traits<attributes_test::everything> {
    static constexpr std::string_view name = "Everything", domain = "test";
    static constexpr int min_inputs = 0, max_inputs = 0;
    static constexpr auto category = op_category::source;
    using attributes = attributes_test::everything_attributes;
};

namespace attributes_test {

inline constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr auto inf = std::numeric_limits<double>::infinity();
inline constexpr auto row = op_info::of<everything>();

double draw_real(random_stream& r) {
    switch (r.below(6)) {
    case 0:
        return std::bit_cast<double>(r()); // NaN with some payload, at times
    case 1:
        return inf;
    case 2:
        return -0.0;
    case 3:
        return std::numeric_limits<double>::denorm_min() * static_cast<double>(r.below(100));
    default:
        return r.normal();
    }
}

everything_attributes draw(random_stream& r) {
    everything_attributes a;
    a.integer = static_cast<std::int64_t>(r());
    a.flag = r.below(2) != 0;
    a.real = draw_real(r);
    a.text.clear();
    for (auto n = r.below(20); n-- > 0;) a.text += static_cast<char>(r.below(256));
    a.integers.clear();
    for (auto n = r.below(7); n-- > 0;) a.integers.push_back(static_cast<std::int64_t>(r()));
    for (auto n = r.below(7); n-- > 0;) a.numbers.push_back(draw_real(r));
    a.element = static_cast<dtype>(r.below(11));
    a.act = static_cast<activation>(r.below(5));
    return a;
}

bool same(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
bool same(everything_attributes const& a, everything_attributes const& b) {
    return a.integer == b.integer && a.flag == b.flag && same(a.real, b.real) && a.text == b.text &&
           a.integers == b.integers && a.element == b.element && a.act == b.act &&
           a.numbers.size() == b.numbers.size() &&
           std::equal(a.numbers.begin(), a.numbers.end(), b.numbers.begin(),
                      [](double x, double y) { return same(x, y); });
}

attributes_of<everything> const& typed(attributes_id id) {
    return *static_cast<attributes_of<everything> const*>(id.typed());
}

static_assert(std::is_trivially_copyable_v<attributes_id> && sizeof(attributes_id) == 4);
static_assert(!std::is_default_constructible_v<attribute_value>);
static_assert(std::is_constructible_v<attribute_value, ints> && std::is_constructible_v<attribute_value, std::string>);

TEST_CASE("attributes survive the way into their generic form and back") {
    random_stream r{1};
    for (int i = 0; i < 500; ++i) {
        auto const a = draw(r);
        auto const id = intern<everything>(a);
        CHECK(same(typed(id), a));
        CHECK(id.values().size() == 8);
        auto const again = row.intern({id.values().begin(), id.values().end()});
        REQUIRE(again);
        CHECK(*again == id);
        CHECK(again->hash() == id.hash());
        for (std::size_t k = 0; k < 8; ++k) CHECK(id.values()[k].kind() == row.attributes()[k].kind);
    }
}

TEST_CASE("equal attributes are one id with one hash, different ones are not") {
    random_stream r{2};
    for (int i = 0; i < 300; ++i) {
        auto const a = draw(r), b = draw(r);
        CHECK(intern<everything>(a) == intern<everything>(everything_attributes{a}));
        CHECK((intern<everything>(a) == intern<everything>(b)) == same(a, b));
        CHECK((intern<everything>(a).hash() == intern<everything>(b).hash()) == same(a, b));
    }
    // One change in one field.
    auto const base = intern<everything>({});
    auto const changed = [&](auto change) {
        everything_attributes a;
        change(a);
        return !(intern<everything>(a) == base) && !(intern<everything>(a).hash() == base.hash());
    };
    CHECK(changed([](auto& a) { a.integer = 4; }));
    CHECK(changed([](auto& a) { a.flag = true; }));
    CHECK(changed([](auto& a) { a.real = -0.5; }));
    CHECK(changed([](auto& a) { a.text += '\0'; }));
    CHECK(changed([](auto& a) { a.integers = {2, 1}; }));
    CHECK(changed([](auto& a) { a.integers = {1}; }));
    CHECK(changed([](auto& a) { a.numbers = {0}; }));
    CHECK(changed([](auto& a) { a.element = dtype::f64; }));
    CHECK(changed([](auto& a) { a.act = activation::tanh; }));
}

TEST_CASE("NaN equals itself among attributes, whatever its bits, and zeros keep their sign") {
    auto const with = [](double x) { return intern<everything>({.real = x, .numbers = {1, x}}); };
    CHECK(with(nan) == with(nan));
    CHECK(with(nan) == with(-nan)); // all are printed as nan and read back as one
    CHECK(with(nan) == with(std::bit_cast<double>(0x7ff8000000000123u)));
    CHECK(with(nan).hash() == with(-nan).hash());
    CHECK_FALSE(with(nan) == with(inf));
    CHECK_FALSE(with(0.0) == with(-0.0));
    CHECK_FALSE(with(inf) == with(-inf));
}

TEST_CASE("the same values of two operators are two sets of attributes") {
    std::vector<attribute_value> const values{attribute_value{std::int64_t{1}}};
    attributes_id const a{op_id{1}, values, nullptr}, b{op_id{2}, values, nullptr};
    CHECK_FALSE(a == b);
    CHECK_FALSE(a.hash() == b.hash());
    // Without values there is nothing to tell apart.
    CHECK(attributes_id{op_id{1}, {}, nullptr} == attributes_id{});
    CHECK(attributes_id{}.values().empty());
    CHECK(attributes_id{}.typed() == nullptr);
}

TEST_CASE("a value of another kind reads as zero or empty") {
    attribute_value const v{std::string{"text"}};
    CHECK(v.kind() == attribute_kind::text);
    CHECK(v.integer() == 0);
    CHECK(v.real() == 0);
    CHECK(v.integer_list().empty());
    CHECK(v.real_list().empty());
    CHECK(attribute_value{std::int64_t{5}}.text().empty());
}

TEST_CASE("a text that names no element type or activation is refused") {
    auto const with = [](std::size_t place, std::string text) {
        auto values = row.layout.defaults();
        values[place] = attribute_value{std::move(text)};
        return row.intern(std::move(values));
    };
    CHECK(with(6, "i8"));
    CHECK(with(7, "sigmoid"));
    for (auto const& bad : {with(6, "i9"), with(6, ""), with(7, "gelu"), with(7, "Relu")}) {
        REQUIRE_FALSE(bad);
        CHECK(bad.error().message() == "invalid input: Everything: an attribute names no known value");
    }
    // Elements of the prime field exist while a rule is proved, never in a file.
    CHECK_FALSE(with(6, "field61"));
}

TEST_CASE("the description of the attributes follows from the struct") {
    std::vector<std::string> names;
    for (auto const& info : row.attributes()) names.emplace_back(info.name);
    CHECK(names ==
          std::vector<std::string>{"integer", "flag", "real", "text", "integers", "numbers", "element", "act"});
    CHECK(row.attributes()[1].kind == attribute_kind::integer);
    CHECK(row.attributes()[5].kind == attribute_kind::real_list);
    CHECK(row.attributes()[6].kind == attribute_kind::text);
    CHECK(*row.intern(row.layout.defaults()) == intern<everything>({}));
}

TEST_CASE("values are printed exactly, and a real number is always recognisable as one") {
    CHECK(to_string(attribute_value{std::int64_t{-3}}) == "-3");
    CHECK(to_string(attribute_value{3.0}) == "3.0");
    CHECK(to_string(attribute_value{1e30}) == "1e+30");
    CHECK(to_string(attribute_value{-0.0}) == "-0.0");
    CHECK(to_string(attribute_value{nan}) == "nan");
    CHECK(to_string(attribute_value{-inf}) == "-inf");
    CHECK(to_string(attribute_value{std::string{"a\"\n"}}) == R"("a\"\x0a")");
    CHECK(to_string(attribute_value{ints{1, -2}}) == "[1, -2]");
    CHECK(to_string(attribute_value{ints{}}) == "[]");
    CHECK(to_string(attribute_value{reals{1, 0.1, 1e-45}}) == "[1.0, 0.1, 1e-45]");
    random_stream r{3};
    for (int i = 0; i < 1000; ++i) {
        auto const x = draw_real(r);
        auto const text = to_string(attribute_value{x});
        if (std::isfinite(x)) CHECK(std::strtod(text.c_str(), nullptr) == x);
        CHECK(text.find_first_of(".einaf") != std::string::npos);
    }
}

TEST_CASE("values are printed alike in every locale") {
    struct comma_point : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
    };
    auto const before = std::locale::global(std::locale{std::locale::classic(), new comma_point});
    for (auto const* name : {"de_DE.UTF-8", "de_DE"})
        if (std::setlocale(LC_ALL, name)) break;
    auto const text = to_string(attribute_value{reals{0.5, 1e-45}});
    std::locale::global(before);
    std::setlocale(LC_ALL, "C");
    CHECK(text == "[0.5, 1e-45]");
}

} // namespace attributes_test
