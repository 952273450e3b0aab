// Pass dumps: each step of passes and of lowering as files in a folder.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/passes/manager/instrumentation.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace gsub {
struct kernel_graph;
}

namespace gsub::io {
struct onnx_row;
}

namespace gsub {

/// Options of a pass dump: what it writes of each step.
struct pass_dump_options {
    std::string folder;                                                  ///< made where it is not there
    std::optional<function_ref<std::string(any_graph const&)>> to_dot{}; ///< e.g. `report::to_dot`; none: no pictures
    io::onnx_row const* files = nullptr;                                 ///< null: of the standard operators
    std::uint64_t max_weight_bytes = std::uint64_t{256} << 20;           ///< of a step that is written as ONNX
    std::size_t max_constant_elements = 64;                              ///< of a constant in the textual form
};

/// Pass observer that writes each step as it happens. A counter and the pass name the files, `003-fuse-ops.txt`: the
/// textual form, `.dot` for each function that no step before it had (`003-fuse-ops-1.dot` for a second), and `.onnx`
/// of the first entry point with all calls inlined, where that has a form. `000-start` is the module before the first
/// pass; a step that changes nothing has no files; that of a pass that failed is `003-fuse-ops-failed`. `index.html`
/// lists them all. Files are written whole or not at all; no file name contains a name from the model.
class pass_dump : public pass_observer {
public:
    /// Result of the dump. *Errors* `environment`: the first file that could not be written, which ends the dump and
    /// never the passes.
    [[nodiscard]] virtual result<void> finish() = 0;
};
GSUB_LAZY [[nodiscard]] std::unique_ptr<pass_dump> make_pass_dump(pass_dump_options options);

/// Writes the text of a kernel graph into a folder, which is made where it is not there: `lowering-0-fused.txt` and so
/// on, by its stage. For `build_options::on_stage`. *Errors* `environment`.
GSUB_LAZY [[nodiscard]] result<void> dump_kernel_graph(kernel_graph const& g, std::string const& folder,
                                                       std::size_t max_constant_elements = 64);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/pass_dump.ipp>
#endif
