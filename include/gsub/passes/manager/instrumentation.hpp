// Pass instrumentation: records of what each pass did, checks of what it left, rollback where one fails.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gsub {

/// Result of comparing the modules before and after a pass.
struct pass_verdict {
    bool compared = false;
    bool equal = false;   ///< within what the pass allows itself; where compared
    double error = 0;     ///< largest over outputs of max |a - b| / max |b|
    std::string reason{}; ///< why it was not compared, or what differs
};

/// Compares the modules before and after a pass.
using pass_verifier = function_ref<pass_verdict(module const& before, module const& after, pass_info const& info)>;

/// Record of one pass.
struct pass_record {
    std::string pass;
    std::size_t depth = 0;   ///< 0 for a pass of a list, more for the stages of a composite one
    std::string required_by; ///< the pass that requires it; empty: the list names it
    std::string not_run;     ///< why it was skipped; empty: it ran
    std::string failure;     ///< the error; empty: none. The module is then as it was before
    bool changed = false;    ///< by `fingerprint`, whatever the pass says
    pass_outcome outcome;    ///< what the pass says
    double time_s = 0;       ///< seconds in the pass itself
    double instrument_s = 0; ///< seconds of copying, hashing and checking around it
    std::size_t nodes_before = 0, nodes_after = 0;
    std::uint64_t weight_bytes_before = 0, weight_bytes_after = 0; ///< of constants, each counted once
    hash128 hash;                                                  ///< fingerprint afterwards
    pass_verdict verdict;
};

/// Pass observer: sees each pass, with the modules before and after it. Both calls nest for composite passes.
class pass_observer {
public:
    virtual ~pass_observer() = default;
    virtual void before_pass(pass_info const&, std::size_t, module const&) {}
    /// After a failed pass, the module is as the pass left it; it is rolled back after this call.
    virtual void after_pass(pass_record const&, module const&) {}
};

/// Options of a `checking_instrument`.
struct instrument_options {
    bool prune = true;                     ///< skip passes whose `may_apply` says that they have no effect
    bool check = true;                     ///< structure and types of the functions that a pass changed, and all calls
    std::optional<pass_verifier> verify{}; ///< of passes that preserve semantics and changed something
    pass_observer* observe = nullptr;
};

/// Pass instrument that records, checks and rolls back, for `pass_context::instrument`. Where a pass returns or throws
/// an error, leaves an ill-typed module, or changes numbers beyond its exactness, it restores the module, and the error
/// names the pass.
///
///     checking_instrument s{{.prune = true}};
///     pass_context cx;
///     cx.instrument = &s;
///     run_pass(pipeline{...}, m, cx);
class checking_instrument : public pass_instrument {
public:
    GSUB_LAZY explicit checking_instrument(instrument_options options);

    [[nodiscard]] instrument_options const& options() const noexcept { return options_; }
    /// One record for each pass that ran or was skipped, in the order in which they began.
    [[nodiscard]] std::vector<pass_record> const& records() const noexcept { return records_; }
    /// Moves the records out.
    [[nodiscard]] std::vector<pass_record> take_records() noexcept { return std::exchange(records_, {}); }
    /// Sets the pass that requires the passes that follow.
    void set_required_by(std::string_view pass) { required_by_ = pass; }

private:
    template <class>
    friend class instrumented_run;
    instrument_options options_;
    std::vector<pass_record> records_;
    std::string required_by_;
    std::size_t depth_ = 0;
    std::optional<std::pair<hash128, op_histogram>> histograms_[2]; // without and with kernels
};

/// Number of nodes of all functions, each function once.
GSUB_LAZY [[nodiscard]] std::size_t node_count(module const& m);
/// Bytes of the constants of all functions; elements that are shared count once.
GSUB_LAZY [[nodiscard]] std::uint64_t weight_bytes(module const& m);
/// Checks a module, and returns what is wrong: structure and types of every function that `before` does not have alike,
/// calls that do not fit their callees, entry points without a function. Empty for a well-formed one.
GSUB_LAZY [[nodiscard]] std::vector<problem> check(module const& m, module const* before = nullptr);

/// Error bound of a pass, for max |a - b| / max |b| of an output: 0 (every bit) for `bit_exact`, 1e-4 for
/// `reassociating`, the pass's own for `approximate`, 0.05 for `precision_changing`.
[[nodiscard]] constexpr double tolerance_of(pass_info const& info) noexcept {
    constexpr double bounds[] = {0, 1e-4, 0, 0.05};
    return info.exact == exactness::approximate ? info.tolerance : bounds[static_cast<std::size_t>(info.exact)];
}

/// Pass verifier by differential testing: runs each entry point on seeded random inputs, on the reference runtime.
/// Keeps the outputs of the last module, so that a sequence of passes runs each module once. *Requires* that `cx`
/// outlives it.
class numeric_verifier {
public:
    explicit numeric_verifier(pass_context const& cx) : cx_(&cx) {}
    GSUB_LAZY pass_verdict operator()(module const& before, module const& after, pass_info const& info);

private:
    using outputs = std::vector<result<std::vector<tensor>>>;
    GSUB_LAZY outputs run(module const& m) const;
    pass_context const* cx_;
    std::optional<std::pair<hash128, outputs>> known_;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/manager/impl/instrumentation.ipp>
#endif
