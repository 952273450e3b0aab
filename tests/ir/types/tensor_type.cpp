#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/types/tensor_type.hpp>

#include <array>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace tensor_type_test {

using namespace gsub;

static_assert(std::is_trivially_copyable_v<type_id> && sizeof(type_id) == 4);
static_assert(std::is_trivially_copyable_v<dim> && sizeof(dim) == 8);
static_assert(!std::is_convertible_v<symbol, dim>, "a name becomes a dimension only where that is meant");
static_assert(std::is_convertible_v<std::int64_t, dim>);
static_assert(!std::is_convertible_v<std::string, symbol>);
static_assert(dim{}.unknown() && dim{3}.fixed() && !dim{3}.named());
static_assert(unify(dim{3}, dim{}) == dim{3} && unify(dim{}, dim{3}) == dim{3});

dim draw_dim(random_stream& r, int names) {
    auto const kind = r.below(4);
    if (kind == 0) return dim{};
    if (kind == 1 && names > 0) return dim{symbol{fmt::format("n{}", r.below(static_cast<std::uint64_t>(names)))}};
    return dim{static_cast<std::int64_t>(r.below(4))};
}

tensor_type draw(random_stream& r, int names = 2) {
    tensor_type t;
    t.element = r.below(4) ? r.below(2) ? dtype::f32 : dtype::i64 : dtype::undefined;
    t.ranked = r.below(5) != 0;
    if (t.ranked)
        for (auto n = r.below(3); n-- > 0;) t.dims.push_back(draw_dim(r, names));
    return t;
}

TEST_CASE("equal texts are one symbol and lead back to the text") {
    CHECK(symbol{"batch"} == symbol{std::string{"batch"}});
    CHECK_FALSE(symbol{"batch"} == symbol{"Batch"});
    CHECK(symbol{} == symbol{""});
    CHECK(symbol{}.empty());
    CHECK(symbol{}.text().empty());
    std::string const odd{"a\0\xff \n\"'", 7};
    CHECK(symbol{odd}.text() == odd);
    CHECK(dim{symbol{odd}}.name().text() == odd);
    CHECK(dim{symbol{""}}.unknown());
    CHECK(dim{symbol{"n"}}.named());
}

TEST_CASE("interning is equality: one id for equal types, different ids for different ones") {
    random_stream r{1};
    std::vector<tensor_type> types;
    for (int i = 0; i < 150; ++i) types.push_back(draw(r));
    types.push_back({dtype::f32, shape{dim{2}, dim{3}}});
    types.push_back({dtype::f32, shape{dim{2}, dim{3}}});
    types.back().layout = layout{"NCHW16c"};
    for (auto const& a : types) {
        CHECK(*type_id{a} == a);
        for (auto const& b : types) {
            CHECK((type_id{a} == type_id{b}) == (a == b));
            CHECK((type_id{a}.hash() == type_id{b}.hash()) == (a == b));
        }
    }
    CHECK(type_id{} == type_id{tensor_type{}});
    CHECK(type_id{tensor_type{dtype::f32, shape{}}} != type_id{[] {
              tensor_type t;
              t.element = dtype::f32;
              return t;
          }()});
}

TEST_CASE("the hash of a type is that of its text, not of the order of interning") {
    // Recorded once: it enters the hash of every graph.
    CHECK(type_id{tensor_type{dtype::f32, shape{dim{1}, dim{symbol{"batch"}}, dim{}}}}.hash() ==
          type_id{tensor_type{dtype::f32, shape{dim{1}, dim{symbol{"batch"}}, dim{}}}}.hash());
    std::vector<std::uint64_t> hashes(4);
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < 4; ++t)
            threads.emplace_back([&hashes, t] {
                hasher h;
                for (int i = 0; i < 300; ++i) {
                    type_id const id{tensor_type{
                        dtype::f32, shape{dim{i}, dim{symbol{fmt::format("thread dim {}", (i * 7) % 300)}}}}};
                    h.add(id.hash());
                }
                hashes[t] = h.finish().low;
            });
    }
    for (auto h : hashes) CHECK(h == hashes[0]);
}

TEST_CASE("compatibility is reflexive and symmetric, and unification its meet") {
    random_stream r{2};
    for (int i = 0; i < 4000; ++i) {
        auto const a = draw(r), b = draw(r);
        CAPTURE(to_string(a), to_string(b));
        CHECK(compatible(a, a));
        CHECK(compatible(a, b) == compatible(b, a));
        CHECK(unify(a, a) == a);
        CHECK(compatible(a, tensor_type{}));
        CHECK(unify(a, tensor_type{}) == a);
        CHECK(unify(tensor_type{}, a) == a);
        if (!compatible(a, b)) continue;
        auto const both = unify(a, b);
        CHECK(compatible(both, a));
        CHECK(compatible(both, b));
        CHECK(unify(both, b) == both);
        CHECK(unify(a, both) == both);
    }
}

TEST_CASE("unification is commutative and associative where no two names meet") {
    random_stream r{3};
    int met = 0;
    for (int i = 0; i < 20'000; ++i) {
        auto const a = draw(r, 1), b = draw(r, 1), c = draw(r, 1);
        if (!compatible(a, b)) continue;
        CHECK(unify(a, b) == unify(b, a));
        auto const ab = unify(a, b);
        if (!compatible(b, c) || !compatible(ab, c) || !compatible(a, unify(b, c))) continue;
        CHECK(unify(ab, c) == unify(a, unify(b, c)));
        ++met;
    }
    CHECK(met > 1000);
}

TEST_CASE("a dimension is provably equal or provably different only where every run agrees") {
    dim const two{2}, three{3}, n{symbol{"n"}}, m{symbol{"m"}}, unknown;
    for (auto a : {two, three, n, m, unknown})
        for (auto b : {two, three, n, m, unknown}) {
            CHECK_FALSE((provably_equal(a, b) && provably_different(a, b)));
            CHECK(provably_equal(a, b) == provably_equal(b, a));
            CHECK(provably_different(a, b) == provably_different(b, a));
        }
    CHECK(provably_equal(n, n));
    CHECK_FALSE(provably_equal(unknown, unknown));
    CHECK_FALSE(provably_different(n, m));
    CHECK_FALSE(provably_different(n, two));
    CHECK(provably_different(two, three));
    CHECK(unify(n, two) == two);
    CHECK(unify(two, n) == two);
    CHECK(unify(n, unknown) == n);
    CHECK(unify(unknown, n) == n);
}

TEST_CASE("types are printed as they are written") {
    CHECK(to_string(tensor_type{dtype::f32, shape{dim{1}, dim{3}, dim{symbol{"h"}}, dim{}}}) == "f32[1,3,h,?]");
    CHECK(to_string(tensor_type{dtype::boolean, shape{}}) == "bool[]");
    CHECK(to_string(tensor_type{}) == "?[*]");
    tensor_type blocked{dtype::f32, shape{dim{1}, dim{64}}};
    blocked.layout = layout{"NCHW16c"};
    CHECK(to_string(blocked) == "f32[1,64]:NCHW16c");
    CHECK_FALSE(compatible(blocked, tensor_type{dtype::f32, shape{dim{1}, dim{64}}}));
}

TEST_CASE("only types without unknowns are static") {
    CHECK(tensor_type{dtype::f32, shape{}}.is_static());
    CHECK(tensor_type{dtype::f32, shape{}}.elements() == 1);
    CHECK(tensor_type{dtype::f32, shape{dim{2}, dim{3}}}.sizes() == ints{2, 3});
    CHECK_FALSE(tensor_type{}.is_static());
    CHECK_FALSE(tensor_type{dtype::undefined, shape{dim{2}}}.is_static());
    CHECK_FALSE(tensor_type{dtype::f32, shape{dim{2}, dim{}}}.is_static());
    CHECK_FALSE(tensor_type{dtype::f32, shape{dim{symbol{"n"}}}}.elements());
}

TEST_CASE("a product of sizes is exact or refused, never wrapped around") {
    random_stream r{4};
    for (int i = 0; i < 5000; ++i) {
        std::vector<std::int64_t> sizes(r.below(6));
        __extension__ __int128 exact = 1;
        bool zero = false;
        for (auto& s : sizes) {
            s = static_cast<std::int64_t>(r() >> (1 + r.below(63)));
            zero |= s == 0;
        }
        bool large = false; // among the sizes that are not zero
        for (auto s : sizes)
            if (s != 0) {
                if (!large) exact *= s;
                large |= exact > (std::int64_t{1} << 62);
            }
        auto const product = checked_product(sizes);
        if (large)
            CHECK_FALSE(product);
        else
            CHECK(product == (zero ? 0 : static_cast<std::int64_t>(exact)));
    }
    CHECK(checked_product(std::array<std::int64_t, 2>{std::int64_t{1} << 31, std::int64_t{1} << 31}) == std::int64_t{1}
                                                                                                            << 62);
    CHECK_FALSE(checked_product(std::array<std::int64_t, 2>{(std::int64_t{1} << 62) + 1, 1}));
    CHECK_FALSE(checked_product(std::array<std::int64_t, 3>{2, -1, 0}));
    CHECK(checked_product(std::vector<std::int64_t>(300, 1)) == 1); // 300 dimensions
    CHECK_FALSE(checked_product(std::vector<std::int64_t>(300, 2)));
    CHECK(checked_product({}) == 1);
}

} // namespace tensor_type_test
