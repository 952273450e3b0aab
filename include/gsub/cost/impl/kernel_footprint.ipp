// Memory footprints: what the loops of a kernel touch, and the bytes of it that each cache does not hold.
#pragma once

#include <gsub/cost/impl/kernel_work.ipp>
#include <gsub/cost/impl/touched.ipp>
#include <gsub/cost/impl/touched_blocks.ipp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// Footprints of loops, from the inner ones outwards, against the sizes of the caches of a core. Threads share the last
// one: what each of them touches of its own, it holds for all of them.
template <class = void>
class kernel_footprint {
public:
    kernel_footprint(codegen::kernel const& k, microarchitecture const& core, walked_loops const& loops, double threads)
        : k_(k),
          core_(core),
          loops_(loops),
          threads_(threads),
          instructions_(loops.stage_cycles.size(), 0),
          inside_(k.names.size(), 0),
          positions_(k.names.size(), place::other) {
        if (k.parallel >= 0) positions_[number(k.parallel)] = place_of(k.parallel_extent);
    }

    // Of the whole kernel.
    [[nodiscard]] std::vector<touched> run() { return turned(memory(k_.body, 0), -1, 1); }
    // Instructions of each stage, found by `run`.
    [[nodiscard]] std::vector<double> const& instructions() const noexcept { return instructions_; }
    // What caches hold of it.
    [[nodiscard]] std::array<double, 3> sizes() const {
        // Lines of others and of the stack are there too.
        constexpr double use = 0.85;
        return {use * static_cast<double>(core_.l1_bytes), use * static_cast<double>(core_.l2_bytes),
                use * static_cast<double>(core_.l3_bytes)};
    }
    [[nodiscard]] double buffer_bytes(std::int32_t b) const {
        auto const& of = k_.buffers[static_cast<std::size_t>(b)];
        return static_cast<double>(of.elements()) * static_cast<double>(byte_size(of.element));
    }

private:
    using statement = codegen::statement;
    using variable = codegen::variable;
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }
    [[nodiscard]] std::size_t number(variable v) const noexcept { return index(loops_.same[index(v)]); }

    // What a list touches each time it runs.
    std::vector<touched> memory(std::vector<statement> const& statements, std::size_t from) {
        std::vector<touched> all;
        touched_blocks<> straight{k_, loops_}; // those that run whenever the list does, or mostly
        auto const take = [&](statement const& block) {
            instructions_[loops_.stage_of(block)] += runs_ * straight.take(block);
        };
        for (auto i = from; i < statements.size(); ++i) {
            auto const& n = statements[i];
            switch (n.kind) {
            case codegen::statement_kind::block:
            case codegen::statement_kind::guard:
                take(n);
                break;
            case codegen::statement_kind::chosen_index: // of a body and one instruction
                take(n);
                merge(all, memory(n.body, 0));
                break;
            case codegen::statement_kind::branch:
                if (mostly_runs(n))
                    for (auto const& b : n.body) take(b);
                else
                    merge(all, sides(n));
                break;
            case codegen::statement_kind::fused_index:
                merge(all, parts(statements, i));
                straight.add_to(all);
                return all;
            case codegen::statement_kind::loop: {
                auto const found = loops_.loops.find(&n);
                if (found == loops_.loops.end() || found->second.entries <= 0 || found->second.turns <= 0) break;
                auto const turns = found->second.turns / found->second.entries;
                auto* const outer = std::exchange(pending_, nullptr);
                auto const around = std::exchange(runs_, found->second.turns);
                auto within = memory(n.body, 0);
                pending_ = outer, runs_ = around;
                for (auto& t : within) begin_at(t, loops_.same[index(n.var)], n.begin);
                merge(all, turned(std::move(within), loops_.same[index(n.var)],
                                  std::max(1.0, turns / loops_.parted[number(n.var)])));
                break;
            }
            }
        }
        straight.add_to(all);
        return all;
    }
    // Of a variable: whether it tells threads' positions apart, or is a part of what does but has one value alone.
    enum class place : std::uint8_t { other, one, several };
    static place place_of(std::int64_t extent) noexcept { return extent > 1 ? place::several : place::one; }
    // Whether each thread touches a set of its own.
    [[nodiscard]] bool is_own(touched const& t) const {
        return k_.buffers[index(t.buffer)].workspace ||
               std::ranges::any_of(t.moves, [&](auto const& m) { return positions_[index(m.of)] == place::several; });
    }
    // Where a set of a loop lies in the first turn, as far as that does not depend on loops around.
    void begin_at(touched& t, variable v, std::vector<codegen::limit> const& limits) const {
        double first = 0;
        for (auto const& l : limits)
            if (l.value.terms().empty())
                first = std::max(first,
                                 std::ceil(static_cast<double>(l.value.constant()) / static_cast<double>(l.divisor)));
        auto const size = static_cast<double>(byte_size(k_.buffers[index(t.buffer)].element));
        for (auto const& m : t.moves)
            if (m.of == v) t.at += first * static_cast<double>(m.factor) * size;
    }
    // Whether a branch is blocks alone that run more often than not, such as taps at a border.
    [[nodiscard]] bool mostly_runs(statement const& n) const {
        auto const runs = loops_.branches.find(&n);
        return n.otherwise.empty() && runs != loops_.branches.end() && runs->second.first >= runs->second.second &&
               std::ranges::all_of(n.body, [](auto const& b) { return b.kind == codegen::statement_kind::block; });
    }
    // Of a branch. The side that runs more often stands for both, but for what the other one touches elsewhere in the
    // same turns: weights of a part of its own.
    std::vector<touched> sides(statement const& n) {
        auto const runs = loops_.branches.find(&n);
        if (runs == loops_.branches.end()) return {};
        auto const [then, otherwise] = runs->second;
        auto const around = std::exchange(runs_, std::max(then, otherwise));
        auto all = memory(then >= otherwise ? n.body : n.otherwise, 0);
        runs_ = std::min(then, otherwise);
        auto rare =
            then > 0 && otherwise > 0 ? memory(then >= otherwise ? n.otherwise : n.body, 0) : std::vector<touched>{};
        runs_ = around;
        if (then <= 0 || otherwise <= 0) return all;
        auto const often = std::max(then, otherwise) / (then + otherwise);
        small_vector<variable, 2> of;
        for (auto const& c : n.conditions)
            for (auto const& t : c.value.terms()) of.push_back(loops_.same[index(t.of)]);
        auto const given = all.size();
        std::vector<char> turns(given, 0); // whether a set has become one of some runs
        for (auto& t : rare) {
            auto elsewhere = false, met = false;
            for (std::size_t i = 0; i < given; ++i) {
                auto& o = all[i];
                if (o.buffer != t.buffer || !std::ranges::equal(o.moves, t.moves)) continue;
                (apart(o, t) ? elsewhere : met) = true;
            }
            if (!elsewhere || met) continue;
            for (std::size_t i = 0; i < given; ++i)
                if (all[i].buffer == t.buffer && std::ranges::equal(all[i].moves, t.moves) &&
                    !std::exchange(turns[i], char{1}))
                    take_turns(all[i], often, of);
            take_turns(t, 1 - often, of);
            all.push_back(std::move(t));
        }
        return all;
    }
    // Makes a set one that some of the runs touch.
    static void take_turns(touched& t, double share, small_vector<variable, 2> const& chosen_by) {
        t.share *= share;
        for (auto& s : t.stages)
            for (auto& m : s.missed) m *= share;
        for (auto v : chosen_by) t.chosen_by.push_back(v);
    }
    // Parts of a loop's variable, one behind the other: loops in one another, of which that part changes fastest that
    // is divided by the least.
    std::vector<touched> parts(std::vector<statement> const& statements, std::size_t from) {
        std::vector<part> own;
        auto const nested = pending_ != nullptr;
        auto& found = nested ? *pending_ : own;
        auto to = from;
        for (; to < statements.size() && statements[to].kind == codegen::statement_kind::fused_index; ++to) {
            auto const& n = statements[to];
            if (inside_[number(n.var)] > 0) continue; // stages say it again
            ++inside_[number(n.var)];
            if (positions_[number(n.of)] != place::other) positions_[number(n.var)] = place_of(n.extent);
            auto const of = divisors_.find(number(n.of));
            auto const divisor = static_cast<double>(n.divisor) * (of == divisors_.end() ? 1.0 : of->second);
            divisors_[number(n.var)] = divisor;
            found.push_back({&n, divisor});
        }
        pending_ = &found;
        auto all = memory(statements, to);
        if (nested) return all;
        pending_ = nullptr;
        std::stable_sort(found.begin(), found.end(),
                         [](auto const& a, auto const& b) { return a.divisor < b.divisor; });
        for (auto const& p : found) {
            auto const& n = *p.what;
            all = turned(std::move(all), loops_.same[index(n.var)],
                         static_cast<double>(n.extent) / loops_.parted[number(n.var)]);
            --inside_[number(n.var)];
        }
        return all;
    }
    // What a loop touches over all its turns, by what it does in one.
    std::vector<touched> turned(std::vector<touched> within, variable v, double turns) {
        of_buffer_.assign(k_.buffers.size(), 0), of_threads_ = of_buffer_;
        for (auto const& t : within) {
            of_buffer_[index(t.buffer)] += t.bytes();
            of_threads_[index(t.buffer)] += t.bytes() * (is_own(t) ? threads_ : 1);
        }
        double of_thread = 0, of_all = 0;
        for (std::size_t b = 0; b < of_buffer_.size(); ++b) {
            auto const whole = buffer_bytes(static_cast<std::int32_t>(b));
            of_thread += std::min(of_buffer_[b], whole);
            of_all += std::min(of_threads_[b], k_.buffers[b].workspace ? threads_ * whole : whole);
        }
        double const together[] = {of_thread, of_thread, of_all};
        auto const caches = sizes();
        std::size_t kept = 0; // sets that are done, the first ones
        steps_.clear();
        for (auto& t : within) {
            auto const size = static_cast<double>(byte_size(k_.buffers[index(t.buffer)].element));
            double by = 0;
            for (std::size_t m = t.moves.size(); m-- > 0;) {
                if (t.moves[m].of != v) continue;
                if (by == 0) by = static_cast<double>(t.moves[m].factor) * size;
                t.moves.erase(m);
            }
            auto const step = std::abs(by);
            if (step > 0) move(t, step, turns);
            if (by < 0) t.at += by * (turns - 1);
            auto const bytes = std::min(t.bytes(), std::max(buffer_bytes(t.buffer), 64.0));
            if (std::find(t.chosen_by.begin(), t.chosen_by.end(), v) != t.chosen_by.end())
                t.share = std::min(1.0, t.share * turns);
            for (auto& s : t.stages) {
                if (s.pace > 0) continue;
                s.instructions *= turns;
                if (step > 0 || v < 0) s.pace = s.instructions / (t.bytes() / 64);
            }
            for (std::size_t c = 0; c < 3; ++c)
                for (auto& s : t.stages)
                    if (together[c] > caches[c])
                        s.missed[c] *= turns;
                    else // the first stage leaves it there for the others
                        s.missed[c] = &s == t.stages.begin() ? bytes * t.share : 0.0;
            std::size_t other = 0;
            while (other < kept && !(steps_[other] == step && touch_in_turns(within[other], t, step, turns))) ++other;
            if (other < kept) {
                join(within[other], t);
            } else {
                if (&within[kept] != &t) within[kept] = std::move(t);
                ++kept;
                steps_.push_back(step);
            }
        }
        within.resize(kept);
        return within;
    }

    struct part {
        statement const* what;
        double divisor; // of the loop's variable
    };
    std::vector<part>* pending_ = nullptr; // of the loop around, where parts within others are found
    codegen::kernel const& k_;
    microarchitecture const& core_;
    walked_loops const& loops_;
    double threads_;
    std::vector<double> of_buffer_, of_threads_; // bytes, of what a loop touches in one turn; and of all threads'
    std::vector<double> steps_;                  // of the sets that a loop moves
    std::vector<double> instructions_;           // by stage
    double runs_ = 1;                            // of the list that is walked
    std::vector<int> inside_;                    // of parts, whether they have been turned
    std::vector<place> positions_;               // by variable
    std::map<std::size_t, double> divisors_;     // of parts, by variable
};

} // namespace gsub::cost::detail
