// Tuning tasks of the networks of the papers, by operator, drawn by a seed; points of their spaces.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/hash.hpp>
#include <gsub/core/random.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/tune/autotvm_space.hpp>
#include <gsub/tune/tuning_task.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bench {

inline constexpr std::string_view ranked_operators[] = {"conv2d", "winograd", "depthwise", "dense", "batch_matmul"};

/// Points, restricted ones too, that a task has at least: of fewer there is little to rank.
inline constexpr std::uint64_t least_points = 100;

/// A task with those of its algorithms that an operator stands for.
struct ranked_task {
    std::string op, network;
    gsub::tune::tuning_task task;
    std::vector<std::size_t> algorithms;
};

namespace detail {

using namespace gsub;

// The tasks of a graph, as a build plans it.
inline std::vector<tune::tuning_task> planned_tasks(graph const& g, target const& machine, bool group) {
    std::vector<tune::tuning_task> out;
    auto const keep = [&](kernel_graph const& k) {
        if (k.stage == lowering_stage::scheduled)
            out = tune::tuning_tasks_of(k, isa_of(machine), {kernels::winograd_options_of(machine)});
    };
    build_options options;
    options.group = group;
    options.on_stage = function_ref<void(kernel_graph const&)>{keep};
    static_cast<void>(plan(g, table_of<eval_row, standard_ops>(), machine, options).value());
    return out;
}

// The operators that a task is one of, each with its algorithms.
inline std::vector<ranked_task> operators_of(tune::tuning_task const& t, std::string const& network) {
    std::vector<ranked_task> out;
    if (auto const* const c = std::get_if<kernels::conv2d_shape>(&t.what())) {
        auto const depthwise = c->groups > 1 && c->groups == c->in_channels && c->groups == c->out_channels;
        if (depthwise || c->groups == 1) out.push_back({depthwise ? "depthwise" : "conv2d", network, t, {0}});
        ranked_task tiles{"winograd", network, t, {}};
        for (std::size_t a = 0; a < t.algorithms.size(); ++a)
            if (std::holds_alternative<kernels::winograd_shape>(t.algorithms[a].computes))
                tiles.algorithms.push_back(a);
        if (!tiles.algorithms.empty()) out.push_back(std::move(tiles));
    } else if (auto const* const m = std::get_if<kernels::matmul_shape>(&t.what())) {
        out.push_back({m->constant ? "dense" : "batch_matmul", network, t, {0}});
    }
    return out;
}

} // namespace detail

/// Tasks of ResNet-50, MobileNetV2, both SSDs and BERT-base, and for products of two variables of BERT at four lengths,
/// each operator apart: `count` of each operator, in an order that the seed gives, those of at most `operations`.
[[nodiscard]] inline std::map<std::string, std::vector<ranked_task>> ranked_tasks(gsub::target const& machine,
                                                                                  std::size_t count, std::uint64_t seed,
                                                                                  double operations,
                                                                                  std::set<std::string> const& wanted) {
    using namespace gsub;
    std::map<std::string, std::map<std::uint64_t, ranked_task>> found;
    auto const collect = [&](std::string const& name, graph const& g, bool group) {
        for (auto const& t : detail::planned_tasks(g, machine, group))
            for (auto& r : detail::operators_of(t, name)) {
                auto const alone = r.op == "batch_matmul"; // within attention where kernels are fused
                if (!wanted.contains(r.op) || t.operations > operations || alone == group) continue;
                std::uint64_t points = 0;
                for (auto const a : r.algorithms) points += t.algorithms[a].space->size();
                if (points < least_points) continue;
                auto const key = hasher{}.add(to_string(t)).finish().low;
                auto& of = found[r.op];
                of.emplace(random_stream{seed}.split(key)(), std::move(r));
                if (of.size() > count) of.erase(std::prev(of.end()));
            }
    };
    struct source {
        char const* name;
        std::vector<std::string> has;
    };
    std::vector<source> const sources{{"resnet50", {"conv2d", "winograd", "dense"}},
                                      {"mobilenet_v2", {"conv2d", "winograd", "depthwise", "dense"}},
                                      {"ssd_resnet50", {"conv2d", "winograd"}},
                                      {"ssd_mobilenet_v2", {"conv2d", "winograd", "depthwise"}}};
    for (auto const& [name, has] : sources)
        if (std::any_of(has.begin(), has.end(), [&](auto const& op) { return wanted.contains(op); }))
            collect(name, models::find_model(name)->build(1), true);
    if (wanted.contains("dense")) collect("bert_base", models::bert_base({.layers = 1}), true);
    if (wanted.contains("batch_matmul"))
        for (auto const words : {64, 128, 256, 384})
            collect(fmt::format("bert_base, {} words", words), models::bert_base({.sequence = words, .layers = 1}),
                    false);
    std::map<std::string, std::vector<ranked_task>> out;
    for (auto& [op, tasks] : found)
        for (auto& [place, t] : tasks) out[op].push_back(std::move(t));
    return out;
}

/// Points of a space that it allows, in an order that the seed gives: all up to `most`, or `most` that are drawn.
[[nodiscard]] inline std::vector<std::uint64_t> drawn_points(gsub::loop::config_space const& space, std::size_t most,
                                                             std::uint64_t seed) {
    gsub::random_stream random{seed};
    std::vector<std::uint64_t> out;
    if (space.size() <= std::uint64_t{1} << 17) {
        for (std::uint64_t i = 0; i < space.size(); ++i)
            if (space.allows(space.at(i))) out.push_back(i);
        for (auto i = out.size(); i > 1; --i) std::swap(out[i - 1], out[random.below(i)]);
        out.resize(std::min(out.size(), most));
        return out;
    }
    std::set<std::uint64_t> seen;
    for (std::size_t draws = 0; draws < 8 * most && out.size() < most; ++draws)
        if (auto const at = space.draw(random); at && seen.insert(*at).second) out.push_back(*at);
    return out;
}

/// Points of our space whose tiles AutoTVM's spaces of the kernel have too, `most` of them.
[[nodiscard]] inline std::vector<std::uint64_t> autotvm_points(gsub::kernels::descriptor const& d, gsub::isa const& isa,
                                                               gsub::loop::config_space const& ours, std::size_t most,
                                                               std::uint64_t seed) {
    std::set<std::uint64_t> found;
    for (auto const& s : gsub::tune::autotvm_space::of(d, isa)) {
        for (std::uint64_t i = 0; s.space().size() <= ours.size() && i < s.space().size(); ++i)
            if (auto const c = s.ours(s.space().at(i), ours)) found.insert(c->index());
        for (std::uint64_t i = 0; s.space().size() > ours.size() && i < ours.size(); ++i)
            if (auto const at = ours.at(i); ours.allows(at) && s.theirs(at)) found.insert(i);
    }
    std::vector<std::uint64_t> out{found.begin(), found.end()};
    gsub::random_stream random{seed};
    for (auto i = out.size(); i > 1; --i) std::swap(out[i - 1], out[random.below(i)]);
    out.resize(std::min(out.size(), most));
    return out;
}

} // namespace bench
