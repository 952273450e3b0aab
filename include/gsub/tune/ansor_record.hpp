// ansor_record: a measured schedule in the JSON form of Ansor's logs (TVM's auto_scheduler): a workload and the steps
// that transform it.
//
//     {"i": [[workload, target, [8 numbers of the hardware], host, layouts, [inputs]], [[], [["SP", 2, 0, 1024, [2, 1,
//     4],
//      1], ...]]], "r": [[seconds, ...], error, all_cost, timestamp], "v": "v0.6"}
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/tune/json_value.hpp>
#include <gsub/tune/record.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::tune {

/// Transform step: a code and its fields, kept as data. `SP` splits a loop, `RE` reorders, `FU` fuses, `AN` annotates,
/// `PR` sets a pragma, `FSP` and `FFSP` split as another stage was split, `SA` aligns storage, `CA` computes a stage at
/// a loop of another, `CI` inline, `CR` at the root, `CHR` and `CHW` add a cached read or write, `RF` factors a
/// reduction. The first field is the stage. *Source* TVM v0.9, auto_scheduler.
struct transform_step {
    std::string code;
    std::vector<json_value> fields{};
    friend bool operator==(transform_step const&, transform_step const&) = default;
};

/// Record of Ansor. What older versions lack is absent. *Units* seconds.
struct ansor_record {
    std::string workload; ///< a JSON text: name or hash of a computation, then its arguments
    std::string target;
    /// Cores, bytes of a vector, bytes of a cache line, shared and local memory of a block, threads of a block, virtual
    /// threads, threads of a warp.
    std::optional<std::array<std::int64_t, 8>> hardware{};
    std::optional<std::string> target_host{};
    std::optional<std::int64_t> layout_rewrite{};
    std::optional<std::vector<std::string>> input_names{};
    std::vector<transform_step> steps{};
    std::vector<json_number> costs{};
    measure_error error = measure_error::none;
    json_number all_cost{};
    json_number timestamp{};
    std::string version = "v0.6";

    [[nodiscard]] bool failed() const noexcept { return error != measure_error::none; }
    /// Mean of the costs; `failed_cost` where there are none.
    GSUB_LAZY [[nodiscard]] double mean_cost() const noexcept;
    friend bool operator==(ansor_record const&, ansor_record const&) = default;
};

/// Parses a line of an Ansor log. *Errors* `invalid_input` naming the member, or step and field: as `parse_record`, and
/// for a step of an unknown code, or whose fields are not those of its code. `unsupported` for versions other than v0.2
/// to v0.6. *Complexity* linear; lines may come from strangers.
GSUB_LAZY [[nodiscard]] result<ansor_record> parse_ansor_record(std::string_view line);

/// Prints a record as one line, as TVM does. No end of line.
GSUB_LAZY [[nodiscard]] std::string to_string(ansor_record const& r);

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/ansor_record.ipp>
#endif
