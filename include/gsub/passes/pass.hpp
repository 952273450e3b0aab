// The pass concept: a callable that changes a module or a graph, reports what it did, and states its traits as data.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/executor.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/core/observer.hpp>
#include <gsub/core/result.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/ir/module.hpp>
#include <gsub/target/target.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// Kind of a pass: what it is called with.
enum class pass_kind : std::uint8_t {
    module,   ///< a whole module: it may add and remove functions
    function, ///< the body of one function at a time
};

/// Exactness of a pass: how the numbers that a module computes may differ after it. A verification takes its tolerance
/// from it.
enum class exactness : std::uint8_t {
    bit_exact,          ///< not at all
    reassociating,      ///< by the order of sums and products
    approximate,        ///< by an approximation within a stated error
    precision_changing, ///< by computing in other element types
};
[[nodiscard]] constexpr std::string_view to_string(exactness e) noexcept {
    constexpr std::string_view names[] = {"bit-exact", "reassociating", "approximate", "precision-changing"};
    return names[static_cast<std::size_t>(e)];
}

/// A reason why a pass left places as they are, and how many.
struct skip_count {
    std::string reason;
    std::uint64_t count = 0;
    friend bool operator==(skip_count const&, skip_count const&) = default;
};

/// Outcome of a pass.
struct pass_outcome {
    bool changed = false;
    std::uint64_t matches = 0;         ///< places that it rewrote
    std::vector<skip_count> skipped{}; ///< places that it left alone, by reason, in order of first mention

    /// Counts one or more skipped places.
    void skip(std::string_view reason, std::uint64_t count = 1);
    /// How often that reason was given.
    [[nodiscard]] std::uint64_t skips(std::string_view reason) const noexcept;
    pass_outcome& operator+=(pass_outcome const& other);
    friend bool operator==(pass_outcome const&, pass_outcome const&) = default;
};

struct eval_row;
struct op_histogram;
struct pass_instrument;

/// Pass context: what a pass may use.
struct pass_context {
    gsub::target machine{};      ///< the target machine; nothing is known of it by default
    observer* observe = nullptr; ///< null: none
    std::stop_token stop{};      ///< when a stop is requested, long passes end early with an error
    std::uint64_t seed = 1;      ///< of anything random
    executor* threads = nullptr; ///< null: the calling thread alone
    eval_row const* evaluators =
        nullptr; ///< a row per operator of the graphs' set; null: those of the standard operators
    pass_instrument* instrument = nullptr; ///< runs around every pass; null: none, see `checking_instrument`
    std::uint64_t* bisect_limit = nullptr; ///< how many places passes may still change; null: all. See `should_rewrite`

    /// *Errors* throws `error` (`environment`) where the caller requested a stop.
    void check_stop() const;
    /// Bisect limit: whether a pass may change one more place, which is then counted. `bisect` finds with it the place
    /// that breaks a model. A pass whose places are independent asks before each, and skips the place on false.
    [[nodiscard]] bool should_rewrite() const noexcept {
        if (bisect_limit && *bisect_limit == 0) return false;
        if (bisect_limit) --*bisect_limit;
        return true;
    }
};

/// A list of names, at most 8, as a pass states them. Its members are public for GCC 12, which copies constants in
/// templates member by member and minds access as it does.
struct name_list {
    std::array<std::string_view, 8> names{};
    std::size_t size = 0;

    constexpr name_list() = default;
    constexpr name_list(std::initializer_list<std::string_view> list) {
        GSUB_ASSERT(list.size() <= names.size(), "a pass states at most 8 names of a kind");
        for (auto name : list) names[size++] = name;
    }
    constexpr operator std::span<std::string_view const>() const noexcept { return {names.data(), size}; }
};

/// Facts of a pass that have a default.
struct further_facts {
    std::string_view tvm_name{};     ///< what TVM calls the same pass; empty: it has none
    int level = 0;                   ///< the least level of optimisation whose lists contain it
    name_list classes{};             ///< the network classes for which it is
    name_list required{};            ///< the passes that must run before it
    name_list preserved{};           ///< those whose results stay valid where it changes something
    name_list aliases{};             ///< its other names
    double tolerance = 1e-3;         ///< of an approximate pass: the bound of max |a - b| / max |b| of an output
    bool enters_primitive = false;   ///< whether a pass on functions sees kernels too
    bool preserves_semantics = true; ///< false where the module computes something else afterwards, as gradients
};

/// Facts of a pass: its name, of the form `fuse-ops`, how exact it is, what it does in one sentence, and further ones.
///
///     static constexpr auto facts = pass_facts("fuse-ops", exactness::bit_exact, "groups operators into kernels",
///                                              {.tvm_name = "FuseOps", .level = 1});
struct pass_facts {
    constexpr pass_facts(std::string_view pass_name, exactness how_exact, std::string_view sentence = {},
                         further_facts const& others = {})
        : name(pass_name), exact(how_exact), effect(sentence), further(others) {}

    std::string_view name;
    exactness exact;
    std::string_view effect;
    further_facts further;
};

/// Traits of a pass: specialise it, or nest the members in the pass itself. `static constexpr pass_facts facts` is
/// required; `static bool may_apply(op_histogram const&)` is optional: false where the pass cannot change a module with
/// such operators.
template <class P>
struct pass_traits;

struct pass_info;

namespace detail {
template <class P>
struct facts_source {
    using type = P;
};
template <class P>
requires specialised<pass_traits<P>>
struct facts_source<P> {
    using type = pass_traits<P>;
};
template <class P>
using facts_of = typename facts_source<P>::type;

// Those of passes that run others are of the form that lists hold.
template <class T>
concept pass_fact_data = std::same_as<T, pass_facts const> || std::same_as<T, pass_info const>;

template <class P, class Subject>
concept called_pass = requires(P const& p, Subject& on, pass_context& cx) {
    { p(on, cx) } -> std::same_as<result<pass_outcome>>;
};
template <class P, class Subject>
concept traits_run_pass = requires(P const& p, Subject& on, pass_context& cx) {
    { pass_traits<P>::run(p, on, cx) } -> std::same_as<result<pass_outcome>>;
};
template <class P, class Subject>
result<pass_outcome> call_pass(P const& p, Subject& on, pass_context& cx) {
    if constexpr (traits_run_pass<P, Subject>)
        return pass_traits<P>::run(p, on, cx);
    else
        return p(on, cx);
}
} // namespace detail

/// A module pass: `result<pass_outcome> operator()(module&, pass_context&) const`; for a third-party type
/// `static result<pass_outcome> pass_traits<P>::run(P const&, module&, pass_context&)`.
template <class P>
concept module_pass = detail::called_pass<P, module> || detail::traits_run_pass<P, module>;
/// A function pass, on the body of a function: the same with `any_graph&`.
template <class P>
concept function_pass = detail::called_pass<P, any_graph> || detail::traits_run_pass<P, any_graph>;
/// A type with the required pass traits.
template <class P>
concept states_pass_facts = detail::pass_fact_data<decltype(detail::facts_of<P>::facts)>;
/// A pass. One that can be called both ways is a module pass.
template <class P>
concept pass = states_pass_facts<P> &&(module_pass<P> || function_pass<P>);

/// Traits of a pass as run-time data, for pass lists that are made at run time.
struct pass_info {
    std::string_view name{};
    pass_kind kind = pass_kind::module;
    int level = 0;
    exactness exact = exactness::bit_exact;
    std::span<std::string_view const> classes{};
    std::span<std::string_view const> required{};
    std::span<std::string_view const> preserved{};
    std::span<std::string_view const> aliases{};
    std::string_view effect{};
    std::string_view tvm_name{}; ///< empty: TVM has no such pass
    double tolerance = 1e-3;
    bool enters_primitive = false;
    bool preserves_semantics = true;
    bool composite = false;
    bool (*may_apply)(op_histogram const&) = nullptr; ///< null: unknown

    template <class P>
    static constexpr pass_info of() noexcept {
        static_assert(states_pass_facts<P>, "a pass has a name and says how exact it is: nest `static constexpr "
                                            "gsub::pass_facts facts{name, exactness}` in it, or specialise "
                                            "gsub::pass_traits");
        static_assert(module_pass<P> || function_pass<P>,
                      "a pass is called with a gsub::module& or a gsub::any_graph&, and a gsub::pass_context&, is "
                      "const, and returns gsub::result<gsub::pass_outcome>");
        pass_info info{};
        if constexpr (pass<P>) { // one sentence is enough where it is none
            using t = detail::facts_of<P>;
            info = stated(t::facts);
            info.kind = module_pass<P> ? pass_kind::module : pass_kind::function;
            if constexpr (requires { &t::may_apply; }) info.may_apply = &t::may_apply;
        }
        return info;
    }

private:
    static constexpr pass_info stated(pass_info const& info) noexcept { return info; }
    static constexpr pass_info stated(pass_facts const& facts) noexcept {
        auto const& f = facts.further;
        pass_info info{.name = facts.name, .exact = facts.exact, .effect = facts.effect, .tvm_name = f.tvm_name};
        info.level = f.level, info.classes = f.classes, info.aliases = f.aliases, info.tolerance = f.tolerance;
        info.required = f.required, info.preserved = f.preserved;
        info.enters_primitive = f.enters_primitive, info.preserves_semantics = f.preserves_semantics;
        return info;
    }
};

/// Whether a function is opaque to a pass: for an external code generator, or a kernel that the pass does not enter.
[[nodiscard]] bool opaque_to(pass_info const& info, function const& f) noexcept;

/// Fingerprint: a hash of all functions with their names, attributes and nodes, and of the entry points, including
/// function boundaries and dead code, which `module::hash` does not see. Names of values and sources do not count.
/// *Complexity* O(functions) where each body is hashed, see `any_graph::rehash`.
[[nodiscard]] hash128 fingerprint(module const& m);

/// Pass instrument: wraps every pass that runs in a context which names it. `run` calls `body` once, or says why not.
struct pass_instrument {
    using body_ref = function_ref<result<pass_outcome>(module&, pass_context&)>;
    result<pass_outcome> (*run)(pass_instrument& self, pass_info const& info, module& m, pass_context& cx,
                                body_ref body) = nullptr;
};

namespace detail {
[[nodiscard]] result<pass_outcome> run_pass(pass_info const& info, module& m, pass_context& cx,
                                            function_ref<result<pass_outcome>(module&, pass_context&)> body);
[[nodiscard]] result<pass_outcome> run_pass(pass_info const& info, module& m, pass_context& cx,
                                            function_ref<result<pass_outcome>(any_graph&, pass_context&)> body);
template <class P>
result<pass_outcome> run_named(pass_info const& info, P const& p, module& m, pass_context& cx) {
    auto const body = [&p](auto& on, pass_context& c) { return call_pass(p, on, c); };
    if constexpr (module_pass<P>)
        return run_pass(info, m, cx, function_ref<result<pass_outcome>(module&, pass_context&)>{body});
    else if constexpr (function_pass<P>)
        return run_pass(info, m, cx, function_ref<result<pass_outcome>(any_graph&, pass_context&)>{body});
    else
        return pass_outcome{};
}
} // namespace detail

namespace passes::detail {
// Replaces result 0 of a node by what `build` makes of the graph's values; its nodes get the sources of the old one,
// which may lose its readers. False, and no change, where its type differs or it is ill-typed. `build` is called twice;
// the order is wrong until it is sorted.
bool replace_node(any_graph& g, node_id n, function_ref<value_id(node_sink&)> build);
} // namespace passes::detail

/// Runs a pass on a module. A function pass runs on each function that is not opaque to it, in the module's order, and
/// the outcome is the sum. *Errors* those of the pass, with its name and that of the function in front; also what it
/// throws as `error`. The module is then in an unspecified valid state: run on a copy to keep the original.
template <class P>
[[nodiscard]] result<pass_outcome> run_pass(P const& p, module& m, pass_context& cx) {
    constexpr auto info = pass_info::of<P>();
    return detail::run_named(info, p, m, cx);
}
template <class P>
[[nodiscard]] result<pass_outcome> run_pass(P const& p, module& m) {
    pass_context cx;
    return run_pass(p, m, cx);
}

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/impl/pass.ipp>
#include <gsub/passes/impl/pass_steps.ipp>
#endif
