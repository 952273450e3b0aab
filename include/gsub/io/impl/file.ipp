#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/file.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace gsub::io {

namespace detail {

[[noreturn]] GSUB_INLINE void system_fault(std::string const& path, std::string_view doing, int number) {
    // strerror_r comes in two forms; std::error_code's text is the same everywhere.
    throw error{problem{
        errors::file_access, path, {}, format_text("{}: {}", doing, std::generic_category().message(number)), {}}};
}

/// Descriptor that is closed with its scope, or none.
struct open_descriptor {
    int fd = -1;
    open_descriptor() = default;
    open_descriptor(open_descriptor const&) = delete;
    open_descriptor& operator=(open_descriptor const&) = delete;
    ~open_descriptor() { reset(-1); }
    void reset(int to) {
        if (fd >= 0) ::close(fd);
        fd = to;
    }
    int release() { return std::exchange(fd, -1); }
};

// Refuses what would end the process by SIGXFSZ: to write beyond the limit of a file's size.
GSUB_INLINE void check_limit(std::string const& path, std::uint64_t size) {
    struct rlimit limit {};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur)
        system_fault(path, "cannot be written", EFBIG);
}

// Whether a file is a regular one that no other name leads to.
GSUB_INLINE bool is_sole_regular_file(int fd) {
    struct stat info {};
    return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1;
}

} // namespace detail

struct input_file::descriptor {
    int fd;
    explicit descriptor(int f) : fd(f) {}
    descriptor(descriptor const&) = delete;
    descriptor& operator=(descriptor const&) = delete;
    ~descriptor() { ::close(fd); }
};

GSUB_INLINE input_file input_file::adopt(int fd, std::string const& path) {
    detail::open_descriptor own; // until another object closes it
    own.reset(fd);
    input_file f;
    f.fd_ = std::make_shared<descriptor const>(fd);
    static_cast<void>(own.release());
    struct stat info {};
    if (::fstat(fd, &info) != 0) detail::system_fault(path, "cannot be examined", errno);
    if (!S_ISREG(info.st_mode)) throw error{problem{errors::not_a_file, path, {}, "is no regular file", {}}};
    f.path_ = path;
    f.size_ = static_cast<std::uint64_t>(info.st_size);
    return f;
}

GSUB_INLINE result<input_file> input_file::open(std::string const& path) {
    return capture([&] {
        // Without O_NONBLOCK, opening a fifo would wait for a writer.
        auto const fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0) detail::system_fault(path, "cannot be opened", errno);
        return adopt(fd, path);
    });
}

GSUB_INLINE void input_file::check_range(std::uint64_t offset, std::uint64_t length) const {
    if (offset > size_ || length > size_ - offset)
        throw error{problem{errors::file_ends,
                            path_,
                            {},
                            format_text("ends at byte {}; bytes {} to {} are needed", size_, offset, offset + length),
                            {}}};
}

GSUB_INLINE void input_file::read(std::uint64_t offset, std::span<std::byte> to) const {
    check_range(offset, to.size());
    while (!to.empty()) {
        auto const n = ::pread(fd_->fd, to.data(), std::min<std::size_t>(to.size(), std::size_t{1} << 30),
                               static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) detail::system_fault(path_, "cannot be read", errno);
        if (n == 0) throw error{problem{errors::file_ends, path_, {}, "was shortened while it was read", {}}};
        to = to.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
}

GSUB_INLINE std::shared_ptr<std::span<std::byte const> const> input_file::map(std::uint64_t offset,
                                                                              std::uint64_t length) const {
    check_range(offset, length);
    if (length == 0) return std::make_shared<std::span<std::byte const> const>();
    auto const before = offset % static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    auto mapped = std::make_unique<std::span<std::byte const>>(); // before there is something to unmap
    auto* const at =
        ::mmap(nullptr, before + length, PROT_READ, MAP_PRIVATE, fd_->fd, static_cast<off_t>(offset - before));
    if (at == MAP_FAILED) detail::system_fault(path_, "cannot be mapped", errno);
    *mapped = {static_cast<std::byte const*>(at) + before, length};
    return {mapped.release(), [before](std::span<std::byte const> const* m) {
                ::munmap(const_cast<std::byte*>(m->data()) - before, before + m->size());
                delete m;
            }};
}

GSUB_INLINE result<folder> folder::of(std::string const& path) {
    return capture([&] {
        auto const slash = path.rfind('/');
        auto const name = slash == std::string::npos ? std::string{"."}
                          : slash == 0               ? std::string{"/"}
                                                     : path.substr(0, slash);
        folder f;
        f.fd_ = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (f.fd_ < 0) detail::system_fault(name, "cannot be opened", errno);
        f.handle_ = std::shared_ptr<void const>(nullptr, [fd = f.fd_](void const*) { ::close(fd); });
        return f;
    });
}

GSUB_INLINE result<input_file> folder::open(std::string_view name) const {
    std::string const path{name};
    auto const refuse = [&](std::string_view reason) {
        return error{problem{errors::external_data,
                             path,
                             {},
                             format_text("external data: {}", reason),
                             "keep the data in a file beside the model"}};
    };
    if (name.empty() || name.size() > 4096 || name.find('\0') != std::string_view::npos)
        return refuse("the name is empty, too long or has a NUL byte");
    if (name.front() == '/') return refuse("the path is absolute; only files below the model's folder are read");
    return capture([&]() -> input_file {
        // Component by component, none of them a link: nothing can lead out of the folder, not even a race.
        detail::open_descriptor at; // of the folder reached; none: this one
        for (std::size_t begin = 0, end = 0; begin <= name.size(); begin = end + 1) {
            end = std::min(name.find('/', begin), name.size());
            std::string const part{name.substr(begin, end - begin)};
            if (part == "..") throw refuse("the path leads out of the model's folder");
            if (part.empty() || part == ".") continue;
            auto const last = end == name.size();
            auto const flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (last ? O_NONBLOCK : O_DIRECTORY);
            auto const next = ::openat(at.fd < 0 ? fd_ : at.fd, part.c_str(), flags);
            if (next < 0)
                throw refuse(errno == ELOOP || errno == ENOTDIR ? "a part of the path is a link or no folder"
                                                                : std::generic_category().message(errno));
            at.reset(next);
            if (!last) continue;
            if (!detail::is_sole_regular_file(next))
                throw refuse("it is no regular file of its own (a link, a device or a pipe)");
            return input_file::adopt(at.release(), path);
        }
        throw refuse("the path names a folder");
    });
}

GSUB_INLINE output_file::output_file(std::string path) : path_(std::move(path)) {
    buffer_.reserve(1 << 16); // first: what throws behind the opening leaves a file
    // A neighbour that nobody else has; the process's umask decides who may read it, as for any new file.
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0; attempt < 100 && fd_ < 0; ++attempt) {
        temporary_ = format_text("{}.{}-{}.tmp", path_, ::getpid(), counter++);
        fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd_ < 0 && errno != EEXIST) detail::system_fault(path_, "cannot be written", errno);
    }
    if (fd_ < 0) detail::system_fault(path_, "cannot be written", EEXIST);
}

GSUB_INLINE output_file::~output_file() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(temporary_.c_str());
}

GSUB_INLINE void output_file::flush() {
    if (!buffer_.empty()) detail::check_limit(path_, written_);
    for (std::size_t at = 0; at < buffer_.size();) {
        auto const n = ::write(fd_, buffer_.data() + at, buffer_.size() - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) detail::system_fault(path_, "cannot be written", errno);
        at += static_cast<std::size_t>(n);
    }
    buffer_.clear();
}

GSUB_INLINE void output_file::write(std::span<std::byte const> data) {
    written_ += data.size();
    constexpr std::size_t capacity = 1 << 16;
    if (buffer_.size() + data.size() > capacity) flush();
    if (data.size() < capacity) {
        buffer_.append(reinterpret_cast<char const*>(data.data()), data.size());
        return;
    }
    detail::check_limit(path_, written_);
    while (!data.empty()) {
        auto const n = ::write(fd_, data.data(), std::min<std::size_t>(data.size(), std::size_t{1} << 30));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) detail::system_fault(path_, "cannot be written", errno);
        data = data.subspan(static_cast<std::size_t>(n));
    }
}

GSUB_INLINE void output_file::commit() {
    flush();
    if (::fsync(fd_) != 0) detail::system_fault(path_, "cannot be written to the disk", errno);
    auto const closed = ::close(fd_);
    fd_ = -1;
    if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
        auto const fault = errno;
        ::unlink(temporary_.c_str());
        detail::system_fault(path_, "cannot be replaced", fault);
    }
    // The name is durable once its folder is; a system that cannot sync folders still has the file.
    auto const slash = path_.rfind('/');
    auto const parent = slash == std::string::npos ? std::string{"."} : path_.substr(0, slash + 1);
    if (auto const fd = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); fd >= 0) {
        static_cast<void>(::fsync(fd));
        ::close(fd);
    }
}

GSUB_INLINE result<void> write_file(std::string const& path, std::string_view contents) {
    return capture([&] {
        output_file out{path};
        out.write(contents);
        out.commit();
    });
}

GSUB_INLINE result<std::string> read_file(std::string const& path, std::uint64_t max_bytes) {
    return capture([&] {
        auto const file = input_file::open(path).value();
        if (file.size() > max_bytes)
            throw error{problem{errors::file_limit,
                                path,
                                {},
                                format_text("has {} bytes; the limit is {}", file.size(), max_bytes),
                                {}}};
        std::string text(file.size(), '\0');
        file.read(0, std::as_writable_bytes(std::span{text}));
        return text;
    });
}

} // namespace gsub::io
