// decision_notes: what decides each kernel group, so that a rewrite makes those anew alone that it may have changed.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/lower/fusion.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gsub::detail {

// Notes what decides one group after another, for a grouping that is kept.
template <class = void>
class decision_notes {
public:
    void keep(kernel_grouping* kept, std::vector<char> const& roles) {
        kept_ = kept;
        if (!kept) return;
        kept->roles_ = roles;
        for (auto& by : kept->made_) by.resize(roles.size());
        noted_.assign(roles.size(), 0), noted_layout_.assign(roles.size(), 0);
    }
    [[nodiscard]] bool are_kept() const noexcept { return kept_ != nullptr; }

    // A node whose value counts, one whose readers and group count too, and one whose layout does: false where it did.
    void value(node_id n) {
        if (!kept_ || noted_[n.index] >= turn_) return;
        noted_[n.index] = turn_;
        seen_.push_back(n);
    }
    void close(node_id n) {
        if (!kept_ || noted_[n.index] == turn_ + 1) return;
        noted_[n.index] = turn_ + 1;
        close_.push_back(n);
    }
    bool layout(node_id n) { return std::exchange(noted_layout_[n.index], turn_) != turn_; }

    // A group, by the node that leads it or begins it: it is made of all that was noted since the last one, its
    // operators, the views that they read, and what they read.
    void group(any_graph const& g, bool begins, node_id first, kernel_group nodes) {
        if (!kept_) return;
        close(first);
        std::size_t views = 0;
        auto const reads = [&](auto& self, node_id n) -> void {
            close(n);
            for (auto v : g.operands(n)) {
                if (!v.valid()) continue;
                value(v.node);
                if (views < 64 && !g.constant(v) && is_stored_view(g, v.node)) ++views, self(self, v.node);
            }
        };
        for (auto n : nodes) reads(reads, n);
        auto made =
            std::make_shared<kernel_grouping::record>(kernel_grouping::record{std::move(nodes), close_, close_.size()});
        made->seen.insert(made->seen.end(), seen_.begin(), seen_.end());
        kept_->made_[begins][first.index] = std::move(made);
        turn_ += 2;
        seen_.clear(), close_.clear();
    }
    // One that is as it was.
    void group(bool begins, node_id first, std::shared_ptr<kernel_grouping::record const> const& known) {
        if (kept_) kept_->made_[begins][first.index] = known;
    }
    // Lists by node who has looked at it.
    void finish() {
        if (!kept_) return;
        auto& of = *kept_;
        auto const each = [&](auto&& f) {
            for (auto const begins : {false, true})
                for (std::uint32_t first = 0; first < of.made_[begins].size(); ++first)
                    if (auto const& r = of.made_[begins][first])
                        for (std::size_t i = 0; i < r->seen.size(); ++i)
                            f(r->seen[i].index, kernel_grouping::watcher{first, begins, i < r->close});
        };
        of.watched_at_.assign(of.roles_.size() + 1, 0);
        each([&](std::uint32_t node, kernel_grouping::watcher) { ++of.watched_at_[node + 1]; });
        for (std::size_t i = 1; i < of.watched_at_.size(); ++i) of.watched_at_[i] += of.watched_at_[i - 1];
        of.watchers_.resize(of.watched_at_.back());
        auto next = of.watched_at_;
        each([&](std::uint32_t node, kernel_grouping::watcher w) { of.watchers_[next[node]++] = w; });
    }

private:
    kernel_grouping* kept_ = nullptr; // null: nobody asks what decided a group
    std::vector<node_id> seen_, close_;
    std::vector<std::uint32_t> noted_, noted_layout_; // by node id, the turn in which it was
    std::uint32_t turn_ = 2;                          // even; noted closely: the next number
};

} // namespace gsub::detail
