#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/quoted.hpp>
#include <gsub/runtime/cuda/cuda_device.hpp>
#include <gsub/runtime/device.hpp>
#include <gsub/runtime/opencl/opencl_device.hpp>

#include <charconv>
#include <optional>

namespace gsub::runtime {

namespace detail {

// The number behind the name of a kind, as in `opencl:0`.
GSUB_LAZY [[nodiscard]] std::optional<std::size_t> device_number(std::string_view id, std::string_view kind) {
    if (!id.starts_with(kind)) return std::nullopt;
    id.remove_prefix(kind.size());
    if (id.empty()) return 0;
    if (id.front() != ':') return std::nullopt;
    std::size_t number = 0;
    auto const read = std::from_chars(id.data() + 1, id.data() + id.size(), number);
    return read.ec == std::errc{} && read.ptr == id.data() + id.size() ? std::optional{number} : std::nullopt;
}

} // namespace detail

GSUB_LAZY_BODY result<std::shared_ptr<device>> open_device(std::string_view id) {
    if (auto const number = detail::device_number(id, "cuda")) return cuda_device(*number);
    if (auto const number = detail::device_number(id, "opencl")) return opencl_device(*number);
    return error{errors::unknown_target,
                 format_text("there is no device {}; it is like cuda:0 or opencl:0", quoted{id})};
}

GSUB_LAZY_BODY device_listing list_devices() {
    device_listing out;
    auto const add = [&](result<std::vector<std::string>> const& titles, std::string_view kind) {
        if (!titles) return out.missing.push_back(format_text("{}: {}", kind, titles.error().message()));
        for (std::size_t i = 0; i < titles->size(); ++i)
            out.devices.emplace_back(format_text("{}:{}", kind, i), (*titles)[i]);
    };
    add(cuda_device_titles(), "cuda");
    add(opencl_device_titles(), "opencl");
    return out;
}

} // namespace gsub::runtime
