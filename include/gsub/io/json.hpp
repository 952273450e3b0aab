// JSON: profiles, reports, options. The only header that includes the JSON library.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/io/file.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace gsub::io {

/// A JSON value. Objects keep the order of their keys, so that files are the same in every run.
using json = nlohmann::ordered_json;

/// Parses a JSON text. *Errors* `invalid_input` with the place.
[[nodiscard]] inline result<json> parse_json(std::string_view text) {
    try {
        return json::parse(text);
    } catch (json::exception const& e) { return error{problem{error_code::invalid_input, {}, "JSON", e.what(), {}}}; }
}

/// Writes a value as a whole file, indented by two spaces. Invalid UTF-8 (names come from models) is replaced.
inline result<void> save_json(std::string const& path, json const& value) {
    return write_file(path, value.dump(2, ' ', false, json::error_handler_t::replace) + '\n');
}

} // namespace gsub::io
