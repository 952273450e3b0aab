#pragma once

#include <gsub/io/file.hpp>
#include <gsub/io/impl/onnx_exporter.hpp>
#include <gsub/io/onnx_export.hpp>

namespace gsub::io {

namespace detail {

GSUB_LAZY void save_model(any_graph const& g, std::span<onnx_row const> table, std::string const& path,
                          save_options const& options, std::map<std::string, any_graph> const& branches) {
    auto const slash = path.rfind('/');
    auto const data_name = (slash == std::string::npos ? path : path.substr(slash + 1)) + ".data";
    export_task const task{table, options, branches};
    onnx_exporter<> exporter{g, task};
    exporter.collect(data_name);
    output_file out{path};
    exporter.write([&](std::string_view text) { out.write(text); },
                   [&](std::span<std::byte const> raw) { out.write(raw); });
    // The weights first: the model never names a file that is not there.
    if (exporter.initializers().has_external()) {
        output_file data{path + ".data"};
        exporter.initializers().write_external(data);
        data.commit();
    }
    out.commit();
}

GSUB_LAZY std::string write_model(any_graph const& g, std::span<onnx_row const> table, save_options const& options,
                                  std::map<std::string, any_graph> const& branches) {
    export_task const task{table, options, branches};
    onnx_exporter<> exporter{g, task};
    exporter.collect({});
    std::string out;
    exporter.write(
        [&](std::string_view text) { out += text; },
        [&](std::span<std::byte const> raw) { out.append(reinterpret_cast<char const*>(raw.data()), raw.size()); });
    return out;
}

} // namespace detail

GSUB_LAZY_BODY result<void> save_onnx(any_graph const& g, std::span<onnx_row const> table, std::string const& path,
                                      save_options const& options) {
    return capture([&] { detail::save_model(g, table, path, options, {}); });
}
GSUB_LAZY_BODY result<void> save_onnx(module const& m, std::span<onnx_row const> table, std::string const& path,
                                      save_options const& options, std::string_view entry) {
    return capture([&] {
        auto const g = m.inlined(entry).value();
        detail::save_model(g, table, path, options, m.branches(g).value());
    });
}

GSUB_LAZY_BODY result<std::string> to_onnx(any_graph const& g, std::span<onnx_row const> table,
                                           save_options const& options) {
    return capture([&] { return detail::write_model(g, table, options, {}); });
}
GSUB_LAZY_BODY result<std::string> to_onnx(module const& m, std::span<onnx_row const> table,
                                           save_options const& options, std::string_view entry) {
    return capture([&] {
        auto const g = m.inlined(entry).value();
        return detail::write_model(g, table, options, m.branches(g).value());
    });
}

} // namespace gsub::io
