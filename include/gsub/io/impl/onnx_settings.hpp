// Settings of a node in files: attributes in old operator sets, constant operands in new ones.
#pragma once

#include <gsub/io/onnx_traits.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace gsub::io::detail {

/// A list that is an attribute in old files and an operand in new ones: known, or left to the operand.
inline std::optional<ints> attribute_or_operand(onnx_import_context& cx, std::string_view attribute,
                                                std::size_t operand) {
    if (auto list = cx.integer_list(attribute)) return list;
    return cx.known_ints(operand);
}

/// A constant operand as a number, if it has the element type of the first operand: so it goes back into a file.
inline std::optional<double> known_setting(onnx_import_context const& cx, std::size_t i) {
    if (cx.type(0).element == dtype::undefined || cx.type(i).element != cx.type(0).element) return std::nullopt;
    return cx.known_number(i);
}

/// A number as an operand of the node's element type.
inline std::string scalar_operand(onnx_export_context& cx, double value) {
    auto const element = cx.graph().type({cx.node(), 0}).element;
    if (element == dtype::undefined) cx.unsupported("an operand of unknown element type");
    return cx.initializer(tensor::scalar(value).converted_to(element));
}

} // namespace gsub::io::detail
