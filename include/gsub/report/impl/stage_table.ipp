#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/report/stage_table.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace gsub::report {

namespace detail {

GSUB_INLINE std::string by_x(std::span<dim const> dims) {
    std::string out;
    for (auto const& d : dims) out += format_text("{}{}", out.empty() ? "" : "x", to_string(d));
    return out;
}
GSUB_INLINE std::string by_x(ints const& sizes) {
    std::string out;
    for (auto s : sizes) out += format_text("{}{}", out.empty() ? "" : "x", s);
    return out;
}

GSUB_INLINE bool is_product(any_graph const& g, node_id n) {
    return g.is<ops::mat_mul>(n) || g.is<ops::gemm>(n);
}

// What an operator is called in the table; empty for those that stand in none.
GSUB_INLINE std::string stage_operator(any_graph const& g, node_id n) {
    if (g.is<ops::conv>(n)) {
        auto const& w = g.type(g.operand(n, 1));
        if (!w.ranked || w.rank() < 3) return "convolution";
        auto const groups = g.attributes<ops::conv>(n).group;
        auto const channels = w.dims[0].fixed() ? w.dims[0].size() : 0;
        auto const kernel = by_x(std::span{w.dims.begin() + 2, w.dims.end()});
        if (groups > 1 && groups == channels) return format_text("{} depthwise {}", kernel, channels);
        return format_text("{} {}{}", kernel, to_string(w.dims[0]),
                           groups > 1 ? format_text(" in {} groups", groups) : "");
    }
    if (is_product(g, n)) {
        auto const& t = g.type({n, 0});
        if (!t.ranked || t.rank() == 0 || !g.constant(g.operand(n, 1))) return "product";
        return format_text("dense {}", to_string(t.dims[t.rank() - 1]));
    }
    if (g.is<ops::max_pool>(n)) return format_text("max pool {}", by_x(g.attributes<ops::max_pool>(n).kernel_shape));
    if (g.is<ops::average_pool>(n))
        return format_text("average pool {}", by_x(g.attributes<ops::average_pool>(n).kernel_shape));
    return g.is<ops::global_average_pool>(n) ? "global average pool" : "";
}

GSUB_INLINE std::string stage_size(any_graph const& g, node_id n) {
    auto const& t = g.type({n, 0});
    if (!t.ranked || t.rank() < 2) return {};
    if (is_product(g, n) || t.rank() == 3) return to_string(t.dims[t.rank() - 2]);
    return by_x(std::span{t.dims.begin() + 2, t.dims.end()});
}

// The only reader of the first result behind normalisations, or no node.
GSUB_INLINE node_id reader_behind_norms(any_graph const& g, node_id n) {
    for (;;) {
        node_id reader;
        g.for_each_use({n, 0}, [&](use u) { reader = u.user; });
        if (g.use_count({n, 0}) != 1 || !g.is<ops::batch_norm>(reader))
            return g.use_count({n, 0}) == 1 ? reader : node_id{};
        n = reader;
    }
}

// A pointwise convolution that another one stands beside, and that goes into a sum.
GSUB_INLINE bool is_projection(any_graph const& g, node_id n) {
    if (!g.is<ops::conv>(n)) return false;
    auto const& w = g.type(g.operand(n, 1));
    if (!w.ranked || !std::all_of(w.dims.begin() + 2, w.dims.end(), [](dim const& d) { return d == dim{1}; }))
        return false;
    auto siblings = 0;
    g.for_each_use(g.operand(n, 0), [&](use u) { siblings += g.is<ops::conv>(u.user) && u.operand == 0; });
    auto const reader = reader_behind_norms(g, n);
    return siblings > 1 && reader.valid() && g.is<ops::add>(reader);
}

// Stands between words where a sum of two values ends a residual block, so that repeats are those of blocks.
constexpr std::string_view end_of_block = "";

// Length of the longest run of repeats from a place on, as period and times. A period that has ends of blocks has one
// at its own end.
GSUB_INLINE std::pair<std::size_t, std::size_t> repeats_at(std::span<std::string const> words) {
    constexpr std::size_t longest_period = 24;
    std::pair<std::size_t, std::size_t> best{1, 1};
    for (std::size_t p = 1; p <= longest_period && 2 * p <= words.size(); ++p) {
        auto const period = words.first(p);
        if (std::ranges::find(period, end_of_block) != period.end() && period.back() != end_of_block) continue;
        std::size_t times = 1;
        while ((times + 1) * p <= words.size() && std::ranges::equal(period, words.subspan(times * p, p))) ++times;
        if (times > 1 && times * p > best.first * best.second) best = {p, times};
    }
    return best;
}

// `a, [b, c] x 3`: at each place the period whose repeats reach furthest.
GSUB_INLINE std::string with_repeats(std::span<std::string const> words) {
    std::string out;
    for (std::size_t at = 0; at < words.size();) {
        auto const [period, times] = repeats_at(words.subspan(at));
        auto const block = period == 1 ? words[at] : with_repeats(words.subspan(at, period));
        at += period * times;
        if (block.empty()) continue;
        auto const one = period == 1 || block == words[at - period * times];
        out += format_text("{}{}", out.empty() ? "" : ", ",
                           times == 1 ? block
                           : one      ? format_text("{} x {}", block, times)
                                      : format_text("[{}] x {}", block, times));
    }
    return out;
}

} // namespace detail

GSUB_INLINE std::vector<network_stage> stages_of(any_graph const& g) {
    struct words_of_size {
        std::string size;
        std::vector<std::string> words, beside;
    };
    std::vector<words_of_size> found;
    for (auto n : g.order()) {
        if (n == g.return_node() || g.constant(n)) continue;
        auto word = detail::stage_operator(g, n);
        auto const residual = g.is<ops::add>(n) && !g.constant(g.operand(n, 0)) && !g.constant(g.operand(n, 1));
        if (word.empty() && !residual) continue;
        auto const size = detail::stage_size(g, n);
        auto at = std::ranges::find(found, size, &words_of_size::size);
        if (residual) {
            if (at != found.end()) at->words.emplace_back(detail::end_of_block);
            continue;
        }
        if (at == found.end()) at = found.insert(found.end(), {size, {}, {}});
        (detail::is_projection(g, n) ? at->beside : at->words).push_back(std::move(word));
    }
    std::vector<network_stage> out;
    for (auto const& s : found) {
        auto const ends = static_cast<std::size_t>(std::ranges::count(s.words, detail::end_of_block));
        out.push_back({s.size, detail::with_repeats(s.words), detail::with_repeats(s.beside),
                       s.words.size() - ends + s.beside.size()});
    }
    return out;
}

GSUB_INLINE table stage_table(std::vector<network_stage> const& stages) {
    table t{{"size", "number", "operators", "beside"}};
    for (auto const& s : stages) t.add({s.size, format_text("{}", s.count), s.operators, s.beside});
    return t;
}

} // namespace gsub::report
