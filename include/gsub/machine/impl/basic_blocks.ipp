// basic_blocks: cuts lines of code into basic blocks, by where control goes.
#pragma once

#include <gsub/core/small_vector.hpp>
#include <gsub/machine/assembly.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gsub::machine::detail {

// Lines from the first to before the last, and the numbers of the blocks that may follow.
struct cut_block {
    std::uint32_t first = 0, last = 0;
    std::int32_t target = -1; // of the jump that ends it; -1: none, or out
    small_vector<std::uint32_t, 2> next{};
};

// Cuts lines into blocks. `flows`: where control goes behind each; `jumps`: to which line, as many as there are: out.
GSUB_LAZY std::vector<cut_block> cut_blocks(std::vector<line_flow> const& flows,
                                            std::vector<std::size_t> const& jumps) {
    auto const n = flows.size();
    std::vector<char> leads(n + 1, 0);
    leads[0] = 1;
    for (std::size_t l = 0; l < n; ++l) {
        if (flows[l] != line_flow::next) leads[l + 1] = 1;
        if (jumps[l] < n) leads[jumps[l]] = 1;
    }
    std::vector<cut_block> blocks;
    std::vector<std::uint32_t> block_of(n);
    for (std::size_t l = 0; l < n; ++l) {
        if (leads[l]) blocks.push_back({static_cast<std::uint32_t>(l), 0, -1, {}});
        block_of[l] = static_cast<std::uint32_t>(blocks.size() - 1);
        blocks.back().last = static_cast<std::uint32_t>(l + 1);
    }
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        auto& block = blocks[b];
        auto const end = block.last - std::size_t{1};
        if (jumps[end] < n) block.target = static_cast<std::int32_t>(block_of[jumps[end]]);
        auto const falls = flows[end] == line_flow::next || flows[end] == line_flow::branch;
        if (falls && b + 1 < blocks.size()) block.next.push_back(static_cast<std::uint32_t>(b + 1));
        if (block.target >= 0 && (!falls || block.target != static_cast<std::int32_t>(b + 1)))
            block.next.push_back(static_cast<std::uint32_t>(block.target));
    }
    return blocks;
}

} // namespace gsub::machine::detail
