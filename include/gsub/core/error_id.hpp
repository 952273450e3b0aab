// Identity of errors: the kind with its exit code, and stable numbers under which `docs/errors.md` explains them.
#pragma once

#include <gsub/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

namespace gsub {

/// Kind of an error. The numbers are the exit codes of the command line.
enum class error_code : int {
    negative = 1,      ///< the answer is no: models differ, a rule is refuted
    usage = 2,         ///< the request makes no sense: unknown rule name, alpha below one
    unsupported = 3,   ///< valid, but outside of what this version does
    invalid_input = 4, ///< the file or value is malformed or ill-typed
    environment = 5,   ///< the operating system or a device refuses
    internal = 6,      ///< a fault in gsub itself
};

/// Name of an error code as it is printed, e.g. `not supported`.
[[nodiscard]] constexpr std::string_view to_string(error_code code) noexcept {
    constexpr std::string_view names[] = {"unknown",       "negative result", "usage",         "not supported",
                                          "invalid input", "environment",     "internal error"};
    auto const number = static_cast<std::size_t>(code);
    return names[number < std::size(names) ? number : 0];
}

/// Stable identity of an error: a number that no other error gets, in this version or a later one, and its kind. Made
/// of a kind alone it has that kind's number, 1 to 6: an error that only its words tell apart.
struct error_id {
    error_code code = error_code::invalid_input;
    std::uint16_t number = static_cast<std::uint16_t>(error_code::invalid_input);

    constexpr error_id() = default;
    constexpr error_id(error_code kind) noexcept : code(kind), number(static_cast<std::uint16_t>(kind)) {}
    constexpr error_id(error_code kind, std::uint16_t own) noexcept : code(kind), number(own) {}

    friend constexpr bool operator==(error_id, error_id) noexcept = default;
};

/// The number as it is printed and looked up, e.g. `G0102`.
[[nodiscard]] inline std::string to_string(error_id id) {
    std::string text = "G0000";
    for (std::size_t at = text.size(), rest = id.number; rest > 0 && at > 1; rest /= 10)
        text[--at] = static_cast<char>('0' + rest % 10);
    return text;
}

/// Errors that have numbers of their own, by what they are about: 1 model files, 2 graphs and values, 3 passes, 4
/// rules, costs and searches, 5 kernels and builds, 6 runs, 7 tuning and machines, 9 the operating system.
namespace errors {
inline constexpr error_id malformed_model{error_code::invalid_input, 101};
inline constexpr error_id unknown_operator{error_code::unsupported, 102};
inline constexpr error_id operator_form{error_code::unsupported, 103};
inline constexpr error_id invalid_node{error_code::invalid_input, 104};
inline constexpr error_id newer_model{error_code::unsupported, 105};
inline constexpr error_id external_data{error_code::invalid_input, 106};
inline constexpr error_id declared_type{error_code::invalid_input, 107};
inline constexpr error_id element_type{error_code::unsupported, 108};
inline constexpr error_id model_limit{error_code::unsupported, 109};
inline constexpr error_id input_binding{error_code::usage, 110};
inline constexpr error_id no_form_in_files{error_code::unsupported, 111};
inline constexpr error_id malformed_array{error_code::invalid_input, 112};
inline constexpr error_id array_form{error_code::unsupported, 113};
inline constexpr error_id names_in_model{error_code::invalid_input, 114};

inline constexpr error_id ill_typed{error_code::invalid_input, 201};
inline constexpr error_id graph_text{error_code::invalid_input, 202};
inline constexpr error_id function_call{error_code::invalid_input, 203};
inline constexpr error_id inlined_nodes{error_code::unsupported, 204};
inline constexpr error_id declared_result{error_code::invalid_input, 205};
inline constexpr error_id index_out_of_range{error_code::invalid_input, 206};
inline constexpr error_id memory_limit{error_code::unsupported, 207};
inline constexpr error_id no_evaluator{error_code::unsupported, 208};
inline constexpr error_id given_inputs{error_code::usage, 209};
inline constexpr error_id illegal_graph{error_code::internal, 210};
inline constexpr error_id branches_apart{error_code::unsupported, 211};

inline constexpr error_id unknown_pass{error_code::usage, 301};
inline constexpr error_id pass_arguments{error_code::usage, 302};
inline constexpr error_id pass_list{error_code::usage, 303};
inline constexpr error_id pass_changes_results{error_code::negative, 304};
inline constexpr error_id pass_threw{error_code::internal, 305};
inline constexpr error_id no_gradient{error_code::unsupported, 306};
inline constexpr error_id layout_request{error_code::usage, 307};
inline constexpr error_id no_code_generator{error_code::unsupported, 308};

inline constexpr error_id unknown_rule{error_code::usage, 401};
inline constexpr error_id malformed_rule{error_code::invalid_input, 402};
inline constexpr error_id rule_form{error_code::unsupported, 403};
inline constexpr error_id rule_does_not_apply{error_code::negative, 404};
inline constexpr error_id search_setting{error_code::usage, 405};
inline constexpr error_id other_search{error_code::usage, 406};
inline constexpr error_id damaged_trace{error_code::invalid_input, 407};
inline constexpr error_id rewrite_weights{error_code::unsupported, 408};
inline constexpr error_id cost_value{error_code::internal, 409};
inline constexpr error_id no_cost{error_code::unsupported, 410};
inline constexpr error_id cost_file{error_code::invalid_input, 411};
inline constexpr error_id goal_weights{error_code::usage, 412};

inline constexpr error_id open_shape{error_code::unsupported, 501};
inline constexpr error_id kernel_schedule{error_code::usage, 502};
inline constexpr error_id kernel_form{error_code::unsupported, 503};
inline constexpr error_id user_kernel_entry{error_code::usage, 504};
inline constexpr error_id user_kernel_failed{error_code::environment, 505};
inline constexpr error_id user_kernel_signature{error_code::unsupported, 506};
inline constexpr error_id unknown_target{error_code::usage, 507};
inline constexpr error_id compiler_failed{error_code::environment, 508};
inline constexpr error_id export_request{error_code::usage, 509};
inline constexpr error_id not_exported{error_code::unsupported, 510};
inline constexpr error_id kernel_graph_text{error_code::invalid_input, 511};
inline constexpr error_id no_device{error_code::environment, 512};
inline constexpr error_id device_kernels_alone{error_code::unsupported, 513};

inline constexpr error_id overlapping_memory{error_code::usage, 601};
inline constexpr error_id device_failed{error_code::environment, 602};
inline constexpr error_id device_memory{error_code::environment, 603};

inline constexpr error_id malformed_record{error_code::invalid_input, 701};
inline constexpr error_id record_form{error_code::unsupported, 702};
inline constexpr error_id worker_lost{error_code::environment, 703};
inline constexpr error_id objective_value{error_code::usage, 704};
inline constexpr error_id calibration_failed{error_code::environment, 705};
inline constexpr error_id assembly_text{error_code::invalid_input, 706};

inline constexpr error_id file_access{error_code::environment, 901};
inline constexpr error_id not_a_file{error_code::invalid_input, 902};
inline constexpr error_id file_ends{error_code::invalid_input, 903};
inline constexpr error_id file_limit{error_code::unsupported, 904};
inline constexpr error_id cache_folder{error_code::environment, 905};
inline constexpr error_id stopped{error_code::environment, 906};
inline constexpr error_id out_of_memory{error_code::environment, 907};
} // namespace errors

/// What `docs/errors.md` says of an error.
struct error_entry {
    error_id id;
    std::string_view title;  ///< what is wrong, in a few words
    std::string_view cause;  ///< when it comes
    std::string_view remedy; ///< what to do
};
/// All errors by their numbers, those of kinds first.
GSUB_LAZY [[nodiscard]] std::span<error_entry const> error_entries();
/// The entry of a number as `to_string` writes it, or null. *Complexity* linear.
GSUB_LAZY [[nodiscard]] error_entry const* find_error(std::string_view number);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/core/impl/error_id.ipp>
#endif
