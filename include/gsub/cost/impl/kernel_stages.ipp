// Kernel stages: parts of a kernel of which one waits for what another has written to scratch.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// What a walk has found out about the loops of a kernel, by their nodes.
struct walked_loops {
    struct loop_counts {
        double entries = 0, turns = 0;
    };
    std::map<codegen::statement const*, loop_counts> loops;
    std::map<codegen::statement const*, std::pair<double, double>> branches; // how often each side runs
    // By variable: of a part the first one that is the same, as stages name theirs anew, else itself; and the product
    // of the extents of its parts.
    std::vector<codegen::variable> same;
    std::vector<double> parted;
    // By node, the stage that it is a part of: what reads scratch that something before it in the same list has written
    // begins one. Stages take longer than a core looks ahead, so that one does not hide what another waits for.
    std::map<codegen::statement const*, std::size_t> stages; // of nodes behind the first stage
    [[nodiscard]] std::size_t stage_of(codegen::statement const& n) const {
        if (stages.empty()) return 0;
        auto const found = stages.find(&n);
        return found == stages.end() ? 0 : found->second;
    }
    std::vector<double> stage_cycles; // that units, chains and loops take
};

// Finds the stages of a kernel.
template <class = void>
class stage_finder {
public:
    stage_finder(codegen::kernel const& k, walked_loops& loops) : k_(k), loops_(loops) {
        loops_.stage_cycles.push_back(0);
        auto const written = std::ranges::any_of(k.buffers, [](auto const& b) { return b.workspace; });
        if (written) find_stages(k.body, 0);
    }

private:
    using statement = codegen::statement;
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }

    // Which scratch a node reads, and which it writes.
    struct workspace_use {
        std::vector<char> read, written;
    };
    void find_workspace(statement const& n, workspace_use& use) const {
        for (auto const& i : n.code)
            if (i.buffer >= 0 && k_.buffers[index(i.buffer)].workspace)
                (i.op == codegen::opcode::store ? use.written : use.read)[index(i.buffer)] = 1;
        for (auto const* list : {&n.body, &n.otherwise})
            for (auto const& inner : *list) find_workspace(inner, use);
    }
    void find_stages(std::vector<statement> const& statements, std::size_t stage) {
        std::vector<char> written(k_.buffers.size(), 0);
        for (auto const& n : statements) {
            workspace_use use{std::vector<char>(written.size(), 0), std::vector<char>(written.size(), 0)};
            find_workspace(n, use);
            auto waits = false;
            for (std::size_t b = 0; b < written.size(); ++b) waits = waits || (written[b] && use.read[b]);
            if (waits) {
                stage = loops_.stage_cycles.size();
                loops_.stage_cycles.push_back(0);
                std::fill(written.begin(), written.end(), char{0});
            }
            for (std::size_t b = 0; b < written.size(); ++b)
                written[b] = static_cast<char>(written[b] | use.written[b]);
            if (stage > 0) loops_.stages.emplace(&n, stage);
            find_stages(n.body, stage);
            find_stages(n.otherwise, stage);
        }
    }

    codegen::kernel const& k_;
    walked_loops& loops_;
};

} // namespace gsub::cost::detail
