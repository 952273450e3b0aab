// What tests of worker processes share with them, and look for when they are gone.
#pragma once

#include "catch.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>

namespace worker_processes {

// The thread sanitizer cannot follow threads that the child of a fork starts.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool child_may_start_threads = false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool child_may_start_threads = false;
#else
inline constexpr bool child_may_start_threads = true;
#endif
#else
inline constexpr bool child_may_start_threads = true;
#endif

// A counter that this process and its workers share.
class shared_counter {
public:
    shared_counter()
        : memory_(::mmap(nullptr, sizeof(counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        REQUIRE(memory_ != MAP_FAILED);
        new (memory_) counter{0};
    }
    shared_counter(shared_counter const&) = delete;
    ~shared_counter() { ::munmap(memory_, sizeof(counter)); }
    using counter = std::atomic<int>;
    [[nodiscard]] counter& get() const { return *static_cast<counter*>(memory_); }

private:
    void* memory_;
};

inline std::size_t open_descriptors() {
    auto const all = std::filesystem::directory_iterator{"/proc/self/fd"};
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}
inline bool has_children() {
    return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
}

// Leaves neither processes nor descriptors.
template <class Body>
void cleanly(Body const& body) {
    auto const before = open_descriptors();
    body();
    CHECK(!has_children());
    CHECK(open_descriptors() == before);
}

} // namespace worker_processes
