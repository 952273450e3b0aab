#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/byte_source.hpp>
#include <gsub/io/protobuf.hpp>

#include <algorithm>
#include <cstring>

namespace gsub::io::detail {

template <class T>
std::string_view byte_source<T>::view(std::uint64_t offset, std::uint64_t length) {
    count(length);
    if (!file_) return {reinterpret_cast<char const*>(data_.data()) + offset, length};
    auto& piece = memory_->emplace_back(length, '\0');
    copy(offset, piece.data(), length);
    return piece;
}

template <class T>
void byte_source<T>::count(std::uint64_t bytes) {
    kept_ += bytes;
    if (kept_ > max_kept_)
        throw error{errors::model_limit, format_text("the structure of the model takes more than {} bytes", max_kept_)};
}

template <class T>
std::string_view byte_source<T>::peek(std::uint64_t offset, std::size_t wanted) {
    auto const available = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, size_ - offset));
    if (!file_) return {reinterpret_cast<char const*>(data_.data()) + offset, available};
    if (offset < window_begin_ || offset + available > window_begin_ + window_.size()) {
        window_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(window_size, size_ - offset)));
        window_begin_ = offset;
        file_->read(offset, std::as_writable_bytes(std::span{window_}));
    }
    return std::string_view{window_}.substr(static_cast<std::size_t>(offset - window_begin_), available);
}

template <class T>
void byte_source<T>::copy(std::uint64_t offset, char* to, std::uint64_t length) {
    // Small pieces come from the window: one system call for many nodes.
    if (length <= window_size / 2) {
        auto const piece = peek(offset, static_cast<std::size_t>(length));
        std::memcpy(to, piece.data(), piece.size());
    } else {
        file_->read(offset, std::as_writable_bytes(std::span{to, static_cast<std::size_t>(length)}));
    }
}

template <class F>
void each_field(byte_source<>& source, std::uint64_t begin, std::uint64_t end, F&& f) {
    for (auto at = begin; at < end;) {
        wire_field w;
        w.begin = at;
        std::uint64_t key = 0;
        auto head = source.peek(at, static_cast<std::size_t>(std::min<std::uint64_t>(20, end - at)));
        auto const key_size = wire_reader::read_varint(head.data(), head.size(), key);
        if (key_size == 0 || key >> 35 != 0 || key >> 3 == 0)
            malformed(format_text("malformed protobuf: no field at byte {}", at));
        w.number = static_cast<std::uint32_t>(key >> 3);
        w.wire_type = static_cast<unsigned>(key & 7);
        at += key_size;
        head.remove_prefix(key_size);
        std::uint64_t value = 0;
        if (w.wire_type == 0 || w.wire_type == 2) {
            auto const size = wire_reader::read_varint(head.data(), head.size(), value);
            if (size == 0) malformed(format_text("malformed protobuf: no number at byte {}", at));
            at += size;
        }
        w.offset = at;
        w.length = w.wire_type == 1 ? 8 : w.wire_type == 5 ? 4 : value;
        if (w.wire_type != 0) {
            if (w.wire_type == 3 || w.wire_type == 4 || w.wire_type > 5)
                malformed(format_text("malformed protobuf: wire type {} at byte {}", w.wire_type, w.begin));
            if (w.length > end - at)
                malformed(format_text("malformed protobuf: a field of {} bytes at byte {}, where {} are left", w.length,
                                      at, end - at));
            at += w.length;
        }
        w.end = at;
        f(w);
    }
}

} // namespace gsub::io::detail
