#include "catch.hpp"
#include <gsub/core/config.hpp>

#include <csignal>
#include <string>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>

namespace config_test {

using namespace gsub;

struct ending {
    std::string words; // what it wrote to stderr
    bool aborted = false;
    int code = -1;
};

// Runs `f` in a process of its own: a broken contract ends the process.
template <class F>
ending in_child(F&& f) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    auto const child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL); // not the handler of the test program
        dup2(ends[1], 2);
        f();
        _exit(7);
    }
    close(ends[1]);
    ending e;
    char buffer[256];
    for (auto n = read(ends[0], buffer, sizeof buffer); n > 0; n = read(ends[0], buffer, sizeof buffer))
        e.words.append(buffer, static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    e.aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    if (WIFEXITED(status)) e.code = WEXITSTATUS(status);
    return e;
}

TEST_CASE("the version number is made of its three parts") {
    STATIC_REQUIRE(version == GSUB_VERSION_MAJOR * 10000 + GSUB_VERSION_MINOR * 100 + GSUB_VERSION_PATCH);
    STATIC_REQUIRE(GSUB_VERSION_MINOR < 100);
    STATIC_REQUIRE(GSUB_VERSION_PATCH < 100);
    STATIC_REQUIRE(version / 10000 == GSUB_VERSION_MAJOR);
    STATIC_REQUIRE(version / 100 % 100 == GSUB_VERSION_MINOR);
    STATIC_REQUIRE(version % 100 == GSUB_VERSION_PATCH);
}

TEST_CASE("the policy for broken contracts is the one that the macro asks for") {
    STATIC_REQUIRE((active_assert_policy == assert_policy::throw_exception) == (GSUB_ASSERT_POLICY == 1));
    STATIC_REQUIRE(std::is_same_v<decltype(assertion_failed("", "", 0)), void>);
}

TEST_CASE("a contract that is kept costs one evaluation of its condition and nothing else") {
    int evaluated = 0;
    GSUB_ASSERT(++evaluated == 1, "never printed");
    CHECK(evaluated == 1);
    // It is an expression, so it fits into a comma list and a constant expression.
    auto const checked = [](int x) constexpr {
        return GSUB_ASSERT(x > 0, "x must be positive"), x;
    };
    STATIC_REQUIRE(checked(3) == 3);
    auto const end = in_child([&] { GSUB_ASSERT(evaluated == 1, "never printed"); });
    CHECK(end.words.empty());
    CHECK(end.code == 7);
}

TEST_CASE("a broken contract ends the program with the sentence, the file and the line") {
    if constexpr (active_assert_policy == assert_policy::terminate) {
        int const line = __LINE__ + 1;
        auto const end = in_child([] { GSUB_ASSERT(1 + 1 == 3, "one and one must be three"); });
        CHECK(end.aborted);
        CHECK(end.words == "gsub: " + std::string{__FILE__} + ":" + std::to_string(line) +
                               ": contract broken: one and one must be three\n");
    } else {
        CHECK_THROWS_WITH(GSUB_ASSERT(1 + 1 == 3, "one and one must be three"), "one and one must be three");
    }
}

TEST_CASE("a sentence may hold characters that mean something to printf") {
    if constexpr (active_assert_policy == assert_policy::terminate) {
        auto const end = in_child([] { GSUB_ASSERT(false, "100 %s %n of it"); });
        CHECK(end.aborted);
        CHECK(end.words.find("100 %s %n of it\n") != std::string::npos);
    }
}

} // namespace config_test
