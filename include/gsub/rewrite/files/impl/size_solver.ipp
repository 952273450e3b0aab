// Size solver: draws sizes of dimensions one after the other, and computes what follows from them.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/rewrite/files/rule_shapes.hpp>
#include <gsub/rewrite/verify/sample.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::detail {

/// Size solver: draws sizes of dimensions one after the other, and computes what follows from them by relations that
/// are no equalities. Dimensions of equal size are one class. Throws `give_up` where relations contradict each other.
class size_solver {
public:
    using size_class = std::size_t;

    /// The sizes of the parts of a concat or split.
    struct sum {
        size_class total;
        std::vector<size_class> parts;
    };
    /// Channels of a convolution in groups: channels = groups * inner, outputs a multiple of groups.
    struct grouping {
        size_class channels, inner, outputs;
        std::int64_t groups;
    };
    /// Positions of a window along a dimension.
    struct window {
        size_class from, to, kernel;
        described_operator const* op;
        std::int64_t stride;
    };

    explicit size_solver(std::size_t classes = 0) : known_(classes, 0) {}

    void add(sum s) { sums_.push_back(std::move(s)); }
    void add(grouping g) { groupings_.push_back(g); }
    void add(window w) { windows_.push_back(w); }
    /// A size of a window, of which some are usual.
    void add_kernel(size_class c) { kernels_.push_back(c); }

    /// The size of a class; 0: not known yet.
    [[nodiscard]] std::int64_t operator[](size_class c) const { return known_[c]; }

    /// A size must be this. Sizes are small: what would grow beyond is left out of the instances.
    void learn(size_class c, std::int64_t size) {
        if (size < 1 || size > 64 || (known_[c] != 0 && known_[c] != size)) throw give_up{};
        changed_ |= known_[c] == 0;
        known_[c] = size;
    }

    /// Draws a size for each class of a list, in its order, those first that follow from no other; and learns what
    /// follows.
    void solve(chooser& choose, std::span<size_class const> all) {
        for (;;) {
            do {
                changed_ = false;
                for (auto const& s : sums_) follow(s);
                for (auto const& g : groupings_) follow(g);
                for (auto const& w : windows_) follow(w);
            } while (changed_);
            auto const next = choose_unknown(all);
            if (!next) return;
            learn(*next, draw_size(*next, choose));
        }
    }

private:
    void follow(sum const& s) {
        std::int64_t rest = known_[s.total], times = 0;
        size_class unknown = 0;
        for (auto const p : s.parts) {
            rest -= known_[p];
            if (known_[p] != 0) continue;
            if (times > 0 && unknown != p) return; // several are open
            unknown = p, ++times;
        }
        if (times == 0) return learn(s.total, known_[s.total] - rest);
        if (known_[s.total] == 0) return;
        if (rest % times != 0) throw give_up{};
        learn(unknown, rest / times);
    }
    void follow(grouping const& g) {
        if (known_[g.inner] != 0) learn(g.channels, g.groups * known_[g.inner]);
        if (known_[g.channels] != 0) {
            if (known_[g.channels] % g.groups != 0) throw give_up{};
            learn(g.inner, known_[g.channels] / g.groups);
        }
        if (known_[g.outputs] % g.groups != 0) throw give_up{};
    }
    void follow(window const& w) {
        if (known_[w.from] == 0 || known_[w.kernel] == 0) return;
        if (w.op->same_pads && known_[w.kernel] % 2 == 0) throw give_up{};
        learn(w.to, window_positions(*w.op, known_[w.from], known_[w.kernel], w.stride));
    }

    // A class to draw: one that follows from no other, if there is one. The lists are short.
    std::optional<size_class> choose_unknown(std::span<size_class const> all) const {
        std::optional<size_class> dependent;
        for (auto const c : all) {
            if (known_[c] != 0) continue;
            if (!depends(c)) return c;
            if (!dependent) dependent = c;
        }
        return dependent;
    }
    bool depends(size_class c) const {
        return any_of(sums_, [&](sum const& s) { return s.total == c; }) ||
               any_of(groupings_, [&](grouping const& g) { return g.channels == c; }) ||
               any_of(windows_, [&](window const& w) {
                   return (w.to == c && w.from != c) || (w.from == c && known_[w.kernel] == 0);
               });
    }
    std::int64_t draw_size(size_class c, chooser& choose) const {
        auto const box = choose.exhaustive();
        for (auto const k : kernels_)
            if (k == c) return box ? choose.pick<std::int64_t>({1, 3}) : choose.pick<std::int64_t>({1, 3, 3, 5});
        std::int64_t unit = 1, room = 0;
        for (auto const& w : windows_)
            if (w.from == c && !w.op->same_pads) room = std::max(room, known_[w.kernel] - 1);
        for (auto const& g : groupings_)
            if (g.outputs == c) unit = std::lcm(unit, g.groups);
        return room + unit * (box ? choose.pick<std::int64_t>({1, 2}) : choose.pick<std::int64_t>({1, 1, 2, 3, 4, 5}));
    }

    std::vector<std::int64_t> known_; // by class; 0: not yet
    std::vector<sum> sums_;
    std::vector<grouping> groupings_;
    std::vector<window> windows_;
    std::vector<size_class> kernels_;
    bool changed_ = false;
};

} // namespace gsub::detail
