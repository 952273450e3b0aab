#pragma once

#include <gsub/codegen/ir/kernel_loops.hpp>
#include <gsub/codegen/simt/impl/wide_broadcasts.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::codegen {

namespace detail {

// A limit of constants: the greatest of those where a loop begins, the least of those where it ends.
GSUB_LAZY std::optional<std::int64_t> constant_limit(std::vector<limit> const& limits, bool greatest) {
    std::optional<std::int64_t> out;
    for (auto const& l : limits) {
        if (!l.value.terms().empty()) return std::nullopt;
        auto const v = l.value.constant();
        auto const up = v / l.divisor + (v % l.divisor > 0 ? 1 : 0);
        out = !out ? up : greatest ? std::max(*out, up) : std::min(*out, up);
    }
    return out;
}

// Condition of a branch that holds, or does not, where a statement stands.
struct path_condition {
    std::vector<loop::bound> const* all;
    bool holds;
};

// Variables in scope, as far as they are loops of constant limits or taken from others; means over their positions.
// A variable that is taken from a loop, `loop / place % extent`, is a digit of its positions: only those digits are
// gone through that something depends on.
template <class = void>
class position_means {
public:
    void add_loop(variable v, std::int64_t begin, std::int64_t trips) {
        if (trips < 1) return add_unknown(v); // it has no positions
        known_.push_back({v, static_cast<std::int32_t>(known_.size()), begin, 1, trips, begin == 0});
    }
    void add_unknown(variable v) { known_.push_back({v, -1, 0, 1, 0, false}); }
    void add_index(variable v, variable of, std::int64_t divisor, std::int64_t extent) {
        auto const from = find(of);
        if (from < 0 || known_[at(from)].loop < 0) return add_unknown(v);
        auto const& d = known_[at(from)];
        auto const whole = d.extent % divisor == 0; // else the last ones of the digit around are fewer
        auto const left = d.extent / divisor;
        auto const digit = d.digit && whole && (left % extent == 0 || extent % left == 0);
        known_.push_back({v, d.loop, 0, d.place * divisor, std::min(extent, left), digit});
        if (!digit) known_.back().loop = -1;
    }

    // Mean trips between limits over all positions of the loops on which they depend at which a path is taken; -1 where
    // these are unknown.
    [[nodiscard]] double mean(std::vector<limit> const& begin, std::vector<limit> const& end,
                              std::span<path_condition const> path) {
        used_.clear();
        for (auto const* limits : {&begin, &end})
            for (auto const& l : *limits)
                if (!use(l.value)) return -1;
        auto const taken = those_that_matter(path);
        double trips = 0;
        auto const runs = for_each_position([&] {
            if (!is_taken(taken)) return false;
            trips += static_cast<double>(std::max<std::int64_t>(value_of(end, false) - value_of(begin, true), 0));
            return true;
        });
        return runs > 0 ? trips / runs : runs;
    }
    // The share of the positions at which a path is taken, at which conditions hold too; -1 where it is unknown.
    [[nodiscard]] double share(std::vector<loop::bound> const& conditions, std::span<path_condition const> path) {
        used_.clear();
        for (auto const& c : conditions)
            if (!use(c.value)) return -1;
        auto const taken = those_that_matter(path);
        double hold = 0;
        auto const runs = for_each_position([&] {
            if (!is_taken(taken)) return false;
            hold += all_hold(conditions);
            return true;
        });
        return runs > 0 ? hold / runs : runs;
    }

private:
    struct definition {
        variable var;
        std::int32_t loop; // definition of the loop that it is taken from; -1: unknown
        std::int64_t begin, place, extent;
        bool digit; // whether it is one; else it is a loop that begins elsewhere
    };
    static constexpr double most_positions = 65536;

    static std::size_t at(std::int32_t i) noexcept { return static_cast<std::size_t>(i); }

    // The definition that holds is the last one: inner loops are read behind those around them. -1: none.
    [[nodiscard]] std::int32_t find(variable v) const {
        auto i = static_cast<std::int32_t>(known_.size()) - 1;
        while (i >= 0 && known_[at(i)].var != v) --i;
        return i;
    }
    [[nodiscard]] bool use(affine const& value) {
        return std::all_of(value.terms().begin(), value.terms().end(), [&](auto const& t) {
            auto const i = find(t.of);
            if (i < 0 || known_[at(i)].loop < 0) return false;
            if (std::find(used_.begin(), used_.end(), i) == used_.end()) used_.push_back(i);
            return true;
        });
    }
    // Whether two variables may depend on each other: digits of one loop, of which neither stands behind the other.
    [[nodiscard]] static bool meet(definition const& a, definition const& b) noexcept {
        return a.loop == b.loop && a.place % (b.place * b.extent) != 0 && b.place % (a.place * a.extent) != 0;
    }
    // The conditions of a path that share digits with what is used, or with such conditions; their variables are used
    // too. Conditions of unknown variables are taken to depend on nothing else.
    [[nodiscard]] std::vector<path_condition> those_that_matter(std::span<path_condition const> path) {
        std::vector<path_condition> out;
        std::vector<char> taken(path.size(), 0);
        for (auto more = true; more;) {
            more = false;
            for (std::size_t p = 0; p < path.size(); ++p) {
                if (taken[p]) continue;
                auto const before = used_;
                used_.clear();
                auto const known = std::all_of(path[p].all->begin(), path[p].all->end(),
                                               [&](loop::bound const& b) { return use(b.value); });
                auto const own = std::exchange(used_, before);
                auto const matters = known && std::any_of(own.begin(), own.end(), [&](std::int32_t o) {
                                         return std::any_of(before.begin(), before.end(), [&](std::int32_t u) {
                                             return meet(known_[at(o)], known_[at(u)]);
                                         });
                                     });
                if (!matters) continue;
                for (auto const o : own)
                    if (std::find(used_.begin(), used_.end(), o) == used_.end()) used_.push_back(o);
                out.push_back(path[p]), taken[p] = 1, more = true;
            }
        }
        return out;
    }
    // Calls at all positions of the loops that are used. *Returns* how often the answer was yes; -1: they are too many.
    template <class F>
    [[nodiscard]] double for_each_position(F&& f) {
        // Of each loop the digits from the least place of those used to the greatest, as far as they repeat in it.
        struct range {
            std::int32_t loop;
            std::int64_t step, count;
        };
        std::vector<range> loops;
        for (auto const u : used_) {
            auto const& d = known_[at(u)];
            auto const known =
                std::find_if(loops.begin(), loops.end(), [&](range const& r) { return r.loop == d.loop; });
            auto const end = d.place * d.extent;
            if (known == loops.end()) {
                loops.push_back({d.loop, d.place, end});
            } else {
                known->step = std::gcd(known->step, d.place), known->count = std::lcm(known->count, end);
            }
        }
        double positions = 1, yes = 0;
        for (auto& r : loops) {
            auto const all = known_[at(r.loop)].extent;
            if (r.count > all || all % r.count != 0 || r.count % r.step != 0) r.step = 1, r.count = all;
            r.count /= r.step;
            positions *= static_cast<double>(r.count);
        }
        if (positions < 1 || positions > most_positions) return -1;
        for (std::int64_t position = 0; position < static_cast<std::int64_t>(positions); ++position) {
            auto rest = position;
            for (auto const& r : loops) {
                auto const now = rest % r.count * r.step;
                rest /= r.count;
                for (auto const u : used_) {
                    auto const& d = known_[at(u)];
                    if (d.loop != r.loop) continue;
                    auto const v = static_cast<std::size_t>(d.var);
                    if (values_.size() <= v) values_.resize(v + 1);
                    values_[v] = d.begin + now / d.place % d.extent;
                }
            }
            yes += f();
        }
        return yes;
    }
    [[nodiscard]] std::int64_t value_of(affine const& a) const {
        auto v = a.constant();
        for (auto const& t : a.terms()) v += t.factor * values_[static_cast<std::size_t>(t.of)];
        return v;
    }
    [[nodiscard]] std::int64_t value_of(std::vector<limit> const& limits, bool greatest) const {
        std::optional<std::int64_t> out;
        for (auto const& l : limits) {
            auto const v = value_of(l.value);
            auto const up = v / l.divisor + (v % l.divisor > 0 ? 1 : 0);
            out = !out ? up : greatest ? std::max(*out, up) : std::min(*out, up);
        }
        return out.value_or(0);
    }
    [[nodiscard]] bool all_hold(std::vector<loop::bound> const& conditions) const {
        return std::all_of(conditions.begin(), conditions.end(), [&](loop::bound const& b) {
            auto const v = value_of(b.value);
            return v >= 0 && v < b.extent;
        });
    }
    [[nodiscard]] bool is_taken(std::span<path_condition const> path) const {
        return std::all_of(path.begin(), path.end(), [&](auto const& p) { return all_hold(*p.all) == p.holds; });
    }

    std::vector<definition> known_;
    std::vector<std::int32_t> used_;
    std::vector<std::int64_t> values_;
};

GSUB_LAZY void count_into(kernel_counts& counts, instruction const& i, double times) {
    auto& of = i.op == opcode::multiply_add ? counts.multiply_adds
               : i.op == opcode::load       ? counts.loads
               : i.op == opcode::broadcast  ? counts.broadcasts
               : i.op == opcode::store      ? counts.stores
                                            : counts.others;
    of += times;
}

} // namespace detail

GSUB_LAZY_BODY kernel_loops loops_of(kernel const& k, kernel_counting counting) {
    struct place { // statements yet to read, in a loop
        std::vector<statement> const* list;
        std::size_t next;
        std::int32_t loop;
        double runs;
        bool constant;                              // whether all loops around have constant trips
        std::vector<detail::path_condition> path{}; // of the branches around, on a device
    };
    auto const on_device = counting == kernel_counting::of_device;
    kernel_loops out;
    std::vector<place> open;
    open.push_back({&k.body, 0, -1, 1, true});
    detail::position_means<> means;
    while (!open.empty()) {
        if (open.back().next == open.back().list->size()) {
            open.pop_back();
            continue;
        }
        auto const& s = (*open.back().list)[open.back().next++];
        auto const at = open.back();
        for (auto const& i : s.code) {
            detail::count_into(out.total, i, at.runs);
            if (at.loop >= 0) detail::count_into(out.own[static_cast<std::size_t>(at.loop)], i, at.runs);
        }
        if (on_device) {
            double joined = 0;
            auto const parts = detail::wide_broadcasts(k, as_span(s.code));
            for (std::size_t i = 0; i < parts.size(); ++i)
                joined += parts[i].width > 1 && parts[i].first != static_cast<std::int32_t>(i);
            out.total.joined += joined * at.runs;
            if (at.loop >= 0) out.own[static_cast<std::size_t>(at.loop)].joined += joined * at.runs;
        }
        if (s.kind == statement_kind::branch) {
            auto const share = on_device ? means.share(s.conditions, as_span(at.path)) : -1.0;
            out.exact = out.exact && share >= 0 && at.constant;
            auto const side = [&](std::vector<statement> const& list, bool holds) {
                auto inner = at;
                inner.list = &list, inner.next = 0;
                if (share >= 0) {
                    inner.runs *= holds ? share : 1 - share;
                    inner.path.push_back({&s.conditions, holds});
                }
                if (inner.runs > 0) open.push_back(std::move(inner));
            };
            side(s.otherwise, false), side(s.body, true);
        }
        if (s.kind == statement_kind::fused_index) means.add_index(s.var, s.of, s.divisor, s.extent);
        if (s.kind == statement_kind::chosen_index) {
            means.add_unknown(s.var);
            open.push_back(at), open.back().list = &s.body, open.back().next = 0;
        }
        if (s.kind != statement_kind::loop) continue;
        auto const parallel = s.var == k.parallel;
        auto const begin = parallel ? std::optional<std::int64_t>{0} : detail::constant_limit(s.begin, true);
        auto const end = parallel ? std::optional{k.parallel_extent} : detail::constant_limit(s.end, false);
        auto const constant = begin && end;
        auto const trips = constant ? std::max<std::int64_t>(*end - *begin, 0) : -1;
        auto const mean = constant ? -1.0 : means.mean(s.begin, s.end, as_span(at.path));
        // Means of loops inside each other multiply where they depend on nothing in common: only one is sure to.
        out.exact = out.exact && (constant || (mean >= 0 && at.constant));
        constant ? means.add_loop(s.var, *begin, trips) : means.add_unknown(s.var);
        out.sources.push_back({k.names[static_cast<std::size_t>(s.var)], at.loop, trips, mean});
        out.own.emplace_back();
        auto inner = at;
        inner.list = &s.body, inner.next = 0, inner.loop = static_cast<std::int32_t>(out.sources.size()) - 1;
        inner.runs *= constant ? static_cast<double>(trips) : mean >= 0 ? mean : 1;
        inner.constant = at.constant && constant;
        out.runs.push_back(inner.runs);
        open.push_back(std::move(inner));
    }
    return out;
}

} // namespace gsub::codegen
