// Textual IR of a graph: exact, readable, and parsed back to an equal graph.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/module.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace gsub {

/// Printer options.
struct text_options {
    /// Constants with more elements than this are printed as `@` and their hash, which reads well and cannot be parsed.
    std::size_t max_constant_elements = static_cast<std::size_t>(-1);
};

/// Prints a graph, one line a node, e.g.
/// `%3: f32[1,8,4,4] = Conv(%0, %1) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1]}`.
/// Leaves out attributes that have their default value. Constants are printed as the hexadecimal bytes of their
/// elements. Printing and parsing give an equal graph with equal names and sources.
GSUB_LAZY [[nodiscard]] std::string to_text(any_graph const& g, text_options const& options = {});
GSUB_LAZY [[nodiscard]] std::string to_text(module const& m, text_options const& options = {});

/// Parser limits; text may come from strangers.
struct text_limits {
    std::size_t max_bytes = std::size_t{1} << 30;
    std::size_t max_nodes = 1'000'000;
};

/// Parses a graph over the operators of `d`. *Errors* `invalid_input` with line and expectation; `unsupported` for an
/// operator that `d` lacks.
GSUB_LAZY [[nodiscard]] result<any_graph> parse_graph(std::string_view text, dialect const& d,
                                                      text_limits const& limits = {});
GSUB_LAZY [[nodiscard]] result<module> parse_module(std::string_view text, dialect const& d,
                                                    text_limits const& limits = {});

template <class OpSet>
[[nodiscard]] result<basic_graph<OpSet>> parse_graph(std::string_view text, text_limits const& limits = {}) {
    auto g = parse_graph(text, dialect::of<OpSet>(), limits);
    if (!g) return g.error();
    return basic_graph<OpSet>{std::move(*g)};
}

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/graph_parser.ipp>
#include <gsub/ir/impl/graph_printer.ipp>
#include <gsub/ir/impl/text.ipp>
#include <gsub/ir/impl/text_reader.ipp>
#endif
