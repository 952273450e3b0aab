#include "catch.hpp"
#include <gsub/rewrite/files/rule_description.hpp>

#include <string>

namespace rule_description_test {

using namespace gsub;

static_assert(find_word("conv")->law == shape_law::convolution);
static_assert(find_word("add")->commutative && !find_word("sub")->commutative);
static_assert(find_word("nonesuch") == nullptr && find_word("") == nullptr);
static_assert(described_value::input(3).is_input() && described_value::input(3).number() == 3);
static_assert(!described_value{3, 1}.is_input() && described_value{3, 1}.number() == 3);

// relu(x) becomes x, to be changed.
rule_description small() {
    rule_description r{"small", {"x"}};
    r.source.push_back({find_word("relu"), {described_value::input(0)}});
    r.outputs.push_back({{0, 0}, described_value::input(0)});
    return r;
}
template <class Change>
std::string after(Change&& change) {
    auto r = small();
    change(r);
    auto const found = check(r);
    return found ? "fine" : found.error().message();
}

TEST_CASE("a description that is a rule passes, another is refused with rule, place and reason") {
    using d = rule_description;
    CHECK(after([](d&) {}) == "fine");
    auto const says = [](std::string const& found, std::string_view words) {
        CAPTURE(found);
        return found.starts_with("small: ") && found.find(words) != std::string::npos;
    };
    CHECK(says(after([](d& r) { r.source[0].word = nullptr; }), "source operator 0 has no type"));
    CHECK(says(after([](d& r) { r.source[0].operands.clear(); }), "source operator 0 (relu) has 0 operands"));
    CHECK(says(after([](d& r) { r.source[0].operands[0] = described_value::input(1); }), "reads input 1"));
    CHECK(says(after([](d& r) { r.source[0].operands[0] = {0, 0}; }), "does not stand before it"));
    CHECK(says(after([](d& r) { r.source[0].results = 2; }), "has 2 results"));
    CHECK(says(after([](d& r) { r.source[0].results = 0; }), "has 0 results"));
    CHECK(says(after([](d& r) { r.source.clear(); }), "the source has no operators"));
    CHECK(says(after([](d& r) { r.outputs.clear(); }), "no result is replaced"));
    CHECK(says(after([](d& r) { r.outputs[0].source = described_value::input(0); }), "replaces an input"));
    CHECK(says(after([](d& r) { r.outputs[0].target = {0, 0}; }), "operator 0 of 0"));
    CHECK(says(after([](d& r) { r.inputs.push_back("y"), r.outputs[0].target = described_value::input(1); }),
               "the target uses y"));
    auto const conv = [&](auto&& change) {
        return after([&](d& r) {
            r.inputs.push_back("w");
            r.source[0] = {find_word("conv"), {described_value::input(0), described_value::input(1)}};
            change(r.source[0]);
        });
    };
    // Two to the power of what a rule may have.
    CHECK(
        says(after([](d& r) {
                 described_operator twice{find_word("concat"), {described_value::input(0), described_value::input(0)}};
                 for (std::int32_t i = 0; i < 9; ++i) {
                     r.target.push_back(twice);
                     twice.operands = {{i, 0}, {i, 0}};
                 }
             }),
             "concats of the target join more than 256 values"));
    CHECK(says(after([](d& r) {
                   for (std::int32_t i = 1; i < 5; ++i) {
                       r.source.push_back(r.source[0]);
                       r.outputs.push_back({{i, 0}, described_value::input(0)});
                   }
               }),
               "more than 4 operators are replaced"));
    using op = described_operator;
    CHECK(conv([](op&) {}) == "fine");
    CHECK(conv([](op& o) { o.kernel = {5, 3}; }) == "fine");
    CHECK(says(conv([](op& o) { o.kernel = {3, 0}; }), "one given size"));
    CHECK(says(conv([](op& o) { o.kernel = {-3, 3}; }), "size -3"));
    CHECK(says(conv([](op& o) { o.kernel = {2, 3}; }), "even size 2"));
    CHECK(conv([](op& o) { o.kernel = {2, 3}, o.same_pads = false; }) == "fine");
    CHECK(says(conv([](op& o) { o.kernel = {13, 3}; }), "size 13"));
    CHECK(says(conv([](op& o) { o.strides = {0, 1}; }), "stride 0"));
}

} // namespace rule_description_test
