// input_bindings: sizes and values that the caller gives to inputs of a model.
#pragma once

#include <gsub/io/impl/import_diagnostics.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/io/onnx_model.hpp>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace gsub::io::detail {

/// What the caller says of inputs, held against what the file says of them. A size of one input is that of each
/// dimension of the same name.
template <class = void>
class input_bindings {
public:
    input_bindings(load_options const& options, import_diagnostics<>& diagnostics)
        : options_(options), diagnostics_(diagnostics) {}

    /// Reads what is said; what does not fit is a problem (`usage`).
    void read(std::span<onnx_value const* const> inputs);

    /// Size of a dimension of an input, or of a name: the file's own, or one that is given; -1 where there is none.
    [[nodiscard]] std::int64_t size_of(onnx_value const& v, std::size_t i) const {
        auto const& d = v.dims[i];
        if (d.size >= 0) return d.size;
        if (auto const of_name = sizes_.find(d.name); !d.name.empty() && of_name != sizes_.end())
            return of_name->second;
        auto const* const given = sizes_of(v.name);
        return given ? (*given)[i] : -1;
    }
    /// Sizes that are given to an input, or null.
    [[nodiscard]] ints const* sizes_of(std::string_view name) const {
        auto const found = shapes_.find(name);
        return found == shapes_.end() ? nullptr : &found->second;
    }
    /// The value of an input, or null.
    [[nodiscard]] tensor const* value_of(std::string_view name) const {
        auto const found = values_.find(name);
        return found == values_.end() ? nullptr : &found->second;
    }

private:
    void wrong(std::string_view name, std::string_view what, std::string reason);
    onnx_value const* input(std::string_view name);
    [[nodiscard]] bool has_dim(std::string_view name) const;
    [[nodiscard]] std::string dim_names() const;
    void set(std::string_view dim, std::int64_t size, std::string_view what, std::string_view of);
    void take(onnx_value const& v, std::span<std::int64_t const> sizes);
    void take(onnx_value const& v, tensor value);

    load_options const& options_;
    import_diagnostics<>& diagnostics_;
    std::span<onnx_value const* const> inputs_;
    std::map<std::string_view, std::int64_t> sizes_; // by the name of a dimension
    std::map<std::string_view, ints> shapes_;        // by that of an input, as are
    std::map<std::string_view, tensor> values_;
};

} // namespace gsub::io::detail
