// store_order: which loops may store to one place where integers choose it: these run serially, in the order of axes.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>
#include <gsub/loop/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gsub::loop::detail {

GSUB_LAZY [[noreturn]] void refuse(std::string reason) {
    throw error{errors::kernel_schedule, format_text("schedule: {}", reason)};
}

// Checks a nest with chosen indices. A place is a sum of three parts: what stands within an entry, the entry, and what
// holds all entries, as digits of a number. Positions which the first or the last tells apart never meet, nor do those
// of which bounds on the entry hold for one alone.
template <class = void>
class store_order {
public:
    explicit store_order(loop_nest const& nest) : nest_(nest) {}

    void check() const {
        for (auto const& c : nest_.what.chosen) check_source(c);
        check(nest_.what.target);
        for (auto const& s : nest_.what.more_stores) check(s.target);
    }

private:
    // Terms that move together: a variable, or what a split has made of one.
    struct digit {
        std::int64_t factor = 1, extent = 1;
        std::vector<variable> of;
    };
    using digits = std::vector<digit>;

    [[nodiscard]] bool is_chosen(variable v) const {
        auto const& all = nest_.what.chosen;
        return std::any_of(all.begin(), all.end(), [&](auto const& c) { return c.var == v; });
    }
    [[nodiscard]] bool depends_on_chosen(affine const& a) const {
        return std::any_of(a.terms().begin(), a.terms().end(), [&](auto const& t) { return is_chosen(t.of); });
    }
    [[nodiscard]] std::string const& name_of(variable v) const { return nest_.names[static_cast<std::size_t>(v)]; }
    // The variables that a loop decides: its own, or the fused indices of it.
    [[nodiscard]] std::vector<variable> decided_by(variable loop) const {
        std::vector<variable> out, open{loop};
        while (!open.empty()) {
            auto const v = open.back();
            open.pop_back();
            auto const before = open.size();
            for (auto const& p : nest_.fused_indices)
                if (p.of == v) open.push_back(p.var);
            if (open.size() == before) out.push_back(v);
        }
        return out;
    }
    [[nodiscard]] std::int64_t extent_of(variable v) const {
        auto const& r = nest_.ranges[static_cast<std::size_t>(v)];
        return r.high - r.low + 1;
    }

    void check_source(chosen_index const& c) const {
        auto const offset = nest_.what.offset_of(c.source);
        for (auto const& l : nest_.loops) {
            auto const of = decided_by(l.var);
            auto const depends =
                std::any_of(of.begin(), of.end(), [&](auto v) { return offset.depends_on(v) && extent_of(v) > 1; });
            if (depends && (l.reduction || (l.kind != loop_kind::serial && l.kind != loop_kind::parallel)))
                refuse(format_text("{}: an index is chosen by serial and parallel loops", name_of(l.var)));
        }
    }
    void check(access const& target) const {
        auto const offset = nest_.what.offset_of(target);
        if (!depends_on_chosen(offset)) return;
        auto const apart = told_apart(offset);
        variable last = -1;
        for (auto const& l : nest_.loops) {
            auto const of = decided_by(l.var);
            auto const meets = std::any_of(of.begin(), of.end(), [&](auto v) {
                return extent_of(v) > 1 && std::find(apart.begin(), apart.end(), v) == apart.end();
            });
            if (!meets) continue;
            auto const is_axis = static_cast<std::size_t>(l.var) < nest_.what.axes.size();
            if (l.kind != loop_kind::serial || !is_axis || l.var < last)
                refuse(format_text("{}: positions that may store to one place run serially, as one axis in its order",
                                   name_of(l.var)));
            last = l.var;
        }
    }

    // The variables whose values stores to one place have in common.
    [[nodiscard]] std::vector<variable> told_apart(affine const& offset) const {
        std::vector<variable> apart;
        affine own;
        std::vector<affine::term> entries;
        for (auto const& t : offset.terms())
            if (is_chosen(t.of))
                entries.push_back(t);
            else
                own += affine::of(t.of, t.factor);
        std::sort(entries.begin(), entries.end(), [](auto const& a, auto const& b) { return a.factor < b.factor; });
        std::int64_t low = entries.front().factor, high = low; // entries are multiples of one, below the other
        for (auto const& t : entries) {
            if (t.factor <= 0 || t.factor < high || t.factor % low != 0) return apart;
            high = t.factor * extent_of(t.of);
        }
        digits within, around;
        for (auto& d : digits_of(own))
            if (d.factor % high == 0)
                d.factor /= high, around.push_back(std::move(d));
            else
                within.push_back(std::move(d));
        auto const reach = reach_of(within, 1);
        if (!reach || *reach > low) return apart; // it is not known in which entry a place is
        add(within, apart);
        if (reach_of(around, 1)) add(around, apart);
        for (auto const& b : nest_.tails) {
            if (!depends_on_chosen(b.value)) continue;
            affine rest;
            auto factor = std::int64_t{0};
            for (auto const& t : b.value.terms())
                if (is_chosen(t.of))
                    factor = factor == 0 ? t.factor : 2; // one alone
                else
                    rest += affine::of(t.of, t.factor);
            if (factor != 1 && factor != -1) continue;
            auto pieces = digits_of(rest.terms().empty() || rest.terms()[0].factor > 0 ? rest : rest * -1);
            if (reach_of(pieces, b.extent)) add(pieces, apart);
        }
        return apart;
    }
    static void add(digits const& from, std::vector<variable>& to) {
        for (auto const& d : from) to.insert(to.end(), d.of.begin(), d.of.end());
    }
    // One more than the greatest sum of digits, where sums of different ones are `apart` at least; nothing: they may be
    // nearer.
    static std::optional<std::int64_t> reach_of(digits& all, std::int64_t apart) {
        std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.factor < b.factor; });
        for (auto const& d : all) {
            if (d.extent > 1 && d.factor < apart) return std::nullopt;
            apart += d.factor * (d.extent - 1);
        }
        return apart;
    }
    [[nodiscard]] digits digits_of(affine rest) const {
        std::vector<bound const*> tails;
        for (auto const& b : nest_.tails)
            if (!depends_on_chosen(b.value) && b.value.constant() == 0) tails.push_back(&b);
        std::stable_sort(tails.begin(), tails.end(), [](auto const* a, auto const* b) {
            return a->value.terms().size() > b->value.terms().size();
        });
        digits out;
        for (auto const* b : tails) {
            auto const factor = multiple_of(rest, b->value);
            auto own = terms_of(b->value);
            if (factor == 0 || !reach_of(own, 1)) continue;
            auto& d = out.emplace_back(digit{factor, b->extent, {}});
            add(own, d.of);
            rest += b->value * -factor;
        }
        for (auto& d : terms_of(rest)) out.push_back(std::move(d));
        return out;
    }
    [[nodiscard]] digits terms_of(affine const& a) const {
        digits out;
        for (auto const& t : a.terms()) out.push_back({t.factor, extent_of(t.of), {t.of}});
        return out;
    }

    loop_nest const& nest_;
};

} // namespace gsub::loop::detail
