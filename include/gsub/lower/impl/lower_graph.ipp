#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/lower/kernel_layouts.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/passes/simplify/dynamic_to_static.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

// Sizes that inputs lack, as options of the command line that are ready to be pasted.
GSUB_LAZY std::string missing_sizes(any_graph const& g) {
    std::string options;
    for (auto n : g.inputs()) {
        auto const& t = g.type({n, 0});
        std::string sizes;
        for (auto const& d : t.dims) {
            sizes += format_text("{}{}", sizes.empty() ? "" : "x", d.fixed() ? d.size() : 1);
            auto const option = d.named() ? format_text(" --dim {}=1", quoted{d.name().text()}) : "";
            if (options.find(option) == std::string::npos) options += option;
        }
        if (std::ranges::any_of(t.dims, [](dim d) { return d.unknown(); }))
            options += format_text(" --shape {}={}", quoted{g.name({n, 0})}, sizes);
    }
    return options;
}

GSUB_LAZY [[nodiscard]] bool has_open_types(any_graph const& g) {
    return std::ranges::any_of(g.order(), [&](node_id n) {
        for (std::uint32_t port = 0; port < g.result_count(n); ++port)
            if (!g.type({n, port}).is_static()) return true;
        return false;
    });
}

// Values that types tell to be larger than the evaluator computes, one problem each: planning a kernel takes time by
// its extents.
GSUB_LAZY [[nodiscard]] std::vector<problem> too_large(any_graph const& g) {
    std::vector<problem> found;
    auto const limit = evaluate_options{}.max_bytes;
    for (auto n : g.order())
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            auto const& t = g.type({n, port});
            auto const count = t.is_static() ? t.elements() : std::int64_t{0};
            if (count && static_cast<std::uint64_t>(*count) <= limit / std::max<std::size_t>(byte_size(t.element), 1))
                continue;
            found.push_back({errors::memory_limit,
                             g.display_name(n),
                             std::string{g.op(n).name},
                             format_text("a result of type {} exceeds the limit of {} bytes", to_string(t), limit),
                             {}});
        }
    return found;
}

GSUB_LAZY void fold_weights(any_graph& g, eval_table evaluators, lowering_options const& options) {
    fold_options folding;
    folding.max_weight_bytes = options.max_weight_bytes;
    folding.dequantize = true;
    folding.threads = options.threads;
    fold_constants(g, evaluators, folding).value();
}

// Refuses what cannot be lowered, and folds constants.
GSUB_LAZY void prepare(any_graph& g, runtime::bound_graph const* own, eval_table evaluators,
                       lowering_options const& options) {
    std::vector<node_id> nodes;
    if (own)
        for (auto const& s : own->steps) nodes.push_back(s.first);
    if (auto missing = not_computable(g, evaluators, nodes, options.branches.get()); !missing.empty())
        throw error{std::move(missing)};
    if (auto open = open_inputs(g); !open.empty()) throw error{std::move(open)};
    if (auto large = too_large(g); !large.empty()) throw error{std::move(large)};
    fold_weights(g, evaluators, options);
    if (own || !has_open_types(g)) return; // nodes that the application computes are named by their numbers
    // What was of unknown size before may be a constant now; types behind it say so.
    module m;
    m.add("main", std::move(g));
    if (options.branches)
        for (auto const& [name, body] : *options.branches) m.add(name, body);
    pass_context cx;
    cx.evaluators = evaluators.data();
    cx.threads = options.threads;
    static_cast<void>(run_pass(passes::dynamic_to_static{.types_alone = true}, m, cx).value());
    g = std::move(m.find("main")->body);
    fold_weights(g, evaluators, options);
}

// Costs lower the groups of a search by the thousand, so release builds verify kernel graphs alone.
GSUB_LAZY void check_behind(std::string_view step, any_graph const& g) {
    if (verifies_stages()) verify_behind(format_text("lowering: {}", step), g, stage{}).value();
}

// The graph with values in the layouts that kernels ask for; what stands for nodes is moved to those of the new one.
GSUB_LAZY any_graph laid_out_for_kernels(any_graph const& g, isa const& isa, runtime::bound_graph* own,
                                         std::vector<std::uint32_t>& within) {
    auto laid_out = passes::lay_out_graph(g, target{}, kernel_layouts{&isa});
    auto const& from = laid_out.came_from;
    std::vector<std::uint32_t> groups(within.empty() ? 0 : from.size());
    std::vector<node_id> now(g.capacity());
    for (std::uint32_t i = 0; i < from.size(); ++i) {
        if (!from[i].valid()) continue;
        now[from[i].index] = node_id{i};
        if (from[i].index < within.size()) groups[i] = within[from[i].index];
    }
    within = std::move(groups);
    if (own) {
        for (auto& [node, step] : own->steps) node = now[node.index];
        std::sort(own->steps.begin(), own->steps.end(), [](auto& a, auto& b) { return a.first < b.first; });
    }
    return std::move(laid_out.graph);
}

// The rows of gsub's own operators, where the graph has them.
template <class Row>
[[nodiscard]] std::span<Row const> rows_or_own(std::span<Row const> given, any_graph const& g) {
    if (!given.empty()) return given;
    auto const standard = table_of<op_info, standard_ops>();
    return g.operators().ops.data() == standard.data() ? table_of<Row, standard_ops>() : std::span<Row const>{};
}

} // namespace detail

GSUB_LAZY_BODY std::vector<problem> open_inputs(any_graph const& g) {
    std::vector<problem> open;
    for (auto n : g.inputs())
        if (auto const& t = g.type({n, 0}); !t.is_static())
            open.push_back({errors::open_shape, g.display_name(n), std::string{g.op(n).name},
                            format_text("an executable has inputs of static shapes; this is {}", to_string(t)),
                            format_text("load it with sizes (load_options::dims and shapes), for example{}",
                                        detail::missing_sizes(g))});
    return open;
}

GSUB_LAZY_BODY result<kernel_graph> lower_graph(any_graph g, eval_table evaluators, isa const& isa,
                                                lowering_options const& options) {
    try {
        auto const shown = [&](result<kernel_graph> made) -> kernel_graph {
            auto k = std::move(made).value();
            if (auto found = check(k); !found.empty()) throw error{std::move(found)};
            if (options.on_stage) (*options.on_stage)(k);
            return k;
        };
        std::optional<runtime::bound_graph> own;
        if (!options.kernels.empty()) {
            own = runtime::bind_kernels(g, options.kernels).value();
            g = std::move(own->graph);
            g.erase_dead();
            detail::check_behind("binding kernels", g);
        }
        detail::prepare(g, own ? &*own : nullptr, evaluators, options);
        detail::check_behind("folding", g);
        std::vector<std::uint32_t> within(options.within.begin(), options.within.end());
        auto const rows = detail::rows_or_own(options.rows, g);
        if (options.generate && !rows.empty() && legalize(g, rows, within)) {
            detail::check_behind("legalizing", g);
            detail::fold_weights(g, evaluators, options);
        }
        if (options.lay_out && options.generate && !passes::names_layouts(g)) {
            g = detail::laid_out_for_kernels(g, isa, own ? &*own : nullptr, within);
            detail::check_behind("laying out", g);
        }
        fuse_context cx;
        cx.laid_out = true;
        cx.evaluators = evaluators, cx.isa = &isa, cx.own = own ? &*own : nullptr;
        cx.branches = options.branches;
        cx.rows = rows, cx.scalars = detail::rows_or_own(options.scalars, g);
        cx.generate = options.generate, cx.group = options.group, cx.within = as_span(within);
        auto k = shown(fuse(g, cx));
        { auto const gone = std::move(g); } // its weights are those of the kernel graph from here on
        k = options.algorithms ? shown(select(std::move(k), isa, *options.algorithms, options.winograd.accuracy))
                               : shown(select(std::move(k), isa, options.winograd));
        k = shown(layout_values(std::move(k), isa));
        if (options.schedules) return shown(schedule(std::move(k), isa, *options.schedules));
        return shown(schedule(std::move(k), isa, counting_heuristic{options.winograd}));
    } catch (error const& e) { return e; }
}

} // namespace gsub
