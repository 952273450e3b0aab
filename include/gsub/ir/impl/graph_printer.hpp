// graph_printer: the printer of graphs in the textual IR.
#pragma once

#include <gsub/ir/graph.hpp>

#include <cstddef>
#include <map>
#include <string>

namespace gsub {
struct text_options;
} // namespace gsub

namespace gsub::detail {

/// Prints a graph, one line a node.
template <class = void>
class graph_printer {
public:
    graph_printer(any_graph const& g, text_options const& options) : g_(g), options_(options) {}

    /// The text of the graph. Called once.
    std::string print();

private:
    void print_info();
    void print_node(node_id n);
    void print_return();

    void print_results(node_id n);
    void print_operator(node_id n);
    void print_attributes(node_id n);
    void print_blob(node_id n);
    void print_sources(node_id n);
    [[nodiscard]] std::string reference(value_id v) const;
    [[nodiscard]] static std::string type_text(tensor_type const& t);

    any_graph const& g_;
    text_options const& options_;
    std::map<value_id, std::size_t> numbers_; // of values, in the order of print
    std::string out_;
};

} // namespace gsub::detail
