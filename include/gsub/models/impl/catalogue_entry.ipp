#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/catalogue_entry.hpp>

#include <string>
#include <utility>
#include <vector>

namespace gsub::models {

namespace detail {

/// The names of a network's options, for errors.
GSUB_INLINE std::string names_of(std::span<option_info const> options) {
    std::string all{"seed"};
    for (std::size_t i = 0; i < options.size(); ++i)
        all += format_text("{}{}", i + 1 == options.size() ? " and " : ", ", options[i].name);
    return all;
}

} // namespace detail

GSUB_INLINE graph catalogue_entry::build(std::uint64_t seed) const {
    return build(build_request{.seed = seed}).value();
}

GSUB_INLINE result<graph> catalogue_entry::build(build_request const& request) const {
    auto const wrong = [&](std::string reason, std::string hint) {
        return error{problem{error_code::usage, {}, {}, std::move(reason), std::move(hint)}}.within(std::string{name});
    };
    std::vector<std::int64_t> values;
    for (auto const& o : options) values.push_back(o.usual);
    std::vector<bool> given(options.size());
    for (auto const& asked : request.options) {
        std::size_t i = 0;
        while (i < options.size() && options[i].name != asked.name) ++i;
        if (i == options.size())
            return wrong(format_text("it has no option {}", quoted{asked.name}), detail::names_of(options));
        auto const& o = options[i];
        if (given[i]) return wrong(format_text("option {} is given twice", o.name), "one of the two");
        if (asked.value < o.least || asked.value > o.most)
            return wrong(format_text("{} cannot be {}", o.name, asked.value), format_text("{} to {}", o.least, o.most));
        given[i] = true;
        values[i] = asked.value;
    }
    auto made = capture([&] { return make(request.seed, values); });
    if (!made) return made.error().within(std::string{name});
    return made;
}

} // namespace gsub::models
