// Memory footprints: what the loops of a kernel touch, and the bytes of it that each cache does not hold.
#pragma once

#include <gsub/cost/impl/kernel_work.ipp>
#include <gsub/cost/impl/touched.ipp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// Footprints of loops, from the inner ones outwards, against the sizes of the caches of a core.
template <class = void>
class kernel_footprint {
public:
    kernel_footprint(codegen::kernel const& k, microarchitecture const& core, walked_loops const& loops)
        : k_(k), core_(core), loops_(loops), inside_(k.names.size(), 0) {}

    // Of the whole kernel.
    [[nodiscard]] std::vector<touched> run() { return memory(k_.body, 0); }
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
        for (auto i = from; i < statements.size(); ++i) {
            auto const& n = statements[i];
            switch (n.kind) {
            case codegen::statement_kind::block:
                touch(n, all);
                break;
            case codegen::statement_kind::guard:
                break;
            case codegen::statement_kind::branch:
                merge(all, sides(n));
                break;
            case codegen::statement_kind::fused_index:
                merge(all, parts(statements, i));
                return all;
            case codegen::statement_kind::loop: {
                auto const found = loops_.loops.find(&n);
                if (found == loops_.loops.end() || found->second.entries <= 0 || found->second.turns <= 0) break;
                auto const turns = found->second.turns / found->second.entries;
                auto* const outer = std::exchange(pending_, nullptr);
                auto within = memory(n.body, 0);
                pending_ = outer;
                merge(all, turned(std::move(within), loops_.same[index(n.var)],
                                  std::max(1.0, turns / loops_.parted[number(n.var)])));
                break;
            }
            }
        }
        return all;
    }
    // Of a branch. The side that runs more often stands for both, but for what the other one touches elsewhere in the
    // same turns: weights of a part of its own.
    std::vector<touched> sides(statement const& n) {
        auto const runs = loops_.branches.find(&n);
        if (runs == loops_.branches.end()) return {};
        auto const [then, otherwise] = runs->second;
        auto all = memory(then >= otherwise ? n.body : n.otherwise, 0);
        if (then <= 0 || otherwise <= 0) return all;
        auto const often = std::max(then, otherwise) / (then + otherwise);
        small_vector<variable, 2> of;
        for (auto const& c : n.conditions)
            for (auto const& t : c.value.terms()) of.push_back(loops_.same[index(t.of)]);
        auto const given = all.size();
        std::vector<char> turns(given, 0); // whether a set has become one of some runs
        for (auto& t : memory(then >= otherwise ? n.otherwise : n.body, 0)) {
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
        for (auto& m : t.missed) m *= share;
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
    // Places of one buffer that move alike.
    struct places {
        codegen::instruction const* first = nullptr;
        std::vector<std::pair<double, double>> pieces{}; // bytes, from and to
        bool written = false;
    };
    void touch(statement const& block, std::vector<touched>& all) {
        std::size_t used = 0; // of the groups
        for (auto const& i : block.code) {
            if (i.buffer < 0) continue;
            auto const same = [&](places const& p) {
                return p.first->buffer == i.buffer && std::ranges::equal(p.first->offset.terms(), i.offset.terms());
            };
            auto const end = groups_.begin() + static_cast<std::ptrdiff_t>(used);
            auto group = std::find_if(groups_.begin(), end, same);
            auto const written = i.op == codegen::opcode::store;
            if (group == end) {
                if (used++ == groups_.size()) group = groups_.emplace(groups_.end());
                group->first = &i, group->written = written;
                group->pieces.clear();
            }
            group->written = group->written || written;
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
        for (auto& g : std::span{groups_}.first(used)) {
            if (!std::ranges::is_sorted(g.pieces)) std::sort(g.pieces.begin(), g.pieces.end());
            touched t;
            t.buffer = g.first->buffer;
            t.stage = loops_.stage_of(block);
            for (auto const& term : g.first->offset.terms())
                t.moves.push_back({loops_.same[index(term.of)], term.factor});
            t.written = g.written;
            constexpr double line = 64;
            double last = -1e300, bytes = 0;
            for (auto const& [begin, end] : g.pieces) { // those less than a line apart are one
                if (begin >= last + line) ++t.runs, last = begin;
                bytes += std::max(0.0, end - last);
                last = std::max(last, end);
            }
            t.run = bytes / t.runs;
            t.at = g.pieces[0].first;
            t.span = last - t.at;
            t.missed.fill(t.bytes());
            merge(all, std::move(t));
        }
    }
    // What a loop touches over all its turns, by what it does in one.
    std::vector<touched> turned(std::vector<touched> within, variable v, double turns) {
        of_buffer_.assign(k_.buffers.size(), 0);
        for (auto const& t : within) of_buffer_[index(t.buffer)] += t.bytes();
        double together = 0;
        for (std::size_t b = 0; b < of_buffer_.size(); ++b)
            if (of_buffer_[b] > 0) together += std::min(of_buffer_[b], buffer_bytes(static_cast<std::int32_t>(b)));
        auto const caches = sizes();
        std::vector<touched> all;
        all.reserve(within.size());
        std::vector<double> steps;
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
            for (std::size_t c = 0; c < 3; ++c)
                t.missed[c] = together <= caches[c] ? bytes * t.share : t.missed[c] * turns;
            std::size_t other = 0;
            while (other < all.size() && !(steps[other] == step && touch_in_turns(all[other], t, step, turns))) ++other;
            if (other < all.size()) {
                join(all[other], t);
            } else {
                all.push_back(std::move(t));
                steps.push_back(step);
            }
        }
        return all;
    }

    struct part {
        statement const* what;
        double divisor; // of the loop's variable
    };
    std::vector<part>* pending_ = nullptr; // of the loop around, where parts within others are found
    codegen::kernel const& k_;
    microarchitecture const& core_;
    walked_loops const& loops_;
    std::vector<double> of_buffer_;          // bytes, of what a loop touches in one turn
    std::vector<places> groups_;             // kept from block to block
    std::vector<int> inside_;                // of parts, whether they have been turned
    std::map<std::size_t, double> divisors_; // of parts, by variable
};

} // namespace gsub::cost::detail
