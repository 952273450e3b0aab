#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/not_supported.hpp>
#include <gsub/io/impl/onnx_values.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/io/protobuf.hpp>

#include <algorithm>

namespace gsub::io::detail {

template <class T>
tensor_type onnx_values<T>::type_of(onnx_value const& v) const {
    tensor_type t;
    if (!v.is_tensor) return t;
    t.element = dtype_of_onnx(v.data_type).value_or(dtype::undefined);
    t.ranked = v.has_shape;
    if (auto const* const given = bindings_.sizes_of(v.name); given && !v.has_shape) {
        t.ranked = true;
        for (auto size : *given) t.dims.push_back(size <= max_size ? dim{size} : dim{});
        return t;
    }
    for (std::size_t i = 0; i < v.dims.size(); ++i) {
        auto const& name = v.dims[i].name;
        auto const size = bindings_.size_of(v, i);
        t.dims.push_back(size >= 0 && size <= max_size ? dim{size} : name.empty() ? dim{} : dim{symbol{name}});
    }
    return t;
}

// A weight that is declared too is what it is declared as.
template <class T>
void onnx_values<T>::check_weight(onnx_value const& v) {
    auto const* const t = symbols_.initializer(v.name);
    if (!t || !v.is_tensor || std::ranges::any_of(t->dims, [](auto d) { return d < 0 || d > max_size; })) return;
    auto const declared = type_of(v);
    auto const element = dtype_of_onnx(t->data_type);
    if (!element || v.data_type == 0) return;
    tensor_type const own{*element, std::span<std::int64_t const>{t->dims}};
    if (v.data_type != t->data_type || !compatible(own, declared))
        diagnostics_.wrong(errors::declared_type, v.name, "initializer",
                           format_text("it is {} and is declared as {}", to_string(own), to_string(declared)));
}

template <class T>
void onnx_values<T>::make_inputs() {
    for (auto const* list : {&model_.graph.inputs, &model_.graph.values})
        for (auto const& v : *list) check_weight(v);
    for (auto const* v : symbols_.signature()) {
        auto const type = type_of(*v);
        for (auto const& d : v->dims)
            if (d.size < -1 || d.size > max_size)
                diagnostics_.wrong(errors::declared_type, v->name, "input", format_text("a dimension of {}", d.size));
        if (!type.elements() && type.is_static())
            diagnostics_.wrong(errors::model_limit, v->name, "input", "more than 2^62 elements");
        auto const* const given = bindings_.value_of(v->name);
        values_[v->name] = given ? builder_.constant(*given, v->name) : graph_.add_input(type, v->name);
        remember_if_foreign(*v);
    }
    for (auto const& v : model_.graph.outputs) remember_if_foreign(v);
}

template <class T>
void onnx_values<T>::make_captured(captured_value const& c) {
    auto const v = c.known ? builder_.constant(*c.known, c.name) : graph_.add_input(c.type, c.name);
    if (c.elements && !c.known) builder_.set_known(v, *c.elements);
    values_[c.name] = v;
}

template <class T>
captured_value onnx_values<T>::captured(std::string_view name, value_id v) const {
    captured_value c{name, graph_.type_of(v), nullptr, builder_.known_elements(v)};
    if (graph_.is<ops::constant>(v.node) &&
        graph_.constant_data(v.node).elements() <= static_cast<std::int64_t>(max_known_elements))
        c.known = &graph_.constant_data(v.node);
    return c;
}

template <class T>
void onnx_values<T>::bind(onnx_value const& input, value_id v) {
    auto const declared = dtype_of_onnx(input.data_type);
    auto const element = graph_.type(v).element;
    if (declared && element != dtype::undefined && *declared != element)
        diagnostics_.wrong(
            errors::declared_type, input.name, "input",
            format_text("it is declared as {} and is given {}", to_string(*declared), to_string(graph_.type(v))));
    values_[input.name] = v;
    remember_if_foreign(input);
}

template <class T>
std::optional<bool> onnx_values<T>::known_truth(value_id v) const {
    if (!v.valid()) return std::nullopt;
    if (auto const* k = builder_.known(v); k && k->size() == 1 && (*k)[0].fixed) return (*k)[0].value != 0;
    if (!graph_.is<ops::constant>(v.node)) return std::nullopt;
    auto const& t = graph_.constant_data(v.node);
    if (t.element() != dtype::boolean || t.elements() != 1) return std::nullopt;
    return t.data<bool>()[0];
}

// What the file says of a result of an unknown operator.
template <class T>
type_id onnx_values<T>::declared_type(std::string_view name) {
    auto const* v = name.empty() ? nullptr : symbols_.declaration(name); // a result that nobody reads has no name
    if (!v) return {};
    remember_if_foreign(*v);
    return type_of(*v);
}

template <class T>
void onnx_values<T>::remember_if_foreign(onnx_value const& v) {
    if (!v.type.empty() && !dtype_of_onnx(v.data_type)) foreign_.emplace(v.name, v.type);
}

template <class T>
value_id onnx_values<T>::value(std::string_view name) {
    if (auto const known = values_.find(name); known != values_.end()) return known->second;
    auto const* t = symbols_.initializer(name);
    if (!t) return {};
    value_id made;
    try {
        made = builder_.constant(tensors_.read(*t), name);
    } catch (not_supported const& e) {
        // Kept as an opaque Constant node, which holds the whole tensor.
        made = opaque_constant(*t, name, e.what.reason);
    } catch (error const& e) {
        for (auto const& p : e.problems())
            diagnostics_.wrong(p.id, name, "initializer",
                               p.node.empty() ? p.reason : format_text("{}: {}", quoted{p.node}, p.reason), p.hint);
        made = graph_.add_input(type_id{}, {}); // something to go on with, which fits everywhere
    }
    return values_[name] = made;
}

template <class T>
value_id onnx_values<T>::opaque_constant(onnx_tensor const& t, std::string_view name, std::string const& reason) {
    std::string whole{t.message};
    if (t.length > 0 && t.length <= std::min<std::uint64_t>(options_.limits.max_tensor_bytes, 1 << 30)) {
        std::string raw(t.length, '\0');
        model_.file->read(t.offset, std::as_writable_bytes(std::span{raw}));
        wire_writer{whole}.bytes(9, raw);
    } else if (t.external || t.length > 0) {
        diagnostics_.wrong(
            errors::element_type, name, "initializer",
            format_text("element type number {} with elements in a file of their own or beyond 1 GiB", t.data_type));
        return graph_.add_input(type_id{}, {});
    }
    std::string node;
    wire_writer w{node};
    w.bytes(4, "Constant");
    w.message(5, [&](wire_writer& a) {
        a.bytes(1, "value").bytes(5, whole).integer(20, static_cast<std::int64_t>(onnx_attribute_type::tensor));
    });
    auto const n = add_opaque({.domain = "", .op_type = "Constant", .reason = reason}, node, {}, {&name, 1});
    graph_.set_name({n, 0}, name);
    return {n, 0};
}

template <class T>
node_id onnx_values<T>::add_opaque(attributes_of<ops::opaque> const& attributes, std::string_view node,
                                   std::span<value_id const> operands, std::span<std::string_view const> results,
                                   std::span<type_id const> known) {
    std::vector<type_id> types;
    for (auto name : results) {
        types.push_back(declared_type(name));
        if (types.back() == type_id{} && types.size() <= known.size()) types.back() = known[types.size() - 1];
    }
    auto blob = tensor::from<std::uint8_t>(ints{static_cast<std::int64_t>(node.size())},
                                           std::span{reinterpret_cast<std::uint8_t const*>(node.data()), node.size()});
    return graph_.add_opaque(attributes, std::move(blob), operands, types);
}

template <class T>
value_id onnx_values<T>::folded(value_id v, std::size_t results) {
    auto const* known = builder_.known(v);
    auto const& type = graph_.type(v);
    if (!known || results != 1 || graph_.is<ops::constant>(v.node) ||
        !(is_integer(type.element) || type.element == dtype::boolean) || !type.is_static())
        return v;
    auto t = tensor::uninitialized(dtype::i64, type.sizes());
    if (static_cast<std::size_t>(t.elements()) != known->size()) return v;
    for (std::size_t i = 0; i < known->size(); ++i) {
        if (!(*known)[i].fixed) return v;
        t.mutable_data<std::int64_t>()[i] = (*known)[i].value;
    }
    return builder_.constant(t.converted_to(type.element));
}

template <class T>
void onnx_values<T>::make_outputs() {
    std::vector<value_id> outputs;
    std::vector<std::string> names;
    for (auto const& v : model_.graph.outputs) {
        auto const made = value(v.name);
        if (!made.valid()) continue; // already a problem
        auto const declared = type_of(v);
        if (!compatible(graph_.type(made), declared))
            diagnostics_.note(format_text("output {} is declared as {} and is {}", quoted{v.name}, to_string(declared),
                                          to_string(graph_.type(made))));
        outputs.push_back(made);
        names.emplace_back(v.name);
    }
    auto info = graph_.info();
    for (auto const& [name, type] : foreign_) info.foreign_types.emplace_back(name, type);
    graph_.set_info(std::move(info));
    graph_.set_outputs(outputs, names);
}

} // namespace gsub::io::detail
