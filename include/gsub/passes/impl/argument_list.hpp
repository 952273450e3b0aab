// argument_list: lists in the arguments of passes.
#pragma once

#include <gsub/core/config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gsub::passes::detail {

/// The words of a list, without blanks around them; empty ones are left out.
GSUB_LAZY [[nodiscard]] std::vector<std::string> words_of(std::string_view text, char separator);
/// Takes the first item, which may be empty, and the comma behind it off a list. *Requires* a text.
GSUB_LAZY [[nodiscard]] std::string_view next_item(std::string_view& text);

} // namespace gsub::passes::detail
