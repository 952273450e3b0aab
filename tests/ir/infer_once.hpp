// One application of an operator, written and answered as text: `infers<ops::add>({}, {"f32[2,1]", "f32[n]"})` is
// "f32[2,n]", or "error: " and the reason. Shared by the tests of inference.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace infer_once {

using namespace gsub;

inline std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
        auto const end = std::min(text.find(at, begin), text.size());
        parts.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

inline std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

inline dim dimension(std::string const& text) {
    if (text == "?") return dim{};
    if (auto const n = number(text)) return dim{*n};
    return dim{symbol{text}};
}

/// `f32[2,n,?]`, `i64[*]`, `?[*]`
inline tensor_type type(std::string_view text) {
    auto const open = text.find('['), close = text.find(']');
    tensor_type t;
    t.element = dtype_named(text.substr(0, open)).value();
    auto const dims = text.substr(open + 1, close - open - 1);
    if (dims == "*") return t;
    t.ranked = true;
    for (auto const& d : split(dims, ',')) t.dims.push_back(dimension(d));
    return t;
}

/// What is known of the elements: `{3,n,?}` behind a type.
inline std::optional<tensor_knowledge> knowledge(std::string_view text) {
    auto const open = text.find('{');
    if (open == std::string_view::npos) return std::nullopt;
    tensor_knowledge k;
    for (auto const& e : split(text.substr(open + 1, text.size() - open - 2), ',')) {
        if (auto const n = number(e))
            k.push_back({true, *n, {}});
        else
            k.push_back({false, 0, dimension(e)});
    }
    return k;
}

inline std::string text(tensor_knowledge const& known) {
    std::string out = "{";
    for (std::size_t i = 0; i < known.size(); ++i)
        out += fmt::format("{}{}", i ? "," : "",
                           known[i].fixed ? fmt::format("{}", known[i].value) : to_string(known[i].size));
    return out + "}";
}

/// Result types, separated by spaces, the first with what is known of its elements. An operand `_` is left out.
template <class Op, class OpSet = standard_ops>
std::string infers(attributes_of<Op> const& attributes, std::vector<std::string> const& operands,
                   std::size_t results = 1) {
    auto const& d = dialect::of<OpSet>();
    auto const row = find_row(d.ops, id_of<Op>).value();
    std::vector<type_id> types;
    for (auto const& o : operands) types.emplace_back(o == "_" ? tensor_type{} : type(o));
    infer_context cx{d.ops[row], intern<Op>(attributes), types, results};
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i] == "_") cx.set_absent(i);
        if (auto k = knowledge(operands[i])) cx.set_known(i, std::move(*k));
    }
    infer(d, row, cx);
    if (cx.failed()) return "error: " + cx.reason();
    std::string out;
    for (std::size_t port = 0; port < results; ++port)
        out += fmt::format("{}{}{}", port ? " " : "", to_string(cx.result_type(port)),
                           port == 0 && cx.result_known() ? text(*cx.result_known()) : std::string{});
    return out;
}
/// The same without attributes.
template <class Op, class OpSet = standard_ops>
std::string infers(std::vector<std::string> const& operands, std::size_t results = 1) {
    return infers<Op, OpSet>(attributes_of<Op>{}, operands, results);
}

/// Whether `text` contains `words`.
inline bool says(std::string_view text, std::string_view words) {
    return text.find(words) != std::string_view::npos;
}

} // namespace infer_once
