// ONNX traits: an operator's form in ONNX files, which importer and exporter read.
#pragma once

#include <gsub/core/meta.hpp>
#include <gsub/core/result.hpp>
#include <gsub/io/onnx_model.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace gsub::io {

/// The newest version of ONNX's file format (`ModelProto.ir_version`) that is read.
inline constexpr std::int64_t newest_format = 14;
/// The versions of ONNX's own operator set whose definitions gsub has been compared with.
inline constexpr std::int64_t oldest_opset = 7, newest_opset = 28;

/// ONNX traits: an operator in ONNX files. A specialisation has `since`, the first version of its domain's operator set
/// with a definition that the importer reads, and may have
/// - `static value_id import(onnx_import_context&)`, where attributes are not simply fields of the same names;
/// - `static void write(onnx_export_context&)`, likewise;
/// - `static std::int64_t needed_opset(attributes_of<Op> const&)`, the oldest version that can express the attributes,
///   or `needed_opset(any_graph const&, node_id)` where that depends on element types too.
template <class Op>
struct onnx_traits;

/// Import context: one node on its way from a file to a graph.
class onnx_import_context {
public:
    onnx_import_context(graph_builder& builder, onnx_node const& node, std::int64_t opset,
                        std::vector<value_id> operands, std::size_t results,
                        std::function<tensor(std::string_view)> read_tensor, std::function<bool(std::size_t)> is_read,
                        std::int64_t& constant_budget);

    [[nodiscard]] graph_builder& builder() const noexcept { return *builder_; }
    /// Version of the operator's domain in this model.
    [[nodiscard]] std::int64_t opset() const noexcept { return opset_; }
    [[nodiscard]] std::size_t operands() const noexcept { return operands_.size(); }
    [[nodiscard]] bool has(std::size_t i) const noexcept { return i < operands_.size() && operands_[i].valid(); }
    [[nodiscard]] value_id operand(std::size_t i) const noexcept {
        return i < operands_.size() ? operands_[i] : value_id{};
    }
    [[nodiscard]] std::span<value_id const> all_operands() const noexcept { return as_span(operands_); }
    /// Type of an operand; nothing is known of one that is left out.
    [[nodiscard]] tensor_type const& type(std::size_t i) const {
        return has(i) ? *builder_->type_of(operands_[i]) : *type_id{};
    }
    /// Elements of an integer operand where they are known.
    [[nodiscard]] std::optional<ints> known_ints(std::size_t i) const;
    /// The one element of a constant operand, or nothing.
    [[nodiscard]] std::optional<double> known_number(std::size_t i) const;
    /// Number of results that the node gives names to.
    [[nodiscard]] std::size_t results() const noexcept { return results_; }
    /// Whether a node, or the outside, reads a result.
    [[nodiscard]] bool result_is_read(std::size_t i) const { return is_read_(i); }
    /// Leaves out the results from `count` on, which nothing may read.
    void keep_results(std::size_t count) noexcept { results_ = std::min(results_, count); }
    /// Sets a result to a value of another node than the one that the import returns.
    void give(std::size_t result, value_id v) {
        if (given_.size() <= result) given_.resize(result + 1);
        given_[result] = v;
    }
    /// Values set by `give`, by result; not valid where none was, and no longer than the last one.
    [[nodiscard]] small_vector<value_id, 4> const& given() const noexcept { return given_; }

    // Attributes. Asking for one marks it as understood; one that nobody asked for makes the node opaque.
    [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name);
    [[nodiscard]] std::optional<double> real(std::string_view name);
    [[nodiscard]] std::optional<std::string> text(std::string_view name);
    [[nodiscard]] std::optional<ints> integer_list(std::string_view name);
    [[nodiscard]] std::optional<reals> real_list(std::string_view name);
    [[nodiscard]] std::optional<std::vector<std::string>> text_list(std::string_view name);
    [[nodiscard]] std::optional<tensor> tensor_value(std::string_view name);
    [[nodiscard]] bool has_attribute(std::string_view name) const noexcept;
    /// Names an attribute that is understood to change nothing.
    void ignore(std::string_view name) { static_cast<void>(find(name)); }
    /// The first attribute that nobody asked for.
    [[nodiscard]] std::optional<std::string_view> unread_attribute() const;

    template <operation Op>
    value_id add(attributes_of<Op> const& a, std::span<value_id const> operands) {
        return builder_->add<Op>(a, operands, results_);
    }
    template <operation Op>
    value_id add(attributes_of<Op> const& a, std::initializer_list<value_id> operands) {
        return builder_->add<Op>(a, operands, results_);
    }

    /// Takes the elements of a constant that the node is written with from what the import may make, before it is made.
    /// Sizes are not negative. Beyond 2^24 elements, or where those of nodes before leave too few of
    /// `onnx_limits::max_written_elements`, the node is opaque for `what`.
    void take_constant(std::initializer_list<std::int64_t> sizes, std::string_view what) const;

    /// Adds an operator whose attributes in the file are the fields of its struct.
    value_id add_by_fields(std::uint16_t row);

    /// Makes the node opaque and records the reason: it is valid but not something that gsub computes.
    [[noreturn]] void unsupported(std::string reason, std::string hint = {}) const;
    /// Rejects the node as invalid. *Errors* throws `error` (`invalid_input`).
    [[noreturn]] void invalid(std::string reason) const;

private:
    onnx_attribute const* find(std::string_view name);
    onnx_attribute const* find(std::string_view name, onnx_attribute_type type);
    graph_builder* builder_;
    onnx_node const* node_;
    std::int64_t opset_;
    std::vector<value_id> operands_;
    std::size_t results_;
    std::function<tensor(std::string_view)> read_tensor_;
    std::function<bool(std::size_t)> is_read_;
    std::int64_t* constant_budget_;
    std::unordered_set<std::string_view> read_;
    small_vector<value_id, 4> given_;
};

/// Writes one attribute of a node.
class onnx_attribute_writer {
public:
    explicit onnx_attribute_writer(std::string& node) : node_(&node) {}
    void integer(std::string_view name, std::int64_t value);
    void real(std::string_view name, double value);
    void text(std::string_view name, std::string_view value);
    void integer_list(std::string_view name, ints const& values);
    void real_list(std::string_view name, reals const& values);
    void tensor_value(std::string_view name, tensor const& value);

private:
    std::string* node_;
};

/// Export context: one node on its way from a graph to a file. May write several nodes.
class onnx_export_context {
public:
    using attributes_function = function_ref<void(onnx_attribute_writer&)>;

    onnx_export_context(any_graph const& g, node_id n, std::int64_t opset, std::function<std::string(value_id)> name_of,
                        std::function<std::string(std::string_view)> fresh_name,
                        std::function<std::string(tensor const&)> initializer, std::function<void(std::string)> emit)
        : g_(&g),
          node_(n),
          opset_(opset),
          name_of_(std::move(name_of)),
          fresh_name_(std::move(fresh_name)),
          initializer_(std::move(initializer)),
          emit_(std::move(emit)) {}

    [[nodiscard]] any_graph const& graph() const noexcept { return *g_; }
    [[nodiscard]] node_id node() const noexcept { return node_; }
    [[nodiscard]] std::int64_t opset() const noexcept { return opset_; }
    template <operation Op>
    [[nodiscard]] attributes_of<Op> const& attributes() const {
        return g_->attributes<Op>(node_);
    }
    /// Name of an operand, empty where it is left out.
    [[nodiscard]] std::string operand(std::size_t i) const;
    [[nodiscard]] std::vector<std::string> operands() const;
    [[nodiscard]] std::string result(std::size_t port = 0) const {
        return name_of_({node_, static_cast<std::uint32_t>(port)});
    }
    [[nodiscard]] std::vector<std::string> results() const;
    /// A name that nothing else has.
    [[nodiscard]] std::string fresh_name(std::string_view stem) const { return fresh_name_(stem); }
    /// Name of a new small initializer.
    [[nodiscard]] std::string initializer(tensor const& t) const { return initializer_(t); }
    [[nodiscard]] std::string initializer(ints const& values) const;
    /// Writes a node.
    void write(std::string_view op_type, std::span<std::string const> inputs, std::span<std::string const> outputs,
               attributes_function attributes, std::string_view domain = {}) const;
    void write(std::string_view op_type, std::span<std::string const> inputs,
               std::span<std::string const> outputs) const;
    /// Writes a node whose attributes are the fields of the operator's struct.
    void write_by_fields() const;
    [[noreturn]] void unsupported(std::string reason) const;

private:
    any_graph const* g_;
    node_id node_;
    std::int64_t opset_;
    std::function<std::string(value_id)> name_of_;
    std::function<std::string(std::string_view)> fresh_name_;
    std::function<std::string(tensor const&)> initializer_;
    std::function<void(std::string)> emit_;
};

/// The ONNX row of an operator.
struct onnx_row {
    std::int64_t since = 0;                             ///< 0: the operator has no form in ONNX files
    value_id (*import)(onnx_import_context&) = nullptr; ///< null: attributes are the fields of the operator's struct
    void (*write)(onnx_export_context&) = nullptr;      ///< null: likewise
    std::int64_t (*needed_opset)(any_graph const&, node_id) = nullptr; ///< null: `since`

    template <operation Op>
    static constexpr onnx_row of() noexcept {
        onnx_row row;
        if constexpr (requires { onnx_traits<Op>::since; }) {
            row.since = onnx_traits<Op>::since;
            if constexpr (requires(onnx_import_context & cx) { onnx_traits<Op>::import(cx); })
                row.import = &onnx_traits<Op>::import;
            if constexpr (requires(onnx_export_context & cx) { onnx_traits<Op>::write(cx); })
                row.write = &onnx_traits<Op>::write;
            if constexpr (requires(attributes_of<Op> const& a) { onnx_traits<Op>::needed_opset(a); })
                row.needed_opset = [](any_graph const& g, node_id n) {
                    return onnx_traits<Op>::needed_opset(g.attributes<Op>(n));
                };
            else if constexpr (requires(any_graph const& g) { onnx_traits<Op>::needed_opset(g, node_id{}); })
                row.needed_opset = &onnx_traits<Op>::needed_opset;
        } else {
            static_assert(!specialised<onnx_traits<Op>>,
                          "onnx_traits<Op> has no `since`, the first version of the operator set that it reads");
        }
        return row;
    }
};

} // namespace gsub::io

#ifndef GSUB_COMPILED
#include <gsub/io/impl/onnx_traits.ipp>
#endif
