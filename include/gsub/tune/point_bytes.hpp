// Point bytes: points of search spaces as bytes and back, for workers that share no memory.
#pragma once

#include <gsub/core/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace gsub::tune {

/// Bytes of a point: a bijection between the points of a type and runs of bytes. `append(p, out)` adds the bytes of a
/// point; `read(bytes)` gives the point, and throws `error` (`invalid_input`) where the bytes are none. There for types
/// that are copied as bytes (numbers, indices, arrays, plain structs), but for pointers, and for vectors and strings of
/// such. Other types specialise it, and so do structs with pointers in them. All workers run the same program on
/// machines of the same byte order.
template <class Point>
struct point_bytes;

/// A point that crosses as bytes.
template <class Point>
concept byte_point = requires(Point const& p, std::vector<std::byte>& out, std::span<std::byte const> bytes) {
    point_bytes<Point>::append(p, out);
    { point_bytes<Point>::read(bytes) } -> std::same_as<Point>;
};

namespace detail {

template <class T>
concept plain_value = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_member_pointer_v<T> &&
                      std::is_default_constructible_v<T>;

// A vector, string or the like; `vector<bool>` has no `data`.
template <class T>
concept plain_sequence =
    !plain_value<T> && std::is_default_constructible_v<T> && requires(T & t, T const& c, std::size_t n) {
    requires plain_value<std::remove_cvref_t<decltype(*t.data())>>;
    { c.size() } -> std::convertible_to<std::size_t>;
    t.resize(n);
};

[[noreturn]] inline void refuse_point(std::size_t bytes, std::size_t size, char const* expected) {
    throw error{{error_code::invalid_input,
                 {},
                 {},
                 "a point of " + std::to_string(bytes) + " bytes, expected " + expected + std::to_string(size),
                 "workers of the same build"}};
}

} // namespace detail

template <detail::plain_value Point>
struct point_bytes<Point> {
    static void append(Point const& p, std::vector<std::byte>& out) {
        auto const at = out.size();
        out.resize(at + sizeof(Point));
        std::memcpy(out.data() + at, &p, sizeof(Point));
    }
    [[nodiscard]] static Point read(std::span<std::byte const> bytes) {
        if (bytes.size() != sizeof(Point)) detail::refuse_point(bytes.size(), sizeof(Point), "");
        Point out;
        std::memcpy(&out, bytes.data(), sizeof(Point));
        return out;
    }
};

template <detail::plain_sequence Point>
struct point_bytes<Point> {
    static void append(Point const& p, std::vector<std::byte>& out) {
        auto const at = out.size();
        out.resize(at + p.size() * width);
        if (!p.empty()) std::memcpy(out.data() + at, p.data(), p.size() * width);
    }
    [[nodiscard]] static Point read(std::span<std::byte const> bytes) {
        if (bytes.size() % width != 0) detail::refuse_point(bytes.size(), width, "a multiple of ");
        Point out;
        out.resize(bytes.size() / width);
        if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
        return out;
    }

private:
    static constexpr std::size_t width = sizeof(*std::declval<Point&>().data());
};

} // namespace gsub::tune
