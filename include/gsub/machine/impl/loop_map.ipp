#pragma once

#include <gsub/core/format.hpp>
#include <gsub/machine/impl/tree_alignment.ipp>
#include <gsub/machine/loop_map.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace gsub::machine {

GSUB_LAZY_BODY std::string_view to_string(loop_match m) noexcept {
    constexpr std::string_view names[] = {"exact", "divided", "peeled", "given", "remainder", "version", "unmatched"};
    return names[static_cast<std::size_t>(m)];
}

namespace detail {

inline constexpr std::size_t most_mapped_loops = 400;

// How well trips of the assembly fit those of a source loop.
struct trip_fit {
    double cost = -1; // negative: not at all
    loop_match how = loop_match::unmatched;
    std::int64_t divisor = 1, left = 0; // iterations of the source that it leaves to others
};

// The cheapest way to make trips of those of the source. Costs order the ways: equal, divided by a power of two,
// masked, peeled, divided by another number; a loop that is left out costs more than any.
GSUB_LAZY trip_fit fit_trips(std::int64_t assembly, std::int64_t source) {
    if (assembly < 0 || source < 0) return {source < 0 ? 0.3 : 0.5, loop_match::given, 1, 0};
    if (assembly == source) return {0, loop_match::exact, 1, 0};
    if (assembly < 1 || assembly > source) return {};
    for (std::int64_t divisor = 2, power = 1; divisor <= 1024 && divisor <= source; divisor *= 2, ++power) {
        auto const cost = 0.1 + 0.02 * static_cast<double>(power);
        auto const left = source - assembly * divisor;
        if (left >= 0 && left < divisor) return {cost + (left > 0 ? 0.05 : 0), loop_match::divided, divisor, left};
        if (left < 0 && -left < divisor) return {cost + 0.1, loop_match::divided, divisor, 0};
    }
    if (source - assembly <= 2) return {0.4, loop_match::peeled, 1, source - assembly};
    for (std::int64_t divisor = 2; divisor <= 64; divisor *= 2)
        for (std::int64_t peeled = 1; peeled <= divisor + 2; ++peeled)
            if ((source - peeled) / divisor == assembly)
                return {0.6, loop_match::peeled, divisor, source - assembly * divisor};
    if (source % assembly == 0) return {0.7, loop_match::divided, source / assembly, 0};
    return {};
}

template <class = void>
class loop_mapper {
public:
    loop_mapper(assembly_function const& f, std::span<source_loop const> sources, loop_forest forest)
        : f_(f), sources_(sources) {
        out_.forest = std::move(forest);
        out_.loops.resize(loops().size());
    }

    [[nodiscard]] loop_map map() {
        if (!sources_.empty()) align();
        for (std::size_t l = 0; l < loops().size(); ++l) settle(static_cast<std::int32_t>(l));
        count_blocks();
        count_sources();
        auto const& unreached = out_.forest.unreached;
        std::size_t blocks = 0;
        for (auto const b : unreached) blocks += f_.blocks[b].first < f_.blocks[b].last;
        if (blocks > 0)
            warn(unreached.front(),
                 format_text("no known jump leads to {} blocks from here on: they count once", blocks));
        if (out_.forest.irreducible > 0)
            warn(0, format_text("{} cycles are no natural loops: they count once", out_.forest.irreducible));
        stable_sort(out_.warnings,
                    [](assembly_warning const& a, assembly_warning const& b) { return a.line < b.line; });
        return std::move(out_);
    }

private:
    [[nodiscard]] std::vector<natural_loop> const& loops() const noexcept { return out_.forest.loops; }
    [[nodiscard]] natural_loop const& loop(std::int32_t l) const noexcept {
        return loops()[static_cast<std::size_t>(l)];
    }
    [[nodiscard]] mapped_loop& mapped(std::int32_t l) noexcept { return out_.loops[static_cast<std::size_t>(l)]; }
    [[nodiscard]] std::int64_t source_trips(std::int32_t s) const noexcept {
        return s < 0 ? -1 : sources_[static_cast<std::size_t>(s)].trips;
    }
    void warn(std::uint32_t block, std::string text) {
        out_.warnings.push_back({f_.blocks[block].line, std::move(text)});
    }

    // Loops and source loops within one of each, in order; all for -1.
    [[nodiscard]] std::vector<std::int32_t> loops_in(std::int32_t l) const {
        std::vector<std::int32_t> out;
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(loops().size()); ++i)
            if (i != l && (l < 0 || is_in(i, l))) out.push_back(i);
        return out;
    }
    [[nodiscard]] std::vector<std::int32_t> sources_in(std::int32_t s) const {
        std::vector<std::int32_t> out;
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(sources_.size()); ++i)
            if (i != s && (s < 0 || source_in(i, s))) out.push_back(i);
        return out;
    }
    [[nodiscard]] bool is_in(std::int32_t l, std::int32_t around) const noexcept {
        while (l >= 0 && l != around) l = loop(l).parent;
        return l == around;
    }
    [[nodiscard]] bool source_in(std::int32_t s, std::int32_t around) const noexcept {
        while (s >= 0 && s != around) s = sources_[static_cast<std::size_t>(s)].parent;
        return s == around;
    }

    void align() {
        align(loops_in(-1), sources_in(-1));
        find_unknown();
        for (std::size_t l = 0; l < loops().size(); ++l)
            if (out_.loops[l].how == loop_match::unmatched) attach(static_cast<std::int32_t>(l));
    }
    // Aligns some loops with some source loops.
    void align(std::vector<std::int32_t> const& mine, std::vector<std::int32_t> const& theirs) {
        auto const place = [](std::vector<std::int32_t> const& of, std::int32_t i) {
            auto const found = std::lower_bound(of.begin(), of.end(), i);
            return found != of.end() && *found == i ? static_cast<std::int32_t>(found - of.begin()) : -1;
        };
        std::vector<std::int32_t> of_assembly, of_source;
        for (auto const l : mine) of_assembly.push_back(place(mine, loop(l).parent));
        for (auto const s : theirs) of_source.push_back(place(theirs, sources_[static_cast<std::size_t>(s)].parent));
        auto const size = [](std::int64_t trips) {
            return trips < 1 ? 0.0 : std::min(std::log2(static_cast<double>(trips)), 40.0);
        };
        auto const trips = [&](std::int32_t l) { return loop(mine[static_cast<std::size_t>(l)]).trips(); };
        auto const wanted = [&](std::int32_t s) { return source_trips(theirs[static_cast<std::size_t>(s)]); };
        auto const match = [&](std::int32_t l, std::int32_t s) { return fit_trips(trips(l), wanted(s)).cost; };
        auto const drop = [&](std::int32_t l) { return 1.0 + 0.05 * size(trips(l)); };
        // What compilers unroll away is innermost: a loop around others hardly goes before them.
        std::vector<int> height(theirs.size(), 0);
        for (auto i = theirs.size(); i-- > 0;)
            if (of_source[i] >= 0) {
                auto& around = height[static_cast<std::size_t>(of_source[i])];
                around = std::max(around, height[i] + 1);
            }
        auto const skip = [&](std::int32_t s) {
            auto const around = 0.3 * height[static_cast<std::size_t>(s)];
            return around + (wanted(s) < 0 ? 1.0 : 0.3 + 0.1 * size(wanted(s)));
        };
        auto const found = tree_alignment{std::span{std::as_const(of_assembly)}, std::span{std::as_const(of_source)},
                                          match, drop, skip}
                               .matches();
        for (std::size_t l = 0; l < found.size(); ++l) {
            auto& m = mapped(mine[l]);
            m = {};
            if (found[l] < 0) continue;
            auto const fit = fit_trips(loop(mine[l]).trips(), wanted(found[l]));
            m = {fit.how, theirs[static_cast<std::size_t>(found[l])], fit.divisor, 1, 1};
        }
    }

    // A loop of unknown trips that matches none, around loops of a source loop that is gone: it is that one, of which
    // some turns stand outside, as compilers peel those that take another way. What is in it is aligned anew: the
    // peeled turns have copies of it.
    void find_unknown() {
        for (auto l = static_cast<std::int32_t>(loops().size()); l-- > 0;) {
            if (mapped(l).how != loop_match::unmatched || loop(l).tests != 0) continue;
            auto const s = gone_around(l);
            if (s < 0) continue;
            auto copies = false; // outside
            for (std::int32_t i = 0; i < static_cast<std::int32_t>(loops().size()); ++i)
                copies = copies ||
                         (!is_in(i, l) && mapped(i).how != loop_match::unmatched && source_in(mapped(i).source, s));
            align(loops_in(l), sources_in(s));
            mapped(l) = {copies ? loop_match::peeled : loop_match::given, s, 1, 1, 1};
        }
    }
    // The innermost source loop that no loop matches, and that is around what the loops in a loop match; -1: none.
    [[nodiscard]] std::int32_t gone_around(std::int32_t l) {
        auto around = loop(l).parent;
        while (around >= 0 && mapped(around).how == loop_match::unmatched) around = loop(around).parent;
        auto const top = around < 0 ? -1 : mapped(around).source;
        std::vector<std::int32_t> inside;
        for (auto const i : loops_in(l))
            if (mapped(i).how != loop_match::unmatched) inside.push_back(mapped(i).source);
        if (inside.empty()) return -1;
        for (auto s = sources_[static_cast<std::size_t>(inside.front())].parent; s >= 0 && s != top;
             s = sources_[static_cast<std::size_t>(s)].parent) {
            auto const all = std::all_of(inside.begin(), inside.end(), [&](auto i) { return source_in(i, s); });
            auto const taken = std::any_of(out_.loops.begin(), out_.loops.end(), [&](mapped_loop const& m) {
                return m.how != loop_match::unmatched && m.source == s;
            });
            if (all && !taken) return s;
        }
        return -1;
    }

    // A loop that matches none: what a loop beside it leaves, another version of it, or a part of what is around it.
    void attach(std::int32_t l) {
        for (std::int32_t other = 0; other < static_cast<std::int32_t>(loops().size()); ++other) {
            auto const how = mapped(other).how;
            if (other == l || loop(other).parent != loop(l).parent || how == loop_match::unmatched ||
                how == loop_match::remainder || how == loop_match::version)
                continue;
            auto const source = mapped(other).source;
            auto const mine = loop(l).trips(), theirs = loop(other).trips(), all = source_trips(source);
            if (mine < 0 || theirs < 0 || all < 0) continue;
            auto const left = fit_trips(theirs, all).left;
            auto const again = fit_trips(mine, all);
            if (left > 0 && fit_trips(mine, left).cost >= 0) {
                mapped(l) = {loop_match::remainder, source, fit_trips(mine, left).divisor, 1, 1};
                return;
            }
            if (again.cost < 0 || again.how == loop_match::peeled ||
                again.left >= std::max<std::int64_t>(again.divisor, 1))
                continue;
            // One after the other, as copies of a loop around them do, both run. Of two ways that both do all, the one
            // with fewer trips is the one that runs.
            if (out_.forest.dominates(loop(other).header, loop(l).header) ||
                out_.forest.dominates(loop(l).header, loop(other).header)) {
                mapped(l) = {again.how, source, again.divisor, 1, 1};
                return;
            }
            auto const slower = mine < theirs ? other : l;
            if (slower == other) mapped(l) = {again.how, source, again.divisor, 1, 1};
            mapped(slower).how = loop_match::version, mapped(slower).source = source;
            return;
        }
    }

    // What is known of a loop once those around it are: its source, tests and entries.
    void settle(std::int32_t l) {
        auto& m = mapped(l);
        auto const& of = loop(l);
        if (of.parent >= 0) {
            auto const& around = mapped(of.parent);
            m.entries = around.entries * out_.forest.runs_in(of.parent, of.header, around.tests);
            if (m.how == loop_match::unmatched) m.source = around.source;
        }
        m.tests = static_cast<double>(of.tests);
        if (of.tests == 0) {
            auto const peeled = m.how == loop_match::peeled;
            auto const of_source = (m.how == loop_match::given || peeled) && m.source >= 0;
            auto const source = of_source ? sources_[static_cast<std::size_t>(m.source)] : source_loop{};
            auto given = source.trips >= 0 ? static_cast<double>(source.trips) : source.mean;
            if (peeled && given > 1) given -= 1; // how many is not known: one at least
            m.tests = given >= 0 ? given + (of.tests_last ? 0 : 1) : 1;
            if (given < 0)
                warn(of.header, format_text("how often loop {} runs is not known: it counts once",
                                            quoted{f_.blocks[of.header].label}));
        }
        if (m.how == loop_match::version) {
            m.entries = 0;
            warn(of.header, format_text("loop {} does the same as one beside it: it counts as not run",
                                        quoted{f_.blocks[of.header].label}));
        }
    }

    void count_blocks() {
        out_.own.resize(sources_.size());
        for (std::uint32_t b = 0; b < f_.blocks.size(); ++b) {
            auto const code = f_.code_of(b);
            if (code.empty()) continue;
            auto const l = out_.forest.loop_of[b];
            mapped_block made{b, -1, l, 1};
            if (l >= 0) {
                made.source = mapped(l).source;
                made.runs = mapped(l).entries * out_.forest.runs_in(l, b, mapped(l).tests);
            }
            out_.counts.add(code, made.runs);
            if (made.source >= 0) out_.own[static_cast<std::size_t>(made.source)].add(code, made.runs);
            out_.blocks.push_back(made);
        }
    }
    void count_sources() {
        out_.total = out_.own;
        for (auto s = sources_.size(); s-- > 0;)
            if (sources_[s].parent >= 0) out_.total[static_cast<std::size_t>(sources_[s].parent)] += out_.total[s];
        std::vector<char> there(sources_.size(), 0);
        for (auto const& m : out_.loops)
            if (m.source >= 0 && m.how != loop_match::unmatched) there[static_cast<std::size_t>(m.source)] = 1;
        for (std::size_t s = 0; s < there.size(); ++s)
            if (!there[s]) out_.gone.push_back(static_cast<std::int32_t>(s));
    }

    assembly_function const& f_;
    std::span<source_loop const> sources_;
    loop_map out_;
};

} // namespace detail

GSUB_LAZY_BODY result<loop_map> map_loops(assembly_function const& f, std::span<source_loop const> sources) {
    for (std::size_t s = 0; s < sources.size(); ++s)
        GSUB_ASSERT(sources[s].parent < static_cast<std::int32_t>(s), "a source loop stands behind the one around it");
    auto forest = natural_loops(f);
    if (!forest) return forest.error();
    auto const most = std::max(forest->loops.size(), sources.size());
    if (!sources.empty() && most > detail::most_mapped_loops)
        return error{problem{error_code::unsupported,
                             {},
                             {},
                             format_text("function {}: {} loops, of at most {} that are aligned", quoted{f.name}, most,
                                         detail::most_mapped_loops),
                             "a smaller kernel, or no source loops"}};
    return detail::loop_mapper<>{f, sources, std::move(*forest)}.map();
}

GSUB_LAZY_BODY std::string to_string(loop_map const& m, assembly_function const& f,
                                     std::span<source_loop const> sources) {
    std::string out;
    for (std::size_t l = 0; l < m.loops.size(); ++l) {
        auto const& of = m.forest.loops[l];
        auto const& how = m.loops[l];
        auto const& header = f.blocks[of.header];
        out.append(2 * (static_cast<std::size_t>(of.depth) - 1), ' ');
        out += format_text("{} (line {}): {} trips, {}", header.label, header.line,
                           shortest{of.tests_last ? how.tests : how.tests - 1}, to_string(how.how));
        if (how.source >= 0) out += " of " + sources[static_cast<std::size_t>(how.source)].name;
        if (how.divisor > 1) out += " by " + std::to_string(how.divisor);
        out += format_text(", entered {} times\n", shortest{how.entries});
    }
    return out;
}

} // namespace gsub::machine
