// database: tuning records by task, read from JSON lines, with a report of what was not understood.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/result.hpp>
#include <gsub/target/target.hpp>
#include <gsub/tune/record.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::tune {

/// Options of reading records.
struct load_options {
    std::uint64_t max_file_bytes = std::uint64_t{1} << 30;
    std::size_t max_line_bytes = std::size_t{1} << 20;
    std::size_t max_records = std::size_t{1} << 22; ///< of the database
    std::size_t max_warnings = 100;                 ///< that are kept; all are counted
    bool strict = false;                            ///< the first line that is not understood is an error
    std::optional<target> machine{};                ///< records of others are counted as foreign
};

/// Report of reading records: counts of lines, and a warning with file and line for each that is not understood.
struct load_report {
    std::size_t read = 0;       ///< records that are now in the database
    std::size_t failed = 0;     ///< of these: whose measurement failed
    std::size_t foreign = 0;    ///< of these: of another machine than that of the options
    std::size_t duplicates = 0; ///< records that were there already
    std::size_t torn = 0;       ///< lines that end early, as a writer leaves that was killed
    std::size_t refused = 0;    ///< lines that are no records
    std::vector<std::string> warnings{};
};

/// Database of records. Files of records are merged by concatenation, or by loading one after the other: a record that
/// stands twice counts once. What is best does not depend on the order of records.
class database {
public:
    database() = default;
    database(database const&) = delete; // its records are found by their addresses
    database& operator=(database const&) = delete;
    database(database&&) noexcept = default;
    database& operator=(database&&) noexcept = default;

    /// Adds a record; false where it is there already.
    GSUB_LAZY bool add(record r);
    /// Adds the records of a text of JSON lines; `name` stands for the file in warnings. Blank lines and those that
    /// begin with `#` are skipped. *Errors* `unsupported` where there are more records than the options allow; with
    /// `strict`, that of the first line that is not understood, with file and line. What was read before stays.
    /// *Complexity* linear, times the logarithm of the number of records; texts may come from strangers.
    GSUB_LAZY result<load_report> parse(std::string_view text, std::string_view name, load_options const& options = {});
    /// Adds the records of a file. *Errors* as `parse` and `io::read_file`.
    GSUB_LAZY result<load_report> load(std::string const& path, load_options const& options = {});

    [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
    /// All records, in the order in which they came.
    [[nodiscard]] std::deque<record> const& records() const noexcept { return records_; }

    /// The records of a task that may be chosen: by `doubt_of` their costs, then cheapest first; equal
    /// costs in the order of their texts. Not among them: failed ones, and configurations that crashed or gave
    /// wrong numbers on the same target in any record.
    GSUB_LAZY [[nodiscard]] std::vector<record const*> candidates(std::string_view task,
                                                                  std::vector<json_value> const& args) const;
    /// The first of the candidates on a target, by the mean of its costs; null where there is none. Targets are
    /// compared by `target_key`.
    GSUB_LAZY [[nodiscard]] record const* best(std::string_view task, std::vector<json_value> const& args,
                                               std::string_view target) const;
    /// The best record of each task on each target, by the keys of tasks, then of targets. *Source* AutoTVM, pick_best.
    GSUB_LAZY [[nodiscard]] std::vector<record const*> best_of_each() const;

    /// Prints all records as JSON lines, which `parse` reads.
    GSUB_LAZY [[nodiscard]] std::string to_text() const;

private:
    template <class>
    friend class database_reader;
    std::deque<record> records_; // which keeps their addresses
    std::map<std::string, std::vector<record const*>, std::less<>> by_task_;
    std::set<hash128> known_; // texts of records
};

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/database.ipp>
#endif
