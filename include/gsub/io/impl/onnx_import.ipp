#pragma once

#include <gsub/io/impl/onnx_importer.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/ir/legality.hpp>

namespace gsub::io {

namespace detail {
// Imports the main graph of a model, and its branches into `into`, where that is given.
GSUB_LAZY any_graph import_main(onnx_model const& model, std::string const* path, dialect const& d,
                                std::span<onnx_row const> table, load_options const& options, module* into = nullptr) {
    loop_budget budget{options.limits.max_nodes / 4}; // a node of a loop has some three values
    auto constant_budget = options.limits.max_written_elements;
    auto g = onnx_importer<>{{model, path, d, table, options, into, budget, constant_budget}}.run();
    if (verifies_stages()) verify_behind("import", g, stage::imported).value();
    return g;
}
} // namespace detail

GSUB_LAZY_BODY result<any_graph> load_onnx(std::string const& path, dialect const& d, std::span<onnx_row const> table,
                                           load_options const& options) {
    auto model = parse_onnx_file(path, options.limits);
    if (!model) return model.error();
    auto g = capture([&] { return detail::import_main(*model, &path, d, table, options); });
    if (!g) return g.error().within(path);
    return g;
}

GSUB_LAZY_BODY result<any_graph> load_onnx(std::span<std::byte const> data, dialect const& d,
                                           std::span<onnx_row const> table, load_options const& options) {
    auto model = parse_onnx(data, options.limits);
    if (!model) return model.error();
    return capture([&] { return detail::import_main(*model, nullptr, d, table, options); });
}

namespace detail {
GSUB_LAZY module import_module(onnx_model const& model, std::string const* path, dialect const& d,
                               std::span<onnx_row const> table, load_options const& options) {
    module m;
    m.add("main", any_graph{d});
    auto main = import_main(model, path, d, table, options, &m);
    m.add("main", std::move(main));
    return m;
}
} // namespace detail

GSUB_LAZY_BODY result<module> load_onnx_module(std::string const& path, dialect const& d,
                                               std::span<onnx_row const> table, load_options const& options) {
    auto model = parse_onnx_file(path, options.limits);
    if (!model) return model.error();
    auto m = capture([&] { return detail::import_module(*model, &path, d, table, options); });
    if (!m) return m.error().within(path);
    return m;
}

GSUB_LAZY_BODY result<module> load_onnx_module(std::span<std::byte const> data, dialect const& d,
                                               std::span<onnx_row const> table, load_options const& options) {
    auto model = parse_onnx(data, options.limits);
    if (!model) return model.error();
    return capture([&] { return detail::import_module(*model, nullptr, d, table, options); });
}

} // namespace gsub::io
