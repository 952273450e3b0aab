// Pass pipelines, put together at compile time: a pipeline is a value, and itself a pass.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace gsub {

namespace detail {

GSUB_LAZY [[nodiscard]] result<pass_outcome>
run_fixpoint(std::size_t max_iterations, module& m, pass_context& cx,
             function_ref<result<pass_outcome>(module&, pass_context&)> body);

// Facts of what is a pass; empty for what is none, which a static_assert reports.
template <class P>
constexpr pass_info info_or_none() noexcept {
    if constexpr (pass<P>)
        return pass_info::of<P>();
    else
        return pass_info{};
}
template <class... Passes>
inline constexpr std::array<pass_info, sizeof...(Passes)> stage_infos{info_or_none<Passes>()...};

// Passes that stages require and that no earlier stage is.
struct open_requirements {
    std::array<std::string_view, 64> data{};
    std::size_t size = 0;

    static constexpr open_requirements of(std::span<pass_info const> stages) noexcept {
        open_requirements out;
        for (std::size_t i = 0; i < stages.size(); ++i)
            for (auto required : stages[i].required) {
                bool met = false;
                for (std::size_t k = 0; k < i; ++k) met = met || stages[k].name == required;
                for (std::size_t k = 0; k < out.size; ++k) met = met || out.data[k] == required;
                if (!met && out.size < out.data.size()) out.data[out.size++] = required;
            }
        return out;
    }
};
template <class... Passes>
inline constexpr open_requirements required_by_stages = open_requirements::of(stage_infos<Passes...>);

// Facts of a pass that runs others: as exact as the least exact of these, with the largest of their tolerances.
template <class... Passes>
constexpr pass_info composite_info(std::string_view name) noexcept {
    auto const& open = required_by_stages<Passes...>;
    pass_info all{.name = name,
                  .required = {open.data.data(), open.size},
                  .tolerance = 0,
                  .enters_primitive = true,
                  .composite = true};
    for (auto const& s : stage_infos<Passes...>) {
        all.exact = std::max(all.exact, s.exact);
        if (s.exact == exactness::approximate) all.tolerance = std::max(all.tolerance, s.tolerance);
        all.preserves_semantics = all.preserves_semantics && s.preserves_semantics;
    }
    return all;
}

} // namespace detail

/// A pipeline: runs passes in order; an error ends it. Outcome: the sum. *Example* `tests/passes/pipeline.cpp`
///
///     constexpr pipeline simplify{fold_constant{}, fixpoint{pipeline{simplify_expr{}, my_pass{}}}, fuse_ops{}};
///     run_pass(simplify, m);
template <class... Passes>
class pipeline {
    static_assert((pass<Passes> && ...),
                  "every stage of a pipeline is a pass: a value with `facts`, nested or in gsub::pass_traits, "
                  "that is called with a gsub::module& or a gsub::any_graph&, and a gsub::pass_context&, is const, and "
                  "returns gsub::result<gsub::pass_outcome>");

public:
    static constexpr pass_info facts = detail::composite_info<Passes...>("pipeline");

    constexpr explicit pipeline(Passes... stages) : stages_(std::move(stages)...) {}

    result<pass_outcome> operator()(module& m, pass_context& cx) const {
        return capture([&] {
            pass_outcome sum;
            if constexpr ((pass<Passes> && ...))
                std::apply([&](Passes const&... p) { (static_cast<void>(sum += run_pass(p, m, cx).value()), ...); },
                           stages_);
            return sum;
        });
    }
    /// Calls `f` for each stage, in their order.
    template <class F>
    constexpr void for_each_stage(F&& f) const {
        std::apply([&](Passes const&... p) { (static_cast<void>(f(p)), ...); }, stages_);
    }

private:
    std::tuple<Passes...> stages_;
};

namespace detail {
template <class T>
inline constexpr bool is_pipeline = false;
template <class... Passes>
inline constexpr bool is_pipeline<pipeline<Passes...>> = true;
} // namespace detail

/// A `pipeline` of any passes.
template <class T>
concept pipeline_of_passes = detail::is_pipeline<T>;

/// Limit of a `fixpoint` that does not converge.
struct fixpoint_options {
    std::size_t max_iterations = 8; ///< at least 1
};

/// Runs a pass until it changes nothing. Outcome: the sum; where it reaches the limit, or the module returns to an
/// earlier form, `skipped` and the observer are told.
template <class Pass>
class fixpoint {
    static_assert(pass<Pass>, "what a fixpoint repeats is a pass: a value with `facts`, nested or in "
                              "gsub::pass_traits, that is called with a gsub::module& or a gsub::any_graph&, and a "
                              "gsub::pass_context&, is const, and returns gsub::result<gsub::pass_outcome>");

public:
    static constexpr pass_info facts = detail::composite_info<Pass>("fixpoint");

    constexpr explicit fixpoint(Pass repeated, fixpoint_options options = {})
        : pass_(std::move(repeated)), options_(options) {}

    result<pass_outcome> operator()(module& m, pass_context& cx) const {
        auto const once = [this](module& on, pass_context& c) -> result<pass_outcome> {
            if constexpr (pass<Pass>)
                return run_pass(pass_, on, c);
            else
                return pass_outcome{};
        };
        return detail::run_fixpoint(options_.max_iterations, m, cx, once);
    }

private:
    Pass pass_;
    fixpoint_options options_;
};

/// Condition of `when`: on a module, its operators, or a module and the context.
template <class F>
concept pass_condition = std::is_invocable_r_v<bool, F const&, module const&> ||
    std::is_invocable_r_v<bool, F const&, op_histogram const&> ||
    std::is_invocable_r_v<bool, F const&, module const&, pass_context const&>;

/// Runs a pass where a condition holds: `when{[](op_histogram const& ops) { return ops.any_of<ops::pad>(); }, pass}`.
/// The histogram counts kernels too. Where it does not hold, the outcome is empty but for the reason.
template <class Condition, class Pass>
class when {
    static_assert(pass_condition<Condition>,
                  "the condition of a when is called with a gsub::module const&, a gsub::op_histogram const&, or a "
                  "gsub::module const& and a gsub::pass_context const&, is const, and gives a bool");
    static_assert(pass<Pass>, "what a when runs is a pass: a value with `facts`, nested or in "
                              "gsub::pass_traits, that is called with a gsub::module& or a gsub::any_graph&, and a "
                              "gsub::pass_context&, is const, and returns gsub::result<gsub::pass_outcome>");

public:
    static constexpr pass_info facts = detail::composite_info<Pass>("when");

    constexpr explicit when(Condition condition, Pass p) : condition_(std::move(condition)), pass_(std::move(p)) {}

    result<pass_outcome> operator()(module& m, pass_context& cx) const {
        if constexpr (pass_condition<Condition> && pass<Pass>)
            if (holds(m, cx)) return run_pass(pass_, m, cx);
        pass_outcome none;
        none.skip("the condition does not hold");
        return none;
    }

private:
    bool holds(module const& m, pass_context const& cx) const {
        if constexpr (std::is_invocable_r_v<bool, Condition const&, module const&>)
            return condition_(m);
        else if constexpr (std::is_invocable_r_v<bool, Condition const&, op_histogram const&>)
            return condition_(histogram_of(m, pass_info{.enters_primitive = true}));
        else
            return condition_(m, cx);
    }

    Condition condition_;
    Pass pass_;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/impl/pipeline.ipp>
#endif
