// loop_budget: how much the loops of a file may become.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gsub::io::detail {

/// Budget of all loops of a model together: a few bytes of a file can ask for any number of copies of a body. Work that
/// comes to nothing counts too, so that it bounds time as well as memory.
class loop_budget {
public:
    explicit loop_budget(std::size_t most) : most_(most) {}

    [[nodiscard]] std::uint64_t spent() const noexcept { return spent_; }
    /// Whether there is enough for several copies.
    [[nodiscard]] bool covers(std::uint64_t copies, std::uint64_t each) const noexcept {
        return each == 0 || copies <= (most_ - spent_) / each;
    }
    /// *Errors* throws `not_supported` where there is not enough.
    void spend(std::uint64_t cost) {
        if (cost > most_ - spent_) spent_ = most_, refuse();
        spent_ += cost;
    }
    /// *Errors* throws `not_supported`.
    [[noreturn]] void refuse() const;

private:
    std::uint64_t most_, spent_ = 0;
};

} // namespace gsub::io::detail
