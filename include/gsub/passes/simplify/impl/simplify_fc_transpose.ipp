#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/passes/evaluators_of.hpp>
#include <gsub/passes/simplify/simplify_fc_transpose.hpp>

#include <string>
#include <unordered_map>
#include <vector>

namespace gsub::passes {

GSUB_LAZY_BODY result<simplify_fc_transpose> simplify_fc_transpose::from_text(std::string_view text) {
    if (text.empty()) return simplify_fc_transpose{};
    if (text == "gemm") return simplify_fc_transpose{.gemm_attribute = true};
    return error{error_code::usage, fmt::format("argument {}; it takes gemm, or none", quoted{text})};
}

GSUB_LAZY_BODY result<pass_outcome> simplify_fc_transpose::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] {
        pass_outcome outcome;
        std::vector<node_id> products;                     // that are to read w.T
        std::vector<std::size_t> wanted;                   // by product: which of `weights`
        std::vector<node_id> weights;                      // each once
        std::unordered_map<std::uint32_t, std::size_t> at; // by node: place in `weights`
        auto const stored = [&](value_id v) { return g.is<ops::constant>(v.node) && g.type(v).rank() == 2; };
        for (auto n : g.order()) {
            bool const gemm = g.is<ops::gemm>(n);
            if ((!gemm && !g.is<ops::mat_mul>(n)) || !g.used(n)) continue;
            auto w = g.operand(n, 1);
            bool const by_attribute = gemm && g.attributes<ops::gemm>(n).transpose_b;
            if (by_attribute) {
                if (!gemm_attribute || !stored(w)) continue;
            } else {
                if (!g.is<ops::transpose>(w.node)) continue;
                auto const& perm = g.attributes<ops::transpose>(w.node).perm;
                w = g.operand(w.node, 0);
                if (!stored(w)) {
                    outcome.skip(g.is<ops::constant>(w.node) ? "not a matrix" : "not a stored weight");
                    continue;
                }
                if (!(perm == ints{1, 0})) continue; // the identity
            }
            if (!cx.should_rewrite()) continue;
            auto const [found, is_new] = at.try_emplace(w.node.index, weights.size());
            if (is_new) weights.push_back(w.node);
            products.push_back(n);
            wanted.push_back(found->second);
        }
        if (products.empty()) return outcome;
        cx.check_stop();
        any_graph turned{g.operators()};
        std::vector<value_id> outputs;
        for (auto w : weights) {
            auto const v = turned.add_constant(g.constant_data(w));
            outputs.push_back(turned.add<ops::transpose>({.perm = {1, 0}}, {v}));
        }
        turned.set_outputs(outputs);
        auto elements = compute_constants(turned, evaluators_of(cx, g), outputs, {.threads = cx.threads}).value();
        std::vector<value_id> made;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            auto const known_as = g.name({weights[i], 0});
            made.push_back(g.add_constant(std::move(elements[i]),
                                          known_as.empty() ? std::string{} : fmt::format("{}.T", known_as)));
            g.inherit_sources(made.back().node, {&weights[i], 1});
        }
        for (std::size_t i = 0; i < products.size(); ++i) {
            auto const n = products[i];
            auto const w = made[wanted[i]];
            if (!g.is<ops::gemm>(n) || !g.attributes<ops::gemm>(n).transpose_b) {
                g.set_operand(n, 1, w);
                continue;
            }
            auto a = g.attributes<ops::gemm>(n);
            a.transpose_b = false;
            auto operands = g.operands(n);
            operands[1] = w;
            auto const plain =
                g.append_node(g.row(n), intern<ops::gemm>(a), 0, operands, std::vector<type_id>{g.type_of({n, 0})});
            g.inherit_sources(plain, {&n, 1});
            g.replace_uses({n, 0}, {plain, 0});
        }
        GSUB_ASSERT(g.sort(), "constants cannot close a cycle");
        g.erase_dead();
        outcome.matches = products.size();
        outcome.changed = true;
        return outcome;
    });
}

} // namespace gsub::passes
