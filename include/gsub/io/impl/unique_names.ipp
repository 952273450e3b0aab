#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/unique_names.hpp>

namespace gsub::io::detail {

template <class T>
std::string unique_names<T>::vacant(std::string name) const {
    while (taken_.contains(name)) name += '_';
    return name;
}

template <class T>
std::string unique_names<T>::fresh(std::string_view stem) {
    std::string name{stem};
    for (auto& number = counters_[name]; !taken_.insert(name).second || name.empty();)
        name = format_text("{}_{}", stem, ++number);
    return name;
}

} // namespace gsub::io::detail
