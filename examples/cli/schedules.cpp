// Schedules and algorithms of kernels from files: a table, or tuning records.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/io/file.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/lower/schedule_table.hpp>
#include <gsub/tune/database.hpp>
#include <gsub/tune/records_source.hpp>

#include <string>

namespace cli {

namespace {

using choice_of_records = gsub::tune::recorded_algorithms<gsub::cost::lowered>;

} // namespace

struct schedules_of_files::state {
    std::optional<gsub::schedule_table> table{};
    gsub::tune::database records{};
    std::optional<gsub::tune::records_source<gsub::cost::lowered>> recorded{};
    std::optional<choice_of_records> algorithms{};
};

gsub::loop::configuration schedules_of_files::operator()(gsub::kernels::descriptor const& d, gsub::isa const& isa,
                                                         gsub::loop::config_space const& space) const {
    return state_->table ? state_->table->choose(d, isa, space) : state_->recorded->choose(d, isa, space);
}
std::size_t schedules_of_files::operator()(std::span<gsub::kernels::descriptor const> alternatives,
                                           gsub::isa const& isa) const {
    return state_->table ? state_->table->choose(alternatives, isa) : state_->algorithms->choose(alternatives, isa);
}
void schedules_of_files::report(gsub::observer& to) const {
    if (!state_->recorded) return;
    auto const found = state_->recorded->report();
    to.on_note(gsub::format_text("{} kernels have recorded schedules, {} have none", found.recorded, found.missing));
    for (auto const& warning : found.warnings) to.on_note(warning);
}

std::optional<schedules_of_files> read_schedules(schedule_files const& files, gsub::any_graph const& g,
                                                 gsub::target machine, session const& s) {
    if (files.schedules.empty() && files.records.empty()) return std::nullopt;
    schedules_of_files out;
    out.state_ = std::make_shared<schedules_of_files::state>();
    auto& made = *out.state_;
    machine.threads = static_cast<unsigned>(s.threads->concurrency());
    auto const counted = gsub::kernels::winograd_options_of(machine);
    if (!files.schedules.empty()) {
        auto const text = gsub::io::read_file(files.schedules, std::uint64_t{1} << 28).value();
        auto table = gsub::schedule_table::parse(text, isa_of(machine), counted);
        if (!table) throw table.error().within(files.schedules);
        made.table = std::move(*table);
        return out;
    }
    auto const told = made.records.load(files.records).value();
    for (auto const& warning : told.warnings) s.observe->on_note(warning);
    gsub::tune::record_lookup const lookup{made.records, machine};
    auto const predicted = gsub::cost::lowered::of(g, machine);
    made.recorded.emplace(lookup, predicted);
    made.algorithms.emplace(lookup, predicted);
    return out;
}

} // namespace cli
