// kernel_record: records of gsub's own kernels, and configurations from records of anybody's.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/kernels/descriptor.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/target/target.hpp>
#include <gsub/tune/record.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::tune {

/// The values that a configuration gives to its knobs, as records write them: splits as `sp`, choices as `ot`.
GSUB_LAZY [[nodiscard]] std::vector<knob_value> entity_of(loop::configuration const& c);

/// What becomes of a record's index: it must be that of its values, or is not looked at. Numbers of policy `verbose`
/// differ from TVM's, see `loop::config_space`.
enum class index_check : std::uint8_t { required, ignored };

/// The point of a space that a record's values name, whether the space allows it or not. A split may give its first
/// factor or -1. *Errors* `invalid_input` naming the knob: one that the space or the record lacks, one of another kind,
/// a value that it does not have; and naming both numbers where the record's index is another.
GSUB_LAZY [[nodiscard]] result<loop::configuration> configuration_of(record const& r, loop::config_space const& space,
                                                                     index_check check = index_check::required);

/// Task of a kernel as records name it: `gsub.` and the word of its template; the descriptor's text is the argument.
/// AutoTVM's tools read that as a task that they have no template for.
struct task_name {
    std::string task;
    std::vector<json_value> args;
};
GSUB_LAZY [[nodiscard]] task_name task_name_of(kernels::descriptor const& d);

/// The kernel that a record measures. *Errors* `unsupported` for a task that is not gsub's, `invalid_input` for an
/// argument that is no descriptor, or not that of the task's name.
GSUB_LAZY [[nodiscard]] result<kernels::descriptor> descriptor_of(record const& r);

/// A target as TVM reads it, with gsub's own text as its model: `llvm -keys=cpu -model=x86-64-avx512%2Cthreads%3D2`.
/// Characters other than letters, digits and `._-` are written as `%` and two digits.
GSUB_LAZY [[nodiscard]] std::string record_target(target const& t);

/// The machine of a record. *Errors* `unsupported` where the target is not one that `record_target` writes.
GSUB_LAZY [[nodiscard]] result<target> target_of(record const& r);

/// Measurement of a configuration, or a prediction in its place. *Units* seconds.
struct measurement {
    std::vector<double> costs{}; ///< of each run; of a prediction its one
    measure_error error = measure_error::none;
    double all_cost = 0;        ///< with compilation and all around it
    double timestamp = 0;       ///< since 1970
    bool predicted = false;     ///< by a cost model: nothing has run
    bool modelled_only = false; ///< a prediction for a machine that nobody could compare the model with
    bool confirmed = false;     ///< measured anew beside others after it had been the best of many
};

/// Whether a record is a prediction: it has a member `predicted`, which is true. Other tools keep it or ignore it.
GSUB_LAZY [[nodiscard]] bool is_predicted(record const& r) noexcept;
/// What a record's cost is worth beside those of others: 0 where it was measured anew after it had been the best (it
/// has a member `confirmed`, which is true), 1 where it was measured, and the least of many is too low, 2 where it was
/// predicted.
GSUB_LAZY [[nodiscard]] int doubt_of(record const& r) noexcept;

/// Record of a measurement. One that failed gets `failed_cost` and no other. *Errors* `usage`: without failure, no
/// costs, and costs that are not finite or not above zero; other times that are not finite.
GSUB_LAZY [[nodiscard]] result<record> record_of(kernels::descriptor const& d, target const& machine,
                                                 loop::configuration const& c, measurement const& measured);

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/kernel_record.ipp>
#endif
