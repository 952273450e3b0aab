// record_log: a file of records that grows by whole lines, whoever else writes it and whoever is killed.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/tune/ansor_record.hpp>
#include <gsub/tune/record.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace gsub::tune {

/// Append-only file of JSON lines. Each line is one write behind the end of the file, under an advisory lock of the
/// file, which the system releases when a process dies: writers interleave by whole lines, and one that is killed
/// leaves at most one line torn, behind which the next begins a new one. A line that `append` has acknowledged survives
/// its process; after a loss of power, what the system had not yet written is gone. On file systems without locks
/// writers still append whole lines, but one that is killed may spoil the next line too. Copies share the file; safe to
/// use from several threads.
class record_log {
public:
    /// Opens a file to append to; makes it where there is none. *Errors* `environment` where the system refuses,
    /// `invalid_input` for what is no regular file.
    GSUB_LAZY [[nodiscard]] static result<record_log> open(std::string const& path);

    /// Appends a record as one line. *Errors* `environment` where the system does not take all of it.
    GSUB_LAZY [[nodiscard]] result<void> append(record const& r);
    GSUB_LAZY [[nodiscard]] result<void> append(ansor_record const& r);
    /// Appends a line. *Requires* a text without ends of lines. *Errors* as above.
    GSUB_LAZY [[nodiscard]] result<void> append_line(std::string_view line);

    [[nodiscard]] std::string const& path() const noexcept { return path_; }

private:
    struct file;
    std::shared_ptr<file> file_;
    std::string path_;
};

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/record_log.ipp>
#endif
