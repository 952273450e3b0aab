#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/lower/fuse.hpp>
#include <gsub/lower/fusion.hpp>
#include <gsub/lower/impl/fuse_conv.ipp>
#include <gsub/lower/impl/fuse_conv_windows.ipp>
#include <gsub/lower/impl/fuse_einsum.ipp>
#include <gsub/lower/impl/fuse_elements.ipp>
#include <gsub/lower/impl/fuse_matmul.ipp>
#include <gsub/lower/impl/fuse_movement.ipp>
#include <gsub/lower/impl/fuse_pool.ipp>
#include <gsub/lower/impl/row_filters.hpp>

#include <algorithm>
#include <vector>

namespace gsub {

namespace detail {

GSUB_LAZY_BODY bool lower_conv(kernel_builder& b, node_id n) {
    return (!is_row_filter(b.graph(), n) && conv_fusion{b}.conv(n)) || fuse_conv_windows(b, n);
}
GSUB_LAZY_BODY kernel_group match_conv_row(fusion_scope const& s, node_id n) {
    return is_row_filter(s.graph(), n) ? kernel_group{} : match_conv(s, n);
}
GSUB_LAZY_BODY bool lower_batch_norm(kernel_builder& b, node_id n) {
    return conv_fusion{b}.batch_norm(n);
}
GSUB_LAZY_BODY kernel_group match_batch_norm_row(fusion_scope const& s, node_id n) {
    return match_batch_norm(s, n);
}
GSUB_LAZY_BODY bool lower_pool(kernel_builder& b, node_id n) {
    return fuse_pool(b, n);
}
GSUB_LAZY_BODY bool lower_product(kernel_builder& b, node_id n) {
    return fuse_product(b, n);
}
GSUB_LAZY_BODY kernel_group match_product_row(fusion_scope const& s, node_id n) {
    return match_product(s, n);
}
GSUB_LAZY_BODY bool lower_einsum(kernel_builder& b, node_id n) {
    return fuse_einsum(b, n);
}
GSUB_LAZY_BODY kernel_group match_einsum_row(fusion_scope const& s, node_id n) {
    return match_einsum(s, n);
}
GSUB_LAZY_BODY bool lower_softmax(kernel_builder& b, node_id n) {
    return fuse_rows(b, n) || fuse_softmax(b, n);
}
GSUB_LAZY_BODY bool lower_reduction(kernel_builder& b, node_id n) {
    return fuse_rows(b, n) || fuse_reduction(b, n);
}
GSUB_LAZY_BODY bool lower_local_response_norm(kernel_builder& b, node_id n) {
    return fuse_local_response_norm(b, n);
}
GSUB_LAZY_BODY bool lower_view(kernel_builder& b, node_id n) {
    return fuse_view(b, n);
}
GSUB_LAZY_BODY bool lower_concat(kernel_builder& b, node_id n) {
    return fuse_concat(b, n);
}
GSUB_LAZY_BODY bool lower_split(kernel_builder& b, node_id n) {
    return fuse_split(b, n);
}
GSUB_LAZY_BODY bool lower_gather(kernel_builder& b, node_id n) {
    return fuse_gather(b, n);
}
GSUB_LAZY_BODY bool lower_gather_elements(kernel_builder& b, node_id n) {
    return fuse_gather_elements(b, n);
}
GSUB_LAZY_BODY bool lower_scatter_elements(kernel_builder& b, node_id n) {
    return fuse_scatter_elements(b, n);
}
GSUB_LAZY_BODY bool lower_scatter_nd(kernel_builder& b, node_id n) {
    return fuse_scatter_nd(b, n);
}
GSUB_LAZY_BODY bool lower_pad(kernel_builder& b, node_id n) {
    return fuse_pad(b, n);
}
GSUB_LAZY_BODY bool lower_fill(kernel_builder& b, node_id n) {
    return fuse_fill(b, n);
}
GSUB_LAZY_BODY bool lower_shape(kernel_builder& b, node_id n) {
    return fuse_shape(b, n);
}
GSUB_LAZY_BODY bool lower_bit_cast(kernel_builder& b, node_id n) {
    return fuse_bits(b, n);
}

// A kernel of the application.
GSUB_LAZY void fuse_external(kernel_builder& b, node_id n, std::shared_ptr<runtime::host_op const> own) {
    auto const& g = b.graph();
    auto const& a = g.attributes<ops::opaque>(n);
    kernel_op op{.computes = runtime::external_call{
                     format_text("{}{}{}", a.domain, a.domain.empty() ? "" : ".", a.op_type), std::move(own)}};
    for (auto v : g.operands(n))
        if (v.valid()) op.operands.push_back(b.whole(v));
    for (std::uint32_t port = 0; port < g.result_count(n); ++port) op.results.push_back(b.result({n, port}));
    b.add({&n, 1}, std::move(op));
}

// What is computed from nothing is known now: a reduction, a product or a border of a value without elements.
GSUB_LAZY [[nodiscard]] bool fuse_known(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto of_nothing = false;
    for (auto v : g.operands(n)) {
        if (!v.valid() || g.constant(v)) continue;
        if (*g.type(v).elements() != 0) return false;
        of_nothing = true;
    }
    if (!of_nothing) return false;
    auto const alone = extract(g, {&n, 1});
    std::vector<tensor> inputs;
    for (auto v : alone.boundary) {
        auto known = b.constant_of(v); // weight arithmetic that is not folded, such as one number everywhere
        inputs.push_back(known ? std::move(*known) : tensor::zeros(g.type(v).element, g.type(v).sizes()));
    }
    auto results = evaluate_graph(alone.graph, b.context().evaluators, inputs).value();
    for (std::size_t i = 0; i < results.size(); ++i) b.set_constant(alone.results[i], std::move(results[i]));
    return true;
}

// Whether the graph knows all sizes of what a node reads and makes; where data decide one, the evaluator computes it.
GSUB_LAZY [[nodiscard]] bool has_static_types(any_graph const& g, node_id n) {
    for (auto v : g.operands(n))
        if (v.valid() && !g.type(v).is_static()) return false;
    for (std::uint32_t port = 0; port < g.result_count(n); ++port)
        if (!g.type({n, port}).is_static()) return false;
    return true;
}

// Adds the kernel that computes a node.
GSUB_LAZY void fuse_node(kernel_builder& b, node_id n) {
    auto const& cx = b.context();
    auto const& g = b.graph();
    if (auto own = cx.own ? cx.own->step_of(n) : nullptr) return fuse_external(b, n, std::move(own));
    if (!cx.generate || !has_static_types(g, n)) return b.add_reference(n);
    if (fuse_nothing(b, n) || fuse_known(b, n)) return;
    if (auto const row = cx.rows.empty() ? nullptr : cx.rows[g.row(n)].lower; row && row(b, n)) return;
    if (g.op(n).aliasing_view && is_stored_view(g, n) && fuse_view(b, n)) return;
    if (!fuse_in_blocks(b, n) && !fuse_rows(b, n)) b.add_reference(n);
}

} // namespace detail

GSUB_LAZY_BODY result<kernel_graph> fuse(any_graph const& g, fuse_context const& cx) {
    try {
        kernel_builder b{g, cx};
        for (auto const& group : kernel_groups(g, cx)) {
            b.begin(group);
            for (auto n : group)
                if (!b.done(n)) detail::fuse_node(b, n);
        }
        return b.take();
    } catch (error const& e) { return e; }
}

} // namespace gsub
