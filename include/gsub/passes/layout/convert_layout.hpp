// Storing activations in the layouts that the caller names, one an operator.
#pragma once

#include <gsub/passes/layout/alter_op_layout.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gsub::passes {

/// Stores the data operand and the results of given operators in given layouts; all others follow what they read, or
/// read row-major values where they can read nothing else.
///
/// A layout with blocks, such as `NCHW16c`, names storage and not meaning: numbers, dimensions, attributes and weights
/// stay as they are, and values get a type. The engine is that of `alter_op_layout`. A node whose shape the layout does
/// not suit is left alone. Outcome: `matches` counts the nodes whose layout is as asked for.
///
/// `NCHW` and `NHWC` (`NCW`, `NCDHW` and so on mean the same: channels before the pixels, or behind them) are orders of
/// dimensions, and the result is a graph without layouts, which has a file format. Convolutions and pools compute on
/// NCHW, so a graph that stands in NHWC around them has transpositions. These move towards the outputs, through
/// arithmetic, joins, cuts, borders, softmax and reductions, whose attributes that name dimensions are rewritten;
/// constants turn with them; those that undo each other are gone. With `NHWC` the results of the operators named are
/// turned first, so that what is between convolutions stands so; with `NCHW` a graph is left alone whose transpositions
/// would move more bytes than before. Outcome: `matches` counts the transpositions that are gone.
/// Without arguments: `NCHW`.
///
/// A layout of weights may follow that of data, as TVM has it: `NCHW16c:OIHW16i16o`. Weights of a graph are `OIHW`, the
/// only order that ONNX has, and each kernel packs them as it reads them; so no kernel reads any other, they stay as
/// they are, and the outcome says so by the layout's name.
/// *Errors* `usage` for a name that is no layout, or no operator of the graph's set. *Source* TVM's ConvertLayout.
struct convert_layout {
    struct desired {
        std::string op;        ///< name of an operator, e.g. `Conv`
        std::string stored;    ///< a layout such as `NCHW16c`, or `NCHW`, `NHWC`; empty: row-major
        std::string weights{}; ///< a layout such as `OIHW`, `HWIO`, `OIHW16i16o`; empty: as they are
    };
    /// Convolutions in NCHW.
    GSUB_LAZY static std::vector<desired> in_nchw();
    std::vector<desired> desired_layouts = in_nchw();
    std::vector<std::string> row_major{}; ///< nodes, as reports call them, that read row-major values all the same

    static constexpr std::string_view name = "convert-layout";
    static constexpr std::string_view effect = "stores values in the layouts that are asked for";
    static constexpr auto exact = exactness::bit_exact;
    static constexpr int level = 3;
    static constexpr std::array<std::string_view, 1> classes{"BL"};
    /// A layout, which is for convolutions, or several of the form `Conv=NCHW16c`, by commas. `row-major` is one too,
    /// and an empty text is the default. Behind a colon may stand a layout of weights, or `default`.
    GSUB_LAZY static result<convert_layout> from_text(std::string_view text);
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/layout/impl/convert_layout.ipp>
#include <gsub/passes/layout/impl/dimension_order.ipp>
#endif
