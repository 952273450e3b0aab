// record: a measured configuration of a task, in the JSON form of AutoTVM's logs, version 0.2.
//
//     {"input": [target, task, args, kwargs], "config": {"index": 11312, "code_hash": null, "entity": [["tile_f", "sp",
//      [-1, 4, 32, 2]], ...]}, "result": [[seconds, ...], error, all_cost, timestamp], "version": 0.2, "tvm_version":
//      "0.9"}
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/tune/json_value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::tune {

/// Outcome of a measurement. The numbers are AutoTVM's `MeasureErrorNo`.
enum class measure_error : std::uint8_t {
    none = 0,
    instantiation = 1,  ///< the configuration makes no kernel
    compile_host = 2,   ///< code of the host did not compile
    compile_device = 3, ///< code of the device did not compile
    runtime_device = 4, ///< the kernel crashed
    wrong_answer = 5,   ///< it computed other numbers than the reference
    build_timeout = 6,
    run_timeout = 7,
    unknown = 8,
};
inline constexpr std::size_t measure_error_count = 9;
/// Words of an outcome, e.g. `wrong answer`.
GSUB_LAZY [[nodiscard]] std::string_view to_string(measure_error e) noexcept;

/// Kind of a knob's value: how its JSON is to be read. The words are AutoTVM's: `sp`, `re`, `an`, `ot`.
enum class entity_kind : std::uint8_t {
    split,      ///< sizes of nested loops, outermost first; the first may be -1, what is left
    reorder,    ///< a permutation of loops
    annotation, ///< words for loops: none, unroll, vec, ...
    other,      ///< a number, a truth value or a word
};
/// Value that a record gives to a knob.
struct knob_value {
    std::string name;
    entity_kind kind = entity_kind::other;
    json_value value{};
    friend bool operator==(knob_value const&, knob_value const&) = default;
};

/// What a failed measurement has as its cost, in seconds. *Source* AutoTVM.
inline constexpr double failed_cost = 1e9;

/// Record: a task on a target, one of its configurations, and how a measurement of it went. *Units* seconds.
struct record {
    std::string target;             ///< as TVM writes it: `llvm -keys=cpu -mcpu=skylake-avx512`
    std::string task;               ///< name of the template, e.g. `conv2d_nchw.cuda`
    std::vector<json_value> args{}; ///< `["TENSOR", [1, 256, 14, 14], "float32"]`, numbers, words, lists
    json_value kwargs = json_value::object();
    std::uint64_t index = 0; ///< of the configuration in its space
    std::optional<std::string> code_hash{};
    std::vector<knob_value> entity{};
    std::vector<json_number> costs{}; ///< of each run; one `failed_cost` where the measurement failed
    measure_error error = measure_error::none;
    json_number all_cost{};  ///< of the measurement with all around it
    json_number timestamp{}; ///< seconds since 1970
    std::optional<std::string> tvm_version{};
    json_value config_others = json_value::object(); ///< members of `config` that this version does not know
    json_value others = json_value::object();        ///< those of the whole record

    [[nodiscard]] bool failed() const noexcept { return error != measure_error::none; }
    /// Mean of the costs; `failed_cost` where there are none.
    GSUB_LAZY [[nodiscard]] double mean_cost() const noexcept;
    friend bool operator==(record const&, record const&) = default;
};

/// Parses a line of an AutoTVM log. Members that it does not know are kept. *Errors* `invalid_input` naming the member:
/// what is no JSON, a missing member or one of another type, a knob that stands twice, an outcome beyond AutoTVM's
/// numbers, a cost that is not finite, or not above zero where nothing failed. `unsupported` naming the version where
/// it is not 0.2, and for a record of Ansor. *Complexity* linear; lines may come from strangers.
GSUB_LAZY [[nodiscard]] result<record> parse_record(std::string_view line);

/// Prints a record as one line, byte for byte as AutoTVM does; unknown members come last. No end of line.
GSUB_LAZY [[nodiscard]] std::string to_string(record const& r);

/// Key of a record's target: its text, in which `-target` of old logs is `-mtriple`. *Source* AutoTVM's reader.
GSUB_LAZY [[nodiscard]] std::string target_key(std::string_view target);
/// Key of what a record measures: task and arguments as JSON.
GSUB_LAZY [[nodiscard]] std::string task_key(std::string_view task, std::vector<json_value> const& args);

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/record.ipp>
#include <gsub/tune/impl/record_members.ipp>
#endif
