// What tests of the JIT share: compilers that behave as told, and what surrounds a process.
#pragma once

#include "catch.hpp"
#include "io/scratch_folder.hpp"
#include <gsub/runtime/compiler/jit.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace jit_test {

using namespace gsub;
using namespace gsub::runtime;
namespace fs = std::filesystem;

inline std::string contents(std::string const& path) {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}
inline void overwrite(std::string const& path, std::string_view bytes) {
    std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes;
}

// A variable of the environment, as long as the object lives.
class variable {
public:
    variable(char const* name, std::optional<std::string> value) : name_(name) {
        if (auto const* old = std::getenv(name)) before_ = old;
        put(value);
    }
    variable(variable const&) = delete;
    variable& operator=(variable const&) = delete;
    ~variable() { put(before_); }

private:
    void put(std::optional<std::string> const& value) const {
        value ? ::setenv(name_, value->c_str(), 1) : ::unsetenv(name_);
    }
    char const* name_;
    std::optional<std::string> before_;
};

inline kernel_source add(int n, std::string symbol = "k") {
    return {"extern \"C\" int " + symbol + "(int x) { return x + " + std::to_string(n) + "; }", symbol, ""};
}
inline int call(loaded_kernel const& k, int x) {
    return reinterpret_cast<int (*)(int)>(k.function())(x);
}

// The system's compiler, found once. Null where there is none, or where the program is built for another machine.
inline compiler const* real() {
    static auto const found = find_compiler();
    return found ? &*found : nullptr;
}

// An executable script that behaves as told when it compiles. `$out` is the file to write.
struct fake {
    scratch_folder const& folder;
    std::string path;

    fake(scratch_folder const& f, std::string_view body, std::string name = "fake")
        : folder(f),
          path(f.file(name, "#!/bin/sh\n"
                            "case \"$1\" in --version) echo fake 1; exit;; -dumpmachine) echo none; exit;; esac\n"
                            "echo x >> \"$0.calls\"\n"
                            "for a; do [ \"$before\" = -o ] && out=\"$a\"; before=\"$a\"; done\n" +
                                std::string{body})) {
        fs::permissions(path, fs::perms::owner_all);
    }
    [[nodiscard]] compiler get() const { return {path, "fake 1\nnone"}; }
    [[nodiscard]] std::size_t calls() const { return contents(path + ".calls").size() / 2; }
};

// A compiler that is quick: it copies what the real one once made of `add(1)`.
struct copying : fake {
    explicit copying(scratch_folder const& f) : fake(f, "cp \"$0.object\" \"$out\"\n") {
        overwrite(path + ".object", object());
    }
    static std::string const& object() {
        static auto const bytes = [] {
            scratch_folder const f;
            fake const keeping(f, real()->path + " \"$@\" && cp \"$out\" \"$0.object\"\n");
            static_cast<void>(load_kernels(std::vector{add(1)}, keeping.get(), {.use_cache = false}).value());
            return contents(keeping.path + ".object");
        }();
        return bytes;
    }
};

struct listening : observer {
    std::vector<std::string> notes;
    void on_note(std::string_view text) override { notes.emplace_back(text); }
};

inline result<std::vector<loaded_kernel>> load(std::vector<kernel_source> const& sources, compiler const& with,
                                               std::string const& cache, observer* observe = nullptr) {
    return load_kernels(sources, with, {.cache_folder = cache, .use_cache = !cache.empty(), .observe = observe});
}

// Runs `body` in a forked child; true where it exits with 0 within a minute.
inline bool child_succeeds(std::function<bool()> const& body) {
    std::cout.flush(); // what waits to be written is this process's, and no limit of the child's is meant for it
    std::fflush(nullptr);
    auto const child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::_exit(body() ? 0 : 1);
    }
    int status = 1;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return status == 0;
}

inline bool running(int pid) {
    auto const stat = contents("/proc/" + std::to_string(pid) + "/stat");
    auto const name_end = stat.rfind(')');
    return pid > 0 && name_end != std::string::npos && stat[name_end + 2] != 'Z';
}

inline std::size_t open_descriptors() {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator{"/proc/self/fd"}, fs::directory_iterator{}));
}

#define NEEDS_COMPILER()                                                                                               \
    if (!real()) {                                                                                                     \
        WARN("no compiler here");                                                                                      \
        return;                                                                                                        \
    }                                                                                                                  \
    static_assert(true)

} // namespace jit_test
