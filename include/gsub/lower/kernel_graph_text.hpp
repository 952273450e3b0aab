// Text form of kernel graphs, which reads back: to test passes one by one, to compare lowerings, to send to others.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/result.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/ops/infer.hpp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/target/isa.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace gsub {

/// Print options of a kernel graph.
struct kernel_text_options {
    /// Constants with more elements than this are printed as `@` and their hash, and have no elements when they are
    /// read back: `emit` names the first.
    std::size_t max_constant_elements = 64;
    /// Prints what is for reports alone: names, the operators covered, boundaries. Without, reference calls are hashes.
    bool names = true;
};

/// Prints the stage; a line for each input, value and kernel, in order; the results.
///
///     kernel graph scheduled
///     input f32[1,3,8,8] "x"
///     %0 "x": f32[1,3,8,8] input 0 bytes=768
///     %1 "w": f32[8,3,1,1] constant @5e3d... bytes=96
///     %2 "c": f32[1,8,8,8] temporary block=8 bytes=2048
///     %3 "y": f32[1,8,8,8] output 0 bytes=2048
///     %2 = conv2d{in_channels=3 out_channels=8 in=[8,8] low=0} %0, %1 packed{}
///       covers "Conv" "c", "Relu" "r"
///       boundary "an output of the graph"
///       schedule tile_ow=8 tile_oh=1 ...
///     ...
///     result f32[1,8,8,8] "y" %3
///
/// Fields that have their default value are left out. Behind an operand stand its dimensions of the kernel's frame
/// (`%0[0,-1,1]`) and how it is packed. A call of the reference evaluator is followed by the text of its graph. Names
/// come from models: they stand between quotes, escaped, and no text has control characters but the ends of lines.
/// Functions have no text: kernels of the application (`custom "name"`, `extern "app.Swish"`) read back without.
/// *Complexity* linear; hashes read the constants.
GSUB_LAZY [[nodiscard]] std::string to_text(kernel_graph const& g, kernel_text_options const& options = {});

/// Parse options of a kernel graph: what its text does not say.
struct kernel_reading {
    gsub::isa const* isa = &gsub::isa::baseline; ///< of the schedules; their spaces are made anew
    dialect const* operators = nullptr;          ///< of the graphs of reference calls; null: gsub's own
    eval_table evaluators{};                     ///< the same; outlives the kernel graph
    std::size_t max_bytes = std::size_t{1} << 28;
    std::size_t max_values = std::size_t{1} << 20; ///< the same number of kernels
};

/// Parses what `to_text` writes; spaces may stand between tokens, empty lines between lines. Printing the graph gives
/// the text again, and it has the same hash. The graph may be illegal: `check` says so, and passes require a legal one.
/// *Errors* `invalid_input` with line, column and reason of the first 20 things that are wrong; also for a kernel of
/// the application with knobs, since its space is a function. *Complexity* linear, and the spaces of distinct kernels;
/// texts may come from strangers.
GSUB_LAZY [[nodiscard]] result<kernel_graph> parse_kernel_graph(std::string_view text, kernel_reading const& how = {});

/// Hash of a kernel graph: that of its text without what is for reports alone, all constants by their hash. Two graphs
/// of one hash compute the same by the same kernels, except for functions of the application, which have no text.
GSUB_LAZY [[nodiscard]] hash128 hash_of(kernel_graph const& g);

/// Summary of a kernel graph: a line for each distinct kernel with its count, its description and the operators that it
/// covers, sorted. Layouts and schedules are left out, so that it changes only where fusion or selection does; of a
/// graph before the layout pass it names no layout transform either. *Example*
/// `2 x conv2d{in_channels=64 out_channels=64 in=[7,7] kernel=[3,3]}: Conv, Relu`
GSUB_LAZY [[nodiscard]] std::string summary(kernel_graph const& g);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/kernel_graph_fields.ipp>
#include <gsub/lower/impl/kernel_graph_reader.ipp>
#include <gsub/lower/impl/kernel_graph_text.ipp>
#include <gsub/lower/impl/kernel_graph_tokens.ipp>
#endif
