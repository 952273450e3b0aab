// `run_passes`: runs a list of passes on a module, with checks and dumps where these are asked for.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/driver/network_classes.hpp>
#include <gsub/driver/pass_dump.hpp>
#include <gsub/ir/module.hpp>
#include <gsub/passes/manager/manager.hpp>

#include <optional>
#include <string_view>

namespace gsub {

/// Pass manager with all passes of the library, `fuse-ops` with the groups that kernels compute on the machine of its
/// context. Its list `default` is what `build` runs, and `none` leaves every operator a kernel of its own, see
/// `grouping::by_passes`.
GSUB_LAZY [[nodiscard]] pass_manager compiler_passes();

/// Options of `run_passes`.
struct run_passes_options {
    pass_run_options run{}; ///< `run.instrument.observe` is used where nothing is dumped
    bool verify = false;    ///< compare numbers after each pass that changed something
    std::optional<pass_dump_options> dump{};
    /// Selects the passes of the list `auto`, e.g. `&select_passes<my_class, networks::resnet, networks::other>`.
    pass_selection (*select)(module const&) = nullptr; ///< null: `select_passes`
};

/// Runs a list of passes by name, see `pass_manager::run`; `auto` is what `options.select` chooses for the module's
/// class, which the notes of the run name. *Errors* those of it, and `environment` of the dump where the passes
/// themselves succeeded; the module is then as it was.
GSUB_LAZY [[nodiscard]] result<pass_run> run_passes(module& m, pass_manager const& known, std::string_view list,
                                                    pass_context& cx, run_passes_options const& options = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/run_passes.ipp>
#endif
