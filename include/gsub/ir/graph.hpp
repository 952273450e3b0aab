// Graph: nodes in topological order with explicit uses; a value that is cheap to copy.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/strong.hpp>
#include <gsub/ir/node_sink.hpp>
#include <gsub/ir/ops/op.hpp>
#include <gsub/ir/types/tensor.hpp>

#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub {

/// Use of a value: a node that reads it, and as which operand.
struct use {
    node_id user;
    std::uint32_t operand = 0;
    friend constexpr bool operator==(use, use) = default;
};

/// Graph metadata: what a file says beyond the nodes. Kept for export.
struct graph_info {
    std::string name;
    std::vector<std::string> output_names;
    std::vector<std::pair<std::string, std::int64_t>>
        domains; ///< version of each operator domain that opaque nodes need
    std::vector<std::pair<std::string, std::string>> metadata; ///< key and value
    std::vector<std::string> functions;                        ///< serialised functions that opaque nodes may call
    /// Inputs and outputs of types that gsub does not compute with, and the serialised type of each.
    std::vector<std::pair<std::string, std::string>> foreign_types;
};

/// Constant of a pool: a tensor and its hash, computed when first asked for.
class constant_blob {
public:
    explicit constant_blob(tensor t) : data_(std::move(t)) {}
    [[nodiscard]] tensor const& data() const noexcept { return data_; }
    [[nodiscard]] hash128 hash() const;

private:
    tensor data_;
    mutable std::atomic<bool> hashed_{false};
    mutable std::atomic<std::uint64_t> high_{0}, low_{0}; // racing threads store the same words
};

/// Nodes that a rewrite changed, relative to the graph before it; ids of other nodes are as they were.
struct changed_nodes {
    std::span<node_id const> values;  ///< that are new or read other values
    std::span<node_id const> readers; ///< that have gained or lost a reader
};

/// Graph: the body of a function, nodes of some dialect. A copy copies flat arrays and shares constants, names and
/// attributes. Node ids are stable under all changes but `compact`. *Complexity* as stated, n nodes, e operands.
class any_graph : public node_sink {
public:
    /// An empty graph.
    explicit any_graph(dialect const& d);
    any_graph(any_graph const& other);
    any_graph(any_graph&&) = default;
    any_graph& operator=(any_graph const& other);
    any_graph& operator=(any_graph&&) = default;
    ~any_graph() override = default;

    // ---- construction ------------------------------------------------------------------------------------------
    value_id add_input(type_id type, std::string_view name);
    value_id add_constant(tensor value, std::string_view name = {});
    /// Adds a constant that another graph holds: `add_constant(from.blob(n))`. Its hash is not computed again.
    value_id add_constant(std::shared_ptr<constant_blob const> shared, std::string_view name = {});
    /// Adds an opaque node, of an operator that gsub does not know. `blob` holds the node as it was in the file.
    node_id add_opaque(attributes_of<ops::opaque> const& attributes, tensor blob, std::span<value_id const> operands,
                       std::span<type_id const> results);
    /// Declares the graph's results, in order. `names` as in `info().output_names`, may be shorter.
    void set_outputs(std::span<value_id const> values, std::span<std::string const> names = {});
    void set_info(graph_info info) { info_ = std::make_shared<graph_info const>(std::move(info)); }
    void set_name(value_id value, std::string_view name);
    /// Records the source node that a node comes from.
    void set_source(node_id node, std::string_view name);
    void set_sources(node_id node, std::span<std::string const> names);
    /// Adds the sources of `nodes` to those of a node, for reports: it stands for all of them.
    void inherit_sources(node_id node, std::span<node_id const> nodes);

    // ---- nodes -------------------------------------------------------------------------------------------------
    /// Live nodes, each after its operands; the return node is the last.
    [[nodiscard]] std::span<node_id const> order() const noexcept { return as_span(order_); }
    /// Place of a live node in the order.
    [[nodiscard]] std::size_t place(node_id n) const noexcept { return places_[n.index]; }
    /// Number of live nodes, inputs and constants and the return node included.
    [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
    /// Ids run from 0 to `capacity() - 1`; those of erased nodes are not live.
    [[nodiscard]] std::size_t capacity() const noexcept { return nodes_.size(); }
    /// Memory of this copy in bytes: without what it shares with others, and without elements of constants.
    [[nodiscard]] std::uint64_t own_bytes() const noexcept;
    [[nodiscard]] bool live(node_id n) const noexcept { return n.index < nodes_.size() && !(record(n).flags & erased); }
    [[nodiscard]] std::uint16_t row(node_id n) const noexcept { return record(n).row; }
    [[nodiscard]] op_info const& op(node_id n) const noexcept { return operators().ops[record(n).row]; }
    template <operation Op>
    [[nodiscard]] bool is(node_id n) const noexcept {
        return record(n).op == id_of<Op>;
    }
    [[nodiscard]] attributes_id attributes(node_id n) const noexcept { return record(n).attributes; }
    /// *Requires* `is<Op>(n)`.
    template <operation Op>
    [[nodiscard]] attributes_of<Op> const& attributes(node_id n) const {
        GSUB_ASSERT(is<Op>(n), "attributes<Op>(n) of a node that is no Op");
        static attributes_of<Op> const defaults{};
        auto const* typed = static_cast<attributes_of<Op> const*>(record(n).attributes.typed());
        return typed ? *typed : defaults;
    }
    /// Whether the node's results depend on no input: weights and arithmetic on weights.
    [[nodiscard]] bool constant(node_id n) const noexcept { return record(n).flags & is_constant; }
    [[nodiscard]] bool constant(value_id v) const noexcept { return constant(v.node); }
    /// The tensor of a constant, or the blob of an opaque node.
    [[nodiscard]] tensor const& constant_data(node_id n) const noexcept {
        return (*constants_)[record(n).payload]->data();
    }
    /// Releases the elements of a constant, which are freed where no other graph shares them. *Requires* that nobody
    /// asks for them any more, through this node or another that shares them.
    void release_constant(node_id n);
    /// Position of an input in the signature.
    [[nodiscard]] std::size_t input_position(node_id n) const noexcept { return record(n).payload; }

    // ---- values ------------------------------------------------------------------------------------------------
    [[nodiscard]] std::size_t operand_count(node_id n) const noexcept { return record(n).operands; }
    /// Operand i; invalid where it is left out or beyond the last.
    [[nodiscard]] value_id operand(node_id n, std::size_t i) const noexcept {
        return i < record(n).operands ? slots_[record(n).first_slot + i].value : value_id{};
    }
    [[nodiscard]] small_vector<value_id, 6> operands(node_id n) const;
    [[nodiscard]] std::size_t result_count(node_id n) const noexcept { return record(n).results; }
    [[nodiscard]] type_id type_of(value_id v) const override { return results_[result_index(v)].type; }
    [[nodiscard]] tensor_type const& type(value_id v) const { return *type_of(v); }
    [[nodiscard]] bool used(value_id v) const noexcept { return results_[result_index(v)].first_use != none; }
    [[nodiscard]] bool used(node_id n) const noexcept;
    /// Calls `f(use)` for each use of a value, outputs of the graph included, latest first, until it returns false.
    template <class F>
    void for_each_use(value_id v, F&& f) const {
        for (auto s = results_[result_index(v)].first_use; s != none; s = slots_[s].next) {
            auto const user = node_id{slots_[s].user};
            if constexpr (std::is_same_v<decltype(f(use{})), bool>) {
                if (!f(use{user, s - record(user).first_slot})) return;
            } else {
                f(use{user, s - record(user).first_slot});
            }
        }
    }
    [[nodiscard]] std::size_t use_count(value_id v) const noexcept;
    [[nodiscard]] std::span<node_id const> inputs() const noexcept { return as_span(inputs_); }
    [[nodiscard]] node_id return_node() const noexcept { return {0}; }
    [[nodiscard]] std::size_t output_count() const noexcept { return operand_count(return_node()); }
    [[nodiscard]] value_id output(std::size_t i) const noexcept { return operand(return_node(), i); }

    // ---- names and provenance ----------------------------------------------------------------------------------
    [[nodiscard]] graph_info const& info() const noexcept { return *info_; }
    /// Name of a value in the source file, empty for those that a rewrite made.
    [[nodiscard]] std::string_view name(value_id v) const noexcept { return text(results_[result_index(v)].name); }
    /// Names of the source nodes that a node stands for, in order of first mention.
    [[nodiscard]] std::vector<std::string> sources(node_id n) const;
    /// Display name in reports and errors: the first source name or first result's name, else operator and id.
    [[nodiscard]] std::string display_name(node_id n) const;

    // ---- identity ----------------------------------------------------------------------------------------------
    /// Structural hash: equal for graphs that differ in ids, names and insertion order only. Operands of commutative
    /// operators count unordered. *Complexity* O(1) after `rehash` without a later change, else O(n + e).
    [[nodiscard]] hash128 hash() const;
    /// Structural hash of a node and all that it depends on.
    [[nodiscard]] hash128 hash(node_id n) const;
    /// Brings the stored hashes up to date. *Complexity* O(n) plus the cone downstream of what has changed.
    void rehash();
    friend bool operator==(any_graph const& a, any_graph const& b) { return a.hash() == b.hash(); }

    // ---- surgery: for patches and passes -------------------------------------------------------------------------
    /// Journal of changes since `start_journal`.
    struct journal {
        std::vector<node_id> added, erased, rewired;
        std::vector<node_id> released; ///< lost a reader that was erased; may be erased too
    };
    void start_journal() {
        journal_.added.clear(), journal_.erased.clear(), journal_.rewired.clear(), journal_.released.clear();
        journalling_ = true;
    }
    [[nodiscard]] journal const& changes() const noexcept { return journal_; }

    /// Replaces every use of `from` by `to`, but not in nodes with ids from `first_exempt` on. A `to` without a name
    /// takes that of `from`.
    void replace_uses(value_id from, value_id to, std::uint32_t first_exempt = none);
    void set_operand(node_id n, std::size_t i, value_id to);
    /// Erases the node if nothing uses it, then its operands' nodes likewise. Inputs and the return node stay.
    void erase_unused(node_id n);
    /// Dead-code elimination: erases every node but inputs from which no output can be reached. *Complexity* O(n + e).
    void erase_dead();
    /// Restores topological order after nodes were appended with ids from `first_new` on and uses were redirected to
    /// them. False, with the order unchanged, where that closed a cycle. *Complexity* O(n).
    [[nodiscard]] bool restore_order(std::uint32_t first_new);
    /// Topological sort: puts operands before users, otherwise keeps the order. False where there is a cycle.
    /// *Complexity* O((n + e) log n).
    [[nodiscard]] bool sort();
    /// Sets the canonical order, which follows from the outputs alone: operands first, in the order of operands,
    /// whatever the order of insertion was. Inputs stand first. *Complexity* O(n + e).
    void order_canonically();
    /// Replaces ids by dense ones in topological order. All ids become invalid.
    void compact();
    /// Appends a node without inference; used by patches, parsers and importers that have the types.
    node_id append_node(std::uint16_t row, attributes_id attributes, std::uint32_t payload,
                        std::span<value_id const> operands, std::span<type_id const> results);
    [[nodiscard]] std::uint32_t add_blob(tensor t);
    /// Adds a tensor that another graph holds; its hash is not computed again.
    [[nodiscard]] std::uint32_t add_blob(std::shared_ptr<constant_blob const> shared);
    /// Payload for a copy of another graph's node; shares its tensor.
    [[nodiscard]] std::uint32_t payload_of_copy(any_graph const& from, node_id n) {
        return from.is<ops::constant>(n) || from.is<ops::opaque>(n) ? add_blob(from.blob(n)) : 0;
    }
    [[nodiscard]] std::uint32_t payload(node_id n) const noexcept { return record(n).payload; }
    [[nodiscard]] std::shared_ptr<constant_blob const> const& blob(node_id n) const {
        return (*constants_)[record(n).payload];
    }

protected:
    GSUB_INLINE value_id append(std::uint16_t row, attributes_id attributes, std::span<value_id const> operands,
                                std::span<type_id const> results) override;
    /// *Errors* throws `error` (`invalid_input`) naming operator and reason.
    GSUB_INLINE void on_ill_typed(std::uint16_t row, std::string_view reason) override;

private:
    static constexpr std::uint32_t none = 0xffffffffu;
    enum node_flags : std::uint16_t { erased = 1, is_constant = 2, dirty = 4 };

    // Four flat arrays of trivially copyable records: a copy of the graph is four memory copies.
    struct node_record {
        op_id op;
        attributes_id attributes;
        std::uint32_t payload; // input position, or number in the constant pool
        std::uint32_t first_slot, operands;
        std::uint32_t first_result, results;
        std::uint32_t origin; // into origins_, or none
        std::uint16_t row, flags;
    };
    struct operand_slot { // the uses of a value form a doubly linked list through these
        value_id value;
        std::uint32_t user, next, previous;
    };
    struct result_record {
        type_id type;
        std::uint32_t first_use, name;
    };
    struct origin_record { // a leaf names a source node, an inner record joins two origins
        std::uint32_t left, right;
    };

    node_record& record(node_id n) noexcept { return nodes_[n.index]; }
    node_record const& record(node_id n) const noexcept { return nodes_[n.index]; }
    std::size_t result_index(value_id v) const noexcept { return record(v.node).first_result + v.port; }
    std::string_view text(std::uint32_t name) const noexcept {
        return name == none ? std::string_view{} : (*names_)[name];
    }
    std::uint32_t add_text(std::string_view text);
    void link(std::uint32_t slot);
    void unlink(std::uint32_t slot);
    void refresh_constness(node_id n);
    void set_order(std::vector<node_id> order);
    void drop_erased(std::size_t first);
    void note_places(std::size_t first);
    void mark_rewired(node_id n);
    hash128 compute_hash(node_id n, std::span<hash128 const> hashes) const;
    hash128 combine_hashes(std::span<hash128 const> hashes) const;
    std::vector<hash128> all_hashes() const;

    std::vector<node_record> nodes_;
    std::vector<operand_slot> slots_;
    std::vector<result_record> results_;
    std::vector<node_id> order_;
    std::vector<std::uint32_t> places_; // by node id, right for live nodes
    std::vector<origin_record> origins_;
    std::vector<node_id> inputs_;
    std::vector<hash128> hashes_; // by node id, right for nodes that are not dirty; empty before the first `rehash`
    hash128 graph_hash_;
    bool hashed_ = false; // whether graph_hash_ is that of the present state
    bool journalling_ = false;
    journal journal_;
    std::shared_ptr<std::vector<std::shared_ptr<constant_blob const>>> constants_;
    std::shared_ptr<std::vector<std::string>> names_;
    std::shared_ptr<graph_info const> info_;
};

/// A graph over a set of operators known at compile time.
template <class OpSet>
class basic_graph : public any_graph {
public:
    using operator_set = OpSet;
    basic_graph() : any_graph(dialect::of<OpSet>()) {}
    /// Takes over a graph. *Requires* that it was made over `OpSet`.
    explicit basic_graph(any_graph&& g) : any_graph(std::move(g)) {
        GSUB_ASSERT(&operators() == &dialect::of<OpSet>(),
                    "basic_graph takes over a graph of its own set of operators");
    }
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/graph.ipp>
#include <gsub/ir/impl/graph_hash.ipp>
#include <gsub/ir/impl/graph_order.ipp>
#include <gsub/ir/impl/graph_uses.ipp>
#include <gsub/ir/ops/impl/decompose.ipp>
#endif
