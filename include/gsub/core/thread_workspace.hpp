// Memory that a thread lends to one piece of work after the other.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace gsub {

/// Memory of the calling thread: at least so many bytes, aligned to 64, valid until the thread asks again. Nothing is
/// allocated where the thread had as much before. It is freed when the thread ends; work that runs later still, in
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
