#pragma once

#include <gsub/kernels/descriptor_fields.hpp>
#include <gsub/kernels/descriptor_text.hpp>

#include <span>

namespace gsub::kernels {

GSUB_LAZY_BODY std::string to_string(descriptor const& d) {
    std::string text;
    print_value(text, d);
    return text;
}

GSUB_LAZY_BODY descriptor read_descriptor(record_reader& in) {
    descriptor d;
    read_value(in, d);
    return d;
}

GSUB_LAZY_BODY result<descriptor> read_descriptor(std::string_view& text) {
    return capture([&] {
        record_reader in{text};
        auto d = read_descriptor(in);
        text.remove_prefix(in.offset());
        return d;
    });
}

GSUB_LAZY_BODY result<descriptor> parse_descriptor(std::string_view text) {
    return capture([&] {
        record_reader in{text};
        auto d = read_descriptor(in);
        if (!in.at_end()) in.fail_expected(in.offset(), "the end");
        return d;
    });
}

GSUB_LAZY_BODY bool equal(descriptor const& a, descriptor const& b) {
    return same_value(a, b);
}

GSUB_LAZY_BODY hash128 hash_of(descriptor const& d) {
    auto const text = to_string(d);
    return hash_bytes(std::as_bytes(std::span{text}));
}
GSUB_LAZY_BODY hash128 hash_without_layouts(descriptor d) {
    if (auto const images = images_of(d))
        *images->input = image_layout::blocked, *images->result = image_layout::blocked;
    return hash_of(d);
}

} // namespace gsub::kernels
