#pragma once

#include <gsub/codegen/ir/kernel_loops.hpp>

#include <algorithm>
#include <optional>

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

// Variables in scope, as far as they are loops of constant limits or taken from others; means of trips over them.
template <class = void>
class limit_means {
public:
    void add_loop(variable v, std::int64_t begin, std::int64_t trips) { known_.push_back({v, -1, begin, trips}); }
    void add_unknown(variable v) { known_.push_back({v, -1, 0, -1}); }
    void add_index(variable v, variable of, std::int64_t divisor, std::int64_t extent) {
        known_.push_back({v, of, divisor, extent});
    }

    // Mean trips between limits over all positions of the loops on which they depend; -1 where these are unknown.
    [[nodiscard]] double mean(std::vector<limit> const& begin, std::vector<limit> const& end) {
        used_.clear();
        for (auto const* limits : {&begin, &end})
            for (auto const& l : *limits)
                for (auto const& t : l.value.terms())
                    if (!use(t.of)) return -1;
        double positions = 1, sum = 0;
        for (auto const u : used_)
            if (known_[u].of < 0) positions *= static_cast<double>(known_[u].extent);
        if (positions < 1 || positions > 65536) return -1;
        std::sort(used_.begin(), used_.end()); // those that others are taken from come first
        for (std::int64_t position = 0; position < static_cast<std::int64_t>(positions); ++position) {
            place(position);
            auto const from = value_of(begin, true), to = value_of(end, false);
            sum += static_cast<double>(std::max<std::int64_t>(to - from, 0));
        }
        return sum / positions;
    }

private:
    struct definition {
        variable var, of;             // of: -1: a loop
        std::int64_t divisor, extent; // of a loop: where it begins, and its trips
    };

    // The definition that holds is the last one: inner loops are read behind those around them.
    [[nodiscard]] bool use(variable v) {
        for (auto i = known_.size(); v >= 0;) {
            while (i > 0 && known_[i - 1].var != v) --i;
            if (i == 0 || (known_[i - 1].of < 0 && known_[i - 1].extent < 0)) return false;
            if (std::find(used_.begin(), used_.end(), i - 1) == used_.end()) used_.push_back(i - 1);
            v = known_[i - 1].of;
        }
        return true;
    }
    void place(std::int64_t position) {
        for (auto const u : used_) {
            auto const& d = known_[u];
            auto const at = static_cast<std::size_t>(d.var);
            if (values_.size() <= at) values_.resize(at + 1);
            values_[at] = d.of >= 0 ? values_[static_cast<std::size_t>(d.of)] / d.divisor % d.extent
                                    : d.divisor + position % d.extent;
            if (d.of < 0) position /= d.extent;
        }
    }
    [[nodiscard]] std::int64_t value_of(std::vector<limit> const& limits, bool greatest) const {
        std::optional<std::int64_t> out;
        for (auto const& l : limits) {
            auto v = l.value.constant();
            for (auto const& t : l.value.terms()) v += t.factor * values_[static_cast<std::size_t>(t.of)];
            auto const up = v / l.divisor + (v % l.divisor > 0 ? 1 : 0);
            out = !out ? up : greatest ? std::max(*out, up) : std::min(*out, up);
        }
        return out.value_or(0);
    }

    std::vector<definition> known_;
    std::vector<std::size_t> used_;
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

GSUB_LAZY_BODY kernel_loops loops_of(kernel const& k) {
    struct place { // statements yet to read, in a loop
        std::vector<statement> const* list;
        std::size_t next;
        std::int32_t loop;
        double runs;
        bool constant; // whether all loops around have constant trips
    };
    kernel_loops out;
    std::vector<place> open{{&k.body, 0, -1, 1, true}};
    detail::limit_means<> means;
    while (!open.empty()) {
        if (open.back().next == open.back().list->size()) {
            open.pop_back();
            continue;
        }
        auto const at = open.back();
        auto const& s = (*at.list)[open.back().next++];
        for (auto const& i : s.code) {
            detail::count_into(out.total, i, at.runs);
            if (at.loop >= 0) detail::count_into(out.own[static_cast<std::size_t>(at.loop)], i, at.runs);
        }
        if (s.kind == statement_kind::branch) {
            out.exact = false;
            open.push_back({&s.otherwise, 0, at.loop, at.runs, at.constant});
            open.push_back({&s.body, 0, at.loop, at.runs, at.constant});
        }
        if (s.kind == statement_kind::fused_index) means.add_index(s.var, s.of, s.divisor, s.extent);
        if (s.kind == statement_kind::chosen_index) {
            means.add_unknown(s.var);
            open.push_back({&s.body, 0, at.loop, at.runs, at.constant});
        }
        if (s.kind != statement_kind::loop) continue;
        auto const parallel = s.var == k.parallel;
        auto const begin = parallel ? std::optional<std::int64_t>{0} : detail::constant_limit(s.begin, true);
        auto const end = parallel ? std::optional{k.parallel_extent} : detail::constant_limit(s.end, false);
        auto const constant = begin && end;
        auto const trips = constant ? std::max<std::int64_t>(*end - *begin, 0) : -1;
        auto const mean = constant ? -1.0 : means.mean(s.begin, s.end);
        // Means of loops inside each other multiply where they depend on nothing in common: only one is sure to.
        out.exact = out.exact && (constant || (mean >= 0 && at.constant));
        constant ? means.add_loop(s.var, *begin, trips) : means.add_unknown(s.var);
        out.sources.push_back({k.names[static_cast<std::size_t>(s.var)], at.loop, trips, mean});
        out.own.emplace_back();
        auto const runs = at.runs * (constant ? static_cast<double>(trips) : mean >= 0 ? mean : 1);
        open.push_back({&s.body, 0, static_cast<std::int32_t>(out.sources.size()) - 1, runs, at.constant && constant});
    }
    return out;
}

} // namespace gsub::codegen
