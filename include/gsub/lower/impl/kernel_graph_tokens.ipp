// Parsers of what lines of a kernel graph's text are made of.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/kernels/descriptor_fields.hpp>
#include <gsub/kernels/record_text.hpp>
#include <gsub/lower/kernel_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace gsub::detail {

// Of a value, and of all that it has as elements.
inline constexpr std::int64_t most_value_bytes = std::int64_t{1} << 60;

GSUB_LAZY void expect_line_end(kernels::record_reader& in) {
    if (!in.at_end()) in.fail_expected(in.offset(), "the end of the line");
}
GSUB_LAZY void expect_word(kernels::record_reader& in, std::string_view word) {
    std::string_view const words[] = {word};
    static_cast<void>(in.word("word", words));
}
GSUB_LAZY kernel_value_id read_value_id(kernels::record_reader& in) {
    in.expect('%');
    return static_cast<kernel_value_id>(in.natural(std::numeric_limits<kernel_value_id>::max()));
}
// Whether a character comes next, which stays there.
GSUB_LAZY bool next_is(kernels::record_reader in, char c) {
    return in.accept(c);
}
GSUB_LAZY std::string read_name(kernels::record_reader& in) {
    return next_is(in, '"') ? in.quoted() : std::string{};
}
GSUB_LAZY int hex_digit(char c) noexcept {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
GSUB_LAZY hash128 read_hash(kernels::record_reader& in) {
    in.skip_space();
    auto const at = in.offset();
    auto const digits = in.token();
    hash128 h;
    auto ok = digits.size() == 32;
    for (std::size_t i = 0; ok && i < 32; ++i) {
        auto const d = hex_digit(digits[i]);
        ok = d >= 0;
        auto& half = i < 16 ? h.high : h.low;
        half = half << 4 | static_cast<std::uint64_t>(d & 15);
    }
    if (!ok) in.fail_expected(at, "32 hexadecimal digits");
    return h;
}
// A type; where it may be open, `?` is a size that data decide, and `*` stands for all of them.
GSUB_LAZY tensor_type read_type(kernels::record_reader& in, bool may_be_open = true) {
    in.skip_space();
    auto const at = in.offset();
    tensor_type t;
    kernels::read_value(in, t.element);
    if (t.element == dtype::undefined || t.element == dtype::field61) in.fail(at, "no element type of a tensor");
    in.expect('[');
    t.ranked = !(may_be_open && in.accept('*'));
    for (bool first = true; !in.accept(']'); first = false) {
        if (!first) in.expect(',');
        if (t.dims.size() == 64) in.fail(at, "a type has at most 64 dimensions");
        t.dims.push_back(may_be_open && in.accept('?') ? dim{}
                                                       : dim{in.integer(0, std::numeric_limits<std::int64_t>::max())});
    }
    auto const elements = t.elements();
    if (t.is_static() && (!elements || *elements > most_value_bytes / static_cast<std::int64_t>(byte_size(t.element))))
        in.fail(at, "the type has too many elements");
    if (in.accept(':')) t.layout = layout{in.token()};
    return t;
}

// Elements of a constant: digits, the hash of those that were left out, or none.
GSUB_LAZY void read_elements(kernels::record_reader& in, kernel_value& v) {
    if (in.accept('@')) {
        v.left_out = read_hash(in);
        return;
    }
    if (!next_is(in, '0')) return;
    auto const at = in.offset() + 1;
    if (!v.type.is_static()) in.fail(at, "elements of a type that is not static");
    auto const digits = in.token();
    auto const bytes = static_cast<std::size_t>(*v.type.elements()) * byte_size(v.type.element);
    auto const ok = digits.starts_with("0x") && digits.size() == 2 + 2 * bytes &&
                    std::all_of(digits.begin() + 2, digits.end(), [](char c) { return hex_digit(c) >= 0; });
    if (!ok) in.fail(at, format_text("expected 0x and the {} digits of the constant", 2 * bytes));
    v.data = tensor::uninitialized(v.type.element, v.type.sizes());
    auto const to = v.data.mutable_raw();
    for (std::size_t i = 0; i < bytes; ++i)
        to[i] = static_cast<std::byte>(hex_digit(digits[2 + 2 * i]) << 4 | hex_digit(digits[3 + 2 * i]));
}

} // namespace gsub::detail
