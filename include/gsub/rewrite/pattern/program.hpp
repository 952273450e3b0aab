// Match programs: rules lowered to flat data, which one matcher and one builder execute.
#pragma once

#include <gsub/core/meta.hpp>
#include <gsub/core/strong.hpp>
#include <gsub/ir/ops/op.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace gsub {

class match;
class rewrite;

namespace pattern {

/// Hash of the name of a variable or label; 0 is no name.
using name_hash = std::uint64_t;

enum class node_kind : std::uint8_t {
    variable,   ///< any value
    optional,   ///< any value, or an operand left out
    operation,  ///< an application of one operator
    category,   ///< an application of any operator of a category with as many operands as the node has children
    each,       ///< all operands of a variadic operator, each matched by the child
    part,       ///< inside of `every_part`: the part at hand
    all_parts,  ///< all operands of a variadic operator: every part of the split that is the child, each once, in any
                ///< order
    every_part, ///< child 0: a split; child 1: what reads each of its parts. Stands for all the readers' results
    some,       ///< one of the values of a name that is bound inside of `each`
    computed,   ///< replacement only: made by a function
};

/// A node of a lowered pattern or replacement. Children are entries of the program's list of links.
struct node {
    node_kind kind = node_kind::variable;
    op_category category = op_category::elementwise;
    bool commutative = false;
    bool context = false; ///< a root that is matched and stays
    bool apart = false;   ///< a sum whose operands may be any two terms of a longer one
    op_id op{};
    name_hash name = 0;      ///< of the variable or label
    std::string_view text{}; ///< the name as written
    std::uint16_t first_link = 0, links = 0;
    std::uint16_t results = 1;
    std::uint16_t port = 0; ///< which result of a matched operator, or of the one that a variable's name labels
    attributes_id (*attributes)(match const&) = nullptr; ///< replacement: attributes of a new operator
    value_id (*compute)(rewrite&) = nullptr;             ///< of kind `computed`
};

} // namespace pattern

/// A condition of a rule: a predicate and its sentence.
struct rule_condition {
    std::string_view sentence;
    bool (*holds)(match const&) = nullptr;
};

/// Kind of a rule: when it takes part.
enum class rule_kind : std::uint8_t {
    atomic,   ///< one law
    macro,    ///< several atomic rules in one step
    internal, ///< only opens up others; off unless named
    timed,    ///< may pay or not, which only measured times tell; off unless named or costs are measured
};

/// Match program: a rule as flat data. Spans point into the rule object, which has static storage or outlives its
/// users.
struct rule_program {
    std::string_view name;
    std::string_view source; ///< where the law is stated
    rule_kind kind = rule_kind::atomic;
    std::span<pattern::node const> match_nodes;
    std::span<std::uint16_t const> match_links;
    std::span<std::uint16_t const> roots; ///< numbers of match nodes; the first is the anchor
    std::span<pattern::node const> build_nodes;
    std::span<std::uint16_t const> build_links;
    std::span<std::uint16_t const> outputs; ///< numbers of build nodes, one a replaced root
    void (*build)(rewrite&) = nullptr;      ///< instead of build nodes
    std::span<rule_condition const> where;  ///< soundness: dropping one makes the rule wrong
    std::span<rule_condition const> prefer; ///< search hints: when it may pay
    void const* data = nullptr;             ///< of a rule made at run time: what its functions read
    std::uint64_t data_hash = 0;            ///< of `data`
};

} // namespace gsub
