// Layered graph drawing (Sugiyama): places the boxes of a directed acyclic graph, and routes the lines between them.
#pragma once

#include <gsub/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gsub::report {

/// A box to be placed.
struct layout_box {
    double width = 0, height = 0;
};

/// A line from one box down to another. Lines of one box with the same `port` share their way as far as they can.
struct layout_line {
    std::uint32_t from = 0, to = 0; ///< numbers of boxes, from < to
    std::uint32_t port = 0;
};

/// Layout options: distances in the unit of the boxes, and limits.
struct layout_options {
    double between_boxes = 22, between_layers = 30, between_lines = 12;
    int sweeps = 16;                      ///< of ordering and of placing; each makes it better and costs the same
    std::size_t max_vertices = 1'000'000; ///< boxes, and places where lines pass a layer
};

struct layout_point {
    double x = 0, y = 0;
    friend bool operator==(layout_point, layout_point) = default;
};

/// A layered drawing. All coordinates are >= 0.
struct layered_layout {
    struct place {
        double x = 0, y = 0;     ///< of the upper left corner
        std::uint32_t layer = 0; ///< 0 at the top
    };
    /// A route of a line: points that never rise. It ends at the top of a box, and begins at the bottom of one or,
    /// where a line leaves the common route of its bundle, on that route. It is straight between two points of one x;
    /// two others lie above and below the gap between two layers, and a curve that leaves and arrives upright joins
    /// them.
    struct way {
        std::uint32_t line = 0; ///< number of the line that it completes
        std::vector<layout_point> points;
    };
    std::vector<place> boxes; ///< one a box
    std::vector<way> ways;    ///< one a line
    double width = 0, height = 0;
    std::size_t layers = 0;
};

/// Lays out a layered drawing: layers by longest path, sources just above their readers; an order within layers by
/// barycentres, the best of all sweeps by number of crossings; places as near to the neighbours' as the order allows,
/// in the sense of least squares. The same for the same input. *Requires* from < to < boxes.size() for each line.
/// *Errors* `unsupported` beyond `max_vertices`. *Complexity* O(sweeps (v + e) log v) for v vertices. *Source*
/// Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures", 1981; placing a layer
/// is isotonic regression by pooling adjacent violators (Ayer et al., 1955).
GSUB_LAZY [[nodiscard]] result<layered_layout>
lay_out(std::span<layout_box const> boxes, std::span<layout_line const> lines, layout_options const& options = {});

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/layer_order.ipp>
#include <gsub/report/impl/layer_places.ipp>
#include <gsub/report/impl/layered_graph.ipp>
#include <gsub/report/impl/layered_layout.ipp>
#endif
