// Sizes and values of a model's inputs, as options say them.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/io/npy.hpp>

#include <charconv>

namespace cli {

namespace {

using gsub::error;

// `NAME=...`: a name may contain '=', what is said of it does not.
std::pair<std::string, std::string> assigned(std::string_view option, std::string const& text) {
    auto const at = text.rfind('=');
    if (at == 0 || at == std::string::npos)
        throw error{gsub::errors::input_binding,
                    gsub::format_text("{} {} has not the form NAME=...", option, gsub::quoted{text})};
    return {text.substr(0, at), text.substr(at + 1)};
}

// Whole numbers between separators; nothing where one is none.
std::optional<gsub::ints> numbers(std::string_view text, char separator) {
    gsub::ints out;
    for (auto const *at = text.data(), *const end = at + text.size();; ++at) {
        std::int64_t n = 0;
        auto const [stop, failed] = std::from_chars(at, end, n);
        if (failed != std::errc{}) return std::nullopt;
        out.push_back(n);
        if (stop == end) return out;
        if (*stop != separator) return std::nullopt;
        at = stop;
    }
}

gsub::tensor value_of(std::string const& text) {
    auto const given = numbers(text, ',');
    if (!given) return gsub::io::load_npy(text).value();
    if (given->size() == 1) return gsub::tensor::scalar((*given)[0]);
    gsub::ints const dims{static_cast<std::int64_t>(given->size())};
    return gsub::tensor::from<std::int64_t>(dims, *given);
}

} // namespace

gsub::io::load_options loading(input_choice const& how, session const& s, bool map) {
    gsub::io::load_options options{.map = map, .observe = s.observe};
    for (auto const& text : how.dims) {
        auto const [name, size] = assigned("--dim", text);
        auto const sizes = numbers(size, 'x');
        if (!sizes || sizes->size() != 1)
            throw error{gsub::errors::input_binding,
                        gsub::format_text("--dim {} has not the form NAME=8", gsub::quoted{text})};
        options.dims.emplace_back(name, (*sizes)[0]);
    }
    for (auto const& text : how.shapes) {
        auto const [name, shape] = assigned("--shape", text);
        auto sizes = shape.empty() ? gsub::ints{} : numbers(shape, 'x');
        if (!sizes)
            throw error{gsub::errors::input_binding,
                        gsub::format_text("--shape {} has not the form NAME=1x3x224x224", gsub::quoted{text})};
        options.shapes.emplace_back(name, std::move(*sizes));
    }
    for (auto const& text : how.values) {
        auto const [name, value] = assigned("--value", text);
        options.values.emplace_back(name, value_of(value));
    }
    return options;
}

} // namespace cli
