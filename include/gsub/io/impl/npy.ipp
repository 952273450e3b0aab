#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/file.hpp>
#include <gsub/io/npy.hpp>

#include <array>
#include <charconv>
#include <cstring>

namespace gsub::io {

namespace detail {

struct npy_type {
    dtype element;
    std::string_view code;
};
inline constexpr std::array npy_types{
    npy_type{dtype::f64, "<f8"}, npy_type{dtype::f32, "<f4"}, npy_type{dtype::f16, "<f2"},
    npy_type{dtype::i64, "<i8"}, npy_type{dtype::i32, "<i4"}, npy_type{dtype::i16, "<i2"},
    npy_type{dtype::i8, "|i1"},  npy_type{dtype::u64, "<u8"}, npy_type{dtype::u32, "<u4"},
    npy_type{dtype::u16, "<u2"}, npy_type{dtype::u8, "|u1"},  npy_type{dtype::boolean, "|b1"},
};

[[noreturn]] GSUB_INLINE void npy_fault(error_id id, std::string reason) {
    throw error{problem{id, {}, ".npy", std::move(reason), {}}};
}

// The header is a Python dictionary with three known keys, always in this form: {'descr': '<f4', 'fortran_order':
// False, 'shape': (1, 2), }
GSUB_INLINE std::string_view npy_entry(std::string_view header, std::string_view key) {
    auto const at = header.find(key);
    if (at == std::string_view::npos) npy_fault(errors::malformed_array, format_text("the header lacks {}", key));
    auto rest = header.substr(at + key.size());
    auto const start = rest.find_first_not_of(": ");
    return start == std::string_view::npos ? std::string_view{} : rest.substr(start);
}

struct npy_header {
    dtype element;
    ints dims;
    std::size_t begin; // of the elements
};

GSUB_INLINE npy_header parse_npy_header(std::span<std::byte const> start, std::uint64_t file_size) {
    auto const* const text = reinterpret_cast<char const*>(start.data());
    if (start.size() < 10 || std::memcmp(text, "\x93NUMPY", 6) != 0)
        npy_fault(errors::malformed_array, "this is no .npy file");
    auto const version = static_cast<unsigned char>(text[6]);
    if (version < 1 || version > 3)
        npy_fault(errors::array_form, format_text("format {}; 1 to 3 are supported", unsigned{version}));
    auto const byte_at = [&](std::size_t i) { return std::to_integer<std::size_t>(start[i]); };
    std::size_t const prefix = version == 1 ? 10 : 12;
    if (start.size() < prefix) npy_fault(errors::malformed_array, "the header is cut off");
    auto const length = version == 1 ? byte_at(8) | byte_at(9) << 8
                                     : byte_at(8) | byte_at(9) << 8 | byte_at(10) << 16 | byte_at(11) << 24;
    if (length > start.size() - prefix) npy_fault(errors::malformed_array, "the header is cut off");
    std::string_view const header{text + prefix, length};
    npy_header h{dtype::undefined, {}, prefix + length};
    auto const code = npy_entry(header, "'descr'");
    for (auto const& t : npy_types)
        if (code.size() > 4 && code.substr(1, 3) == t.code) h.element = t.element;
    if (h.element == dtype::undefined)
        npy_fault(errors::array_form, format_text("element type {} is not supported",
                                                  code.substr(0, std::min<std::size_t>(code.find(','), 20))));
    if (!npy_entry(header, "'fortran_order'").starts_with("False"))
        npy_fault(errors::array_form, "column-major order; save with numpy.ascontiguousarray");
    auto shape = npy_entry(header, "'shape'");
    if (!shape.starts_with('(')) npy_fault(errors::malformed_array, "the shape is no tuple");
    shape.remove_prefix(1);
    while (!shape.starts_with(')')) {
        std::int64_t size = -1;
        auto const [end, fault] = std::from_chars(shape.data(), shape.data() + shape.size(), size);
        if (fault != std::errc{} || size < 0 || h.dims.size() == 64)
            npy_fault(errors::malformed_array, "the shape has an entry that is no size");
        h.dims.push_back(size);
        shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
        auto const next = shape.find_first_not_of(", L");
        if (next == std::string_view::npos) npy_fault(errors::malformed_array, "the shape does not end");
        shape.remove_prefix(next);
    }
    auto const count = checked_product(h.dims);
    if (!count || static_cast<std::uint64_t>(*count) > (file_size - h.begin) / byte_size(h.element))
        npy_fault(errors::malformed_array, "there are fewer elements than the header says");
    return h;
}

// Any non-zero byte of a file is a true boolean; in memory only 1 may be.
GSUB_INLINE void normalize_booleans(tensor& t) {
    if (t.element() != dtype::boolean) return;
    for (auto& b : t.mutable_raw()) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
}

} // namespace detail

GSUB_INLINE result<tensor> parse_npy(std::span<std::byte const> data) {
    return capture([&] {
        auto const h = detail::parse_npy_header(data, data.size());
        auto t = tensor::uninitialized(h.element, h.dims);
        if (t.size_bytes() > 0) std::memcpy(t.mutable_raw().data(), data.data() + h.begin, t.size_bytes());
        detail::normalize_booleans(t);
        return t;
    });
}

GSUB_INLINE result<tensor> load_npy(std::string const& path, std::uint64_t max_bytes) {
    auto t = capture([&] {
        auto const file = input_file::open(path).value();
        if (file.size() > max_bytes)
            detail::npy_fault(errors::array_form, format_text("has {} bytes; the limit is {}", file.size(), max_bytes));
        std::vector<std::byte> start(std::min<std::uint64_t>(file.size(), 1 << 16));
        file.read(0, {start.data(), start.size()});
        auto const h = detail::parse_npy_header(as_span(start), file.size());
        auto loaded = tensor::uninitialized(h.element, h.dims);
        file.read(h.begin, loaded.mutable_raw());
        detail::normalize_booleans(loaded);
        return loaded;
    });
    if (!t) return t.error().within(path);
    return t;
}

GSUB_INLINE result<void> save_npy(std::string const& path, tensor const& t) {
    return capture([&] {
        auto const written = t.element() == dtype::bf16 ? t.converted_to(dtype::f32) : t;
        std::string_view code;
        for (auto const& known : detail::npy_types)
            if (known.element == written.element()) code = known.code;
        GSUB_ASSERT(!code.empty(), "save_npy needs a tensor of an element type that files can have");
        std::string header = format_text("{{'descr': '{}', 'fortran_order': False, 'shape': (", code);
        for (auto d : written.dims()) header += format_text("{}, ", d);
        if (written.rank() > 1)
            header.resize(header.size() - 2);
        else if (written.rank() == 1)
            header.pop_back();
        header += "), }";
        // The elements begin at a multiple of 64 bytes.
        header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
        header += '\n';
        auto const length = header.size();
        output_file out{path};
        out.write(std::string{"\x93NUMPY\x01\x00", 8});
        out.write(std::string{static_cast<char>(length & 255), static_cast<char>(length >> 8)});
        out.write(header);
        out.write(written.raw());
        out.commit();
    });
}

} // namespace gsub::io
