// Thread workspace: memory of a thread that one kernel after the other reuses.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace gsub {

/// Workspace of the calling thread: at least `size` bytes, aligned to 64, valid until the thread asks again. Allocates
/// only where the thread asks for more than before. The end of the thread frees it; work that runs even later, in
/// destructors of global objects, gets memory that is not freed. *Errors* throws `std::bad_alloc`.
[[nodiscard]] inline void* thread_workspace(std::size_t size) {
    thread_local void* at = nullptr; // trivial: these two outlive what frees the memory
    thread_local std::size_t own = 0;
    struct release {
        release() = default;
        release(release const&) = delete;
        release& operator=(release const&) = delete;
        ~release() {
            std::free(at);
            at = nullptr, own = 0;
        }
    };
    thread_local release const at_end;
    if (own < size) {
        constexpr std::size_t unit = std::size_t{1} << 16;
        if (size > static_cast<std::size_t>(-1) - unit) throw std::bad_alloc{};
        auto const rounded = (size + unit - 1) / unit * unit;
        auto* const grown = std::aligned_alloc(64, rounded);
        if (!grown) throw std::bad_alloc{};
        std::free(at);
        at = grown, own = rounded;
    }
    return at;
}

} // namespace gsub
