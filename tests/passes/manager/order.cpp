#include "catch.hpp"
#include <gsub/passes/manager/order.hpp>

#include <algorithm>
#include <string>

namespace order_test {

using namespace gsub;
using names = std::vector<std::string_view>;

std::size_t breaches(names const& list, order_kind kind) {
    auto const found = check_order(list);
    return static_cast<std::size_t>(
        std::count_if(found.begin(), found.end(), [&](order_breach const& b) { return b.rule->kind == kind; }));
}

TEST_CASE("a hard order is broken where the second pass comes first, whatever follows") {
    CHECK(breaches({"convert-layout", "canonicalize-ops"}, order_kind::hard) == 1);
    CHECK(breaches({"convert-layout", "canonicalize-ops", "convert-layout"}, order_kind::hard) == 1);
    CHECK(breaches({"canonicalize-ops", "convert-layout"}, order_kind::hard) == 0);
    CHECK(breaches({"canonicalize-ops", "convert-layout", "canonicalize-ops"}, order_kind::hard) == 0);
}

TEST_CASE("a soft order is broken where the first pass comes before no occurrence of the second") {
    CHECK(breaches({"fuse-ops", "fold-constant"}, order_kind::soft) == 1);
    CHECK(breaches({"fuse-ops", "fold-constant", "fuse-ops"}, order_kind::soft) == 0);
    CHECK(breaches({"fold-constant", "fuse-ops", "fold-constant"}, order_kind::soft) == 0);
}

TEST_CASE("passes that exclude each other are told in every order") {
    CHECK(breaches({"simplify-inference", "merge-composite"}, order_kind::exclusive) == 1);
    CHECK(breaches({"merge-composite", "simplify-inference"}, order_kind::exclusive) == 1);
}

TEST_CASE("a pass alone, twice, or unknown to the rules breaks nothing") {
    CHECK(check_order(names{}).empty());
    CHECK(check_order(names{"defuse-ops", "defuse-ops"}).empty());
    CHECK(check_order(names{"mine", "defuse-ops", "yours"}).empty());
}

TEST_CASE("a breach names both passes and the reason") {
    auto const found = check_order(names{"defuse-ops", "fuse-ops"});
    REQUIRE(found.size() == 1);
    CHECK(found[0].text() == "\"fuse-ops\" must come before \"defuse-ops\": there is nothing to undo yet");
    CHECK(check_order(names{"simplify-inference", "merge-composite"}).back().text().find("exclude each other") !=
          std::string::npos);
}

TEST_CASE("hard orders of one's own are checked, and no hard order of the library's goes round") {
    static constexpr order_rule mine[] = {{order_kind::hard, "a b", "c", "so"}};
    CHECK(check_order(names{"c", "b", "a"}, mine).size() == 2);
    CHECK(check_order(names{"b", "c", "a"}, mine).size() == 1);
    // Some order of all passes that hard rules name keeps all of them.
    names all;
    for (auto const& r : order_rules())
        for (auto list : {r.before, r.after}) {
            if (r.kind != order_kind::hard) break;
            for (std::string rest{list}; !rest.empty();) {
                auto const end = std::min(rest.find(' '), rest.size());
                auto const at = list.find(rest.substr(0, end));
                if (auto const name = list.substr(at, end); std::find(all.begin(), all.end(), name) == all.end())
                    all.push_back(name);
                rest.erase(0, std::min(end + 1, rest.size()));
            }
        }
    for (std::size_t round = 0; round < all.size() * all.size(); ++round)
        for (auto const& b : check_order(all))
            if (b.rule->kind == order_kind::hard) {
                auto const late = std::find(all.begin(), all.end(), b.before),
                           early = std::find(all.begin(), all.end(), b.after);
                std::rotate(early, late, late + 1);
                break;
            }
    CHECK(breaches(all, order_kind::hard) == 0);
}

} // namespace order_test
