// The slower and better model of `gsub tune`, by what its options say and what is installed.
#pragma once

#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/assembled_times.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/scheduled_time.hpp>
#include <gsub/target/port_table.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cli {

/// What ranks the best of the counted model anew: nothing where that model is the counted one itself.
struct second_model {
    gsub::cost::kernel_time_model what{};
    std::shared_ptr<gsub::cost::assembled_times> assembled{};

    [[nodiscard]] bool there() const noexcept { return what.of || what.source; }
};

/// What ranks the best anew where all are scored by the model of a name: assembly for `assembled`. Without a name,
/// machine instructions for x86-64, else assembly where a compiler for the target is found; a note tells where not.
inline second_model second_model_of(std::string const& name, gsub::target const& machine, session const& s) {
    if (machine.gpu) return {};
    auto const own = machine.isa->architecture == gsub::isa::avx2.architecture;
    if (!name.empty() && name != "assembled") return {};
    if (name.empty() && own) return {gsub::cost::scheduled_cycles(), {}};
    auto found = gsub::runtime::find_compiler_for(*machine.isa);
    if (!found && name.empty()) {
        s.observe->on_note(gsub::format_text("the counted model alone ranks: {}", found.error().message()));
        return {};
    }
    auto source = std::make_shared<gsub::cost::assembled_times>(std::move(found).value());
    s.observe->on_note(gsub::format_text("the best are ranked by the assembly that {} makes", source->with().path));
    return {gsub::cost::assembled_cycles(source), source};
}

/// Tells how well assembly was understood, and whether the row of the machine was ever compared with one.
inline void tell_second_model(second_model const& m, gsub::cost::lowered const& costs, gsub::target const& machine,
                              answer& a) {
    auto const& core = costs.core();
    auto const modelled_only = machine.gpu ? machine.gpu->architecture->modelled_only
                                           : !core.measured || gsub::core_ports{core}.modelled_only();
    a.data["second_model"] = m.there() ? m.what.name : "";
    a.data["modelled_only"] = modelled_only;
    if (modelled_only)
        a.text += gsub::format_text("modelled only: no prediction for {} was compared with such a machine\n",
                                    machine.gpu ? machine.gpu->title : core.title);
    if (!m.assembled) return;
    auto const told = m.assembled->statistics();
    a.data["assembled"] = {{"compiler", m.assembled->with().path},
                           {"predicted", told.predicted},
                           {"guessed", told.guessed},
                           {"refused", told.refused},
                           {"runs", told.runs},
                           {"unknown", told.unknown},
                           {"notes", told.notes}};
    a.text +=
        gsub::format_text("assembled {} kernels in {} runs of the compiler: {} with a guess, {} more by the counted "
                          "model\n",
                          told.predicted, told.runs, told.guessed, told.refused);
}

} // namespace cli
