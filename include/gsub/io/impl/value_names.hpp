// value_names: the names that the values of a graph get in a file.
#pragma once

#include <gsub/io/impl/unique_names.hpp>
#include <gsub/ir/graph.hpp>

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gsub::io::detail {

/// Names of the values of a graph. Inputs, outputs and captured names are fixed; the rest keeps its name where that is
/// free.
template <class = void>
class value_names {
public:
    value_names(any_graph const& g, unique_names<>& unique) : g_(g), unique_(unique) {}

    /// Names the inputs of a branch after the values that they capture, and its constant outputs.
    void bind_captured(std::span<std::string const> captured);
    /// Names all that has a name or must have one.
    void assign(bool in_branch);

    /// Name of a value, given now where it had none.
    std::string const& operator()(value_id v);
    [[nodiscard]] std::string const& output(std::size_t i) const { return outputs_[i]; }
    /// Values of a node that need a copy, and the names of the copies.
    [[nodiscard]] std::span<std::pair<value_id, std::string> const> copies(node_id n) const;

private:
    void fix(value_id v, std::string name);

    any_graph const& g_;
    unique_names<>& unique_;
    std::map<value_id, std::string> names_;
    std::vector<std::string> outputs_;
    std::map<node_id, std::vector<std::pair<value_id, std::string>>> copies_; // by the source's node
    std::unordered_map<std::string, value_id> copied_;                        // by the copy's name
};

} // namespace gsub::io::detail
