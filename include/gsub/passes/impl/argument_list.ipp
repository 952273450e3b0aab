#pragma once

#include <gsub/passes/impl/argument_list.hpp>

#include <algorithm>

namespace gsub::passes::detail {

GSUB_LAZY_BODY std::vector<std::string> words_of(std::string_view text, char separator) {
    std::vector<std::string> words;
    for (std::size_t start = 0; start <= text.size();) {
        auto const end = std::min(text.find(separator, start), text.size());
        auto word = text.substr(start, end - start);
        while (!word.empty() && (word.front() == ' ' || word.front() == '\n')) word.remove_prefix(1);
        while (!word.empty() && (word.back() == ' ' || word.back() == '\n')) word.remove_suffix(1);
        if (!word.empty()) words.emplace_back(word);
        start = end + 1;
    }
    return words;
}

GSUB_LAZY_BODY std::string_view next_item(std::string_view& text) {
    auto const end = std::min(text.find(','), text.size());
    auto item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    return item;
}

} // namespace gsub::passes::detail
