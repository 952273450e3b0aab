// JIT: compiles generated C++ with the system's compiler, loads it, and keeps it on disk for the next run.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/observer.hpp>
#include <gsub/core/result.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::runtime {

// ---- the compiler
// ----------------------------------------------------------------------------------------------------

/// A C++ compiler that takes the options of g++ and clang++.
struct compiler {
    std::string path{};     ///< absolute
    std::string identity{}; ///< first line of `--version`, then the target of `-dumpmachine`
};

/// Finds the C++ compiler. The first of these that is set decides: `wanted`, `$GSUB_CXX`, `$CXX` (each a path or a name
/// on `$PATH`, without arguments); where none is, the first of `g++`, `c++`, `clang++` on `$PATH` that tells its
/// version. *Errors* `environment` naming what was tried.
GSUB_LAZY [[nodiscard]] result<compiler> find_compiler(std::string_view wanted = {});

/// Compiler flags of kernels, also in exported sources, before their `isa_flags`. Nobody reads their floating-point
/// exceptions.
inline constexpr char const* kernel_flags[] = {"-O3", "-fno-exceptions", "-fno-rtti",          "-ffp-contract=fast",
                                               "-w",  "-fno-math-errno", "-fno-trapping-math", "-fno-stack-protector"};

// ---- compiling and loading
// -------------------------------------------------------------------------------------------

/// JIT options: how kernels are compiled and cached.
struct jit_options {
    std::string cache_folder{}; ///< empty: `default_cache_folder()`
    bool use_cache = true;
    std::uint64_t cache_limit_bytes = std::uint64_t{1} << 30; ///< the least recently used goes first
    unsigned timeout_s = 120;                                 ///< for one run of the compiler
    /// Further compiler flags, after gsub's own and before `isa_flags`. They come from the program, never from a model.
    std::vector<std::string> flags{};
    executor* threads = nullptr; ///< compiles several kernels at a time; null: one after the other
    observer* observe = nullptr; ///< hears of progress, and of a cache that cannot be used
};

/// Kernel source: text that defines `extern "C"` a function named `symbol`, without includes or objects to construct.
struct kernel_source {
    std::string text{};
    std::string symbol{};    ///< of [a-z0-9_], not beginning with a digit
    std::string isa_flags{}; ///< `-m` options between blanks, e.g. `-mavx2 -mfma`; never `native`
};

/// Loaded kernel: a function in a loaded object. Copies share the object, which stays loaded while one lives.
class loaded_kernel {
public:
    loaded_kernel() = default;
    loaded_kernel(std::shared_ptr<void> object, void* function) : object_(std::move(object)), function_(function) {}

    /// Its address; null for a kernel made without arguments.
    [[nodiscard]] void* function() const noexcept { return function_; }

private:
    std::shared_ptr<void> object_;
    void* function_ = nullptr;
};

/// Compiles and loads kernels, in the order given. Content-addressed: sources of equal text, symbol and flags are
/// compiled once for one compiler, and not at all where the cache has them. A kernel takes one compiler run, one shared
/// object and one cache entry; objects are loaded from memory, so entries may vanish and folders forbid execution.
///
/// The compiler is started without a shell, in a process group and a temporary folder (`$TMPDIR`, else /tmp) of its
/// own, with PATH, HOME and LD_LIBRARY_PATH as its only inherited environment, and with default signal handling. No
/// signal handler is installed; a host that ignores SIGCHLD or reaps all children works too.
///
/// A cache that cannot be used (owned by another, writable for others, a symbolic link, full, read-only) costs one note
/// to the observer, nothing else. An entry whose digest does not match is rebuilt. Safe to use from several threads and
/// processes at once: at worst a kernel is compiled twice. *Errors* `usage` for a symbol or flag that is not allowed,
/// `environment` naming the compiler, with its exit status and the first lines that it wrote, or what the dynamic
/// loader says.
GSUB_LAZY [[nodiscard]] result<std::vector<loaded_kernel>>
load_kernels(std::span<kernel_source const> sources, compiler const& with, jit_options const& options = {});

// ---- the cache
// -------------------------------------------------------------------------------------------------------

/// Default cache folder: `$GSUB_CACHE`, else `$XDG_CACHE_HOME/gsub`, else `$HOME/.cache/gsub`, else empty: no cache.
/// Relative paths count as not set.
GSUB_LAZY [[nodiscard]] std::string default_cache_folder();

/// Cache entry: one kernel on disk.
struct cache_entry {
    std::string name{};     ///< of the file in the cache folder
    std::uint64_t size = 0; ///< in bytes
    std::int64_t used = 0;  ///< when it was used last, in nanoseconds since 1970
};

/// Cache report: what was kept and removed.
struct cache_report {
    std::size_t kept = 0, removed = 0; ///< entries
    std::uint64_t kept_bytes = 0, removed_bytes = 0;
};

/// Lists the entries of a cache, the least recently used first. A folder that does not exist is empty. *Errors*
/// `environment` for a folder that must not be trusted.
GSUB_LAZY [[nodiscard]] result<std::vector<cache_entry>> cache_entries(std::string const& folder);

/// Evicts the least recently used entries until at most `limit_bytes` remain, and removes what interrupted runs left
/// over an hour ago. Safe while others use the cache. *Errors* as `cache_entries`.
GSUB_LAZY [[nodiscard]] result<cache_report> cache_collect(std::string const& folder, std::uint64_t limit_bytes);

/// Removes the entries whose digest does not match. *Errors* as `cache_entries`.
GSUB_LAZY [[nodiscard]] result<cache_report> cache_verify(std::string const& folder);

} // namespace gsub::runtime

#ifndef GSUB_COMPILED
#include <gsub/runtime/compiler/impl/jit.ipp>
#include <gsub/runtime/compiler/impl/jit_cache.ipp>
#include <gsub/runtime/compiler/impl/jit_process.ipp>
#endif
