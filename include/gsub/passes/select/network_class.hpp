// Network classes as types: a name, a score of how well a network fits, and the passes for those that do.
//
//     features_of(graph) ──► score of each class, in their order ──► the first that fits ──► its pipeline's stages
#pragma once

#include <gsub/passes/manager/manager.hpp>
#include <gsub/passes/pipeline.hpp>
#include <gsub/passes/select/architecture.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// Score of a network for a class, and why.
struct class_score {
    double value = 0; ///< in [0, 1]; from 1/2 on the network is of the class
    std::string reason{};
};

/// A network class: a value with a `name`, a `score` of the features of a network, and `passes`, a `pipeline`.
///
///     struct recurrent {
///         static constexpr std::string_view name = "recurrent";
///         class_score score(architecture_features const& f) const { return {f.convolutions == 0 ? 1.0 : 0.0, "..."}; }
///         auto passes() const { return pipeline{passes::fold_constant{}, passes::simplify_expr{}}; }
///     };
template <class C>
concept network_class = std::default_initializable<C> && requires(C const& c, architecture_features const& f) {
    { C::name } -> std::convertible_to<std::string_view>;
    { c.score(f) } -> std::same_as<class_score>;
    requires pipeline_of_passes<decltype(c.passes())>;
};

/// Classification of a network: its class, the score and the reasons.
struct classification {
    std::string_view name{}; ///< of the class; empty where none fits
    double score = 0;        ///< of the class; where none fits the best score of one, below 1/2
    std::vector<std::string> reasons{};
};

/// Passes selected for a module.
struct pass_selection {
    classification of;
    std::vector<any_pass> passes;
    /// Names of the passes, separated by commas: a list that `pass_manager::parse` reads.
    GSUB_LAZY [[nodiscard]] std::string text() const;
};

namespace detail {

struct scored_class {
    std::string_view name;
    class_score score;
};
GSUB_LAZY [[nodiscard]] classification first_that_fits(std::span<scored_class const> classes);

template <class... Classes>
[[nodiscard]] consteval bool are_network_classes() {
    static_assert((network_class<Classes> && ...),
                  "a class of networks is a value with a static `name`, with `class_score score(architecture_features "
                  "const&) const`, and with `passes() const`, which gives a gsub::pipeline");
    return (network_class<Classes> && ...);
}
template <class... Classes>
[[nodiscard]] consteval bool have_different_names() {
    constexpr std::array<std::string_view, sizeof...(Classes)> names{Classes::name...};
    for (std::size_t i = 0; i < names.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
            if (names[i] == names[k]) return false;
    return true;
}

// Appends the stages of a pipeline, nested pipelines flattened.
template <class P>
void append_stages(P const& p, std::vector<any_pass>& to) {
    if constexpr (pipeline_of_passes<P>)
        p.for_each_stage([&](auto const& stage) { append_stages(stage, to); });
    else
        to.push_back(p);
}

} // namespace detail

/// Classifies a network: the first class whose score is at least 1/2, so the most special one stands first.
/// *Complexity* that of the scores.
template <class... Classes>
requires(sizeof...(Classes) > 0) [[nodiscard]] classification classify(architecture_features const& f) {
    if constexpr (detail::are_network_classes<Classes...>()) {
        static_assert(detail::have_different_names<Classes...>(), "two classes of networks have one name");
        std::array<detail::scored_class, sizeof...(Classes)> const scored{
            detail::scored_class{Classes::name, Classes{}.score(f)}...};
        return detail::first_that_fits(scored);
    } else {
        return {};
    }
}

/// Selects the passes of the first class that fits a module's first entry point, none where no class does. Runs
/// nothing: an instrument asks the predicate of each pass when its turn comes, since what an earlier one makes decides
/// too. *Complexity* that of `features_of`.
template <class... Classes>
requires(sizeof...(Classes) > 0) [[nodiscard]] pass_selection select_passes(module const& m) {
    pass_selection out;
    if constexpr (detail::are_network_classes<Classes...>()) {
        auto const* const entry = m.entry_points().empty() ? nullptr : m.find(m.entry_points().front());
        if (entry) out.of = classify<Classes...>(features_of(entry->body));
        auto const take = [&]<class C>(C const& c) {
            if (C::name == out.of.name) detail::append_stages(c.passes(), out.passes);
        };
        (take(Classes{}), ...);
    }
    return out;
}

/// Passes of a class, nested pipelines flattened.
template <network_class C>
[[nodiscard]] pass_selection passes_of(C const& c = {}) {
    pass_selection out;
    out.of.name = C::name;
    detail::append_stages(c.passes(), out.passes);
    return out;
}

/// An ordered list of network classes, asked in this order.
template <class... Classes>
struct network_classes {
    /// Passes of each class.
    [[nodiscard]] static std::vector<pass_selection> all() { return {passes_of<Classes>()...}; }
    /// With more classes, asked before these.
    template <class... More>
    using with = network_classes<More..., Classes...>;

    [[nodiscard]] static classification classify(architecture_features const& f) {
        return gsub::classify<Classes...>(f);
    }
    [[nodiscard]] static pass_selection select(module const& m) { return select_passes<Classes...>(m); }
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/select/impl/network_class.ipp>
#endif
