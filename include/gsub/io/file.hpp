// Files: reads at offsets, opens files that a model names inside of its folder only, replaces a file as a whole.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gsub::io {

/// Input file: an open regular file that is read at offsets. Safe to use from several threads.
class input_file {
public:
    /// Opens a path that the user gave. *Errors* `environment` where the system refuses, `invalid_input` for what is
    /// not a regular file.
    static result<input_file> open(std::string const& path);

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    [[nodiscard]] std::string const& path() const noexcept { return path_; }
    /// Fills `to` from `offset` on. *Errors* throws `error` (`invalid_input`) where the file ends before, `environment`
    /// where reading fails.
    void read(std::uint64_t offset, std::span<std::byte> to) const;
    /// Memory-maps `length` bytes from `offset` on, for data that nobody shortens meanwhile. Memory holds only the
    /// pages that were read, until nothing owns the result. *Errors* throws `error`: `invalid_input` where the file
    /// ends before, `environment` where the system refuses.
    [[nodiscard]] std::shared_ptr<std::span<std::byte const> const> map(std::uint64_t offset,
                                                                        std::uint64_t length) const;
    /// Maps the whole file.
    [[nodiscard]] std::shared_ptr<std::span<std::byte const> const> map() const { return map(0, size_); }

    input_file() = default;

private:
    friend class folder;
    void check_range(std::uint64_t offset, std::uint64_t length) const;
    struct descriptor;
    static input_file adopt(int fd, std::string const& path);
    std::shared_ptr<descriptor const> fd_;
    std::string path_;
    std::uint64_t size_ = 0;
};

/// Folder of a model, from which the files that the model names are opened.
class folder {
public:
    /// Opens the folder that contains the file of a path. *Errors* `environment`.
    static result<folder> of(std::string const& path);
    /// Opens a file below the folder. The name comes from a model, so it is confined: relative, without `..`, without
    /// links on the way (symbolic or hard), a regular file. *Errors* `invalid_input` naming the name and what is wrong
    /// with it.
    [[nodiscard]] result<input_file> open(std::string_view name) const;

private:
    std::shared_ptr<void const> handle_; // keeps the descriptor
    int fd_ = -1;
};

/// Output file, written as a whole: a temporary neighbour takes the data and replaces the target when `commit`
/// succeeds. Without `commit` nothing remains.
class output_file {
public:
    /// *Errors* throws `error` (`environment`).
    explicit output_file(std::string path);
    output_file(output_file const&) = delete;
    output_file& operator=(output_file const&) = delete;
    ~output_file();

    void write(std::span<std::byte const> data);
    void write(std::string_view text) { write(std::as_bytes(std::span{text.data(), text.size()})); }
    [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
    /// Flushes to the disk and gives the file its name. *Errors* throws `error` (`environment`).
    void commit();

private:
    void flush();
    std::string path_, temporary_;
    int fd_ = -1;
    std::uint64_t written_ = 0;
    std::string buffer_;
};

/// Replaces a file's contents. *Errors* `environment`.
result<void> write_file(std::string const& path, std::string_view contents);
/// Reads a whole file of at most `max_bytes`. *Errors* as `input_file::open`, `unsupported` for a larger file.
[[nodiscard]] result<std::string> read_file(std::string const& path, std::uint64_t max_bytes = std::uint64_t{1} << 30);

} // namespace gsub::io

#ifndef GSUB_COMPILED
#include <gsub/io/impl/file.ipp>
#endif
