// wide_broadcasts: neighbouring numbers that all lanes read, as one load of two or four.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace gsub::codegen::detail {

/// Part of a wide load that a broadcast is.
struct wide_part {
    std::int32_t width = 1;  ///< numbers that are read at once; 1: by itself
    std::int32_t part = 0;   ///< of these
    std::int32_t first = -1; ///< instruction of the block that stands first of them
};

/// Finds the broadcasts of a block that are read together: f32 of one array that the kernel does not write, whose
/// places differ by constants alone and lie in one piece of 8 or 16 bytes, wherever the loops stand. *Returns* a part
/// for each instruction. *Complexity* O(n log n), and n for each array and what varies
/// of places in it.
template <class = void>
[[nodiscard]] std::vector<wide_part> wide_broadcasts(kernel const& k, std::span<instruction const> code) {
    std::vector<wide_part> out(code.size());
    if (!k.aligned) return out;
    struct place { // the array and what varies of a place in it, numbered; then the place, then who reads it
        std::size_t from;
        std::int64_t at;
        std::int32_t reader;
    };
    std::vector<place> all;
    std::vector<instruction const*> origins;
    for (std::size_t i = 0; i < code.size(); ++i) {
        auto const& read = code[i];
        if (read.op != opcode::broadcast || read.type != dtype::f32 || read.operands[0] >= 0 || !read.predicate.empty())
            continue;
        auto const& b = k.buffers[static_cast<std::size_t>(read.buffer)];
        if (b.written || b.workspace || b.element != dtype::f32) continue;
        auto const terms = read.offset.terms();
        auto const same = [&](instruction const* o) {
            return o->buffer == read.buffer && std::ranges::equal(o->offset.terms(), terms);
        };
        auto const known = std::find_if(origins.begin(), origins.end(), same);
        auto const from = static_cast<std::size_t>(known - origins.begin());
        if (from == origins.size()) {
            if (std::any_of(terms.begin(), terms.end(), [](auto const& t) { return t.factor % 2 != 0; })) continue;
            origins.push_back(&read);
        }
        all.push_back({from, read.offset.constant(), static_cast<std::int32_t>(i)});
    }
    std::sort(all.begin(), all.end(), [](place const& a, place const& b) {
        return std::tie(a.from, a.at, a.reader) < std::tie(b.from, b.at, b.reader);
    });
    auto const join = [&](std::size_t begin, std::int32_t width) {
        auto const first = std::min_element(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                            all.begin() + static_cast<std::ptrdiff_t>(begin) + width,
                                            [](place const& a, place const& b) { return a.reader < b.reader; });
        for (std::int32_t p = 0; p < width; ++p)
            out[static_cast<std::size_t>(all[begin + static_cast<std::size_t>(p)].reader)] = {width, p, first->reader};
    };
    for (std::size_t i = 0; i < all.size();) {
        auto const terms = code[static_cast<std::size_t>(all[i].reader)].offset.terms();
        std::int32_t width = 4;
        for (; width > 1; width /= 2) {
            auto const last = i + static_cast<std::size_t>(width) - 1;
            auto fits = all[i].at % width == 0 && last < all.size() && all[last].from == all[i].from &&
                        std::all_of(terms.begin(), terms.end(), [&](auto const& t) { return t.factor % width == 0; });
            for (auto n = i; fits && n < last; ++n) fits = all[n + 1].at == all[n].at + 1;
            if (fits) break;
        }
        if (width > 1) join(i, width);
        i += static_cast<std::size_t>(width);
    }
    return out;
}

} // namespace gsub::codegen::detail
