#pragma once

#include <gsub/machine/impl/ptx_values.ipp>
#include <gsub/machine/warp_accesses.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace gsub::machine {

namespace detail {

// Computes the integers of all threads of a warp, each block of the kernel once, outer loops in their first turn.
template <class = void>
class warp_run {
public:
    static constexpr std::size_t lanes = 32;

    warp_run(ptx_kernel const& k, ptx_launch const& launch, ptx_values<> const& values, gpu_architecture const& a)
        : k_(k), values_(values), a_(a), registers_(k.registers.size()) {
        for (std::size_t l = 0; l < lanes; ++l) threads_[l] = thread(launch, l);
    }

    [[nodiscard]] std::vector<warp_access> run() {
        for (auto const b : order())
            for (auto i = k_.blocks[b].first; i < k_.blocks[b].last; ++i) step(i);
        std::sort(out_.begin(), out_.end(), [](auto const& a, auto const& b) { return a.instruction < b.instruction; });
        return std::move(out_);
    }

private:
    static constexpr std::int32_t no_base = -1;
    using numbers = std::array<std::uint64_t, lanes>;
    // What the threads hold: numbers, behind the address of one array where there is a base.
    struct held {
        bool known = false;
        std::int32_t base = no_base;
        numbers of{};
    };

    // The launch as a thread of the first warp sees it.
    static ptx_launch thread(ptx_launch launch, std::size_t lane) {
        auto const x = std::max<std::int64_t>(1, launch.block[0]), y = std::max<std::int64_t>(1, launch.block[1]);
        auto const at = static_cast<std::int64_t>(lane);
        launch.thread_index = {at % x, at / x % y, at / x / y};
        return launch;
    }

    // Blocks that a thread reaches, in reverse post-order.
    [[nodiscard]] std::vector<std::uint32_t> order() const {
        std::vector<std::uint32_t> out;
        std::vector<char> seen(k_.blocks.size(), 0);
        std::vector<std::pair<std::uint32_t, std::uint32_t>> stack{{0, 0}};
        seen[0] = 1;
        while (!stack.empty()) {
            auto& [block, next] = stack.back();
            auto const& ways = values_.edges(block);
            if (next < ways.size()) {
                auto const to = ways[next++];
                if (!std::exchange(seen[to], 1)) stack.push_back({to, 0});
            } else {
                out.push_back(block);
                stack.pop_back();
            }
        }
        std::reverse(out.begin(), out.end());
        return out;
    }

    void step(std::uint32_t number) {
        auto const& i = k_.code[number];
        if ((i.what == ptx_class::load || i.what == ptx_class::store) &&
            (i.space == ptx_space::shared || i.space == ptx_space::global))
            add_access(number);
        auto made = i.predicate < 0 ? result_of(i) : held{};
        for (auto const d : i.defs) {
            for (auto& n : made.of) n = as_bits(static_cast<std::int64_t>(n), k_.registers[d]);
            registers_[d] = made;
        }
    }
    [[nodiscard]] held operand(ptx_operand const& o) const {
        using kinds = ptx_operand::kinds;
        held out;
        switch (o.kind) {
        case kinds::immediate:
            out.known = true;
            out.of.fill(static_cast<std::uint64_t>(o.value));
            break;
        case kinds::reg:
            out = registers_[o.number];
            break;
        case kinds::special:
            out.known = true;
            for (std::size_t l = 0; l < lanes; ++l) {
                auto const v = special_register(static_cast<ptx_special>(o.number), threads_[l]);
                out.known = out.known && v;
                out.of[l] = v.value_or(0);
            }
            break;
        case kinds::symbol:
            out.known = true, out.base = static_cast<std::int32_t>(k_.parameters.size() + o.number);
            out.of.fill(static_cast<std::uint64_t>(o.value));
            break;
        default:
            break;
        }
        return out;
    }
    [[nodiscard]] held result_of(ptx_instruction const& i) const {
        if (i.defs.size() != 1) return {};
        if (i.what == ptx_class::load && i.space == ptx_space::parameter) return parameter(i);
        if (i.does == ptx_operation::other) return {};
        small_vector<std::int32_t, 3> bases;
        std::vector<held> x;
        for (auto const& o : i.uses) {
            x.push_back(operand(o));
            if (!x.back().known) return {};
            bases.push_back(x.back().base);
        }
        auto const base = base_of(i.does, bases);
        if (!base) return {};
        held out{true, *base, {}};
        std::vector<std::uint64_t> each(x.size());
        for (std::size_t l = 0; l < lanes; ++l) {
            for (std::size_t k = 0; k < x.size(); ++k) each[k] = x[k].of[l];
            auto const v = computed(i, each);
            if (!v) return {};
            out.of[l] = *v;
        }
        return out;
    }
    // The base of a result, where it is one number behind at most one base.
    [[nodiscard]] static std::optional<std::int32_t> base_of(ptx_operation does,
                                                             small_vector<std::int32_t, 3> const& of) {
        auto const at = [&](std::size_t k) { return k < of.size() ? of[k] : no_base; };
        auto const none = std::all_of(of.begin(), of.end(), [](auto b) { return b == no_base; });
        if (none || does == ptx_operation::copy) return at(0);
        if (does == ptx_operation::add && (at(0) == no_base || at(1) == no_base)) return std::max(at(0), at(1));
        if (does == ptx_operation::subtract && at(1) == no_base) return at(0);
        if (does == ptx_operation::subtract && at(0) == at(1)) return no_base;
        if (does == ptx_operation::multiply_add && at(0) == no_base && at(1) == no_base) return at(2);
        return std::nullopt;
    }
    // A number that the launch gives, or an address.
    [[nodiscard]] held parameter(ptx_instruction const& i) const {
        if (i.uses.size() != 1 || i.uses[0].kind != ptx_operand::kinds::parameter || i.uses[0].value != 0) return {};
        auto const p = i.uses[0].number;
        auto const& given = threads_[0].parameters;
        held out{true, no_base, {}};
        if (p < given.size() && given[p])
            out.of.fill(static_cast<std::uint64_t>(*given[p]));
        else if (i.bits == 64)
            out.base = static_cast<std::int32_t>(p);
        else
            out.known = false;
        return out;
    }

    void add_access(std::uint32_t number) {
        auto const& i = k_.code[number];
        warp_access made{number, i.space, i.bytes, false, 0, 0};
        // The address is the last register of a load, the first of a store.
        if (!i.uses.empty() && i.bytes > 0) {
            auto const& o = i.what == ptx_class::store ? i.uses[0] : i.uses[i.uses.size() - 1];
            auto const at = operand(o);
            if (made.known = at.known; at.known) {
                auto const more = o.kind == ptx_operand::kinds::reg ? static_cast<std::uint64_t>(o.value) : 0;
                i.space == ptx_space::shared ? count_banks(at.of, more, made) : count_sectors(at.of, more, made);
            }
        }
        out_.push_back(made);
    }
    void count_banks(numbers const& at, std::uint64_t more, warp_access& made) const {
        auto const word = static_cast<std::uint64_t>(a_.bank_bytes), bytes = static_cast<std::uint64_t>(made.bytes);
        auto const parts = std::clamp<std::size_t>(bytes / 4, 1, 4);
        for (std::size_t p = 0; p < parts; ++p) {
            std::set<std::uint64_t> words;
            for (auto l = lanes / parts * p; l < lanes / parts * (p + 1); ++l)
                for (std::uint64_t b = 0; b < bytes; b += word) words.insert((at[l] + more + b) / word);
            std::vector<std::int32_t> wanted(static_cast<std::size_t>(a_.banks), 0);
            for (auto const w : words) ++wanted[w % wanted.size()];
            made.passes += *std::max_element(wanted.begin(), wanted.end());
        }
        made.fewest = static_cast<std::int32_t>(parts);
    }
    void count_sectors(numbers const& at, std::uint64_t more, warp_access& made) const {
        auto const size = static_cast<std::uint64_t>(a_.sector_bytes), bytes = static_cast<std::uint64_t>(made.bytes);
        std::set<std::uint64_t> sectors, places;
        for (auto const of_thread : at)
            for (std::uint64_t b = 0; b < bytes; ++b) {
                auto const place = of_thread + more + b;
                places.insert(place), sectors.insert(place / size);
            }
        made.passes = static_cast<std::int32_t>(sectors.size());
        made.fewest = static_cast<std::int32_t>((places.size() + size - 1) / size);
    }

    ptx_kernel const& k_;
    ptx_values<> const& values_;
    gpu_architecture const& a_;
    std::array<ptx_launch, lanes> threads_;
    std::vector<held> registers_;
    std::vector<warp_access> out_;
};

} // namespace detail

GSUB_LAZY_BODY result<std::vector<warp_access>> warp_accesses(ptx_kernel const& k, ptx_launch const& launch,
                                                              gpu_architecture const& a) {
    detail::ptx_values<> values{k, launch};
    if (!values.fits()) return detail::too_much_decides(k, values.followed());
    values.follow();
    return detail::warp_run<>{k, launch, values, a}.run();
}

} // namespace gsub::machine
