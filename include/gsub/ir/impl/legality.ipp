#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_nn.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>

#include <array>
#include <cstdlib>
#include <string_view>

namespace gsub {

namespace detail {

inline constexpr auto every_stage = 3u;
inline constexpr auto from_canonical = unsigned(stage::canonical);

GSUB_INLINE std::span<legality_rule const> legality_table() noexcept {
    static constexpr std::array rules{
        legality_rule{every_stage, "the number of operands is what the operator takes",
                      [](any_graph const& g, node_id n) { return g.op(n).accepts(g.operand_count(n)); }},
        legality_rule{unsigned(stage::imported), "no activation is fused into a convolution",
                      [](any_graph const& g, node_id n) {
                          return !g.is<ops::conv>(n) || g.attributes<ops::conv>(n).act == activation::none;
                      }},
        legality_rule{unsigned(stage::imported), "no operator is internal",
                      [](any_graph const& g, node_id n) {
                          return g.op(n).domain != "gsub" || g.op(n).category == op_category::structural ||
                                 g.is<ops::opaque>(n) || g.is<ops::batch_norm_training>(n);
                      }},
        legality_rule{from_canonical, "no node is the identity",
                      [](any_graph const& g, node_id n) { return !g.is<ops::identity>(n); }},
        legality_rule{from_canonical, "no dropout whose mask is not read",
                      [](any_graph const& g, node_id n) {
                          return !g.is<ops::dropout>(n) || g.operands(n).size() > 1 ||
                                 (g.result_count(n) == 2 && g.used(value_id{n, 1}));
                      }},
        legality_rule{from_canonical, "no sum of fewer than three operands",
                      [](any_graph const& g, node_id n) { return !g.is<ops::sum>(n) || g.operand_count(n) > 2; }},
        legality_rule{
            from_canonical, "every node but inputs is used",
            [](any_graph const& g, node_id n) { return n == g.return_node() || g.is<ops::input>(n) || g.used(n); }},
    };
    return rules;
}

} // namespace detail

GSUB_INLINE std::span<legality_rule const> legality_rules() noexcept {
    return detail::legality_table();
}

GSUB_INLINE std::vector<problem> check(any_graph const& g, stage at) {
    std::vector<problem> found;
    auto const report = [&](node_id n, std::string reason) {
        found.push_back({errors::illegal_graph, g.display_name(n), std::string{g.op(n).name}, std::move(reason), {}});
    };
    std::vector<bool> seen(g.capacity(), false);
    for (auto n : g.order()) {
        for (std::size_t i = 0; i < g.operand_count(n); ++i) {
            auto const v = g.operand(n, i);
            if (!v.valid()) continue;
            if (!g.live(v.node) || v.port >= g.result_count(v.node))
                report(n, format_text("operand {} does not exist", i));
            else if (!seen[v.node.index])
                report(n, format_text("operand {} comes after the node", i));
        }
        seen[n.index] = true;
        if (n != g.return_node() && g.op(n).category != op_category::structural &&
            g.op(n).category != op_category::opaque) {
            small_vector<type_id, 8> types;
            auto const operands = g.operands(n);
            for (auto v : operands) types.push_back(v.valid() ? g.type_of(v) : type_id{});
            infer_context cx{g.op(n), g.attributes(n), types, g.result_count(n)};
            for (std::size_t i = 0; i < operands.size(); ++i)
                if (!operands[i].valid()) cx.set_absent(i);
            infer(g.operators(), g.row(n), cx);
            if (cx.failed()) report(n, format_text("is ill-typed: {}", cx.reason()));
            for (std::uint32_t port = 0; port < g.result_count(n) && !cx.failed(); ++port)
                if (auto const& declared = g.type({n, port}); !compatible(cx.result_type(port), declared))
                    report(n, format_text("result {} has type {}, inference gives {}", port, to_string(declared),
                                          to_string(cx.result_type(port))));
        }
        for (auto const& rule : legality_rules())
            if ((rule.stages & static_cast<unsigned>(at)) && !rule.holds(g, n))
                report(n, format_text("breaks the rule that {}", rule.sentence));
    }
    return found;
}

GSUB_INLINE bool verifies_stages() noexcept {
#if !defined(NDEBUG)
    return true;
#else
    static bool const asked = [] {
        auto const* const value = std::getenv("GSUB_CHECK_STAGES");
        return value && std::string_view{value} == "1";
    }();
    return asked;
#endif
}

GSUB_INLINE result<void> verify_behind(std::string_view step, any_graph const& g, stage at) {
    auto found = check(g, at);
    if (found.empty()) return {};
    return error{std::move(found)}.within(format_text("{} left an illegal graph", step));
}

} // namespace gsub
