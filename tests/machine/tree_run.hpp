// Runs an access tree as a program would, position after position, for comparison with what models count.
#pragma once

#include <gsub/machine/access_tree.hpp>

#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tree_run {

using namespace gsub;
using namespace gsub::machine;

template <class F>
void run_node(access_tree const& tree, std::size_t n, std::vector<std::int64_t>& values, F& f) {
    auto const& node = tree.nodes()[n];
    if (node.access >= 0) {
        auto const& a = tree.accesses()[static_cast<std::size_t>(node.access)];
        auto const& t = tree.tensors()[static_cast<std::size_t>(a.of)];
        std::int64_t at = 0;
        for (std::size_t d = 0; d < a.index.size(); ++d) {
            auto v = a.index[d].constant();
            for (auto const& term : a.index[d].terms()) v += term.factor * values[static_cast<std::size_t>(term.of)];
            if (v < 0 || v >= t.dims[d]) return; // padding
            at += v * t.pitches[d];
        }
        return f(static_cast<std::size_t>(node.access), at);
    }
    for (std::int64_t i = 0; i < node.extent; ++i) {
        if (node.var >= 0) values[static_cast<std::size_t>(node.var)] = i;
        for (auto const c : node.children) run_node(tree, static_cast<std::size_t>(c), values, f);
    }
}

/// Calls `f(access, element)` for each access in the order of the program, but for those outside of their tensor.
template <class F>
void each(access_tree const& tree, F f, std::size_t node = 0) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(tree.variables()), 0);
    run_node(tree, node, values, f);
}

/// Fully associative cache with write-back that replaces what was not used for longest.
class lru_cache {
public:
    explicit lru_cache(std::size_t lines) : most_(lines) {}

    void touch(std::int64_t line, bool write) {
        auto const found = at_.find(line);
        if (found != at_.end()) {
            order_.splice(order_.begin(), order_, found->second);
        } else {
            ++fetched;
            order_.push_front({line, false});
            at_[line] = order_.begin();
            if (order_.size() > most_) {
                written += order_.back().second;
                at_.erase(order_.back().first);
                order_.pop_back();
            }
        }
        order_.front().second |= write;
    }
    void flush() {
        for (auto& [line, dirty] : order_) written += std::exchange(dirty, false);
    }

    double fetched = 0, written = 0;

private:
    std::size_t most_;
    std::list<std::pair<std::int64_t, bool>> order_;
    std::unordered_map<std::int64_t, std::list<std::pair<std::int64_t, bool>>::iterator> at_;
};

/// What moves into and back from such a cache. Each tensor begins with a line of its own.
inline std::pair<double, double> simulate(access_tree const& tree, std::size_t lines, std::int32_t line_bytes) {
    lru_cache cache{lines};
    each(tree, [&](std::size_t access, std::int64_t element) {
        auto const& a = tree.accesses()[access];
        auto const bytes = element * tree.tensors()[static_cast<std::size_t>(a.of)].element_bytes;
        cache.touch((static_cast<std::int64_t>(a.of) << 40) + bytes / line_bytes, a.writes());
    });
    cache.flush();
    return {cache.fetched, cache.written};
}

} // namespace tree_run
