// Touched sets: places that a kernel touches in its buffers, and how they join and move.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/config.hpp>
#include <gsub/core/small_vector.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// A set of places that a block touches in one buffer, as it moves with the loops around it.
struct touched {
    std::int32_t buffer = 0;
    small_vector<codegen::affine::term, 4> moves; // by variables
    double runs = 0, run = 0, span = 0; // pieces, the bytes of one, from the first byte to behind the last one
    double at = 0;                      // the first byte, where the loops around stand at their beginning
    bool written = false;
    std::size_t stage = 0;                          // that touches it first
    double share = 1;                               // of the runs of a block: a side of a branch has some
    small_vector<codegen::variable, 2> chosen_by{}; // what tells which runs those are
    // In whole lines.
    [[nodiscard]] double bytes() const { return runs * 64 * std::max(1.0, std::ceil(run / 64)); }
    std::array<double, 3> missed{}; // bytes that each cache does not have
};

// Behind each other, or the pieces of one between those of the other.
GSUB_LAZY bool apart(touched const& a, touched const& b) {
    auto const by = std::abs(a.at - b.at);
    if (by >= (a.at < b.at ? a.span : b.span)) return true;
    if (a.runs != b.runs || a.runs == 1 || a.span != b.span) return false;
    auto const between = (a.span - a.run) / (a.runs - 1); // two beginnings
    return by >= a.run && by + b.run <= between;
}

// Whether one of them touches in an earlier turn of a loop what the other one touches in a later one.
GSUB_LAZY bool touch_in_turns(touched const& a, touched const& b, double step, double turns) {
    auto const by = std::abs(a.at - b.at);
    return step > 0 && a.buffer == b.buffer && by < step * turns && std::fmod(by, step) == 0 &&
           std::ranges::equal(a.moves, b.moves);
}

// Makes the first one stand for both.
GSUB_LAZY void join(touched& all, touched const& t) {
    auto const begin = std::min(all.at, t.at), end = std::max(all.at + all.span, t.at + t.span);
    if (all.runs == 1 && t.runs == 1)
        all.run = end - begin;
    else if (t.bytes() > all.bytes())
        all.runs = t.runs, all.run = t.run;
    all.at = begin, all.span = end - begin;
    all.written = all.written || t.written;
    all.share = std::max(all.share, t.share);
    for (std::size_t c = 0; c < 3; ++c) all.missed[c] = std::max(all.missed[c], t.missed[c]);
}

// Sets of one buffer that move alike and meet are one: what is read of it twice is read once.
GSUB_LAZY void merge(std::vector<touched>& all, touched&& t) {
    auto const found = std::find_if(all.begin(), all.end(), [&](touched const& o) {
        return o.buffer == t.buffer && std::ranges::equal(o.moves, t.moves) && !apart(o, t);
    });
    if (found == all.end())
        all.push_back(std::move(t));
    else
        join(*found, t);
}
GSUB_LAZY void merge(std::vector<touched>& all, std::vector<touched>&& more) {
    if (all.empty() && more.size() == 1) return all.swap(more);
    for (auto& t : more) merge(all, std::move(t));
}

// What pieces become that move on so often by so many bytes.
GSUB_LAZY void move(touched& t, double step, double turns) {
    auto const span = t.span + step * (turns - 1), gap = t.runs > 1 ? t.span / t.runs : t.span;
    // Lines come in pairs.
    auto const touching = step <= std::max(t.run, 128.0);
    if (t.runs == 1 || t.run + step * (turns - 1) <= gap) { // each piece by itself
        if (touching)
            t.run += step * (turns - 1);
        else
            t.runs *= turns;
    } else if (step >= t.span) { // apart
        t.runs *= turns;
    } else { // between each other
        t.run = std::min(t.bytes() * turns, span), t.runs = 1;
    }
    t.span = span;
}

} // namespace gsub::cost::detail
