// records_source: the schedule source that takes the best recorded configuration of a kernel, and asks another source
// for kernels without one; the same for algorithms.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/descriptor.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/lower/schedule.hpp>
#include <gsub/lower/select.hpp>
#include <gsub/target/target.hpp>
#include <gsub/tune/database.hpp>

#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gsub::tune {

/// Options of looking up records.
struct lookup_options {
    /// Records of other machines count where this one has none; they must be of the instruction set that is asked for.
    bool other_machines = false;
    std::size_t max_warnings = 100; ///< that are kept; all are counted
};

/// Report of look-ups.
struct lookup_report {
    std::size_t recorded = 0; ///< kernels with a record
    std::size_t foreign = 0;  ///< of these: with one of another machine
    std::size_t missing = 0;  ///< kernels without a record
    std::size_t unfit = 0;    ///< records that were passed over: their space has no such point, or does not allow it
    std::vector<std::string> warnings{}; ///< one for each that is unfit, naming task and knob
};

/// Look-up of recorded configurations on a machine. Keeps a pointer to the database, which must outlive it and must not
/// change meanwhile. Copies share the report; safe to use from several threads.
class record_lookup {
public:
    explicit record_lookup(database const& records, target machine = host(), lookup_options options = {})
        : records_(&records), machine_(std::move(machine)), options_(options) {}

    /// The point of the cheapest record that is one of the space and allowed in it; nothing where there is none. Of
    /// this machine are records with its key (`target::key`) and with `isa`; those of as many threads come before those
    /// of other numbers. Records that do not fit are passed over and counted. *Complexity* O(records of the task), with
    /// their logarithm.
    GSUB_LAZY [[nodiscard]] std::optional<loop::configuration> find(kernels::descriptor const& d, isa const& isa,
                                                                    loop::config_space const& space) const;
    /// The number of the alternative with the cheapest record, however images lie; nothing where none has one. *Errors*
    /// none: records that are not understood are not looked at. *Complexity* O(log records); the first call reads them.
    GSUB_LAZY [[nodiscard]] std::optional<std::size_t> algorithm(std::span<kernels::descriptor const> alternatives,
                                                                 isa const& isa) const;
    [[nodiscard]] lookup_report report() const {
        std::lock_guard const lock{state_->mutex};
        return state_->report;
    }

private:
    // The best record of a kernel, by `doubt_of` first.
    struct best_record {
        int doubt = 0;
        double seconds = 0;
        friend auto operator<=>(best_record const&, best_record const&) = default;
    };
    struct state {
        std::mutex mutex;
        lookup_report report;
        std::map<std::pair<gsub::isa const*, hash128>, best_record> algorithms{}; // of kernels, however images lie
        std::set<gsub::isa const*> read{};                                        // for which these are there
    };
    // How far a record is from the machine: 0 the same, 1 with other threads, 2 another machine; nothing where it is of
    // another instruction set, or of none of gsub's.
    GSUB_LAZY [[nodiscard]] std::optional<int> distance(record const& r, isa const& isa) const;
    GSUB_LAZY void read_algorithms(isa const& isa) const;
    database const* records_;
    target machine_;
    lookup_options options_;
    std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// Schedule source over records. *Example* `auto const source = tune::records_source{tune::record_lookup{records}};`
template <schedule_source Fallback = counting_heuristic>
class records_source {
public:
    explicit records_source(record_lookup lookup, Fallback fallback = {})
        : lookup_(std::move(lookup)), fallback_(std::move(fallback)) {}

    [[nodiscard]] loop::configuration choose(kernels::descriptor const& d, isa const& isa,
                                             loop::config_space const& space) const {
        auto found = lookup_.find(d, isa, space);
        return found ? std::move(*found) : fallback_.choose(d, isa, space);
    }
    [[nodiscard]] lookup_report report() const { return lookup_.report(); }

private:
    record_lookup lookup_;
    Fallback fallback_;
};

/// Algorithm choice over records: the alternative with the cheapest record, and another choice's for kernels without
/// one, e.g. that of `cost::lowered`. *Example* `build(g, here, records_source<>{found}, recorded_algorithms{found})`
template <algorithm_choice Fallback = counted_algorithm>
class recorded_algorithms {
public:
    explicit recorded_algorithms(record_lookup lookup, Fallback fallback = {})
        : lookup_(std::move(lookup)), fallback_(std::move(fallback)) {}

    [[nodiscard]] std::size_t choose(std::span<kernels::descriptor const> alternatives, isa const& isa) const {
        auto const found = lookup_.algorithm(alternatives, isa);
        return found ? *found : fallback_.choose(alternatives, isa);
    }

private:
    record_lookup lookup_;
    Fallback fallback_;
};

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/records_source.ipp>
#endif
