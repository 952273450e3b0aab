// Running a list of passes on a model, with every step on disk where that is asked for.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/result.hpp>
#include <gsub/driver/network_classes.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/passes/manager/manager.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gsub {
struct kernel_graph;
}

namespace gsub::io {
struct onnx_row;
}

namespace gsub {

/// All passes of the library, `fuse-ops` with the groups that kernels compute on the machine of its context. Its list
/// `default` is what `build` does of a graph, and `none` leaves every operator a kernel of its own, see
/// `grouping::by_passes`.
GSUB_LAZY [[nodiscard]] pass_manager compiler_passes();

/// What is written of each step.
struct pass_dump_options {
    std::string folder;                                                  ///< made where it is not there
    std::optional<function_ref<std::string(any_graph const&)>> to_dot{}; ///< e.g. `report::to_dot`; none: no pictures
    io::onnx_row const* files = nullptr;                                 ///< null: of the standard operators
    std::uint64_t max_weight_bytes = std::uint64_t{256} << 20;           ///< of a step that is written as ONNX
    std::size_t max_constant_elements = 64;                              ///< of a constant in the textual form
};

/// Writes steps as they happen. Files are called by a counter and the pass, `003-fuse-ops.txt`: the textual form,
/// `.dot` for each function that no step before it had (`003-fuse-ops-1.dot` for a second), and `.onnx` of the first
/// entry point with all calls written out, where that has a form. `000-start` is the module before the first pass; a
/// step that changes nothing has no files; that of a pass that failed is `003-fuse-ops-failed`. `index.html` lists them
/// all. Files are written whole or not at all; names from the model are nowhere in their names.
class pass_dump : public pass_observer {
public:
    /// *Errors* `environment`: the first thing that could not be written, which ends the dump and never the passes.
    [[nodiscard]] virtual result<void> finish() = 0;
};
GSUB_LAZY [[nodiscard]] std::unique_ptr<pass_dump> make_pass_dump(pass_dump_options options);

/// Writes the text of a kernel graph into a folder, which is made where it is not there: `lowering-0-fused.txt` and so
/// on, by its stage. For `build_options::on_stage`. *Errors* `environment`.
GSUB_LAZY [[nodiscard]] result<void> dump_kernel_graph(kernel_graph const& g, std::string const& folder,
                                                       std::size_t max_constant_elements = 64);

/// How a list is run.
struct run_passes_options {
    pass_run_options run{}; ///< `run.supervise.observe` is used where nothing is dumped
    bool verify = false;    ///< compare numbers after each pass that changed something
    std::optional<pass_dump_options> dump{};
    /// What the list `auto` is, e.g. `&select_passes<my_class, networks::resnet, networks::other>`.
    pass_selection (*select)(module const&) = &standard_classes::select;
};

/// Runs a list by name, see `pass_manager::run`; `auto` is what `options.select` chooses for the module's class, which
/// the notes of the run then say. *Errors* those of it, and `environment` of the dump where the passes themselves
/// succeeded; the module is then as it was.
GSUB_LAZY [[nodiscard]] result<pass_run> run_passes(module& m, pass_manager const& known, std::string_view list,
                                                    pass_context& cx, run_passes_options const& options = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/passes.ipp>
#endif
