#pragma once

#include <gsub/core/format.hpp>
#include <gsub/passes/combine/impl/sibling_combiner.hpp>

#include <charconv>
#include <string_view>

namespace gsub::passes::detail {

GSUB_LAZY_BODY std::size_t branches_in(std::string_view pass, std::string_view text) {
    std::size_t out = 0;
    auto const end = text.data() + text.size();
    auto const read = std::from_chars(text.data(), end, out);
    if (read.ec != std::errc{} || read.ptr != end || out < 2)
        throw error{problem{errors::pass_arguments,
                            {},
                            {},
                            format_text("{} takes a number of branches, 2 or more, not {}", pass, quoted{text}),
                            {}}};
    return out;
}

GSUB_LAZY_BODY result<pass_outcome> combine_siblings(any_graph& g, pass_context& cx, sibling_kind kind,
                                                     std::size_t least) {
    return capture([&] { return sibling_combiner<>{g, cx, kind, least}.run(); });
}

} // namespace gsub::passes::detail
