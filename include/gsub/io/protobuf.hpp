// Protobuf wire format of ONNX files. The only header that includes protozero.
#pragma once

#include <gsub/core/result.hpp>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace gsub::io {

namespace detail {
/// Throws the error of malformed data, with the reason.
[[noreturn]] inline void malformed(std::string reason) {
    throw error{errors::malformed_model, std::move(reason)};
}
} // namespace detail

/// Reads the fields of one message. Fields of an unexpected wire type are skipped, as protobuf's own readers do.
/// *Errors* throws `error` (`invalid_input`) for malformed data.
class wire_reader {
public:
    explicit wire_reader(std::string_view data) : reader_(data.data(), data.size()) {}

    /// Goes to the next field; false at the end.
    bool next() {
        if (pending_) guarded([&] { reader_.skip(); });
        auto const rest = reader_.data();
        pending_ = guarded([&] { return reader_.next(); });
        if (pending_) refuse_wide({rest.data(), rest.size()});
        return pending_;
    }
    [[nodiscard]] std::uint32_t field() const noexcept { return reader_.tag(); }
    [[nodiscard]] bool is_bytes() const noexcept {
        return reader_.wire_type() == protozero::pbf_wire_type::length_delimited;
    }
    [[nodiscard]] bool is_varint() const noexcept { return reader_.wire_type() == protozero::pbf_wire_type::varint; }
    [[nodiscard]] bool is_fixed32() const noexcept { return reader_.wire_type() == protozero::pbf_wire_type::fixed32; }
    [[nodiscard]] bool is_fixed64() const noexcept { return reader_.wire_type() == protozero::pbf_wire_type::fixed64; }

    /// Contents of a string, bytes or message field; points into the data. *Requires* `is_bytes()`.
    std::string_view bytes() {
        pending_ = false;
        auto const view = guarded([&] { return reader_.get_view(); });
        return {view.data(), view.size()};
    }
    /// *Requires* `is_varint()`.
    std::int64_t integer() {
        pending_ = false;
        return guarded([&] { return static_cast<std::int64_t>(reader_.get_uint64()); });
    }
    /// *Requires* `is_fixed32()`.
    float real() {
        pending_ = false;
        return guarded([&] { return reader_.get_float(); });
    }
    /// *Requires* `is_fixed64()`.
    double wide_real() {
        pending_ = false;
        return guarded([&] { return reader_.get_double(); });
    }

    /// Calls `f` with each integer of a repeated field, packed or not.
    template <class F>
    void each_integer(F&& f) {
        if (is_varint()) return f(integer());
        if (!is_bytes()) return;
        auto const data = bytes();
        auto const *at = data.data(), *const end = at + data.size();
        guarded([&] {
            while (at != end) f(static_cast<std::int64_t>(protozero::decode_varint(&at, end)));
        });
    }
    /// Calls `f` with each float of a repeated field, packed or not.
    template <class F>
    void each_float(F&& f) {
        each_fixed<float>(
            is_fixed32(), [&] { return real(); }, std::forward<F>(f));
    }
    template <class F>
    void each_double(F&& f) {
        each_fixed<double>(
            is_fixed64(), [&] { return wide_real(); }, std::forward<F>(f));
    }

    /// Reads a varint from memory. Gives the number of bytes, 0 where it does not end within `size`.
    static std::size_t read_varint(char const* data, std::size_t size, std::uint64_t& value) noexcept {
        value = 0;
        for (std::size_t i = 0; i < size && i < 10; ++i) {
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(data[i]) & 127u) << (7 * i);
            if (!(static_cast<unsigned char>(data[i]) & 128u)) return i + 1;
        }
        return 0;
    }

private:
    // Tags and lengths have 32 bits; of what has more, protozero would keep the low ones.
    void refuse_wide(std::string_view field) const {
        std::uint64_t tag = 0, length = 0;
        auto const read = read_varint(field.data(), field.size(), tag);
        if (is_bytes()) read_varint(field.data() + read, field.size() - read, length);
        if (std::max(tag, length) >> 32) detail::malformed("malformed protobuf: a tag or length has more than 32 bits");
    }
    template <class F>
    static auto guarded(F&& f) -> decltype(f()) {
        try {
            return f();
        } catch (protozero::exception const& e) {
            throw error{errors::malformed_model, std::string{"malformed protobuf: "} + e.what()};
        }
    }
    template <class T, class One, class F>
    void each_fixed(bool single, One&& one, F&& f) {
        if (single) return f(one());
        if (!is_bytes()) return;
        auto const data = bytes();
        if (data.size() % sizeof(T) != 0)
            throw error{errors::malformed_model, "malformed protobuf: a packed field is cut off"};
        for (std::size_t i = 0; i < data.size(); i += sizeof(T)) {
            T value;
            std::memcpy(&value, data.data() + i, sizeof(T)); // the wire is little-endian, as every supported host
            f(value);
        }
    }
    protozero::pbf_reader reader_;
    bool pending_ = false;
};

/// Appends the fields of one message to a string.
class wire_writer {
public:
    explicit wire_writer(std::string& out) : writer_(out) {}
    wire_writer& bytes(std::uint32_t field, std::string_view data) {
        return writer_.add_bytes(field, data.data(), data.size()), *this;
    }
    wire_writer& integer(std::uint32_t field, std::int64_t value) { return writer_.add_int64(field, value), *this; }
    wire_writer& real(std::uint32_t field, float value) { return writer_.add_float(field, value), *this; }
    /// A repeated integer field, one entry a value, as ONNX's schema asks.
    template <class List>
    wire_writer& integers(std::uint32_t field, List const& values) {
        for (auto v : values) writer_.add_int64(field, v);
        return *this;
    }
    /// A nested message that `f(wire_writer&)` fills.
    template <class F>
    wire_writer& message(std::uint32_t field, F&& f) {
        std::string inner;
        wire_writer w{inner};
        f(w);
        return bytes(field, inner);
    }
    /// Number of bytes that the key of a bytes field and its length take.
    static std::size_t header_size(std::uint32_t field, std::uint64_t length) noexcept {
        auto const varint = [](std::uint64_t v) {
            std::size_t n = 1;
            while (v >>= 7) ++n;
            return n;
        };
        return varint(std::uint64_t{field} << 3) + varint(length);
    }
    /// Key and length of a bytes field whose contents follow elsewhere; unlike protozero's, up to 2^64 bytes.
    static std::string header(std::uint32_t field, std::uint64_t length) {
        std::string out;
        auto const put = [&](std::uint64_t v) {
            for (; v >= 128; v >>= 7) out += static_cast<char>(v | 128);
            out += static_cast<char>(v);
        };
        put(std::uint64_t{field} << 3 | 2);
        put(length);
        return out;
    }

private:
    protozero::pbf_writer writer_;
};

} // namespace gsub::io
