// Rules: a pattern, its replacement, conditions and where the law comes from. Checked by the compiler, lowered to data.
#pragma once

#include <gsub/rewrite/pattern.hpp>
#include <gsub/rewrite/program.hpp>
#include <gsub/rewrite/rewrite.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace gsub {

/// Where a law is stated: a paper and equation, a specification, a reason.
struct provenance {
    std::string_view text;
};

namespace pattern {

/// Conditions without which the rule would be wrong.
template <std::size_t N>
struct where_list {
    std::array<rule_condition, N> conditions;
};
/// Conditions under which the rule may pay.
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
/// A condition of one's own: a sentence and a captureless function `bool(match const&)`.
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

/// Size, names and lowering of each kind of term.
template <class T>
struct info;

template <class... Kids>
struct kids_info {
    static constexpr std::size_t nodes = (std::size_t{0} + ... + info<Kids>::nodes);
    static constexpr std::size_t links = (sizeof...(Kids) + ... + info<Kids>::links);
    static constexpr void names(name_list& out) { (info<Kids>::names(out), ...); }
};

/// The flat form under construction.
template <std::size_t Nodes, std::size_t Links>
struct flat {
    std::array<node, Nodes> nodes{};
    std::array<std::uint16_t, Links> links{};
    std::uint16_t node_count = 0, link_count = 0;

    /// Lowers the children, then appends the node; gives its number.
    template <class... Kids>
    constexpr std::uint16_t append(node n, std::tuple<Kids...> const& kids) {
        n.links = sizeof...(Kids);
        n.first_link = link_count;
        link_count = static_cast<std::uint16_t>(link_count + sizeof...(Kids));
        auto at = n.first_link;
        std::apply(
            [&](auto const&... kid) {
                ((links[at++] = info<std::remove_cvref_t<decltype(kid)>>::lower(*this, kid)), ...);
            },
            kids);
        nodes[node_count] = n;
        return node_count++;
    }
};

template <fixed_string N>
struct info<var_t<N>> : kids_info<> {
    static constexpr std::size_t nodes = 1;
    static constexpr void names(name_list& out) { out.add(var_t<N>::name); }
    template <class Flat>
    static constexpr std::uint16_t lower(Flat& f, var_t<N> const&) {
        node n;
        n.kind = node_kind::variable;
        n.name = var_t<N>::name;
        n.text = N.view();
        return f.append(n, std::tuple{});
    }
};
template <fixed_string N>
struct info<optional_t<N>> : kids_info<> {
    static constexpr std::size_t nodes = 1;
    static constexpr void names(name_list& out) { out.add(optional_t<N>::name); }
    template <class Flat>
    static constexpr std::uint16_t lower(Flat& f, optional_t<N> const&) {
        node n;
        n.kind = node_kind::optional;
        n.name = optional_t<N>::name;
        n.text = N.view();
        return f.append(n, std::tuple{});
    }
};
template <class Op, fixed_string L, class A, class... Kids>
struct info<term<Op, L, A, Kids...>> {
    static constexpr std::size_t nodes = 1 + kids_info<Kids...>::nodes, links = kids_info<Kids...>::links;
    static constexpr void names(name_list& out) { out.add(label_hash<L>), kids_info<Kids...>::names(out); }
    template <class Flat>
    static constexpr std::uint16_t lower(Flat& f, term<Op, L, A, Kids...> const& t) {
        node n;
        n.kind = node_kind::operation;
        n.op = id_of<Op>;
        n.name = label_hash<L>;
        n.text = L.view();
        n.category = op_traits<Op>::category;
        if constexpr (requires { op_traits<Op>::commutative; })
            n.commutative = op_traits<Op>::commutative && sizeof...(Kids) == 2;
        if constexpr (!std::is_same_v<A, no_attribute_function>)
            n.attributes = [](match const& m) { return intern<Op>(A{}(m)); };
        return f.append(n, t.operands);
    }
};
template <op_category C, fixed_string L, class... Kids>
struct info<category_term<C, L, Kids...>> {
    static constexpr std::size_t nodes = 1 + kids_info<Kids...>::nodes, links = kids_info<Kids...>::links;
    static constexpr void names(name_list& out) { out.add(label_hash<L>), kids_info<Kids...>::names(out); }
    template <class Flat>
    static constexpr std::uint16_t lower(Flat& f, category_term<C, L, Kids...> const& t) {
        node n;
        n.kind = node_kind::category;
        n.category = C;
        n.name = label_hash<L>;
        n.text = L.view();
        return f.append(n, t.operands);
    }
};
template <class T>
struct info<each_term<T>> {
    static constexpr std::size_t nodes = 1 + info<T>::nodes, links = 1 + info<T>::links;
    static constexpr void names(name_list& out) { info<T>::names(out); }
    template <class Flat>
    static constexpr std::uint16_t lower(Flat& f, each_term<T> const& t) {
        node n;
        n.kind = node_kind::each;
        return f.append(n, std::tuple{t.inner});
    }
};
template <class T>
struct info<all_parts_term<T>> {
    static constexpr std::size_t nodes = 1 + info<T>::nodes, links = 1 + info<T>::links;
    static constexpr void names(name_list& out) { info<T>::names(out); }
    template <class Flat>
    static constexpr std::uint16_t lower(Flat& f, all_parts_term<T> const& t) {
        node n;
        n.kind = node_kind::all_parts;
        return f.append(n, std::tuple{t.split});
    }
};
template <>
struct info<part_term> : kids_info<> {
    static constexpr std::size_t nodes = 1;
    template <class Flat>
    static constexpr std::uint16_t lower(Flat& f, part_term const&) {
        node n;
        n.kind = node_kind::part;
        return f.append(n, std::tuple{});
    }
};
template <class S, class R>
struct info<every_part_term<S, R>> {
    static constexpr std::size_t nodes = 1 + kids_info<S, R>::nodes, links = kids_info<S, R>::links;
    static constexpr void names(name_list& out) { kids_info<S, R>::names(out); }
    template <class Flat>
    static constexpr std::uint16_t lower(Flat& f, every_part_term<S, R> const& t) {
        node n;
        n.kind = node_kind::every_part;
        return f.append(n, std::tuple{t.split, t.reader});
    }
};
template <class F>
struct info<computed_term<F>> : kids_info<> {
    static constexpr std::size_t nodes = 1;
    template <class Flat>
    static constexpr std::uint16_t lower(Flat& f, computed_term<F> const&) {
        node n;
        n.kind = node_kind::computed;
        n.compute = [](rewrite& r) { return F{}(r); };
        return f.append(n, std::tuple{});
    }
};
template <class T>
struct info<context_term<T>> {
    static constexpr std::size_t nodes = info<T>::nodes, links = info<T>::links;
    static constexpr void names(name_list& out) { info<T>::names(out); }
    template <class Flat>
    static constexpr std::uint16_t lower(Flat& f, context_term<T> const& t) {
        auto const n = info<T>::lower(f, t.inner);
        f.nodes[n].context = true;
        return n;
    }
};

template <class T>
inline constexpr bool is_context = false;
template <class T>
inline constexpr bool is_context<context_term<T>> = true;

/// A list of roots, or a single root as a list of one.
template <class T>
struct as_list {
    using type = root_list<T>;
    static constexpr type make(T const& t) { return {{t}}; }
};
template <class... T>
struct as_list<root_list<T...>> {
    using type = root_list<T...>;
    static constexpr type make(type const& t) { return t; }
};

template <class List>
struct list_info;
template <class... T>
struct list_info<root_list<T...>> : kids_info<T...> {
    static constexpr std::size_t size = sizeof...(T);
    static constexpr std::size_t replaced = (std::size_t{0} + ... + (is_context<T> ? 0 : 1));
    static consteval name_list all_names() {
        name_list out;
        kids_info<T...>::names(out);
        return out;
    }
};

template <class Match, class Replacement>
consteval bool all_bound() {
    if constexpr (requires { list_info<Replacement>::size; }) {
        constexpr auto bound = list_info<Match>::all_names(), used = list_info<Replacement>::all_names();
        for (std::size_t i = 0; i < used.size; ++i)
            if (!bound.contains(used.names[i])) return false;
    }
    return true;
}

} // namespace detail

} // namespace pattern

/// A rule in its lowered form. Made by `rule<"name">(...)`; keep it in a constexpr variable at namespace scope.
template <std::size_t MatchNodes, std::size_t MatchLinks, std::size_t Roots, std::size_t BuildNodes,
          std::size_t BuildLinks, std::size_t Outputs, std::size_t Where, std::size_t Prefer>
class lowered_rule {
public:
    std::string_view name, source;
    rule_kind kind = rule_kind::atomic;
    pattern::detail::flat<MatchNodes, MatchLinks> match_flat;
    std::array<std::uint16_t, Roots> root_nodes{};
    pattern::detail::flat<BuildNodes, BuildLinks> build_flat;
    std::array<std::uint16_t, Outputs> output_nodes{};
    void (*build)(rewrite&) = nullptr;
    std::array<rule_condition, Where> where{};
    std::array<rule_condition, Prefer> prefer{};

    /// The rule as the engines take it; points into this object.
    [[nodiscard]] constexpr rule_program program() const noexcept {
        return {name,
                source,
                kind,
                match_flat.nodes,
                match_flat.links,
                root_nodes,
                build_flat.nodes,
                build_flat.links,
                output_nodes,
                build,
                where,
                prefer};
    }
    /// The same law as a rule of another kind.
    [[nodiscard]] constexpr lowered_rule as(rule_kind k) const noexcept {
        auto copy = *this;
        copy.kind = k;
        return copy;
    }
};

namespace detail {

template <class List, class Flat, std::size_t N>
constexpr void lower_roots(List const& list, Flat& f, std::array<std::uint16_t, N>& numbers) {
    std::size_t i = 0;
    std::apply(
        [&](auto const&... t) {
            ((numbers[i++] = pattern::detail::info<std::remove_cvref_t<decltype(t)>>::lower(f, t)), ...);
        },
        list.terms);
}

template <fixed_string Name, class Match, class Replacement, std::size_t W, std::size_t P>
constexpr auto make_rule(Match const& matched, Replacement const& replacement, std::array<rule_condition, W> where,
                         std::array<rule_condition, P> prefer, std::string_view source) {
    using match_list = typename pattern::detail::as_list<Match>::type;
    using match_info = pattern::detail::list_info<match_list>;
    constexpr bool by_function = requires {
        []<class F>(pattern::build_function<F>) {}(Replacement{});
    };
    if constexpr (by_function) {
        lowered_rule<match_info::nodes, match_info::links, match_info::size, 0, 0, 0, W, P> r;
        r.build = []<class F>(pattern::build_function<F>) { return +[](rewrite& x) { F{}(x); }; }(replacement);
        r.name = Name.view(), r.source = source, r.where = where, r.prefer = prefer;
        lower_roots(pattern::detail::as_list<Match>::make(matched), r.match_flat, r.root_nodes);
        return r;
    } else {
        using build_list = typename pattern::detail::as_list<Replacement>::type;
        using build_info = pattern::detail::list_info<build_list>;
        static_assert(pattern::detail::all_bound<match_list, build_list>(),
                      "the replacement uses a variable or label which the match does not bind");
        static_assert(build_info::size == match_info::replaced,
                      "the replacement has another number of results than the match has roots");
        lowered_rule<match_info::nodes, match_info::links, match_info::size, build_info::nodes, build_info::links,
                     build_info::size, W, P>
            r;
        r.name = Name.view(), r.source = source, r.where = where, r.prefer = prefer;
        lower_roots(pattern::detail::as_list<Match>::make(matched), r.match_flat, r.root_nodes);
        lower_roots(pattern::detail::as_list<Replacement>::make(replacement), r.build_flat, r.output_nodes);
        return r;
    }
}

} // namespace detail

/// A substitution rule. `match` is a term or `roots(...)`; `replacement` a term, `results(...)` or `build(function)`.
/// The compiler refuses a replacement that uses what the match does not bind, and operators with a wrong number of
/// operands. *Example* `examples/03_rule.cpp`
template <fixed_string Name, class Match, class Replacement>
constexpr auto rule(Match match, Replacement replacement, provenance source) {
    return detail::make_rule<Name>(match, replacement, std::array<rule_condition, 0>{}, std::array<rule_condition, 0>{},
                                   source.text);
}
template <fixed_string Name, class Match, class Replacement, std::size_t W>
constexpr auto rule(Match match, Replacement replacement, pattern::where_list<W> w, provenance source) {
    return detail::make_rule<Name>(match, replacement, w.conditions, std::array<rule_condition, 0>{}, source.text);
}
template <fixed_string Name, class Match, class Replacement, std::size_t P>
constexpr auto rule(Match match, Replacement replacement, pattern::prefer_list<P> p, provenance source) {
    return detail::make_rule<Name>(match, replacement, std::array<rule_condition, 0>{}, p.conditions, source.text);
}
template <fixed_string Name, class Match, class Replacement, std::size_t W, std::size_t P>
constexpr auto rule(Match match, Replacement replacement, pattern::where_list<W> w, pattern::prefer_list<P> p,
                    provenance source) {
    return detail::make_rule<Name>(match, replacement, w.conditions, p.conditions, source.text);
}

/// Programs of several rules, e.g. to hand to a matcher: `rule_list(fuse_conv_bn, my_rule)`.
template <class... Rules>
constexpr std::array<rule_program, sizeof...(Rules)> rule_list(Rules const&... rules) noexcept {
    return {rules.program()...};
}

} // namespace gsub
