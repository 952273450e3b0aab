// emit_opencl: prints kernel IR as OpenCL C 1.2, whose work items are the lanes of vectors.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/simt/thread_group.hpp>

#include <string>

namespace gsub::codegen {

/// Emits the OpenCL C text of a kernel named `symbol`. Arguments are, of each buffer that is no workspace, in their
/// order, the memory object and the byte in it where the buffer begins, a `long`; where the group's workspace is lent,
/// a memory object of `thread_group::lent_bytes`; and the number of positions, a `long`. Work groups have
/// `thread_group::threads` items, any number of groups will do. Names of variables and buffers do not enter the text.
/// *Requires* a symbol of letters, digits and underscores, and a group of one position: work items wait for all of
/// their group.
GSUB_LAZY [[nodiscard]] std::string emit_opencl(kernel const& k, std::string const& symbol, thread_group group);

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/opencl/impl/emit_opencl.ipp>
#endif
