// Options of the commands: what each of them takes, and which of them was asked for.
#pragma once

#include "commands.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cli {

inline constexpr auto exit_codes =
    "Exit codes: 0 done, 1 negative result (differs, refuted), 2 usage, 3 not supported, "
    "4 invalid input file,\n5 environment, 6 internal error.";

/// Command line: the commands that were declared, and the requests that parsing fills.
class command_line {
public:
    explicit command_line(CLI::App& app) : app_(app) {}
    /// A request as it is by default; it lives as long as this.
    template <class Request>
    [[nodiscard]] Request& request() {
        auto const made = std::make_shared<Request>();
        requests_.push_back(made);
        return *made;
    }
    /// Declares a command: `command(request, session)` gives its answer. *Requires* a request of this command line.
    template <class Request, class Run>
    CLI::App* declare(char const* name, char const* help, Request const& of, Run command) {
        auto* const sub = app_.add_subcommand(name, help);
        sub->footer(exit_codes);
        sub->option_defaults()->always_capture_default();
        sub->callback([this, &of, command] { chosen_ = [&of, command](session const& s) { return command(of, s); }; });
        return sub;
    }
    /// Runs the command that was parsed. *Requires* one.
    [[nodiscard]] answer run(session const& s) const { return chosen_(s); }

private:
    CLI::App& app_;
    std::vector<std::shared_ptr<void>> requests_;
    std::function<answer(session const&)> chosen_;
};

/// `optimize`, `explain`.
void declare_search(command_line& line);
/// `run`, `bench`, `calibrate`, `compile`, `tasks`, `tune`.
void declare_kernels(command_line& line);
/// `compare`, `convert`, `inspect`, `models` and others of models, rules and passes as such.
void declare_models(command_line& line);

// Options that several commands have.
void add_target(CLI::App* to, std::string& target);
void add_passes(CLI::App* to, std::string& list);
void add_schedules(CLI::App* to, schedule_files& files);
/// Options that say what a model's inputs are: `--dim`, `--shape`, `--value`.
void add_input_choice(CLI::App* to, input_choice& how);
void add_kernel_choice(CLI::App* to, kernel_choice& how);
/// `--device` and what goes with it, behind the other options of kernels.
void add_device_choice(CLI::App* to, kernel_choice& how);
void add_cost_choice(CLI::App* to, cost_choice& how);

} // namespace cli
