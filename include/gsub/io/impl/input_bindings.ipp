#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/input_bindings.hpp>

#include <algorithm>

namespace gsub::io::detail {

template <class T>
void input_bindings<T>::read(std::span<onnx_value const* const> inputs) {
    inputs_ = inputs;
    for (auto const& [name, size] : options_.dims)
        if (has_dim(name))
            set(name, size, "dimension", name);
        else
            wrong(name, "dimension", format_text("no input has a dimension of this name; there are {}", dim_names()));
    for (auto const& [name, sizes] : options_.shapes)
        if (auto const* v = input(name)) take(*v, sizes);
    for (auto const& [name, value] : options_.values)
        if (auto const* v = input(name)) take(*v, value);
}

template <class T>
void input_bindings<T>::wrong(std::string_view name, std::string_view what, std::string reason) {
    diagnostics_.wrong(errors::input_binding, name, what, std::move(reason));
}

template <class T>
onnx_value const* input_bindings<T>::input(std::string_view name) {
    auto const found = std::ranges::find(inputs_, name, &onnx_value::name);
    if (found != inputs_.end()) return *found;
    std::string names;
    for (auto const* v : inputs_) names += format_text("{}{}", names.empty() ? "" : ", ", quoted{v->name});
    wrong(name, "input", format_text("there is no such input; there are {}", names.empty() ? "none" : names));
    return nullptr;
}

template <class T>
bool input_bindings<T>::has_dim(std::string_view name) const {
    return std::ranges::any_of(
        inputs_, [&](auto const* v) { return std::ranges::find(v->dims, name, &onnx_dim::name) != v->dims.end(); });
}

template <class T>
std::string input_bindings<T>::dim_names() const {
    std::string names;
    for (auto const* v : inputs_)
        for (auto const& d : v->dims)
            if (auto const name = format_text("{}", quoted{d.name});
                !d.name.empty() && names.find(name) == std::string::npos)
                names += format_text("{}{}", names.empty() ? "" : ", ", name);
    return names.empty() ? "none" : names;
}

template <class T>
void input_bindings<T>::set(std::string_view dim, std::int64_t size, std::string_view what, std::string_view of) {
    if (size < 0) return wrong(of, what, format_text("a dimension of {}", size));
    if (auto const [known, fresh] = sizes_.emplace(dim, size); !fresh && known->second != size)
        wrong(of, what, format_text("dimension {} is {} and {}", quoted{dim}, known->second, size));
}

template <class T>
void input_bindings<T>::take(onnx_value const& v, std::span<std::int64_t const> sizes) {
    if (!v.is_tensor) return wrong(v.name, "input", "it is no tensor");
    if (v.has_shape && v.dims.size() != sizes.size())
        return wrong(v.name, "input", format_text("{} sizes for {} dimensions", sizes.size(), v.dims.size()));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] < 0) return wrong(v.name, "input", format_text("a dimension of {}", sizes[i]));
        if (!v.has_shape) continue;
        auto const& d = v.dims[i];
        if (d.size >= 0 && d.size != sizes[i])
            return wrong(v.name, "input", format_text("dimension {} is {}, not {}", i, d.size, sizes[i]));
        if (d.size < 0 && !d.name.empty()) set(d.name, sizes[i], "input", v.name);
    }
    shapes_[v.name] = ints(sizes.begin(), sizes.end());
}

template <class T>
void input_bindings<T>::take(onnx_value const& v, tensor value) {
    auto const element = dtype_of_onnx(v.data_type);
    if (!v.is_tensor || !element) return wrong(v.name, "input", "it is no tensor of numbers");
    if (value.element() != *element) {
        auto const whole = value.element() == dtype::i64;
        auto const made = whole ? value.converted_to(*element) : value;
        if (!whole || made.converted_to(dtype::i64).hash() != value.hash())
            return wrong(v.name, "input", format_text("{} is no value of {}", to_string(value), to_string(*element)));
        value = made;
    }
    // One number is a vector of one, where that is asked for, and the other way round.
    if (v.has_shape && value.elements() == 1 && v.dims.size() <= 1)
        value = value.reshaped(v.dims.empty() ? ints{} : ints{1});
    take(v, value.dims());
    values_.insert_or_assign(v.name, std::move(value));
}

} // namespace gsub::io::detail
