#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/hash.hpp>
#include <gsub/runtime/compiler/impl/jit_process.ipp>
#include <gsub/runtime/compiler/jit.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace gsub::runtime {

namespace detail {

// An entry is one file: a shared object with these words behind it, which loaders do not look at. One file cannot be
// half of two entries.
inline constexpr std::uint64_t entry_format = 1;
inline constexpr std::uint64_t entry_magic = 0x6c6e72656b627367; // "gsbkernl"
inline constexpr std::uint64_t largest_object = std::uint64_t{256} << 20;
inline constexpr std::string_view entry_suffix = ".so", unfinished_prefix = ".unfinished-";

struct entry_tail {
    std::uint64_t magic, format, size;
    hash128 key, digest;
};
static_assert(sizeof(entry_tail) == 56);

GSUB_LAZY [[nodiscard]] entry_tail tail_of(std::string_view object, hash128 key) {
    auto const content = hash_bytes(std::as_bytes(std::span{object.data(), object.size()}));
    return {entry_magic, entry_format, object.size(), key,
            hasher{entry_format}.add(object.size()).add(key).add(content).finish()};
}

GSUB_LAZY [[nodiscard]] std::string entry_name(hash128 key) {
    return to_string(key).append(entry_suffix);
}

/// Takes the tail off an entry; false where the entry is not what was written under this name.
GSUB_LAZY [[nodiscard]] bool open_entry(std::string& bytes, std::string_view name) {
    if (bytes.size() < sizeof(entry_tail)) return false;
    entry_tail found;
    std::memcpy(&found, bytes.data() + bytes.size() - sizeof found, sizeof found);
    bytes.resize(bytes.size() - sizeof found);
    auto const expected = tail_of(bytes, found.key);
    return std::memcmp(&found, &expected, sizeof found) == 0 && entry_name(found.key) == name;
}

/// A folder that only its owner, we, can write.
GSUB_LAZY [[nodiscard]] descriptor open_cache(std::string path, bool make) {
    auto const refuse = [&](std::string reason) {
        return error{problem{errors::cache_folder, path, {}, std::move(reason), "chmod 700, or set GSUB_CACHE"}};
    };
    // With a slash at its end, a link would be followed.
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (path.empty()) return descriptor{};
    for (auto at = path.find('/', 1); make; at = path.find('/', at + 1)) {
        static_cast<void>(::mkdir(path.substr(0, at).c_str(), 0700));
        if (at == std::string::npos) break;
    }
    descriptor folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
    if (!folder) {
        if (errno == ENOENT && !make) return folder;
        throw refuse(errno == ELOOP || errno == ENOTDIR ? "is a symbolic link or no folder" : system_text(errno));
    }
    struct stat info {};
    if (::fstat(folder.get(), &info) != 0) throw refuse(system_text(errno));
    if (info.st_uid != ::geteuid()) throw refuse("belongs to another user");
    if (info.st_mode & (S_IWGRP | S_IWOTH)) throw refuse("can be written by others");
    return folder;
}

/// A regular file of ours, whole; nothing where it is anything else.
GSUB_LAZY [[nodiscard]] std::optional<std::string> read_object(int folder, std::string const& name, bool touch) {
    descriptor const file{::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid() ||
        static_cast<std::uint64_t>(info.st_size) > largest_object)
        return {};
    std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
    for (std::size_t at = 0; at < bytes.size();) {
        auto const n = ::read(file.get(), bytes.data() + at, bytes.size() - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return {};
        at += static_cast<std::size_t>(n);
    }
    if (touch) static_cast<void>(::futimens(file.get(), nullptr)); // what a read-only cache does not need
    return bytes;
}

/// Writes all of it. 0, or what the system says.
GSUB_LAZY [[nodiscard]] int write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        auto const n = ::write(file, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return 0;
}

/// Whether a file may be as large: beyond the limit of the process, writing would end it by SIGXFSZ.
GSUB_LAZY [[nodiscard]] bool may_write(std::uint64_t size) {
    struct rlimit limit {};
    return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

/// Writes an entry beside its place, then gives it its name. 0, or what the system says.
GSUB_LAZY [[nodiscard]] int store(int folder, hash128 key, std::string_view object) {
    static std::atomic<unsigned> counter{0};
    if (!may_write(object.size() + sizeof(entry_tail))) return EFBIG;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    auto const unfinished = format_text("{}{}-{}-{}", unfinished_prefix, ::getpid(), counter++, now.tv_nsec);
    descriptor file{::openat(folder, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (!file) return errno;
    auto const tail = tail_of(object, key);
    auto fault = write_all(file.get(), object);
    if (!fault) fault = write_all(file.get(), {reinterpret_cast<char const*>(&tail), sizeof tail});
    if (!fault && ::fsync(file.get()) != 0) fault = errno;
    file.reset();
    if (!fault && ::renameat(folder, unfinished.c_str(), folder, entry_name(key).c_str()) != 0) fault = errno;
    if (fault) static_cast<void>(::unlinkat(folder, unfinished.c_str(), 0));
    return fault;
}

GSUB_LAZY [[nodiscard]] bool is_entry(std::string_view name) {
    return name.size() == 32 + entry_suffix.size() && name.substr(32) == entry_suffix &&
           name.find_first_not_of("0123456789abcdef") == 32;
}

/// Entries, the one used longest ago first; unfinished ones older than an hour are removed where asked.
GSUB_LAZY [[nodiscard]] std::vector<cache_entry> scan(int folder, bool sweep) {
    std::vector<cache_entry> entries;
    auto const fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto* const stream = fd < 0 ? nullptr : ::fdopendir(fd);
    if (!stream) {
        if (fd >= 0) ::close(fd);
        return entries;
    }
    std::shared_ptr<DIR> const closing(stream, [](DIR* d) { ::closedir(d); });
    auto const now = std::time(nullptr);
    while (auto const* const e = ::readdir(stream)) {
        std::string_view const name = e->d_name;
        struct stat info {};
        auto const unfinished = name.substr(0, unfinished_prefix.size()) == unfinished_prefix;
        if ((!unfinished && !is_entry(name)) || ::fstatat(folder, e->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (unfinished) {
            if (sweep && now - info.st_mtim.tv_sec > 3600) static_cast<void>(::unlinkat(folder, e->d_name, 0));
        } else {
            entries.push_back({std::string{name}, static_cast<std::uint64_t>(info.st_size),
                               std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec});
        }
    }
    std::sort(entries.begin(), entries.end(), [](cache_entry const& a, cache_entry const& b) {
        return std::tie(a.used, a.name) < std::tie(b.used, b.name);
    });
    return entries;
}

GSUB_LAZY void count(cache_report& report, int folder, cache_entry const& entry, bool keep) {
    keep = keep || ::unlinkat(folder, entry.name.c_str(), 0) != 0;
    (keep ? report.kept : report.removed) += 1;
    (keep ? report.kept_bytes : report.removed_bytes) += entry.size;
}

GSUB_LAZY cache_report collect(int folder, std::uint64_t limit) {
    cache_report report;
    auto const entries = scan(folder, true);
    std::uint64_t left = 0;
    for (auto const& e : entries) left += e.size;
    for (auto const& e : entries) {
        count(report, folder, e, left <= limit);
        if (left > limit) left -= e.size;
    }
    return report;
}

} // namespace detail

GSUB_LAZY_BODY std::string default_cache_folder() {
    if (auto own = detail::absolute_or(detail::environment("GSUB_CACHE"), {}); !own.empty()) return own;
    for (auto const& [variable, below] : {std::pair{"XDG_CACHE_HOME", "/gsub"}, std::pair{"HOME", "/.cache/gsub"}})
        if (auto folder = detail::absolute_or(detail::environment(variable), {}); !folder.empty())
            return folder + below;
    return {};
}

GSUB_LAZY_BODY result<std::vector<cache_entry>> cache_entries(std::string const& folder) {
    return capture([&] {
        auto const fd = detail::open_cache(folder, false);
        return fd ? detail::scan(fd.get(), false) : std::vector<cache_entry>{};
    });
}

GSUB_LAZY_BODY result<cache_report> cache_collect(std::string const& folder, std::uint64_t limit_bytes) {
    return capture([&] {
        auto const fd = detail::open_cache(folder, false);
        return fd ? detail::collect(fd.get(), limit_bytes) : cache_report{};
    });
}

GSUB_LAZY_BODY result<cache_report> cache_verify(std::string const& folder) {
    return capture([&] {
        cache_report report;
        auto const fd = detail::open_cache(folder, false);
        if (!fd) return report;
        for (auto const& e : detail::scan(fd.get(), false)) {
            auto bytes = detail::read_object(fd.get(), e.name, false);
            detail::count(report, fd.get(), e, bytes && detail::open_entry(*bytes, e.name));
        }
        return report;
    });
}

} // namespace gsub::runtime
