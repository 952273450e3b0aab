#include "catch.hpp"
#include <gsub/core/meta.hpp>

#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace meta_test {

using namespace gsub;

template <fixed_string Name>
struct named {
    static constexpr std::string_view name = Name;
};
static_assert(named<"fuse_conv_bn">::name == "fuse_conv_bn");
static_assert(std::is_same_v<named<"a">, named<"a">>);
static_assert(!std::is_same_v<named<"a">, named<"b">>);
static_assert(named<"">::name.empty());
static_assert(fixed_string{"ab"} == fixed_string{"ab"});
static_assert(!(fixed_string{"ab"} == fixed_string{"ac"}));
static_assert(fixed_string{"a\0b"}.view().size() == 3, "a literal may hold a null character");
static_assert(type_list<>::size == 0);
static_assert(type_list<int, char, int>::size == 3);

TEST_CASE("a list of types is visited in order, each occurrence once") {
    std::vector<std::size_t> sizes;
    for_each_type(type_list<char, double, char, float>{}, [&]<class T> { sizes.push_back(sizeof(T)); });
    CHECK(sizes == std::vector<std::size_t>{1, 8, 1, 4});
    for_each_type(type_list<>{}, [&]<class T> { sizes.clear(); });
    CHECK(sizes.size() == 4);
}

TEST_CASE("a list of types can be visited while compiling") {
    constexpr auto total = [] {
        std::size_t sum = 0;
        for_each_type(type_list<char, double, float>{}, [&]<class T> { sum += sizeof(T); });
        return sum;
    }();
    STATIC_REQUIRE(total == 13);
}

TEST_CASE("overloaded lambdas visit a variant by the type that it holds") {
    auto const describe =
        overloaded{[](int i) { return "int " + std::to_string(i); }, [](std::string const& s) { return "text " + s; },
                   [](auto) { return std::string{"other"}; }};
    using value = std::variant<int, std::string, double>;
    CHECK(std::visit(describe, value{3}) == "int 3");
    CHECK(std::visit(describe, value{std::string{"x"}}) == "text x");
    CHECK(std::visit(describe, value{0.5}) == "other");
}

} // namespace meta_test
