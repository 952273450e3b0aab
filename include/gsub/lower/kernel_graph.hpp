// Kernel graph: the form between a graph and a program: kernels, what each computes, which operators it covers, and how
// its operands are stored.
//
//     any_graph ─ fuse ─► kernel graph ─ select ─► ─ layout ─► ─ schedule ─► kernel graph ─ emit ─► program
//
// Each pass takes a kernel graph of one stage and gives one of the next. Before `layout` a value is a tensor and views
// are operators; after it a value is a piece of storage, and descriptors read views of storage.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/types/tensor.hpp>
#include <gsub/kernels/descriptor.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/loop/fused_nest.hpp>
#include <gsub/runtime/program.hpp>
#include <gsub/target/isa.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gsub {

/// Lowering stage: the last pass that a kernel graph has been through.
enum class lowering_stage : std::uint8_t { fused, selected, laid_out, scheduled };
/// Name of a stage: `fused`, `selected`, `laid-out`, `scheduled`.
GSUB_LAZY [[nodiscard]] std::string_view to_string(lowering_stage s) noexcept;

/// Number of a value of a kernel graph.
using kernel_value_id = std::int32_t;

/// Value of a kernel graph: a tensor; after the layout pass, a piece of storage.
struct kernel_value {
    std::string name{}; ///< the graph's, for reports
    tensor_type type{}; ///< static, but for sizes that data decide
    runtime::memory_role role = runtime::memory_role::temporary;
    std::size_t position = 0; ///< of an input or output in the signature
    tensor data{};            ///< of a constant; none where a text left its elements out
    hash128 left_out{};       ///< then those elements' hash

    // ---- storage, from the layout pass on
    std::int64_t block = 0;       ///< 0: row-major; else in blocks of so many channels, `[N, C/block, ..., block]`
    std::size_t bytes = 0;        ///< its size
    kernel_value_id part_of = -1; ///< the value that it is a piece of, which is no piece itself
    std::size_t offset = 0;       ///< of the piece, in bytes
};

/// Weight packing: what is done to weights besides putting them in the order of the kernel.
struct weight_packing {
    bool transposed = false;    ///< of a matrix: it is stored `[n, k]`
    double alpha = 1;           ///< all of them times this
    std::vector<float> scale{}; ///< each output channel times its own; empty: 1
    friend bool operator==(weight_packing const&, weight_packing const&) = default;
};

/// Operand of a kernel.
struct kernel_operand {
    kernel_value_id value = 0;
    /// Of an operand that its kernel reads as a view: for each dimension of the kernel's frame the dimension of the
    /// operand, or -1 where it is repeated. The layout pass makes the descriptor's view of it.
    small_vector<std::int8_t, 6> access{};
    std::optional<weight_packing> packing{}; ///< of weights
};

/// Shape of a view: a reshape or strided view of the operand; no kernel where readers can use strides. Several
/// dimensions of the result may be of one of the operand, as those of windows are.
struct view_shape {
    bool reshape = false;                  ///< the same elements in order over other dimensions; what follows is empty
    small_vector<std::int8_t, 6> from{};   ///< of each dimension of the result, the operand's; -1: repeated
    small_vector<std::int64_t, 6> start{}; ///< in each dimension of the operand
    small_vector<std::int64_t, 6> step{};  ///< along each dimension of the result
    bool in_blocks = false;                ///< whole blocks of channels, which stay in blocks where the operand lies so
};
/// Shape of a concatenation along a dimension.
struct concat_shape {
    std::int64_t axis = 0;
};
/// Shape of a padding: positions added, or removed, before and after each dimension. The second operand, where there is
/// one, is the element of the border.
struct pad_shape {
    std::vector<std::int64_t> before{}, after{};
    kernels::padding_mode kind = kernels::padding_mode::constant;
    std::uint64_t fill = 0; ///< the bits of an element
};

/// Custom kernel of the application: a tensor expression that its own schedule turns into a loop nest. Its operands and
/// results are row-major.
struct custom_kernel {
    std::string name{};    ///< for reports
    double operations = 0; ///< floating-point
    std::function<loop::config_space(isa const&)> space{};
    std::function<loop::fused_nest(loop::configuration const&, isa const&)> nest{};
};

/// What an operator of a kernel graph computes.
using kernel_computation = std::variant<kernels::descriptor, view_shape, concat_shape, pad_shape, custom_kernel,
                                        runtime::copy_call, runtime::external_call, runtime::reference_call>;

/// An operator of the graph that a kernel computes.
struct covered_node {
    std::string op{};   ///< e.g. `Conv`
    std::string name{}; ///< the display name of the node
    friend bool operator==(covered_node const&, covered_node const&) = default;
};

/// Operator of a kernel graph: a kernel, or a view, concatenation or padding that the layout pass resolves.
struct kernel_op {
    kernel_computation computes{};
    std::vector<covered_node> covers{};     ///< none of a change of layout
    std::vector<kernel_operand> operands{}; ///< in the order of the kernel's buffers
    std::vector<kernel_value_id> results{}; ///< behind them
    std::string boundary{}; ///< why it covers no more: the first reader that did not join, and the reason
    std::string moves{};    ///< of a change of layout: the value's name
    /// Dimensions of a row reduction before the layout pass; the descriptor has the last ones as one.
    small_vector<std::int64_t, 6> frame{};

    // ---- from the schedule pass on
    std::shared_ptr<loop::config_space const> space{}; ///< of the schedule
    std::optional<loop::configuration> schedule{};     ///< a point of it
};

/// Kernel graph: kernels in an order in which they can run, and their values.
struct kernel_graph {
    lowering_stage stage = lowering_stage::fused;
    std::vector<kernel_value> values{};
    std::vector<kernel_op> ops{};
    std::vector<kernel_value_id> outputs{};
    std::vector<tensor_type> inputs{}; ///< of the signature, row-major
    std::vector<tensor_type> results{};
    std::vector<std::string> input_names{}, output_names{};
};

/// Kind of an operator in words for reports: those of the descriptor; `view`, `concat`, `pad`, `copy`; the name of a
/// custom kernel; `extern app.Swish`; `reference Softmax`. Nothing parses them.
GSUB_LAZY [[nodiscard]] std::string kind_of(kernel_op const& op);

/// Layout that a kernel requires of an operand.
enum class operand_requirement : std::uint8_t {
    row_major,
    view,    ///< any strides
    blocks,  ///< `[N, C/l, ..., l]`
    weights, ///< packed when the program is emitted
    any,     ///< its bytes are copied
    lanes,   ///< numbers of channels, filled up with zeros to whole vectors
};
/// Layout requirement of an operand by its number, as the descriptor says.
GSUB_LAZY [[nodiscard]] operand_requirement requirement_of(kernel_op const& op, std::size_t operand);
/// Whether results of a kernel lie in blocks of channels.
GSUB_LAZY [[nodiscard]] bool makes_blocks(kernel_op const& op) noexcept;

/// Whether a value may stand in blocks of channels: it has channels and pixels, and elements.
[[nodiscard]] inline bool may_be_blocked(tensor_type const& t) noexcept {
    return t.rank() >= 3 && t.rank() <= 5 && *t.elements() > 0;
}
/// Whether a concatenation along the channels of one image is one of whole blocks. *Requires* types of rank 3 and more.
GSUB_LAZY [[nodiscard]] bool concatenates_blocks(tensor_type const& whole, std::int64_t axis,
                                                 std::span<tensor_type const> parts, std::int64_t lanes);
/// First channel of a view that shows whole blocks of the channels of one image; nothing for other views.
GSUB_LAZY [[nodiscard]] std::optional<std::int64_t> slices_blocks(view_shape const& v, tensor_type const& from,
                                                                  tensor_type const& to, std::int64_t lanes);

/// Verifies a kernel graph: all that is illegal for the stage, each naming the kernel by what it covers, the operand,
/// what was expected and the pass that made the graph. *Complexity* O(values + operands).
GSUB_LAZY [[nodiscard]] std::vector<problem> check(kernel_graph const& g);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/kernel_graph.ipp>
#include <gsub/lower/impl/kernel_graph_check.ipp>
#endif
