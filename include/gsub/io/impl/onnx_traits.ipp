#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/not_supported.hpp>
#include <gsub/io/onnx_traits.hpp>
#include <gsub/io/protobuf.hpp>

namespace gsub::io {

GSUB_INLINE onnx_import_context::onnx_import_context(graph_builder& builder, onnx_node const& node, std::int64_t opset,
                                                     std::vector<value_id> operands, std::size_t results,
                                                     std::function<tensor(std::string_view)> read_tensor,
                                                     std::function<bool(std::size_t)> is_read,
                                                     std::int64_t& constant_budget)
    : builder_(&builder),
      node_(&node),
      opset_(opset),
      operands_(std::move(operands)),
      results_(results),
      read_tensor_(std::move(read_tensor)),
      is_read_(std::move(is_read)),
      constant_budget_(&constant_budget) {}

GSUB_INLINE void onnx_import_context::take_constant(std::initializer_list<std::int64_t> sizes,
                                                    std::string_view what) const {
    constexpr std::int64_t most = 1 << 24;
    std::int64_t elements = 1;
    for (auto const size : sizes) {
        if (size > 0 && elements > most / size) unsupported(std::string{what});
        elements *= size;
    }
    if (elements > *constant_budget_)
        unsupported(format_text("{}: nodes before it are written with as many constants as a model may be", what));
    *constant_budget_ -= elements;
}

GSUB_INLINE std::optional<ints> onnx_import_context::known_ints(std::size_t i) const {
    if (!has(i)) return std::nullopt;
    auto const& g = builder_->graph();
    if (auto const* k = builder_->known(operands_[i]); k && !is_floating(g.type(operands_[i]).element)) {
        ints out;
        for (auto const& e : *k) {
            if (!e.fixed) return std::nullopt;
            out.push_back(e.value);
        }
        return out;
    }
    if (g.is<ops::constant>(operands_[i].node) && is_integer(g.type(operands_[i]).element))
        return g.constant_data(operands_[i].node).to_ints();
    return std::nullopt;
}

namespace detail {
// The one element of a tensor, unless it is an integer that a double cannot hold.
GSUB_INLINE std::optional<double> as_double(tensor const& t) {
    auto const value = t.converted_to(dtype::f64).data<double>()[0];
    if (is_integer(t.element()) && tensor::scalar(value).converted_to(t.element()).to_ints() != t.to_ints())
        return std::nullopt;
    return value;
}
} // namespace detail

GSUB_INLINE std::optional<double> onnx_import_context::known_number(std::size_t i) const {
    if (!has(i)) return std::nullopt;
    auto const& g = builder_->graph();
    auto const n = operands_[i].node;
    if (g.is<ops::fill>(n) && g.operand_count(n) == 0 && g.type(operands_[i]).elements() == 1) {
        auto const& a = g.attributes<ops::fill>(n);
        return is_floating(a.element) ? a.value : detail::as_double(tensor::scalar(a.integer).converted_to(a.element));
    }
    if (!g.is<ops::constant>(n) || g.constant_data(n).elements() != 1) return std::nullopt;
    return detail::as_double(g.constant_data(n));
}

GSUB_INLINE value_id onnx_import_context::add_by_fields(std::uint16_t row) {
    auto const& op = builder_->operators().ops[row];
    auto values = op.layout.defaults();
    auto const assign = [](attribute_value& to, auto&& from) {
        if (from) to = std::move(*from);
    };
    for (std::size_t i = 0; i < values.size(); ++i) switch (auto const& [name, kind, type] = op.attributes()[i]; type) {
        case field_type::integer:
        case field_type::boolean:
            assign(values[i], integer(name));
            break;
        case field_type::real: // defaults are floats too: ONNX has no wider attributes
            values[i] = real(name).value_or(static_cast<double>(static_cast<float>(values[i].real())));
            if (!std::isfinite(values[i].real())) unsupported(format_text("{} {}", name, values[i].real()));
            break;
        case field_type::text:
            assign(values[i], text(name));
            break;
        case field_type::integer_list:
            assign(values[i], integer_list(name));
            break;
        case field_type::real_list:
            assign(values[i], real_list(name));
            break;
        case field_type::element:
        case field_type::activation:
            break; // no attribute of ONNX files is one of these as it is
        }
    return builder_->emit(row, op.intern(std::move(values)).value(), operands_, results_);
}

GSUB_INLINE onnx_attribute const* onnx_import_context::find(std::string_view name) {
    for (auto const& a : node_->attributes)
        if (a.name == name) {
            read_.insert(a.name);
            return &a;
        }
    return nullptr;
}

GSUB_INLINE onnx_attribute const* onnx_import_context::find(std::string_view name, onnx_attribute_type type) {
    auto const* a = find(name);
    // Old files leave the type out; then the field that is set decides.
    if (a && a->type != type && a->type != onnx_attribute_type::undefined)
        invalid(format_text("attribute {} has type {}; it takes {}", name, static_cast<int>(a->type),
                            static_cast<int>(type)));
    return a;
}

GSUB_INLINE std::optional<std::int64_t> onnx_import_context::integer(std::string_view name) {
    auto const* a = find(name, onnx_attribute_type::integer);
    if (!a) return std::nullopt;
    std::int64_t value = 0;
    for (wire_reader r{a->message}; r.next();)
        if (r.field() == 3 && r.is_varint()) value = r.integer();
    return value;
}

GSUB_INLINE std::optional<double> onnx_import_context::real(std::string_view name) {
    auto const* a = find(name, onnx_attribute_type::real);
    if (!a) return std::nullopt;
    double value = 0;
    for (wire_reader r{a->message}; r.next();)
        if (r.field() == 2 && r.is_fixed32()) value = static_cast<double>(r.real());
    return value;
}

GSUB_INLINE std::optional<std::string> onnx_import_context::text(std::string_view name) {
    auto const* a = find(name, onnx_attribute_type::text);
    if (!a) return std::nullopt;
    std::string value;
    for (wire_reader r{a->message}; r.next();)
        if (r.field() == 4 && r.is_bytes()) value = r.bytes();
    return value;
}

GSUB_INLINE std::optional<ints> onnx_import_context::integer_list(std::string_view name) {
    auto const* a = find(name, onnx_attribute_type::integers);
    if (!a) return std::nullopt;
    ints values;
    for (wire_reader r{a->message}; r.next();)
        if (r.field() == 8) r.each_integer([&](std::int64_t v) { values.push_back(v); });
    return values;
}

GSUB_INLINE std::optional<reals> onnx_import_context::real_list(std::string_view name) {
    auto const* a = find(name, onnx_attribute_type::reals);
    if (!a) return std::nullopt;
    reals values;
    for (wire_reader r{a->message}; r.next();)
        if (r.field() == 7) r.each_float([&](float v) { values.push_back(static_cast<double>(v)); });
    return values;
}

GSUB_INLINE std::optional<std::vector<std::string>> onnx_import_context::text_list(std::string_view name) {
    auto const* a = find(name, onnx_attribute_type::texts);
    if (!a) return std::nullopt;
    std::vector<std::string> values;
    for (wire_reader r{a->message}; r.next();)
        if (r.field() == 9 && r.is_bytes()) values.emplace_back(r.bytes());
    return values;
}

GSUB_INLINE std::optional<tensor> onnx_import_context::tensor_value(std::string_view name) {
    auto const* a = find(name, onnx_attribute_type::tensor);
    if (!a) return std::nullopt;
    for (wire_reader r{a->message}; r.next();)
        if (r.field() == 5 && r.is_bytes()) return read_tensor_(r.bytes());
    invalid(format_text("attribute {} has no tensor", name));
}

GSUB_INLINE bool onnx_import_context::has_attribute(std::string_view name) const noexcept {
    for (auto const& a : node_->attributes)
        if (a.name == name) return true;
    return false;
}

GSUB_INLINE std::optional<std::string_view> onnx_import_context::unread_attribute() const {
    for (auto const& a : node_->attributes)
        if (!read_.contains(a.name)) return a.name;
    return std::nullopt;
}

GSUB_INLINE void onnx_import_context::unsupported(std::string reason, std::string hint) const {
    throw detail::not_supported{{errors::operator_form, {}, {}, std::move(reason), std::move(hint)}};
}
GSUB_INLINE void onnx_import_context::invalid(std::string reason) const {
    throw error{errors::invalid_node, std::move(reason)};
}

// ---- writing --------------------------------------------------------------------------------------------------------

namespace detail {

// Elements as ONNX's raw_data; the host is little-endian.
GSUB_INLINE std::string serialized_tensor(std::string_view name, tensor const& t) {
    std::string out;
    wire_writer w{out};
    w.integers(1, t.dims()).integer(2, info(t.element()).onnx);
    if (!name.empty()) w.bytes(8, name);
    w.bytes(9, {reinterpret_cast<char const*>(t.raw().data()), t.raw().size()});
    return out;
}

GSUB_INLINE void add_attribute(std::string& node, std::string_view name, onnx_attribute_type type,
                               function_ref<void(wire_writer&)> value) {
    wire_writer{node}.message(5, [&](wire_writer& w) {
        w.bytes(1, name);
        value(w);
        w.integer(20, static_cast<std::int64_t>(type));
    });
}

} // namespace detail

GSUB_INLINE void onnx_attribute_writer::integer(std::string_view name, std::int64_t value) {
    detail::add_attribute(*node_, name, onnx_attribute_type::integer, [&](wire_writer& w) { w.integer(3, value); });
}
GSUB_INLINE void onnx_attribute_writer::real(std::string_view name, double value) {
    detail::add_attribute(*node_, name, onnx_attribute_type::real,
                          [&](wire_writer& w) { w.real(2, static_cast<float>(value)); });
}
GSUB_INLINE void onnx_attribute_writer::text(std::string_view name, std::string_view value) {
    detail::add_attribute(*node_, name, onnx_attribute_type::text, [&](wire_writer& w) { w.bytes(4, value); });
}
GSUB_INLINE void onnx_attribute_writer::integer_list(std::string_view name, ints const& values) {
    detail::add_attribute(*node_, name, onnx_attribute_type::integers, [&](wire_writer& w) { w.integers(8, values); });
}
GSUB_INLINE void onnx_attribute_writer::real_list(std::string_view name, reals const& values) {
    detail::add_attribute(*node_, name, onnx_attribute_type::reals, [&](wire_writer& w) {
        for (auto v : values) w.real(7, static_cast<float>(v));
    });
}
GSUB_INLINE void onnx_attribute_writer::tensor_value(std::string_view name, tensor const& value) {
    detail::add_attribute(*node_, name, onnx_attribute_type::tensor,
                          [&](wire_writer& w) { w.bytes(5, detail::serialized_tensor({}, value)); });
}

GSUB_INLINE std::string onnx_export_context::operand(std::size_t i) const {
    auto const v = g_->operand(node_, i);
    return v.valid() ? name_of_(v) : std::string{};
}
GSUB_INLINE std::vector<std::string> onnx_export_context::operands() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < g_->operand_count(node_); ++i) names.push_back(operand(i));
    return names;
}
GSUB_INLINE std::vector<std::string> onnx_export_context::results() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < g_->result_count(node_); ++i) names.push_back(result(i));
    return names;
}
GSUB_INLINE std::string onnx_export_context::initializer(ints const& values) const {
    return initializer_(tensor::from<std::int64_t>(ints{static_cast<std::int64_t>(values.size())}, values));
}

GSUB_INLINE void onnx_export_context::write(std::string_view op_type, std::span<std::string const> inputs,
                                            std::span<std::string const> outputs, attributes_function attributes,
                                            std::string_view domain) const {
    std::string node;
    wire_writer w{node};
    auto last = inputs.size(); // absent operands at the end are not written
    while (last > 0 && inputs[last - 1].empty()) --last;
    for (std::size_t i = 0; i < last; ++i) w.bytes(1, inputs[i]);
    for (auto const& name : outputs) w.bytes(2, name);
    w.bytes(3, fresh_name_(g_->display_name(node_)));
    w.bytes(4, op_type);
    if (!domain.empty()) w.bytes(7, domain);
    onnx_attribute_writer a{node};
    attributes(a);
    emit_(std::move(node));
}

GSUB_INLINE void onnx_export_context::write(std::string_view op_type, std::span<std::string const> inputs,
                                            std::span<std::string const> outputs) const {
    write(op_type, inputs, outputs, [](onnx_attribute_writer&) {});
}

GSUB_INLINE void onnx_export_context::write_by_fields() const {
    auto const& op = g_->op(node_);
    auto const values = g_->attributes(node_).values();
    write(
        op.name, operands(), results(),
        [&](onnx_attribute_writer& w) {
            for (std::size_t i = 0; i < values.size(); ++i)
                switch (auto const& [name, kind, type] = op.attributes()[i]; type) {
                case field_type::integer:
                case field_type::boolean:
                    w.integer(name, values[i].integer());
                    break;
                case field_type::real:
                    w.real(name, values[i].real());
                    break;
                case field_type::text:
                    w.text(name, values[i].text());
                    break;
                case field_type::integer_list:
                    w.integer_list(name, values[i].integer_list());
                    break;
                case field_type::real_list:
                    w.real_list(name, values[i].real_list());
                    break;
                case field_type::element:
                case field_type::activation:
                    break; // no attribute of ONNX files is one of these as it is
                }
        },
        op.domain);
}

GSUB_INLINE void onnx_export_context::unsupported(std::string reason) const {
    throw error{problem{
        errors::no_form_in_files, g_->display_name(node_), std::string{g_->op(node_).name}, std::move(reason), {}}};
}

} // namespace gsub::io
