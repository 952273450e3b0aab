// Forward declarations, for headers of embedders that only pass gsub's types along.
#pragma once

#include <cstdint>

namespace gsub {

class any_graph;
class error;
class executor;
class graph_builder;
class graph_patch;
class match;
class module;
class node_sink;
class observer;
class tensor;
class type_id;
struct dialect;
struct optimize_options;
struct optimize_report;
struct rule_program;
struct standard_ops;
struct target;
struct tensor_type;
enum class dtype : std::uint8_t;
enum class error_code : int;

template <class T>
class result;
template <class OpSet>
class basic_graph;
template <class OpSet>
struct optimized;

using graph = basic_graph<standard_ops>;

namespace io {
struct load_options;
struct save_options;
} // namespace io

namespace cost {
struct any_cost;
struct roofline;
} // namespace cost

} // namespace gsub
