#include "faults/failing_new.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace failing_new {

namespace {

constexpr auto never = std::numeric_limits<std::uint64_t>::max();
std::atomic<std::uint64_t> allocations{0}, first{never}, last{0};
std::atomic<bool> any_failed{false};
std::atomic<std::int64_t> blocks{0};

bool fails() {
    auto const i = ++allocations;
    if (i < first.load(std::memory_order_relaxed) || i > last.load(std::memory_order_relaxed)) return false;
    any_failed = true;
    return true;
}

} // namespace

void arm(std::uint64_t n, extent which) {
    any_failed = false;
    last = which == extent::once ? n : never;
    first = n == 0 ? never : n;
    allocations = 0;
}
bool disarm() {
    first = never;
    return any_failed;
}
std::uint64_t counted() {
    return allocations;
}
std::int64_t alive() {
    return blocks;
}

} // namespace failing_new

// The linker calls these in place of the C functions: options --wrap of tests/faults/CMakeLists.txt.
extern "C" {
void* __real_malloc(std::size_t size);
void* __real_aligned_alloc(std::size_t alignment, std::size_t size);
int __real_posix_memalign(void** at, std::size_t alignment, std::size_t size);
void* __wrap_malloc(std::size_t size);
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size);
int __wrap_posix_memalign(void** at, std::size_t alignment, std::size_t size);

void* __wrap_malloc(std::size_t size) {
    return failing_new::fails() ? nullptr : __real_malloc(size);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
    return failing_new::fails() ? nullptr : __real_aligned_alloc(alignment, size);
}
int __wrap_posix_memalign(void** at, std::size_t alignment, std::size_t size) {
    return failing_new::fails() ? ENOMEM : __real_posix_memalign(at, alignment, size);
}
}

// The other forms call these.
void* operator new(std::size_t size) {
    auto* const at = failing_new::fails() ? nullptr : __real_malloc(std::max<std::size_t>(size, 1));
    if (!at) throw std::bad_alloc{};
    ++failing_new::blocks;
    return at;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    auto const unit = static_cast<std::size_t>(alignment);
    auto const whole = (std::max<std::size_t>(size, 1) + unit - 1) / unit * unit;
    auto* const at = failing_new::fails() ? nullptr : __real_aligned_alloc(unit, whole);
    if (!at) throw std::bad_alloc{};
    ++failing_new::blocks;
    return at;
}
void operator delete(void* at) noexcept {
    if (at) --failing_new::blocks;
    std::free(at);
}
void operator delete(void* at, std::size_t) noexcept {
    ::operator delete(at);
}
void operator delete(void* at, std::align_val_t) noexcept {
    ::operator delete(at);
}
void operator delete(void* at, std::size_t, std::align_val_t) noexcept {
    ::operator delete(at);
}
