// opset_choice: the versions of the operator sets that a model is written in.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/io/impl/options_fwd.hpp>
#include <gsub/io/onnx_traits.hpp>
#include <gsub/ir/graph.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gsub::io::detail {

/// What is exported besides the graph itself, and how.
struct export_task {
    std::span<onnx_row const> table;
    save_options const& options;
    std::map<std::string, any_graph> const& branches; // functions that `If` nodes name, without calls
};

/// Versions of the operator sets that a model is written in.
struct opset_choice {
    std::int64_t own = 0;                                      // of ONNX's own
    std::vector<std::pair<std::string, std::int64_t>> domains; // of all
};

/// *Errors* throws `error` (`unsupported`) where the version that is asked for cannot express the graph.
GSUB_LAZY [[nodiscard]] opset_choice choose_opsets(any_graph const& g, export_task const& task);

} // namespace gsub::io::detail
