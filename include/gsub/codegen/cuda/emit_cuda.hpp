// emit_cuda: prints kernel IR as CUDA C++, whose threads are the lanes of vectors. The text includes nothing: NVRTC
// compiles it without the toolkit's headers.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/simt/thread_group.hpp>

#include <string>

namespace gsub::codegen {

/// Emits the CUDA C++ text of a kernel; its function `symbol` has C linkage. Arguments are the addresses of the buffers
/// that are no workspace, in their order; where the group's workspace is lent, that of `thread_group::lent_bytes`; and
/// the number of positions, a `long`. It is launched with `thread_group::threads` in a block, and any number of blocks.
/// Names of variables and buffers do not enter the text. *Requires* a symbol of letters, digits and underscores, and 32
/// lanes, those of a warp, or a power of two below.
GSUB_LAZY [[nodiscard]] std::string emit_cuda(kernel const& k, std::string const& symbol, thread_group group);

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/cuda/impl/emit_cuda.ipp>
#include <gsub/codegen/simt/impl/lane_writer.ipp>
#endif
