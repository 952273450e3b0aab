#include "oracles/every_match.hpp"

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace every_match {

using namespace gsub;
using pattern::node_kind;

std::string told(match const& m) {
    std::string out;
    for (auto v : m.roots()) out += fmt::format("{}.{} ", v.node.index, v.port);
    for (auto v : m.addends()) out += fmt::format("+{}.{} ", v.node.index, v.port);
    std::vector<std::string> bound;
    for (auto const& n : m.rule().match_nodes)
        if (n.name != 0)
            for (auto v : m.values(n.name)) bound.push_back(fmt::format("{}={}.{}", n.text, v.node.index, v.port));
    std::sort(bound.begin(), bound.end());
    bound.erase(std::unique(bound.begin(), bound.end()), bound.end());
    for (auto const& b : bound) out += b + " ";
    return out;
}

namespace {

class exhaustive {
public:
    exhaustive(any_graph const& g, rule_program const& rule) : g_(g), rule_(rule), chosen_(rule.match_nodes.size()) {}

    std::vector<std::string> all() {
        choose(0);
        std::sort(found_.begin(), found_.end());
        found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
        return found_;
    }

private:
    bool is_operator(std::size_t i) const {
        return rule_.match_nodes[i].kind == node_kind::operation || rule_.match_nodes[i].kind == node_kind::category;
    }
    bool may_be(std::size_t i, node_id n) const {
        auto const& p = rule_.match_nodes[i];
        if (n == g_.return_node() || g_.constant(n) || g_.operand_count(n) > p.links) return false;
        if (p.kind == node_kind::operation) return g_.op(n).id == p.op;
        return g_.op(n).category == p.category && !g_.op(n).aliasing_view && g_.op(n).results == 1 &&
               g_.operand_count(n) == p.links;
    }
    void choose(std::size_t i) {
        if (i == chosen_.size()) return swap(0);
        if (!is_operator(i)) return choose(i + 1);
        for (auto n : g_.order()) {
            if (!may_be(i, n)) continue;
            chosen_[i] = {n, false};
            choose(i + 1);
        }
    }
    void swap(std::size_t i) {
        if (i == chosen_.size()) return check();
        if (rule_.match_nodes[i].apart) {
            auto const n = chosen_[i].node;
            for (auto const& left : terms(n, g_.operand(n, 0)))
                for (auto const& right : terms(n, g_.operand(n, 1))) {
                    pair_ = {left.value, right.value};
                    addends_ = left.beside;
                    append(addends_, right.beside);
                    swap_one(i);
                }
            return;
        }
        swap_one(i);
    }
    struct term {
        value_id value;
        std::vector<value_id> beside;
    };
    // A value, and what it is a sum of where it has no other reader and the type of the whole.
    std::vector<term> terms(node_id whole, value_id v) const {
        std::vector<term> out{{v, {}}};
        if (!g_.is<ops::add>(v.node) || g_.constant(v.node) || g_.use_count(v) != 1 ||
            !(g_.type(v) == g_.type({whole, 0})))
            return out;
        for (std::uint32_t side = 0; side < 2; ++side)
            for (auto& t : terms(whole, g_.operand(v.node, side))) {
                t.beside.push_back(g_.operand(v.node, 1 - side));
                out.push_back(std::move(t));
            }
        return out;
    }
    void swap_one(std::size_t i) {
        for (bool swapped : {false, true}) {
            if (swapped && !rule_.match_nodes[i].commutative) continue;
            chosen_[i].swapped = swapped;
            swap(i + 1);
        }
    }
    void check() {
        std::map<pattern::name_hash, value_id> bound;
        auto const bind = [&](pattern::name_hash name, value_id v) {
            return name == 0 || bound.try_emplace(name, v).first->second == v;
        };
        for (std::size_t i = 0; i < chosen_.size(); ++i) {
            if (!is_operator(i)) continue;
            auto const& p = rule_.match_nodes[i];
            if (!bind(p.name, {chosen_[i].node, 0})) return;
            for (std::size_t k = 0; k < p.links; ++k) {
                auto const child = rule_.match_links[p.first_link + k];
                auto const place = chosen_[i].swapped ? 1 - k : k;
                auto const operand = p.apart ? pair_[place] : g_.operand(chosen_[i].node, place);
                auto const& c = rule_.match_nodes[child];
                if (is_operator(child)) {
                    if (!(operand == value_id{chosen_[child].node, 0})) return;
                } else if (!operand.valid()) {
                    if (c.kind != node_kind::optional) return;
                } else if (!bind(c.name, operand)) {
                    return;
                }
            }
        }
        match m{g_, rule_};
        std::vector<node_id> replaced;
        for (auto r : rule_.roots) {
            auto const n = chosen_[r].node;
            if (std::find(replaced.begin(), replaced.end(), n) != replaced.end()) return;
            if (rule_.match_nodes[r].context) continue;
            replaced.push_back(n);
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) m.add_root({n, port});
        }
        for (auto const& [name, v] : bound) m.bind(name, v, 0);
        for (auto v : addends_) m.add_addend(v);
        found_.push_back(told(m));
    }

    struct choice {
        node_id node;
        bool swapped = false;
    };
    any_graph const& g_;
    rule_program const& rule_;
    std::vector<choice> chosen_;
    std::array<value_id, 2> pair_;
    std::vector<value_id> addends_;
    std::vector<std::string> found_;
};

} // namespace

std::vector<std::string> of(any_graph const& g, rule_program const& rule) {
    return exhaustive{g, rule}.all();
}

} // namespace every_match
