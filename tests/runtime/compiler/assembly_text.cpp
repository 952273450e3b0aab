#include "catch.hpp"
#include <gsub/runtime/compiler/assembly_text.hpp>

#include <string>
#include <vector>

namespace assembly_text_test {

using namespace gsub;
using namespace gsub::runtime;

// All have a helper of one name.
kernel_source source(std::string const& symbol, std::string const& value) {
    return {"static int helper(int x) { return x * " + value + "; }\nextern \"C\" int " + symbol +
                "(int x) { return helper(x); }\n",
            symbol, ""};
}

TEST_CASE("kernels that are compiled together have a function each, also where they compute the same") {
    auto const with = find_compiler();
    if (!with) {
        WARN("no compiler here");
        return;
    }
    auto const text =
        assembly_text_of(std::vector{source("a", "3"), source("b", "5"), source("c", "3")}, *with).value();
    for (auto const* label : {"\na:", "\nb:", "\nc:"}) CHECK(text.find(label) != text.npos);
    CHECK(text == assembly_text_of(std::vector{source("a", "3"), source("b", "5"), source("c", "3")}, *with).value());
    CHECK(assembly_text_of({}, *with).value().empty());
}

TEST_CASE("what cannot be compiled together, or at all, is told") {
    auto const with = find_compiler();
    if (!with) {
        WARN("no compiler here");
        return;
    }
    auto const fault = [&](std::vector<kernel_source> const& sources, assembly_options const& options = {}) {
        auto const made = assembly_text_of(sources, *with, options);
        REQUIRE_FALSE(made);
        return made.error();
    };
    auto other = source("b", "5");
    other.isa_flags = "-mtune=generic";
    CHECK(fault({source("a", "3"), other}).code() == error_code::usage);
    CHECK(fault({source("a", "3"), source("a", "5")}).code() == error_code::usage);
    CHECK(fault({source("a-b", "3")}).code() == error_code::usage);
    other.isa_flags = "-o x";
    CHECK(fault({other}).code() == error_code::usage);
    auto const wrong = fault({{"extern \"C\" int wrong() { return nonesuch; }", "wrong", ""}});
    CHECK(wrong.id() == errors::compiler_failed);
    CHECK(wrong.message().find("nonesuch") != std::string::npos);
    CHECK(wrong.message().find(with->path) != std::string::npos);
    CHECK(fault({source("a", "3")}, {.source_bytes = 10}).code() == error_code::unsupported);
    CHECK(fault({source("a", "3")}, {.text_bytes = 10}).code() == error_code::unsupported);
}

TEST_CASE("a compiler is found for an instruction set, or it is told what there is and what to install") {
    auto const any = find_compiler();
    if (!any) {
        WARN("no compiler here");
        return;
    }
    CHECK(find_compiler_for(isa::baseline).value().path == any->path);
    for (auto const* set : {&isa::avx2, &isa::neon}) {
        auto const word = set == &isa::neon ? std::string{"aarch64"} : std::string{"x86_64"};
        auto const found = find_compiler_for(*set);
        if (found) {
            CHECK(found->identity.find("\n" + word) != std::string::npos);
            // One that is asked for and compiles for something else is refused.
            auto const wrong = find_compiler_for(set == &isa::neon ? isa::avx2 : isa::neon, found->path);
            REQUIRE_FALSE(wrong);
            CHECK(wrong.error().id() == errors::compiler_failed);
            CHECK(wrong.error().message().find(found->path) != std::string::npos);
        } else {
            CHECK(found.error().message().find(word + "-linux-gnu-g++") != std::string::npos);
        }
    }
    CHECK_FALSE(find_compiler_for(isa::neon, "/nonesuch/g++"));
}

} // namespace assembly_text_test
