// Touched blocks: the sets of places that blocks of one list of statements touch together.
#pragma once

#include <gsub/cost/impl/kernel_stages.ipp>
#include <gsub/cost/impl/touched.ipp>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// Gathers what blocks touch that run one after another, by what moves alike: taps at a border and those beside them are
// one set.
template <class = void>
class touched_blocks {
public:
    touched_blocks(codegen::kernel const& k, walked_loops const& loops) : k_(k), loops_(loops) {}

    // Takes one more. *Returns* its instructions.
    double take(codegen::statement const& block) {
        auto const stage = loops_.stage_of(block);
        for (auto const& i : block.code) {
            if (i.buffer < 0) continue;
            auto group = std::ranges::find_if(groups_, [&](places const& p) {
                return p.stage == stage && p.first->buffer == i.buffer &&
                       std::ranges::equal(p.first->offset.terms(), i.offset.terms());
            });
            if (group == groups_.end()) group = groups_.insert(group, {&i, stage});
            group->written = group->written || i.op == codegen::opcode::store;
            auto const size = static_cast<double>(byte_size(k_.buffers[index(i.buffer)].element));
            auto const count = i.op == codegen::opcode::broadcast ? 1 : i.lanes > 0 ? i.lanes : k_.lanes;
            auto const first = static_cast<double>(i.offset.constant()) * size;
            auto const add = [&](double at, double elements) {
                group->pieces.emplace_back(first + at * size, first + (at + elements) * size);
            };
            if (!i.order.empty())
                for (auto const o : i.order) add(static_cast<double>(o), 1);
            else if (i.stride != 1)
                for (std::int32_t l = 0; l < count; ++l) add(static_cast<double>(l * i.stride), 1);
            else
                add(0, count);
        }
        auto const count = instructions_of(block);
        code_[stage] += count;
        return count;
    }
    // Adds the sets of all that were taken.
    void add_to(std::vector<touched>& all) {
        for (auto& p : groups_) add_sets(p, code_[p.stage], all);
    }

private:
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }

    // Of a block: a broadcast that one multiply-add takes is a part of it.
    [[nodiscard]] static double instructions_of(codegen::statement const& block) {
        double all = 0, broadcasts = 0, steps = 0;
        for (auto const& i : block.code) {
            ++all;
            broadcasts += i.op == codegen::opcode::broadcast, steps += i.op == codegen::opcode::multiply_add;
        }
        return steps <= broadcasts ? all - broadcasts : all;
    }
    // Places of one buffer that a stage touches and that move alike.
    struct places {
        codegen::instruction const* first = nullptr;
        std::size_t stage = 0;
        std::vector<std::pair<double, double>> pieces{}; // bytes, from and to
        bool written = false;
    };
    // Pieces of a stage as sets: the fewest of which each has its pieces in even steps, such as tiles of a row, or one.
    void add_sets(places& g, double instructions, std::vector<touched>& all) const {
        if (!std::ranges::is_sorted(g.pieces)) std::sort(g.pieces.begin(), g.pieces.end());
        constexpr double line = 64;
        std::vector<std::pair<double, double>> runs; // from, and bytes; those less than a line apart are one
        double last = -1e300;
        for (auto const& [begin, end] : g.pieces) {
            if (begin >= last + line) runs.emplace_back(begin, 0), last = begin;
            runs.back().second += std::max(0.0, end - last);
            last = std::max(last, end);
        }
        constexpr std::size_t most_sets = 8;
        std::size_t sets = 1;
        auto const even = [&](std::size_t n) {
            for (auto i = 2 * n; i < runs.size(); ++i)
                if (runs[i].first - runs[i - n].first != runs[i % n + n].first - runs[i % n].first) return false;
            return true;
        };
        while (sets <= most_sets && !(runs.size() % sets == 0 && even(sets))) ++sets;
        auto const known = sets <= most_sets;
        if (!known) sets = 1;
        for (std::size_t first = 0; first < sets; ++first) {
            touched t;
            t.buffer = g.first->buffer;
            for (auto const& term : g.first->offset.terms())
                t.moves.push_back({loops_.same[index(term.of)], term.factor});
            double bytes = 0;
            for (auto i = first; i < runs.size(); i += sets) ++t.runs, bytes += runs[i].second;
            t.run = bytes / t.runs, t.at = runs[first].first;
            auto const& end = runs[runs.size() - sets + first];
            t.span = end.first + end.second - t.at;
            if (known && t.runs > 1) t.again.push_back({runs[first + sets].first - t.at, t.runs});
            t.stages.push_back({g.stage, g.written, {t.bytes(), t.bytes(), t.bytes()}, 0, instructions});
            merge(all, std::move(t), all.size());
        }
    }

    codegen::kernel const& k_;
    walked_loops const& loops_;
    std::vector<places> groups_;
    std::map<std::size_t, double> code_; // instructions, by stage
};

} // namespace gsub::cost::detail
