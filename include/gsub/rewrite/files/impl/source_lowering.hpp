// Source lowering: the source of a loaded rule becomes a pattern.
#pragma once

#include <gsub/rewrite/files/impl/loaded_rule_data.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gsub::detail {

/// Lowers the source of a rule. Terms are visited as the matcher visits them; what was visited before is a variable
/// bound by then.
template <class = void>
class source_lowering {
public:
    explicit source_lowering(loaded_rule_data& out) : out_(out), seen_(out.rule.source.size(), false) {}

    void run() {
        std::vector<std::uint32_t> open; // operators with replaced results
        for (auto const& o : out_.rule.outputs) {
            auto const n = static_cast<std::uint32_t>(o.source.number());
            if (std::find(open.begin(), open.end(), n) == open.end()) open.push_back(n);
        }
        // Each root behind one with which it shares a value, if there is one.
        bound_.assign(out_.rule.inputs.size(), false);
        while (!open.empty()) {
            auto next = open.begin();
            if (!out_.roots.empty()) {
                while (next != open.end() && !touches({static_cast<std::int32_t>(*next), 0})) ++next;
                if (next == open.end()) out_.connected = false, next = open.begin();
            }
            out_.roots.push_back(lower({static_cast<std::int32_t>(*next), 0}));
            open.erase(next);
        }
    }

private:
    // Whether a value is bound already, or anything below it. Rules are small, and operators stand in order.
    bool touches(described_value v) const {
        if (v.is_input()) return bound_[v.number()];
        std::vector<bool> below(v.number() + 1, false);
        below[v.number()] = true;
        for (auto i = v.number() + 1; i-- > 0;) {
            if (!below[i]) continue;
            if (seen_[i]) return true;
            for (auto const operand : out_.rule.source[i].operands) {
                if (operand.is_input() && bound_[operand.number()]) return true;
                if (!operand.is_input()) below[operand.number()] = true;
            }
        }
        return false;
    }

    std::uint16_t append(pattern::node n) {
        out_.nodes.push_back(n);
        return static_cast<std::uint16_t>(out_.nodes.size() - 1);
    }

    // As deep as a rule is long: see rule_limits.
    std::uint16_t lower(described_value v) {
        pattern::node n;
        n.kind = pattern::node_kind::variable;
        n.port = static_cast<std::uint16_t>(v.port);
        if (v.is_input()) {
            bound_[v.number()] = true;
            n.name = out_.variables[v.number()];
            n.text = out_.rule.inputs[v.number()];
            return append(n);
        }
        n.name = out_.labels[v.number()];
        n.text = out_.label_texts[v.number()];
        if (seen_[v.number()]) return append(n);
        seen_[v.number()] = true;
        auto const& op = out_.rule.source[v.number()];
        n.kind = pattern::node_kind::operation;
        n.op = op.word->op;
        n.commutative = op.word->commutative;
        n.first_link = static_cast<std::uint16_t>(out_.links.size());
        n.links = static_cast<std::uint16_t>(op.operands.size());
        out_.links.resize(out_.links.size() + op.operands.size());
        auto const number = append(n);
        for (std::size_t i = 0; i < op.operands.size(); ++i) {
            auto const below = lower(op.operands[i]);
            out_.links[n.first_link + i] = below;
        }
        return number;
    }

    loaded_rule_data& out_;
    std::vector<bool> seen_, bound_;
};

} // namespace gsub::detail
