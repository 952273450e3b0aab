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

// What a stage of a kernel moves of a set.
struct moved_by {
    std::size_t stage = 0;
    bool written = false;
    std::array<double, 3> missed{}; // bytes that each cache does not have
    // Instructions from one line that it touches for the first time to the next. As long as no loop around has moved
    // the set, `instructions` are those that run while it is touched, and this is 0.
    double pace = 0, instructions = 0;
};

// How often something comes again, so many bytes further on each time.
struct repeated {
    double step = 0, count = 1;
};

// A set of places that blocks touch in one buffer, as it moves with the loops around them.
struct touched {
    std::int32_t buffer = 0;
    small_vector<codegen::affine::term, 4> moves; // by variables
    double runs = 0, run = 0, span = 0; // pieces, the bytes of one, from the first byte to behind the last one
    // Where pieces lie, by falling steps; of more than one empty where that is not known.
    small_vector<repeated, 4> again{};
    double at = 0;                                  // the first byte, where the loops around stand at their beginning
    double share = 1;                               // of the runs of a block: a side of a branch has some
    small_vector<codegen::variable, 2> chosen_by{}; // what tells which runs those are
    small_vector<moved_by, 2> stages{};             // that touch it, in their order
    // In whole lines.
    [[nodiscard]] double bytes() const { return runs * 64 * std::max(1.0, std::ceil(run / 64)); }
};

// Bytes from one piece to the next one.
GSUB_LAZY double distance_of_runs(touched const& t) {
    if (!t.again.empty()) return t.again.back().step;
    return t.runs > 1 ? (t.span - t.run) / (t.runs - 1) : t.span;
}

// Behind each other, or the pieces of one between those of the other.
GSUB_LAZY bool apart(touched const& a, touched const& b) {
    auto const &first = a.at < b.at ? a : b, &second = a.at < b.at ? b : a;
    auto by = second.at - first.at;
    if (by >= first.span) return true;
    if (first.runs == 1 && second.runs == 1) return false;
    auto const same = [](repeated const& x, repeated const& y) { return x.step == y.step; };
    auto const& steps = first.again.empty() ? second.again : first.again;
    if (first.again.empty() != (first.runs == 1) || second.again.empty() != (second.runs == 1)) {
        if (first.runs != second.runs || distance_of_runs(first) != distance_of_runs(second)) return false;
        return by >= first.run && by + second.run <= distance_of_runs(first);
    }
    if (first.runs > 1 && second.runs > 1 && !std::ranges::equal(first.again, second.again, same)) return false;
    auto const inner = [&](touched const& t, std::size_t level) { // bytes from begin to end within a step
        auto span = t.run;
        for (auto i = level + 1; i < t.again.size(); ++i) span += (t.again[i].count - 1) * t.again[i].step;
        return span;
    };
    for (std::size_t i = 0; i < steps.size(); ++i) {
        by = std::fmod(by, steps[i].step);
        if (by >= inner(first, i) && by + inner(second, i) <= steps[i].step) return true;
    }
    return false;
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
    auto const most = std::max(all.bytes(), t.bytes());
    auto const alike = std::ranges::equal(
        all.again, t.again, [](auto const& x, auto const& y) { return x.step == y.step && x.count == y.count; });
    if (all.runs == 1 && t.runs == 1) {
        all.run = end - begin;
    } else if (alike && all.runs == t.runs && !all.again.empty()) { // a piece beside a piece
        auto by = std::abs(all.at - t.at);
        for (auto const& r : all.again) by = std::fmod(by, r.step);
        auto const &first = all.at < t.at ? all : t, &second = all.at < t.at ? t : all;
        auto const joined = by <= first.run ? std::max(first.run, by + second.run) : std::max(first.run, second.run);
        all.run = std::min(joined, all.again.back().step);
    } else if (t.bytes() > all.bytes()) {
        all.runs = t.runs, all.run = t.run, all.again = t.again;
    }
    all.at = begin, all.span = end - begin;
    auto const grown = all.bytes() / most; // by what only one of them touches
    all.share = std::max(all.share, t.share);
    for (auto const& more : t.stages) {
        auto at = std::ranges::find_if(all.stages, [&](auto const& m) { return m.stage >= more.stage; });
        if (at == all.stages.end() || at->stage != more.stage) {
            all.stages.push_back(more); // the only one, or in its place among the others
            std::ranges::sort(all.stages, {}, &moved_by::stage);
            continue;
        }
        at->written = at->written || more.written;
        if (more.missed[2] > at->missed[2]) at->pace = more.pace, at->instructions = more.instructions;
        for (std::size_t c = 0; c < 3; ++c)
            at->missed[c] = std::min(at->missed[c] + more.missed[c], grown * std::max(at->missed[c], more.missed[c]));
    }
}

// Sets of one buffer that move alike and meet are one: what is read of it twice is read once. Only the first `given` of
// all are looked at.
GSUB_LAZY void merge(std::vector<touched>& all, touched&& t, std::size_t given) {
    auto const end = all.begin() + static_cast<std::ptrdiff_t>(given);
    auto const found = std::find_if(all.begin(), end, [&](touched const& o) {
        return o.buffer == t.buffer && std::ranges::equal(o.moves, t.moves) && !apart(o, t);
    });
    if (found == end)
        all.push_back(std::move(t));
    else
        join(*found, t);
}
// Those of one loop have met within it as far as they do.
GSUB_LAZY void merge(std::vector<touched>& all, std::vector<touched>&& more) {
    if (all.empty()) return all.swap(more);
    auto const given = all.size();
    for (auto& t : more) merge(all, std::move(t), given);
}

// What pieces become that move on so often by so many bytes.
GSUB_LAZY void move(touched& t, double step, double turns) {
    if (turns <= 1) return;
    auto const known = t.runs == 1 || !t.again.empty();
    auto const further = step * (turns - 1);
    // What comes again within a step, its bytes from begin to end, and the room that it has.
    std::size_t at = 0;
    while (at < t.again.size() && t.again[at].step >= step) ++at;
    auto within = t.run, pieces = 1.0;
    for (auto i = at; i < t.again.size(); ++i)
        within += (t.again[i].count - 1) * t.again[i].step, pieces *= t.again[i].count;
    if (!known) within = t.span, pieces = t.runs;
    auto const room = at > 0 ? t.again[at - 1].step : within + further;
    auto const touching = pieces == 1 && step <= std::max(t.run, 128.0); // lines come in pairs
    if (!known && t.run + further <= t.span / t.runs && step <= std::max(t.run, 128.0)) {
        t.run += further;                 // each piece by itself
    } else if (within + further > room) { // between all the others
        t.run = std::min(t.bytes() * turns, t.span + further), t.runs = 1;
        t.again.clear();
    } else if (touching) {
        t.run += further;
    } else if (step >= within) { // apart
        t.runs *= turns;
        if (at < t.again.size() && t.again[at].step * t.again[at].count == step)
            t.again[at].count *= turns; // they go on where they ended
        else if (known)
            t.again.insert(at, {step, turns});
    } else { // between each other
        auto const each = pieces * 64 * std::max(1.0, std::ceil(t.run / 64));
        t.run = std::min(each * turns, within + further), t.runs /= pieces;
        t.again.resize(at);
    }
    t.span += further;
}

} // namespace gsub::cost::detail
