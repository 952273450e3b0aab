#include "catch.hpp"
#include <gsub/models/catalogue_entry.hpp>

namespace catalogue_entry_test {

using gsub::graph;
using gsub::models::catalogue_entry;

inline graph nothing(std::uint64_t) {
    return {};
}
inline constexpr std::array letters{catalogue_entry{"a", "first", &nothing}, catalogue_entry{"b", "second", &nothing}};
inline constexpr std::array digits{catalogue_entry{"1", "third", &nothing}};
inline constexpr std::array unfinished{catalogue_entry{"2", "", &nothing}};
inline constexpr std::array unnamed{catalogue_entry{"", "fifth", &nothing}};

static_assert(gsub::models::join().empty());
static_assert(gsub::models::well_formed(gsub::models::join(letters, digits)));
static_assert(!gsub::models::well_formed(gsub::models::join(letters, letters)), "a name twice");
static_assert(!gsub::models::well_formed(gsub::models::join(letters, unfinished)), "no summary");
static_assert(!gsub::models::well_formed(unnamed));

} // namespace catalogue_entry_test

TEST_CASE("tables are joined in order") {
    using namespace catalogue_entry_test;
    static constexpr auto all = gsub::models::join(letters, digits, unfinished);
    static_assert(all.size() == 4);
    CHECK(all[0].name == "a");
    CHECK(all[1].name == "b");
    CHECK(all[2].name == "1");
    CHECK(all[3].name == "2");
    CHECK(all[0].build(1).size() == 1);
}
