// initializer_pool: the weights of a model that is written.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/io/file.hpp>
#include <gsub/io/impl/options_fwd.hpp>
#include <gsub/io/impl/unique_names.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/types/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gsub::io::detail {

/// Initializers of a model and its branches. Elements are written from where they are.
template <class = void>
class initializer_pool {
public:
    void add(std::string name, std::shared_ptr<constant_blob const> const& blob);
    /// Adds a setting and gives its name. Equal ones are written once.
    std::string const& add_small(tensor const& t, unique_names<>& names);
    /// Moves large ones to a file of this name.
    void place_externally(std::string const& data_name, save_options const& options);

    [[nodiscard]] bool has_external() const noexcept { return external_; }
    /// Bytes of all in the message of the graph.
    [[nodiscard]] std::uint64_t message_bytes() const;
    /// Calls `text(string_view)` and `raw(span)` with the pieces of that message, in order.
    template <class Text, class Raw>
    void write(Text&& text, Raw&& raw) const;
    /// Writes the elements that have a file of their own.
    void write_external(output_file& out) const;

private:
    struct initializer {
        std::string name, fields; // all fields but the elements
        tensor data;
        bool external = false;
    };
    static std::uint64_t size(initializer const& t);

    std::vector<initializer> initializers_;
    std::unordered_map<hash128, std::uint32_t> small_; // to initializers
    bool external_ = false;
};

} // namespace gsub::io::detail
