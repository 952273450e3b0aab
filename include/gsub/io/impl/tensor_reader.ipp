#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/not_supported.hpp>
#include <gsub/io/impl/tensor_reader.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/io/protobuf.hpp>

#include <cstring>

namespace gsub::io::detail {

// Of `TensorProto.DataType`, types that gsub does not compute with among them.
inline constexpr std::int64_t last_element_type = 28;

template <class T>
tensor tensor_reader<T>::read(onnx_tensor const& t) {
    for (auto d : t.dims)
        if (d < 0) malformed(format_text("a negative dimension in {}", to_string(attribute_value{t.dims})));
    auto const element = dtype_of_onnx(t.data_type);
    if (t.data_type < 1 || t.data_type > last_element_type)
        malformed(format_text("element type number {}; ONNX has 1 to {}", t.data_type, last_element_type));
    if (!element)
        throw not_supported{
            {errors::element_type, std::string{t.name}, {}, format_text("element type number {}", t.data_type), {}}};
    auto const count = checked_product(t.dims);
    if (!count || static_cast<std::uint64_t>(*count) > options_.limits.max_tensor_bytes / byte_size(*element))
        throw error{errors::model_limit,
                    format_text("a tensor of dimensions {} exceeds the limit of {} bytes",
                                to_string(attribute_value{t.dims}), options_.limits.max_tensor_bytes)};
    auto const needed = static_cast<std::uint64_t>(*count) * byte_size(*element);
    auto const sources = int{t.has_raw} + int{t.typed_elements > 0} + int{t.external};
    if (sources > 1) malformed("elements are given in more than one way");
    if (t.external) return read_external(t, *element, needed);
    if (t.has_raw) return read_raw(t, *element, needed);
    if (t.typed_elements == 0 && *count == 0) return tensor::zeros(*element, t.dims);
    return read_typed(t, *element, static_cast<std::size_t>(*count));
}

template <class T>
void tensor_reader<T>::check_length(std::uint64_t given, std::uint64_t needed, ints const& dims) {
    if (given != needed)
        malformed(format_text("{} bytes of elements for dimensions {}; {} are needed", given,
                              to_string(attribute_value{dims}), needed));
}

template <class T>
tensor tensor_reader<T>::finish(tensor t) {
    if (t.element() == dtype::boolean)
        for (auto& b : t.mutable_raw()) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
    return t;
}

template <class T>
tensor tensor_reader<T>::read_raw(onnx_tensor const& t, dtype element, std::uint64_t needed) const {
    check_length(t.length > 0 ? t.length : t.raw.size(), needed, t.dims);
    if (t.length > 0) return from_file(*model_.file, t.offset, element, t.dims, needed);
    auto out = uninitialized(element, t.dims, needed);
    if (needed > 0) std::memcpy(out.mutable_raw().data(), t.raw.data(), t.raw.size());
    return finish(std::move(out));
}

template <class T>
tensor tensor_reader<T>::uninitialized(dtype element, ints const& dims, std::uint64_t needed) {
    return needed >= large ? tensor::in_pages(element, dims) : tensor::uninitialized(element, dims);
}

template <class T>
tensor tensor_reader<T>::from_file(input_file const& file, std::uint64_t offset, dtype element, ints const& dims,
                                   std::uint64_t needed) const {
    // An odd offset cannot be borrowed: elements must be aligned. Each tensor has a mapping of its own, which goes
    // with it.
    if (options_.map && needed >= large && element != dtype::boolean && offset % byte_size(element) == 0) {
        auto const mapped = file.map(offset, needed);
        return tensor::borrowed(element, dims, mapped->data(), mapped);
    }
    auto out = uninitialized(element, dims, needed);
    file.read(offset, out.mutable_raw());
    return finish(std::move(out));
}

template <class T>
tensor tensor_reader<T>::read_external(onnx_tensor const& t, dtype element, std::uint64_t needed) {
    if (!path_) malformed("external data of a model that is in memory; load the file by its path");
    if (t.has_external_length) check_length(t.external_length, needed, t.dims);
    if (!folder_) folder_ = folder::of(*path_).value();
    auto found = files_.find(t.location);
    if (found == files_.end()) found = files_.emplace(t.location, folder_->open(t.location).value()).first;
    auto const& file = found->second;
    if (t.external_offset > file.size() || needed > file.size() - t.external_offset)
        malformed(format_text("external data at {} with {} bytes in {}, which has {}", t.external_offset, needed,
                              quoted{t.location}, file.size()));
    return from_file(file, t.external_offset, element, t.dims, needed);
}

// The field of a `TensorProto` for the elements of a type.
constexpr std::uint32_t typed_field(dtype element) {
    struct row {
        dtype element;
        std::uint32_t field;
    };
    for (auto const& r :
         {row{dtype::f32, 4}, row{dtype::i64, 7}, row{dtype::f64, 10}, row{dtype::u32, 11}, row{dtype::u64, 11}})
        if (r.element == element) return r.field;
    return 5; // int32_data, which has 16-bit floats as their bits
}

template <class T>
tensor tensor_reader<T>::read_typed(onnx_tensor const& t, dtype element, std::size_t count) {
    if (t.typed_elements != count)
        malformed(format_text("{} elements for dimensions {}; {} are needed", t.typed_elements,
                              to_string(attribute_value{t.dims}), count));
    auto out = tensor::uninitialized(element, t.dims);
    auto const field = typed_field(element);
    auto* to = out.mutable_raw().data();
    auto const item = byte_size(element);
    auto const append = [&](auto v) {
        std::memcpy(to, &v, item); // of integers the low bytes, which come first
        to += item;
    };
    for (wire_reader r{t.message}; r.next();) {
        if ((r.field() < 4 || r.field() > 7) && r.field() != 10 && r.field() != 11) continue;
        if (r.field() != field)
            malformed(format_text("elements in field {} of element type {}", r.field(), to_string(element)));
        if (element == dtype::f32)
            r.each_float(append);
        else if (element == dtype::f64)
            r.each_double(append);
        else
            r.each_integer([&](std::int64_t v) { append(element == dtype::boolean ? std::int64_t{v != 0} : v); });
    }
    return out;
}

} // namespace gsub::io::detail
