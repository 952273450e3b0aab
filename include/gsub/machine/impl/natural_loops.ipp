#pragma once

#include <gsub/core/format.hpp>
#include <gsub/machine/impl/trip_counter.ipp>
#include <gsub/machine/natural_loops.hpp>

#include <algorithm>
#include <utility>

namespace gsub::machine {

namespace detail {

inline constexpr std::size_t most_natural_loops = 1024;

// Finds dominators, then loops, then their nesting.
template <class = void>
class loop_finder {
public:
    explicit loop_finder(assembly_function const& f) : f_(f), n_(f.blocks.size()) {}

    [[nodiscard]] result<loop_forest> find() {
        out_.loop_of.assign(n_, -1), out_.dominator.assign(n_, -1);
        if (n_ == 0) return std::move(out_);
        order_blocks();
        find_dominators();
        for (auto const b : order_)
            for (auto const to : f_.blocks[b].next) {
                if (position_[to] > position_[b]) continue; // forward in the order
                if (out_.dominates(to, b))
                    back_edge(b, to);
                else
                    ++out_.irreducible;
            }
        if (found_.size() > most_natural_loops)
            return error{problem{error_code::unsupported,
                                 {},
                                 {},
                                 format_text("function {} has {} loops, more than {}", quoted{f_.name}, found_.size(),
                                             most_natural_loops),
                                 "a smaller function"}};
        for (auto& l : found_) collect(l);
        nest();
        trip_counter<>{f_, out_, order_}.count();
        return std::move(out_);
    }

private:
    static constexpr std::uint32_t nowhere = 0xffffffffu;
    struct loop {
        std::uint32_t header = 0;
        std::vector<std::uint32_t> latches{}, blocks{};
    };

    // Reverse post-order of the blocks that are reached.
    void order_blocks() {
        position_.assign(n_, nowhere);
        std::vector<char> seen(n_, 0);
        std::vector<std::pair<std::uint32_t, std::uint32_t>> stack{{0, 0}};
        seen[0] = 1;
        while (!stack.empty()) {
            auto& [block, next] = stack.back();
            if (next < f_.blocks[block].next.size()) {
                auto const to = f_.blocks[block].next[next++];
                if (!std::exchange(seen[to], 1)) stack.push_back({to, 0});
            } else {
                order_.push_back(block);
                stack.pop_back();
            }
        }
        std::reverse(order_.begin(), order_.end());
        for (std::size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = static_cast<std::uint32_t>(i);
        for (std::uint32_t b = 0; b < n_; ++b)
            if (!seen[b]) out_.unreached.push_back(b);
        before_.resize(n_);
        for (auto const b : order_)
            for (auto const to : f_.blocks[b].next) before_[to].push_back(b);
    }

    void find_dominators() {
        auto& idom = out_.dominator;
        idom[0] = 0;
        for (bool changed = true; changed;) {
            changed = false;
            for (auto const b : order_) {
                if (b == 0) continue;
                std::int32_t meet = -1;
                for (auto const p : before_[b])
                    if (idom[p] >= 0)
                        meet = meet < 0 ? static_cast<std::int32_t>(p) : common(meet, static_cast<std::int32_t>(p));
                if (meet != idom[b]) idom[b] = meet, changed = true;
            }
        }
        idom[0] = -1;
    }
    [[nodiscard]] std::int32_t common(std::int32_t a, std::int32_t b) const noexcept {
        auto const at = [&](std::int32_t x) { return position_[static_cast<std::size_t>(x)]; };
        while (a != b) {
            while (at(a) > at(b)) a = out_.dominator[static_cast<std::size_t>(a)];
            while (at(b) > at(a)) b = out_.dominator[static_cast<std::size_t>(b)];
        }
        return a;
    }

    void back_edge(std::uint32_t latch, std::uint32_t header) {
        auto at = std::find_if(found_.begin(), found_.end(), [&](loop const& l) { return l.header == header; });
        if (at == found_.end()) at = found_.insert(at, loop{header});
        at->latches.push_back(latch);
    }
    // All blocks that reach a latch without passing the header.
    void collect(loop& l) {
        std::vector<char> in(n_, 0);
        in[l.header] = 1;
        auto waiting = l.latches;
        while (!waiting.empty()) {
            auto const b = waiting.back();
            waiting.pop_back();
            if (std::exchange(in[b], 1)) continue;
            waiting.insert(waiting.end(), before_[b].begin(), before_[b].end());
        }
        for (std::uint32_t b = 0; b < n_; ++b)
            if (in[b]) l.blocks.push_back(b);
    }

    // Numbers loops in pre-order. The greater come first, so that the last to take a block is its innermost.
    void nest() {
        std::stable_sort(found_.begin(), found_.end(), [](loop const& a, loop const& b) {
            return a.blocks.size() != b.blocks.size() ? a.blocks.size() > b.blocks.size() : a.header < b.header;
        });
        auto const count = found_.size();
        std::vector<std::int32_t> parent(count), around(n_, -1);
        std::vector<std::vector<std::size_t>> inside(count + 1); // the last: of no loop
        for (std::size_t l = 0; l < count; ++l) {
            parent[l] = around[found_[l].header];
            inside[parent[l] < 0 ? count : static_cast<std::size_t>(parent[l])].push_back(l);
            for (auto const b : found_[l].blocks) around[b] = static_cast<std::int32_t>(l);
        }
        // Of loops side by side, the one that begins first comes last onto the stack.
        for (auto& of : inside)
            std::sort(of.begin(), of.end(), [&](auto a, auto b) { return found_[a].blocks[0] > found_[b].blocks[0]; });
        std::vector<std::int32_t> number(count, -1);
        for (auto stack = inside[count]; !stack.empty();) {
            auto const l = stack.back();
            stack.pop_back();
            number[l] = static_cast<std::int32_t>(out_.loops.size());
            auto& made = out_.loops.emplace_back();
            made.header = found_[l].header;
            if (parent[l] >= 0) {
                made.parent = number[static_cast<std::size_t>(parent[l])];
                made.depth = out_.loops[static_cast<std::size_t>(made.parent)].depth + 1;
            }
            stack.insert(stack.end(), inside[l].begin(), inside[l].end());
        }
        for (std::uint32_t b = 0; b < n_; ++b) {
            if (around[b] < 0) continue;
            out_.loop_of[b] = number[static_cast<std::size_t>(around[b])];
            out_.loops[static_cast<std::size_t>(out_.loop_of[b])].blocks.push_back(b);
        }
    }

    assembly_function const& f_;
    std::size_t n_;
    loop_forest out_;
    std::vector<std::uint32_t> order_, position_; // reached blocks in reverse post-order; where each stands there
    std::vector<std::vector<std::uint32_t>> before_;
    std::vector<loop> found_;
};

} // namespace detail

GSUB_LAZY_BODY result<loop_forest> natural_loops(assembly_function const& f) {
    return detail::loop_finder<>{f}.find();
}

} // namespace gsub::machine
