// Kernel stages: parts of a kernel of which one waits for what another has written to scratch.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/small_vector.hpp>

#include <algorithm>
#include <cstdint>
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
    stage_finder(codegen::kernel const& k, walked_loops& loops)
        : k_(k), loops_(loops), words_((k.buffers.size() + 63) / 64) {
        loops_.stage_cycles.push_back(0);
        auto const written = std::ranges::any_of(k.buffers, [](auto const& b) { return b.workspace; });
        if (!written) return;
        static_cast<void>(find_workspace(k.body));
        find_stages(k.body, 0);
    }

private:
    using statement = codegen::statement;
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }

    // Which scratch nodes read, and which they write: a bit a buffer.
    using buffer_set = small_vector<std::uint64_t, 2>;
    struct workspace_use {
        buffer_set read, written;
    };
    static void unite(buffer_set& all, buffer_set const& more) {
        for (std::size_t w = 0; w < all.size(); ++w) all[w] |= more[w];
    }
    // Adds the uses of each node to `uses_`, those of a node before those of what is within. *Returns* that of all.
    workspace_use find_workspace(std::vector<statement> const& statements) {
        workspace_use const none{buffer_set(words_), buffer_set(words_)};
        auto all = none;
        for (auto const& n : statements) {
            auto const at = uses_.size();
            uses_.push_back(none);
            auto own = none;
            for (auto const& i : n.code)
                if (i.buffer >= 0 && k_.buffers[index(i.buffer)].workspace)
                    (i.op == codegen::opcode::store ? own.written : own.read)[index(i.buffer) / 64] |=
                        std::uint64_t{1} << (index(i.buffer) % 64);
            for (auto const* list : {&n.body, &n.otherwise}) {
                auto const inner = find_workspace(*list);
                unite(own.read, inner.read), unite(own.written, inner.written);
            }
            unite(all.read, own.read), unite(all.written, own.written);
            uses_[at] = own;
        }
        return all;
    }
    void find_stages(std::vector<statement> const& statements, std::size_t stage) {
        buffer_set written(words_);
        for (auto const& n : statements) {
            auto const& use = uses_[seen_++];
            auto waits = false;
            for (std::size_t w = 0; w < words_; ++w) waits = waits || (written[w] & use.read[w]) != 0;
            if (waits) {
                stage = loops_.stage_cycles.size();
                loops_.stage_cycles.push_back(0);
                written.assign(words_, 0);
            }
            unite(written, use.written);
            if (stage > 0) loops_.stages.emplace(&n, stage);
            find_stages(n.body, stage);
            find_stages(n.otherwise, stage);
        }
    }

    codegen::kernel const& k_;
    walked_loops& loops_;
    std::size_t words_; // of a set of buffers
    std::vector<workspace_use> uses_;
    std::size_t seen_ = 0; // nodes that have their stage
};

} // namespace gsub::cost::detail
