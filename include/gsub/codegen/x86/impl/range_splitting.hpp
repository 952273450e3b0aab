// range_splitting: values that are loaded again where they are used, so that no more live at once than registers hold.
#pragma once

#include <gsub/codegen/x86/impl/machine_ir.hpp>
#include <gsub/codegen/x86/impl/register_allocation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Splits the live ranges of values that are loaded of memory that nobody writes, where more values live than there
/// are registers. In a stretch of vector instructions the register that is given up is that of the value whose next
/// use is the furthest. A use behind that loads the value anew, or reads it where it is when others need the register
/// more. *Source* Belady, "A study of replacement algorithms for a virtual-storage computer", 1966. *Complexity*
/// O(n r) for n instructions and r registers.
template <class = void>
class range_splitter {
public:
    /// `tied`: as of `linear_scan`.
    range_splitter(machine_function& f, std::int32_t registers, std::int32_t lanes, bool tied = false)
        : f_(f), scan_(f, true, tied), values_(f.vectors), room_(registers), lanes_(lanes) {}

    void run() {
        if (!too_many()) return;
        std::vector<std::size_t> begins; // by old number: where it and the loads before it begin
        auto const old = std::exchange(f_.code, {});
        for (std::size_t n = 0; n < old.size(); ++n) {
            if (!on_vectors(old[n].op))
                now_.clear(), uses_.clear(), stretch_end_ = n + 1;
            else if (n >= stretch_end_)
                begin_stretch(old, n);
            begins.push_back(f_.code.size());
            write(old, n);
        }
        begins.push_back(f_.code.size());
        for (auto& [first, last] : f_.loops) first = begins[first], last = begins[last + 1] - 1;
        for (auto& r : f_.regions) r.first = begins[r.first], r.last = begins[r.last];
    }

private:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }

    // Values at all half instructions, operands before results.
    bool too_many() {
        std::vector<std::int32_t> change(2 * f_.code.size() + 3, 0);
        for (std::int32_t v = 0; v < f_.vectors; ++v)
            if (auto const [begin, end] = scan_.life_of(v); begin <= end) ++change[begin], --change[end + 1];
        std::int32_t alive = 0, most = 0;
        for (auto const c : change) alive += c, most = std::max(most, alive), alive_.push_back(alive);
        return most > room_;
    }
    // The uses of what can be split in the vector instructions from `n` on: all uses of a value are there. Neither
    // these values nor those that are read somewhere else, and not here, take a register here that others need.
    void begin_stretch(std::vector<machine_instruction> const& code, std::size_t n) {
        now_.clear(), uses_.clear();
        for (stretch_end_ = n; stretch_end_ < code.size() && on_vectors(code[stretch_end_].op); ++stretch_end_) {}
        std::vector<bool> is_used(index(f_.vectors), false);
        for (auto k = stretch_end_; k-- > n;)
            for (auto const v : code[k].operands) {
                if (v >= 0) is_used[index(v)] = true;
                if (v >= 0 && is_read_again(code, v, n)) uses_[v].push_back(k);
            }
        for (std::int32_t v = 0; v < values_; ++v)
            if (scan_.home_of(v) >= 0 && (uses_.contains(v) || !is_used[index(v)])) {
                auto const [begin, end] = scan_.life_of(v);
                for (auto h = std::max(begin, 2 * n); h <= std::min(end, 2 * stretch_end_ - 1); ++h) --alive_[h];
            }
    }
    [[nodiscard]] bool is_read_again(std::vector<machine_instruction> const& code, std::int32_t v,
                                     std::size_t first) const {
        auto const home = scan_.home_of(v);
        if (home < 0 || code[index(home)].op == machine_op::splat) return false;
        auto const [begin, end] = scan_.life_of(v);
        return begin / 2 >= first && end / 2 < stretch_end_;
    }
    [[nodiscard]] std::size_t next_use(std::int32_t v, std::size_t behind) const {
        auto const& all = uses_.at(v); // the last one first
        auto const at = std::upper_bound(all.rbegin(), all.rend(), behind);
        return at == all.rend() ? never : *at;
    }
    [[nodiscard]] std::int32_t room_at(std::size_t n) const {
        return room_ - std::max(alive_[2 * n], alive_[2 * n + 1]);
    }

    // Gives up registers until there is room for some more, but not those of an instruction's own operands, nor for a
    // use that is not the nearer one.
    bool make_room(machine_instruction const& for_what, std::size_t n, std::int32_t more, std::size_t nearer) {
        while (static_cast<std::int32_t>(now_.size()) + more > room_at(n)) {
            auto furthest = now_.end();
            std::size_t when = 0;
            for (auto at = now_.begin(); at != now_.end(); ++at) {
                auto const& o = for_what.operands;
                if (std::find(std::begin(o), std::end(o), at->first) != std::end(o)) continue;
                if (auto const use = next_use(at->first, n); furthest == now_.end() || use > when)
                    furthest = at, when = use;
            }
            if (furthest == now_.end() || when < nearer) return false;
            now_.erase(furthest);
        }
        return true;
    }
    void write(std::vector<machine_instruction> const& old, std::size_t n) {
        auto i = old[n];
        if (on_vectors(i.op)) {
            make_room(old[n], n, 0, 0);
            for (auto o = std::rbegin(i.operands); o != std::rend(i.operands); ++o) // the last one may be in memory
                if (*o >= 0 && uses_.contains(*o)) use(old, n, i, *o);
            std::erase_if(now_, [&](auto const& r) { return next_use(r.first, n) == never; });
            if (i.result >= 0 && uses_.contains(i.result) && make_room(old[n], n, 1, next_use(i.result, n)))
                now_[i.result] = i.result;
        }
        f_.code.push_back(i);
    }
    // Names the register of a value that an instruction uses, brings it into one, or has it read in memory.
    void use(std::vector<machine_instruction> const& old, std::size_t n, machine_instruction& i, std::int32_t& v) {
        auto const& home = old[index(scan_.home_of(v))];
        auto const next = next_use(v, n);
        if (auto const at = now_.find(v); at != now_.end()) {
            v = at->second;
            return;
        }
        auto const folds = home.op == machine_op::load && i.op == machine_op::multiply_add && i.lanes == lanes_ &&
                           i.at.base < 0 && (&v == &i.operands[1]) != (&v == &i.operands[2]) &&
                           i.operands[1] != i.operands[2];
        auto const stays = next != never && make_room(old[n], n, 1, next);
        if (folds && !stays) {
            if (&v == &i.operands[1]) std::swap(i.operands[1], i.operands[2]);
            i.operands[2] = -1, i.at = home.at;
            return;
        }
        if (!stays && !make_room(old[n], n, 1, 0)) return; // as it is: allocation decides
        auto again = home;
        again.result = f_.vectors++;
        f_.code.push_back(again);
        if (stays) now_[v] = again.result;
        for (auto& o : i.operands)
            if (&o != &v && o == v) o = again.result;
        v = again.result;
    }

    machine_function& f_;
    linear_scan<> scan_; // of the function as it was
    std::int32_t values_, room_, lanes_;
    std::vector<std::int32_t> alive_;                       // by half instruction: values that are not split
    std::map<std::int32_t, std::vector<std::size_t>> uses_; // of the values of a stretch that are split
    std::map<std::int32_t, std::int32_t> now_; // of these, those in a register: the value that it is called
    std::size_t stretch_end_ = 0;
};

} // namespace gsub::codegen::detail
