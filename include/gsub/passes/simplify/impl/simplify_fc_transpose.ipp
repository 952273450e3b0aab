#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/passes/evaluators_of.hpp>
#include <gsub/passes/simplify/simplify_fc_transpose.hpp>

#include <string>
#include <unordered_map>
#include <vector>

namespace gsub::passes {

namespace detail {

// Products that are to read `w.T`, and the weights that are made for them.
template <class = void>
class weight_transposer {
public:
    weight_transposer(any_graph& g, pass_context& cx, bool gemm_attribute)
        : g_(g), cx_(cx), gemm_attribute_(gemm_attribute) {}

    pass_outcome run() {
        for (auto n : g_.order()) {
            auto const w = turned_weight(n);
            if (!w.valid() || !cx_.should_rewrite()) continue;
            auto const [found, is_new] = place_.try_emplace(w.node.index, weights_.size());
            if (is_new) weights_.push_back(w.node);
            products_.push_back({n, found->second});
        }
        if (products_.empty()) return std::move(outcome_);
        cx_.check_stop();
        auto const made = turned_constants();
        for (auto const& p : products_) read(p.node, made[p.weight]);
        GSUB_ASSERT(g_.sort(), "constants cannot close a cycle");
        g_.erase_dead();
        outcome_.matches = products_.size();
        outcome_.changed = true;
        return std::move(outcome_);
    }

private:
    struct product {
        node_id node;
        std::size_t weight; // place in `weights_`
    };

    [[nodiscard]] bool stored(value_id v) const { return g_.is<ops::constant>(v.node) && g_.type(v).rank() == 2; }
    [[nodiscard]] bool turns_by_attribute(node_id n) const {
        return g_.is<ops::gemm>(n) && g_.attributes<ops::gemm>(n).transpose_b;
    }

    // The weight that a product reads transposed, by a node or by its attribute; invalid where there is none.
    value_id turned_weight(node_id n) {
        if ((!g_.is<ops::gemm>(n) && !g_.is<ops::mat_mul>(n)) || !g_.used(n)) return {};
        auto const read = g_.operand(n, 1);
        if (turns_by_attribute(n)) return gemm_attribute_ && stored(read) ? read : value_id{};
        if (!g_.is<ops::transpose>(read.node)) return {};
        auto const w = g_.operand(read.node, 0);
        if (!stored(w)) {
            outcome_.skip(g_.is<ops::constant>(w.node) ? "not a matrix" : "not a stored weight");
            return {};
        }
        auto const turns = g_.attributes<ops::transpose>(read.node).perm == ints{1, 0};
        return turns ? w : value_id{}; // else it is the identity
    }

    std::vector<value_id> turned_constants() {
        any_graph turned{g_.operators()};
        std::vector<value_id> outputs;
        for (auto w : weights_) {
            auto const v = turned.add_constant(g_.constant_data(w));
            outputs.push_back(turned.add<ops::transpose>({.perm = {1, 0}}, {v}));
        }
        turned.set_outputs(outputs);
        auto elements = compute_constants(turned, evaluators_of(cx_, g_), outputs, {.threads = cx_.threads}).value();
        std::vector<value_id> made;
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            auto const known_as = g_.name({weights_[i], 0});
            made.push_back(g_.add_constant(std::move(elements[i]),
                                           known_as.empty() ? std::string{} : format_text("{}.T", known_as)));
            g_.inherit_sources(made.back().node, {&weights_[i], 1});
        }
        return made;
    }

    // A product that reads `w.T` as it is.
    void read(node_id n, value_id w) {
        if (!turns_by_attribute(n)) return g_.set_operand(n, 1, w);
        auto a = g_.attributes<ops::gemm>(n);
        a.transpose_b = false;
        auto operands = g_.operands(n);
        operands[1] = w;
        auto const plain =
            g_.append_node(g_.row(n), intern<ops::gemm>(a), 0, operands, std::vector<type_id>{g_.type_of({n, 0})});
        g_.inherit_sources(plain, {&n, 1});
        g_.replace_uses({n, 0}, {plain, 0});
    }

    any_graph& g_;
    pass_context& cx_;
    bool gemm_attribute_;
    pass_outcome outcome_;
    std::vector<product> products_;
    std::vector<node_id> weights_;                         // each once
    std::unordered_map<std::uint32_t, std::size_t> place_; // by node: in `weights_`
};

} // namespace detail

GSUB_LAZY_BODY result<simplify_fc_transpose> simplify_fc_transpose::from_text(std::string_view text) {
    if (text.empty()) return simplify_fc_transpose{};
    if (text == "gemm") return simplify_fc_transpose{.gemm_attribute = true};
    return error{errors::pass_arguments, format_text("argument {}; it takes gemm, or none", quoted{text})};
}

GSUB_LAZY_BODY result<pass_outcome> simplify_fc_transpose::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] { return detail::weight_transposer<>{g, cx, gemm_attribute}.run(); });
}

} // namespace gsub::passes
