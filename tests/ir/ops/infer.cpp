#include "catch.hpp"
#include "ir/infer_once.hpp"
#include <gsub/core/random.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/infer.hpp>

#include <string>
#include <vector>

namespace infer_test {
struct half_each {}; // composite: x * 0.5, typed by its decomposition
struct two_of_two {};
struct untyped {};
struct wrong_inside {};
} // namespace infer_test

template <>
struct gsub::op_traits<infer_test::half_each> {
    static constexpr std::string_view name = "HalfEach";
    static constexpr int min_inputs = 1, max_inputs = 2;
    static constexpr auto category = gsub::op_category::elementwise;
    static constexpr bool composite = true;
};
template <>
struct gsub::decompose<infer_test::half_each> {
    static value_id build(node_sink& sink, no_attributes const&, std::span<value_id const> operands) {
        auto const half = sink.add<ops::fill>({.element = sink.type_of(operands[0])->element, .value = 0.5}, {});
        auto const y = sink.add<ops::mul>(operands[0], half);
        return operands.size() > 1 && operands[1].valid() ? sink.add<ops::add>(y, operands[1]) : y;
    }
};
template <>
struct gsub::op_traits<infer_test::two_of_two> {
    static constexpr std::string_view name = "TwoOfTwo";
    static constexpr int min_inputs = 2, max_inputs = 2, results = 2;
    static constexpr auto category = gsub::op_category::elementwise;
};
template <>
struct gsub::infer_shape<infer_test::two_of_two> : gsub::same_as_input<1> {};
template <>
struct gsub::op_traits<infer_test::untyped> {
    static constexpr std::string_view name = "Untyped";
    static constexpr int min_inputs = 0, max_inputs = 0;
    static constexpr auto category = gsub::op_category::source;
};
template <>
struct gsub::op_traits<infer_test::wrong_inside> : gsub::op_traits<infer_test::half_each> {
    static constexpr std::string_view name = "WrongInside";
};
template <>
struct gsub::decompose<infer_test::wrong_inside> {
    static value_id build(node_sink& sink, no_attributes const&, std::span<value_id const> operands) {
        return sink.add<ops::transpose>({.perm = {1, 0}}, {operands[0]});
    }
};

namespace infer_test {

using namespace gsub;
using infer_once::infers;
using infer_once::says;

using my_ops = standard_ops::with<half_each, two_of_two, untyped, wrong_inside>;

static_assert(decomposable<ops::hard_swish> && decomposable<half_each>);
static_assert(!decomposable<ops::conv> && !decomposable<untyped>);

shape draw(random_stream& r) {
    shape s;
    for (auto n = r.below(4); n-- > 0;) {
        auto const kind = r.below(6);
        s.push_back(kind == 0   ? dim{}
                    : kind == 1 ? dim{symbol{"n"}}
                    : kind == 2 ? dim{symbol{"m"}}
                                : dim{static_cast<std::int64_t>(r.below(4))});
    }
    return s;
}

std::string shown(shape const& s) {
    return to_string(tensor_type{dtype::f32, s});
}

// A shape with its unknowns replaced by sizes, equal names by equal sizes.
std::vector<std::int64_t> at_run_time(shape const& s, std::int64_t n, std::int64_t m, random_stream& r) {
    std::vector<std::int64_t> sizes;
    for (auto d : s)
        sizes.push_back(d.fixed()               ? d.size()
                        : d == dim{symbol{"n"}} ? n
                        : d == dim{symbol{"m"}} ? m
                                                : static_cast<std::int64_t>(r.below(4)));
    return sizes;
}

TEST_CASE("broadcasting is commutative, idempotent, and has the scalar as neutral element") {
    random_stream r{1};
    for (int i = 0; i < 5000; ++i) {
        auto const a = draw(r), b = draw(r);
        CAPTURE(shown(a), shown(b));
        CHECK(broadcast(a, b) == broadcast(b, a));
        CHECK(broadcast(a, {}) == a);
        CHECK(broadcast({}, a) == a);
        if (auto const c = broadcast(a, b)) CHECK(broadcast(*c, b).has_value());
        bool exact = true;
        for (auto d : a) exact = exact && !d.unknown();
        if (exact) CHECK(broadcast(a, a) == a);
    }
}

TEST_CASE("broadcasting with unknowns never promises what a run can break") {
    random_stream r{2};
    int promises = 0;
    for (int i = 0; i < 20'000; ++i) {
        auto const a = draw(r), b = draw(r);
        auto const n = static_cast<std::int64_t>(r.below(4)), m = static_cast<std::int64_t>(r.below(4));
        auto const x = at_run_time(a, n, m, r), y = at_run_time(b, n, m, r);
        auto const exact = broadcast(shape(x.begin(), x.end()), shape(y.begin(), y.end()));
        auto const known = broadcast(a, b);
        CAPTURE(shown(a), shown(b), n, m);
        if (!exact) continue;
        REQUIRE(known); // what works at run time is not refused before
        REQUIRE(known->size() == exact->size());
        for (std::size_t k = 0; k < known->size(); ++k) {
            auto const d = (*known)[k];
            if (d.fixed()) promises += 1;
            if (d.fixed()) CHECK((*exact)[k] == d);
            if (d == dim{symbol{"n"}}) CHECK((*exact)[k] == dim{n});
            if (d == dim{symbol{"m"}}) CHECK((*exact)[k] == dim{m});
        }
    }
    CHECK(promises > 1000);
}

TEST_CASE("fixed shapes broadcast as numpy's") {
    CHECK(infers<ops::add>({"f32[2,3]", "f32[2,3]"}) == "f32[2,3]");
    CHECK(infers<ops::add>({"f32[2,1]", "f32[3]"}) == "f32[2,3]");
    CHECK(infers<ops::add>({"f32[0,3]", "f32[1,1]"}) == "f32[0,3]");
    CHECK(infers<ops::add>({"f32[2,3]", "f32[3,2]"}) == "error: f32[2,3] and f32[3,2] do not broadcast");
    CHECK(infers<ops::add>({"f32[0]", "f32[2]"}) == "error: f32[0] and f32[2] do not broadcast");
    CHECK(infers<ops::add>({"f32[n,1]", "f32[1,m]"}) == "f32[n,m]");
    CHECK(infers<ops::add>({"f32[n]", "f32[m]"}) == "f32[?]");
    CHECK(infers<ops::add>({"f32[?]", "f32[4]"}) == "f32[4]"); // the unknown is 4 or 1
    CHECK(infers<ops::sum>({"f32[2,1]", "f32[*]", "f32[3]"}) == "f32[*]");
}

TEST_CASE("axes count from either end and no further") {
    for (std::size_t rank = 0; rank < 6; ++rank) {
        auto const r = static_cast<std::int64_t>(rank);
        for (std::int64_t axis = -10; axis < 10; ++axis) {
            auto const a = normalized_axis(axis, rank);
            CHECK(a.has_value() == (axis >= -r && axis < r));
            if (a) CHECK(static_cast<std::int64_t>(*a) == (axis + r) % r);
        }
    }
    CHECK_FALSE(normalized_axis(std::numeric_limits<std::int64_t>::min(), 4));
}

TEST_CASE("a required operand that is left out and a wrong number of results are refused") {
    CHECK(infers<ops::add>({"f32[2]", "_"}) == "error: operand 1 is required");
    CHECK(infers<ops::conv>({}, {"_", "f32[1,1,1,1]"}) == "error: operand 0 is required");
    for (auto const& said : {infers<ops::einsum>({"ij,jk->ik"}, {"f32[2,3]", "_", "f32[3,4]"}),
                             infers<ops::concat>({0}, {"f32[2]", "_"}), infers<ops::sum>({"f32[2]", "_", "f32[2]"})})
        CHECK(said == "error: operand 1 is required"); // no operator of any number of operands has one to leave out
    CHECK(infers<ops::relu>({"f32[2]"}, 2) == "error: 2 results asked for, it has 1");
    CHECK(infers<two_of_two, my_ops>({"f32[2]", "f32[3]"}) == "error: 1 results asked for, it has 2");
    CHECK(infers<two_of_two, my_ops>({"f32[2]", "f32[3]"}, 2) == "f32[3] f32[3]");
}

TEST_CASE("a composite operator is typed by its decomposition") {
    CHECK(infers<half_each, my_ops>({"f32[2,n]"}) == "f32[2,n]");
    CHECK(infers<half_each, my_ops>({"f64[2,1]", "f64[3]"}) == "f64[2,3]");
    CHECK(infers<half_each, my_ops>({"f64[2,1]", "_"}) == "f64[2,1]");
    CHECK(infers<half_each, my_ops>({"f32[*]"}) == "f32[*]");
    auto const refused = infers<half_each, my_ops>({"f32[2]", "f32[3]"});
    CHECK(says(refused, "Add: f32[2] and f32[3] do not broadcast"));
    CHECK(says(infers<wrong_inside, my_ops>({"f32[2]"}), "Transpose"));
    CHECK(infers<wrong_inside, my_ops>({"f32[2,5]"}) == "f32[5,2]");
}

TEST_CASE("an operator without any inference says what to specialise") {
    CHECK(infers<untyped, my_ops>({}) ==
          "error: has no type inference: specialise gsub::infer_shape or gsub::decompose for it");
}

TEST_CASE("a row says how an operator is typed: by its own trait, by decomposition, or not at all") {
    auto const table = table_of<infer_row, my_ops>();
    CHECK(table[row_of<ops::conv>(my_ops{})].infer != nullptr);
    CHECK(table[row_of<ops::conv>(my_ops{})].build == nullptr);
    CHECK(table[row_of<half_each>(my_ops{})].infer == nullptr);
    CHECK(table[row_of<half_each>(my_ops{})].build != nullptr);
    CHECK(table[row_of<untyped>(my_ops{})].infer == nullptr);
    CHECK(table[row_of<untyped>(my_ops{})].build == nullptr);
}

TEST_CASE("the first reason of a failure is kept") {
    auto const op = op_info::of<ops::relu>();
    infer_context cx{op, {}, {}, 1};
    CHECK_FALSE(cx.failed());
    cx.fail("first");
    cx.fail("second");
    CHECK(cx.failed());
    CHECK(cx.reason() == "first");
}

TEST_CASE("known elements are integers only where every one is") {
    auto const op = op_info::of<ops::identity>();
    type_id const t{tensor_type{dtype::i64, shape{dim{2}}}};
    infer_context cx{op, {}, {&t, 1}, 1};
    CHECK(cx.known(0) == nullptr);
    CHECK(cx.known(7) == nullptr);
    CHECK_FALSE(cx.has(7));
    CHECK_FALSE(cx.known_ints(0));
    CHECK_FALSE(cx.known_ints(7));
    cx.set_known(0, {{true, 3, {}}, {true, -1, {}}});
    CHECK(cx.known_ints(0) == ints{3, -1});
    cx.set_known(0, {{true, 3, {}}, {false, 0, dim{symbol{"n"}}}});
    CHECK_FALSE(cx.known_ints(0));
    CHECK(cx.known(0)->size() == 2);
    cx.set_absent(0);
    CHECK_FALSE(cx.has(0));
}

TEST_CASE("shape arithmetic is followed from Shape to Reshape, over fixed and named sizes") {
    // x.reshape(x.shape[0], x.shape[1] * x.shape[2]) as exporters write it.
    for (auto const& [given, flat] :
         {std::pair{tensor_type{dtype::f32, shape{dim{2}, dim{3}, dim{4}}}, "f32[2,12]"},
          std::pair{tensor_type{dtype::f32, shape{dim{symbol{"batch"}}, dim{3}, dim{4}}}, "f32[batch,12]"},
          std::pair{tensor_type{dtype::f32, shape{dim{}, dim{3}, dim{4}}}, "f32[?,12]"}}) {
        graph g;
        graph_builder b{g};
        auto const x = g.add_input(given, "x");
        auto const sizes = b.add<ops::shape>({}, {x});
        auto const pick = [&](std::int64_t i) {
            auto const one = b.add<ops::gather>({.axis = 0}, {sizes, b.constant(tensor::scalar(i))});
            CHECK(g.type(one).rank() == 0);
            return one;
        };
        auto const vector = [&](value_id v) { return b.add<ops::unsqueeze>({.axes = {0}}, {v}); };
        auto const area = b.add<ops::mul>(pick(1), pick(-1));
        auto const target = b.add<ops::concat>({.axis = 0}, {vector(pick(0)), vector(area)});
        CHECK(to_string(g.type(b.add<ops::reshape>({}, {x, target}))) == flat);
        // Through a cast, a slice, an identity and with a size that is left over.
        auto const back = b.add<ops::cast>({.to = dtype::i64}, {b.add<ops::cast>({.to = dtype::i32}, {sizes})});
        auto const first =
            b.add<ops::slice>({.starts = {0}, .ends = {1}, .axes = {0}, .steps = {1}}, {b.add<ops::identity>(back)});
        auto const rest = b.constant(tensor::from<std::int64_t>({1}, {-1}));
        auto const left_over = b.add<ops::reshape>({}, {x, b.add<ops::concat>({.axis = 0}, {first, rest})});
        CHECK(g.type(left_over).rank() == 2);
        CHECK(g.type(left_over).dims[0] == given.dims[0]);
        // The same sizes made by ConstantOfShape.
        CHECK(g.type(b.add<ops::fill>({}, {sizes})).dims == given.dims);
    }
}

} // namespace infer_test
