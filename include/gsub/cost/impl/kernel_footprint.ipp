// Memory footprints: what the loops of a kernel touch, and the bytes of it that each cache does not hold.
#pragma once

#include <gsub/cost/impl/kernel_work.ipp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
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
                merge(all, turned(memory(n.body, 0), loops_.same[index(n.var)],
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
        struct part {
            statement const* what;
            double divisor; // of the loop's variable
        };
        std::vector<part> found;
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
        auto all = memory(statements, to);
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
    void touch(statement const& block, std::vector<touched>& all) {
        struct places {
            codegen::instruction const* first;
            std::vector<std::pair<double, double>> pieces; // bytes, from and to
            bool written;
        };
        std::vector<places> groups;
        for (auto const& i : block.code) {
            if (i.buffer < 0) continue;
            auto const same = [&](places const& p) {
                return p.first->buffer == i.buffer && std::ranges::equal(p.first->offset.terms(), i.offset.terms());
            };
            auto group = std::find_if(groups.begin(), groups.end(), same);
            auto const written = i.op == codegen::opcode::store;
            if (group == groups.end()) group = groups.insert(groups.end(), {&i, {}, written});
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
        for (auto& g : groups) {
            std::sort(g.pieces.begin(), g.pieces.end());
            touched t;
            t.buffer = g.first->buffer;
            t.stage = loops_.stages.at(&block);
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
            merge(all, {std::move(t)});
        }
    }
    // Sets of one buffer that move alike and meet are one: what is read of it twice is read once.
    static void merge(std::vector<touched>& all, std::vector<touched> more) {
        for (auto& t : more) {
            auto const meets = [&](touched const& o) {
                return o.buffer == t.buffer && std::ranges::equal(o.moves, t.moves) && !apart(o, t);
            };
            auto const found = std::find_if(all.begin(), all.end(), meets);
            if (found == all.end()) {
                all.push_back(std::move(t));
                continue;
            }
            join(*found, t);
        }
    }
    // Behind each other, or the pieces of one between those of the other.
    static bool apart(touched const& a, touched const& b) {
        auto const by = std::abs(a.at - b.at);
        if (by >= (a.at < b.at ? a.span : b.span)) return true;
        if (a.runs != b.runs || a.runs == 1 || a.span != b.span) return false;
        auto const between = (a.span - a.run) / (a.runs - 1); // two beginnings
        return by >= a.run && by + b.run <= between;
    }
    // Whether one of them touches in an earlier turn of a loop what the other one touches in a later one.
    static bool touch_in_turns(touched const& a, touched const& b, double step, double turns) {
        auto const by = std::abs(a.at - b.at);
        return step > 0 && a.buffer == b.buffer && by < step * turns && std::fmod(by, step) == 0 &&
               std::ranges::equal(a.moves, b.moves);
    }
    // Makes the first one stand for both.
    static void join(touched& all, touched const& t) {
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
    // What pieces become that move on so often by so many bytes.
    static void move(touched& t, double step, double turns) {
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
    // The same over all turns of a loop.
    std::vector<touched> turned(std::vector<touched> within, variable v, double turns) const {
        std::map<std::int32_t, double> of_buffer;
        for (auto const& t : within) of_buffer[t.buffer] += t.bytes();
        double together = 0;
        for (auto const& [b, bytes] : of_buffer) together += std::min(bytes, buffer_bytes(b));
        auto const caches = sizes();
        std::vector<touched> all;
        std::vector<double> steps;
        for (auto& t : within) {
            auto const size = static_cast<double>(byte_size(k_.buffers[index(t.buffer)].element));
            double by = 0;
            small_vector<codegen::affine::term, 4> rest;
            for (auto const& m : t.moves) {
                if (m.of == v)
                    by = static_cast<double>(m.factor) * size;
                else
                    rest.push_back(m);
            }
            t.moves = rest;
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

    codegen::kernel const& k_;
    microarchitecture const& core_;
    walked_loops const& loops_;
    std::vector<int> inside_;                // of parts, whether they have been turned
    std::map<std::size_t, double> divisors_; // of parts, by variable
};

} // namespace gsub::cost::detail
