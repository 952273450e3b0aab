#pragma once

#include <gsub/optimize/impl/parallel_expander.hpp>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

namespace gsub::detail {

GSUB_LAZY_BODY parallel_expander::parallel_expander(dialect const& operators, sharing_executor* threads)
    : threads_(threads) {
    for (std::size_t i = 0; i < threads_.workers(); ++i)
        workers_.push_back(
            std::make_unique<scratch_graphs>(scratch_graphs{any_graph{operators}, any_graph{operators}}));
}

GSUB_LAZY_BODY std::optional<any_graph> parallel_expander::take(hash128 path) {
    for (auto& w : workers_)
        if (w->path_of_cheapest == path) {
            w->path_of_cheapest = {};
            return std::exchange(w->cheapest, any_graph{w->scratch.operators()});
        }
    return std::nullopt;
}

GSUB_LAZY_BODY void parallel_expander::expand(successor_generator const& successors, expansion const& here,
                                              function_ref<bool(match_batch&)> pass_on) {
    std::span const anchors{here.anchors};
    adaptive_executor::job job{threads_, here.graph->graph.size()};
    // Many pieces of work for each thread, as most of the work is often at a few anchors, and not too many anchors in
    // each, so that a search which is to stop does soon.
    auto const parts = [](std::size_t of, std::size_t size) { return (of + size - 1) / size; };
    auto const most = 32 * job.threads();
    auto const each = job.shared() ? std::clamp<std::size_t>(parts(anchors.size(), most), 1, 64) : 1;
    std::vector<match_batch> pieces(job.shared() ? std::min(parts(anchors.size(), each), most) : 1);
    for (std::size_t first = 0; first < anchors.size(); first += pieces.size() * each) {
        job.run(pieces.size(), [&](std::size_t k, std::size_t worker) {
            auto const from = std::min(first + k * each, anchors.size());
            successors.find(here, anchors.subspan(from, std::min(each, anchors.size() - from)), *workers_[worker],
                            pieces[k]);
        });
        for (auto& p : pieces)
            if (!pass_on(p)) return;
    }
    job.done();
}

} // namespace gsub::detail
