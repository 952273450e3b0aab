// x86_memory: loads and stores of vectors as bytes.
#pragma once

#include <gsub/codegen/x86/impl/x86_integers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gsub::codegen::detail {

/// Writes the instructions that move vectors from and to memory.
template <class = void>
class x86_memory : protected x86_integers<> {
protected:
    void write_splat(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        fill(to, i.immediate);
        keep_vector(i.result, to);
    }
    void write_lane_numbers(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        c_.vmovups(to, lane_numbers_of(i));
        keep_vector(i.result, to);
    }
    // The mask of the first lanes: k1, or a vector.
    void set_mask(std::int32_t lanes) {
        c_.mov(c_.eax, (1 << lanes) - 1);
        c_.kmovw(c_.k1, c_.eax);
    }
    [[nodiscard]] address mask_of(std::int32_t lanes) {
        std::vector<std::uint32_t> words(static_cast<std::size_t>(lanes_), 0);
        std::fill_n(words.begin(), lanes, 0xffffffffu);
        return c_.ptr[c_.rip + literal(words)];
    }

    // First lanes that a shorter register moves: without a mask, and so that a load behind a store need not wait.
    [[nodiscard]] static bool is_short(std::int32_t lanes) { return lanes == 1 || lanes == 4 || lanes == 8; }
    [[nodiscard]] xmm first_lanes(xmm const& of, std::int32_t lanes) const {
        return lanes == lanes_ ? of : lanes == 8 ? xmm{Xbyak::Operand::YMM, of.getIdx()} : xmm{of.getIdx()};
    }

    void write_load(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        if (i.lanes == 1) {
            c_.vmovss(first_lanes(to, 1), memory(i, c_.rax));
        } else if (i.lanes == lanes_ || is_short(i.lanes)) { // zeros in the others
            c_.vmovups(first_lanes(to, i.lanes), memory(i, c_.rax));
        } else if (masks_) {
            set_mask(i.lanes);
            c_.vmovups(to | c_.k1 | c_.T_z, memory(i, c_.rdx));
        } else {
            c_.vmovups(to, mask_of(i.lanes));
            c_.vmaskmovps(to, to, memory(i, c_.rax));
        }
        keep_vector(i.result, to);
    }
    // ---- numbers of f16, which registers hold as f32

    [[nodiscard]] xmm half(xmm const& of) const {
        return lanes_ == 16 ? xmm{Xbyak::Operand::YMM, of.getIdx()} : xmm{of.getIdx()};
    }
    void write_load_halves(machine_instruction const& i) {
        auto const to = vector_result(i.result), low = half(to);
        auto const from = place_of(i.at, c_.rdx);
        if (i.at.broadcast) {
            c_.vpbroadcastw(low, c_.word[from]);
        } else if (i.lanes == lanes_) {
            c_.vcvtph2ps(to, c_.ptr[from]);
            return keep_vector(i.result, to);
        } else if (masks_) {
            set_mask(i.lanes);
            c_.vmovdqu16(low | c_.k1 | c_.T_z, c_.ptr[from]);
        } else {
            zero(low);
            for (std::int32_t l = 0; l < i.lanes; ++l)
                c_.vpinsrw(low, low, c_.word[from + index(2 * l)], static_cast<std::uint8_t>(l));
        }
        c_.vcvtph2ps(to, low);
        keep_vector(i.result, to);
    }
    void write_store_halves(machine_instruction const& i) {
        auto const from = vector(i.operands[0], 0), low = half(vector(i.temporaries[0], 1));
        auto const to = place_of(i.at, c_.rdx);
        if (i.lanes == lanes_) return c_.vcvtps2ph(c_.ptr[to], from, 0);
        c_.vcvtps2ph(low, from, 0);
        if (masks_) {
            set_mask(i.lanes);
            c_.vmovdqu16(c_.ptr[to] | c_.k1, low);
        } else {
            for (std::int32_t l = 0; l < i.lanes; ++l)
                c_.vpextrw(c_.word[to + index(2 * l)], low, static_cast<std::uint8_t>(l));
        }
    }
    void write_broadcast(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        fill_from(to, memory(i, c_.rax));
        keep_vector(i.result, to);
    }
    void write_copy(machine_instruction const& i) {
        if (!vector_in_register(i.result)) return keep_vector(i.result, vector(i.operands[0], 0));
        fetched(vector_result(i.result), i.operands[0]);
    }
    // Lanes one by one, in quarters: processors take longer for the instructions that gather.
    void write_gather(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        auto const quarter = vector(i.temporaries[0], 1);
        auto const first_place = place_of(i.at, c_.rdx);
        auto const& places = f_.tables[index(static_cast<std::int32_t>(i.immediate))];
        auto const lane = [&](std::int32_t l) {
            auto const at = static_cast<std::int32_t>(places[index(l)]); // in elements; may lie before the base
            return c_.dword[first_place + static_cast<std::size_t>(std::int64_t{4} * at)];
        };
        for (std::int32_t first = 0; first < i.lanes; first += 4) {
            xmm const part{first == 0 ? to.getIdx() : quarter.getIdx()};
            c_.vmovss(part, lane(first));
            for (auto l = first + 1; l < std::min(first + 4, i.lanes); ++l)
                c_.vinsertps(part, part, lane(l), static_cast<std::uint8_t>((l % 4) << 4));
            if (first == 0) continue;
            if (lanes_ == 16)
                c_.vinsertf32x4(wide(to), wide(to), part, static_cast<std::uint8_t>(first / 4));
            else
                c_.vinsertf128(wide(to), wide(to), part, 1);
        }
        keep_vector(i.result, to);
    }
    void write_permute(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        auto const which = in_memory(i.operands[0]) ? fetched(to, i.operands[0]) : vector(i.operands[0], 0);
        c_.vpermps(wide(to), wide(which), memory(i, c_.rax));
        keep_vector(i.result, to);
    }
    // Zeros between the elements, then each again over the zero behind it.
    void write_load_twice(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        c_.vpmovzxdq(wide(to), memory(i, c_.rax));
        c_.vmovsldup(wide(to), wide(to));
        keep_vector(i.result, to);
    }
    // Four lanes after another. *Requires* at most eight.
    void write_load_integers(machine_instruction const& i) {
        auto const to = vector_result(i.result);
        if (i.immediate != 0) {
            auto const from = place_of(i.at, c_.rax);
            lanes_ == 8 ? c_.vcvtqq2ps(to, c_.zword[from]) : c_.vcvtqq2ps(to, c_.yword[from]);
            return keep_vector(i.result, to);
        }
        xmm const low{to.getIdx()}, four{vector(i.temporaries[0], 1).getIdx()},
            one{vector(i.temporaries[1], 2).getIdx()};
        auto const first_place = place_of(i.at, c_.rax);
        auto const fill_four = [&](xmm const& part, std::int32_t first) {
            zero(part);
            for (auto l = first; l < std::min(first + 4, i.lanes); ++l) {
                zero(one);
                c_.vcvtsi2ss(one, one, c_.qword[first_place + static_cast<std::size_t>(8 * l)]);
                c_.vinsertps(part, part, one, static_cast<std::uint8_t>((l - first) << 4));
            }
        };
        fill_four(low, 0);
        if (i.lanes > 4) {
            fill_four(four, 4);
            c_.vinsertf128(wide(to), wide(to), four, 1);
        }
        keep_vector(i.result, to);
    }
    void write_store(machine_instruction const& i) {
        auto const from = vector(i.operands[0], 0);
        if (i.lanes == 1) {
            c_.vmovss(memory(i, c_.rax), first_lanes(from, 1));
        } else if (i.lanes == lanes_ || is_short(i.lanes)) {
            c_.vmovups(memory(i, c_.rax), first_lanes(from, i.lanes));
        } else if (masks_) {
            set_mask(i.lanes);
            c_.vmovups(memory(i, c_.rdx) | c_.k1, from);
        } else {
            auto const which = vector(i.temporaries[0], 1);
            c_.vmovups(which, mask_of(i.lanes));
            c_.vmaskmovps(memory(i, c_.rax), which, from);
        }
    }

    using below = x86_integers<>;
    using below::below;
};

} // namespace gsub::codegen::detail
