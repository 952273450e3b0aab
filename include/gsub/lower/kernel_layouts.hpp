// The layouts that generated kernels read and write: the hook of the layout pass.
//
// A convolution or a pool computes vectors of channels, so its results lie in blocks of as many channels as a vector
// has lanes: `NCHW16c` with AVX-512. Arithmetic, joins and cuts of whole blocks take what they read; all else reads
// rows. The pass weighs what that costs between them (`passes::alter_op_layout`), its types say what it chose, and
// lowering stores values so.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/passes/layout/alter_op_layout.hpp>
#include <gsub/target/isa.hpp>

#include <cstdint>
#include <optional>

namespace gsub {

/// Where kernels have the results of an operator, and read its data operand.
enum class kernel_storage : std::uint8_t {
    row_major,
    blocks,  ///< in blocks of channels
    follows, ///< in either, as what it reads
};
/// What gsub's own kernels do. *Complexity* O(operands).
GSUB_LAZY [[nodiscard]] kernel_storage kernel_storage_of(any_graph const& g, node_id n, isa const& isa);

/// Blocks of as many channels as vectors have lanes, for values of a rank of 3 to 5.
GSUB_LAZY [[nodiscard]] layout channel_blocks(std::size_t rank, isa const& isa);
/// Whether a value is in such blocks. Values in other layouts are stored row-major: no kernel reads these.
GSUB_LAZY [[nodiscard]] bool in_channel_blocks(tensor_type const& type, isa const& isa);

/// Whether the kernel of an operator reads its data operand, in front of all changes of layout, as it is: rows where
/// there are few channels, or what lies with channels last behind a transposition.
GSUB_LAZY [[nodiscard]] bool reads_in_place(any_graph const& g, node_id n, isa const& isa);
/// What it reads then, or the data operand.
GSUB_LAZY [[nodiscard]] value_id data_of(any_graph const& g, node_id n, isa const& isa);

/// Answers for gsub's own kernels: `passes::alter_op_layout{kernel_layouts{}}`.
struct kernel_layouts {
    gsub::isa const* isa = nullptr; ///< null: the widest that the pass's machine has

    GSUB_LAZY std::optional<passes::desired_layout> operator()(passes::layout_query const& q) const;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/kernel_layouts.ipp>
#endif
