#include "catch.hpp"
#include <gsub/target/feature.hpp>
#include <gsub/target/target.hpp>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

namespace feature_test {

using namespace gsub;

TEST_CASE("no two features have one option or one word") {
    std::set<std::string_view> options, words;
    for (auto const& f : cpu_features()) {
        CAPTURE(f.option);
        CHECK(options.insert(f.option).second);
        CHECK((f.word.empty() || words.insert(f.word).second));
        CHECK(feature_of_option(f.option) == &f);
    }
    CHECK(feature_of_option("-mtbm") == nullptr);
}

TEST_CASE("the options of an instruction set are features of the table, and ask for its words and no more") {
    for (auto const* isa : instruction_sets()) {
        CAPTURE(isa->name);
        std::set<std::string> asked, named;
        std::istringstream options{std::string{isa->flags}}, words{std::string{isa->features}};
        for (std::string option; options >> option;) {
            auto const* const f = feature_of_option(option);
            REQUIRE(f);
            CHECK(f->architecture == isa->architecture);
            if (!f->word.empty()) asked.emplace(f->word);
        }
        for (std::string word; words >> word;) named.insert(word);
        CHECK(asked == named);
    }
}

TEST_CASE("the host has the features of its instruction set, and nothing that is not in the table") {
    std::istringstream words{std::string{host().isa->features}};
    for (std::string word; words >> word;) CHECK(host_has(word));
    CHECK_FALSE(host_has("time travel"));
    CHECK_FALSE(host_has(""));
}

TEST_CASE("the host has features of its own architecture alone") {
#if defined(__aarch64__)
    CHECK(host_has("asimd")); // every processor that runs Linux has it
    for (auto const* word : {"sse4.1", "avx2", "fma", "avx512f"}) CHECK_FALSE(host_has(word));
#else
    for (auto const* word : {"asimd", "asimddp", "sve", "sve2"}) {
        CHECK_FALSE(host_has(word));
        CHECK(std::any_of(cpu_features().begin(), cpu_features().end(), [&](auto& f) { return f.word == word; }));
    }
#endif
}

} // namespace feature_test
