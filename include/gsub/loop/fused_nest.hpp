// fused_nest: loop nests that run one after another within shared loops.
#pragma once

#include <gsub/loop/schedule.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gsub::loop {

/// Fused loop nest: stages over one list of buffers. Each stage stands at a loop of the stage before it (TVM and
/// Halide: compute_at): at every position of the shared loops it runs after that stage and reads what it left in
/// workspace buffers.
///
///     fused_nest softmax{maxima};
///     softmax.then(exponentials, 1).then(sums, 1).then(quotients, 1);
class fused_nest {
public:
    GSUB_LAZY fused_nest(loop_nest first);

    /// Adds a stage that shares its `shared` outermost loops with the stage before. *Requires* that what it reads of
    /// written buffers was stored by earlier stages at the same position of the loops shared with them. *Errors* throws
    /// `error` (`usage`) where these loops differ in extent or kind, are no plain serial or parallel loops over spatial
    /// axes, a parallel loop is not shared, or the buffers of the stage before are not the first ones of this stage.
    GSUB_LAZY fused_nest& then(loop_nest next, std::size_t shared);

    /// Sets the fallback, which replaces what the last stage stored where its guard is not finite; its outermost loops,
    /// one for each position that the guard gives, take these positions. It is made where it is asked for: costs do not
    /// ask. *Errors* throws `error` (`usage`) where the stage has no guard.
    GSUB_LAZY fused_nest& fallback(std::function<loop_nest()> instead);

    [[nodiscard]] bool has_fallback() const noexcept { return static_cast<bool>(fallback_); }
    /// Makes the fallback. *Requires* that there is one. *Errors* throws `error` (`usage`) where it has fewer loops
    /// than the guard gives positions, or parallel ones, or its buffers are not those of the stage.
    GSUB_LAZY [[nodiscard]] loop_nest fallback() const;
    [[nodiscard]] std::span<loop_nest const> stages() const noexcept { return as_span(stages_); }
    /// Number of leading loops that stage `i` shares with the stage before; zero for the first.
    [[nodiscard]] std::size_t shared(std::size_t i) const noexcept { return shared_[i]; }
    [[nodiscard]] std::span<buffer const> buffers() const noexcept { return as_span(stages_.back().what.buffers); }

private:
    std::vector<loop_nest> stages_;
    std::vector<std::size_t> shared_{0};
    std::function<loop_nest()> fallback_;
};

/// Prints the stages as indented text, one after another.
GSUB_LAZY [[nodiscard]] std::string to_string(fused_nest const& nest);

} // namespace gsub::loop

#ifndef GSUB_COMPILED
#include <gsub/loop/impl/fused_nest.ipp>
#endif
