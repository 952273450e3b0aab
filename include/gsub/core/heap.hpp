// What a program that searches with several threads asks of the C library's allocator.
#pragma once

#include <cstddef>
#include <cstdlib> // tells whose C library it is
#if defined(__GLIBC__)
#include <algorithm>
#include <limits>
#include <malloc.h>
#endif

namespace gsub {

/// Memory comes from the system in pieces of 1 MiB and more from now on, and up to `kept` bytes of what is freed at the
/// end of a heap are kept. Threads that make and drop many small graphs wait for each other in the system without: a
/// search of BERT by two threads took 1.3 times less than by one before, up to 1.5 times after (`bench_search`). For
/// `main`: it holds for the whole process, in which what is kept counts as used. False where the C library is not
/// glibc, or refuses.
inline bool keep_freed_memory([[maybe_unused]] std::size_t kept = std::size_t{64} << 20) noexcept {
#if defined(__GLIBC__)
    auto const most = static_cast<int>(std::min<std::size_t>(kept, std::numeric_limits<int>::max()));
    return mallopt(M_TOP_PAD, 1 << 20) == 1 && mallopt(M_TRIM_THRESHOLD, most) == 1;
#else
    return false;
#endif
}

} // namespace gsub
