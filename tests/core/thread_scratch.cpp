#include "catch.hpp"
#include <gsub/core/thread_scratch.hpp>

#include <cstdint>
#include <cstring>
#include <new>
#include <thread>

namespace thread_scratch_test {

using gsub::thread_scratch;

TEST_CASE("memory of a thread grows with what is asked for, is aligned, and stays where it suffices") {
    auto* const first = thread_scratch(1000);
    REQUIRE(first != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
    CHECK(thread_scratch(10) == first);
    auto* const grown = thread_scratch(std::size_t{1} << 20);
    std::memset(grown, 1, std::size_t{1} << 20);
    CHECK(thread_scratch(1000) == grown);
    CHECK_THROWS_AS(static_cast<void>(thread_scratch(static_cast<std::size_t>(-1))), std::bad_alloc);
    CHECK(thread_scratch(1000) == grown);
}

TEST_CASE("each thread has memory of its own") {
    auto* const here = thread_scratch(100);
    void* there = nullptr;
    std::thread{[&] { there = thread_scratch(100); }}.join();
    CHECK(there != here);
}

} // namespace thread_scratch_test
