// ConvertLayout: stores activations in the layouts that the caller names per operator.
#pragma once

#include <gsub/passes/layout/alter_op_layout.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gsub::passes {

/// Stores the data operand and the results of given operators in given layouts; all others follow their operands, or
/// read row-major values where they can read nothing else.
///
/// A blocked layout, such as `NCHW16c`, changes storage only: values get it in their types; numbers, dimensions,
/// attributes and weights stay. The algorithm is that of `alter_op_layout`. A node whose shape the layout does not suit
/// is left alone. Outcome: `matches` counts the nodes whose layout is as asked for.
///
/// `NCHW` and `NHWC` (`NCW`, `NCDHW` and so on mean the same: channels before or after the pixels) are orders of
/// dimensions, and the result is a graph without layouts, which can be saved to a file. Convolutions and pools compute
/// on NCHW, so a graph in NHWC has transposes around them. The pass moves these towards the outputs, through
/// arithmetic, concats, splits, slices, pads, softmax and reductions, whose axis attributes it rewrites; it transposes
/// constants likewise, and cancels transposes that undo each other. With `NHWC` it first transposes the results of the
/// operators named, so that values between convolutions are in NHWC; with `NCHW` it leaves a graph alone whose
/// transposes would move more bytes than before. Outcome: `matches` counts the transposes removed. Without arguments:
/// `NCHW`.
///
/// A layout of weights may follow that of data, as in TVM: `NCHW16c:OIHW16i16o`. Weights of a graph stay `OIHW`, the
/// only order that ONNX has, since each kernel packs them itself and reads no other; the outcome says so by the
/// layout's name. *Errors* `usage` for a name that is no layout, or no operator of the graph's set. *Source* TVM's
/// ConvertLayout.
struct convert_layout {
    struct desired {
        std::string op;        ///< name of an operator, e.g. `Conv`
        std::string stored;    ///< a layout such as `NCHW16c`, or `NCHW`, `NHWC`; empty: row-major
        std::string weights{}; ///< a layout such as `OIHW`, `HWIO`, `OIHW16i16o`; empty: as they are
    };
    /// Convolutions in NCHW.
    GSUB_LAZY static std::vector<desired> in_nchw();
    std::vector<desired> desired_layouts = in_nchw();
    std::vector<std::string> row_major{}; ///< nodes, as reports name them, that read row-major values in spite of it

    static constexpr auto facts =
        pass_facts("convert-layout", exactness::bit_exact, "stores values in the layouts that are asked for",
                   {.tvm_name = "ConvertLayout", .level = 3, .classes = {"BL"}});
    /// Parses a layout, which is for convolutions, or several of the form `Conv=NCHW16c`, separated by commas.
    /// `row-major` is one too, and an empty text is the default. A layout of weights, or `default`, may follow after a
    /// colon.
    GSUB_LAZY static result<convert_layout> from_text(std::string_view text);
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/impl/argument_list.ipp>
#include <gsub/passes/layout/impl/convert_layout.ipp>
#include <gsub/passes/layout/impl/dimension_order.ipp>
#endif
