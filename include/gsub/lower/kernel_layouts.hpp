// kernel_layouts: the AlterOpLayout hook of generated kernels: the layouts that they read and write.
//
// A convolution or a pool computes vectors of channels, so its results lie in blocks of as many channels as a vector
// has lanes: `NCHW16c` with AVX-512. Arithmetic, and concatenations and slices of whole blocks, keep the layout that
// they read; all else is row-major. The pass weighs the cost of layout transforms between them
// (`passes::alter_op_layout`) and writes its choice into types; lowering stores values so.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/passes/layout/alter_op_layout.hpp>
#include <gsub/target/isa.hpp>

#include <cstdint>
#include <optional>

namespace gsub {

/// Layout in which kernels store the results of an operator, and read its data operand.
enum class kernel_storage : std::uint8_t {
    row_major,
    blocks,  ///< in blocks of channels
    follows, ///< as the operand that it reads
};
/// The `kernel_storage` of an operator with gsub's own kernels. *Complexity* O(operands).
GSUB_LAZY [[nodiscard]] kernel_storage kernel_storage_of(any_graph const& g, node_id n, isa const& isa);

/// Blocked layout with as many channels a block as vectors have lanes, for values of a rank of 3 to 5.
GSUB_LAZY [[nodiscard]] layout channel_blocks(std::size_t rank, isa const& isa);
/// Whether a value has this blocked layout. Values in other layouts are stored row-major: no kernel reads these.
GSUB_LAZY [[nodiscard]] bool in_channel_blocks(tensor_type const& type, isa const& isa);

/// Whether an operator's kernel reads its data operand as it is before all layout transforms: row-major where there are
/// few channels, or channels last behind a transposition.
GSUB_LAZY [[nodiscard]] bool reads_in_place(any_graph const& g, node_id n, isa const& isa);
/// The value that the kernel reads then; the data operand otherwise.
GSUB_LAZY [[nodiscard]] value_id data_of(any_graph const& g, node_id n, isa const& isa);

/// Desired layouts of gsub's own kernels, a hook: `passes::alter_op_layout{kernel_layouts{}}`.
struct kernel_layouts {
    gsub::isa const* isa = nullptr; ///< null: the widest that the pass's machine has

    GSUB_LAZY std::optional<passes::desired_layout> operator()(passes::layout_query const& q) const;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/kernel_layouts.ipp>
#endif
