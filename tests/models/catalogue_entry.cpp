#include "catch.hpp"
#include <gsub/ir/builder.hpp>
#include <gsub/models/catalogue_entry.hpp>

#include <string>

namespace catalogue_entry_test {

using namespace gsub;
using namespace gsub::models;

inline graph nothing(std::uint64_t, std::span<std::int64_t const>) {
    return {};
}
inline constexpr std::array letters{catalogue_entry{"a", "first", &nothing}, catalogue_entry{"b", "second", &nothing}};
inline constexpr std::array digits{catalogue_entry{"1", "third", &nothing}};
inline constexpr std::array unfinished{catalogue_entry{"2", "", &nothing}};
inline constexpr std::array unnamed{catalogue_entry{"", "fifth", &nothing}};

static_assert(join().empty());
static_assert(well_formed(join(letters, digits)));
static_assert(!well_formed(join(letters, letters)), "a name twice");
static_assert(!well_formed(join(letters, unfinished)), "no summary");
static_assert(!well_formed(unnamed));

inline constexpr std::array<option_info, 2> twice{{{"a", "first", 1, 1, 2}, {"a", "second", 1, 1, 2}}};
inline constexpr std::array<option_info, 1> above{{{"a", "first", 3, 1, 2}}}, reserved{{{"seed", "first", 1, 1, 2}}};
static_assert(!well_formed(twice) && !well_formed(above) && !well_formed(reserved));

// A builder whose graph tells what it was asked for.
struct sizes {
    std::uint64_t seed = 1;
    std::int64_t rows = 0, columns = 3;
    static constexpr std::array<option_field<sizes>, 2> fields{
        {{"rows", "of the input", &sizes::rows, 1, 9}, {"columns", "of the input", &sizes::columns, 1, 5}}};
    constexpr char const* fault() const { return rows == columns ? "a square is no rectangle" : nullptr; }
};
inline graph rectangle(sizes const& o) {
    if (o.rows == 9) throw error{error_code::invalid_input, "the builder's own error"};
    graph g;
    graph_builder b{g};
    b.outputs({b.input(dtype::f32, {o.rows, o.columns}, std::to_string(o.seed))}, {"y"});
    return g;
}
inline constexpr auto entry = network_entry<&rectangle, sizes{.rows = 2}>("rectangle", "an input");

std::string asked(build_request const& request) {
    auto const g = entry.build(request);
    if (!g) return g.error().message();
    return std::string{g->name({g->inputs()[0], 0})} + " " + to_string(g->type({g->inputs()[0], 0}));
}

} // namespace catalogue_entry_test

TEST_CASE("tables are joined in order") {
    using namespace catalogue_entry_test;
    static constexpr auto all = join(letters, digits, unfinished);
    static_assert(all.size() == 4);
    CHECK(all[0].name == "a");
    CHECK(all[1].name == "b");
    CHECK(all[2].name == "1");
    CHECK(all[3].name == "2");
    CHECK(all[0].build(1).size() == 1);
}

TEST_CASE("a network is built as it is asked for, and as published where it is not") {
    using namespace catalogue_entry_test;
    CHECK(asked({}) == "1 f32[2,3]");
    CHECK(asked({.seed = 7}) == "7 f32[2,3]");
    CHECK(asked({.options = {{"columns", 5}}}) == "1 f32[2,5]");
    CHECK(asked({.seed = 7, .options = {{"columns", 1}, {"rows", 8}}}) == "7 f32[8,1]");
    CHECK(entry.build(7).hash() == entry.build({.seed = 7}).value().hash());
}

TEST_CASE("what a network cannot be asked for is named, with what it can be") {
    using namespace catalogue_entry_test;
    CHECK(asked({.options = {{"la\nyers", 5}}}) ==
          "rectangle: usage: it has no option \"la\\x0ayers\"; try: seed, rows and columns");
    CHECK(asked({.options = {{"columns", 6}}}) == "rectangle: usage: columns cannot be 6; try: 1 to 5");
    CHECK(asked({.options = {{"rows", 0}}}) == "rectangle: usage: rows cannot be 0; try: 1 to 9");
    CHECK(asked({.options = {{"rows", 1}, {"rows", 2}}}) ==
          "rectangle: usage: option rows is given twice; try: one of the two");
    CHECK(asked({.options = {{"rows", 3}}}) == "rectangle: usage: a square is no rectangle");
    CHECK(asked({.options = {{"rows", 9}}}) == "rectangle: invalid input: the builder's own error");
    auto const plain = letters[0].build({.options = {{"rows", 9}}});
    REQUIRE_FALSE(plain);
    CHECK(plain.error().message() == "a: usage: it has no option \"rows\"; try: seed");
}
