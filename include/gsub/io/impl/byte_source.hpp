// byte_source: where the bytes of a model come from.
#pragma once

#include <gsub/io/file.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

namespace gsub::io::detail {

/// Where the bytes of a model come from: memory, which is viewed, or a file, of which pieces are read.
template <class = void>
class byte_source {
public:
    byte_source(std::span<std::byte const> data, std::uint64_t max_kept)
        : data_(data), max_kept_(max_kept), size_(data.size()) {}
    byte_source(input_file const& file, std::deque<std::string>& memory, std::uint64_t max_kept)
        : file_(&file), memory_(&memory), max_kept_(max_kept), size_(file.size()) {}

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    [[nodiscard]] bool in_memory() const noexcept { return !file_; }
    /// Bytes that stay valid.
    std::string_view view(std::uint64_t offset, std::uint64_t length);
    /// Counts bytes of the model's structure.
    void count(std::uint64_t bytes);
    /// A home for a text that was put together from pieces. *Requires* a file.
    std::string_view keep(std::string text) { return memory_->emplace_back(std::move(text)); }
    /// Up to `wanted` bytes at an offset, valid until the next call.
    std::string_view peek(std::uint64_t offset, std::size_t wanted);

private:
    void copy(std::uint64_t offset, char* to, std::uint64_t length);

    static constexpr std::size_t window_size = 1 << 14;
    std::span<std::byte const> data_;
    input_file const* file_ = nullptr;
    std::deque<std::string>* memory_ = nullptr;
    std::uint64_t max_kept_ = 0, kept_ = 0, size_ = 0, window_begin_ = 0;
    std::string window_;
};

/// A field of a message in a source.
struct wire_field {
    std::uint32_t number = 0;
    unsigned wire_type = 0;
    std::uint64_t begin = 0;  // of the key
    std::uint64_t offset = 0; // of the contents
    std::uint64_t length = 0; // of the contents; for a varint its value
    std::uint64_t end = 0;
};

/// Calls `f` for each field of the message in [begin, end). Only keys and lengths are read.
template <class F>
void each_field(byte_source<>& source, std::uint64_t begin, std::uint64_t end, F&& f);

} // namespace gsub::io::detail
