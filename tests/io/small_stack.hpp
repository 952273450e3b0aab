// Runs a function in a thread with a stack of 256 KiB: nothing that recurses over its input gets far. Frames of the
// address sanitizer are several times as large, and the stack with them.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <pthread.h>
#include <stdexcept>

namespace small_stack {

#if defined(__SANITIZE_ADDRESS__)
#define GSUB_TEST_LARGE_FRAMES 4
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GSUB_TEST_LARGE_FRAMES 4
#endif
#endif
#ifndef GSUB_TEST_LARGE_FRAMES
#define GSUB_TEST_LARGE_FRAMES 1
#endif
inline constexpr std::size_t bytes = std::size_t{GSUB_TEST_LARGE_FRAMES} * 256 << 10;
#undef GSUB_TEST_LARGE_FRAMES

namespace detail {
struct task {
    std::function<void()> work;
    std::exception_ptr failure;
};
inline void* entry(void* argument) {
    auto& t = *static_cast<task*>(argument);
    try {
        t.work();
    } catch (...) { t.failure = std::current_exception(); }
    return nullptr;
}
} // namespace detail

inline void run(std::function<void()> work) {
    detail::task t{std::move(work), nullptr};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    pthread_t thread;
    auto const fault = pthread_create(&thread, &attributes, &detail::entry, &t);
    pthread_attr_destroy(&attributes);
    if (fault != 0) throw std::runtime_error{"no thread with a small stack"};
    pthread_join(thread, nullptr);
    if (t.failure) std::rethrow_exception(t.failure);
}

} // namespace small_stack
