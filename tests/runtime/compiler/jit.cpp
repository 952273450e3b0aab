#include "catch.hpp"
#include "io/scratch_folder.hpp"
#include "runtime/jit_fixture.hpp"
#include <gsub/core/random.hpp>
#include <gsub/runtime/compiler/jit.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace jit_test {

TEST_CASE("kernels come in the order of their sources, equal ones are compiled once, cached ones not at all") {
    NEEDS_COMPILER();
    scratch_folder const f;
    fake const counting(f, "exec " + real()->path + " \"$@\"\n");
    std::vector<kernel_source> sources;
    for (int i = 0; i < 12; ++i) sources.push_back(add(i % 6, i % 2 ? "odd" : "even_2"));
    fork_join_executor threads{3};
    for (int round = 0; round < 3; ++round) {
        auto const kernels = load_kernels(sources, counting.get(), {.cache_folder = f / "cache", .threads = &threads});
        REQUIRE(kernels);
        for (std::size_t i = 0; i < 12; ++i) CHECK(call(kernels.value()[i], 100) == 100 + static_cast<int>(i) % 6);
        CHECK(counting.calls() == 6);
    }
    CHECK(cache_entries(f / "cache").value().size() == 6);
    CHECK(load({}, counting.get(), f / "cache").value().empty());
    // Without a cache each call compiles, and equal sources still once.
    REQUIRE(load(sources, counting.get(), ""));
    CHECK(counting.calls() == 12);
}

TEST_CASE("whatever a kernel depends on is in its key") {
    NEEDS_COMPILER();
    scratch_folder const f;
    copying const quick{f};
    auto const entries = [&](kernel_source const& s, compiler const& c, std::vector<std::string> flags = {}) {
        REQUIRE(load_kernels(std::vector{s}, c, {.cache_folder = f / "cache", .flags = std::move(flags)}));
        return cache_entries(f / "cache").value().size();
    };
    auto const base = add(1);
    CHECK(entries(base, quick.get()) == 1);
    CHECK(entries({base.text + " ", "k", ""}, quick.get()) == 2);
    CHECK(entries({base.text, "k", "-mavx2"}, quick.get()) == 3);
    CHECK(entries({base.text, "k", "-mavx2 -mfma"}, quick.get()) == 4);
    CHECK(entries(base, quick.get(), {"-g"}) == 5);
    CHECK(entries(base, quick.get(), {"-g", ""}) == 6);
    CHECK(entries(base, {quick.path, "fake 2\nnone"}) == 7);
    CHECK(entries(base, {quick.path, "fake 1\nother"}) == 8);
    CHECK(entries(base, quick.get()) == 8);
}

TEST_CASE("an entry that was changed in any way is built anew") {
    NEEDS_COMPILER();
    scratch_folder const f;
    copying const quick{f};
    auto const check = [&](std::size_t calls) {
        auto const kernels = load({add(1)}, quick.get(), f / "cache");
        REQUIRE(kernels);
        CHECK(call(kernels.value()[0], 1) == 2);
        CHECK(quick.calls() == calls);
    };
    check(1);
    auto const name = (f / "cache") + "/" + cache_entries(f / "cache").value().at(0).name;
    auto const good = contents(name);
    std::size_t calls = 1;
    random_stream random{1};
    for (int i = 0; i < 120; ++i) {
        CAPTURE(i);
        auto bad = good;
        auto const at = i < 60 ? bad.size() - 1 - static_cast<std::size_t>(i) : random.below(bad.size());
        if (i % 3 == 2)
            bad.resize(at);
        else
            bad[at] = static_cast<char>(bad[at] ^ (1 << random.below(8)));
        overwrite(name, bad);
        check(++calls);
        CHECK(contents(name) == good);
    }
    for (auto const& bad : {std::string{}, good + good, good.substr(0, good.size() - 56), std::string(4096, '\0')}) {
        overwrite(name, bad);
        check(++calls);
    }
    // The sound entry of another kernel is not this one's.
    REQUIRE(load({{add(1).text + "//", "k", ""}}, quick.get(), f / "cache"));
    ++calls;
    auto const both = cache_entries(f / "cache").value();
    CHECK(both.size() == 2);
    for (auto const& e : both)
        if ((f / "cache") + "/" + e.name != name) overwrite(name, contents((f / "cache") + "/" + e.name));
    check(++calls);
    // Nor does a link or a folder count as an entry.
    fs::rename(name, f / "elsewhere");
    fs::create_symlink(f / "elsewhere", name);
    check(++calls);
    CHECK(!fs::is_symlink(name));
    fs::remove(name);
    fs::create_directory(name);
    check(++calls);
    fs::remove(name);
    check(++calls);
    check(calls);
}

TEST_CASE("cache_verify removes unsound entries and keeps the others") {
    NEEDS_COMPILER();
    scratch_folder const f;
    copying const quick{f};
    for (int i = 0; i < 4; ++i)
        REQUIRE(load({{add(1).text + std::string(std::size_t(i), ' '), "k", ""}}, quick.get(), f / "cache"));
    auto const entries = cache_entries(f / "cache").value();
    overwrite((f / "cache") + "/" + entries.at(1).name, "no kernel");
    f.file("cache/notes.txt", "not ours");
    auto const report = cache_verify(f / "cache").value();
    CHECK((report.kept == 3 && report.removed == 1 && report.removed_bytes == 9));
    CHECK(cache_verify(f / "cache").value().removed == 0);
    CHECK(contents(f / "cache/notes.txt") == "not ours");
    CHECK(cache_entries(f / "nothing").value().empty());
    CHECK(cache_verify(f / "nothing").value().kept == 0);
    CHECK(!fs::exists(f / "nothing"));
}

TEST_CASE("a compiler that fails in any way is an error that names it, and leaves nothing behind") {
    struct fault {
        std::string body, words;
    };
    fault const faults[] = {
        {"echo 'kernel.cpp:1: error: no'; echo more >&2; exit 3",
         "exits with status 3:\nkernel.cpp:1: error: no\nmore"},
        {"kill -SEGV $$", "was killed by signal 11"},
        {"exit 0", "wrote no output"},
        {"mkdir \"$out\"", "wrote no output"},
        {"ln -s /bin/sh \"$out\"", "wrote no output"},
        {"echo text > \"$out\"", "no shared object"},
        {": > \"$out\"", "no shared object"},
        {"head -c 100 /bin/sh > \"$out\"", "no shared object"},
        {"printf '\\033[31mred' >&2; exit 1", "\\x1b[31mred"},
    };
    scratch_folder const f, temporary;
    variable const folder{"TMPDIR", temporary.path().string()};
    auto const descriptors = open_descriptors();
    for (auto const& [body, words] : faults) {
        CAPTURE(body);
        fake const bad(f, body);
        auto const loaded = load({add(1), add(2)}, bad.get(), f / "cache");
        REQUIRE(!loaded);
        CHECK(loaded.error().id() == errors::compiler_failed);
        CHECK(loaded.error().message().find(bad.path) != std::string::npos);
        CHECK(loaded.error().message().find(words) != std::string::npos);
        CHECK(temporary.names().empty());
        CHECK(cache_entries(f / "cache").value().empty());
    }
    auto const absent = load({add(1)}, {f / "absent", ""}, f / "cache");
    REQUIRE(!absent);
    CHECK(absent.error().message().find("cannot be started: No such file") != std::string::npos);
    CHECK(open_descriptors() == descriptors);
    if (!real()) return;
    auto const wrong = load({{"extern \"C\" int k( {", "k", ""}}, *real(), "");
    REQUIRE(!wrong);
    CHECK(wrong.error().message().find("error:") != std::string::npos);
    auto const other = load({{add(1).text, "missing", ""}}, *real(), "");
    REQUIRE(!other);
    CHECK(other.error().message().find("does not define the symbol") != std::string::npos);
    auto const unbound =
        load({{"extern \"C\" int nowhere_at_all(); extern \"C\" int k() { return nowhere_at_all(); }", "k", ""}},
             *real(), "");
    REQUIRE(!unbound);
    CHECK(unbound.error().message().find("nowhere_at_all") != std::string::npos);
}

TEST_CASE("a compiler that hangs is stopped with all that it started") {
    scratch_folder const f;
    fake const hanging(f, "sleep 1000 & echo $! > \"$0.child\"; echo $$ > \"$0.pid\"; wait");
    auto const start = std::chrono::steady_clock::now();
    auto const loaded = load_kernels(std::vector{add(1)}, hanging.get(), {.use_cache = false, .timeout_s = 1});
    auto const took = std::chrono::steady_clock::now() - start;
    REQUIRE(!loaded);
    CHECK(loaded.error().message().find("did not end within 1 s") != std::string::npos);
    CHECK(took < std::chrono::seconds{60}); // it would sleep for 1000
    CHECK(!running(std::atoi(contents(hanging.path + ".pid").c_str())));
    for (int i = 0; i < 100 && running(std::atoi(contents(hanging.path + ".child").c_str())); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    CHECK(!running(std::atoi(contents(hanging.path + ".child").c_str())));
    // One that ends but leaves a child with the pipe open does not hold us up.
    fake const forking(f, "sleep 1000 & echo $! > \"$0.child\"; exit 4", "forking");
    auto const left = load({add(1)}, forking.get(), "");
    REQUIRE(!left);
    CHECK(left.error().message().find("exits with status 4") != std::string::npos);
    for (int i = 0; i < 100 && running(std::atoi(contents(forking.path + ".child").c_str())); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    CHECK(!running(std::atoi(contents(forking.path + ".child").c_str())));
}

TEST_CASE("100 MB of messages are read to their end, and a few lines are kept") {
    scratch_folder const f;
    fake const talking(f, "yes complaint | head -c 100000000 >&2; exit 1");
    auto const loaded = load({add(1)}, talking.get(), "");
    REQUIRE(!loaded);
    CHECK(loaded.error().message().size() < 2000);
    CHECK(loaded.error().message().find("status 1:\ncomplaint\n") != std::string::npos);
}

TEST_CASE("a cache folder that others could change is refused with a note, and the kernel runs") {
    NEEDS_COMPILER();
    scratch_folder const f;
    copying const quick{f};
    fs::create_directory(f / "real");
    fs::create_directory_symlink(f / "real", f / "link");
    for (auto const* name : {"world", "group", "other"}) fs::create_directory(f / name);
    ::chmod((f / "world").c_str(), 0777);
    ::chmod((f / "group").c_str(), 0770);
    f.file("file", "");
    std::vector<std::pair<std::string, std::string>> planted{{f / "link", "symbolic link"},
                                                             {(f / "link") + "/", "symbolic link"},
                                                             {f / "file", "symbolic link or no folder"},
                                                             {f / "world", "written by others"},
                                                             {f / "group", "written by others"}};
    if (::geteuid() == 0 && ::chown((f / "other").c_str(), 65534, 65534) == 0)
        planted.emplace_back(f / "other", "another user");
    for (auto const& [folder, words] : planted) {
        CAPTURE(folder);
        listening notes;
        auto const loaded = load({add(1)}, quick.get(), folder, &notes);
        REQUIRE(loaded);
        CHECK(call(loaded.value()[0], 1) == 2);
        REQUIRE(notes.notes.size() == 1);
        CHECK(notes.notes[0].find(words) != std::string::npos);
        for (auto const& e : {cache_entries(folder).has_value(), cache_verify(folder).has_value(),
                              cache_collect(folder, 0).has_value()})
            CHECK(!e);
        CHECK(cache_entries(folder).error().id() == errors::cache_folder);
    }
    for (auto const* name : {"real", "world", "group", "other"}) CHECK(fs::is_empty(f / name));
}

TEST_CASE("a new cache is closed to others, whatever the umask") {
    NEEDS_COMPILER();
    scratch_folder const f;
    copying const quick{f};
    auto const before = ::umask(0);
    auto const loaded = load({add(1)}, quick.get(), f / "a/b/cache");
    ::umask(before);
    REQUIRE(loaded);
    for (auto const* part : {"a", "a/b", "a/b/cache"})
        CHECK((fs::status(f / part).permissions() & fs::perms::all) == fs::perms::owner_all);
    auto const entries = cache_entries(f / "a/b/cache").value();
    REQUIRE(entries.size() == 1);
    CHECK(fs::status((f / "a/b/cache/") + entries[0].name).permissions() ==
          (fs::perms::owner_read | fs::perms::owner_write));
    CHECK(fs::file_size((f / "a/b/cache/") + entries[0].name) == entries[0].size);
}

TEST_CASE("the default cache follows the environment, and is never below the current folder") {
    variable const own{"GSUB_CACHE", "/own"}, xdg{"XDG_CACHE_HOME", "/xdg"}, home{"HOME", "/home/me"};
    CHECK(default_cache_folder() == "/own");
    for (auto const* relative : {"", "cache", "./cache"}) {
        variable const no_own{"GSUB_CACHE", relative};
        CHECK(default_cache_folder() == "/xdg/gsub");
        variable const no_xdg{"XDG_CACHE_HOME", relative};
        CHECK(default_cache_folder() == "/home/me/.cache/gsub");
        variable const no_home{"HOME", std::nullopt};
        CHECK(default_cache_folder().empty());
    }
}

TEST_CASE("blanks, quotes and commands in paths are characters of a name") {
    NEEDS_COMPILER();
    scratch_folder const f;
    auto const poison = f / "a b'\"; touch PWNED; $(touch PWNED) `touch PWNED`";
    fs::create_directories(poison + "/tmp");
    variable const temporary{"TMPDIR", poison + "/tmp"};
    std::string script = "#!/bin/sh\nexec " + real()->path + " \"$@\"\n";
    overwrite(poison + "/g++ $(touch PWNED)", script);
    fs::permissions(poison + "/g++ $(touch PWNED)", fs::perms::owner_all);
    auto const wrapped = find_compiler(poison + "/g++ $(touch PWNED)");
    REQUIRE(wrapped);
    CHECK(wrapped.value().identity == real()->identity);
    auto const before = fs::current_path();
    fs::current_path(f.path());
    for (int round = 0; round < 2; ++round) {
        auto const loaded = load({add(5)}, wrapped.value(), poison + "/cache");
        REQUIRE(loaded);
        CHECK(call(loaded.value()[0], 1) == 6);
    }
    fs::current_path(before);
    for (auto const& e : fs::recursive_directory_iterator{f.path()}) CHECK(e.path().filename() != "PWNED");
    CHECK(!fs::exists("PWNED"));
    CHECK(fs::is_empty(poison + "/tmp"));
}

TEST_CASE("the compiler sees neither text nor symbol in its arguments, and little of the environment") {
    scratch_folder const f;
    fake const spying(
        f, "printf '%s\\n' \"$@\" > \"$0.arguments\"; env > \"$0.environment\"; pwd > \"$0.folder\"; exit 1");
    variable const path{"CPATH", "/hostile"}, include{"CPLUS_INCLUDE_PATH", "/hostile"},
        options{"GCC_EXEC_PREFIX", "/hostile"};
    REQUIRE(!load({{"int secret_text;", "secret_symbol", "-mavx2 -mfma"}}, spying.get(), ""));
    auto const arguments = contents(spying.path + ".arguments");
    CHECK(arguments.find("secret") == std::string::npos);
    CHECK(arguments.find("\n-mavx2\n-mfma\n-o\n") != std::string::npos);
    CHECK(contents(spying.path + ".environment").find("hostile") == std::string::npos);
    CHECK(contents(spying.path + ".folder").find("gsub-jit-") != std::string::npos);
}

TEST_CASE("symbols and options that are not allowed are usage errors before anything runs") {
    scratch_folder const f;
    fake const counting(f, "exit 1");
    auto const refused = [&](kernel_source const& s, std::vector<std::string> flags = {}) {
        auto const loaded =
            load_kernels(std::vector{s}, counting.get(), {.use_cache = false, .flags = std::move(flags)});
        return !loaded && loaded.error().code() == error_code::usage;
    };
    for (std::string const symbol : {"", "A", "1k", "k-", "k k", "../k", "k\n", "k;", "k\xc3\xa4"})
        CHECK(refused({"", symbol, ""}));
    CHECK(refused({"", std::string(201, 'k'), ""}));
    for (auto const* isa :
         {"-O0", "mavx2", "-m", "-march=native", "-mtune=native", "-mavx2\t-mfma", "-m$(x)", "-mavx2 x"})
        CHECK(refused({"", "k", isa}));
    CHECK(refused({"", "k", ""}, {"-march=native"}));
    CHECK(counting.calls() == 0);
    CHECK(!refused({"", "k", "  -march=x86-64-v3  -mprefer-vector-width=512 "}));
}

TEST_CASE("a cache that can only be read serves what it has, and costs one note for what it lacks") {
    NEEDS_COMPILER();
    scratch_folder const f;
    copying const quick{f};
    ::chmod(f.path().c_str(), 0777);
    ::chmod(quick.path.c_str(), 0755);
    CHECK(child_succeeds([&] {
        // The superuser may write everywhere.
        if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return false;
        listening notes;
        if (!load({add(1)}, quick.get(), f / "cache", &notes) || !notes.notes.empty()) return false;
        ::chmod((f / "cache").c_str(), 0500);
        if (!load({add(1)}, quick.get(), f / "cache", &notes) || !notes.notes.empty()) return false;
        auto const more =
            load({{add(1).text + " ", "k", ""}, {add(1).text + "  ", "k", ""}}, quick.get(), f / "cache", &notes);
        auto const fine = more && call(more.value()[1], 1) == 2 && notes.notes.size() == 1 &&
                          notes.notes[0].find("not cached: Permission denied") != std::string::npos;
        auto const one = cache_entries(f / "cache").value().size() == 1;
        ::chmod((f / "cache").c_str(), 0700);
        return fine && one;
    }));
    ::chmod(f.path().c_str(), 0700);
}

TEST_CASE("above its limit a cache loses what was used longest ago, loaded kernels live on") {
    NEEDS_COMPILER();
    scratch_folder const f;
    copying const quick{f};
    auto const numbered = [](int i) { return kernel_source{add(1).text + "//" + std::to_string(i), "k", ""}; };
    auto const size = copying::object().size() + 56;
    std::vector<loaded_kernel> kept;
    auto const use = [&](int i, std::uint64_t limit) {
        kept.push_back(load_kernels(std::vector{numbered(i)}, quick.get(),
                                    {.cache_folder = f / "cache", .cache_limit_bytes = limit})
                           .value()[0]);
        std::this_thread::sleep_for(std::chrono::milliseconds{12}); // the clock of files is coarse
        return quick.calls();
    };
    for (int i = 0; i < 4; ++i) use(i, 10 * size);
    CHECK(use(0, 10 * size) == 4); // used again: 1 is now the oldest
    CHECK(use(4, 3 * size) == 5);  // 1 and 2 go
    CHECK(cache_entries(f / "cache").value().size() == 3);
    CHECK(use(0, 3 * size) == 5);
    CHECK(use(3, 3 * size) == 5);
    CHECK(use(1, 3 * size) == 6);
    f.file("cache/.unfinished-1-2-3", "left by a run that was killed");
    fs::last_write_time(f / "cache/.unfinished-1-2-3", fs::file_time_type::clock::now() - std::chrono::hours{2});
    f.file("cache/.unfinished-4-5-6", "being written");
    auto const report = cache_collect(f / "cache", 0).value();
    CHECK((report.removed == 3 && report.kept == 0 && report.removed_bytes == 3 * size));
    CHECK(cache_entries(f / "cache").value().empty());
    CHECK(!fs::exists(f / "cache/.unfinished-1-2-3"));
    CHECK(fs::exists(f / "cache/.unfinished-4-5-6"));
    for (auto const& k : kept) CHECK(call(k, 1) == 2);
}

TEST_CASE("an object stays loaded as long as one handle lives, and not longer") {
    NEEDS_COMPILER();
    scratch_folder const f;
    copying const quick{f};
    auto const mapped = [] {
        auto const maps = contents("/proc/self/maps");
        std::size_t lines = 0;
        for (auto at = maps.find("gsub-k"); at != std::string::npos; at = maps.find("gsub-k", at + 1)) ++lines;
        return lines;
    };
    auto const before = mapped();
    auto const descriptors = open_descriptors();
    {
        loaded_kernel copy;
        CHECK(copy.function() == nullptr);
        copy = load({add(1)}, quick.get(), f / "cache").value()[0];
        CHECK(call(copy, 1) == 2);
        CHECK(mapped() > before);
        auto const one = mapped();
        // Ten thousand of them come and go.
        for (int i = 0; i < 10'000; ++i)
            if (call(load({add(1)}, quick.get(), f / "cache").value()[0], i) != i + 1) FAIL("wrong sum");
        CHECK(mapped() == one);
        CHECK(call(copy, 1) == 2);
    }
    CHECK(mapped() == before);
    CHECK(open_descriptors() == descriptors);
}

TEST_CASE("many threads may load the same kernels at once") {
    NEEDS_COMPILER();
    scratch_folder const f;
    copying const quick{f};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 5; ++i) {
                auto const kernels =
                    load({add(1), {add(1).text + std::to_string(i) + ";", "k", ""}}, quick.get(), f / "cache");
                wrong += !kernels || call(kernels.value()[1], 1) != 2;
            }
        });
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
    auto const report = cache_verify(f / "cache").value();
    CHECK((report.kept == 6 && report.removed == 0));
}

TEST_CASE("processes that are killed amid writing leave a cache that works") {
    NEEDS_COMPILER();
    scratch_folder const f, temporary;
    variable const folder{"TMPDIR", temporary.path().string()};
    copying const quick{f};
    random_stream random{3};
    for (int i = 0; i < 40; ++i) {
        auto const child = ::fork();
        if (child == 0) {
            for (int k = 0;; ++k)
                static_cast<void>(load({{add(1).text + "//" + std::to_string(i) + "_" + std::to_string(k), "k", ""}},
                                       quick.get(), f / "cache"));
        }
        std::this_thread::sleep_for(std::chrono::microseconds{2000 + random.below(10'000)});
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
    CHECK(cache_verify(f / "cache").value().removed == 0);
    CHECK(load({add(1)}, quick.get(), f / "cache"));
}

volatile std::sig_atomic_t alarms = 0;

TEST_CASE("the host's signals are neither needed nor disturbed") {
    NEEDS_COMPILER();
    scratch_folder const f;
    copying const quick{f};
    fake const failing(f, "exit 1", "failing");
    auto const works = [&] {
        auto const loaded = load({add(1)}, quick.get(), "");
        return loaded && call(loaded.value()[0], 1) == 2 && !load({add(1)}, failing.get(), "");
    };
    for (auto handler : {SIG_DFL, SIG_IGN}) {
        auto const before = std::signal(SIGCHLD, handler);
        CHECK(works());
        CHECK(std::signal(SIGCHLD, before) == handler);
    }
    // A host that reaps every child at once, and one whose timer goes off all the time.
    auto const reaping = std::signal(SIGCHLD, [](int) {
        auto const fault = errno;
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {}
        errno = fault;
    });
    CHECK(works());
    std::signal(SIGCHLD, reaping);
    auto const ringing = std::signal(SIGALRM, [](int) { alarms = alarms + 1; });
    itimerval storm{{0, 500}, {0, 500}}, none{};
    ::setitimer(ITIMER_REAL, &storm, nullptr);
    for (int i = 0; i < 5; ++i) CHECK(works());
    ::setitimer(ITIMER_REAL, &none, nullptr);
    std::signal(SIGALRM, ringing);
    CHECK(alarms > 0);
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1); // no child is left
    CHECK(errno == ECHILD);
}

TEST_CASE("a process without standard streams, folder or descriptors to spare gets kernels or an error") {
    NEEDS_COMPILER();
    scratch_folder const f;
    copying const quick{f};
    CHECK(child_succeeds([&] {
        for (int fd : {0, 1, 2}) ::close(fd);
        fs::create_directory(f / "gone");
        fs::current_path(f / "gone");
        fs::remove(f / "gone");
        auto const loaded = load({add(1)}, quick.get(), f / "cache");
        return loaded && call(loaded.value()[0], 1) == 2;
    }));
    // Sanitizers need descriptors for their own checks, and report objects as invalid where they get none.
#if defined(__SANITIZE_ADDRESS__)
    constexpr bool descriptors_are_ours = false;
#elif defined(__has_feature)
    constexpr bool descriptors_are_ours = !__has_feature(address_sanitizer);
#else
    constexpr bool descriptors_are_ours = true;
#endif
    if (descriptors_are_ours)
        CHECK(child_succeeds([&] {
            bool worked = false;
            for (rlim_t most = 3; most < 40 && !worked; ++most) {
                rlimit const limit{most, 64};
                ::setrlimit(RLIMIT_NOFILE, &limit);
                auto const loaded =
                    load({{add(1).text + std::to_string(most) + ";", "k", ""}}, quick.get(), f / "cache");
                if (!loaded && loaded.error().code() != error_code::environment) return false;
                worked = loaded && call(loaded.value()[0], 1) == 2;
            }
            return worked;
        }));
    CHECK(child_succeeds([&] { // nothing may be written: an error, and no SIGXFSZ
        rlimit const limit{16, 16};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        return !load({{add(1).text + "//", "k", ""}}, quick.get(), f / "cache");
    }));
    CHECK(cache_verify(f / "cache").value().removed == 0);
}

TEST_CASE("the compiler is the one that is asked for, else that of the environment, else one on PATH") {
    scratch_folder const f;
    auto const make = [&](std::string const& name, std::string const& version) {
        auto const path = f.file(name, "#!/bin/sh\n[ \"$1\" = -dumpmachine ] && echo arch && exit\n" + version + "\n");
        fs::permissions(path, fs::perms::owner_all);
        return path;
    };
    variable const own{"GSUB_CXX", std::nullopt}, cxx{"CXX", std::nullopt};
    auto const broken = make("bin/g++", "exit 1"), usable = make("bin/c++", "echo c++ 1; echo more"),
               last = make("bin/clang++", "echo clang++ 1");
    auto const path = f / "bin";
    variable const folders{"PATH", ":relative:" + path};
    CHECK(find_compiler().value().path == usable);
    CHECK(find_compiler().value().identity == "c++ 1\narch");
    CHECK(find_compiler("clang++").value().path == last);
    {
        variable const isa{"CXX", "clang++"};
        CHECK(find_compiler().value().path == last);
        variable const first{"GSUB_CXX", usable};
        CHECK(find_compiler().value().path == usable);
        CHECK(find_compiler(last).value().path == last);
    }
    // What is set and does not work is not passed over.
    variable const isa{"CXX", "/nonexistent/c++"};
    auto const none = find_compiler();
    REQUIRE(!none);
    CHECK(none.error().id() == errors::compiler_failed);
    CHECK(none.error().message().find("($CXX): \"/nonexistent/c++\": not found") != std::string::npos);
    variable const unset{"CXX", std::nullopt}, nowhere{"PATH", f / "empty"};
    auto const all = find_compiler();
    REQUIRE(!all);
    for (auto const* name : {"\"g++\"", "\"c++\"", "\"clang++\"", "looked for on PATH"})
        CHECK(all.error().message().find(name) != std::string::npos);
    CHECK(find_compiler(broken).error().message().find("exits with status 1") != std::string::npos);
    CHECK(!find_compiler(path));
}

} // namespace jit_test
