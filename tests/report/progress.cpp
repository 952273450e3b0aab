#include "catch.hpp"
#include <gsub/report/progress.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <string>
#include <unistd.h>

namespace progress_test {

using namespace gsub;
using report::progress_reporter;

// What a reporter writes to a plain file.
template <class F>
std::string written(bool quiet, F&& use) {
    auto* const file = std::tmpfile();
    REQUIRE(file);
    {
        progress_reporter r{file, quiet, std::chrono::hours{1}};
        use(r);
    }
    std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
    std::rewind(file);
    REQUIRE(std::fread(text.data(), 1, text.size(), file) == text.size());
    std::fclose(file);
    return text;
}

// The text without times, which differ from run to run.
std::string without_times(std::string text) {
    for (std::size_t at = 0; (at = text.find(", 0.0 s", at)) != std::string::npos;) text.erase(at, 7);
    return text;
}

void talk(progress_reporter& r) {
    r.on_progress({"import", 0, 0, {}});
    r.on_note("operator kept as it is");
    for (std::uint64_t i = 1; i <= 100; ++i) r.on_progress({"search", i, 100, "best 1"});
    r.on_progress({"fold", 7, 0, {}});
}

TEST_CASE("in a file each phase is a line, and notes are lines of their own") {
    CHECK(without_times(written(false, talk)) ==
          "import\nnote: operator kept as it is\nsearch 1/100, best 1\nfold 7\n");
}

TEST_CASE("a quiet reporter passes notes alone on") {
    CHECK(written(true, talk) == "note: operator kept as it is\n");
    CHECK(written(false, [](auto&) {}).empty());
    CHECK(written(false, [](auto& r) { r.finish(), r.finish(); }).empty());
}

TEST_CASE("a phase that comes again is told again") {
    auto const text = without_times(written(false, [](auto& r) {
        r.on_progress({"a", 0, 0, {}});
        r.on_progress({"b", 0, 0, {}});
        r.on_progress({"a", 0, 0, {}});
        r.finish();
        r.on_progress({"a", 0, 0, {}});
    }));
    CHECK(text == "a\nb\na\na\n");
}

TEST_CASE("on a terminal progress is one line, which is gone before anything else is written") {
    auto const leader = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (leader < 0 || ::grantpt(leader) != 0 || ::unlockpt(leader) != 0) return; // no terminals here
    auto const* const name = ::ptsname(leader);
    auto* const terminal = name ? std::fopen(name, "w") : nullptr;
    if (!terminal || ::isatty(::fileno(terminal)) != 1) return;
    {
        progress_reporter r{terminal, false, std::chrono::hours{1}}; // however slow the machine is
        r.on_progress({"search", 1, 2, {}});
        r.on_progress({"search", 2, 2, {}}); // too soon to be shown
        r.on_note("done");
        r.on_progress({"fold", 0, 0, {}});
    }
    std::fputs("end", terminal);
    std::fflush(terminal);
    std::string text; // it passes through the terminal piece by piece
    char piece[256];
    while (!text.ends_with("end")) {
        auto const n = ::read(leader, piece, sizeof piece);
        REQUIRE(n > 0);
        text.append(piece, static_cast<std::size_t>(n));
    }
    std::fclose(terminal);
    ::close(leader);
    CHECK(without_times(text) == "\r\033[Ksearch 1/2\r\033[Knote: done\r\n\r\033[Kfold\r\033[Kend");
}

} // namespace progress_test
