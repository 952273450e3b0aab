#pragma once

#include <gsub/core/format.hpp>
#include <gsub/runtime/compiler/jit.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <initializer_list>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace gsub::runtime {

namespace detail {

inline constexpr std::size_t kept_output = std::size_t{64} << 10; ///< of what a child writes, in bytes

class descriptor {
public:
    explicit descriptor(int fd = -1) noexcept : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~descriptor() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    void reset() noexcept {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

private:
    int fd_;
};

GSUB_LAZY [[nodiscard]] std::string system_text(int fault) {
    return std::generic_category().message(fault);
}

/// A variable of the environment, empty where it is not set or a setuid program must not believe it.
GSUB_LAZY [[nodiscard]] std::string environment(char const* name) {
#if defined(__GLIBC__)
    auto const* const value = ::secure_getenv(name);
#else
    auto const* const value = std::getenv(name);
#endif
    return value ? value : "";
}

GSUB_LAZY [[nodiscard]] std::string absolute_or(std::string path, std::string otherwise) {
    return !path.empty() && path.front() == '/' ? path : otherwise;
}

/// A new folder that nobody else can enter, removed with its contents.
template <class = void>
class private_folder {
public:
    private_folder() : path_(absolute_or(environment("TMPDIR"), "/tmp") + "/gsub-jit-XXXXXX") {
        if (!::mkdtemp(path_.data()))
            throw error{problem{errors::file_access,
                                path_,
                                {},
                                format_text("no temporary folder can be made: {}", system_text(errno)),
                                "set TMPDIR to a folder that can be written"}};
    }
    private_folder(private_folder const&) = delete;
    private_folder& operator=(private_folder const&) = delete;
    ~private_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] std::string const& path() const noexcept { return path_; }

private:
    std::string path_;
};

/// How a child ended.
struct child_end {
    std::string fault{};  ///< why it did not start, or was stopped; empty where it ended by itself
    int status = -1;      ///< as of waitpid; -1 where the host reaped it first
    std::string output{}; ///< the first `kept_output` bytes of what it wrote

    [[nodiscard]] bool failed() const { return !fault.empty() || (status != -1 && status != 0); }
    [[nodiscard]] std::string text() const {
        if (!fault.empty()) return fault;
        if (WIFSIGNALED(status)) return format_text("was killed by signal {}", WTERMSIG(status));
        return format_text("exits with status {}", WEXITSTATUS(status));
    }
};

/// Starts a program in a process group of its own; both outputs go into one pipe.
GSUB_LAZY [[nodiscard]] int spawn(std::vector<std::string> const& arguments, std::string const& folder, int output,
                                  pid_t& child) {
    std::vector<char*> argv, envp;
    for (auto const& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    // CPATH, LD_PRELOAD and their like would change what is compiled without changing its key.
    std::vector<std::string> variables{"LC_ALL=C", "TMPDIR=" + folder};
    for (auto const* name : {"PATH", "HOME", "LD_LIBRARY_PATH"})
        if (auto const value = environment(name); !value.empty())
            variables.push_back(format_text("{}={}", name, value));
    for (auto& v : variables) envp.push_back(v.data());
    envp.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (auto const fault = ::posix_spawn_file_actions_init(&actions)) return fault;
    if (auto const fault = ::posix_spawnattr_init(&attributes)) {
        ::posix_spawn_file_actions_destroy(&actions);
        return fault;
    }
    sigset_t all, none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    auto fault = ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    for (int to : {1, 2})
        if (!fault) fault = ::posix_spawn_file_actions_adddup2(&actions, output, to);
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 29)
    // The host's own folder may be gone.
    if (!fault) fault = ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
#endif
#if __GLIBC_PREREQ(2, 34)
    if (!fault) fault = ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
#endif
    if (!fault)
        fault = ::posix_spawnattr_setflags(&attributes,
                                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!fault) fault = ::posix_spawnattr_setpgroup(&attributes, 0);
    if (!fault) fault = ::posix_spawnattr_setsigmask(&attributes, &none);
    if (!fault) fault = ::posix_spawnattr_setsigdefault(&attributes, &all);
    if (!fault) fault = ::posix_spawn(&child, argv[0], &actions, &attributes, argv.data(), envp.data());
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    return fault;
}

/// Takes what can be read at once; false at the end of the stream.
GSUB_LAZY [[nodiscard]] bool drain(int fd, std::string& output) {
    static constexpr int most_reads = 256; // others may go on writing for ever
    char block[4096];
    for (int i = 0; i < most_reads; ++i) {
        auto const n = ::read(fd, block, sizeof block);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno == EAGAIN;
        if (n == 0) return false;
        output.append(block, std::min(static_cast<std::size_t>(n), kept_output - output.size()));
    }
    return true;
}

enum class child_state { running, ended, reaped };

/// A child that has ended stays a zombie here, so that its group's number cannot be given to others before the kill.
GSUB_LAZY [[nodiscard]] child_state state_of(pid_t child) {
    siginfo_t info{};
    int answer;
    while ((answer = ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT)) < 0 &&
           errno == EINTR) {}
    if (answer < 0) return child_state::reaped;
    return info.si_pid == child ? child_state::ended : child_state::running;
}

/// Runs a program to its end, at most `timeout_s`; whatever it started and left in its group ends with it.
GSUB_LAZY [[nodiscard]] child_end run_child(std::vector<std::string> const& arguments, std::string const& folder,
                                            unsigned timeout_s) {
    child_end end;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        end.fault = format_text("cannot be started: {}", system_text(errno));
        return end;
    }
    descriptor const from{ends[0]};
    descriptor to{ends[1]};
    // The host may have closed its standard streams; the child's must not be mistaken for the pipe.
    if (to.get() < 3) to = descriptor{::fcntl(to.get(), F_DUPFD_CLOEXEC, 3)};
    static_cast<void>(::fcntl(from.get(), F_SETFL, O_NONBLOCK));
    pid_t child = -1;
    if (auto const fault = to ? spawn(arguments, folder, to.get(), child) : errno) {
        end.fault = format_text("cannot be started: {}", system_text(fault));
        return end;
    }
    to.reset();
#if defined(SYS_pidfd_open)
    descriptor const observe{static_cast<int>(::syscall(SYS_pidfd_open, child, 0))};
#else
    descriptor const observe;
#endif
    using clock = std::chrono::steady_clock;
    auto const deadline = clock::now() + std::chrono::seconds{timeout_s};
    auto state = child_state::running;
    bool open = true;
    while ((state = state_of(child)) == child_state::running) {
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
        if (left <= 0) {
            end.fault = format_text("did not end within {} s", timeout_s);
            break;
        }
        // Without a descriptor of the child, its end is seen by looking every 5 ms.
        auto const longest = observe ? decltype(left){60'000} : decltype(left){5};
        pollfd events[2] = {{open ? from.get() : -1, POLLIN, 0}, {observe.get(), POLLIN, 0}};
        if (::poll(events, 2, static_cast<int>(std::min(left, longest))) > 0 && events[0].revents)
            open = drain(from.get(), end.output);
    }
    if (state != child_state::reaped) {
        static_cast<void>(::kill(-child, SIGKILL));
        static_cast<void>(::kill(child, SIGKILL));
        pid_t answer;
        int status = 0;
        while ((answer = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {}
        if (answer == child) end.status = status;
    }
    if (open) static_cast<void>(drain(from.get(), end.output));
    return end;
}

/// The beginning of what a compiler wrote, fit for a message.
GSUB_LAZY [[nodiscard]] std::string first_lines(std::string_view output) {
    std::size_t end = 0;
    for (int lines = 0; lines < 5 && end < output.size(); ++lines)
        end = std::min(output.find('\n', end), output.size() - 1) + 1;
    auto text = printable(output.substr(0, std::min<std::size_t>(end, 1000)));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

GSUB_LAZY [[nodiscard]] bool executable(std::string const& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

/// The absolute path of a program, empty where there is none. Entries of PATH that are relative are passed over.
GSUB_LAZY [[nodiscard]] std::string find_program(std::string const& name) {
    if (name.find('/') != std::string::npos) {
        std::error_code fault;
        auto const path = std::filesystem::absolute(name, fault).string();
        return !fault && executable(path) ? path : std::string{};
    }
    auto folders = environment("PATH");
    if (folders.empty()) folders = "/usr/local/bin:/usr/bin:/bin";
    for (std::size_t at = 0; at < folders.size();) {
        auto const end = std::min(folders.find(':', at), folders.size());
        if (folders[at] == '/')
            if (auto path = format_text("{}/{}", folders.substr(at, end - at), name); executable(path)) return path;
        at = end + 1;
    }
    return {};
}

} // namespace detail

GSUB_LAZY_BODY result<compiler> find_compiler(std::string_view wanted) {
    std::vector<std::string> names{std::string{wanted}};
    std::string source = "asked for";
    for (auto const* variable : {"GSUB_CXX", "CXX"})
        if (names.front().empty()) names.front() = detail::environment(variable), source = format_text("${}", variable);
    if (names.front().empty()) names = {"g++", "c++", "clang++"}, source = "looked for on PATH";
    static constexpr unsigned patience_s = 10;
    std::string tried;
    for (auto const& name : names) {
        std::string reason = "not found or not executable";
        if (compiler found{detail::find_program(name), {}}; !found.path.empty()) {
            auto const version = detail::run_child({found.path, "--version"}, "/", patience_s);
            auto const machine =
                version.failed() ? version : detail::run_child({found.path, "-dumpmachine"}, "/", patience_s);
            auto const line = [](std::string const& text) { return text.substr(0, text.find('\n')); };
            found.identity = format_text("{}\n{}", line(version.output), line(machine.output));
            if (!machine.failed() && found.identity.front() != '\n') return found;
            reason = machine.failed() ? format_text("{} --version: {}", found.path, machine.text())
                                      : format_text("{} does not tell its version", found.path);
        }
        tried += format_text("{}{}: {}", tried.empty() ? "" : "; ", quoted{name}, reason);
    }
    return error{problem{errors::compiler_failed,
                         {},
                         {},
                         format_text("no C++ compiler ({}): {}", source, tried),
                         "install g++ or clang++, or set GSUB_CXX to the path of one, without arguments"}};
}

} // namespace gsub::runtime
