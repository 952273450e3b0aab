// Rewrite rules: a pattern, its replacement, conditions and a source, checked by the compiler and lowered to data.
#pragma once

#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/pattern/pattern.hpp>
#include <gsub/rewrite/pattern/program.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace gsub {

/// Source of a law: a paper and equation, a specification, or a reason.
struct provenance {
    std::string_view text;
};

namespace pattern {

/// Soundness conditions: without one of them the rule would be wrong.
template <std::size_t N>
struct where_list {
    std::array<rule_condition, N> conditions;
};
/// Profitability conditions: hints on when the rule may pay.
template <std::size_t N>
struct prefer_list {
    std::array<rule_condition, N> conditions;
};
template <std::same_as<rule_condition>... C>
constexpr auto where(C... conditions) noexcept {
    return where_list<sizeof...(C)>{{conditions...}};
}
template <std::same_as<rule_condition>... C>
constexpr auto prefer(C... conditions) noexcept {
    return prefer_list<sizeof...(C)>{{conditions...}};
}
/// A user-defined condition: a sentence and a captureless function `bool(match const&)`.
constexpr rule_condition condition(std::string_view sentence, bool (*holds)(match const&)) noexcept {
    return {sentence, holds};
}

namespace detail {

/// Names that a term binds or uses.
struct name_list {
    name_hash names[64]{};
    std::size_t size = 0;
    constexpr void add(name_hash n) {
        if (n != 0) names[size++] = n;
    }
    constexpr bool contains(name_hash n) const {
        for (std::size_t i = 0; i < size; ++i)
            if (names[i] == n) return true;
        return false;
    }
};

template <fixed_string L>
inline constexpr name_hash label_hash = L.view().empty() ? 0 : hash_name(L.view());

/// Output arrays of the lowering, as large as the counts of the term say.
struct flat_writer {
    node* nodes;
    std::uint16_t* links;
    std::uint16_t node_count = 0, link_count = 0;

    /// Lowers the children, then appends the node; returns its number.
    template <class... Kids>
    constexpr std::uint16_t append(node n) {
        n.links = sizeof...(Kids);
        n.first_link = link_count;
        link_count = static_cast<std::uint16_t>(link_count + sizeof...(Kids));
        [[maybe_unused]] auto at = n.first_link;
        ((links[at++] = Kids::lower(*this)), ...);
        nodes[node_count] = n;
        return node_count++;
    }
};

/// Lowering of each kind of term: its size, its names, its nodes.
template <class T>
struct info;

template <class... Kids>
struct kids_info {
    static constexpr std::size_t nodes = (std::size_t{1} + ... + info<Kids>::nodes);
    static constexpr std::size_t links = (sizeof...(Kids) + ... + info<Kids>::links);
    static constexpr void names(name_list& out) { (info<Kids>::names(out), ...); }
    static constexpr std::uint16_t append(flat_writer& f, node n) { return f.append<info<Kids>...>(n); }
};

constexpr node named(node_kind kind, name_hash name, std::string_view text) {
    node n;
    n.kind = kind;
    n.name = name;
    n.text = text;
    return n;
}

// A term that is a name alone.
template <node_kind Kind, fixed_string N>
struct name_info : kids_info<> {
    static constexpr void names(name_list& out) { out.add(hash_name(N.view())); }
    static constexpr std::uint16_t lower(flat_writer& f) {
        return append(f, named(Kind, hash_name(N.view()), N.view()));
    }
};
template <fixed_string N>
struct info<var_t<N>> : name_info<node_kind::variable, N> {};
template <fixed_string N>
struct info<optional_t<N>> : name_info<node_kind::optional, N> {};
template <fixed_string N>
struct info<some_term<N>> : name_info<node_kind::some, N> {};
template <class Op, fixed_string L, class A, class... Kids>
struct info<term<Op, L, A, Kids...>> : kids_info<Kids...> {
    static constexpr void names(name_list& out) { out.add(label_hash<L>), kids_info<Kids...>::names(out); }
    static constexpr std::uint16_t lower(flat_writer& f) {
        node n = named(node_kind::operation, label_hash<L>, L.view());
        n.op = id_of<Op>;
        n.category = op_traits<Op>::category;
        if constexpr (requires { op_traits<Op>::commutative; })
            n.commutative = op_traits<Op>::commutative && sizeof...(Kids) == 2;
        if constexpr (!std::is_same_v<A, no_attribute_function>)
            n.attributes = [](match const& m) { return intern<Op>(A{}(m)); };
        return kids_info<Kids...>::append(f, n);
    }
};
template <op_category C, fixed_string L, class... Kids>
struct info<category_term<C, L, Kids...>> : kids_info<Kids...> {
    static constexpr void names(name_list& out) { out.add(label_hash<L>), kids_info<Kids...>::names(out); }
    static constexpr std::uint16_t lower(flat_writer& f) {
        node n = named(node_kind::category, label_hash<L>, L.view());
        n.category = C;
        return kids_info<Kids...>::append(f, n);
    }
};
// A term without a name.
template <node_kind Kind, class... Kids>
struct nameless_info : kids_info<Kids...> {
    static constexpr std::uint16_t lower(flat_writer& f) { return kids_info<Kids...>::append(f, named(Kind, 0, {})); }
};
template <class T>
struct info<each_term<T>> : nameless_info<node_kind::each, T> {};
template <class T>
struct info<all_parts_term<T>> : nameless_info<node_kind::all_parts, T> {};
template <>
struct info<part_term> : nameless_info<node_kind::part> {};
template <class S, class R>
struct info<every_part_term<S, R>> : nameless_info<node_kind::every_part, S, R> {};
template <class F>
struct info<computed_term<F>> : kids_info<> {
    static constexpr std::uint16_t lower(flat_writer& f) {
        node n = named(node_kind::computed, 0, {});
        n.compute = [](rewrite& r) { return F{}(r); };
        return append(f, n);
    }
};
// A term that sets a flag of the node which the term within it makes.
template <class T, bool node::*Flag>
struct flagged_info : info<T> {
    static constexpr std::uint16_t lower(flat_writer& f) {
        auto const n = info<T>::lower(f);
        f.nodes[n].*Flag = true;
        return n;
    }
};
template <class T>
struct info<context_term<T>> : flagged_info<T, &node::context> {};
template <class T>
struct info<sum_term<T>> : flagged_info<T, &node::apart> {};

template <class T>
inline constexpr bool is_sum = false;
template <class T>
inline constexpr bool is_sum<sum_term<T>> = true;
template <class T>
inline constexpr bool is_context = false;
template <class T>
inline constexpr bool is_context<context_term<T>> = true;

/// Lowering of a list of roots; a single root is a list of one.
template <class T>
struct list_info : list_info<root_list<T>> {};
template <class... T>
struct list_info<root_list<T...>> {
    static constexpr std::size_t size = sizeof...(T);
    static constexpr std::size_t replaced = (std::size_t{0} + ... + (is_context<T> ? 0 : 1));
    static constexpr std::size_t nodes = (std::size_t{0} + ... + info<T>::nodes);
    static constexpr std::size_t links = (std::size_t{0} + ... + info<T>::links);
    static constexpr void names(name_list& out) { (info<T>::names(out), ...); }
    static constexpr void lower([[maybe_unused]] flat_writer f, [[maybe_unused]] std::uint16_t* numbers) {
        ((*numbers++ = info<T>::lower(f)), ...);
    }
};
/// A replacement that is a function has no terms.
template <class F>
struct list_info<build_function<F>> : list_info<root_list<>> {};

template <class T>
inline constexpr void (*function_of)(rewrite&) = nullptr;
template <class F>
inline constexpr void (*function_of<build_function<F>>)(rewrite&) = [](rewrite& r) { F{}(r); };

template <class Match, class Replacement>
consteval bool all_bound() {
    name_list bound, used;
    list_info<Match>::names(bound);
    list_info<Replacement>::names(used);
    for (std::size_t i = 0; i < used.size; ++i)
        if (!bound.contains(used.names[i])) return false;
    return true;
}

} // namespace detail

} // namespace pattern

/// A rule lowered to a match program. Made by `rule<"name">(...)`; keep it in a constexpr variable at namespace scope.
template <std::size_t MatchNodes, std::size_t MatchLinks, std::size_t Roots, std::size_t BuildNodes,
          std::size_t BuildLinks, std::size_t Outputs, std::size_t Where, std::size_t Prefer>
struct lowered_rule {
    std::string_view name, source;
    rule_kind kind = rule_kind::atomic;
    std::array<pattern::node, MatchNodes> match_nodes{};
    std::array<std::uint16_t, MatchLinks> match_links{};
    std::array<std::uint16_t, Roots> roots{};
    std::array<pattern::node, BuildNodes> build_nodes{};
    std::array<std::uint16_t, BuildLinks> build_links{};
    std::array<std::uint16_t, Outputs> outputs{};
    void (*build)(rewrite&) = nullptr;
    std::array<rule_condition, Where> where{};
    std::array<rule_condition, Prefer> prefer{};

    /// The match program of the rule; points into this object.
    [[nodiscard]] constexpr rule_program program() const noexcept {
        return {name,        source,      kind,    match_nodes, match_links, roots,
                build_nodes, build_links, outputs, build,       where,       prefer};
    }
    /// The same law as a rule of another kind.
    [[nodiscard]] constexpr lowered_rule as(rule_kind k) const noexcept {
        auto copy = *this;
        copy.kind = k;
        return copy;
    }
};

namespace detail {

template <fixed_string Name, class Match, class Replacement, std::size_t W, std::size_t P>
constexpr auto make_rule(std::array<rule_condition, W> where, std::array<rule_condition, P> prefer,
                         std::string_view source) {
    using matched = pattern::detail::list_info<Match>;
    using built = pattern::detail::list_info<Replacement>;
    constexpr auto function = pattern::detail::function_of<Replacement>;
    static_assert(pattern::detail::all_bound<Match, Replacement>(),
                  "the replacement uses a variable or label which the match does not bind");
    static_assert(!pattern::detail::is_sum<Replacement>, "sum_of stands for places in a graph; a replacement adds");
    static_assert(function || built::size == matched::replaced,
                  "the replacement has another number of results than the match has roots");
    lowered_rule<matched::nodes, matched::links, matched::size, built::nodes, built::links, built::size, W, P> r;
    r.name = Name.view(), r.source = source, r.where = where, r.prefer = prefer, r.build = function;
    matched::lower({r.match_nodes.data(), r.match_links.data()}, r.roots.data());
    built::lower({r.build_nodes.data(), r.build_links.data()}, r.outputs.data());
    return r;
}

} // namespace detail

/// A substitution rule. `match` is a term or `roots(...)`; `replacement` a term, `results(...)` or `build(function)`.
/// The compiler refuses a replacement that uses what the match does not bind, and operators with a wrong number of
/// operands. *Example* `examples/03_rule.cpp`
template <fixed_string Name, class Match, class Replacement>
constexpr auto rule(Match, Replacement, provenance source) {
    return detail::make_rule<Name, Match, Replacement>(std::array<rule_condition, 0>{}, std::array<rule_condition, 0>{},
                                                       source.text);
}
template <fixed_string Name, class Match, class Replacement, std::size_t W>
constexpr auto rule(Match, Replacement, pattern::where_list<W> w, provenance source) {
    return detail::make_rule<Name, Match, Replacement>(w.conditions, std::array<rule_condition, 0>{}, source.text);
}
template <fixed_string Name, class Match, class Replacement, std::size_t P>
constexpr auto rule(Match, Replacement, pattern::prefer_list<P> p, provenance source) {
    return detail::make_rule<Name, Match, Replacement>(std::array<rule_condition, 0>{}, p.conditions, source.text);
}
template <fixed_string Name, class Match, class Replacement, std::size_t W, std::size_t P>
constexpr auto rule(Match, Replacement, pattern::where_list<W> w, pattern::prefer_list<P> p, provenance source) {
    return detail::make_rule<Name, Match, Replacement>(w.conditions, p.conditions, source.text);
}

/// Programs of several rules, e.g. to hand to a matcher: `rule_list(fuse_conv_bn, my_rule)`.
template <class... Rules>
constexpr std::array<rule_program, sizeof...(Rules)> rule_list(Rules const&... rules) noexcept {
    return {rules.program()...};
}

} // namespace gsub
