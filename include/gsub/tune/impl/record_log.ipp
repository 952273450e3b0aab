#pragma once

#include <gsub/core/format.hpp>
#include <gsub/tune/record_log.hpp>

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <mutex>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace gsub::tune {

struct record_log::file {
    explicit file(int f) : descriptor(f) {}
    file(file const&) = delete;
    file& operator=(file const&) = delete;
    ~file() {
        if (descriptor >= 0) ::close(descriptor);
    }
    int descriptor;
    std::mutex mutex; // a lock of the file is one for all threads that share its descriptor
};

namespace detail {

GSUB_LAZY [[noreturn]] void refuse_log(std::string const& path, std::string_view doing, int number) {
    throw error{problem{
        errors::file_access, path, {}, format_text("{}: {}", doing, std::generic_category().message(number)), {}}};
}

// Lock of a file among processes, for as long as the scope lasts; none where the file system has no locks.
class file_lock {
public:
    explicit file_lock(int descriptor) : descriptor_(descriptor) {
        while (!(held_ = ::flock(descriptor, LOCK_EX) == 0) && errno == EINTR) {}
    }
    file_lock(file_lock const&) = delete;
    file_lock& operator=(file_lock const&) = delete;
    ~file_lock() {
        if (held_) ::flock(descriptor_, LOCK_UN);
    }

private:
    int descriptor_;
    bool held_ = false;
};

// Whether a file has a last line without an end.
GSUB_LAZY [[nodiscard]] bool is_torn(int descriptor, std::string const& path) {
    struct stat info {};
    if (::fstat(descriptor, &info) != 0) refuse_log(path, "cannot be examined", errno);
    char last = '\n';
    if (info.st_size > 0 && ::pread(descriptor, &last, 1, info.st_size - 1) < 0)
        refuse_log(path, "cannot be read", errno);
    return last != '\n';
}

// Refuses what would end the process by SIGXFSZ, or be cut off: to write beyond the limit of a file's size.
GSUB_LAZY void check_limit(int descriptor, std::string const& path, std::uint64_t added) {
    struct rlimit limit {};
    struct stat info {};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || ::fstat(descriptor, &info) != 0)
        return;
    if (static_cast<std::uint64_t>(info.st_size) + added > limit.rlim_cur) refuse_log(path, "cannot be written", EFBIG);
}

} // namespace detail

GSUB_LAZY_BODY result<record_log> record_log::open(std::string const& path) {
    return capture([&] {
        // Without O_NONBLOCK, opening a fifo would wait for a reader.
        record_log out;
        out.path_ = path;
        out.file_ = std::make_shared<file>(-1); // before there is something to close
        auto const descriptor = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
        out.file_->descriptor = descriptor;
        if (descriptor < 0) detail::refuse_log(path, "cannot be opened", errno);
        struct stat info {};
        if (::fstat(descriptor, &info) != 0) detail::refuse_log(path, "cannot be examined", errno);
        if (!S_ISREG(info.st_mode)) throw error{problem{errors::not_a_file, path, {}, "is no regular file", {}}};
        return out;
    });
}

GSUB_LAZY_BODY result<void> record_log::append(record const& r) {
    return append_line(to_string(r));
}
GSUB_LAZY_BODY result<void> record_log::append(ansor_record const& r) {
    return append_line(to_string(r));
}

GSUB_LAZY_BODY result<void> record_log::append_line(std::string_view line) {
    GSUB_ASSERT(line.find('\n') == line.npos, "a line has no end of a line in it");
    return capture([&] {
        std::lock_guard const alone{file_->mutex};
        detail::file_lock const lock{file_->descriptor};
        std::string text;
        text.reserve(line.size() + 2);
        if (detail::is_torn(file_->descriptor, path_)) text += '\n';
        (text += line) += '\n';
        detail::check_limit(file_->descriptor, path_, text.size());
        ssize_t written = 0;
        while ((written = ::write(file_->descriptor, text.data(), text.size())) < 0 && errno == EINTR) {}
        if (written < 0) detail::refuse_log(path_, "cannot be written", errno);
        // Never the rest by a second write: others may have appended meanwhile. What is torn now, readers count.
        if (static_cast<std::size_t>(written) < text.size())
            detail::refuse_log(path_, "took a part of a record", ENOSPC);
    });
}

} // namespace gsub::tune
