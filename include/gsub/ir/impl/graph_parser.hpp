// graph_parser: the parser of graphs in the textual IR.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/ir/impl/text_reader.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gsub {
struct text_limits;
} // namespace gsub

namespace gsub::detail {

/// The results of a node as its line declares them, all lists of one length.
struct declared_results {
    std::vector<std::int64_t> numbers;
    std::vector<std::string> names; // empty: none
    std::vector<type_id> types;
};

/// A node as it is read, whose operands are there.
struct parsed_node {
    std::uint16_t row = 0;
    std::vector<value_id> operands;
    attributes_id attributes;
    std::vector<type_id> types; // of its results
};

/// Parses a graph, node by node. *Errors* throws `error`.
template <class = void>
class graph_parser {
public:
    graph_parser(text_reader<>& in, dialect const& d, text_limits const& limits) : in_(in), limits_(limits), g_(d) {}

    /// The graph that comes next, with its name. Called once.
    any_graph parse();

private:
    graph_info parse_info();
    void parse_node();
    void parse_outputs(graph_info info);

    declared_results parse_results();
    std::uint16_t parse_operator();
    std::vector<value_id> parse_operands(op_info const& op);
    attributes_id parse_attributes(op_info const& op);
    attribute_value parse_attribute(attribute_kind kind);
    tensor_type parse_type();
    tensor parse_blob(parsed_node const& n);
    value_id parse_reference();
    void append(parsed_node const& n);
    void check_types(parsed_node const& n);

    text_reader<>& in_;
    text_limits const& limits_;
    any_graph g_;
    std::map<std::int64_t, value_id> values_; // by number
};

} // namespace gsub::detail
