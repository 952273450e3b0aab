#include <gsub/lower.hpp>
#include <gsub/lower/impl/decision_notes.ipp>
#include <gsub/lower/impl/emit.ipp>
#include <gsub/lower/impl/expression_writer.ipp>
#include <gsub/lower/impl/fuse.ipp>
#include <gsub/lower/impl/fuse_conv.ipp>
#include <gsub/lower/impl/fuse_conv_windows.ipp>
#include <gsub/lower/impl/fuse_einsum.ipp>
#include <gsub/lower/impl/fuse_elements.ipp>
#include <gsub/lower/impl/fuse_matmul.ipp>
#include <gsub/lower/impl/fuse_movement.ipp>
#include <gsub/lower/impl/fuse_pool.ipp>
#include <gsub/lower/impl/fusion.ipp>
#include <gsub/lower/impl/grouped_graph.ipp>
#include <gsub/lower/impl/kernel_builder.ipp>
#include <gsub/lower/impl/kernel_frame.ipp>
#include <gsub/lower/impl/kernel_graph.ipp>
#include <gsub/lower/impl/kernel_graph_check.ipp>
#include <gsub/lower/impl/kernel_graph_fields.ipp>
#include <gsub/lower/impl/kernel_graph_reader.ipp>
#include <gsub/lower/impl/kernel_graph_text.ipp>
#include <gsub/lower/impl/kernel_graph_tokens.ipp>
#include <gsub/lower/impl/kernel_layouts.ipp>
#include <gsub/lower/impl/kernel_task.ipp>
#include <gsub/lower/impl/layout.ipp>
#include <gsub/lower/impl/lower_graph.ipp>
#include <gsub/lower/impl/match_conv.ipp>
#include <gsub/lower/impl/place_kernel.ipp>
#include <gsub/lower/impl/place_movement.ipp>
#include <gsub/lower/impl/scalar_lowering.ipp>
#include <gsub/lower/impl/schedule.ipp>
#include <gsub/lower/impl/schedule_table.ipp>
#include <gsub/lower/impl/select.ipp>
#include <gsub/lower/impl/value_storage.ipp>
#include <gsub/lower/impl/weight_packer.ipp>

template struct gsub::detail::table_storage<gsub::lowering_row, gsub::standard_ops>;
template struct gsub::detail::table_storage<gsub::scalar_row, gsub::standard_ops>;
