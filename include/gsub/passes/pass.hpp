// What a pass is: a callable that changes a module or a graph, tells what it did, and carries its facts as data.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/core/observer.hpp>
#include <gsub/core/result.hpp>
#include <gsub/core/target.hpp>
#include <gsub/ir/module.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// What a pass is called with.
enum class pass_kind : std::uint8_t {
    module,   ///< a whole module: it may add and remove functions
    function, ///< the body of one function at a time
};

/// How the numbers that a module computes may differ after a pass. A verification takes its tolerance from it.
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

/// Why places were left as they are, and how many.
struct skip_count {
    std::string reason;
    std::uint64_t count = 0;
    friend bool operator==(skip_count const&, skip_count const&) = default;
};

/// What a pass did.
struct pass_outcome {
    bool changed = false;
    std::uint64_t matches = 0;         ///< places at which it did its work
    std::vector<skip_count> skipped{}; ///< places that it left alone, by reason, in order of first mention

    /// Counts one more place, or several, that was left alone.
    void skip(std::string_view reason, std::uint64_t count = 1);
    /// How often that reason was given.
    [[nodiscard]] std::uint64_t skips(std::string_view reason) const noexcept;
    pass_outcome& operator+=(pass_outcome const& other);
    friend bool operator==(pass_outcome const&, pass_outcome const&) = default;
};

/// What a pass may ask for.
struct pass_context {
    gsub::target machine{};      ///< for which machine; nothing is known of it by default
    observer* watch = nullptr;   ///< null: nobody
    std::stop_token stop{};      ///< long passes end early with an error when it is asked for
    std::uint64_t seed = 1;      ///< of anything random
    executor* threads = nullptr; ///< null: the calling thread alone

    /// *Errors* throws `error` (`environment`) where the caller asked for the end.
    void check_stop() const;
};

/// The facts of a pass: specialise it, or nest the members in the pass itself. There must be `name` (of the form
/// `fuse-ops`) and `exact`; there may be `level` (0: the least level of optimisation whose lists contain it), `classes`
/// and `required` (arrays of names: the lists that contain the pass, and the passes that must have run before), and
/// `enters_primitive` (false: a pass on functions sees kernels too).
template <class P>
struct pass_traits;

namespace detail {
template <class P>
struct pass_facts {
    using type = P;
};
template <class P>
requires specialised<pass_traits<P>>
struct pass_facts<P> {
    using type = pass_traits<P>;
};
template <class P>
using facts_of = typename pass_facts<P>::type;
} // namespace detail

/// A pass on modules: `result<pass_outcome> operator()(module&, pass_context&) const`.
template <class P>
concept module_pass = requires(P const& p, module& m, pass_context& cx) {
    { p(m, cx) } -> std::same_as<result<pass_outcome>>;
};
/// A pass on the body of a function: `result<pass_outcome> operator()(any_graph&, pass_context&) const`.
template <class P>
concept function_pass = requires(P const& p, any_graph& g, pass_context& cx) {
    { p(g, cx) } -> std::same_as<result<pass_outcome>>;
};
/// A type that states the facts of a pass.
template <class P>
concept states_pass_facts = requires {
    { detail::facts_of<P>::name } -> std::convertible_to<std::string_view>;
    { detail::facts_of<P>::exact } -> std::convertible_to<exactness>;
};
/// A pass. One that can be called both ways is a pass on modules.
template <class P>
concept pass = states_pass_facts<P> &&(module_pass<P> || function_pass<P>);

/// The facts of a pass as data, for lists of passes that are made at run time.
struct pass_info {
    std::string_view name;
    pass_kind kind = pass_kind::module;
    int level = 0;
    exactness exact = exactness::bit_exact;
    std::span<std::string_view const> classes;
    std::span<std::string_view const> required;
    bool enters_primitive = false;

    template <class P>
    static constexpr pass_info of() noexcept {
        static_assert(states_pass_facts<P>, "a pass has a name and says how exact it is: nest `static constexpr "
                                            "std::string_view name` and `static constexpr exactness exact` in it, or "
                                            "specialise gsub::pass_traits");
        static_assert(module_pass<P> || function_pass<P>,
                      "a pass is called with a gsub::module& or a gsub::any_graph&, and a gsub::pass_context&, is "
                      "const, and returns gsub::result<gsub::pass_outcome>");
        pass_info info{};
        if constexpr (pass<P>) { // one sentence is enough where it is none
            using t = detail::facts_of<P>;
            info.name = t::name;
            info.kind = module_pass<P> ? pass_kind::module : pass_kind::function;
            info.exact = t::exact;
            if constexpr (requires { t::level; }) info.level = t::level;
            if constexpr (requires { t::classes; }) info.classes = t::classes;
            if constexpr (requires { t::required; }) info.required = t::required;
            if constexpr (requires { t::enters_primitive; }) info.enters_primitive = t::enters_primitive;
        }
        return info;
    }
};

/// Whether passes leave a function alone: somebody else generates its code, or it is a kernel and the pass does not
/// enter those.
[[nodiscard]] bool opaque_to(pass_info const& info, function const& f) noexcept;

namespace detail {
[[nodiscard]] result<pass_outcome> run_pass(pass_info const& info, module& m, pass_context& cx,
                                            function_ref<result<pass_outcome>(module&, pass_context&)> body);
[[nodiscard]] result<pass_outcome> run_pass(pass_info const& info, module& m, pass_context& cx,
                                            function_ref<result<pass_outcome>(any_graph&, pass_context&)> body);
} // namespace detail

namespace passes::detail {
// Copies a node of one graph to another: operator, attributes, constant, sources, and names where `named`; result types
// too, where no others are given.
node_id copy_node(any_graph& to, any_graph const& from, node_id n, std::span<value_id const> operands, bool named,
                  std::span<type_id const> types = {});
} // namespace passes::detail

/// Runs a pass on a module; one on functions is run on each function that is not opaque to it, in the module's order,
/// and the outcome is the sum. *Errors* those of the pass, with its name and that of the function in front; what it
/// throws as `error` too. The module is then in an unspecified valid state: run on a copy to keep the original.
template <class P>
[[nodiscard]] result<pass_outcome> run_pass(P const& p, module& m, pass_context& cx) {
    constexpr auto info = pass_info::of<P>();
    if constexpr (module_pass<P>)
        return detail::run_pass(info, m, cx, function_ref<result<pass_outcome>(module&, pass_context&)>{p});
    else if constexpr (function_pass<P>)
        return detail::run_pass(info, m, cx, function_ref<result<pass_outcome>(any_graph&, pass_context&)>{p});
    else
        return pass_outcome{};
}
template <class P>
[[nodiscard]] result<pass_outcome> run_pass(P const& p, module& m) {
    pass_context cx;
    return run_pass(p, m, cx);
}

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/impl/pass.ipp>
#endif
