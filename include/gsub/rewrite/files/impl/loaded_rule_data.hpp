// Loaded rule data: what a loaded rule owns.
#pragma once

#include <gsub/rewrite/engine/match.hpp>
#include <gsub/rewrite/files/rule_description.hpp>
#include <gsub/rewrite/pattern/program.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gsub::detail {

/// What a loaded rule owns. Its operators of the source are labels, its inputs variables.
struct loaded_rule_data {
    rule_description rule;
    std::vector<std::string> label_texts;
    std::vector<pattern::name_hash> labels, variables;
    std::vector<pattern::node> nodes;
    std::vector<std::uint16_t> links, roots;
    rule_program program;
    bool connected = true;

    static loaded_rule_data const& of(rule_program const& p) { return *static_cast<loaded_rule_data const*>(p.data); }
    [[nodiscard]] value_id matched(match const& m, described_value v) const {
        auto const bound = m.value(v.is_input() ? variables[v.number()] : labels[v.number()]);
        return bound.valid() ? value_id{bound.node, bound.port + v.port} : bound;
    }
};

} // namespace gsub::detail
